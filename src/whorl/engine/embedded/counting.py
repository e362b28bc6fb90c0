"""How many tokens documents share with a source, counted in the runs: the parts of a plan that no words are in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.arrays import run_starts
from whorl.context import require_time
from whorl.engine.embedded.runs import Numbers, Postings, spread
from whorl.engine.embedded.tokens import TokenSnapshot
from whorl.planning.build import Bool, BoundNode, Nothing, PassageNumbers, SharedBands, SharedTokens, SketchTokens

#: The kinds of tokens, in the order in which runs have them: bucket minima, what sketches are looked up by, and, where
#: the store has them, the numbers of passages.
MINHASH, SKETCH, PASSAGES = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Documents that match.

    Args:
        numbers: Their numbers, ascending; int64 array of shape (documents,).
        scores: What each scores; float32 array of shape (documents,).
    """

    numbers: Numbers
    scores: npt.NDArray[np.float32]

    @classmethod
    def together(cls, parts: Iterable[tuple[Numbers, npt.NDArray[np.float32]]]) -> Counted:
        """Return different documents from anywhere."""
        some = [(np.empty(0, np.int64), np.empty(0, np.float32)), *parts]
        numbers, scores = (np.concatenate(column) for column in zip(*some, strict=True))
        order = np.argsort(numbers)
        return cls(numbers[order], scores[order])


class Scored(NamedTuple):
    """A document of a page, its id "" where it is there no more."""

    number: int
    id: str
    score: float


NONE: Final = Counted.together(())


def is_countable(plan: BoundNode) -> bool:
    """Say whether a plan asks for nothing but tokens."""
    if isinstance(plan, Bool):
        return all(map(is_countable, chain(plan.must, plan.should, plan.must_not)))
    return isinstance(plan, SharedTokens | SharedBands | SketchTokens | PassageNumbers | Nothing)


def count(plan: BoundNode, snapshot: TokenSnapshot) -> Counted:
    """Return the documents that match a plan which is countable.

    Raises:
        IndexBrokenError: The tokens are damaged.
        StoppedError: Nobody waits any more.
    """
    match plan:
        case SharedTokens(tokens=tokens, min_should_match=minimum, weight=weight):
            return _counted(snapshot, MINHASH, tokens, max(minimum, 1), weight)
        case SketchTokens(numbers=numbers, min_should_match=minimum):
            sizes = (plan.smallest_size, plan.largest_size)
            return _counted(snapshot, SKETCH, numbers, max(minimum, 1), 1.0, sizes)
        case PassageNumbers(numbers=numbers):
            return _counted(snapshot, PASSAGES, numbers, 1, 1.0)
        case SharedBands(bands=bands, weight=weight):
            return _banded(snapshot, bands, weight)
        case Bool():
            must, should, must_not = (
                [count(child, snapshot) for child in children] for children in (plan.must, plan.should, plan.must_not)
            )
            return _combined(must, should, must_not, plan.min_should_match if must else max(plan.min_should_match, 1))
        case _:
            return NONE


def document_counts(snapshot: TokenSnapshot, kind: int, wanted: Numbers) -> Numbers:
    """Return how many documents have each of some tokens; int64 array of the same shape.

    Args:
        snapshot: The tokens of the store.
        kind: Of the tokens.
        wanted: Each once; int64 array of shape (n,).
    """
    counts = np.zeros(wanted.size, np.int64)
    for run, alive in zip(snapshot.runs, snapshot.alive, strict=True):
        for owners, places in run.kinds[kind].look_up(wanted.view(np.uint64)):
            require_time()
            counts += np.bincount(owners[alive[places]], minlength=counts.size)
    return counts


def _counted(
    snapshot: TokenSnapshot,
    kind: int,
    wanted: Sequence[int],
    minimum: int,
    weight: float,
    sizes: tuple[int, int | None] | None = None,
) -> Counted:
    """Count tokens, each as often as it is wanted."""
    if minimum > len(wanted):
        return NONE
    repeats = Counter(wanted)

    def found() -> Iterable[tuple[Numbers, npt.NDArray[np.float32]]]:
        for run, alive in zip(snapshot.runs, snapshot.alive, strict=True):
            require_time()
            tokens, weights = _possible(repeats, run.kinds[kind])
            places, counts = _totals(
                _sums(places, weights[owners]) for owners, places in run.kinds[kind].look_up(tokens)
            )
            is_match = (counts >= minimum) & alive[places]
            if sizes is not None:
                smallest, largest = sizes
                own = run.sizes[places]
                is_match &= own >= smallest if largest is None else (own >= smallest) & (own <= largest)
            yield run.numbers[places[is_match]], counts[is_match].astype(np.float32) * np.float32(weight)

    return Counted.together(found())


def _possible(wanted: Mapping[int, int], postings: Postings) -> tuple[npt.NDArray[np.uint64], Numbers]:
    """Return tokens and how often each is wanted, of those that can be in an index.

    Tokens of other collections may be longer, and none of our documents has those.
    """
    possible = {token: times for token, times in wanted.items() if not token >> postings.token_bits}
    return np.array(list(possible), np.uint64), np.array(list(possible.values()), np.int64)


def _sums(places: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    """Return the different ones of some places, and the sum of what stands beside each."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = run_starts(ordered)
    return ordered[starts], np.add.reduceat(weights[order], starts) if starts.size else starts


def _totals(portions: Iterable[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    """Return the different ones of what several portions have, and the sum of what these have beside each."""
    keys, sums = np.empty(0, np.int64), np.empty(0, np.int64)
    for count, (some, own) in enumerate(portions):
        require_time()
        keys, sums = _sums(np.concatenate([keys, some]), np.concatenate([sums, own])) if count else (some, own)
    return keys, sums


def _banded(snapshot: TokenSnapshot, bands: Sequence[Sequence[int]], weight: float) -> Counted:
    """Count the bands that are there as a whole."""
    members = [frozenset(band) for band in bands]
    needed = np.array([len(band) for band in members], np.int64)
    own_bands: dict[int, list[int]] = {}
    for number, band in enumerate(members):
        for token in band:
            own_bands.setdefault(token, []).append(number)
    wanted = dict.fromkeys(own_bands, 1)

    def found() -> Iterable[tuple[Numbers, npt.NDArray[np.float32]]]:
        for run, alive in zip(snapshot.runs, snapshot.alive, strict=True):
            require_time()
            tokens, _ = _possible(wanted, run.kinds[MINHASH])
            some = [own_bands[token] for token in tokens.tolist()]
            lengths = np.array([len(own) for own in some], np.int64)
            listed = np.array(list(chain.from_iterable(some)), np.int64)
            keys, counts = _totals(
                _in_bands(owners, places, listed, lengths, len(bands))
                for owners, places in run.kinds[MINHASH].look_up(tokens)
            )
            whole = keys[counts == needed[keys % len(bands)]] // len(bands)
            places, matching = _sums(whole, np.ones_like(whole))
            places, matching = places[alive[places]], matching[alive[places]]
            yield run.numbers[places], matching.astype(np.float32) * np.float32(weight)

    return Counted.together(found())


def _in_bands(
    owners: Numbers, places: Numbers, listed: Numbers, lengths: Numbers, bands: int
) -> tuple[Numbers, Numbers]:
    """Return a key for each place and band, and how many of the band's tokens are there.

    Args:
        owners: Indices of tokens; int64 array of shape (n,).
        places: The places that have them; of the same shape.
        listed: The bands of each token, one after the other.
        lengths: How many these are of each.
        bands: How many there are in all.
    """
    firsts = np.cumsum(lengths) - lengths
    of_bands = listed[spread(firsts[owners], lengths[owners])]
    keys = np.repeat(places, lengths[owners]) * bands + of_bands
    return _sums(keys, np.ones_like(keys))


def _combined(must: list[Counted], should: list[Counted], must_not: list[Counted], minimum: int) -> Counted:
    """Match as Lucene's BooleanQuery does."""
    if minimum > len(should) or not (must or should):
        return NONE
    parts = [*must, *should]
    numbers, inverse = np.unique(np.concatenate([part.numbers for part in parts]), return_inverse=True)
    scores = np.bincount(inverse, np.concatenate([part.scores for part in parts]), numbers.size)
    ends = sum(part.numbers.size for part in must)
    is_match = np.bincount(inverse[:ends], minlength=numbers.size) == len(must)
    is_match &= np.bincount(inverse[ends:], minlength=numbers.size) >= minimum
    for part in must_not:
        is_match &= ~np.isin(numbers, part.numbers)
    return Counted(numbers[is_match], scores[is_match].astype(np.float32))


def best(counted: Counted, start: int, rows: int, ids: Callable[[list[int]], Mapping[int, str]]) -> list[Scored]:
    """Return a page of documents: those with the best scores first, equal ones by their ids.

    Args:
        counted: All that match.
        start: Documents before the page.
        rows: Documents on it.
        ids: Gives the ids of documents by number, of those that are there; they are asked for where they decide.
    """
    numbers, scores = counted.numbers, counted.scores
    end = min(start + rows, numbers.size)
    if start >= end:
        return []
    # Of equal scores at either end of the page all are needed, to be ordered by their ids.
    least, most = np.partition(scores, [numbers.size - end, numbers.size - start - 1])[[-end, -start - 1]]
    is_near = (scores >= least) & (scores <= most)
    begin = np.count_nonzero(scores > most)
    known = ids(numbers[is_near].tolist())
    near = zip(numbers[is_near].tolist(), scores[is_near].tolist(), strict=True)
    hits = [Scored(number, known.get(number, ""), score) for number, score in near]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))[start - begin : end - begin]
