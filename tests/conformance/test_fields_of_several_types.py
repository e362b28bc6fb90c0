"""Tests of fields that hold numbers and dates in some documents and texts in others, on every engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whorl import Document, Store
from whorl.model import PropertyValue

VALUES: dict[str, PropertyValue | tuple[PropertyValue, ...]] = {
    "minus five": -5,
    "five": 5,
    "five and a half": 5.5,
    "date": "2012-01-01T00:00:00+02:00",
    "word": "about five or 5",
    "number as text": "5",
    "several": (-7, "seven or 7"),
    "truth": True,
    "hash": (14599063659027781382, 7),
    "large": -(1 << 64),
    "texts and equal numbers": ("40", 40, "007", 7, "6.50", 6.5),
}


@pytest.fixture(scope="module")
def mixed(store: Store) -> Iterator[Store]:
    store.index(Document(f"mixed {name}", "a text", properties={"typed": value}) for name, value in VALUES.items())
    yield store
    store.delete([f"mixed {name}" for name in VALUES])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("5", {"five", "word", "number as text"}),
        ("-5", {"minus five", "word", "number as text"}),
        ("5.5", {"five and a half"}),
        ("five", {"word"}),
        ('"or 5"', {"word"}),
        ("fiv*", {"word"}),
        # The date in UTC, as in a search without a wildcard.
        ("2011*", {"date"}),
        ("2011-12-*", {"date"}),
        ("2011-12-31*", {"date"}),
        ("2012*", set()),
        ("2011-13*", set()),
        ("20*", {"date"}),
        ("201*", {"date"}),
        ("202*", set()),
        ("2*", {"date"}),
        ("0*", {"texts and equal numbers"}),
        ("01", set()),
        ("2011-12-31", {"date"}),
        ("seven", {"several"}),
        ("[-5 TO 5]", {"minus five", "five"}),
        ("14599063659027781382", {"hash"}),
        ("14599063659027781383", set()),
        ('"-18446744073709551616"', {"large"}),
        ("[6 TO 14599063659027781382]", {"hash", "texts and equal numbers"}),
    ],
)
def test_numbers_and_words(mixed: Store, query: str, expected: set[str]) -> None:
    """
    A number matches equal numbers and words of texts, but not the digits of other numbers or of dates.
    """
    hits = mixed.search(f"typed:{query}", rows=50).hits
    assert {hit.id.removeprefix("mixed ") for hit in hits} == expected


def test_values_are_returned_as_they_were_stored(mixed: Store) -> None:
    """
    A number comes back as a number, a text that looks like one and a number beyond 64 bits as a text.
    """
    documents = mixed.documents([f"mixed {name}" for name in VALUES])
    returned = {name: documents[f"mixed {name}"].properties["typed"] for name in VALUES}
    expected = {name: value if isinstance(value, tuple) else (value,) for name, value in VALUES.items()}
    expected |= {"hash": ("14599063659027781382", 7), "large": ("-18446744073709551616",)}
    assert repr(returned) == repr(expected)


def test_an_empty_text_is_returned(store: Store) -> None:
    """
    A property whose only value is the empty text comes back, and so do empty texts in a list.
    """
    properties = {"empty": ("",), "both": ("", "a")}
    store.index([Document("empty property", "a text", properties=properties)])
    try:
        assert store.documents(["empty property"])["empty property"].properties == properties
        assert [hit.id for hit in store.search('=empty:""').hits] == ["empty property"]
    finally:
        store.delete(["empty property"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("5", {"five", "number as text"}),
        ('"5"', {"number as text"}),
        ("-5", {"minus five"}),
        ("5.5", {"five and a half"}),
        ('"about five or 5"', {"word"}),
        ('"2012-01-01T00:00:00+02:00"', {"date"}),
        ("14599063659027781382", {"hash"}),
        ('"-18446744073709551616"', {"large"}),
    ],
)
def test_exact_values(mixed: Store, query: str, expected: set[str]) -> None:
    """
    An exact search finds the value in each of its types; quotes mark a text.
    """
    hits = mixed.search(f"=typed:{query}", rows=50).hits
    assert {hit.id.removeprefix("mixed ") for hit in hits} == expected


LISTS = {
    "twice": ("annual report", "annual report"),
    "between": ("a", "red", "red", "report"),
    "other": ("a", "red", "blue", "report"),
}


@pytest.fixture(scope="module")
def lists(store: Store) -> Iterator[Store]:
    store.index(Document(f"list {name}", "a text", properties={"tag": values}) for name, values in LISTS.items())
    yield store
    store.delete([f"list {name}" for name in LISTS])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"report report"~101', {"twice"}),
        ('"report annual report"~100', {"twice"}),
        ('"report a"~250', set()),
        ('"a report"~350', {"between", "other"}),
    ],
)
def test_repeated_values_have_positions(lists: Store, query: str, expected: set[str]) -> None:
    """
    A repeated value of a list has its own positions, 100 after those of the previous value.
    """
    hits = lists.search(f"tag:{query} AND id:list*").hits
    assert {hit.id.removeprefix("list ") for hit in hits} == expected
