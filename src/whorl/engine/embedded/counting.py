"""Counting of shared tokens in the segments of tokens ("runs"): evaluates the parts of a plan without words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays import batches, run_starts, sorted_distinct, spread
from whorl.context import require_time
from whorl.engine.embedded.postings import TokenSnapshot
from whorl.engine.embedded.segments import Numbers, Tokens
from whorl.query.plan.build import (
    Bool,
    BoundLeaf,
    BoundNode,
    Nothing,
    PassageNumbers,
    SharedBands,
    SharedTokens,
    SketchTokens,
)

#: The kinds of tokens, in the order of a run's postings: MinHash bucket minima, look-up hashes of sketches, and, if the
#: store keeps them, passage hashes.
MINHASH, SKETCH, PASSAGES = 0, 1, 2
#: Parts of a plan whose documents are combined at once.
_PARTS_AT_ONCE = 64
#: Function that combines several parts of a plan into one.
Together: TypeAlias = Callable[[tuple[BoundNode, ...]], BoundNode]
_NO_NUMBERS, _NO_SCORES = np.empty(0, np.int64), np.empty(0, np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Matching documents with their scores.

    Args:
        numbers: Document numbers, ascending; int64 array of shape (documents,).
        scores: Score of each document; float32 array of shape (documents,).
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
    """A document of a page; its id is "" if it was deleted."""

    number: int
    id: str
    score: float


NONE: Final = Counted(_NO_NUMBERS, _NO_SCORES)


#: Built once: building the union takes as long as the isinstance check.
_COUNTABLE = SharedTokens | SharedBands | SketchTokens | PassageNumbers | Nothing


def is_countable(plan: BoundNode) -> bool:
    """Check whether a plan consists of tokens only."""
    if isinstance(plan, Bool):
        return all(map(is_countable, chain(plan.must, plan.should, plan.must_not)))
    return isinstance(plan, _COUNTABLE)


def count(plan: BoundNode, snapshot: TokenSnapshot) -> Counted:
    """Return the documents that match a countable plan.

    Raises:
        IndexBrokenError: The tokens are damaged.
        StoppedError: The request was cancelled or its deadline has passed.
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
    """Group the parts of a plan, so that the hits in memory are at most one list of documents for each group."""

    def grouped(parts: tuple[BoundNode, ...], together: Together) -> tuple[BoundNode, ...]:
        if len(parts) <= _PARTS_AT_ONCE or isinstance(parts[0], SketchTokens):
            return parts
        return tuple(together(tuple(some)) for some in batches(parts, _PARTS_AT_ONCE))

    return regrouped(plan, grouped)


def regrouped(
    plan: Bool[BoundLeaf], grouped: Callable[[tuple[BoundNode, ...], Together], tuple[BoundNode, ...]]
) -> Bool[BoundLeaf]:
    """Return an equivalent plan, with the same scores, in which some parts are combined.

    Args:
        plan: The plan.
        grouped: Takes parts and a function that combines several of them; returns the parts that replace them.
    """
    return Bool(
        grouped(plan.must, lambda some: Bool(must=some)),
        # A group does not say how many of its parts match, so a minimum above 1 needs the parts themselves.
        grouped(plan.should, lambda some: Bool(should=some)) if plan.min_should_match <= 1 else plan.should,
        grouped(plan.must_not, lambda some: Bool(should=some)),
        plan.min_should_match,
    )


def _each(plans: Sequence[BoundNode], snapshot: TokenSnapshot) -> Sequence[Counted]:
    """Return the matching documents of each of several plans."""
    # The branches of one search look up the same tokens.
    sketched = [each for each in plans if isinstance(each, SketchTokens)]
    if plans and len(sketched) == len(plans):
        return _sketched(snapshot, sketched)
    return [count(each, snapshot) for each in plans]


def document_counts(snapshot: TokenSnapshot, kind: int, wanted: Numbers) -> Numbers:
    """Return the document frequency of each token; int64 array of the shape of `wanted`.

    Args:
        snapshot: The tokens of the store.
        kind: The kind of the tokens.
        wanted: Distinct tokens; int64 array of shape (n,).
    """
    counts = np.zeros(wanted.size, np.int64)
    for run, alive in zip(snapshot.runs, snapshot.alive, strict=True):
        for owners, places in run.kinds[kind].look_up(wanted.view(np.uint64)):
            require_time()
            counts += np.bincount(owners[alive[places]], minlength=counts.size)
    return counts


def token_owners(snapshot: TokenSnapshot, kind: int, wanted: Numbers) -> tuple[Numbers, Numbers]:
    """Return all pairs of a token and a document that has it.

    Args:
        snapshot: The tokens of the store.
        kind: The kind of the tokens.
        wanted: Distinct tokens; int64 array of shape (n,).

    Returns:
        The index in `wanted` of each pair's token, and the document's number; int64 arrays of shape (pairs,).
    """
    tokens, documents = [_NO_NUMBERS], [_NO_NUMBERS]
    for run, alive in zip(snapshot.runs, snapshot.alive, strict=True):
        for owners, places in run.kinds[kind].look_up(wanted.view(np.uint64)):
            require_time()
            tokens.append(owners[alive[places]])
            documents.append(run.numbers[places[alive[places]]])
    return np.concatenate(tokens), np.concatenate(documents)


class _Wanted(NamedTuple):
    """Look-up of tokens with a minimum should match; a repeated token counts as often as it is repeated."""

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
    """Return the matching documents of each look-up; a token that several look-ups share is read once."""
    if not snapshot.runs or not wanted:
        return [NONE] * len(wanted)
    # A look-up with fewer tokens than its minimum matches nothing, so its tokens are not read.
    asked = [_distinct(_numbers(each.tokens if each.minimum <= len(each.tokens) else ())) for each in wanted]
    tokens = asked[0][0] if len(asked) == 1 else sorted_distinct([own for own, _ in asked])
    # Tokens of other collections may have more bits; no document of this store has them.
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
    """Return the distinct tokens, ascending, and the multiplicity of each."""
    if (tokens[1:] > tokens[:-1]).all():
        return tokens, np.ones(tokens.size, np.int64)
    ordered = np.sort(tokens)
    starts = run_starts(ordered)
    return ordered[starts], np.diff(starts, append=ordered.size)


def _times(distinct: Tokens, counts: Numbers, among: Tokens) -> Numbers:
    """Return the multiplicity of each token of `among`, an ascending array, in one look-up; 0 if it lacks the token."""
    if distinct.size == among.size:
        return counts
    times = np.zeros(among.size, np.int64)
    # Tokens missing from `among` are larger than all of its tokens.
    places = np.searchsorted(among, distinct)
    count = int(np.searchsorted(places, among.size))
    times[places[:count]] = counts[:count]
    return times


#: Distinct ordinals of documents, ascending, and the count of each so far.
_Totals: TypeAlias = tuple[Numbers, Numbers]
_NONE_YET: Final[_Totals] = (_NO_NUMBERS, _NO_NUMBERS)


def _added(total: _Totals, places: Numbers, times: Numbers) -> _Totals:
    """Add `times` to the counts of ordinals; entries of 0 are dropped."""
    if not times.all():
        is_any = times > 0
        places, times = places[is_any], times[is_any]
    if not total[0].size:
        return _sums(places, times)
    return _sums(np.concatenate([total[0], places]), np.concatenate([total[1], times]))


def _sums(places: Numbers, times: Numbers) -> _Totals:
    """Return the distinct ordinals and the sum of the counts of each; every count is at least 1."""
    if not places.size:
        return _NONE_YET
    # Pack (ordinal, count) into one integer of far less than 64 bits: sorting is many times as fast as argsort.
    bits = int(times.max()).bit_length()
    together = places << bits | times
    together.sort()
    ordered = together >> bits
    starts = run_starts(ordered)
    return ordered[starts], np.add.reduceat(together & ((1 << bits) - 1), starts)


def _banded(snapshot: TokenSnapshot, bands: Sequence[Sequence[int]], weight: float) -> Counted:
    """Score documents by the number of bands of which they have all rows."""
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
    """Return the key `ordinal * bands + band` for each token of a document and each band with that token.

    Args:
        owners: Indices of tokens; int64 array of shape (n,).
        places: Ordinals of the documents that have them; of the same shape.
        listed: The bands of each token, concatenated.
        lengths: Number of bands of each token.
        bands: Number of bands in all.
    """
    firsts = np.cumsum(lengths) - lengths
    of_bands = listed[spread(firsts[owners], lengths[owners])]
    return np.repeat(places, lengths[owners]) * bands + of_bands


def _combined(must: Sequence[Counted], should: Sequence[Counted], must_not: Sequence[Counted], minimum: int) -> Counted:
    """Match as Lucene's BooleanQuery does."""
    if minimum > len(should) or not (must or should):
        return NONE
    if minimum == 1 and not (must or must_not):
        # The branches of a search have disjoint ranges of sizes, so no document is in two of them.
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
    """Return a page of documents, best score first, ties by id.

    Args:
        counted: All matching documents.
        start: Documents before the page.
        rows: Documents on the page.
        ids: Returns the ids of the existing documents by number; called for documents with scores of the page's range.
    """
    numbers, scores = counted.numbers, counted.scores
    end = min(start + rows, numbers.size)
    if start >= end:
        return []
    # Ties at either end of the page have to be complete, to be ordered by id.
    least, most = np.partition(scores, [numbers.size - end, numbers.size - start - 1])[[-end, -start - 1]]
    is_near = (scores >= least) & (scores <= most)
    begin = np.count_nonzero(scores > most)
    known = ids(numbers[is_near].tolist())
    near = zip(numbers[is_near].tolist(), scores[is_near].tolist(), strict=True)
    hits = [Scored(number, known.get(number, ""), score) for number, score in near]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))[start - begin : end - begin]
