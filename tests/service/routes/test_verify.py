"""Tests of the verification of quotations over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.service.routes.conftest import FIRST

QUOTE = FIRST[4:43]


def test_verdicts(client: TestClient) -> None:
    """
    Quotations are extracted from a text, or given as a list with their sources.
    """
    values = client.post("/api/v1/verify", json={"text": f"It says “{QUOTE}”."}).json()
    assert [(quotation["quote"], quotation["verdict"]) for quotation in values["quotations"]] == [(QUOTE, "exact")]
    given = [{"quote": QUOTE, "source": "a"}, {"quote": QUOTE, "source": None}, {"quote": "green cheese"}]
    values = client.post("/api/v1/verify", json={"quotations": given}).json()
    assert [quotation["verdict"] for quotation in values["quotations"]] == ["exact", "exact", "absent"]
    every = client.post("/api/v1/verify", json={"text": f"“{FIRST}”", "all": True}).json()
    assert [quotation["verdict"] for quotation in every["quotations"]] == ["exact"]


def test_a_report(client: TestClient) -> None:
    """
    The report is one HTML file.
    """
    answer = client.post("/api/v1/verify", json={"text": f"“{QUOTE}” <script>", "name": "<i>", "format": "html"})
    assert answer.headers["Content-Disposition"] == 'attachment; filename="quotations.html"'
    assert "<title>Quotations of &lt;i&gt;</title>" in answer.text
    assert "<script>" not in answer.text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "name one: id, text or quotations"),
        ({"text": "a", "quotations": []}, "name one: id, text or quotations"),
        ({"quotations": [{"quote": "a", "sorce": "b"}]}, "quotation 1 must be an object with"),
        ({"quotations": [{"quote": "a"}, {"source": "b"}]}, "quotation 2 must be an object with"),
        ({"quotations": ["a"]}, "got 'a'"),
        ({"quotations": [{"quote": 5}]}, "quotation 1: quote and source are texts, got {'quote': 5}"),
        ({"quotations": "a"}, "quotations are a list such as"),
        ({"quotations": {"quote": "a"}}, "got {'quote': 'a'}"),
        ({"quotations": [{"quote": "…"}]}, "quotation 1 has no word"),
        ({"text": "a", "fail_on": "absent"}, "fail_on"),
        ({"text": "a", "min_words": 0}, "min_words"),
    ],
)
def test_mistakes(client: TestClient, body: dict[str, Any], message: str) -> None:
    """
    A mistake in the body is a 400 with its place.
    """
    answer = client.post("/api/v1/verify", json=body)
    assert answer.status_code == 400
    assert message in answer.text
