"""Walks over syntax trees (each node once, parents first) and their depth, without recursion."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings

from tests.query.strategies import nodes, patterns
from tests.query.trees import ANY, ONE, A, B, C, clauses
from whorl.errors import Span
from whorl.query import ast
from whorl.query.ast import And, Boost, Node, Not, Or, as_typed, children, depth, walk
from whorl.query.literals import read_pattern

TREES: list[tuple[Node, list[Node], int]] = [
    (A, [], 0),
    (Or((A, B)), [A, B], 1),
    (And((Not(A), B)), [Not(A), B], 2),
    (Boost(Or((A, Not(B))), Decimal(2)), [Or((A, Not(B)))], 3),
    (clauses(("+", A), ("-", Or((B, C))), ("", C)), [A, Or((B, C)), C], 2),
]


@pytest.mark.parametrize(("tree", "below", "levels"), TREES)
def test_children_and_depth(tree: Node, below: list[Node], levels: int) -> None:
    """
    Children have the order of the query, whatever their sign.
    """
    assert list(children(tree)) == below
    assert depth(tree) == levels


@settings(max_examples=50)
@given(nodes)
def test_a_walk_visits_each_node_once(tree: Node) -> None:
    """
    A walk visits each node once, parents first and children in order, as a recursive listing does.
    """

    def listed(node: Node) -> list[int]:
        return [id(node), *(descendant for child in children(node) for descendant in listed(child))]

    assert [id(node) for node in walk(tree)] == listed(tree)


@pytest.mark.slow
@pytest.mark.parametrize(("levels", "expected"), [(99, 99), (100, 100), (101, 101), (50_000, 101)])
def test_the_deepest_trees_are_counted(levels: int, expected: int) -> None:
    """
    depth does not recurse, and counts one level more than allowed for every deeper tree.
    """
    tree: Node = A
    for _ in range(levels):
        tree = Not(tree)
    assert depth(tree) == expected
    # Freeing a tree of this depth would recurse, so it is dismantled by hand.
    while isinstance(tree, Not):
        tree = tree.child


def test_places_are_not_compared() -> None:
    """
    Equality, hash and representation of a tree ignore the spans.
    """
    there = replace(A, span=Span(5, 6))
    assert (there, hash(there), repr(there)) == (A, hash(A), repr(A))
    assert replace(A, text="b") != A


@settings(max_examples=50)
@given(patterns())
def test_patterns_are_shown_as_typed(pattern: ast.Pattern) -> None:
    """
    A pattern as typed is read as the same pattern, unless it escapes a wildcard.
    """
    shown = as_typed(pattern)
    if not any(mark in piece for piece in pattern if isinstance(piece, str) for mark in "*?\\"):
        assert read_pattern(shown, 0) == pattern
    assert as_typed(("a*", ONE, ANY)) == "a*?*"
