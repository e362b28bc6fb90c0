"""Tests of the verification of quotations over HTTP."""

from __future__ import annotations

import base64
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


@pytest.mark.process
def test_a_file_with_markup(client: TestClient) -> None:
    """
    /text returns a file with its markup, and /verify finds its quotations. A document with this text is not a source.
    """
    page = f"<title>T</title><blockquote>{QUOTE}</blockquote><figure><q>{FIRST}</q></figure>"
    file = {"name": "page.html", "content": base64.b64encode(page.encode()).decode(), "with_markup": True}
    read = client.post("/api/v1/text", json=file).json()
    assert (read["text"].split()[:2], read["markup"]) == (["T", QUOTE.split()[0]], f"<html>{page}")
    body = {name: read[name] for name in ("text", "markup")}
    assert client.post("/api/v1/verify", json=body).json()["counts"]["exact"] == 2
    own = client.post("/api/v1/verify", json={"text": FIRST, "markup": f"<blockquote>{FIRST}</blockquote>"}).json()
    assert (own["counts"]["exact"], len(own["warnings"])) == (0, 1)


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
        ({"id": "a", "markup": "<q>a</q>"}, "markup is for a text; give both"),
    ],
)
def test_mistakes(client: TestClient, body: dict[str, Any], message: str) -> None:
    """
    A mistake in the body is a 400 with its place.
    """
    answer = client.post("/api/v1/verify", json=body)
    assert answer.status_code == 400
    assert message in answer.text
