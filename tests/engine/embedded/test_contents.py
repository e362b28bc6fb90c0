"""What a query asks beside its search: names, terms, and documents looked at one by one, within its time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tantivy import Query

from tests.engine.embedded.stores import opened
from whorl.context import deadline
from whorl.engine.embedded.contents import Contents, Values
from whorl.engine.embedded.schema import SCHEMA
from whorl.engine.lucene import term, value_term, values_begin
from whorl.errors import StoppedError
from whorl.model import Document
from whorl.query.plan.clauses import Kind

EVERYTHING = Query.exists_query("id")


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Contents]:
    """
    What three documents hold, the last of them in the small part of the index.
    """
    path: Path = tmp_path_factory.mktemp("contents") / "store"
    with opened(path) as engine:
        engine.index(
            [
                Document("a", "one two", "first", {"k": ["x", "y z"]}),
                Document("b", "two three", properties={"k": "y", "kind": "w"}),
            ]
        )
        engine.refresh()
        engine.index([Document("c", "one", properties={"k": "v"})])
        engine.refresh()
        yield Contents(engine._index, engine._records, str.split)


def test_names(contents: Contents) -> None:
    """
    The fields of every document, and those that each has.
    """
    assert contents.names() == {"name", "content", "k", "kind"}


def test_terms_of_a_field(contents: Contents) -> None:
    """
    Those of both parts, in order, of this field and no other; or more than were wanted, to tell that it is too many.
    """
    beginning = values_begin("k", Kind.KEYWORD)
    whole = [value_term("k", Kind.KEYWORD, value) for value in ("v", "x", "y", "y z")]
    assert contents.terms("values", beginning, 4) == whole
    assert contents.terms("values", beginning + "y", 4) == whole[2:]
    assert len(contents.terms("values", beginning, 2)) > 2
    assert contents.terms("content", term("content", "t"), 9) == [term("content", "three"), term("content", "two")]


def test_documents_are_looked_at(contents: Contents) -> None:
    """
    A test sees the words of each value of a field, of the documents that a query finds, and none where there are none.
    """
    seen: list[list[list[str]]] = []

    def is_match(values: Values) -> bool:
        seen.append([list(words) for words in values])
        return ["y", "z"] in list(values)

    assert contents.verified(EVERYTHING, ["k"], is_match) == ["a"]
    assert sorted(seen) == [[["v"]], [["x"], ["y", "z"]], [["y"]]]
    only = Query.term_query(SCHEMA, "id", "b", "basic")
    assert contents.verified(only, ["k"], is_match) == []
    assert contents.verified(EVERYTHING, ["name", "content"], lambda values: ["first"] in list(values)) == ["a"]
    assert contents.verified(EVERYTHING, ["kind"], lambda values: not values) == ["a", "c"]


def test_nobody_waits(contents: Contents) -> None:
    """
    Looking at documents ends with the request.
    """
    with deadline(0.0), pytest.raises(StoppedError):
        contents.verified(EVERYTHING, ["k"], lambda values: pytest.fail("looked at"))


def test_no_time_for_all(contents: Contents, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    What would take longer than the time that is left is not begun: tantivy cannot be stopped.
    """
    contents.rehearse(EVERYTHING)
    with deadline(60.0):
        contents.require_time_for_all()
    monkeypatch.setattr(contents, "_rehearsed_seconds", 3600.0)
    with deadline(60.0), pytest.raises(StoppedError, match="too short for the patterns"):
        contents.require_time_for_all()
