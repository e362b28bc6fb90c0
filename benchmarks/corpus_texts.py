"""Reads the JSON lines that `corpus.py` and `million_texts.py` write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from whorl import Document

WORDS_IN_PIECE = 200


def texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield ids and texts."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield record["id"], record["text"]


def documents(path: Path, count: int) -> Iterator[Document]:
    """Yield this many documents: the texts of a file, and then pieces of them."""
    whole = list(islice(texts(path), count))
    for name, text in whole:
        yield Document(name, text)
    yield from islice(pieces(whole), count - len(whole))


def pieces(whole: list[tuple[str, str]]) -> Iterator[Document]:
    """Yield pieces of one text after the other."""
    for name, text in whole:
        words = text.split()
        for number, start in enumerate(range(0, len(words) - WORDS_IN_PIECE // 4, WORDS_IN_PIECE)):
            yield Document(f"{name}#{number}", " ".join(words[start : start + WORDS_IN_PIECE]))
