"""From pairs to clusters: connected components, and groups of which any two members are a pair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from whorl.duplicates.sketches import Numbers
from whorl.duplicates.verify import Pairs


class Components:
    """Which documents hang together, as links between them become known (a forest of sets, joined at their roots).

    Args:
        count: How many documents there are; each hangs together with itself alone at first.
    """

    def __init__(self, count: int) -> None:
        self._parents = np.arange(count)

    def find(self, places: Numbers) -> Numbers:
        """Return the smallest place that each of some documents hangs together with."""
        roots = self._parents[places]
        while (is_open := self._parents[roots] != roots).any():
            roots = np.where(is_open, self._parents[roots], roots)
        self._parents[places] = roots
        return roots

    def join(self, a: Numbers, b: Numbers) -> None:
        """Let the documents of pairs hang together."""
        while a.size:
            roots_a, roots_b = self.find(a), self.find(b)
            is_apart = roots_a != roots_b
            a, b = a[is_apart], b[is_apart]
            low, high = np.minimum(roots_a, roots_b)[is_apart], np.maximum(roots_a, roots_b)[is_apart]
            # Of several that a root would hang on, the smallest is the last to be written.
            order = np.argsort(-low, kind="stable")
            self._parents[high[order]] = low[order]

    def labels(self) -> Numbers:
        """Return for every document the smallest place that it hangs together with."""
        return self.find(np.arange(self._parents.size))


def grouped(labels: Numbers) -> list[Numbers]:
    """Return the places of equal labels of which there are several, the largest group first, then by first places.

    Args:
        labels: int64 array of shape (documents,).
    """
    inside = np.flatnonzero(np.bincount(labels, minlength=1)[labels] > 1)
    if not inside.size:
        return []
    order = inside[np.argsort(labels[inside], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    groups.sort(key=lambda group: (-group.size, int(group[0])))
    return groups


def complete_labels(count: int, pairs: Pairs) -> Numbers:
    """Return labels of groups in which any two documents are a pair: equal for those in one group.

    Pairs are taken by their similarity, the most similar first, equal ones by their places; each joins the groups of
    its documents if all of the one are paired with all of the other. No two of the groups that come out could be
    joined.

    Args:
        count: How many documents there are.
        pairs: All pairs of them.
    """
    labels = np.arange(count)
    for a, b, order in _components(pairs):
        labels_here = _complete(a[order].tolist(), b[order].tolist())
        labels[list(labels_here)] = list(labels_here.values())
    return labels


def labels_beside_known(count: int, pairs: Pairs, is_known: npt.NDArray[np.bool_]) -> Numbers:
    """Return labels of stars around documents that came before, and of complete groups of the others.

    Each other document that makes a pair with some that came before is with the most similar of these, of several alike
    the first.

    Args:
        count: How many documents there are.
        pairs: Theirs; those among documents that came before count for nothing.
        is_known: Which documents came before; bool array of shape (count,).
    """
    is_known_a, is_known_b = is_known[pairs.a], is_known[pairs.b]
    is_link = is_known_a != is_known_b
    new = np.where(is_known_a, pairs.b, pairs.a)[is_link]
    known = np.where(is_known_a, pairs.a, pairs.b)[is_link]
    # The most similar comes last, of equal ones the first to come, and so is what stays written.
    order = np.lexsort((-known, pairs.jaccard[is_link]))
    labels = np.arange(count)
    labels[new[order]] = known[order]
    is_alone = labels == np.arange(count)
    rest = pairs.only(~is_known_a & ~is_known_b & is_alone[pairs.a] & is_alone[pairs.b])
    return np.where(is_alone, complete_labels(count, rest), labels)


def _components(pairs: Pairs) -> Iterator[tuple[Numbers, Numbers, npt.NDArray[np.intp]]]:
    """Yield the pairs of each connected component, and the order in which to take them."""
    if not len(pairs):
        return
    components = Components(int(pairs.b.max()) + 1)
    components.join(pairs.a, pairs.b)
    roots = components.find(pairs.a)
    order = np.argsort(roots, kind="stable")
    for at in np.split(order, np.flatnonzero(np.diff(roots[order])) + 1):
        a, b = pairs.a[at], pairs.b[at]
        yield a, b, np.lexsort((b, a, -pairs.jaccard[at]))


def _complete(firsts: list[int], seconds: list[int]) -> dict[int, int]:
    """Return the label of each document of a component, its group's smallest place."""
    members: dict[int, list[int]] = {}
    label: dict[int, int] = {}
    #: How many pairs two groups have between them.
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
        for each in members[other]:
            label[each] = one
        members[one] += members.pop(other)
        del links[one][other]
        for third, count in links.pop(other).items():
            if third != one:
                links[one][third] = links[third][one] = links[one].get(third, 0) + count
                del links[third][other]
    smallest = {group: min(there) for group, there in members.items()}
    return {each: smallest[group] for each, group in label.items()}
