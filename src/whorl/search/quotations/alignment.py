"""Finds the run of a document's words that is most similar to a quotation, by edit distance in words.

Source: Sellers, "The theory and computation of evolutionary distances: pattern recognition", 1980.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from whorl.request_context import require_time

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Edit:
    """Words of a quotation, and the document's words at the same place (half-open ranges; one may be empty)."""

    quote: tuple[int, int]
    document: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Alignment:
    """The run of a document's words, `start` to `end` (exclusive), with the smallest edit distance to a quotation."""

    start: int
    end: int
    distance: int
    edits: tuple[Edit, ...]


def align(quote: Sequence[str], document: Sequence[str]) -> Alignment:
    """Return the run of a document's words with the smallest edit distance to a quotation.

    Ties go to the alignment with the most words in common, then to the first position. So if the quotation drops "not"
    before its last word, the result shows this omission, not an added last word. The time is proportional to the
    product of both lengths.

    >>> found = align("the rent is due".split(), "that the monthly rent was due on".split())
    >>> found.start, found.end, found.distance, [(edit.quote, edit.document) for edit in found.edits]
    (1, 6, 2, [((1, 1), (2, 3)), ((2, 3), (4, 5))])
    """
    numbers: dict[str, int] = {}
    wanted = np.array([numbers.setdefault(word, len(numbers)) for word in quote], np.int64)
    words = np.array([numbers.get(word, -1) for word in document], np.int64)
    # Among alignments with equal distances, choose the one with most common words: the length of the quotation, minus
    # the distance, plus the number of omitted words. So an omission costs 1 less than any other edit. An edit costs
    # more than `wanted.size`, which is the largest possible number of omissions, so this decides only between equals.
    edit_cost = wanted.size + 1
    row, omitted = np.zeros(words.size + 1, np.int64), np.arange(words.size + 1) * (edit_cost - 1)
    for number in wanted:
        require_time()
        row = _next_row(row, words != number, edit_cost, omitted)
    end, distance = int(row.argmin()), -(-int(row.min()) // edit_cost)
    # To trace the path, compute the rows again, but only for the words before `end`, because the run is longer than the
    # quotation by at most the distance.
    first = max(0, end - wanted.size - distance)
    rows = [np.zeros(end - first + 1, np.int64)]
    for number in wanted:
        rows.append(_next_row(rows[-1], words[first:end] != number, edit_cost, omitted[: end - first + 1]))
    edits, start = _trace_path(rows, wanted, words[first:end], edit_cost)
    shifted = tuple(Edit(edit.quote, (edit.document[0] + first, edit.document[1] + first)) for edit in edits)
    return Alignment(first + start, end, distance, shifted)


def _next_row(row: _Numbers, differs: npt.NDArray[np.bool_], edit_cost: int, omitted: _Numbers) -> _Numbers:
    """Return the next row of costs, for one more word of the quotation.

    Args:
        row: Smallest cost of the quotation's words so far, for each possible end of the run in the document; int64
            array of shape (words + 1,).
        differs: Mask of the document's words that differ from the next word of the quotation.
        edit_cost: Cost of an added or replaced word.
        omitted: Costs of 0, 1, 2 … omitted words.
    """
    following = row + edit_cost
    np.minimum(following[1:], row[:-1] + differs * edit_cost, out=following[1:])
    # A run can also end with omitted words. So the cost at each end is the minimum over all earlier ends: the cost
    # there, plus the cost of the omitted words between both ends.
    following -= omitted
    return np.minimum.accumulate(following, out=following) + omitted


def _trace_path(
    rows: Sequence[_Numbers], quote: _Numbers, document: _Numbers, edit_cost: int
) -> tuple[list[Edit], int]:
    """Return the edits on the cheapest path through the rows of costs, and the start of the run in the document."""
    at, to = len(rows) - 1, rows[-1].size - 1
    steps: list[tuple[bool, tuple[int, int], tuple[int, int]]] = []
    while at:
        cost = rows[at][to]
        is_same = to > 0 and quote[at - 1] == document[to - 1]
        if is_same and rows[at - 1][to - 1] == cost:
            step = 1, 1
        elif to and rows[at][to - 1] + edit_cost - 1 == cost:
            step = 0, 1
        else:
            step = (1, 1) if to and rows[at - 1][to - 1] + edit_cost == cost else (1, 0)
        steps.append((step == (1, 1) and bool(is_same), (at - step[0], at), (to - step[1], to)))
        at, to = at - step[0], to - step[1]
    edits = []
    for is_same, group in groupby(reversed(steps), lambda step: step[0]):
        ranges = list(group)
        if not is_same:
            edits.append(Edit((ranges[0][1][0], ranges[-1][1][1]), (ranges[0][2][0], ranges[-1][2][1])))
    return edits, to
