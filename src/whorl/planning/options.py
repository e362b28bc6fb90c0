"""What a query leaves unsaid: how words that stand side by side are joined, and where they are looked for."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from whorl.errors import UnsupportedQueryError
from whorl.planning.build import FieldClause, Plan, either, make_filter, make_plan
from whorl.query import ast
from whorl.query.ast import Operator
from whorl.query.limits import QueryLimits
from whorl.query.parser import parse

#: The field behind words without one: what stands for all text fields.
TEXT = "TEXT"
#: The namespace of names without one, of which the stores' own names are.
NAMESPACE = "cm"
#: Trees that are kept, and the characters of the longest query of which one is.
_MOST_KEPT, _SHORT = 256, 1000
#: Properties; names in capitals are those of the language itself.
_PROPERTY = re.compile(r"(?=.*[a-z])[^:{}_]+")


@dataclass(frozen=True, slots=True)
class Conventions:
    """How queries are read where they do not say it themselves; as it stands, as the command line reads them.

    Args:
        operator: What joins words that stand side by side.
        field_operator: The same inside a group behind a field.
        templates: Queries by name, in which `%field` takes what is searched for.
        default_field: Where words without a field are looked for.
        text_fields: What TEXT stands for; none of them for the store's own text fields.
        namespace: Of properties that are named without one.
        empty_fields: Fields that the store may lack: then no document has a value there. Of others that is an error.
        is_strict: Whether queries are read as Alfresco reads them, to the letter.
        limits: How large a query may be.
    """

    operator: Operator = Operator.OR
    field_operator: Operator = Operator.OR
    templates: Mapping[str, str] = field(default_factory=dict)
    default_field: str = TEXT
    text_fields: tuple[str, ...] = ()
    namespace: str = NAMESPACE
    empty_fields: Collection[str] = ()
    is_strict: bool = False
    limits: QueryLimits = field(default_factory=QueryLimits)

    def read(self, query: str) -> ast.Node:
        """Return the tree of a query, as `parse` does."""
        if not self.templates and len(query) <= _SHORT:
            return _read_before(query, self.is_strict, self.operator, self.field_operator, self.limits)
        return parse(
            query,
            strict=self.is_strict,
            default_operator=self.operator,
            field_operator=self.field_operator,
            templates=self.templates or None,
            limits=self.limits,
        )

    def plan(self, query: str) -> Plan:
        """Return what a query asks for, as `make_plan` does."""
        return make_plan(self._runnable(query), self._placed)

    def filter(self, query: str) -> Plan:
        """Return what a query chooses, scoring nothing at all."""
        return make_filter(self._runnable(query), self._placed)

    def _runnable(self, query: str) -> ast.Node:
        """Return the tree of a query, or refuse what Alfresco's grammar reads and nothing runs."""
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
        """Return a clause with the fields that it means put in."""
        name = node.clause.field
        if name is None and self.default_field != TEXT:
            name = self.default_field
        if name is None or name == TEXT:
            if not self.text_fields:
                return node
            each = tuple(_in_field(node, self.named(text_field)) for text_field in self.text_fields)
            return each[0] if len(each) == 1 else either(tuple(replace(one, weight=0.0) for one in each), node.weight)
        return _in_field(node, self.named(name))

    def named(self, name: str) -> str:
        """Return a field's name with the namespace that it leaves unsaid."""
        is_bare = self.namespace != NAMESPACE and _PROPERTY.fullmatch(name)
        return f"{self.namespace}:{name}" if is_bare else name


@lru_cache(_MOST_KEPT)
def _read_before(
    query: str, is_strict: bool, operator: Operator, field_operator: Operator, limits: QueryLimits
) -> ast.Node:
    """Return a tree, which nobody changes: who wants the next page, or facets, asks the same query again."""
    return parse(query, strict=is_strict, default_operator=operator, field_operator=field_operator, limits=limits)


def _in_field(node: FieldClause, name: str) -> FieldClause:
    return replace(node, clause=replace(node.clause, field=name))
