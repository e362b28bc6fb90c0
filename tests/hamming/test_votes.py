"""The votes for each bit, and the codes made from them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whorl.hamming.codes import BITS
from whorl.hamming.votes import codes_from_votes, count_votes

votes = st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(1, 1000)), max_size=8)


@given(st.lists(votes, max_size=4))
def test_votes_are_counted_for_each_bit(texts: list[list[tuple[int, int]]]) -> None:
    """
    The tally of a bit is the weight of hashes with it minus that of hashes without it; a positive tally sets the bit.
    """
    hashes = np.array([code for text in texts for code, _ in text], np.uint64)
    weights = [weight for text in texts for _, weight in text]
    counted = count_votes(hashes, [len(text) for text in texts], weights)
    expected = [[sum(w if code >> bit & 1 else -w for code, w in text) for bit in range(BITS)] for text in texts]
    assert counted.tolist() == expected
    codes = [sum(1 << bit for bit, more in enumerate(row) if more > 0) for row in expected]
    assert codes_from_votes(counted).tolist() == codes


def test_one_vote_each_without_weights() -> None:
    """
    0b011 and 0b010 agree on the second bit, tie on the first, and lack all others.
    """
    counted = count_votes(np.array([0b011, 0b010], np.uint64), [2])
    assert counted.tolist() == [[0, 2] + [-2] * 62]
    assert codes_from_votes(counted).tolist() == [0b010]
