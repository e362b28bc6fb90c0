"""How large a query may be."""

from __future__ import annotations

from dataclasses import dataclass

from whorl.query import ast

#: What no setting raises: characters, and words, phrases and fingerprints. Solr takes 1,024 clauses at once.
MAX_LENGTH, MAX_CLAUSES = 65_536, 1_000


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The limits of one query.

    Args:
        length: Characters, at most `MAX_LENGTH`.
        depth: Levels within each other, at most `ast.MAX_DEPTH`.
        clauses: Words, phrases and fingerprints, at most `MAX_CLAUSES`.
    """

    length: int = MAX_LENGTH
    depth: int = ast.MAX_DEPTH
    clauses: int = MAX_CLAUSES
