"""Tests of similar documents, sources, comparisons and passages over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.service.contracts import MINUTES, post_json
from tests.service.routes.conftest import FIRST


def test_similar(client: TestClient) -> None:
    """
    The source is a document or a text; each hit has its three shares; invalid requests are a 400 that names the error.
    """
    options = {"id": "a", "threshold": 40}
    body = client.post("/api/v1/similar", json=options).json()
    assert [hit["id"] for hit in body["hits"]] == ["b"]
    # Both have 17 shingles and share 13.
    assert (body["hits"][0]["jaccard"], body["hits"][0]["exact"]) == (pytest.approx(13 / 17, abs=1e-6), True)
    assert client.post("/api/v1/similar", json={**options, "threshold": 0.4, "recall": 0.95}).json() == body
    part = {"text": FIRST.partition(" and")[0], "metric": "contains", "threshold": 100}
    assert [hit["id"] for hit in client.post("/api/v1/similar", json=part).json()["hits"]] == ["a", "b"]
    as_one = client.post("/api/v1/similar", json={**options, "threshold": 1}).json()
    assert as_one["warnings"] == ["threshold 1 means 100 %, since a number up to 1 is a fraction; write 0.01 for 1 %"]
    for wrong in (
        {},
        {"id": "a", "text": FIRST},
        {**options, "metric": "alike"},
        {**options, "recall": 0},
        {**options, "x": 1},
    ):
        answer = client.post("/api/v1/similar", json=wrong)
        assert answer.status_code == 400, wrong
        assert answer.json()["error"]["message"]


def test_shared_boilerplate_is_not_similar(client: TestClient) -> None:
    """
    Two texts that share only boilerplate are not similar, also in a search with a FINGERPRINT.
    """
    common = {"boilerplate": [FIRST]}
    body = client.post("/api/v1/similar", json={"id": "b", "threshold": 40, **common}).json()
    (hit,) = body["hits"]
    assert (body["ignore_common"], hit["without_common"]["shared_shingles"]) == (False, 0)
    answer = client.post("/api/v1/similar", json={"id": "b", "threshold": 40, **common, "ignore_common": True}).json()
    assert (answer["ignore_common"], answer["hits"]) == (True, [])
    options = {"query": "FINGERPRINT:b_40", "plan": "calibrated", **common}
    assert client.post("/api/v1/search", json=options).json()["total"] == 2
    assert client.post("/api/v1/search", json={**options, "ignore_common": True}).json()["total"] == 1
    explained = client.post("/api/v1/explain", json={**options, "ignore_common": True}).json()
    assert any("are not common" in line for line in explained["fingerprints"][0]["plan"])
    for wrong in ({"id": "b", "ignore_common": True}, {"id": "b", "ignore_common": True, "common_above": "1%"}):
        assert client.post("/api/v1/similar", json=wrong).status_code == 400


def test_sources(client: TestClient) -> None:
    """
    The text is a document (never its own source) or is sent; passages have their texts on request.
    """
    body = client.post("/api/v1/sources", json={"id": "a"}).json()
    assert (body["text"], [entry["id"] for entry in body["sources"]]) == (
        {"name": "a", "kind": "document", "words": 19},
        ["b"],
    )
    # The source covers all but the last two words.
    source = body["sources"][0]
    assert (source["words"], source["passages"][0]["a"]["text"]) == (17, FIRST[:77])
    by_text = client.post("/api/v1/sources", json={"text": f"{FIRST} And so on.", "texts": "none"}).json()
    assert [entry["id"] for entry in by_text["sources"]] == ["a"]
    assert [entry["id"] for entry in by_text["also"]] == ["b"]
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


def test_excluded_documents_are_no_sources(client: TestClient) -> None:
    """
    Documents that match the query of `except` are not sources.
    """
    body = client.post("/api/v1/sources", json={"text": FIRST, "exclude": "name:A"}).json()
    assert [source["id"] for source in body["sources"]] == ["b"]


def test_parts_that_are_left_out(client: TestClient) -> None:
    """
    Quotations can be excluded: a text that is one quotation has no sources.
    """
    body = client.post("/api/v1/sources", json={"text": f'He said "{FIRST}"', "without": ["quotations"]}).json()
    assert (body["excluded_words"], body["covered_words"], body["sources"]) == (19, 0, [])


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


def test_one_part_instead_of_a_list(client: TestClient) -> None:
    """
    The message for a text in place of a list says that it must be a list.
    """
    answer = client.post("/api/v1/sources", json={"id": "a", "without": "quotations"})
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "without: this must be a list")


def test_compare(service: TestClient) -> None:
    """
    A document and a text have exact shares and one passage; the texts are returned on request.
    """
    sides = {"a": {"text": MINUTES}, "b": {"id": "lease"}}
    body = post_json(service, "compare", **sides)
    assert (body["jaccard"], body["a_in_b"], body["b_in_a"], body["exact"]) == (0.090163, 0.278481, 0.117647, True)
    assert (body["b"]["name"], body["b"]["kind"], body["a"]["kind"]) == ("lease.txt", "document", "text")
    (passage,) = body["passages"]
    assert passage["words"] == 26
    assert passage["a"] == {"start": 178, "end": 327, "first_line": 5, "last_line": 7}
    assert "text" not in body["a"]
    with_passages = post_json(service, "compare", **sides, texts="passages")
    assert with_passages["passages"][0]["a"]["text"] == MINUTES[178:327]
    assert "text" not in with_passages["a"]
    whole = post_json(service, "compare", **sides, texts="whole")
    assert whole["a"]["text"] == MINUTES
    assert "differences" not in whole
    place = whole["passages"][0]["b"]
    assert whole["b"]["text"][place["start"] : place["end"]].startswith("The landlord keeps the structure")


def test_differences(embedded_service: TestClient) -> None:
    """
    With `differences`, a comparison also has the words that differ, with their texts if these are requested.
    """
    sides = {"a": {"text": "The tenant pays\nno rent in May."}, "b": {"text": "The tenant pays\nthe rent in May."}}
    (found,) = post_json(embedded_service, "compare", **sides, differences=True)["differences"]
    assert found == {
        "a": {"start": 16, "end": 18, "first_line": 2, "last_line": 2},
        "b": {"start": 16, "end": 19, "first_line": 2, "last_line": 2},
    }
    (found,) = post_json(embedded_service, "compare", **sides, differences=True, texts="passages")["differences"]
    assert (found["a"]["text"], found["b"]["text"]) == ("no", "the")


def test_places_are_code_points(embedded_service: TestClient) -> None:
    """
    Positions count code points: a character beyond 16 bits is one.
    """
    shared = "one two three four five six"
    body = post_json(embedded_service, "compare", a={"text": f"😀😀 {shared}"}, b={"text": shared})
    assert body["passages"][0]["a"]["start"] == 3


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


def test_boilerplate_is_left_out_of_passages(embedded_service: TestClient) -> None:
    """
    Boilerplate in the request is excluded; in a store without passages, the error gives the reason for missing
    frequencies.
    """
    form = "one two three four five six seven eight"
    sides = {"a": {"text": f"{form} nine"}, "b": {"text": f"zero {form}"}}
    without_common = post_json(embedded_service, "compare", **sides, boilerplate=[form])["without_common"]
    assert (without_common["shared_shingles"], without_common["a"]["common"]) == (0, [{"start": 0, "end": len(form)}])
    answer = embedded_service.post("/api/v1/compare", json={**sides, "common_above": "1%"})
    assert answer.status_code == 400
    assert "does not have the passages" in answer.text


def test_longest_passages(service: TestClient) -> None:
    """
    For a document or a text, each hit has the shares of a comparison, and the beginning of the longest passage.
    """
    wanted = {"documents": ["lease", "recipe", "gone", "lease"]}
    body = post_json(service, "passages", id="minutes", **wanted)
    assert post_json(service, "passages", text=MINUTES, **wanted) == body
    by_id = {document["id"]: document for document in body["documents"]}
    assert sorted(by_id) == ["lease", "recipe"]
    lease = by_id["lease"]
    compared = post_json(service, "compare", a={"id": "minutes"}, b={"id": "lease"}, texts="passages")
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
    (document,) = post_json(embedded_service, "passages", id="lease", documents=["lease"])["documents"]
    assert document["longest"]["words"] == 191
    assert document["longest"]["text"].endswith(" …")
    assert len(document["longest"]["text"]) < 260


def test_without_common_text(embedded_service: TestClient) -> None:
    """
    Boilerplate is excluded, and its shares are returned next to the others.
    """
    (document,) = post_json(embedded_service, "passages", id="minutes", documents=["lease"], boilerplate=[MINUTES])[
        "documents"
    ]
    assert (document["a_in_b"] > 0.27, document["without_common"]["a_in_b"]) == (True, 0)


def test_invalid_requests_are_refused(embedded_service: TestClient) -> None:
    """
    No source, two sources, a missing source, too many documents, and frequencies without passages are errors.
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


def test_a_text_of_the_store(client: TestClient) -> None:
    """
    A text that a document has, apart from white space, is similar to other documents only, and a warning names its
    document. As an outgoing text it comes from this document.
    """
    similar = client.post("/api/v1/similar", json={"text": f" {FIRST}\n"}).json()
    assert ([hit["id"] for hit in similar["hits"]], similar["warnings"]) == (["b"], ["the text is in the store as 'a'"])
    sources = client.post("/api/v1/sources", json={"text": f" {FIRST}\n", "high": 50}).json()
    assert ([source["id"] for source in sources["sources"]], sources["coverage"]) == (["a"], 1)
    assert (sources["level"], sources["warnings"]) == ("high", [])


def test_references(client: TestClient) -> None:
    """
    A document is named by its id, its id as a path, or its name, if no other has it.
    """
    by_id = client.post("/api/v1/similar", json={"id": "a", "threshold": 40}).json()
    for reference in ("A", "./a"):
        assert client.post("/api/v1/similar", json={"id": reference, "threshold": 40}).json() == by_id
        assert client.get(f"/api/v1/documents/{reference.replace('./', '%2E/')}").json()["id"] == "a"
        compared = client.post("/api/v1/compare", json={"a": {"id": reference}, "b": {"id": "b"}}).json()
        assert (compared["a"]["name"], compared["shared_shingles"]) == ("A", 13)
    assert client.post("/api/v1/similar", json={"id": "none"}).status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("compare", {"a": "one", "b": {"id": "two"}}, "a: this must be an object, such as FORMS, got 'one'"),
        ("compare", {"a": {"id": "two"}, "b": 5}, "b: this must be an object, such as FORMS, got 5"),
        ("compare", ["one", "two"], 'the body: this must be an object, such as {"a": {"id": "lease"}, '),
        ("similar", "one", "the body: this must be an object, such as FORMS, got 'one'"),
    ],
)
def test_a_value_that_is_no_object(client: TestClient, path: str, body: object, message: str) -> None:
    """
    The error shows the value, and an object that would work.
    """
    answer = client.post(f"/api/v1/{path}", json=body)
    forms = '{"id": "a document"} or {"text": "the words"}'
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(message.replace("FORMS", forms))
