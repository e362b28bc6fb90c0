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
#: Pages of the browser itself that each new window would load for its address bar, and what Playwright turns off that
#: could matter to our pages: Chromium takes only its last list.
_TURNED_OFF = (
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding", "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled",
    "PreconnectToSearch",
)  # fmt: skip


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
        arguments = [f"--disable-features={','.join(_TURNED_OFF)}"]
        if os.geteuid() == 0:
            # Chromium cannot create its sandbox as root and in many containers; it opens only our own pages.
            arguments.append("--no-sandbox")
        try:
            browser = playwright.chromium.launch(executable_path=path, args=arguments)
        except Error as error:
            raise NoBrowserError(f"{path} does not start: {error.message.splitlines()[0]}") from error
        yield browser
        browser.close()
