"""Defaults for reading queries: operators between words, default fields, templates, limits."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from whorl.errors import UnsupportedQueryError
from whorl.query import ast
from whorl.query.ast import Operator, QueryLimits
from whorl.query.plan.nodes import FieldClause, Plan, either, make_filter, make_plan

#: Field of words without a field; it stands for all text fields.
TEXT = "TEXT"
#: Namespace of the store's own names, and of names without a namespace.
NAMESPACE = "cm"
#: Size of the cache of syntax trees, and length of the longest query in it, in characters.
_MOST_CACHED, _SHORT = 256, 1000
#: Names of properties; names in capitals belong to the query language.
_PROPERTY = re.compile(r"(?=.*[a-z])[^:{}_]+")


def _parse(query: str, **options: Any) -> ast.Node:
    # The parser takes longer to import than a search for the copies of a document.
    from whorl.query.parser import parse

    return parse(query, **options)


_cached_parse = lru_cache(_MOST_CACHED)(_parse)


@dataclass(frozen=True, slots=True)
class QueryDefaults:
    """Defaults for reading queries; without arguments, the same as on the command line.

    Args:
        templates: Queries by name, with `%field` as the placeholder for the searched words.
        default_field: Field of words without a field.
        text_fields: Fields that TEXT stands for; empty for the store's own text fields.
        namespace: Namespace of properties named without one.
        empty_fields: Fields that the store may lack; clauses on them then match no document. Other unknown fields are
            errors.
        strict: Whether to parse queries strictly in Alfresco's dialect.
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
        # Paging and facets repeat the same query.
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
        """Return the tree of a query, or raise for parts that Alfresco's grammar accepts but no engine can run."""
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
        """Return a field's name with the default namespace, if it has none."""
        is_bare = self.namespace != NAMESPACE and _PROPERTY.fullmatch(name)
        return f"{self.namespace}:{name}" if is_bare else name


def _in_field(node: FieldClause, name: str) -> FieldClause:
    return replace(node, clause=replace(node.clause, field=name))
