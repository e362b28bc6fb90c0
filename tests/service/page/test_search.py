"""Tests of the search view: words, queries, hits and messages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.service.contracts import MINUTES
from tests.service.page.contents import LEASE
from tests.service.page.driving import ask, hits, shoot
from tests.service.page.windows import opened, visited
from tests.service.served import listening, serving
from whorl import Document, Store
from whorl.duplicates import duplicates_in, parse_pair_options, write_ids
from whorl.query.ast import Fingerprint
from whorl.query.parser import parse
from whorl.service.app import create_app


def test_search(page: Page, shots: Path) -> None:
    """
    A hit shows its name, its shares in sentences with bars, its longest passage, and a link to a comparison.
    """
    ask(page, "FINGERPRINT:minutes_5_95")
    expect(page.get_by_role("heading", name="3 documents")).to_be_visible()
    hit = hits(page).filter(has=page.get_by_role("heading", name="lease.txt"))
    # As in `whorl similar` for the minutes: 22 of 79 and of 187 shingles.
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
    The page shows the same hits, shares and passages on every engine.
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
    Hits are shown in pages; the keyboard focus moves to the first new one, and Back restores the number of hits.
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


def test_late_hits_of_an_earlier_search_are_dropped(page: Page) -> None:
    """
    Further hits of an earlier search are dropped when they arrive late, and so is their failure.
    """
    held: list[Route] = []

    def hold(route: Route) -> None:
        if (route.request.post_data_json or {}).get("start"):
            held.append(route)
        else:
            route.continue_()

    ask(page, "FINGERPRINT:recipe_20_95")
    expect(hits(page)).to_have_count(25)
    page.route("**/api/v1/search", hold)
    with page.expect_request("**/api/v1/search"):
        page.get_by_role("button", name="Show more").click()
    with page.expect_event("requestfailed"):
        ask(page, "FINGERPRINT:minutes_5_90")
    expect(page.locator("#found-told")).to_have_text("3 documents")
    for route in held:
        route.abort()
    expect(page.locator("#more")).to_be_enabled()
    expect(hits(page)).to_have_count(3)
    expect(page.locator("#query-error")).to_be_empty()


def test_the_sliders_rewrite_the_query(page: Page) -> None:
    """
    Sliders write threshold and recall into the query, and numbers in the query move the sliders.
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
    The lowest position of a slider means one percent; a bare 1 in the query would mean the whole text.
    """
    with page.expect_request("**/api/v1/similar") as sent:
        page.goto(f"{url}#document?id=minutes&least=1")
    assert (sent.value.post_data_json or {})["threshold"] == 0.01
    expect(page.locator("#document-similar")).to_have_text("2 documents share content with it")


def test_the_metric_changes_what_is_found(page: Page) -> None:
    """
    The metric changes the hits: a quarter of the minutes is in the lease, but much less of both texts together.
    """
    ask(page, "FINGERPRINT:minutes_25_95")
    expect(page.locator("#found-told")).to_have_text("1 document")
    page.get_by_role("radio", name="of the source").check(force=True)
    expect(page.locator("#found-told")).to_have_text("3 documents")
    page.wait_for_url("**metric=a_in_b")
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
    The page reads a query's threshold and recall like whorl's parser, and rewrites them for the same source.
    """
    evaluated = scripts.evaluate("async query => (await import('/page/query.js')).read(query)", query)
    (node,) = fingerprints(query)
    read = [None if value is None else round(float(value) * 100, 9) for value in (node.overlap, node.probability)]
    assert [evaluated["threshold"], evaluated["recall"]] == pytest.approx(read)
    rewrite = "async query => (await import('/page/query.js')).withNumbers(query, 1, 85)"
    (other,) = fingerprints(scripts.evaluate(rewrite, query))
    assert (other.reference, float(other.overlap or 0), float(other.probability or 0)) == (node.reference, 0.01, 0.85)


def fingerprints(query: str) -> list[Fingerprint]:
    """Return the FINGERPRINTs of a query, read by whorl's parser."""
    nodes, waiting = list[Fingerprint](), [parse(query)]
    while waiting:
        node: Any = waiting.pop()
        if isinstance(node, Fingerprint):
            nodes.append(node)
        elif hasattr(node, "__dataclass_fields__"):
            waiting += [getattr(node, name) for name in node.__dataclass_fields__]
        elif isinstance(node, tuple | list):
            waiting += node
    return nodes


@pytest.mark.parametrize(
    ("query", "wrong", "message"),
    [
        ("FINGERPRINT:lease_140", "140", "at most 100 percent, got 140"),
        ('日本😀 AND "open', '"', "never closed"),
        ("(a", "", ""),
    ],
)
def test_a_mistake_has_a_caret(page: Page, shots: Path, query: str, wrong: str, message: str) -> None:
    """
    An error shows the message, the query, and a caret under the first wrong character, also after wide characters.
    """
    ask(page, query)
    alert = page.locator("#query-error[role=alert]")
    expect(alert).to_contain_text(message)
    expect(page.locator("#query")).to_have_attribute("aria-invalid", "true")
    marked, caret = alert.locator(".at").first, alert.locator(".caret")
    if wrong:
        expect(marked).to_contain_text(wrong)
    left = [element.evaluate("each => each.getBoundingClientRect().left") for element in (marked, caret)]
    assert left[0] == pytest.approx(left[1], abs=1)
    shoot(page, shots / "mistake.png")
    ask(page, "rent")
    expect(alert).to_be_empty()


def test_the_address_of_a_mistake(page: Page) -> None:
    """
    After a query with a mistake, a reload shows this query and its message again, and Back the search before it.
    """
    ask(page, "rent")
    expect(hits(page).first).to_be_visible()
    ask(page, "name:(rent")
    expect(page.locator("#query-error .caret")).to_be_visible()
    page.reload()
    expect(page.locator("#query")).to_have_value("name:(rent")
    expect(page.locator("#query-error .caret")).to_be_visible()
    page.go_back()
    expect(page.locator("#query")).to_have_value("rent")
    expect(hits(page).first).to_be_visible()


def test_no_hit_is_a_result(page: Page) -> None:
    """
    No hits, and a missing source document, are shown as results, not as failures.
    """
    ask(page, "FINGERPRINT:gone_20_95")
    expect(page.locator("#found-told")).to_have_text("No document")
    expect(page.locator("#found-warnings")).to_contain_text("'gone'")


def test_an_uncertain_total_is_shown(page: Page) -> None:
    """
    If not every candidate was verified, the page shows that there may be more hits.
    """

    def answer(route: Route) -> None:
        answered = route.fetch()
        route.fulfill(response=answered, json={**answered.json(), "total_is_exact": False})

    page.route("**/api/v1/search", answer)
    ask(page, "FINGERPRINT:lease_20_95")
    expect(page.locator("#found-told")).to_have_text(re.compile(r"^At least \d+ documents$"))


def test_the_keyboard_stays_where_it_is(page: Page) -> None:
    """
    The keyboard focus stays on a hit's details when its texts arrive, and moves to the number of hits after a new
    search.
    """
    held: list[Route] = []
    page.route("**/api/v1/passages", lambda route: held.append(route))
    with page.expect_request("**/api/v1/passages"):
        ask(page, "FINGERPRINT:lease_20_95")
    behind = hits(page).locator("summary").first
    behind.focus()
    page.keyboard.press("Enter")
    expect(hits(page).locator("details")).to_have_attribute("open", "")
    expect(hits(page).locator("details")).to_contain_text("All of them were counted.")
    for route in held:
        route.continue_()
    expect(hits(page).locator("details")).to_contain_text("171 in both")
    expect(hits(page).locator("details")).to_have_attribute("open", "")
    expect(behind).to_be_focused()
    page.evaluate("document.querySelector('#query').form.requestSubmit()")
    expect(page.locator("#found-told")).to_be_focused()


def test_the_empty_page_stays_empty(page: Page) -> None:
    """
    A search that is still running does not fill the view after the user has left it.
    """
    ask(page, "lease")
    expect(hits(page).first).to_be_visible()
    page.route("**/api/v1/search", lambda _: None)
    with page.expect_request("**/api/v1/search"):
        ask(page, "rent")
    with page.expect_event("requestfailed", lambda failed: failed.url.endswith("/api/v1/search")):
        page.get_by_role("navigation").get_by_role("link", name="Search").click()
    expect(page.locator("#examples button").first).to_be_visible()


def test_the_plan_folds_out(page: Page) -> None:
    """
    The plan unfolds: the search in words, and the request below.
    """
    ask(page, "FINGERPRINT:minutes_20_95")
    page.get_by_text("How the search is done").click()
    expect(page.locator("#explained")).to_contain_text("the source has 79 distinct shingles")
    expect(page.locator("#explained")).to_contain_text('"engine": "embedded"')


@pytest.mark.parametrize("typed", ["<b>id</b>", "pair 3/a", "note 7"])
def test_an_id_as_it_is(page: Page, typed: str) -> None:
    """
    An id finds its document, even if it has another meaning as a query.
    """
    ask(page, typed)
    expect(hits(page).first.get_by_role("heading")).to_be_visible()
    ids = hits(page).evaluate_all("rows => rows.map((row) => row.dataset.id)")
    assert typed in ids
    expect(page.locator("#query-error")).to_be_empty()


def test_words(page: Page) -> None:
    """
    Hits show how many of the words they contain, best first; conditions are built from fields and values.
    """
    ask(page, "landlord roof onion")
    expect(hits(page).first.locator(".points")).to_have_text("2 of 3 words")
    # Snippets arrive a moment later, and mark the query's words in any case.
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


def test_all_words_are_required(page: Page) -> None:
    """
    A hit has all words and quoted phrases. If no document has all, hits have some of them; words that most documents
    have do not make a hit alone.
    """
    ask(page, "landlord roof?")
    expect(page.locator("#found-told")).to_have_text("3 documents")
    ask(page, '"keeps the structure" landlord')
    expect(page.locator("#found-told")).to_have_text("3 documents")
    ask(page, '"structure the keeps" landlord')
    expect(page.locator("#found-how")).to_contain_text("No document has all of these words")
    # "the" is in 34 of 65 documents, "roof" in three, "what" in another one.
    ask(page, "what about the roof?")
    expect(page.locator("#found-told")).to_have_text("4 documents")
    expect(page.locator("#query")).to_have_value("what about the roof?")
    page.reload()
    expect(page.locator("#found-told")).to_have_text("4 documents")


def test_an_unknown_document(page: Page) -> None:
    """
    The result for a FINGERPRINT of an unknown id says that the document is unknown, and does not recommend a lower
    threshold. A link searches for the document that was probably meant, and keeps the rest of the query.
    """
    ask(page, "FINGERPRINT:minuets_20 AND NOT recipe")
    expect(page.locator("#found-warnings")).to_contain_text("'minuets'; did you mean 'minutes'?")
    expect(page.locator("#found-how")).to_be_empty()
    page.get_by_role("radio", name="of the source").check()
    page.wait_for_url("**metric=a_in_b")
    page.locator("#found-warnings").get_by_role("link", name="Search with minutes").click()
    expect(page.locator("#query")).to_have_value("FINGERPRINT:minutes_20 AND NOT recipe")
    expect(page.get_by_role("radio", name="of the source")).to_be_checked()
    expect(page.locator("#found-told")).to_have_text("3 documents")
    expect(page.locator("#found-warnings")).to_be_empty()


@pytest.mark.parametrize(
    ("query", "corrected"),
    [
        ("FINGERPRINT:minuets", "FINGERPRINT:minutes"),
        ("-FINGERPRINT:minuets_20_95 rent FINGERPRINT:lease_5", "-FINGERPRINT:minutes_20_95 rent FINGERPRINT:lease_5"),
        ("FINGERPRINT:lease OR FINGERPRINT:'minuets_0.5'", "FINGERPRINT:lease OR FINGERPRINT:minutes_50"),
        (r'FINGERPRINT:"minu\ets"_20', "FINGERPRINT:minutes_20"),
        ("FINGERPRINT:minuetss_20", "FINGERPRINT:minuetss_20"),
        ("minuets", "minuets"),
    ],
)
def test_another_document_in_a_query(scripts: Page, query: str, corrected: str) -> None:
    """
    A correction replaces the id in each FINGERPRINT of it, quoted or not, and keeps its numbers.
    """
    correct = "async (query) => (await import('/page/query.js')).withReference(query, 'minuets', 'minutes')"
    assert scripts.evaluate(correct, query) == corrected


def test_examples_find_something(page: Page) -> None:
    """
    Each example finds documents of the store.
    """
    page.get_by_role("navigation").get_by_role("link", name="Search").click()
    examples = page.locator("#examples button")
    expect(examples).to_have_count(3)
    for number in range(3):
        examples.nth(number).click()
        # Hits of the previous example are still in the page, hidden.
        expect(page.locator("#found-told")).to_be_visible()
        expect(page.locator("#found-told")).to_have_text(re.compile(r"^\d+ documents?$"))
        page.get_by_role("navigation").get_by_role("link", name="Search").click()
        expect(examples.first).to_be_visible()


def test_one_of_each(tab: Page, own_store: Store) -> None:
    """
    With cluster labels in the store, a search can show only the best hit of each cluster.
    """
    own_store.index([*(Document(name, LEASE) for name in ("a", "b", "c")), Document("other", MINUTES)])
    with duplicates_in(own_store.engine, parse_pair_options("jaccard", 80, 95)) as there:
        write_ids(own_store.engine, list(there.clusters(complete=True)))
    with listening(create_app(own_store)) as address, visited(tab, f"{address}/#search?q=landlord") as page:
        expect(page.locator("#found-told")).to_have_text("4 documents")
        page.get_by_text("Fields, thresholds").click()
        page.get_by_label("Show one of each group").check()
        expect(page.locator("#found-told")).to_have_text("2 documents")
        expect(page.locator("#hits h3")).to_have_text(["aand 2 near-copies", "other"])
        page.wait_for_url("**q=landlord&collapse=1")
        page.reload()
        expect(page.locator("#found-told")).to_have_text("2 documents")
