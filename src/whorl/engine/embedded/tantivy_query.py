"""Translates query plans, and single clauses such as words, phrases and ranges, into tantivy queries.

Scores come from the plan, not from word frequencies (IDF). tantivy supports terms, phrases, fuzzy terms, and regular
expressions of moderate size. For any other clause, this module queries a superset of the hits, and filters it by the
stored fields. Phrases and spans match as in Lucene.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, filterfalse, pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from tantivy import Occur, Query

from whorl.engine.embedded.database import RecordDatabase
from whorl.engine.embedded.prepare_documents import SCHEMA, words_field
from whorl.engine.embedded.segmented_token_index import TokenSnapshot
from whorl.engine.embedded.shared_tokens import ScoredDocuments, group_clauses, has_only_tokens, match_tokens
from whorl.engine.embedded.store_index import StoreIndex
from whorl.engine.index_terms import (
    OWN_FIELDS,
    clause_fields,
    compile_pattern,
    encode_pattern,
    encode_sortable,
    pattern_expression,
    presence_term,
    range_expression,
    split_range_above,
    state_doublings,
    value_prefix,
    value_term,
    word_prefix,
    word_term,
)
from whorl.errors import Span, StoppedError, UnsupportedQueryError
from whorl.fingerprint.shingling import well_formed
from whorl.fingerprint.words.tokenizer import TYPOGRAPHIC_APOSTROPHES, tokens
from whorl.query.ast import Pattern, as_typed
from whorl.query.plan.describe import describe_test
from whorl.query.plan.fields_and_values import split_name
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
    WildcardValue,
    Words,
    leaves,
)
from whorl.query.plan.planner import MOST_EDITS, is_near
from whorl.request_context import require_time, seconds_left, timely

#: Function that checks whether a term, without its prefix, matches a clause.
Fits: TypeAlias = Callable[[str], bool]
#: Up to this number of documents, one term query per document is faster than one set query, which scans all documents.
_FEW_NUMBERS = 256


class TantivyQuery(NamedTuple):
    """A tantivy query for a plan or a part of it.

    Args:
        description: The query as JSON values, with counts instead of tokens.
        score: Score of every match, or None if matches can have different scores.
    """

    query: Query
    description: Mapping[str, object]
    score: float | None


def translate(plan: BoundPlan, profile: str, reader: IndexReader | None) -> TantivyQuery:
    """Translate a bound plan into a query. If the reader is None, the query only describes the plan."""
    tests = [leaf for leaf in leaves(plan.root) if isinstance(leaf, Test)]
    if reader is not None and any(not isinstance(test, Words) or test.slop for test in tests):
        # First translate without a reader, to check the limits before any automaton is built, because building an
        # automaton takes a few milliseconds.
        PlanTranslator(profile, None).translate_node(plan.root)
    return PlanTranslator(profile, reader).translate_node(plan.root)


def _split_tokens(clauses: tuple[BoundNode, ...]) -> tuple[tuple[BoundNode, ...], Sequence[tuple[BoundNode, ...]]]:
    """Group the clauses that look up only fingerprint tokens, so that one query lists their documents."""
    tokens = tuple(filter(has_only_tokens, clauses))
    return (clauses, ()) if len(tokens) < 2 else (tuple(filterfalse(has_only_tokens, clauses)), [tokens])


def _constant_score(weight: float) -> float | None:
    """Return the score that all matches of a token clause have: 0 for a weight of 0, otherwise None.

    With any other weight, the score depends on the number of matching tokens or bands.
    """
    return None if weight else 0.0


def _number_queries(numbers: list[int]) -> list[Query]:
    """Return queries that together match documents by number: one query for many numbers, or one query for each.

    Both forms find the same documents; this choice is the fastest.
    """
    if len(numbers) > _FEW_NUMBERS:
        return [Query.term_set_query(SCHEMA, "number", numbers)]
    return [Query.term_query(SCHEMA, "number", number, "basic") for number in numbers]


def _bool_query(must: Sequence[Query], should: Sequence[Query], must_not: Sequence[Query], minimum: int) -> Query:
    """Return a query that matches like Lucene's BooleanQuery.

    At least `minimum` of the `should` queries must match, and at least one if `must` is empty.
    """
    needed = minimum if must else max(minimum, 1)
    if needed > len(should):
        return Query.empty_query()
    occurs = ((Occur.Must, must), (Occur.Should, should), (Occur.MustNot, must_not))
    parts = [(occur, query) for occur, queries in occurs for query in queries]
    return Query.boolean_query(parts, minimum_number_should_match=needed if should else None)


#: Maximum number of patterns, fuzzy words and ranges in a query. A clause on two fields counts twice.
MOST_LOOK_UPS = 100
#: Maximum total size of the patterns, fuzzy words and ranges. The size is about the number of states in tantivy's
#: automata, which take 4 KB each.
MOST_STATES = 8192
#: Maximum number of terms that a query may compare one by one, if tantivy cannot build automata for its clauses.
MOST_TERMS = 100_000
#: If a field has at most this number of terms, a range with only a long lower bound is compared with each term, because
#: this is faster than building several automata.
_FEW_TERMS = 10_000
#: Maximum length of a regular expression for tantivy. A longer expression would compile slowly and exceed tantivy's
#: limit.
_LONGEST_EXPRESSION = 4000
#: The estimated size of a pattern's automaton is the length of the pattern, doubled `state_doublings` times. More
#: doublings than this number are ignored, because tantivy usually rejects such a large automaton.
_MOST_DOUBLINGS = 4
#: The first `_FEW_LOOK_UPS` look-ups of a query have no trial run (see `IndexReader.plan_trial_run`). Together they
#: take at most a few tenths of a second.
_FEW_LOOK_UPS = 4


class PlanTranslator:
    """Translates the nodes of a plan into queries; raises UnsupportedQueryError if the plan exceeds a limit.

    Without a reader, it only describes the nodes and checks the limits.
    """

    def __init__(self, profile: str, reader: IndexReader | None) -> None:
        self._profile, self._reader = profile, reader
        self._look_ups, self._states, self._terms = 0, 0, 0
        self._words_of: dict[str, list[str]] = {}

    def translate_node(self, plan: BoundNode) -> TantivyQuery:
        match plan:
            case MatchAll(weight=weight):
                # Each part of the index has a document without an id, which holds the part's own data. So match only
                # documents with an id.
                everything = Query.const_score_query(Query.exists_query("id"), weight)
                return TantivyQuery(everything, {"everything": {"weight": weight}}, weight)
            case Nothing(reason=reason):
                return TantivyQuery(Query.empty_query(), {"nothing": reason}, 0.0)
            case _ if isinstance(plan, Test):
                query, described = self.query(plan), self.description(plan)
                # Give the combined query on all fields one constant score, so that a match in two fields counts once.
                return TantivyQuery(Query.const_score_query(query, plan.weight), described, plan.weight)
            case SharedTokens(tokens=wanted, min_should_match=minimum, weight=weight):
                counts = {"tokens": len(wanted), "distinct": len(set(wanted)), "min_should_match": minimum}
                described = {"source": plan.reference, **counts, "weight": weight}
                return TantivyQuery(self.match_tokens(plan), {"shared_tokens": described}, _constant_score(weight))
            case SharedBands(bands=bands, weight=weight):
                counts = {"bands": len(bands), "rows": max(map(len, bands), default=0)}
                described = {"source": plan.reference, **counts, "weight": weight}
                return TantivyQuery(self.match_tokens(plan), {"shared_bands": described}, _constant_score(weight))
            case SketchTokens(numbers=numbers, min_should_match=minimum):
                described = {"source": plan.reference, "tokens": len(numbers), "min_should_match": minimum}
                sizes = {"smallest_size": plan.smallest_size, "largest_size": plan.largest_size}
                return TantivyQuery(self.match_tokens(plan), {"sketch_tokens": {**described, **sizes}}, None)
            case PassageHashes(numbers=numbers):
                described = {"source": plan.reference, "numbers": len(numbers)}
                return TantivyQuery(self.match_tokens(plan), {"passage_numbers": described}, None)
            case DocumentsByScore(groups=groups):
                sets = [(Query.term_set_query(SCHEMA, "id", list(ids)), score) for score, ids in groups]
                chosen = [Query.const_score_query(query, score) for query, score in sets]
                described = {"source": plan.reference, "documents": sum(len(ids) for _, ids in groups)}
                return TantivyQuery(_bool_query((), chosen, (), 1), {"chosen": described}, None)
            case Bool() if self._reader is not None and has_only_tokens(plan):
                translated = PlanTranslator(self._profile, None).translate_bool(plan)
                return translated._replace(query=self.match_tokens(plan))
            case Bool():
                return self.translate_bool(plan if self._reader is None else group_clauses(plan, _split_tokens))
            case _:
                raise TypeError(f"a plan is resolved and bound before it is run; {plan!r} is not")

    def match_tokens(self, plan: BoundNode) -> Query:
        """Look up the documents that match a plan with only fingerprint tokens; return a query with their scores."""
        if self._reader is None:
            return Query.empty_query()
        matches = self._reader.match_tokens(plan)
        queries = []
        for score in np.unique(matches.scores).tolist():
            numbers = matches.numbers[matches.scores == score].tolist()
            queries += [Query.const_score_query(query, score) for query in _number_queries(numbers)]
        return _bool_query((), queries, (), 1)

    def translate_bool(self, plan: Bool[BoundLeaf]) -> TantivyQuery:
        must, should, must_not = (
            [self.translate_node(child) for child in children] for children in (plan.must, plan.should, plan.must_not)
        )
        queries = [[part.query for part in parts] for parts in (must, should, must_not)]
        query = _bool_query(queries[0], queries[1], queries[2], plan.min_should_match)
        described: dict[str, object] = {
            occur: [part.description for part in parts]
            for occur, parts in (("must", must), ("should", should), ("must_not", must_not))
            if parts
        }
        needed = plan.min_should_match if must else max(plan.min_should_match, 1)
        if should:
            described["min_should_match"] = needed
        # If all `should` clauses must match, they add to every score. Otherwise they are optional, and the score is
        # constant only if they add nothing to it.
        optional = should if needed < len(should) else []
        certain = must if optional else must + should
        is_constant = all(part.score is not None for part in certain) and all(part.score == 0 for part in optional)
        return TantivyQuery(
            query, {"bool": described}, sum(part.score or 0.0 for part in certain) if is_constant else None
        )

    def query(self, test: Test) -> Query:
        """Return a clause's query; raise UnsupportedQueryError if the plan exceeds a limit."""
        match test:
            case Words(text=text, field="id"):
                return _value_query("id", Kind.KEYWORD, text) if text == well_formed(text) else Query.empty_query()
            case Words(text=text, any_apostrophe=True):
                return any_of(folded_phrase_query(field, text.split(" ")) for field in clause_fields(test.field))
            case Words(text=text, slop=slop):
                words = self._words(text)
                if not words:
                    # A quotation without words, such as "= + =", matches nothing.
                    return Query.empty_query()
                has_slop = slop > 0 and len(words) > 1
                is_match = (lambda values: is_sloppy_phrase(values, words, slop)) if has_slop else None
                single: list[Pattern] = [(word,) for word in words]
                return self._consecutive_words(single, slop, clause_fields(test.field), is_match)
            case InOrder(words=patterns, slop=slop):
                is_phrase = not slop and all(map(_is_word, patterns))
                is_match = (
                    None
                    if is_phrase or len(patterns) == 1
                    else lambda values: is_ordered_span(values, list(map(compile_pattern, patterns)), slop)
                )
                return self._consecutive_words(patterns, slop, clause_fields(test.field), is_match)
            case FuzzyWord():
                return self._fuzzy(test)
            case Equal(field=field, kind=kind, value=value):
                return _value_query(field, kind, value)
            case WildcardValue(field=field, pattern=pattern):
                return self._wildcard(_field_and_prefix(field, Kind.KEYWORD), pattern)
            case Between(field=field, kind=kind, low=low, high=high):
                ends = [None if end is None else encode_sortable(kind, end) for end in (low, high)]
                return self._range(_field_and_prefix(field, kind), ends[0], ends[1], test)
            case Exists(field="id"):
                return Query.exists_query("id")
            case Exists(field=field, kind=kind):
                return Query.term_query(SCHEMA, "values", presence_term(field, kind), "basic")

    def description(self, test: Test) -> Mapping[str, object]:
        match test:
            case Words(text=text, field="id", weight=weight):
                return {"id": text, "weight": weight}
            case Words(text=text, field=field, slop=slop, weight=weight):
                words = self._words(text)
                described = {"words": words, "fields": list(clause_fields(field)), "weight": weight}
                return {**described, "slop": slop} if slop else described
            case InOrder(words=patterns, slop=slop, field=field, weight=weight):
                words = [as_typed(pattern) for pattern in patterns]
                return {"in_order": words, "slop": slop, "fields": list(clause_fields(field)), "weight": weight}
            case FuzzyWord(word=word, edits=edits, field=field, weight=weight):
                return {"near": word, "edits": edits, "fields": list(clause_fields(field)), "weight": weight}
            case Equal(field=field, value=value, weight=weight):
                return {"value": value, "field": field, "weight": weight}
            case WildcardValue(field=field, pattern=pattern, weight=weight):
                return {"like": as_typed(pattern), "field": field, "weight": weight}
            case Between(field=field, low=low, high=high, weight=weight):
                included = {"includes_low": test.includes_low, "includes_high": test.includes_high}
                return {"low": low, "high": high, **included, "field": field, "weight": weight}
            case Exists(field=field, weight=weight):
                return {"present": field, "weight": weight}

    def _words(self, text: str) -> list[str]:
        """Return the words of a text, cached: both the query and its description need them."""
        if text not in self._words_of:
            self._words_of[text] = tokens(well_formed(text), self._profile)
        return self._words_of[text]

    def _consecutive_words(
        self, patterns: Sequence[Pattern], slop: int, fields: Sequence[str], is_match: Callable[[Values], bool] | None
    ) -> Query:
        """Return the query for a phrase of words or patterns with a slop; `is_match` filters hits by stored values."""
        if is_match is None and all(map(_is_word, patterns)):
            return any_of(phrase_query(field, [str(pattern[0]) for pattern in patterns]) for field in fields)
        query = any_of(self._superset(field, patterns, slop) for field in fields)
        return query if is_match is None else self._filter_query(query, fields, is_match)

    def _superset(self, field: str, patterns: Sequence[Pattern], slop: int) -> Query:
        """Return a query for documents with all words of a phrase, and each pair of neighbouring words within the slop.

        These documents include all matches of the phrase. tantivy's own phrases with a slop would miss matches of three
        or more words.
        """
        parts = [
            phrase_query(field, [str(first[0]), str(second[0])], slop)
            for first, second in pairwise(patterns)
            if _is_word(first) and _is_word(second)
        ]
        for pattern in dict.fromkeys(patterns):
            if _is_word(pattern):
                parts.append(phrase_query(field, [str(pattern[0])]))
            else:
                parts.append(self._wildcard((words_field(field), word_prefix(field)), encode_pattern(pattern)))
        return Query.boolean_query([(Occur.Must, part) for part in parts])

    def _fuzzy(self, test: FuzzyWord) -> Query:
        fields = clause_fields(test.field)

        def fuzzy_query(field: str) -> Query:
            # An id is one term in a field of its own, so it has no prefix with the name of the field.
            own_field, term = ("id", test.word) if field == "id" else (words_field(field), word_term(field, test.word))
            build = partial(Query.fuzzy_term_query, SCHEMA, own_field, term, distance=test.edits)
            return self._look_up(lambda _: build(), describe_test(test), 4 * len(test.word))

        query = any_of(map(fuzzy_query, fields))
        names = set() if self._reader is None else self._reader.field_names()
        # In tantivy's shared field, each term begins with the name of its property. A fuzzy search may also edit this
        # name, and so match a term of another property.
        shared = [field for field in fields if field not in ("id", *OWN_FIELDS)]
        others = names - {*fields, *OWN_FIELDS}
        if not any(_is_close(field, other) for field in shared for other in others):
            return query

        def is_match(values: Values) -> bool:
            return any(is_near(word, test.word, test.edits) for word in set(chain.from_iterable(values)))

        return self._filter_query(query, fields, is_match)

    def _wildcard(self, field_and_prefix: tuple[str, str], pattern: Pattern) -> Query:
        regex = pattern_expression(pattern)
        literal = pattern[0] if pattern and isinstance(pattern[0], str) else ""
        size = len(regex) << min(state_doublings(pattern), _MOST_DOUBLINGS)

        def fits(text: str) -> bool:
            return bool(compile_pattern(pattern).fullmatch(text))

        return self._matching_terms(field_and_prefix, regex, literal, fits, as_typed(pattern), size)

    def _range(self, field_and_prefix: tuple[str, str], low: str | None, high: str | None, test: Between) -> Query:
        def fits(text: str) -> bool:
            is_above = low is None or low < text or (test.includes_low and low == text)
            return is_above and (high is None or text < high or (test.includes_high and text == high))

        size = 4 * (len(low or "") + len(high or ""))
        if low and high is None:
            return self._look_up(
                lambda reader: self._above(reader, field_and_prefix, low, fits, test), describe_test(test), size
            )
        regex: str | None = ""
        if size <= _LONGEST_EXPRESSION:
            regex = range_expression(low, high, includes_low=test.includes_low, includes_high=test.includes_high)
        if regex is None:
            return Query.empty_query()
        return self._matching_terms(field_and_prefix, regex, "", fits, describe_test(test), size)

    def _above(
        self, reader: IndexReader, field_and_prefix: tuple[str, str], low: str, fits: Fits, test: Between
    ) -> Query:
        """Return a query for all terms above `low`, and for `low` itself if the range `test` includes it.

        `_matching_terms` describes `field_and_prefix` and `fits`.
        """
        field, prefix = field_and_prefix
        expressions, beginning = split_range_above(low, is_included=test.includes_low)
        # A short bound gives at most two expressions: for greater strings, and for strings that begin with the bound.
        # More expressions would take longer than comparing a few terms.
        if len(expressions) > 2 and len(reader.terms(field, prefix, _FEW_TERMS)) <= _FEW_TERMS:
            expressions, beginning = [], ""
        start = pattern_expression((prefix,))
        try:
            queries = [Query.regex_query(SCHEMA, field, start + expression) for expression in expressions]
        except ValueError:
            # tantivy rejects the expressions if the terms' prefix takes too many states. So compare the terms.
            queries, beginning = [], ""
        if beginning is not None:
            queries.append(self._terms_query(reader, field, prefix, beginning, fits, describe_test(test)))
        return any_of(queries)

    def _matching_terms(
        self, field_and_prefix: tuple[str, str], regex: str, literal: str, fits: Fits, clause: str, size: int
    ) -> Query:
        """Return a query for documents with a term that fits an expression.

        Args:
            field_and_prefix: tantivy's field, and the prefix of the terms.
            regex: Expression for the part of a term after the prefix; "" if there is no expression.
            literal: First characters of this part, the same in all matching terms.
            fits: Checks whether this part matches the expression.
            clause: The clause in words, for error messages.
            size: Size of the clause, for the limit `MOST_STATES`.
        """
        field, prefix = field_and_prefix

        def build(reader: IndexReader) -> Query:
            if regex and len(regex) <= _LONGEST_EXPRESSION:
                # tantivy rejects an expression of more than 1,000 states; then compare the terms one by one, below.
                with suppress(ValueError):
                    return Query.regex_query(SCHEMA, field, pattern_expression((prefix,)) + regex)
            return self._terms_query(reader, field, prefix, literal, fits, clause)

        return self._look_up(build, clause, size)

    def _terms_query(
        self, reader: IndexReader, field: str, prefix: str, literal: str, fits: Fits, clause: str
    ) -> Query:
        """Return a query for the terms that begin with `literal` and pass `fits`.

        Raise UnsupportedQueryError if the plan has to compare more than `MOST_TERMS` terms.
        """
        terms = reader.terms(field, prefix + literal, MOST_TERMS - self._terms)
        self._terms += len(terms)
        if self._terms > MOST_TERMS:
            raise _unsupported_error(
                clause, f"more than {MOST_TERMS:,} words or values would have to be compared with it"
            )
        matching = [term for term in timely(terms, 1) if fits(term[len(prefix) :])]
        return Query.term_set_query(SCHEMA, field, matching)

    def _look_up(self, build: Callable[[IndexReader], Query], clause: str, size: int) -> Query:
        """Build a query of many terms (a look-up); raise UnsupportedQueryError if the plan exceeds a limit.

        Schedule a trial run of the query, except for the first four look-ups.
        """
        self._look_ups += 1
        self._states += size
        if self._look_ups > MOST_LOOK_UPS:
            raise _unsupported_error(clause, f"a query has at most {MOST_LOOK_UPS} patterns, fuzzy words and ranges")
        if self._states > MOST_STATES:
            raise _unsupported_error(clause, "the patterns, fuzzy words and ranges of this query are too long together")
        if self._reader is None:
            return Query.empty_query()
        query = build(self._reader)
        if self._look_ups > _FEW_LOOK_UPS:
            self._reader.plan_trial_run(query)
        return query

    def _filter_query(self, query: Query, fields: Sequence[str], is_match: Callable[[Values], bool]) -> Query:
        """Return a query for the hits of `query` that have a field whose stored values pass `is_match`."""
        if self._reader is None:
            return query
        return Query.term_set_query(SCHEMA, "id", self._reader.filter_hits(query, fields, is_match))


def _unsupported_error(clause: str, reason: str) -> UnsupportedQueryError:
    hint = "Ask with fewer or shorter ones, in fewer fields, or begin patterns with more letters."
    return UnsupportedQueryError(f"{clause:.80}: {reason}", query=clause, span=Span(0, len(clause)), hint=hint)


def _field_and_prefix(field: str, kind: Kind) -> tuple[str, str]:
    """Return tantivy's field for whole (untokenized) values, and the prefix of its terms for a field and a type."""
    return ("id", "") if field == "id" else ("values", value_prefix(field, kind))


def _value_query(field: str, kind: Kind, value: str | int | float | bool) -> Query:
    if field == "id":
        return Query.term_query(SCHEMA, "id", str(value), "basic")
    return Query.term_query(SCHEMA, "values", value_term(field, kind, value), "basic")


def phrase_query(field: str, words: Sequence[str], slop: int = 0) -> Query:
    if len(words) == 1:
        # tantivy rejects phrases of one word, so search for the word.
        return Query.term_query(SCHEMA, words_field(field), word_term(field, words[0]), "basic")
    return Query.phrase_query(SCHEMA, words_field(field), [word_term(field, word) for word in words], slop)


def folded_phrase_query(field: str, words: Sequence[str]) -> Query:
    """Return the query for a phrase of folded words; their apostrophes match apostrophes of all kinds."""
    if not any("'" in word for word in words):
        return phrase_query(field, words)
    any_mark = f"['{TYPOGRAPHIC_APOSTROPHES}]"
    expressions = [pattern_expression((word_term(field, word),)).replace("'", any_mark) for word in words]
    if len(words) == 1:
        return Query.regex_query(SCHEMA, words_field(field), expressions[0])
    return Query.regex_phrase_query(SCHEMA, words_field(field), [*expressions])


def any_of(queries: Iterable[Query]) -> Query:
    listed = list(queries)
    return listed[0] if len(listed) == 1 else Query.boolean_query([(Occur.Should, query) for query in listed])


def _is_word(pattern: Pattern) -> bool:
    return len(pattern) == 1 and isinstance(pattern[0], str)


def _is_close(field: str, other: str) -> bool:
    """Check whether a fuzzy search in one field could match terms of the other field.

    In tantivy's shared field, a term begins with its field's name, so a fuzzy search may edit the name, too.
    """
    is_beginning = field.startswith(other) or other.startswith(field)
    return is_beginning or is_near(field, other, MOST_EDITS)


#: Values of a field; each value is a list of words.
Values: TypeAlias = Sequence[Sequence[str]]


class IndexReader:
    """Reads tokens, terms and stored fields for the translation of one query."""

    def __init__(self, index: StoreIndex, records: RecordDatabase, profile: str) -> None:
        self._index, self._records, self._profile = index, records, profile
        self._tokens: TokenSnapshot | None = None
        self._pending: list[Query] = []
        self._trial_seconds = 0.0

    def match_tokens(self, plan: BoundNode) -> ScoredDocuments:
        """Return the matches of a plan with only fingerprint tokens. All calls read the same snapshot."""
        if self._tokens is None:
            self._tokens = self._index.tokens()
        return match_tokens(plan, self._tokens)

    def field_names(self) -> set[str]:
        return {"name", "content", *(name for name, _ in self._records.fields())}

    def terms(self, field: str, prefix: str, most: int) -> list[str]:
        return self._index.text_index.terms(field, prefix, most)

    def filter_hits(self, query: Query, fields: Sequence[str], is_match: Callable[[Values], bool]) -> list[str]:
        """Return the ids of a query's hits that have a field whose stored values pass `is_match`."""
        self.run_trials()
        _, hits = self._index.text_index.matches(query, 0, self._records.count(), is_ranked=False)
        passing = []
        for record in timely(self._records.documents("id", (document_id for document_id, _ in hits)), 1):
            document = record.document
            texts = {"name": (document.name,), "content": (document.text,), **document.values()}
            texts["name"] = tuple(map(split_name, texts["name"]))
            if any(is_match([tokens(text, self._profile) for text in texts.get(field, ())]) for field in fields):
                passing.append(document.id)
        return passing

    def plan_trial_run(self, query: Query) -> None:
        """Schedule a trial run of one part of a query, so that `run_trials` measures its time."""
        self._pending.append(query)

    def run_trials(self) -> None:
        """Run each scheduled part once; raise StoppedError if the time left is too short to run all parts again.

        whorl cannot cancel a search of tantivy, but it can stop between the parts.
        """
        while self._pending:
            begin = time.monotonic()
            self._index.text_index.matches(self._pending.pop(), 0, 0, is_ranked=False)
            self._trial_seconds += time.monotonic() - begin
            require_time()
        require_time()
        left = seconds_left()
        if left is not None and left < self._trial_seconds:
            raise StoppedError("the time left is too short for the patterns of this query; ask for fewer of them")


#: Number of positions between two values of a field, as in Solr's text types (positionIncrementGap).
GAP = 100


def positions(values: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    """Return the words of a field's values with their positions; the positions of two values are `GAP` apart."""
    positioned, at = [], 0
    for words in values:
        positioned += list(enumerate(words, at))
        at += len(words) + GAP
    return positioned


def is_sloppy_phrase(values: Sequence[Sequence[str]], wanted: Sequence[str], slop: int) -> bool:
    """Check whether a field contains a phrase, with deviations up to the slop.

    The shift of a word is its position in the field minus its position in the phrase. In a match, the shifts of all
    words differ by at most the slop.

    Source: Lucene's SloppyPhraseMatcher.
    """
    positions_of: dict[str, list[int]] = {word: [] for word in wanted}
    for at, word in positions(values):
        if word in positions_of:
            positions_of[word].append(at)

    def fits(least: int) -> bool:
        """Check whether each word has a position with a shift from `least` to `least + slop`."""
        # A word that occurs twice in the phrase needs two positions, so take the first free one for each occurrence.
        taken = dict.fromkeys(positions_of, 0)
        for number, word in enumerate(wanted):
            word_positions = positions_of[word]
            at = bisect_left(word_positions, least + number, lo=taken[word])
            if at == len(word_positions) or word_positions[at] > least + slop + number:
                return False
            taken[word] = at + 1
        return True

    shifts = sorted({at - number for number, word in enumerate(wanted) for at in positions_of[word]})
    return any(map(fits, timely(shifts, 1)))


def is_ordered_span(values: Sequence[Sequence[str]], wanted: Sequence[re.Pattern[str]], slop: int) -> bool:
    """Check whether a field has words that match patterns in their order, with at most `slop` words between them.

    Source: Lucene's NearSpansOrdered.
    """
    positioned = positions(values)
    pattern_positions = [[at for at, word in positioned if pattern.fullmatch(word)] for pattern in wanted]
    for first in pattern_positions[0]:
        at = first
        for later_positions in pattern_positions[1:]:
            # Take the nearest following position for each word, because it leaves the most room for later words.
            following = bisect_left(later_positions, at + 1)
            if following == len(later_positions):
                return False
            at = later_positions[following]
        if at - first - (len(wanted) - 1) <= slop:
            return True
    return False
