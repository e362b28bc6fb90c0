"""How a query is to be read, and how large it may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from whorl.query import ast

#: Characters, and words, phrases and fingerprints, where nothing else is said. Solr takes 1,024 clauses at once.
DEFAULT_LENGTH, DEFAULT_CLAUSES = 65_536, 1_000
#: What no setting raises: fingerprints of which there are more take an engine minutes.
MAX_LENGTH, MAX_CLAUSES = 1_000_000, 10_000


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The limits of one query.

    Args:
        length: Characters, at most `MAX_LENGTH`.
        depth: Levels within each other, at most `ast.MAX_DEPTH`.
        clauses: Words, phrases and fingerprints, at most `MAX_CLAUSES`.
    """

    length: int = DEFAULT_LENGTH
    depth: int = ast.MAX_DEPTH
    clauses: int = DEFAULT_CLAUSES


@dataclass(frozen=True, slots=True)
class Reading:
    """How a query is to be read: the arguments of `parse`, templates as trees; `is_template` lets %field stand."""

    operator: ast.Operator = ast.Operator.OR
    field_operator: ast.Operator = ast.Operator.OR
    is_strict: bool = False
    templates: Mapping[str, ast.Node] = field(default_factory=dict)
    is_template: bool = False
    limits: QueryLimits = field(default_factory=QueryLimits)
