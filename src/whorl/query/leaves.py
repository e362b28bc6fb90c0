"""A leaf of the tree from its lexemes: form, field, the word or phrase itself, and what follows a ~."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whorl.errors import Span, UnsupportedQueryError
from whorl.query import ast
from whorl.query.fingerprint import PREFIX, read_fingerprint
from whorl.query.lexeme import WORDS, Lexeme, literal
from whorl.query.mistakes import Mistake, shorten


def read_leaf(parts: Sequence[Lexeme], field: str | None, span: Span) -> ast.Leaf:
    """Return the node of the lexemes that make one leaf.

    Args:
        parts: As the grammar's leaf has them.
        field: Its own, or that of the group it is in.
        span: From the first lexeme to the last.
    """
    by_type = {part.type: part for part in parts}
    core = next(part for part in parts if part.type not in ("FORM", "FIELD"))
    if isinstance(core.value, ast.Fingerprint):
        return replace(core.value, span=span)
    if field == PREFIX[:-1]:
        return _fingerprint(core, by_type.get("FUZZY"), span)
    if isinstance(core.value, ast.Range | ast.Proximity):
        return replace(core.value, field=field, span=span)
    form = by_type["FORM"].form if "FORM" in by_type else ast.Form.DEFAULT
    if core.type == "EVERYTHING":
        return ast.Everything(span)
    return _words(core, by_type.get("FUZZY"), field, form, span)


def _words(core: Lexeme, fuzzy: Lexeme | None, field: str | None, form: ast.Form, span: Span) -> ast.Leaf:
    is_phrase = core.type == "PHRASE"
    if any(isinstance(piece, ast.Joker) for piece in core.pattern):
        if fuzzy is not None:
            message = f"{shorten(fuzzy.text)} behind a word with wildcards is not supported"
            raise Mistake(message, fuzzy.span, "Leave out one of the two.", UnsupportedQueryError)
        if core.text == "*" and field is None and form is ast.Form.DEFAULT:
            return ast.Everything(span)
        return ast.Wildcard(core.pattern, field, form, is_phrase, span)
    text = literal(core.pattern)
    if is_phrase:
        return ast.Phrase(text, field, form, None if fuzzy is None else int(fuzzy.number), span)
    if fuzzy is not None:
        return ast.Fuzzy(text, fuzzy.number, field, span)
    return ast.Term(text, field, form, span)


def _fingerprint(core: Lexeme, fuzzy: Lexeme | None, span: Span) -> ast.Fingerprint:
    """Return what FINGERPRINT asks for behind an @, or in a group."""
    if core.type not in WORDS or fuzzy is not None:
        part = fuzzy or core
        hint = "As in FINGERPRINT:1234_20_80"
        raise Mistake(f"FINGERPRINT takes the id of a document, got {shorten(part.text)}", part.span, hint)
    node = read_fingerprint(PREFIX + core.text, core.span.start - len(PREFIX))
    return replace(node, span=span)
