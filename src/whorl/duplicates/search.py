"""All pairs of a collection: equal documents taken together, candidates found and verified."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from whorl.arrays import run_starts
from whorl.context import require_time
from whorl.duplicates.candidates import AT_ONCE, Crowd, find_candidates
from whorl.duplicates.clusters import Components
from whorl.duplicates.question import PairQuestion
from whorl.duplicates.schedule import MOST_PAIRS, Round
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.duplicates.verify import Pairs, verified

#: Documents of a crowd that all others are compared with, one after the other, before what is left is paired.
_PIVOTS = 16
#: Of a crowd that may be no family so many are compared with one before all are.
_SAMPLE = 64


def first_of_equals(keys: Numbers, sizes: Numbers) -> Numbers:
    """Return for each document the place of the first one with an equal sketch; int64 array of shape (documents,).

    Args:
        keys: Equal for documents of equal sketches; int64 array of shape (documents,).
        sizes: Their shingles; documents without any are equal to none.
    """
    order = np.argsort(keys, kind="stable")
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = keys[order[1:]] != keys[order[:-1]]
    firsts = np.empty(order.size, np.int64)
    firsts[order] = order[np.flatnonzero(is_first)[np.cumsum(is_first) - 1]] if order.size else order
    return np.where(sizes > 0, firsts, np.arange(order.size))


def find_pairs(
    sketches: Sketches,
    firsts: Numbers,
    question: PairQuestion,
    *,
    known: Pairs,
    is_known: npt.NDArray[np.bool_],
    keys: Numbers | None = None,
    links_suffice: bool = False,
    only_links: bool = False,
    most: int = MOST_PAIRS,
    to_look: Sequence[Round] | None = None,
    workers: int = 1,
    progress: Callable[[int], None] = lambda pairs: None,
) -> Pairs:
    """Return all pairs of different documents.

    Args:
        sketches: Of all documents.
        firsts: As `first_of_equals` returns them; only these are compared.
        question: What is to be found.
        known: Pairs that were found before.
        is_known: Documents of which all pairs among one another are in these; bool array of shape (documents,).
        keys: As in `first_of_equals`. Documents of one size are compared in their order, so that the order in which
            documents came decides nothing; without keys it does.
        links_suffice: Whether of a crowd of documents that are all alike no more pairs are wanted than hold its
            connected components together. Time then grows with the crowd, not with its square.
        only_links: Whether links suffice of all documents, not of crowds alone. Pairs then have to be final: nobody
            finds by whole texts that some of them are none.
        most: Pairs that one hash may make in a round.
        to_look: The rounds of the search, where others have gone before; None for all.
        workers: Threads that look for candidates and compare them, where the compiled loops do; what is found is the
            same.
        progress: Called with the number of pairs found so far.
    """
    places = np.flatnonzero((firsts == np.arange(len(sketches))) & (sketches.sizes > 0))
    if keys is not None:
        places = places[np.argsort(keys[places])]
    # Places among those compared, from here on.
    compared = Sketches(
        sketches.scheme, sketches.sizes[places], sketches.starts[places], sketches.counts[places], sketches.hashes
    )
    is_new = ~is_known[places]
    found: list[Pairs] = []
    count = len(known)
    if not is_new.any():
        return known
    linking = _Links(compared, question, is_new)
    if links_suffice:
        linking.note(known.at(_inverse(places, len(sketches))))

    def hang_together(crowd: Numbers) -> bool:
        links, is_decided = linking.of_family(crowd) if links_suffice else ([], False)
        found.extend(each.at(places) for each in links)
        return is_decided

    candidates = find_candidates(
        compared,
        question,
        crowds=links_suffice,
        hang_together=hang_together,
        most=most,
        to_look=to_look,
        workers=workers,
    )
    for some in candidates:
        if isinstance(some, Crowd):
            pairs = Pairs.together(linking.of(some.places))
        else:
            is_open = is_new[some.smaller] | is_new[some.larger]
            a, b = some.smaller[is_open], some.larger[is_open]
            if only_links:
                pairs = Pairs.together(linking.among(a, b, workers))
            else:
                pairs = verified(compared, a, b, question, workers)
                if links_suffice:
                    linking.note(pairs)
        found.append(pairs.at(places))
        count += len(pairs)
        progress(count)
    return Pairs.together([known, *found])


def _inverse(places: Numbers, count: int) -> Numbers:
    """Return where in `places` each of so many places is."""
    inverse = np.full(count, -1)
    inverse[places] = np.arange(places.size)
    return inverse


class _Links:
    """Pairs, as many as hold connected components together."""

    def __init__(self, sketches: Sketches, question: PairQuestion, is_new: npt.NDArray[np.bool_]) -> None:
        self._sketches, self._question, self._is_new = sketches, question, is_new
        self._components = Components(len(sketches))

    def note(self, pairs: Pairs) -> None:
        """Know pairs that were found otherwise."""
        self._components.join(pairs.a, pairs.b)

    def among(self, a: Numbers, b: Numbers, workers: int) -> Iterator[Pairs]:
        """Yield links among candidates: of each document those with one other, with two more, with four, and so on.

        What hangs together by then is compared no further, so near-copies take about as many comparisons as there are
        of them.

        Args:
            a: Places; equal ones stand together.
            b: Of the documents that each may make a pair with.
            workers: As of `find_pairs`.
        """
        most = 1
        while a.size:
            is_apart = self._components.find(a) != self._components.find(b)
            a, b = a[is_apart], b[is_apart]
            starts = run_starts(a)
            is_next = np.arange(a.size) < np.repeat(starts + most, np.diff(np.append(starts, a.size)))
            yield self._linked(a[is_next], b[is_next], workers)
            a, b, most = a[~is_next], b[~is_next], 2 * most

    def of(self, crowd: Numbers) -> Iterator[Pairs]:
        """Yield links within a crowd, between its new documents and all of it."""
        yield from self._by_pivots(crowd)
        for outside, others in self._left(crowd):
            portion = max(1, AT_ONCE // 8 // max(1, others.size))
            for at in range(0, outside.size, portion):
                some = outside[at : at + portion]
                yield self._linked(np.repeat(some, others.size), np.tile(others, some.size))

    def of_family(self, crowd: Numbers) -> tuple[list[Pairs], bool]:
        """Return links within a crowd, and whether they decide all of it: if most are near-copies of one another.

        That takes about as many comparisons as the crowd has documents. Where it is boilerplate that the crowd shares,
        a sample tells, and more hashes have to.
        """
        found: list[Pairs] = []
        outside = self._outside(crowd[self._is_new[crowd]], crowd)
        if outside.size > _PIVOTS:
            sample = crowd[np.linspace(0, crowd.size - 1, min(_SAMPLE, crowd.size)).astype(np.int64)]
            # One of middling size: the smallest and the largest of a family are often strangers to it.
            middle = np.full(sample.size, outside[outside.size // 2])
            found.append(self._linked(middle, sample))
            if 2 * np.count_nonzero(self._components.find(sample) == self._components.find(middle)) < sample.size:
                return found, False
            found += self._by_pivots(crowd)
        if sum(outside.size * others.size for outside, others in self._left(crowd)) > _PIVOTS * crowd.size:
            return found, False
        return found + list(self.of(crowd)), True

    def _by_pivots(self, crowd: Numbers) -> Iterator[Pairs]:
        left = crowd[self._is_new[crowd]]
        for _ in range(_PIVOTS):
            left = self._outside(left, crowd)
            if not left.size:
                break
            yield self._linked(np.full(crowd.size, left[0]), crowd)
            left = left[1:]

    def _left(self, crowd: Numbers) -> tuple[tuple[Numbers, Numbers], ...]:
        """Return what of a crowd still has to be compared, each document of a first group with all of a second one.

        Of two that do not hang together yet at least one is outside of what most of the crowd hangs together in. What a
        pivot joined to others has been compared with that pivot alone, so all that are outside take part.
        """
        is_new = self._is_new[crowd]
        new, old = crowd[is_new], crowd[~is_new]
        return (self._outside(new, crowd), crowd), (self._outside(old, crowd), new)

    def _outside(self, some: Numbers, crowd: Numbers) -> Numbers:
        """Return those of some documents that do not hang together with most of the crowd."""
        roots, counts = np.unique(self._components.find(crowd), return_counts=True)
        return some[self._components.find(some) != roots[counts.argmax()]] if counts.max() > 1 else some

    def _linked(self, a: Numbers, b: Numbers, workers: int = 1) -> Pairs:
        require_time()
        is_open = self._components.find(a) != self._components.find(b)
        pairs = verified(self._sketches, a[is_open], b[is_open], self._question, workers)
        self.note(pairs)
        return pairs
