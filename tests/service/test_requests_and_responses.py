"""Kinds of requests by their paths, and errors as responses: each has a status and one of two shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.service.limited import PATIENCE_SECONDS, limited, refused
from tests.service.served import Hung
from whorl import DocumentCount, Store, open_store, parse
from whorl.errors import (
    DocumentError,
    EngineError,
    EngineUnavailableError,
    ParameterError,
    QueryError,
    SchemaError,
    SchemeMismatchError,
    StoppedError,
    StoreError,
    UnknownDocumentError,
    WhorlError,
)
from whorl.service.app import create_app
from whorl.service.middleware import limits
from whorl.service.requests_and_responses import (
    DOCUMENTS,
    SEARCH,
    TICKETS,
    accesses_store,
    failure,
    failure_of,
    has_alfresco_format,
    is_log_in,
    is_upload,
    may_contain_text,
    status_of,
)

LONG = "x" * 50_000


@pytest.mark.slow
def test_an_engine_that_is_away(away: TestClient) -> None:
    """
    A 503 has Retry-After and the engine's address without its password; routes without credentials hide the address.
    """
    for path, said in (
        ("/readyz", "the store does not answer"),
        ("/api/v1/search?q=FINGERPRINT:a", "no Solr answers at http://127.0.0.1:"),
    ):
        answer = away.get(path)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert answer.json()["error"]["message"].startswith(said)
        assert "s3cret" not in answer.text
    assert "127.0.0.1" not in away.get("/readyz").text


def test_a_mistake_is_one_although_the_engine_is_away(away: TestClient) -> None:
    """
    An invalid query is a 400 even if the engine is unreachable.
    """
    assert away.get("/api/v1/search", params={"q": "("}).status_code == 400


@pytest.mark.process
def test_an_engine_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A 503 says that the engine did not answer in time, within the grace period.
    """
    monkeypatch.setattr(limits, "_GRACE_SECONDS", PATIENCE_SECONDS)
    with Hung() as hung, open_store(hung.url) as store, limited(store, request_timeout_seconds=0.2) as service:
        message = refused(service.get("/api/v1/search?q=FINGERPRINT:a"), 503)
    assert "did not answer in the time that this request has" in message


class Failing(Store):
    """A store that raises one error."""

    def __init__(self, store: Store, error: Exception) -> None:
        super().__init__(store.engine)
        self.error = error

    def count(self, query: str | None = None) -> DocumentCount:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status"), [(SchemaError("no field"), 409), (WhorlError("other"), 500), (RuntimeError("s3cret"), 500)]
)
def test_other_failures(embedded_contracts: Store, error: Exception, status: int) -> None:
    """
    A missing requirement of the collection is a 409 without Retry-After; a defect reveals no details.
    """
    answer = TestClient(create_app(Failing(embedded_contracts, error)), raise_server_exceptions=False).get("/readyz")
    assert answer.status_code == status
    assert "Retry-After" not in answer.headers
    assert "s3cret" not in answer.text


def kinds(kind: type[WhorlError] = WhorlError) -> Iterator[type[WhorlError]]:
    """Yield every class of error."""
    yield kind
    for subclass in kind.__subclasses__():
        yield from kinds(subclass)


def test_every_error_has_a_status() -> None:
    """
    User errors are 400, missing items 404, temporary failures 503, and missing requirements of a collection 409.
    """
    own = {
        QueryError: 400, ParameterError: 400, UnknownDocumentError: 404, DocumentError: 400, SchemeMismatchError: 500,
        StoreError: 503, StoppedError: 503, EngineError: 502, EngineUnavailableError: 503, SchemaError: 409,
        WhorlError: 500,
    }  # fmt: skip
    for kind in kinds():
        nearest = next(ancestor for ancestor in kind.__mro__ if ancestor in own)
        assert status_of(kind.__new__(kind)) == own[nearest], kind


@pytest.mark.parametrize(("status", "is_told"), [(400, False), (404, False), (429, True), (502, False), (503, True)])
@pytest.mark.parametrize("path", ["/api/v1/search", SEARCH])
def test_retry_after(path: str, status: int, is_told: bool) -> None:
    """
    Temporary failures have Retry-After in both shapes; further headers stay.
    """
    answer = failure(path, status, "m", headers={"X-Other": "1"})
    assert ("Retry-After" in answer.headers) is is_told
    assert (answer.status_code, answer.headers["X-Other"]) == (status, "1")


def test_two_shapes() -> None:
    """
    whorl's own shape has the parts of the error; Alfresco's has its keys and a message on one line with the position in
    words.
    """
    with pytest.raises(QueryError) as raised:
        parse("FINGERPRINT:a_140")
    own = json.loads(bytes(failure_of("/api/v1/search", raised.value, {"more": 1}).body))
    assert own["error"]["span"] == {"start": 14, "end": 17}
    assert (own["error"]["statusCode"], own["error"]["message"], own["error"]["more"]) == (400, raised.value.message, 1)
    error = json.loads(bytes(failure_of(SEARCH, raised.value).body))["error"]
    assert error.keys() == {"errorKey", "statusCode", "briefSummary", "stackTrace", "descriptionURL", "logId"}
    assert error["errorKey"] == "framework.exception.InvalidArgument"
    number, _, message = error["briefSummary"].partition(" ")
    assert (len(number), number.isdecimal()) == (8, True)
    assert message.startswith(f"{raised.value.message}, at character 15 ('140')")
    assert "\n" not in message


def test_half_a_surrogate_pair_is_escaped() -> None:
    """
    A lone surrogate from a request is returned as an escape, because UTF-8 cannot encode it.
    """
    body = bytes(failure("/api/v1/search", 400, "no '\ud800'").body)
    assert body.isascii()
    assert json.loads(body)["error"]["message"] == "no '\ud800'"


def test_mistakes_in_a_request_are_named_by_its_parts(embedded_service: TestClient) -> None:
    """
    An error names the first ten invalid parts in one line and counts the others; invalid JSON has a position.
    """
    wrong = {f"x{number}": 1 for number in range(13)}
    error = embedded_service.post("/api/v1/compare", json={"a": {"id": "a"}, "b": {"id": "b"}, **wrong}).json()["error"]
    assert error["message"].split("; ") == [
        *(f"x{number}: there is no such part" for number in range(10)),
        "and 3 more",
        "choose from a, b, boilerplate, common_above, differences, texts",
    ]
    error = embedded_service.post(SEARCH, json={"query": {"query": "*"}, "sort": [{"type": "FIELD", "ascending": 7}]})
    assert "sort[0]." in error.json()["error"]["briefSummary"]
    error = embedded_service.get("/api/v1/search?query=x").json()["error"]
    assert error["message"].startswith("query: there is no such part; choose from ")
    assert ", q, " in error["message"]
    answer = embedded_service.post(
        "/api/v1/compare", content='{"a": }', headers={"Content-Type": "application/json"}
    ).json()["error"]
    assert (answer["statusCode"], answer["message"]) == (400, "the body is not JSON: Expecting value, at character 7")
    content = '{"query": "*", "rows": ' + "9" * 5_000 + "}"
    answer = embedded_service.post("/api/v1/search", content=content, headers={"Content-Type": "application/json"})
    assert answer.json()["error"] == {"statusCode": 400, "message": "a whole number has more than 4,300 digits"}


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/api/v1/none", 404, "there is nothing at /api/v1/none"),
        ("PUT", "/api/v1/search", 405, "/api/v1/search does not take PUT"),
    ],
)
def test_unknown_paths_and_methods(
    embedded_service: TestClient, method: str, path: str, status: int, message: str
) -> None:
    """
    The message names the path or the method.
    """
    answer = embedded_service.request(method, path)
    assert answer.json() == {"error": {"statusCode": status, "message": message}}


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("similar", {"id": "a", LONG: 1}, "there is no such part"),
        ("similar", {"id": LONG}, "the store has no document"),
        ("similar", {"id": "a", "metric": LONG}, "metric"),
        ("similar", {"text": "a b c d e f", "common_above": LONG, "ignore_common": True}, "got"),
        ("search", {"query": f"{LONG}:word"}, "the store has no field"),
        ("search", {"query": "word", "sort": LONG}, "sort"),
        ("sources", {"text": "a b c d e f", "without": [LONG]}, "without"),
        ("compare", {"a": {"id": LONG}, "b": {"text": "b"}}, "no document"),
        (LONG, {}, "there is nothing at"),
    ],
)
def test_errors_shorten_long_names_and_values(
    embedded_service: TestClient, path: str, body: dict[str, object], message: str
) -> None:
    """
    An error repeats about 80 characters of a name or a value in the request.
    """
    error = embedded_service.post(f"/api/v1/{path}", json=body).json()["error"]
    assert message in error["message"]
    assert len(error["message"]) + len(error.get("hint", "")) < 600


@pytest.mark.parametrize("path", ["/api/v1/search", SEARCH])
def test_a_body_that_is_not_utf_8(embedded_service: TestClient, path: str) -> None:
    """
    The error for a body in Latin-1 has the byte, its position and a remedy.
    """
    body = '{"query": "caf\u00e9"}'.encode("latin-1")
    answer = embedded_service.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert "the body is not in UTF-8, as JSON is: byte 0xe9 at position 14; encode it as UTF-8" in answer.text


@pytest.mark.parametrize(
    ("path", "alfresco", "of_the_store"),
    [
        (SEARCH, True, True),
        ("/alfresco", True, False),
        ("/alfresco/", True, True),
        ("/alfresco/none", True, True),
        ("/alfrescos", False, False),
        ("/Alfresco/x", False, False),
        ("/api/v1/search", False, True),
        ("/api/v1/", False, True),
        ("/api", False, False),
        ("/page/api/", False, False),
        ("//api/v1/search", False, False),
        ("", False, False),
    ],
)
def test_paths(path: str, alfresco: bool, of_the_store: bool) -> None:
    """
    Paths are compared by whole parts, from the beginning.
    """
    assert (has_alfresco_format(path), accesses_store(path)) == (alfresco, of_the_store)


def test_routes_that_need_no_key(embedded_contracts: Store) -> None:
    """
    Among the described routes only health needs no key; a new route is below a path that needs one.
    """
    described = create_app(embedded_contracts).openapi()["paths"]
    assert len(described) > 10
    assert {path for path in described if not accesses_store(path)} == {"/healthz", "/readyz"}


def test_a_log_in_and_an_upload_are_posts() -> None:
    """
    Log-ins and uploads are POST requests to exactly their paths.
    """
    for path, kind in ((TICKETS, is_log_in), (DOCUMENTS, is_upload)):
        assert kind({"method": "POST", "path": path})
        assert not kind({"method": "GET", "path": path})
        assert not kind({"method": "POST", "path": f"{path}/-me-"})
        assert not kind({"method": "POST", "path": f"{path}/"})


def test_bodies_with_texts(embedded_contracts: Store) -> None:
    """
    Exactly the described routes whose bodies have a text or a file accept long bodies.
    """
    description = create_app(embedded_contracts).openapi()
    models = description["components"]["schemas"]

    def has_text(body: Any) -> bool:
        schema = body["content"]["application/json"]["schema"]
        properties = models[schema["$ref"].rpartition("/")[2]]["properties"]
        return not properties.keys().isdisjoint(("text", "a", "content"))

    bodies = {
        path: methods["post"]["requestBody"]
        for path, methods in description["paths"].items()
        if "requestBody" in methods.get("post", {}) and path != DOCUMENTS
    }
    assert len(bodies) > 5
    assert {path for path in bodies if may_contain_text({"method": "POST", "path": path})} == {
        path for path, body in bodies.items() if has_text(body)
    }
