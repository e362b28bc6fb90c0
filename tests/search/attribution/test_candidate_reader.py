"""Reading of candidates, and the parts of the text that their sketches exclude beforehand."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from tests.search.attribution.made import words
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.compare_texts import words_of
from whorl.fingerprint.winnowing import PassageScheme
from whorl.search.attribution.candidate_reader import Candidate, CandidateReader
from whorl.search.attribution.find_sources import find_sources
from whorl.search.boilerplate import Comparer

RUN = 20


@pytest.mark.parametrize("size", [60, 1_500, 6_000])
def test_narrowed_candidates(tmp_path: Path, size: int) -> None:
    """
    Narrowing keeps all shared words possible for documents of any size; for small ones it excludes all other words.
    """
    chance = random.Random(size)
    text = words(chance, 300)
    with Store(EmbeddedEngine(tmp_path / "store")) as store:
        own = {f"{number}": text[at : at + 40] for number, at in enumerate(range(0, 260, 13))}
        store.index(Document(name, " ".join([*words(chance, size), *own_words])) for name, own_words in own.items())
        of_text, everything = words_of(" ".join(text)), np.full(300, True)
        comparer = Comparer(of_text, store.engine.scheme, None)
        reader = CandidateReader(store.engine, comparer, 8, everything, 99, ignore_common=False)
        nothing, everywhere = np.empty((0, 2), np.int64), np.array([[0, 300]])
        candidates = [Candidate([name], nothing, everywhere) for name in own]
        reader.narrow(candidates, everything)
        for candidate, start in zip(candidates, range(0, 260, 13), strict=True):
            possible = {at for first, end in candidate.possible.tolist() for at in range(first, end)}
            assert possible >= set(range(start, start + 40))
            assert len(possible) <= (40 if size < 1_000 else 299)
        list(reader.read_and_cover(candidates))
        for candidate, start in zip(candidates, range(0, 260, 13), strict=True):
            assert (candidate.cover.tolist(), candidate.possible.size) == ([[start, start + 40]], 0)
        assert reader.read == len(candidates)


def family(chance: random.Random, many: int) -> list[list[str]]:
    """Near-copies of 250 words, each with 1 to 12 words replaced."""
    base, copies = words(chance, 250), []
    for _ in range(many):
        copy = list(base)
        for _ in range(chance.randint(1, 12)):
            copy[chance.randrange(len(copy))] = words(chance, 1)[0]
        copies.append(copy)
    return copies


def runs(text: list[str]) -> set[tuple[str, ...]]:
    return {tuple(text[at : at + RUN]) for at in range(len(text) - RUN + 1)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_origin_is_missed(tmp_path: Path, seed: int) -> None:
    """
    For texts composed of 2 to 15 documents, in a store with families of near-copies, the sources cover every run of 20
    words that any document has. So every origin with a run that no other document has is a source, or its words are in
    other sources; no limit is reached.
    """
    chance = random.Random(seed)
    texts = [copy for _ in range(2) for copy in family(chance, 250)] + [words(chance, 300) for _ in range(100)]
    holders_of: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
    for number, own_words in enumerate(texts):
        for run in runs(own_words):
            holders_of[run].add(number)
    with Store(EmbeddedEngine(tmp_path / "store", passages=PassageScheme())) as store:
        store.index(Document(f"{number:03}", " ".join(words)) for number, words in enumerate(texts))
        for _ in range(25):
            parts: list[tuple[int, int, int]] = []
            text: list[str] = []
            for number in chance.sample(range(len(texts)), chance.randint(2, 15)):
                length = chance.randint(RUN, 60)
                start = chance.randrange(len(texts[number]) - length)
                parts.append((number, len(text), len(text) + length))
                text += texts[number][start : start + length]
                if chance.random() < 0.5:
                    text += words(chance, chance.randint(1, 9))
            attribution = find_sources(store.engine, " ".join(text))
            assert attribution.unread == 0
            spans = words_of(attribution.content).spans
            covered = np.zeros(len(text), np.bool_)
            for source in attribution.sources:
                for passage in source.passages:
                    covered |= (spans[:, 0] >= passage.a[0]) & (spans[:, 1] <= passage.a[1])
            assert np.count_nonzero(covered) == attribution.covered_words
            having = [holders_of.get(tuple(text[at : at + RUN]), set()) for at in range(len(text) - RUN + 1)]
            for at, holders in enumerate(having):
                assert not holders or covered[at : at + RUN].all()
            ids = {source.id for source in attribution.sources}
            for number, start, end in parts:
                if any(having[at] == {number} for at in range(start, end - RUN + 1)):
                    assert f"{number:03}" in ids or np.count_nonzero(~covered[start:end]) <= 2
