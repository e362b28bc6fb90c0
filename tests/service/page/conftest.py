"""Fixtures: a service with the web page, and a browser tab that shows it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import started_browser
from tests.service.accessibility import axe_core
from tests.service.alfresco_clients import REQUIRED as CLIENTS_REQUIRED
from tests.service.alfresco_clients import NoClientError
from tests.service.browser import REQUIRED, SCREENSHOTS
from tests.service.contracts import documents
from tests.service.page.contents import EMOJI, MATCHING, RECIPE, SCRIPT, draft, long_texts
from tests.service.page.windows import opened, reset
from tests.service.served import serving
from whorl import Document, Store, open_store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.winnowing import PassageScheme

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: Skip these tests if Playwright is missing, unless the environment variable requires it.
collect_ignore_glob = ["test_*.py"] if find_spec("playwright") is None and os.environ.get(REQUIRED) != "1" else []

#: Name of a window whose next page has an empty session storage.
_NEW = "new"

#: One for all modules, because a start takes two seconds.
browser = pytest.fixture(started_browser, scope="package")


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page") / "store"
    long_a, long_b = long_texts()
    with open_store(made) as store:
        store.index(
            [
                *documents(),
                Document("<b>id</b>", SCRIPT, "<script>alert(1)</script>"),
                Document("emoji", EMOJI),
                Document("matching", MATCHING),
                Document("long-a", long_a, "long A.txt"),
                Document("long-b", long_b, "long B.txt"),
                *(Document(f"note {number}", f"Note {number}: {RECIPE}") for number in range(30)),
                *(Document(f"<i>draft</i>/{number}", draft(number), f"draft {number}") for number in range(4)),
                *(Document(f"pair {number}/{side}", f"pair{number} " * 8) for number in range(11) for side in "ab"),
            ]
        )
    return made


@pytest.fixture(scope="package")
def url(folder: Path) -> Iterator[str]:
    """Address of a service without credentials."""
    with serving(folder) as served:
        yield f"{served.url}/"


@pytest.fixture(scope="package")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Path(os.environ.get(SCREENSHOTS) or tmp_path_factory.mktemp("screenshots"))
    made.mkdir(parents=True, exist_ok=True)
    return made


@pytest.fixture(scope="package")
def tab(browser: Browser, url: str) -> Iterator[Page]:
    """A tab shared by all tests that need no window of their own, because a new tab takes as long as many tests."""
    with opened(browser, url) as made:
        # The `page` of the next test asks for this by the window's name, before the scripts of the page run.
        made.add_init_script(f"if (name === '{_NEW}') {{ name = ''; sessionStorage.clear(); }}")
        yield made


@pytest.fixture
def page(tab: Page, url: str) -> Iterator[Page]:
    """The shared tab in its initial state."""
    if tab.url.startswith(url):
        tab.evaluate(f"name = '{_NEW}'")
    else:
        # An address of the same origin without scripts, because loading the page twice would take twice as long.
        tab.goto(f"{url}healthz")
        tab.evaluate("sessionStorage.clear()")
    reset(tab)
    tab.goto(url)
    yield tab
    tab.unroute_all(behavior="ignoreErrors")


@pytest.fixture(scope="package")
def scripts(browser: Browser, url: str) -> Iterator[Page]:
    """A page for tests that call functions of the page's scripts."""
    with opened(browser, url) as made:
        yield made


@pytest.fixture(scope="package")
def axe() -> str | None:
    """The script of axe-core, or None if it is unavailable."""
    try:
        return axe_core()
    except NoClientError as error:
        if os.environ.get(CLIENTS_REQUIRED) == "1":
            pytest.fail(f"{error} ({CLIENTS_REQUIRED}=1 asks for it)", pytrace=False)
        return None


@pytest.fixture
def own_store(tmp_path: Path) -> Iterator[Store]:
    """An empty store for one test, with passages."""
    with Store(EmbeddedEngine(tmp_path / "store", passages=PassageScheme())) as made:
        yield made
