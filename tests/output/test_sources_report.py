"""The HTML report of sources: its content, and its look and behaviour in a real Chromium."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.service.accessibility import CONTRAST, PROBLEMS
from whorl.fingerprint.compare_texts import compare
from whorl.fingerprint.shingling import Scheme
from whorl.output import html_pages, sources
from whorl.output.compare_documents import ReadText
from whorl.output.sources import report
from whorl.search.attribution.results import Attribution, Promise, TextSource

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCRIPT = "<script>window.ran = true</script><img src=x onerror='window.ran = true'>"
TEXT = f"{SCRIPT} One two three four five six & seven. Eight nine ten eleven twelve thirteen.\r\n\x00\ud83d End \u202e"
FIRST = f"{SCRIPT} one two three four five six and seven"
SECOND = f"zero. Five six seven eight nine ten eleven twelve {'later ' * 60}"


def attribution_of(text: str, **contents: str) -> Attribution:
    """Return the result with the given sources, whatever they cover."""
    sources = []
    for name, content in contents.items():
        comparison = compare(text, content, Scheme(shingle_size=3))
        words = sum(passage.words for passage in comparison.passages)
        sources.append(
            TextSource(f"<i>{name}", name, words, words, 0, comparison.shares, 9, comparison.passages, content)
        )
    return Attribution(text, 30, 3, tuple(sources), (("<b>", ""),), 1, 9, 4, 3, 0, 1, Promise(Fraction(95, 100), 24))


EXAMPLE = attribution_of(TEXT, first=FIRST, second=SECOND)
READ = ReadText("<u>.txt", "file", TEXT)


class Parts(HTMLParser):
    """The tags, links and ids of a page, and the text of its text element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self._depth = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attributes)
        self.ids += filter(None, [given.get("id")])
        self.links += filter(None, [given.get("href")])
        if given.get("class") == "text" or (self._depth and tag in ("a", "sup", "span")):
            self._depth += 1

    def handle_endtag(self, tag: str) -> None:
        self._depth -= bool(self._depth) and tag in ("a", "sup", "span", "div")

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.text += data


def test_nothing_of_a_text_is_markup() -> None:
    """
    Texts, names and ids are escaped; characters that HTML cannot hold are replaced; the page loads nothing and has no
    script.
    """
    page = report(READ, EXAMPLE)
    parts = Parts(page)
    assert not {"script", "img", "i", "u", "link", "iframe"} & set(parts.tags)
    # Directional characters do not affect their surroundings.
    assert "<h1>Sources of <bdi>&lt;u&gt;.txt</bdi></h1>" in page
    assert "<bdi>first</bdi></a> <small><bdi>&lt;i&gt;first</bdi></small>" in page
    assert "http:" not in page.replace("http-equiv", "")
    assert "https:" not in page
    page.encode("utf-8")
    assert "\x00" not in page
    # Each passage is followed by the number of its source.
    plain = re.sub(r"(?<=[^\d])[12](?=\D)", "", parts.text)
    assert plain.replace("\n", "") == html_pages._NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", TEXT).replace("\n", "")


def test_links_lead_somewhere() -> None:
    """
    Each passage has a unique id, and each link a target.
    """
    parts = Parts(report(READ, EXAMPLE))
    assert len(set(parts.ids)) == len(parts.ids)
    assert {link.removeprefix("#") for link in parts.links} <= set(parts.ids)
    assert {"#p1-1", "#p2-1"} <= set(parts.links)


def test_overlapping_passages_belong_to_the_first_source() -> None:
    """
    The second source is shown only where the first has nothing; the ranges contain the whole text once, in order.
    """
    ranges = list(sources._ranges_by_passage(EXAMPLE))
    assert [start for start, *_ in ranges[1:]] == [end for _, end, _ in ranges[:-1]]
    assert (ranges[0][0], ranges[-1][1]) == (0, len(TEXT))
    shown = [(TEXT[start:end], place[0]) for start, end, place in ranges if place]
    assert shown == [
        (TEXT[1 : TEXT.index(" &")], 1),
        (" & seven. Eight nine ten eleven twelve", 2),
    ]


def test_long_ones_are_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Passages beyond the limit have no id of their own, and long ones are shortened to both ends.
    """
    monkeypatch.setattr(sources, "MOST_SHOWN", 1)
    monkeypatch.setattr(html_pages, "_LONGEST", 20)
    text = "a b c d e f g h i j k l m. x one two three four."
    attribution = attribution_of(text, two="a b c d e f g h i j k l m … one two three four")
    page = report(ReadText("", "text", text), attribution)
    parts = Parts(page)
    assert "p1-2" not in parts.ids
    assert {link.removeprefix("#") for link in parts.links} <= set(parts.ids)
    assert "a b c d e  […]  i j k l m" in page


def test_no_sources() -> None:
    """
    Without sources the page has the text and a coverage of 0, but no table.
    """
    page = report(READ, replace(EXAMPLE, sources=(), also=()))
    assert "<strong>0.0%</strong> of the 30 words are in 0 sources" in page
    assert "<table" not in page


@pytest.fixture
def file(tmp_path: Path) -> str:
    made = tmp_path / "report.html"
    made.write_text(report(READ, EXAMPLE), encoding="utf-8")
    return made.as_uri()


def visible_texts(page: Page, selector: str) -> list[str]:
    return [element.inner_text() for element in page.locator(selector).all() if element.is_visible()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(browser: Browser, file: str, scheme: str, width: int) -> None:
    """
    Without a network: a click on a passage shows its source, and the text does not move. Contrast is sufficient, every
    control has a name, nothing is wider than the window, and no script of the text ran.
    """
    with browser.new_context(
        offline=True, color_scheme="dark" if scheme == "dark" else "light", viewport={"width": width, "height": 900}
    ) as window:
        page, complaints = window.new_page(), list[str]()
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(file)
        assert visible_texts(page, "article") == []
        assert len(visible_texts(page, ".hint")) == 1
        link = page.locator(".text a").last
        link.scroll_into_view_if_needed()
        before = page.evaluate("scrollY")
        link.click()
        (shown,) = visible_texts(page, "article")
        assert "2 second" in shown
        assert "later later" in shown
        assert visible_texts(page, ".hint") == []
        assert page.evaluate("scrollY") == before
        page.locator("article:target .links a").first.click()
        assert page.evaluate("location.hash").startswith("#t2-")
        assert page.evaluate("window.ran") is None
        # The page of a report has no navigation, so the check for a mark of the current view is skipped.
        problems = [problem for problem in page.evaluate(PROBLEMS) if not problem.startswith("where this is")]
        assert problems == []
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert complaints == []


def test_on_paper(browser: Browser, file: str) -> None:
    """
    The print has all passages after the text, without screen-only elements.
    """
    with browser.new_context(offline=True, color_scheme="dark") as window:
        page = window.new_page()
        page.emulate_media(media="print")
        page.goto(file)
        assert len(visible_texts(page, "article")) == sum(len(source.passages) for source in EXAMPLE.sources)
        assert visible_texts(page, ".links, .hint") == []
        assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
        assert page.pdf().startswith(b"%PDF")
