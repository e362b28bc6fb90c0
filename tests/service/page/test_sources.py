"""Tests of the view of sources: texts that are pasted, dropped or linked to, and the options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.service.page.contents import LEASE, LETTER
from tests.service.page.driving import ask, drop, hits, paste, shoot


def test_a_dropped_file_gets_its_sources(page: Page, shots: Path) -> None:
    """
    A file dropped anywhere shows its sources at once, and can be compared with a source, although no store has it.
    """
    ask(page, "rent")
    drop(page, "clause.txt", " ".join(LEASE.split()[:60]))
    expect(page.get_by_role("heading", name="Sources of your text (clause.txt)", exact=True)).to_be_visible()
    expect(page.locator("#sources-told")).to_have_text("100.0% of your text is in 1 document")
    shoot(page, shots / "dropped.png")
    page.get_by_role("link", name="Compare with lease.txt").click()
    expect(page.locator("#name-a")).to_have_text("Your text (clause.txt)")
    expect(page.locator("#shares .big").first).to_have_text("100.0%")
    # Another file dropped anywhere replaces it; Back restores the first one.
    drop(page, "whole.txt", LEASE)
    expect(page.get_by_role("heading", name="Your text (whole.txt)")).to_be_visible()
    page.go_back()
    page.go_back()
    expect(page.get_by_role("heading", name="Sources of your text (clause.txt)", exact=True)).to_be_visible()


def test_a_file_is_read_as_the_command_line_reads_it(page: Page) -> None:
    """
    A file is read like on the command line: the visible text of HTML, in its encoding; a file that is not text is an
    error.
    """
    page.locator("#own-file").set_input_files(
        {"name": "a.html", "mimeType": "text/html", "buffer": f"<p>{LEASE}</p><script>x</script>".encode("utf-16")}
    )
    expect(page.locator("#sources-text")).to_have_text(re.compile(r"^\s*LEASE"))
    page.get_by_role("navigation").get_by_role("link", name="Documents").click()
    page.locator("#own-file").set_input_files({"name": "a.bin", "mimeType": "", "buffer": b"\0\1\2\xff" * 50})
    expect(page.locator("#incoming-problem")).to_contain_text("not text")


def test_a_pasted_text_gets_its_sources(page: Page, url: str) -> None:
    """
    A pasted text is marked by source, each with its covered words; it survives a reload, and can be a query's source.
    """
    paste(page, LETTER)
    expect(page.locator("#sources-told")).to_have_text("61.2% of your text is in 3 documents")
    expect(page.locator("#sources-how")).to_contain_text("90 of 147 words; the longest passage has 29 words.")
    expect(page.locator("#sources .say b")).to_have_text(["36.7%", "19.7%", "36.0%"])
    # Words of the renewal count only if no source above it has them.
    expect(page.locator("#sources blockquote").last).to_contain_text("rent of 1,520")
    assert page.locator("#sources-text").evaluate("box => box.textContent") == LETTER
    (mark,) = page.locator("#sources-text mark.s1").all()
    assert mark.inner_text().startswith("fry an onion")
    with page.expect_download() as expected:
        page.get_by_role("button", name="Save as a report").click()
    assert expected.value.suggested_filename == "sources.html"
    assert "<title>Sources of your text</title>" in Path(expected.value.path()).read_text(encoding="utf-8")
    page.reload()
    expect(page.locator("#sources-told")).to_have_text("61.2% of your text is in 3 documents")
    page.get_by_role("button", name="Show passages of lease.txt").click()
    expect(page.locator("#sources-text mark.on")).to_have_count(3)
    expect(page.locator("#sources > li.on")).to_contain_text("lease.txt")
    page.get_by_role("link", name="Find similar documents").click()
    expect(page.locator("#search-own-told")).to_have_text("Your text, 756 characters: the query calls it source.")
    expect(page.locator("#found-told")).to_have_text("No document")
    ask(page, "FINGERPRINT:source_5_95")
    expect(hits(page).filter(has_text="lease.txt").locator(".say").first).to_have_text(
        "31.4% of your text is in this document"
    )
    page.reload()
    expect(page.locator("#found-told")).to_contain_text("documents")


@pytest.mark.parametrize(
    ("view", "place"),
    [
        ("#sources?text=rp-1abc", "#sources-blank"),
        ("#search?q=FINGERPRINT:source_20_95&text=rp-1abc", "#search-own-told"),
        ("#compare?text-a=rp-1abc&b=lease", "#compare-error"),
    ],
)
def test_a_link_to_a_text_of_another_user(page: Page, url: str, view: str, place: str) -> None:
    """
    A link to another user's pasted text shows a message that the link does not contain the text.
    """
    page.goto(url + view)
    expect(page.locator(place)).to_contain_text("leads to a text that somebody pasted or read from a file")


def test_the_view_has_a_box_of_its_own(page: Page, url: str) -> None:
    """
    The view of sources takes a typed text and a chosen file, on a phone too, and offers the box again for another text.
    """
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{url}#sources")
    box = page.locator("#view-sources").get_by_label("Your text")
    expect(box).to_be_in_viewport()
    box.fill("   ")
    page.locator("#view-sources").get_by_role("button", name="Find its sources").click()
    expect(page.locator("#incoming-problem")).to_contain_text("Type or paste a text first")
    box.fill(LETTER)
    page.locator("#view-sources").get_by_role("button", name="Find its sources").click()
    expect(page.locator("#sources-told")).to_have_text("61.2% of your text is in 3 documents")
    expect(page.locator("#incoming-problem")).to_be_empty()
    expect(box).to_be_hidden()
    page.get_by_role("link", name="Another text").click()
    expect(box).to_be_visible()
    page.locator("#sources-own-file").set_input_files({"name": "a.bin", "mimeType": "", "buffer": b"\0\1\2\xff" * 50})
    expect(page.locator("#incoming-problem")).to_contain_text("a.bin")
    page.locator("#sources-own-file").set_input_files({"name": "a.txt", "mimeType": "", "buffer": LETTER.encode()})
    expect(page.get_by_role("heading", name="Your text (a.txt)")).to_be_visible()


def test_options_are_in_the_address(page: Page) -> None:
    """
    Options are in the address, and the address restores them.
    """
    paste(page, LETTER)
    expect(page.locator("#sources > li")).to_have_count(3)
    page.get_by_text("What counts").click()
    page.get_by_label("Words in the shortest passage").fill("12")
    page.get_by_label("Documents to leave out").fill("name:lease.txt")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**words=12&exclude=name%3Alease.txt")
    expect(page.locator("#sources h3")).to_have_text(["renewal.txt", "note 0"])
    page.reload()
    expect(page.locator("#sources h3")).to_have_text(["renewal.txt", "note 0"])
    page.get_by_text("What counts").click()
    page.get_by_label("Documents to leave out").fill("(")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#sources-problem .caret")).to_be_visible()


def test_a_source_is_left_out(page: Page) -> None:
    """
    One click searches again without a source, and the options name all that were left out.
    """
    paste(page, LETTER)
    page.get_by_role("button", name="Leave out lease.txt").click()
    expect(page.locator("#sources h3")).to_have_text(["renewal.txt", "note 0"])
    page.get_by_role("button", name="Leave out note 0").click()
    expect(page.locator("#sources h3").first).to_have_text("renewal.txt")
    expect(page.get_by_label("Documents to leave out")).to_have_value('ID:lease OR ID:"note 0"')
    page.go_back()
    page.go_back()
    expect(page.locator("#sources h3")).to_have_count(3)


def test_sources_have_numbers(page: Page) -> None:
    """
    Each passage of the text has the number of its source, also for users who do not see colours; copied text does not
    have it.
    """
    paste(page, LETTER)
    tree = page.context.new_cdp_session(page).send
    expect(page.locator("#sources h3")).to_have_text(["lease.txt", "note 0", "renewal.txt"])
    nodes = tree("Accessibility.getFullAXTree")["nodes"]
    names = [node["name"]["value"] for node in nodes if node["role"]["value"] == "heading" and not node["ignored"]]
    assert names[-3:] == ["1 lease.txt", "2 note 0", "3 renewal.txt"]
    marked = page.locator("#sources-text mark").evaluate_all(
        """marks => marks.map((mark) => [mark.className, getComputedStyle(mark, "::after").content])"""
    )
    assert {tuple(mark) for mark in marked} == {("s0", '"1"'), ("s1", '"2"'), ("s2", '"3"')}
    assert page.locator("#sources-text").evaluate("box => box.textContent") == LETTER
