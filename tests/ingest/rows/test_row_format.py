"""Rows in groups, and the columns that form a document."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from collections.abc import Iterator

import pytest

from whorl import Document
from whorl.errors import DocumentError
from whorl.ingest.rows.row_format import RowColumns, UnreadRowsError, portions


def test_rows_before_an_error_are_yielded_first() -> None:
    """
    Rows before an error are yielded first, even in an incomplete group.
    """

    def rows() -> Iterator[int]:
        yield from range(5)
        raise ValueError("the end")

    groups = portions(rows(), lambda row: 1, 2)
    assert [next(groups) for _ in range(3)] == [[0, 1], [2, 3], [4]]
    with pytest.raises(ValueError, match="the end"):
        next(groups)
    assert list(portions(range(4), lambda row: 1, 2)) == [[0, 1], [2, 3], []]


def test_heavy_rows_are_handed_on_early() -> None:
    """
    A group ends with the row that reaches the size limit, so many small rows do not wait after a large one.
    """
    rows = [1, 9_000_000, 5_000_000, 5_000_000, 3]
    assert list(portions(rows, int)) == [[1, 9_000_000], [5_000_000, 5_000_000], [3]]


ROW = {"id": 7, "text": b"some text", "name": "N", "made": datetime.date(2020, 5, 1), "quality": decimal.Decimal("0.5")}


def test_a_row_becomes_a_document() -> None:
    """
    Whole numbers become ids, bytes are decoded as UTF-8, dates are written in ISO 8601; all other columns are
    properties.
    """
    made = RowColumns().document(ROW, "file", 1)
    assert made == Document("7", "some text", "N", {"made": "2020-05-01", "quality": 0.5})
    assert RowColumns(id="").document({**ROW, "id": None}, "file", 1).id == "file:1"
    for missing in (None, "", math.nan):
        assert RowColumns().document({"text": "t", "id": missing}, "file", 1) == Document("file:1", "t")
    # With a missing id, pandas writes the others as floats.
    assert RowColumns().document({"text": "t", "id": 7.0}, "file", 1) == Document("7", "t")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (uuid.UUID("c8316f1e-0000-4000-8000-000000000001"), "c8316f1e-0000-4000-8000-000000000001"),
        (decimal.Decimal("1.50"), "1.50"),
        (datetime.date(2020, 5, 1), "2020-05-01"),
        (datetime.datetime(2020, 5, 1, 12), "2020-05-01 12:00:00"),
        (2**64 - 1, "18446744073709551615"),
    ],
)
def test_ids_of_other_types(value: object, expected: str) -> None:
    """
    The id of a row is the text of a UUID, of a date or of a number, as Spark writes it.
    """
    assert RowColumns().document({"text": "t", "id": value}, "file", 1).id == expected


@pytest.mark.parametrize("value", [True, 1.5, [1], {"a": 1}])
def test_ids_that_are_refused(value: object) -> None:
    """
    The error names the column, because the user may not have chosen it, and the option.
    """
    with pytest.raises(DocumentError, match=r"in column 'id' must be text, a whole number.*--id-column"):
        RowColumns().document({"text": "t", "id": value}, "file", 1)


def test_unused_columns_may_hold_anything() -> None:
    """
    Only requested columns become properties; others may have any values.
    """
    row = {**ROW, "name": {"a": 1}, "meta": {"b": [{}]}, "": 3}
    assert RowColumns(properties=frozenset({"made"})).document(row, "x", 1) == Document(
        "7", "some text", "", {"made": "2020-05-01"}
    )
    with pytest.raises(DocumentError, match="name must be text"):
        RowColumns().document(row, "x", 1)


def test_nested_values_are_properties_named_by_their_path() -> None:
    """
    Objects, lists of objects and Arrow maps become properties of their own; values that no property can hold are left
    out.
    """
    nested = {
        "meta": {"url": "https://a.example", "tags": ["x", None, "y"], "none": None, "image": b"\x89PNG"},
        "meta.url": "second",
        "authors": [{"name": "Ann"}, {"name": "Bo", "age": 3}, None],
        "attributes": [("colour", "red"), ("size", 1)],
        "empty": [],
        "score": math.nan,
        "took": datetime.timedelta(seconds=90),
        "at": datetime.time(12, 30),
    }
    assert RowColumns().document({"id": "a", "text": "t", **nested}, "x", 1).properties == {
        "meta.url": ("https://a.example", "second"),
        "meta.tags": ("x", "y"),
        "authors.name": ("Ann", "Bo"),
        "authors.age": (3,),
        "attributes.colour": ("red",),
        "attributes.size": (1,),
        "empty": (),
        "took": ("0:01:30",),
        "at": ("12:30:00",),
    }


def test_deeply_nested_values_are_bounded() -> None:
    """
    Deep nesting neither exhausts the stack nor makes endless names.
    """
    deep: object = "value"
    for _ in range(10_000):
        deep = [deep]
    assert RowColumns().document({"text": "t", "a": deep}, "x", 1).properties == {"a": ("value",)}
    for _ in range(600):
        deep = {"key": deep}
    with pytest.raises(DocumentError, match="names of nested values are too long"):
        RowColumns().document({"text": "t", "a": deep}, "x", 1)


def test_columns_of_other_names() -> None:
    """
    Columns can have other names, and one column can be both the name and a property.
    """
    columns = RowColumns(text="body", id="url", name="title", properties=frozenset({"title"}))
    row = {"body": "b", "url": "u", "title": "t", "text": 1, "id": 2}
    assert columns.document(row, "", 1) == Document("u", "b", "t", {"title": "t"})
    assert columns.select(list(row)) == ["body", "url", "title"]


def test_alfrescos_name_is_the_name() -> None:
    """
    `cm:name` becomes the document's name, unless the row has another name, or `cm:name` is the text or no text.
    """
    for row, name, own in (
        ({"cm:name": "a_b.txt"}, "a_b.txt", {}),
        ({"cm:name": "a_b.txt", "name": ""}, "a_b.txt", {}),
        ({"cm:name": "a_b.txt", "name": "a_b.txt"}, "a_b.txt", {}),
        ({"cm:name": "a_b.txt", "name": "title"}, "title", {"cm:name": ("a_b.txt",)}),
        ({"cm:name": ["a", "b"]}, "", {"cm:name": ("a", "b")}),
        ({"cm:name": 5}, "", {"cm:name": (5,)}),
    ):
        assert RowColumns().document({"id": "i", "text": "t", **row}, "", 1) == Document("i", "t", name, own), row
    assert RowColumns(text="cm:name").document({"id": "i", "cm:name": "t"}, "", 1) == Document("i", "t")


NESTED = {
    "doc": {"text": "one", "name": "N", "lines": ["first", None, "second"]},
    "meta": {"id": 7, "dates": {"made": datetime.date(2020, 5, 1)}, "url": "u"},
    "messages": [{"content": "two"}, {"role": "tool"}, {"content": None}, {"content": "three"}, None],
    "turns": [{"parts": [{"text": "a"}, {"text": "b"}]}, {"parts": []}, {"parts": [{"text": "c"}]}],
    "map": [("text", "mapped")],
    "lines": [None, "third", "fourth"],
    "none": None,
    "empty": [],
}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("doc.text", "one"),
        ("messages.content", "two\n\nthree"),
        ("turns.parts.text", "a\n\nb\n\nc"),
        ("map.text", "mapped"),
        ("doc.lines", "first\n\nsecond"),
        ("lines", "third\n\nfourth"),
        ("empty.text", ""),
    ],
)
def test_columns_named_by_their_paths(path: str, text: str) -> None:
    """
    A path names a nested field, as the text, the id, the name and a property; the texts of a list are joined by blank
    lines. The field's values are not also properties.
    """
    columns = RowColumns(path, "meta.id", "doc.name", frozenset({"meta.dates.made"}))
    made = Document("7", text, "N", {"meta.dates.made": "2020-05-01"})
    assert columns.document(NESTED, "x", 1) == made
    assert columns.documents([NESTED], "x", 1) == [made]
    assert columns.select(list(NESTED), NESTED) == [
        name for name in NESTED if name in {path.split(".")[0], "doc", "meta"}
    ]
    properties = RowColumns(path, "meta.id", "doc.name").document(NESTED, "x", 1).properties
    assert properties["meta.url"] == ("u",)
    assert not {path, "meta.id", "doc.name"}.intersection(properties)


def test_a_column_named_like_a_path_comes_first() -> None:
    """
    A column whose name has dots is used instead of a nested field of this path; the latter is then a property.
    """
    row = {"doc.text": "whole", "doc": {"text": "nested"}}
    assert RowColumns("doc.text").document(row, "x", 1) == Document(
        "x:1", "whole", properties={"doc.text": ("nested",)}
    )
    columns = RowColumns("doc.text", properties=frozenset())
    assert columns.documents([row], "x", 1) == [Document("x:1", "whole")]
    assert columns.select(["doc.text", "doc"]) == ["doc.text"]


@pytest.mark.parametrize(
    ("columns", "row", "message"),
    [
        (RowColumns(), {"id": 1, "body": "x"}, "no column 'text'.*--text-column.*'id', 'body'"),
        (RowColumns(id="url"), {"id": 1, "text": "x"}, "no column 'url'.*--id-column"),
        (
            RowColumns("doc.txt"),
            NESTED,
            r"no column 'doc\.txt'.*of 'doc\.text', 'doc\.name', 'doc\.lines', 'meta\.id', 'meta\.dates\.made'",
        ),
        (RowColumns("doc.lines.text"), NESTED, r"no column 'doc\.lines\.text'"),
        (RowColumns("doc.text.text"), NESTED, r"no column 'doc\.text\.text'"),
        (RowColumns(), {"text": ["a", 2]}, "text must be text, got \\['a', 2\\]"),
        (RowColumns("none.text"), NESTED, "none.text must be text, got None"),
        (RowColumns("doc"), NESTED, "doc must be text, got {'text': 'one'"),
        (RowColumns("turns"), NESTED, r"turns must be text, got \[{'parts'"),
        (RowColumns(), {"text": None}, "text must be text, got None"),
        (RowColumns(), {"text": b"\xff"}, "not UTF-8"),
        (
            RowColumns(),
            {"text": "x", "id": 1.5},
            r"in column 'id' must be text, a whole number, a date or a UUID, got 1\.5",
        ),
    ],
)
def test_rows_that_are_no_documents(columns: RowColumns, row: dict[str, object], message: str) -> None:
    """
    The error names the missing or invalid column and the remedy.
    """
    with pytest.raises(DocumentError, match=message):
        columns.document(row, "x", 1)
    if "no column" in message:
        with pytest.raises(UnreadRowsError, match=message):
            columns.select(list(row), row)


def test_columns_that_cannot_be_properties_are_left_out_or_refused() -> None:
    """
    `left_out` receives the names of columns that cannot be properties; without it, a row with such a column is refused.
    """
    row = {"id": "a", "url": "u", "text": "t", "content": "c", "date": "d"}
    left_out = set[str]()
    made = RowColumns.from_names(None, "url", left_out=left_out).document(row, "rows", 1)
    assert made == Document("u", "t", properties={"date": ["d"]})
    assert left_out == {"content", "id"}
    with pytest.raises(DocumentError, match="a property cannot be called 'id'"):
        RowColumns.from_names(None, "url").document(row, "rows", 1)
