"""Search within a Hamming distance, compared with a comparison of all codes, by both routes."""

from __future__ import annotations

import copy
import io
import os
import pickle
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hamming.hamming_routes_fixture import route  # noqa: F401  # a fixture
from tests.hamming.reference_search import MOST, all_pairs, changed, near, neighbourhood, skewed
from tests.sampling import combine
from whorl.errors import ParameterError, StoreError
from whorl.hamming import HammingIndex, find_clusters, find_pairs

both_routes = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)


@pytest.mark.parametrize(
    ("distance", "make"),
    [
        pytest.param(distance, make, marks=[pytest.mark.slow] if distance % 9 else [])
        for distance, make in combine(range(65), [neighbourhood, skewed])
    ],
)
def test_every_distance(route: str, distance: int, make: Callable[[int], list[int]]) -> None:  # noqa: F811
    """
    At each distance, single and bulk queries and pairs find the same as a comparison of all codes.
    """
    kind, chance = make(150), random.Random(9)
    codes = set(kind)
    queries = [changed(chance.choice(kind), min(64, chance.randint(0, distance + 2)), chance) for _ in range(12)]
    expected = [near(query, codes, distance) for query in queries]
    index = HammingIndex(distance, kind)
    assert [index.find_all(query) for query in queries] == expected
    assert index.find_all_bulk(queries).to_lists() == expected
    assert [index.find_first(query) for query in queries] == [next(iter(actual), None) for actual in expected]
    assert np.array_equal(find_pairs(kind, distance), all_pairs(kind, distance))


@pytest.mark.parametrize("size", [0, 1, 2])
def test_small_sets(route: str, size: int) -> None:  # noqa: F811
    """
    Sets of no code, one, and two near codes work.
    """
    codes = [0, 1][:size]
    assert find_pairs(codes, 3).tolist() == [[0, 1]] * (size == 2)
    assert find_clusters(codes, 3).to_lists() == [[0, 1]] * (size == 2)
    assert HammingIndex(3, codes).find_all(0) == codes
    assert HammingIndex(3, codes).find_all_bulk([0, 255]).to_lists() == [codes, []]
    assert HammingIndex(3, codes).find_all_bulk([]).to_lists() == []


def test_equal_codes_are_one(route: str) -> None:  # noqa: F811
    """
    A million copies of a code make no pairs.
    """
    copies = np.full(1_000_000, 5, np.uint64)
    assert find_pairs(copies, 3).size == 0
    assert len(HammingIndex(3, copies)) == 1


_codes = st.integers(0, MOST) | st.integers(0, 40) | st.sampled_from([0, 1, 3, MOST, MOST - 1, 1 << 63])
_steps = st.lists(
    st.tuples(st.sampled_from(["insert", "remove", "insert_bulk", "remove_bulk"]), st.lists(_codes, max_size=8)),
    max_size=12,
)


@both_routes
@given(start=st.lists(_codes, max_size=40), steps=_steps, query=_codes, distance=st.integers(0, 8))
def test_behaves_as_a_set(
    route: str,  # noqa: F811
    start: list[int],
    steps: list[tuple[str, list[int]]],
    query: int,
    distance: int,
) -> None:
    """
    After any insertions and removals, single or in bulk, the index has and finds the same as a Python set.
    """
    index, model = HammingIndex(distance, start), set(start)
    for step, codes in steps:
        if step.endswith("bulk"):
            getattr(index, step)(codes)
        else:
            for code in codes:
                getattr(index, step)(code)
        model = model | set(codes) if step.startswith("insert") else model - set(codes)
        assert len(index) == len(model)
        assert index.find_all(query) == near(query, model, distance)
    assert index.codes().tolist() == sorted(model)
    assert (query in index) == (query in model)
    assert index.find_all_bulk([query]).to_lists() == [near(query, model, distance)]


@pytest.mark.slow
@pytest.mark.parametrize("distance", [2, 3, 7])
def test_many_steps_alone(route: str, distance: int) -> None:  # noqa: F811
    """
    Ten thousand single insertions and removals exceed the buffer, so the tables are rebuilt.
    """
    chance, start = random.Random(2), neighbourhood(3000)
    index, model = HammingIndex(distance, start), set(start)
    for _ in range(10_000):
        code = changed(chance.choice(start), 2, chance)
        if chance.random() < 0.7:
            index.insert(code)
            model.add(code)
        else:
            gone = chance.choice([code, start[chance.randrange(len(start))]])
            index.remove(gone)
            model.discard(gone)
    assert len(index) == len(model)
    for query in start[:50]:
        assert index.find_all(query) == near(query, model, distance)
    few = [start[0], start[1] ^ 3]
    assert index.find_all_bulk(few).to_lists() == [near(query, model, distance) for query in few]
    assert index.codes().tolist() == sorted(model)


def test_skewed_codes_one_by_one(route: str) -> None:  # noqa: F811
    """
    Codes that share all but 20 bits can be inserted and found one by one.
    """
    codes = skewed(3000)
    index = HammingIndex(3)
    for code in codes:
        index.insert(code)
        index.insert(code)
    assert index.codes().tolist() == codes
    assert [index.find_all(query) for query in codes[:30]] == [near(query, set(codes), 3) for query in codes[:30]]


@pytest.mark.parametrize("bad", [-1, 2**64, 1.5, "1", None])
def test_bad_codes(bad: object) -> None:
    """
    A code is a whole number of 64 bits; otherwise an error says so, and the index is unchanged.
    """
    index = HammingIndex(3, [1, 2])
    for call in (index.insert, index.remove, index.find_all, index.find_first, index.__contains__):
        with pytest.raises(ParameterError, match=r"whole number from 0 to 2\*\*64 - 1"):
            call(bad)  # type: ignore[arg-type, operator]
    for bulk in (index.insert_bulk, index.remove_bulk, index.find_all_bulk, index.find_first_bulk):
        with pytest.raises(ParameterError, match=r"whole numbers from 0 to 2\*\*64 - 1"):
            bulk([3, bad])  # type: ignore[list-item]
    assert index.codes().tolist() == [1, 2]


@pytest.mark.parametrize("bad", [-1, 65, 1.5, True, None])
def test_bad_distances(bad: object) -> None:
    """
    A distance is 0 to 64 bits.
    """
    with pytest.raises(ParameterError, match="0 to 64"):
        HammingIndex(bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="0 to 64"):
        find_pairs([1], bad)  # type: ignore[arg-type]


def test_arrays_given_are_not_changed(route: str) -> None:  # noqa: F811
    """
    Neither codes nor queries are sorted in place.
    """
    codes = np.array([5, 3, 9, 3], np.uint64)
    index = HammingIndex(2, codes)
    index.insert_bulk(codes)
    index.remove_bulk(codes[:1])
    find_pairs(codes, 2)
    find_clusters(codes, 2)
    assert codes.tolist() == [5, 3, 9, 3]


def test_other_integers_are_codes() -> None:
    """
    numpy's integers and smaller types are accepted.
    """
    index = HammingIndex(0, np.array([1, 2], np.int8))
    index.insert(np.uint64(MOST))  # type: ignore[arg-type]
    index.insert_bulk([np.int64(3)])  # type: ignore[list-item]
    index.insert_bulk({4})
    assert index.codes().tolist() == [1, 2, 3, 4, MOST]


@given(st.lists(st.integers(0, 2**64 - 1), max_size=30), st.integers(0, 64))
def test_saved_and_loaded(codes: list[int], distance: int) -> None:
    """
    A loaded or copied index has the same codes and finds the same, also codes that were inserted or removed one by one.
    """
    index = HammingIndex(distance, codes[::2])
    for code in codes[1::2]:
        index.insert(code)
    for code in codes[::3]:
        index.remove(code)
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "codes")
        loaded = HammingIndex.load(Path(folder) / "codes")
        assert [path.name for path in Path(folder).iterdir()] == ["codes"]
    expected = sorted({*codes} - {*codes[::3]})
    for other in (loaded, pickle.loads(pickle.dumps(index)), copy.deepcopy(index)):
        assert other.distance == distance
        assert other.codes().tolist() == index.codes().tolist() == expected
        assert [other.find_all(code) for code in codes] == [index.find_all(code) for code in codes]


class _NamedIndex(HammingIndex):
    def __init__(self, name: str) -> None:
        super().__init__(3, [1, 2])
        self.name = name


def test_copies_keep_attributes() -> None:
    """
    Copies of an index keep the attributes of a subclass, and do not change with the index.
    """
    index = _NamedIndex("recent")
    index.insert(9)
    copies = [copy.copy(index), copy.deepcopy(index), *(pickle.loads(pickle.dumps(index, p)) for p in range(6))]
    index.remove(1)
    index.insert(100)
    for other in copies:
        assert (other.name, other.distance, other.codes().tolist()) == ("recent", 3, [1, 2, 9])


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    """
    The error names a missing, cut, empty or foreign file; a failed save is an error, too.
    """
    place = tmp_path / "codes"
    HammingIndex(3, [1, 2]).save(place)
    whole = place.read_bytes()
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(StoreError, match=f"cannot write .*{name}: it is a folder, pipe or device, not a file"):
            HammingIndex(3).save(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(StoreError, match=r"cannot read .*missing"):
        HammingIndex.load(tmp_path / "missing")
    foreign = io.BytesIO()
    np.savez(foreign, codes=np.array([1.5]), distance=np.int64(3))
    for content in (b"", b"text", whole[:40], whole[:-30], foreign.getvalue()):
        place.write_bytes(content)
        with pytest.raises(StoreError, match=r"codes is damaged, or was not written by HammingIndex\.save$"):
            HammingIndex.load(place)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """
    After the inversion of any byte of the file, the same codes are loaded or a StoreError is raised.
    """
    place = tmp_path / "codes"
    HammingIndex(3, [1, 2]).save(place)
    whole = place.read_bytes()
    damages = 0
    for at in range(len(whole)):
        place.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            assert HammingIndex.load(place).codes().tolist() == [1, 2]
        except StoreError:
            damages += 1
    assert damages > len(whole) // 2
