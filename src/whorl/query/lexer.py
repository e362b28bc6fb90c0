"""Checks of a query's tokens that the grammar cannot express: spaces between tokens, limits, leading operators.

An operator before its first operand is checked here too, because the permitted one depends on the default operator.
"""

from __future__ import annotations

from lark import Token

from whorl.query.ast import Operator
from whorl.query.limits import Reading
from whorl.query.messages import FIELDS, Mistake, misplaced, shorten, span_of, too_deep, too_many

_WORDS = frozenset({"WORD", "ADDRESS", "PHRASE"})
# Each leaf of the tree has one of these tokens; an operator that joins two of them into one leaf subtracts one.
_LEAVES = _WORDS | {"QUALIFIED_NAME", "RANGE_START", "EVERYTHING", "ID", "TEMPLATE", "TEMPLATE_GROUP"}
# One of Alfresco's words has up to five of these tokens; the builder counts the leaves.
_PIECES = frozenset({"NAME", "WORD", "STAR", "QUESTION_MARK", "INTEGER", "DECIMAL", "DATE", "QUALIFIED"})
_PIECES_OF_A_WORD = 5
_JOINS = frozenset({"DOTDOT", "NEAR"})
_FINGERPRINT_ENDS = frozenset({"ID", "OVERLAP", "PROBABILITY"})
_ENDS = _WORDS | _FINGERPRINT_ENDS | {"QUALIFIED_NAME", "RANGE_END", "EVERYTHING", "REFERENCE"}
_ENDS |= {"BOOST", "SIMILARITY", "SLOP"}
_STARTS = _LEAVES - {"ID"} | FIELDS | {"FINGERPRINT", "FORM", "NOT", "PLUS", "MINUS"}


class TokenChecks:
    """Checks the tokens of a query on their way to the parser; `seen` holds the accepted tokens.

    Raises:
        Mistake: A token is misplaced, or exceeds a limit.
    """

    def __init__(self, query: str, reading: Reading) -> None:
        self.seen: list[Token] = []
        self._query, self._reading = query, reading
        self._open: list[Operator] = []
        self._pieces = 0
        self._nots = 0

    def take(self, token: Token) -> None:
        """Check and accept the next token of a query."""
        before = self.seen[-1] if self.seen else None
        if before is not None and before.end_pos == token.start_pos and not self._reading.is_strict:
            self._check_space(before, token)
        self._check_limits(token, before)
        if token.type in ("_OR", "_AND"):
            self._check_idle(token, before)
        self.seen.append(token)

    def _check_limits(self, token: Token, before: Token | None) -> None:
        limits = self._reading.limits
        if self._reading.is_strict:
            self._pieces += 1 if token.type in _PIECES else _PIECES_OF_A_WORD * (token.type == "PHRASE")
        else:
            self._pieces += _PIECES_OF_A_WORD * ((token.type in _LEAVES) - (token.type in _JOINS))
        if self._pieces > _PIECES_OF_A_WORD * limits.clauses:
            raise too_many(span_of(token), limits.clauses)
        if token.type == "LPAR":
            is_field = before is not None and before.type in FIELDS
            self._open.append(self._reading.field_operator if is_field else self._operator())
        elif token.type == "RPAR" and self._open:
            self._open.pop()
        self._nots = self._nots + 1 if token.type == "NOT" else 0
        if max(len(self._open), self._nots) > limits.depth:
            raise too_deep(span_of(token), limits.depth)

    def _operator(self) -> Operator:
        return self._open[-1] if self._open else self._reading.operator

    def _check_idle(self, token: Token, before: Token | None) -> None:
        """Allow only the default operator before the first operand."""
        is_first = before is None or before.type == "LPAR" or (before.type, token.type) == ("_OR", "_AND")
        if is_first and token.type != "_" + self._operator().value:
            raise misplaced(self._query, token, self.seen)

    def _check_space(self, before: Token, token: Token) -> None:
        """Refuse a token without a space after an operand, because it may have been meant as part of the operand."""
        is_quoted_id = before.type == "PHRASE" and [token.type for token in self.seen[-2:-1]] == ["FINGERPRINT"]
        is_id = is_quoted_id or before.type in _FINGERPRINT_ENDS
        if before.type not in _ENDS or not (token.type in _STARTS or (is_id and token.type == "LPAR")):
            return
        if is_quoted_id and token.type == "WORD":
            message = "only _<overlap>_<probability> can follow the closing quote"
            raise Mistake(message, span_of(token), 'As in FINGERPRINT:"my_doc"_20_80')
        if token == "~" and before.type in _WORDS:
            raise Mistake("a number must follow ~ directly", span_of(token), 'As in word~0.8, or "some words"~2')
        hint = r"A quote that belongs to the text is written \" or \'"
        if is_id:
            hint = 'An id with blanks, parentheses, quotes or ^ is quoted, as in FINGERPRINT:"report (1).pdf"'
        raise Mistake(f"a space is missing before {shorten(token)}", span_of(token), hint)
