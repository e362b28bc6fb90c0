"""Take the pictures of the page that the documentation shows: `make screenshots`, with Chromium on the PATH.

The documents are those of examples/, so that what is seen can be done again.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
WHORL = Path(sys.executable).parent / "whorl"
LEASE, MINUTES = "examples/contracts/lease-2023.txt", "examples/contracts/minutes.txt"
_WAIT_SECONDS = 60.0


@contextmanager
def served() -> Iterator[str]:
    """Yield the address of a service over the examples."""
    with socket.socket() as probe, tempfile.TemporaryDirectory() as folder:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        store = str(Path(folder) / "store")
        subprocess.run([WHORL, "index", "--store", store, "examples/contracts"], cwd=ROOT, check=True)
        process = subprocess.Popen(
            [WHORL, "serve", "--store", store, "--port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait_for(port, process)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("whorl serve does not start; run it by hand to see why")
        time.sleep(0.1)


def search(page: Page) -> None:
    """Ask which documents hold at least a twentieth of what they have together with the lease."""
    page.get_by_label("Query").fill(f"FINGERPRINT:{LEASE}_5_95")
    page.get_by_label("Query").press("Enter")
    expect(page.locator("#hits > li")).to_have_count(3)
    page.locator("#found-told").click()


def compare(page: Page) -> None:
    """Put the minutes beside the lease, and go to the passage that both have."""
    page.goto(f"{page.url}#compare?a={MINUTES}&b={LEASE}")
    expect(page.locator("#passages button")).to_have_count(1)
    page.get_by_role("button", name="Next").click()
    page.locator("#step-told").click()


PICTURES: dict[str, tuple[Callable[[Page], None], int]] = {"page-search": (search, 690), "page-compare": (compare, 930)}


def main() -> None:
    """Write the pictures."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("there is no Chromium on the PATH: apt-get install chromium")
    with served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (act, height) in PICTURES.items():
            page = browser.new_page(viewport={"width": 1120, "height": height})
            page.goto(url)
            act(page)
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
