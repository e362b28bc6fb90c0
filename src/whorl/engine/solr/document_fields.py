"""Converts properties and sketches to Solr fields and back, and counts documents with sketches.

A property is stored in the field with its name. If this is a text field, each whole (not tokenized) value is also
stored in a dynamic field for its type. For example, the field `whorl_integer_year` contains the value 2021 of the
property `year`. whorl searches such a field only if all documents with the property have it, because documents from
other programs lack it.

The four fields of a sketch are in `field_definitions`. Sketches of different schemes are never compared. A short
document with a stored text has no `whorl_sketch`, because whorl computes its sketch from the text.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from whorl.arrays_and_batches import batches
from whorl.engine.configured_fields import FieldNames
from whorl.engine.server_engine import StoredSketch, decode_sketches, encode_sketch, passage_terms
from whorl.engine.solr.client import Json, SolrClient, first_text, whole_text
from whorl.engine.solr.field_definitions import (
    PASSAGES,
    SAMPLE,
    SAMPLE_MARK,
    SCHEME,
    SIZE,
    SKETCH,
    WHOLE_PREFIXES,
    scheme_value,
)
from whorl.engine.solr.inspect_collection import Schema, SolrCollection, field_use, kind_of, names_in_use
from whorl.engine.solr.request_body import (
    EVERYTHING,
    encode_value,
    exists,
    lost_sketches,
    one_of,
    unmarked_sketches,
    without_sketch,
)
from whorl.errors import EngineResponseError
from whorl.fingerprint.fingerprint_texts import Outputs, hash_texts
from whorl.fingerprint.minhash.signature_and_tokens import signature_of
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme, lookup_tokens, lookup_tokens_of_batch
from whorl.model import CLUSTER, IS_PRINCIPAL, PropertyValue, text_of_value
from whorl.query.plan.fields_and_values import (
    Fields,
    FieldsByKind,
    date_of,
    format_date,
)
from whorl.query.plan.nodes import Kind, Value


def find_used_names(client: SolrClient, schema: Schema) -> set[str] | None:
    """Return the names of all fields that documents use; None if Solr refuses the request.

    If the schema has no dynamic fields, return an empty set without a request.

    Raises:
        EngineResponseError: Solr refuses the request, and the schema has a dynamic field for all names, or for whole
            values of properties.
    """
    if not schema.dynamic:
        return set()
    try:
        return names_in_use(client)
    except EngineResponseError:
        # The user may lack the right to read the names. whorl needs them only if the schema has a dynamic field for all
        # names or for whole values, because then only the names in use show which fields exist.
        if schema.dynamic.keys() & {"*", *(f"{beginning}*" for beginning in WHOLE_PREFIXES.values())}:
            raise
        return None


def find_partial_properties(client: SolrClient, schema: Schema, used: Collection[str] | None) -> frozenset[str]:
    """Return the properties in text fields whose whole (not tokenized) values some documents lack.

    Only documents from other programs can lack them. So leave out properties that only whorl writes: those in text
    fields of whorl's own types, and those without a field in the schema.
    """
    typed: dict[str, list[str]] = {}
    for name, _, field in _whole_value_fields(schema, used or ()):
        described = schema.describe(name, without="*")
        if described is None or str(described["type"]).startswith("text_whorl"):
            continue
        if kind_of(described, schema.types) is Kind.TEXT:
            typed.setdefault(name, []).append(field)

    def is_partial(name: str) -> bool:
        lacking = [exists(field) for field in typed[name]]
        return client.count({"bool": {"filter": [exists(name)], "must_not": lacking}}) > 0

    return frozenset(filter(is_partial, typed))


def fields_of(
    collection: SolrCollection, names: FieldNames, used: Collection[str] | None, partial: Collection[str] = ()
) -> Fields:
    """Return the fields of a collection that queries may use.

    `used` has the names of the fields in use. If it is None, queries may use any name that matches a dynamic field.
    `partial` has the result of `find_partial_properties`: some documents lack the whole (not tokenized) values of these
    properties, so queries cannot use these values.
    """
    known: dict[str, dict[Kind, str]] = {}
    patterns = {}
    for pattern, field in collection.schema.dynamic.items():
        kind = kind_of(field, collection.schema.types)
        if kind is not None and pattern != "*" and not pattern.startswith(tuple(WHOLE_PREFIXES.values())):
            patterns[pattern] = kind
    roles = {"content": names.content, "name": names.name, "DBID": names.dbid, "LID": names.noderef}

    def is_dynamic(name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    for name in (*collection.schema.fields, *filter(is_dynamic, roles.values()), *(used or ())):
        kind = collection.schema.kind(name)
        if kind is not None and not _is_hidden(name, collection):
            known.setdefault(name, {})[kind] = name
    for name, kind, typed in _whole_value_fields(collection.schema, used or ()):
        if name not in partial:
            known.setdefault(name, {}).setdefault(kind, typed)
    if collection.words not in (None, names.content):
        known.setdefault(names.content, {})[Kind.TEXT] = str(collection.words)
    for name, by_kind in known.items():
        is_declared = name in collection.schema.fields or is_dynamic(name)
        if not is_declared and len(by_kind) > 1 and Kind.KEYWORD not in by_kind:
            # Solr also indexes the words of a property that has only numbers, but whorl searches only the numbers.
            by_kind.pop(Kind.TEXT, None)
    called = {"id": collection.names.key, **{role: name for role, name in roles.items() if name != role}}
    split = {names.name} if collection.schema.splits_names(names.name) else ()
    return Fields(known, patterns if used is None else {}, called, collection.scheme.profile, split)


def whole_values(values: list[tuple[str, Kind, Value]], collection: SolrCollection) -> dict[str, list[Any]]:
    """Return the contents of a document's dynamic fields for whole (not tokenized) values, keyed by field name."""
    fields: dict[str, list[Any]] = {}
    for name, kind, value in values:
        if f"{WHOLE_PREFIXES[kind]}*" not in collection.schema.dynamic:
            continue
        declared = collection.schema.kind(name)
        if declared in (None, Kind.TEXT) or (declared is Kind.KEYWORD and kind is not Kind.KEYWORD):
            fields.setdefault(f"{WHOLE_PREFIXES[kind]}{name}", []).append(encode_value(kind, value))
    return fields


def as_typed(name: str, text: str, collection: SolrCollection) -> str:
    """Return a property's value, given as text, in the format of its field: a date field needs Solr's date format."""
    moment = date_of(text)
    return text if moment is None or collection.schema.kind(name) is not Kind.DATE else format_date(moment)


_READERS: Mapping[Kind, Callable[[str], PropertyValue]] = {
    Kind.INTEGER: int,
    Kind.FLOAT: float,
    Kind.BOOLEAN: {"true": True, "false": False}.__getitem__,
}


def fields_of_types(by_kind: FieldsByKind) -> Collection[str]:
    """Return the fields that show the type of each value of a property; empty if all values have one type."""
    return by_kind.values() if len(by_kind.keys() - {Kind.TEXT}) > 1 else ()


def original_values(field: str, by_kind: FieldsByKind, document: Json) -> tuple[PropertyValue, ...]:
    """Convert the stored texts of a field back to the property's values: texts, numbers or Booleans.

    If a document has a text and an equal number, such as "12" and 12, return the text before the number.

    Args:
        by_kind: Names of the property's fields, keyed by the type of their values.
        document: Fields of the document, including the fields that `fields_of_types` returns.
    """
    keywords = by_kind.get(Kind.KEYWORD, field)
    texts = {*as_list(document.get(keywords))} if keywords != field else set()
    values = []
    for text in as_list(document[field]):
        value = _number_or_text(text, by_kind, document)
        if value is not text and text in texts:
            texts.remove(text)
            value = text
        values.append(value)
    return tuple(values)


def _number_or_text(value: PropertyValue, by_kind: FieldsByKind, document: Json) -> PropertyValue:
    """Return the number or Boolean that the stored text stands for, if the document has one; otherwise the text."""
    if isinstance(value, str):
        is_certain = not fields_of_types(by_kind)
        for kind, read in _READERS.items():
            with suppress(ValueError, KeyError):
                number, own = read(value), by_kind[kind]
                if is_certain or (text_of_value(number) == value and number in as_list(document.get(own))):
                    return number
    return value


def as_list(values: Any) -> Sequence[Any]:
    """Return the values of a field; Solr returns a single value without a list."""
    return values if isinstance(values, list) else () if values is None else (values,)


def _is_hidden(name: str, collection: SolrCollection) -> bool:
    """Check whether a field belongs to whorl, so that queries cannot name it."""
    is_internal = name.startswith(("whorl_", "_")) and name not in (CLUSTER, IS_PRINCIPAL)
    return is_internal or name == collection.names.minhash


def _whole_value_fields(schema: Schema, used: Collection[str]) -> Iterator[tuple[str, Kind, str]]:
    """Yield the properties that have a field with their whole (not tokenized) values.

    Yield the name of the property, the type of the values, and the name of the field. If the schema copies a property
    to a string field (see `Schema.whole_copies`), this field replaces whorl's field.
    """
    copies = schema.whole_copies
    yield from ((name, Kind.KEYWORD, copy) for name, copy in copies.items())
    for field in used:
        for kind, beginning in WHOLE_PREFIXES.items():
            name = field.removeprefix(beginning)
            if field.startswith(beginning) and not (kind is Kind.KEYWORD and name in copies):
                yield name, kind, field


_TEXTS_AT_ONCE, _ENCODED_AT_ONCE = 1_000, 64
#: Maximum number of schemes to count; no collection has nearly as many.
_MOST_SCHEMES = 1000


def sketch_fields(sketch: Sketch, scheme: Scheme, stored_text: str | None, tokens: Sequence[str] | None = None) -> Json:
    """Return the sketch's four fields; a value of None removes a field.

    `encode_sketch` describes `stored_text`, and `searched_sketch_fields` describes `tokens`.
    """
    return {**searched_sketch_fields(sketch, scheme, tokens), SKETCH: encode_sketch(sketch, scheme, stored_text)}


def fingerprint_fields(
    texts: Sequence[str],
    collection: SolrCollection,
    *,
    with_tokens: bool = False,
    with_sketches: bool = True,
    are_returned: bool = True,
) -> Iterator[Json]:
    """For each text, yield the fingerprint fields that the collection has; None for a field without a value.

    Args:
        with_tokens: Include the MinHash tokens.
        with_sketches: Include the sketches.
        are_returned: Whether Solr returns the texts exactly as sent. If so, short texts need no stored sketch.
    """
    schema, scheme, names = collection.schema, collection.scheme, collection.names
    with_sketches = with_sketches and schema.has_sketches
    outputs = Outputs.MINIMA if with_tokens else Outputs(0)
    outputs |= Outputs.HASHES if with_sketches else Outputs(0)
    outputs |= Outputs.WORDS if schema.passage_scheme else Outputs(0)
    if not outputs:
        # The caller needs no field, so do not split the texts into words.
        yield from ({} for _ in texts)
        return
    hashed_texts = hash_texts(texts, scheme, outputs, workers=1)
    for portion in batches(zip(texts, hashed_texts, strict=True), _ENCODED_AT_ONCE):
        sketches = [hashed.sketch(SketchScheme()) for _, hashed in portion] if with_sketches else []
        lookups = lookup_tokens_of_batch(sketches) if sketches else repeat(())
        for (text, hashed), sketch, tokens in zip(portion, sketches or repeat(None), lookups, strict=False):
            fields: Json = {}
            if with_tokens:
                fields[names.minhash] = list(signature_of(hashed.minima, scheme, names.token_encoding).tokens)
            if sketch is not None:
                fields |= sketch_fields(sketch, scheme, text if are_returned else None, tokens)
            if schema.passage_scheme:
                fields[PASSAGES] = passage_terms(text, hashed.words, scheme, schema.passage_scheme)
            yield fields


def searched_sketch_fields(sketch: Sketch, scheme: Scheme, tokens: Sequence[str] | None = None) -> Json:
    """Return the values of the three fields that searches use: number of shingles, look-up tokens and scheme.

    `tokens` are the look-up tokens, if they have been encoded already.
    """
    return {
        SIZE: sketch.size,
        SAMPLE: [SAMPLE_MARK, *(lookup_tokens(sketch) if tokens is None else tokens)] if sketch.size else [],
        SCHEME: scheme_value(scheme, sketch.scheme),
    }


def read_sketches(client: SolrClient, collection: SolrCollection, documents: Sequence[Json]) -> list[Sketch | None]:
    """Return the sketch of each document, or None if it is missing, malformed or of another scheme.

    The documents must contain the fields key, SKETCH and SCHEME. If a short document does not contain its text, fetch
    the text.
    """
    key, content = collection.names.key, collection.content or ""

    def read(document: Json) -> StoredSketch:
        has_store_schemes = first_text(document.get(SCHEME)) == collection.sketch_schemes
        encoded = first_text(document[SKETCH]) if SKETCH in document else None
        return StoredSketch(str(document[key]), has_store_schemes, encoded, whole_text(document.get(content)))

    def fetch_texts(ids: list[str]) -> dict[str, str]:
        groups = batches(ids, _TEXTS_AT_ONCE) if content else ()
        found = (document for ids in groups for document in client.fetch(one_of(key, ids), [key, content], len(ids)))
        return {str(document[key]): whole_text(document.get(content)) for document in found}

    return decode_sketches([*map(read, documents)], fetch_texts, (collection.scheme, SketchScheme()))


@dataclass(frozen=True, slots=True)
class Coverage:
    """Numbers of documents with and without a sketch in a collection.

    Args:
        by_scheme: Documents with a sketch, keyed by the name of the scheme.
        searchable: Documents with a non-empty sketch, keyed by the name of the scheme.
        without: Documents that may have a text, but have no sketch of the collection's scheme.
        lost: Documents with a sketch whose look-up tokens are missing.
    """

    documents: int
    by_scheme: Mapping[str, int]
    searchable: Mapping[str, int]
    without: int
    lost: int

    @property
    def only_scheme(self) -> str | None:
        """Scheme of all sketches; None if there are several schemes or no sketches."""
        return next(iter(self.by_scheme)) if len(self.by_scheme) == 1 else None

    def without_any_sketch(self, scheme: str) -> int:
        return self.without - sum(count for other, count in self.by_scheme.items() if other != scheme)

    def warnings(self, url: str, *, can_be_filled: bool) -> tuple[str, ...]:
        if not self.without + self.lost:
            return ()
        makes = f"'whorl solr backfill {url}'" if can_be_filled else "indexing them again"
        share = f"{self.without + self.lost:,} of {self.documents:,} documents"
        return (f"{share} have no sketch and cannot be found so; {makes} makes them",)


def token_warnings(
    client: SolrClient, collection: SolrCollection, covered: Coverage | None, count: Callable[[], int]
) -> tuple[str, ...]:
    """Return a warning about documents that a search by MinHash tokens misses, because they have no tokens.

    The warning has the number of these documents:

    - If no document has tokens, count all documents that may have a text.
    - If some have tokens, count the documents that have neither tokens nor a sketch, because a backfill adds both.
    - In a collection without fields for sketches, this number is unknown: a document without tokens may just have a
      text that is too short. So if some documents have tokens, do not warn.

    Args:
        covered: Counts of documents with sketches; None if the collection has no fields for sketches.
        count: Counts the documents that have neither tokens nor a sketch of any scheme. This reads all tokens of the
            index, so it is called only if the other counts are not enough.
    """
    unsketched, filled = 0, 0
    if covered is not None:
        unsketched, filled = covered.without_any_sketch(collection.sketch_schemes), sum(covered.searchable.values())
        if not unsketched + filled:
            return ()
    name = collection.names.minhash
    try:
        documents, with_tokens, deleted = field_use(client, name)
    except EngineResponseError:
        # The user may lack the right to make this request. These numbers make the code below call `count` if any
        # document lacks a sketch.
        documents, with_tokens, deleted = (covered.documents if covered else 0), 1, 1
    if not with_tokens:
        lacking = documents if covered is None else unsketched + filled
    elif unsketched and not deleted:
        lacking = unsketched - max(0, with_tokens - filled)
    else:
        lacking = count() if unsketched else 0
    if lacking <= 0:
        return ()
    remedy = f"'whorl solr check {client.url}' says how they get it"
    if unsketched and collection.content:
        remedy = f"'whorl solr backfill {client.url}' makes them"
    return (f"{lacking:,} of {documents:,} documents have no fingerprint in {name!r} and cannot be found so; {remedy}",)


def count_coverage(client: SolrClient, scheme: str, text: str | None) -> Coverage:
    """Count the documents by the scheme of their sketches. The collection must have the four fields of a sketch.

    If the text field is searchable (`text`), `Coverage.without` does not count documents without a text.
    """
    filled = {"type": "query", "q": f"{SIZE}:[1 TO *]"}
    schemes = {"type": "terms", "field": SCHEME, "limit": _MOST_SCHEMES, "facet": {"filled": filled}}
    selected = client.select({"query": EVERYTHING, "limit": 0, "facet": {"schemes": schemes}})
    buckets = selected.facets.get("schemes", {}).get("buckets", [])
    return Coverage(
        selected.total,
        {str(bucket["val"]): int(bucket["count"]) for bucket in buckets},
        {str(bucket["val"]): count for bucket in buckets if (count := int(bucket["filled"]["count"]))},
        client.count(without_sketch(scheme, text)),
        # Run the slow query for lost tokens only if documents without `SAMPLE_MARK` exist. Their tokens are lost, or an
        # older version of whorl has stored them.
        client.count(lost_sketches(scheme)) if client.count(unmarked_sketches(scheme)) else 0,
    )
