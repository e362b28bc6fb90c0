"""Helpers that act on the page like a user, and check its state."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.service.accessibility import COMPLAINTS
from tests.service.browser import SCREENSHOTS

#: Each view, with a selector of an element that is visible once the view is complete.
VIEWS = {
    "#documents": "#documents tr",
    "#document?id=lease": "#document-hits blockquote",
    "#sources?id=minutes": "#sources blockquote",
    "#verify?id=minutes": "#quotations blockquote",
    "#search": "#examples button",
    "#search?q=FINGERPRINT:lease_5_95": "#hits blockquote",
    "#search?q=(": "#query-error .caret",
    "#compare?a=lease&b=renewal": "#passages button",
    "#duplicates?threshold=60&named=draft&versions=1": "#clusters .members",
}


def look_at(page: Page, url: str, view: str) -> None:
    """Open a view, and wait until it is complete."""
    page.goto(url + view)
    if view.startswith("#duplicates"):
        find_duplicates(page)
    expect(page.locator(VIEWS[view]).first).to_be_visible()


def find_duplicates(page: Page) -> None:
    page.get_by_role("button", name="Find duplicates").click()


def shoot(page: Page, path: Path) -> None:
    """Save a screenshot of the whole page, if screenshots are wanted."""
    if SCREENSHOTS in os.environ:
        page.screenshot(path=path, full_page=True)


def hits(page: Page) -> Locator:
    return page.locator("#hits > li")


def ask(page: Page, query: str) -> None:
    if not page.locator("#query").is_visible():
        page.get_by_role("navigation").get_by_role("link", name="Search").click()
    page.locator("#query").fill(query)
    page.locator("#query").press("Enter")


def drop(page: Page, name: str, text: str, **others: str) -> None:
    """Drop one or more files on the page."""
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


def paste(page: Page, text: str) -> None:
    """Paste a text at the keyboard focus."""
    page.evaluate(
        """text => {
            const transfer = new DataTransfer();
            transfer.setData("text/plain", text);
            const told = { clipboardData: transfer, bubbles: true, cancelable: true };
            document.activeElement.dispatchEvent(new ClipboardEvent("paste", told));
        }""",
        text,
    )


def require_usable(page: Page, axe: str | None) -> None:
    """Check the page with axe-core, if it is available."""
    if axe is not None:
        page.evaluate(axe)
        assert page.evaluate(COMPLAINTS) == []
