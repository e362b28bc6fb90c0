"""Parses a query with its defaults, such as the operator between words, and turns its syntax tree into a plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from whorl.errors import ParameterError, UnsupportedQueryError
from whorl.query import ast
from whorl.query.ast import Operator, QueryLimits
from whorl.query.plan.nodes import Bool, FieldClause, FingerprintClause, MatchAll, Plan, PlannedLeaf, either

#: Name that means all text fields. Words without a field are searched there.
TEXT = "TEXT"
#: Namespace of the store's own field names, and the default namespace.
NAMESPACE = "cm"
#: Number of cached syntax trees, and maximum number of characters of a cached query.
_MOST_CACHED, _SHORT = 256, 1000
#: Limits of a boost. Beyond them, 32-bit scores lose precision.
_SMALLEST_BOOST, _LARGEST_BOOST = 1e-6, 1e9
#: Names of properties. Names in capitals belong to the query language.
_PROPERTY = re.compile(r"(?=.*[a-z])[^:{}_]+")


def _parse(query: str, **options: Any) -> ast.Node:
    # Importing the parser takes longer than a search for the copies of a document, so import it here.
    from whorl.query.parser import parse

    return parse(query, **options)


_cached_parse = lru_cache(_MOST_CACHED)(_parse)


@dataclass(frozen=True, slots=True)
class QueryDefaults:
    """Defaults for reading queries. If no arguments are given, they are the defaults of the command line.

    Args:
        templates: Queries by name, with `%field` as the placeholder for the searched words.
        default_field: Field for words without a field.
        text_fields: Fields that TEXT means; if empty, the store's own text fields.
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
            limits=self.limits,
        )

    def plan(self, query: str) -> Plan:
        return make_plan(self._runnable(query), self._placed)

    def filter(self, query: str) -> Plan:
        """Return the plan of a query that selects documents and scores 0."""
        return make_filter(self._runnable(query), self._placed)

    def _runnable(self, query: str) -> ast.Node:
        """Return the tree of a query; raise an error if no engine can run a part that Alfresco's grammar accepts."""
        tree = self.read(query)
        for node in ast.walk(tree):
            if isinstance(node, ast.Template):
                message = "a template has a meaning only as the text of a template"
                raise UnsupportedQueryError(message, query=query, span=node.span, hint="Give it beside the query.")
            if isinstance(node, ast.Wildcard) and node.fuzziness is not None:
                message = "a number behind a word with wildcards is not supported"
                raise UnsupportedQueryError(message, query=query, span=node.span, hint="Leave out one of the two.")
        return tree

    def _placed(self, node: FieldClause) -> Plan:
        """Return the plan of a clause in the field that it names, or else in the default fields."""
        name = node.clause.field
        if name is None and self.default_field != TEXT:
            name = self.default_field
        if name is None or name == TEXT:
            if not self.text_fields:
                return node
            clauses = [_in_field(node, self.named(text_field)) for text_field in self.text_fields]
            if len(clauses) == 1:
                return clauses[0]
            return either(tuple(replace(clause, weight=0.0) for clause in clauses), node.weight)
        return _in_field(node, self.named(name))

    def named(self, name: str) -> str:
        """Return a field's name, with the default namespace if it has none."""
        is_bare = self.namespace != NAMESPACE and _PROPERTY.fullmatch(name)
        return f"{self.namespace}:{name}" if is_bare else name


def _in_field(node: FieldClause, name: str) -> FieldClause:
    return replace(node, clause=replace(node.clause, field=name))


def make_plan(node: ast.Node, placed: Callable[[FieldClause], Plan] = lambda clause: clause) -> Plan:
    """Return the plan of a syntax tree; `placed` returns a clause's plan for its own field or the default fields."""
    counts_words = not any(isinstance(part, ast.Fingerprint) for part in ast.walk(node))
    return _Planner(placed, float(counts_words), 1.0).plan(node)


def make_filter(node: ast.Node, placed: Callable[[FieldClause], Plan] = lambda clause: clause) -> Plan:
    """Return the plan of a filter, which selects documents and scores 0."""
    return _Planner(placed, 0.0, 0.0).plan(node)


@dataclass(frozen=True, slots=True)
class _Planner:
    """Plans a syntax tree.

    Args:
        placed: Returns the plan of a clause for the fields that it names.
        word_weight: Score of a clause without a boost, unless it is a FINGERPRINT.
        scale: Factor of boosts, and score of a FINGERPRINT without a boost: 0 in a filter, otherwise 1.
    """

    placed: Callable[[FieldClause], Plan]
    word_weight: float
    scale: float

    def plan(self, node: ast.Node, boost: float | None = None) -> Plan:
        def below(child: ast.Node) -> Plan:
            return self.plan(child, boost)

        word_weight = self.word_weight if boost is None else boost * self.scale
        match node:
            case ast.Template(fields=fields):
                raise ParameterError(f"%({' '.join(fields)}) asks for nothing outside a template")
            case ast.Term() | ast.Phrase() | ast.Wildcard() | ast.Fuzzy() | ast.Range() | ast.Proximity():
                return self.placed(FieldClause(node, word_weight))
            case ast.Everything():
                return MatchAll(word_weight)
            case ast.Fingerprint():
                overlap, probability = (
                    None if number is None else Fraction(number) for number in (node.overlap, node.probability)
                )
                weight = self.scale * (1.0 if boost is None else boost)
                return FingerprintClause(node.reference, overlap, probability, weight, node.whole, node.span)
            case ast.Boost(child=child, factor=factor):
                product = float(factor) * (1.0 if boost is None else boost)
                if not _SMALLEST_BOOST <= product <= _LARGEST_BOOST:
                    raise ParameterError(
                        f"boosts within each other come to {product:g}; they can be {_SMALLEST_BOOST:g} to "
                        f"{_LARGEST_BOOST:g}"
                    )
                return self.plan(child, product)
            case ast.Or(children=members):
                return Bool(should=tuple(below(member) for member in members), min_should_match=1)
            case ast.And(children=members):
                wanted = tuple(below(member) for member in members if not isinstance(member, ast.Not))
                unwanted = tuple(below(member.child) for member in members if isinstance(member, ast.Not))
                return _bool(wanted, (), unwanted)
            case ast.Not(child=child):
                return _bool((), (), (below(child),))
            case ast.Clauses(clauses=clauses):
                must, should, must_not = (
                    tuple(below(clause.child) for clause in clauses if clause.occur is occur)
                    for occur in (ast.Occur.MUST, ast.Occur.SHOULD, ast.Occur.MUST_NOT)
                )
                return _bool(must, should, must_not)


def _bool(must: tuple[Plan, ...], should: tuple[Plan, ...], must_not: tuple[Plan, ...]) -> Bool[PlannedLeaf]:
    if not must and not should:
        # A query with only exclusions matches all other documents.
        must = (MatchAll(),)
    return Bool(must, should, must_not, min_should_match=0 if must else 1)
