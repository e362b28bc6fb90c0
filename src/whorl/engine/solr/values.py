"""How a collection keeps values whole and with their types: in its own fields, or beside them in typed ones.

A property goes into the field of its name, as ever. Where that is a field of words or text, each value goes a second
time, whole, into a dynamic field for its type: the number 2021 of the property `year` into `whorl_integer_year`. A
field that the schema types itself needs no second one.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection as Sized
from collections.abc import Iterator, Mapping
from typing import Any

from whorl.engine.solr.answer import Json
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.fields import BESIDE
from whorl.engine.solr.schema import Collection, FieldNames, Schema, names_in_use
from whorl.model import CLUSTER, IS_PRINCIPAL, PropertyValue
from whorl.planning.clauses import Kind, Value
from whorl.planning.dates import date_of, written
from whorl.planning.fields import Fields, Places
from whorl.planning.values import whole

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
    """Return how a field keeps values, None where it keeps none to search, or some of another kind."""
    field_type = types.get(field["type"], {})
    about = {**field_type, **field}
    # A property that is not told has its default: a field is indexed.
    if about.get("indexed") is False and not about.get("docValues"):
        return None
    return _KINDS.get(str(field_type.get("class", "")).rpartition(".")[2])


def used_names(client: SolrClient, schema: Schema) -> set[str]:
    """Return the names of all fields that documents have; none where the schema names all of them."""
    if schema.dynamic.keys().isdisjoint({"*", *(f"{beginning}*" for beginning in BESIDE.values())}):
        return set()
    return names_in_use(client)


def fields_of(collection: Collection, wanted: FieldNames, used: Sized[str]) -> Fields:
    """Return the fields of a collection.

    Args:
        collection: What its schema says.
        wanted: What the user says it calls its fields.
        used: What `used_names` returned; a dynamic field that takes any name says nothing itself.
    """
    known: dict[str, dict[Kind, str]] = {}
    patterns = {}
    for pattern, field in collection.schema.dynamic.items():
        kind = kind_of(field, collection.schema.types)
        if kind is not None and pattern != "*" and not pattern.startswith(tuple(BESIDE.values())):
            patterns[pattern] = kind
    for name in (*collection.schema.fields, *used):
        described = collection.schema.describe(name)
        kind = None if described is None else kind_of(described, collection.schema.types)
        if kind is not None and not _is_hidden(name, collection):
            known.setdefault(name, {})[kind] = name
    for name, kind, place in _beside(used):
        known.setdefault(name, {}).setdefault(kind, place)
    for name, places in known.items():
        is_declared = name in collection.schema.fields or any(fnmatch.fnmatchcase(name, each) for each in patterns)
        if not is_declared and len(places) > 1 and Kind.KEYWORD not in places:
            # Numbers alone are asked as numbers, although any value has words as well.
            places.pop(Kind.TEXT, None)
    roles = {"content": wanted.content, "name": wanted.name, "DBID": wanted.dbid, "LID": wanted.noderef}
    called = {"id": collection.names.key, **{role: name for role, name in roles.items() if name != role}}
    return Fields(known, patterns, called, collection.scheme.profile)


def whole_values(values: list[tuple[str, Kind, Value]], collection: Collection) -> dict[str, list[Any]]:
    """Return what typed fields hold of a document beside its own, by field.

    Args:
        values: Each with its field and its type.
        collection: Nothing, where it has no such fields.
    """
    found: dict[str, list[Any]] = {}
    for name, kind, value in values:
        place = f"{BESIDE[kind]}{name}"
        if f"{BESIDE[kind]}*" not in collection.schema.dynamic:
            continue
        described = collection.schema.describe(name)
        own = None if described is None else kind_of(described, collection.schema.types)
        if own in (None, Kind.TEXT) or (own is Kind.KEYWORD and kind is not Kind.KEYWORD):
            found.setdefault(place, []).append(_sent(kind, value))
    return found


def as_typed(name: str, text: str, collection: Collection) -> str:
    """Return a property's value as the field of its name reads it."""
    described = collection.schema.describe(name)
    moment = date_of(text)
    if moment is not None and described is not None and kind_of(described, collection.schema.types) is Kind.DATE:
        return written(moment)
    return text


def as_put_in(value: PropertyValue, places: Places) -> PropertyValue:
    """Return a value as a document brought it, of the text that a field of words gives back."""
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
        # A collection may say of a field what its values are not.
        pass
    return value


def _sent(kind: Kind, value: Value) -> Value:
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


def _beside(used: Sized[str]) -> Iterator[tuple[str, Kind, str]]:
    for place in used:
        for kind, beginning in BESIDE.items():
            if place.startswith(beginning):
                yield place.removeprefix(beginning), kind, place
