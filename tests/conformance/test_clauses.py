"""Clauses on fields: the same ids, scores and order on every engine, and those of a plain evaluation of the tree."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.conformance.answers import collected, expected
from tests.conformance.clauses import generated
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import FieldError, UnsupportedQueryError

QUERIES = generated(640)


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES)
def test_hits_and_scores_are_those_of_the_plain_evaluation(store: Store, query: str) -> None:
    """
    A generated query gives the ids, scores and order that a loop over all documents gives.
    """
    page = store.search(query, rows=200)
    found = [(hit.id, hit.score) for hit in page.hits]
    assert page.total == len(expected(query))
    assert [name for name, _ in found] == [name for name, _ in expected(query)]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected(query)], rel=1e-5, abs=0)


@pytest.mark.slow
def test_most_queries_find_something_and_not_everything() -> None:
    """
    Else the suite above would say little.
    """
    sizes, whole = [len(expected(query)) for query in QUERIES], len(collected())
    assert sum(0 < size < whole for size in sizes) > 0.75 * len(QUERIES)


@pytest.mark.slow
def test_a_pattern_of_very_many_states(store: Store, collection: list[Document]) -> None:
    """
    It is compared with the words, or what a server refuses is an error of the query that names it.
    """
    pattern = f"*a{'?' * 30}b"
    longest = max(collection, key=lambda document: len(document.text)).id
    for ask in (lambda: store.search(pattern).total, lambda: store.similar(longest, only=pattern).total):
        if isinstance(store.engine, EmbeddedEngine):
            assert ask() == 0
            continue
        with pytest.raises(UnsupportedQueryError, match=r"(?s)\*a\?{30}b: this pattern .*fewer \?"):
            ask()


@pytest.mark.parametrize("name", ["nmae", "cm:nmae", "{http://www.alfresco.org/model/content/1.0}nmae", "cm_nmae"])
def test_a_field_that_is_not_there(store: Store, name: str) -> None:
    """
    An error with its place and the nearest name, on every engine, however the name is written.
    """
    with pytest.raises(FieldError) as raised:
        store.search(f"lorem1 OR {name}:x")
    assert "no field" in raised.value.message
    assert (raised.value.span.start, raised.value.span.end) == (10, 12 + len(name))
    assert raised.value.hint == "Did you mean name?"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("pages:ten", "field .*pages' holds whole numbers: 'ten' is no number"),
        ("pages:1.5", "'1.5' is no whole number"),
        ("price:[a TO 5]", "field .*price' holds whole numbers and numbers: 'a' is no number"),
        ("created:[yesterday TO NOW]", "'yesterday' is no date"),
        ('created:"2021-02-30"', "'2021-02-30' is no date: day is out of range for month"),
        ('created:"NOW/WEEK"', "'WEEK' is no unit of time"),
        ("final:maybe", "'maybe' is neither true nor false"),
        ("final:[a TO b]", "a range needs values that have an order"),
        ("content:[a TO b]", "field 'content' holds words: a range needs whole values"),
        ("created:2020*", "wildcards need text"),
        ("pages:ten~0.5", "this needs words"),
        ('PATH:"/app:company_home"', "PATH needs an Alfresco repository behind it"),
        ("ISNULL:cm:nothing", "the store has no field 'cm:nothing'"),
        ('"lorem0 * lorem1"', "no part of a word"),
    ],
)
def test_what_a_field_cannot_tell(store: Store, query: str, message: str) -> None:
    """
    A value that cannot be read is an error that shows it, never a query without hits.
    """
    with pytest.raises(FieldError, match=message) as raised:
        store.search(query)
    assert query[raised.value.span.start : raised.value.span.end] == query


def test_a_range_that_leaves_something_out(store: Store) -> None:
    """
    Where documents have texts and numbers under one name, a range of numbers says what it does not look at.
    """
    (warning,) = store.search("mixed:[6 TO 9]").warnings
    assert "and text as well, which the range leaves out" in warning


def test_now_is_one_moment(store: Store) -> None:
    """
    Within a query NOW does not move, so that a range from NOW to NOW can be asked for and has no hits but this one.
    """
    document = Document("now", "", properties={"created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")})
    store.index([document])
    try:
        assert [hit.id for hit in store.search("created:[TODAY-1DAY TO NOW]").hits] == ["now"]
        assert [hit.id for hit in store.search("created:[NOW-1HOUR TO NOW+1MINUTE]").hits] == ["now"]
        assert store.search("created:[NOW+1MINUTE TO MAX]").total == 0
    finally:
        store.delete(["now"])


@pytest.mark.parametrize(
    "word", ['a"b', "a\\", "{!lucene}*:*", "a* OR *:*", "x TO *]", "AND", "_query_:x", "*)", "\\u002a", "a/b"]
)
@pytest.mark.parametrize("form", ['=code:"{}"', '=code:"{}*"', 'code:["{}" TO "{}"]', '"zzz {}"~3', 'name:"{}"~4'])
def test_no_text_is_syntax(store: Store, word: str, form: str) -> None:
    """
    Whatever is typed finds what it says, which is nothing, and no engine fails over it.
    """
    typed = word.replace("\\", "\\\\").replace('"', '\\"').replace("*", "\\*")
    assert store.search(form.replace("{}", typed)).total == 0
