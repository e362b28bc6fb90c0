"""From a tree back to text: `unparse`, whose answer `parse` reads as the same tree."""

from __future__ import annotations

from enum import IntEnum

from whorl.errors import ParameterError
from whorl.query import ast
from whorl.query.escapes import write_field, write_quoted, write_word
from whorl.query.fingerprint import MAX_BOOST, write_fingerprint, write_number


class _Tightness(IntEnum):
    """How tightly a written node holds together; a looser one needs parentheses inside a tighter one."""

    OR = 0
    SEQUENCE = 1
    AND = 2
    NOT = 3
    BOOST = 4
    PRIMARY = 5


def unparse(node: ast.Node) -> str:
    r"""Return canonical query text for a tree: `parse(unparse(node)) == node`.

    Raises:
        ParameterError: No query text gives this tree: an empty word, an `Or` of one, a `Clauses` without + and -, a
            number outside its range, more than `ast.MAX_DEPTH` levels.

    >>> print(unparse(ast.And((ast.Term("pdf", "type"), ast.Not(ast.Term("or"))))))
    type:pdf AND NOT \or
    """
    _check_depth(node)
    return _write(node, _Tightness.OR)


def _check_depth(node: ast.Node) -> None:
    level: list[ast.Node] = [node]
    for _ in range(ast.MAX_DEPTH + 1):
        level = [child for parent in level for child in ast.children(parent)]
        if not level:
            return
    raise ParameterError(f"a query can be at most {ast.MAX_DEPTH} levels deep, this tree is deeper")


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


def _leaf(node: ast.Term | ast.Phrase | ast.Everything | ast.Fingerprint) -> str:
    match node:
        case ast.Term(text=text, field=field):
            return _prefix(field) + write_word(text)
        case ast.Phrase(text=text, field=field):
            return _prefix(field) + write_quoted(text)
        case ast.Fingerprint():
            return write_fingerprint(node)
        case ast.Everything():
            return "*:*"


def _prefix(field: str | None) -> str:
    return "" if field is None else write_field(field) + ":"
