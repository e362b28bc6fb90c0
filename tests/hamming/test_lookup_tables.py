"""Tables of codes: the chosen layouts, and complete results."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.hamming.hamming_routes_fixture import route  # noqa: F401  # a fixture
from tests.hamming.reference_search import neighbourhood
from whorl.hamming import HammingIndex
from whorl.hamming.lookup_tables import Layout


@pytest.mark.slow
@pytest.mark.parametrize("distance", [0, 1, 2, 3, 4, 6, 8, 11])
def test_more_codes_than_a_scan_is_for(route: str, distance: int) -> None:  # noqa: F811
    """
    With 30,000 codes every table layout is in use: a radius of 0, 1 and 2.
    """
    chance = random.Random(4)
    codes = np.array([*neighbourhood(5000), *(chance.getrandbits(64) for _ in range(25_000))], np.uint64)
    queries = codes[::1000] ^ np.uint64(0b101 << 30)
    array = np.unique(codes)
    is_near = np.bitwise_count(array ^ queries[:, None]) <= distance
    index = HammingIndex(distance, codes)
    answers = index.find_all_bulk(queries)
    assert [answer.tolist() for answer in answers] == [array[row].tolist() for row in is_near]
    assert [index.find_all(query) for query in queries.tolist()] == answers.to_lists()
    first = index.find_first_bulk(queries)
    assert first.found.tolist() == is_near.any(axis=1).tolist()
    assert first.codes[first.found].tolist() == [array[row][0] for row in is_near if row.any()]


@pytest.mark.parametrize(("distance", "blocks", "radius"), [(0, 1, 0), (3, 4, 0), (6, 4, 1), (10, 4, 2), (64, 1, 0)])
def test_layouts(distance: int, blocks: int, radius: int) -> None:
    """
    Layouts for a million codes: one block more than bits, then fewer blocks with a radius, finally no buckets. In each
    layout with buckets, blocks * (radius + 1) is above the distance.
    """
    layout = Layout.choose(distance, 1_000_000)
    assert (len(layout.lows), layout.radius) == (blocks, radius)
    assert layout.width == 0 or blocks * (radius + 1) > distance
