"""Candidates for attribution by winnowed passage hashes ("passage numbers"), for stores that keep them.

The search looks up every passage hash of the text, not only the winnowed ones. A hash kept by a document proves that
the document has the words under it. So the hashes alone give a lower bound of the words that a document shares. They
also give an upper bound, since any shared run of `run_words` words has a hash every few words.

All documents of a rare hash become candidates. A hash in more than `MANY` documents is common text: only the documents
that share most with that part of the text become candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from whorl.context import require_time
from whorl.engine.protocol import Engine, PassageHolders
from whorl.fingerprint.compare import TextWords
from whorl.fingerprint.shingling import join
from whorl.fingerprint.winnowing import PassageScheme, all_numbers
from whorl.query.plan.nodes import Bool, BoundNode, BoundPlan, PassageNumbers
from whorl.search.attribution.cover import Numbers

#: Most documents of a hash for all of them to become candidates.
MANY = 5_000
#: Candidates for each crowded part of the text, and the most look-ups of crowded parts.
TAKEN, _QUESTIONS = 50, 200


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """A document that keeps passage hashes of the text.

    Args:
        id: The document's id.
        proven: Words of the text that it has, as half-open ranges: ascending, neither overlapping nor adjacent.
        possible: Words of the text that it can have in runs of `run_words` words, or in shorter runs with a hash.
    """

    id: str
    proven: Numbers
    possible: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class PassageCandidates:
    """Candidates by passage hashes.

    Args:
        holders: The documents.
        crowded: Number of the text's hashes that more than `MANY` documents keep; only some of these are candidates.
        warnings: Warnings for the user.
    """

    holders: tuple[Holder, ...]
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
    """Look up the passage hashes of a text.

    Args:
        engine: The engine of the store.
        scheme: The scheme of the store's passage hashes.
        of_text: The words of the text.
        left_out: Documents to exclude.
        progress: Called with the current step, the number of steps done and the total.
    """
    in_order = all_numbers(join(of_text.words), scheme)
    numbers = list(dict.fromkeys(in_order.tolist()))
    if not numbers:
        return PassageCandidates((), 0, ())
    counted = dict(zip(numbers, engine.passage_counts(numbers), strict=True))
    known = {number: count for number, count in counted.items() if count}
    stretches = _crowded_stretches(known)
    best: dict[str, None] = {}
    for done, stretch in enumerate(stretches):
        require_time()
        progress("looking up passages", done, len(stretches))
        best |= dict.fromkeys(_best(engine, scheme, stretch, left_out))
    found = engine.passage_holders(known, most=MANY, among=tuple(best), left_out=left_out)
    crowded = sum(count > MANY for count in known.values())
    warnings: tuple[str, ...] = ()
    if crowded:
        warnings = (
            f"{crowded:,} of {len(numbers):,} places of the text stand in more than {MANY:,} documents each, up to "
            f"{max(known.values()):,}: of these documents, those with most of a part of the text are candidates",
        )
    return PassageCandidates(_holders(found, list(known), in_order, scheme, len(of_text.words)), crowded, warnings)


def _crowded_stretches(known: dict[int, int]) -> list[list[int]]:
    """Group the hashes that more than `MANY` documents keep by runs of neighbours in the text."""
    groups = [(list(group), crowded) for crowded, group in groupby(known, lambda each: known[each] > MANY)]
    crowded = [numbers for numbers, is_crowded in groups if is_crowded]
    # The size of a group limits the number of look-ups to about _QUESTIONS.
    together = -(-sum(map(len, crowded)) // _QUESTIONS)
    return [numbers[at : at + together] for numbers in crowded for at in range(0, len(numbers), together)]


def _best(engine: Engine, scheme: PassageScheme, numbers: Sequence[int], left_out: BoundNode | None) -> Collection[str]:
    asked: BoundNode = PassageNumbers("the text", scheme, tuple(numbers))
    if left_out is not None:
        asked = Bool(must=(asked,), must_not=(left_out,))
    return [hit.id for hit in engine.search(BoundPlan(asked), start=0, rows=TAKEN).hits]


def _holders(
    found: PassageHolders, numbers: Sequence[int], in_order: npt.NDArray[np.uint64], scheme: PassageScheme, words: int
) -> tuple[Holder, ...]:
    """Return documents with the ranges of words that they share with a text.

    Args:
        found: The documents, with hashes by their index in `numbers`.
        numbers: Distinct passage hashes of the text.
        in_order: The passage hash at each position of the text.
        scheme: The scheme of the hashes.
        words: Number of words of the text.
    """
    # A hash may occur at several positions of the text.
    by_number = np.argsort(in_order, kind="stable")
    ordered, wanted = in_order[by_number], np.array(numbers, np.uint64)[found.numbers]
    firsts, ends = np.searchsorted(ordered, wanted), np.searchsorted(ordered, wanted, side="right")
    counts = ends - firsts
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = by_number[np.repeat(firsts, counts) + within]
    owners = np.repeat(found.owners, counts)
    order = np.lexsort((starts, owners))
    starts, owners = starts[order], owners[order]
    # The hash nearest to the end of a run is less than one window away from it.
    edge, width = scheme.window - 1, scheme.hashed_words
    proven = _ranges(owners, starts, starts + width, len(found.ids))
    possible = _ranges(owners, np.maximum(starts - edge, 0), np.minimum(starts + width + edge, words), len(found.ids))
    # Sort by id, so that ties do not depend on the engine.
    return tuple(sorted(map(Holder, found.ids, proven, possible), key=lambda each: each.id))


def _ranges(owners: Numbers, starts: Numbers, ends: Numbers, many: int) -> list[Numbers]:
    """Merge overlapping and adjacent ranges of each owner, and return the ranges by owner.

    Args:
        owners: Owner of each range, from 0 on, ascending.
        starts: Starts of the ranges, ascending for each owner.
        ends: Ends of the ranges, ascending for each owner.
        many: Number of owners.
    """
    is_first = np.ones(starts.size, np.bool_)
    is_first[1:] = (owners[1:] != owners[:-1]) | (starts[1:] > ends[:-1])
    is_last = np.append(is_first[1:], True)[: starts.size]
    joined = np.stack((starts[is_first], ends[is_last]), axis=1)
    return np.split(joined, np.searchsorted(owners[is_first], np.arange(1, many)))
