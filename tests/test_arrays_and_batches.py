"""Runs, distinct numbers and chunks of arrays, compared with Python's lists and sets."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from itertools import groupby, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whorl.arrays_and_batches import (
    HashLookup,
    ascending_distinct,
    batches,
    chunks,
    expand_ranges,
    find_sorted,
    group_equals,
    run_starts,
    sort_distinct,
    sorting_order,
    zip_with_results,
)

numbers = st.lists(st.integers(0, 9), max_size=20)


@given(numbers)
def test_run_starts_equal_groupby(values: list[int]) -> None:
    """
    The run starts are those of `itertools.groupby`.
    """
    lengths = [len(list(run)) for _, run in groupby(values)]
    assert run_starts(np.array(values, np.int64)).tolist() == [sum(lengths[:at]) for at in range(len(lengths))]


@given(numbers)
def test_group_equals_equal_groupby(values: list[int]) -> None:
    """
    The groups have the indices of equal values, ascending.
    """
    in_order = sorted(range(len(values)), key=lambda index: (values[index], index))
    expected = [list(group) for _, group in groupby(in_order, key=values.__getitem__)]
    assert [group.tolist() for group in group_equals(np.array(values, np.int64))] == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=20))
def test_run_starts_of_several_columns(rows: list[tuple[int, int]]) -> None:
    """
    A run ends where any column changes.
    """
    columns = np.array(rows, np.int64).reshape(-1, 2).T
    assert run_starts(*columns).tolist() == [at for at, row in enumerate(rows) if at == 0 or row != rows[at - 1]]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=12), st.integers(1, 30))
def test_ranges_are_expanded_in_order(ranges: list[tuple[int, int]], at_once: int) -> None:
    """
    Batches have all indices of all ranges, in order. No batch is empty; a batch of several ranges is limited.
    """
    starts, ends = np.array(ranges, np.int64).reshape(-1, 2).T
    expanded = [(a.tolist(), b.tolist()) for a, b in expand_ranges(starts, ends, at_once)]
    pairs = [pair for owners, indices in expanded for pair in zip(owners, indices, strict=True)]
    assert pairs == [(owner, at) for owner, (start, end) in enumerate(ranges) for at in range(start, end)]
    assert all(owners and (len(owners) <= at_once or len(set(owners)) == 1) for owners, _ in expanded)


@given(numbers, st.sampled_from([4, 60, 64]))
def test_the_order_of_numbers_equals_sorted(values: list[int], bits: int) -> None:
    """
    The order equals that of `sorted` and is stable, even if no bits are left for the positions.
    """
    large = np.array(values, np.uint64) << np.uint64(bits - 4)
    assert sorting_order(large, bits).tolist() == sorted(range(len(values)), key=values.__getitem__)


@given(st.lists(numbers, max_size=4))
def test_distinct_numbers(parts: list[list[int]]) -> None:
    """
    The distinct numbers of several arrays, or of one ascending array, are those of a set.
    """
    arrays = [np.array(part, np.uint64) for part in parts]
    expected = sorted({number for part in parts for number in part})
    assert sort_distinct(arrays).tolist() == expected
    everything = np.sort(np.concatenate([np.empty(0, np.uint64), *arrays]))
    assert ascending_distinct(everything).tolist() == expected


@given(numbers, st.integers(0, 20), st.none() | st.integers(1, 4))
def test_chunks_are_filled_to_a_limit(items: list[int], heaviest: int, most: int | None) -> None:
    """
    Chunks keep all items in order; each chunk is light and short enough, and the next item would exceed a limit.
    """
    made = list(chunks(items, int, heaviest, most))
    assert [item for chunk in made for item in chunk] == items
    assert all(chunk and (len(chunk) == 1 or sum(chunk) <= heaviest) for chunk in made)
    assert all(most is None or len(chunk) <= most for chunk in made)
    for chunk, following in pairwise(made):
        assert sum(chunk) + following[0] > heaviest or len(chunk) == most


@given(st.lists(st.integers(), max_size=200), st.integers(1, 7))
def test_results_release_their_items(values: list[int], most: int) -> None:
    """
    Each item comes with its result and is released then, however many items there are.
    """

    class Item:
        def __init__(self, value: int) -> None:
            self.value = value

    born: list[weakref.ref[Item]] = []

    def items() -> Iterator[Item]:
        for value in values:
            item = Item(value)
            born.append(weakref.ref(item))
            yield item

    def make(ahead: Iterator[Item]) -> Iterator[int]:
        for batch in batches(ahead, most):
            made = [-item.value for item in batch]
            del batch
            yield from made

    pairs = []
    for item, made in zip_with_results(items(), make):
        pairs.append((item.value, made))
        del item
        # The last item taken is still in use.
        assert sum(reference() is not None for reference in born) <= most + 1
    assert pairs == [(value, -value) for value in values]


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(-1, 10)))
def test_numbers_in_an_ascending_array(known: list[int], wanted: list[int]) -> None:
    """
    Each number that the array has gets the position of its first occurrence; an empty array has none.
    """
    ascending = np.array(sorted(known), np.int64)
    positions, is_found = find_sorted(ascending, np.array(wanted, np.int64))
    assert is_found.tolist() == [number in known for number in wanted]
    expected = [sorted(known).index(number) for number in wanted if number in known]
    assert positions[is_found].tolist() == expected


@given(
    known=st.sets(st.integers(0, 2**20 - 1), max_size=60),
    others=st.lists(st.integers(0, 2**20 - 1), max_size=60),
    most_table_bits=st.sampled_from([2, 28]),
)
def test_hashes_are_looked_up(known: set[int], others: list[int], most_table_bits: int) -> None:
    """
    All hashes that the array has are found, and no others, even if their upper bits are equal.
    """
    ascending, wanted = sorted(known), [*others, *known]
    lookup = HashLookup(np.array(ascending, np.uint64), 20, most_table_bits)
    indices, positions = lookup.find(np.array(wanted, np.uint64))
    expected = [(at, ascending.index(number)) for at, number in enumerate(wanted) if number in known]
    assert [*zip(indices.tolist(), positions.tolist(), strict=True)] == expected
