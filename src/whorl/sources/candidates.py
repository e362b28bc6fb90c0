"""Documents that may have a passage of a text: by their numbers of passages, and by sketches window by window.

Where the store keeps numbers of passages, `by_passages` names every document that has a long one. Others are those that
`similar` finds for each window of the text: the only ones where the store keeps no numbers, and else documents whose
passages are shorter.

One question about the whole text would miss the document that has a paragraph of a book. So the text is cut into
windows of `WINDOW` shingles, and for each the documents are looked for that contain a small part of it. Neighbours
overlap by a quarter, and that part is at most a quarter of a window: of a passage that is as long, at least as much
lies in one window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from whorl.context import require_time, trace
from whorl.engine.protocol import Engine
from whorl.fingerprint.passages import TextWords
from whorl.fingerprint.statistics.metric import Metric
from whorl.planning.build import Bool, BoundNode, MatchAll, Nothing
from whorl.similar.expected import reach
from whorl.similar.hits import Found
from whorl.similar.minhash_plan import MinHashPlan
from whorl.similar.plan import SketchPlan
from whorl.similar.question import Question
from whorl.similar.search import look_ups, search_for
from whorl.similar.sources import Sources
from whorl.sources.by_passages import by_passages
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
class Candidate:
    """A document that may have a passage of a text.

    Args:
        id: Its id.
        name: What people know it by, or "".
        shingles: About how many distinct ones it has; None where that is not known.
    """

    id: str
    name: str
    shingles: int | None


@dataclass(frozen=True, slots=True)
class Candidates:
    """Documents that may have a passage of a text.

    Args:
        found: In the order in which they are worth reading: what is best for one part of the text comes before what is
            second for another.
        promise: How many of the documents with a passage are among them.
        warnings: What the user should know beside them.
    """

    found: tuple[Candidate, ...]
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
    best = _Best(own_id)
    warnings: tuple[str, ...] = ()
    certain_words, crowded = None, 0
    if (scheme := engine.passage_scheme) is not None:
        certain = by_passages(engine, scheme, of_text, left_out=left_out, progress=progress)
        for hits in certain.places:
            best.add(Candidate(hit.id, hit.name, None) for hit in hits)
        certain_words, crowded = scheme.run_words, certain.crowded
        warnings = certain.warnings
    asked = _Windows(engine, text, of_text, recall, min_words, left_out, progress)
    for found in asked.found():
        best.add(Candidate(each.hit.id, each.hit.name, each.estimate.hit_size) for each in found)
    promise = Promise(recall, asked.promised_words, certain_words, crowded)
    return Candidates(best.in_order(), promise, tuple(dict.fromkeys((*warnings, *asked.warnings))))


class _Best:
    """Candidates by how soon they are read: the first of each part, then the second of each, and so on."""

    def __init__(self, own_id: str | None) -> None:
        self._own_id = own_id
        self._ranked: dict[str, tuple[int, Candidate]] = {}

    def add(self, found: Iterable[Candidate]) -> None:
        """Take in the candidates of one part of the text, best first."""
        for rank, each in enumerate(found):
            known = self._ranked.get(each.id)
            if each.id != self._own_id and (known is None or rank < known[0]):
                self._ranked[each.id] = rank, each

    def in_order(self) -> tuple[Candidate, ...]:
        # Of equal ranks, those of parts that came first.
        return tuple(each for _, each in sorted(self._ranked.values(), key=lambda ranked: ranked[0]))


class _Windows:
    """Asks `similar` for each window of a text, and knows then what that promises.

    Attributes:
        promised_words: See `Promise.words`.
        warnings: What the user should know.
    """

    def __init__(
        self,
        engine: Engine,
        text: str,
        of_text: TextWords,
        recall: Fraction,
        min_words: int,
        left_out: BoundNode | None,
        progress: Callable[[str, int, int], None],
    ) -> None:
        self._engine, self._text, self._of_text, self._progress = engine, text, of_text, progress
        self._recall, self._min_words = recall, min_words
        self._others: BoundNode = MatchAll() if left_out is None else Bool(must=(MatchAll(),), must_not=(left_out,))
        self.promised_words: int | None = None
        self.warnings: list[str] = []

    def found(self) -> Iterator[list[Found]]:
        """Yield what is found for each window, best first."""
        size = self._engine.scheme.shingle_size
        places = windows(len(self._of_text.words) - size + 1)
        if not places:
            self.warnings.append(f"the text has no fingerprint: it has fewer than {size} words")
            return
        window = places[0][1]
        shared = least_shared(window, self._min_words, size)
        question = Question(Metric.A_IN_B, Fraction(shared, window), self._recall)
        crowded, longest = 0, float(shared)
        for done, (start, end) in enumerate(places):
            require_time()
            self._progress("looking for candidates", done, len(places))
            part = self._text[self._of_text.spans[start, 0] : self._of_text.spans[end + size - 2, 1]]
            search = search_for(Sources(self._engine, {_WINDOW: part}), _WINDOW, question)
            plan = look_ups(search, self._others)
            if isinstance(plan.root, Nothing):
                # All documents are too short, or the part has fewer words alone than in its place.
                continue
            batch = search.batch(plan, 0, frozenset())
            while batch is None:
                batch = search.batch(look_ups(search, self._others), 0, frozenset())
            trace().verified += len(batch.ids)
            crowded += batch.total > len(batch.ids)
            longest = max(longest, _promised(search.plan, shared))
            self.warnings += [*search.warnings, *batch.warnings]
            yield sorted(batch.kept, key=lambda found: (-found.hit.score, found.hit.id))
        if crowded:
            self.warnings.append(
                f"{crowded} of {len(places)} parts of the text have more candidates than are looked at; those with "
                "most in common were, and leaving out by a query what is not wanted makes room for others"
            )
        # Of a longer passage no window need have more than what neighbours have in common.
        is_promised = longest <= max(window // 4, shared)
        self.promised_words = math.ceil(longest) + size - 1 if is_promised else None


def _promised(plan: SketchPlan | MinHashPlan, shared: int) -> float:
    """Return how many shingles of a window a document must have to be found as promised; infinite for no promise."""
    if isinstance(plan, MinHashPlan):
        return shared if plan.promised else math.inf
    weak = [reach(plan, branch) for branch in plan.branches if not branch.promised]
    return max((math.inf if each is None else each * plan.source_size for each in weak), default=shared)


def _rounded_up(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)
