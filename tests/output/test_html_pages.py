"""The parts of HTML reports: escaped texts and names, lists, passages with their surroundings, and the page."""

from __future__ import annotations

import pytest

from whorl.output import html_pages
from whorl.output.compare_documents import Lines
from whorl.output.html_pages import html_in_context, html_list, html_name, html_text, lines_named, report_page


def test_texts_are_escaped() -> None:
    """
    Characters with a meaning in HTML are escaped. Characters that HTML or UTF-8 does not permit are replaced.
    """
    assert html_text("<b> & \x00\ud800\n") == "&lt;b&gt; &amp; \ufffd\ufffd\n"
    assert html_name("<א>") == "<bdi>&lt;א&gt;</bdi>"
    assert html_list(["a", "<"]) == "<ul><li>a</li><li>&lt;</li></ul>"
    assert html_list([]) == ""


def test_a_passage_has_its_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A passage is marked between a little text before and after it; a long one is shortened to both ends.
    """
    monkeypatch.setattr(html_pages, "_AROUND", 3)
    monkeypatch.setattr(html_pages, "_LONGEST", 4)
    assert html_in_context("abcdefghij", 5, 7) == (
        '<blockquote dir="auto"><span class="around">…cde</span><mark>fg</mark><span class="around">hij</span>'
        "</blockquote>"
    )
    assert html_in_context("abcdefghij", 1, 6) == (
        '<blockquote dir="auto"><span class="around">a</span><mark>bc […] ef</mark>'
        '<span class="around">ghi…</span></blockquote>'
    )


def test_lines_of_a_passage() -> None:
    """
    Lines count from 1; a passage in one line names one. A text with form feeds has pages.
    """
    lines = Lines("one\ntwo\nthree")
    assert lines_named(lines, (0, 2)) == "line 1"
    assert lines_named(lines, (4, 10)) == "lines 2–3"
    assert lines_named(Lines("one\ntwo\n\fthree\n\f"), (10, 14)) == "page 2, line 3 of the text"


def test_a_page_needs_nothing_else() -> None:
    """
    The title is escaped, the parts follow the heading, and the policy permits no scripts and no external resources.
    """
    page = report_page("Sources of", "<x>", ["<p>one</p>"])
    assert "<title>Sources of &lt;x&gt;</title>" in page
    assert "<h1>Sources of <bdi>&lt;x&gt;</bdi></h1>\n<p>one</p>\n</html>" in page
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert "<script" not in page
