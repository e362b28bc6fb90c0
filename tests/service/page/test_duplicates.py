"""Tests of the view of duplicates: groups as rows, filtered, ordered, cancelled, downloaded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.service.page.contents import COUNT
from tests.service.page.driving import find_duplicates, shoot
from tests.service.page.windows import opened


@pytest.fixture
def clustered(page: Page, url: str) -> Page:
    """The clusters of the store: recipe and notes, four drafts, eleven pairs, lease and renewal."""
    page.goto(f"{url}#duplicates?threshold=60")
    find_duplicates(page)
    expect(page.locator("#clusters > li")).to_have_count(10)
    return page


def test_duplicates(clustered: Page, shots: Path) -> None:
    """
    Groups are shown as rows, largest first, in pages; all pairs are shown if their shares differ.
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
    # Each change replaces five of 60 shingles, so two drafts share 55 of 65, 50 of 70 or 45 of 75.
    expect(drafts.locator(".members td:last-child a")).to_have_text(["84.6%", "71.4%", "60.0%"])
    drafts.get_by_text("All pairs").click()
    expect(drafts.locator(".matrix tr").nth(1).locator("td")).to_have_text(["", "84", "71", "60"])
    expect(drafts.locator(".mono").first).to_have_text("<i>draft</i>/0")
    shoot(page, shots / "duplicates.png")
    page.get_by_role("button", name=re.compile(r"^Show more \(4 left\)$")).click()
    expect(shown).to_have_count(14)
    # The keyboard focus moves to the first new row.
    expect(shown.nth(10).get_by_role("link").first).to_be_focused()
    drafts.get_by_role("link", name="Compare draft 0 with draft 1, 84.6%").click()
    expect(page.get_by_label("Document A", exact=True)).to_have_value("draft 0")
    expect(page.locator("#shares .big").last).to_have_text("84.6%")
    page.go_back()
    expect(shown).to_have_count(14)


def test_an_address_starts_no_job(browser: Browser, url: str) -> None:
    """
    A link on a foreign page fills in the form, but starts no job; a search started on the page is restarted by a reload
    and by Back.
    """
    started: list[str] = []
    with opened(browser, "about:blank") as page:
        page.on("request", lambda sent: started.append(sent.url) if sent.method == "POST" else None)
        page.set_content(f'<a href="{url}#duplicates?threshold=1&complete=1" target="whorl">look</a>')
        with page.context.expect_page() as expected:
            page.get_by_role("link").click()
        other = expected.value
        other.on("request", lambda sent: started.append(sent.url) if sent.method == "POST" else None)
        expect(other.get_by_role("slider", name="At least this much")).to_have_value("1")
        other.evaluate("location.hash = '#duplicates?threshold=2'")
        expect(other.get_by_role("slider", name="At least this much")).to_have_value("2")
        expect(other.locator("#clusters-blank")).to_be_visible()
        other.get_by_role("slider", name="At least this much").fill("75")
        assert started == []
        find_duplicates(other)
        expect(other.locator("#clusters > li").first).to_be_visible()
        other.reload()
        expect(other.locator("#clusters > li").first).to_be_visible()
        assert len(started) == 2
        other.goto(f"{url}#duplicates?threshold=3")
        expect(other.get_by_role("slider", name="At least this much")).to_have_value("3")
        expect(other.locator("#clustered")).to_be_hidden()
        assert len(started) == 2
        other.go_back()
        expect(other.locator("#clusters > li").first).to_be_visible()
        assert len(started) == 3


def test_duplicates_are_chosen_and_ordered(clustered: Page) -> None:
    """
    Groups are filtered by a part of a name and ordered by similarity; the address has both.
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
    Each group is listed by the document to keep, with the changes from each version to the next.
    """
    page.goto(f"{url}#duplicates?threshold=60&named=lease&keep=longest&versions=1")
    find_duplicates(page)
    shown = page.locator("#clusters > li")
    expect(shown.get_by_role("heading")).to_have_text(["2 documents: renewal.txt"])
    expect(shown.locator(".versions li")).to_have_text(
        [re.compile("^lease.txt 2018-01-02$|^lease.txt"), re.compile("renewal.txt.*adds 5 words.*1,520.*loses 4 words")]
    )
    page.get_by_label("Keep of each group").select_option("newest:cm:created")
    page.get_by_role("button", name="Find duplicates").click()
    page.wait_for_url("**keep=newest%3Acm%3Acreated**")
    expect(page.locator("#clusters-error")).to_contain_text("the newest of 'note 0' and 30 more is unknown")


def test_a_quick_click_keeps_the_address(page: Page, url: str) -> None:
    """
    A click before the form is filled in searches with the values of the address, not with the defaults.
    """
    held: list[Route] = []
    page.goto("about:blank")
    page.route("**/api/v1/store", lambda route: held.append(route))
    with page.expect_request("**/api/v1/store"):
        page.goto(f"{url}#duplicates?threshold=60&named=lease&keep=longest")
    find_duplicates(page)
    with page.expect_request(lambda sent: sent.method == "POST") as sent:
        for route in held:
            route.continue_()
    body = sent.value.post_data_json or {}
    assert (body["threshold"], body["keep"]) == (60, "longest")
    expect(page.locator("#clusters > li").get_by_role("heading")).to_have_text(["2 documents: renewal.txt"])


def test_the_last_result_is_shown_again(clustered: Page, url: str) -> None:
    """
    The view without parameters shows the last result of the tab after a reload, without another job.
    """
    started: list[str] = []
    clustered.on("request", lambda sent: started.append(sent.url) if sent.method == "POST" else None)
    clustered.goto("about:blank")
    clustered.goto(f"{url}#duplicates")
    expect(clustered.locator("#clusters > li")).to_have_count(10)
    expect(clustered.get_by_role("slider", name="At least this much")).to_have_value("60")
    assert started == []


def test_duplicates_use_the_chosen_options(page: Page, url: str) -> None:
    """
    The metric and the kind of cluster are sent with the request, and an empty result is shown.
    """
    page.goto(f"{url}#duplicates")
    page.get_by_text("More options").click()
    page.get_by_label("In common", exact=True).select_option("containment")
    page.get_by_role("slider", name="At least this much").fill("60")
    page.get_by_label("Only groups in which all documents").check()
    with page.expect_request(lambda sent: sent.method == "POST") as sent:
        page.get_by_role("button", name="Find duplicates").click()
    sent_body = sent.value.post_data_json
    assert sent_body is not None
    expect(page.locator("#clusters-told")).to_be_focused()
    assert (sent_body["metric"], sent_body["threshold"], sent_body["recall"], sent_body["complete"]) == (
        "containment",
        60,
        95,
        True,
    )
    page.get_by_role("slider", name="At least this much").fill("1")
    with page.expect_request(lambda sent: sent.method == "POST") as sent:
        page.get_by_role("button", name="Find duplicates").click()
    assert (sent.value.post_data_json or {})["threshold"] == 0.01


def test_keeping_the_first_marks_only_its_duplicates(page: Page, url: str) -> None:
    """
    In a chain of drafts, each is similar to the next only: keeping the first marks only its own duplicates.
    """
    page.goto(f"{url}#duplicates?threshold=75&named=draft")
    find_duplicates(page)
    rows = page.locator("#clusters .members tbody tr")
    expect(rows).to_have_count(4)
    for name in ("Keep only the first, draft 0", "Mark all but the first of each group"):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("checkbox", name="Delete draft 1")).to_be_checked()
        expect(rows.locator("input:checked")).to_have_count(1)
        page.get_by_role("button", name="Unmark all").click()


def test_duplicates_are_given_up(page: Page, url: str) -> None:
    """
    The page shows the progress of a search; Cancel ends the job, and the next search works.
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
    page.route("**/api/v1/duplicates**", answer)
    page.get_by_role("button", name="Find duplicates").click()
    expect(page.locator("#clusters-progress")).to_have_text("1,200 documents read")
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        page.get_by_role("button", name="Cancel").click()
    assert [address.rpartition("/")[2] for address in ended] == ["x"]
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
    expect(page.get_by_role("button", name="Find duplicates")).to_be_focused()
    expect(page.locator("#clusters-blank")).to_be_visible()
    page.unroute("**/api/v1/duplicates**")
    page.get_by_role("button", name="Find duplicates").click()
    expect(page.locator("#clusters > li").first).to_be_visible()


@pytest.mark.parametrize("form", ["json", "csv"])
def test_duplicates_are_downloaded(clustered: Page, form: str) -> None:
    """
    All groups are downloaded, in a file with a telling name.
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


def test_clusters_on_a_phone(clustered: Page) -> None:
    """
    On a phone, a matrix scrolls within its own box.
    """
    clustered.set_viewport_size({"width": 320, "height": 640})
    clustered.get_by_text("All pairs").click()
    expect(clustered.locator(".matrix").first).to_be_visible()
    assert clustered.evaluate("document.documentElement.scrollWidth") == 320
