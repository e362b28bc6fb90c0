"""Tests of the sources of a text over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.service.routes.conftest import FIRST


def test_sources(client: TestClient) -> None:
    """
    The text is a document (never its own source) or is sent; passages have their texts on request.
    """
    told = client.post("/api/v1/sources", json={"id": "a"}).json()
    assert (told["text"], [each["id"] for each in told["sources"]]) == (
        {"name": "a", "kind": "document", "words": 19},
        ["b"],
    )
    # The source covers all but the last two words.
    source = told["sources"][0]
    assert (source["words"], source["passages"][0]["a"]["text"]) == (17, FIRST[:77])
    by_text = client.post("/api/v1/sources", json={"text": FIRST, "texts": "none"}).json()
    assert [each["id"] for each in by_text["sources"]] == ["a"]
    assert [each["id"] for each in by_text["also"]] == ["b"]
    assert "text" not in by_text["sources"][0]["passages"][0]["a"]


def test_a_report(client: TestClient) -> None:
    """
    The report equals the command line's, as a file.
    """
    answer = client.post(
        "/api/v1/sources", json={"text": f"{FIRST} <script>", "name": "<i>letter</i>", "format": "html"}
    )
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="sources.html"'
    assert "<title>Sources of &lt;i&gt;letter&lt;/i&gt;</title>" in answer.text
    assert "<script>" not in answer.text
    by_id = client.post("/api/v1/sources", json={"id": "a", "name": "A", "format": "html"})
    assert "<title>Sources of A</title>" in by_id.text
    assert client.post("/api/v1/sources", json={"text": "", "format": "html"}).status_code == 200


def test_who_is_left_out(client: TestClient) -> None:
    """
    Documents that match the query of `except` are not sources.
    """
    told = client.post("/api/v1/sources", json={"text": FIRST, "exclude": "name:A"}).json()
    assert [each["id"] for each in told["sources"]] == ["b"]


def test_parts_that_are_left_out(client: TestClient) -> None:
    """
    Quotations can be excluded: a text that is one quotation has no sources.
    """
    told = client.post("/api/v1/sources", json={"text": f'He said "{FIRST}"', "without": ["quotations"]}).json()
    assert (told["excluded_words"], told["covered_words"], told["sources"]) == (19, 0, [])


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({}, 400),
        ({"id": "a", "without": ["footnotes"]}, 400),
        ({"id": "a", "text": FIRST}, 400),
        ({"id": "a", "min_words": 0}, 400),
        ({"id": "a", "most_read": 10_001}, 400),
        ({"id": "a", "recall": 0}, 400),
        ({"id": "a", "exclude": "("}, 400),
        ({"id": "a", "except": "x"}, 400),
        ({"id": "gone"}, 404),
    ],
)
def test_mistakes(client: TestClient, wrong: dict[str, Any], status: int) -> None:
    """
    An invalid request is a 400, a missing document a 404; both have a message.
    """
    answer = client.post("/api/v1/sources", json=wrong)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]
