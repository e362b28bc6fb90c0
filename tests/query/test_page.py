"""docs/afts.md: its Python runs and its numbers are right; tests/test_documentation.py checks its tables."""

from __future__ import annotations

import doctest
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.query import (
    fuzz_queries,
    test_ast_builder,
    test_literals,
    test_messages,
    test_parser,
    test_strict_alfresco_tokens_and_errors,
)
from tests.query.differences import ALL

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "afts.md").read_text(encoding="utf-8")

PAIRS = (
    len(test_parser.GOLDEN)
    + len(test_ast_builder.GOLDEN)
    + len(test_ast_builder.AND_MODE)
    + len(test_strict_alfresco_tokens_and_errors.READ)
)
REFUSALS: list[Sequence[object]] = [
    *(test_messages.SYNTAX, test_messages.CONSTRUCTS, test_strict_alfresco_tokens_and_errors.REFUSED),
    *(test_ast_builder.REFUSED_TEMPLATES, test_literals.MISTAKES),
]
COUNTS = [
    ("queries with their trees, written by hand", PAIRS + len(test_ast_builder.TEMPLATES)),
    ("refused queries with message, place and hint", sum(len(rows) for rows in REFUSALS)),
    ("differences, both readings of each", len(ALL)),
    ("inputs of `make fuzz`, each in both readings", sum(fuzz_queries.COUNTS.values())),
]


def test_the_python_of_the_page() -> None:
    """
    The page's Python blocks run as one session, from top to bottom.
    """
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    session = doctest.DocTestParser().get_doctest(code, {}, "afts.md", "docs/afts.md", 0)
    assert len(session.examples) > 4
    assert doctest.DocTestRunner().run(session).failed == 0


@pytest.mark.parametrize(("what", "count"), COUNTS)
def test_the_numbers_of_the_page(what: str, count: int) -> None:
    assert f"| {what} | {count:,} |" in PAGE


def test_the_record_of_the_fuzzing_is_of_these_inputs() -> None:
    """
    The recorded fuzz run has the current numbers of inputs; after a change of the numbers it must be repeated.
    """
    record = (ROOT / "benchmarks" / "results" / "fuzz.txt").read_text(encoding="utf-8")
    counts = {
        kind.strip(): int(count.replace(",", ""))
        for kind, count in re.findall(r"^(\D+?) +([\d,]+) inputs", record, re.M)
    }
    assert {kind: count for kind, count in counts.items() if kind in fuzz_queries.COUNTS} == fuzz_queries.COUNTS
