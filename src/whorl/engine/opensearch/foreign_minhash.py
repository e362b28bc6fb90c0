"""MinHash fields that a cluster fills by itself: detection, and the scheme of their tokens.

The mapping describes the intended tokens of a field. To find the actual ones, whorl requests the tokens of some texts
from the cluster and compares them with its own tokens of these texts. Releases differ in word breaks, and some ignore
options of the filter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from whorl.engine.findings import PROBE
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.fields import Json
from whorl.errors import EngineResponseError, ParameterError, SchemaError
from whorl.fingerprint.minhash.codec import Spelling
from whorl.fingerprint.minhash.signature import sign
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.tokenizer import DEFAULT_PROFILE, PROFILES

_ANALYZER, _FILTER = "index.analysis.analyzer.", "index.analysis.filter."
#: Enough distinct words to fill every bucket, directly or by rotation; the number of its tokens reveals the scheme.
LONG_PROBE = " ".join(f"word{number}" for number in range(3000))
#: Spelling by UTF-16 units of a token: whole, or truncated to half.
_SPELLINGS = {8: Spelling.UNITS_8, 4: Spelling.UNITS_4}
#: Words of a short probe: its shingles are fewer than the buckets of even small schemes, so each shingle leaves a
#: token.
_PROBE_WORDS = 12


@dataclass(frozen=True, slots=True)
class Described:
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


def described_fields(there: Json, settings: Mapping[str, Any]) -> list[Described]:
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


def chosen(found: Iterable[Described], wanted: str) -> Described | None:
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


def shown(client: IndexClient, field: Described) -> TokenField:
    """Return the description of a field's actual tokens, found by probing the cluster with some texts.

    Raises:
        SchemaError: The tokens are of a kind that whorl does not read.
    """
    tokens = client.terms_of(LONG_PROBE, field.place, field.name)
    units = max((len(token.encode("utf-16-be")) // 2 for token in tokens), default=0)
    spelling, scheme = _SPELLINGS.get(units), scheme_seen(field, len(tokens))
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


def scheme_seen(field: Described, count: int) -> Scheme | None:
    """Return the scheme under which the long probe has `count` distinct tokens, or None.

    It is either the described scheme, or that of releases that ignore bucket_count and hash_set_size.
    """
    ignored = replace(field, bucket_count=512, hash_set_size=1).scheme
    return next((each for each in (field.scheme, ignored) if token_count(each) == count), None)


def _short_probes() -> list[str]:
    words = PROBE.split()
    return [" ".join(words[at : at + _PROBE_WORDS]) for at in range(0, len(words), _PROBE_WORDS)]


def _analyzers(settings: Mapping[str, Any]) -> Iterator[tuple[str, Described]]:
    """Yield the analysers that make MinHash tokens, each with the description of a field that uses it."""
    for key, value in settings.items():
        if not (key.startswith(_ANALYZER) and key.endswith(".filter")):
            continue
        chain = [_filter(settings, name) for name in (value if isinstance(value, list) else [value])]
        at = next((at for at, each in enumerate(chain) if each.get("type") == "min_hash"), None)
        if at is None:
            continue
        # Options that are not set have Lucene's defaults.
        told = {"hash_count": 1, "bucket_count": 512, "hash_set_size": 1} | chain[at]
        functions, buckets, kept = (int(told[name]) for name in ("hash_count", "bucket_count", "hash_set_size"))
        rotates = str(told.get("with_rotation", buckets > 1)).lower() == "true"
        shingles = next((each for each in chain[:at] if each.get("type") == "shingle"), None)
        size = int(shingles.get("max_shingle_size", 2)) if shingles else 1
        yield (
            key.removeprefix(_ANALYZER).removesuffix(".filter"),
            Described("", "", functions, buckets, kept, size, rotates),
        )


def _filter(settings: Mapping[str, Any], name: str) -> Json:
    """Return the settings of a filter; for a filter without settings, its name is its type."""
    prefix = f"{_FILTER}{name}."
    own = {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}
    return own or {"type": name}


def fields_of(there: Json) -> list[str]:
    """Return the names of all fields of a mapping."""
    return [name for name, _ in _flat(there)]


def _flat(there: Json, above: str = "") -> Iterator[tuple[str, tuple[str, Json]]]:
    """Yield all field names, each with the document's field that has its values and with its mapping."""
    for key, field in there.get("properties", {}).items():
        name = f"{above}{key}"
        yield name, (name, field)
        yield from ((f"{name}.{beside}", (name, each)) for beside, each in field.get("fields", {}).items())
        yield from _flat(field, f"{name}.")
