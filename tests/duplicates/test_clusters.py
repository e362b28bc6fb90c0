"""Tests of connected components, complete clusters and stars, against plain definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.families import shingles
from whorl.duplicates.clusters import (
    UnionFind,
    compare_versions,
    complete_labels,
    groups_by_label,
    labels_around_kept,
    version_order,
)
from whorl.duplicates.verify_sketches import Pairs
from whorl.fingerprint.compare import words_of
from whorl.fingerprint.shingling import Scheme

PLACES = 14
EDGES = st.lists(st.tuples(st.integers(0, PLACES - 1), st.integers(0, PLACES - 1), st.integers(1, 10)), max_size=50)


def pairs_of(edges: list[tuple[int, int, int]]) -> Pairs:
    edges_by_pair = {(min(a, b), max(a, b)): shared for a, b, shared in edges if a != b}
    columns = np.array([(a, b, shared) for (a, b), shared in sorted(edges_by_pair.items())], np.int64).reshape(-1, 3).T
    sizes = np.full(columns.shape[1], 10)
    return Pairs(columns[0], columns[1], sizes, sizes, columns[2], columns[2], columns[2])


def plain_labels(pairs: Pairs) -> list[int]:
    labels = list(range(PLACES))
    changed = True
    while changed:
        changed = False
        for a, b in zip(pairs.a.tolist(), pairs.b.tolist(), strict=True):
            if labels[a] != labels[b]:
                labels[a] = labels[b] = min(labels[a], labels[b])
                changed = True
    return labels


@given(EDGES)
def test_components_equal_plain_connected_components(edges: list[tuple[int, int, int]]) -> None:
    """
    Labels are the smallest reachable indices, whether pairs are joined at once or one by one.
    """
    pairs = pairs_of(edges)
    at_once, one_by_one = UnionFind(PLACES), UnionFind(PLACES)
    at_once.join(pairs.a, pairs.b)
    for at in range(len(pairs)):
        one_by_one.join(pairs.a[at : at + 1], pairs.b[at : at + 1])
    assert at_once.labels().tolist() == one_by_one.labels().tolist() == plain_labels(pairs)


def test_a_long_chain_is_one_component() -> None:
    """
    A chain of 100,000 documents in random order is one component.
    """
    order = np.random.default_rng(2).permutation(100_000)
    components = UnionFind(100_000)
    components.join(order[:-1], order[1:])
    assert not components.labels().any()


@given(EDGES)
def test_complete_clusters_are_cliques_that_cannot_be_joined(edges: list[tuple[int, int, int]]) -> None:
    """
    Any two members of a complete cluster are a pair, and no two clusters could be joined.
    """
    pairs = pairs_of(edges)
    there = set(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    labels = complete_labels(PLACES, pairs).tolist()
    groups = [[at for at in range(PLACES) if labels[at] == label] for label in sorted(set(labels))]
    assert all(group[0] == label for group, label in zip(groups, sorted(set(labels)), strict=True))
    for group in groups:
        assert all(pair in there for pair in combinations(group, 2))
    for one, other in combinations(groups, 2):
        assert not all((min(a, b), max(a, b)) in there for a in one for b in other)


def test_the_most_similar_pair_is_joined_first() -> None:
    """
    In the chain 0 - 1 - 2 with the more similar pair 1 - 2, the clusters are {1, 2} and {0}.
    """
    assert complete_labels(3, pairs_of([(0, 1, 8), (1, 2, 9)])).tolist() == [0, 1, 1]


@given(EDGES, st.permutations(range(PLACES)), st.integers(0, PLACES))
def test_no_two_kept_documents_are_a_pair(edges: list[tuple[int, int, int]], order: list[int], old: int) -> None:
    """
    No two kept documents are a pair, except earlier documents. Each other document is in the cluster of the most
    similar document kept before it, ties to the first.
    """
    pairs = pairs_of(edges)
    shared = dict(zip(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True), pairs.shared.tolist(), strict=True))
    shared |= {(b, a): count for (a, b), count in shared.items()}
    retained: list[int] = []
    expected = {}
    for at, place in enumerate(order):
        if at < old:
            retained.append(place)
            expected[place] = place
            continue
        near = [other for other in retained if (place, other) in shared]
        best = [other for other in near if other in order[:old]] or near
        expected[place] = max(best, key=lambda other: (shared[place, other], -order.index(other)), default=place)
        retained += [] if near else [place]
    stays = np.zeros(PLACES, np.bool_)
    stays[order[:old]] = True
    labels = labels_around_kept(PLACES, pairs, np.array(order), stays).tolist()
    assert labels == [expected[place] for place in range(PLACES)]
    assert not any(a in retained and b in retained and not (stays[a] and stays[b]) for a, b in shared)


def test_groups_come_largest_first() -> None:
    """
    Groups are ordered by size, then by first index; a single document is not a group.
    """
    groups = groups_by_label(np.array([0, 1, 0, 3, 1, 5, 1, 3]))
    assert [group.tolist() for group in groups] == [[1, 4, 6], [0, 2], [3, 7]]


_TEXTS = st.lists(st.sampled_from("abcd"), max_size=40).map(" ".join)


@given(st.lists(st.tuples(st.none() | st.sampled_from([1.0, 2.0, 3.0]), st.integers(1, 9)), max_size=8))
def test_versions_are_ordered_by_date_then_containment(documents: list[tuple[float | None, int]]) -> None:
    """
    Versions ascend by date, and without dates by size; a document without a date comes before the first larger one.
    """
    dates, sizes = [date for date, _ in documents], [size for _, size in documents]
    order = version_order(dates, sizes)
    assert sorted(order) == list(range(len(documents)))
    dated = [at for at in order if dates[at] is not None]
    assert dated == sorted(dated, key=lambda at: (dates[at], at))
    undated = [at for at in order if dates[at] is None]
    assert undated == sorted(undated, key=lambda at: (sizes[at], at))
    for place, at in enumerate(order):
        if dates[at] is None:
            assert all(sizes[before] <= sizes[at] for before in order[:place])
            assert place + 1 == len(order) or dates[order[place + 1]] is None or sizes[order[place + 1]] > sizes[at]


@given(_TEXTS, _TEXTS, st.integers(1, 4))
def test_own_words_are_those_outside_shared_passages(before: str, after: str, size: int) -> None:
    """
    The words of only one text are the words in no shingle of the other text, and each run comes with its text.
    """
    scheme = Scheme(shingle_size=size)
    comparison, lost, added = compare_versions((before, words_of(before)), (after, words_of(after)), scheme)
    for text, other, own, actual in ((before, after, lost, comparison.a), (after, before, added, comparison.b)):
        words = text.split()
        theirs = {tuple(other.split()[at : at + size]) for at in range(len(other.split()) - size + 1)}
        is_own = [
            not any(tuple(words[at : at + size]) in theirs for at in range(max(0, place - size + 1), place + 1))
            for place in range(len(words))
        ]
        assert own.words == sum(is_own) == actual.words - actual.shared_words
        assert own.passages == tuple(text[start:end] for start, end in own.places)
        assert [word for passage in own.passages for word in passage.split()] == [
            word for word, mine in zip(words, is_own, strict=True) if mine
        ]
        assert all(end < start for (_, end), (start, _) in zip(own.places, own.places[1:], strict=False))


def test_by_hand() -> None:
    """
    A changed word and an additional sentence are found.
    """
    before = "The tenant pays the rent of 500 euros on the first of each month to the landlord."
    after = "The tenant pays the rent of 600 euros on the first of each month to the landlord. Heating is extra!"
    comparison, lost, added = compare_versions((before, words_of(before)), (after, words_of(after)), Scheme())
    assert (lost.words, lost.passages) == (1, ("500",))
    assert (added.words, added.passages) == (4, ("600", "Heating is extra"))
    assert comparison.shares.a_in_b == len(shingles(before) & shingles(after)) / len(shingles(before))
