"""Takes the screenshots of the documentation with Chromium (`make screenshots`).

Each view is a picture of its own, as in the page's documentation, and a sheet of four: on a desktop and a phone, light
and dark. The documents are those of examples/, so readers can reproduce the pictures.
"""

from __future__ import annotations

import base64
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
WHORL = Path(sys.executable).parent / "whorl"
LEASE, MINUTES = "examples/contracts/lease-2023.txt", "examples/contracts/minutes.txt"
LETTER = ROOT / "examples" / "letter.txt"
_WAIT_SECONDS = 60.0


@contextmanager
def served() -> Iterator[str]:
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


def documents(page: Page) -> None:
    """Show the initial list of documents."""
    expect(page.locator("#documents tr")).to_have_count(4)


def sources(page: Page) -> None:
    """Ask where the letter comes from."""
    page.locator("#own-text").fill(LETTER.read_text(encoding="utf-8"))
    page.get_by_role("button", name="Find its sources").click()
    expect(page.locator("#sources > li")).to_have_count(3)


def search(page: Page) -> None:
    """List the documents that share at least 5 % with the lease."""
    page.goto(f"{page.url}#search?q=FINGERPRINT:{LEASE}_5_95")
    expect(page.locator("#hits blockquote")).to_have_count(2)
    page.locator("#language summary").click()


def words(page: Page) -> None:
    """Ask which documents have some words."""
    page.goto(f"{page.url}#search?q=landlord+roof")
    expect(page.locator("#hits blockquote")).to_have_count(3)


def document(page: Page) -> None:
    """Ask what shares content with the minutes."""
    page.goto(f"{page.url}#document?{urlencode({'id': MINUTES, 'least': 5})}")
    expect(page.locator("#document-hits blockquote")).to_have_count(2)


def compare(page: Page) -> None:
    """Compare the minutes with the lease, and scroll to their shared passage."""
    page.goto(f"{page.url}#compare?a={MINUTES}&b={LEASE}")
    expect(page.locator("#passages button")).to_have_count(1)
    page.get_by_role("button", name="Next").click()


def duplicates(page: Page) -> None:
    """Mark all duplicates but the first of each group."""
    page.goto(f"{page.url}#duplicates?threshold=80")
    page.get_by_role("button", name="Find duplicates").click()
    page.get_by_role("button", name="Mark all but the first").click()
    expect(page.locator("#cleaning")).to_be_visible()


#: The pictured views, and the height of each picture.
PICTURES: dict[str, tuple[Callable[[Page], None], int]] = {
    "page-documents": (documents, 560),
    "page-sources": (sources, 930),
    "page-document": (document, 700),
    "page-search": (search, 700),
    "page-words": (words, 700),
    "page-compare": (compare, 880),
    "page-duplicates": (duplicates, 560),
}
DESK, PHONE = {"width": 1120, "height": 844}, {"width": 390, "height": 844}
#: Size of a sheet; its pictures are scaled down.
_STYLE = """
<style>div { display: inline-block; white-space: nowrap; background: #777 } img { zoom: 0.45; margin: 16px }</style>
"""


def main() -> None:
    """Write the pictures: light desktop ones, one in dark mode, a dark phone, and the sheets."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("there is no Chromium on the PATH: apt-get install chromium")
    with served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (act, height) in PICTURES.items():
            page = browser.new_page(viewport={"width": 1120, "height": height})
            _take(page, url, act, f"{name}.png")
        page = browser.new_page(viewport={"width": 1120, "height": PICTURES["page-compare"][1]}, color_scheme="dark")
        _take(page, url, compare, "page-compare-dark.png")
        for name in ("page-sources", "page-compare"):
            page = browser.new_page(viewport=PHONE, color_scheme="dark")  # type: ignore[arg-type]  # a TypedDict
            _take(page, url, PICTURES[name][0], f"{name}-phone.png")
        for name, (act, _) in PICTURES.items():
            _sheet(browser, url, act, f"{name}-sheet.png")
        browser.close()


def _sheet(browser: Browser, url: str, act: Callable[[Page], None], name: str) -> None:
    """Take four variants of a view and join the pictures into one sheet."""
    pictures = []
    for scheme in ("light", "dark"):
        for size in (DESK, PHONE):
            page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]  # a TypedDict
            pictures.append(base64.b64encode(_screenshot(page, url, act)).decode())
    images = "".join(f'<img src="data:image/png;base64,{picture}">' for picture in pictures)
    page = browser.new_page(viewport={"width": 1500, "height": 450})
    page.set_content(f"{_STYLE}<div>{images}</div>")
    page.locator("div").screenshot(path=IMAGES / name)
    page.close()


def _take(page: Page, url: str, act: Callable[[Page], None], name: str) -> None:
    (IMAGES / name).write_bytes(_screenshot(page, url, act))


def _screenshot(page: Page, url: str, act: Callable[[Page], None]) -> bytes:
    page.goto(url)
    expect(page.locator("#state")).to_be_visible()
    act(page)
    page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement.blur()")
    screenshot = page.screenshot()
    page.close()
    return screenshot


if __name__ == "__main__":
    main()
