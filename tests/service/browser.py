"""A real Chromium for the tests of the page: the one of the system, since it is the one that people have."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REQUIRED = "WHORL_REQUIRE_BROWSER"
#: A folder for the screenshots of a run, if they are to be kept.
SCREENSHOTS = "WHORL_SCREENSHOTS"
_NAMES = ("chromium", "chromium-browser", "google-chrome")


class NoBrowserError(Exception):
    """There is no browser to drive here; the message says in one line why."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a started Chromium.

    Raises:
        NoBrowserError: There is none, nothing to drive it with, or it does not start.
    """
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        raise NoBrowserError("the page is tested in Chromium, and it is not here: apt-get install chromium")
    try:
        from playwright.sync_api import Error, sync_playwright
    except ModuleNotFoundError:
        raise NoBrowserError("Chromium is driven by Playwright, and it is not here: pip install playwright") from None
    with sync_playwright() as playwright:
        # As root, and in many containers, Chromium cannot build its sandbox; all that it opens is our own.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        try:
            browser = playwright.chromium.launch(executable_path=path, args=arguments)
        except Error as error:
            raise NoBrowserError(f"{path} does not start: {error.message.splitlines()[0]}") from error
        yield browser
        browser.close()
