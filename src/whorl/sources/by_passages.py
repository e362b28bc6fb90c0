"""Documents that have a passage of a text, with certainty: those that keep one of the text's numbers of passages.

A number that stands in few documents leads to all of them. One that stands in many is a text that everybody uses; of
those documents the ones that share most with that place of the text are taken, and it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from whorl.arrays import chunks
from whorl.context import require_time
from whorl.engine.protocol import Engine
from whorl.fingerprint.hashing import join
from whorl.fingerprint.passages import TextWords
from whorl.fingerprint.winnow import PassageScheme, winnowed_in_order
from whorl.model import Hit
from whorl.planning.build import Bool, BoundNode, BoundPlan, PassageNumbers

#: Documents that all have one number: of more, not all are taken.
MANY = 200
#: Documents and numbers of one question, at most.
_DOCUMENTS_AT_ONCE, _NUMBERS_AT_ONCE = 1_000, 64
#: Of a number that stands in many documents: documents that are taken; and questions about such numbers, about.
TAKEN, _QUESTIONS = 20, 200


@dataclass(frozen=True, slots=True)
class PassageCandidates:
    """Documents that keep a number of the text.

    Args:
        places: For each of some places of the text, in order, the documents found there: most numbers in common first.
        crowded: Places of the text that stand in more than `MANY` documents, of which only some are there.
        warnings: What the user should know beside them.
    """

    places: tuple[tuple[Hit, ...], ...]
    crowded: int
    warnings: tuple[str, ...]


def by_passages(
    engine: Engine,
    scheme: PassageScheme,
    of_text: TextWords,
    *,
    left_out: BoundNode | None,
    progress: Callable[[str, int, int], None],
) -> PassageCandidates:
    """Look up the numbers of a text's passages.

    Args:
        engine: Where the documents are.
        scheme: What it keeps of passages.
        of_text: The words of the text.
        left_out: Documents that are not wanted.
        progress: Called with what is done, how much of it and of how much.
    """
    numbers = winnowed_in_order(join(of_text.words), scheme).tolist()
    counted = zip(numbers, engine.passage_counts(numbers), strict=True)
    known = [(number, count) for number, count in counted if count]
    frequent = [number for number, count in known if count > MANY]
    # So many of these in one question that there are not too many questions.
    together = -(-len(frequent) // _QUESTIONS)
    questions: list[tuple[list[int], int]] = []
    for is_frequent, stretch in groupby(known, lambda each: each[1] > MANY):
        if is_frequent:
            some = [number for number, _ in stretch]
            questions += [(some[at : at + together], TAKEN) for at in range(0, len(some), together)]
        else:
            for group in chunks(stretch, lambda each: each[1], _DOCUMENTS_AT_ONCE, _NUMBERS_AT_ONCE):
                questions.append(([number for number, _ in group], sum(count for _, count in group)))
    places = []
    for done, (some, rows) in enumerate(questions):
        require_time()
        progress("looking up passages", done, len(questions))
        places.append(_documents(engine, scheme, some, rows, left_out))
    warnings = []
    if frequent:
        most = max(count for _, count in known)
        warnings.append(
            f"{len(frequent):,} of {len(numbers):,} places of the text stand in more than {MANY} documents each, up to "
            f"{most:,}: of these documents, {TAKEN} for each place are candidates"
        )
    return PassageCandidates(tuple(places), len(frequent), tuple(warnings))


def _documents(
    engine: Engine, scheme: PassageScheme, numbers: Sequence[int], rows: int, left_out: BoundNode | None
) -> tuple[Hit, ...]:
    asked: BoundNode = PassageNumbers("the text", scheme, tuple(numbers))
    if left_out is not None:
        asked = Bool(must=(asked,), must_not=(left_out,))
    return engine.search(BoundPlan(asked), start=0, rows=rows).hits
