"""The token index against a plain dictionary, while documents are added, replaced, deleted and merged."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whorl.engine.embedded import segmented_token_index, segments
from whorl.engine.embedded.segmented_token_index import DocumentTokens, TokenIndex
from whorl.engine.embedded.segments import Segment
from whorl.engine.embedded.store_files import IndexBrokenError


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Skip fsync: these tests are not about power cuts, and waiting for the disk would take most of their time.
    """
    monkeypatch.setattr("os.fsync", lambda _: None)


BITS = (64, 40)


def new_index(path: Path, mark: str = "mine") -> TokenIndex:
    index = TokenIndex(path, mark, BITS)
    index.make()
    return index


def of(own: Iterable[int]) -> DocumentTokens:
    """Return a document with the given tokens as tokens of both kinds."""
    tokens = np.array(sorted(set(own)), np.uint64)
    return DocumentTokens(tokens.size, (tokens, tokens))


def tokens_by_document(index: TokenIndex) -> dict[int, set[int]]:
    """Return all tokens below 10 of each remaining document."""
    snapshot, every = index.snapshot(), np.arange(10, dtype=np.uint64)
    kinds = []
    for kind in range(2):
        have: dict[int, set[int]] = {}
        for segment, alive in zip(snapshot.segments, snapshot.alive, strict=True):
            for number in segment.numbers[alive].tolist():
                assert number not in have
                have[number] = set()
            for owner, place in chain.from_iterable(
                zip(*columns, strict=True) for columns in segment.look_up(kind, every)
            ):
                if alive[place]:
                    have[int(segment.numbers[place])].add(int(owner))
        kinds.append(have)
    assert kinds[0] == kinds[1]
    return kinds[0]


CHANGES = st.dictionaries(
    st.integers(0, 12), st.one_of(st.none(), st.frozensets(st.integers(0, 9), max_size=4)), max_size=8
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(CHANGES, max_size=14), at_once=st.sampled_from([0, 4, 1000]))
def test_written_documents_are_seen_by_writers_and_readers(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, steps: list[dict], at_once: int
) -> None:
    """
    The writer, a reader opened before, and a reader opened afterwards see the same tokens, and no others.
    """
    monkeypatch.setattr(segmented_token_index, "SMALLEST_SEGMENT", 3)
    monkeypatch.setattr(segmented_token_index, "FANOUT", 2)
    monkeypatch.setattr(segmented_token_index, "LARGEST_SEGMENT", 40)
    monkeypatch.setattr(segmented_token_index, "MOST_AT_ONCE", at_once)
    path = tmp_path_factory.mktemp("tokens") / "tokens"
    index, reader = new_index(path), TokenIndex(path, "mine", BITS)
    expected: dict[int, set[int]] = {}
    for number, changes in enumerate(steps):
        index.begin()
        index.replace({number: None if own is None else of(own) for number, own in changes.items()})
        assert tokens_by_document(index) == expected
        index.commit(number)
        if number % 3 == 2:
            index.finish()
        for document, own in changes.items():
            expected.pop(document, None)
            if own is not None:
                expected[document] = set(own)
        assert tokens_by_document(index) == tokens_by_document(reader) == expected
        assert index.snapshot().applied == number
    index.wait()
    assert (
        tokens_by_document(index)
        == tokens_by_document(reader)
        == tokens_by_document(TokenIndex(path, "mine", BITS))
        == expected
    )
    assert {file.name for file in path.iterdir()} == {
        "segments.json",
        *(segment.name for segment in index.snapshot().segments),
    }


@pytest.mark.slow
def test_many_small_writes_make_few_runs(tmp_path: Path) -> None:
    """
    Segments grow by factors of four, so a look-up reads few of them.
    """
    index = new_index(tmp_path / "tokens")
    for number in range(100):
        index.replace({number: of([number % 10])})
        index.commit(number)
    assert len(tokens_by_document(index)) == 100
    assert len(index.snapshot().segments) <= 6


def test_a_large_write_ends_in_one_run(tmp_path: Path) -> None:
    """
    A large write is merged into one segment at its end; a small write after it does not rewrite that segment.
    """
    index = new_index(tmp_path / "tokens")
    for number in range(6):
        index.replace({100 * number + offset: of([number]) for offset in range(100)})
        index.commit(number)
    assert len(index.snapshot().segments) > 2
    index.finish()
    index.wait()
    assert [len(segment) for segment in index.snapshot().segments] == [600]
    for number in range(3):
        index.replace({1000 + number: of([number])})
        index.commit(10 + number)
        index.finish()
        index.wait()
    assert [len(segment) for segment in index.snapshot().segments] == [600, 3]
    assert len(tokens_by_document(index)) == 603


def test_a_large_write_that_ends_during_a_merge_ends_in_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    If a write ends just after the background merge has found nothing to do, the merge still runs for it.
    """
    index = new_index(tmp_path / "tokens")
    for number in range(6):
        index.replace({100 * number + offset: of([number]) for offset in range(100)})
        index.commit(number)
    find_due, ending = TokenIndex._due_segments, threading.Thread(target=index.finish)

    def find_then_end(self: TokenIndex, most: int, final_merge_size: int = 0) -> Sequence[Segment]:
        due = find_due(self, most, final_merge_size)
        if not due and ending.ident is None:
            ending.start()
        return due

    monkeypatch.setattr(TokenIndex, "_due_segments", find_then_end)
    index._idle.clear()
    index._merge_large()
    ending.join()
    index.wait()
    assert [len(segment) for segment in index.snapshot().segments] == [600]


def test_runs_of_the_dead_are_cleared(tmp_path: Path) -> None:
    """
    A segment whose documents are mostly replaced is rewritten without them.
    """
    index = new_index(tmp_path / "tokens")
    for stamp in (1, 2):
        index.replace({number: of([stamp]) for number in range(500)})
        index.commit(stamp)
    assert [len(segment) for segment in index.snapshot().segments] == [0, 500]
    index.replace(dict.fromkeys(range(500)))
    index.commit(3)
    assert tokens_by_document(index) == {}


def test_large_merges_run_during_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Changes written during a merge are visible before, during and after it.
    """
    monkeypatch.setattr(segmented_token_index, "SMALLEST_SEGMENT", 3)
    monkeypatch.setattr(segmented_token_index, "MOST_AT_ONCE", 3)
    release, real = threading.Event(), segments.merge_segments
    ended = threading.Event()

    def slow(*arguments: object) -> None:
        release.wait(240)
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("whorl.engine.embedded.segmented_token_index.merge_segments", slow)
    index = TokenIndex(tmp_path / "tokens", "mine", BITS, ended.set)
    index.make()
    expected: dict[int, set[int]] = {}
    for number in range(8):
        index.replace({2 * number + offset: of([number]) for offset in range(2)})
        index.commit(number)
        expected |= {2 * number + offset: {number} for offset in range(2)}
    assert index.is_merging
    index.begin()
    index.replace({1: None, 2: of([9])})
    index.commit(9)
    del expected[1]
    expected[2] = {9}
    assert tokens_by_document(index) == expected
    release.set()
    assert ended.wait(240)
    assert not index.is_merging
    assert tokens_by_document(index) == expected
    assert len(index.snapshot().segments) < 9


def test_uncommitted_changes_disappear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Changes abandoned or left by a crash disappear, also already written ones.
    """
    monkeypatch.setattr(segmented_token_index, "MOST_BUFFERED", 3)
    index = new_index(tmp_path / "tokens")
    index.replace({1: of([1, 2, 3])})
    assert len(list((tmp_path / "tokens").iterdir())) == 2
    index.abandon()
    index.replace({2: of([2, 3, 4])})
    later = TokenIndex(tmp_path / "tokens", "mine", BITS)
    later.begin()
    later.commit(1)
    assert tokens_by_document(later) == {}
    assert [file.name for file in (tmp_path / "tokens").iterdir()] == ["segments.json"]


def test_other_things_are_no_tokens(tmp_path: Path) -> None:
    """
    Indexes of another store, damaged or missing manifests, and missing segments are refused.
    """
    index = new_index(tmp_path / "tokens")
    index.replace({1: of([1])})
    index.commit(1)
    with pytest.raises(IndexBrokenError, match="not the index of this store"):
        TokenIndex(tmp_path / "tokens", "yours", BITS).snapshot()
    names = tmp_path / "tokens" / "segments.json"
    raw = names.read_bytes()
    for damaged in (b"", raw[:-1], raw.replace(b"1", b"2", 1), b"{}\n0"):
        names.unlink()
        names.write_bytes(damaged)
        with pytest.raises(IndexBrokenError, match="damaged"):
            TokenIndex(tmp_path / "tokens", "mine", BITS).snapshot()
    # A manifest of an earlier version of whorl.
    names.write_bytes(b"{}\n%d" % zlib.crc32(b"{}"))
    with pytest.raises(IndexBrokenError, match="not the index of this store"):
        TokenIndex(tmp_path / "tokens", "mine", BITS).snapshot()
    names.unlink()
    with pytest.raises(FileNotFoundError):
        index.commit(2)
    names.write_bytes(raw)
    for file in (tmp_path / "tokens").glob("*.segment"):
        file.unlink()
    with pytest.raises(IndexBrokenError):
        TokenIndex(tmp_path / "tokens", "mine", BITS).snapshot()
