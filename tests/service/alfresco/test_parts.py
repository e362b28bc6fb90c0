"""Tests of request parts: null means absent, an unknown part is an error, and a single item may replace a list."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BeforeValidator, Field, ValidationError

from whorl.service.alfresco.parts import Part, Unasked, UnaskedFlag, folded, listed


class Example(Part):
    some_numbers: Annotated[list[int], BeforeValidator(listed)] = Field(default_factory=list)
    kind: Annotated[str, BeforeValidator(folded)] = "A"
    limits: Unasked = None
    is_more: UnaskedFlag = False
    size: Annotated[int, Field(ge=0)] | None = None


def test_names_and_defaults() -> None:
    """
    Python names map to Alfresco's camel case, and null means that a part is absent.
    """
    assert Example.model_validate({"someNumbers": None, "kind": None}) == Example()
    told = Example.model_validate({"someNumbers": [2, 3], "kind": "fc"})
    assert (told.some_numbers, told.kind) == ([2, 3], "FC")


@pytest.mark.parametrize("nothing", [{"limits": []}, {"limits": {}}, {"limits": {"facets": []}}, {"isMore": False}])
def test_what_asks_for_nothing(nothing: dict[str, Any]) -> None:
    """
    Empty or false parts that whorl does not support equal absent parts.
    """
    assert Example.model_validate(nothing) == Example()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"limits": [1]}, "leave it out"),
        ({"isMore": True}, "leave it out"),
        ({"isMore": 0}, "not a number"),
        ({"size": False}, "a number, not true or false"),
        ({"other": 1}, "other"),
    ],
)
def test_what_whorl_does_not_do(wrong: dict[str, Any], named: str) -> None:
    """
    Unsupported parts, wrong types and unknown parts are errors.
    """
    with pytest.raises(ValidationError, match=named):
        Example.model_validate(wrong)


def test_null_is_described() -> None:
    """
    The schema allows null for every optional part.
    """
    described = Example.model_json_schema()["properties"]
    assert described.keys() == {"someNumbers", "kind", "limits", "isMore", "size"}
    assert all({"type": "null"} in part["anyOf"] for part in described.values())
