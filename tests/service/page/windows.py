"""Browser windows that open a page and fail a test on errors in its console, and visits of a shared tab."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: Timeout of one step of the browser, long because the speed depends on the load of the machine.
PATIENCE_MILLISECONDS = 120_000


@contextmanager
def opened(browser: Browser, address: str, **context: Any) -> Iterator[Page]:
    """Yield a page in its own window; any error or warning in its console fails the test."""
    # Import Playwright here, because it is optional.
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE_MILLISECONDS)
    with browser.new_context(**context) as window:
        page, complaints = window.new_page(), list[str]()
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
        )
        page.goto(address)
        yield page
        # Browsers log every answer of 400 and above.
        assert [complaint for complaint in complaints if "Failed to load resource" not in complaint] == []


def reset(tab: Page) -> None:
    """Give a tab the size and the preferences that it has at the beginning of each test."""
    tab.set_viewport_size({"width": 1280, "height": 720})
    tab.emulate_media(color_scheme="light", reduced_motion="reduce")


@contextmanager
def visited(tab: Page, address: str) -> Iterator[Page]:
    """Show a service of the test in a shared tab, because a new window takes longer than a visit."""
    reset(tab)
    tab.goto(address)
    try:
        yield tab
    finally:
        # A failed test must not change the tests after it.
        tab.unroute_all(behavior="ignoreErrors")
        tab.evaluate("sessionStorage.clear()")
        # Leave the page while its service answers.
        tab.goto("about:blank")
