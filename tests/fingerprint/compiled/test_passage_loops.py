"""The compiled search for passages, compared with the plain one; `test_compare_texts.py` compares whole texts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.fingerprint.compiled.scripts import needs_numba
from whorl.fingerprint.compare_texts import CANDIDATES, match_plainly
from whorl.fingerprint.compiled.kernel import load_loops

pytestmark = needs_numba
sequences = st.lists(st.one_of(st.integers(0, 2), st.integers(0, 9)), max_size=60)


@given(sequences, sequences, st.lists(st.integers(1, 3), min_size=60, max_size=60))
def test_passages_equal_those_of_the_plain_search(a: list[int], b: list[int], gaps: list[int]) -> None:
    """
    The loop finds the passages of the plain search in the same order, also in a sequence with gaps.
    """
    positions = np.cumsum(gaps)[: len(a)]
    passages = np.empty((len(a), 3), np.int64)
    arrays = np.array(a, np.int64), positions, np.array(b, np.int64)
    first, places = np.zeros(12, np.int64), np.empty(len(b), np.int64)
    count = load_loops().passages.find_passages(*arrays, CANDIDATES, first, places, passages)
    assert list(map(tuple, passages[:count].tolist())) == match_plainly(a, b, positions.tolist())


LONG_SEQUENCES = st.lists(st.one_of(st.integers(0, 2), st.integers(0, 10**9)), max_size=60)


@given(st.lists(LONG_SEQUENCES, min_size=1, max_size=3), st.integers(1, 5))
def test_numbers_equal_those_of_tuples(texts: list[list[int]], size: int) -> None:
    """
    Runs are numbered in the order of their first occurrence: first the runs of the first sequence, then the new runs of
    each further sequence.
    """
    loops = load_loops().passages
    known, known_runs, known_slots, kinds = np.empty(0, np.int64), np.empty(0, np.int64), np.full(1, -1), 0
    numbers: dict[tuple[int, ...], int] = {}
    for text in texts:
        own = numbers.copy()
        tuples = [tuple(text[at : at + size]) for at in range(len(text) - size + 1)]
        expected = [own.setdefault(run, len(own)) for run in tuples]
        items, runs, slots = np.array(text, np.int64), np.empty(len(tuples), np.int64), np.full(128, -1)
        assert loops.number_runs(items, size, known, known_runs, known_slots, kinds, slots, runs) == len(own)
        assert runs.tolist() == expected
        if not known.size:
            known, known_runs, known_slots, kinds, numbers = items, runs, slots, len(own), own
