"""The HTML report of the differences of two texts."""

from __future__ import annotations

import re
from html import unescape

import pytest

from whorl.fingerprint.compare_texts import compare
from whorl.output.compare_documents import ReadText
from whorl.output.comparison_report import differences_report

CLAUSE = "the tenant pays the rent in advance on the first working day of each month"
CHANGED = CLAUSE.replace("first", "third & last").replace("in advance ", "")


def marked(a: str, b: str) -> str:
    """Return the text part of the report, with its tags."""
    page = differences_report(ReadText("a", "file", a), ReadText("<b>", "file", b), compare(a, b))
    assert "<title>Differences of a and &lt;b&gt;</title>" in page
    (part,) = re.findall(r'<div class="text" dir="auto">\n(.*)\n</div>', page, re.DOTALL)
    return unescape(part)


def test_changes_are_marked_in_the_first_text() -> None:
    """
    Words of the first text alone are deleted, those of the second alone inserted, and markup of the texts is text.
    """
    assert marked(f"<i> {CLAUSE}", f"<i> {CHANGED}") == (
        "<i> the tenant pays the rent <del>in advance</del> on the <del>first</del><ins>third & last</ins> working day "
        "of each month"
    )
    assert marked(CLAUSE, f"Page 1 {CLAUSE} and year") == f"<ins>Page 1 </ins>{CLAUSE}<ins> and year</ins>"


@pytest.mark.parametrize(("a", "b"), [(CLAUSE, CHANGED), (CHANGED, CLAUSE), (f"{CLAUSE}. {CHANGED}", CHANGED)])
def test_nothing_of_the_first_text_is_lost(a: str, b: str) -> None:
    """
    The report without the insertions is the first text.
    """
    assert re.sub("</?del>", "", re.sub(r"<ins>.*?</ins>", "", marked(a, b))) == a
