"""Tests of snippets over HTTP: positions of a query's words in hits."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

PATH = "/api/v1/snippets"


def shown(client: TestClient, query: str) -> dict[str, list[str]]:
    asked = {"query": query, "documents": ["lease", "recipe", "nosuch"]}
    told = client.post(PATH, json=asked).json()["documents"]
    return {
        each["id"]: [each["text"][place["start"] : place["end"]].lower() for place in each["places"]] for each in told
    }


def test_words_of_the_text(embedded_service: TestClient) -> None:
    """
    Only words of the query for the text or for no field count; excluded words, words of other fields, a * and a
    FINGERPRINT do not. Documents without such words are left out.
    """
    assert set(shown(embedded_service, "landlord")["lease"]) == {"landlord"}
    found = shown(embedded_service, "TEXT:onion OR TEXT:landl*")
    assert {name: set(words) for name, words in found.items()} == {"lease": {"landlord"}, "recipe": {"onion"}}
    assert shown(embedded_service, "onion NOT landlord").keys() == {"recipe"}
    for query in ("name:lease", "*", "FINGERPRINT:lease_20", "ID:lease"):
        assert shown(embedded_service, query) == {}
    (told,) = embedded_service.post(PATH, json={"query": "onion", "documents": ["recipe"]}).json()["documents"]
    assert told.keys() == {"id", "text", "places", "cut_before", "cut_behind"}


@pytest.mark.parametrize("wrong", [{"query": "("}, {"documents": ["x"] * 101}, {"rows": 3}])
def test_what_cannot_be_asked(embedded_service: TestClient, wrong: dict[str, object]) -> None:
    """
    An invalid request is a 400 with the reason.
    """
    answer = embedded_service.post(PATH, json={"query": "onion", "documents": ["recipe"], **wrong})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]
