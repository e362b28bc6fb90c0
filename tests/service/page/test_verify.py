"""Tests of the view of quotations: pasted answers, verdicts with their colours, places and differences."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.service.page.driving import drop, paste, shoot

ANSWER = (
    "😀 It says “the landlord keeps the structure, the roof and the common parts” (lease), “the tenant pays a rent of "
    "1,540 a month, in advance” and “the landlord pays for carpets that are worn”."
)


def open_view(page: Page) -> None:
    page.get_by_role("navigation").get_by_role("link", name="Quotations").click()
    # Until the view is shown, the page takes a pasted text for its sources.
    expect(page.get_by_role("heading", name="Check quotations", exact=True)).to_be_visible()


def test_a_pasted_answer(page: Page, shots: Path) -> None:
    """
    The text shows each quotation of a pasted answer in a colour, and the list shows its verdict and differences.
    """
    open_view(page)
    paste(page, ANSWER)
    expect(page.locator("#verify-told")).to_have_text("1 of 3 quotations stands in a document word for word")
    assert page.locator("#verify-text").evaluate("box => box.textContent") == ANSWER
    marks = page.locator("#verify-text mark")
    assert marks.evaluate_all("marks => marks.map((mark) => mark.className)") == ["exact", "edited", "absent"]
    expect(marks.first).to_have_text("“the landlord keeps the structure, the roof and the common parts”")
    rows = page.locator("#quotations > li")
    expect(rows.nth(0)).to_contain_text("Word for word")
    expect(rows.nth(1).locator("del")).to_have_text("1,450")
    expect(rows.nth(1).locator("ins")).to_have_text("1,540")
    expect(rows.nth(2)).to_contain_text("runs of its words looked up; no document has it")
    shoot(page, shots / "quotations.png")
    marks.nth(1).click()
    expect(rows.nth(1)).to_have_class("source verdict edited on")
    with page.expect_download() as expected:
        page.get_by_role("button", name="Save as a report").click()
    assert "<title>Quotations of your text</title>" in Path(expected.value.path()).read_text(encoding="utf-8")
    page.reload()
    expect(page.locator("#quotations > li")).to_have_count(3)
    page.locator("#quotations").get_by_role("link", name="lease.txt").first.click()
    expect(page.locator("#document-title")).to_have_text("lease.txt")


def test_quotations_in_json(page: Page) -> None:
    """
    A pasted JSON list holds quotations; the list shows their verdicts, and the text has no marks.
    """
    open_view(page)
    paste(page, '[{"quote": "the structure, the roof and the common parts", "source": "recipe"}, {"quote": "no"}]')
    expect(page.locator("#verify-told")).to_have_text("0 of 2 quotations stand in a document word for word")
    row = page.locator("#quotations > li").first
    expect(row).to_contain_text("In another document than the one named")
    row.get_by_role("button").click()
    expect(page.locator("#verify-text mark")).to_have_count(0)


def test_every_sentence(page: Page) -> None:
    """
    Every sentence can be checked; Back returns to the quotations; a dropped file replaces the text.
    """
    open_view(page)
    paste(page, "The landlord keeps the structure. It is so.")
    expect(page.locator("#verify-told")).to_have_text("Nothing is quoted here")
    page.get_by_label("Check every sentence").check()
    expect(page.locator("#verify-told")).to_have_text("The quotation stands in a document word for word")
    page.go_back()
    expect(page.locator("#verify-told")).to_have_text("Nothing is quoted here")
    drop(page, "answer.txt", ANSWER)
    expect(page.get_by_role("heading", name="Quotations of your text (answer.txt)", exact=True)).to_be_visible()
    expect(page.locator("#quotations > li")).to_have_count(3)


def test_quotations_of_html(page: Page) -> None:
    """
    A pasted text with tags is shown as a reader sees it, and the marks stand there.
    """
    open_view(page)
    paste(
        page, "<p>x</p><blockquote>The landlord keeps <b>the structure</b>, the roof and the common parts</blockquote>"
    )
    expect(page.locator("#verify-text mark.exact")).to_contain_text("The landlord keeps the structure")


def test_a_file_of_html(page: Page) -> None:
    """
    The block quotes of a dropped HTML file are quotations, also after a reload.
    """
    open_view(page)
    drop(page, "a.html", "<p>x</p><blockquote>The landlord keeps <b>the structure</b>, the roof</blockquote>")
    for _ in range(2):
        expect(page.locator("#verify-text mark.exact")).to_have_text("The landlord keeps the structure, the roof")
        page.reload()
