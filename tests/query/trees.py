"""Short names for the trees of golden pairs."""

from __future__ import annotations

from typing import TypeAlias

from whorl.query.ast import Bound, Clause, Clauses, Form, Node, Occur, Range, Term, WildcardCharacter

Pairs: TypeAlias = list[tuple[str, Node]]

A, B, C, D = Term("a"), Term("b"), Term("c"), Term("d")
ANY, ONE = WildcardCharacter.ANY, WildcardCharacter.ONE
EXACT, TOKENISED = Form.EXACT, Form.TOKENISED


def clauses(*members: tuple[str, Node]) -> Clauses:
    """Return the Clauses node with these signs and members."""
    return Clauses(tuple(Clause(Occur(sign), child) for sign, child in members))


def between(low: str | None, high: str | None, field: str | None = None, ends: str = "[]") -> Range:
    """Return a range with these ends; None is an open end."""
    return Range(
        None if low is None else Bound(low, ends[0] == "["),
        None if high is None else Bound(high, ends[1] == "]"),
        field,
    )
