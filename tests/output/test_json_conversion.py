"""JSON of results: entries of JSON_FIELDS, conversions by annotation, and the same fields in the described type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar

import pytest
from pydantic import TypeAdapter

from whorl.fingerprint.statistics.metric import Interval, Share
from whorl.output.json_conversion import values
from whorl.service.requests_and_responses import response_type


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("share", "span?", "size=count")

    share: Share
    count: int
    span: Interval | None = None


@dataclass(frozen=True)
class Outer:
    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("name", "*inner", "colour", "part", "half", "places", "more", "some?", "label?shown=label"),
        *("deep=other.count", "others", "name=upper"),
    )

    name: str
    inner: Inner
    colour: Colour = Colour.RED
    part: Fraction = Fraction(1, 4)
    places: tuple[tuple[int, int], ...] = ((1, 2),)
    more: Mapping[str, tuple[str, ...]] | None = None
    some: tuple[str, ...] | None = None
    shown: bool = False
    label: str | None = None
    other: Inner | None = None
    others: tuple[Inner, ...] = ()

    @property
    def half(self) -> float | None:
        return None

    @property
    def upper(self) -> str:
        return self.name.upper()


PLAIN = {
    "share": 0.666666,
    "size": 3,
    "colour": "red",
    "part": 0.25,
    "half": None,
    "places": [{"start": 1, "end": 2}],
    "more": None,
    "deep": None,
    "others": [],
    "name": "N",
}
FULL = {
    "share": 0.666666,
    "span": [0.333333, 0.666667],
    "size": 3,
    "colour": "red",
    "part": 0.25,
    "half": None,
    "places": [],
    "more": {"a": ["b"]},
    "some": [],
    "label": None,
    "deep": 0,
    "others": [{"share": 1.0, "size": 0}],
    "name": "N",
}


def results() -> list[tuple[Any, dict[str, Any]]]:
    empty = Inner(1.0, 0)
    full = Outer(
        "n", Inner(2 / 3, 3, (1 / 3, 2 / 3)), places=(), more={"a": ("b",)}, some=(), shown=True, other=empty,
        others=(empty,),
    )  # fmt: skip
    return [(Outer("n", Inner(2 / 3, 3)), PLAIN), (full, FULL)]


@pytest.mark.parametrize(("result", "expected"), results())
def test_each_entry(result: Outer, expected: dict[str, Any]) -> None:
    """
    Fields are in the order of their entries. A later entry replaces an earlier one, and a missing field differs from
    null.
    """
    answer = values(result)
    assert answer == expected
    assert list(answer) == list(expected)


@pytest.mark.parametrize("expected", [PLAIN, FULL])
def test_the_described_type_has_these_fields(expected: dict[str, Any]) -> None:
    """
    The described type accepts the JSON, and requires each field that every result has.
    """
    adapter = TypeAdapter(response_type(Outer))
    assert adapter.validate_python(expected, strict=True) == expected
    schema = adapter.json_schema()
    assert {*schema["properties"]} - {*schema["required"]} == {"span", "some", "label"}


def test_an_unknown_attribute() -> None:
    """
    An entry without an attribute is an error that names both.
    """

    class Wrong(Inner):
        JSON_FIELDS: ClassVar[tuple[str, ...]] = ("shares",)

    with pytest.raises(AttributeError, match="Wrong has no attribute 'shares' for its JSON"):
        values(Wrong(0.5, 1))
