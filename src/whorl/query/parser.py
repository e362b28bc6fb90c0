"""Query text to syntax tree, and back: `parse` and `unparse`.

Two scanners cut the text into lexemes, one as people mean it and one as Alfresco does; Lark's LALR parser reads them by
one grammar, and the builder makes the tree. Nothing here recurses, however deep the query is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, cast

from lark import Lark, Token
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer, LexerState

from whorl.errors import ParameterError, Span, UnsupportedQueryError
from whorl.query import ast
from whorl.query.ast import Operator
from whorl.query.builder import Builder, Reading, too_deep
from whorl.query.limits import MAX_CLAUSES, MAX_LENGTH, QueryLimits
from whorl.query.mistakes import Mistake, misplaced, unfinished
from whorl.query.scanner import scan
from whorl.query.strict import scan as strict_scan
from whorl.query.templates import resolved
from whorl.query.unparse import unparse
from whorl.query.watch import Watch

__all__ = ["MAX_CLAUSES", "MAX_LENGTH", "Operator", "parse", "unparse"]

_OUTSIDE_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def parse(
    query: str,
    *,
    strict: bool = False,
    default_operator: Operator = Operator.OR,
    field_operator: Operator = Operator.OR,
    templates: Mapping[str, str] | None = None,
    limits: QueryLimits = QueryLimits(),  # noqa: B008 - frozen
) -> ast.Node:
    """Return the tree of a query.

    Args:
        query: In the language of docs/afts.md.
        strict: Read it as Alfresco's own grammar does, to the letter; without, as its author meant it.
        default_operator: What joins words that stand side by side.
        field_operator: The same inside a group behind a field.
        templates: Queries by name, in which `%field` and `%(field field)` take what is searched for; `name:word` then
            means that query. Names are compared without case.
        limits: How large the query may be, and each template.

    Raises:
        QuerySyntaxError: The text is not in the language.
        UnsupportedQueryError: It asks for what cannot be run, or is larger than the limits.
        ParameterError: A template is needed by itself, or there are two of one name.

    >>> parse("big type:pdf~0.8").children[0]
    Term(text='big', field=None, form=<Form.DEFAULT: ''>)
    """
    reading = Reading(default_operator, field_operator, strict, limits=limits)
    if templates:
        reading = replace(reading, templates=_trees(templates, reading))
    return _parse(query, reading)


def _trees(templates: Mapping[str, str], reading: Reading) -> dict[str, ast.Node]:
    inside = replace(reading, is_template=True)
    trees = {name.lower(): _parse(text, inside) for name, text in templates.items()}
    if len(trees) < len(templates):
        raise ParameterError(f"two templates have the same name, case aside: {', '.join(sorted(templates))}")
    return resolved(trees, reading.limits.clauses)


def _parse(query: str, reading: Reading) -> ast.Node:
    try:
        _check_text(query, reading.limits.length)
        lexemes = strict_scan(query) if reading.is_strict else scan(query)
        watch = Watch(reading)
        parser = _grammar().parse_interactive("")
        try:
            for lexeme in watch.checked(lexemes):
                parser.feed_token(cast(Token, lexeme))
            tree: Any = parser.feed_token(Token("$END", ""))
        except UnexpectedToken as error:
            raise _explained(error, query, watch) from None
        return _not_too_deep(Builder(reading).build(tree), reading.limits.depth)
    except Mistake as mistake:
        raise mistake.error(query) from None


def _not_too_deep(tree: ast.Node, most: int) -> ast.Node:
    level = [tree]
    for _ in range(most):
        level = [child for parent in level for child in ast.children(parent)]
    below = next((child for parent in level for child in ast.children(parent)), None)
    if below is not None:
        raise too_deep(below.span, most)
    return tree


def _explained(error: UnexpectedToken, query: str, watch: Watch) -> Mistake:
    if getattr(error.token, "type", "") == "$END":
        return unfinished(query, watch.seen)
    return misplaced(watch.seen[-1], watch.seen[:-1])


class _Cut(Lexer):
    """Stands for Lark's lexer, which is not asked: the scanners' lexemes are fed to its parser."""

    def __init__(self, conf: object) -> None:
        pass

    def lex(self, lexer_state: LexerState, parser_state: object) -> Iterator[Token]:
        raise NotImplementedError


@cache
def _grammar() -> Lark:
    return Lark.open("afts.lark", rel_to=__file__, parser="lalr", lexer=_Cut, start="query")


def _check_text(query: str, longest: int) -> None:
    if len(query) > longest:
        message = f"a query can have at most {longest:,} characters, got {len(query):,}"
        raise Mistake(message, Span(longest, len(query)), "", UnsupportedQueryError)
    if bad := _OUTSIDE_TEXT.search(query):
        half = bad[0] >= "\ud800"
        message = f"U+{ord(bad[0]):04X} is {'half of a surrogate pair' if half else 'a control character'}"
        hint = "Remove it." if half else f"Remove it, or write \\u{ord(bad[0]):04x}"
        raise Mistake(message, Span(*bad.span()), hint)
    if not query.strip():
        hint = 'Write a word, a "quoted phrase", FINGERPRINT:<id>, or * for all documents.'
        raise Mistake("the query is empty", Span(0, len(query)), hint)
