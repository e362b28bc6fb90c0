"""Tests of duplicates over HTTP: a job that is watched and cancelled, its clusters in pages or as a file."""

from __future__ import annotations

import csv
import io
import json
import math
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

with warnings.catch_warnings():
    # The newest releases of the test client prefer httpx2.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from tests.families import family_documents, true_components, true_pairs
from tests.service.limited import until
from whorl import Document, Store, open_store
from whorl.duplicates import duplicates_in, parse_boilerplate_options, parse_pair_options, run
from whorl.duplicates.options import DuplicatesOptions
from whorl.errors import EngineUnavailableError
from whorl.output import duplicates as found
from whorl.request_context import report_progress
from whorl.service.app import create_app
from whorl.service.routes import duplicates

PATH = "/api/v1/duplicates"
DOCUMENTS = family_documents(30, seed=5, longest=300)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("duplicates") / "store") as opened:
        opened.index(DOCUMENTS)
        yield opened


@pytest.fixture
def client(store: Store) -> Iterator[TestClient]:
    with TestClient(create_app(store)) as made:
        yield made


def started(client: TestClient, **options: Any) -> str:
    """Start a job, and return its address."""
    answer = client.post(PATH, json=options)
    assert answer.status_code == 202, answer.text
    address = answer.url.join(answer.headers["Location"]).path
    assert address == f"{PATH}/{answer.json()['id']}"
    return address


def over(client: TestClient, address: str, **page: Any) -> Any:
    """Wait for the end of a job, and return its description."""
    until(lambda: client.get(address).json()["state"] in ("done", "failed"))
    return client.get(address, params=page).json()


def search_duplicates(client: TestClient, **options: Any) -> Any:
    """Run a job, and return its whole result."""
    result = over(client, started(client, **options), rows=1000)
    assert result["state"] == "done", result
    return result["result"]


def test_common_text_is_ignored(client: TestClient, store: Store) -> None:
    """
    Common text is ignored as in process: an option for its frequency, both shares in the result, and invalid
    frequencies refused before a job starts.
    """
    options = parse_boilerplate_options("5", ["a text that nobody has"], ignore_common=True)
    with duplicates_in(store.engine, DuplicatesOptions(parse_pair_options("jaccard", 80, 95), common=options)) as there:
        expected = {(pair.a.id, pair.b.id) for pair in there.pairs()}
    address = started(client, common_above="5", boilerplate=["a text that nobody has"], ignore_common=True)
    result = over(client, address, rows=1000)["result"]
    assert (result["common_above"], result["ignore_common"], "boilerplate" in result) == ("5", True, False)
    assert "in more than 5 different documents or in what was named as boilerplate" in result["warnings"][0]
    pairs = [pair for cluster in result["clusters"] for pair in cluster["pairs"]]
    assert {(pair["a"], pair["b"]) for pair in pairs} == expected
    assert all(pair["without_common"]["jaccard"] >= 0.8 for pair in pairs if pair["jaccard"] < 1)
    rows = list(csv.DictReader(io.StringIO(client.get(address, params={"format": "csv"}).text)))
    assert rows
    assert all(row["jaccard_without_common"] for row in rows)
    refused = client.post(PATH, json={"common_above": "many"})
    assert refused.status_code == 400
    assert "common text is set by" in refused.text


def test_clusters_with_their_pairs(client: TestClient) -> None:
    """
    Clusters are the connected components of plain sets' pairs, largest first, and small ones list their pairs.
    """
    pairs = true_pairs(DOCUMENTS, "jaccard", 80)
    result = search_duplicates(client, threshold=80)
    assert (result["documents"], result["pairs"]) == (len(DOCUMENTS), len(pairs))
    assert result["total"] == len(result["clusters"])
    clusters = {frozenset(member["id"] for member in cluster["members"]) for cluster in result["clusters"]}
    assert clusters == true_components(pairs)
    assert [cluster["documents"] for cluster in result["clusters"]] == sorted(
        (len(cluster) for cluster in clusters), reverse=True
    )
    small = {
        pair: share
        for pair, share in pairs.items()
        if any(pair <= cluster for cluster in clusters if len(cluster) <= 30)
    }
    there = [pair for cluster in result["clusters"] for pair in cluster["pairs"]]
    assert len(there) == len(small) < len(pairs)
    assert {frozenset((pair["a"], pair["b"])): pair["jaccard"] for pair in there} == pytest.approx(
        {pair: float(share) for pair, share in small.items()}, abs=1e-6
    )


def test_complete_clusters_and_pages(client: TestClient) -> None:
    """
    Any two members of a complete cluster are a pair; pages are slices of one list.
    """
    options = {"metric": "containment", "threshold": 50, "complete": True}
    address = started(client, **options)
    result = over(client, address, rows=1000)["result"]
    pairs = true_pairs(DOCUMENTS, "containment", 50)
    for cluster in result["clusters"]:
        assert all(frozenset(two) in pairs for two in combinations([member["id"] for member in cluster["members"]], 2))
    page = over(client, address, start=2, rows=3)["result"]
    assert page["clusters"] == result["clusters"][2:5]
    assert page["total"] == result["total"]


def test_a_fraction_is_a_percentage(client: TestClient) -> None:
    """
    A threshold up to 1 is a fraction, as in a FINGERPRINT query.
    """
    as_fraction = search_duplicates(client, threshold=0.8, recall=0.95)
    assert as_fraction["total"] > 0
    assert as_fraction["clusters"] == search_duplicates(client, threshold=80, recall=95)["clusters"]
    assert any("threshold 1 means 100 %" in warning for warning in search_duplicates(client, threshold=1)["warnings"])
    assert not any("means 100 %" in warning for warning in search_duplicates(client, threshold=100)["warnings"])


def test_the_kept_member(tmp_path: Path) -> None:
    """
    The document to keep is chosen by a property; in complete clusters the others are compared with it.
    """
    text = " ".join(f"w{at}" for at in range(50))
    with open_store(tmp_path / "store") as store:
        store.index(Document(f"d{at}", f"{text} {at}", properties={"n": at}) for at in (2, 3, 1))
        with TestClient(create_app(store)) as client:
            (cluster,) = search_duplicates(client, keep="largest:cm:n")["clusters"]
            assert [member["is_principal"] for member in cluster["members"]] == [False, False, True]
            assert [member["jaccard"] == 1 for member in cluster["members"]] == [False, False, True]
            for keep, message in (("best", "first, longest"), ("newest", "newest:PROPERTY")):
                answer = client.post(PATH, json={"keep": keep})
                assert (answer.status_code, message in answer.text) == (400, True)
            failed = over(client, started(client, keep="newest:made"))
            assert (failed["error"]["statusCode"], "of n" in failed["error"]["message"]) == (400, True)


def test_versions(tmp_path: Path) -> None:
    """
    Versions are in order, each with its changes, in words as well; the file has their shares.
    """
    text = " ".join(f"w{at}" for at in range(50))
    with open_store(tmp_path / "store") as store:
        store.index(
            [
                Document("new", f"{text} and more", properties={"made": "2021-01-01"}),
                Document("old", text, properties={"made": "2020-01-01"}),
            ]
        )
        with TestClient(create_app(store)) as client:
            (cluster,) = search_duplicates(client, versions=True, date="made")["clusters"]
            old, new = cluster["versions"]
            assert (old["id"], old["date"], old["change"]) == ("old", "2020-01-01T00:00:00Z", None)
            assert new["change"]["adds"] == {
                "share": 0.041666, "words": 2,
                "passages": [{"start": len(text) + 1, "end": len(text) + 9, "text": "and more"}],
            }  # fmt: skip
            assert "versions" not in search_duplicates(client)["clusters"][0]
            address = started(client, versions=True, keep="newest:made")
            (cluster,) = over(client, address, rows=10)["result"]["clusters"]
            assert [version["id"] for version in cluster["versions"] if version["is_principal"]] == ["new"]
            rows = list(csv.DictReader(io.StringIO(client.get(address, params={"format": "csv"}).text)))
            assert [(row["id"], row["adds"]) for row in rows] == [("old", ""), ("new", "0.041666")]


def test_clusters_are_written_into_the_store(tmp_path: Path) -> None:
    """
    Each job rewrites the cluster labels, and the result has the number of changes.
    """
    text = " ".join(f"w{at}" for at in range(50))
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", text), Document("b", f"{text} more"), Document("c", "other words " * 9)])
        with TestClient(create_app(store)) as client:
            assert (search_duplicates(client)["written"], search_duplicates(client)["complete"]) == (None, False)
            options = {"keep": "longest", "write_ids": True}
            summary = {"clusters": 1, "documents": 2, "written": 2, "cleared": 0, "left": 0}
            assert search_duplicates(client, **options)["written"] == summary
            again = search_duplicates(client, **options)
            # Clusters that are written are complete.
            assert (again["written"], again["complete"]) == ({**summary, "written": 0}, True)
            answer = client.get("/api/v1/search", params={"q": "whorl_is_principal:true"}).json()
            assert [hit["id"] for hit in answer["hits"]] == ["b"]
            collapsed = client.post("/api/v1/search", json={"query": "w1", "collapse": True}).json()
            assert (collapsed["total"], collapsed["matches"]) == (1, 2)
            assert [(hit["id"], hit["copies"]) for hit in collapsed["hits"]] == [("a", 1)]
            assert client.get("/api/v1/search", params={"q": "w1", "collapse": "true"}).json() == collapsed
            properties = client.get("/api/v1/documents/a").json()["properties"]
            assert properties == {"whorl_cluster": ["a"], "whorl_is_principal": [False]}


def test_files_to_keep(client: TestClient) -> None:
    """
    JSON lines and CSV contain all clusters.
    """
    address = started(client)
    result = over(client, address, rows=1000)["result"]
    members = [member["id"] for cluster in result["clusters"] for member in cluster["members"]]
    as_json = client.get(address, params={"format": "json"})
    as_csv = client.get(address, params={"format": "csv"})
    assert [member["id"] for line in as_json.text.splitlines() for member in json.loads(line)["members"]] == members
    assert [row["id"] for row in csv.DictReader(io.StringIO(as_csv.text))] == members
    assert as_csv.headers["content-disposition"] == 'attachment; filename="duplicates.csv"'


def test_a_fresh_result_is_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A fresh result is reused; an outdated one is computed again.
    """
    text = " ".join(f"w{at}" for at in range(50))
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", text), Document("b", text), Document("short", "few words")])
        with TestClient(create_app(store)) as client:
            monkeypatch.setattr(found, "SECONDS_FRESH", math.inf)
            first = search_duplicates(client)
            store.index([Document("c", text)])
            assert search_duplicates(client) == first
            monkeypatch.setattr(found, "SECONDS_FRESH", -1.0)
            assert search_duplicates(client)["clusters"][0]["documents"] == 3
            assert first["warnings"] == ["1 document of fewer than 5 words was not compared"]


@pytest.fixture
def held(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[TestClient, threading.Event]]:
    """
    A client of a service whose searches for duplicates wait and report progress, and an event. The searches end
    when the event is set or they are cancelled.
    """
    let = threading.Event()

    @contextmanager
    def waiting(*arguments: Any, **more: Any) -> Iterator[Any]:
        for at in range(6_000):
            report_progress("reading", at)
            if let.wait(0.01):
                break
        with duplicates_in(*arguments, **more) as there:
            yield there

    monkeypatch.setattr(found, "duplicates_in", waiting)
    with TestClient(create_app(store)) as client:
        yield client, let


def is_running(client: TestClient, address: str) -> bool:
    body = client.get(address).json()
    return bool(body["state"] == "running" and body["progress"]["count"] > 1)


def test_a_job_is_watched(held: tuple[TestClient, threading.Event]) -> None:
    """
    The progress of a running job is reported; other jobs queue, and the fifth is refused.
    """
    client, let = held
    first = started(client)
    until(lambda: is_running(client, first))
    body = client.get(first).json()
    assert (body["progress"]["doing"], body["result"]) == ("reading", None)
    assert client.get(first, params={"format": "csv"}).status_code == 409
    others = [started(client, threshold=threshold) for threshold in (60, 61, 62)]
    assert [client.get(other).json()["state"] for other in others] == ["waiting"] * 3
    assert client.post(PATH, json={}).status_code == 429
    assert client.get("/api/v1/search?q=*").status_code == 200
    let.set()
    assert [over(client, address)["state"] for address in (first, *others)] == ["done"] * 4


def test_a_job_is_cancelled(held: tuple[TestClient, threading.Event]) -> None:
    """
    A cancelled job ends and makes room for the next, a queued one never starts; both are forgotten.
    """
    client, let = held
    first, second, third = (started(client, threshold=threshold) for threshold in (60, 61, 62))
    until(lambda: is_running(client, first))
    for address in (second, first):
        assert client.delete(address).status_code == 204
        assert client.get(address).status_code == client.delete(address).status_code == 404
    until(lambda: is_running(client, third))
    let.set()
    assert over(client, third)["state"] == "done"


def test_a_dead_job_ends_the_wait(held: tuple[TestClient, threading.Event], monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A job without status requests is cancelled.
    """
    client, let = held
    first = started(client, threshold=60)
    until(lambda: is_running(client, first))
    monkeypatch.setattr(duplicates, "WATCHED_SECONDS", -1.0)
    until(lambda: client.get(first).status_code == 404)
    monkeypatch.undo()
    let.set()
    assert over(client, started(client, threshold=61))["state"] == "done"


def test_a_job_that_fails(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A failed job reports its error like any other route; a defect reveals no details.
    """

    def fail(*_: Any, **__: Any) -> Any:
        raise errors.pop()

    monkeypatch.setattr(found, "duplicates_in", fail)
    errors: list[Exception] = [RuntimeError("s3cret"), EngineUnavailableError("no Solr answers")]
    with TestClient(create_app(store)) as client:
        failures = [over(client, started(client, threshold=50))["error"] for _ in range(2)]
    assert failures[0] == {"statusCode": 503, "message": "no Solr answers"}
    assert (failures[1]["statusCode"], "s3cret" in str(failures)) == (500, False)


@pytest.mark.slow
def test_kept_jobs_are_limited(client: TestClient) -> None:
    """
    Only the most recently requested finished jobs are kept.
    """
    addresses = [started(client, threshold=threshold) for threshold in (60, 61)]
    for threshold in (62, 63, 64, 65):
        over(client, addresses[-1])
        addresses.append(started(client, threshold=threshold))
        over(client, addresses[-1])
    statuses = [client.get(address).status_code for address in addresses]
    assert statuses.count(200) == duplicates.MOST_KEPT
    assert statuses[-1] == 200


def test_a_service_that_stops_ends_its_jobs(held: tuple[TestClient, threading.Event], store: Store) -> None:
    """
    A stopping service cancels its jobs.
    """
    with TestClient(create_app(store)) as stopping:
        address = started(stopping)
        until(lambda: is_running(stopping, address))
    assert not held[1].is_set()


def test_a_store_without_sketches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A store without sketches is a 409 at once, with the command to run and without Retry-After, since waiting does not
    help.
    """
    monkeypatch.setattr(type(store.engine), "sketch_scheme", None)
    with TestClient(create_app(store)) as client:
        answer = client.post(PATH, json={})
    assert answer.status_code == answer.json()["error"]["statusCode"] == 409
    assert "whorl solr check" in answer.json()["error"]["message"]
    assert "Retry-After" not in answer.headers


def test_a_store_that_is_too_large(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A store that is too large is an error that names the command to use.
    """
    monkeypatch.setattr(run, "MOST_DOCUMENTS", 10)
    answer = client.post(PATH, json={"threshold": 33})
    assert answer.status_code == 400
    assert "whorl duplicates" in answer.text


@pytest.mark.parametrize(
    "wrong", [{"threshold": 0}, {"metric": "a_in_b"}, {"recall": 101}, {"rows": -1}, {"complete": "x"}]
)
def test_wrong_parameters(client: TestClient, wrong: dict[str, object]) -> None:
    """
    An invalid parameter is a 400 that names it.
    """
    answer = client.post(PATH, json=wrong)
    assert answer.status_code == 400
    assert next(iter(wrong)) in answer.text


def test_a_result_with_changed_documents_is_not_reused(tmp_path: Path) -> None:
    """
    A result with a document that was deleted or replaced since is not reused, even if others were stored.
    """
    with open_store(tmp_path / "store") as store, TestClient(create_app(store)) as client:
        store.index(Document(name, "one text that is the same three times") for name in "abc")
        assert [cluster["documents"] for cluster in search_duplicates(client)["clusters"]] == [3]
        store.delete(["c"])
        store.index([Document("d", "something else that has nothing to do with it")])
        assert [cluster["documents"] for cluster in search_duplicates(client)["clusters"]] == [2]
        store.index([Document("b", "another text that has nothing to do with it either")])
        assert search_duplicates(client)["clusters"] == []


def test_clusters_are_chosen_and_ordered(client: TestClient) -> None:
    """
    Clusters are filtered by a part of a name or an id and ordered by similarity; the total counts the filtered ones.
    """
    address = started(client)
    every = over(client, address, rows=1000)["result"]

    def least(cluster: Any) -> float:
        return min(float(member["jaccard"]) for member in cluster["members"])

    for order, is_descending in (("alike", True), ("unlike", False)):
        clusters = over(client, address, rows=1000, order=order)["result"]["clusters"]
        assert [cluster["cluster"] for cluster in clusters] != [cluster["cluster"] for cluster in every["clusters"]]
        assert list(map(least, clusters)) == sorted(map(least, clusters), reverse=is_descending)
        assert sorted(cluster["cluster"] for cluster in clusters) == sorted(
            cluster["cluster"] for cluster in every["clusters"]
        )
    name = every["clusters"][-1]["members"][-1]["id"]
    (clusters,) = over(client, address, rows=1, named=name.upper())["result"]["clusters"]
    assert name in [member["id"] for member in clusters["members"]]
    assert over(client, address, named="no such name")["result"]["total"] == 0
    assert client.get(address, params={"order": "best"}).status_code == 400


def test_dates_that_cannot_be_read_are_a_warning(tmp_path: Path) -> None:
    """
    A warning counts the members of clusters whose date cannot be read.
    """
    with open_store(tmp_path / "store") as opened, TestClient(create_app(opened)) as client:
        days = enumerate(["2020-01-01", "30.06.2022"])
        opened.index(Document(str(at), DOCUMENTS[0].text, properties={"day": day}) for at, day in days)
        (warning,) = search_duplicates(client, keep="newest:day")["warnings"]
        assert warning.startswith("1 document has no date that can be read in the column 'day', such as '30.06.2022',")
