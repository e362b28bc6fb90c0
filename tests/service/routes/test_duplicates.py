"""`GET /api/duplicates`: clusters with their pairs, page by page or as a file, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

with warnings.catch_warnings():
    # Its newest releases would rather have httpx2.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

import whorl.service.routes.duplicates
from tests.families import family_documents, true_components, true_pairs
from whorl import Document, Store, open_store
from whorl.service.app import create_app
from whorl.settings.settings import Settings

DOCUMENTS = family_documents(30, seed=5, longest=300)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("duplicates") / "store") as opened:
        opened.index(DOCUMENTS)
        yield opened


@pytest.fixture
def client(store: Store) -> TestClient:
    return TestClient(create_app(store))


def test_clusters_with_their_pairs(client: TestClient) -> None:
    """
    Clusters are what the pairs of plain sets hold together, the largest first, and small ones come with these pairs.
    """
    pairs = true_pairs(DOCUMENTS, "jaccard", 80)
    told = client.get("/api/duplicates", params={"threshold": 80}).json()
    assert (told["documents"], told["pairs"]) == (len(DOCUMENTS), len(pairs))
    assert told["total"] == len(told["clusters"])
    clusters = {frozenset(member["id"] for member in each["members"]) for each in told["clusters"]}
    assert clusters == true_components(pairs)
    assert [each["documents"] for each in told["clusters"]] == sorted((len(each) for each in clusters), reverse=True)
    small = {pair: share for pair, share in pairs.items() if any(pair <= each for each in clusters if len(each) <= 30)}
    there = [pair for each in told["clusters"] for pair in each["pairs"]]
    assert len(there) == len(small) < len(pairs)
    assert {frozenset((pair["a"], pair["b"])): pair["jaccard"] for pair in there} == pytest.approx(
        {pair: float(share) for pair, share in small.items()}, abs=1e-6
    )


def test_complete_clusters_and_pages(client: TestClient) -> None:
    """
    Complete clusters hold only pairs; pages are parts of one list.
    """
    asked = {"metric": "containment", "threshold": 50, "complete": True}
    told = client.get("/api/duplicates", params=asked).json()
    pairs = true_pairs(DOCUMENTS, "containment", 50)
    for each in told["clusters"]:
        assert all(frozenset(two) in pairs for two in combinations([member["id"] for member in each["members"]], 2))
    page = client.get("/api/duplicates", params={**asked, "start": 2, "rows": 3}).json()
    assert page["clusters"] == told["clusters"][2:5]
    assert page["total"] == told["total"]


def test_files_to_keep(client: TestClient) -> None:
    """
    JSON lines and CSV hold all clusters.
    """
    told = client.get("/api/duplicates").json()
    members = [member["id"] for each in told["clusters"] for member in each["members"]]
    as_json = client.get("/api/duplicates", params={"format": "json"})
    as_csv = client.get("/api/duplicates", params={"format": "csv"})
    assert [member["id"] for line in as_json.text.splitlines() for member in json.loads(line)["members"]] == members
    assert [row["id"] for row in csv.DictReader(io.StringIO(as_csv.text))] == members
    assert as_csv.headers["content-disposition"] == 'attachment; filename="duplicates.csv"'


def test_the_same_is_told_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    For a minute what was found is told again; then it is looked for anew.
    """
    text = " ".join(f"w{at}" for at in range(50))
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", text), Document("b", text), Document("short", "few words")])
        client = TestClient(create_app(store))
        first = client.get("/api/duplicates").json()
        store.index([Document("c", text)])
        assert client.get("/api/duplicates").json() == first
        monkeypatch.setattr(whorl.service.routes.duplicates, "_SECONDS_KEPT", -1.0)
        assert client.get("/api/duplicates").json()["clusters"][0]["documents"] == 3
        assert first["warnings"] == ["1 document of fewer than 5 words was not compared"]


def test_few_look_for_duplicates_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    One searches, three wait for it no longer than they have time, and the next is told at once; a search that nobody
    has time for is not begun.
    """
    begun, released = threading.Semaphore(0), threading.Event()
    searched, waited = whorl.service.routes.duplicates._searched, 60.0

    def held(*asked: Any) -> Any:
        begun.release()
        assert released.wait(waited)
        return searched(*asked)

    monkeypatch.setattr(whorl.service.routes.duplicates, "_searched", held)
    app = create_app(store, settings=Settings(request_timeout_seconds=0.5))
    with TestClient(app) as client, ThreadPoolExecutor(5) as pool:
        answers = [pool.submit(client.get, "/api/duplicates", params={"threshold": each}) for each in range(60, 65)]
        told = [each.result(waited) for each in answers]
        assert [each.status_code for each in told] == [503] * 5
        assert sum("others are looking for duplicates" in each.text for each in told) == 4
        assert begun.acquire(timeout=waited)
        released.set()
        assert not begun.acquire(blocking=False)
        assert client.get("/api/search?q=*").status_code == 200


def test_a_store_that_is_too_large(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Nobody waits for hours: the answer names the command.
    """
    monkeypatch.setattr(whorl.service.routes.duplicates, "MOST_DOCUMENTS", 10)
    answer = client.get("/api/duplicates", params={"threshold": 33})
    assert answer.status_code == 400
    assert "whorl duplicates" in answer.text


@pytest.mark.parametrize(
    "wrong", [{"threshold": 0}, {"metric": "a_in_b"}, {"recall": 101}, {"rows": -1}, {"format": "x"}]
)
def test_wrong_parameters(client: TestClient, wrong: dict[str, object]) -> None:
    """
    A wrong parameter is named.
    """
    answer = client.get("/api/duplicates", params=wrong)
    assert answer.status_code == 400
    assert next(iter(wrong)) in answer.text
