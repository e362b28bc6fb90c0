"""Turns a syntax tree back into query text."""

from __future__ import annotations

from enum import IntEnum

from whorl.errors import ParameterError
from whorl.query import ast
from whorl.query.literals import (
    DEFAULT_SLOP,
    MAX_BOOST,
    MAX_SIMILARITY,
    write_field,
    write_fingerprint,
    write_number,
    write_pattern,
    write_quoted,
    write_range,
    write_slop,
    write_word,
)


class _Tightness(IntEnum):
    """Precedence of a written node; a node of lower precedence needs parentheses inside one of higher precedence."""

    OR = 0
    SEQUENCE = 1
    AND = 2
    NOT = 3
    BOOST = 4
    PRIMARY = 5


def unparse(node: ast.Node) -> str:
    r"""Return canonical query text for a tree: `parse(unparse(node)) == node`.

    Raises:
        ParameterError: No query text gives this tree: an empty word, an `Or` with one member, a `Clauses` without + and
            -, a number outside its range, more than `ast.MAX_DEPTH` levels.

    >>> print(unparse(ast.And((ast.Term("pdf", "type"), ast.Not(ast.Term("or"))))))
    type:pdf AND NOT \or
    """
    if ast.depth(node) > ast.MAX_DEPTH:
        raise ParameterError(f"a query can be at most {ast.MAX_DEPTH} levels deep, this tree is deeper")
    return _write(node, _Tightness.OR)


def _write(node: ast.Node, least: _Tightness) -> str:
    tightness, text = _written(node)
    return text if tightness >= least else f"({text})"


def _written(node: ast.Node) -> tuple[_Tightness, str]:
    match node:
        case ast.Or(children=members):
            return _Tightness.OR, _joined(" OR ", members, _Tightness.SEQUENCE)
        case ast.And(children=members):
            return _Tightness.AND, _joined(" AND ", members, _Tightness.NOT)
        case ast.Clauses():
            return _Tightness.SEQUENCE, _clauses(node)
        case ast.Not(child=child):
            return _Tightness.NOT, "NOT " + _write(child, _Tightness.NOT)
        case ast.Boost(child=child, factor=factor):
            number = write_number(factor, "a boost", MAX_BOOST)
            return _Tightness.BOOST, f"{_write(child, _Tightness.PRIMARY)}^{number}"
        case _:
            return _Tightness.PRIMARY, _leaf(node)


def _joined(operator: str, members: tuple[ast.Node, ...], least: _Tightness) -> str:
    if len(members) < 2:
        raise ParameterError(f"{operator.strip()} joins two or more, got {len(members)}")
    return operator.join(_write(member, least) for member in members)


def _clauses(node: ast.Clauses) -> str:
    if len(node.clauses) < 2 or all(clause.occur is ast.Occur.SHOULD for clause in node.clauses):
        raise ParameterError("Clauses has two or more members, one of them with + or -: use Or, Not or the member")
    return " ".join(
        clause.occur.value
        + _write(clause.child, _Tightness.AND if clause.occur is ast.Occur.SHOULD else _Tightness.NOT)
        for clause in node.clauses
    )


def _leaf(node: ast.Leaf) -> str:
    match node:
        case ast.Term(text=text, field=field, form=form):
            return form.value + _prefix(field) + _word(text, form, field)
        case ast.Phrase(text=text, field=field, form=form, slop=slop):
            distance = "" if slop is None else f"~{write_slop(slop)}"
            return form.value + _prefix(field) + write_quoted(text) + distance
        case ast.Wildcard():
            return _wildcard(node)
        case ast.Fuzzy(text=text, similarity=similarity, field=field):
            number = write_number(similarity, "a similarity", MAX_SIMILARITY, is_zero_meant=True)
            return f"{_prefix(field)}{write_word(text)}~{number}"
        case ast.Range(field=field):
            return _prefix(field) + write_range(node)
        case ast.Proximity():
            return _proximity(node)
        case ast.Fingerprint():
            return write_fingerprint(node)
        case ast.Everything():
            return "*:*"
        case ast.Template(fields=fields):
            raise ParameterError(f"%({' '.join(fields)}) stands in a template only")


def _word(text: str, form: ast.Form, field: str | None) -> str:
    # "a ~2" would be a similarity.
    is_number = form is ast.Form.TOKENISED and field is None and text[:1] in tuple("0123456789.")
    return ("\\" if is_number else "") + write_word(text)


def _wildcard(node: ast.Wildcard) -> str:
    jokers = [piece for piece in node.pattern if isinstance(piece, ast.Joker)]
    pairs = zip(node.pattern, node.pattern[1:], strict=False)
    if not jokers or "" in node.pattern or any(isinstance(a, str) and isinstance(b, str) for a, b in pairs):
        raise ParameterError(f"a pattern has jokers, and between them texts that are not empty, got {node.pattern}")
    if node.fuzziness is not None:
        raise ParameterError(f"a pattern with jokers has no fuzziness, got {node.fuzziness}")
    lead = node.form.value + _prefix(node.field)
    if node.is_phrase:
        return f'{lead}"{"".join(_quoted_piece(piece) for piece in node.pattern)}"'
    if not lead and node.pattern == (ast.Joker.ANY,):
        raise ParameterError("* alone is every document: use Everything")
    is_number = lead == "~" and str(node.pattern[0])[0] in "0123456789."
    return lead + ("\\" if is_number else "") + write_pattern(node.pattern)


def _quoted_piece(piece: str | ast.Joker) -> str:
    return piece.value if isinstance(piece, ast.Joker) else write_quoted(piece)[1:-1]


def _proximity(node: ast.Proximity) -> str:
    if len(node.words) < 2:
        raise ParameterError(f"a proximity search has two words or more, got {len(node.words)}")
    star = "*" if node.slop == DEFAULT_SLOP else f"*({write_slop(node.slop)})"
    return _prefix(node.field) + f" {star} ".join(write_word(word) for word in node.words)


def _prefix(field: str | None) -> str:
    return "" if field is None else write_field(field) + ":"
