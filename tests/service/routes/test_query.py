"""What the page asks: a search with a text beside it, its plan, the text of a file, a comparison; and its files."""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")

with warnings.catch_warnings():
    # Its newest releases would rather have httpx2.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from tests.made_files import SENTENCES, pdf
from tests.service.contracts import CONTRACTS
from whorl import Store
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.service.routes.page import FILES
from whorl.settings.settings import Settings

MINUTES = (CONTRACTS / "minutes.txt").read_text(encoding="utf-8")
#: What would make HTML of a text, or run one.
SINKS = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "parseFromString", "setHTML", "eval(")
NAMES = sorted(path.name for path in FILES.iterdir())


@pytest.fixture
def guarded(embedded_contracts: Store) -> Iterator[TestClient]:
    """A service that asks who it is."""
    with TestClient(create_app(embedded_contracts, Credentials(user=("ann", "secret")))) as made:
        yield made


def test_the_page_is_public_and_the_data_is_not(guarded: TestClient) -> None:
    """
    The page and its files come without a password; what they ask for does not.
    """
    assert guarded.get("/").headers["Content-Type"] == "text/html; charset=utf-8"
    for name in NAMES:
        assert guarded.get(f"/page/{name}").status_code == 200
    for path in ("search", "explain", "text", "compare"):
        assert guarded.post(f"/api/{path}", json={}).status_code == 401


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/page/base.css", "/page/icon.svg"])
def test_the_page_loads_nothing_from_elsewhere(guarded: TestClient, path: str) -> None:
    """
    By its policy no script, style or connection but its own, no frame around it, and no HTML from text.
    """
    headers = guarded.get(path).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["Content-Security-Policy"].split(";"))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("name", NAMES)
def test_files_of_the_page_keep_to_themselves(name: str) -> None:
    """
    No address of another host, nothing that makes HTML of a text, no script or style within the HTML.
    """
    content = (FILES / name).read_text(encoding="utf-8")
    hosts = set(re.findall(r"(?:https?:)?//([\w.-]+\.\w+)", content))
    assert hosts <= {"www.w3.org"}, "the name of a format is no address"
    assert [sink for sink in SINKS if sink in content] == []
    assert not re.search(r"\sstyle=|<style|\son\w+=\"|<script(?! type=\"module\" src=\"/page/)", content)


@pytest.mark.parametrize("path", ["/page/none.js", "/page/..%2fpage.py", "/page/%2e%2e/page.py", "/page/", "/page"])
def test_no_other_file_is_served(guarded: TestClient, path: str) -> None:
    """
    What is not in the folder is not there.
    """
    assert guarded.get(path).status_code == 404


def test_unchanged_files_are_not_sent_again(guarded: TestClient) -> None:
    """
    304 where the browser has the file already.
    """
    first = guarded.get("/page/app.js")
    again = guarded.get("/page/app.js", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def asked(client: TestClient, path: str, **body: Any) -> Any:
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_search_with_a_text(service: TestClient) -> None:
    """
    A text finds what its document finds, and itself; 22 of the 79 shingles of the minutes are in the lease of 187.
    """
    of_text = asked(service, "search", query="FINGERPRINT:source_5", source=MINUTES, plan="calibrated")
    assert of_text["sources"] == ["source"]
    assert [hit["id"] for hit in of_text["hits"]] == ["minutes", "lease", "renewal"]
    assert of_text["hits"] == asked(service, "search", query="FINGERPRINT:minutes_5", plan="calibrated")["hits"]
    measured = of_text["hits"][1]["measured"]
    assert measured.items() >= {"jaccard": 0.090163, "a_in_b": 0.278481, "b_in_a": 0.117647}.items()
    assert (measured["shingles"], measured["exact"]) == (187, True)


def test_search_by_another_metric(service: TestClient) -> None:
    """
    A quarter of the minutes is in both leases, but less than a quarter of what they have together.
    """
    query = "FINGERPRINT:minutes_25"
    found = {
        metric: {hit["id"] for hit in asked(service, "search", query=query, metric=metric, plan="calibrated")["hits"]}
        for metric in ("jaccard", "a_in_b", "b_in_a")
    }
    assert found == {
        "jaccard": {"minutes"},
        "a_in_b": {"minutes", "lease", "renewal"},
        "b_in_a": {"minutes"},
    }


def test_search_as_alfresco_counts(service: TestClient) -> None:
    """
    With the stock plan the scores are tokens, and the shares are there all the same.
    """
    first = asked(service, "search", query="FINGERPRINT:minutes_5", plan="stock")["hits"][0]
    assert (first["id"], first["score"], first["measured"]["jaccard"]) == ("minutes", 512.0, 1.0)


@pytest.mark.parametrize("query", ["rent", "FINGERPRINT:minutes_5 OR FINGERPRINT:recipe_5", "FINGERPRINT:gone"])
def test_shares_have_one_source(embedded_service: TestClient, query: str) -> None:
    """
    Where there is none, or more than one, nothing is measured.
    """
    for hit in asked(embedded_service, "search", query=query)["hits"]:
        assert hit["measured"] is None


@pytest.mark.parametrize("path", ["search", "explain"])
@pytest.mark.parametrize("query", ["FINGERPRINT:minutes_5", "rent", "FINGERPRINT:gone"])
@pytest.mark.parametrize("plan", [{}, {"plan": "calibrated", "metric": "a_in_b"}])
def test_an_address_and_a_body_ask_the_same(
    embedded_service: TestClient, path: str, query: str, plan: dict[str, str]
) -> None:
    """
    One shape, one default and one limit, however it is sent.
    """
    by_address = embedded_service.get(f"/api/{path}", params={"q": query, **plan})
    by_body = embedded_service.post(f"/api/{path}", json={"query": query, **plan})
    assert (by_address.status_code, by_address.json()) == (200, by_body.json())
    for rows, status in ((10_000, 200), (10_001, 400)):
        answers = [
            embedded_service.get(f"/api/{path}", params={"q": query, "rows": rows}),
            embedded_service.post(f"/api/{path}", json={"query": query, "rows": rows}),
        ]
        assert [answer.status_code for answer in answers] == [status] * 2
    assert "limit" in embedded_service.get(f"/api/{path}", params={"q": query, "limit": 5}).json()["error"]["message"]


def test_a_mistake_has_its_place(embedded_service: TestClient) -> None:
    """
    As with `GET /api/search`.
    """
    for path in ("search", "explain"):
        answer = embedded_service.post(f"/api/{path}", json={"query": "FINGERPRINT:a_140"})
        assert (answer.status_code, answer.json()["error"]["span"]) == (400, {"start": 14, "end": 17})


def test_explain_with_a_text(service: TestClient) -> None:
    """
    The plan of the query, and how each calibrated FINGERPRINT finds its documents; a stock one has its whole plan.
    """
    body = {"query": "FINGERPRINT:source_20 AND rent", "source": MINUTES, "metric": "contains", "plan": "calibrated"}
    told = asked(service, "explain", **body)
    assert [each["source"] for each in told["fingerprints"]] == ["source"]
    assert told["fingerprints"][0]["plan"][:2] == [
        "find documents that contain at least 20 % of the source",
        "the source has 79 distinct shingles",
    ]
    assert any("'rent'" in line for line in told["plan"])
    assert asked(service, "explain", **{**body, "plan": "stock"})["fingerprints"] == []


def test_compare(service: TestClient) -> None:
    """
    A document and a text: exact shares, one passage, and texts as far as they are asked for.
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
    A character beyond 16 bits is one.
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
    Neither or both: 400; a document that there is not: 404. The message names it.
    """
    answer = service.post("/api/compare", json={"a": side, "b": {"id": "lease"}})
    assert answer.status_code == answer.json()["error"]["statusCode"] == status
    assert named in answer.json()["error"]["message"]


@pytest.mark.process
def test_the_text_of_a_file(embedded_service: TestClient) -> None:
    """
    As the command line reads it: in its encoding, and of HTML what a reader sees.
    """

    def read(name: str, content: bytes) -> Any:
        return asked(embedded_service, "text", name=name, content=base64.b64encode(content).decode())["text"]

    assert read("a.txt", "Grüße".encode("utf-16")) == "Grüße"
    assert read("a.html", b"<p>seen<script>unseen</script></p>").split() == ["seen"]
    assert read("a.txt", b"<p>all") == "<p>all"


@pytest.mark.process
def test_the_text_of_a_pdf(embedded_contracts: Store) -> None:
    """
    As it stands on the page; one that is encrypted, or longer than the service's settings allow, is 400 and why.
    """
    plain, secret = (base64.b64encode(pdf(SENTENCES[0], password=word)).decode() for word in ("", "x"))
    with TestClient(create_app(embedded_contracts), raise_server_exceptions=False) as service:
        assert asked(service, "text", name="a.pdf", content=plain)["text"].split() == SENTENCES[0].split()
        answer = service.post("/api/text", json={"name": "a.pdf", "content": secret})
        assert answer.status_code == 400
        assert "this PDF is encrypted" in answer.json()["error"]["message"]
    short = create_app(embedded_contracts, settings=Settings(max_file_text=20))
    with TestClient(short, raise_server_exceptions=False) as service:
        answer = service.post("/api/text", json={"name": "a.pdf", "content": plain})
        assert answer.status_code == 400
        assert "longer than 20 characters" in answer.json()["error"]["message"]


@pytest.mark.process
def test_a_file_for_which_there_is_no_time(embedded_contracts: Store) -> None:
    """
    503 and which setting it was, since nothing need be wrong with the file.
    """
    endless = base64.b64encode(b"<div>" * 3_000_000).decode()
    with TestClient(create_app(embedded_contracts, settings=Settings(request_timeout_seconds=1.0))) as service:
        answer = service.post("/api/text", json={"name": "a.html", "content": endless})
        assert answer.status_code == 503
        assert "Retry-After" in answer.headers
        assert "(setting request_timeout)" in answer.json()["error"]["message"]


@pytest.mark.parametrize(("content", "named"), [("=", "base64"), ("AAEC/w==", "not text")])
def test_a_file_that_is_no_text(embedded_service: TestClient, content: str, named: str) -> None:
    """
    400, and why.
    """
    answer = embedded_service.post("/api/text", json={"name": "a", "content": content})
    assert answer.status_code == 400
    assert named in answer.json()["error"]["message"]
