"""Tests of signing in on the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.service.page.contents import COUNT, LETTER
from tests.service.page.driving import paste, require_usable, shoot
from tests.service.page.windows import opened
from tests.service.served import listening
from whorl import open_store
from whorl.service.app import create_app
from whorl.service.credentials import Credentials

USER, PASSWORD, KEY = "ann", "p\u00e4ss:w\u00f6rd", "a-key"


@pytest.fixture(scope="module")
def guarded_url(browser: Browser, folder: Path) -> Iterator[str]:
    """Address of a service with credentials."""
    with open_store(folder) as store, listening(create_app(store, Credentials((KEY,), (USER, PASSWORD)))) as address:
        yield f"{address}/"


def test_signing_in(browser: Browser, guarded_url: str, shots: Path, axe: str | None) -> None:
    """
    The first request asks for a password, reports a wrong one, continues with the right one, and forgets it on
    sign-out.
    """
    with opened(browser, guarded_url) as page:
        dialog = page.get_by_role("dialog", name="Sign in")
        dialog.get_by_label("User", exact=True).fill(USER)
        dialog.get_by_label("Password", exact=True).fill("wrong")
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text("does not accept")
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
        # Pasted texts of the user who signed out are deleted for the next user.
        assert page.evaluate("sessionStorage.length") == 0
        page.keyboard.press("Escape")
        expect(page.locator("#documents-problem")).to_contain_text("needs a sign-in")


def test_signing_in_with_a_key(browser: Browser, guarded_url: str) -> None:
    """
    A key is accepted as well.
    """
    with opened(browser, f"{guarded_url}#compare?a=lease&b=renewal") as page:
        dialog = page.get_by_role("dialog", name="Sign in")
        dialog.get_by_role("radio", name="API key").check(force=True)
        dialog.get_by_label("API key").last.fill(KEY)
        page.keyboard.press("Enter")
        expect(page.locator("#name-a")).to_have_text("lease.txt")


def test_a_key_that_is_no_latin(browser: Browser, guarded_url: str) -> None:
    """
    A key with characters outside Latin-1 is sent to the service, and its refusal is shown.
    """
    with opened(browser, f"{guarded_url}#compare?a=lease&b=renewal") as page:
        dialog = page.get_by_role("dialog", name="Sign in")
        dialog.get_by_role("radio", name="API key").check(force=True)
        dialog.get_by_label("API key").last.fill("\u201ckey\u201d")
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text("does not accept")


def test_a_superseded_request(browser: Browser, guarded_url: str) -> None:
    """
    A request that fails because it was sent before the sign-in is repeated without asking again.
    """
    held: list[Route] = []
    with opened(browser, "about:blank") as page:
        page.route("**/api/v1/store", lambda route: route.continue_() if held else held.append(route))
        with page.expect_request("**/api/v1/store"):
            page.goto(guarded_url)
        dialog = page.get_by_role("dialog", name="Sign in")
        dialog.get_by_label("User", exact=True).fill(USER)
        dialog.get_by_label("Password", exact=True).fill(PASSWORD)
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        held[0].continue_()
        expect(page.locator("#documents-told")).to_have_text(f"{COUNT} documents")
        expect(dialog).to_be_hidden()
