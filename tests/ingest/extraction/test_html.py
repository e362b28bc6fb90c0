"""Text of HTML as a reader of the page sees it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest

from whorl.ingest.extraction.html import html_text


@pytest.mark.parametrize(
    "markup",
    [
        "http://example.org/a.html",
        "a.html",
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">a.html</html>',
        "<![if foo a.html",
        "<!DOCTYPE [<!a.html",
        "<div>" * 20_000 + "a.html",
        "&#99999999999; a.html &#xD800;",
    ],
    ids=["address", "name", "xhtml", "marked-section", "doctype", "deep", "no-character"],
)
def test_odd_html_is_read_without_a_warning(markup: str) -> None:
    """
    Odd pages that the parser would warn about, or that browsers would refuse, are read without a warning.
    """
    assert "a.html" in html_text(markup)


@pytest.mark.slow
def test_the_work_of_html_grows_with_its_length() -> None:
    """
    Four times the elements, nested or in a row, take at most five times the calls, so the time is linear.
    """
    for piece in ("<div>", "<p>a", "<script></script>", "<template><b>"):
        assert calls(partial(html_text, piece * 2_000)) < 5 * calls(partial(html_text, piece * 500))


def calls(work: Callable[[], object]) -> int:
    """Return the number of function calls, including those of functions in C."""
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
