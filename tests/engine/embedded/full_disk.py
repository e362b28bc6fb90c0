"""All kinds of requests to a store whose index cannot be written: `full_disk.py FOLDER` prints each answer as JSON.

The process limits the size of its own files, which has the effect of a full disk, and lifts the limit at the end.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from pathlib import Path

from click.testing import CliRunner

from whorl import open_store
from whorl.cli.main import main
from whorl.engine.embedded import engine as embedded
from whorl.errors import StoreError
from whorl.model import Document

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from whorl.service.app import create_app

#: Largest size of a file in bytes: enough for a lock and a small commit, too small for the words of these documents.
_MOST_BYTES = 150_000
DOCUMENTS = [
    Document(f"big{number}", " ".join(f"word{number}x{at}" for at in range(3000)), properties={"kind": "big"})
    for number in range(40)
]
COMMANDS = {
    "search": ["search", "kind:big"],
    "search by content": ["search", 'FINGERPRINT:"big1"'],
    "similar": ["similar", "big1"],
    "sources": ["sources", "big1"],
    "delete --query": ["delete", "--query", "kind:big"],
    "delete --dry-run": ["delete", "--dry-run", "--query", "kind:big"],
}
REQUESTS: dict[str, tuple[str, str, object]] = {
    "/readyz": ("GET", "/readyz", None),
    "/store": ("GET", "/api/v1/store", None),
    "/search": ("POST", "/api/v1/search", {"query": "kind:big"}),
    "/similar": ("POST", "/api/v1/similar", {"id": "big1"}),
    "/sources": ("POST", "/api/v1/sources", {"id": "big1"}),
    "/documents": ("GET", "/api/v1/documents", None),
    "/delete": ("POST", "/api/v1/delete", {"query": "kind:big"}),
    "/alfresco": (
        "POST",
        "/alfresco/api/-default-/public/search/versions/1/search",
        {"query": {"query": "kind:big"}, "facetFields": {"facets": [{"field": "kind"}]}},
    ),
}


def limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def ask(folder: Path) -> None:
    """Print the answers."""
    store = str(folder)
    with open_store(store) as opened:
        opened.index([Document("old", "a text that is in the index")])
        opened.engine.index(DOCUMENTS)
        limit(_MOST_BYTES)
        try:
            opened.engine.refresh()
        except StoreError as error:
            print(json.dumps(["index", 1, str(error)]), flush=True)
    for name, command in COMMANDS.items():
        result = CliRunner().invoke(main, [*command, "--store", store])
        print(json.dumps([name, result.exit_code, result.output]), flush=True)
    with open_store(store) as opened, TestClient(create_app(opened)) as client:
        answer(client, *REQUESTS)
        limit(resource.RLIM_INFINITY)
        embedded.RETRY_SECONDS = 0
        answer(client, "/search", "/readyz", "/store")


def answer(client: TestClient, *names: str) -> None:
    for name in names:
        method, path, body = REQUESTS[name]
        result = client.request(method, path, json=body)
        print(json.dumps([name, result.status_code, result.json()]), flush=True)


if __name__ == "__main__":
    ask(Path(sys.argv[1]))
