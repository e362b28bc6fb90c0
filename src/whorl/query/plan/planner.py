"""Turns the text of a query into a plan for the engines (`make_plan`, `resolve`, `bind`).

`QueryDefaults` has the defaults for reading the text of a query, such as the operator between words.

    make_plan    turns the syntax tree of a query into a plan
    resolve      looks up the fields of clauses, and makes a test for each type of a field that supports the clause
    bind         adds the tokens of the documents that FINGERPRINT names
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias

from whorl.errors import (
    FieldError,
    ParameterError,
    Span,
    UnknownDocumentError,
    UnknownFieldError,
    UnsupportedQueryError,
    format_names,
    shorten_repr,
)
from whorl.fingerprint.minhash.signature_and_tokens import Signature, band_rows, cut_bands, min_should_match
from whorl.fingerprint.shingling import Scheme, well_formed
from whorl.fingerprint.words.tokenizer import tokens, tokens_and_spans
from whorl.query import ast
from whorl.query.ast import Operator, Pattern, QueryLimits, WildcardCharacter, as_typed, join_pieces
from whorl.query.literals import with_quoted_id
from whorl.query.plan.fields_and_values import (
    DATA_TYPES,
    QUALIFIED_NAME_FIELDS,
    REPOSITORY_FIELDS,
    Fields,
    FieldsByKind,
    UnreadableError,
    convert_qualified_name,
    date_of,
    expand_path,
    range_of,
    special_value,
    split_name,
    value_of,
)
from whorl.query.plan.nodes import (
    Bool,
    BoundLeaf,
    BoundNode,
    BoundPlan,
    Equal,
    Exists,
    FieldClause,
    FingerprintClause,
    FuzzyWord,
    InOrder,
    Kind,
    MatchAll,
    Nothing,
    Plan,
    PlannedLeaf,
    ResolvedLeaf,
    ResolvedPlan,
    SharedBands,
    SharedTokens,
    Test,
    WildcardValue,
    Words,
    leaves,
    map_leaves,
    match_any,
)
from whorl.query.unparse import suggest_field

#: Name of all text fields together; words that name no field are searched there.
TEXT = "TEXT"
#: Namespace of the store's own field names, and the default namespace.
NAMESPACE = "cm"
#: Number of cached syntax trees, and maximum number of characters of a cached query.
_MOST_CACHED, _SHORT = 256, 1000
#: Limits of a boost. Beyond them, 32-bit scores lose precision.
_SMALLEST_BOOST, _LARGEST_BOOST = 1e-6, 1e9
#: Matches names of properties. They have a lower-case letter: names in capitals belong to the query language.
_PROPERTY = re.compile(r"(?=.*[a-z])[^:{}_]+")


def _parse(query: str, **options: Any) -> ast.Node:
    # Importing the parser takes longer than a search for the copies of a document, so import it only if needed.
    from whorl.query.parser import parse

    return parse(query, **options)


_cached_parse = lru_cache(_MOST_CACHED)(_parse)


@dataclass(frozen=True, slots=True)
class QueryDefaults:
    """Defaults for reading queries; without arguments, the defaults of the command line.

    Args:
        templates: Queries, keyed by name, with `%field` as the placeholder for the searched words.
        default_field: Field to search for words that name no field.
        text_fields: Fields that TEXT stands for; if empty, the store's own text fields.
        namespace: Default namespace of properties.
        empty_fields: Fields that the store may lack. A clause on a missing field matches no document. Any other unknown
            field is an error.
        strict: Whether queries are parsed strictly in Alfresco's dialect.
    """

    default_operator: Operator = Operator.OR
    field_operator: Operator = Operator.OR
    templates: Mapping[str, str] = field(default_factory=dict)
    default_field: str = TEXT
    text_fields: tuple[str, ...] = ()
    namespace: str = NAMESPACE
    empty_fields: Collection[str] = ()
    strict: bool = False
    limits: QueryLimits = field(default_factory=QueryLimits)

    def read(self, query: str) -> ast.Node:
        # Paging and facets use the same query again, so cache its tree.
        parse_query = _parse if self.templates or len(query) > _SHORT else _cached_parse
        return parse_query(
            query,
            strict=self.strict,
            default_operator=self.default_operator,
            field_operator=self.field_operator,
            templates=self.templates or None,
            default_field=self.default_field,
            limits=self.limits,
        )

    def plan(self, query: str) -> Plan:
        return make_plan(self._read_runnable(query), self._plan_clause)

    def filter(self, query: str) -> Plan:
        """Return the plan of a query that only selects documents: all scores are 0."""
        return _Planner(self._plan_clause, 0.0, 0.0).plan(self._read_runnable(query))

    def _read_runnable(self, query: str) -> ast.Node:
        """Return the tree of a query; raise an error for parts that the grammar accepts, but no engine supports."""
        tree = self.read(query)
        for node in ast.walk(tree):
            if isinstance(node, ast.Template):
                message = "a template has a meaning only as the text of a template"
                raise UnsupportedQueryError(message, query=query, span=node.span, hint="Give it beside the query.")
            if isinstance(node, ast.Wildcard) and node.fuzziness is not None:
                message = "a number after a word with wildcards is not supported"
                raise UnsupportedQueryError(message, query=query, span=node.span, hint="Leave out one of the two.")
        return tree

    def _plan_clause(self, node: FieldClause) -> Plan:
        """Return the plan of a clause in the field that it names, or else in the default fields."""
        name = node.clause.field
        if name is None and self.default_field != TEXT:
            # If the default field names a template, its words without a field are searched in all text fields.
            is_template = self.default_field.lower() in map(str.lower, self.templates)
            name = TEXT if is_template else self.default_field
        if name is None or name == TEXT:
            if not self.text_fields:
                return node
            clauses = [_set_field(node, self.full_name(text_field)) for text_field in self.text_fields]
            if len(clauses) == 1:
                return clauses[0]
            return match_any(tuple(replace(clause, weight=0.0) for clause in clauses), node.weight)
        return _set_field(node, self.full_name(name))

    def full_name(self, name: str) -> str:
        """Return a field's name, with the default namespace if it has no namespace."""
        is_bare = self.namespace != NAMESPACE and _PROPERTY.fullmatch(name)
        return f"{self.namespace}:{name}" if is_bare else name


def _set_field(node: FieldClause, name: str) -> FieldClause:
    return replace(node, clause=replace(node.clause, field=name))


def make_plan(node: ast.Node, plan_clause: Callable[[FieldClause], Plan] = lambda clause: clause) -> Plan:
    """Return the plan of a syntax tree; `plan_clause` plans a clause in its field, or in the default fields."""
    counts_words = not any(isinstance(part, ast.Fingerprint) for part in ast.walk(node))
    return _Planner(plan_clause, float(counts_words), 1.0).plan(node)


@dataclass(frozen=True, slots=True)
class _Planner:
    """Plans a syntax tree.

    Args:
        plan_clause: Returns the plan of a clause in the field that it names, or in the default fields.
        word_weight: Score of a clause without a boost, unless it is a FINGERPRINT.
        scale: Factor of every boost, and score of a FINGERPRINT without a boost: 0 in a filter, otherwise 1.
    """

    plan_clause: Callable[[FieldClause], Plan]
    word_weight: float
    scale: float

    def plan(self, node: ast.Node, boost: float | None = None) -> Plan:
        def plan_child(child: ast.Node) -> Plan:
            return self.plan(child, boost)

        word_weight = self.word_weight if boost is None else boost * self.scale
        match node:
            case ast.Template(fields=fields):
                raise ParameterError(f"%({' '.join(fields)}) has a meaning only in a template")
            case ast.Term() | ast.Phrase() | ast.Wildcard() | ast.Fuzzy() | ast.Range() | ast.Proximity():
                meaning = special_value(node)
                return self.plan_clause(FieldClause(node, word_weight)) if meaning is None else plan_child(meaning)
            case ast.Everything():
                return MatchAll(word_weight)
            case ast.Fingerprint():
                overlap, probability = (
                    None if number is None else Fraction(number) for number in (node.overlap, node.probability)
                )
                weight = self.scale * (1.0 if boost is None else boost)
                return FingerprintClause(node.reference, overlap, probability, weight, node.whole_reference, node.span)
            case ast.Boost(child=child, factor=factor):
                product = float(factor) * (1.0 if boost is None else boost)
                if not _SMALLEST_BOOST <= product <= _LARGEST_BOOST:
                    raise ParameterError(
                        f"boosts within each other come to {product:g}; they can be {_SMALLEST_BOOST:g} to "
                        f"{_LARGEST_BOOST:g}"
                    )
                return self.plan(child, product)
            case ast.Or(children=members):
                return _bool((), tuple(map(plan_child, members)), ())
            case ast.And(children=members):
                wanted = tuple(plan_child(member) for member in members if not isinstance(member, ast.Not))
                unwanted = tuple(plan_child(member.child) for member in members if isinstance(member, ast.Not))
                return _bool(wanted, (), unwanted)
            case ast.Not(child=child):
                return _bool((), (), (plan_child(child),))
            case ast.Clauses(clauses=clauses):
                must, should, must_not = (
                    tuple(plan_child(clause.child) for clause in clauses if clause.occur is occur)
                    for occur in (ast.Occur.MUST, ast.Occur.SHOULD, ast.Occur.MUST_NOT)
                )
                return _bool(must, should, must_not)


def _bool(must: tuple[Plan, ...], should: tuple[Plan, ...], must_not: tuple[Plan, ...]) -> Bool[PlannedLeaf]:
    if not must and not should:
        # A query with only exclusions matches all other documents.
        must = (MatchAll(),)
    return Bool(must, should, must_not, min_should_match=0 if must else 1)


#: Fields that test whether a property has a value: True selects documents with a value, and False selects documents
#: without a value.
_PRESENCE: Mapping[str, bool] = {"EXISTS": True, "ISNOTNULL": True, "ISNULL": False, "ISUNSET": False}
#: Maximum number of fields in the error for an unknown field.
_LISTED_FIELDS = 10
#: Maximum number of `//` in a path. Each `//` doubles the number of patterns to search.
_MOST_DOUBLE_SLASHES = 4
_JUST_ANY = (ast.WildcardCharacter.ANY,)
#: Matches a quotation mark, which is removed, or an escaped character, which is kept.
_QUOTE = re.compile(r'(\\.)|"', re.DOTALL)
_DATE_PREFIX = re.compile(r"\d{1,3}|(\d{4}(?:-\d\d){0,2})-?", re.ASCII)

#: The test for one field; its weight is set later.
_FieldTest: TypeAlias = Test | Nothing | Bool[Test]
_WORD_TESTS = (Words, FuzzyWord, InOrder)


def resolve(
    plan: Plan,
    fields: Fields | None,
    query: str,
    now: datetime,
    names: Mapping[str, str] | None = None,
    empty: Collection[str] = (),
) -> tuple[ResolvedPlan, tuple[str, ...]]:
    """Resolve the clauses of a plan by the types of their fields; return the plan, and warnings for the user.

    Args:
        fields: May be None if the plan has no `FieldClause`.
        query: Text of the query, for errors.
        now: Value of NOW in dates.
        names: Maps field names in queries to field names in the store.
        empty: Fields that the store may lack; a clause on a missing field matches no document.

    Raises:
        FieldError: The store has no field of that name and `empty` does not list it, or the field's type does not
            support the clause.
    """
    resolver = _Resolver(fields or Fields({}), query, now, names or {}, empty)

    def resolve_leaf(leaf: PlannedLeaf) -> ResolvedPlan:
        return resolver.resolve_clause(leaf) if isinstance(leaf, FieldClause) else leaf

    return map_leaves(plan, resolve_leaf), tuple(dict.fromkeys(resolver.warnings))


def missing_field_message(name: str | None) -> str:
    return f"the store has no field {name}, so no document has a value there"


class _Resolver:
    """Resolves the clauses of one query, and collects warnings for the user."""

    def __init__(
        self, fields: Fields, query: str, now: datetime, names: Mapping[str, str], empty: Collection[str]
    ) -> None:
        self._fields, self._query, self._now, self._names, self._empty = fields, query, now, names, empty
        self.warnings: list[str] = []

    def resolve_clause(self, leaf: FieldClause) -> ResolvedPlan:
        clause, weight = leaf.clause, leaf.weight
        name = clause.field
        if name is None:
            if isinstance(clause, ast.Term):
                self._warn_of_equals_sign(clause.text)
            return self._combine_tests([*self._word_tests(clause, None), *self._split_name_tests(clause)], weight)
        if name in _PRESENCE:
            return self._presence_plan(clause, weight, is_wanted=_PRESENCE[name])
        fields = self._find_fields(name, clause.span)
        if not fields:
            return Nothing(missing_field_message(name))
        has_whole_values = any(Kind.KEYWORD in by_kind for by_kind in fields)
        clauses = self._path_clauses(clause) if name == "PATH" and has_whole_values else [clause]
        tests = [test for own in clauses for test in self._valid_field_tests(own, fields)]
        return self._combine_tests([*tests, *self._other_form_tests(clause, fields)], weight)

    def _path_clauses(self, clause: ast.Leaf) -> list[ast.Leaf]:
        """Return an exact clause for each pattern of a path from the root; return any other clause unchanged."""
        match clause:
            case ast.Term(text=text) | ast.Phrase(text=text):
                pattern: Pattern = (text,)
            case ast.Wildcard(pattern=pattern):
                text = as_typed(pattern)
            case _:
                return [clause]
        if not text.startswith("/"):
            return [clause]
        if (count := text.count("//")) > _MOST_DOUBLE_SLASHES:
            raise self._error(f"a path can have // {_MOST_DOUBLE_SLASHES} times, got {count}", clause.span)
        exact, span = ast.Form.EXACT, clause.span
        return [
            ast.Wildcard(path, clause.field, exact, span=span)
            if WildcardCharacter.ANY in path or WildcardCharacter.ONE in path
            else ast.Phrase("".join(map(str, path)), clause.field, exact, span=span)
            for path in expand_path(pattern)
        ]

    def _other_form_tests(self, clause: ast.Leaf, fields: list[FieldsByKind]) -> list[_FieldTest]:
        """If the value is a qualified name or a node reference, return tests for its other form.

        A node reference in the field ID is also searched in the field LID.
        """
        if not isinstance(clause, ast.Term | ast.Phrase):
            return []
        if clause.field in QUALIFIED_NAME_FIELDS and (other := convert_qualified_name(clause.text)):
            return self._valid_field_tests(replace(clause, text=other), fields)
        if clause.field == "ID" and "://" in clause.text:
            by_reference = self._fields.resolve_name("LID", self._names)
            return self._valid_field_tests(clause, [by_reference]) if by_reference else []
        return []

    def _valid_field_tests(self, clause: ast.Leaf, all_fields: list[FieldsByKind]) -> list[_FieldTest]:
        tests: list[_FieldTest] = []
        errors = []
        for by_kind in all_fields:
            try:
                tests += self._field_tests(clause, by_kind)
            except FieldError as error:
                errors.append(error)
        if errors and not tests:
            raise errors[0]
        return tests

    def _find_fields(self, name: str, span: Span) -> list[FieldsByKind]:
        """Return the engine's fields, keyed by type, for each field that a name refers to.

        If no field has this name, add a warning if the store may lack the field, otherwise raise an error.
        """
        if name in DATA_TYPES and self._is_free(name):
            if fields_of_type := list(self._fields.find_by_kinds(DATA_TYPES[name])):
                return fields_of_type
            raise self._error(f"no field of this store is of the type {name}", span)
        if name == "CLASS" and self._is_free(name):
            type_and_aspect = [self._fields.resolve_name(part, self._names) for part in ("TYPE", "ASPECT")]
            if known := [by_kind for by_kind in type_and_aspect if by_kind]:
                return known
        if fields := self._fields.resolve_names(name, self._names):
            return [*fields.values()]
        if name in self._empty:
            self.warnings.append(missing_field_message(name))
            return []
        raise self._unknown_field_error(name, span)

    def _is_free(self, name: str) -> bool:
        """Check whether no field or alias has this name; only then does it have a meaning in the query language."""
        return name not in self._names and self._fields.find(name) is None

    def _unknown_field_error(self, name: str, span: Span) -> UnknownFieldError:
        named = self._names.get(name)
        message, hint = f"the store has no field {named or name!r:.80}" + (f" ({name:.80})" if named else ""), ""
        typed, _, value = self._query[span.start : span.end].partition(":")
        if ":" in value and self._fields.resolve_names(typed.lstrip("=~@"), self._names):
            unquoted = _QUOTE.sub(r"\1", value)
            hint = f'Put a value with a colon into quotes: {typed}:"{unquoted:.80}"'
        elif near := self._fields.nearest(named or name):
            hint = f"Did you mean {' or '.join(map(suggest_field, near))}?"
        elif name in REPOSITORY_FIELDS:
            message = f"{name} needs an Alfresco repository behind it, and the store has no field of that name"
            hint = f"Index a property {name}, or name the field that holds it in whorl.toml, under [names]."
        elif names := sorted(self._fields.known):
            hint = f"It has {format_names(names, _LISTED_FIELDS)}."
        return UnknownFieldError(message, query=self._query, span=span, hint=hint)

    def _presence_plan(self, clause: ast.Leaf, weight: float, *, is_wanted: bool) -> ResolvedPlan:
        if not isinstance(clause, ast.Term | ast.Phrase):
            raise self._error(f"{_field(clause)} takes the name of a field", clause.span, 'Write EXISTS:"cm:title".')
        present = [*chain.from_iterable(map(_existence_tests, self._find_fields(clause.text, clause.span)))]
        if is_wanted:
            return self._combine_tests(present, weight) if present else Nothing(missing_field_message(clause.text))
        return Bool(must=(MatchAll(weight),), must_not=tuple(present))

    @staticmethod
    def _combine_tests(tests: list[_FieldTest], weight: float) -> ResolvedPlan:
        """Return a plan that scores `weight` once if any of the tests matches."""
        tests = list(dict.fromkeys(tests))
        if len(tests) > 1:
            return match_any(tuple(tests), weight)
        (test,) = tests
        if isinstance(test, Bool):
            return match_any((test,), weight)
        return test if isinstance(test, Nothing) else replace(test, weight=weight)

    # The following methods return tests with weight 0 for a clause in one field, or in the default fields.

    def _field_tests(self, clause: ast.Leaf, by_kind: FieldsByKind) -> list[_FieldTest]:
        """Return tests of a clause in a field; a test of words matches only documents with a text in the field.

        The index also contains the words of numbers and dates (-5 matches the word 5). So a test of words excludes
        documents with only numbers, dates or truth values in the field. Requiring a whole text value would exclude
        too much: documents that other programs wrote to Solr may have words without whole values.
        """
        tests = self._tests_of_all_values(clause, by_kind)
        others = tuple(Exists(by_kind[kind], kind, 0.0) for kind in by_kind if kind not in (Kind.TEXT, Kind.KEYWORD))
        if Kind.KEYWORD not in by_kind or not others:
            return tests
        has_text = Exists(by_kind[Kind.KEYWORD], Kind.KEYWORD, 0.0)
        has_no_text = Bool(should=others, must_not=(has_text,), min_should_match=1)
        return [
            Bool(must=(test,), must_not=(has_no_text,)) if isinstance(test, _WORD_TESTS) else test for test in tests
        ]

    def _tests_of_all_values(self, clause: ast.Leaf, by_kind: FieldsByKind) -> list[_FieldTest]:
        match clause:
            case ast.Range():
                return self._range_tests(clause, by_kind)
            case ast.Term(text=text, form=form) | ast.Phrase(text=text, form=form):
                return self._text_tests(clause, text, form, by_kind)
            case ast.Wildcard():
                return self._wildcard_tests(clause, by_kind)
            case _:
                if Kind.TEXT in by_kind:
                    return self._word_tests(clause, by_kind[Kind.TEXT])
                if isinstance(clause, ast.Fuzzy) and Kind.KEYWORD in by_kind:
                    return [self._fuzzy_test(clause.text, clause, by_kind[Kind.KEYWORD], Kind.KEYWORD)]
                raise self._mismatch_error(clause, by_kind, "this needs words")

    def _wildcard_tests(self, clause: ast.Wildcard, by_kind: FieldsByKind) -> list[_FieldTest]:
        if clause.pattern == _JUST_ANY:
            return _existence_tests(by_kind)
        kinds = [kind for kind in (Kind.TEXT, Kind.KEYWORD) if kind in by_kind]
        dates = self._date_prefix_tests(clause.pattern, by_kind[Kind.DATE]) if Kind.DATE in by_kind else []
        if not kinds and not dates:
            raise self._mismatch_error(clause, by_kind, "wildcards need text", "Write a range: [2020 TO 2022].")
        wanted = {ast.Form.EXACT: Kind.KEYWORD, ast.Form.TOKENISED: Kind.TEXT}.get(clause.form)
        chosen = [wanted] if wanted in kinds else kinds
        tests: list[_FieldTest] = []
        if Kind.TEXT in chosen:
            # Whole values can match a pattern that words cannot express, so do not raise an error for it.
            tests += self._word_tests(clause, by_kind[Kind.TEXT], is_lenient=Kind.KEYWORD in chosen)
        if Kind.KEYWORD in chosen:
            tests.append(WildcardValue(by_kind[Kind.KEYWORD], clause.pattern, 0.0))
        return tests + dates

    def _date_prefix_tests(self, pattern: Pattern, field: str) -> list[_FieldTest]:
        """Return a test of dates for a pattern such as `202*` or `2021-05*` (dates have no words), or no test."""
        match = _DATE_PREFIX.fullmatch(pattern[0]) if pattern[1:] == _JUST_ANY and isinstance(pattern[0], str) else None
        if not match:
            return []
        first, last = (ast.Bound((match[1] or match[0]).ljust(4, digit)) for digit in "09")
        with suppress(UnreadableError):
            return [range_of(Kind.DATE, field, first, last, self._now)]
        return []

    def _text_tests(self, clause: ast.Leaf, text: str, form: ast.Form, by_kind: FieldsByKind) -> list[_FieldTest]:
        """Return tests for words, or tests for whole values if the field has no words or the form is EXACT."""
        tests: list[_FieldTest] = []
        is_exact = form is ast.Form.EXACT and Kind.KEYWORD in by_kind
        if Kind.TEXT in by_kind and not is_exact:
            tests += self._word_tests(clause, by_kind[Kind.TEXT])
        elif Kind.KEYWORD in by_kind:
            tests.append(Equal(by_kind[Kind.KEYWORD], Kind.KEYWORD, well_formed(text), 0.0))
        if is_exact:
            # Engines store a text that is a date as a date. Numbers and truth values match only a value without quotes:
            # `=n:"7"` does not find the number 7.
            others = {Kind.DATE} if date_of(text) is not None else set()
            if isinstance(clause, ast.Term):
                others |= {Kind.INTEGER, Kind.FLOAT, Kind.BOOLEAN}
            by_kind = {kind: field for kind, field in by_kind.items() if kind in others}
        return self._tests_by_kind(by_kind, lambda kind, field: value_of(kind, field, text, self._now), clause, tests)

    def _range_tests(self, clause: ast.Range, by_kind: FieldsByKind) -> list[_FieldTest]:
        if clause.low is None and clause.high is None:
            return _existence_tests(by_kind)
        if by_kind.keys() == {Kind.TEXT}:
            raise self._mismatch_error(clause, by_kind, "a range needs whole values")
        typed: FieldsByKind = {kind: field for kind, field in by_kind.items() if kind not in (Kind.TEXT, Kind.KEYWORD)}

        # The index cuts long values, but never ids, so only a range of ids may have long bounds.
        is_whole = by_kind == self._fields.find("id")

        def read(kind: Kind, field: str) -> Test:
            return range_of(kind, field, clause.low, clause.high, self._now, is_whole=is_whole)

        if Kind.KEYWORD not in by_kind:
            return self._tests_by_kind(typed, read, clause, [])
        with suppress(FieldError):
            if tests := self._tests_by_kind(typed, read, clause, []):
                what = " and ".join(kind.value for kind in Kind if kind in typed)
                self.warnings.append(
                    f"field {_field(clause)!r:.80} holds {what}, and text as well, which the range leaves out"
                )
                return tests
        with suppress(UnreadableError):
            range_of(Kind.FLOAT, "", clause.low, clause.high, self._now)
            self.warnings.append(
                f"field {_field(clause)!r:.80} holds text, so the range compares letters: 10 comes before 9; to "
                "compare numbers, store them as numbers"
            )
        return self._tests_by_kind({Kind.KEYWORD: by_kind[Kind.KEYWORD]}, read, clause, [])

    def _tests_by_kind(
        self, by_kind: FieldsByKind, read: Callable[[Kind, str], Test], clause: ast.Leaf, tests: list[_FieldTest]
    ) -> list[_FieldTest]:
        """Add a test to `tests` for each type of the field that supports the clause; raise an error if none does."""
        reasons = []
        for kind, name in by_kind.items():
            if kind is Kind.TEXT or (kind is Kind.KEYWORD and tests):
                continue
            try:
                tests.append(read(kind, name))
            except UnreadableError as error:
                reasons.append(str(error))
        if reasons and not tests:
            raise self._mismatch_error(clause, by_kind, reasons[0])
        return tests

    def _split_name_tests(self, clause: ast.Leaf) -> list[_FieldTest]:
        """Return tests of the clause, split at `_` and `.`, on the default fields whose words are also split there."""
        if _split_clause(clause) == clause:
            return []
        tests: list[_FieldTest] = []
        for name in self._fields.split_fields:
            # If the clause is invalid, the tests of the unsplit clause raise the error.
            with suppress(FieldError):
                tests += self._word_tests(clause, name, is_lenient=True)
        return tests

    def _word_tests(self, clause: ast.Leaf, field: str | None, *, is_lenient: bool = False) -> list[_FieldTest]:
        """Return tests of a clause on the words of a field.

        If `is_lenient`, return no tests for a text without words, or a pattern that words cannot express.
        """
        clause = _split_clause(clause) if field in self._fields.split_fields else clause
        match clause:
            case ast.Term(text=text) | ast.Phrase(text=text):
                if not tokens(well_formed(text), self._fields.profile):
                    return [] if is_lenient else [self._no_word(text)]
                return [Words(text, field, 0.0, clause.slop or 0 if isinstance(clause, ast.Phrase) else 0)]
            case ast.Fuzzy(text=text):
                return [self._fuzzy_test(text, clause, field, Kind.TEXT)]
            case ast.Proximity(words=words, slop=slop):
                row: list[Pattern] = [(word,) for word in self._tokens(" ".join(words))]
            case ast.Wildcard(pattern=pattern):
                row, slop = self._words_of_pattern(pattern, field), 0
                if len(row) > 1 and _JUST_ANY in row:
                    if is_lenient:
                        return []
                    raise self._error(
                        "a * between words must be part of a word",
                        clause.span,
                        'Write big * apple without quotes for words between, or with a slop: "big apple"~1.',
                    )
            case _:
                raise self._error("a range needs a field", clause.span, "Write cm:created:[2020 TO 2022].")
        if row:
            return [InOrder(tuple(row), slop, field, 0.0)]
        return [] if is_lenient else [self._no_word(self._query[clause.span.start : clause.span.end])]

    def _words_of_pattern(self, pattern: Pattern, field: str | None) -> list[Pattern]:
        """Return the words of a pattern; none if it has only `*` and punctuation, unless it is `*` itself."""
        row = words_of(pattern, self._fields.profile)
        if field in self._fields.split_fields and row != [_JUST_ANY]:
            # Drop `*` at both ends: `*.txt` becomes the word `txt`.
            ends = [at for at, word in enumerate(row) if word != _JUST_ANY] or [0]
            row = row[ends[0] : ends[-1] + 1]
        return [] if row == [_JUST_ANY] and pattern != _JUST_ANY else row

    def _warn_of_equals_sign(self, typed: str) -> None:
        name, sign, value = typed.partition("=")
        field, value = name.rstrip("!"), value.lstrip("=") or "…"
        if sign and self._fields.resolve_names(field, self._names):
            meant = f"{'NOT ' if field != name else ''}{field:.80}:{value:.80}"
            self.warnings.append(f"{typed!r:.80} is looked for as words; in the field it is {meant}")

    def _no_word(self, typed: str) -> Nothing:
        reason = f"there is no word in {typed!r:.80}, so it matches nothing"
        self.warnings.append(reason)
        return Nothing(reason)

    def _fuzzy_test(self, text: str, clause: ast.Fuzzy, field: str | None, kind: Kind) -> _FieldTest:
        words = self._tokens(text) if kind is Kind.TEXT else [well_formed(text)]
        if len(words) != 1:
            raise self._error(
                f"{text!r:.80} is {len(words)} words, and only one can be looked for by its spelling", clause.span
            )
        edits = edits_of(clause.similarity, len(words[0]))
        if edits:
            return FuzzyWord(words[0], edits, field, 0.0)
        return Equal(str(field), kind, words[0], 0.0) if kind is Kind.KEYWORD else Words(text, field, 0.0)

    def _tokens(self, text: str) -> list[str]:
        return [word for word in tokens(well_formed(text), self._fields.profile) if word]

    def _mismatch_error(self, clause: ast.Leaf, by_kind: FieldsByKind, reason: str, hint: str = "") -> FieldError:
        holds = " and ".join(kind.value for kind in Kind if kind in by_kind)
        return self._error(f"field {_field(clause)!r:.80} holds {holds}: {reason}", clause.span, hint)

    def _error(self, message: str, span: Span, hint: str = "") -> FieldError:
        return FieldError(message, query=self._query, span=span, hint=hint)


def _split_clause(clause: ast.Leaf) -> ast.Leaf:
    """Return a clause whose words are split at `_` and `.`, or the same clause if no words are left."""
    match clause:
        case ast.Term(text=text) | ast.Phrase(text=text) | ast.Fuzzy(text=text):
            split = split_name(text)
            return replace(clause, text=split) if split.strip() else clause
        case ast.Proximity(words=words):
            return replace(clause, words=tuple(map(split_name, words)))
        case ast.Wildcard(pattern=pattern):
            pieces = tuple(split_name(piece) if isinstance(piece, str) else piece for piece in pattern)
            return replace(clause, pattern=pieces)
        case _:
            return clause


def _existence_tests(by_kind: FieldsByKind) -> list[_FieldTest]:
    # Whole values are stored in addition to the words, so the words need no test.
    whole = [kind for kind in by_kind if kind is not Kind.TEXT]
    return [Exists(by_kind[kind], kind, 0.0) for kind in whole or by_kind]


def _field(clause: ast.Leaf) -> str:
    return str(getattr(clause, "field", ""))


#: Maximum number of edits in Lucene's automata.
MOST_EDITS = 2
#: Rare letters that replace wildcards while a text is split into words.
_LETTERS = "ꟻꟼꟽꟾꟿꬰꬲꬳꬴ"


def words_of(pattern: Pattern, profile: str) -> list[Pattern]:
    """Return a pattern's words in order, as case-folded patterns. A wildcard belongs to the word that it touches.

    >>> words_of(("Annual re", WildcardCharacter.ANY), "icu74")
    [('annual',), ('re', <WildcardCharacter.ANY: '*'>)]
    >>> words_of(("x-", WildcardCharacter.ANY), "icu74")
    [('x',), (<WildcardCharacter.ANY: '*'>,)]
    """
    literal = well_formed("".join(piece for piece in pattern if isinstance(piece, str)))
    free = [letter for letter in _LETTERS if letter not in literal]
    letters = dict(zip(WildcardCharacter, free, strict=False))
    wildcards = {letter: wildcard for wildcard, letter in letters.items()}
    text = "".join(letters[piece] if isinstance(piece, WildcardCharacter) else well_formed(piece) for piece in pattern)
    words: list[str] = []
    end = -1
    split, spans = tokens_and_spans(text, profile)
    for word, (start, stop) in zip(split, spans.tolist(), strict=True):
        if not word:
            continue
        # Words end at a change of script, and the letters for wildcards have another script than the word. So join a
        # word and a wildcard that touch.
        is_touched = start == end and (words[-1][-1] in wildcards or word[0] in wildcards)
        if is_touched:
            words[-1] += word
        else:
            words.append(word)
        end = stop
    return [join_pieces(wildcards.get(letter, letter) for letter in word) for word in words]


def edits_of(similarity: Decimal, length: int) -> int:
    """Return the number of edits, at most MOST_EDITS, that Lucene computes for a word of `length` letters.

    A similarity of 1 or more is itself a number of edits.

    Source: FuzzyQuery.floatToEdits, which reads a 32-bit float.

    >>> edits_of(Decimal("0.7"), 4), edits_of(Decimal("0.9"), 4), edits_of(Decimal(1), 4), edits_of(Decimal(0), 4)
    (1, 0, 1, 0)
    """
    if similarity >= 1:
        return min(int(similarity), MOST_EDITS)
    if similarity == 0:
        return 0
    as_float = float(struct.unpack("f", struct.pack("f", float(similarity)))[0])
    return min(int((1.0 - as_float) * length), MOST_EDITS)


def edit_distance(one: str, other: str) -> int:
    """Return the number of letters to insert, delete, replace or swap with a neighbour to turn one word into the other.

    As in Lucene's automata, no letter is edited twice.

    >>> edit_distance("roam", "foams"), edit_distance("form", "from")
    (2, 1)
    """
    rows = [list(range(len(other) + 1))]
    for row_number, letter in enumerate(one, 1):
        above, row = rows[-1], [row_number]
        for column, other_letter in enumerate(other, 1):
            best = min(above[column] + 1, row[column - 1] + 1, above[column - 1] + (letter != other_letter))
            if row_number > 1 and column > 1 and (letter, one[row_number - 2]) == (other[column - 2], other_letter):
                best = min(best, rows[-2][column - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def is_near(word: str, other: str, edits: int) -> bool:
    """Check whether at most `edits` edits (insert, delete, replace or swap letters) turn one word into the other.

    >>> is_near("lease", "laese", 1), is_near("lease", "leaks", 1)
    (True, False)
    """
    return abs(len(word) - len(other)) <= edits and edit_distance(word, other) <= edits


def bind(
    plan: ResolvedPlan,
    signatures: Mapping[str, Signature],
    texts: Collection[str] = (),
    unknown: Callable[[str], UnknownDocumentError] = UnknownDocumentError,
) -> BoundPlan:
    """Return a plan that an engine can run: a FINGERPRINT becomes tokens or bands, or nothing and a warning.

    Args:
        signatures: Signatures of documents and of given texts, keyed by reference. A document that lacks a signature is
            unknown.
        texts: References of the texts given with the query.
        unknown: Returns the error for an unknown document.

    Source: Solr4QueryParser.createFingerPrintQuery. A FINGERPRINT with only an id matches documents that share any
    token. An overlap sets a minimum number of shared tokens. A probability cuts the tokens into bands instead, and a
    document must have all tokens of one band.
    """
    warnings: list[str] = []

    def bind_leaf(leaf: ResolvedLeaf) -> BoundLeaf:
        if not isinstance(leaf, FingerprintClause):
            return leaf
        signature = signatures.get(leaf.reference)
        if signature is not None and len(signature):
            return _bind_fingerprint(leaf, signature)
        warnings.append(
            unknown_document_message(unknown(leaf.reference))
            if signature is None
            else no_fingerprint_message(leaf.reference, signature.scheme, is_text=leaf.reference in texts)
        )
        return Nothing(warnings[-1])

    root: BoundNode = map_leaves(plan, bind_leaf)
    warnings += _inexact_warnings([leaf for leaf in leaves(plan) if isinstance(leaf, FingerprintClause)], signatures)
    return BoundPlan(root, tuple(dict.fromkeys(warnings)))


def _inexact_warnings(clauses: Sequence[FingerprintClause], signatures: Mapping[str, Signature]) -> Iterator[str]:
    """Yield warnings if the index does not know the order or the repetitions of a source's tokens."""
    remedy = "name the field that stores the texts (content under [fields] in whorl.toml) to know"
    inexact = [
        clause
        for clause in clauses
        if (signature := signatures.get(clause.reference)) is not None and len(signature) and not signature.is_exact
    ]
    for has_bands, unknown in (
        (False, "how often some tokens of {0} repeat: scores may be a few off"),
        (True, "the order of some tokens of {0}: bands differ from Solr's own"),
    ):
        fitting = [clause for clause in inexact if (clause.probability is not None) is has_bands]
        sources = dict.fromkeys(repr(clause.reference) for clause in fitting)
        if sources:
            yield f"the index does not tell {unknown.format(', '.join(sources))}; {remedy}"


def _bind_fingerprint(clause: FingerprintClause, signature: Signature) -> BoundLeaf:
    if clause.overlap is None:
        return SharedTokens(clause.reference, signature.integers, 1, clause.weight)
    if clause.probability is None:
        minimum = min_should_match(len(signature), clause.overlap)
        return SharedTokens(clause.reference, signature.integers, minimum, clause.weight)
    rows = band_rows(len(signature), clause.overlap, clause.probability)
    return SharedBands(clause.reference, cut_bands(signature.integers, rows), clause.weight)


def unknown_document_message(error: UnknownDocumentError) -> str:
    """Return the message for an unknown document, with a hint if numbers at the end of its id may be an overlap."""
    literal = with_quoted_id(error.reference)
    hint = f"; if its end is an overlap, write {literal}" if literal else ""
    return f"{error}{hint}"


def no_fingerprint_message(reference: str, scheme: Scheme, *, is_text: bool) -> str:
    few = f"fewer than {scheme.shingle_size} words"
    if is_text:
        return f"the text {shorten_repr(reference)} has no fingerprint: it has {few}"
    return (
        f"document {shorten_repr(reference)} has no fingerprint: its text has {few}, or it was indexed before this "
        "store made fingerprints"
    )
