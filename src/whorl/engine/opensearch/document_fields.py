"""Defines whorl's fields in an OpenSearch index; converts documents to these fields, and hits back to documents.

whorl computes words, tokens and values and stores them in its own fields. So every clause means the same as on the
other engines, regardless of the cluster's analysers and plug-ins. In an index made by whorl, the stored source of a
document does not contain these fields; sketch, scheme and digest are stored fields.

    whorl_id             the id, to sort by and to look up
    whorl_words          words in the order of the text, prefixed with their field's name; has positions, for phrases
    whorl_values         whole (not tokenized) values, prefixed with field and type; the terms sort like the values
    whorl_fields         names of the document's fields, each with its type
    whorl_handles        the properties that can identify the document, in addition to its id
    whorl_minhash        the distinct MinHash tokens; optional
    whorl_sample         the look-up tokens of the sketch
    whorl_size           the number of distinct shingles of the text
    whorl_sketch         the sketch; missing in a short document if its text is stored: whorl computes it from the text
    whorl_scheme         the schemes of the tokens and of the sketch
    whorl_passages       the name of the passage scheme, and the passage hashes; optional
    whorl_cluster        the id of the document's cluster; without a cluster, the document's own id
    whorl_is_principal   whether the document represents its cluster; missing without a cluster
    whorl_digest         the first letters of the document's digest, to skip unchanged documents
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson

from whorl.arrays_and_batches import batches
from whorl.engine.cluster_labels import cluster_label
from whorl.engine.configured_fields import FieldNames
from whorl.engine.index_terms import BETWEEN_WORDS, are_sizes_in_range, plain_words, property_words, value_term
from whorl.engine.server_engine import encode_sketch, passage_terms, stores_sketch
from whorl.fingerprint.fingerprint_texts import hash_texts, index_numbers, index_outputs
from whorl.fingerprint.shingling import JoinedWords, Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme, token_letters
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import CLUSTER, DIGEST_LETTERS, IS_PRINCIPAL, Document, PropertyValue, text_of_value
from whorl.query.plan.fields_and_values import date_of, encode_digest

Json: TypeAlias = dict[str, Any]
#: Names of whorl's fields; the module docstring describes them.
ID, WORDS, VALUES, FIELDS, REFERENCES = "whorl_id", "whorl_words", "whorl_values", "whorl_fields", "whorl_handles"
MINHASH, SAMPLE, SKETCH, SIZE = "whorl_minhash", "whorl_sample", "whorl_sketch", "whorl_size"
SCHEME, DIGEST, PASSAGES = "whorl_scheme", "whorl_digest", "whorl_passages"
#: Pattern for the names of whorl's fields, to leave them out of sources and responses.
OWN = "whorl_*"
PROPERTIES = "properties"

_WHOLE: Json = {"type": "keyword"}
#: With the similarity `boolean`, each matching token scores 1, so a query's score is the number of matching tokens.
_TOKENS: Json = {"type": "keyword", "doc_values": False, "similarity": "boolean"}
#: Analyser that splits at white space and does not change terms; all servers have it.
WHITESPACE = "whitespace"
MAPPING: Mapping[str, Json] = {
    ID: _WHOLE,
    WORDS: {"type": "text", "analyzer": WHITESPACE, "norms": False, "position_increment_gap": 100},
    VALUES: _WHOLE,
    FIELDS: _WHOLE,
    REFERENCES: _WHOLE,
    SAMPLE: _TOKENS,
    SKETCH: {"type": "binary", "store": True},
    SIZE: {"type": "long"},
    SCHEME: {"type": "keyword", "store": True},
    DIGEST: {"type": "keyword", "index": False, "doc_values": False, "store": True},
}
#: Optional fields: only FINGERPRINT queries need the MinHash tokens, and only the operation `sources` needs the
#: passages.
MINHASH_FIELDS: Mapping[str, Json] = {MINHASH: _TOKENS}
PASSAGE_FIELDS: Mapping[str, Json] = {PASSAGES: _TOKENS}
#: Key in the metadata of the passage field, for the name of the passage scheme.
_SCHEME = "scheme"
#: Fields of cluster labels. `collapse` would merge all documents without a value, so the cluster of an unlabelled
#: document is its own id.
CLUSTER_FIELDS: Mapping[str, Json] = {CLUSTER: _WHOLE, IS_PRINCIPAL: {"type": "boolean"}}
#: Entry in the `_meta` of an index that splits names at `_` and `.`. Older indexes do not have it.
SPLIT_NAMES: Json = {"whorl_names": "split"}
OWN_SCHEME, OWN_SKETCH_SCHEME = Scheme(), SketchScheme()
_ENCODED_AT_ONCE = 64
_Row: TypeAlias = npt.NDArray[np.uint64]


def source(document: Document, names: FieldNames) -> Json:
    """Return a document's `_source`; names with dots create nested objects."""
    made: Json = {PROPERTIES: {name: list(values) for name, values in document.contents().items()}}
    for field, text in ((names.name, document.name), (names.content, document.text)):
        *path, last = field.split(".")
        inner = made
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = text
    return made


@dataclass(frozen=True, slots=True)
class IndexFeatures:
    """Optional features of an index.

    Args:
        clusters: Whether the index has the fields of cluster labels.
        split_names: Whether the index has the words of names split at `_` and `.`.
        keeps_texts: Whether the sources contain the texts.
        minhash: Whether the index has the field of MinHash tokens.
    """

    passages: PassageScheme | None = None
    clusters: bool = False
    split_names: bool = True
    keeps_texts: bool = True
    minhash: bool = True


def own_fields(documents: Sequence[Document], names: FieldNames, features: IndexFeatures) -> Iterator[Json]:
    """Yield the values of whorl's fields for each document. Words and tokens are JSON already (`orjson.Fragment`).

    `names` are the names of the fields, and of the properties (DBID, node reference) that also identify a document.
    """
    scheme, sketch_scheme, passages = OWN_SCHEME, OWN_SKETCH_SCHEME, features.passages
    texts_read = (document.text for document in documents)
    fingerprints = hash_texts(texts_read, scheme, index_outputs(scheme), workers=1)
    for portion in batches(zip(documents, fingerprints, strict=True), _ENCODED_AT_ONCE):
        texts, hashes = [document.text for document, _ in portion], [hashed for _, hashed in portion]
        minima, lookups = index_numbers(texts, hashes, scheme, sketch_scheme)
        columns = (
            portion,
            property_words([document for document, _ in portion], scheme, splits_names=features.split_names),
            words_of_texts("content", [hashed.words for hashed in hashes]),
            _quote_rows(minima, minhash_letters(np.concatenate(minima))[:, :-1]),
            _quote_rows(lookups, token_letters(np.concatenate(lookups), sketch_scheme.bits)),
        )
        for (document, hashed), named_words, content, minhash, sample in zip(*columns, strict=True):
            words, size = [*(word_terms(name, joined) for name, joined in named_words), content], hashed.hashes.size
            stored_text = document.text if features.keeps_texts else None
            has_sketch = stores_sketch(size, scheme, stored_text)
            yield {
                **_content_fields(document, names, features),
                WORDS: orjson.Fragment(b"[%b]" % b",".join(filter(None, words))),
                **({MINHASH: minhash} if features.minhash else {}),
                SAMPLE: sample,
                # None removes the value in a partial update.
                SKETCH: encode_sketch(hashed.sketch(sketch_scheme), scheme, stored_text) if has_sketch else None,
                SIZE: size,
                SCHEME: OWN_SCHEMES,
                **({PASSAGES: passage_terms(document.text, hashed.words, scheme, passages)} if passages else {}),
            }


def _quote_rows(rows: Sequence[_Row], letters: npt.NDArray[np.uint8]) -> Iterator[orjson.Fragment]:
    """Yield the terms of each row of numbers as a JSON list; `letters` has the terms of all rows, all of one length.

    The terms of all rows are quoted together: most rows are short, and a Python loop over single terms would take most
    of the time of indexing a short text.
    """
    count, width = letters.shape
    quoted = np.full((count, width + 3), ord('"'), np.uint8)
    quoted[:, 1:-2], quoted[:, -1] = letters, ord(",")
    encoded, begin = quoted.tobytes(), 0
    for row in rows:
        end = begin + len(row) * (width + 3)
        yield orjson.Fragment(b"[%b]" % encoded[begin : max(begin, end - 1)])
        begin = end


def _content_fields(document: Document, names: FieldNames, features: IndexFeatures) -> Json:
    """Return a document's fields except words and fingerprints: id, whole values, digest and cluster label."""
    whole_values, properties = document.whole_values(), document.contents()
    kinds = {(name, kind.name) for name, kind, _ in whole_values} | ({("content", "TEXT")} if document.text else set())
    return {
        ID: document.id,
        VALUES: sorted({value_term(name, kind, value) for name, kind, value in whole_values}),
        FIELDS: sorted(field_term(name, kind) for name, kind in kinds),
        REFERENCES: [
            reference_term(name, text_of_value(value))
            for name in (names.dbid, names.noderef)
            for value in properties.get(name, ())
        ],
        DIGEST: document.digest[:DIGEST_LETTERS],
        **(_cluster_fields(document) if features.clusters else {}),
    }


def _cluster_fields(document: Document) -> Json:
    label = cluster_label(document.properties)
    # None removes the value in a partial update.
    return {CLUSTER: label.cluster if label else document.id, IS_PRINCIPAL: label.is_principal if label else None}


def without_text(names: FieldNames) -> Json:
    return {"excludes": [OWN, names.content]}


def text_in(source: Json, names: FieldNames) -> str:
    """Return the values of a document's text field as one text; "" if there is no value."""
    return "\n".join(filter(None, _texts(source, names.content)))


def has_text_field(source: Json, names: FieldNames) -> bool:
    """Check whether a document has a value in the text field; an empty text is a value."""
    return next(_texts(source, names.content), None) is not None


def name_in(source: Json, names: FieldNames) -> str:
    return next(filter(None, _texts(source, names.name)), "")


def document_in(hit: Json, names: FieldNames) -> Document:
    """Return the document in a hit of a search for `whole_documents`; raise DocumentError if whorl cannot store it."""
    source, converted = hit.get("_source", {}), dict[str, list[PropertyValue]]()
    properties = properties_in(source, names)
    _collect(hit.get("fields", {}), "", converted)
    for name, read in converted.items():
        values = properties.get(name, ())
        # The cluster omits malformed values; keep the texts of such a property.
        if len(values) == len(read) and not all(map(_is_understood, values, read)):
            properties[name] = tuple(read)
    return Document(hit["_id"], text_in(source, names), name_in(source, names), properties)


def _is_understood(value: PropertyValue, converted: PropertyValue) -> bool:
    """Check whether whorl reads a value as a date or number, as the cluster does; a date is converted to a text."""
    return date_of(str(value)) is not None if isinstance(converted, str) else not isinstance(value, str)


def properties_in(source: Json, names: FieldNames) -> dict[str, tuple[PropertyValue, ...]]:
    """Return a document's properties. The name of a nested property has dots: `a.b`.

    Omit whorl's own fields, and all values except texts, numbers and Booleans.
    """
    properties: dict[str, list[PropertyValue]] = {}
    nested = source.get(PROPERTIES)
    if isinstance(nested, dict):
        _collect(nested, "", properties)
        source = {name: value for name, value in source.items() if name != PROPERTIES}
    _collect({name: value for name, value in source.items() if not name.startswith(OWN[:-1])}, "", properties)
    if source.get(IS_PRINCIPAL) is not None:
        # If another program has made the index, the sources contain whorl's fields, including the cluster label. A
        # document without a label has its own id as cluster, and no value of `whorl_is_principal`, so skip it.
        _collect({name: source.get(name) for name in (CLUSTER, IS_PRINCIPAL)}, "", properties)
    return {name: tuple(values) for name, values in properties.items() if name not in (names.content, names.name)}


def _texts(value: Any, field: str) -> Iterator[str]:
    """Yield the values of a field as texts, as a cluster indexes them: also numbers, and values in lists of objects.

    `field` is the name of the field inside `value`, or "" for the value itself.
    """
    if isinstance(value, list):
        for member in value:
            yield from _texts(member, field)
    elif isinstance(value, dict) and field:
        first, _, inner_field = (field, "", "") if field in value else field.partition(".")
        yield from _texts(value.get(first), inner_field)
    elif isinstance(value, str | int | float) and not field:
        yield value if isinstance(value, str) else json.dumps(value)


def _collect(fields: Mapping[str, Any], prefix: str, properties: dict[str, list[PropertyValue]]) -> None:
    """Add the values of fields to the properties; the name of an object becomes a prefix of its members' names."""
    for name, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, dict):
                _collect(value, f"{prefix}{name}.", properties)
            elif isinstance(value, str | int | float):
                properties.setdefault(f"{prefix}{name}", []).append(value)


def mapping(
    names: FieldNames, *, passages: PassageScheme | None = None, without_minhash: bool = False
) -> dict[str, Json]:
    # The cluster indexes only whorl's fields, so a property of any type fits the mapping.
    source = {
        names.name: {"type": "keyword", "index": False, "doc_values": False},
        names.content: {"type": "text", "index": False},
        PROPERTIES: {"type": "object", "enabled": False},
    }
    # Store the scheme of the passage hashes in the metadata of their field, where `passage_scheme` finds it.
    of_passages = {PASSAGES: {**PASSAGE_FIELDS[PASSAGES], "meta": {_SCHEME: passages.name}}} if passages else {}
    of_tokens = {} if without_minhash else MINHASH_FIELDS
    return {**MAPPING, **of_tokens, **CLUSTER_FIELDS, **of_passages, **source}


def passage_scheme(field: Json) -> PassageScheme | None:
    """Read the scheme of the passage hashes from the mapping of their field; return None for an empty mapping."""
    if not field:
        return None
    # The field of an older index has no metadata. Its passage hashes have the default scheme, so return this scheme.
    name = field.get("meta", {}).get(_SCHEME)
    return PassageScheme() if name is None else PassageScheme.parse(name)


def index_body(names: FieldNames, *, passages: PassageScheme | None = None, without_minhash: bool = False) -> Json:
    """Return the body of a request for a new index; the cluster chooses the numbers of shards and replicas."""
    properties = mapping(names, passages=passages, without_minhash=without_minhash)
    mappings = {"dynamic": False, "_meta": SPLIT_NAMES, "_source": {"excludes": [OWN]}}
    return {"settings": {}, "mappings": {**mappings, "properties": properties}}


@lru_cache
def scheme_value(scheme: Scheme, sketch_scheme: SketchScheme) -> str:
    return f"{scheme.name} {sketch_scheme.name}"


#: Value of `whorl_scheme` for whorl's own schemes, and the query for documents with this value.
OWN_SCHEMES = scheme_value(OWN_SCHEME, OWN_SKETCH_SCHEME)
HAS_OWN_FIELDS: Json = {"term": {SCHEME: {"value": OWN_SCHEMES}}}
#: Query for documents that have shingles but no MinHash tokens.
WITHOUT_TOKENS: Json = {"bool": {"filter": {"range": {SIZE: {"gte": 1}}}, "must_not": {"exists": {"field": MINHASH}}}}


def encode_minhash(numbers: npt.NDArray[np.uint64]) -> list[str]:
    """Encode MinHash tokens as terms of 11 letters in base64, the highest bits first."""
    letters = minhash_letters(numbers).copy()
    letters[:, -1] = ord(" ")
    return letters.tobytes().decode("ascii").split()


def minhash_letters(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """Return the ASCII codes of the terms of `encode_minhash`, as an array of shape (tokens, 12).

    The last of the 12 letters is not part of the term.
    """
    padded = np.zeros((len(numbers), 9), dtype=np.uint8)
    padded[:, :8] = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    # Nine bytes become twelve letters. The last letter encodes only the padding.
    return np.frombuffer(base64.b64encode(padded.tobytes()), np.uint8).reshape(-1, 12)


#: Control characters in terms. They mark, in this order: the end of a field name, the digest of a shortened text, the
#: letter for a white-space character, and a blank within a word.
_AFTER_FIELD, _AFTER_PREFIX, _SPACE, _BLANK = "\x01", "\x02", "\x03", "\x04"
#: The analyser cuts terms at `_LONGEST_TERM` UTF-16 units. So a longer term, and a field name of more than
#: `_LONGEST_FIELD` units, becomes a prefix of at most `_PREFIX_LENGTH` characters and a digest.
_LONGEST_TERM, _LONGEST_FIELD, _PREFIX_LENGTH = 255, 80, 40
#: White space for the analyser (Java's Character.isWhitespace). Names of fields may contain all these characters. Words
#: may contain only blanks, because folding turns a narrow no-break space (U+202F) into a blank.
_WHITE_SPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
    "\u2028\u2029\u205f\u3000"
)
_SPELLED_SPACE = str.maketrans({char: f"{_SPACE}{chr(ord('a') + at)}" for at, char in enumerate(_WHITE_SPACE)})


def word_term(field: str, word: str) -> str:
    prefix = _field_prefix(field)
    return prefix + _shorten(encode_blanks(word), _longest_plain_word(field))


def word_terms(field: str, words: JoinedWords) -> bytes:
    """Return the terms of a field's words as a JSON string, separated by blanks; b"" if there are no words."""
    text = plain_words(words, _longest_plain_word(field), _BLANK)
    if text is None:
        return orjson.dumps(BETWEEN_WORDS.join([word_term(field, word) for word in words.words()]))
    return _prefix_encoded(field, orjson.dumps(text)[1:-1])


def _prefix_encoded(field: str, words: bytes) -> bytes:
    """Add the field's prefix to words that are already encoded as JSON; encode the prefix only once, to save time."""
    before = orjson.dumps(_field_prefix(field))[1:-1]
    return b'"%b%b"' % (before, words.replace(b" ", b" " + before)) if words else b""


#: Separator of texts in `words_of_texts`. No word contains this white space, and JSON does not escape it.
_BETWEEN_TEXTS = "\u2028"


def words_of_texts(field: str, texts: Sequence[JoinedWords]) -> list[bytes]:
    """Return `word_terms` for the words of each text: encode all texts together, because most are short."""
    starts = np.concatenate([words.starts for words in texts])
    sizes = starts[1:] - starts[:-1]
    # The starts of each text begin with 0. So the difference between the last start of a text and the first start of
    # the next text is not a size. It is never positive, so drop it.
    sizes = sizes[sizes > 0]
    together = _BETWEEN_TEXTS.encode("utf-16-le").join([words.encoded.tobytes() for words in texts]).decode("utf-16-le")
    blanks = sizes.size - sum(len(words.starts) > 1 for words in texts)
    is_plain = together.count(BETWEEN_WORDS) == blanks and together.count(_BETWEEN_TEXTS) == len(texts) - 1
    if not is_plain or not are_sizes_in_range(sizes, _longest_plain_word(field)):
        return [word_terms(field, words) for words in texts]
    encoded = orjson.dumps(together)[1:-1].split(_BETWEEN_TEXTS.encode())
    return [_prefix_encoded(field, words) for words in encoded]


@lru_cache
def _field_prefix(field: str) -> str:
    return f"{_shorten(field.translate(_SPELLED_SPACE), _LONGEST_FIELD)}{_AFTER_FIELD}"


def _longest_plain_word(field: str) -> int:
    """Return the length in UTF-16 units of the longest word whose term is not shortened."""
    return _LONGEST_TERM - _count_units(_field_prefix(field))


def encode_blanks(text: str) -> str:
    return text.replace(BETWEEN_WORDS, _BLANK)


def _shorten(text: str, longest: int) -> str:
    if len(text) * 2 <= longest or _count_units(text) <= longest:
        return text
    return f"{text[: min(_PREFIX_LENGTH, (longest - 33) // 2)]}{_AFTER_PREFIX}{encode_digest(text)}"


def _count_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def field_term(name: str, kind: str) -> str:
    """Return the term for documents that have a value of this type in the field."""
    return f"{name}\x1f{kind}"


def reference_term(name: str, value: str) -> str:
    """Return the term that finds a document by the value of one of its properties."""
    return f"{name}\x1f{value}"
