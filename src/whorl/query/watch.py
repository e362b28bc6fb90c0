"""What the grammar cannot say of a query's lexemes: limits, spaces, and an operator that may stand at the start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whorl.query.ast import Operator
from whorl.query.builder import Reading, too_deep, too_many
from whorl.query.fingerprint import PREFIX
from whorl.query.lexeme import LEAVES, Lexeme, is_adjacent
from whorl.query.mistakes import Mistake, shorten

_ENDS = LEAVES | {"BOOST", "FUZZY"}
_STARTS = LEAVES | {"FIELD", "FORM", "NOT", "PLUS", "MINUS"}


class Watch:
    """Passes lexemes on to the parser, or raises Mistake; `seen` are those it has taken."""

    def __init__(self, reading: Reading) -> None:
        self.seen: list[Lexeme] = []
        self._reading = reading
        self._clauses = 0
        self._open: list[Operator] = []
        self._nots = 0

    def checked(self, lexemes: Iterable[Lexeme]) -> Iterator[Lexeme]:
        """Yield the lexemes that the grammar is to read."""
        for lexeme in lexemes:
            before = self.seen[-1] if self.seen else None
            if before is not None and not self._reading.is_strict:
                _check_space(before, lexeme)
            self._check_limits(lexeme, before)
            self.seen.append(lexeme)
            if not self._is_idle(lexeme, before):
                yield lexeme

    def _check_limits(self, lexeme: Lexeme, before: Lexeme | None) -> None:
        limits = self._reading.limits
        self._clauses += lexeme.type in LEAVES
        if self._clauses > limits.clauses:
            raise too_many(lexeme.span, limits.clauses)
        if lexeme.type == "LPAR":
            operator = self._open[-1] if self._open else self._reading.operator
            is_field = before is not None and before.type == "FIELD"
            self._open.append(self._reading.field_operator if is_field else operator)
        elif lexeme.type == "RPAR" and self._open:
            self._open.pop()
        self._nots = self._nots + 1 if lexeme.type == "NOT" else 0
        if max(len(self._open), self._nots) > limits.depth:
            raise too_deep(lexeme.span, limits.depth)

    def _is_idle(self, lexeme: Lexeme, before: Lexeme | None) -> bool:
        """Say whether an operator is one that Alfresco lets stand before the first operand: it changes nothing."""
        operator = self._open[-1] if self._open else self._reading.operator
        if lexeme.type != "_" + operator.value:
            return False
        if before is None or before.type == "LPAR":
            return True
        return before.type == "_OR" and operator is Operator.AND


def _check_space(before: Lexeme, lexeme: Lexeme) -> None:
    if not is_adjacent(before, lexeme.span.start) or before.type not in _ENDS or before.text == PREFIX:
        return
    if lexeme.type in _STARTS or (before.type, lexeme.type) == ("FINGERPRINT", "LPAR"):
        hint = r"A quote that belongs to the text is written \" or \'"
        if before.type == "FINGERPRINT":
            hint = f'An id with blanks, parentheses, quotes or ^ is quoted, as in {PREFIX}"report (1).pdf"'
        raise Mistake(f"a space is missing before {shorten(lexeme.text)}", lexeme.span, hint)
