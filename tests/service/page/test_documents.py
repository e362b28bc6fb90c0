"""Tests of the list of documents and of the view of one document: show, add and delete."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Browser, FilePayload, Page, Route, expect

from tests.service.page.contents import COUNT, LEASE, RECIPE
from tests.service.page.driving import drop, find_duplicates, require_usable
from tests.service.page.windows import opened, visited
from tests.service.served import listening
from whorl import Store
from whorl.service.app import create_app
from whorl.settings.settings import Settings


def test_the_documents(page: Page, url: str) -> None:
    """
    Documents are listed in pages, with sizes and dates, and filtered by parts of names while typing; Back restores the
    number of rows and the scroll position.
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


def test_back_right_after_scrolling(browser: Browser, url: str) -> None:
    """
    Back restores the scroll position also if a timer that the last view has started ends before the next view is shown.
    """
    # The script stays in its window.
    with opened(browser, url) as page:
        page.add_init_script(
            """
            const calls = new Map(), start = setTimeout, stop = clearTimeout;
            window.setTimeout = (call, ...rest) => {
              const id = start(call, ...rest);
              calls.set(id, call);
              return id;
            };
            window.clearTimeout = (id) => {
              calls.delete(id);
              stop(id);
            };
            window.endTimers = () => calls.forEach((call) => call());
            """
        )
        page.reload()
        page.get_by_role("button", name="Show more").first.click()
        rows = page.locator("#documents tr")
        expect(rows).to_have_count(COUNT)
        rows.last.get_by_role("link").first.click()
        expect(page.locator("#document-text")).not_to_be_empty()
        expect(page.locator("#document-similar")).not_to_be_empty()
        page.evaluate(
            """
            dispatchEvent(new Event("scroll"));
            addEventListener("popstate", endTimers, { once: true });
            history.back();
            """
        )
        expect(rows.last).to_be_in_viewport()


def test_more_of_a_list_that_is_another(page: Page) -> None:
    """
    A filter typed while more rows are loading shows only the filtered documents.
    """
    rows, more = page.locator("#documents tr"), lambda request: "start=50" in request.url
    page.route(re.compile("start=50"), lambda _: None)
    with page.expect_request(more):
        page.get_by_role("button", name="Show more").first.click()
    with page.expect_event("requestfailed", more):
        page.get_by_label("Filter by name").first.fill("LEA")
    expect(rows).to_have_count(1)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)


def test_the_number_of_documents_is_current(page: Page, url: str) -> None:
    """
    The number of documents is the current one: an outdated answer that arrives late is ignored.
    """
    held: list[Route] = []

    def answer(route: Route) -> None:
        if held:
            route.fulfill(json={"documents": 7})
        held.append(route)

    page.goto("about:blank")
    page.route("**/readyz", answer)
    with page.expect_request("**/readyz"):
        page.goto(url)
    page.evaluate("dispatchEvent(new Event('whorl:changed'))")
    expect(page.locator("#state")).to_have_text("7 documents")
    with page.expect_event("requestfinished", lambda answered: answered.url.endswith("/readyz")):
        held[0].fulfill(json={"documents": 3})
    # The late answer has taken effect before this request is answered.
    page.evaluate("fetch('/healthz').then((answer) => answer.json())")
    expect(page.locator("#state")).to_have_text("7 documents")


def test_two_clicks_to_a_hit(page: Page, url: str) -> None:
    """
    Two clicks lead from the first visit to exact shares: one to the similar documents, one to the passage in both
    texts.
    """
    page.get_by_role("link", name="Find similar: lease.txt").click()
    hit = page.locator("#document-hits > li").first
    expect(hit.locator(".say").first).to_have_text("91.4% of lease.txt is in this document")
    expect(hit.locator("blockquote")).to_contain_text("Rent that is not paid within ten days")
    hit.get_by_role("link", name="Compare").click()
    expect(page.locator("#text-b mark").first).to_be_visible()


def test_a_document(page: Page, url: str) -> None:
    """
    A document's view shows similar documents by either share, its text and its properties; a missing document is an
    error.
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
    page.goto(f"{url}#document?id=minuets")
    expect(page.locator("#document-problem b")).to_have_text(
        "the store has no document 'minuets'; did you mean 'minutes'?"
    )
    expect(page.locator("#document-all")).to_be_hidden()
    expect(page.locator("#document-actions")).to_be_hidden()
    page.get_by_role("link", name="Open minutes").click()
    expect(page.locator("#document-text")).to_contain_text("Minutes of the meeting")
    expect(page.locator("#document-problem")).to_be_empty()


def test_an_empty_store_is_filled_and_cleaned(tab: Page, own_store: Store, axe: str | None) -> None:
    """
    An empty store is filled with dropped files; duplicates are marked, their list downloaded, and the duplicates
    deleted after confirmation.
    """
    with listening(create_app(own_store)) as address, visited(tab, address) as page:
        expect(page.get_by_role("heading", name="No documents yet")).to_be_visible()
        require_usable(page, axe)
        drop(page, "a.txt", LEASE, **{"b.txt": LEASE, "c.txt": RECIPE, "d.bin": "\0\1\2" * 50})
        expect(page.locator("#adding-told")).to_have_text("3 documents stored, 1 problem")
        expect(page.locator("#adding-repeats li")).to_have_text(["b.txt repeats a.txt: 100.0% alike"])
        expect(page.locator("#documents th")).to_have_text(["a.txt", "b.txt", "c.txt"])
        expect(page.locator("#documents time")).to_have_count(3)
        expect(page.locator("#state")).to_have_text("3 documents")
        # A file does not replace a document of the same name.
        page.locator("#add-files").set_input_files({"name": "a.txt", "mimeType": "", "buffer": b"another text"})
        expect(page.locator("#adding-problems")).to_contain_text("a.txt: there is already a document of this name")
        assert own_store.text("a.txt") == LEASE
        # A file does not replace one of the same name in the same upload.
        twice = [FilePayload(name="e.txt", mimeType="", buffer=content) for content in (b"one text", b"another text")]
        page.locator("#add-files").set_input_files(twice)
        expect(page.locator("#adding-told")).to_have_text("1 document stored, 1 problem")
        assert own_store.text("e.txt") == "one text"
        own_store.delete(["e.txt"])
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
        # The previous result is not shown again.
        page.get_by_role("button", name="Find duplicates").click()
        expect(page.locator("#clusters-told")).to_contain_text("No two documents belong together among 2 documents")
        page.get_by_role("navigation").get_by_role("link", name="Documents").click()
        page.get_by_role("button", name="Delete c.txt").click()
        page.get_by_role("button", name="Delete", exact=True).last.click()
        expect(page.locator("#documents th")).to_have_text(["a.txt"])


def test_lines_of_documents_are_stored(tab: Page, own_store: Store) -> None:
    """
    Each line of a file of JSON lines is a document; a comparison takes the whole file as a text.
    """
    lines = [json.dumps({"id": name, "text": text}) for name, text in (("lease", LEASE), ("recipe", RECIPE))]
    rows = "\n".join([*lines, '{"text": "no id"}', ""])
    with listening(create_app(own_store)) as address, visited(tab, address) as page:
        drop(page, "rows.jsonl", rows, **{"a.txt": LEASE, "bad.jsonl": "{}", "many.json": f"[{lines[0]}]"})
        expect(page.locator("#adding-told")).to_have_text("3 documents stored, 3 problems")
        problems = page.locator("#adding-problems li")
        expect(problems.nth(0)).to_contain_text("rows.jsonl, line 3: ")
        expect(problems.nth(1)).to_contain_text("bad.jsonl, line 1: ")
        expect(problems.nth(2)).to_contain_text("many.json holds documents as rows")
        assert own_store.text("lease") == LEASE
        # A line replaces neither a stored document nor an earlier line.
        changed = [{"id": "new", "text": RECIPE}, {"id": "new", "text": LEASE}, {"id": "lease", "text": RECIPE}]
        content = "\n".join(map(json.dumps, changed)).encode()
        page.goto(f"{address}/#documents")
        page.locator("#add-files").set_input_files({"name": "others.jsonl", "mimeType": "", "buffer": content})
        expect(page.locator("#adding-told")).to_have_text("1 document stored, 2 problems")
        expect(problems.nth(0)).to_contain_text("others.jsonl, line 2: new: there is already a document of this name")
        expect(problems.nth(1)).to_contain_text("others.jsonl, line 3: lease: there is already a document")
        assert (own_store.text("new"), own_store.text("lease")) == (RECIPE, LEASE)
        page.goto(f"{address}/#compare")
        for side, name, text in (("a", "rows.jsonl", rows), ("b", "recipe.txt", RECIPE)):
            page.locator(f"#file-{side}").set_input_files({"name": name, "mimeType": "", "buffer": text.encode()})
        expect(page.locator("#text-a")).to_contain_text('{"id": "lease"')


def test_lines_after_a_thousand_refused_lines_are_stored(tab: Page, own_store: Store) -> None:
    with listening(create_app(own_store)) as address, visited(tab, address) as page:
        drop(page, "rows.jsonl", "{}\n" * 1000 + json.dumps({"id": "lease", "text": LEASE}))
        expect(page.locator("#adding-told")).to_contain_text("1 document stored")
        expect(page.locator("#adding-problems li").first).to_contain_text("rows.jsonl, line 1: ")


def test_a_file_that_is_too_large_stops_no_other(tab: Page, own_store: Store) -> None:
    """
    A file that the service refuses is listed by its name, with any status; the files before and after it are stored.
    """
    app = create_app(own_store, settings=Settings(max_text_bytes=10_000))
    with listening(app) as address, visited(tab, address) as page:
        drop(page, "a.txt", LEASE, **{"big.txt": "x " * 10_000, "c.txt": RECIPE})
        expect(page.locator("#adding-told")).to_have_text("2 documents stored, 1 problem")
        expect(page.locator("#adding-problems li")).to_have_text(re.compile("^big.txt: .*10,000 bytes"))


def test_small_files_are_sent_in_one_request(tab: Page, own_store: Store) -> None:
    sent: list[str] = []

    def note(route: Route) -> None:
        sent.append(route.request.post_data or "")
        route.continue_()

    with listening(create_app(own_store)) as address, visited(tab, address) as page:
        page.route("**/api/v1/documents?replace=false*", note)
        drop(page, "0.txt", "text 0", **{f"{at}.txt": f"text {at}" for at in range(1, 60)})
        expect(page.locator("#adding-told")).to_have_text("60 documents stored")
    assert [len(body.splitlines()) for body in sent] == [60]


def test_files_are_added_to_a_running_upload(tab: Page, own_store: Store) -> None:
    """
    Files that are chosen during an upload are stored after its files. If the service no longer answers, the page gives
    the number of files that are not stored.
    """
    held: list[Route] = []
    a, b, c = (FilePayload(name=name, mimeType="", buffer=LEASE.encode()) for name in ("a.txt", "b.txt", "c.txt"))

    def hold_first(route: Route) -> None:
        if held:
            route.continue_()
        held.append(route)

    with listening(create_app(own_store)) as address, visited(tab, address) as page:
        page.route("**/api/v1/documents?replace=false*", hold_first)
        with page.expect_request("**/api/v1/documents?replace=false*"):
            page.locator("#add-first").set_input_files([a])
        page.locator("#add-files").set_input_files([b, c])
        held[0].continue_()
        expect(page.locator("#adding-told")).to_have_text("3 documents stored")
        expect(page.locator("#documents th")).to_have_text(["a.txt", "b.txt", "c.txt"])
        page.route("**/api/v1/documents?replace=false*", lambda route: route.abort())
        page.locator("#add-files").set_input_files([a, b])
        expect(page.locator("#adding-told")).to_have_text("0 documents stored, 1 problem, 2 files not added")
        expect(page.locator("#adding-problems li")).to_contain_text("the service does not answer")


def test_a_read_only_store_offers_no_changes(tab: Page, embedded_contracts: Store) -> None:
    """
    In a read-only store, the page offers neither adding nor deleting; a list can still be downloaded.
    """
    app = create_app(embedded_contracts, settings=Settings(is_read_only=True))
    with listening(app) as address, visited(tab, f"{address}/#duplicates?threshold=50") as page:
        find_duplicates(page)
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
