"""Tests of a client that openapi-python-client generates from the description: it has every operation, and reads every
answer.
"""

from __future__ import annotations

import importlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.contracts import documents
from tests.service.served import listening
from whorl import open_store
from whorl.service.app import create_app
from whorl.service.credentials import Credentials

DOCS = Path(__file__).parents[2] / "docs" / "http.md"
NAME = "generated_whorl_client"

pytestmark = [pytest.mark.clients, pytest.mark.process]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, Any]]]:
    """Address of a service with a key and its own documents, and its description."""
    with open_store(tmp_path_factory.mktemp("generated") / "store") as store:
        store.index(documents())
        app = create_app(store, Credentials(("key",)))
        with listening(app) as url:
            yield url, app.openapi()


@pytest.fixture(scope="module")
def client(served: tuple[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder of the importable client, generated as in docs/http.md."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "openapi.json").write_text(json.dumps(served[1]), encoding="utf-8")
    match = re.search(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    (folder / "config.yaml").write_text(f"{match[1]}post_hooks: []\n", encoding="utf-8")
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
    made = subprocess.run(
        [*command, "--path", "openapi.json", "--config", "config.yaml", "--output-path", NAME],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    sys.path.insert(0, str(folder))
    yield folder / NAME
    sys.path.remove(str(folder))


def test_every_operation_exists(client: Path, served: tuple[str, dict[str, Any]]) -> None:
    """
    Every operation has the name of the description.
    """
    described = {about["operationId"] for methods in served[1]["paths"].values() for about in methods.values()}
    assert {path.stem for path in client.glob("api/*/*.py")} - {"__init__"} == described


def module(name: str) -> Any:
    return importlib.import_module(f"{NAME}.{name}")


def test_it_is_used(client: Path, served: tuple[str, dict[str, Any]]) -> None:
    """
    The client adds, lists, compares, finds and deletes documents; answers and failures are objects of their types.
    """
    models, File = module("models"), module("types").File  # noqa: N806 - a class
    session = module("client").AuthenticatedClient

    def ask(name: str, *path: str, key: str = "key", **options: Any) -> Any:
        with session(base_url=served[0], token=key) as opened:
            return module(f"api.whorl.{name}").sync(*path, client=opened, **options)

    lines = io.BytesIO(b'{"id": "new", "text": "seven silver spoons shine softly since sunday", "stage": "new"}\n')
    assert ask("store_documents", body=File(payload=lines)).stored == 1
    assert ask("read_document", "new").properties.to_dict() == {"stage": ["new"]}
    page = ask("list_documents", rows=2)
    assert (page.total, page.next_, [document.id for document in page.documents]) == (
        5,
        "minutes",
        ["lease", "minutes"],
    )
    answer = ask("similar", body=models.SimilarRequest(id="lease", threshold=30))
    assert isinstance(answer, models.Similar)
    assert [(hit.id, hit.jaccard > 0.3, hit.exact) for hit in answer.hits] == [("renewal", True, True)]
    searched = ask("search", body=models.QueryRequest(query="FINGERPRINT:lease_20"))
    assert searched.hits[0].measured.jaccard == 1.0
    both = models.CompareRequest(a=models.OneText(id="lease"), b=models.OneText(id="renewal"))
    assert ask("compare", body=both).shared_shingles > 50
    wrong = ask("search_by_address", q="(")
    assert isinstance(wrong, models.Failure)
    assert wrong.error.status_code == 400
    assert ask("delete_documents", body=models.DeleteRequest(query="stage:new")).deleted == 1
    assert ask("read_document", "new").error.status_code == 404
    assert ask("describe_store", key="other").error.status_code == 401
