"""The system's Chromium for tests of the page, because users have this browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REQUIRED = "WHORL_REQUIRE_BROWSER"
#: Environment variable with the folder of a run's screenshots, if they are kept.
SCREENSHOTS = "WHORL_SCREENSHOTS"
_NAMES = ("chromium", "chromium-browser", "google-chrome")


class NoBrowserError(Exception):
    """No usable browser is available here; the message gives the reason in one line."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a started Chromium.

    Raises:
        NoBrowserError: Chromium or Playwright is missing, or Chromium does not start.
    """
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        raise NoBrowserError("the page is tested in Chromium, and it is not here: apt-get install chromium")
    try:
        from playwright.sync_api import Error, sync_playwright
    except ModuleNotFoundError:
        raise NoBrowserError("Chromium is driven by Playwright, and it is not here: pip install playwright") from None
    with sync_playwright() as playwright:
        # Chromium cannot create its sandbox as root and in many containers; it opens only our own pages.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        try:
            browser = playwright.chromium.launch(executable_path=path, args=arguments)
        except Error as error:
            raise NoBrowserError(f"{path} does not start: {error.message.splitlines()[0]}") from error
        yield browser
        browser.close()
