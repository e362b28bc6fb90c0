"""Tests of the comparison view: passages marked in both texts, of any length and in any script."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.service.contracts import MINUTES
from tests.service.limited import until
from tests.service.page.contents import LEASE, long_texts
from tests.service.page.driving import drop, paste, shoot
from tests.service.page.windows import visited
from tests.service.served import listening
from whorl import Document, Store
from whorl.service.app import create_app


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
    """Check that one side shows the complete text."""
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


def test_marks_after_emoji_are_in_place(page: Page, url: str) -> None:
    """
    Marks are in the right place after emoji, although the service counts code points and JavaScript counts UTF-16
    units.
    """
    page.goto(f"{url}#compare?a=emoji&b=matching")
    expected = "one two 🎈 three four five 😀 six seven"
    for side in "ab":
        expect(page.locator(f"#text-{side} mark")).to_have_text([expected])


def test_texts_have_the_direction_of_their_letters(page: Page, url: str) -> None:
    """
    A Hebrew text begins at the right, and its full stop is at the left; an English text begins at the left.
    """
    page.goto(f"{url}#compare")
    for side, text in (("a", "השוכר משלם את דמי השכירות מראש."), ("b", "The tenant pays the rent in advance.")):
        page.locator(f"#file-{side}").set_input_files({"name": "a.txt", "mimeType": "", "buffer": text.encode()})
    measure = """block => [0, block.textContent.trim().length - 1].map(at => {
        const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT), range = document.createRange();
        range.setStart(walker.nextNode(), at), range.setEnd(walker.currentNode, at + 1);
        const box = block.getBoundingClientRect(), place = range.getBoundingClientRect();
        return (place.left - box.left) / box.width;
    })"""
    first, last = page.locator("#text-a .block").first.evaluate(measure)
    assert first > 0.9
    assert last < first
    first, last = page.locator("#text-b .block").first.evaluate(measure)
    assert first < 0.1
    assert last > first


@pytest.mark.parametrize("text", ["plain text", "😀a😀b", "a\ud800b😀c", "", "日本\U00020000語"])
def test_places_of_any_text(scripts: Page, text: str) -> None:
    """
    Every code point position maps to the number of UTF-16 units before it.
    """
    points = [ord(char) for char in text]
    ranges = [{"start": start, "end": end} for start in range(len(text)) for end in range(start, len(text) + 1)]
    evaluated = scripts.evaluate(
        """async ([points, ranges]) => {
            const text = points.map((each) => String.fromCodePoint(each)).join("");
            return (await import("/page/offsets.js")).toUnits(text, ranges);
        }""",
        [points, ranges],
    )
    units = [len(text[:place].encode("utf-16-le", "surrogatepass")) // 2 for place in range(len(text) + 1)]
    assert evaluated == [{"start": units[span["start"]], "end": units[span["end"]]} for span in ranges]


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


def test_back_to_the_empty_page(page: Page, url: str) -> None:
    """
    The address without documents shows no comparison, also after Back, but keeps the names; Forward compares again.
    """
    page.goto(f"{url}#compare")
    page.goto(f"{url}#compare?a=minutes&b=lease")
    expect(page.locator("#compared")).to_be_visible()
    page.go_back()
    expect(page.locator("#compared")).to_be_hidden()
    expect(page.locator("#compare-blank")).to_be_visible()
    expect(page.locator("#side-a")).to_have_value("minutes.txt")
    page.go_forward()
    expect(page.locator("#shares h2").first).to_have_text("27.8% of minutes.txt is in lease.txt")


def test_a_last_line_without_a_line_feed_is_one_block(page: Page, url: str) -> None:
    """
    A line of more than 3,000 characters at the end of a text is not divided before its last word.
    """
    page.goto(f"{url}#compare")
    line = " ".join(f"word{at}" for at in range(500))
    for side in "ab":
        page.locator(f"#file-{side}").set_input_files({"name": f"{side}.txt", "mimeType": "", "buffer": line.encode()})
    for side in "ab":
        expect(page.locator(f"#text-{side}")).to_have_text(line)
        expect(page.locator(f"#text-{side} > *")).to_have_count(1)


def clauses(first: int, count: int) -> str:
    """Return paragraphs of one sentence each, all different."""
    return "".join(
        f"Clause number {at} asks party {at * at} for {at + 7} keys.\n\n" for at in range(first, first + count)
    )


def test_texts_scroll_together(page: Page, url: str) -> None:
    """
    Scrolling one text scrolls the other, so that their shared passages align, although one has less text before them.
    A switch turns this off.
    """
    page.goto(f"{url}#compare")
    remainder = clauses(9_000, 40)
    for side, own in (("a", clauses(0, 60)), ("b", clauses(5_000, 8))):
        text = f"{MINUTES}\n\n{own}{LEASE}\n\n{remainder}"
        page.locator(f"#file-{side}").set_input_files({"name": f"{side}.txt", "mimeType": "", "buffer": text.encode()})
    for side in "ab":
        # Blocks that are still empty have estimated heights.
        expect(page.locator(f"#text-{side}")).to_contain_text("Clause number 9039 ")
    lease = "#text-{} mark[data-passage='0']"
    tops = """selectors => selectors.map((selector) => {
        const mark = document.querySelector(selector);
        return mark.getBoundingClientRect().top - mark.closest(".text").getBoundingClientRect().top;
    })"""

    def scroll(side: str, top: float) -> None:
        """
        Turn the wheel over one text until the passage is `top` pixels below the upper edge of both texts. Chromium may
        still send a turn to the text that the last one scrolled, so turn again if the texts rest elsewhere.
        """
        page.locator(f"#text-{side}").hover()
        for _ in range(20):
            before = dict(zip("ab", page.evaluate(tops, [lease.format(each) for each in "ab"]), strict=True))
            page.mouse.wheel(0, before[side] - top)
            for _ in range(100):
                a, b = page.evaluate(tops, [lease.format(each) for each in "ab"])
                if abs(a - top) < 2 and abs(a - b) < 2:
                    return
                page.wait_for_timeout(20)
        raise AssertionError(f"the passages are at {a} and {b}, not {top}")

    def turn(distance: int, reached: str) -> None:
        """Turn the wheel over a text until a condition of the page is true, again for the same reason."""
        for _ in range(20):
            page.mouse.wheel(0, distance)
            for _ in range(100):
                if page.evaluate(reached):
                    return
                page.wait_for_timeout(20)
        raise AssertionError(f"never reached: {reached}")

    a, b = page.evaluate(tops, [lease.format(side) for side in "ab"])
    assert a - b > 1_000
    scroll("a", 200)
    scroll("b", 0)
    at_end = (
        "['a', 'b'].every((side) => { const box = document.getElementById(`text-${side}`);"
        " return box.scrollTop > 0 && box.scrollHeight - box.clientHeight - box.scrollTop < 2; })"
    )
    turn(100_000, at_end)
    page.get_by_label("Scroll together").uncheck()
    page.locator("#text-b").hover()
    turn(-100_000, "document.getElementById('text-b').scrollTop === 0")
    assert page.locator("#text-a").evaluate("box => box.scrollTop") > 0


def test_two_texts_of_the_user(page: Page, url: str) -> None:
    """
    Two texts that no store has are compared: one pasted into its field, one chosen as a file; dropped files follow.
    """
    page.goto(f"{url}#compare")
    page.get_by_label("Document A", exact=True).focus()
    paste(page, MINUTES)
    expect(page.get_by_label("Document A", exact=True)).to_have_attribute("placeholder", "Your text")
    expect(page.get_by_label("Document B", exact=True)).to_be_focused()
    page.locator("#file-b").set_input_files({"name": "b.txt", "mimeType": "", "buffer": LEASE.encode()})
    expect(page.locator("#shares .big")).to_have_text(["27.8%", "11.7%", "9.0%"])
    expect(page.locator("#name-b")).to_have_text("Your text (b.txt)")
    drop(page, "c.txt", MINUTES)
    expect(page.locator("#name-b")).to_have_text("Your text (c.txt)")
    expect(page.locator("#shares .big").first).to_have_text("100.0%")
    page.locator("#file-b").set_input_files({"name": "d.bin", "mimeType": "", "buffer": b"\0\1\2\xff" * 50})
    expect(page.locator("#compare-error")).to_contain_text("d.bin")


def test_short_texts_and_parts_of_names(page: Page, url: str) -> None:
    """
    A short text is compared as a text; if several names contain the typed words, the user chooses a document.
    """
    page.goto(f"{url}#compare")
    page.get_by_label("Document A", exact=True).fill("The landlord keeps the structure of the house in good repair")
    page.get_by_label("Document B", exact=True).fill("draft")
    page.get_by_role("button", name="Compare").click()
    problem = page.locator("#compare-error")
    expect(problem).to_contain_text("4 documents with “draft” in their name or id: choose one")
    problem.get_by_role("button", name="draft 2").click()
    expect(page.locator("#name-a")).to_have_text("Your text")
    expect(page.locator("#name-b")).to_have_text("draft 2")
    expect(problem).to_be_empty()
    page.wait_for_url("**#compare?text-a=*&b=*")
    # An id is enough, even if other ids contain it.
    page.goto(f"{url}#compare?a=renewal")
    expect(page.get_by_label("Document B", exact=True)).to_have_value("")
    page.get_by_label("Document B", exact=True).fill("lease")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**#compare?a=renewal&b=lease")
    page.goto(f"{url}#compare?a=renewal")
    expect(page.get_by_label("Document B", exact=True)).to_have_value("")
    page.get_by_label("Document B", exact=True).fill("no such name")
    page.get_by_role("button", name="Compare").click()
    expect(problem).to_contain_text("'no such name'")


def test_documents_of_one_name(tab: Page, own_store: Store) -> None:
    """
    Documents of one name are shown with their ids; the user chooses one of them after typing the name.
    """
    own_store.index(Document(f"{folder}/index.html", f"{LEASE} {folder}", "index.html") for folder in ("x", "y", "z"))
    with listening(create_app(own_store)) as address, visited(tab, address) as page:
        page.goto(f"{address}/#compare?a=x/index.html&b=y/index.html")
        field = page.get_by_label("Document B", exact=True)
        expect(field).to_have_value("index.html – y/index.html")
        expect(page.get_by_label("Document A", exact=True)).to_have_value("index.html – x/index.html")
        page.goto(f"{address}/#compare?b=y/index.html")
        expect(field).to_have_value("index.html")
        field.clear()
        field.press_sequentially("index.html")
        page.get_by_label("Document A", exact=True).fill("x/index.html")
        page.get_by_role("button", name="Compare").click()
        problem = page.locator("#compare-error")
        expect(problem).to_contain_text("3 documents with “index.html” in their name or id: choose one")


def test_two_files_with_one_text(page: Page, url: str) -> None:
    """
    Each of two files with the same text keeps its name.
    """
    page.goto(f"{url}#compare")
    for side in "ab":
        page.locator(f"#file-{side}").set_input_files(
            {"name": f"{side}.txt", "mimeType": "", "buffer": MINUTES.encode()}
        )
        expect(page.locator(f"#side-{side}")).to_have_attribute("placeholder", f"Your text ({side}.txt)")
    expect(page.locator("#name-a")).to_have_text("Your text (a.txt)")
    expect(page.locator("#name-b")).to_have_text("Your text (b.txt)")


def test_words_that_differ_are_marked(page: Page, url: str) -> None:
    """
    One switch marks the words that differ instead of the shared passages; they are stepped through in pairs.
    """
    page.goto(f"{url}#compare?a=lease&b=renewal")
    expect(page.locator("#step-told")).to_contain_text("shared passages")
    page.get_by_label("Mark what differs").check()
    expect(page.locator("#text-a mark").filter(has_text="1,450")).to_have_text("1,450")
    expect(page.locator("#text-b mark").filter(has_text="1,520")).to_have_text("1,520")
    expect(page.locator("#step-told")).to_have_text(re.compile(r"^\d+ differences$"))
    page.locator("#text-a mark").filter(has_text="1,450").click()
    expect(page.locator("#text-b mark.on")).to_have_text("1,520")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#step-told")).to_have_text(re.compile(r"^Difference \d+ of \d+: "))
    changes = page.get_by_role("list", name="What differs, in the order of the texts")
    change = changes.get_by_role("button", name="A has 1,450, B has 1,520")
    change.click()
    expect(change).to_have_attribute("aria-current", "true")
    expect(page.locator("#step-told")).to_contain_text(": A has 1,450, B has 1,520")
    expect(page.locator("#text-a mark.on")).to_have_text("1,450")
    expect(changes).to_contain_text("only in B: RENEWED")
    page.get_by_label("Mark what differs").uncheck()
    page.get_by_role("list", name="Shared passages, the longest first").get_by_role("button").first.click()
    expect(page.locator("#step-told")).to_contain_text("Passage 1 of")


def test_a_missing_document(page: Page, url: str) -> None:
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
