"""Documents that may have a passage of a text: those that `similar` finds for each window of it.

One question about the whole text would miss the document that has a paragraph of a book. So the text is cut into
windows of `WINDOW` shingles, and for each the documents are looked for that contain a small part of it. Neighbours
overlap by a quarter, and that part is at most a quarter of a window: of a passage that is as long, at least as much
lies in one window.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from whorl.context import require_time, trace
from whorl.engine.protocol import Engine
from whorl.fingerprint.passages import TextWords
from whorl.fingerprint.statistics.metric import Metric
from whorl.planning.build import Bool, BoundNode, MatchAll, Nothing
from whorl.similar.expected import reach
from whorl.similar.hits import Found, SimilarPlan
from whorl.similar.minhash_plan import MinHashPlan
from whorl.similar.question import Question
from whorl.similar.search import look_ups, search_for
from whorl.similar.sources import Sources
from whorl.sources.result import Promise

#: Shingles of a window, and windows of a text: a longer text has larger ones.
WINDOW, MOST_WINDOWS = 256, 200
#: Shingles in common that make a candidate: sketches of documents of some thousand shingles promise no fewer.
LEAST_SHARED = 20
#: A window's least part: with more than these, few look-ups promise nothing.
_LEAST_PART, _MOST_PART = Fraction(1, 50), Fraction(1, 4)
#: What a window is called where the engine is asked about it.
_WINDOW = "a part of the text"


@dataclass(frozen=True, slots=True)
class Candidates:
    """Documents that may have a passage of a text.

    Args:
        found: In the order in which they are worth reading, each with what it shares with the window that it shares
            most with. What is best for one window comes before what is second for another.
        promise: How many of the documents with a passage are among them.
        warnings: What the user should know beside them.
    """

    found: tuple[Found, ...]
    promise: Promise
    warnings: tuple[str, ...]


def windows(shingles: int) -> list[tuple[int, int]]:
    """Return the windows of a text as half-open ranges of its shingles.

    All are of one size, and each begins where three quarters of the one before end, but for the last, which ends with
    the text.

    >>> windows(300), windows(0)
    ([(0, 256), (44, 300)], [])
    """
    size = min(shingles, max(WINDOW, -(-4 * shingles // (3 * MOST_WINDOWS))))
    if size <= 0:
        return []
    starts = [*range(0, shingles - size, size - size // 4), shingles - size]
    return [(start, start + size) for start in starts]


def least_shared(window: int, min_words: int, shingle_size: int) -> int:
    """Return how many shingles of a window a candidate shares, at least 1 and at most a quarter of it, rounded up.

    Args:
        window: Shingles of the window, at least 1.
        min_words: Words of the shortest passage that counts.
        shingle_size: Words of a shingle.
    """
    wanted = max(LEAST_SHARED, min_words - shingle_size + 1, _rounded_up(_LEAST_PART * window))
    return min(wanted, _rounded_up(_MOST_PART * window))


def find_candidates(
    engine: Engine,
    text: str,
    of_text: TextWords,
    recall: Fraction,
    *,
    min_words: int,
    left_out: BoundNode | None,
    own_id: str | None,
    progress: Callable[[str, int, int], None],
) -> Candidates:
    """Look for the documents that may have a passage of a text.

    Args:
        engine: Where they are.
        text: The text.
        of_text: Its words.
        recall: Wanted chance that a document with a passage is found, a fraction in (0, 1].
        min_words: Words of the shortest passage that counts.
        left_out: Documents that are none.
        own_id: The id of the document whose text it is, which is none either.
        progress: Called with what is done, how much of it and of how much.
    """
    size = engine.scheme.shingle_size
    places = windows(len(of_text.words) - size + 1)
    if not places:
        too_short = f"the text has no fingerprint: it has fewer than {size} words"
        return Candidates((), Promise(recall, None), (too_short,))
    window = places[0][1]
    shared = least_shared(window, min_words, size)
    question = Question(Metric.A_IN_B, Fraction(shared, window), recall)
    others: BoundNode = MatchAll() if left_out is None else Bool(must=(MatchAll(),), must_not=(left_out,))
    best: dict[str, tuple[int, float, Found]] = {}
    warnings: list[str] = []
    crowded, longest = 0, float(shared)
    for done, (start, end) in enumerate(places):
        require_time()
        progress("looking for candidates", done, len(places))
        part = text[of_text.spans[start, 0] : of_text.spans[end + size - 2, 1]]
        search = search_for(Sources(engine, {_WINDOW: part}), _WINDOW, question)
        plan = look_ups(search, others)
        if isinstance(plan.root, Nothing):
            # All documents are too short, or the part has fewer words alone than in its place.
            continue
        batch = search.batch(plan, 0, frozenset())
        while batch is None:
            batch = search.batch(look_ups(search, others), 0, frozenset())
        trace().verified += len(batch.ids)
        crowded += batch.total > len(batch.ids)
        longest = max(longest, _promised(search.plan, shared))
        warnings += [*search.warnings, *batch.warnings]
        kept = sorted(batch.kept, key=lambda found: (-found.hit.score, found.hit.id))
        for rank, found in enumerate(kept):
            worth = (rank, -found.hit.score)
            if found.hit.id != own_id and (found.hit.id not in best or worth < best[found.hit.id][:2]):
                best[found.hit.id] = (*worth, found)
    if crowded:
        warnings.append(
            f"{crowded} of {len(places)} parts of the text have more candidates than are looked at; those with most in "
            "common were, and leaving out by a query what is not wanted makes room for others"
        )
    in_order = sorted(best.values(), key=lambda each: (*each[:2], each[2].hit.id))
    # Of a longer passage no window need have more than what neighbours have in common.
    is_promised = longest <= max(window // 4, shared)
    promise = Promise(recall, math.ceil(longest) + size - 1 if is_promised else None)
    return Candidates(tuple(found for *_, found in in_order), promise, tuple(dict.fromkeys(warnings)))


def _promised(plan: SimilarPlan, shared: int) -> float:
    """Return how many shingles of a window a document must have to be found as promised; infinite for no promise."""
    if isinstance(plan, MinHashPlan):
        return shared if plan.promised else math.inf
    weak = [reach(plan, branch) for branch in plan.branches if not branch.promised]
    return max((math.inf if each is None else each * plan.source_size for each in weak), default=shared)


def _rounded_up(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)
