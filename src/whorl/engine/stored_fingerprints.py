"""Encodes and decodes the sketches that Solr and OpenSearch store, and encodes passage hashes as index terms.

A short document has no stored sketch if the server stores its text.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from whorl.fingerprint.fingerprint_texts import least_stored_size, text_sketches
from whorl.fingerprint.shingling import JoinedWords, Scheme
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme, decode_texts, encode, encode_tokens
from whorl.fingerprint.winnowing import PassageScheme, passage_numbers
from whorl.query.plan.nodes import (
    BoundPlan,
    SketchTokens,
    leaves,
)

#: Longest text, in characters, whose sketch is computed instead of stored. A text with few shingles can still be long,
#: because of a long word or repeated lines.
_SHORT_TEXT_CHARACTERS = 10_000


def encode_sketch(sketch: Sketch, scheme: Scheme, stored_text: str | None) -> str | None:
    """Return a sketch in base64, or None for a short document whose text the server returns.

    `stored_text` is the document's text, or None if the server may return another text.
    """
    is_short = stored_text is not None and len(stored_text) <= _SHORT_TEXT_CHARACTERS
    if is_short and sketch.size < least_stored_size(scheme):
        return None
    return base64.b64encode(encode(sketch)).decode("ascii")


def finds_only_short(plan: BoundPlan, scheme: Scheme) -> bool:
    """Check whether all candidates of a plan are short documents; most of these have no stored sketch."""
    sizes = [leaf.largest_size for leaf in leaves(plan.root) if isinstance(leaf, SketchTokens)]
    return bool(sizes) and all(size is not None and size < least_stored_size(scheme) for size in sizes)


class StoredSketch(NamedTuple):
    """Fields of a document that whorl needs to decode or compute its sketch, as a server returns them.

    Args:
        has_store_schemes: Whether the sketch was made under the schemes of the store; if not, whorl cannot use it.
        encoded: Encoded sketch; None for a short document, whose sketch is computed from its text.
        text: Text of the document; None or "" if it has not been read.
    """

    document_id: str
    has_store_schemes: bool
    encoded: str | None
    text: str | None = None


def decode_sketches(
    stored: Sequence[StoredSketch],
    fetch_texts: Callable[[list[str]], Mapping[str, str]],
    schemes: tuple[Scheme, SketchScheme],
) -> list[Sketch | None]:
    """Decode the sketches of documents. A sketch is None if it is missing or malformed, or if its text is missing.

    `fetch_texts` returns the texts of existing documents, keyed by id. It is called for short documents whose `text`
    was not read.
    """
    sketches = decode_texts([row.encoded if row.has_store_schemes else None for row in stored], schemes[1])
    short = {position: row for position, row in enumerate(stored) if row.has_store_schemes and row.encoded is None}
    unread = [row.document_id for row in short.values() if not row.text]
    fetched = fetch_texts(unread) if unread else {}
    texts = {position: row.text or fetched.get(row.document_id) for position, row in short.items()}
    # Copies of a text have equal sketches, so compute each sketch only once.
    distinct = [text for text in dict.fromkeys(texts.values()) if text is not None]
    made = dict(zip(distinct, text_sketches(distinct, *schemes), strict=True)) if distinct else {}
    for position, text in texts.items():
        sketches[position] = None if text is None else made[text]
    return sketches


def passage_terms(text: str, words: JoinedWords, scheme: Scheme, passage_scheme: PassageScheme) -> list[str]:
    """Return a document's terms in the field of passage hashes.

    The first term is the scheme's name. It shows that the hashes have been computed, even if the document has none.
    """
    numbers = passage_numbers(text, words, scheme, passage_scheme)
    return [passage_scheme.name, *encode_tokens(numbers, passage_scheme.bits)]


def passage_hash_terms(numbers: Sequence[int], scheme: PassageScheme) -> list[str]:
    return list(encode_tokens(np.array(numbers, np.uint64), scheme.bits))
