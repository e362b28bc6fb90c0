"""Reads a Solr collection's schema and configuration, to determine how it can be searched by fingerprint.

`inspect` reads the version, the schema and the configuration, and determines where the tokens of a document are and how
they are encoded. `detect_profile` detects the word-break profile with the handler `/analysis/document`.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal
from xml.sax.saxutils import escape

from whorl.engine.check_findings import version_numbers
from whorl.engine.configured_fields import SAMPLE_SIZE, FieldNames, TextField, rank_text_fields
from whorl.engine.index_terms import PROBE
from whorl.engine.server_engine import guard_response
from whorl.engine.solr.client import Json, SolrClient, escape_field_names, first_text, term_vectors, whole_text
from whorl.engine.solr.field_definitions import PASSAGES, SKETCH_FIELDS, SPLIT_PATTERN, passage_scheme, scheme_value
from whorl.engine.solr.request_body import SolrFields, exists
from whorl.errors import EngineError, ParameterError, SchemaError
from whorl.fingerprint.minhash.signature_and_tokens import ALFRESCO_TOKEN, TokenEncoding
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.fingerprint.words.tokenizer import DEFAULT_PROFILE, PROFILES, tokens
from whorl.query.plan.fields_and_values import LARGEST_INTEGER
from whorl.query.plan.nodes import Kind

#: Tokenizers whose tokens are the words of a text, and filters that cut, join or drop words (see `_component_name`).
_WORD_TOKENIZERS = frozenset(
    {"standard", "icu", "classic", "uax29urlemail", "thai", "japanese", "korean", "hmmchinese"}
)
_ALTERING_FILTERS = frozenset(
    {"ngram", "edgengram", "worddelimiter", "worddelimitergraph", "shingle", "keepword", "minhash"}
    | {"fingerprint", "concatenategraph", "limittokencount", "limittokenoffset", "limittokenposition", "truncate"}
)
#: Part of a message about a field whose index has stems instead of words.
STEMS = "the index of {!r} has stems of words, with which patterns and similar words are compared"
#: Oldest Solr version with the query parser `min_hash`.
_OLDEST = (8,)
#: Parameters of MinHashFilterFactory with their defaults.
_PARAMETERS = {"bucketCount": 512, "hashCount": 1, "hashSetSize": 1}


class TokenSource(Enum):
    """Possible source of a document's MinHash tokens."""

    STORED = "a stored token field"
    TERM_VECTORS = "term vectors"
    DOC_VALUES = "a token field with docValues"
    TEXT = "the stored text, fingerprinted here"


#: Solr's field classes for each type of values, without the ending `Field`.
_CLASSES = {
    Kind.TEXT: "Text SortableText",
    Kind.KEYWORD: "Str UUID",
    Kind.INTEGER: "IntPoint LongPoint TrieInt TrieLong",
    Kind.FLOAT: "FloatPoint DoublePoint TrieFloat TrieDouble",
    Kind.DATE: "DatePoint TrieDate",
    Kind.BOOLEAN: "Bool",
}
_KINDS = {f"{name}Field": kind for kind, names in _CLASSES.items() for name in names.split()}


def kind_of(field: Json, types: Mapping[str, Json]) -> Kind | None:
    """Return the type of a field's values; None if the field is not searchable or has a type unknown to whorl."""
    field_type = types.get(field["type"], {})
    properties = {**field_type, **field}
    # Solr's default for `indexed` is true, so only an explicit false counts.
    if properties.get("indexed") is False and not properties.get("docValues"):
        return None
    return _KINDS.get(str(field_type.get("class", "")).rpartition(".")[2])


@dataclass(frozen=True, slots=True)
class Schema:
    """Fields, types and copyFields of a schema. An omitted property has Solr's default.

    `cut_copies` are the destinations of copyFields that copy only the beginning of a text (`maxChars`).
    """

    key: str
    fields: Mapping[str, Json]
    dynamic: Mapping[str, Json]
    types: Mapping[str, Json]
    copies: tuple[tuple[str, str], ...] = ()
    cut_copies: frozenset[str] = frozenset()

    def describe(self, name: str, *, without: str = "") -> Json | None:
        """Return the properties of a field, or of the dynamic field that fits its name; None if there is neither.

        Ignore the dynamic field with the pattern `without`.
        """
        if name in self.fields:
            return self.fields[name]
        # If several patterns match, Solr takes the longest.
        fitting = [pattern for pattern in self.dynamic if pattern != without and fnmatch.fnmatchcase(name, pattern)]
        return self.dynamic[max(fitting, key=len)] if fitting else None

    def type_of(self, name: str) -> Json:
        """Return the definition of a field's type; {} if there is no such field."""
        field = self.describe(name)
        return self.types.get(field["type"], {}) if field else {}

    def kind(self, name: str) -> Kind | None:
        """Return the type of a field's values; None if the field is missing, not searchable, or of an unknown type."""
        field = self.describe(name)
        return kind_of(field, self.types) if field else None

    def largest_integer(self, name: str) -> int | None:
        """Return the largest value that an integer field can hold; None if the field has no integers."""
        class_name = str(self.type_of(name).get("class", "")).rpartition(".")[2]
        if class_name in ("IntPointField", "TrieIntField"):
            return (1 << 31) - 1
        return LARGEST_INTEGER if class_name in ("LongPointField", "TrieLongField") else None

    def is_text(self, name: str) -> bool:
        return "TextField" in self.type_of(name).get("class", "")

    def word_field(self, content: str) -> str | None:
        """Return the field with the indexed words of a text field; None if no field has them.

        This is the text field itself, or the destination of a copyField for its whole text. Prefer a field whose
        analysis does not alter words, then the text field itself, then the field with the fewest sources.
        """
        copies = [copy for copy in self.copies if copy[1] not in self.cut_copies]
        copied = (destination for source, destination in copies if fnmatch.fnmatchcase(content, source))

        def rank(name: str) -> tuple[bool, bool, int]:
            return bool(self.altered_words(name)), name != content, len(self.sources(name))

        return min(filter(self._has_words, (content, *copied)), key=rank, default=None)

    @property
    def whole_copies(self) -> dict[str, str]:
        """String fields that hold whole values of text fields, keyed by the text field that the schema copies.

        A string field with copies of several fields is left out.
        """
        named = [copy for copy in self.copies if "*" not in "".join(copy) and copy[1] not in self.cut_copies]
        counts = {to: sum(fnmatch.fnmatchcase(to, pattern) for _, pattern in self.copies) for _, to in named}
        kinds = Kind.TEXT, Kind.KEYWORD
        return {source: to for source, to in named if counts[to] == 1 and (self.kind(source), self.kind(to)) == kinds}

    def _has_words(self, name: str) -> bool:
        field = self.describe(name) or {}
        is_indexed = field.get("indexed", True) and not field.get("omitTermFreqAndPositions")
        return bool(is_indexed and "*" not in name and self.is_text(name) and not minhash_chain(self.type_of(name)))

    def altered_words(self, name: str) -> str:
        """Return the tokenizer or filter of a field's index analysis that alters words, or "" if there is none."""
        analysis = analyzer(self.type_of(name), "index")
        tokenizer = _component_name(analysis.get("tokenizer", {}))
        if tokenizer and tokenizer not in _WORD_TOKENIZERS:
            return f"the tokenizer {tokenizer!r}"
        filters = map(_component_name, analysis.get("filters", []))
        return next((f"the filter {name!r}" for name in filters if name in _ALTERING_FILTERS), "")

    def has_stop_words(self, name: str) -> bool:
        """Check whether the analysis of queries for a field drops stop words."""
        filters = analyzer(self.type_of(name), "query").get("filters", [])
        return any(_component_name(options) in ("stop", "managedstop", "suggeststop") for options in filters)

    def has_stems(self, name: str) -> bool:
        """Check whether a field's index has stems instead of words."""
        filters = map(_component_name, analyzer(self.type_of(name), "index").get("filters", []))
        return any("stem" in filter_name or filter_name == "snowballporter" for filter_name in filters)

    def splits_names(self, name: str) -> bool:
        """Check whether a field's analysis also splits words at `_` and `.`."""
        filters = analyzer(self.type_of(name), "index").get("charFilters", [])
        return any(options.get("pattern") == SPLIT_PATTERN for options in filters)

    def is_stored(self, name: str | None) -> bool:
        """Check whether a field exists and Solr returns its values."""
        field = self.describe(name) if name else None
        return field is not None and bool(field.get("stored", True))

    def is_set_up(self, names: FieldNames) -> bool:
        """Check whether the schema has the text field and whorl's own fields."""
        return names.content in self.fields and (names.minhash in self.fields or self.has_sketches)

    def is_multivalued(self, name: str) -> bool:
        return bool((self.describe(name) or {}).get("multiValued"))

    @property
    def has_sketches(self) -> bool:
        """Whether all fields of a sketch have the properties in `SKETCH_FIELDS`; dynamic fields do not count."""
        return not self.sketch_defects

    @property
    def sketch_defects(self) -> list[tuple[str, str]]:
        """Missing properties of the sketch fields, as pairs of a field and a property from `SKETCH_FIELDS`."""
        wanted = [(name, own) for name, properties in SKETCH_FIELDS.items() for own in properties]
        return [(name, own) for name, own in wanted if not self.fields.get(name, {}).get(own)]

    @property
    def passage_scheme(self) -> PassageScheme | None:
        """Scheme of the passage field, None if it is missing; some documents may still lack passage hashes."""
        return passage_scheme(self.fields.get(PASSAGES, {}))

    def shingle_size(self, minhash: str) -> int:
        """Return the number of words per shingle in the token field, or whorl's default if the field does not exist."""
        field = self.fields.get(minhash)
        return _scheme(minhash_chain(self.types[field["type"]]) if field else [], DEFAULT_PROFILE).shingle_size

    def sources(self, destination: str) -> list[str]:
        return [source for source, copied_into in self.copies if copied_into == destination]


def read_schema(client: SolrClient) -> Schema:
    schema = client.get("schema")["schema"]
    fields = client.get("schema/fields", showDefaults="true")["fields"]
    dynamic = client.get("schema/dynamicfields", showDefaults="true")["dynamicFields"]
    return Schema(
        key=str(schema.get("uniqueKey", "id")),
        fields={str(field["name"]): field for field in fields},
        dynamic={str(field["name"]): field for field in dynamic},
        types={str(field_type["name"]): field_type for field_type in schema["fieldTypes"]},
        copies=tuple((str(copy["source"]), str(copy["dest"])) for copy in schema.get("copyFields", [])),
        cut_copies=frozenset(str(copy["dest"]) for copy in schema.get("copyFields", []) if copy.get("maxChars")),
    )


@dataclass(frozen=True, slots=True)
class SolrCollection:
    """Description of a core or collection, returned by `inspect`.

    Args:
        profile_is_seen: Whether the word-break profile comes from Solr's analysis of a sample text. If not, it is a
            guess from the Lucene version.
        dbid, noderef: Fields of Alfresco's node numbers and node references; None if the schema lacks them.
        content: Field of the texts; None if Solr does not return it.
        words: Field with the indexed words of the texts; None if no field has them.
        sources: Sources of a document's tokens, the cheapest and most exact source first.
        vector_handler: Path of a request handler that returns term vectors; None if there is none.
    """

    names: SolrFields
    schema: Schema
    dbid: str | None
    noderef: str | None
    content: str | None
    sources: tuple[TokenSource, ...]
    scheme: Scheme
    vector_handler: str | None
    version: SolrVersion
    profile_is_seen: bool = False
    words: str | None = None

    @property
    def has_minhash(self) -> bool:
        return self.names.minhash in self.schema.fields

    @property
    def sketch_schemes(self) -> str:
        """Value that a document must have in the field SCHEME, so that searches can use its sketch."""
        return scheme_value(self.scheme, SketchScheme())

    @property
    def returns_texts_as_sent(self) -> bool:
        """Whether Solr returns the texts exactly as sent, without values copied from other fields."""
        copied_into = [destination for _, destination in self.schema.copies]
        return self.content is not None and not any(fnmatch.fnmatchcase(self.content, name) for name in copied_into)

    @property
    def searchable_text(self) -> str | None:
        """The text field if it is indexed, so that queries can find documents with a text; otherwise None."""
        field = self.schema.describe(self.content) if self.content else None
        return self.content if field and field.get("indexed") else None


@guard_response
def inspect(client: SolrClient, names: FieldNames, known: SolrCollection | None = None) -> SolrCollection:
    """Read the schema and the configuration of a collection, and describe how to search it by fingerprint.

    `known` is an earlier description. If the type of the token field is the same, keep its word-break profile.

    Raises:
        SchemaError: Solr is too old, or the collection has neither a field of tokens nor the fields of sketches.
    """
    version = read_version(client)
    version.require()
    schema = read_schema(client)
    vector_handler = find_vector_handler(client.get("config")["config"])
    content = names.content if schema.is_stored(names.content) else None
    words = schema.word_field(names.content)
    name = names.name if schema.describe(names.name) else None
    minhash = schema.fields.get(names.minhash)
    if minhash is None and not schema.has_sketches:
        others = [repr(name) for name in schema.fields if minhash_chain(schema.type_of(name))]
        another = f", or write minhash = {others[0]} under [fields] in whorl.toml" if others else ""
        raise client.missing_field(f"{names.minhash!r} to hold fingerprints", another)
    chain = minhash_chain(schema.types[minhash["type"]]) if minhash else []
    scheme, encoding, is_seen = _scheme(chain, profile_of(version.lucene)), TokenEncoding.UNITS_4, False
    if minhash is not None:
        encoding = _encoding(chain) if chain else _detect_encoding(client, names.minhash)
        if known is not None and _has_same_analysis(known, names.minhash, version, schema):
            scheme, is_seen = replace(scheme, profile=known.scheme.profile), known.profile_is_seen
        elif _is_usual(chain):
            seen = detect_profile(client, schema.key, names.minhash, scheme.shingle_size, scheme.profile)
            scheme, is_seen = replace(scheme, profile=seen or scheme.profile), bool(seen)
    return SolrCollection(
        names=SolrFields(
            key=schema.key,
            minhash=names.minhash,
            text=tuple(filter(None, (name, words))),
            name=name if schema.is_stored(name) else None,
            scheme=scheme.name,
            token_encoding=encoding,
            has_fuzzy_parser=version.has_fuzzy_parser,
        ),
        schema=schema,
        dbid=names.dbid if schema.describe(names.dbid, without="*") else None,
        noderef=names.noderef if schema.describe(names.noderef, without="*") else None,
        content=content,
        sources=_token_sources(minhash, schema.types, vector_handler, has_text=content is not None),
        scheme=scheme,
        vector_handler=vector_handler,
        version=version,
        profile_is_seen=is_seen,
        words=words,
    )


def _has_same_analysis(known: SolrCollection, minhash: str, version: SolrVersion, schema: Schema) -> bool:
    if not known.has_minhash or (known.names.minhash, known.version) != (minhash, version):
        return False
    return known.schema.types.get(known.schema.fields[minhash]["type"]) == schema.types[schema.fields[minhash]["type"]]


def _luke_reports(client: SolrClient) -> Iterator[Json]:
    for core in client.cores(directly=False):
        yield core.get("admin/luke", numTerms=0, includeIndexFieldFlags="false")


def names_in_use(client: SolrClient) -> set[str]:
    return {name for report in _luke_reports(client) for name in report["fields"]}


def field_use(client: SolrClient, name: str) -> tuple[int, int, int]:
    """Count the documents, the documents with an indexed value in a field, and the deleted documents.

    The first number excludes deleted documents. The second number includes them until Solr removes them from its index.
    The request takes the same time for any number of documents.
    """
    documents = with_values = deleted = 0
    for report in _luke_reports(client):
        live = int(report["index"]["numDocs"])
        documents, deleted = documents + live, deleted + int(report["index"]["maxDoc"]) - live
        with_values += int(report["fields"].get(name, {}).get("docs", 0))
    return documents, with_values, deleted


def find_text_fields(client: SolrClient, schema: Schema, names: FieldNames) -> list[TextField]:
    """Return the stored text fields that have values, except the name field, sorted by amount of text (most first).

    Omit fields that are not indexed, because no query can count their documents.
    """
    fields = sorted(name for name in {*schema.fields, *names_in_use(client)} if _is_stored_text(name, schema))

    def count(fields: Sequence[str]) -> list[int]:
        return client.counts([exists(name)["lucene"]["query"] for name in fields])

    def sample(name: str) -> list[str]:
        return [whole_text(document.get(name)) for document in client.fetch(exists(name), [name], SAMPLE_SIZE)]

    return rank_text_fields(fields, names, count, sample)


def _is_stored_text(name: str, schema: Schema) -> bool:
    if name.startswith(("whorl_", "_")) or not (schema.is_text(name) and schema.is_stored(name)):
        return False
    return bool((schema.describe(name) or {}).get("indexed", True)) and not minhash_chain(schema.type_of(name))


@dataclass(frozen=True, slots=True)
class SolrVersion:
    """Versions of a Solr server and of its Lucene, for example `9.9.0` and `9.12.2`."""

    solr: str
    lucene: str

    @property
    def has_fuzzy_parser(self) -> bool:
        return version_numbers(self.solr) >= (9, 9)

    def require(self) -> None:
        """Raise SchemaError if Solr is older than 8: it lacks the query parser that every search needs."""
        if (0,) < version_numbers(self.solr) < _OLDEST:
            problem = f"this is Solr {self.solr}, whose query parsers know no 'min_hash'"
            needed = f"whorl needs Solr {_OLDEST[0]} or newer, and is tried with 8.11 and 9"
            raise SchemaError(f"{problem}, so that nothing can be searched by fingerprint; {needed}")


def read_version(client: SolrClient) -> SolrVersion:
    versions = client.get("admin/system")["lucene"]
    return SolrVersion(str(versions["solr-spec-version"]), str(versions["lucene-spec-version"]))


def profile_of(version: str) -> str:
    """Return the word-break profile of a Lucene version; versions differ in their release of ICU."""
    numbers = version_numbers(version)
    if not numbers:
        return DEFAULT_PROFILE
    if numbers < (9, 11):
        return "icu70"
    return "icu74" if numbers < (10, 2) else "icu77"


def analyzer(field_type: Json, side: Literal["index", "query"]) -> Json:
    """Return a field type's analysis for the index or for queries; some types have one analysis for both."""
    analysis: Json = field_type.get(f"{side}Analyzer") or field_type.get("analyzer") or {}
    return analysis


def minhash_chain(field_type: Json) -> list[Json]:
    """Return the filters of a field type's index analysis; an empty list if it makes no MinHash tokens."""
    filters = list(analyzer(field_type, "index").get("filters", []))
    return filters if find_filter(filters, "minhash") is not None else []


def _component_name(options: Json) -> str:
    """Return the short name of a tokenizer or filter in lower case, without endings such as `FilterFactory`."""
    # Prefer the class, because in Solr 8 a filter with a class may also have a parameter `name`.
    name = str(options.get("class") or options.get("name") or "").rpartition(".")[2]
    return re.sub(r"(?:tokenizer|(?:token)?filter)?(?:factory)?$", "", name.lower())


def find_filter(filters: list[Json], name: str) -> Json | None:
    return next((options for options in filters if _component_name(options) == name), None)


def _is_usual(chain: list[Json]) -> bool:
    """Check whether an analysis makes tokens like whorl: first shingles, then hashes, which may be truncated."""
    shingle = find_filter(chain, "shingle")
    if shingle is None or shingle.get("tokenSeparator", " ") != " ":
        return False
    words = (shingle.get("outputUnigrams", "true"), shingle.get("outputUnigramsIfNoShingles", "false"))
    if any(str(option).lower() == "true" for option in words):
        return False
    following = [_component_name(options) for options in chain[chain.index(shingle) + 1 :]]
    return following in (["minhash"], ["minhash", "truncate"])


def find_vector_handler(config: Json) -> str | None:
    """Return the path of a request handler that returns term vectors, without its first slash, or None."""
    vectors = set(vector_components(config.get("searchComponent", {})))
    for path, handler in config.get("requestHandler", {}).items():
        components = [*handler.get("last-components", []), *handler.get("components", [])]
        if path.startswith("/") and vectors.intersection(components):
            return str(path.removeprefix("/"))
    return None


def vector_components(components: Mapping[str, Json]) -> list[str]:
    return [name for name, component in components.items() if "TermVectorComponent" in component.get("class", "")]


def _token_sources(
    minhash: Json | None, types: Mapping[str, Json], vector_handler: str | None, *, has_text: bool
) -> tuple[TokenSource, ...]:
    """Return the available sources of tokens, the cheapest and most exact first."""
    if minhash is None:
        return (TokenSource.TEXT,) if has_text else ()
    # A string field stores the tokens; a text field would store the text instead.
    is_string = "StrField" in types[minhash["type"]]["class"]
    sources = {
        TokenSource.STORED: is_string and minhash.get("stored"),
        TokenSource.TERM_VECTORS: minhash.get("termVectors") and vector_handler,
        TokenSource.DOC_VALUES: is_string and minhash.get("docValues"),
        TokenSource.TEXT: has_text,
    }
    return tuple(source for source, is_available in sources.items() if is_available)


def _encoding(chain: list[Json]) -> TokenEncoding:
    """Return the encoding of the tokens that a filter chain makes; raise SchemaError for an unsupported length."""
    truncate = find_filter(chain, "truncate")
    if truncate is None:
        return TokenEncoding.UNITS_8
    if int(truncate.get("prefixLength", 5)) == 4:
        return TokenEncoding.UNITS_4
    problem = f"the tokens are cut to {truncate.get('prefixLength')} units"
    raise SchemaError(f"{problem}; whorl reads tokens of 4 units (prefixLength=4) or whole ones")


def _detect_encoding(client: SolrClient, field: str) -> TokenEncoding:
    """Detect from one document how another program encodes the tokens of a field."""
    documents = client.fetch({"prefix": {"f": field, "query": ""}}, [field], 1)
    token = first_text(documents[0].get(field)) if documents else ""
    # If no token is readable, assume that Alfresco fills the field.
    if not token or ALFRESCO_TOKEN.fullmatch(token):
        return TokenEncoding.HEX
    return TokenEncoding.UNITS_4 if len(token.encode("utf-16-be")) == 8 else TokenEncoding.UNITS_8


def _scheme(chain: list[Json], profile: str) -> Scheme:
    minhash, shingle = find_filter(chain, "minhash"), find_filter(chain, "shingle")
    if minhash is None or shingle is None:
        return Scheme(profile=profile)
    smallest, largest = int(shingle.get("minShingleSize", 2)), int(shingle.get("maxShingleSize", 2))
    if smallest != largest:
        message = f"shingles have {smallest} to {largest} words; whorl works with one size (5 and 5 in its own schema)"
        raise SchemaError(message)
    buckets, functions, hashes = (int(minhash.get(name, usual)) for name, usual in _PARAMETERS.items())
    try:
        # Ignore the option `withRotation`: it only repeats tokens in empty buckets, and plans count repeated tokens.
        return Scheme(profile, largest, buckets, functions, hashes)
    except ParameterError as error:
        raise SchemaError(f"the tokens are made under a scheme that whorl does not know: {error}") from error


#: Part of the class name of the filter that makes shingles.
_SHINGLES = "ShingleFilter"


def detect_profile(client: SolrClient, key: str, field: str, shingle_size: int, expected: str) -> str | None:
    """Find the word-break profile that splits text into the same words as a field's analysis.

    Try `expected` first. Return None if no profile gives the same words, or if the handler is not available. The sample
    texts are shorter than a shingle, because Solr returns the tokens of all stages, and the MinHash filter would add
    hundreds of tokens for each shingle.
    """
    texts = list(_short_texts(shingle_size))
    documents = "".join(
        f'<doc><field name="{escape(key)}">{number}</field><field name="{escape(field)}">{escape(text)}</field></doc>'
        for number, text in enumerate(texts)
    )
    try:
        words = _words_of_analysis(client, f"<docs>{documents}</docs>", field, texts)
    except EngineError:
        return None
    profiles = sorted(PROFILES, key=lambda profile: profile != expected)
    return next((profile for profile in profiles if words == [list(tokens(text, profile)) for text in texts]), None)


def _short_texts(shingle_size: int) -> Iterator[str]:
    """Cut the sample text at blanks into texts of fewer words than a shingle; a piece without blanks stays whole."""
    text = ""
    for piece in PROBE.split():
        longer = f"{text} {piece}".strip()
        if text and max(len(list(tokens(longer, profile))) for profile in PROFILES) >= min(shingle_size, 5):
            yield text
            longer = piece
        text = longer
    yield text


def drops_all_words(client: SolrClient, field: str, text: str) -> bool:
    """Check whether the analysis of a query leaves no words of a text; False if Solr does not answer."""
    try:
        return not _tokens_of_query(client, field, text)
    except EngineError:
        return False


@guard_response
def _tokens_of_query(client: SolrClient, field: str, text: str) -> list[Json]:
    parameters = {"analysis.fieldname": field, "analysis.query": text}
    stages = client.get("analysis/field", **parameters)["analysis"]["field_names"][field]["query"]
    # The list alternates: class of a stage, tokens of this stage, class of the next stage, and so on.
    return list(stages[-1])


@guard_response
def _words_of_analysis(client: SolrClient, documents: str, field: str, texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each text: the tokens of the last analysis stage before the shingles."""
    analysis = client.post_xml("analysis/document", documents)["analysis"]
    words = []
    for number, text in enumerate(texts):
        # The list alternates: class of a stage, tokens of this stage, class of the next stage, and so on.
        stages = analysis[str(number)][field]["index"][text]
        shingles = [at for at, stage in enumerate(stages) if isinstance(stage, str) and stage.endswith(_SHINGLES)]
        words.append([str(token["text"]) for token in stages[shingles[0] - 1]])
    return words


def select_tokens(client: SolrClient, collection: SolrCollection, body: Json, fields: Iterable[str]) -> list[Json]:
    """Return the documents that a request selects, each with its id, the given fields and its tokens.

    The token field has the tokens, with frequencies if they come from term vectors. If the text is the only source of
    tokens, the documents have no tokens.
    """
    source, key, minhash = collection.sources[0], collection.names.key, collection.names.minhash
    stored = [minhash] if source in (TokenSource.STORED, TokenSource.DOC_VALUES) else []
    body = {**body, "fields": escape_field_names(dict.fromkeys([key, *fields, *stored]))}
    if source is not TokenSource.TERM_VECTORS:
        return client.select(body).documents
    options = {"tv": "true", "tv.fl": minhash, "tv.tf": "true", "json.nl": "map"}
    selected = client.select(body, str(collection.vector_handler), **options)
    vectors = term_vectors(selected.answer, minhash)
    return [{**document, minhash: vectors.get(str(document[key]), {})} for document in selected.documents]
