"""What a collection offers a fingerprint search: read from its schema and configuration, nothing assumed.

`inspect` asks the Schema API, the Config API and the version; the answers together say where a source document's
tokens can come from and how the index spells them.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from whorl.engine.solr.analysis import seen_profile
from whorl.engine.solr.answer import Json, first_text
from whorl.engine.solr.request import Names
from whorl.engine.solr.sketches import NEEDED
from whorl.errors import ParameterError, SchemaError
from whorl.fingerprint.minhash.codec import ALFRESCO_TOKEN, Spelling
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.tokenizer import DEFAULT_PROFILE

if TYPE_CHECKING:  # The settings name fields, and not every command that reads them speaks to a Solr.
    from whorl.engine.solr.client import SolrClient

#: Factories by the short name that Solr 9 writes, and by the class name of older schemas.
_MINHASH = ("minHash", "solr.MinHashFilterFactory", "MinHashFilterFactory")
_SHINGLE = ("shingle", "solr.ShingleFilterFactory", "ShingleFilterFactory")
_TRUNCATE = ("truncate", "solr.TruncateTokenFilterFactory", "TruncateTokenFilterFactory")
#: What MinHashFilterFactory takes, with what it takes when it is not told.
_PARAMETERS = {"bucketCount": 512, "hashCount": 1, "hashSetSize": 1}


class TokenSource(Enum):
    """Where the tokens of a stored document can be read."""

    STORED = "a stored token field"
    TERM_VECTORS = "term vectors"
    DOC_VALUES = "a token field with docValues"
    TEXT = "the stored text, fingerprinted here"


@dataclass(frozen=True, slots=True)
class FieldNames:
    """What the user says a collection calls its fields; absent ones are not used.

    Args:
        minhash: The indexed tokens.
        content: The text that the tokens are made from.
        name: What people know a document by.
        dbid: Alfresco's number of a node.
        noderef: Alfresco's node reference.
    """

    minhash: str = "MINHASH"
    content: str = "content"
    name: str = "name"
    dbid: str = "DBID"
    noderef: str = "LID"


@dataclass(frozen=True, slots=True)
class Collection:
    """What `inspect` found out about a core or collection.

    `profile_is_seen` says whether the collection's own analysis of a text showed its word-break profile; else the
    profile follows from the version of Lucene, and its chain may break words as no profile does.
    """

    names: Names
    fields: Mapping[str, Json]
    dynamic: Mapping[str, Json]
    types: Mapping[str, Json]
    dbid: str | None
    noderef: str | None
    content: str | None
    sources: tuple[TokenSource, ...]
    spelling: Spelling
    scheme: Scheme
    vector_handler: str | None
    lucene_version: str
    profile_is_seen: bool = False
    handlers: Mapping[str, Json] = field(default_factory=dict)

    def describe(self, name: str) -> Json | None:
        """Return a field's properties, also those of a dynamic field that `name` falls under, or None."""
        return described(name, self.fields, self.dynamic)

    @property
    def has_sketches(self) -> bool:
        """Whether documents can carry sketches: all four fields are there, each under its own name and as needed.

        A dynamic field that takes any name would read and keep the values in some other way.
        """
        return all(self.fields.get(name, {}).get(part) for name, parts in NEEDED.items() for part in parts)

    def is_text(self, name: str) -> bool:
        """Say whether a field's values are split into words."""
        found = self.describe(name)
        return found is not None and "TextField" in self.types[found["type"]]["class"]


def inspect(client: SolrClient, wanted: FieldNames) -> Collection:
    """Read what a collection offers.

    Raises:
        SchemaError: There is no field of tokens and no stored text to make them from.
    """
    schema = client.get("schema")["schema"]
    fields = _by_name(client.get("schema/fields", showDefaults="true")["fields"])
    dynamic = _by_name(schema.get("dynamicFields", []))
    types = _by_name(schema["fieldTypes"])
    config = client.get("config")["config"]
    handlers = config.get("requestHandler", {})
    version = lucene_version(client)
    vector_handler = _vector_handler(handlers, config.get("searchComponent", {}))
    content = wanted.content if described(wanted.content, fields, dynamic) else None
    name = wanted.name if described(wanted.name, fields, dynamic) else None
    minhash = fields.get(wanted.minhash)
    if minhash is None:
        raise SchemaError(
            f"{client.url} has no field {wanted.minhash!r} to hold fingerprints; "
            f"'whorl solr init {client.url}' adds it, or name another in whorl.toml"
        )
    chain = minhash_chain(types[minhash["type"]])
    spelling = _spelling(chain) if chain else _spelling_seen(client, wanted.minhash)
    scheme = _scheme(chain, profile_of(version))
    seen = seen_profile(client, wanted.minhash, scheme, spelling, rotates=_rotates(chain)) if chain else None
    scheme = replace(scheme, profile=seen or scheme.profile)
    names = Names(
        key=schema.get("uniqueKey", "id"),
        minhash=wanted.minhash,
        text=tuple(each for each in (name, content) if each),
        name=name if _is_stored(name, fields, dynamic) else None,
        scheme=scheme.name,
        spelling=spelling,
    )
    return Collection(
        names=names,
        fields=fields,
        dynamic=dynamic,
        types=types,
        dbid=_offered(wanted.dbid, fields, dynamic),
        noderef=_offered(wanted.noderef, fields, dynamic),
        content=content if _is_stored(content, fields, dynamic) else None,
        sources=_token_sources(minhash, types, vector_handler, has_text=_is_stored(content, fields, dynamic)),
        spelling=spelling,
        scheme=scheme,
        vector_handler=vector_handler,
        lucene_version=version,
        profile_is_seen=seen is not None,
        handlers=handlers,
    )


def described(name: str, fields: Mapping[str, Json], dynamic: Mapping[str, Json]) -> Json | None:
    """Return the properties of a field, or of the dynamic field that its name falls under, or None."""
    if name in fields:
        return fields[name]
    # Solr takes the longest pattern that fits.
    fitting = [pattern for pattern in dynamic if fnmatch.fnmatchcase(name, pattern)]
    return dynamic[max(fitting, key=len)] if fitting else None


def _offered(name: str, fields: Mapping[str, Json], dynamic: Mapping[str, Json]) -> str | None:
    """Return a field's name if the schema means it: one that takes any name does not tell that this one is used."""
    named = {pattern: field for pattern, field in dynamic.items() if pattern != "*"}
    return name if described(name, fields, named) else None


def _is_stored(name: str | None, fields: Mapping[str, Json], dynamic: Mapping[str, Json]) -> bool:
    found = described(name, fields, dynamic) if name else None
    return found is not None and bool(found.get("stored", True))


def lucene_version(client: SolrClient) -> str:
    """Return the version of Lucene behind a collection, `9.12.2`."""
    return str(client.get("admin/system")["lucene"]["lucene-spec-version"])


def profile_of(version: str) -> str:
    """Return the word-break profile of a Lucene version: its ICU's rules, which differ in colons and dictionaries."""
    try:
        major, minor = (int(part) for part in version.split(".")[:2])
    except ValueError:
        return DEFAULT_PROFILE
    if (major, minor) < (9, 11):
        return "icu70"
    return "icu74" if (major, minor) < (10, 2) else "icu77"


def analyzer(field_type: Json, side: Literal["index", "query"]) -> Json:
    """Return a type's analysis of one side, which may be given for both at once."""
    found: Json = field_type.get(f"{side}Analyzer") or field_type.get("analyzer") or {}
    return found


def minhash_chain(field_type: Json) -> list[Json]:
    """Return the filters of a type's index analysis, or none when it does not make MinHash tokens."""
    filters = list(analyzer(field_type, "index").get("filters", []))
    return filters if find_filter(filters, _MINHASH) is not None else []


def find_filter(filters: list[Json], names: tuple[str, ...]) -> Json | None:
    """Return the first filter that one of `names` calls, or None."""
    return next((each for each in filters if each.get("name", each.get("class")) in names), None)


def minhash_filter(filters: list[Json]) -> Json | None:
    """Return the MinHash filter of a chain, or None."""
    return find_filter(filters, _MINHASH)


def truncate_filter(filters: list[Json]) -> Json | None:
    """Return the filter that cuts tokens, or None."""
    return find_filter(filters, _TRUNCATE)


def _rotates(chain: list[Json]) -> bool:
    """Return whether an index analysis fills empty buckets: what MinHashFilterFactory does unless it is told not to."""
    minhash = minhash_filter(chain) or {}
    return str(minhash.get("withRotation", "true")).lower() == "true"


def _by_name(items: list[Json]) -> dict[str, Json]:
    return {item["name"]: item for item in items}


def _vector_handler(handlers: Mapping[str, Json], components: Mapping[str, Json]) -> str | None:
    """Return the path of a request handler that answers with term vectors, or None."""
    vector = {name for name, component in components.items() if "TermVectorComponent" in component.get("class", "")}
    for path, handler in handlers.items():
        used: list[Any] = [*handler.get("last-components", []), *handler.get("components", [])]
        if path.startswith("/") and vector.intersection(used):
            return path.removeprefix("/")
    return None


def _token_sources(
    minhash: Json, types: Mapping[str, Json], vector_handler: str | None, *, has_text: bool
) -> tuple[TokenSource, ...]:
    """Return the ways to a document's tokens, the cheapest and most exact first."""
    # Only in a string field is what is stored also what is indexed; a text field stores the text.
    is_string = "StrField" in types[minhash["type"]]["class"]
    found = [
        (is_string and minhash.get("stored"), TokenSource.STORED),
        (minhash.get("termVectors") and vector_handler, TokenSource.TERM_VECTORS),
        (is_string and minhash.get("docValues"), TokenSource.DOC_VALUES),
        (has_text, TokenSource.TEXT),
    ]
    return tuple(source for is_there, source in found if is_there)


def _spelling(chain: list[Json]) -> Spelling:
    truncate = truncate_filter(chain)
    if truncate is None:
        return Spelling.UNITS_8
    if int(truncate.get("prefixLength", 5)) == 4:
        return Spelling.UNITS_4
    raise SchemaError(
        f"the tokens are cut to {truncate.get('prefixLength')} units; whorl reads tokens of 4 units (prefixLength=4) "
        "or whole ones"
    )


def _spelling_seen(client: SolrClient, field: str) -> Spelling:
    """Return how the tokens of a field that is filled from outside are spelled: one document's tell."""
    any_document = {"query": {"prefix": {"f": field, "query": ""}}, "limit": 1, "fields": [field]}
    found = client.post("select", any_document)["response"]["docs"]
    token = first_text(found[0].get(field)) if found else ""
    # An empty collection, or one whose tokens cannot be read: Alfresco is who fills such a field.
    if not token or ALFRESCO_TOKEN.fullmatch(token):
        return Spelling.HEX
    return Spelling.UNITS_4 if len(token.encode("utf-16-be")) == 8 else Spelling.UNITS_8


def _scheme(chain: list[Json], profile: str) -> Scheme:
    minhash, shingle = minhash_filter(chain), find_filter(chain, _SHINGLE)
    if minhash is None or shingle is None:
        return Scheme(profile=profile)
    smallest, largest = int(shingle.get("minShingleSize", 2)), int(shingle.get("maxShingleSize", 2))
    if smallest != largest:
        raise SchemaError(
            f"shingles have {smallest} to {largest} words; whorl works with one size (5 and 5 in its own schema)"
        )
    buckets, functions, kept = (int(minhash.get(name, usual)) for name, usual in _PARAMETERS.items())
    try:
        # Rotation only repeats tokens: whether the index was made with it or not, plans count the repeats.
        return Scheme(profile, largest, buckets, functions, kept)
    except ParameterError as error:
        raise SchemaError(f"the tokens are made under a scheme that whorl does not have: {error}") from error
