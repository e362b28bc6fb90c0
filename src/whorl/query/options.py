"""Options for parsing a query, and limits on its size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from whorl.query import ast

#: Default limits in characters, and in words, phrases and fingerprints. Solr's own limit is 1,024 clauses.
DEFAULT_LENGTH, DEFAULT_CLAUSES = 65_536, 1_000
#: Upper bounds of these settings: engines need minutes for more fingerprints than that.
MAX_LENGTH, MAX_CLAUSES = 1_000_000, 10_000


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Size limits of one query.

    Args:
        length: Characters, at most `MAX_LENGTH`.
        depth: Levels of nesting, at most `ast.MAX_DEPTH`.
        clauses: Words, phrases and fingerprints, at most `MAX_CLAUSES`.
    """

    length: int = DEFAULT_LENGTH
    depth: int = ast.MAX_DEPTH
    clauses: int = DEFAULT_CLAUSES


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """Parse options: the arguments of `parse`, with templates as trees; `is_template` allows %field placeholders."""

    default_operator: ast.Operator = ast.Operator.OR
    field_operator: ast.Operator = ast.Operator.OR
    strict: bool = False
    templates: Mapping[str, ast.Node] = field(default_factory=dict)
    is_template: bool = False
    limits: QueryLimits = field(default_factory=QueryLimits)
