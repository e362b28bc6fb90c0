"""Passage hashes in a search server: the terms of their field, and the look-up of documents by hash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from whorl.arrays import batches, chunks
from whorl.context import require_time
from whorl.engine.protocol import PassageHolders
from whorl.fingerprint.shingling import JoinedWords
from whorl.fingerprint.sketch.sketch import spelled
from whorl.fingerprint.winnowing import PassageScheme, winnowed
from whorl.query.plan.build import Bool, BoundNode, BoundPlan, Chosen, PassageNumbers


def passage_tokens(words: JoinedWords, scheme: PassageScheme) -> list[str]:
    """Return a document's terms in the field of passages.

    The first term is the scheme's name, even for a text that is too short for any passage: it marks documents whose
    passages have been computed.

    Args:
        words: The folded words of the document's text.
        scheme: The scheme of the passages.
    """
    return [scheme.name, *spelled(winnowed(words, scheme), scheme.bits)]


def spelled_numbers(numbers: tuple[int, ...], scheme: PassageScheme) -> list[str]:
    """Return passage hashes as terms of the field."""
    return list(spelled(np.array(numbers, np.uint64), scheme.bits))


#: Maximum number of passage hashes in a look-up request, and of documents in its response.
_NUMBERS_AT_ONCE, _DOCUMENTS_AT_ONCE = 400, 10_000
#: Maximum number of document ids in a request.
_NAMED_AT_ONCE = 1_000


def holders_plan(
    numbers: Sequence[int], scheme: PassageScheme, ids: Sequence[str] | None, left_out: BoundNode | None
) -> BoundPlan:
    """Return the plan for the documents that have any of the passage hashes.

    Args:
        numbers: The passage hashes.
        scheme: The scheme of the passages.
        ids: Ids of the documents to search; None for all.
        left_out: Documents to leave out.
    """
    must: list[BoundNode] = [PassageNumbers("the text", scheme, tuple(numbers))]
    if ids is not None:
        must.append(Chosen("candidates", ((1.0, tuple(ids)),)))
    return BoundPlan(Bool(must=tuple(must), must_not=() if left_out is None else (left_out,)))


def look_up_holders(
    counts: Mapping[int, int],
    most: int,
    among: Iterable[str],
    ask: Callable[[Sequence[int], Sequence[str] | None, int], Iterable[tuple[str, Iterable[int]]]],
) -> PassageHolders:
    """Implement `Engine.passage_holders` by requests with limited numbers of passage hashes and documents.

    Args:
        counts: See `Engine.passage_holders`, like the following two arguments.
        most: Limit for frequent passage hashes.
        among: Ids of further documents.
        ask: Takes passage hashes, ids of documents or None for all, and the maximum number of documents to return.
            Returns the documents that have any of the hashes, each with the positions of these hashes in the argument.
    """
    place_of = {number: place for place, number in enumerate(counts)}
    rare = [(number, count) for number, count in counts.items() if 0 < count <= most]
    frequent = [number for number, count in counts.items() if count > most]
    holders: dict[str, list[int]] = {each: [] for each in among}
    for group in chunks(rare, lambda each: each[1], _DOCUMENTS_AT_ONCE, _NUMBERS_AT_ONCE):
        require_time()
        numbers = [number for number, _ in group]
        for document_id, places in ask(numbers, None, sum(count for _, count in group)):
            holders.setdefault(document_id, []).extend(place_of[numbers[place]] for place in places)
    for numbers in batches(frequent, _NUMBERS_AT_ONCE):
        for ids in batches(list(holders), _NAMED_AT_ONCE):
            require_time()
            for document_id, places in ask(numbers, ids, len(ids)):
                holders[document_id].extend(place_of[numbers[place]] for place in places)
    found = {document_id: places for document_id, places in holders.items() if places}
    owners = np.repeat(np.arange(len(found)), [len(places) for places in found.values()])
    numbers_of = [place for places in found.values() for place in places]
    return PassageHolders(tuple(found), owners.astype(np.int64), np.array(numbers_of, np.int64))
