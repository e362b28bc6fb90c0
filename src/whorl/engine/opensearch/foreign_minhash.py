"""MinHash fields that whorl did not set up in an OpenSearch index: find them, and compute signatures as they do.

The mapping describes the intended tokens of a field. To find the actual ones, whorl requests the tokens of some texts
from the cluster and compares them with its own tokens of these texts. Releases differ in word breaks, and some ignore
options of the filter.

The tokens of documents come as term vectors. The tokens of a text come from whorl if it makes the same ones, otherwise
from the cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from whorl.engine.lucene import PROBE
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.documents import ID, OWN, Json, text_in
from whorl.engine.opensearch.setup import described
from whorl.engine.setup import FieldNames
from whorl.errors import EngineResponseError, ParameterError, SchemaError
from whorl.fingerprint.batch import signature
from whorl.fingerprint.minhash.codec import Spelling
from whorl.fingerprint.minhash.signature import Signature, from_distinct, sign, smallest_in_buckets
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.tokenizer import DEFAULT_PROFILE, PROFILES
from whorl.query.plan.fields import Fields
from whorl.query.plan.nodes import Kind

_ANALYZER, _FILTER = "index.analysis.analyzer.", "index.analysis.filter."
#: Enough distinct words to fill every bucket, directly or by rotation; the number of its tokens reveals the scheme.
LONG_PROBE = " ".join(f"word{number}" for number in range(3000))
#: Spelling by UTF-16 units of a token: whole, or truncated to half.
_SPELLINGS = {8: Spelling.UNITS_8, 4: Spelling.UNITS_4}
#: Words of a short probe: its shingles are fewer than the buckets of even small schemes, so each shingle leaves a
#: token.
_PROBE_WORDS = 12


@dataclass(frozen=True, slots=True)
class MinHashField:
    """Field of MinHash tokens as described by mapping and settings.

    Args:
        name: The field's name; a dot leads into an object or to a subfield.
        place: The field of a document that contains the text: the field itself, or its parent.
        hash_count: Number of hash functions of the filter.
        bucket_count: Number of buckets.
        hash_set_size: Hashes kept per bucket.
        shingle_size: Words in a shingle; 1 if the filter gets words.
        rotation: Whether empty buckets are filled.
        has_vectors: Whether the index stores term vectors, so that no source is needed.
    """

    name: str
    place: str
    hash_count: int
    bucket_count: int
    hash_set_size: int
    shingle_size: int
    rotation: bool
    has_vectors: bool = False

    @property
    def scheme(self) -> Scheme:
        """The described scheme, without rotation, which only repeats tokens; plans count the repeats in any case.

        Raises:
            SchemaError: whorl has no equivalent scheme.
        """
        try:
            return Scheme(
                shingle_size=self.shingle_size,
                bucket_count=self.bucket_count,
                hash_count=self.hash_count,
                hash_set_size=self.hash_set_size,
            )
        except ParameterError as error:
            raise SchemaError(f"the tokens of {self.name!r} are of a kind that whorl does not read: {error}") from error


@dataclass(frozen=True, slots=True)
class TokenField:
    """Field of MinHash tokens as found by probing the cluster.

    Args:
        name: The field's name.
        place: The field of a document that contains the text.
        scheme: The scheme of its tokens.
        spelling: The encoding of its tokens.
        is_ours: Whether whorl makes the same tokens; otherwise the cluster must make the tokens of a text.
        is_sorted: Whether the cluster sorts hits by `_id`; Elasticsearch does so only if that is enabled.
    """

    name: str
    place: str
    scheme: Scheme
    spelling: Spelling
    is_ours: bool
    is_sorted: bool


def minhash_fields(there: Json, settings: Mapping[str, Any]) -> list[MinHashField]:
    """Return the fields of an index that hold MinHash tokens.

    Args:
        there: The mapping.
        settings: The settings by their full names.
    """
    analyzers = dict(_analyzers(settings))
    return [
        replace(
            analyzers[field["analyzer"]], name=name, place=place, has_vectors=field.get("term_vector", "no") != "no"
        )
        for name, (place, field) in _flat(there)
        if field.get("analyzer") in analyzers
    ]


def choose_field(found: Iterable[MinHashField], wanted: str) -> MinHashField | None:
    """Return the field that FINGERPRINT uses: the one with the given name, or the only one.

    Raises:
        SchemaError: There are several fields, and none has this name.
    """
    by_name = {each.name: each for each in found}
    if wanted in by_name or len(by_name) < 2:
        return by_name.get(wanted, next(iter(by_name.values()), None))
    raise SchemaError(
        f"{' and '.join(map(repr, sorted(by_name)))} hold MinHash tokens; name the one to ask in whorl.toml: "
        "[fields] minhash"
    )


def probe_field(client: IndexClient, field: MinHashField) -> TokenField:
    """Return the description of a field's actual tokens, found by probing the cluster with some texts.

    Raises:
        SchemaError: The tokens are of a kind that whorl does not read.
    """
    tokens = client.terms_of(LONG_PROBE, field.place, field.name)
    units = max((len(token.encode("utf-16-be")) // 2 for token in tokens), default=0)
    spelling, scheme = _SPELLINGS.get(units), probed_scheme(field, len(tokens))
    if spelling is None or scheme is None:
        raise SchemaError(
            f"{field.name!r} makes {len(tokens):,} tokens of {units} units of a long text, where its filter says "
            f"{token_count(field.scheme):,} of 8, or of 4: whorl cannot read them"
        )
    made = {text: client.terms_of(text, field.place, field.name).keys() for text in _short_probes()}
    is_sorted = _sorts_by_id(client)
    for profile in sorted(PROFILES, key=lambda each: each != DEFAULT_PROFILE):
        own = replace(scheme, profile=profile)
        if all(tokens == set(sign(text, own, spelling).tokens) for text, tokens in made.items()):
            return TokenField(field.name, field.place, own, spelling, is_ours=True, is_sorted=is_sorted)
    return TokenField(field.name, field.place, scheme, spelling, is_ours=False, is_sorted=is_sorted)


def _sorts_by_id(client: IndexClient) -> bool:
    try:
        client.hits({"query": {"match_all": {}}, "size": 1, "sort": [{"_id": "asc"}], "_source": False})
    except EngineResponseError:
        return False
    return True


def token_count(scheme: Scheme) -> int:
    """Return the number of distinct tokens of the long probe under a scheme."""
    return len(set(sign(LONG_PROBE, scheme).integers))


def probed_scheme(field: MinHashField, count: int) -> Scheme | None:
    """Return the scheme under which the long probe has `count` distinct tokens, or None.

    It is either the described scheme, or that of releases that ignore bucket_count and hash_set_size.
    """
    ignored = replace(field, bucket_count=512, hash_set_size=1).scheme
    return next((each for each in (field.scheme, ignored) if token_count(each) == count), None)


def _short_probes() -> list[str]:
    words = PROBE.split()
    return [" ".join(words[at : at + _PROBE_WORDS]) for at in range(0, len(words), _PROBE_WORDS)]


def _analyzers(settings: Mapping[str, Any]) -> Iterator[tuple[str, MinHashField]]:
    """Yield the analysers that make MinHash tokens, each with the description of a field that uses it."""
    for key, value in settings.items():
        if not (key.startswith(_ANALYZER) and key.endswith(".filter")):
            continue
        chain = [_filter(settings, name) for name in (value if isinstance(value, list) else [value])]
        at = next((at for at, each in enumerate(chain) if each.get("type") == "min_hash"), None)
        if at is None:
            continue
        # Options that are not set have Lucene's defaults.
        options = {"hash_count": 1, "bucket_count": 512, "hash_set_size": 1} | chain[at]
        functions, buckets, kept = (int(options[name]) for name in ("hash_count", "bucket_count", "hash_set_size"))
        rotates = str(options.get("with_rotation", buckets > 1)).lower() == "true"
        shingles = next((each for each in chain[:at] if each.get("type") == "shingle"), None)
        size = int(shingles.get("max_shingle_size", 2)) if shingles else 1
        yield (
            key.removeprefix(_ANALYZER).removesuffix(".filter"),
            MinHashField("", "", functions, buckets, kept, size, rotates),
        )


def _filter(settings: Mapping[str, Any], name: str) -> Json:
    """Return the settings of a filter; for a filter without settings, its name is its type."""
    prefix = f"{_FILTER}{name}."
    own = {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}
    return own or {"type": name}


def field_names(there: Json) -> list[str]:
    """Return the names of all fields of a mapping."""
    return [name for name, _ in _flat(there)]


def _flat(there: Json, above: str = "") -> Iterator[tuple[str, tuple[str, Json]]]:
    """Yield all field names, each with the document's field that has its values and with its mapping."""
    for key, field in there.get("properties", {}).items():
        name = f"{above}{key}"
        yield name, (name, field)
        yield from ((f"{name}.{beside}", (name, each)) for beside, each in field.get("fields", {}).items())
        yield from _flat(field, f"{name}.")


#: Documents per request.
_AT_ONCE = 200


def foreign_tokens(client: IndexClient, names: FieldNames) -> ForeignTokens | None:
    """Return the reader of an index's own MinHash tokens; None if it has whorl's fields or no such tokens.

    Raises:
        SchemaError: There are several token fields and none is configured, or whorl cannot read their tokens.
    """
    try:
        there = client.mapping(OWN)
        if there is None or described(there, ID):
            return None
        there, settings = client.mapping() or {}, client.settings()
    except (EngineResponseError, SchemaError) as error:
        # The name is an alias of several indexes, or the user may not read the mapping: searches still work in both
        # cases.
        if isinstance(error, SchemaError) or error.status == 403:
            return None
        raise
    field = choose_field(minhash_fields(there, settings), names.minhash)
    return ForeignTokens(client, names, probe_field(client, field), field_names(there)) if field else None


class ForeignTokens:
    """Signatures of documents and texts by a cluster's own MinHash tokens.

    Args:
        client: Client of the index.
        names: The index's names for the parts of a document.
        field: The token field.
        others: Names of all fields.
    """

    def __init__(self, client: IndexClient, names: FieldNames, field: TokenField, others: Iterable[str]) -> None:
        self._client, self._names, self.field = client, names, field
        self.scheme = field.scheme
        # A clause on these fields is refused when it is sent, with a more helpful message than that of an unknown
        # field.
        known = {name: {Kind.TEXT: name, Kind.KEYWORD: name} for name in others}
        self.fields = Fields({**known, "id": {Kind.KEYWORD: "id"}}, profile=field.scheme.profile)

    def sign(self, text: str) -> Signature:
        """Return the signature that a text would have in the index."""
        if self.field.is_ours:
            return signature(text, self.scheme, self.field.spelling)
        repeats = self._client.terms_of(text, self.field.place, self.field.name) if text else {}
        return self._recovered(repeats, order_matters=True)

    def signatures(self, wanted: Mapping[str, bool]) -> dict[str, Signature]:
        """Return the signatures of existing documents, by id.

        Args:
            wanted: Ids, each with whether the order of its tokens matters.
        """
        ids, found, unsure = list(wanted), dict[str, Signature](), dict[str, set[str]]()
        for at in range(0, len(ids), _AT_ONCE):
            for document_id, repeats in self._client.term_vectors(ids[at : at + _AT_ONCE], self.field.name).items():
                found[document_id] = self._recovered(repeats, order_matters=wanted[document_id])
                if not repeats or not found[document_id].is_exact:
                    unsure[document_id] = set(repeats)
        # If the index has lost tokens or kept none, the text may provide them, unless it has changed since it was
        # indexed.
        for document_id, text in self._texts(unsure).items():
            made = self.sign(text)
            if not unsure[document_id] or unsure[document_id] == set(made.tokens):
                found[document_id] = made
        return found

    def _recovered(self, repeats: Mapping[str, int], *, order_matters: bool) -> Signature:
        # Each value of a text has its own tokens; all values together have one fingerprint.
        smallest = smallest_in_buckets(repeats, self.scheme)
        has_several = len(smallest) < len(repeats)
        return from_distinct(
            dict.fromkeys(smallest, 1) if has_several else repeats,
            self.scheme,
            self.field.spelling,
            has_repeats=not has_several,
            order_matters=order_matters,
        )

    def _texts(self, ids: Collection[str]) -> dict[str, str]:
        found = self._client.documents(list(ids), [self._names.content])
        return {each: text for each, hit in found.items() if (text := text_in(hit.get("_source", {}), self._names))}
