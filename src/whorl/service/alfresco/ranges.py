"""Steps of a range facet, and the parts before, after and between its start and end, computed as in Solr."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise

from whorl.errors import ParameterError
from whorl.query.ast import Bound
from whorl.query.plan.values import DateError, read_date, written
from whorl.service.alfresco.facet_request import FacetRange

#: Maximum number of steps of one range; each step is a separate query.
MOST_STEPS = 1000
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a range; a bound that is None is open."""

    label: str
    low: Bound | None
    high: Bound | None


def steps(asked: FacetRange) -> list[Step]:
    """Return the steps of a range, in order, followed by the parts before, after and between.

    Source: Solr's FacetRangeProcessor, for the bounds that a step includes and for a last step that may pass the end.

    Args:
        asked: Numbers, or dates with a gap of date math such as +1YEAR.

    Raises:
        ParameterError: Start, end or gap cannot be read, the range is empty, or it has more than MOST_STEPS steps.
    """
    ends = list(_ends(asked))
    include = {"lower", "upper", "edge", "outer"} if "all" in asked.include else set(asked.include)
    lower, upper, edge = "lower" in include, "upper" in include, "edge" in include
    last = len(ends) - 2
    made = [
        _step(Bound(low, lower or (edge and at == 0)), Bound(high, upper or (edge and at == last)))
        for at, (low, high) in enumerate(pairwise(ends))
    ]
    other = {"before", "after", "between"} if "all" in asked.other else set(asked.other)
    if "none" in other:
        other = set()
    outer = "outer" in include
    first_is_in, last_is_in = lower or edge, upper or edge
    around = {
        "before": Step("before", None, Bound(ends[0], outer or not first_is_in)),
        "after": Step("after", Bound(ends[-1], outer or not last_is_in), None),
        "between": Step("between", Bound(ends[0], first_is_in), Bound(ends[-1], last_is_in)),
    }
    return made + [step for name, step in around.items() if name in other]


def _step(low: Bound, high: Bound) -> Step:
    opened, closed = "[" if low.is_inclusive else "(", "]" if high.is_inclusive else ")"
    return Step(f"{opened}{low.text} - {high.text}{closed}", low, high)


def _ends(asked: FacetRange) -> Iterator[str]:
    told = f"the range of {asked.field!r:.60}"
    following = _numbers(asked) if _NUMBER.fullmatch(asked.gap) else _dates(asked)
    count = 0
    for end in following:
        if count > MOST_STEPS:
            raise ParameterError(f"{told} has more than {MOST_STEPS:,} steps; ask for a larger gap")
        count += 1
        yield end
    if count < 2:
        raise ParameterError(f"{told} is empty: its end, {asked.end!r:.40}, is not after {asked.start!r:.40}")


def _numbers(asked: FacetRange) -> Iterator[str]:
    wrong = next((each for each in (asked.start, asked.end) if not _NUMBER.fullmatch(each)), None)
    if wrong is not None:
        raise ParameterError(
            f"the range of {asked.field!r:.60} has the gap {asked.gap}, and {wrong!r:.40} is no number"
        )
    at, end, gap = Decimal(asked.start), Decimal(asked.end), Decimal(asked.gap)
    if gap <= 0:
        raise ParameterError(f"the gap of a range is above 0, got {asked.gap}")
    yield f"{at:f}"
    while at < end:
        at = min(at + gap, end) if asked.hardend else at + gap
        yield f"{at:f}"


def _dates(asked: FacetRange) -> Iterator[str]:
    now = datetime.now(UTC)
    gap = asked.gap if asked.gap[:1] in "+-/" else f"+{asked.gap}"
    try:
        at, end = read_date(asked.start, now).first, read_date(asked.end, now).first
        yield written(at)
        while at < end:
            following = read_date(written(at) + gap, now).first
            if following <= at:
                raise ParameterError(
                    f"the gap of a range of dates leads forward, as +1YEAR does, got {asked.gap!r:.40}"
                )
            at = min(following, end) if asked.hardend else following
            yield written(at)
    except DateError as error:
        raise ParameterError(f"the range of {asked.field!r:.60} cannot be read: {error}") from error
