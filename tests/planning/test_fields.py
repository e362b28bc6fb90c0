"""Which field a name in a query means, and which one was probably meant."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.planning.clauses import Kind
from whorl.planning.fields import Fields, Places, spelled_otherwise

CONTENT = "{http://www.alfresco.org/model/content/1.0}"
FIELDS = Fields(
    {
        "content": {Kind.TEXT: "content"},
        "title": {Kind.KEYWORD: "title"},
        "cm_title": {Kind.KEYWORD: "cm_title"},
        "my field": {Kind.KEYWORD: "my field"},
        "Reviewer": {Kind.TEXT: "Reviewer", Kind.KEYWORD: "Reviewer_s"},
    },
    patterns={"*_i": Kind.INTEGER, "*_part_i": Kind.FLOAT, "attr_*": Kind.TEXT},
    called={"DBID": "number_i", "body": "content", "gone": "nowhere"},
)


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("title", {Kind.KEYWORD: "title"}),
        ("pages_i", {Kind.INTEGER: "pages_i"}),
        # The longest pattern that fits, as in Solr; of two of one length the first.
        ("pages_part_i", {Kind.FLOAT: "pages_part_i"}),
        ("attr_part_i", {Kind.FLOAT: "attr_part_i"}),
        ("attr_i", {Kind.TEXT: "attr_i"}),
        # What the collection calls it otherwise.
        ("DBID", {Kind.INTEGER: "number_i"}),
        ("body", {Kind.TEXT: "content"}),
        ("gone", None),
        ("Title", None),
        ("", None),
    ],
)
def test_fields_of_a_store(name: str, places: Places | None) -> None:
    """
    By their own name, by what the collection calls them, or by a pattern.
    """
    assert FIELDS.find(name) == places


@pytest.mark.parametrize(
    ("typed", "names", "place"),
    [
        ("title", {}, "title"),
        ("cm:title", {}, "title"),
        (f"{CONTENT}title", {}, "title"),
        # What is there as it is typed comes before what it may mean.
        ("cm_title", {}, "cm_title"),
        ("cm:my_x0020_field", {}, "my field"),
        ("cm_my_x0020_field", {}, "my field"),
        ("zz_title", {}, None),
        ("zz:title", {}, "title"),
        ("TEXT", {}, "content"),
        ("d:content", {}, "content"),
        # The settings name the whole or the local name; the whole one is not second-guessed.
        ("TEXT", {"TEXT": "title"}, "title"),
        ("cm:subject", {"subject": "title"}, "title"),
        ("cm:subject", {"cm:subject": "title"}, "title"),
        ("title", {"title": "nowhere"}, None),
        ("cm:title", {"title": "nowhere"}, None),
        ("ex:pages_i", {}, "ex:pages_i"),
    ],
)
def test_names_of_a_query(typed: str, names: Mapping[str, str], place: str | None) -> None:
    """
    As typed, as the settings or the language call it, and last without its namespace.
    """
    found = FIELDS.named(typed, names)
    assert (None if found is None else list(found.values())) == (None if place is None else [place])


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("titel", ["title", "cm_title"]),
        ("cm:titel", ["cm_title", "title"]),
        ("ex:titel", ["title"]),
        ("REVIEWERS", ["Reviewer"]),
        ("bodyy", ["body"]),
        ("zzz", []),
        ("", []),
    ],
)
def test_what_was_meant(typed: str, near: list[str]) -> None:
    """
    Names that look alike, best first, in the case that they have; those of a collection's own, too.
    """
    assert FIELDS.nearest(typed) == near


def test_fields_of_some_types() -> None:
    """
    Each once, with all of its places.
    """
    both = {Kind.TEXT: "Reviewer", Kind.KEYWORD: "Reviewer_s"}
    assert list(FIELDS.of_kinds((Kind.TEXT,))) == [{Kind.TEXT: "content"}, both]
    assert list(FIELDS.of_kinds((Kind.TEXT, Kind.KEYWORD))).count(both) == 1
    assert list(FIELDS.of_kinds((Kind.DATE,))) == []


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("cm:content", f"{CONTENT}content"),
        ("ia:calendar", "{http://www.alfresco.org/model/calendar}calendar"),
        ("st:site", "{http://www.alfresco.org/model/site/1.0}site"),
        ("zz:content", None),
        ("content", None),
        ("cm:", None),
        ("{http://example.org}content", None),
        (f"{CONTENT[:-1]}content", None),
    ],
)
def test_the_other_spelling_of_a_name(name: str, other: str | None) -> None:
    """
    A prefix for its namespace and the other way round, of the namespaces that are known.
    """
    assert spelled_otherwise(name) == other
    if other is not None:
        assert spelled_otherwise(other) == name


@given(st.text(), st.dictionaries(st.text(), st.text(), max_size=3))
def test_any_name_is_looked_for(typed: str, names: dict[str, str]) -> None:
    """
    Whatever somebody types, it is a field or none.
    """
    found = FIELDS.named(typed, names)
    assert found is None or found
    assert len(FIELDS.nearest(typed)) <= 3
    spelled_otherwise(typed)
