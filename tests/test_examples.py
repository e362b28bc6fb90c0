"""The recipes under examples/ work as described; tests/test_documentation.py runs the others."""

from __future__ import annotations

import csv
import json
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import requests
from fastapi.testclient import TestClient

from tests.cli.running import WHORL, own_collection, whorl
from tests.service.served import serving
from whorl import Document, open_store

EXAMPLES = Path(__file__).parents[1] / "examples"
CONTRACTS = EXAMPLES / "contracts"


def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """
    The notebook's cells run one after the other, and it is stored without output.
    """
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    notebook = json.loads((EXAMPLES / "near_copies.ipynb").read_text("utf-8"))
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["lease-2023.txt", "9.0%", "alike,", "27.8%", "of", "the", "minutes", "is", "in", "it"]
    assert any(line.startswith("The landlord keeps the structure") for line in lines)
    assert lines[-1] == "[['lease-2023.txt', 'lease_2024.txt']] ['lease-2023.txt', 'minutes.txt', 'recipe.txt']"


@pytest.mark.process
@pytest.mark.slow
def test_the_nightly_job(tmp_path: Path) -> None:
    """
    The second night reports only the new documents, and keeps the report of the first night, even on the same day.
    """
    documents, reports = tmp_path / "documents", tmp_path / "reports"
    documents.mkdir()
    for name in ("lease-2023.txt", "lease_2024.txt", "recipe.txt"):
        (documents / name).write_text((CONTRACTS / name).read_text("utf-8"))
    environment = {**os.environ, "PATH": f"{WHORL.parent}{os.pathsep}{os.environ['PATH']}"}

    def night() -> str:
        job = [str(EXAMPLES / "nightly_duplicates.sh"), str(tmp_path / "store"), str(documents), str(reports)]
        return subprocess.run(job, env=environment, capture_output=True, text=True, check=True).stdout

    assert "documents that repeat others: 1," in night()
    (first,) = reports.glob("*-superfluous.txt")
    superfluous = first.read_text()
    (documents / "copy.txt").write_text((CONTRACTS / "recipe.txt").read_text("utf-8"))
    assert "documents that repeat others: 1," in night()
    assert first.read_text() == superfluous
    report = max(reports.glob("*.csv"))
    with report.open(newline="", encoding="utf-8") as lines:
        assert {Path(row["id"]).name for row in csv.DictReader(lines)} == {"recipe.txt", "copy.txt"}


@pytest.mark.process
@pytest.mark.slow
def test_the_client_of_alfresco(tmp_path: Path) -> None:
    """
    The Alfresco client logs in and prints the shares of the hits.
    """
    with open_store(tmp_path / "store") as store:
        store.index(Document(path.stem, path.read_text("utf-8"), name=path.name) for path in CONTRACTS.glob("*.txt"))
    with serving(tmp_path / "store", user="ann", password="secret") as served:
        command = [sys.executable, str(EXAMPLES / "alfresco_client.py"), served.url, "ann", "secret", "lease-2023"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "3 documents share content with lease-2023",
        "lease-2023.txt: score 512, 100% of lease-2023 is in it",
        "lease_2024.txt: score 452, 91% of lease-2023 is in it",
        "minutes.txt: score 58, 12% of lease-2023 is in it",
    ]


@pytest.mark.solr
@pytest.mark.slow
def test_the_backend_of_a_search_application(
    solr_standalone_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The backend lists near-copies with the hit that represents them, and counts the documents that contain part of
    another, in a collection that an application has filled under names of its own.
    """
    monkeypatch.chdir(tmp_path)
    with own_collection(solr_standalone_url) as url:
        fields = [{"name": name, "type": "text_whorl", "indexed": True, "stored": True} for name in ("body", "heading")]
        requests.post(f"{url}/schema", json={"add-field": fields}, timeout=240).raise_for_status()
        rows = [
            {"id": path.stem, "body": path.read_text("utf-8"), "heading": path.name} for path in CONTRACTS.glob("*.txt")
        ]
        requests.post(f"{url}/update?commit=true", json=rows, timeout=240).raise_for_status()
        assert whorl("solr", "init", url, "--content", "body", "--name", "heading").exit_code == 0
        assert whorl("solr", "backfill", url).exit_code == 0
        done = whorl("duplicates", "--store", url, "--threshold", "70", "--keep", "longest", "--write-ids")
        assert done.exit_code == 0, done.output
        monkeypatch.setenv("SOLR", url)
        client = TestClient(runpy.run_path(str(EXAMPLES / "search_backend.py"))["app"])
        found = client.get("/search", params={"q": "landlord"}).json()
        copies = {hit["id"]: hit["copies"] for hit in found["hits"]}
        assert (found["total"], set(copies)) == (2, {"lease_2024", "minutes"})
        assert copies == {"lease_2024": ["lease-2023"], "minutes": []}
        contained = client.get("/contained", params={"id": "minutes"}).json()
        assert {(each["id"], each["share"] > 0.27) for each in contained} == {
            ("lease-2023", True),
            ("lease_2024", True),
        }
        assert client.get("/contained", params={"id": "nobody"}).status_code == 404
