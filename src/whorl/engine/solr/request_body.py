"""Turns query plans and facets into Solr requests as JSON.

User text never becomes syntax. In Solr's JSON query language, it is the value of an argument, and the parser gets it
unchanged (`{"term": {"f": …, "query": …}}` becomes `{!term f=$a v=$b}`). For a parser with a syntax, this module
escapes all characters except letters and digits.

Solr's `{!min_hash}` parser scores each matching token or band with 1, and is faster than one clause per token. It
computes the required number of matches from a similarity and a probability. This module chooses both so that the result
is the number in the plan.

If a query exceeds Lucene's limit on clauses, fingerprints become functions, `query($part0,0)`. Lucene counts the
clauses of a function separately. The scores of all functions add up to the whole score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np

from whorl.arrays_and_batches import batches
from whorl.engine.protocol import Facet, FacetResult, MatchCount, Statistics, StatisticsFacet, ValueCount, ValueFacet
from whorl.engine.server_engine import count_tokens, fingerprints_to_move, passage_hash_terms
from whorl.engine.solr.client import Json, escape_field_names
from whorl.engine.solr.field_definitions import (
    PASSAGES,
    SAMPLE,
    SAMPLE_MARK,
    SCHEME,
    SIZE,
    WHOLE_PREFIXES,
    scheme_value,
)
from whorl.errors import ParameterError
from whorl.fingerprint.minhash.signature_and_tokens import (
    TokenEncoding,
    band_match_probability,
    write_integer_tokens,
)
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import encode_tokens
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import Order
from whorl.query.ast import Pattern, WildcardCharacter
from whorl.query.plan.fields_and_values import date_of, encode_keyword, format_date
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
    WordClause,
    Words,
)

#: A function can add up the scores of several queries. This is the maximum number of clauses in each of these queries,
#: because Lucene limits the clauses of each function.
_CLAUSES_AT_ONCE = 1000
#: Number of leaf clauses that count for a FINGERPRINT after its move into a function (see `fingerprints_to_move`): one
#: for the score, one for the match, and four for filters (scheme, tokens, and two for the sizes).
_MOVED_CLAUSES = 6
_FINGERPRINTS = (SharedTokens, SharedBands, SketchTokens, DocumentsByScore)
#: Matches a field name that Solr would read as a number in a sort clause.
_NUMBER = re.compile(r"\d+(\.\d*)?([eE]\d+)?", re.ASCII)
#: Possible separators of tokens: characters that need no escape in a regular expression.
_SEPARATORS = "~%@=!,;:"
#: Separator of ids, which contain no control characters.
_BETWEEN_IDS = "\x1f"

#: Parameter that stops Solr from replacing ${…} in ids, words and tokens.
_WITHOUT_MACROS = {"expandMacros": "false"}
#: Parameter of a filter. Solr then checks the filter only for documents with the tokens, instead of first finding all
#: documents that match the filter.
_UNCACHED = {"cache": "false"}
_NO_DOCUMENT: Json = {"bool": {"must_not": ["*:*"]}}


@dataclass(frozen=True, slots=True)
class SolrFields:
    """The collection's names for the fields that whorl needs.

    `text` lists the fields that a clause without a field name searches. `scheme` is the name of the token scheme; it
    also defines the words and shingles of sketches. `has_fuzzy_parser` says whether Solr has the query parser `fuzzy`,
    which finds all similar words.
    """

    key: str = "id"
    minhash: str = "MINHASH"
    text: tuple[str, ...] = ("name", "content")
    name: str | None = "name"
    scheme: str = Scheme().name
    token_encoding: TokenEncoding = TokenEncoding.UNITS_4
    has_fuzzy_parser: bool = True


def search_request(
    plan: BoundPlan,
    names: SolrFields,
    *,
    start: int,
    rows: int,
    only_scheme: str | None = None,
    order: Sequence[Order] = (),
    counted: Mapping[str, BoundNode] | None = None,
) -> Json:
    """Return the JSON body that requests one page of a plan's hits.

    Args:
        only_scheme: The scheme of all sketches; None if there are several, so that the request must filter by scheme.
        counted: Nodes of plans, keyed by name. They become named queries that the facets of the request refer to.
    """
    roots = {"": plan.root, **(counted or {})}
    builder = _Builder(names, only_scheme)
    queries = {name: builder.whole_query(root) for name, root in roots.items()}
    query = queries.pop("")
    builder.named |= queries
    keys = [*chain.from_iterable(map(builder.sort_clauses, order))] or ["score desc"]
    return {
        "query": query,
        "offset": start,
        "limit": rows,
        "fields": ["score", *escape_field_names([*filter(None, (names.key, names.name))])],
        "sort": ", ".join([*keys, f"{names.key} asc"]),
        "params": _WITHOUT_MACROS,
        **({"queries": builder.named} if builder.named else {}),
    }


def documents_request(values: Mapping[str, list[str]], fields: list[str]) -> Json:
    """Return the JSON body that requests all documents that have any of the exact `values`, keyed by field."""
    clauses = [{"term": {"f": field, "query": value}} for field, wanted in values.items() for value in wanted]
    query = clauses[0] if len(clauses) == 1 else {"bool": {"should": clauses}}
    # Several documents may have the same DBID, so allow two documents per clause.
    return {"query": query, "limit": 2 * len(clauses), "fields": escape_field_names(fields), "params": _WITHOUT_MACROS}


def realtime_get_request(ids: Sequence[str], fields: Sequence[str]) -> Json:
    """Return the JSON body that requests documents by id from Solr's real-time get."""
    # Solr splits the list at unescaped commas, so escape the commas of an id.
    escaped = (document_id.replace("\\", "\\\\").replace(",", "\\,") for document_id in ids)
    return {"params": {"ids": ",".join(escaped), "fl": ",".join(escape_field_names(fields)), **_WITHOUT_MACROS}}


#: Query for all documents. It does not depend on the default query parser of the handler.
EVERYTHING: Mapping[str, Any] = {"bool": {"must": ["*:*"]}}


def without_sketch(scheme: str, text: str | None = None) -> Json:
    """Return the query for documents without a sketch of the given scheme.

    If `text` names a searchable text field, match only documents with a text or with a sketch of another scheme.
    """
    is_meant = {"filter": [{"bool": {"should": [exists(text), exists(SCHEME)]}}]} if text else {}
    return {"bool": {"must": ["*:*"], "must_not": [{"term": {"f": SCHEME, "query": scheme}}], **is_meant}}


def without_tokens(field: str) -> dict[str, Any]:
    """Return the query for documents without MinHash tokens. It reads all tokens of the index."""
    return {"bool": {"must": ["*:*"], "must_not": [{"prefix": {"f": field, "query": ""}}]}}


def empty_sketches(scheme: str, field: str | None = None) -> Json:
    """Return the query for documents with an empty sketch, and with a value in `field`, if it is given."""
    is_empty = [{"term": {"f": SCHEME, "query": scheme}}, {"lucene": {"query": f"{SIZE}:0"}}]
    return {"bool": {"filter": [*is_empty, *([exists(field)] if field else [])]}}


def lost_sketches(scheme: str) -> Json:
    """Return the query for documents with a non-empty sketch whose look-up tokens are missing.

    Tokens are neither stored nor docValues, so atomic updates by other programs lose them. The query reads all tokens
    of the index, which takes seconds in a large collection.
    """
    return {"bool": {"filter": _filled_sketches(scheme), "must_not": [exists(SAMPLE)]}}


def unmarked_sketches(scheme: str) -> Json:
    """Return the query for documents with a non-empty sketch whose `SAMPLE_MARK` was lost or never stored."""
    marked = {"term": {"f": SAMPLE, "query": SAMPLE_MARK}}
    return {"bool": {"filter": _filled_sketches(scheme), "must_not": [marked]}}


def _filled_sketches(scheme: str) -> list[Json]:
    return [{"term": {"f": SCHEME, "query": scheme}}, {"lucene": {"query": f"{SIZE}:[1 TO *]"}}]


def lacks_passages(scheme: PassageScheme, text: str | None) -> dict[str, Any]:
    """Return the query for documents without passage hashes, and with a value in the field `text`, if it is given."""
    # A document with an empty sketch is complete, too, because its text is too short for passages.
    complete = [{"term": {"f": PASSAGES, "query": scheme.name}}, {"lucene": {"query": f"{SIZE}:0"}}]
    return {"bool": {"must": ["*:*"], "must_not": complete, **({"filter": [exists(text)]} if text else {})}}


def one_of(field: str, values: Sequence[str]) -> Json:
    """Return a query for documents with any of the values; it is one clause, and every hit scores 1."""
    return {"terms": {"f": field, "separator": _BETWEEN_IDS, "query": _BETWEEN_IDS.join(values)}}


def _leaves(node: BoundLeaf, names: SolrFields) -> int:
    """Return the maximum number of leaf clauses of a node."""
    match node:
        case SketchTokens(numbers=numbers):
            # Count one clause for the scheme, and two for the sizes, because Lucene may search points and docValues.
            return len(numbers) + 3
        case SharedTokens() | SharedBands() | PassageHashes() | DocumentsByScore():
            return count_tokens(node)
        case Words(any_apostrophe=True):
            return _field_count(node, names) * len(node.apostrophe_variants()) + 1
        case Words() | WildcardValue():
            return _field_count(node, names) + 1
        case InOrder(words=words):
            return _field_count(node, names) * len(words) + 1
        case FuzzyWord():
            return _field_count(node, names) * FUZZY_EXPANSIONS + 1
        case Equal() | Between() | Exists():
            # Lucene may search points and docValues, and then counts both.
            return 3
        case _:
            return 2


def _field_count(test: Test, names: SolrFields) -> int:
    return len(names.text) if test.field is None else 1


class _Builder:
    """Translates nodes of a plan to JSON queries, and collects the named queries that functions refer to."""

    def __init__(self, names: SolrFields, only_scheme: str | None) -> None:
        self._names, self._only_scheme = names, only_scheme
        self._moved, self.named = frozenset[int](), Json()

    def sort_clauses(self, key: Order) -> list[str]:
        """Return Solr's sort clauses for one key, the most significant first."""
        direction = "asc" if key.is_ascending else "desc"
        fields = [field for _, field in key.engine_fields]
        if key.field is None or fields == [self._names.key]:
            return [f"{'score' if key.field is None else self._names.key} {direction}"]
        for kind, field in key.engine_fields:
            if _NUMBER.fullmatch(field) and kind in (Kind.KEYWORD, Kind.TEXT):
                raise ParameterError(f"Solr cannot sort by {field!r:.80}: it reads the name of this field as a number")
        name = f"present{len(self.named)}"
        self.named[name] = _constant({"bool": {"should": [exists(field) for field in fields]}}, 1.0)
        best = "min" if key.is_ascending else "max"
        functions = [f"field({json.dumps(field)},{best})" for field in fields]
        if len(fields) == 1:
            values = fields[0] if _is_plain(fields[0]) else functions[0]
        else:
            values = f"def({','.join(functions)})"
        # A missing number or date would be sorted as 0, so first sort by whether the field has a value.
        return [f"query(${name},0) desc", f"{values} {direction}"]

    def whole_query(self, root: BoundNode) -> Json:
        # Lucene limits the number of clauses of each query separately, so check each query alone.
        count, expanding = partial(_leaves, names=self._names), (FuzzyWord,) if self._names.has_fuzzy_parser else ()
        self._moved = fingerprints_to_move(
            root, count, movable=_FINGERPRINTS, moved_clauses=_MOVED_CLAUSES, server="Solr", expanding=expanding
        )
        return self.query(root)

    def query(self, node: BoundNode) -> Json:
        match node:
            case MatchAll(weight=weight):
                return _constant({"bool": {"must": ["*:*"]}}, weight)
            case _ if isinstance(node, Test):
                return _constant(clause(node, self._names), node.weight)
            case SharedTokens(tokens=tokens, min_should_match=minimum):
                if minimum > len(tokens):
                    return _NO_DOCUMENT
                return self._fingerprint(node, tokens, overlap_similarity(len(tokens), minimum), 1.0)
            case SharedBands(bands=bands):
                tokens = tuple(chain.from_iterable(bands))
                similarity, probability = band_parameters(len(bands), len(bands[0]))
                return self._fingerprint(node, tokens, similarity, probability)
            case SketchTokens():
                return self._sketch_query(node)
            case PassageHashes(numbers=numbers, scheme=scheme):
                terms = passage_hash_terms(numbers, scheme)
                return _min_hash(PASSAGES, *join_tokens(terms), 1.0, 1.0) if terms else _NO_DOCUMENT
            case DocumentsByScore(groups=groups):
                return self._document_query(groups, is_moved=id(node) in self._moved)
            case Bool(must=must, should=should, must_not=must_not, min_should_match=minimum):
                if minimum > 1:
                    return self._minimum_match(minimum, node)
                occurs = {"must": must, "should": should, "must_not": must_not}
                clauses = {name: [self.query(child) for child in nodes] for name, nodes in occurs.items() if nodes}
                if minimum and must and should:
                    # Require one of the `should` clauses with a nested query: in a query with `must`, `should` clauses
                    # are optional, and Solr 8.11 ignores `mm`.
                    clauses["must"].append({"bool": {"should": clauses.pop("should")}})
                return {"bool": clauses}
            case Nothing():
                return _NO_DOCUMENT
            case _:
                raise TypeError(f"a plan must be bound before it is sent, got {node!r}")

    def _minimum_match(self, minimum: int, node: Bool[BoundLeaf]) -> Json:
        """Return the query for at least `minimum` of the `should` clauses, without `mm`, which Solr 8.11 ignores."""
        if node.must or node.must_not or any(getattr(child, "weight", None) != 1.0 for child in node.should):
            raise ValueError(f"Solr 8.11 cannot require {minimum} of {len(node.should)} clauses of different weights")
        any_of = {"bool": {"should": [self.query(child) for child in node.should]}}
        return self._sum_query([any_of], [any_of], least=minimum)

    def _fingerprint(
        self, node: SharedTokens | SharedBands, numbers: tuple[int, ...], similarity: float, probability: float
    ) -> Json:
        text, separator = join_tokens(write_integer_tokens(numbers, self._names.token_encoding))
        query = _min_hash(self._names.minhash, text, separator, similarity, probability)
        if id(node) in self._moved:
            query = self._sum_query([query])
        if node.weight == 1.0:
            return query
        return {"boost": {"b": repr(node.weight), "query": query}}

    def _sketch_query(self, node: SketchTokens) -> Json:
        tokens = encode_tokens(np.array(node.numbers, dtype=np.uint64), node.scheme.bits)
        minimum = node.min_should_match
        if minimum > len(tokens):
            return _NO_DOCUMENT
        largest = "*" if node.largest_size is None else node.largest_size
        filters = [{"lucene": {"query": f"{SIZE}:[{node.smallest_size} TO {largest}]", **_UNCACHED}}]
        if (scheme := scheme_value(self._names.scheme, node.scheme)) != self._only_scheme:
            filters.append({"term": {"f": SCHEME, "query": scheme, **_UNCACHED}})
        if id(node) not in self._moved:
            query = _min_hash(SAMPLE, *join_tokens(tokens), overlap_similarity(len(tokens), minimum), 1.0)
            return {"bool": {"must": [query], "filter": filters}}
        # Split the tokens among several queries; the sum of their scores must reach the minimum.
        queries = [_min_hash(SAMPLE, *join_tokens(batch), 1.0, 1.0) for batch in batches(tokens, _CLAUSES_AT_ONCE)]
        return self._sum_query(queries, [*filters, one_of(SAMPLE, tokens)], least=minimum)

    def _document_query(self, groups: Sequence[tuple[float, tuple[str, ...]]], *, is_moved: bool) -> Json:
        """Return the query for groups of document ids, each group with its score.

        If `is_moved`, functions compute the scores, because the whole query would exceed Lucene's limit on clauses.
        """
        scored = [
            {"boost": {"b": _decimal(score), "query": one_of(self._names.key, ids)}} for score, ids in groups if ids
        ]
        if not scored:
            return _NO_DOCUMENT
        if not is_moved:
            return {"bool": {"should": scored}}
        queries = [{"bool": {"should": batch}} for batch in batches(scored, _CLAUSES_AT_ONCE)]
        return self._sum_query(queries, [one_of(self._names.key, [*chain.from_iterable(ids for _, ids in groups)])])

    def _sum_query(self, queries: Sequence[Json], filters: Sequence[Json] = (), least: int | None = None) -> Json:
        """Return a query whose score is the sum of the scores of several queries.

        Functions add the scores, because Lucene's limit on clauses applies to each function separately. Hits must match
        all `filters` (by default, any of the queries), and score at least `least`.
        """
        functions = []
        for query in queries:
            name = f"fingerprint{len(self.named)}"
            self.named[name] = query
            functions.append(f"query(${name},0)")
        # If one term has no value, the sum has no value either, but frange needs one. So replace a missing value by 0.
        terms = [f"def({function},0)" for function in functions]
        total = functions[0] if len(functions) == 1 else f"sum({','.join(terms)})"
        matching = [*filters]
        if least is not None:
            matching.append({"frange": {"l": str(least), "query": total}})
        elif not filters:
            matching.append({"frange": {"l": "0", "incl": "false", "query": total}})
        return {"bool": {"must": [{"func": {"query": total}}], "filter": matching}}


def _min_hash(field: str, text: str, separator: str, similarity: float, probability: float) -> Json:
    """Return a `{!min_hash}` query for the tokens in a text, which are separated by `separator`."""
    return {
        "min_hash": {"field": field, "sep": separator, "sim": repr(similarity), "tp": repr(probability), "query": text}
    }


def _is_plain(field: str) -> bool:
    """Check whether Solr accepts a field name in a sort clause without quotes: letters, digits and `_.:-`."""
    letters = re.sub("[.:-]", "_", field)
    return field[:1] not in ".:-" and f"_{letters}".isidentifier() and not _NUMBER.fullmatch(field)


def _constant(query: Json, weight: float) -> Json:
    if weight == 0.0:
        return {"bool": {"filter": [query]}}
    return {"bool": {"must": [f"*:*^={_decimal(weight)}"], "filter": [query]}}


def _decimal(number: float) -> str:
    """Format a number without an exponent, because Lucene's syntax has none."""
    return f"{Decimal(repr(number)):f}"


def join_tokens(tokens: Sequence[str]) -> tuple[str, str]:
    """Join non-empty tokens; return the text and its separator for Java's `String.split`.

    The separator is a character that no token contains. If the tokens contain all possible characters, it is `%`
    followed by a `~` for each letter of the longest token. `String.split` then finds only the separators between the
    tokens:

    - The separator is longer than any token, so no token contains it. Any other copy of the separator in the text would
      therefore overlap a separator between two tokens.
    - Two copies of the separator cannot overlap, because each contains only one `%`, at its beginning.
    """
    together = "".join(tokens)
    separator = next((mark for mark in _SEPARATORS if mark not in together), None)
    if separator is None:
        separator = "%" + "~" * max(map(len, tokens))
    return separator.join(tokens), separator


def overlap_similarity(token_count: int, minimum: int) -> float:
    """Return the `sim` for which `{!min_hash}` requires exactly `minimum` tokens.

    The parser computes ceil(count * sim) in 32-bit floats. Subtracting half a token from the minimum protects the
    result from rounding. The `sim` is never 1.0, because the parser would then set no minimum.
    """
    return (minimum - 0.5) / token_count


@lru_cache
def band_parameters(bands: int, rows: int) -> tuple[float, float]:
    """Return the `sim` and `tp` for which `{!min_hash}` cuts bands * rows tokens into bands of exactly `rows`.

    For n = bands * rows tokens, the parser tries 1, 2, 3, … bands; b bands have n // b rows each. It takes the first
    number of bands whose match probability exceeds `tp`. The probability grows with the number of bands. Let `first` be
    the smallest number of bands with exactly `rows` rows: then `tp` must be less than the probability of `first` bands,
    but not less than that of `first` - 1 bands.

    The tokens must fill every band, because a short last band would never match.
    """
    count = bands * rows
    first = next(number for number in range(1, bands + 1) if count // number == rows)
    # Choose the similarity that gives each band a match probability of 1 / `first`, because then the two probabilities
    # differ clearly.
    similarity = 1.0 if first == 1 else (1.0 / first) ** (1.0 / rows)
    below = 0.0 if first == 1 else band_match_probability(similarity, first - 1, count // (first - 1))
    reached = band_match_probability(similarity, first, rows)
    return similarity, (below + reached) / 2


#: Number of similar words that Solr's standard parser looks for (FuzzyQuery.defaultMaxExpansions).
FUZZY_EXPANSIONS = 50
#: Number of similar words that the parser `fuzzy` looks for: more than Lucene's limit on clauses allows.
_MOST_EXPANSIONS = 100_000
#: Characters with a meaning in the syntax of the standard query parser.
_SYNTAX = re.compile(r'[\\+\-!():^\[\]"{}~*?|&;/\s]')
_NO_WORD = re.compile(r"[^0-9A-Za-z]", re.ASCII)


def clause(test: Test, names: SolrFields) -> Json:
    """Return the query of a clause without its score."""
    match test:
        case Words() | InOrder() | FuzzyWord():
            fields = names.text if test.field is None else (test.field,)
            queries = [_field_query(test, field, has_fuzzy_parser=names.has_fuzzy_parser) for field in fields]
            return queries[0] if len(queries) == 1 else {"bool": {"should": queries}}
        case Equal(field=field, kind=kind, value=value):
            return {"term": {"f": field, "query": _value(field, kind, value)}}
        case WildcardValue(field=field, pattern=pattern):
            return {"lucene": {"df": field, "query": _pattern(pattern)}}
        case Between():
            return _range_query(test)
        case Exists(field=field):
            return exists(field)
        case _:
            raise TypeError(f"no clause: {test!r}")


def _range_query(test: Between) -> Json:
    low, high, includes_low, includes_high = test.low, test.high, test.includes_low, test.includes_high
    # Solr cannot read an empty text as a bound of a range, so replace it by "\0" or an open bound. Only the empty text
    # is below "\0".
    if low == "":
        low, includes_low = (None if includes_low else "\0"), True
    if high == "":
        low, high, includes_high = (low if includes_high else "\0"), "\0", False
    ends = ("*" if end is None else _bound(_value(test.field, test.kind, end), test.kind) for end in (low, high))
    opened, closed = "[" if includes_low else "{", "]" if includes_high else "}"
    return {"lucene": {"df": test.field, "query": f"{opened}{' TO '.join(ends)}{closed}"}}


def fit_integers(node: BoundLeaf, largest_in: Callable[[str], int | None]) -> BoundLeaf:
    """Return a clause without integers that the field cannot hold, because Solr refuses them.

    `largest_in` returns the largest value that a field can hold; None if the field has no integers.
    """
    if not isinstance(node, Equal | Between) or node.kind is not Kind.INTEGER:
        return node
    largest = largest_in(node.field)
    if largest is None:
        return node
    smallest, nothing = -largest - 1, Nothing(f"field {node.field!r} holds no number as large")
    if isinstance(node, Equal):
        return node if smallest <= int(node.value) <= largest else nothing
    low, high = (None if end is None else int(end) for end in (node.low, node.high))
    if (low is not None and low > largest) or (high is not None and high < smallest):
        return nothing
    if low is not None and low < smallest:
        node = replace(node, low=None, includes_low=True)
    if high is not None and high > largest:
        node = replace(node, high=None, includes_high=True)
    return node


def exists(field: str) -> Json:
    """Return the query for documents with any value in a field of any type."""
    return {"lucene": {"query": f"{_escape(field)}:[* TO *]"}}


def _field_query(test: WordClause, field: str, *, has_fuzzy_parser: bool) -> Json:
    match test:
        case Words(any_apostrophe=True):
            spelled = [
                _field_query(own, field, has_fuzzy_parser=has_fuzzy_parser) for own in test.apostrophe_variants()
            ]
            return {"bool": {"should": spelled}}
        case Words(text=text, slop=slop):
            # Do not use {!field}: for a text without words, this parser returns null, which is an error in a clause.
            return {"lucene": {"df": field, "query": f'"{_encode_characters(text)}"' + (f"~{slop}" if slop else "")}}
        case InOrder(words=((WildcardCharacter.ANY,),)):
            # Solr reads a * without an explicit field as a query for all documents. So use an empty prefix, which
            # matches any word.
            return {"prefix": {"f": field, "query": ""}}
        case InOrder(words=(pattern,)):
            return {"lucene": {"df": field, "query": _pattern(pattern)}}
        case InOrder(words=words, slop=slop):
            # Encode the whole phrase a second time, because Solr parses each word of the phrase as a query again.
            phrase = _encode_characters(" ".join(map(_pattern, words)))
            return {"complexphrase": {"df": field, "inOrder": "true", "query": f'"{phrase}"~{slop}'}}
        case FuzzyWord(word=word, edits=edits) if has_fuzzy_parser:
            options = {"f": field, "maxEdits": str(edits), "maxExpansions": str(_MOST_EXPANSIONS)}
            # If a word has more similar words than a query may have clauses, Lucene silently ignores the other words.
            # With one more clause, Lucene reports an error instead. So add a clause that matches no document: none has
            # this noncharacter.
            no_term = {"term": {"f": field, "query": "\uffff"}}
            return {"bool": {"should": [{"fuzzy": {**options, "query": word}}, no_term]}}
        case FuzzyWord(word=word, edits=edits):
            return {"lucene": {"df": field, "query": f"{_encode_characters(word, whole_word=True)}~{edits}"}}


def _value(field: str, kind: Kind, value: Value) -> str:
    match kind:
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.KEYWORD if not field.startswith(WHOLE_PREFIXES[kind]):
            return str(value)
        case Kind.KEYWORD | Kind.DATE:
            return str(encode_value(kind, value))
        case _:
            return repr(value)


def encode_value(kind: Kind, value: Value) -> Value:
    """Return a whole value as whorl stores it: a date in Solr's format, and a long text shortened."""
    if kind is Kind.DATE:
        return format_date(int(value))
    return encode_keyword(str(value)) if kind is Kind.KEYWORD else value


def _bound(value: str, kind: Kind) -> str:
    return f'"{_encode_characters(value)}"' if kind is Kind.KEYWORD else value


def _pattern(pattern: Pattern) -> str:
    return "".join(piece.value if isinstance(piece, WildcardCharacter) else _escape(piece) for piece in pattern)


def _escape(text: str) -> str:
    return _SYNTAX.sub(r"\\\g<0>", text)


def _encode_characters(text: str, *, whole_word: bool = False) -> str:
    r"""Replace all characters except letters and digits by \uXXXX, which parsers decode.

    `whole_word` also replaces the first letter, so that a word such as AND is not an operator.
    """
    coded = _NO_WORD.sub(lambda match: _units(match[0]), text)
    return _units(coded[0]) + coded[1:] if whole_word and coded[:1].isalnum() else coded


def _units(character: str) -> str:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{int.from_bytes(encoded[at : at + 2]):04x}" for at in range(0, len(encoded), 2))


#: Number of additional values to request from each shard, because a value that is frequent in total may be rare in one
#: shard.
_EXTRA_PER_SHARD = 1000
#: Solr's aggregation functions for the fields of Statistics, in the order of the fields.
_FUNCTIONS = {"count": "countvals", "smallest": "min", "largest": "max", "total": "sum", "squares": "sumsq"}


def facets_request(
    plan: BoundPlan, facets: Sequence[Facet], names: SolrFields, prepare: Callable[[BoundPlan], BoundPlan]
) -> Json:
    """Return the JSON body that requests the facets of a plan's hits, without the hits themselves.

    `prepare` replaces the clauses of a plan that cannot match anything in the collection.
    """
    nodes: dict[str, BoundNode] = {}
    fields: dict[str, str] = {}
    request = _facets(facets, nodes, fields)
    counted = {name: prepare(BoundPlan(node)).root for name, node in nodes.items()}
    body = search_request(plan, names, start=0, rows=0, counted=counted)
    return {**body, "params": {**body["params"], **fields}, "facet": request}


def _facets(facets: Sequence[Facet], counted: dict[str, BoundNode], fields: dict[str, str]) -> Json:
    """Return the JSON for facets.

    Add the node of each `MatchCount` to `counted`, keyed by the name of its query, and the field of each
    `StatisticsFacet` to `fields`, keyed by the name of its parameter: Solr's functions take only some names literally.
    """
    request: Json = {}
    for number, facet in enumerate(facets):
        name = f"facet{number}"
        match facet:
            case MatchCount(node=node):
                query = f"matching{len(counted)}"
                counted[query] = node
                request[name] = {"type": "query", "q": f"{{!query v=${query}}}"}
            case ValueFacet():
                request[name] = {
                    "type": "terms",
                    "field": facet.field,
                    "limit": facet.limit,
                    "mincount": facet.min_count,
                    "sort": "index asc" if facet.is_by_value else "count desc",
                    # Request additional values from each shard; `refine` then gets their counts from all shards.
                    "overrequest": _EXTRA_PER_SHARD,
                    "refine": True,
                    **({"prefix": facet.prefix} if facet.prefix else {}),
                    **({"facet": _facets(facet.subfacets, counted, fields)} if facet.subfacets else {}),
                }
            case StatisticsFacet(field=field):
                key = f"field{len(fields)}"
                fields[key] = field
                request |= {f"{name}_{statistic}": f"{function}(${key})" for statistic, function in _FUNCTIONS.items()}
    return request


def read_facets(facets: Sequence[Facet], answers: Json) -> tuple[FacetResult, ...]:
    """Return the facets of a response. The caller must handle errors from malformed responses."""
    results: list[FacetResult] = []
    for number, facet in enumerate(facets):
        name = f"facet{number}"
        match facet:
            case MatchCount():
                results.append(int(answers.get(name, {}).get("count", 0)))
            case ValueFacet(kind=kind, subfacets=subfacets):
                buckets = answers.get(name, {}).get("buckets", [])
                read = _READERS.get(kind, str)
                counts = (
                    ValueCount(read(bucket["val"]), int(bucket["count"]), read_facets(subfacets, bucket))
                    for bucket in buckets
                )
                results.append(tuple(counts))
            case StatisticsFacet():
                results.append(Statistics.read(*(answers.get(f"{name}_{statistic}") for statistic in _FUNCTIONS)))
    return tuple(results)


def _read_date(raw: Any) -> int:
    if (moment := date_of(str(raw))) is None:
        raise ValueError(f"{raw!r:.80} is not a date")
    return moment


#: Functions that convert the values in a facet's response, keyed by type. Values of other types are texts.
_READERS: Mapping[Kind, Callable[[Any], Value]] = {
    Kind.INTEGER: int,
    Kind.FLOAT: float,
    Kind.DATE: _read_date,
    Kind.BOOLEAN: lambda raw: raw in (True, "true"),
}
