"""Tests of the comparison view: passages marked in both texts, of any length and in any script."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.service.limited import until
from tests.service.page.contents import LEASE, long_texts
from tests.service.page.driving import shoot


def wait_in_sight(page: Page, selector: str) -> None:
    """Wait until an element is visible within its scrolling box."""
    # Playwright's own wait evaluates text in the page; the page's policy forbids that after the first time.
    is_in_sight = """selector => {
        const mark = document.querySelector(selector);
        const [at, box] = [mark, mark?.closest(".text")].map((each) => each?.getBoundingClientRect());
        return Boolean(at && at.top >= box.top - 1 && at.top < box.bottom);
    }"""
    until(lambda: bool(page.evaluate(is_in_sight, selector)))


def has_text(page: Page, side: str, length: int) -> bool:
    """Return whether one side shows the complete text."""
    return bool(page.evaluate(f"document.getElementById('text-{side}').textContent.length") == length)


def test_compare(page: Page, url: str, shots: Path) -> None:
    """
    The comparison shows exact shares, the share of each document, and the passage marked in both texts and in the list.
    """
    page.goto(f"{url}#compare?a=minutes&b=lease")
    expect(page.locator("#shares h2")).to_have_text(
        [
            "27.8% of minutes.txt is in lease.txt",
            "11.7% of lease.txt is in minutes.txt",
            "9.0% of both together is in both",
        ]
    )
    expect(page.locator("#covered-a")).to_have_text("83 words, 31.3% of them in shared passages")
    expect(page.locator("#covered-b")).to_have_text("191 words, 13.6% of them in shared passages")
    for side in "ab":
        (mark,) = page.locator(f"#text-{side} mark").all()
        assert " ".join(mark.inner_text().split()).startswith("The landlord keeps the structure, the roof")
        assert mark.inner_text().endswith("storm\nand flood" if side == "a" else "storm and flood")
    assert page.locator("#text-b").evaluate("box => box.textContent") == LEASE
    page.locator("#text-a mark").click()
    expect(page.locator("mark.on")).to_have_count(2)
    expect(page.locator("#step-told")).to_have_text("Passage 1 of 1, 26 words")
    expect(page.get_by_role("button", name=re.compile("The landlord keeps"))).to_have_attribute("aria-current", "true")
    shoot(page, shots / "compare.png")


def test_marks_stand_where_they_belong_behind_emoji(page: Page, url: str) -> None:
    """
    Marks are in the right place after emoji, although the service counts code points and JavaScript counts UTF-16
    units.
    """
    page.goto(f"{url}#compare?a=emoji&b=matching")
    expected = "one two 🎈 three four five 😀 six seven"
    for side in "ab":
        expect(page.locator(f"#text-{side} mark")).to_have_text([expected])


@pytest.mark.parametrize("text", ["plain text", "😀a😀b", "a\ud800b😀c", "", "日本\U00020000語"])
def test_places_of_any_text(scripts: Page, text: str) -> None:
    """
    Every code point position maps to the number of UTF-16 units before it.
    """
    points = [ord(char) for char in text]
    ranges = [{"start": start, "end": end} for start in range(len(text)) for end in range(start, len(text) + 1)]
    told = scripts.evaluate(
        """async ([points, ranges]) => {
            const text = points.map((each) => String.fromCodePoint(each)).join("");
            return (await import("/page/offsets.js")).toUnits(text, ranges);
        }""",
        [points, ranges],
    )
    units = [len(text[:place].encode("utf-16-le", "surrogatepass")) // 2 for place in range(len(text) + 1)]
    assert told == [{"start": units[each["start"]], "end": units[each["end"]]} for each in ranges]


def test_long_documents(page: Page, url: str) -> None:
    """
    Texts of a megabyte are shown completely, and a passage far down is scrolled into view on both sides.
    """
    page.goto(f"{url}#compare?a=long-a&b=long-b")
    expect(page.locator("#step-told")).to_contain_text("shared passages")
    for side, text in zip("ab", long_texts(), strict=True):
        box = f"document.getElementById('text-{side}')"
        until(partial(has_text, page, side, len(text)))
        assert page.evaluate(f"{box}.textContent") == text
        # No block is long enough to delay the layout noticeably.
        assert page.evaluate(f"Math.max(...[...{box}.children].map((each) => each.textContent.length))") < 10_000
    page.locator("#text-a").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    last = page.locator("#text-a mark").last
    passage = last.get_attribute("data-passage")
    last.click()
    texts = []
    for side in "ab":
        selector = f"#text-{side} mark[data-passage='{passage}']"
        wait_in_sight(page, selector)
        texts.append(page.locator(selector).first.text_content())
    assert texts[0] == texts[1]
    page.keyboard.press("n")
    for side in "ab":
        wait_in_sight(page, f"#text-{side} mark.on")


def test_a_document_that_there_is_not(page: Page, url: str) -> None:
    """
    The error of a comparison names the missing document.
    """
    page.goto(f"{url}#compare?a=lease&b=gone")
    expect(page.locator("#compare-error")).to_contain_text("'gone'")
    # A part of the name is enough.
    page.get_by_label("Document B", exact=True).fill("enew")
    expect(page.locator("#names-b option")).to_have_count(1)
    assert page.locator("#names-b option").get_attribute("value") == "renewal.txt"
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#compare-error")).to_be_empty()
    page.wait_for_url("**#compare?a=lease&b=renewal")
    expect(page.locator("#name-b")).to_have_text("renewal.txt")


def test_a_pair_that_was_left(page: Page, url: str) -> None:
    """
    Names of the previous pair do not appear in the next one, even if they arrive late.
    """
    held: list[Route] = []
    page.route("**/api/v1/documents/minutes", lambda route: held.append(route))
    with page.expect_request("**/api/v1/documents/minutes"):
        page.goto(f"{url}#compare?a=minutes&b=lease")
    page.goto(f"{url}#compare?a=lease&b=renewal")
    expect(page.locator("#name-b")).to_have_text("renewal.txt")
    with page.expect_event("requestfinished", lambda answered: answered.url.endswith("/minutes")):
        held[0].continue_()
    # The late answer has taken effect before this request is answered.
    page.evaluate("fetch('/healthz').then((answer) => answer.json())")
    expect(page.get_by_label("Document A", exact=True)).to_have_value("lease.txt")
    expect(page.locator("#name-a")).to_have_text("lease.txt")


def test_the_next_passage_on_a_phone(page: Page, url: str) -> None:
    """
    The next passage is in view in both texts, and so is the button for the one after it.
    """
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{url}#compare?a=lease&b=renewal")
    for _ in range(2):
        page.get_by_role("button", name="Next").click()
        for side in "ab":
            wait_in_sight(page, f"#text-{side} mark.on")
            expect(page.locator(f"#text-{side} mark.on").first).to_be_in_viewport()
    expect(page.get_by_role("button", name="Next")).to_be_in_viewport()
