"""Scores documents of an embedded store by the number of fingerprint tokens that they share with a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import batches, find_sorted, indices_of_ranges, run_starts, sort_distinct
from whorl.engine.embedded.segmented_token_index import ReadMinHash, TokenSnapshot
from whorl.engine.embedded.segments import MINHASH, PASSAGES, SKETCH, Numbers, Tokens
from whorl.query.plan.nodes import (
    Bool,
    BoundLeaf,
    BoundNode,
    Nothing,
    PassageHashes,
    SharedBands,
    SharedTokens,
    SketchTokens,
)
from whorl.request_context import timely

_Clauses: TypeAlias = tuple[BoundNode, ...]
#: Maximum number of clauses to match at a time, to limit the memory.
_PARTS_AT_ONCE = 64
#: Maximum number of clauses whose matches a snapshot caches (`TokenSnapshot.matches_by_texts`).
_MOST_CACHED = 16
#: A passage hash in more documents than this is frequent. A snapshot caches the documents of frequent hashes, at most
#: `_MOST_CACHED_NUMBERS` document numbers (32 MB), so that searches for texts with the same header do not read the
#: postings again.
_FREQUENT, _MOST_CACHED_NUMBERS = 1_000, 4_000_000
_NO_NUMBERS, _NO_SCORES = np.empty(0, np.int64), np.empty(0, np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredDocuments:
    """Document numbers, ascending, and the score of each document: the number of tokens shared with the query."""

    numbers: Numbers
    scores: npt.NDArray[np.float32]

    @classmethod
    def concatenate(cls, parts: Iterable[ScoredDocuments]) -> ScoredDocuments:
        """Join lists of documents into one, ordered by number. A document in several lists is repeated."""
        listed = [NO_MATCHES, *parts]
        numbers = np.concatenate([part.numbers for part in listed])
        scores = np.concatenate([part.scores for part in listed])
        # The numbers of most lists ascend already, so a stable sort, which merges ascending runs, is fast here.
        order = np.argsort(numbers, kind="stable")
        return cls(numbers[order], scores[order])

    def select(self, which: npt.NDArray[np.bool_]) -> ScoredDocuments:
        return ScoredDocuments(self.numbers[which], self.scores[which])


NO_MATCHES: Final = ScoredDocuments(_NO_NUMBERS, _NO_SCORES)


#: Building the union takes as long as the isinstance check, so build it once.
_COUNTABLE = SharedTokens | SharedBands | SketchTokens | PassageHashes | Nothing


def has_only_tokens(plan: BoundNode) -> bool:
    """Check whether all clauses of a plan look up fingerprint tokens, so that the token index alone can run it."""
    if isinstance(plan, Bool):
        return all(map(has_only_tokens, chain(plan.must, plan.should, plan.must_not)))
    return isinstance(plan, _COUNTABLE)


def match_tokens(plan: BoundNode, snapshot: TokenSnapshot) -> ScoredDocuments:
    """Return the documents that match a plan, with their scores; the plan looks up only fingerprint tokens."""
    match plan:
        case SharedTokens() | SharedBands() if snapshot.read_minhash is not None:
            return _match_by_texts(plan, snapshot, snapshot.read_minhash)
        case SharedTokens(tokens=tokens, min_should_match=minimum, weight=weight):
            return _match_queries(snapshot, MINHASH, [_TokenQuery(tokens, minimum, weight)])[0]
        case SketchTokens():
            return _match_sketches(snapshot, [plan])[0]
        case PassageHashes(numbers=hashes):
            _, documents, frequent = passage_postings(snapshot, np.array(hashes, np.int64))
            listed = np.concatenate([documents, *frequent.values()])
            numbers, counts = _sums(listed, np.ones_like(listed))
            return ScoredDocuments(numbers, counts.astype(np.float32))
        case SharedBands(bands=bands, weight=weight):
            return _match_bands(snapshot, bands, weight)
        case Bool():
            plan = group_clauses(plan, _split_into_batches)
            must, should, must_not = (_match_all(nodes, snapshot) for nodes in (plan.must, plan.should, plan.must_not))
            return _combine_matches(
                must, should, must_not, plan.min_should_match if must else max(plan.min_should_match, 1)
            )
        case _:
            return NO_MATCHES


def _match_by_texts(
    clause: SharedTokens | SharedBands, snapshot: TokenSnapshot, read_minhash: ReadMinHash
) -> ScoredDocuments:
    """Match a FINGERPRINT clause, if the index has only the upper bits of MinHash tokens.

    Different tokens can have the same upper bits. So read the texts of the documents that the index finds, and count
    the shared whole tokens.
    """
    # The same clause often occurs again, in facets and in other parts of the query, so cache its matches.
    if known := snapshot.matches_by_texts.get(clause):
        return ScoredDocuments(*known)
    if isinstance(clause, SharedTokens):
        minimum, (candidates, count) = max(clause.min_should_match, 1), _candidates_by_tokens(clause, snapshot)
    else:
        minimum, (candidates, count) = 1, _candidates_by_bands(clause, snapshot)
    scores = candidates.scores.copy()
    for number, tokens in timely(read_minhash(candidates.numbers, snapshot.applied), 1):
        scores[np.searchsorted(candidates.numbers, number)] = count(tokens)
    is_match = scores >= minimum
    matches = candidates.numbers[is_match], scores[is_match] * np.float32(clause.weight)
    if len(snapshot.matches_by_texts) >= _MOST_CACHED:
        snapshot.matches_by_texts.clear()
    snapshot.matches_by_texts[clause] = matches
    return ScoredDocuments(*matches)


def _candidates_by_tokens(
    clause: SharedTokens, snapshot: TokenSnapshot
) -> tuple[ScoredDocuments, Callable[[Tokens], int]]:
    """Return the possible hits, and a function that counts the shared tokens of a document, given its tokens."""
    upper_bits = [token >> snapshot.dropped_bits for token in clause.tokens]
    (candidates,) = _match_queries(snapshot, MINHASH, [_TokenQuery(upper_bits, clause.min_should_match)])
    distinct, repetitions = np.unique(_token_array(clause.tokens), return_counts=True)

    def count(tokens: Tokens) -> int:
        return int(repetitions[np.isin(distinct, tokens, assume_unique=True)].sum())

    return candidates, count


def _candidates_by_bands(
    clause: SharedBands, snapshot: TokenSnapshot
) -> tuple[ScoredDocuments, Callable[[Tokens], int]]:
    """Return the possible hits, and a function that counts the shared bands of a document, given its tokens."""
    upper_bits = [[token >> snapshot.dropped_bits for token in band] for band in clause.bands]
    bands = [*map(frozenset, clause.bands)]

    def count(tokens: Tokens) -> int:
        return sum(map(frozenset(tokens.tolist()).issuperset, bands))

    return _match_bands(snapshot, upper_bits, 1.0), count


def group_clauses(
    plan: Bool[BoundLeaf], split: Callable[[_Clauses], tuple[_Clauses, Iterable[_Clauses]]]
) -> Bool[BoundLeaf]:
    """Combine the clauses of a plan in groups; the returned plan has the same hits and scores.

    `split` takes clauses; it returns the clauses to leave alone, and the groups of clauses to combine.
    """

    def group(clauses: _Clauses, *, all_match: bool) -> _Clauses:
        others, groups = split(clauses)
        return (*others, *(Bool(must=nodes) if all_match else Bool(should=nodes) for nodes in groups))

    # A group counts as one match even if several of its clauses match. So leave the optional clauses alone if more than
    # one of them must match.
    should = group(plan.should, all_match=False) if plan.min_should_match <= 1 else plan.should
    must, must_not = group(plan.must, all_match=True), group(plan.must_not, all_match=False)
    return Bool(must, should, must_not, plan.min_should_match)


def _split_into_batches(clauses: _Clauses) -> tuple[_Clauses, Iterable[_Clauses]]:
    # Only the matches of one batch are in memory at a time. Clauses with sketch tokens stay together, because
    # `_match_all` looks up the tokens of all of them at once.
    if len(clauses) <= _PARTS_AT_ONCE or isinstance(clauses[0], SketchTokens):
        return clauses, ()
    return (), map(tuple, batches(clauses, _PARTS_AT_ONCE))


def _match_all(plans: Sequence[BoundNode], snapshot: TokenSnapshot) -> Sequence[ScoredDocuments]:
    # The clauses of a calibrated search have many tokens in common, so look up the tokens of all clauses at once.
    sketch_plans = [plan for plan in plans if isinstance(plan, SketchTokens)]
    if plans and len(sketch_plans) == len(plans):
        return _match_sketches(snapshot, sketch_plans)
    return [match_tokens(plan, snapshot) for plan in plans]


class PassagePostings(NamedTuple):
    """Documents that have passage hashes.

    Args:
        hash_indices: For each pair of an infrequent hash and a document, the index of the hash.
        documents: For each of these pairs, the number of the document.
        frequent: For each frequent hash, the numbers of its documents, ascending, keyed by the index of the hash.
    """

    hash_indices: Numbers
    documents: Numbers
    frequent: Mapping[int, Numbers]

    def counts(self, hashes: int) -> Numbers:
        """Return the number of documents with each of the hashes; int64 array of shape (hashes,)."""
        counts = np.bincount(self.hash_indices, minlength=hashes)
        counts[list(self.frequent)] = [documents.size for documents in self.frequent.values()]
        return counts


def passage_postings(snapshot: TokenSnapshot, hashes: Numbers) -> PassagePostings:
    """Look up the documents of distinct passage hashes. The snapshot caches the documents of frequent hashes."""
    cached = snapshot.frequent_passages
    found = {index: cached.get(number) for index, number in enumerate(hashes.tolist())}
    frequent = {index: documents for index, documents in found.items() if documents is not None}
    others = np.array([index for index in found if index not in frequent], np.int64)
    own, documents = token_document_pairs(snapshot, PASSAGES, hashes[others])
    is_frequent = (np.bincount(own, minlength=others.size) > _FREQUENT)[own]
    if is_frequent.any():
        # Pack index and document into one integer: sorting is much faster than lexsort.
        span = int(documents.max()) + 1
        indices, listed = np.divmod(np.sort(own[is_frequent] * span + documents[is_frequent]), span)
        starts = run_starts(indices)
        read = dict(zip(others[indices[starts]].tolist(), np.split(listed, starts[1:]), strict=True))
        frequent |= read
        if sum(map(len, [*cached.values(), *read.values()])) > _MOST_CACHED_NUMBERS:
            cached.clear()
        if listed.size <= _MOST_CACHED_NUMBERS:
            cached.update((int(hashes[index]), numbers) for index, numbers in read.items())
    return PassagePostings(others[own[~is_frequent]], documents[~is_frequent], frequent)


def shared_counts(snapshot: TokenSnapshot, kind: int, wanted: Tokens, numbers: Numbers) -> Numbers:
    """For each document in `numbers`, count its tokens in `wanted`. Both arrays are ascending and distinct."""
    (matches,) = _match_queries(snapshot, kind, [_TokenQuery(wanted.tolist())])
    return _values_of(numbers, matches.numbers, matches.scores)


def _values_of(wanted: npt.NDArray[Any], keys: npt.NDArray[Any], values: npt.NDArray[Any]) -> Numbers:
    """Return the value of each wanted key, 0 for a missing key; `keys` has distinct keys, ascending."""
    found = np.zeros(wanted.size, np.int64)
    positions, is_key = find_sorted(keys, wanted)
    found[is_key] = values[positions[is_key]]
    return found


def token_document_pairs(snapshot: TokenSnapshot, kind: int, wanted: Numbers) -> tuple[Numbers, Numbers]:
    """Return all pairs of a token and a document that has it.

    `wanted` has distinct tokens. The result has two int64 arrays of shape (pairs,): the index in `wanted` of each
    pair's token, and the number of its document.
    """
    pairs = [(_NO_NUMBERS, _NO_NUMBERS)]
    for segment, alive in zip(snapshot.segments, snapshot.alive, strict=True):
        for token_indices, ordinals in segment.look_up(kind, wanted.view(np.uint64)):
            is_alive = alive[ordinals]
            pairs.append((token_indices[is_alive], segment.numbers[ordinals[is_alive]]))
    tokens, documents = map(np.concatenate, zip(*pairs, strict=True))
    return tokens, documents


class _TokenQuery(NamedTuple):
    """Tokens to look up, and the minimum number that a hit shares; a repeated token counts each time."""

    tokens: Sequence[int]
    minimum: int = 1
    weight: float = 1.0
    smallest_size: int = 0
    largest_size: int | None = None


def _match_sketches(snapshot: TokenSnapshot, plans: Sequence[SketchTokens]) -> list[ScoredDocuments]:
    queries = [
        _TokenQuery(plan.numbers, plan.min_should_match, 1.0, plan.smallest_size, plan.largest_size) for plan in plans
    ]
    return _match_queries(snapshot, SKETCH, queries)


def _match_queries(snapshot: TokenSnapshot, kind: int, queries: Sequence[_TokenQuery]) -> list[ScoredDocuments]:
    """Return the matching documents of each query. Look up a token only once, even if several queries have it."""
    if not snapshot.segments or not queries:
        return [NO_MATCHES] * len(queries)
    # A query with fewer tokens than its minimum matches nothing.
    wanted = (query.tokens if query.minimum <= len(query.tokens) else () for query in queries)
    distinct = [np.unique(_token_array(own), return_counts=True) for own in wanted]
    tokens = distinct[0][0] if len(distinct) == 1 else sort_distinct([own for own, _ in distinct])
    # Tokens with too many bits come from other collections, and no document of this store has them.
    largest = np.uint64((1 << snapshot.segments[0].postings[kind].token_bits) - 1)
    tokens = tokens[: int(np.searchsorted(tokens, largest, "right"))]
    multiplicities = [_values_of(tokens, *own) for own in distinct]
    matches: list[list[ScoredDocuments]] = [[] for _ in queries]
    for segment, alive in zip(snapshot.segments, snapshot.alive, strict=True):
        totals = [_NO_TOTALS] * len(queries)
        for token_indices, ordinals in segment.look_up(kind, tokens, with_copies=False):
            totals = [
                _add_counts(total, ordinals, multiplicity[token_indices])
                for total, multiplicity in zip(totals, multiplicities, strict=True)
            ]
        for (ordinals, counts), query, parts in zip(totals, queries, matches, strict=True):
            is_match = counts >= max(query.minimum, 1)
            if query.smallest_size:
                is_match &= segment.sizes[ordinals] >= query.smallest_size
            if query.largest_size is not None:
                is_match &= segment.sizes[ordinals] <= query.largest_size
            for portion_counts, portion in segment.with_copies(counts[is_match], ordinals[is_match]):
                is_alive = alive[portion]
                scores = portion_counts[is_alive].astype(np.float32) * np.float32(query.weight)
                parts.append(ScoredDocuments(segment.numbers[portion[is_alive]], scores))
    return list(map(ScoredDocuments.concatenate, matches))


def _token_array(tokens: Sequence[int]) -> Tokens:
    """Return tokens as an array. Leave out tokens of more than 64 bits, because no document has them."""
    try:
        return np.array(tokens, np.uint64)
    except OverflowError:
        return np.array([token for token in tokens if not token >> 64], np.uint64)


#: If n ordinals lie in a range smaller than `_DENSE * n`, `_sums` adds their counts in an array for the whole range.
#: Otherwise, it sorts the ordinals.
_DENSE = 8
#: Distinct ordinals of documents, ascending, and the count of each document so far.
_Totals: TypeAlias = tuple[Numbers, Numbers]
_NO_TOTALS: Final[_Totals] = (_NO_NUMBERS, _NO_NUMBERS)


def _add_counts(total: _Totals, ordinals: Numbers, counts: Numbers) -> _Totals:
    """Add the counts of the documents with these ordinals to the totals; drop counts of 0."""
    if not counts.all():
        is_any = counts > 0
        ordinals, counts = ordinals[is_any], counts[is_any]
    if not total[0].size:
        return _sums(ordinals, counts)
    return _sums(np.concatenate([total[0], ordinals]), np.concatenate([total[1], counts]))


def _sums(ordinals: Numbers, counts: Numbers) -> _Totals:
    """Return the distinct ordinals, and for each the sum of its counts; every count must be at least 1."""
    if not ordinals.size:
        return _NO_TOTALS
    first = int(ordinals.min())
    if int(ordinals.max()) - first < _DENSE * ordinals.size:
        # Floats hold all integers below 2**53, so the sums are exact.
        sums = np.bincount(ordinals - first, weights=counts)
        offsets = np.flatnonzero(sums)
        return offsets + first, sums[offsets].astype(np.int64)
    # Pack (ordinal, count) into one integer of far less than 64 bits: sorting is much faster than argsort.
    bits = int(counts.max()).bit_length()
    pairs = ordinals << bits | counts
    pairs.sort()
    ordered = pairs >> bits
    starts = run_starts(ordered)
    return ordered[starts], np.add.reduceat(pairs & ((1 << bits) - 1), starts)


def _match_bands(snapshot: TokenSnapshot, bands: Sequence[Sequence[int]], weight: float) -> ScoredDocuments:
    """Score documents by the number of bands (groups of tokens) that they contain completely."""
    members = [frozenset(band) for band in bands]
    needed = np.array([len(band) for band in members], np.int64)
    bands_of_token: dict[int, list[int]] = {}
    for number, band in enumerate(members):
        for token in band:
            bands_of_token.setdefault(token, []).append(number)

    def matches() -> Iterable[ScoredDocuments]:
        for segment, alive in zip(snapshot.segments, snapshot.alive, strict=True):
            possible = [token for token in bands_of_token if not token >> segment.postings[MINHASH].token_bits]
            band_lists = [bands_of_token[token] for token in possible]
            lengths = np.array(list(map(len, band_lists)), np.int64)
            listed = np.array(list(chain.from_iterable(band_lists)), np.int64)
            totals = _NO_TOTALS
            for token_indices, ordinals in segment.look_up(MINHASH, np.array(possible, np.uint64)):
                keys = _band_keys(token_indices, ordinals, listed, lengths, len(bands))
                totals = _add_counts(totals, keys, np.ones_like(keys))
            keys, counts = totals
            complete = keys[counts == needed[keys % len(bands)]] // len(bands)
            ordinals, matching = _sums(complete, np.ones_like(complete))
            ordinals, matching = ordinals[alive[ordinals]], matching[alive[ordinals]]
            yield ScoredDocuments(segment.numbers[ordinals], matching.astype(np.float32) * np.float32(weight))

    return ScoredDocuments.concatenate(matches())


def _band_keys(
    token_indices: Numbers, ordinals: Numbers, bands_of_tokens: Numbers, band_counts: Numbers, bands: int
) -> Numbers:
    """Return one key `ordinal * bands + band` for each token that a document shares with a band.

    A key occurs as often as its document and band share tokens. `token_indices` and `ordinals` list pairs of a token
    and a document that has it. `bands_of_tokens` has the bands of each token, concatenated, and `band_counts` the
    number of bands of each token.
    """
    firsts = np.cumsum(band_counts) - band_counts
    band_numbers = bands_of_tokens[indices_of_ranges(firsts[token_indices], band_counts[token_indices])]
    return np.repeat(ordinals, band_counts[token_indices]) * bands + band_numbers


def _combine_matches(
    must: Sequence[ScoredDocuments], should: Sequence[ScoredDocuments], must_not: Sequence[ScoredDocuments], needed: int
) -> ScoredDocuments:
    """Combine matches like Lucene's BooleanQuery; at least `needed` of the `should` matches are required."""
    if needed > len(should) or not (must or should):
        return NO_MATCHES
    parts = [*must, *should]
    numbers, inverse = np.unique(np.concatenate([part.numbers for part in parts]), return_inverse=True)
    scores = np.bincount(inverse, np.concatenate([part.scores for part in parts]), numbers.size)
    ends = sum(part.numbers.size for part in must)
    is_match = np.bincount(inverse[:ends], minlength=numbers.size) == len(must)
    is_match &= np.bincount(inverse[ends:], minlength=numbers.size) >= needed
    for part in must_not:
        is_match &= ~np.isin(numbers, part.numbers)
    return ScoredDocuments(numbers[is_match], scores[is_match].astype(np.float32))


def best_page(
    counted: ScoredDocuments, start: int, rows: int, ids: Callable[[list[int]], Mapping[int, str]]
) -> list[tuple[int, float]]:
    """Return the numbers and scores of one page of documents, sorted by descending score, then by id.

    `ids` returns the ids of existing documents, keyed by number. It is called for all documents whose scores lie
    between the highest and the lowest score of the page.
    """
    numbers, scores = counted.numbers, counted.scores
    end = min(start + rows, numbers.size)
    if start >= end:
        return []
    # To sort equal scores by id, include all documents with the same score as the first or last hit of the page.
    least, most = np.partition(scores, [numbers.size - end, numbers.size - start - 1])[[-end, -start - 1]]
    is_near = (scores >= least) & (scores <= most)
    begin = np.count_nonzero(scores > most)
    near, scores = numbers[is_near].tolist(), scores[is_near]
    known = ids(near)
    names = [*map(known.get, near, repeat(""))]
    by_id = np.array(sorted(range(len(near)), key=names.__getitem__), np.int64)
    page = by_id[np.argsort(-scores[by_id], kind="stable")][start - begin : end - begin].tolist()
    return [(near[at], float(scores[at])) for at in page]
