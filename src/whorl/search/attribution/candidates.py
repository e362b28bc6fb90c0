"""Finds documents that a text may come from, by passage hashes and by searches for parts of the text.

If the store keeps passage hashes, `find_passage_candidates` finds every document with a passage of `run_words` words or
more. `find_candidates` then searches for the other words of the text, window by window.

Passage hashes: the index holds only the hashes of a document that winnowing keeps. The search looks up the hash of
every run of `hashed_words` words of the text.

    lower bound of the shared words    A document shares the words that its found hashes cover.
    upper bound of the shared words    Each shared run of `run_words` words contains at least one found hash.

All documents with a rare hash become candidates. A hash in more than `CROWDED_ABOVE` documents is called crowded, and
usually belongs to common text. So only the documents that share the most hashes with that part of the text become
candidates.

Windows: a single search for a whole book would miss a document with one paragraph of the book. So the text is cut into
windows of `WINDOW` shingles, and each search looks for documents that share a minimum number of shingles with one
window. The minimum is at most a quarter of a window, and neighbouring windows overlap by a quarter. So a passage with
the minimum number of shingles lies completely in at least one window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, islice

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import group_equals, indices_of_ranges, mask_ranges, ranges_of, run_starts, sorting_order
from whorl.engine.protocol import Engine, PassageMatches
from whorl.fingerprint.compare_texts import TextWords, words_of
from whorl.fingerprint.shingling import join
from whorl.fingerprint.statistics.metric import Metric
from whorl.fingerprint.winnowing import BROKEN_WORDS, PassageScheme, hashes_to_look_up
from whorl.query.plan.nodes import Bool, BoundNode, BoundPlan, MatchAll, Nothing, PassageHashes
from whorl.request_context import report_progress, require_time, trace
from whorl.search.attribution.candidate_reader import Candidate
from whorl.search.attribution.cover import NO_RANGES, Numbers, ranges_by_owner
from whorl.search.attribution.results import Promise
from whorl.search.similar.fetch_query_sources import QuerySources
from whorl.search.similar.find_similar import candidate_plan, make_search
from whorl.search.similar.minhash_plan import MinHashPlan
from whorl.search.similar.options import SimilarCriteria
from whorl.search.similar.sketch_plan import SketchPlan, smallest_promised_share

#: Number of shingles in a window, and maximum number of windows of a text; long texts get larger windows.
WINDOW, MOST_WINDOWS = 256, 200
#: Minimum number of shingles that a candidate must share. For smaller overlaps, sketches of long documents cannot
#: guarantee a recall.
LEAST_SHARED = 20
#: Smallest and largest fraction of a window's shingles that a candidate must share. Within these limits, most look-ups
#: reach the promised recall.
_LEAST_PART, _MOST_PART = Fraction(1, 50), Fraction(1, 4)
_WINDOW = "a part of the text"


@dataclass(frozen=True, slots=True)
class Candidates:
    """Documents that may have a passage of a text: first the best hit of each part, then the second best, and so on."""

    ids: tuple[str, ...]
    promise: Promise
    warnings: tuple[str, ...]


def cut_windows(shingles: int) -> list[tuple[int, int]]:
    """Return the windows of a text, which have equal sizes, as half-open ranges of its shingles.

    Each window begins three quarters of a window after the previous one, but the last window ends with the text.

    >>> cut_windows(300), cut_windows(0)
    ([(0, 256), (44, 300)], [])
    """
    size = min(shingles, max(WINDOW, -(-4 * shingles // (3 * MOST_WINDOWS))))
    if size <= 0:
        return []
    starts = [*range(0, shingles - size, size - size // 4), shingles - size]
    return [(start, start + size) for start in starts]


def least_shared(window: int, min_words: int, shingle_size: int) -> int:
    """Return the required overlap with a window of `window` shingles: at least 1, at most a quarter."""
    wanted = max(LEAST_SHARED, min_words - shingle_size + 1, math.ceil(_LEAST_PART * window))
    return min(wanted, math.ceil(_MOST_PART * window))


def find_candidates(
    engine: Engine,
    text: str,
    of_text: TextWords,
    searched: Numbers,
    recall: Fraction,
    *,
    min_words: int,
    left_out: BoundNode | None,
) -> Candidates:
    """Find the documents that may have a passage from the given parts of a text.

    Args:
        searched: The parts, as ranges of words; int64 array of shape (parts, 2). They are searched as one text.
        recall: Wanted probability, in (0, 1], that a document with a passage of `min_words` words or more is found. The
            result's promise states how long a passage must be to be found with this probability.
        left_out: Documents that are never candidates.
    """
    if not searched.size and of_text.words:
        return Candidates((), Promise(recall, None), ())
    if len(searched) != 1 or searched[0].tolist() != [0, len(of_text.words)]:
        starts, ends = of_text.spans[searched[:, 0], 0], of_text.spans[searched[:, 1] - 1, 1]
        text = "\n".join(text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True))
        of_text = words_of(text, engine.scheme)
    size = engine.scheme.shingle_size
    places = cut_windows(len(of_text.words) - size + 1)
    if not places:
        warning = f"the text has no fingerprint: it has fewer than {size} words"
        return Candidates((), Promise(recall, None), (warning,))
    window = places[0][1]
    shared = least_shared(window, min_words, size)
    criteria = SimilarCriteria(Metric.A_IN_B, Fraction(shared, window), recall)
    others: BoundNode = MatchAll() if left_out is None else Bool(must=(MatchAll(),), must_not=(left_out,))
    ranks: dict[str, int] = {}
    warnings = list[str]()
    crowded, longest = 0, float(shared)
    for done, (start, end) in enumerate(places):
        require_time()
        report_progress("looking for candidates", done, len(places))
        part = text[of_text.spans[start, 0] : of_text.spans[end + size - 2, 1]]
        search = make_search(QuerySources(engine, {_WINDOW: part}), _WINDOW, criteria)
        plan = candidate_plan(search, others)
        if isinstance(plan.root, Nothing):
            # No document can match: all documents are too short, or the window's text has fewer words than a shingle
            # when it is cut out of the whole text.
            continue
        while (batch := search.batch(plan, 0, frozenset())) is None:
            plan = candidate_plan(search, others)
        trace().verified += len(batch.candidates)
        crowded += batch.candidates.total > len(batch.candidates)
        longest = max(longest, _least_promised_overlap(search.plan, shared))
        warnings += [*search.warnings, *batch.candidates.warnings]
        best_first = sorted((similar.hit for similar in batch.hits), key=lambda hit: (-hit.score, hit.id))
        for rank, hit in enumerate(best_first):
            ranks[hit.id] = min(rank, ranks.get(hit.id, rank))
    if crowded:
        warnings.append(
            f"{crowded} of {len(places)} parts of the text have more candidates than are compared; those with "
            "most in common were. A query that excludes unwanted documents makes room for others"
        )
    # Neighbouring windows overlap by a quarter of a window. So a passage of up to a quarter of a window lies completely
    # in one window, but a longer passage may be cut. So promise nothing if a document must share more than a quarter of
    # a window.
    promised_words = math.ceil(longest) + size - 1 if longest <= max(window // 4, shared) else None
    # The sort is stable, so ties keep the order of the parts.
    ids = tuple(sorted(ranks, key=ranks.__getitem__))
    return Candidates(ids, Promise(recall, promised_words), tuple(dict.fromkeys(warnings)))


def _least_promised_overlap(plan: SketchPlan | MinHashPlan, shared: int) -> float:
    """Return the smallest overlap, in shingles, with the promised recall at every document size, or infinity."""
    if isinstance(plan, MinHashPlan):
        return shared if plan.promised else math.inf
    shares = [smallest_promised_share(plan, branch) for branch in plan.branches if not branch.promised]
    return max((math.inf if share is None else share * plan.source_size for share in shares), default=shared)


#: A hash in more documents than this is crowded: only some of these documents become candidates.
CROWDED_ABOVE = 5_000
#: Neighbouring hashes of the text that are each in more than `CROWDED_ABOVE` documents form a crowded part. At most
#: `_MOST_LOOK_UPS` crowded parts are looked up, and each gives at most `CANDIDATES_PER_CROWDED_PART` candidates.
CANDIDATES_PER_CROWDED_PART, _MOST_LOOK_UPS = 50, 200


@dataclass(frozen=True, slots=True, eq=False)
class PassageCandidates:
    """Candidates found by passage hashes, in groups of documents with the same hashes of the text.

    Args:
        crowded_hashes: Number of the text's hashes that more than `CROWDED_ABOVE` documents have. Only some of these
            documents are candidates.
        crowded_ranges: Ranges of the text's words where a document that is not a candidate may share a run of at least
            `run_words` words.
        hashes: Hash of each run of `hashed_words` words of the text, in text order; uint64 array.
    """

    groups: tuple[Candidate, ...]
    crowded_hashes: int
    crowded_ranges: Numbers
    hashes: npt.NDArray[np.uint64]
    warnings: tuple[str, ...] = ()


def find_passage_candidates(
    engine: Engine, scheme: PassageScheme, of_text: TextWords, min_words: int, *, left_out: BoundNode | None
) -> PassageCandidates:
    """Return the documents that have passage hashes of a text, in groups of documents with the same hashes."""
    in_order, possible_words = hashes_to_look_up(join(of_text.words), scheme)
    numbers = list(dict.fromkeys(in_order.tolist()))
    if not numbers:
        return PassageCandidates((), 0, NO_RANGES, in_order)
    *counts, broken = engine.passage_counts([*numbers, BROKEN_WORDS])
    known = {number: count for number, count in zip(numbers, counts, strict=True) if count}
    crowded = [number for number, count in known.items() if count > CROWDED_ABOVE]
    # A word broken at a line end splits a shared run of `run_words` words in two; the longer part has at least half of
    # the words. If passages may be that short, look-ups of phrases find the longer part. Then ignore broken words,
    # because reading all near-copies with broken words takes seconds. The search may miss a few words at the ends of
    # the run, if no other document has them.
    if broken and min_words > scheme.run_words // 2:
        # Count BROKEN_WORDS, the mark of documents with broken words, as a crowded hash: such hashes are looked up only
        # in documents that other hashes have found.
        known[BROKEN_WORDS] = max(broken, CROWDED_ABOVE + 1)
    best, missing, done = dict[str, None](), crowded, 0
    while True:
        groups = (list(group) for is_missing, group in groupby(known, {*missing}.__contains__) if is_missing)
        for crowded_part in islice(groups, _MOST_LOOK_UPS - done):
            require_time()
            report_progress("looking up passages", done, done + 1)
            best |= dict.fromkeys(_find_best(engine, scheme, crowded_part, left_out))
            done += 1
        matches = engine.find_documents_with_passages(known, most=CROWDED_ABOVE, among=tuple(best), left_out=left_out)
        # Look up again the hashes that none of these best documents has.
        is_kept = dict(zip(known, np.bincount(matches.hash_indices, minlength=len(known)).tolist(), strict=True))
        found, missing = len(missing), [number for number in missing if not is_kept[number]]
        if not missing or len(missing) == found or done >= _MOST_LOOK_UPS:
            break
    warnings: tuple[str, ...] = ()
    if crowded:
        warnings = (
            f"{len(crowded):,} of {len(numbers):,} places of the text are in more than {CROWDED_ABOVE:,} documents "
            f"each, up to {max(map(known.__getitem__, crowded)):,}: of these documents, those with most of a part of "
            "the text are candidates",
        )
    is_crowded = np.isin(in_order, np.array(crowded, np.uint64))
    crowded_ranges = ranges_of(mask_ranges(possible_words[is_crowded], len(of_text.words)))
    if min_words < scheme.run_words:
        # A passage of fewer than `run_words` words extends less than a window beyond its first and its last hash. So
        # add `window` - 1 words on both sides of each hash.
        places, edge = np.arange(in_order.size), scheme.window - 1
        low = np.maximum(places - edge, 0)
        high = np.minimum(places + scheme.hashed_words + edge, len(of_text.words))
        possible_words = np.stack((low, high), axis=1)
    by_hashes = _group_matches(matches, list(known), in_order, possible_words, scheme.hashed_words)
    return PassageCandidates(by_hashes, len(crowded), crowded_ranges, in_order, warnings)


def _find_best(engine: Engine, scheme: PassageScheme, numbers: Sequence[int], left_out: BoundNode | None) -> list[str]:
    """Return the ids of the `CANDIDATES_PER_CROWDED_PART` documents with the most of these passage hashes."""
    clause: BoundNode = PassageHashes("the text", scheme, tuple(numbers))
    if left_out is not None:
        clause = Bool(must=(clause,), must_not=(left_out,))
    return [hit.id for hit in engine.search(BoundPlan(clause), start=0, rows=CANDIDATES_PER_CROWDED_PART).hits]


def _group_matches(
    matches: PassageMatches,
    numbers: Sequence[int],
    in_order: npt.NDArray[np.uint64],
    possible_words: Numbers,
    hashed_words: int,
) -> tuple[Candidate, ...]:
    """Group documents that have the same hashes of the text, as most near-copies do.

    The `cover` of a group has the words that the hashes prove to be shared. Its `possible` has the words that may be in
    a shared passage. If passages may have fewer than `run_words` words, these include words around each hash.

    Args:
        numbers: Distinct passage hashes of the text, which `matches` refers to by index.
        in_order: Hash at each position of the text.
        possible_words: For each position, the range of words that a document with its hash may share.
        hashed_words: Number of words that a passage hash covers.
    """
    if not matches.ids:
        return ()
    by_owner = sorting_order(matches.document_indices.view(np.uint64), len(matches.ids).bit_length())
    owners, kept = matches.document_indices[by_owner], matches.hash_indices[by_owner]
    # Identify each set of hashes by the sum of random 64-bit numbers, one per hash.
    sums, starts = np.zeros(len(matches.ids), np.int64), run_starts(owners)
    sums[owners[starts]] = np.add.reduceat(np.random.default_rng().integers(1 << 63, size=len(numbers))[kept], starts)
    _, firsts, group_of = np.unique(sums, return_index=True, return_inverse=True)
    is_first = np.zeros(len(matches.ids), np.bool_)
    is_first[firsts] = True
    is_first = is_first[owners]
    owners, wanted = group_of[owners[is_first]], np.array(numbers, np.uint64)[kept[is_first]]
    by_number = np.argsort(in_order, kind="stable")
    ordered = in_order[by_number]
    begins = np.searchsorted(ordered, wanted)
    counts = np.searchsorted(ordered, wanted, side="right") - begins
    starts, owners = by_number[indices_of_ranges(begins, counts)], np.repeat(owners, counts)
    # Pack group and position into one number: numbers are sorted faster than pairs, and `//` is faster than `divmod`.
    places = np.sort(owners * in_order.size + starts)
    owners = places // in_order.size
    starts = places - owners * in_order.size
    proven = ranges_by_owner(owners, starts, starts + hashed_words, firsts.size)
    low, high = possible_words[starts].T
    is_shared = high > low
    possible = ranges_by_owner(owners[is_shared], low[is_shared], high[is_shared], firsts.size)
    members = (sorted(map(matches.ids.__getitem__, group.tolist())) for group in group_equals(group_of))
    has_broken_words = np.zeros(firsts.size, np.bool_)
    if BROKEN_WORDS in numbers:
        has_broken_words[group_of[matches.document_indices[matches.hash_indices == numbers.index(BROKEN_WORDS)]]] = True
    is_broken = has_broken_words.tolist()
    groups = map(Candidate, members, proven, possible, is_broken, is_broken)
    return tuple(sorted(groups, key=lambda group: group.ids))
