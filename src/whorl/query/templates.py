"""Query templates: a field name that stands for a query over other fields, as in `{"name": "%(cm:name cm:title)"}`.

A template's tree has `Template` nodes as placeholders. Templates that refer to templates are expanded once, so that
each use is a single substitution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from whorl.errors import ParameterError
from whorl.query import ast


def resolved(trees: Mapping[str, ast.Node], largest: int) -> dict[str, ast.Node]:
    """Expand templates that refer to other templates; the keys are names in lower case.

    Args:
        trees: Parsed templates.
        largest: Maximum number of leaves of a template.

    Raises:
        ParameterError: A template refers to itself, or exceeds the size or depth of a query.
    """
    done: dict[str, ast.Node] = {}
    for name in trees:
        path = [name]
        while path:
            wanted = [used for used in _used(trees[path[-1]]) if used in trees and used not in done]
            if not wanted:
                last = path.pop()
                done[last] = _put_in(last, trees[last], done, largest)
            elif wanted[0] in path:
                circle = [*path[path.index(wanted[0]) :], wanted[0]]
                raise ParameterError(f"templates refer to each other in a circle: {' -> '.join(circle)}")
            else:
                path.append(wanted[0])
    return done


def _used(tree: ast.Node) -> Iterable[str]:
    return [name.lower() for node in ast.walk(tree) if isinstance(node, ast.Template) for name in node.fields]


def _put_in(name: str, tree: ast.Node, done: Mapping[str, ast.Node], largest: int) -> ast.Node:
    def fill(slot: ast.Template) -> ast.Node:
        return _any([done.get(used.lower(), replace(slot, fields=(used,))) for used in slot.fields], slot)

    # Each template is within the limits, so one step of expansion stays small.
    whole = _mapped(tree, lambda leaf: fill(leaf) if isinstance(leaf, ast.Template) else leaf)
    leaves = sum(1 for node in ast.walk(whole) if not ast.children(node))
    if leaves > largest or ast.depth(whole) > ast.MAX_DEPTH:
        raise ParameterError(f"template {name!r} has {leaves:,} parts, more than a query can have")
    return whole


def filled(template: ast.Node, leaf: ast.Leaf) -> ast.Node:
    """Return a template with its placeholders replaced by a clause; all nodes get the clause's position."""
    assert not isinstance(leaf, ast.Everything | ast.Fingerprint | ast.Template)
    found = leaf

    def fill(part: ast.Node) -> ast.Node:
        if isinstance(part, ast.Template):
            return _any([replace(found, field=name) for name in part.fields], found)
        return replace(part, span=found.span)

    return _mapped(template, fill, found)


def _any(members: list[ast.Node], at: ast.Node) -> ast.Node:
    return members[0] if len(members) == 1 else ast.Or(tuple(members), at.span)


def _mapped(node: ast.Node, change: Callable[[ast.Node], ast.Node], at: ast.Node | None = None) -> ast.Node:
    """Return a tree with changed leaves; with `at`, all nodes get its position."""
    span = node.span if at is None else at.span
    match node:
        case ast.And(children=members) | ast.Or(children=members):
            return replace(node, children=tuple(_mapped(member, change, at) for member in members), span=span)
        case ast.Clauses(clauses=clauses):
            mapped = tuple(ast.Clause(clause.occur, _mapped(clause.child, change, at)) for clause in clauses)
            return replace(node, clauses=mapped, span=span)
        case ast.Not(child=child) | ast.Boost(child=child):
            return replace(node, child=_mapped(child, change, at), span=span)
        case _:
            return change(node)
