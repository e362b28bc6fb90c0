"""Tests of search, explain and snippets: by address and by body, with a text besides the query, and errors with their
position."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from tests.service.contracts import MINUTES, post_json


def test_search_with_a_text(service: TestClient) -> None:
    """
    A text finds the same documents as its document, and the document; 22 of the 79 shingles of the minutes are in the
    lease of 187.
    """
    of_text = post_json(service, "search", query="FINGERPRINT:source_5", source=MINUTES, plan="calibrated")
    assert of_text["sources"] == ["source"]
    assert [hit["id"] for hit in of_text["hits"]] == ["minutes", "lease", "renewal"]
    assert of_text["hits"] == post_json(service, "search", query="FINGERPRINT:minutes_5", plan="calibrated")["hits"]
    measured = of_text["hits"][1]["measured"]
    assert measured.items() >= {"jaccard": 0.090163, "a_in_b": 0.278481, "b_in_a": 0.117647}.items()
    assert (measured["shingles"], measured["exact"]) == (187, True)


def test_search_by_another_metric(service: TestClient) -> None:
    """
    A quarter of the minutes is in both leases, but less than a quarter of the union with each.
    """
    query = "FINGERPRINT:minutes_25"
    ids_by_metric = {
        metric: {
            hit["id"] for hit in post_json(service, "search", query=query, metric=metric, plan="calibrated")["hits"]
        }
        for metric in ("jaccard", "a_in_b", "b_in_a")
    }
    assert ids_by_metric == {
        "jaccard": {"minutes"},
        "a_in_b": {"minutes", "lease", "renewal"},
        "b_in_a": {"minutes"},
    }


def test_search_as_alfresco_counts(service: TestClient) -> None:
    """
    With the stock plan scores are tokens, and hits have shares as well.
    """
    first = post_json(service, "search", query="FINGERPRINT:minutes_5", plan="stock")["hits"][0]
    assert (first["id"], first["score"], first["measured"]["jaccard"]) == ("minutes", 512.0, 1.0)


@pytest.mark.parametrize("query", ["rent", "FINGERPRINT:minutes_5 OR FINGERPRINT:recipe_5", "FINGERPRINT:gone"])
def test_shares_have_one_source(embedded_service: TestClient, query: str) -> None:
    """
    Without a source, or with several, hits have no shares.
    """
    for hit in post_json(embedded_service, "search", query=query)["hits"]:
        assert hit["measured"] is None


@pytest.mark.parametrize("path", ["search", "explain"])
@pytest.mark.parametrize("query", ["FINGERPRINT:minutes_5", "rent", "FINGERPRINT:gone"])
@pytest.mark.parametrize("plan", [{}, {"plan": "calibrated", "metric": "a_in_b"}])
def test_an_address_and_a_body_ask_the_same(
    embedded_service: TestClient, path: str, query: str, plan: dict[str, str]
) -> None:
    """
    GET and POST have the same parameters, defaults and limits.
    """
    by_address = embedded_service.get(f"/api/v1/{path}", params={"q": query, **plan})
    by_body = embedded_service.post(f"/api/v1/{path}", json={"query": query, **plan})
    assert (by_address.status_code, by_address.json()) == (200, by_body.json())
    for rows, status in ((10_000, 200), (10_001, 400)):
        answers = [
            embedded_service.get(f"/api/v1/{path}", params={"q": query, "rows": rows}),
            embedded_service.post(f"/api/v1/{path}", json={"query": query, "rows": rows}),
        ]
        assert [answer.status_code for answer in answers] == [status] * 2
    assert (
        "limit" in embedded_service.get(f"/api/v1/{path}", params={"q": query, "limit": 5}).json()["error"]["message"]
    )


def test_a_mistake_has_its_place(embedded_service: TestClient) -> None:
    """
    An error in a body's query has a position, as in `GET /api/v1/search`.
    """
    for path in ("search", "explain"):
        answer = embedded_service.post(f"/api/v1/{path}", json={"query": "FINGERPRINT:a_140"})
        assert (answer.status_code, answer.json()["error"]["span"]) == (400, {"start": 14, "end": 17})


def test_explain_with_a_text(service: TestClient) -> None:
    """
    Explain returns the plan of the query, and the steps of each calibrated FINGERPRINT; a stock one has its full plan.
    """
    body = {"query": "FINGERPRINT:source_20 AND rent", "source": MINUTES, "metric": "contains", "plan": "calibrated"}
    answer = post_json(service, "explain", **body)
    assert [fingerprint["source"] for fingerprint in answer["fingerprints"]] == ["source"]
    assert answer["fingerprints"][0]["plan"][:2] == [
        "find documents with at least 20 % of the source in common (a_in_b)",
        "the source has 79 distinct shingles",
    ]
    assert any("'rent'" in line for line in answer["plan"])
    del body["metric"]
    assert post_json(service, "explain", **{**body, "plan": "stock"})["fingerprints"] == []


def test_search(client: TestClient) -> None:
    """
    The answer has query, sources, total, warnings, and hits with id, name, score, shared tokens and shares.
    """
    answer = client.get("/api/v1/search", params={"q": "FINGERPRINT:a_20"})
    assert answer.status_code == 200
    body = answer.json()
    assert list(body) == ["query", "sources", "total", "total_is_exact", "warnings", "hits"]
    assert (body["query"], body["total"], body["warnings"]) == ("FINGERPRINT:a_20", 2, [])
    first = body["hits"][0]
    assert {name: first[name] for name in ("id", "name", "score", "shared_tokens")} == {
        "id": "a", "name": "A", "score": 512.0, "shared_tokens": 512,
    }  # fmt: skip
    assert first["measured"]["jaccard"] == 1.0
    assert [hit["id"] for hit in body["hits"]] == ["a", "b"]


def test_pages(client: TestClient) -> None:
    """
    `start` and `rows` cut the list; the total stays.
    """
    body = client.get("/api/v1/search", params={"q": "*", "start": 1, "rows": 1}).json()
    assert (body["total"], [hit["id"] for hit in body["hits"]]) == (3, ["b"])
    assert client.get("/api/v1/search", params={"q": "*", "rows": 0}).json()["hits"] == []


def test_an_unknown_source_is_a_warning(client: TestClient) -> None:
    """
    An unknown source is a 200 with no hits, and a warning with the id.
    """
    answer = client.get("/api/v1/search", params={"q": "FINGERPRINT:gone"})
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
def test_a_mistake_is_reported_with_its_place(client: TestClient, query: str, span: list[int], message: str) -> None:
    """
    An error in a query is a 400 with message, span and hint, so that a page can mark the position.
    """
    answer = client.get("/api/v1/search", params={"q": query})
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
    Invalid parameters are a 400 that names the parameter, in the shape of every other error.
    """
    answer = client.get("/api/v1/search", params=params)
    error = answer.json()["error"]
    assert answer.status_code == error["statusCode"] == 400
    assert error["message"].startswith(f"{named}: ")


@pytest.mark.parametrize("raw", ["%ff", "%ED%A0%80", "%00", "fox%1b[31m"])
def test_bytes_that_are_no_text(client: TestClient, raw: str) -> None:
    """
    Bytes that are not text are a 400, or a word without hits, never a failure.
    """
    assert client.get(f"/api/v1/search?q={raw}").status_code in (200, 400)


@pytest.mark.slow
def test_requests_at_the_same_time(client: TestClient) -> None:
    """
    Concurrent requests work: the routes run in threads that share the store.
    """
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.get("/api/v1/search?q=FINGERPRINT:a").json(), range(40)))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]["total"] == 2


def test_explain_a_stock_query(service: TestClient) -> None:
    """
    Explain returns the plan in words and the request; an invalid query is an error here as well.
    """
    body = service.get("/api/v1/explain", params={"q": "FINGERPRINT:recipe_50"}).json()
    assert list(body) == ["query", "plan", "fingerprints", "warnings", "request"]
    (line,) = body["plan"]
    assert line.startswith("FINGERPRINT of 'recipe': at least 256 of its 512 tokens (")
    assert body["request"]
    assert service.get("/api/v1/explain", params={"q": "("}).status_code == 400


PATH = "/api/v1/snippets"


def shown(client: TestClient, query: str) -> dict[str, list[str]]:
    options = {"query": query, "documents": ["lease", "recipe", "nosuch"]}
    documents = client.post(PATH, json=options).json()["documents"]
    return {
        document["id"]: [document["text"][place["start"] : place["end"]].lower() for place in document["places"]]
        for document in documents
    }


def test_words_of_the_text(embedded_service: TestClient) -> None:
    """
    Only words of the query for the text or for no field count; excluded words, words of other fields, a * and a
    FINGERPRINT do not. Documents without such words are left out.
    """
    assert set(shown(embedded_service, "landlord")["lease"]) == {"landlord"}
    snippet = shown(embedded_service, "TEXT:onion OR TEXT:landl*")
    assert {name: set(words) for name, words in snippet.items()} == {"lease": {"landlord"}, "recipe": {"onion"}}
    assert shown(embedded_service, "onion NOT landlord").keys() == {"recipe"}
    for query in ("name:lease", "*", "FINGERPRINT:lease_20", "ID:lease"):
        assert shown(embedded_service, query) == {}
    (document,) = embedded_service.post(PATH, json={"query": "onion", "documents": ["recipe"]}).json()["documents"]
    assert document.keys() == {"id", "text", "places", "cut_before", "cut_behind"}


@pytest.mark.parametrize("wrong", [{"query": "("}, {"documents": ["x"] * 101}, {"rows": 3}])
def test_invalid_requests_are_refused(embedded_service: TestClient, wrong: dict[str, object]) -> None:
    """
    An invalid request is a 400 with the reason.
    """
    answer = embedded_service.post(PATH, json={"query": "onion", "documents": ["recipe"], **wrong})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]
