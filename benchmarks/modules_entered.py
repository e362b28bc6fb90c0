"""Counts the modules of whorl that two warm requests to a real Solr enter: a search, and an Alfresco request.

    python benchmarks/modules_entered.py

The search is `FINGERPRINT:lease-2023_50` through `Store.search`. The Alfresco request has the same query and two
facets. A module is entered if one of its functions is called. The fewer modules are entered, the fewer files one has
to open to follow a request.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import whorl
from whorl import Document, Settings, open_store
from whorl.engine.local.solr import configset_directory, start_standalone
from whorl.service.app import create_app

_SOURCE = Path(whorl.__file__).parent
_CONTRACTS = Path(__file__).parents[1] / "examples" / "contracts"
_QUERY = "FINGERPRINT:lease-2023_50"
_REQUEST: dict[str, Any] = {
    "query": {"language": "afts", "query": _QUERY},
    "facetQueries": [{"query": "name:lease", "label": "leases"}],
    "facetFields": {"facets": [{"field": "year"}]},
}
#: Earlier requests, which fill caches.
_WARM_UPS = 3


class EnteredModules:
    """Modules whose functions are called, in all threads that start after this object is made."""

    def __init__(self) -> None:
        self._names, self._is_counting = set[str](), False
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if self._is_counting and event == "call":
            self._names.add(frame.f_code.co_filename)

    def of(self, request: Callable[[], object]) -> list[str]:
        """Return the modules that a request enters, as paths within the package."""
        for _ in range(_WARM_UPS):
            request()
        self._names, self._is_counting = set(), True
        request()
        self._is_counting = False
        paths = map(Path, self._names)
        return sorted(path.relative_to(_SOURCE).as_posix() for path in paths if path.is_relative_to(_SOURCE))


def count_modules(url: str) -> dict[str, list[str]]:
    """Return the modules that each request enters, on a collection of three documents."""
    from fastapi.testclient import TestClient

    entered = EnteredModules()
    try:
        with open_store(url) as store:
            texts = {path.stem: path.read_text("utf-8") for path in sorted(_CONTRACTS.glob("*.txt"))}
            store.index(Document(name, text, name, {"year": 2023}) for name, text in texts.items())
            search = entered.of(lambda: store.search(_QUERY))
        with _client(url, TestClient) as post:
            alfresco = entered.of(lambda: post(_REQUEST))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {"FINGERPRINT search": search, "Alfresco request with two facets": alfresco}


@contextmanager
def _client(url: str, client_type: Any) -> Iterator[Callable[[dict[str, Any]], None]]:
    with open_store(url) as store, client_type(create_app(store), base_url="http://localhost") as client:

        def post(body: dict[str, Any]) -> None:
            response = client.post("/alfresco/api/-default-/public/search/versions/1/search", json=body)
            context = response.raise_for_status().json()["list"]["context"]
            assert len(context["facetQueries"]) == len(context["facetsFields"]) == 1, context

        yield post


def main() -> None:
    """Start a Solr, count, and print the modules."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--url", help="an empty collection with whorl's configset, instead of a Solr of its own")
    url = parser.parse_args().url
    if url:
        _show(count_modules(url))
        return
    cache = Settings.load().solr_cache
    with (
        tempfile.TemporaryDirectory() as folder,
        start_standalone(Path(folder), {"whorl": configset_directory()}, heap="384m", cache=cache) as solr,
    ):
        _show(count_modules(f"{solr.url}/whorl"))


def _show(counted: dict[str, list[str]]) -> None:
    for request, modules in counted.items():
        print(f"{request}: {len(modules)} modules\n  " + "\n  ".join(modules))


if __name__ == "__main__":
    main()
