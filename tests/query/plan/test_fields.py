"""Resolution of field names in a query, and suggestions for misspelt ones."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.query.plan.fields_and_values import Fields, FieldsByKind, convert_qualified_name
from whorl.query.plan.nodes import Kind

CONTENT = "{http://www.alfresco.org/model/content/1.0}"
EXIF = "http://www.alfresco.org/model/exif/1.0"
FIELDS = Fields(
    {
        "content": {Kind.TEXT: "content"},
        "title": {Kind.KEYWORD: "title"},
        "cm_title": {Kind.KEYWORD: "cm_title"},
        "my field": {Kind.KEYWORD: "my field"},
        "Reviewer": {Kind.TEXT: "Reviewer", Kind.KEYWORD: "Reviewer_s"},
    },
    patterns={"*_i": Kind.INTEGER, "*_part_i": Kind.FLOAT, "attr_*": Kind.TEXT},
    collection_names={"DBID": "number_i", "body": "content", "gone": "nowhere"},
)


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("title", {Kind.KEYWORD: "title"}),
        ("pages_i", {Kind.INTEGER: "pages_i"}),
        # The longest matching pattern wins, as in Solr; among patterns of the same length, the first one wins.
        ("pages_part_i", {Kind.FLOAT: "pages_part_i"}),
        ("attr_part_i", {Kind.FLOAT: "attr_part_i"}),
        ("attr_i", {Kind.TEXT: "attr_i"}),
        # Alternative names of the collection.
        ("DBID", {Kind.INTEGER: "number_i"}),
        ("body", {Kind.TEXT: "content"}),
        ("gone", None),
        ("Title", None),
        ("", None),
    ],
)
def test_fields_of_a_store(name: str, places: FieldsByKind | None) -> None:
    """
    A field is found by its own name, by an alternative name of the collection, or by a pattern.
    """
    assert FIELDS.find(name) == places


@pytest.mark.parametrize(
    ("typed", "names", "place"),
    [
        ("title", {}, "title"),
        ("cm:title", {}, "title"),
        (f"{CONTENT}title", {}, "title"),
        # A field with exactly the typed name comes first.
        ("cm_title", {}, "cm_title"),
        ("cm:my_x0020_field", {}, "my field"),
        ("cm_my_x0020_field", {}, "my field"),
        ("zz_title", {}, None),
        ("zz:title", {}, "title"),
        ("TEXT", {}, "content"),
        ("d:content", {}, "content"),
        # The settings map a full or a local name; a mapping of the full name is final.
        ("TEXT", {"TEXT": "title"}, "title"),
        ("cm:subject", {"subject": "title"}, "title"),
        ("cm:subject", {"cm:subject": "title"}, "title"),
        ("title", {"title": "nowhere"}, None),
        ("cm:title", {"title": "nowhere"}, "cm_title"),
        ("ex:pages_i", {}, "ex:pages_i"),
    ],
)
def test_names_of_a_query(typed: str, names: Mapping[str, str], place: str | None) -> None:
    """
    An alias of the settings comes first. Otherwise, a name is looked up as typed, then as an alias of the language, and
    last without its namespace.
    """
    fields = FIELDS.resolve_name(typed, names)
    assert (None if fields is None else list(fields.values())) == (None if place is None else [place])


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
def test_similar_names_are_suggested(typed: str, near: list[str]) -> None:
    """
    Suggestions are similar names, best first, in their own case, including the collection's alternative names.
    """
    assert FIELDS.nearest(typed) == near


def test_fields_of_some_types() -> None:
    """
    Each field of the types is returned once, with all of its engine fields.
    """
    both = {Kind.TEXT: "Reviewer", Kind.KEYWORD: "Reviewer_s"}
    assert list(FIELDS.find_by_kinds((Kind.TEXT,))) == [{Kind.TEXT: "content"}, both]
    assert list(FIELDS.find_by_kinds((Kind.TEXT, Kind.KEYWORD))).count(both) == 1
    assert list(FIELDS.find_by_kinds((Kind.DATE,))) == []


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
    A prefix is replaced by its namespace and vice versa, for known namespaces.
    """
    assert convert_qualified_name(name) == other
    if other is not None:
        assert convert_qualified_name(other) == name


@pytest.mark.parametrize("typed", ["cm:title", "cm_title", f"{CONTENT}title", "title"])
@pytest.mark.parametrize("stored", ["cm:title", f"{CONTENT}title"])
def test_spellings_of_a_qualified_name(typed: str, stored: str) -> None:
    """
    A property stored with a prefix is found in every spelling of its name; a property stored with the full namespace is
    found by its prefix.
    """
    if stored == "cm:title" or typed == "cm:title":
        assert Fields({stored: {Kind.KEYWORD: stored}}).resolve_name(typed, {}) == {Kind.KEYWORD: stored}


@pytest.mark.parametrize(
    ("typed", "names", "expected"),
    [
        ("cm:title", {}, ["cm:title", "title"]),
        ("title", {}, ["title", "cm:title"]),
        ("cm_title", {}, ["cm:title", "title"]),
        (f"{CONTENT}title", {}, ["cm:title", "title"]),
        ("cm:title", {"cm:title": "title"}, ["title"]),
        ("exif:title", {}, ["exif:title"]),
        ("exif_title", {}, ["exif:title"]),
        ("zz:title", {}, ["title"]),
        ("cm:content", {}, ["content"]),
        ("cm:pages_i", {}, ["cm:pages_i"]),
        ("cm:nothing", {}, []),
        ("exif:width", {}, [f"{{{EXIF}}}width", "exif_width"]),
        ("{" + EXIF + "}width", {}, [f"{{{EXIF}}}width", "exif_width"]),
        ("cm:id", {}, ["cm:id"]),
        ("id", {}, ["id"]),
    ],
)
def test_a_property_under_two_names(typed: str, names: dict[str, str], expected: list[str]) -> None:
    """
    A property is one field in all spellings of its name. Without a prefix, it is in the content model.
    """
    stored = ("title", "cm:title", "exif:title", "content", "exif_width", f"{{{EXIF}}}width", "cm:id", "id")
    fields = Fields({name: {Kind.KEYWORD: name} for name in stored}, patterns={"*_i": Kind.KEYWORD})
    assert [by_kind[Kind.KEYWORD] for by_kind in fields.resolve_names(typed, names).values()] == expected


@given(st.text(), st.dictionaries(st.text(), st.text(), max_size=3))
def test_any_name_is_looked_for(typed: str, names: dict[str, str]) -> None:
    """
    Looking up any name gives a field or None, and raises no exception.
    """
    fields = FIELDS.resolve_name(typed, names)
    assert fields is None or fields
    assert len(FIELDS.nearest(typed)) <= 3
    convert_qualified_name(typed)
