"""Highlighting marks exactly the words that a query looks for, in fragments of the text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks import Checks
from whorl import Document, Store, open_store
from whorl.fingerprint.words.tokenizer import tokens_and_spans
from whorl.query.ast import WildcardCharacter
from whorl.query.plan.nodes import Bool, FuzzyWord, InOrder, ResolvedPlan, Words
from whorl.request_context import new_request
from whorl.search.highlighting import Marker, Marking
from whorl.search.prepared_search import highlight_hits

FOX = "The quick brown fox jumps over the lazy dog; the dog sleeps. A brown dog, quick as a fox, jumps."


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(Path(tmp_path_factory.mktemp("highlight")) / "store") as opened:
        opened.index([Document("fox", FOX, "About a fox", {"cm:title": ["One fox", "two foxes"]})])
        yield opened


def marked(store: Store, query: str, field: str = "TEXT", text: str = "", **marking: object) -> list[str]:
    options = {field: Marking("<", ">", **marking)}  # type: ignore[arg-type]
    highlights = highlight_hits(store.prepare(query), store.documents(["fox"]), options)
    return [fragment for _, fragments in highlights.by_id.get("fox", ()) for fragment in fragments]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("fox", "The quick brown <fox> jumps over the lazy dog; the dog sleeps. A brown dog, quick as a <fox>, jumps."),
        ('"brown fox"', "The quick <brown> <fox> jumps"),
        ("jum*", "fox <jumps> over"),
        ("focks~1 OR lasy~0.7", "the <lazy> dog"),
        ("fox AND NOT dog", "<fox> jumps over the lazy dog;"),
        ("cm:title:fox", "brown <fox> jumps"),
        ("quick *(3) fox", "The <quick> brown <fox> jumps"),
    ],
)
def test_words_of_the_query_are_marked(store: Store, query: str, expected: str) -> None:
    """
    Words, phrases, patterns and fuzzy words are marked, whatever field the query names; excluded words are not.
    """
    (text,) = marked(store, query, fragment_size=0)
    assert text.replace("<", "").replace(">", "") == FOX
    assert expected in text


def test_fields(store: Store) -> None:
    """
    A name and a property with several values are highlighted; an unknown field yields nothing and a warning.
    """
    assert marked(store, "fox", "cm:name") == ["About a <fox>"]
    assert marked(store, "fox", "cm:title", fragment_size=0) == ["One <fox>\ntwo foxes"]
    highlights = highlight_hits(store.prepare("fox"), store.documents(["fox"]), {"gone": Marking()})
    assert (dict(highlights.by_id), highlights.warnings) == (
        {},
        ("the store has no field 'gone', so nothing is marked in it",),
    )


def test_phrases(store: Store) -> None:
    """
    The words of a phrase are marked only in a row, or anywhere if phrases are switched off.
    """
    (in_a_row,) = marked(store, '"brown fox"', fragment_size=0)
    assert in_a_row.count("<") == 2
    (anywhere,) = marked(store, '"brown fox"', fragment_size=0, use_phrase_highlighter=False)
    assert anywhere.count("<") == 4


def test_fragments(store: Store) -> None:
    """
    At most `snippet_count` fragments with the most words are shown, in text order; adjacent ones are joined on request.
    """
    assert marked(store, "fox", fragment_size=20) == ["brown <fox> jumps"]
    assert marked(store, "fox", fragment_size=20, snippet_count=2) == ["brown <fox> jumps", "as a <fox>, jumps"]
    assert marked(store, "fox jumps", fragment_size=5, snippet_count=5) == ["<fox>", "<jumps>", "<fox>", "<jumps>"]
    assert marked(store, "fox jumps", fragment_size=5, snippet_count=5, merge_contiguous=True) == [
        "<fox> <jumps>",
        "<fox>, <jumps>",
    ]
    assert marked(store, "fox", max_analyzed_chars=10) == []


@given(
    st.lists(st.sampled_from(["fox", "dog", "a", "quick,", "é", "東京", "\n"]), max_size=40).map(" ".join),
    st.sampled_from([0, 1, 5, 12, 40]),
    st.integers(1, 4),
    st.booleans(),
)
def test_fragments_are_parts_of_the_text(text: str, size: int, snippets: int, joins: bool) -> None:
    """
    For any text, a fragment without its marks is part of the text, the marks enclose wanted words, and no word is cut.
    """
    plan: ResolvedPlan = Bool(
        should=(Words("fox"), InOrder((("d", WildcardCharacter.ANY),)), FuzzyWord("quik", 1)), min_should_match=1
    )
    marking = Marking("[", "]", snippets, size, joins)
    snippet_texts = Marker(plan, "icu74").snippets(text, marking)
    assert len(snippet_texts) <= snippets
    assert bool(snippet_texts) == any(word in text for word in ("fox", "dog", "quick"))
    for snippet_text in snippet_texts:
        bare = snippet_text.replace("[", "").replace("]", "")
        assert bare in text
        assert "[" in snippet_text
        pieces = [piece.partition("]")[0] for piece in snippet_text.split("[")[1:]]
        assert {*pieces} <= {"fox", "dog", "quick"}
        assert bare.count("fox") == pieces.count("fox")


def test_long_texts_check_for_each_portion() -> None:
    """
    Highlighting 20,000 matches checks for cancellation at least once for each 2,000 words, in the search for matches
    and in the choice of fragments.
    """
    text, checks, of_words = "fox " * 20_000, Checks(), Checks()
    with new_request("", of_words):
        tokens_and_spans(text, "icu74")
    with new_request("", checks):
        assert Marker(Words("fox"), "icu74").snippets(text, Marking(snippet_count=100, max_analyzed_chars=100_000))
    assert checks.count - of_words.count >= 30
