"""The page in a real Chromium, against a real `whorl serve`: what people see of it, with and without a mouse."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

pytest.importorskip("fastapi")
if os.environ.get("WHORL_REQUIRE_BROWSER") != "1":
    pytest.importorskip("playwright", reason="the page is driven by Playwright: pip install playwright")

from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.service.accessibility import COMPLAINTS, CONTRAST, PROBLEMS, axe_core
from tests.service.alfresco_clients import REQUIRED as CLIENTS_REQUIRED
from tests.service.alfresco_clients import NoClientError
from tests.service.browser import SCREENSHOTS
from tests.service.contracts import CONTRACTS, MINUTES, documents
from tests.service.served import listening, serving
from whorl import Document, Store, open_store
from whorl.duplicates import ask_pairs, duplicates_in, write_ids
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.winnow import PassageScheme
from whorl.query.ast import Fingerprint
from whorl.query.parser import parse
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.settings.settings import Settings

#: How long a browser may take for a step: how fast it is depends on what else the machine does.
PATIENCE_MILLISECONDS = 30_000
expect.set_options(timeout=PATIENCE_MILLISECONDS)

USER, PASSWORD, KEY = "ann", "p\u00e4ss:w\u00f6rd", "a-key"
LEASE = (CONTRACTS / "lease-2023.txt").read_text(encoding="utf-8")
LETTER = (CONTRACTS.parent / "letter.txt").read_text(encoding="utf-8")
RECIPE = (CONTRACTS / "recipe.txt").read_text(encoding="utf-8")
SCRIPT = "<script>window.ran = true</script><img src=x onerror='window.ran = true'> is what this text begins with"
#: Characters that JavaScript counts as two stand before, between and in what both have.
EMOJI = "😀😀 nur hier 🎉 one two 🎈 three four five 😀 six seven 🎉 und Schluss"
MATCHING = "🎈 one two 🎈 three four five 😀 six seven and so on"
PARAGRAPHS = 2_600
#: Documents of the store.
COUNT = 65
PHONES = [(390, 844), (320, 640)]
SCHEMES: tuple[Literal["dark", "light"], ...] = ("dark", "light")
#: Each with something that is to be seen when all of it is.
VIEWS = {
    "#documents": "#documents tr",
    "#document?id=lease": "#document-hits blockquote",
    "#sources?id=minutes": "#sources blockquote",
    "#search": "#examples button",
    "#search?q=FINGERPRINT:lease_5_95": "#hits blockquote",
    "#search?q=(": "#query-error .caret",
    "#compare?a=lease&b=renewal": "#passages button",
    "#duplicates?threshold=60&named=draft&versions=1": "#clusters .members",
}


def draft(changed: int) -> str:
    """Words that make 60 shingles, of which some were changed, each in five shingles of its own."""
    words = [f"draft{number}" for number in range(64)]
    for number in range(changed):
        words[10 * (number + 1)] = "other"
    return " ".join(words)


def long_texts() -> tuple[str, str]:
    """Two texts of about a megabyte: the second has seven of ten paragraphs of the first, in another order."""
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(3, 9))) for _ in range(4_000)]
    paragraphs = [" ".join(chance.choices(words, k=60)) for _ in range(PARAGRAPHS)]
    others = [each if chance.random() < 0.7 else " ".join(chance.choices(words, k=60)) for each in paragraphs]
    chance.shuffle(others)
    return "\n\n".join(paragraphs), "\n\n".join(others)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page") / "store"
    long_a, long_b = long_texts()
    with open_store(made) as store:
        store.index(
            [
                *documents(),
                Document("<b>id</b>", SCRIPT, "<script>alert(1)</script>"),
                Document("emoji", EMOJI),
                Document("matching", MATCHING),
                Document("long-a", long_a, "long A.txt"),
                Document("long-b", long_b, "long B.txt"),
                *(Document(f"note {number}", f"Note {number}: {RECIPE}") for number in range(30)),
                *(Document(f"<i>draft</i>/{number}", draft(number), f"draft {number}") for number in range(4)),
                *(Document(f"pair {number}/{side}", f"pair{number} " * 8) for number in range(11) for side in "ab"),
            ]
        )
    return made


@pytest.fixture(scope="module")
def url(browser: Browser, folder: Path) -> Iterator[str]:
    """The address of a service that anybody may ask; nothing is started without a browser."""
    with serving(folder) as served:
        yield f"{served.url}/"


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Path(os.environ.get(SCREENSHOTS) or tmp_path_factory.mktemp("screenshots"))
    made.mkdir(parents=True, exist_ok=True)
    return made


@contextmanager
def opened(browser: Browser, address: str, **context: Any) -> Iterator[Page]:
    """Yield a page in a window of its own; whatever it complains of in its console, a policy or a defect, fails."""
    with browser.new_context(**context) as window:
        page, complaints = window.new_page(), list[str]()
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda told: complaints.append(told.text) if told.type in ("error", "warning") else None)
        page.goto(address)
        yield page
        # A browser notes every answer of 400 and above.
        assert [told for told in complaints if "Failed to load resource" not in told] == []


@pytest.fixture(scope="module")
def tab(browser: Browser, url: str) -> Iterator[Page]:
    """One tab for all tests that need no window of their own: to open one takes as long as many of them."""
    with opened(browser, url) as made:
        yield made


@pytest.fixture
def page(tab: Page, url: str) -> Iterator[Page]:
    """The tab as if it was opened just now."""
    tab.goto(url)
    tab.evaluate("sessionStorage.clear()")
    tab.goto("about:blank")
    tab.set_viewport_size({"width": 1280, "height": 720})
    tab.emulate_media(color_scheme="light", reduced_motion="reduce")
    tab.goto(url)
    yield tab
    tab.unroute_all(behavior="ignoreErrors")


@pytest.fixture(scope="module")
def scripts(browser: Browser, url: str) -> Iterator[Page]:
    """A page to call the functions of its scripts in."""
    with opened(browser, url) as made:
        yield made


def look_at(page: Page, url: str, view: str) -> None:
    """Go to a view, and wait until it is there."""
    page.goto(url + view)
    expect(page.locator(VIEWS[view]).first).to_be_visible()


def shoot(page: Page, path: Path) -> None:
    """Keep a picture of the whole page, if pictures are to be kept."""
    if SCREENSHOTS in os.environ:
        page.screenshot(path=path, full_page=True)


def hits(page: Page) -> Locator:
    return page.locator("#hits > li")


def ask(page: Page, query: str) -> None:
    if not page.locator("#query").is_visible():
        page.get_by_role("navigation").get_by_role("link", name="Search").click()
    page.locator("#query").fill(query)
    page.locator("#query").press("Enter")


def test_search(page: Page, shots: Path) -> None:
    """
    A hit has its name, what it shares in sentences with bars, its longest passage, and the way to a comparison.
    """
    ask(page, "FINGERPRINT:minutes_5_95")
    expect(page.get_by_role("heading", name="3 documents")).to_be_visible()
    hit = hits(page).filter(has=page.get_by_role("heading", name="lease.txt"))
    # As `whorl similar` tells of the minutes: 22 of 79 and of 187 shingles.
    expect(hit.locator(".say")).to_have_text(
        ["27.8% of minutes.txt is in this document", "11.7% of this document is in minutes.txt"]
    )
    expect(hit.locator("blockquote")).to_have_text(re.compile("^The landlord keeps the structure.*storm and flood$"))
    assert [float(bar.evaluate("bar => parseFloat(bar.style.width)")) for bar in hit.locator(".bar i").all()] == (
        pytest.approx([100 * 22 / 79, 100 * 22 / 187], abs=0.01)
    )
    hit.locator(".formula summary").click()
    expect(hit.locator(".formula")).to_contain_text("79 of minutes.txt, 187 of this document, 22 in both")
    expect(hit.locator(".formula")).to_contain_text("Of the 244 that either has, 9.0% are in both (Jaccard)")
    shoot(page, shots / "search.png")
    hit.get_by_role("link", name="Compare with lease.txt").click()
    expect(page.locator("#name-b")).to_have_text("lease.txt")


@pytest.mark.opensearch
def test_search_in_an_index(browser: Browser, opensearch_contracts_url: str) -> None:
    """
    What the store is makes no difference to the page: the same hits, shares and passages.
    """
    with serving(opensearch_contracts_url) as served, opened(browser, served.url) as page:
        ask(page, "FINGERPRINT:minutes_5_95")
        expect(page.get_by_role("heading", name="3 documents")).to_be_visible()
        hit = hits(page).filter(has=page.get_by_role("heading", name="lease.txt"))
        expect(hit.locator(".say b")).to_have_text(["27.8%", "11.7%"])
        expect(hit.locator("blockquote")).to_contain_text("The landlord keeps")
        hit.get_by_role("link", name="Compare with lease.txt").click()
        expect(page.locator("#name-b")).to_have_text("lease.txt")
        page.goto(f"{served.url}#documents?named=ease")
        expect(page.locator("#documents th")).to_contain_text(["lease.txt"])


def test_more_hits(page: Page) -> None:
    """
    Some at a time; the keyboard goes on where the new ones begin; who comes back finds as many, at the same place.
    """
    ask(page, "FINGERPRINT:recipe_20_95")
    expect(hits(page)).to_have_count(25)
    page.get_by_role("button", name="Show more (6 left)").click()
    expect(hits(page)).to_have_count(31)
    expect(hits(page).nth(25).get_by_role("link").first).to_be_focused()
    page.wait_for_url("**rows=31")
    page.goto("about:blank")
    page.go_back()
    expect(hits(page)).to_have_count(31)


def test_the_sliders_rewrite_the_query(page: Page) -> None:
    """
    Threshold and recall stand in the query, and what stands there moves the sliders.
    """
    ask(page, "FINGERPRINT:minutes_5_90 AND NOT rent")
    expect(hits(page)).to_have_count(1)
    threshold, recall = page.get_by_role("slider", name="Threshold"), page.get_by_role("slider", name="Wanted recall")
    expect(threshold).to_have_value("5")
    expect(recall).to_have_attribute("aria-valuetext", "90 percent")
    threshold.press("ArrowRight")
    recall.fill("99")
    expect(page.locator("#query")).to_have_value("FINGERPRINT:minutes_6_99 AND NOT rent")
    threshold.fill("1")
    expect(page.locator("#query")).to_have_value("FINGERPRINT:minutes_0.01_99 AND NOT rent")
    page.wait_for_url("**/#search?q=FINGERPRINT%3Aminutes_0.01_99+AND+NOT+rent")


def test_one_percent_is_one_percent(page: Page, url: str) -> None:
    """
    What is asked for with a slider at its lowest end; a bare 1 would be all of the text.
    """
    with page.expect_request("**/api/similar") as sent:
        page.goto(f"{url}#document?id=minutes&least=1")
    assert (sent.value.post_data_json or {})["threshold"] == 0.01
    expect(page.locator("#document-similar")).to_have_text("2 documents share content with it")


def test_the_metric_changes_what_is_found(page: Page) -> None:
    """
    A quarter of the minutes is in the lease, and much less of both together.
    """
    ask(page, "FINGERPRINT:minutes_25_95")
    expect(page.locator("#found-told")).to_have_text("1 document")
    page.get_by_role("radio", name="of the source").check(force=True)
    expect(page.locator("#found-told")).to_have_text("3 documents")
    assert "metric=a_in_b" in page.url
    page.reload()
    expect(page.locator("#found-told")).to_have_text("3 documents")


@pytest.mark.parametrize(
    "query",
    [
        "FINGERPRINT:a",
        "FINGERPRINT:a_70",
        "FINGERPRINT:a_0.7_12.5 AND rent",
        'x OR FINGERPRINT:"my_doc_1"_20_80',
        'FINGERPRINT:"an id_20_80"',
        r"FINGERPRINT:my\_doc_30",
        "FINGERPRINT:workspace://SpacesStore/aaaabbbb-cccc_1",
        '(FINGERPRINT:"say \\"no\\""_5^2 AND b)',
        "FINGERPRINT:日本😀_50",
    ],
)
def test_the_page_reads_numbers_as_the_parser_does(scripts: Page, query: str) -> None:
    """
    What the sliders are set to is what the query says; rewritten, it says what they are set to, of the same document.
    """
    told = scripts.evaluate("async query => (await import('/page/query.js')).read(query)", query)
    (node,) = fingerprints(query)
    read = [None if each is None else round(float(each) * 100, 9) for each in (node.overlap, node.probability)]
    assert [told["threshold"], told["recall"]] == pytest.approx(read)
    rewrite = "async query => (await import('/page/query.js')).withNumbers(query, 1, 85)"
    (other,) = fingerprints(scripts.evaluate(rewrite, query))
    assert (other.reference, float(other.overlap or 0), float(other.probability or 0)) == (node.reference, 0.01, 0.85)


def fingerprints(query: str) -> list[Fingerprint]:
    """Return the FINGERPRINTs of a query as whorl's parser reads them."""
    found, waiting = list[Fingerprint](), [parse(query)]
    while waiting:
        node: Any = waiting.pop()
        if isinstance(node, Fingerprint):
            found.append(node)
        elif hasattr(node, "__dataclass_fields__"):
            waiting += [getattr(node, name) for name in node.__dataclass_fields__]
        elif isinstance(node, tuple | list):
            waiting += node
    return found


@pytest.mark.parametrize(
    ("query", "wrong", "told"),
    [
        ("FINGERPRINT:lease_140", "140", "at most 100 percent, got 140"),
        ('日本😀 AND "open', '"', "never closed"),
        ("(a", "", ""),
    ],
)
def test_a_mistake_has_a_caret(page: Page, shots: Path, query: str, wrong: str, told: str) -> None:
    """
    The message, the query below, and a caret that begins where what is wrong begins, behind wide characters as well.
    """
    ask(page, query)
    alert = page.locator("#query-error[role=alert]")
    expect(alert).to_contain_text(told)
    expect(page.locator("#query")).to_have_attribute("aria-invalid", "true")
    marked, caret = alert.locator(".at").first, alert.locator(".caret")
    if wrong:
        expect(marked).to_contain_text(wrong)
    left = [each.evaluate("each => each.getBoundingClientRect().left") for each in (marked, caret)]
    assert left[0] == pytest.approx(left[1], abs=1)
    shoot(page, shots / "mistake.png")
    ask(page, "rent")
    expect(alert).to_be_empty()


def test_no_hit_is_told(page: Page) -> None:
    """
    Nothing found, and a document that there is not, are answers and no failures.
    """
    ask(page, "FINGERPRINT:gone_20_95")
    expect(page.locator("#found-told")).to_have_text("No document")
    expect(page.locator("#found-warnings")).to_contain_text("'gone'")


def test_a_total_that_is_none_is_told(page: Page) -> None:
    """
    Where not every candidate was verified, there may be more than were counted.
    """

    def answer(route: Route) -> None:
        answered = route.fetch()
        route.fulfill(response=answered, json={**answered.json(), "total_is_exact": False})

    page.route("**/api/search", answer)
    ask(page, "FINGERPRINT:lease_20_95")
    expect(page.locator("#found-told")).to_have_text(re.compile(r"^At least \d+ documents$"))


def drop(page: Page, name: str, text: str, **others: str) -> None:
    """Drop a file on the page, or several."""
    transfer = page.evaluate_handle(
        """files => {
            const transfer = new DataTransfer();
            for (const [name, text] of files) transfer.items.add(new File([text], name, { type: "text/plain" }));
            return transfer;
        }""",
        [[name, text], *others.items()],
    )
    for event in ("dragenter", "dragover", "drop"):
        page.dispatch_event("body", event, {"dataTransfer": transfer})


def test_a_dropped_file_gets_its_sources(page: Page, shots: Path) -> None:
    """
    At once, wherever it is dropped; comparing with it goes on from a source, though it is in no store.
    """
    ask(page, "rent")
    drop(page, "clause.txt", " ".join(LEASE.split()[:60]))
    expect(page.get_by_role("heading", name="Your text (clause.txt)")).to_be_visible()
    expect(page.locator("#sources-told")).to_have_text("100.0% of your text is in 1 document")
    shoot(page, shots / "dropped.png")
    page.get_by_role("link", name="Compare with lease.txt").click()
    expect(page.locator("#name-a")).to_have_text("Your text (clause.txt)")
    expect(page.locator("#shares .big").first).to_have_text("100.0%")
    # Another file takes its place, wherever it is dropped; what was before is a step back.
    drop(page, "whole.txt", LEASE)
    expect(page.get_by_role("heading", name="Your text (whole.txt)")).to_be_visible()
    page.go_back()
    page.go_back()
    expect(page.get_by_role("heading", name="Your text (clause.txt)")).to_be_visible()


def test_a_file_is_read_as_the_command_line_reads_it(page: Page) -> None:
    """
    Of HTML what a reader sees, in the encoding that it has; what is no text is told.
    """
    page.locator("#own-file").set_input_files(
        {"name": "a.html", "mimeType": "text/html", "buffer": f"<p>{LEASE}</p><script>x</script>".encode("utf-16")}
    )
    expect(page.locator("#sources-text")).to_have_text(re.compile(r"^\s*LEASE"))
    page.get_by_role("navigation").get_by_role("link", name="Documents").click()
    page.locator("#own-file").set_input_files({"name": "a.bin", "mimeType": "", "buffer": b"\0\1\2\xff" * 50})
    expect(page.locator("#incoming-problem")).to_contain_text("not text")


def paste(page: Page, text: str) -> None:
    """Paste a text where the keyboard is."""
    page.evaluate(
        """text => {
            const transfer = new DataTransfer();
            transfer.setData("text/plain", text);
            const told = { clipboardData: transfer, bubbles: true, cancelable: true };
            document.activeElement.dispatchEvent(new ClipboardEvent("paste", told));
        }""",
        text,
    )


def test_a_pasted_text_gets_its_sources(page: Page, url: str) -> None:
    """
    Marked by source, each with what it covers; the same after a reload, and as the source of a query.
    """
    paste(page, LETTER)
    expect(page.locator("#sources-told")).to_have_text("61.2% of your text is in 3 documents")
    expect(page.locator("#sources-how")).to_contain_text("90 of 147 words; the longest passage has 29 words.")
    expect(page.locator("#sources .say b")).to_have_text(["36.7%", "19.7%", "36.0%"])
    # Of the renewal what no source above it has.
    expect(page.locator("#sources blockquote").last).to_contain_text("rent of 1,520")
    assert page.locator("#sources-text").evaluate("box => box.textContent") == LETTER
    (mark,) = page.locator("#sources-text mark.s1").all()
    assert mark.inner_text().startswith("fry an onion")
    with page.expect_download() as expected:
        page.get_by_role("button", name="Save as a report").click()
    assert expected.value.suggested_filename == "sources.html"
    assert "<title>Sources of Your text</title>" in Path(expected.value.path()).read_text(encoding="utf-8")
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
        ("#sources?text=rp-1abc", "#sources-blank-told"),
        ("#search?q=FINGERPRINT:source_20_95&text=rp-1abc", "#search-own-told"),
        ("#compare?text-a=rp-1abc&b=lease", "#compare-error"),
    ],
)
def test_a_link_to_somebody_elses_text(page: Page, url: str, view: str, place: str) -> None:
    """
    Says that there was one, and that it was not sent along.
    """
    page.goto(url + view)
    expect(page.locator(place)).to_contain_text("leads to a text that somebody pasted or read from a file")


def test_what_counts_as_a_source(page: Page) -> None:
    """
    Choices are in the address, which leads to the same.
    """
    paste(page, LETTER)
    expect(page.locator("#sources > li")).to_have_count(3)
    page.get_by_text("What counts").click()
    page.get_by_label("Passages of at least").fill("12")
    page.get_by_label("Documents that are no sources").fill("name:lease.txt")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**words=12&except=name%3Alease.txt")
    expect(page.locator("#sources h3")).to_have_text(["renewal.txt", "note 0"])
    page.reload()
    expect(page.locator("#sources h3")).to_have_text(["renewal.txt", "note 0"])
    page.get_by_text("What counts").click()
    page.get_by_label("Documents that are no sources").fill("(")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#sources-problem .caret")).to_be_visible()


def test_the_plan_folds_out(page: Page) -> None:
    """
    How the documents are found, in words; the request below.
    """
    ask(page, "FINGERPRINT:minutes_20_95")
    page.get_by_text("How the search is done").click()
    expect(page.locator("#explained")).to_contain_text("the source has 79 distinct shingles")
    expect(page.locator("#explained")).to_contain_text('"engine": "embedded"')


def wait_in_sight(page: Page, selector: str) -> None:
    """Wait until an element is within the box that scrolls around it."""
    page.wait_for_function(
        """selector => {
            const mark = document.querySelector(selector);
            const [at, box] = [mark, mark?.closest(".text")].map((each) => each?.getBoundingClientRect());
            return at && at.top >= box.top - 1 && at.top < box.bottom;
        }""",
        arg=selector,
    )


def test_compare(page: Page, url: str, shots: Path) -> None:
    """
    Exact shares, the share of each document, and the passage marked in both and in the list.
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
    The service counts code points and JavaScript halves of them.
    """
    page.goto(f"{url}#compare?a=emoji&b=matching")
    expected = "one two 🎈 three four five 😀 six seven"
    for side in "ab":
        expect(page.locator(f"#text-{side} mark")).to_have_text([expected])


@pytest.mark.parametrize("text", ["plain text", "😀a😀b", "a\ud800b😀c", "", "日本\U00020000語"])
def test_places_of_any_text(scripts: Page, text: str) -> None:
    """
    Every place in a text, as many UTF-16 units into it as its beginning has.
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
    A megabyte on each side: all of it is there, and a passage far down is brought into sight on both sides.
    """
    page.goto(f"{url}#compare?a=long-a&b=long-b")
    expect(page.locator("#step-told")).to_contain_text("shared passages")
    for side, text in zip("ab", long_texts(), strict=True):
        box = f"document.getElementById('text-{side}')"
        page.wait_for_function(f"{box}.textContent.length === {len(text)}")
        assert page.evaluate(f"{box}.textContent") == text
        # No block is so long that laying it out would be felt.
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
    The comparison says which one.
    """
    page.goto(f"{url}#compare?a=lease&b=gone")
    expect(page.locator("#compare-error")).to_contain_text("'gone'")
    # A part of its name is enough.
    page.get_by_label("Document B", exact=True).fill("enew")
    expect(page.locator("#names-b option")).to_have_count(1)
    assert page.locator("#names-b option").get_attribute("value") == "renewal.txt"
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#compare-error")).to_be_empty()
    page.wait_for_url("**#compare?a=lease&b=renewal")
    expect(page.locator("#name-b")).to_have_text("renewal.txt")


def test_text_is_never_html(page: Page, url: str) -> None:
    """
    A document whose text, name and id are HTML is shown as it is, and nothing of it runs.
    """
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    ask(page, 'FINGERPRINT:"<b>id</b>"_20_95')
    expect(hits(page).get_by_role("heading")).to_have_text(re.compile(re.escape("<script>alert(1)</script>")))
    expect(hits(page).locator(".mono")).to_have_text("<b>id</b>")
    page.goto(f"{url}#compare?a=%3Cb%3Eid%3C%2Fb%3E&b=%3Cb%3Eid%3C%2Fb%3E")
    expect(page.locator("#text-a")).to_have_text(SCRIPT)
    expect(page.locator("#name-a")).to_have_text("<script>alert(1)</script>")
    assert page.evaluate("window.ran") is None
    assert page.locator("#text-a script, #text-a img, #hits script").count() == 0


@pytest.fixture
def clustered(page: Page, url: str) -> Page:
    """The clusters of the store: recipe and notes, four drafts, eleven pairs, lease and renewal."""
    page.goto(f"{url}#duplicates?threshold=60")
    expect(page.locator("#clusters > li")).to_have_count(10)
    return page


def test_duplicates(clustered: Page, shots: Path) -> None:
    """
    The largest first, as rows, some at a time; all pairs where they differ.
    """
    page = clustered
    expect(page.locator("#clusters-told")).to_contain_text(f"among {COUNT} documents")
    shown = page.locator("#clusters > li")
    large, drafts = shown.nth(0), shown.nth(1)
    expect(large.get_by_role("heading")).to_have_text("31 documents: note 0")
    expect(large.locator("tbody tr")).to_have_count(12)
    expect(large.locator(".matrix")).to_have_count(0)
    large.get_by_role("button", name="Show more (19 left)").click()
    expect(large.locator("tbody tr")).to_have_count(24)
    # Of 60 shingles each change takes five, so two drafts have 55 of 65, 50 of 70 or 45 of 75 in common.
    expect(drafts.locator(".members td:last-child a")).to_have_text(["84.6%", "71.4%", "60.0%"])
    drafts.get_by_text("All pairs").click()
    expect(drafts.locator(".matrix tr").nth(1).locator("td")).to_have_text(["", "84", "71", "60"])
    expect(drafts.locator(".mono").first).to_have_text("<i>draft</i>/0")
    shoot(page, shots / "duplicates.png")
    page.get_by_role("button", name=re.compile(r"^Show more \(4 left\)$")).click()
    expect(shown).to_have_count(14)
    # The keyboard goes on where the new ones begin.
    expect(shown.nth(10).get_by_role("link").first).to_be_focused()
    drafts.get_by_role("link", name="Compare draft 0 with draft 1, 84.6%").click()
    expect(page.get_by_label("Document A", exact=True)).to_have_value("draft 0")
    expect(page.locator("#shares .big").last).to_have_text("84.6%")
    page.go_back()
    expect(shown).to_have_count(14)


def test_duplicates_are_chosen_and_ordered(clustered: Page) -> None:
    """
    By a part of a name, by how alike they are; both stand in the address.
    """
    shown = clustered.locator("#clusters > li")
    clustered.get_by_label("First", exact=True).select_option("the least alike")
    expect(shown.first.get_by_role("heading")).to_have_text("4 documents: draft 0")
    clustered.get_by_label("Filter by name").last.fill("LEASE")
    expect(shown).to_have_count(1)
    expect(clustered.locator("#clusters-told")).to_have_text(f"1 group among {COUNT} documents")
    clustered.reload()
    expect(shown.get_by_role("heading")).to_have_text(["2 documents: lease.txt"])
    expect(clustered.get_by_label("First", exact=True)).to_have_value("unlike")


def test_versions(page: Page, url: str) -> None:
    """
    A group by the document that is to stay, and what each of its versions adds to the one before.
    """
    page.goto(f"{url}#duplicates?threshold=60&named=lease&keep=longest&versions=1")
    shown = page.locator("#clusters > li")
    expect(shown.get_by_role("heading")).to_have_text(["2 documents: renewal.txt"])
    expect(shown.locator(".versions li")).to_have_text(
        [re.compile("^lease.txt 2018-01-02$|^lease.txt"), re.compile("renewal.txt.*adds 5 words.*1,520.*loses 4 words")]
    )
    page.get_by_label("Each group by").select_option("newest:cm:created")
    page.get_by_role("button", name="Find duplicates").click()
    page.wait_for_url("**keep=newest%3Acm%3Acreated**")
    expect(page.locator("#clusters-error")).to_contain_text("nobody knows which is the newest of 'note 0' and 30 more")


def test_duplicates_are_asked_for_as_set(page: Page, url: str) -> None:
    """
    The metric and the kind of cluster count, and nothing found is an answer.
    """
    page.goto(f"{url}#duplicates")
    page.get_by_label("Alike by").select_option("containment")
    page.get_by_role("slider", name="Threshold").fill("60")
    page.get_by_label("Only groups in which every pair").check()
    with page.expect_request(lambda sent: sent.method == "POST") as sent:
        page.get_by_role("button", name="Find duplicates").click()
    told = sent.value.post_data_json
    assert told is not None
    expect(page.locator("#clusters-told")).to_be_focused()
    assert (told["metric"], told["threshold"], told["recall"], told["complete"]) == ("containment", 60, 95, True)
    page.get_by_role("slider", name="Threshold").fill("1")
    with page.expect_request(lambda sent: sent.method == "POST") as sent:
        page.get_by_role("button", name="Find duplicates").click()
    assert (sent.value.post_data_json or {})["threshold"] == 0.01


def test_duplicates_are_given_up(page: Page, url: str) -> None:
    """
    While they are looked for, the page tells how far it is; Cancel ends the job, and another is found as ever.
    """
    running = {"id": "x", "state": "running", "progress": {"doing": "reading", "count": 1200}, "result": None}
    ended: list[str] = []

    def answer(route: Route) -> None:
        if route.request.method == "DELETE":
            ended.append(route.request.url)
            route.fulfill(status=204)
        else:
            route.fulfill(status=202, json=running)

    page.goto(f"{url}#duplicates")
    page.route("**/api/duplicates**", answer)
    page.get_by_role("button", name="Find duplicates").click()
    expect(page.locator("#clusters-progress")).to_have_text("1,200 documents read")
    with page.expect_response(lambda told: told.request.method == "DELETE"):
        page.get_by_role("button", name="Cancel").click()
    assert [each.rpartition("/")[2] for each in ended] == ["x"]
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
    expect(page.get_by_role("button", name="Find duplicates")).to_be_focused()
    expect(page.locator("#clusters-blank")).to_be_visible()
    page.unroute("**/api/duplicates**")
    page.get_by_role("button", name="Find duplicates").click()
    expect(page.locator("#clusters > li").first).to_be_visible()


@pytest.mark.parametrize("form", ["json", "csv"])
def test_duplicates_are_downloaded(clustered: Page, form: str) -> None:
    """
    All of them, in a file whose name says what it is.
    """
    with clustered.expect_download() as expected:
        clustered.get_by_role("button", name=f"Download {form.upper()}").click()
    content = Path(expected.value.path()).read_text(encoding="utf-8").splitlines()
    if form == "json":
        assert expected.value.suggested_filename == "duplicates.jsonl"
        assert [json.loads(line)["documents"] for line in content] == [31, 4, *[2] * 12]
    else:
        assert expected.value.suggested_filename == "duplicates.csv"
        assert len(content) == 1 + 31 + 4 + 2 * 12


@pytest.fixture(scope="module")
def guarded_url(browser: Browser, folder: Path) -> Iterator[str]:
    """The address of a service that asks who it is."""
    with open_store(folder) as store, listening(create_app(store, Credentials((KEY,), (USER, PASSWORD)))) as address:
        yield f"{address}/"


def test_signing_in(browser: Browser, guarded_url: str, shots: Path, axe: str | None) -> None:
    """
    The first question asks for a password, tells a wrong one, goes on with the right one, and forgets it when told to.
    """
    with opened(browser, guarded_url) as page:
        dialog = page.get_by_role("dialog", name="Sign in")
        dialog.get_by_label("User", exact=True).fill(USER)
        dialog.get_by_label("Password", exact=True).fill("wrong")
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text("does not know")
        shoot(page, shots / "sign-in.png")
        require_usable(page, axe)
        dialog.get_by_label("Password", exact=True).fill(PASSWORD)
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        expect(page.locator("#documents-told")).to_have_text(f"{COUNT} documents")
        assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
        paste(page, LETTER)
        expect(page.locator("#sources > li")).to_have_count(3)
        page.get_by_role("navigation").get_by_role("link", name="Documents").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()
        # Nor are the texts of somebody who has gone there for the next one.
        assert page.evaluate("sessionStorage.length") == 0
        page.keyboard.press("Escape")
        expect(page.locator("#documents-problem")).to_contain_text("needs a sign-in")


def test_signing_in_with_a_key(browser: Browser, guarded_url: str) -> None:
    """
    A key does as well.
    """
    with opened(browser, f"{guarded_url}#compare?a=lease&b=renewal") as page:
        dialog = page.get_by_role("dialog", name="Sign in")
        dialog.get_by_role("radio", name="API key").check(force=True)
        dialog.get_by_label("API key").last.fill(KEY)
        page.keyboard.press("Enter")
        expect(page.locator("#name-a")).to_have_text("lease.txt")


def test_a_key_that_is_no_latin(browser: Browser, guarded_url: str) -> None:
    """
    It reaches the service, which does not know it, and says so.
    """
    with opened(browser, f"{guarded_url}#compare?a=lease&b=renewal") as page:
        dialog = page.get_by_role("dialog", name="Sign in")
        dialog.get_by_role("radio", name="API key").check(force=True)
        dialog.get_by_label("API key").last.fill("\u201ckey\u201d")
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text("does not know")


@pytest.mark.parametrize("address", ["#constructor", "#main", "#nowhere?x=1", "#search?q=rent&metric=toString"])
def test_an_address_that_names_nothing(page: Page, url: str, address: str) -> None:
    """
    What is no view is the first one, and what only every JavaScript object knows is no view and no metric.
    """
    page.goto("about:blank")
    page.goto(url + address)
    seen = "#found-told" if "search" in address else "#documents tr"
    expect(page.locator(seen).first).to_be_visible()


def test_without_a_mouse(page: Page) -> None:
    """
    From the first key to two passages side by side; where the keyboard is can always be seen.
    """

    def tab_to(name: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            at = page.evaluate(
                """() => {
                    const at = document.activeElement, seen = getComputedStyle(at);
                    const around = at.closest(".segments label")?.querySelector("span") ?? at;
                    const { outlineStyle, outlineWidth } = getComputedStyle(around);
                    return [at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent,
                            outlineStyle !== "none" && parseFloat(outlineWidth) >= 1 || at.matches(".unseen")];
                }"""
            )
            assert at[1], f"nothing shows that the keyboard is at {at[0]!r}"
            if at[0].strip().startswith(name):
                return
        pytest.fail(f"the keyboard does not come to {name}")

    tab_to("Skip to the content")
    tab_to("Search")
    page.keyboard.press("Enter")
    tab_to("Words or a query")
    page.keyboard.type("FINGERPRINT:lease_50_95")
    page.keyboard.press("Enter")
    expect(page.locator("#found-told")).to_contain_text("documents")
    tab_to("of both together")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="of the source")).to_be_checked()
    page.wait_for_url("**metric=a_in_b")
    tab_to("Compare with renewal.txt")
    page.keyboard.press("Enter")
    expect(page.locator("#name-b")).to_have_text("renewal.txt")
    page.keyboard.press("n")
    expect(page.locator("#step-told")).to_have_text(re.compile(r"^Passage 1 of 4"))
    page.keyboard.press("p")
    expect(page.locator("#step-told")).to_have_text(re.compile(r"^Passage 4 of 4"))


@pytest.fixture(scope="module")
def axe() -> str | None:
    """The script of axe-core; None where it cannot be had."""
    try:
        return axe_core()
    except NoClientError as error:
        if os.environ.get(CLIENTS_REQUIRED) == "1":
            pytest.fail(f"{error} ({CLIENTS_REQUIRED}=1 asks for it)", pytrace=False)
        return None


def require_usable(page: Page, axe: str | None) -> None:
    """Ask axe-core, where it can be had."""
    if axe is not None:
        page.evaluate(axe)
        assert page.evaluate(COMPLAINTS) == []


@pytest.mark.parametrize("view", VIEWS)
def test_everybody_can_use_it(page: Page, url: str, shots: Path, axe: str | None, view: str) -> None:
    """
    Every control has a name, every reference leads somewhere, headings go down one by one, there is one main part, and
    axe-core finds nothing; by day and by night, on a desk and on phones.

    Between every text and what is behind it are 4.5 to 1 (WCAG 2.1, 1.4.3), no view is wider than the screen, and
    nothing to touch is smaller than 24 pixels (WCAG 2.2, 2.5.8).
    """
    look_at(page, url, view)
    assert page.evaluate(PROBLEMS) == []
    name = re.sub(r"\W+", "-", view)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(CONTRAST) == [], scheme
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 3 * 128) == (scheme == "dark")
        require_usable(page, axe)
        shoot(page, shots / f"{scheme}{name}.png")
    for width, height in PHONES:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        small = page.locator("button:visible, select:visible, nav a:visible").evaluate_all(
            "all => all.filter((each) => each.getBoundingClientRect().height < 24).map((each) => each.outerHTML)"
        )
        assert small == []
        shoot(page, shots / f"phone-{width}{name}.png")
    require_usable(page, axe)


def test_clusters_on_a_phone(clustered: Page) -> None:
    """
    A matrix scrolls within itself.
    """
    clustered.set_viewport_size({"width": 320, "height": 640})
    clustered.get_by_text("All pairs").click()
    expect(clustered.locator(".matrix").first).to_be_visible()
    assert clustered.evaluate("document.documentElement.scrollWidth") == 320


def test_the_documents(page: Page, url: str) -> None:
    """
    Some at a time, chosen by parts of their names as one types, with sizes and dates; back leads to as many, and there.
    """
    rows = page.locator("#documents tr")
    expect(rows).to_have_count(50)
    expect(page.locator("#documents-told")).to_have_text(f"{COUNT} documents")
    page.get_by_role("button", name=f"Show more ({COUNT - 50} left)").click()
    expect(rows).to_have_count(COUNT)
    page.wait_for_url(f"**#documents?rows={COUNT}")
    rows.last.get_by_role("link").first.click()
    expect(page.locator("#document-id")).not_to_be_empty()
    page.go_back()
    expect(rows).to_have_count(COUNT)
    expect(rows.last).to_be_in_viewport()
    page.get_by_label("Filter by name").first.fill("LEA")
    expect(rows).to_have_count(1)
    expect(rows.locator("th")).to_contain_text("lease.txt")
    expect(rows.locator("td")).to_have_text(["191 words", "2018-01-02", re.compile("Find similar.*Sources.*Compare")])
    page.reload()
    expect(page.locator("#documents-told")).to_have_text(f"1 of {COUNT} documents")


def test_two_clicks_to_a_hit(page: Page, url: str) -> None:
    """
    From the first visit to what is shared, counted exactly: one to the documents like one, one to the passage in both.
    """
    page.get_by_role("link", name="Find similar: lease.txt").click()
    hit = page.locator("#document-hits > li").first
    expect(hit.locator(".say").first).to_have_text("91.4% of lease.txt is in this document")
    expect(hit.locator("blockquote")).to_contain_text("Rent that is not paid within ten days")
    hit.get_by_role("link", name="Compare").click()
    expect(page.locator("#text-b mark").first).to_be_visible()


def test_a_document(page: Page, url: str) -> None:
    """
    What shares content with it by either share, its text and its properties; one that there is not is told.
    """
    page.goto(f"{url}#document?id=minutes")
    expect(page.locator("#document-similar")).to_have_text("2 documents share content with it")
    expect(page.locator("#document-text")).to_contain_text("Minutes of the meeting")
    expect(page.locator("#document-properties")).to_have_text("TYPEcm:folder")
    page.get_by_role("slider", name="At least").fill("30")
    expect(page.locator("#document-similar")).to_have_text("No document shares 30% with it")
    page.wait_for_url("**#document?id=minutes&least=30")
    page.reload()
    expect(page.locator("#document-similar")).to_have_text("No document shares 30% with it")
    page.goto(f"{url}#document?id=gone")
    expect(page.locator("#document-problem")).to_contain_text("'gone'")
    expect(page.locator("#document-all")).to_be_hidden()


@pytest.mark.parametrize("typed", ["<b>id</b>", "pair 3/a", "note 7"])
def test_an_id_as_it_is(page: Page, typed: str) -> None:
    """
    Finds its document, whatever it means as a query.
    """
    ask(page, typed)
    expect(hits(page).first.get_by_role("heading")).to_be_visible()
    ids = hits(page).evaluate_all("rows => rows.map((row) => row.dataset.id)")
    assert typed in ids
    expect(page.locator("#query-error")).to_be_empty()


def test_words(page: Page) -> None:
    """
    Hits say how many of the words they have, those with the most first; conditions are made of fields and values.
    """
    ask(page, "landlord roof onion")
    expect(hits(page).first.locator(".points")).to_have_text("2 of 3 words")
    # Where they stand, a moment later: what is marked are they, in any case.
    expect(hits(page).first.locator("blockquote mark").first).to_be_visible()
    marked = hits(page).first.locator("blockquote mark").all_text_contents()
    assert {word.casefold() for word in marked} == {"landlord", "roof"}
    page.get_by_text("Fields, thresholds").click()
    page.get_by_label("Field", exact=True).select_option("pages")
    page.get_by_label("Condition", exact=True).select_option("is at least")
    page.get_by_label("Value", exact=True).fill("2")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#query")).to_have_value("landlord roof onion AND pages:[2 TO MAX]")
    expect(page.locator("#query-error")).to_be_empty()


def test_examples_find_something(page: Page) -> None:
    """
    They are made of a document that there is.
    """
    page.get_by_role("navigation").get_by_role("link", name="Search").click()
    examples = page.locator("#examples button")
    expect(examples).to_have_count(3)
    for number in range(3):
        examples.nth(number).click()
        expect(page.locator("#found-told")).to_have_text(re.compile(r"^\d+ documents?$"))
        page.get_by_role("navigation").get_by_role("link", name="Search").click()
        expect(examples.first).to_be_visible()


def test_the_next_passage_on_a_phone(page: Page, url: str) -> None:
    """
    Is in sight in both texts, and so is the button for the one behind it.
    """
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{url}#compare?a=lease&b=renewal")
    for _ in range(2):
        page.get_by_role("button", name="Next").click()
        for side in "ab":
            wait_in_sight(page, f"#text-{side} mark.on")
            expect(page.locator(f"#text-{side} mark.on").first).to_be_in_viewport()
    expect(page.get_by_role("button", name="Next")).to_be_in_viewport()


def test_past_the_links(page: Page) -> None:
    """
    The way past the links changes no address, so that a reload shows what was there.
    """
    ask(page, "rent")
    expect(page.locator("#found-told")).to_contain_text("documents")
    before = page.url
    page.locator("#skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    assert page.url == before


@pytest.fixture
def own_store(tmp_path: Path) -> Iterator[Store]:
    """A store for one test to fill, which keeps passages."""
    with Store(EmbeddedEngine(tmp_path / "store", passages=PassageScheme())) as made:
        yield made


def test_an_empty_store_is_filled_and_cleaned(browser: Browser, own_store: Store, axe: str | None) -> None:
    """
    With files that are dropped; what is alike is marked, the list downloaded, and after a question deleted.
    """
    with listening(create_app(own_store)) as address, opened(browser, address) as page:
        page.emulate_media(reduced_motion="reduce")
        expect(page.get_by_role("heading", name="No documents yet")).to_be_visible()
        require_usable(page, axe)
        drop(page, "a.txt", LEASE, **{"b.txt": LEASE, "c.txt": RECIPE, "d.bin": "\0\1\2" * 50})
        expect(page.locator("#adding-told")).to_have_text("3 documents stored, 1 problem")
        expect(page.locator("#adding-repeats li")).to_have_text(["b.txt repeats a.txt: 100.0% alike"])
        expect(page.locator("#documents th")).to_have_text(["a.txt", "b.txt", "c.txt"])
        expect(page.locator("#documents time")).to_have_count(3)
        expect(page.locator("#state")).to_have_text("3 documents")
        # Another text of the same name takes no document's place.
        page.locator("#add-files").set_input_files({"name": "a.txt", "mimeType": "", "buffer": b"another text"})
        expect(page.locator("#adding-problems")).to_contain_text("a.txt: a document of this name is there already")
        assert own_store.text("a.txt") == LEASE
        page.get_by_role("navigation").get_by_role("link", name="Duplicates").click()
        page.get_by_role("button", name="Find duplicates").click()
        expect(page.locator("#clusters > li")).to_have_count(1)
        expect(page.get_by_role("link", name="Compare a.txt with b.txt, 100.0%")).to_have_text("same words")
        page.get_by_role("button", name="Mark all but the first of each group").click()
        expect(page.get_by_role("checkbox", name="Delete b.txt")).to_be_checked()
        with page.expect_download() as expected:
            page.get_by_role("button", name="Download the list").click()
        assert Path(expected.value.path()).read_text(encoding="utf-8") == "b.txt\n"
        page.get_by_role("button", name="Delete 1 …").click()
        require_usable(page, axe)
        page.get_by_role("button", name="Cancel").last.click()
        assert own_store.count() == 3
        page.get_by_role("button", name="Delete 1 …").click()
        page.get_by_role("button", name="Delete 1 document").click()
        expect(page.locator("#clusters-done")).to_have_text("1 document deleted.")
        assert [hit.id for hit in own_store.search("*").hits] == ["a.txt", "c.txt"]
        # What was found a moment ago is not told again.
        page.get_by_role("button", name="Find duplicates").click()
        expect(page.locator("#clusters-told")).to_contain_text("No two documents belong together among 2 documents")
        page.get_by_role("navigation").get_by_role("link", name="Documents").click()
        page.get_by_role("button", name="Delete c.txt").click()
        page.get_by_role("button", name="Delete", exact=True).last.click()
        expect(page.locator("#documents th")).to_have_text(["a.txt"])


def test_what_may_not_be_changed(browser: Browser, embedded_contracts: Store) -> None:
    """
    Is not offered to be: no files are taken, nothing is deleted; a list can be made all the same.
    """
    app = create_app(embedded_contracts, settings=Settings(is_read_only=True))
    with listening(app) as address, opened(browser, f"{address}/#duplicates?threshold=50") as page:
        page.get_by_role("button", name="Mark all but the first of each group").click()
        expect(page.get_by_role("button", name="Download the list")).to_be_visible()
        expect(page.locator("#cleaning-delete")).to_be_hidden()
        page.get_by_role("navigation").get_by_role("link", name="Documents").click()
        expect(page.locator("#documents tr")).to_have_count(4)
        expect(page.locator("#add-files, #documents button")).to_have_count(1)
        expect(page.locator("#add")).to_be_hidden()
        page.get_by_role("link", name="Find similar: lease.txt").click()
        expect(page.locator("#document-hits blockquote").first).to_be_visible()
        expect(page.locator("#document-delete")).to_be_hidden()


def test_one_of_each(browser: Browser, own_store: Store) -> None:
    """
    Where groups of duplicates were written into a store, a search can show the best hit of each alone.
    """
    own_store.index([*(Document(name, LEASE) for name in ("a", "b", "c")), Document("other", MINUTES)])
    with duplicates_in(own_store.engine, ask_pairs("jaccard", 80, 95)) as there:
        write_ids(own_store.engine, list(there.clusters(complete=True)))
    with listening(create_app(own_store)) as address, opened(browser, f"{address}/#search?q=landlord") as page:
        expect(page.locator("#found-told")).to_have_text("4 documents")
        page.get_by_text("Fields, thresholds").click()
        page.get_by_label("Show one of each group").check()
        expect(page.locator("#found-told")).to_have_text("2 documents")
        expect(page.locator("#hits h3")).to_have_text(["aand 2 near-copies", "other"])
        page.wait_for_url("**q=landlord&collapse=1")
        page.reload()
        expect(page.locator("#found-told")).to_have_text("2 documents")


def test_common_text_is_told_apart(browser: Browser, own_store: Store) -> None:
    """
    Where the store keeps passages: shares without it beside the others, on hits and comparisons, and grey in texts.
    """
    form = " ".join(f"form{number}" for number in range(100))
    own = [" ".join(f"own{letter}{number}" for number in range(30)) for letter in "abcdefghijkl"]
    own_store.index(
        Document(f"doc {letter}", f"{form} {text}") for letter, text in zip("abcdefghijkl", own, strict=True)
    )
    with listening(create_app(own_store)) as address, opened(browser, f"{address}/#document?id=doc+a") as page:
        say = page.locator("#document-hits > li").first.locator(".say").first
        # 96 of the 126 runs of five words are the form's; four more begin in it.
        expect(say).to_have_text("76.1% of doc a is in this document, without common text 0.0%")
        page.get_by_role("link", name="Compare with doc b").first.click()
        expect(page.locator("#text-a mark.common")).to_have_text([form])
        expect(page.locator("#shares .rest").first).to_have_text("without common text 0.0%")
        expect(page.locator("#common-told")).to_contain_text("100 words of A, 100 words of B")


def test_common_text_counts_for_nothing(browser: Browser, own_store: Store) -> None:
    """
    Where it is left out, the thresholds of a document's view, of a search and of duplicates count the rest; the address
    says so.
    """
    form = " ".join(f"form{number}" for number in range(100))
    own = {letter: " ".join(f"own{letter}{number}" for number in range(30)) for letter in "abcdefghijkl"}
    own["b"] = own["a"].replace("owna29", "ownb29")
    own_store.index(Document(f"doc {letter}", f"{form} {text}") for letter, text in own.items())
    with listening(create_app(own_store)) as address, opened(browser, f"{address}/#document?id=doc+a") as page:
        page.emulate_media(reduced_motion="reduce")
        expect(page.locator("#document-similar")).to_have_text("11 documents share content with it")
        page.locator("#document-common").check()
        expect(page.locator("#document-similar")).to_have_text("1 document shares content with it")
        say = page.locator("#document-hits .say").first
        # Of the 26 runs of what is filled in, the last one differs; both have four more that begin in the form.
        expect(say).to_have_text(re.compile(r"^9\d\.\d% of doc a is in this document, with common text 99\.2%$"))
        page.wait_for_url("**id=doc+a&common=without")
        page.reload()
        expect(page.locator("#document-similar")).to_have_text("1 document shares content with it")
        page.goto(f"{address}/#search?q=FINGERPRINT%3A%22doc+a%22_20_95")
        expect(page.locator("#found-told")).to_have_text("12 documents")
        page.locator("#search-common").check()
        expect(page.locator("#found-told")).to_have_text("2 documents")
        page.wait_for_url("**common=without**")
        page.reload()
        expect(page.locator("#found-told")).to_have_text("2 documents")
        page.goto(f"{address}/#duplicates?threshold=60")
        expect(page.locator("#clusters h3")).to_have_text("12 documents: doc a")
        page.locator("#cluster-common").check()
        page.get_by_role("button", name="Find duplicates").click()
        expect(page.locator("#clusters h3")).to_have_text("2 documents: doc a")
        expect(page.locator("#clusters .members .rest")).to_have_text("98.4% with common text")
        page.wait_for_url("**common=1**")
