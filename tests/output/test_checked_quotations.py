"""The HTML report of verified quotations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from whorl import Document, Store, open_store
from whorl.output.checked_quotations import quotations_report
from whorl.output.compare_documents import ReadText

SCRIPT = "<script>alert(1)</script>"
LEASE = f"The landlord keeps the structure & the roof in good repair. {SCRIPT}"
TEXT = (
    f"{SCRIPT} “the landlord keeps the structure & the roof”, “the landlord keeps a structure & the roof” and “no such "
    "thing”."
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("report") / "store") as opened:
        opened.index([Document("<i>lease", LEASE, "<b>")])
        yield opened


def test_report(store: Store) -> None:
    """
    The report marks each quotation in the colour of its verdict and links it to its places, all text escaped.
    """
    page = quotations_report(ReadText("<u>.md", "file", TEXT), store.verify(source=TEXT, min_words=2))
    colours = re.findall(r'<a class="source c(\d)" id="t(\d)" href="#q\2">', page)
    assert colours == [("2", "1"), ("5", "2"), ("7", "3")]
    articles = re.findall(r'<article id="q(\d)"', page)
    assert articles == ["1", "2", "3"]
    assert "<script>" not in page
    assert "<li>“a” for “the”</li>" in page
    assert "&lt;b&gt;" in page
    shown = re.sub(r"<[^>]+>", "", page.partition('<div class="text" dir="auto">')[2].partition("</div>")[0])
    assert re.sub(r"\d|\n", "", shown) == re.sub(
        r"\d", "", TEXT.replace("<", "&lt;").replace(">", "&gt;").replace("& ", "&amp; ")
    )


def test_context_of_a_place(tmp_path: Path) -> None:
    """
    A place is shown with the text around it; dots mark where this text is cut.
    """
    words = " ".join(f"word{number}" for number in range(100))
    quotation = "the landlord keeps the structure in good repair"
    with open_store(tmp_path / "store") as opened:
        opened.index([Document("lease", f"{words} {quotation} {words}")])
        page = quotations_report(ReadText("", "text", ""), opened.verify(source=f"“{quotation}”"))
    around = rf'<span class="around">….* </span><mark>{quotation}</mark><span class="around"> .*…</span>'
    assert re.search(around, page)


def test_no_quotations(store: Store) -> None:
    """
    A text without quotations has a report without a table.
    """
    page = quotations_report(ReadText("", "text", "nothing"), store.verify(source="nothing"))
    assert "No quotation found" in page
    assert "<table>" not in page
