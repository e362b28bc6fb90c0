"""Counting tokens in segments, against sets and a plain sort."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sampling import thorough
from whorl.engine.embedded import segments, shared_tokens
from whorl.engine.embedded.segmented_token_index import DocumentTokens, TokenIndex, TokenSnapshot
from whorl.engine.embedded.shared_tokens import (
    ScoredDocuments,
    best_page,
    has_only_tokens,
    match_tokens,
    passage_postings,
)
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.query.plan.nodes import (
    Bool,
    BoundNode,
    MatchAll,
    Nothing,
    PassageHashes,
    SharedBands,
    SharedTokens,
    SketchTokens,
    Words,
)

SCHEME = SketchScheme()
#: Tokens and sizes by document number; the sketch has the even tokens.
DOCUMENTS = {
    number: (frozenset(own), size)
    for number, (own, size) in enumerate(
        [
            ({1, 2, 3, 4}, 10),
            ({1, 2, 8, (1 << 64) - 1}, 20),
            (set(), 0),
            ({4, 5, 6, 7, 8, 9}, 30),
            ({2, 4, 6, 8}, 30),
            ({1}, 1 << 31),
            ({2, 3, 5, 7}, 5),
        ]
    )
}


def read_documents(numbers: npt.NDArray[np.int64], applied: int) -> Iterator[tuple[int, npt.NDArray[np.uint64]]]:
    assert applied == 3
    for number in numbers.tolist():
        yield number, np.array(sorted(DOCUMENTS[number][0]), np.uint64)


@pytest.fixture(scope="module", params=["whole", "short"])
def snapshot(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TokenSnapshot:
    """
    Several segments; the later ones replace and delete documents of the earlier ones.

    Short tokens are the upper bits of tokens, so all small tokens become equal.
    """
    bits = 64 if request.param == "whole" else SCHEME.bits
    read_minhash = None if request.param == "whole" else read_documents
    folder = tmp_path_factory.mktemp("counting") / "tokens"
    index = TokenIndex(folder, "mine", (bits, SCHEME.bits), read_minhash=read_minhash)
    index.make()

    def of(own: frozenset[int], size: int) -> DocumentTokens:
        tokens = np.array(sorted(own), np.uint64)
        minhash = np.unique(tokens >> np.uint64(64 - bits))
        return DocumentTokens(size, (minhash, tokens[(tokens % 2 == 0) & (tokens < 1 << SCHEME.bits)]))

    index.replace({number: of(frozenset([9, 8, 1]), 7) for number in (0, 3, 99)})
    index.commit(1)
    index.replace({number: of(*tokens) for number, tokens in DOCUMENTS.items() if number < 4})
    index.commit(2)
    index.replace({99: None, **{number: of(*tokens) for number, tokens in DOCUMENTS.items() if number >= 4}})
    index.commit(3)
    return index.snapshot()


def plain(plan: BoundNode) -> dict[int, float]:
    """Return the matching documents with their scores."""
    match plan:
        case SharedTokens(tokens=tokens, min_should_match=minimum, weight=weight):
            counts = {number: sum(token in own for token in tokens) for number, (own, _) in DOCUMENTS.items()}
            return {number: have * weight for number, have in counts.items() if have >= max(minimum, 1)}
        case SharedBands(bands=bands, weight=weight):
            counts = {number: sum(own >= set(band) for band in bands) for number, (own, _) in DOCUMENTS.items()}
            return {number: have * weight for number, have in counts.items() if have}
        case SketchTokens(numbers=numbers, min_should_match=minimum, smallest_size=low, largest_size=high):
            counts = {
                number: sum(token in own for token in numbers)
                for number, (own, size) in DOCUMENTS.items()
                if low <= size and (high is None or size <= high)
            }
            return {number: float(have) for number, have in counts.items() if have >= minimum}
        case Bool(must=must, should=should, must_not=must_not, min_should_match=minimum):
            kinds = [[plain(child) for child in children] for children in (must, should, must_not)]
            scores = {}
            for number in DOCUMENTS:
                have = [own[number] for own in (*kinds[0], *kinds[1]) if number in own]
                enough = sum(number in own for own in kinds[1]) >= (minimum if must else max(minimum, 1))
                if all(number in own for own in kinds[0]) and enough and not any(number in own for own in kinds[2]):
                    scores[number] = sum(have)
            return scores
        case _:
            return {}


@pytest.mark.parametrize("most_cached", [0, 40, 1_000])
def test_documents_of_passage_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_cached: int) -> None:
    """
    The documents of frequent and rare passage hashes are found, also among copies, if cached, and after an update.
    """
    monkeypatch.setattr(shared_tokens, "_FREQUENT", 2)
    monkeypatch.setattr(shared_tokens, "_MOST_CACHED_NUMBERS", most_cached)
    scheme = PassageScheme()
    index = TokenIndex(tmp_path / "tokens", "mine", (64, SCHEME.bits, scheme.bits))
    index.make()
    chance, documents = random.Random(3), dict[int, frozenset[int]]()
    for applied in range(1, 4):
        own = frozenset(chance.sample(range(12), 6))
        changes = {number: frozenset(chance.sample(range(12), 5)) for number in chance.sample(range(20), 8)}
        changes |= dict.fromkeys(chance.sample(range(20), 5), own)
        none = np.empty(0, np.uint64)
        index.replace(
            {
                number: DocumentTokens(9, (none, none, np.array(sorted(has), np.uint64)))
                for number, has in changes.items()
            }
        )
        index.commit(applied)
        documents |= changes
        snapshot = index.snapshot()
        for _ in range(20):
            hashes = chance.sample(range(14), chance.randint(0, 6))
            holders = [sorted(number for number, has in documents.items() if each in has) for each in hashes]
            indices, numbers, frequent = postings = passage_postings(snapshot, np.array(hashes, np.int64))
            assert postings.counts(len(hashes)).tolist() == [*map(len, holders)]
            assert {at: own.tolist() for at, own in frequent.items()} == {
                at: own for at, own in enumerate(holders) if len(own) > 2
            }
            pairs = {(at, number) for at, own in enumerate(holders) if len(own) <= 2 for number in own}
            assert {*zip(indices.tolist(), numbers.tolist(), strict=True)} == pairs
            matches = match_tokens(PassageHashes("text", scheme, tuple(hashes)), snapshot)
            scores = dict(zip(matches.numbers.tolist(), matches.scores.tolist(), strict=True))
            assert scores == {number: float(n) for number, n in Counter(chain.from_iterable(holders)).items()}
            assert sum(map(len, snapshot.frequent_passages.values())) <= most_cached
        assert bool(snapshot.frequent_passages) == (most_cached > 0)


TOKENS = st.one_of(st.integers(0, 9), st.sampled_from([(1 << 64) - 1, 1 << 64, 1 << 100]))
WEIGHTS = st.sampled_from([0.0, 0.5, 1.0, 3.0])
LEAVES = st.one_of(
    st.builds(Nothing, st.just("no")),
    st.builds(SharedTokens, st.just("s"), st.lists(TOKENS, max_size=8).map(tuple), st.integers(0, 4), WEIGHTS),
    st.builds(
        SharedBands,
        st.just("s"),
        st.lists(st.lists(TOKENS, min_size=1, max_size=3).map(tuple), max_size=5).map(tuple),
        WEIGHTS,
    ),
    st.builds(
        SketchTokens,
        st.just("s"),
        st.just(SCHEME),
        st.frozensets(st.integers(0, 4).map(lambda number: 2 * number), max_size=5).map(tuple),
        st.integers(1, 3),
        st.integers(0, 30),
        st.one_of(st.none(), st.integers(0, 1 << 32)),
    ),
)


def bools(children: st.SearchStrategy[BoundNode]) -> st.SearchStrategy[BoundNode]:
    several = st.lists(children, max_size=3).map(tuple)
    return st.builds(Bool, several, several, several, st.integers(0, 3))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    plan=st.recursive(LEAVES, bools, max_leaves=8),
    at_once=st.sampled_from([1, 3, 1 << 20]),
    parts_at_once=st.sampled_from([1, 2, 64]),
)
def test_counts_equal_those_of_plain_sets(
    snapshot: TokenSnapshot, plan: BoundNode, at_once: int, parts_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Counts of repeats, minima, bands, sizes and booleans equal those of sets, after replacements and deletions, for any
    size of portions.
    """
    assert has_only_tokens(plan)
    monkeypatch.setattr(segments, "READ_AT_ONCE", at_once)
    monkeypatch.setattr(shared_tokens, "_PARTS_AT_ONCE", parts_at_once)
    matches = match_tokens(plan, snapshot)
    assert dict(zip(matches.numbers.tolist(), matches.scores.tolist(), strict=True)) == plain(plan)
    assert matches.numbers.tolist() == sorted(matches.numbers.tolist())


@thorough
def test_texts_are_read_once_for_a_clause(tmp_path: Path) -> None:
    """
    If a clause occurs in facets and several parts of a query, it reads the texts once, since that takes longest.
    """
    reads = list[int]()

    def read(numbers: npt.NDArray[np.int64], _: int) -> Iterator[tuple[int, npt.NDArray[np.uint64]]]:
        reads.extend(numbers.tolist())
        return iter([(7, np.array([1, 2], np.uint64))])

    index = TokenIndex(tmp_path / "tokens", "mine", (SCHEME.bits, SCHEME.bits), read_minhash=read)
    index.make()
    index.replace({7: DocumentTokens(2, (np.zeros(1, np.uint64), np.empty(0, np.uint64)))})
    index.commit(1)
    clause = SharedTokens("a", (1, 2, 3), 2, 0.5)
    plan = Bool(should=(clause, Bool(must=(clause,))))
    assert [match_tokens(plan, index.snapshot()).scores.tolist() for _ in range(2)] == [[2.0], [2.0]]
    assert reads == [7]


def test_many_parts_take_no_more_memory_than_some(tmp_path: Path) -> None:
    """
    A thousand clauses that each match the same thousand documents do not need memory for a million documents.
    """
    index = TokenIndex(tmp_path / "tokens", "mine", (64, SCHEME.bits))
    index.make()
    index.replace(
        {number: DocumentTokens(1, (np.array([7], np.uint64), np.zeros(0, np.uint64))) for number in range(1000)}
    )
    index.commit(1)
    parts = tuple(SharedTokens(f"s{number}", (7,), 1, 1.0) for number in range(1000))
    snapshot = index.snapshot()
    tracemalloc.start()
    try:
        matches = [match_tokens(plan, snapshot) for plan in (Bool(should=parts), Bool(must=parts))]
        none = match_tokens(Bool(must=parts[:1], must_not=parts), snapshot)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [set(match.scores.tolist()) for match in matches] == [{1000.0}, {1000.0}]
    assert none.numbers.size == 0
    assert most < 10_000_000


def test_words_are_not_counted() -> None:
    """
    A plan is counted in the token index only if it has nothing but tokens; tantivy evaluates the others.
    """
    tokens = SharedTokens("s", (1,))
    assert not has_only_tokens(Words("red"))
    assert not has_only_tokens(Bool(must=(tokens,), must_not=(MatchAll(),)))
    assert has_only_tokens(Bool(must=(Bool(should=(tokens,)),)))


@given(
    scores=st.lists(st.sampled_from([0.0, 1.0, 2.0, 2.5]), max_size=30),
    start=st.integers(0, 40),
    rows=st.integers(0, 40),
    tombstones=st.sets(st.integers(0, 30)),
)
def test_pages_are_those_of_a_plain_sort(scores: list[float], start: int, rows: int, tombstones: set[int]) -> None:
    """
    The page has the best documents, equal ones by their ids. Ids are read only for scores on the page.
    """
    known = {number: f"{number * 7 % 31:02}" for number in range(len(scores))}
    requested: list[int] = []

    def ids(numbers: list[int]) -> Mapping[int, str]:
        requested.extend(numbers)
        return {number: known[number] for number in numbers if number not in tombstones}

    counted = ScoredDocuments(np.arange(len(scores)), np.array(scores, np.float32))
    page = best_page(counted, start, rows, ids)
    everything = sorted((-score, known[number] * (number not in tombstones)) for number, score in enumerate(scores))
    assert [(-score, known[number] * (number not in tombstones)) for number, score in page] == everything[
        start : start + rows
    ]
    on_page = {-score for score, _ in everything[start : start + rows]}
    assert {scores[number] for number in requested} <= {
        score for score in scores if on_page and min(on_page) <= score <= max(on_page)
    }


def test_damaged_tokens_are_reported(tmp_path: Path) -> None:
    """
    A damaged block raises an error instead of a wrong count.
    """
    index = TokenIndex(tmp_path / "tokens", "mine", (64, 27))
    index.make()
    tokens = np.arange(1, 2000, dtype=np.uint64)
    index.replace({1: DocumentTokens(5, (tokens, tokens))})
    index.commit(1)
    (segment,) = (tmp_path / "tokens").glob("*.segment")
    raw = bytearray(segment.read_bytes())
    raw[1024:3000] = bytes(1976)
    segment.unlink()
    segment.write_bytes(raw)
    reader = TokenIndex(tmp_path / "tokens", "mine", (64, 27))
    with pytest.raises(Exception, match="damaged"):
        match_tokens(SharedTokens("s", tuple(range(1, 50))), reader.snapshot())


@pytest.mark.parametrize("distance", [1, 1_000_003], ids=["close ordinals", "distant ordinals"])
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 3)), min_size=1))
def test_counts_of_equal_ordinals_are_added(distance: int, pairs: list[tuple[int, int]]) -> None:
    """
    Sums for equal ordinals are right whether the ordinals are close (counted in an array) or not (sorted).
    """
    ordinals, counts = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    expected = Counter[int]()
    for ordinal, count in pairs:
        expected[ordinal * distance] += count
    distinct, sums = shared_tokens._sums(ordinals * distance, counts)
    assert list(zip(distinct.tolist(), sums.tolist(), strict=True)) == sorted(expected.items())
