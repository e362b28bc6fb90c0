"""Groups documents into clusters, given the pairs that are near-duplicates.

Clusters are of three kinds. In a connected component (see `whorl.connected_components`), a chain of pairs connects any
two documents. In a complete cluster, any two documents are a pair. In a star, each document is a duplicate of the
document to keep. The functions return labels: an array with one element per document, the index of the document that
represents its cluster.
"""

from __future__ import annotations

import numpy as np

from whorl.arrays_and_batches import group_equals
from whorl.connected_components import UnionFind
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.sketch_arrays import Bools, Numbers


def groups_by_label(labels: Numbers) -> list[Numbers]:
    """Return the groups of two or more documents with equal labels, the largest first, ties by first document."""
    inside = np.flatnonzero(np.bincount(labels, minlength=1)[labels] > 1)
    groups = [inside[group] for group in group_equals(labels[inside])]
    groups.sort(key=lambda group: (-group.size, int(group[0])))
    return groups


def complete_labels(count: int, pairs: Pairs) -> Numbers:
    """Label each document with its complete group (complete linkage): any two documents of a group are a pair.

    Pairs are processed from the most to the least similar, ties in index order. A pair merges the groups of its two
    documents if each member of one group is a pair with each member of the other group.
    """
    labels, shares, components = np.arange(count), pairs.jaccard, UnionFind(count)
    components.join(pairs.a, pairs.b)
    for at in group_equals(components.find(pairs.a)):
        a, b = pairs.a[at], pairs.b[at]
        order = np.lexsort((b, a, -shares[at]))
        labels_here = _complete(a[order].tolist(), b[order].tolist())
        labels[list(labels_here)] = list(labels_here.values())
    return labels


def labels_around_earlier(count: int, pairs: Pairs, is_known: Bools) -> Numbers:
    """Label each new document with the earlier document that it joins, or with its complete group of new documents.

    `is_known` marks the earlier documents. A new document joins the most similar earlier document among its pairs; ties
    go to the first. Pairs of two earlier documents are ignored.
    """
    is_known_a, is_known_b = is_known[pairs.a], is_known[pairs.b]
    is_link = is_known_a != is_known_b
    new = np.where(is_known_a, pairs.b, pairs.a)[is_link]
    known = np.where(is_known_a, pairs.a, pairs.b)[is_link]
    # If an assignment repeats an index, numpy keeps the last value. So sort the best earlier document last.
    order = np.lexsort((-known, pairs.jaccard[is_link]))
    labels = np.arange(count)
    labels[new[order]] = known[order]
    is_alone = labels == np.arange(count)
    others = pairs.select(~is_known_a & ~is_known_b & is_alone[pairs.a] & is_alone[pairs.b])
    return np.where(is_alone, complete_labels(count, others), labels)


def labels_around_kept(count: int, pairs: Pairs, order: Numbers, stays: Bools) -> Numbers:
    """Label each document with the kept document that it duplicates. The label of a kept document is its own index.

    The function visits the documents in the given `order`, and keeps each document that duplicates no document kept so
    far. A duplicate gets the label of the most similar kept document; ties go to the first. Documents marked in `stays`
    come first in `order`, and are always kept. Their duplicates get the label of the most similar marked document, even
    if another kept document is more similar. Only the first position of a document in `order` counts.
    """
    order = order[np.sort(np.unique(order, return_index=True)[1])]
    ends, others = np.concatenate([pairs.a, pairs.b]), np.concatenate([pairs.b, pairs.a])
    shares = np.concatenate([pairs.jaccard, pairs.jaccard])
    by_end = np.argsort(ends, kind="stable")
    neighbours, starts = others[by_end], np.searchsorted(ends[by_end], np.arange(count + 1))
    is_gone = np.zeros(count, np.bool_)
    for index in order.tolist():
        if stays[index] or not is_gone[index]:
            is_gone[neighbours[starts[index] : starts[index + 1]]] = True
    is_gone &= ~stays
    ranks = np.zeros(count, np.int64)
    ranks[order] = np.arange(order.size)
    is_link = is_gone[ends] & ~is_gone[others] & (ranks[others] < ranks[ends])
    removed, kept, shares = ends[is_link], others[is_link], shares[is_link]
    labels = np.arange(count)
    # Again, numpy keeps the last value of a repeated index.
    best_last = np.lexsort((-ranks[kept], shares, stays[kept]))
    labels[removed[best_last]] = kept[best_last]
    return labels


def _complete(firsts: list[int], seconds: list[int]) -> dict[int, int]:
    """Divide a connected component into complete groups, and label each document with its group's smallest index."""
    members: dict[int, list[int]] = {}
    label: dict[int, int] = {}
    #: `links[x][y]` is the number of pairs between the groups with the labels x and y.
    links: dict[int, dict[int, int]] = {}
    for a, b in zip(firsts, seconds, strict=True):
        for one, other in ((a, b), (b, a)):
            members[one], label[one] = [one], one
            links.setdefault(one, {})[other] = 1
    for a, b in zip(firsts, seconds, strict=True):
        one, other = label[a], label[b]
        if one == other or links[one][other] < len(members[one]) * len(members[other]):
            continue
        if len(members[one]) < len(members[other]):
            one, other = other, one
        for member in members[other]:
            label[member] = one
        members[one] += members.pop(other)
        del links[one][other]
        for third, count in links.pop(other).items():
            if third != one:
                links[one][third] = links[third][one] = links[one].get(third, 0) + count
                del links[third][other]
    smallest = {group: min(documents) for group, documents in members.items()}
    return {member: smallest[group] for member, group in label.items()}
