"""Terms of passage hashes, and the look-up of the documents that have given passage hashes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from whorl.arrays_and_batches import batches, chunks
from whorl.engine.protocol import PassageHolders
from whorl.fingerprint.shingling import JoinedWords, Scheme
from whorl.fingerprint.sketch.frac_minhash import encode_tokens
from whorl.fingerprint.winnowing import PassageScheme, passage_numbers
from whorl.query.plan.nodes import (
    Bool,
    BoundNode,
    BoundPlan,
    DocumentIds,
    PassageNumbers,
)
from whorl.request_context import require_time


def passage_terms(text: str, words: JoinedWords, scheme: Scheme, passage_scheme: PassageScheme) -> list[str]:
    """Return a document's terms in the field of passage hashes.

    The first term is the scheme's name. It shows that the hashes have been computed, even if the document has none.
    """
    numbers = passage_numbers(text, words, scheme, passage_scheme)
    return [passage_scheme.name, *encode_tokens(numbers, passage_scheme.bits)]


def passage_hash_terms(numbers: tuple[int, ...], scheme: PassageScheme) -> list[str]:
    return list(encode_tokens(np.array(numbers, np.uint64), scheme.bits))


#: Maximum number of passage hashes in a look-up request, and of documents in its response.
_NUMBERS_AT_ONCE, _DOCUMENTS_AT_ONCE = 400, 10_000


#: Maximum number of document ids in a request.
_NAMED_AT_ONCE = 1_000


def holders_plan(
    numbers: Sequence[int], scheme: PassageScheme, ids: Sequence[str] | None, left_out: BoundNode | None
) -> BoundPlan:
    """Return a plan for the documents with any of the passage hashes, without the documents that match `left_out`.

    If `ids` is given, the plan only finds documents with these ids.
    """
    must: list[BoundNode] = [PassageNumbers("the text", scheme, tuple(numbers))]
    if ids is not None:
        must.append(DocumentIds("candidates", ((1.0, tuple(ids)),)))
    return BoundPlan(Bool(must=tuple(must), must_not=() if left_out is None else (left_out,)))


def look_up_holders(
    counts: Mapping[int, int],
    most: int,
    among: Iterable[str],
    ask: Callable[[Sequence[int], Sequence[str] | None, int], Iterable[tuple[str, Iterable[int]]]],
) -> PassageHolders:
    """Look up passage hashes for `Engine.passage_holders`, with requests of limited size.

    `ask` takes passage hashes, ids of documents (None for all), and a maximum number of documents. It returns the
    documents with any of the hashes, each with the positions of its hashes in the first argument.
    """
    positions = {number: position for position, number in enumerate(counts)}
    rare = [(number, count) for number, count in counts.items() if 0 < count <= most]
    frequent = [number for number, count in counts.items() if count > most]
    holders: dict[str, list[int]] = {document_id: [] for document_id in among}
    for group in chunks(rare, lambda pair: pair[1], _DOCUMENTS_AT_ONCE, _NUMBERS_AT_ONCE):
        require_time()
        numbers = [number for number, _ in group]
        for document_id, hits in ask(numbers, None, sum(count for _, count in group)):
            holders.setdefault(document_id, []).extend(positions[numbers[hit]] for hit in hits)
    for numbers in batches(frequent, _NUMBERS_AT_ONCE):
        for ids in batches(list(holders), _NAMED_AT_ONCE):
            require_time()
            for document_id, hits in ask(numbers, ids, len(ids)):
                holders[document_id].extend(positions[numbers[hit]] for hit in hits)
    holders = {document_id: held for document_id, held in holders.items() if held}
    owners = np.repeat(np.arange(len(holders)), [len(held) for held in holders.values()])
    return PassageHolders(tuple(holders), owners.astype(np.int64), np.array([*chain(*holders.values())], np.int64))
