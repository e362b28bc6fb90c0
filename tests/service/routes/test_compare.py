"""Tests of comparing two texts over HTTP: exact shares, passages, and invalid sides."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.service.contracts import MINUTES, asked


def test_compare(service: TestClient) -> None:
    """
    A document and a text have exact shares and one passage; the texts are returned on request.
    """
    sides = {"a": {"text": MINUTES}, "b": {"id": "lease"}}
    told = asked(service, "compare", **sides)
    assert (told["jaccard"], told["a_in_b"], told["b_in_a"], told["exact"]) == (0.090163, 0.278481, 0.117647, True)
    assert (told["b"]["name"], told["b"]["kind"], told["a"]["kind"]) == ("lease.txt", "document", "text")
    (passage,) = told["passages"]
    assert passage["words"] == 26
    assert passage["a"] == {"start": 178, "end": 327, "first_line": 5, "last_line": 7}
    assert "text" not in told["a"]
    with_passages = asked(service, "compare", **sides, texts="passages")
    assert with_passages["passages"][0]["a"]["text"] == MINUTES[178:327]
    assert "text" not in with_passages["a"]
    whole = asked(service, "compare", **sides, texts="whole")
    assert whole["a"]["text"] == MINUTES
    place = whole["passages"][0]["b"]
    assert whole["b"]["text"][place["start"] : place["end"]].startswith("The landlord keeps the structure")


def test_places_are_code_points(embedded_service: TestClient) -> None:
    """
    Positions count code points: a character beyond 16 bits is one.
    """
    shared = "one two three four five six"
    told = asked(embedded_service, "compare", a={"text": f"😀😀 {shared}"}, b={"text": shared})
    assert told["passages"][0]["a"]["start"] == 3


@pytest.mark.parametrize(
    ("side", "status", "named"),
    [
        ({}, 400, "id or text"),
        ({"id": "lease", "text": ""}, 400, "id or text"),
        ({"id": "gone"}, 404, "'gone'"),
        ({"name": "x"}, 400, "a.name"),
    ],
)
def test_a_side_is_one_of_two(service: TestClient, side: dict[str, str], status: int, named: str) -> None:
    """
    A side with neither or both of id and text is a 400, a missing document a 404; the message names it.
    """
    answer = service.post("/api/v1/compare", json={"a": side, "b": {"id": "lease"}})
    assert answer.status_code == answer.json()["error"]["statusCode"] == status
    assert named in answer.json()["error"]["message"]


def test_what_is_common(embedded_service: TestClient) -> None:
    """
    Boilerplate in the request is excluded; in a store without passages, the error gives the reason for missing
    frequencies.
    """
    form = "one two three four five six seven eight"
    sides = {"a": {"text": f"{form} nine"}, "b": {"text": f"zero {form}"}}
    told = asked(embedded_service, "compare", **sides, boilerplate=[form])["without_common"]
    assert (told["shared_shingles"], told["a"]["common"]) == (0, [{"start": 0, "end": len(form)}])
    answer = embedded_service.post("/api/v1/compare", json={**sides, "common_above": "1%"})
    assert answer.status_code == 400
    assert "keeps none" in answer.text
