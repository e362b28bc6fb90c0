"""Token segments, against plain sets: look-ups, merges, damage and bit-packing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.checks import Checks
from tests.sampling import thorough
from whorl.engine.embedded import segments
from whorl.engine.embedded.segmented_token_index import TokenSnapshot
from whorl.engine.embedded.segments import (
    BLOCK,
    MINHASH,
    SKETCH,
    Segment,
    block_checksums,
    merge_segments,
    pack,
    unpack,
    unpack_at,
    write_documents,
)
from whorl.engine.embedded.shared_tokens import token_document_pairs
from whorl.engine.embedded.store_files import IndexBrokenError
from whorl.request_context import new_request


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Skip fsync: these tests are not about power cuts, and waiting for the disk would take most of their time.
    """
    monkeypatch.setattr("os.fsync", lambda _: None)


BITS = (64, 32)
#: The tokens of one document: MinHash tokens and sketch tokens.
Kinds = tuple[frozenset[int], frozenset[int]]
#: Tokens of documents, by number.
Documents = dict[int, Kinds]


def tokens(bits: int) -> st.SearchStrategy[frozenset[int]]:
    """Generate sets of tokens: equal, close and distant ones, and the smallest and largest."""
    edge_cases = st.sampled_from([0, 1, 2, 3, 1 << (bits - 1), (1 << bits) - 2, (1 << bits) - 1])
    return st.frozensets(st.one_of(edge_cases, st.integers(0, 200), st.integers(0, (1 << bits) - 1)), max_size=30)


def related(own: frozenset[int], others: frozenset[int], bound: int) -> Kinds:
    """Return MinHash tokens, and as sketch tokens the upper 32 bits of these and of other tokens, if below a bound."""
    return own, frozenset(token >> 32 for token in own | others if token >> 32 < bound)


def with_copies(documents: Documents, copies: dict[int, int]) -> Documents:
    """Add documents that are copies of others."""
    kinds = list(documents.values())
    return {**{number: kinds[which % len(kinds)] for number, which in copies.items() if kinds}, **documents}


NUMBERS = st.one_of(st.integers(0, 20), st.integers(0, 1 << 40))
KINDS = st.one_of(
    st.tuples(tokens(64), tokens(32)),
    st.builds(related, tokens(64), tokens(64), st.integers(0, 32).map(lambda bits: 1 << bits)),
)
DOCUMENTS = st.builds(
    with_copies,
    st.dictionaries(NUMBERS, KINDS, max_size=12),
    st.dictionaries(NUMBERS, st.integers(0, 99), max_size=6),
)


def write(path: Path, documents: Documents, tombstones: Sequence[int] = ()) -> Segment:
    path.unlink(missing_ok=True)
    there = sorted(documents.items())
    write_documents(
        path,
        np.array([number for number, _ in there], np.int64),
        np.array([len(own[0]) for _, own in there], np.int64),
        np.array(tombstones, np.int64),
        [[np.array(sorted(own[kind]), np.uint64) for _, own in there] for kind in range(2)],
        BITS,
    )
    return Segment(path)


def looked_up(segment: Segment, kind: int, wanted: Sequence[int]) -> set[tuple[int, int]]:
    """Return the pairs of a wanted token and the number of a document that has it."""
    portions = segment.look_up(kind, np.array(wanted, np.uint64))
    pairs = [
        (wanted[token_index], number)
        for token_indices, ordinals in portions
        for token_index, number in zip(token_indices, segment.numbers[ordinals].tolist(), strict=True)
    ]
    assert len(pairs) == len(set(pairs))
    return set(pairs)


def plain(documents: Documents, kind: int, wanted: Sequence[int]) -> set[tuple[int, int]]:
    return {(token, number) for number, own in documents.items() for token in own[kind] if token in set(wanted)}


@pytest.mark.parametrize("are_copies", [False, True])
def test_a_token_of_all_documents_is_read_in_portions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, are_copies: bool
) -> None:
    """
    Reading a token of a hundred thousand documents takes no more memory than one of a thousand.
    """
    monkeypatch.setattr(segments, "READ_AT_ONCE", 100)
    own = frozenset(range(1, 40))
    documents = {number: (own if are_copies else own | {100 + number}, own) for number in range(30)}
    segment = write(tmp_path / "a.segment", documents, tombstones=[])
    assert looked_up(segment, 0, sorted(own)) == plain(documents, 0, sorted(own))
    sizes = [token_indices.size for token_indices, _ in segment.look_up(0, np.array(sorted(own), np.uint64))]
    assert sum(sizes) == 39 * 30
    assert max(sizes) <= 100


def test_many_tokens_are_looked_up_in_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A long list of tokens is looked up in portions, and each starts with a check for cancellation.
    """
    monkeypatch.setattr(segments, "_TOKENS_AT_ONCE", 10)
    own = frozenset(range(1, 400))
    documents = dict.fromkeys(range(3), (own, own))
    segment = write(tmp_path / "a.segment", documents, tombstones=[])
    assert looked_up(segment, 0, sorted(own)) == plain(documents, 0, sorted(own))
    snapshot, checks = TokenSnapshot(1, (segment,), (np.full(3, True),)), Checks()
    with new_request("", checks):
        token_indices, _ = token_document_pairs(snapshot, 0, np.arange(1, 401))
    assert np.bincount(token_indices).tolist() == [3] * 399
    assert checks.count >= 40


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=DOCUMENTS, others=st.tuples(tokens(64), tokens(32)))
def test_each_token_is_found_in_its_documents_only(tmp_path: Path, documents: Documents, others: Kinds) -> None:
    """
    Each token is found in exactly the documents that have it, also in an empty segment.
    """
    segment = write(tmp_path / "a.segment", documents, tombstones=[7, 9])
    assert segment.numbers.tolist() == sorted(documents)
    assert segment.tombstones.tolist() == [7, 9]
    for kind in range(2):
        wanted = sorted(others[kind].union(*(own[kind] for own in documents.values())))
        assert looked_up(segment, kind, wanted) == plain(documents, kind, wanted)
    low, high = sorted((min(others[MINHASH], default=0), max(others[MINHASH], default=0) + 1))
    postings = segment.postings[MINHASH].postings_between(low, high)
    expected = sorted(token for own in set(documents.values()) for token in own[MINHASH] if low <= token < high)
    assert postings.tokens.tolist() == expected
    for kind, reader in enumerate(segment.postings):
        assert reader.postings_between(0, 1 << BITS[kind]).tokens.size == len(reader) == reader.counts.sum()


def test_hashes_that_tokens_begin_with_have_no_postings(tmp_path: Path) -> None:
    """
    A hash that is the upper bits of a document's MinHash token has no posting, unless two of its tokens begin with it.
    """
    own = frozenset((hash_ << 32) + 5 for hash_ in (0, 1, 7, 1 << 20))
    documents = {
        1: (own, frozenset([0, 1, 7, 8])),
        2: (own | {6}, frozenset([0, 1, 7, 8])),
        3: (own, frozenset([1, 7])),
        4: (frozenset(), frozenset([2])),
        5: (own, frozenset()),
        6: (own, frozenset([0])),
    }
    segment = write(tmp_path / "a.segment", documents)
    assert segment.postings[SKETCH].counts.tolist() == [1, 4, 2, 1, 0, 1]
    wanted = [0, 1, 2, 6, 7, 8, 9, 1 << 20, (1 << 32) - 1]
    assert looked_up(segment, SKETCH, wanted) == plain(documents, SKETCH, wanted)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(DOCUMENTS, min_size=1, max_size=4))
def test_merged_runs_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: list[Documents]) -> None:
    """
    A merged segment has each document as in the newest segment, for any size of the merge's portions.
    """
    monkeypatch.setattr(segments, "_POSTINGS_PER_MERGE", 32)
    for at, part in enumerate(parts[1:], 1):
        part.update({(at << 41) + number: own for number, own in parts[0].items() if number % 3})
    written = [write(tmp_path / f"{number}.segment", documents) for number, documents in enumerate(parts)]
    later = [{number for other in parts[at + 1 :] for number in other} for at in range(len(parts))]
    alive = [
        np.array([number not in own for number in segment.numbers.tolist()], np.bool_)
        for segment, own in zip(written, later, strict=True)
    ]
    (tmp_path / "all.segment").unlink(missing_ok=True)
    merge_segments(tmp_path / "all.segment", written, alive, np.array([3], np.int64))
    segment, documents = (
        Segment(tmp_path / "all.segment"),
        {number: own for part in parts for number, own in part.items()},
    )
    assert segment.numbers.tolist() == sorted(documents)
    assert segment.sizes.tolist() == [len(own[0]) for _, own in sorted(documents.items())]
    assert segment.tombstones.tolist() == [3]
    together = write(tmp_path / "together.segment", documents)
    assert [reader.counts.tolist() for reader in segment.postings] == [
        reader.counts.tolist() for reader in together.postings
    ]
    for kind in range(2):
        wanted = sorted({token for own in documents.values() for token in own[kind]})
        assert looked_up(segment, kind, wanted) == plain(documents, kind, wanted)


def crowd(count: int) -> Documents:
    """Return documents that all share three tokens of each kind, and have five of their own."""
    chosen = random.Random(1)
    shared = {kind: [chosen.randrange(1 << bits) for _ in range(3)] for kind, bits in enumerate(BITS)}
    return {
        number: (
            frozenset([*shared[0], *(chosen.randrange(1 << 64) for _ in range(5))]),
            frozenset([*shared[1], *(chosen.randrange(1 << 32) for _ in range(5))]),
        )
        for number in range(count)
    }


@thorough
@pytest.mark.slow
def test_tokens_that_many_documents_have(tmp_path: Path) -> None:
    """
    Skip blocks with more postings than a byte can count, written and merged.
    """
    documents = crowd(700)
    halves = [{number: own for number, own in documents.items() if number % 2 == half} for half in (0, 1)]
    parts = [write(tmp_path / f"{half}.segment", own) for half, own in enumerate(halves)]
    merge_segments(tmp_path / "all.segment", parts, [np.ones(350, np.bool_)] * 2, np.empty(0, np.int64))
    for segment, own in (
        (Segment(tmp_path / "all.segment"), documents),
        (write(tmp_path / "b.segment", documents), documents),
    ):
        for kind in range(2):
            wanted = sorted({token for tokens in own.values() for token in tokens[kind]})
            assert looked_up(segment, kind, wanted) == plain(own, kind, wanted)


@thorough
@pytest.mark.slow
def test_damage_is_reported(tmp_path: Path) -> None:
    """
    After a change of any byte, look-ups are right or raise an error; every truncated file is an error.
    """
    documents = crowd(60)
    wanted = [sorted({token for own in documents.values() for token in own[kind]}) for kind in range(2)]
    write(tmp_path / "a.segment", documents)
    raw = (tmp_path / "a.segment").read_bytes()
    noticed = 0
    for at in range(0, len(raw), 7):
        (tmp_path / "b.segment").unlink(missing_ok=True)
        (tmp_path / "b.segment").write_bytes(raw[:at] + bytes([raw[at] ^ (1 << at % 8)]) + raw[at + 1 :])
        try:
            segment = Segment(tmp_path / "b.segment")
            pairs = [looked_up(segment, kind, wanted[kind]) for kind in range(2)]
        except IndexBrokenError:
            noticed += 1
        else:
            assert pairs == [plain(documents, kind, wanted[kind]) for kind in range(2)]
    assert noticed > len(raw) / 7 / 2
    for length in (0, 10, 1023, 1024, 2000, len(raw) - 1):
        (tmp_path / "c.segment").unlink(missing_ok=True)
        (tmp_path / "c.segment").write_bytes(raw[:length])
        with pytest.raises(IndexBrokenError, match=r"c\.segment"):
            Segment(tmp_path / "c.segment")


@pytest.mark.slow
def test_an_entry_takes_few_bytes(tmp_path: Path) -> None:
    """
    A posting of random tokens takes about as many bits as information theory requires, for any number of documents.
    """
    generator = np.random.default_rng(1)
    for count in (1000, 3000):
        own = [np.unique(generator.integers(0, 1 << 32, 300, np.uint64)) for _ in range(count)]
        counts = np.array([tokens.size for tokens in own], np.int64)
        nothing = [np.empty(0, np.uint64)] * count
        path = tmp_path / f"{count}.segment"
        write_documents(path, np.arange(count), counts, np.empty(0, np.int64), [nothing, own], BITS)
        assert path.stat().st_size / counts.sum() < (32 - np.log2(300) + 7) / 8


@given(st.integers(1, 64), st.lists(st.integers(0, (1 << 64) - 1), max_size=200), st.data())
def test_numbers_are_read_back(width: int, wide: list[int], data: st.DataObject) -> None:
    """
    Packed numbers are read back, all together or one by one; packed words are the digits of one large number.
    """
    numbers = [number & ((1 << width) - 1) for number in wide]
    words = pack(np.array(numbers, np.uint64), width)
    assert words.size == -(-len(numbers) // 64) * width
    plain = sum(number << (at * width) for at, number in enumerate(numbers))
    assert int.from_bytes(words.astype("<u8").tobytes(), "little") == plain
    assert unpack(words, width)[: len(numbers)].tolist() == numbers
    positions = data.draw(st.lists(st.integers(0, max(0, len(numbers) - 1)), max_size=9)) if numbers else []
    raw = np.frombuffer(words.astype("<u8").tobytes() + bytes(9), np.uint8)
    assert unpack_at(raw, np.array(positions, np.int64), width).tolist() == [numbers[at] for at in positions]


def test_every_flipped_bit_is_noticed() -> None:
    """
    The checksums of a random and of an empty block detect every flipped bit.
    """
    for block in (np.random.default_rng(1).bytes(BLOCK), bytes(BLOCK)):
        flipped = np.tile(np.frombuffer(block, np.uint8), (8 * BLOCK, 1))
        flipped[np.arange(8 * BLOCK), np.arange(8 * BLOCK) // 8] ^= np.uint8(1) << (np.arange(8 * BLOCK) % 8).astype(
            np.uint8
        )
        sums = block_checksums(np.ascontiguousarray(flipped).view("<u8"))
        assert (sums != block_checksums(np.frombuffer(block, "<u8")[None, :])).all()
