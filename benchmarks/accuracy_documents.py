"""Collects the documents for accuracy measurements: corpora, and generated documents that share content with them.

A *composite* joins documents, up to 250,000 shingles. A *passage* is 20 to 1,000 words of a document. An *edited* copy
has some words replaced or left out. All use fixed seeds.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from corpus import MAIN_PARTS, CorpusError
from whorl import Document

#: With another seed, the documents and so the figures differ.
SEED = 20
#: Number of words of the smallest and of the largest passage.
PASSAGE_WORDS = (20, 1_000)
#: Number of words in 1,000 that an edited copy replaces or leaves out.
EDITS = (5, 20, 50, 100, 200, 400)
#: Minimum number of words of a document that is cut or edited.
FEWEST_WORDS = 100
_WORD = re.compile(r"\S+\s*")


@dataclass(frozen=True, slots=True)
class Amounts:
    """Number of documents of each kind, and length of composites in words. `real` None means all."""

    real: int | None = None
    composites: int = 60
    passages: int = 500
    edited: int = 500
    composite_words: tuple[int, int] = (4_000, 250_000)


QUICK = Amounts(1_500, 6, 100, 100)


def documents(folder: Path, amounts: Amounts) -> list[Document]:
    """Return the documents of the corpora in a folder, and documents generated from them.

    Raises:
        CorpusError: A corpus is missing.
    """
    real = _real(folder, amounts.real)
    return [*real, *made_of(real, amounts)]


def made_of(real: Sequence[Document], amounts: Amounts) -> list[Document]:
    """Return documents that share content with others. Every call returns the same ones."""
    rng = random.Random(SEED)
    words = {document.id: len(_WORD.findall(document.text)) for document in real}
    long_enough = [document for document in real if words[document.id] >= FEWEST_WORDS]
    return [
        *_composites(real, words, amounts, rng),
        *_passages(long_enough, words, amounts.passages, rng),
        *_edited(long_enough, amounts.edited, rng),
    ]


def kind_of(document_id: str) -> str:
    """Return the kind of a document: spdx, rfc, man, composite, passage or edited."""
    return document_id.partition(":")[0]


def _real(folder: Path, most: int | None) -> list[Document]:
    documents = []
    for name in MAIN_PARTS:
        file = folder / f"{name}.jsonl"
        if not file.exists():
            raise CorpusError(f"{file} is not there: python benchmarks/corpus.py {folder}")
        with file.open(encoding="utf-8") as lines:
            documents += [Document(**json.loads(line)) for line in lines]
    return (
        documents
        if most is None
        else sorted(random.Random(SEED).sample(documents, most), key=lambda document: document.id)
    )


def sampled(sorted_documents: Sequence[Document], count: int, rng: random.Random) -> list[Document]:
    """Return one random document from each of `count` equal parts of a sorted list."""
    count = min(count, len(sorted_documents))
    borders = [len(sorted_documents) * number // count for number in range(count + 1)]
    return [rng.choice(sorted_documents[start:end]) for start, end in pairwise(borders)]


def _sizes(bounds: tuple[int, int], count: int) -> Iterator[int]:
    """Yield sizes that grow by a constant factor."""
    least, most = bounds
    for number in range(count):
        yield round(least * (most / least) ** (number / max(1, count - 1)))


def _composites(
    real: Sequence[Document], words: dict[str, int], amounts: Amounts, rng: random.Random
) -> Iterator[Document]:
    for number, size in enumerate(_sizes(amounts.composite_words, amounts.composites)):
        parts: list[Document] = []
        left = size
        while left > 0:
            part = rng.choice(real)
            if words[part.id] <= max(left, 1_000):
                parts.append(part)
                left -= max(1, words[part.id])
        yield Document(f"composite:{number}", "\n\n".join(part.text for part in parts), f"{len(parts)} texts")


def _passages(real: Sequence[Document], words: dict[str, int], count: int, rng: random.Random) -> Iterator[Document]:
    for number, size in enumerate(_sizes(PASSAGE_WORDS, count)):
        whole = rng.choice([document for document in real if words[document.id] > size])
        word_matches = list(_WORD.finditer(whole.text))
        start = rng.randrange(len(word_matches) - size)
        text = whole.text[word_matches[start].start() : word_matches[start + size - 1].end()]
        yield Document(f"passage:{number}", text, f"{size} words of {whole.name}")


def _edited(real: Sequence[Document], count: int, rng: random.Random) -> Iterator[Document]:
    for number in range(count):
        rate, whole = EDITS[number % len(EDITS)], rng.choice(real)
        words = _WORD.findall(whole.text)
        words_after = []
        for word in words:
            is_edited, is_replaced = rng.random() < rate / 1000, rng.random() < 0.5
            if not is_edited:
                words_after.append(word)
            elif is_replaced:
                words_after.append(rng.choice(words))
        yield Document(f"edited:{number}", "".join(words_after), f"{whole.name}, {rate / 10:g} % of its words edited")
