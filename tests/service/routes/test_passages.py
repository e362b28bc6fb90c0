"""Tests of the longest passage of each hit over HTTP, which equals a comparison's, for several documents at once."""

from __future__ import annotations

from starlette.testclient import TestClient

from tests.service.contracts import MINUTES, asked


def test_longest_passages(service: TestClient) -> None:
    """
    For a document or a text, each hit has the shares of a comparison, and the beginning of the longest passage.
    """
    wanted = {"documents": ["lease", "recipe", "gone", "lease"]}
    told = asked(service, "passages", id="minutes", **wanted)
    assert asked(service, "passages", text=MINUTES, **wanted) == told
    by_id = {each["id"]: each for each in told["documents"]}
    assert sorted(by_id) == ["lease", "recipe"]
    lease = by_id["lease"]
    compared = asked(service, "compare", a={"id": "minutes"}, b={"id": "lease"}, texts="passages")
    for name in ("jaccard", "a_in_b", "b_in_a", "shared_shingles", "exact", "without_common"):
        assert lease[name] == compared[name]
    assert (lease["source_shingles"], lease["shingles"]) == (79, 187)
    (passage,) = compared["passages"]
    assert (lease["passages"], lease["longest"]["words"]) == (1, 26)
    assert lease["longest"]["text"] == " ".join(passage["a"]["text"].split())
    assert (by_id["recipe"]["passages"], by_id["recipe"]["longest"]) == (0, None)


def test_a_long_passage_is_cut(embedded_service: TestClient) -> None:
    """
    A long passage is cut, and ends in dots.
    """
    (told,) = asked(embedded_service, "passages", id="lease", documents=["lease"])["documents"]
    assert told["longest"]["words"] == 191
    assert told["longest"]["text"].endswith(" …")
    assert len(told["longest"]["text"]) < 260


def test_without_common_text(embedded_service: TestClient) -> None:
    """
    Boilerplate is excluded, and its shares are returned next to the others.
    """
    (told,) = asked(embedded_service, "passages", id="minutes", documents=["lease"], boilerplate=[MINUTES])["documents"]
    assert (told["a_in_b"] > 0.27, told["without_common"]["a_in_b"]) == (True, 0)


def test_what_cannot_be_asked(embedded_service: TestClient) -> None:
    """
    No source, two sources, a missing source, or too many documents are errors.
    """
    for wrong, status in (
        ({"documents": []}, 400),
        ({"id": "lease", "text": "x", "documents": []}, 400),
        ({"id": "gone", "documents": []}, 404),
        ({"id": "lease", "documents": ["x"] * 101}, 400),
        ({"id": "lease", "documents": [], "common_above": "1%"}, 400),
    ):
        answer = embedded_service.post("/api/v1/passages", json=wrong)
        assert answer.status_code == status, wrong
        assert answer.json()["error"]["message"]
