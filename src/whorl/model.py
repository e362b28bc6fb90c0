"""Defines documents, hits, pages, sort keys and other classes that all parts of whorl use."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat
from typing import Any, ClassVar, Self, TypeAlias

import orjson

from whorl.errors import DocumentError, shorten_repr
from whorl.fingerprint.shingling import well_formed
from whorl.query.plan.fields_and_values import LARGEST_INTEGER, SMALLEST_INTEGER, infer_kind
from whorl.query.plan.nodes import Kind, Value

PropertyValue: TypeAlias = str | int | float | bool


class LargeInteger(str):
    """Digits of a whole number beyond 64 signed bits, which every engine stores as text."""

    __slots__ = ()


#: Names reserved by the stores. In input files, `text` is the key of a document's content.
RESERVED_FIELDS = frozenset(
    {
        *("id", "name", "text", "TEXT", "content", "MINHASH", "_version_", "_root_", "_childDocuments_"),
        *("whorl_digest", "whorl_scheme", "whorl_size", "whorl_sample", "whorl_sketch", "whorl_passages"),
    }
)
#: Prefix of the names of whorl's own fields. Indexing refuses users' properties with this prefix.
RESERVED_PREFIX = "whorl_"
#: Properties with a document's cluster label: the id of its cluster, and whether it is the principal. A search for
#: duplicates adds them; they are not part of the original document.
CLUSTER, IS_PRINCIPAL = "whorl_cluster", "whorl_is_principal"
#: Maximum length of an id. In some scripts, a longer id would exceed an engine's limit for terms.
MAX_ID_LENGTH = 1000
#: Number of letters of a digest that a server stores: a whole digest would be nearly as long as a short text.
DIGEST_LETTERS = 16
#: Fields that do not count towards the limits on properties.
_NOT_PROPERTIES = frozenset(("name", CLUSTER, IS_PRINCIPAL))
#: An integer in a property has at most 1,000 digits, because Python by default converts at most 4,300 digits to text.
_INTEGER_BOUND = 10**1_000
#: Remedies for values of properties that cannot be stored, by the names of types; floats here are NaN or infinity.
_REMEDIES = {
    **dict.fromkeys(("NoneType", "float", "NaTType", "NAType"), "; leave it out"),
    **dict.fromkeys(("date", "datetime", "Timestamp"), "; store its isoformat()"),
    "dict": "; give its values names of their own, such as 'meta.url'",
}
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Document:
    """A text with an id, a name for display and properties for searches.

    Args:
        id: Not empty, at most 1,000 characters, no control characters.
        text: The content. Lone surrogates become U+FFFD, as in any UTF-8 store.
        name: Title of the document.
        properties: Other fields. A value is a text, a number, a truth value or a list of these. A whole number below
            -2^63 or above 2^63 - 1 becomes the text of its digits.

    Raises:
        DocumentError: An id, a field name or a value cannot be stored.
    """

    id: str
    text: str
    name: str = ""
    properties: Mapping[str, PropertyValue | Sequence[PropertyValue]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part in ("id", "text", "name"):
            if not isinstance(getattr(self, part), str):
                raise DocumentError(f"{part} must be text, got {getattr(self, part)!r:.80}")
        if not self.id or len(self.id) > MAX_ID_LENGTH:
            raise DocumentError(f"an id has 1 to {MAX_ID_LENGTH} characters, got {len(self.id)}: {self.id!r:.80}")
        if _CONTROL.search(self.id) or self.id != well_formed(self.id):
            raise DocumentError(f"an id holds no control characters and no lone surrogates, got {self.id!r:.80}")
        if not isinstance(self.properties, Mapping):
            raise DocumentError(f"properties are named values, got {self.properties!r:.80} (document {self.id!r})")
        object.__setattr__(self, "text", well_formed(self.text))
        object.__setattr__(self, "name", well_formed(self.name))
        object.__setattr__(
            self, "properties", {name: _values(name, value, self.id) for name, value in self.properties.items()}
        )

    @cached_property
    def digest(self) -> str:
        """Return a digest of the document without its cluster labels; an unchanged document has the same digest."""
        own = {name: values for name, values in self.properties.items() if name not in (CLUSTER, IS_PRINCIPAL)}
        own_json = json.dumps(own, sort_keys=True).encode() if own else b"{}"
        parts = b"[%b, %b, %b, %b]" % (_ascii_json(self.id), _ascii_json(self.name), own_json, _ascii_json(self.text))
        return hashlib.blake2b(parts, digest_size=16).hexdigest()

    def has_digest(self, stored: str | None) -> bool:
        """Check whether a digest from a store is this document's; servers store only the first letters of a digest."""
        return stored is not None and self.digest.startswith(stored)

    def whole_values(self) -> list[tuple[str, Kind, Value]]:
        """Return the distinct whole (not tokenized) values of the name and the properties, as (field, type, value)."""
        named = [("name", Kind.KEYWORD, self.name)] if self.name else []
        own = [(name, *infer_kind(value)) for name, values in self.contents().items() for value in values]
        return list(dict.fromkeys([*named, *own]))

    def contents(self) -> dict[str, tuple[PropertyValue, ...]]:
        return {name: values for name, values in self.properties.items() if isinstance(values, tuple)}

    def fields_with_large_integers(self) -> list[str]:
        return [name for name, values in self.contents().items() if any(type(own) is LargeInteger for own in values)]

    def values(self) -> dict[str, tuple[str, ...]]:
        """Return the values of all properties as texts, keyed by the names of the properties."""
        return {name: tuple(map(text_of_value, values)) for name, values in self.contents().items()}


@dataclass(frozen=True, slots=True)
class PropertyLimits:
    """Maximum numbers of properties of a document, and of property names in a store: every search reads all names."""

    per_document: int = 1_000
    names: int = 10_000

    def require(self, documents: Iterable[Document], known: Collection[str]) -> None:
        """Raise DocumentError if a document exceeds a limit; `known` has the fields of the store."""
        names = {*known} - _NOT_PROPERTIES
        for document in documents:
            if (count := len(document.properties.keys() - _NOT_PROPERTIES)) > self.per_document:
                raise DocumentError(
                    f"document {document.id!r:.80} has {count:,} properties, and a store on disk "
                    f"takes {self.per_document:,} of one document (setting max_properties)"
                )
            new = {name for name, values in document.contents().items() if values} - names - _NOT_PROPERTIES
            names |= new
            if new and len(names) > self.names:
                raise DocumentError(
                    f"document {document.id!r:.80} has new names of properties, such as {min(new)!r:.80}, and with "
                    f"them the store would have {len(names):,} names; it takes {self.names:,} (setting "
                    f"max_property_names). Delete documents with names that are no longer needed, or raise the limit"
                )


def documents_only(documents: Iterable[object]) -> Iterator[Document]:
    for item in documents if isinstance(documents, Iterable) else [documents]:
        if not isinstance(item, Document):
            raise DocumentError(f"got {shorten_repr(item)} instead of a Document; write Document(id=…, text=…)")
        yield item


def documents_of(
    ids: Sequence[Any], texts: Sequence[Any], names: Sequence[Any], properties: Sequence[Mapping[str, object]]
) -> list[Document] | None:
    """Create many documents at once, much faster than one by one; return None if one of them may be invalid.

    Each list has one item per document, but `properties` may be empty. If the result is None, create the documents one
    by one to get the error.
    """
    if set(map(type, chain(ids, texts, names))) != {str}:
        return None
    together = "".join(ids)
    lengths = list(map(len, ids))
    if (
        not min(lengths)
        or max(lengths) > MAX_ID_LENGTH
        or _CONTROL.search(together)
        or together != well_formed(together)
    ):
        return None
    try:
        of_each = [{name: _values(name, value, "") for name, value in own.items()} for own in properties]
    except DocumentError:
        return None
    made = []
    columns = ids, _well_formed(texts), _well_formed(names), of_each or repeat(None)
    for document_id, text, name, own in zip(*columns, strict=False):
        document = object.__new__(Document)
        # All documents have been checked together, so skip `__post_init__`.
        values = {"id": document_id, "text": text, "name": name, "properties": own or {}}
        object.__setattr__(document, "__dict__", values)
        made.append(document)
    return made


def _well_formed(texts: Sequence[Any]) -> Sequence[Any]:
    return texts if all(map(str.isascii, texts)) else [text if text.isascii() else well_formed(text) for text in texts]


def _values(name: str, value: object, document_id: str) -> tuple[PropertyValue, ...]:
    if not isinstance(name, str) or not name or name in RESERVED_FIELDS or name != well_formed(name):
        raise DocumentError(f"a property cannot be called {name!r:.80} (document {document_id!r}); choose another name")
    if any(ord(char) < 32 for char in name):
        raise DocumentError(
            f"a property's name holds no control characters, got {name!r:.80} (document {document_id!r})"
        )
    value = _to_plain(value)
    values = (
        tuple(_to_plain(item) for item in value if item is not None) if isinstance(value, list | tuple) else (value,)
    )
    for single in values:
        if not isinstance(single, str | int | float) or (isinstance(single, float) and not math.isfinite(single)):
            raise DocumentError(
                f"property {name!r:.80} of document {document_id!r} must be text, numbers, true, false or a list of "
                f"those, got {single!r:.80}{_REMEDIES.get(type(single).__name__, '')}"
            )
        if isinstance(single, int) and abs(single) >= _INTEGER_BOUND:
            raise DocumentError(f"property {name!r:.80} of document {document_id!r} is a number of over 1,000 digits")
    return tuple(map(_storable, values))


def _storable(value: PropertyValue) -> PropertyValue:
    """Return a text without lone surrogates, and an integer beyond 64 signed bits as text; other values unchanged."""
    if isinstance(value, int) and not SMALLEST_INTEGER <= value <= LARGEST_INTEGER:
        return LargeInteger(int(value))
    return well_formed(value) if isinstance(value, str) else value


def _to_plain(value: Any) -> Any:
    """Convert a number, truth value or array of numpy or pandas to Python's types; return any other value unchanged."""
    return value.tolist() if type(value) not in (str, int, float, bool) and hasattr(value, "tolist") else value


def _ascii_json(text: str) -> bytes:
    """Return the JSON of a text as `json.dumps` writes it. orjson takes a tenth of its time, but escapes less."""
    return orjson.dumps(text) if text.isascii() and "\x7f" not in text else json.dumps(text).encode()


def text_of_value(value: PropertyValue) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that matches a query.

    Args:
        score: Number of tokens (or bands) of the query that the document has; see `whorl.query.plan.nodes`.
        shared_tokens: Number of tokens shared with the query's only source, counting repetitions; None if not
            requested.
        copies: If hits are collapsed, number of hidden hits from the same cluster; otherwise None.
        cluster: If hits are collapsed, id of the hit's cluster, or None for a document without a cluster.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("id", "name", "score", "shared_tokens?", "copies?", "cluster?copies")

    id: str
    name: str
    score: float
    shared_tokens: int | None = None
    copies: int | None = None
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """Sort key for hits.

    In ascending order, a document with several values is sorted by its smallest value; in descending order, by its
    largest. Documents without a value come last.

    Args:
        field: Name of the field, None for the score.
        engine_fields: Pairs of a type and the engine's field for values of this type; set by the store. A document is
            sorted by its values of the first type that it has.
    """

    field: str | None
    is_ascending: bool = False
    engine_fields: tuple[tuple[Kind, str], ...] = ()

    @property
    def is_by_id(self) -> bool:
        return self.engine_fields == ((Kind.KEYWORD, "id"),)


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored fields of a document, without its text.

    Args:
        properties: Values of other fields, as the engine returns them. A Solr collection's schema may convert numbers
            to texts.
    """

    id: str
    name: str
    properties: Mapping[str, tuple[PropertyValue, ...]]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of hits, sorted by score, the best first. Hits with equal scores are sorted by id (code points).

    Args:
        total: Number of matching documents; if hits are collapsed, the number of hits after collapsing.
        source_tokens: Number of the source's tokens; None unless the caller has requested shared tokens and the query
            has one source.
        is_total_exact: False if there may be more hits than `total`, because not every candidate of a FINGERPRINT was
            verified, or because the index lacks documents.
        outdated: Number of hits in `total` that may no longer match, because they were replaced or deleted after the
            index was written; None if the index is up to date.
        matches: Number of matching documents before collapsing; None if hits are not collapsed.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("total", "total_is_exact=is_total_exact", "outdated?", "warnings", "matches?", "hits"),
    )

    total: int
    hits: tuple[Hit, ...]
    warnings: tuple[str, ...] = ()
    source_tokens: int | None = None
    is_total_exact: bool = True
    matches: int | None = None
    outdated: int | None = None


class DocumentCount(int):
    """Number of documents that match a query."""

    #: False if more documents may match, because the index lacks some.
    is_exact: bool
    #: Warnings that the index lacks documents, with their number and the reason.
    warnings: tuple[str, ...]

    def __new__(cls, number: int, warnings: tuple[str, ...] = ()) -> Self:
        count = super().__new__(cls, number)
        count.is_exact, count.warnings = not warnings, warnings
        return count


@dataclass(frozen=True, slots=True)
class Indexed:
    """Numbers of documents in an indexing run.

    Args:
        repeated: Documents with the id of an earlier document of the run; the last document with an id is stored.
    """

    stored: int = 0
    unchanged: int = 0
    repeated: int = 0
