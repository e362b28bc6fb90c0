"""Uses MinHash fields that an index already had: finds them, tests their analyzers, and makes tokens for queries.

Server releases break words differently, and some ignore options of the MinHash filter. So whorl compares the cluster's
tokens of sample texts with its own tokens. If they are equal, whorl makes the tokens of a text itself; otherwise the
cluster makes them. whorl reads the tokens of documents as term vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from whorl.arrays_and_batches import batches
from whorl.engine.configured_fields import FieldNames
from whorl.engine.index_terms import PROBE
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.create_index import field_definition
from whorl.engine.opensearch.document_fields import ID, MINHASH, OWN, Json, text_in
from whorl.errors import EngineResponseError, ParameterError, SchemaError
from whorl.fingerprint.fingerprint_texts import sign
from whorl.fingerprint.minhash.signature_and_tokens import Signature, TokenEncoding, combine_values, from_distinct
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.words.tokenizer import DEFAULT_PROFILE, PROFILES
from whorl.query.plan.fields_and_values import Fields
from whorl.query.plan.nodes import Kind

_ANALYZER, _FILTER = "index.analysis.analyzer.", "index.analysis.filter."
#: Sample text with so many shingles that the number of its tokens identifies the scheme.
LONG_PROBE = " ".join(f"word{number}" for number in range(3000))
#: Encodings of whole and truncated tokens, keyed by the length of a token in UTF-16 units.
_ENCODINGS = {8: TokenEncoding.UNITS_8, 4: TokenEncoding.UNITS_4}
#: Number of words in a short sample text: its few shingles nearly always fall into different buckets, so the text has
#: one token per shingle.
_PROBE_WORDS = 12


@dataclass(frozen=True, slots=True)
class MinHashField:
    """A field of MinHash tokens in the mapping and the settings of an index.

    Args:
        name: Full name in the mapping, such as `object.field.subfield`.
        text_field: Field that has the text in a document: the token field itself, or its parent.
        options: Arguments of `Scheme`, from the options of the filters.
        rotation: Whether the filter fills empty buckets with repeated tokens.
        has_vectors: Whether the index stores term vectors. If not, the cluster computes them from the source.
    """

    name: str
    text_field: str
    options: Mapping[str, Any]
    rotation: bool
    has_vectors: bool

    def scheme(self, **options: Any) -> Scheme:
        """Return the scheme of the field's tokens, changed by `options`; raise SchemaError if it is unsupported."""
        try:
            return Scheme(**{**self.options, **options})
        except ParameterError as error:
            raise SchemaError(f"the tokens of {self.name!r} are of a kind that whorl does not read: {error}") from error


@dataclass(frozen=True, slots=True)
class TokenField:
    """Result of `probe_field`: the properties of a field of MinHash tokens that sample texts reveal.

    Args:
        text_field: Field that has the text in a document.
        scheme, encoding: Scheme and encoding of the tokens of the sample texts.
        is_made_by_whorl: Whether whorl makes the same tokens from the sample texts as the cluster. If not, whorl lets
            the cluster make all tokens.
        is_sorted: Whether the cluster can sort hits by `_id`, which Elasticsearch forbids by default.
    """

    name: str
    text_field: str
    scheme: Scheme
    encoding: TokenEncoding
    is_made_by_whorl: bool
    is_sorted: bool


def minhash_fields(mapping: Json, settings: Mapping[str, Any]) -> list[MinHashField]:
    """Return the fields of an index whose analyzer makes MinHash tokens; `settings` are from `IndexClient.settings`."""
    analyzers = dict(_analyzers(settings))
    return [
        MinHashField(name, text_field, *analyzers[field["analyzer"]], field.get("term_vector", "no") != "no")
        for name, (text_field, field) in _flatten(mapping)
        if field.get("analyzer") in analyzers
    ]


def choose_field(fields: Iterable[MinHashField], wanted: str) -> MinHashField | None:
    """Return the MinHash field that FINGERPRINT uses: the configured or the only field; None if there is none."""
    by_name = {field.name: field for field in fields}
    if wanted in by_name or len(by_name) < 2:
        return by_name.get(wanted, next(iter(by_name.values()), None))
    problem = f"{' and '.join(map(repr, sorted(by_name)))} hold MinHash tokens"
    raise SchemaError(f"{problem}; name the one to ask in whorl.toml: [fields] minhash")


def probe_field(client: IndexClient, field: MinHashField) -> TokenField:
    """Determine from sample texts how a field makes tokens; raise SchemaError if the tokens are unreadable."""
    tokens = client.terms_of(LONG_PROBE, field.text_field, field.name)
    units = max((len(token.encode("utf-16-be")) // 2 for token in tokens), default=0)
    # Some releases ignore bucket_count and hash_set_size, so also try the scheme with the default values.
    schemes = field.scheme(), field.scheme(bucket_count=512, hash_set_size=1)
    scheme = next((scheme for scheme in schemes if token_count(scheme) == len(tokens)), None)
    encoding = _ENCODINGS.get(units)
    if encoding is None or scheme is None:
        problem = f"{field.name!r} makes {len(tokens):,} tokens of {units} units of a long text"
        expected = f"{token_count(field.scheme()):,} of 8, or of 4"
        raise SchemaError(f"{problem}, where its filter says {expected}: whorl cannot read them")
    short_probes = map(" ".join, batches(PROBE.split(), _PROBE_WORDS))
    made = {text: client.terms_of(text, field.text_field, field.name).keys() for text in short_probes}

    def is_same(candidate: Scheme) -> bool:
        return all(tokens == set(sign(text, candidate, encoding).tokens) for text, tokens in made.items())

    profiles = sorted(PROFILES, key=lambda name: name != DEFAULT_PROFILE)
    same = next(filter(is_same, (replace(scheme, profile=profile) for profile in profiles)), None)
    return TokenField(field.name, field.text_field, same or scheme, encoding, same is not None, _sorts_by_id(client))


def _sorts_by_id(client: IndexClient) -> bool:
    with suppress(EngineResponseError):
        client.hits({"query": {"match_all": {}}, "size": 1, "sort": [{"_id": "asc"}], "_source": False})
        return True
    return False


def token_count(scheme: Scheme) -> int:
    return len(set(sign(LONG_PROBE, scheme).integers))


def _analyzers(settings: Mapping[str, Any]) -> Iterator[tuple[str, tuple[dict[str, int], bool]]]:
    """Yield each analyser that makes MinHash tokens, with `options` and `rotation` for a `MinHashField`."""
    for key, value in settings.items():
        if not (key.startswith(_ANALYZER) and key.endswith(".filter")):
            continue
        filters = [_filter(settings, name) for name in (value if isinstance(value, list) else [value])]
        types = [options.get("type") for options in filters]
        if "min_hash" not in types:
            continue
        at = types.index("min_hash")
        # If an option is missing, Lucene uses its default.
        defaults = {"hash_count": 1, "bucket_count": 512, "hash_set_size": 1}
        options = {name: int(filters[at].get(name, default)) for name, default in defaults.items()}
        # If no shingle filter comes before the MinHash filter, each shingle is a single word.
        shingle = filters[types.index("shingle")] if "shingle" in types[:at] else {"max_shingle_size": 1}
        options["shingle_size"] = int(shingle.get("max_shingle_size", 2))
        rotates = str(filters[at].get("with_rotation", options["bucket_count"] > 1)).lower() == "true"
        yield key.removeprefix(_ANALYZER).removesuffix(".filter"), (options, rotates)


def _filter(settings: Mapping[str, Any], name: str) -> Json:
    """Return the settings of a filter. A built-in filter has no settings, and its name is its type."""
    prefix = f"{_FILTER}{name}."
    options = {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}
    return options or {"type": name}


def _flatten(mapping: Json, prefix: str = "") -> Iterator[tuple[str, tuple[str, Json]]]:
    """For each field and subfield, yield its full name, the document field with its text, and its mapping."""
    for key, field in mapping.get("properties", {}).items():
        name = f"{prefix}{key}"
        yield name, (name, field)
        yield from ((f"{name}.{subfield}", (name, inner)) for subfield, inner in field.get("fields", {}).items())
        yield from _flatten(field, f"{name}.")


_AT_ONCE = 200


class IndexTokens(NamedTuple):
    """MinHash tokens of an index.

    Args:
        foreign: Reader of the cluster's tokens; None if the index has whorl's fields, or no MinHash field.
        has_own: Whether FINGERPRINT looks up whorl's tokens; also True if the index has neither whorl's fields nor a
            MinHash field.
    """

    foreign: ForeignSignatures | None
    has_own: bool


def read_index_tokens(client: IndexClient, names: FieldNames) -> IndexTokens:
    """Find out which MinHash tokens an index has. An index that does not exist yet will have whorl's tokens.

    Raises:
        SchemaError: Several token fields or indexes exist, but the settings name none of them; or whorl cannot read the
            tokens.
    """
    try:
        mapping = client.mapping(OWN)
        if mapping is None or field_definition(mapping, ID):
            return IndexTokens(None, has_own=mapping is None or bool(field_definition(mapping, MINHASH)))
        mapping, settings = client.mapping() or {}, client.settings()
    except EngineResponseError as error:
        # Searches do not need the mapping, and the user may have only the right to search, so go on without it.
        if error.status == 403:
            return IndexTokens(None, has_own=True)
        raise
    field = choose_field(minhash_fields(mapping, settings), names.minhash)
    fields = (name for name, _ in _flatten(mapping))
    foreign = ForeignSignatures(client, names, probe_field(client, field), fields) if field else None
    return IndexTokens(foreign, has_own=foreign is None)


class ForeignSignatures:
    """Makes the signatures of documents and texts for a MinHash field that the index already has."""

    def __init__(self, client: IndexClient, names: FieldNames, field: TokenField, fields: Iterable[str]) -> None:
        self._client, self._names, self.field = client, names, field
        self.scheme = field.scheme
        # List the index's fields, so that a clause on such a field gets a better error than for an unknown field.
        known = {name: {Kind.TEXT: name, Kind.KEYWORD: name} for name in fields}
        self.fields = Fields({**known, "id": {Kind.KEYWORD: "id"}}, profile=field.scheme.profile)

    def sign(self, text: str) -> Signature:
        if self.field.is_made_by_whorl:
            return sign(text, self.scheme, self.field.encoding)
        repeats = self._client.terms_of(text, self.field.text_field, self.field.name) if text else {}
        return self._recover_signature(repeats, order_matters=True)

    def signatures(self, needs_order: Mapping[str, bool]) -> dict[str, Signature]:
        """Return the signatures of documents, keyed by id; `Engine.signatures` describes `needs_order`."""
        signatures, unsure = dict[str, Signature](), dict[str, set[str]]()
        for ids in batches(needs_order, _AT_ONCE):
            for document_id, repeats in self._client.term_vectors(ids, self.field.name).items():
                signatures[document_id] = self._recover_signature(repeats, order_matters=needs_order[document_id])
                if not repeats or not signatures[document_id].is_exact:
                    unsure[document_id] = set(repeats)
        # If the tokens do not determine a signature, compute it from the text. Ignore a text that has other tokens,
        # because it has changed in the meantime.
        for document_id, text in read_texts(self._client, self._names, unsure).items():
            made = self.sign(text)
            if text and (not unsure[document_id] or unsure[document_id] == set(made.tokens)):
                signatures[document_id] = made
        return signatures

    def _recover_signature(self, repeats: Mapping[str, int], *, order_matters: bool) -> Signature:
        """Return the signature of a document or text from its tokens and their frequencies."""
        repeats, has_repeats = combine_values(repeats, self.scheme)
        options = {"has_repeats": has_repeats, "order_matters": order_matters}
        return from_distinct(repeats, self.scheme, self.field.encoding, **options)


def read_texts(client: IndexClient, names: FieldNames, ids: Collection[str]) -> dict[str, str]:
    """Return the texts of existing documents, keyed by id, including empty texts."""
    hits = client.documents(list(ids), [names.content])
    return {document_id: text_in(hit.get("_source", {}), names) for document_id, hit in hits.items()}
