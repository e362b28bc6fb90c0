"""A bound plan as Solr's JSON request: pure, and the only place that spells queries.

Every piece of user text is the value of an argument in Solr's JSON query language, which hands it to the parser as
it is (`{"field": {"f": …, "query": …}}` becomes `{!field f=$a v=$b}`), so nothing a user types is read as syntax; see
`clause_request` for what is escaped besides.

Tokens go through Solr's own `{!min_hash}` parser with a token list it does not analyse: it scores one for each
matching token or band, and is quicker to read than a clause for each token. It takes a similarity and a probability
instead of the numbers a plan holds, so those are chosen here such that it computes the same numbers.

What would pass Lucene's limit on clauses is put into functions, `query($part0,0)`: a query inside a function is
counted for itself, and the scores of several add up to that of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from whorl.engine.clause_limit import evaluated_apart
from whorl.engine.passages import spelled_numbers
from whorl.engine.solr.clauses import clause, exists, leaves
from whorl.engine.solr.fields import PASSAGES, SAMPLE, SCHEME, SIZE, SKETCH, stored_name
from whorl.errors import ParameterError
from whorl.fingerprint.minhash.banding import band_match_probability
from whorl.fingerprint.minhash.codec import Spelling, spell_integers, spelled_in_one
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import spelled
from whorl.model import Order
from whorl.planning.build import (
    Bool,
    BoundLeaf,
    BoundNode,
    BoundPlan,
    Chosen,
    MatchAll,
    Nothing,
    PassageNumbers,
    SharedBands,
    SharedTokens,
    SketchTokens,
)
from whorl.planning.clauses import Between, Equal, InOrder, Like, Near, Present, Words

#: Clauses of each query that is a part of another.
_PART = 1000
#: A fingerprint evaluated apart: functions to score and to match, and filters for scheme, sizes (two) and tokens.
_LEAVES_APART = 6
_FINGERPRINTS = (SharedTokens, SharedBands, SketchTokens, Chosen)
#: Names that mean nothing but a field where Solr reads what to sort by.
_SORTABLE = re.compile(r"\w[\w.:-]*", re.ASCII)
_IDENTIFIER, _NO_IDENTIFIER = re.compile(r"[^\W\d]\w*", re.ASCII), re.compile(r"\W", re.ASCII)
#: What mean themselves in a regular expression.
_MARKS = "~%@=!,;:"
#: No id holds a control character; commas and blanks it may.
_BETWEEN_IDS = "\x1f"

#: Or Solr replaces ${…} in ids, words and tokens by the request's own parameters.
_LITERALLY = {"expandMacros": "false"}
#: Or Solr finds all documents of a filter, most of the index, before it looks at those that the tokens name.
_LAZILY = {"cache": "false"}
_NO_DOCUMENT: dict[str, Any] = {"bool": {"must_not": ["*:*"]}}


@dataclass(frozen=True, slots=True)
class Names:
    """What a collection calls the fields that whorl needs.

    Args:
        key: The unique key.
        minhash: The indexed tokens.
        text: The fields that a word without a field name is looked for in.
        name: What people know a document by, or None.
        scheme: The name of the scheme of the tokens, on whose words and shingles sketches depend as well.
        spelling: How tokens are written.
    """

    key: str = "id"
    minhash: str = "MINHASH"
    text: tuple[str, ...] = ("name", "content")
    name: str | None = "name"
    scheme: str = Scheme().name
    spelling: Spelling = Spelling.UNITS_4


def search_request(
    plan: BoundPlan,
    names: Names,
    *,
    start: int,
    rows: int,
    with_sketches: bool = False,
    only_scheme: str | None = None,
    order: Sequence[Order] = (),
    in_order: bool = True,
    counted: Mapping[str, BoundNode] | None = None,
) -> dict[str, Any]:
    """Return the JSON body that asks Solr for one page of a plan's hits.

    Args:
        plan: The plan.
        names: What the collection calls its fields.
        start: Hits before the page.
        rows: Hits on it.
        with_sketches: Whether the hits' sketches are wanted.
        only_scheme: The scheme of all sketches, None where there may be several: then Solr is to tell them apart.
        order: What the hits are sorted by.
        in_order: Whether equal ones come by their ids, which takes Solr a fifth of a short search.
        counted: Further plans, each a query by a name that other parts of the request can use.

    Raises:
        ParameterError: The query has too many clauses, or Solr can name no such field to sort by.
    """
    roots = {"": plan.root, **(counted or {})}
    # Lucene counts the clauses of each query by itself.
    apart = [
        evaluated_apart(
            root,
            lambda node: _leaves(node, names),
            movable=_FINGERPRINTS,
            count_apart=_LEAVES_APART,
            server="Solr",
        )
        for root in roots.values()
    ]
    builder = _Builder(names, frozenset().union(*apart), only_scheme)
    queries = {name: builder.query(root) for name, root in roots.items()}
    query = queries.pop("")
    builder.named |= queries
    keys = [each for key in order for each in builder.sorted_by(key)] or ["score desc"]
    named = {"queries": builder.named} if builder.named else {}
    wanted = [names.key, *([names.name] if names.name else []), *([SKETCH, SCHEME] if with_sketches else [])]
    return {
        "query": query,
        "offset": start,
        "limit": rows,
        "fields": ["score", *listed(wanted)],
        "sort": ", ".join([*keys, *([f"{names.key} asc"] if in_order else [])]),
        "params": _LITERALLY,
        **named,
    }


def documents_request(values: Mapping[str, list[str]], fields: list[str]) -> dict[str, Any]:
    """Return the JSON body that asks for all documents whose field holds one of some values.

    Args:
        values: By field name; compared whole, not analysed.
        fields: What to fetch of each.
    """
    clauses = [{"term": {"f": field, "query": value}} for field, wanted in values.items() for value in wanted]
    query = clauses[0] if len(clauses) == 1 else {"bool": {"should": clauses, "mm": "1"}}
    # An id names one document; a collection that holds several under one number still answers in bounds.
    return {
        "query": query,
        "limit": 2 * len(clauses),
        "fields": listed(fields),
        "params": _LITERALLY,
    }


def contents_request(key: str, ids: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
    """Return the JSON body that asks for fields of the documents of some ids."""
    return {"query": one_of(key, ids), "limit": len(ids), "fields": listed([key, *fields]), "params": _LITERALLY}


def stored_request(ids: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
    """Return the JSON body that asks Solr's real-time get for documents by their ids."""
    # Of a list separated by commas, whose escapes Solr takes off again.
    escaped = (each.replace("\\", "\\\\").replace(",", "\\,") for each in ids)
    return {"params": {"ids": ",".join(escaped), "fl": ",".join(listed(fields)), **_LITERALLY}}


def listed(fields: Sequence[str]) -> list[str]:
    """Return fields as they are asked for; the answer may hold others whose names look like these."""
    # In a list of fields a colon, a brace and other characters are syntax; ? stands for any one.
    return [name if _IDENTIFIER.fullmatch(name) else _NO_IDENTIFIER.sub("?", name) for name in fields]


def largest_request(scheme: str) -> dict[str, Any]:
    """Return the JSON body that asks for the largest size of a document whose sketch is of a scheme."""
    return {"query": {"term": {"f": SCHEME, "query": scheme}}, "limit": 1, "fields": [SIZE], "sort": f"{SIZE} desc"}


#: Every document, whatever the handler takes a text for.
EVERYTHING: Mapping[str, Any] = {"bool": {"must": ["*:*"]}}


def without_sketch(scheme: str, text: str | None = None) -> dict[str, Any]:
    """Return the query that matches the documents without a sketch under a scheme.

    Args:
        scheme: Of the sketches.
        text: A field that they have, where only those that can be given a sketch are meant, or have one under another
            scheme.
    """
    is_meant = {"filter": [{"bool": {"should": [exists(text), exists(SCHEME)]}}]} if text else {}
    return {"bool": {"must": ["*:*"], "must_not": [{"term": {"f": SCHEME, "query": scheme}}], **is_meant}}


def empty_sketches(scheme: str, field: str | None = None) -> dict[str, Any]:
    """Return the query that matches the documents with a sketch of no shingles, and with something in a field."""
    is_empty = [{"term": {"f": SCHEME, "query": scheme}}, {"lucene": {"query": f"{SIZE}:0"}}]
    return {"bool": {"filter": [*is_empty, *([exists(field)] if field else [])]}}


def lost_sketches(scheme: str) -> dict[str, Any]:
    """Return the query that matches the documents that should have tokens of a sketch under a scheme and have none.

    The tokens are neither stored nor docValues, so an atomic update that does not set them loses them. Every token of
    the index is looked at: this takes seconds in a large collection.
    """
    is_there = [{"term": {"f": SCHEME, "query": scheme}}, {"lucene": {"query": f"{SIZE}:[1 TO *]"}}]
    return {"bool": {"filter": is_there, "must_not": [exists(SAMPLE)]}}


def one_of(field: str, values: Sequence[str]) -> dict[str, Any]:
    """Return the query that matches the documents that hold one of many values, each with the score 1.

    Args:
        field: Values are compared whole, not analysed.
        values: Any number, none with a control character: all are counted as one clause.
    """
    return {"terms": {"f": field, "separator": _BETWEEN_IDS, "query": _BETWEEN_IDS.join(values)}}


def vector_parameters(field: str) -> dict[str, str]:
    """Return the parameters that ask a handler for a field's term vectors, in the shape that `answer.vectors` reads."""
    return {"tv": "true", "tv.fl": field, "tv.tf": "true", "json.nl": "map"}


def _leaves(node: BoundLeaf, names: Names) -> int:
    """Return how many leaf clauses a node without children becomes, at most."""
    match node:
        case SharedTokens(tokens=tokens):
            return len(tokens)
        case SharedBands(bands=bands):
            return sum(map(len, bands))
        case SketchTokens(numbers=numbers):
            # The scheme, and the sizes as points and as docValues.
            return len(numbers) + 3
        case PassageNumbers(numbers=numbers):
            return len(numbers)
        case Chosen(groups=groups):
            return len(groups)
        case Words() | InOrder() | Near() | Equal() | Like() | Between() | Present():
            return leaves(node, names.text)
        case _:
            return 2


class _Builder:
    """Turns plan nodes into JSON queries and collects the queries that functions refer to by name."""

    def __init__(self, names: Names, apart: frozenset[int], only_scheme: str | None = None) -> None:
        self._names, self._apart, self._only_scheme = names, apart, only_scheme
        self.named: dict[str, Any] = {}

    def sorted_by(self, key: Order) -> list[str]:
        """Return what Solr sorts by for one key, the weightiest first."""
        direction = "asc" if key.is_ascending else "desc"
        places = [place for _, place in key.places]
        if key.field is None or places == [self._names.key]:
            return [f"{'score' if key.field is None else self._names.key} {direction}"]
        for place in places:
            if not _SORTABLE.fullmatch(place):
                raise ParameterError(f"Solr sorts by no field called {place!r}: only by letters, digits, _ . : and -")
        name = f"present{len(self.named)}"
        self.named[name] = _constant({"bool": {"should": [exists(place) for place in places]}}, 1.0)
        best = "min" if key.is_ascending else "max"
        each = [f'field("{place}",{best})' for place in places]
        values = places[0] if len(places) == 1 else f"def({','.join(each)})"
        # Else a document without a number or a date would have 0.
        return [f"query(${name},0) desc", f"{values} {direction}"]

    def query(self, node: BoundNode) -> dict[str, Any]:
        match node:
            case MatchAll(weight=weight):
                return _constant({"bool": {"must": ["*:*"]}}, weight)
            case Words() | InOrder() | Near() | Equal() | Like() | Between() | Present():
                return _constant(clause(node, self._names.text), node.weight)
            case SharedTokens(tokens=tokens, min_should_match=minimum):
                if minimum > len(tokens):
                    return _NO_DOCUMENT
                return self._fingerprint(node, tokens, overlap_similarity(len(tokens), minimum), 1.0)
            case SharedBands(bands=bands):
                tokens = tuple(chain.from_iterable(bands))
                similarity, probability = band_parameters(len(bands), len(bands[0]))
                return self._fingerprint(node, tokens, similarity, probability)
            case SketchTokens():
                return self._sketched(node)
            case PassageNumbers(numbers=numbers, scheme=scheme):
                wanted = spelled_numbers(numbers, scheme)
                return _min_hash(PASSAGES, *joined(wanted), 1.0, 1.0) if wanted else _NO_DOCUMENT
            case Chosen(groups=groups):
                return self._chosen(groups, is_apart=id(node) in self._apart)
            case Bool(must=must, should=should, must_not=must_not, min_should_match=minimum):
                clauses: dict[str, Any] = {
                    occur: [self.query(child) for child in children]
                    for occur, children in (("must", must), ("should", should), ("must_not", must_not))
                    if children
                }
                return {"bool": {**clauses, "mm": str(minimum)} if minimum else clauses}
            case Nothing():
                return _NO_DOCUMENT
            case _:
                raise TypeError(f"a plan must be bound before it is sent, got {node!r}")

    def _fingerprint(
        self, node: SharedTokens | SharedBands, numbers: tuple[int, ...], similarity: float, probability: float
    ) -> dict[str, Any]:
        spelling = self._names.spelling
        text, separator = spelled_in_one(numbers, spelling, _MARKS)
        if not separator:
            text, separator = joined(spell_integers(numbers, spelling))
        query = _min_hash(self._names.minhash, text, separator, similarity, probability)
        if id(node) in self._apart:
            query = self._in_functions([query])
        if node.weight == 1.0:
            return query
        return {"boost": {"b": repr(node.weight), "query": query}}

    def _sketched(self, node: SketchTokens) -> dict[str, Any]:
        tokens, minimum = spelled(np.array(node.numbers, dtype=np.uint64), node.scheme.bits), node.min_should_match
        if minimum > len(tokens):
            return _NO_DOCUMENT
        largest = "*" if node.largest_size is None else node.largest_size
        filters = [{"lucene": {"query": f"{SIZE}:[{node.smallest_size} TO {largest}]", **_LAZILY}}]
        if (scheme := stored_name(self._names.scheme, node.scheme)) != self._only_scheme:
            filters.append({"term": {"f": SCHEME, "query": scheme, **_LAZILY}})
        if id(node) not in self._apart:
            query = _min_hash(SAMPLE, *joined(tokens), overlap_similarity(len(tokens), minimum), 1.0)
            return {"bool": {"must": [query], "filter": filters}}
        # Each part asks for any of its tokens; how many there are in all is for the sum to say.
        parts = [_min_hash(SAMPLE, *joined(tokens[at : at + _PART]), 1.0, 1.0) for at in range(0, len(tokens), _PART)]
        return self._in_functions(parts, [*filters, one_of(SAMPLE, tokens)], least=minimum)

    def _chosen(self, groups: Sequence[tuple[float, tuple[str, ...]]], *, is_apart: bool) -> dict[str, Any]:
        scored = [
            {"boost": {"b": _decimal(score), "query": one_of(self._names.key, ids)}} for score, ids in groups if ids
        ]
        if not scored:
            return _NO_DOCUMENT
        if not is_apart:
            return {"bool": {"should": scored, "mm": "1"}}
        parts = [{"bool": {"should": scored[at : at + _PART], "mm": "1"}} for at in range(0, len(scored), _PART)]
        return self._in_functions(parts, [one_of(self._names.key, [each for _, ids in groups for each in ids])])

    def _in_functions(
        self, parts: Sequence[dict[str, Any]], filters: Sequence[dict[str, Any]] = (), least: int | None = None
    ) -> dict[str, Any]:
        """Match and score as the parts do together, their scores added; counted as few clauses.

        Args:
            parts: Each within Lucene's limit.
            filters: What all hits match; without any, hits are what any part matches.
            least: The least sum of scores of a hit.
        """
        queries = []
        for part in parts:
            name = f"fingerprint{len(self.named)}"
            self.named[name] = part
            queries.append(f"query(${name},0)")
        # A sum exists, for a frange, only where all its parts do, and query() exists only where it matches.
        total = queries[0] if len(queries) == 1 else f"sum({','.join(f'def({each},0)' for each in queries)})"
        matching = [*filters]
        if least is not None:
            matching.append({"frange": {"l": str(least), "query": total}})
        elif not filters:
            matching.append({"frange": {"l": "0", "incl": "false", "query": total}})
        return {"bool": {"must": [{"func": {"query": total}}], "filter": matching}}


def _min_hash(field: str, text: str, separator: str, similarity: float, probability: float) -> dict[str, Any]:
    """Ask for some of the tokens that a separator stands between."""
    return {
        "min_hash": {
            "field": field,
            "sep": separator,
            "sim": repr(similarity),
            "tp": repr(probability),
            "query": text,
        }
    }


def _constant(query: dict[str, Any], weight: float) -> dict[str, Any]:
    """Match as `query` does, each document with the score `weight`."""
    if weight == 0.0:
        return {"bool": {"filter": [query]}}
    return {"bool": {"must": [f"*:*^={_decimal(weight)}"], "filter": [query]}}


def _decimal(number: float) -> str:
    """Write a number without an exponent, which Lucene's syntax does not know."""
    return f"{Decimal(repr(number)):f}"


def joined(tokens: Sequence[str]) -> tuple[str, str]:
    """Return tokens in one text, and the separator at which Java's `String.split` cuts it into just these again.

    A character that no token holds is one. Where none is left, `%` with as many `~` as the longest token has letters:

    - It is longer than any token, so wherever it stands in the text it meets a separator that was put there.
    - None of its beginnings is one of its ends (each begins with `%`, and no end but the whole holds one), so two that
      meet are one and the same.

    Args:
        tokens: None of them empty.

    Returns:
        The text and the separator, which means itself in a regular expression.
    """
    together = "".join(tokens)
    separator = next((mark for mark in _MARKS if mark not in together), None)
    if separator is None:
        separator = "%" + "~" * max(map(len, tokens))
    return separator.join(tokens), separator


def overlap_similarity(token_count: int, minimum: int) -> float:
    """Return the `sim` for which `{!min_hash}` asks for exactly `minimum` tokens.

    It computes ceil(count * sim) in 32-bit floats; aiming half a token below leaves no room for their rounding.
    Never 1.0, for which it sets no minimum at all.
    """
    return (minimum - 0.5) / token_count


@lru_cache
def band_parameters(bands: int, rows: int) -> tuple[float, float]:
    """Return the `sim` and `tp` for which `{!min_hash}` cuts bands * rows tokens into bands of exactly `rows`.

    It takes the first number of bands b, rows = count // b, whose chance to match exceeds tp. The chance grows with
    b, so a tp between the last b with more rows and the first with these rows is enough. The tokens fill every band:
    its own filling of a last short band looks for the wrong terms (it writes the bytes' hex dump) and never matches.
    """
    count = bands * rows
    first = next(number for number in range(1, bands + 1) if count // number == rows)
    # A similarity for which a band matches about one time in `first` keeps the two chances well apart.
    similarity = 1.0 if first == 1 else (1.0 / first) ** (1.0 / rows)
    below = 0.0 if first == 1 else band_match_probability(similarity, first - 1, count // (first - 1))
    reached = band_match_probability(similarity, first, rows)
    return similarity, (below + reached) / 2
