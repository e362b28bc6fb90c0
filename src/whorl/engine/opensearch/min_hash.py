"""Fields of MinHash tokens that a cluster makes by itself: which there are, and what their tokens are.

A mapping says what such a field is meant to be. What it is, the cluster shows: it is asked for the tokens of some
texts, which are compared with those that whorl makes of the same. Releases differ in the words that they see, and some
do not look at the filter's options.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.fields import Json
from whorl.engine.probe import PROBE
from whorl.errors import EngineResponseError, ParameterError, SchemaError
from whorl.fingerprint.minhash.codec import Spelling
from whorl.fingerprint.minhash.signature import sign
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.tokenizer import DEFAULT_PROFILE, PROFILES

_ANALYZER, _FILTER = "index.analysis.analyzer.", "index.analysis.filter."
#: Different words, enough for every bucket to be taken or filled by rotation: they tell how many tokens there are.
LONG_PROBE = " ".join(f"word{number}" for number in range(3000))
#: Units of a token: whole, or cut to the half.
_SPELLINGS = {8: Spelling.UNITS_8, 4: Spelling.UNITS_4}
#: Words of a short probe: fewer shingles than even small schemes have buckets, so that each of them shows.
_PROBE_WORDS = 12


@dataclass(frozen=True, slots=True)
class Described:
    """A field of MinHash tokens, as mapping and settings describe it.

    Args:
        name: Of the field; a dot leads into an object, or to a field beside another one.
        place: Where a document has the text that it is made of: the field itself, or the one that it is beside.
        hash_count: Of its filter, and so are:
        bucket_count: buckets;
        hash_set_size: hashes that a bucket keeps.
        shingle_size: Words in a shingle; 1 where the filter is given words.
        rotation: Whether empty buckets are filled.
        has_vectors: Whether the index keeps the tokens by document, so that no source is needed.
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
        """What is meant; rotation only repeats tokens, and plans count the repeats whether an index has them or not.

        Raises:
            SchemaError: whorl has no such scheme.
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
    """A field of MinHash tokens, as the cluster shows that it is.

    Args:
        name: Of the field.
        place: Where a document has the text that it is made of.
        scheme: What its tokens are made under.
        spelling: How they are written.
        is_ours: Whether whorl makes the same tokens; else the cluster has to be asked for those of a text.
        is_sorted: Whether the cluster sorts hits by `_id`, as Elasticsearch does only where that is switched on.
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
        settings: The settings, by their full names.
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
    """Return the field that FINGERPRINT asks: the one of a name, or else the only one.

    Raises:
        SchemaError: There are several others.
    """
    by_name = {each.name: each for each in found}
    if wanted in by_name or len(by_name) < 2:
        return by_name.get(wanted, next(iter(by_name.values()), None))
    raise SchemaError(
        f"{' and '.join(map(repr, sorted(by_name)))} hold MinHash tokens; name the one to ask in whorl.toml: "
        "[fields] minhash"
    )


def shown(client: IndexClient, field: Described) -> TokenField:
    """Return what a field's tokens are, by asking the cluster for those of some texts.

    Raises:
        SchemaError: They are of a kind that whorl does not read.
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
    """Return how many different tokens the long probe has under a scheme."""
    return len(set(sign(LONG_PROBE, scheme).integers))


def scheme_seen(field: Described, count: int) -> Scheme | None:
    """Return the scheme under which the long probe has so many different tokens, None for no likely one.

    It is the one meant, or that of releases that look at no bucket_count and no hash_set_size.
    """
    ignored = replace(field, bucket_count=512, hash_set_size=1).scheme
    return next((each for each in (field.scheme, ignored) if token_count(each) == count), None)


def _short_probes() -> list[str]:
    words = PROBE.split()
    return [" ".join(words[at : at + _PROBE_WORDS]) for at in range(0, len(words), _PROBE_WORDS)]


def _analyzers(settings: Mapping[str, Any]) -> Iterator[tuple[str, Described]]:
    """Yield the analysers that make MinHash tokens, each as a field of them would be."""
    for key, value in settings.items():
        if not (key.startswith(_ANALYZER) and key.endswith(".filter")):
            continue
        chain = [_filter(settings, name) for name in (value if isinstance(value, list) else [value])]
        at = next((at for at, each in enumerate(chain) if each.get("type") == "min_hash"), None)
        if at is None:
            continue
        # What is not said is as Lucene has it.
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
    """Return what the settings say of a filter; one that they do not define is called what its type is."""
    prefix = f"{_FILTER}{name}."
    own = {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}
    return own or {"type": name}


def fields_of(there: Json) -> list[str]:
    """Return the names of all fields of a mapping."""
    return [name for name, _ in _flat(there)]


def _flat(there: Json, above: str = "") -> Iterator[tuple[str, tuple[str, Json]]]:
    """Yield the names of all fields, each with where documents have its values and what the mapping says of it."""
    for key, field in there.get("properties", {}).items():
        name = f"{above}{key}"
        yield name, (name, field)
        yield from ((f"{name}.{beside}", (name, each)) for beside, each in field.get("fields", {}).items())
        yield from _flat(field, f"{name}.")
