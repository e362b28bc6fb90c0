"""Turns query plans and facets into JSON bodies for OpenSearch; text from the user is never parsed as query syntax.

Scores do not depend on the cluster's statistics: each token scores its weight. If a query exceeds Lucene's limit on
leaf clauses, fingerprints become functions of a function_score query with a minimum score, because functions do not
count as clauses.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from whorl.engine.index_terms import (
    BETWEEN_WORDS,
    clause_fields,
    decode_sortable,
    encode_sortable,
    value_prefix,
    value_term,
)
from whorl.engine.opensearch.client import MOST_ID_BYTES
from whorl.engine.opensearch.document_fields import (
    FIELDS,
    ID,
    MINHASH,
    PASSAGES,
    SAMPLE,
    SCHEME,
    SIZE,
    VALUES,
    WHITESPACE,
    WORDS,
    Json,
    encode_blanks,
    encode_minhash,
    field_term,
    scheme_value,
    word_term,
)
from whorl.engine.opensearch.foreign_minhash import TokenField
from whorl.engine.protocol import Facet, FacetResult, MatchCount, Statistics, StatisticsFacet, ValueCount, ValueFacet
from whorl.engine.server_engine import count_tokens, fingerprints_to_move, passage_hash_terms
from whorl.errors import ParameterError, SchemaError
from whorl.fingerprint.minhash.signature_and_tokens import write_integer_tokens
from whorl.fingerprint.shingling import Scheme, well_formed
from whorl.fingerprint.sketch.frac_minhash import encode_tokens
from whorl.fingerprint.words.tokenizer import tokens
from whorl.model import Order
from whorl.query.ast import Pattern, WildcardCharacter
from whorl.query.plan.nodes import (
    Between,
    Bool,
    BoundLeaf,
    BoundNode,
    BoundPlan,
    DocumentsByScore,
    Equal,
    Exists,
    FuzzyWord,
    InOrder,
    Kind,
    MatchAll,
    Nothing,
    PassageHashes,
    SharedBands,
    SharedTokens,
    SketchTokens,
    Test,
    Value,
    WildcardValue,
    Words,
)

#: Number of leaf clauses that count for a FINGERPRINT after its move into a function (see `fingerprints_to_move`): a
#: terms query and two filters.
_MOVED_CLAUSES = 3
_FINGERPRINTS = (SharedTokens, SharedBands, SketchTokens)
_NO_DOCUMENT: Json = {"match_none": {}}
#: A score so small that it does not change a sum in 32-bit floats.
_NEGLIGIBLE_SCORE = 1e-9


def translate(plan: BoundPlan, scheme: Scheme, tokens: TokenField | None = None) -> Json:
    """Translate a bound plan into a query; raise an error if it has too many clauses, or needs missing fields.

    `tokens` is the field with the MinHash tokens that the cluster makes, in an index without whorl's fields.
    """
    moved = fingerprints_to_move(
        plan.root, leaf_clauses, movable=_FINGERPRINTS, moved_clauses=_MOVED_CLAUSES, server="a cluster"
    )
    return _Translator(scheme, moved, tokens).query(plan.root)


def match_all(tokens: TokenField | None = None) -> Json:
    """Return the query for all searchable documents."""
    return {"exists": {"field": ID}} if tokens is None else {"match_all": {}}


def sort_keys(order: Sequence[Order], tokens: TokenField | None = None) -> list[Json]:
    """Return the sort keys of a request, the id last; raise SchemaError if the index lacks a field for them."""
    field = id_field(tokens)
    if tokens and any(key.field is not None and not (key.is_by_id and tokens.is_sorted) for key in order):
        raise _only_in_ours("order by a field")
    keys = [_sort_key(key, field) for key in order] or [{"_score": "desc"}]
    return keys if tokens and not tokens.is_sorted else [*keys, {field: "asc"}]


def id_field(tokens: TokenField | None) -> str:
    return ID if tokens is None else "_id"


def _only_in_ours(what: str) -> SchemaError:
    problem = f"an index without whorl's fields answers FINGERPRINT and id alone, and cannot {what}"
    return SchemaError(f"{problem}; 'whorl opensearch init' and 'whorl opensearch backfill' add what that needs")


def leaf_clauses(node: BoundLeaf) -> int:
    """Return the maximum number of Lucene's leaf clauses for a node."""
    match node:
        case SketchTokens(numbers=numbers):
            return len(numbers) + 2
        case SharedTokens() | SharedBands() | PassageHashes() | DocumentsByScore():
            return count_tokens(node)
        case Words(any_apostrophe=True):
            return len(clause_fields(node.field)) * len(node.apostrophe_variants())
        case Words() | FuzzyWord():
            return len(clause_fields(node.field))
        case InOrder(words=words):
            return len(clause_fields(node.field)) * (len(words) + 1)
        case _:
            return 1


class _Translator:
    """Translates the nodes of a plan to JSON queries."""

    def __init__(self, scheme: Scheme, moved: frozenset[int], tokens: TokenField | None) -> None:
        self._scheme, self._moved, self._tokens = scheme, moved, tokens
        self._minhash = tokens.name if tokens else MINHASH

    def query(self, node: BoundNode) -> Json:
        match node:
            case MatchAll(weight=weight):
                return _constant(match_all(self._tokens), weight)
            case Nothing():
                return _NO_DOCUMENT
            case Words(field="id", text=document_id) | Equal(field="id", value=document_id) if self._tokens:
                return _constant(_one_of("_id", [str(document_id)]), node.weight)
            case _ if isinstance(node, Test):
                if self._tokens:
                    raise _only_in_ours("look for words or values")
                return _constant(clause(node, self._scheme.profile), node.weight)
            case SharedTokens(tokens=tokens, min_should_match=minimum, weight=weight):
                terms = self._terms(tokens)
                if minimum > len(terms):
                    return _NO_DOCUMENT
                if id(node) in self._moved:
                    counted = _clause_per_term(self._minhash, terms)
                    return _weighted_sum(_one_of(self._minhash, terms), counted, minimum, weight)
                return self._count_query(self._minhash, terms, minimum, weight)
            case SharedBands(bands=bands, weight=weight):
                encoded_bands = [self._terms(band) for band in bands]
                filters = ([_term(self._minhash, term) for term in dict.fromkeys(band)] for band in encoded_bands)
                complete = [{"bool": {"filter": terms_of_band}} for terms_of_band in filters]
                if id(node) in self._moved:
                    any_term = _one_of(self._minhash, chain.from_iterable(encoded_bands))
                    return _weighted_sum(any_term, [(band, 1) for band in complete], 1, weight)
                return _minimum_match([_constant(band, weight) for band in complete], 1)
            case SketchTokens():
                return self._sketch_query(node)
            case PassageHashes(numbers=numbers, scheme=scheme):
                return self._count_query(PASSAGES, passage_hash_terms(numbers, scheme), 1, 1.0)
            case DocumentsByScore(groups=groups):
                return _minimum_match(
                    [_constant(_one_of(id_field(self._tokens), ids), score) for score, ids in groups if ids], 1
                )
            case Bool(must=must, should=should, must_not=must_not, min_should_match=minimum):
                needed = minimum if must else max(minimum, 1)
                if needed > len(should):
                    return _NO_DOCUMENT
                occurs = {"must": must, "should": should, "must_not": must_not}
                queries = {name: [self.query(child) for child in nodes] for name, nodes in occurs.items() if nodes}
                return {"bool": {**queries, "minimum_should_match": needed} if should else queries}
            case _:
                raise TypeError(f"a plan must be bound before it is sent, got {node!r}")

    def _terms(self, numbers: Sequence[int]) -> Sequence[str]:
        """Return tokens as terms of the token field."""
        if self._tokens:
            return write_integer_tokens(numbers, self._tokens.encoding)
        # Tokens of more than 64 bits come from other collections, and no document of this index has them.
        return encode_minhash(np.array([number for number in numbers if not number >> 64], dtype=np.uint64))

    def _sketch_query(self, node: SketchTokens) -> Json:
        terms = list(encode_tokens(np.array(node.numbers, dtype=np.uint64), node.scheme.bits))
        minimum = node.min_should_match
        if minimum > len(terms):
            return _NO_DOCUMENT
        sizes = {"gte": node.smallest_size, **({} if node.largest_size is None else {"lte": node.largest_size})}
        filters = [_term(SCHEME, scheme_value(self._scheme, node.scheme)), {"range": {SIZE: sizes}}]
        if id(node) in self._moved:
            any_token = {"bool": {"filter": [*filters, _one_of(SAMPLE, terms)]}}
            return _weighted_sum(any_token, _clause_per_term(SAMPLE, terms), minimum, 1.0)
        return {"bool": {"must": [self._count_query(SAMPLE, terms, minimum, 1.0)], "filter": filters}}

    def _count_query(self, field: str, terms: Sequence[str], minimum: int, weight: float) -> Json:
        """Return the query for at least `minimum` of the terms; a repeated term counts each time, also in the score."""
        if self._tokens:
            return _minimum_match([_constant(_term(field, term), weight) for term in terms], minimum)
        if not terms:
            return _NO_DOCUMENT
        words = {"query": BETWEEN_WORDS.join(terms), "analyzer": WHITESPACE, "minimum_should_match": minimum}
        return {"match": {field: {**words, "boost": weight}}}


def _term(field: str, value: str) -> Json:
    return {"term": {field: {"value": value}}}


def _one_of(field: str, values: Iterable[str]) -> Json:
    return {"terms": {field: list(dict.fromkeys(values))}}


def _clause_per_term(field: str, terms: Sequence[str]) -> list[tuple[Json, int]]:
    return [(_term(field, term), count) for term, count in Counter(terms).items()]


def _constant(query: Json, weight: float) -> Json:
    return {"constant_score": {"filter": query, "boost": weight}}


def _minimum_match(queries: Sequence[Json], minimum: int) -> Json:
    return {"bool": {"should": list(queries), "minimum_should_match": minimum}} if queries else _NO_DOCUMENT


def _weighted_sum(superset: Json, counted: Sequence[tuple[Json, int]], minimum: int, weight: float) -> Json:
    """Return a query that adds up the numbers that each document gets.

    `counted` has pairs of a query and a number; a document that matches the query gets the number. A document that
    matches `superset` is a hit if the sum of its numbers is at least `minimum`. Its score is the sum times `weight`.
    """
    if not weight:
        return _constant(_weighted_sum(superset, counted, minimum, 1.0), 0.0)
    # In a function_score query, a document that matches no function scores 1. To avoid this, the first function matches
    # every document.
    functions = [
        {"weight": _NEGLIGIBLE_SCORE * weight},
        *({"filter": query, "weight": count * weight} for query, count in counted),
    ]
    scores = {"score_mode": "sum", "boost_mode": "replace", "min_score": (minimum - 0.5) * weight}
    return {"function_score": {"query": {"bool": {"filter": [superset]}}, "functions": functions, **scores}}


#: Sort script. Each doc value begins with a prefix for its field and type. The script finds the first prefix in
#: `beginnings` that the document has. For an ascending sort, it returns the smallest value with this prefix, otherwise
#: the largest value. The smallest value comes first, and the largest last, because doc values are sorted and encoded
#: values sort like the values.
_FIRST_VALUE = """
for (int at = 0; at < params.beginnings.length; at++) {
  String beginning = params.beginnings[at]; String found = null;
  for (String value : doc['whorl_values']) {
    if (value.startsWith(beginning)) { found = value; if (params.ascending) { break; } }
  }
  if (found != null) { String spelled = found.substring(beginning.length()); %s }
}
return params.missing;
"""
#: Part of the sort script that returns a text as the sort key. The prefix "=" sorts an empty text before a missing text
#: in descending order.
_AS_TEXT = "return '=' + spelled;"
#: Part of the sort script that returns a number as the sort key. It decodes integers and floats of `encode_sortable`,
#: to sort both together by value.
_AS_NUMBER = """
long bits = Long.parseUnsignedLong(spelled, 16);
if (params.whole[at]) { return (double) (bits + Long.MIN_VALUE); }
return Double.longBitsToDouble(bits < 0 ? bits ^ Long.MIN_VALUE : ~bits);
"""
_NUMBERS = {Kind.INTEGER, Kind.FLOAT}


def _sort_key(key: Order, id_field: str) -> Json:
    direction = "asc" if key.is_ascending else "desc"
    if key.field is None or key.is_by_id:
        return {id_field if key.is_by_id else "_score": direction}
    kinds = {kind for kind, _ in key.engine_fields}
    is_number = len(kinds) > 1 and kinds <= _NUMBERS
    largest, smallest = (sys.float_info.max, -sys.float_info.max) if is_number else ("\U0010ffff", "")
    parameters: Json = {
        "beginnings": [value_prefix(field, kind) for kind, field in key.engine_fields],
        "ascending": key.is_ascending,
        "whole": [kind is Kind.INTEGER for kind, _ in key.engine_fields],
        "missing": largest if key.is_ascending else smallest,
    }
    source = _FIRST_VALUE % (_AS_NUMBER if is_number else _AS_TEXT)
    script = {"lang": "painless", "source": source, "params": parameters}
    return {"_script": {"type": "number" if is_number else "string", "script": script, "order": direction}}


_WILD = re.compile(r"[\\*?]")


def clause(test: Test, profile: str) -> Json:
    """Return the query of a clause without its score."""
    match test:
        case Words(text=text, field="id"):
            return _term(ID, text)
        case Words(any_apostrophe=True):
            return _any([clause(own, profile) for own in test.apostrophe_variants()])
        case Words(text=text, slop=slop):
            words = tokens(well_formed(text), profile)
            return _any([_phrase(field, words, slop) for field in clause_fields(test.field)])
        case InOrder(words=(pattern,)):
            return _any([_word(field, pattern) for field in clause_fields(test.field)])
        case InOrder(words=patterns, slop=slop):
            return _any([_span_near(field, patterns, slop) for field in clause_fields(test.field)])
        case FuzzyWord(word=word, edits=edits):
            return _any([_fuzzy_word(field, word, edits) for field in clause_fields(test.field)])
        case Equal(field="id", value=value):
            return _term(ID, str(value))
        case Equal(field=field, kind=kind, value=value):
            return _term(VALUES, value_term(field, kind, value))
        case WildcardValue(field=field, pattern=pattern):
            return _wildcard(*_value_field(field, Kind.KEYWORD), pattern)
        case Between():
            return _range(test)
        case Exists(field="id"):
            return {"exists": {"field": ID}}
        case Exists(field=field, kind=kind):
            return _term(FIELDS, field_term(field, kind.name))


def _value_field(field: str, kind: Kind) -> tuple[str, str]:
    """Return the index field for a field's values of one type, and the prefix of these values in the index field."""
    return (ID, "") if field == "id" else (VALUES, value_prefix(field, kind))


def _any(queries: Sequence[Json]) -> Json:
    return queries[0] if len(queries) == 1 else {"bool": {"should": list(queries), "minimum_should_match": 1}}


def _phrase(field: str, words: Sequence[str], slop: int) -> Json:
    row = [word_term(field, word) for word in words]
    if len(row) == 1:
        return _term(WORDS, row[0])
    return {"match_phrase": {WORDS: {"query": BETWEEN_WORDS.join(row), "slop": slop}}}


def _word(field: str, pattern: Pattern) -> Json:
    if len(pattern) == 1 and isinstance(pattern[0], str):
        return _term(WORDS, word_term(field, pattern[0]))
    spelled = tuple(encode_blanks(piece) if isinstance(piece, str) else piece for piece in pattern)
    return _wildcard(WORDS, word_term(field, ""), spelled)


def _wildcard(field: str, beginning: str, pattern: Pattern) -> Json:
    if len(pattern) == 1 and isinstance(pattern[0], str):
        return _term(field, beginning + pattern[0])
    escaped = (piece.value if isinstance(piece, WildcardCharacter) else _escape(piece) for piece in pattern)
    return {"wildcard": {field: {"value": "".join([_escape(beginning), *escaped])}}}


def _span_near(field: str, patterns: Sequence[Pattern], slop: int) -> Json:
    """Return the query for words in order, with at most `slop` other words between them (Lucene's NearSpansOrdered)."""
    words = [_word(field, pattern) for pattern in patterns]
    spans = [{"span_term": word["term"]} if "term" in word else {"span_multi": {"match": word}} for word in words]
    return {"span_near": {"clauses": spans, "slop": slop, "in_order": True}}


def _fuzzy_word(field: str, word: str, edits: int) -> Json:
    # Ids are whole terms in a field of their own.
    own_field, prefix, term = (ID, "", word) if field == "id" else (WORDS, word_term(field, ""), word_term(field, word))
    options = {
        "fuzziness": edits,
        # Each term begins with its field's name, and an edited name could match another field.
        "prefix_length": len(prefix),
        # Make one clause for all matching terms, not one clause per term.
        "rewrite": "constant_score",
        "transpositions": True,
    }
    return {"fuzzy": {own_field: {"value": term, **options}}}


def _range(test: Between) -> Json:
    field, beginning = _value_field(test.field, test.kind)
    ends: Json = {}
    if test.low is not None:
        ends["gte" if test.includes_low else "gt"] = beginning + _range_end(test, test.low)
    elif beginning:
        ends["gte"] = beginning
    if test.high is not None:
        ends["lte" if test.includes_high else "lt"] = beginning + _range_end(test, test.high)
    elif beginning:
        # End the range before all values of the next type.
        ends["lt"] = beginning[:-1] + chr(ord(beginning[-1]) + 1)
    return {"range": {field: ends}} if ends else {"exists": {"field": field}}


def _range_end(test: Between, value: Value) -> str:
    if test.field == "id":
        # OpenSearch 2 refuses range ends of 1,000 bytes. No id is so long, so bytes after that length change no
        # comparison.
        value = str(value).encode(errors="replace")[: MOST_ID_BYTES + 4].decode(errors="ignore")
    return encode_sortable(test.kind, value)


def _escape(text: str) -> str:
    return _WILD.sub(r"\\\g<0>", text)


#: Minimum number of values to request from each shard. A value that is frequent in total may be rare in a shard.
_LEAST_PER_SHARD = 1000
#: Maximum length of a prefix in a regular expression. The setting index.max_regex_length limits the whole expression to
#: 1,000 characters.
_LONGEST_PREFIX = 990
_SYNTAX = re.compile(r"[^0-9A-Za-z]", re.ASCII)
#: Aggregation script that decodes the numbers in a field, like the sort script.
_NUMBERS_SCRIPT = """
List found = new ArrayList();
for (String value : doc['whorl_values']) {
  if (value.startsWith(params.beginning)) {
    long bits = Long.parseUnsignedLong(value.substring(params.beginning.length()), 16);
    if (params.whole) { found.add((double) (bits + Long.MIN_VALUE)); }
    else { found.add(Double.longBitsToDouble(bits < 0 ? bits ^ Long.MIN_VALUE : ~bits)); }
  }
}
return found;
"""
#: Keys in the response of an aggregation, in the order of the fields of `Statistics`.
_STATISTICS_KEYS = ("count", "min", "max", "sum", "sum_of_squares")


def facet_aggregations(facets: Sequence[Facet], query: Callable[[BoundNode], Json]) -> Json:
    """Return the aggregations for facets; raise ParameterError for a name or prefix that is too long.

    `query` translates a node of a plan.
    """
    return {f"facet{number}": _aggregation(facet, query) for number, facet in enumerate(facets)}


def _aggregation(facet: Facet, query: Callable[[BoundNode], Json]) -> Json:
    match facet:
        case MatchCount(node=node):
            return {"filter": query(node)}
        case ValueFacet():
            terms = {
                **_field(facet),
                "size": facet.limit,
                "shard_size": max(facet.limit, _LEAST_PER_SHARD),
                "min_doc_count": facet.min_count,
                "order": [{"_key": "asc"}] if facet.is_by_value else [{"_count": "desc"}, {"_key": "asc"}],
            }
            return {"terms": terms, **({"aggs": facet_aggregations(facet.subfacets, query)} if facet.subfacets else {})}
        case StatisticsFacet(kind=kind, field=field):
            parameters = {"beginning": value_prefix(field, kind), "whole": kind is Kind.INTEGER}
            return {"extended_stats": {"script": {"lang": "painless", "source": _NUMBERS_SCRIPT, "params": parameters}}}


def _field(facet: ValueFacet) -> Json:
    """Return the options of an aggregation that select a facet's values: a field, and a pattern for its terms."""
    field, beginning = _value_field(facet.field, facet.kind)
    if not (beginning or facet.prefix):
        return {"field": ID}
    beginning = _SYNTAX.sub(r"\\\g<0>", beginning + facet.prefix)
    if len(beginning) > _LONGEST_PREFIX:
        limit = f"a field's name and a prefix of {_LONGEST_PREFIX} characters together"
        got = f"{facet.field!r:.80} and {facet.prefix!r:.80}"
        raise ParameterError(f"a cluster counts values by {limit}, got {got}")
    return {"field": field, "include": f"{beginning}(.|\n)*"}


def read_facets(facets: Sequence[Facet], aggregations: Any) -> tuple[FacetResult, ...]:
    """Return the facets in the aggregations of a response. The caller must handle errors from malformed responses."""
    return tuple(_read(facet, aggregations[f"facet{number}"]) for number, facet in enumerate(facets))


def _read(facet: Facet, aggregation: Any) -> FacetResult:
    match facet:
        case MatchCount():
            return int(aggregation["doc_count"])
        case ValueFacet(kind=kind, subfacets=subfacets):
            length = len(_value_field(facet.field, kind)[1])
            values = ((decode_sortable(kind, str(bucket["key"])[length:]), bucket) for bucket in aggregation["buckets"])
            return tuple(
                ValueCount(value, int(bucket["doc_count"]), read_facets(subfacets, bucket)) for value, bucket in values
            )
        case StatisticsFacet():
            return Statistics.read(*(aggregation[key] for key in _STATISTICS_KEYS))
