"""Windows of a browser that a page is opened in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: How long a browser may take for a step: how fast it is depends on what else the machine does.
PATIENCE_MILLISECONDS = 120_000


@contextmanager
def opened(browser: Browser, address: str, **context: Any) -> Iterator[Page]:
    """Yield a page in a window of its own; whatever it complains of in its console, a policy or a defect, fails."""
    # Not above: what drives a browser need not be here.
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE_MILLISECONDS)
    with browser.new_context(**context) as window:
        page, complaints = window.new_page(), list[str]()
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda told: complaints.append(told.text) if told.type in ("error", "warning") else None)
        page.goto(address)
        yield page
        # A browser notes every answer of 400 and above.
        assert [told for told in complaints if "Failed to load resource" not in told] == []
