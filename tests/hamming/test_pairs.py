"""All pairs and clusters, compared with a comparison of all codes, by both routes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tests.hamming.hamming_routes_fixture import route  # noqa: F401  # a fixture
from tests.hamming.reference_search import all_pairs, components, neighbourhood, skewed
from whorl.errors import ParameterError
from whorl.hamming import find_clusters, find_pairs, stream_pairs
from whorl.request_context import reporting


@pytest.mark.slow
@pytest.mark.parametrize("distance", [1, 3, 5])
def test_skew_is_searched_again(route: str, distance: int) -> None:  # noqa: F811
    """
    For four thousand codes that share 44 bits, long runs are split by their other bits, and no pair is lost.
    """
    codes = skewed(4000)
    assert np.array_equal(find_pairs(codes, distance), all_pairs(codes, distance))


@pytest.mark.parametrize("distance", [1, 2, 3, 5])
def test_clusters(route: str, distance: int) -> None:  # noqa: F811
    """
    Clusters are the connected components of the pairs, sorted, without single codes.
    """
    codes = neighbourhood(800)
    assert find_clusters(codes, distance).to_lists() == components(all_pairs(codes, distance).tolist())


def test_a_chain_is_one_cluster() -> None:
    """
    Codes that differ in all bits are one cluster if a chain of one-bit differences connects them.
    """
    chain = [(1 << bits) - 1 for bits in range(65)]
    assert find_clusters(chain, 1).to_lists() == [chain]


@contextmanager
def reported_shares() -> Iterator[list[float]]:
    """Collect the fractions of completed work that the code in the `with` block reports."""
    shares: list[float] = []
    with reporting(lambda _step, done, total: shares.append(done / (total or 1))):
        yield shares


def test_streamed_pairs_come_once(route: str) -> None:  # noqa: F811
    """
    The stream has the same pairs in pieces, each once, and progress reaches its total.
    """
    codes = skewed(3000)
    with reported_shares() as shares:
        streamed = np.concatenate(list(stream_pairs(codes, 3)))
    assert sorted(streamed.tolist()) == all_pairs(codes, 3).tolist()
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize("count", [0, 1, 60])
@pytest.mark.parametrize("distance", [0, 3])
def test_progress_reaches_the_total_of_small_input(route: str, count: int, distance: int) -> None:  # noqa: F811
    """
    Progress reaches its total also for empty input, and for input so small that all codes are compared.
    """
    with reported_shares() as shares:
        for _ in stream_pairs(skewed(count), distance):
            pass
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize(
    "bad", [np.array([-1]), np.array([1.0]), np.zeros((2, 2), np.uint64), np.array([True]), b"12345678"]
)
def test_bad_arrays(bad: np.ndarray) -> None:
    """
    Arrays must be one-dimensional and hold non-negative integers.
    """
    with pytest.raises(ParameterError, match="codes are"):
        find_pairs(bad, 3)


@pytest.mark.parametrize("distance", [1, 3])
def test_codes_that_share_no_block(route: str, distance: int) -> None:  # noqa: F811
    """
    If no two of many codes agree on all bits of a block, the result is empty.
    """
    # Multiplication by an odd number gives each code other bits in every block.
    codes = np.arange(1, 1001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert np.array_equal(find_pairs(codes, distance), all_pairs(codes.tolist(), distance))
