"""How many tokens documents share with a source, counted in the runs: the parts of a plan that no words are in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays import batches, run_starts, sorted_distinct, spread
from whorl.context import require_time
from whorl.engine.embedded.runs import Numbers, Tokens
from whorl.engine.embedded.tokens import TokenSnapshot
from whorl.planning.build import (
    Bool,
    BoundLeaf,
    BoundNode,
    Nothing,
    PassageNumbers,
    SharedBands,
    SharedTokens,
    SketchTokens,
)

#: The kinds of tokens, in the order in which runs have them: bucket minima, what sketches are looked up by, and, where
#: the store has them, the numbers of passages.
MINHASH, SKETCH, PASSAGES = 0, 1, 2
#: Parts of a plan whose documents are put together at once.
_PARTS_AT_ONCE = 64
#: Puts several parts of a plan into one.
Together: TypeAlias = Callable[[tuple[BoundNode, ...]], BoundNode]
_NO_NUMBERS, _NO_SCORES = np.empty(0, np.int64), np.empty(0, np.float32)


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
    def together(cls, parts: Iterable[Counted]) -> Counted:
        """Return the documents of several parts, by number."""
        some = [part for part in parts if part.numbers.size]
        if len(some) == 1:
            return some[0]
        numbers = np.concatenate([_NO_NUMBERS, *(part.numbers for part in some)])
        scores = np.concatenate([_NO_SCORES, *(part.scores for part in some)])
        order = np.argsort(numbers)
        return cls(numbers[order], scores[order])


class Scored(NamedTuple):
    """A document of a page, its id "" where it is there no more."""

    number: int
    id: str
    score: float


NONE: Final = Counted(_NO_NUMBERS, _NO_SCORES)


#: Made once: to make a union takes as long as to ask.
_COUNTABLE = SharedTokens | SharedBands | SketchTokens | PassageNumbers | Nothing


def is_countable(plan: BoundNode) -> bool:
    """Say whether a plan asks for nothing but tokens."""
    if isinstance(plan, Bool):
        return all(map(is_countable, chain(plan.must, plan.should, plan.must_not)))
    return isinstance(plan, _COUNTABLE)


def count(plan: BoundNode, snapshot: TokenSnapshot) -> Counted:
    """Return the documents that match a plan which is countable.

    Raises:
        IndexBrokenError: The tokens are damaged.
        StoppedError: Nobody waits any more.
    """
    match plan:
        case SharedTokens(tokens=tokens, min_should_match=minimum, weight=weight):
            return _counted(snapshot, MINHASH, [_Wanted(tokens, minimum, weight)])[0]
        case SketchTokens():
            return _sketched(snapshot, [plan])[0]
        case PassageNumbers(numbers=numbers):
            return _counted(snapshot, PASSAGES, [_Wanted(numbers)])[0]
        case SharedBands(bands=bands, weight=weight):
            return _banded(snapshot, bands, weight)
        case Bool():
            plan = _in_groups(plan)
            must, should, must_not = (_each(some, snapshot) for some in (plan.must, plan.should, plan.must_not))
            return _combined(must, should, must_not, plan.min_should_match if must else max(plan.min_should_match, 1))
        case _:
            return NONE


def _in_groups(plan: Bool[BoundLeaf]) -> Bool[BoundLeaf]:
    """Return a plan of many parts as one of some groups; what a group has found is no more than there are documents."""

    def grouped(parts: tuple[BoundNode, ...], together: Together) -> tuple[BoundNode, ...]:
        if len(parts) <= _PARTS_AT_ONCE or isinstance(parts[0], SketchTokens):
            return parts
        return tuple(together(tuple(some)) for some in batches(parts, _PARTS_AT_ONCE))

    return regrouped(plan, grouped)


def regrouped(
    plan: Bool[BoundLeaf], grouped: Callable[[tuple[BoundNode, ...], Together], tuple[BoundNode, ...]]
) -> Bool[BoundLeaf]:
    """Return a plan that matches and scores the same, some of its parts put together.

    Args:
        plan: The plan.
        grouped: Takes parts, and what puts several of them together; returns those that take their place.
    """
    return Bool(
        grouped(plan.must, lambda some: Bool(must=some)),
        # Of several that must match, a group does not tell how many have.
        grouped(plan.should, lambda some: Bool(should=some)) if plan.min_should_match <= 1 else plan.should,
        grouped(plan.must_not, lambda some: Bool(should=some)),
        plan.min_should_match,
    )


def _each(plans: Sequence[BoundNode], snapshot: TokenSnapshot) -> Sequence[Counted]:
    """Count several plans."""
    # The branches of one search ask for the same tokens.
    sketched = [each for each in plans if isinstance(each, SketchTokens)]
    if plans and len(sketched) == len(plans):
        return _sketched(snapshot, sketched)
    return [count(each, snapshot) for each in plans]


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


class _Wanted(NamedTuple):
    """Tokens of which a document must have so many, each counted as often as it is wanted."""

    tokens: Sequence[int]
    minimum: int = 1
    weight: float = 1.0
    smallest_size: int = 0
    largest_size: int | None = None


def _sketched(snapshot: TokenSnapshot, plans: Sequence[SketchTokens]) -> list[Counted]:
    return _counted(
        snapshot,
        SKETCH,
        [_Wanted(each.numbers, each.min_should_match, 1.0, each.smallest_size, each.largest_size) for each in plans],
    )


def _counted(snapshot: TokenSnapshot, kind: int, wanted: Sequence[_Wanted]) -> list[Counted]:
    """Count tokens that are wanted in several ways; each is looked up once."""
    if not snapshot.runs or not wanted:
        return [NONE] * len(wanted)
    # Fewer tokens than a document must have are not looked for.
    asked = [_distinct(_numbers(each.tokens if each.minimum <= len(each.tokens) else ())) for each in wanted]
    tokens = asked[0][0] if len(asked) == 1 else sorted_distinct([own for own, _ in asked])
    # Tokens of other collections may be longer, and none of our documents has those.
    tokens = tokens[
        : int(np.searchsorted(tokens, np.uint64((1 << snapshot.runs[0].kinds[kind].token_bits) - 1), "right"))
    ]
    times = [_times(*each, tokens) for each in asked]
    found: list[list[Counted]] = [[] for _ in wanted]
    for run, alive in zip(snapshot.runs, snapshot.alive, strict=True):
        require_time()
        totals = [_NONE_YET] * len(wanted)
        for owners, places in run.kinds[kind].look_up(tokens):
            require_time()
            totals = [_added(total, places, own[owners]) for total, own in zip(totals, times, strict=True)]
        for (places, counts), each, parts in zip(totals, wanted, found, strict=True):
            is_match = (counts >= max(each.minimum, 1)) & alive[places]
            if each.smallest_size:
                is_match &= run.sizes[places] >= each.smallest_size
            if each.largest_size is not None:
                is_match &= run.sizes[places] <= each.largest_size
            scores = counts[is_match].astype(np.float32) * np.float32(each.weight)
            parts.append(Counted(run.numbers[places[is_match]], scores))
    return list(map(Counted.together, found))


def _numbers(tokens: Sequence[int]) -> Tokens:
    try:
        return np.array(tokens, np.uint64)
    except OverflowError:
        return np.array([token for token in tokens if not token >> 64], np.uint64)


def _distinct(tokens: Tokens) -> tuple[Tokens, Numbers]:
    """Return the different ones of some tokens, ascending, and how often each is there."""
    if (tokens[1:] > tokens[:-1]).all():
        return tokens, np.ones(tokens.size, np.int64)
    ordered = np.sort(tokens)
    starts = run_starts(ordered)
    return ordered[starts], np.diff(starts, append=ordered.size)


def _times(distinct: Tokens, counts: Numbers, among: Tokens) -> Numbers:
    """Return how often each of the tokens of an ascending array is wanted."""
    if distinct.size == among.size:
        return counts
    times = np.zeros(among.size, np.int64)
    # Those that are not among them are larger than all of them.
    places = np.searchsorted(among, distinct)
    count = int(np.searchsorted(places, among.size))
    times[places[:count]] = counts[:count]
    return times


#: The different ones of some places, ascending, and what each has been counted so far.
_Totals: TypeAlias = tuple[Numbers, Numbers]
_NONE_YET: Final[_Totals] = (_NO_NUMBERS, _NO_NUMBERS)


def _added(total: _Totals, places: Numbers, times: Numbers) -> _Totals:
    """Return what places are counted when each of some more counts so many times, or not at all."""
    if not times.all():
        is_any = times > 0
        places, times = places[is_any], times[is_any]
    if not total[0].size:
        return _sums(places, times)
    return _sums(np.concatenate([total[0], places]), np.concatenate([total[1], times]))


def _sums(places: Numbers, times: Numbers) -> _Totals:
    """Return the different ones of some places, and the sum of what stands beside each, at least 1."""
    if not places.size:
        return _NONE_YET
    # Sorting numbers is many times as fast as sorting places by them; both together have far less than 64 bits.
    bits = int(times.max()).bit_length()
    together = places << bits | times
    together.sort()
    ordered = together >> bits
    starts = run_starts(ordered)
    return ordered[starts], np.add.reduceat(together & ((1 << bits) - 1), starts)


def _banded(snapshot: TokenSnapshot, bands: Sequence[Sequence[int]], weight: float) -> Counted:
    """Count the bands that are there as a whole."""
    members = [frozenset(band) for band in bands]
    needed = np.array([len(band) for band in members], np.int64)
    own_bands: dict[int, list[int]] = {}
    for number, band in enumerate(members):
        for token in band:
            own_bands.setdefault(token, []).append(number)

    def found() -> Iterable[Counted]:
        for run, alive in zip(snapshot.runs, snapshot.alive, strict=True):
            require_time()
            possible = [token for token in own_bands if not token >> run.kinds[MINHASH].token_bits]
            some = [own_bands[token] for token in possible]
            lengths = np.array([len(own) for own in some], np.int64)
            listed = np.array(list(chain.from_iterable(some)), np.int64)
            totals = _NONE_YET
            for owners, places in run.kinds[MINHASH].look_up(np.array(possible, np.uint64)):
                require_time()
                keys = _in_bands(owners, places, listed, lengths, len(bands))
                totals = _added(totals, keys, np.ones_like(keys))
            keys, counts = totals
            whole = keys[counts == needed[keys % len(bands)]] // len(bands)
            places, matching = _sums(whole, np.ones_like(whole))
            places, matching = places[alive[places]], matching[alive[places]]
            yield Counted(run.numbers[places], matching.astype(np.float32) * np.float32(weight))

    return Counted.together(found())


def _in_bands(owners: Numbers, places: Numbers, listed: Numbers, lengths: Numbers, bands: int) -> Numbers:
    """Return the key of a place and a band, for each token there that the band has.

    Args:
        owners: Indices of tokens; int64 array of shape (n,).
        places: The places that have them; of the same shape.
        listed: The bands of each token, one after the other.
        lengths: How many these are of each.
        bands: How many there are in all.
    """
    firsts = np.cumsum(lengths) - lengths
    of_bands = listed[spread(firsts[owners], lengths[owners])]
    return np.repeat(places, lengths[owners]) * bands + of_bands


def _combined(must: Sequence[Counted], should: Sequence[Counted], must_not: Sequence[Counted], minimum: int) -> Counted:
    """Match as Lucene's BooleanQuery does."""
    if minimum > len(should) or not (must or should):
        return NONE
    if minimum == 1 and not (must or must_not):
        # Branches of a search are of different sizes, so no document is in two of them.
        either = Counted.together(should)
        if (either.numbers[1:] != either.numbers[:-1]).all():
            return either
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
