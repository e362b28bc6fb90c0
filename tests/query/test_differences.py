"""The differences between whorl's and Alfresco's readings, and their table in docs/afts.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.query.differences import ALL, DIFFERENCES, NO_MEANING, REFUSED, Difference
from whorl.errors import ParameterError, QueryError
from whorl.query.parser import parse
from whorl.query.unparse import unparse

PAGE = (Path(__file__).parents[2] / "docs" / "afts.md").read_text(encoding="utf-8")


def reading(query: str, *, strict: bool) -> str:
    """Return the reading of a query in canonical text, or the reason for a missing one."""
    try:
        return unparse(parse(query, strict=strict))
    except QueryError:
        return REFUSED
    except ParameterError:
        return NO_MEANING


@pytest.mark.parametrize("difference", ALL, ids=lambda difference: difference.query)
def test_both_readings(difference: Difference) -> None:
    assert reading(difference.query, strict=True) == difference.alfresco
    assert reading(difference.query, strict=False) == difference.whorl


@pytest.mark.parametrize("difference", ALL, ids=lambda difference: difference.query)
def test_a_difference_is_one(difference: Difference) -> None:
    """
    The list contains only queries with two different readings.
    """
    assert difference.alfresco != difference.whorl


def cell(text: str) -> str:
    """Return a query as a table cell, with bars escaped."""
    if text in (REFUSED, NO_MEANING):
        return text
    return f"`{text}`".replace("|", "\\|")


def test_the_page_shows_them_all() -> None:
    """
    The page has one table for each group, with rows in the order of the data.
    """
    for title, group in DIFFERENCES.items():
        rows = "".join(f"| {cell(row.query)} | {cell(row.alfresco)} | {cell(row.whorl)} |\n" for row in group)
        assert f"{title}:\n\n| typed | Alfresco reads | whorl reads |\n|---|---|---|\n{rows}\n" in PAGE
    shown = re.findall(r"^\| (?!typed|---|query)", PAGE.split("## Differences")[1].split("\n## ")[0], re.MULTILINE)
    assert len(shown) == len(ALL)
