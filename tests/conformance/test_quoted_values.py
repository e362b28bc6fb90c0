"""Tests that a value written by `quote` finds the documents with exactly this value, on every engine."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator

import pytest

from whorl import Document, Store, quote

#: Query syntax, engine syntax, white space, letters with case folding, and characters outside the basic plane.
_CHARACTERS = "ab*?\"\\'_ :()[]{}<>~^|&!+-=%@#$./,;\t\n\u00a0ÄäßſİıＡａ\u200b\u0301😀𝒳\x01\x1f\x7f日本"
#: Numbers of documents and of values: some values are shared.
_DOCUMENTS, _VALUES = 300, 250


def values() -> list[str]:
    chance = random.Random(10)
    fixed = [
        "*",
        "?",
        "a*",
        "a\\*",
        '"',
        '\\"',
        "\\",
        "\\\\",
        "AND",
        "*:*",
        "2021-01-01",
        "7",
        "true",
        "my_50",
        " a",
        "a ",
    ]
    made = ["".join(chance.choices(_CHARACTERS, k=chance.randint(1, 8))) for _ in range(_VALUES - len(fixed))]
    return [*fixed, *made, "long " * 300, "long " * 300 + "*"]


@pytest.fixture
def filled(store: Store) -> Iterator[tuple[Store, dict[str, set[str]]]]:
    chance = random.Random(11)
    expected = defaultdict(set)
    documents = []
    for number, value in enumerate([*values(), *chance.choices(values(), k=_DOCUMENTS - _VALUES)]):
        documents.append(Document(f"quoted {number}", "", properties={"quoted": value}))
        expected[value].add(f"quoted {number}")
    store.index(documents)
    yield store, expected
    store.delete([document.id for document in documents])


def test_a_quoted_value_finds_only_this_value(filled: tuple[Store, dict[str, set[str]]]) -> None:
    """
    Each of 250 values finds its documents, and any other value finds nothing.
    """
    store, expected = filled
    for value in [*expected, "b*b", "??"]:
        hit_ids = {hit.id for hit in store.search(f"=quoted:{quote(value)}").hits}
        assert hit_ids == expected.get(value, set()), value


def test_a_star_in_plain_quotes_is_a_pattern(filled: tuple[Store, dict[str, set[str]]]) -> None:
    """
    A star in plain quotes is a pattern, as in Alfresco, which is the reason for `quote`.
    """
    store, expected = filled
    assert store.count('=quoted:"*"') == sum(map(len, expected.values())) > store.count(f"=quoted:{quote('*')}") > 0
