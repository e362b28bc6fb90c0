"""Tests of common text on the page: shown separately, and ignored."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.service.page.driving import find_duplicates
from tests.service.page.windows import visited
from tests.service.served import listening
from whorl import Document, Store
from whorl.service.app import create_app


def test_common_text_is_marked(tab: Page, own_store: Store) -> None:
    """
    In a store with passages, hits and comparisons show shares without common text as well, and texts show it in grey.
    """
    form = " ".join(f"form{number}" for number in range(100))
    own = [" ".join(f"own{letter}{number}" for number in range(30)) for letter in "abcdefghijkl"]
    own_store.index(
        Document(f"doc {letter}", f"{form} {text}") for letter, text in zip("abcdefghijkl", own, strict=True)
    )
    with listening(create_app(own_store)) as address, visited(tab, f"{address}/#document?id=doc+a") as page:
        say = page.locator("#document-hits > li").first.locator(".say").first
        # 96 of the 126 shingles of five words are in the form alone; four more begin in it.
        expect(say).to_have_text("76.1% of doc a is in this document, without common text 0.0%")
        page.get_by_role("link", name="Compare with doc b").first.click()
        # Up to twelve words at either end of common text are not recognised.
        expect(page.locator("#text-a mark.common")).to_have_text(
            ["form4 " + form.partition(" form4 ")[2].partition(" form90")[0]]
        )
        expect(page.locator("#shares .rest").first).to_have_text("0.0% if common text is left out")
        expect(page.locator("#common-told")).to_contain_text("Grey is common text: more than")
        expect(page.locator("#common-told")).to_contain_text("It is 86 words of A and 86 words of B.")
        # In the map of passages, common text has no colour; only the uncertain ends of the form have.
        columns = page.locator("#strip-a path").get_attribute("d") or ""
        assert 0 < columns.count("M") < 400 * 30 / 130


def expect_in_address(page: Page, end: str, selector: str, text: str) -> None:
    """Expect a text and the end of the address, and the same text after a reload."""
    expect(page.locator(selector)).to_have_text(text)
    page.wait_for_url(f"**{end}")
    page.reload()
    expect(page.locator(selector)).to_have_text(text)


def test_common_text_counts_for_nothing(tab: Page, own_store: Store) -> None:
    """
    With common text ignored, the thresholds of a document's view, of a search and of duplicates apply to the remaining
    text, and the address keeps the option.
    """
    form = " ".join(f"form{number}" for number in range(100))
    own = {letter: " ".join(f"own{letter}{number}" for number in range(30)) for letter in "abcdefghijkl"}
    own["b"] = own["a"].replace("owna29", "ownb29")
    own_store.index(Document(f"doc {letter}", f"{form} {text}") for letter, text in own.items())
    with listening(create_app(own_store)) as address, visited(tab, f"{address}/#document?id=doc+a") as page:
        expect(page.locator("#document-similar")).to_have_text("11 documents share content with it")
        page.locator("#document-common").check()
        expect_in_address(page, "id=doc+a&common=without", "#document-similar", "1 document shares content with it")
        say = page.locator("#document-hits .say").first
        # Only the last of the 26 shingles of the filled-in words differs; both documents have four more that begin in
        # the form.
        expect(say).to_have_text(re.compile(r"^9\d\.\d% of doc a is in this document, with common text 99\.2%$"))
        page.goto(f"{address}/#search?q=FINGERPRINT%3A%22doc+a%22_20_95")
        expect(page.locator("#found-told")).to_have_text("12 documents")
        page.locator("#search-common").check()
        expect_in_address(page, "common=without**", "#found-told", "2 documents")
        page.goto(f"{address}/#duplicates?threshold=60")
        find_duplicates(page)
        expect(page.locator("#clusters h3")).to_have_text("12 documents: doc a")
        page.get_by_text("More options").click()
        page.locator("#cluster-common").check()
        page.get_by_role("button", name="Find duplicates").click()
        expect(page.locator("#clusters h3")).to_have_text("2 documents: doc a")
        expect(page.locator("#clusters .members .rest")).to_have_text("98.4% with common text")
        page.wait_for_url("**common=1**")
