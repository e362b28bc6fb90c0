"""Stores and reads typed properties in a Solr collection.

whorl stores a property in the field with its name. If this is a text field, whorl also stores each whole value in a
dynamic field for its type: for example, the number 2021 of the property `year` in `whorl_integer_year`. If the schema
has a typed field for the property, no second field is needed.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection as Sized
from collections.abc import Iterator, Mapping
from typing import Any

from whorl.engine.server_fields import FieldNames
from whorl.engine.solr.client import Json, SolrClient
from whorl.engine.solr.fields import WHOLE_PREFIXES
from whorl.engine.solr.schema import Collection, Schema, names_in_use
from whorl.errors import EngineResponseError
from whorl.model import CLUSTER, IS_PRINCIPAL, PropertyValue
from whorl.query.plan.fields import Fields, Places
from whorl.query.plan.nodes import Kind, Value
from whorl.query.plan.values import date_of, whole, written

_KINDS = {
    "TextField": Kind.TEXT,
    "StrField": Kind.KEYWORD,
    "UUIDField": Kind.KEYWORD,
    "IntPointField": Kind.INTEGER,
    "LongPointField": Kind.INTEGER,
    "TrieIntField": Kind.INTEGER,
    "TrieLongField": Kind.INTEGER,
    "FloatPointField": Kind.FLOAT,
    "DoublePointField": Kind.FLOAT,
    "TrieFloatField": Kind.FLOAT,
    "TrieDoubleField": Kind.FLOAT,
    "DatePointField": Kind.DATE,
    "TrieDateField": Kind.DATE,
    "BoolField": Kind.BOOLEAN,
    "SortableTextField": Kind.TEXT,
}


def kind_of(field: Json, types: Mapping[str, Json]) -> Kind | None:
    """Return the kind of a field's values; None if the field cannot be searched or whorl does not know its type."""
    field_type = types.get(field["type"], {})
    properties = {**field_type, **field}
    # By default, a field is indexed.
    if properties.get("indexed") is False and not properties.get("docValues"):
        return None
    return _KINDS.get(str(field_type.get("class", "")).rpartition(".")[2])


def used_names(client: SolrClient, schema: Schema) -> set[str] | None:
    """Return the names of all fields in use; None if Solr refuses and the patterns of dynamic fields are enough."""
    if not schema.dynamic:
        return set()
    try:
        return names_in_use(client)
    except EngineResponseError:
        # A user with read access may not be allowed to request this.
        if schema.dynamic.keys() & {"*", *(f"{beginning}*" for beginning in WHOLE_PREFIXES.values())}:
            raise
        return None


def fields_of(collection: Collection, wanted: FieldNames, used: Sized[str] | None) -> Fields:
    """Return a collection's fields; if `used` is None, include any name that matches a dynamic field."""
    known: dict[str, dict[Kind, str]] = {}
    patterns = {}
    for pattern, field in collection.schema.dynamic.items():
        kind = kind_of(field, collection.schema.types)
        if kind is not None and pattern != "*" and not pattern.startswith(tuple(WHOLE_PREFIXES.values())):
            patterns[pattern] = kind
    roles = {"content": wanted.content, "name": wanted.name, "DBID": wanted.dbid, "LID": wanted.noderef}

    def is_dynamic(name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    for name in (*collection.schema.fields, *filter(is_dynamic, roles.values()), *(used or ())):
        described = collection.schema.describe(name)
        kind = None if described is None else kind_of(described, collection.schema.types)
        if kind is not None and not _is_hidden(name, collection):
            known.setdefault(name, {})[kind] = name
    for name, kind, place in _whole_places(used or ()):
        known.setdefault(name, {}).setdefault(kind, place)
    for name, places in known.items():
        is_declared = name in collection.schema.fields or is_dynamic(name)
        if not is_declared and len(places) > 1 and Kind.KEYWORD not in places:
            # A property with only numbers is queried as numbers, although it is also indexed as words.
            places.pop(Kind.TEXT, None)
    called = {"id": collection.names.key, **{role: name for role, name in roles.items() if name != role}}
    split = {wanted.name} if collection.schema.splits_names(wanted.name) else ()
    return Fields(known, patterns if used is None else {}, called, collection.scheme.profile, split)


def whole_values(values: list[tuple[str, Kind, Value]], collection: Collection) -> dict[str, list[Any]]:
    """Return a document's values for the typed dynamic fields that the collection has, by field."""
    fields: dict[str, list[Any]] = {}
    for name, kind, value in values:
        if f"{WHOLE_PREFIXES[kind]}*" not in collection.schema.dynamic:
            continue
        described = collection.schema.describe(name)
        own = None if described is None else kind_of(described, collection.schema.types)
        if own in (None, Kind.TEXT) or (own is Kind.KEYWORD and kind is not Kind.KEYWORD):
            fields.setdefault(f"{WHOLE_PREFIXES[kind]}{name}", []).append(_sent_value(kind, value))
    return fields


def as_typed(name: str, text: str, collection: Collection) -> str:
    described = collection.schema.describe(name)
    moment = date_of(text)
    if moment is not None and described is not None and kind_of(described, collection.schema.types) is Kind.DATE:
        return written(moment)
    return text


def original_value(value: PropertyValue, places: Places) -> PropertyValue:
    """Turn a text from a text field back into the value that the document had."""
    kinds = [kind for kind in places if kind is not Kind.TEXT]
    if not isinstance(value, str) or len(kinds) != 1:
        return value
    try:
        match kinds[0]:
            case Kind.INTEGER:
                return int(value)
            case Kind.FLOAT:
                return float(value)
            case Kind.BOOLEAN if value in ("true", "false"):
                return value == "true"
    except ValueError:
        # The type in the schema may differ from the type of the value.
        pass
    return value


def _sent_value(kind: Kind, value: Value) -> Value:
    match kind:
        case Kind.DATE:
            return written(int(value))
        case Kind.KEYWORD:
            return whole(str(value))
        case _:
            return value


def _is_hidden(name: str, collection: Collection) -> bool:
    is_ours = name.startswith(("whorl_", "_")) and name not in (CLUSTER, IS_PRINCIPAL)
    return is_ours or name == collection.names.minhash


def _whole_places(used: Sized[str]) -> Iterator[tuple[str, Kind, str]]:
    for place in used:
        for kind, beginning in WHOLE_PREFIXES.items():
            if place.startswith(beginning):
                yield place.removeprefix(beginning), kind, place
