"""What a collection offers a fingerprint search: read from its schema and configuration, nothing assumed.

`inspect` asks the version, the Schema API and the Config API; the answers together say where a source document's
tokens can come from and how the index spells them.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from whorl.engine.solr.analysis import seen_profile
from whorl.engine.solr.answer import Answer, Json, first_text, reading
from whorl.engine.solr.fields import NEEDED, NEEDED_OF_PASSAGES, PASSAGES
from whorl.engine.solr.request import Names, listed
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
_FROM_SHINGLES = (_SHINGLE, _MINHASH, _TRUNCATE)
#: The first Solr with the query parser `min_hash`, and those that the tests run on.
_OLDEST = (8,)
_TRIED = ((8, 11), (9,))
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
class Schema:
    """Fields, types and copies, with the properties that Solr fills in where a definition does not say them.

    Args:
        key: The unique key.
        fields: By name.
        dynamic: Dynamic fields, by pattern.
        types: By name.
        copies: Sources and destinations of copyFields.
    """

    key: str
    fields: Mapping[str, Json]
    dynamic: Mapping[str, Json]
    types: Mapping[str, Json]
    copies: tuple[tuple[str, str], ...] = ()

    def describe(self, name: str) -> Json | None:
        """Return a field's properties, also those of a dynamic field that `name` falls under, or None."""
        return described(name, self.fields, self.dynamic)

    def is_text(self, name: str) -> bool:
        """Say whether a field's values are split into words."""
        found = self.describe(name)
        return found is not None and "TextField" in self.types[found["type"]]["class"]

    def is_stored(self, name: str | None) -> bool:
        """Say whether a field is there and gives its values back."""
        found = self.describe(name) if name else None
        return found is not None and bool(found.get("stored", True))

    def is_multivalued(self, name: str) -> bool:
        """Say whether a document may have several values in a field."""
        return bool((self.describe(name) or {}).get("multiValued"))

    @property
    def has_sketches(self) -> bool:
        """Whether documents can carry sketches: all four fields are there, each under its own name and as needed.

        A dynamic field that takes any name would read and keep the values in some other way.
        """
        return all(self.fields.get(name, {}).get(part) for name, parts in NEEDED.items() for part in parts)

    @property
    def has_passages(self) -> bool:
        """Whether documents can carry the numbers of their passages."""
        return all(self.fields.get(PASSAGES, {}).get(part) for part in NEEDED_OF_PASSAGES)

    def sources(self, destination: str) -> list[str]:
        """Return the fields that are copied into one."""
        return [source for source, copied_into in self.copies if copied_into == destination]


def read_schema(client: SolrClient) -> Schema:
    """Read a collection's schema."""
    schema = client.get("schema").object("schema")
    fields = client.get("schema/fields", showDefaults="true").objects("fields")
    dynamic = client.get("schema/dynamicfields", showDefaults="true").objects("dynamicFields")
    return Schema(
        key=str(schema.get("uniqueKey", "id")),
        fields=_typed(fields),
        dynamic=_typed(dynamic),
        types={each.text("name"): each for each in schema.objects("fieldTypes")},
        copies=tuple(
            (each.text("source"), each.text("dest")) for each in schema.objects("copyFields", is_optional=True)
        ),
    )


def _typed(fields: Iterable[Answer]) -> dict[str, Json]:
    """Return fields by name; each must say its type."""
    named: dict[str, Json] = {}
    for each in fields:
        each.text("type")
        named[each.text("name")] = each
    return named


@dataclass(frozen=True, slots=True)
class Collection:
    """What `inspect` found out about a core or collection.

    `profile_is_seen` says whether the collection's own analysis of a text showed its word-break profile; else the
    profile follows from the version of Lucene, and its chain may break words as no profile does.
    """

    names: Names
    schema: Schema
    dbid: str | None
    noderef: str | None
    content: str | None
    sources: tuple[TokenSource, ...]
    spelling: Spelling
    scheme: Scheme
    vector_handler: str | None
    version: Version
    profile_is_seen: bool = False

    @property
    def has_minhash(self) -> bool:
        """Whether there is a field of tokens; without one, only searches by sketches and words can be asked."""
        return self.names.minhash in self.schema.fields

    @property
    def has_sketches(self) -> bool:
        """Whether documents can carry sketches."""
        return self.schema.has_sketches

    @property
    def has_passages(self) -> bool:
        """Whether documents can carry the numbers of their passages."""
        return self.schema.has_passages

    @property
    def has_searchable_text(self) -> bool:
        """Whether a query can tell the documents that have a text."""
        return self.content is not None and bool((self.schema.describe(self.content) or {}).get("indexed"))


def inspect(client: SolrClient, wanted: FieldNames, known: Collection | None = None) -> Collection:
    """Read what a collection offers.

    Args:
        client: Where it is.
        wanted: What it calls its fields.
        known: What was read before: the analysis of a field whose type has not changed is not asked again.

    Raises:
        SchemaError: Solr is too old, or there is no field of tokens and none for sketches.
    """
    version = read_version(client)
    version.require()
    schema = read_schema(client)
    with reading(client.url):
        return _inspect(client, wanted, version, schema, known)


def _inspect(
    client: SolrClient, wanted: FieldNames, version: Version, schema: Schema, known: Collection | None
) -> Collection:
    config = client.get("config").object("config")
    vector_handler = _vector_handler(
        config.object("requestHandler", is_optional=True), config.object("searchComponent", is_optional=True)
    )
    content = wanted.content if schema.describe(wanted.content) else None
    name = wanted.name if schema.describe(wanted.name) else None
    minhash = schema.fields.get(wanted.minhash)
    if minhash is None and not schema.has_sketches:
        raise SchemaError(
            f"{client.url} has no field {wanted.minhash!r} to hold fingerprints; "
            f"'whorl solr init {client.url}' adds it, or name another in whorl.toml"
        )
    chain = minhash_chain(schema.types[minhash["type"]]) if minhash else []
    scheme = _scheme(chain, profile_of(version.lucene))
    if minhash is None:
        spelling = Spelling.UNITS_4
    else:
        spelling = _spelling(chain) if chain else _spelling_seen(client, wanted.minhash)
    if minhash is None:
        profile, is_seen = scheme.profile, False
    elif (
        known is not None
        and known.has_minhash
        and (known.names.minhash, known.version) == (wanted.minhash, version)
        and (known.schema.types.get(known.schema.fields[wanted.minhash]["type"]) == schema.types[minhash["type"]])
    ):
        profile, is_seen = known.scheme.profile, known.profile_is_seen
    else:
        is_usual = _is_usual(chain)
        seen = is_usual and seen_profile(client, schema.key, wanted.minhash, scheme.shingle_size, scheme.profile)
        profile, is_seen = seen or scheme.profile, bool(seen)
    scheme = replace(scheme, profile=profile)
    return Collection(
        names=Names(
            key=schema.key,
            minhash=wanted.minhash,
            text=tuple(each for each in (name, content) if each),
            name=name if schema.is_stored(name) else None,
            scheme=scheme.name,
            spelling=spelling,
        ),
        schema=schema,
        dbid=_offered(wanted.dbid, schema),
        noderef=_offered(wanted.noderef, schema),
        content=content if schema.is_stored(content) else None,
        sources=_token_sources(minhash, schema.types, vector_handler, has_text=schema.is_stored(content)),
        spelling=spelling,
        scheme=scheme,
        vector_handler=vector_handler,
        version=version,
        profile_is_seen=is_seen,
    )


def names_in_use(client: SolrClient) -> set[str]:
    """Return the names of all fields that documents have, of every shard, those of dynamic fields too."""
    cores = client.cores(directly=False)
    answers = (core.get("admin/luke", numTerms=0, includeIndexFieldFlags="false") for core in cores)
    return {name for answer in answers for name in answer.object("fields")}


def described(name: str, fields: Mapping[str, Json], dynamic: Mapping[str, Json]) -> Json | None:
    """Return the properties of a field, or of the dynamic field that its name falls under, or None."""
    if name in fields:
        return fields[name]
    # Solr takes the longest pattern that fits.
    fitting = [pattern for pattern in dynamic if fnmatch.fnmatchcase(name, pattern)]
    return dynamic[max(fitting, key=len)] if fitting else None


def _offered(name: str, schema: Schema) -> str | None:
    """Return a field's name if the schema means it: one that takes any name does not tell that this one is used."""
    named = {pattern: field for pattern, field in schema.dynamic.items() if pattern != "*"}
    return name if described(name, schema.fields, named) else None


@dataclass(frozen=True, slots=True)
class Version:
    """The versions of a Solr and of the Lucene in it, `9.9.0` and `9.12.2`."""

    solr: str
    lucene: str

    @property
    def is_tried(self) -> bool:
        """Whether whorl's tests run on Solrs of this kind."""
        return numbers_of(self.solr) in _TRIED or numbers_of(self.solr)[:1] in _TRIED

    def require(self) -> None:
        """Refuse a Solr that lacks what every search needs.

        Raises:
            SchemaError: It is older than Solr 8.
        """
        if (0,) < numbers_of(self.solr) < _OLDEST:
            raise SchemaError(
                f"this is Solr {self.solr}, whose query parsers know no 'min_hash', so that nothing can be searched by "
                f"fingerprint; whorl needs Solr {_OLDEST[0]} or newer, and is tried with 8.11 and 9"
            )


def read_version(client: SolrClient) -> Version:
    """Return the version of a collection's Solr."""
    versions = client.get("admin/system").object("lucene")
    return Version(versions.text("solr-spec-version"), versions.text("lucene-spec-version"))


def numbers_of(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version, none where it has no such form.

    >>> numbers_of("8.11.4"), numbers_of("nightly")
    ((8, 11), ())
    """
    try:
        return tuple(int(part) for part in version.split(".")[:2])
    except ValueError:
        return ()


def profile_of(version: str) -> str:
    """Return the word-break profile of a Lucene version: its ICU's rules, which differ in colons and dictionaries."""
    numbers = numbers_of(version)
    if not numbers:
        return DEFAULT_PROFILE
    if numbers < (9, 11):
        return "icu70"
    return "icu74" if numbers < (10, 2) else "icu77"


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
    # In Solr 8 a filter of a class may have a parameter called name.
    return next((each for each in filters if each.get("class") in names or each.get("name") in names), None)


def minhash_filter(filters: list[Json]) -> Json | None:
    """Return the MinHash filter of a chain, or None."""
    return find_filter(filters, _MINHASH)


def truncate_filter(filters: list[Json]) -> Json | None:
    """Return the filter that cuts tokens, or None."""
    return find_filter(filters, _TRUNCATE)


def _is_usual(chain: list[Json]) -> bool:
    """Say whether an analysis, from its words on, does what whorl does: shingles, their hashes, and perhaps a cut."""
    shingle = find_filter(chain, _SHINGLE)
    if shingle is None or shingle.get("tokenSeparator", " ") != " ":
        return False
    words = (shingle.get("outputUnigrams", "true"), shingle.get("outputUnigramsIfNoShingles", "false"))
    if any(str(each).lower() == "true" for each in words):
        return False
    kinds = [next((kind for kind in _FROM_SHINGLES if find_filter([each], kind)), None) for each in chain]
    return kinds[chain.index(shingle) :] in ([_SHINGLE, _MINHASH], [_SHINGLE, _MINHASH, _TRUNCATE])


def _vector_handler(handlers: Mapping[str, Json], components: Mapping[str, Json]) -> str | None:
    """Return the path of a request handler that answers with term vectors, or None."""
    vector = {name for name, component in components.items() if "TermVectorComponent" in component.get("class", "")}
    for path, handler in handlers.items():
        used: list[Any] = [*handler.get("last-components", []), *handler.get("components", [])]
        if path.startswith("/") and vector.intersection(used):
            return path.removeprefix("/")
    return None


def _token_sources(
    minhash: Json | None, types: Mapping[str, Json], vector_handler: str | None, *, has_text: bool
) -> tuple[TokenSource, ...]:
    """Return the ways to a document's tokens, the cheapest and most exact first."""
    if minhash is None:
        return (TokenSource.TEXT,) if has_text else ()
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
    any_document = {"query": {"prefix": {"f": field, "query": ""}}, "limit": 1, "fields": listed([field])}
    found = client.select(any_document).documents
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
        raise SchemaError(f"the tokens are made under a scheme that whorl does not know: {error}") from error
