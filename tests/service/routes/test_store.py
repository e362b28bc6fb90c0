"""What the store is, as a page asks before anything else."""

from __future__ import annotations

from starlette.testclient import TestClient


def test_what_the_store_is(service: TestClient) -> None:
    """
    Its fields by their names and types, and what can be asked of it.
    """
    told = service.get("/api/v1/store").json()
    assert (told["is_read_only"], told["has_sketches"], told["keeps_passages"]) == (False, True, False)
    assert (told["documents"], told["shingle_words"]) == (4, 5)
    (text,) = [each for each in told["fields"] if each["name"] == "content"]
    assert text["types"] == ["words"]
