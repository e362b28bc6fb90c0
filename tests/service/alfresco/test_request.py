"""Models of requests to Alfresco's API: accepted and refused parts, what they mean, and errors that name them."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import BeforeValidator, Field, ValidationError
from starlette.testclient import TestClient

from whorl import Store
from whorl.errors import EngineResponseError, SchemaError, StoreError
from whorl.service.alfresco.request import (
    AlfrescoModel,
    FacetRange,
    IntervalSet,
    UnsupportedFlag,
    UnsupportedKey,
    to_upper_case,
    wrap_in_list,
)
from whorl.service.app import create_app
from whorl.service.requests_and_responses import SEARCH, TICKETS
from whorl.settings.settings import Settings


class Example(AlfrescoModel):
    some_numbers: Annotated[list[int], BeforeValidator(wrap_in_list)] = Field(default_factory=list)
    kind: Annotated[str, BeforeValidator(to_upper_case)] = "A"
    limits: UnsupportedKey = None
    is_more: UnsupportedFlag = False
    size: Annotated[int, Field(ge=0)] | None = None


def test_names_and_defaults() -> None:
    """
    Python names map to Alfresco's camel case, and null means that a part is absent.
    """
    assert Example.model_validate({"someNumbers": None, "kind": None}) == Example()
    example = Example.model_validate({"someNumbers": [2, 3], "kind": "fc"})
    assert (example.some_numbers, example.kind) == ([2, 3], "FC")


@pytest.mark.parametrize("nothing", [{"limits": []}, {"limits": {}}, {"limits": {"facets": []}}, {"isMore": False}])
def test_empty_unsupported_parts_are_ignored(nothing: dict[str, Any]) -> None:
    """
    Empty or false parts that whorl does not support are treated as missing.
    """
    assert Example.model_validate(nothing) == Example()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"limits": [1]}, "leave it out"),
        ({"isMore": True}, "leave it out"),
        ({"isMore": 0}, "not a number"),
        ({"size": False}, "a number, not true or false"),
        ({"other": 1}, "other"),
    ],
)
def test_unsupported_parts_are_refused(wrong: dict[str, Any], named: str) -> None:
    """
    Unsupported parts, wrong types and unknown parts are errors.
    """
    with pytest.raises(ValidationError, match=named):
        Example.model_validate(wrong)


def test_null_is_described() -> None:
    """
    The schema allows null for every optional part.
    """
    described = Example.model_json_schema()["properties"]
    assert described.keys() == {"someNumbers", "kind", "limits", "isMore", "size"}
    assert all({"type": "null"} in part["anyOf"] for part in described.values())


GOOD: dict[str, Any] = {"query": {"query": "lease"}}

#: Pairs of a request and the words that the error has to contain: the part, then the value or the reason.
WRONG_FACETS: list[tuple[Any, tuple[str, ...]]] = [
    ({**GOOD, "facetQueries": [{"label": "x"}]}, ("facetQueries[0].query", "required")),
    ({**GOOD, "facetQueries": [{"query": "{!afts}a"}]}, ("{",)),
    ({**GOOD, "facetQueries": [{"query": "a", "label": "x"}, {"query": "b", "label": "x"}]}, ("label", "'x'")),
    ({**GOOD, "facetFormat": "V3"}, ("facetFormat", "V1")),
    ({**GOOD, "facetFields": {"facets": [{"label": "x"}]}}, ("facetFields.facets[0].field", "required")),
    ({**GOOD, "facetFields": {"facets": [{"field": "pages", "limit": 0}]}}, ("facets[0].limit", "1 or more")),
    ({**GOOD, "facetFields": {"facets": [{"field": "pages", "limit": 10_001}]}}, ("facets[0].limit", "10000")),
    ({**GOOD, "facetFields": {"facets": [{"field": "pages", "mincount": 0}]}}, ("facets[0].mincount", "1")),
    (
        {**GOOD, "facetFields": {"facets": [{"field": "pages", "mincount": 2**31}]}},
        ("facets[0].mincount", "2147483647"),
    ),
    ({**GOOD, "facetFields": {"facets": [{"field": "pages", "sort": "SIZE"}]}}, ("facets[0].sort", "INDEX")),
    ({**GOOD, "facetFields": {"facets": [{"field": "pages", "excludeFilters": ["t"]}]}}, ("'t'", "tag")),
    ({**GOOD, "facetFields": {"facets": [{"field": "pages"}, {"field": "pages"}]}}, ("label", "'pages'")),
    ({**GOOD, "facetFields": {"facets": [{"field": "content"}]}}, ("'content'", "words")),
    ({**GOOD, "facetIntervals": {"intervals": [{"field": "pages"}]}}, ("facetIntervals", "'pages'", "no sets")),
    ({**GOOD, "facetIntervals": {"intervals": [{"field": "pages", "sets": [{"start": 1}]}]}}, ("sets[0].end",)),
    ({**GOOD, "facetIntervals": {"intervals": [{"field": "pages", "sets": [{"start": "a", "end": "b"}]}]}}, ("'a'",)),
    ({**GOOD, "ranges": [{"field": "pages", "start": 1, "end": 2}]}, ("ranges[0].gap", "required")),
    ({**GOOD, "ranges": [{"field": "pages", "start": 1, "end": 2, "gap": 0}]}, ("gap", "above 0")),
    ({**GOOD, "ranges": [{"field": "pages", "start": 3, "end": 2, "gap": 1}]}, ("'2'", "not after '3'")),
    ({**GOOD, "ranges": [{"field": "pages", "start": 0, "end": 2, "gap": 1e-4}]}, ("1,000 steps",)),
    ({**GOOD, "ranges": [{"field": "pages", "start": "x", "end": 2, "gap": 1}]}, ("'x'", "is not a number")),
    ({**GOOD, "ranges": [{"field": "cm:created", "start": "2017", "end": "2018", "gap": "+1AGE"}]}, ("'AGE'",)),
    ({**GOOD, "ranges": [{"field": "cm:created", "start": "2017", "end": "2018", "gap": "-1DAY"}]}, ("forward",)),
    ({**GOOD, "stats": [{"field": "cm:creator"}]}, ("'cm:creator'", "statistics")),
    ({**GOOD, "stats": [{"field": "pages", "percentiles": [50]}]}, ("stats[0].percentiles", "leave it out")),
    ({**GOOD, "stats": [{"field": "pages", "distinctValues": True}]}, ("stats[0].distinctValues", "leave it out")),
    ({**GOOD, "stats": [{"field": "pages"}, {"field": "pages"}]}, ("stats", "'pages'")),
    ({**GOOD, "pivots": [{"key": "a"}]}, ("label of a facet field", "'a'")),
    ({**GOOD, "stats": [{"field": "pages"}], "pivots": [{"key": "pages"}]}, ("innermost",)),
]


@pytest.mark.parametrize(("body", "named"), WRONG_FACETS, ids=lambda body: json.dumps(body)[:60])
def test_a_wrong_facet_is_named(embedded_service: TestClient, body: Any, named: tuple[str, ...]) -> None:
    """
    An invalid facet is a 400 that names it.
    """
    message = error_message(embedded_service.post(SEARCH, json=body), 400)
    for name in named:
        assert name in message


@pytest.mark.parametrize("part", [IntervalSet, FacetRange])
def test_bounds_are_described_as_numbers_too(part: type[IntervalSet | FacetRange]) -> None:
    """
    The service's description says that every end and gap may be a number, since numbers are accepted.
    """
    described = part.model_json_schema()["properties"]
    for name in {"start", "end", "gap"} & described.keys():
        assert {schema.get("type") for schema in described[name]["anyOf"]} == {"string", "number"}


def error_message(answer: Any, status: int) -> str:
    """Check that an answer is an error of Alfresco's shape, and return its message."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    assert list(answer.json()) == ["error"]
    error = answer.json()["error"]
    assert list(error) == ["errorKey", "statusCode", "briefSummary", "stackTrace", "descriptionURL", "logId"]
    assert error["statusCode"] == status
    assert error["errorKey"].startswith("framework.exception.")
    number, message = re.fullmatch(r"(\d{8}) (.+)", error["briefSummary"], re.DOTALL).groups()  # type: ignore[union-attr]
    assert number
    assert "\n" not in message
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", error["logId"])
    assert "Traceback" not in answer.text
    return str(message)


#: Pairs of a request and the words that the error has to contain: the part, then the value or the reason.
WRONG: list[tuple[Any, tuple[str, ...]]] = [
    ({}, ("query", "required")),
    ({"query": None}, ("query", "required")),
    ({"query": {}}, ("query.query", "required")),
    ({"query": "lease"}, ("query", "dictionary")),
    ({"query": {"query": 7}}, ("query.query", "string")),
    ({"query": {"query": ""}}, ("the query is empty",)),
    ({"query": {"query": 'a "b'}}, ("never closed", "character 3")),
    ({"query": {"query": "FINGERPRINT:lease_140"}}, ("140",)),
    ({"query": {"query": "nothing:x"}}, ("'nothing'",)),
    ({"query": {"query": "{!lucene}*:*"}}, ("{",)),
    ({"query": {"query": "a\0"}}, ("control character",)),
    ({"query": {"query": "\ud800"}}, ("surrogate",)),
    ({"query": {"query": "x" * 70_000}}, ("65,536",)),
    ({"query": {"query": "(" * 300 + "x" + ")" * 300}}, ("levels deep",)),
    ({"query": {"query": "a", "language": "lucene"}}, ("query.language", "lucene", "afts")),
    ({"query": {"query": "a", "language": "CMIS"}}, ("query.language", "CMIS", "afts")),
    ({"query": {"query": "a", "language": "sql"}}, ("query.language", "'sql'")),
    ({"query": {"query": "a", "other": 1}}, ("query.other", "no such part")),
    ({**GOOD, "zoo": 1}, ("zoo", "no such part")),
    ({**GOOD, "paging": {"maxItems": 0}}, ("paging.maxItems",)),
    ({**GOOD, "paging": {"maxItems": "many"}}, ("paging.maxItems", "integer")),
    ({**GOOD, "paging": {"maxItems": 10_001}}, ("paging.maxItems", "10000")),
    ({**GOOD, "paging": {"skipCount": -1}}, ("paging.skipCount",)),
    ({**GOOD, "paging": {"skipCount": 10**30}}, ("paging.skipCount",)),
    ({**GOOD, "paging": {"rows": 1}}, ("paging.rows", "no such part")),
    ({**GOOD, "paging": 7}, ("paging",)),
    ({**GOOD, "include": ["permissions"]}, ("include[0]", "allowableOperations")),
    ({**GOOD, "include": ["path", "isFavorite"]}, ("include[1]",)),
    ({**GOOD, "include": ["association"]}, ("include[0]",)),
    ({**GOOD, "include": "path"}, ("include", "list")),
    ({**GOOD, "includeRequest": "perhaps"}, ("includeRequest", "boolean")),
    ({**GOOD, "fields": ["size"]}, ("fields[0]",)),
    ({**GOOD, "sort": [{"type": "RANDOM"}]}, ("sort[0].type", "SCORE")),
    ({**GOOD, "sort": [{"type": "FIELD"}]}, ("sort[0]", "names its field")),
    ({**GOOD, "sort": [{"type": "SCORE", "field": "a"}]}, ("sort[0]", "'a'")),
    ({**GOOD, "sort": [{"type": "DOCUMENT", "field": "score"}]}, ("sort[0]", "no field")),
    ({**GOOD, "sort": [{"field": "a", "ascending": "up"}]}, ("sort[0].ascending",)),
    ({**GOOD, "sort": [{"field": "nothing"}]}, ("'nothing'", "sort")),
    ({**GOOD, "sort": [{"field": "content"}]}, ("'content'", "words")),
    ({**GOOD, "sort": [{"field": "pages"}] * 11}, ("sort", "10")),
    ({**GOOD, "templates": [{"name": "A"}]}, ("templates[0].template", "required")),
    ({"query": {"query": "A:x"}, "templates": [{"name": "A", "template": "%("}]}, ()),
    ({**GOOD, "templates": [{"name": "A", "template": "%x"}, {"name": "a", "template": "%y"}]}, ("templates", "'a'")),
    ({**GOOD, "defaults": {"defaultFTSOperator": "NOT"}}, ("defaults.defaultFTSOperator", "AND")),
    ({**GOOD, "defaults": {"defaultFTSFieldOperator": 1}}, ("defaults.defaultFTSFieldOperator",)),
    ({**GOOD, "defaults": {"namespace": "a:b"}}, ("defaults.namespace", "'a:b'")),
    ({**GOOD, "defaults": {"textAttributes": [""]}}, ("defaults.textAttributes[0]",)),
    ({**GOOD, "defaults": {"textAttributes": ["nothing"]}}, ("'nothing'",)),
    ({**GOOD, "defaults": {"defaultFieldName": "nothing"}}, ("'nothing'",)),
    ({**GOOD, "defaults": {"operator": "AND"}}, ("defaults.operator",)),
    ({**GOOD, "filterQueries": [{}]}, ("filterQueries[0]", "query or queries")),
    ({**GOOD, "filterQueries": [{"query": "a", "queries": ["b"]}]}, ("filterQueries[0]", "either")),
    ({**GOOD, "filterQueries": [{"query": "nothing:x"}]}, ("'nothing'",)),
    ({**GOOD, "filterQueries": [{"query": "("}]}, ()),
    ({**GOOD, "filterQueries": [{"query": "a"}] * 101}, ("filterQueries", "100")),
    ({**GOOD, "filterQueries": [{"queries": ["a"] * 101}]}, ("filterQueries[0].queries", "at most 100")),
    ({**GOOD, "limits": {"permissionEvaluationCount": 5}}, ("limits", "does not do")),
    ({**GOOD, "highlight": {"fields": [{}]}}, ("highlight.fields[0].field", "required")),
    ({**GOOD, "highlight": {"snippetCount": 0}}, ("highlight.snippetCount",)),
    ({**GOOD, "spellcheck": {}}, ("spellcheck", "userQuery")),
    ({**GOOD, "scope": {"locations": ["versions"]}}, ("scope.locations", "versions")),
    ({**GOOD, "scope": {"locations": "deleted-nodes"}}, ("scope.locations", "deleted-nodes")),
    ({**GOOD, "scope": {"locations": ["attic"]}}, ("scope.locations", "'attic'")),
    ({**GOOD, "localization": {"timezone": "Europe/Berlin"}}, ("localization.timezone", "UTC")),
    ({**GOOD, "localization": {"locales": ["de"]}}, ("localization.locales", "does not do")),
    ([GOOD], ("the body",)),
    ("lease", ("the body",)),
    (None, ("the body",)),
]


@pytest.mark.parametrize(("body", "named"), WRONG, ids=lambda body: json.dumps(body)[:60])
def test_a_wrong_part_is_named(embedded_service: TestClient, body: Any, named: tuple[str, ...]) -> None:
    """
    A wrong part is a 400 that names it.
    """
    answer = embedded_service.post(SEARCH, content=json.dumps(body), headers={"Content-Type": "application/json"})
    message = error_message(answer, 400)
    for name in named:
        assert name in message


def test_the_same_request_without_the_mistake(embedded_service: TestClient) -> None:
    """
    The base request of all wrong ones is valid.
    """
    assert embedded_service.post(SEARCH, json=GOOD).status_code == 200


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body"),
        (b"{", "at character 2"),
        (b'{"query": {"query": "a"}} x', "is not JSON"),
        (b"\xff\xfe", ""),
        (b"[" * 100_000, ""),
        (b'{"paging": {"maxItems": 1' + b"0" * 5000 + b"}}", ""),
        (b'{"query": {"query": NaN}}', "query.query"),
    ],
    ids=["nothing", "cut off", "more", "no text", "nested", "a huge number", "NaN"],
)
def test_a_body_that_is_no_json(embedded_service: TestClient, body: bytes, message: str) -> None:
    """
    A body that is not JSON is a 400, whatever its bytes.
    """
    answer = embedded_service.post(SEARCH, content=body, headers={"Content-Type": "application/json"})
    assert message in error_message(answer, 400)


@pytest.mark.parametrize("media_type", ["", "text/plain", "application/x-www-form-urlencoded", "text/xml", "\xff"])
def test_a_body_of_another_content_type(embedded_service: TestClient, media_type: str) -> None:
    """
    Another content type is a 415 that names the right one; parameters of the right type are accepted.
    """
    headers = {b"Content-Type": media_type.encode("latin-1")} if media_type else {}
    answer = embedded_service.post(SEARCH, content=json.dumps(GOOD), headers=headers)
    assert "application/json" in error_message(answer, 415)
    headers = {b"Content-Type": b"Application/JSON; charset=utf-8"}
    assert embedded_service.post(SEARCH, content=json.dumps(GOOD), headers=headers).status_code == 200


def test_a_packed_body(embedded_service: TestClient) -> None:
    """
    A compressed body is a 415, also of an upload.
    """
    for path, kind in ((SEARCH, "application/json"), ("/api/v1/documents", "application/x-ndjson")):
        headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
        answer = embedded_service.post(path, content=gzip.compress(b"{}"), headers=headers)
        assert (answer.status_code, "without Content-Encoding, not gzip" in answer.text) == (415, True)
    headers = {"Content-Type": "application/json", "Content-Encoding": "identity"}
    assert embedded_service.post(SEARCH, content=json.dumps(GOOD), headers=headers).status_code == 200


def test_a_body_that_is_too_large(embedded_service: TestClient) -> None:
    """
    A body that is too large is a 413, with or without a Content-Length; a body of exactly the limit is read.
    """

    def padded(size: int) -> bytes:
        body = json.dumps(GOOD).encode()
        return body + b" " * (size - len(body))

    def parts(body: bytes) -> Iterator[bytes]:
        for at in range(0, len(body), 65_536):
            yield body[at : at + 65_536]

    headers = {"Content-Type": "application/json"}
    for body in (padded(Settings().max_search_bytes + 1), parts(padded(Settings().max_search_bytes + 1))):
        assert f"{Settings().max_search_bytes:,}" in error_message(
            embedded_service.post(SEARCH, content=body, headers=headers), 413
        )
    for body in (padded(Settings().max_search_bytes), parts(padded(Settings().max_search_bytes))):
        assert embedded_service.post(SEARCH, content=body, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", SEARCH, 405),
        ("PUT", SEARCH, 405),
        ("DELETE", SEARCH, 405),
        ("GET", "/alfresco/", 404),
        ("GET", "/alfresco/api/-default-/public/alfresco/versions/1/nodes/-root-", 404),
        ("POST", "/alfresco/api/-default-/public/search/versions/1/sql", 404),
        ("POST", SEARCH + "/", 404),
        ("GET", TICKETS, 405),
        ("GET", f"{TICKETS}/other", 404),
        ("GET", f"{TICKETS}/-me-", 400),
        ("DELETE", f"{TICKETS}/-me-", 400),
    ],
)
def test_routes_and_methods(embedded_service: TestClient, method: str, path: str, status: int) -> None:
    """
    An unknown path is a 404, and an unsupported method a 405.
    """
    json_body = GOOD if method in ("POST", "PUT") else None
    answer = embedded_service.request(method, path, json=json_body, follow_redirects=False)
    assert error_message(answer, status)


def test_parameters_in_the_address_are_refused(embedded_service: TestClient) -> None:
    """
    A parameter in the address is refused, not ignored.
    """
    answer = embedded_service.post(f"{SEARCH}?maxItems=5", json=GOOD)
    assert "'maxItems'" in error_message(answer, 400)


def test_many_mistakes_are_reported_briefly(embedded_service: TestClient) -> None:
    """
    A list of thousands of invalid items gets a short error message.
    """
    message = error_message(embedded_service.post(SEARCH, json={**GOOD, "include": ["x"] * 5000}), 400)
    assert "4,990 more" in message
    assert len(message) < 5000


@pytest.mark.parametrize(
    ("error", "status", "shown"),
    [
        (SchemaError("no field MINHASH"), 409, "no field MINHASH"),
        (EngineResponseError("Solr answers 500", status=500), 502, "Solr answers 500"),
        (StoreError("no room left"), 503, "no room left"),
        (RuntimeError("s3cret"), 500, "defect"),
    ],
)
def test_failures_of_the_store(embedded_contracts: Store, error: Exception, status: int, shown: str) -> None:
    """
    Failures of the store have Alfresco's shape; temporary ones have Retry-After, and a defect reveals no details.
    """

    class Failing(Store):
        def prepare(self, *_: Any, **__: Any) -> Any:
            raise error

    service = TestClient(create_app(Failing(embedded_contracts.engine)), raise_server_exceptions=False)
    answer = service.post(SEARCH, json=GOOD)
    assert shown in error_message(answer, status)
    assert ("Retry-After" in answer.headers) == (status == 503)
    assert "s3cret" not in answer.text


def test_a_solr_that_is_away(away: TestClient) -> None:
    """
    An unreachable Solr is a 503 with Retry-After; the message does not show the password.
    """
    answer = away.post(SEARCH, json=GOOD)
    assert error_message(answer, 503).startswith("no Solr answers at http://127.0.0.1:")
    assert answer.headers["Retry-After"] == "5"
    assert "s3cret" not in answer.text
