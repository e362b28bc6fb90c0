"""The HTTP service: what each route answers, what each failure looks like, and a real process over a real socket."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

with warnings.catch_warnings():
    # Its newest releases would rather have httpx2.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from whorl import Document, Store, open_store
from whorl.errors import SchemaError, WhorlError
from whorl.service.app import create_app
from whorl.service.credentials import Credentials

WHORL = Path(sys.executable).parent / "whorl"
FIRST = "The quick brown fox jumps over the lazy dog and then it sleeps all day in the warm sun."
SECOND = "The quick brown fox jumps over the lazy dog and then it sleeps all day in the cold rain."
_DEADLINE_SECONDS = 60.0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("service") / "store") as opened:
        opened.index([Document("a", FIRST, "A"), Document("b", SECOND, "B"), Document("日本 \x9b", "other", "C")])
        yield opened


@pytest.fixture
def client(store: Store) -> Iterator[TestClient]:
    with TestClient(create_app(store), raise_server_exceptions=False) as made:
        yield made


def test_similar(client: TestClient) -> None:
    """
    A document or a text as the source; each hit with its three shares; what cannot be asked is a 400 that names it.
    """
    asked = {"id": "a", "threshold": 40}
    told = client.post("/api/similar", json=asked).json()
    assert [hit["id"] for hit in told["hits"]] == ["b"]
    # Of the 17 shingles of either, both have 13.
    assert (told["hits"][0]["jaccard"], told["hits"][0]["exact"]) == (pytest.approx(13 / 17, abs=1e-6), True)
    by_text = client.post("/api/similar", json={"text": FIRST, "metric": "contains", "threshold": 100}).json()
    assert [hit["id"] for hit in by_text["hits"]] == ["a"]
    for wrong in (
        {},
        {"id": "a", "text": FIRST},
        {**asked, "metric": "alike"},
        {**asked, "recall": 0},
        {**asked, "x": 1},
    ):
        answer = client.post("/api/similar", json=wrong)
        assert answer.status_code == 400, wrong
        assert answer.json()["error"]["message"]


def test_search(client: TestClient) -> None:
    """
    query, sources, total, warnings and hits of id, name, score, shared tokens and shares.
    """
    answer = client.get("/api/search", params={"q": "FINGERPRINT:a_20"})
    assert answer.status_code == 200
    told = answer.json()
    assert list(told) == ["query", "sources", "total", "total_is_exact", "warnings", "hits"]
    assert (told["query"], told["total"], told["warnings"]) == ("FINGERPRINT:a_20", 2, [])
    first = told["hits"][0]
    assert {name: first[name] for name in ("id", "name", "score", "shared_tokens")} == {
        "id": "a", "name": "A", "score": 512.0, "shared_tokens": 512,
    }  # fmt: skip
    assert first["measured"]["jaccard"] == 1.0
    assert [hit["id"] for hit in told["hits"]] == ["a", "b"]


def test_pages(client: TestClient) -> None:
    """
    start and rows cut the list; total stays.
    """
    told = client.get("/api/search", params={"q": "*", "start": 1, "rows": 1}).json()
    assert (told["total"], [hit["id"] for hit in told["hits"]]) == (3, ["b"])
    assert client.get("/api/search", params={"q": "*", "rows": 0}).json()["hits"] == []


def test_an_unknown_source_is_a_warning(client: TestClient) -> None:
    """
    Status 200, nothing found, and the id in the warning.
    """
    answer = client.get("/api/search", params={"q": "FINGERPRINT:gone"})
    assert (answer.status_code, answer.json()["total"]) == (200, 0)
    assert "'gone'" in answer.json()["warnings"][0]


@pytest.mark.parametrize(
    ("query", "span", "message"),
    [
        ("FINGERPRINT:a_140", [14, 17], "140"),
        ('a "open', [2, 3], "never closed"),
        ("", [0, 0], "empty"),
        ("{!lucene}*:*", [0, 1], "{"),
        ("fox\0", [3, 4], "control character"),
        ("(" * 500 + "x" + ")" * 500, [100, 101], "levels deep"),
    ],
)
def test_a_mistake_is_told_with_its_place(client: TestClient, query: str, span: list[int], message: str) -> None:
    """
    Status 400; message, span and hint are parts of the answer, so that a page can mark the place.
    """
    answer = client.get("/api/search", params={"q": query})
    error = answer.json()["error"]
    assert answer.status_code == error["statusCode"] == 400
    assert list(error) == ["statusCode", "message", "span", "hint"]
    assert [error["span"]["start"], error["span"]["end"]] == span
    assert message in error["message"]
    assert "\n" not in error["message"]


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({}, "q"),
        ({"q": "*", "rows": "-1"}, "rows"),
        ({"q": "*", "rows": "10001"}, "rows"),
        ({"q": "*", "rows": "many"}, "rows"),
        ({"q": "*", "start": "1000001"}, "start"),
    ],
)
def test_bad_parameters_have_the_same_shape(client: TestClient, params: dict[str, str], named: str) -> None:
    """
    Status 400 and the parameter's name, in the shape of every other error.
    """
    answer = client.get("/api/search", params=params)
    error = answer.json()["error"]
    assert answer.status_code == error["statusCode"] == 400
    assert error["message"].startswith(f"{named}: ")


@pytest.mark.parametrize("raw", ["%ff", "%ED%A0%80", "%00", "fox%1b[31m"])
def test_bytes_that_are_no_text(client: TestClient, raw: str) -> None:
    """
    They are a mistake or a word that nothing holds, never a failure.
    """
    assert client.get(f"/api/search?q={raw}").status_code in (200, 400)


def test_health_and_readiness(client: TestClient, away: TestClient) -> None:
    """
    A process without its engine lives, but is not ready.
    """
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ok", "documents": 3}
    assert away.get("/healthz").status_code == 200
    assert away.get("/readyz").status_code == 503


def test_an_engine_that_is_away(away: TestClient) -> None:
    """
    503 says when to come back and which address is silent, without its password.
    """
    for path in ("/readyz", "/api/search?q=FINGERPRINT:a"):
        answer = away.get(path)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert answer.json()["error"]["message"].startswith("no Solr answers at http://127.0.0.1:")
        assert "s3cret" not in answer.text


def test_a_mistake_is_one_although_the_engine_is_away(away: TestClient) -> None:
    """
    A query that cannot be read is the user's to mend.
    """
    assert away.get("/api/search", params={"q": "("}).status_code == 400


class Failing(Store):
    """A store that fails in one way."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def count(self) -> int:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status"), [(SchemaError("no field"), 409), (WhorlError("other"), 500), (RuntimeError("s3cret"), 500)]
)
def test_other_failures(error: Exception, status: int) -> None:
    """
    A collection that lacks what is needed is a conflict that no retry solves; a defect of ours shows nothing of itself.
    """
    answer = TestClient(create_app(Failing(error)), raise_server_exceptions=False).get("/readyz")
    assert answer.status_code == status
    assert "Retry-After" not in answer.headers
    assert "s3cret" not in answer.text


KEY = "correct hörse"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer correct"},
        {"Authorization": "Basic Y29ycmVjdA=="},
        {"Host": "x/?"},
        {"Host": "x/y"},
        {"Host": "x#"},
    ],
    ids=str,
)
def test_without_the_key_nothing_is_searched(store: Store, headers: dict[str, str]) -> None:
    """
    401 on every route under /api, whatever else the request says; health needs no key.
    """
    client = TestClient(create_app(store, Credentials(api_keys=(KEY,))))
    for path in ("/api/search?q=*", "/api/search?q=(", "/api/search", "/%61pi/search?q=*", "/api/none"):
        answer = client.get(path, headers=headers)
        assert answer.status_code == answer.json()["error"]["statusCode"] == 401
    assert client.get("/healthz", headers=headers).status_code == 200


def test_with_the_key(store: Store) -> None:
    """
    A key may hold any characters.
    """
    client = TestClient(create_app(store, Credentials(api_keys=(KEY,))))
    headers = {b"Authorization": f"Bearer {KEY}".encode()}
    assert client.get("/api/search?q=*", headers=headers).json()["total"] == 3


def test_requests_at_the_same_time(client: TestClient) -> None:
    """
    The routes run in threads that share the store.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.get("/api/search?q=FINGERPRINT:a").json(), range(40)))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]["total"] == 2


def test_the_description_is_served(client: TestClient) -> None:
    """
    /openapi.json names the routes, and their bounds.
    """
    described = client.get("/openapi.json").json()
    assert {"/api/search", "/healthz", "/readyz"} <= set(described["paths"])
    assert "maximum" in json.dumps(described["paths"]["/api/search"])
