"""What the two scanners make and the grammar reads: pieces of the text with their place and their value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from whorl.errors import Span
from whorl.query import ast

Pattern: TypeAlias = tuple[str | ast.Joker, ...]
Value: TypeAlias = str | Decimal | Pattern | ast.Form | ast.Range | ast.Proximity | ast.Fingerprint | None


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A terminal of the grammar.

    Args:
        type: The terminal's name in afts.lark.
        text: As typed.
        span: Where.
        value: By type: BOOST and FUZZY a Decimal, FIELD its canonical name, FORM a `Form`, WORD and PHRASE a pattern,
            RANGE, PROXIMITY and FINGERPRINT a node without its field, TEMPLATE the names of fields.
    """

    type: str
    text: str
    span: Span
    value: Value = None

    @property
    def name(self) -> str:
        """A FIELD's name."""
        assert isinstance(self.value, str)
        return self.value

    @property
    def form(self) -> ast.Form:
        """A FORM's meaning."""
        assert isinstance(self.value, ast.Form)
        return self.value

    @property
    def number(self) -> Decimal:
        """What BOOST and FUZZY say."""
        assert isinstance(self.value, Decimal)
        return self.value

    @property
    def pattern(self) -> Pattern:
        """A WORD's or a PHRASE's text and jokers."""
        assert isinstance(self.value, tuple)
        return self.value

    @property
    def names(self) -> tuple[str, ...]:
        """A TEMPLATE's fields."""
        return tuple(name for name in self.pattern if isinstance(name, str))


WORDS = frozenset({"WORD", "PHRASE"})
LEAVES = WORDS | {"RANGE", "PROXIMITY", "EVERYTHING", "FINGERPRINT", "TEMPLATE"}
SIGNS = frozenset({"PLUS", "MINUS", "BAR"})
OPERATORS = SIGNS | {"_AND", "_OR", "NOT"}


def literal(pattern: Pattern) -> str:
    """Return a pattern's text, jokers as they are typed."""
    return "".join(part.value if isinstance(part, ast.Joker) else part for part in pattern)


def is_adjacent(first: Lexeme | None, start: int) -> bool:
    """Say whether nothing stands between a lexeme and a place."""
    return first is not None and first.span.end == start
