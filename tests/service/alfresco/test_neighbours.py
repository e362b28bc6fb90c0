"""Tests of the routes that clients call besides the search: the current user, the repository's description, a hit's
node.
"""

from __future__ import annotations

import base64
from importlib.metadata import version

import pytest
from starlette.testclient import TestClient

from tests.service.alfresco.test_routes import entries
from tests.service.contracts import NODE
from whorl import Store
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.service.paths import DISCOVERY, NODES, PEOPLE, SEARCH, TICKETS
from whorl.settings.settings import Settings


def test_a_node_of_a_hit(service: TestClient) -> None:
    """
    A node is found by the id of its entry, with the same basic keys, and by its DBID or its own id.
    """
    (hit,) = [each for each in entries(service, "FINGERPRINT:lease") if each["name"] == "lease.txt"]
    node = service.get(f"{NODES}/{hit['id']}").json()["entry"]
    assert node["id"] == NODE
    assert {**hit, "search": None} == {**{name: node[name] for name in hit if name != "search"}, "search": None}
    assert node["aspectNames"] == ["cm:titled", "sys:referenceable"]
    assert node["properties"]["cm:title"] == "The lease"
    assert "path" not in node
    assert service.get(f"{NODES}/1234").json()["entry"] == service.get(f"{NODES}/lease").json()["entry"] == node


def test_what_of_a_node(embedded_service: TestClient) -> None:
    """
    `include` takes a list or names separated by commas; `fields` leaves out all other keys.
    """
    asked = {"include": "path,allowableOperations,permissions,isFavorite", "fields": "id,path"}
    node = embedded_service.get(f"{NODES}/lease", params=asked).json()["entry"]
    assert node.keys() == {"id", "path"}
    node = embedded_service.get(f"{NODES}/lease?include=isLink&include=isFavorite").json()["entry"]
    assert (node["isLink"], node["isFavorite"]) == (False, False)


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        (f"{NODES}/gone", 404, "'gone'"),
        (f"{NODES}/-root-", 404, "'-root-'"),
        (f"{NODES}/lease?include=everything", 400, "include"),
        (f"{NODES}/lease?relativePath=a", 400, "relativePath"),
    ],
)
def test_no_such_node(embedded_service: TestClient, path: str, status: int, said: str) -> None:
    """
    An unknown node is a 404 in Alfresco's shape.
    """
    answer = embedded_service.get(path)
    assert answer.status_code == answer.json()["error"]["statusCode"] == status
    assert said in answer.json()["error"]["briefSummary"]


def test_who_asks(embedded_contracts: Store) -> None:
    """
    A ticket or password gives its user, a key gives no name, and requests without credentials are refused.
    """
    service = TestClient(create_app(embedded_contracts, Credentials(("key",), ("änn", "secret"))))
    ticket = service.post(TICKETS, json={"userId": "änn", "password": "secret"}).json()["entry"]["id"]

    def basic(text: str, encoding: str = "utf-8") -> str:
        return "Basic " + base64.b64encode(text.encode(encoding)).decode()

    ways = {basic("änn:secret"): "änn", basic("änn:secret", "latin-1"): "änn", basic(f"ROLE_TICKET:{ticket}"): "änn",
            "Bearer key": "guest"}  # fmt: skip
    for authorization, name in ways.items():
        person = service.get(f"{PEOPLE}/-me-", headers={"Authorization": authorization}).json()["entry"]
        assert (person["id"], person["firstName"], person["enabled"]) == (name, name, True)
    for path in (f"{PEOPLE}/-me-", DISCOVERY, f"{NODES}/lease"):
        assert service.get(path).status_code == 401


def test_what_this_is(embedded_service: TestClient) -> None:
    """
    The description names whorl and its version, and no feature of a repository.
    """
    repository = embedded_service.get(DISCOVERY).json()["entry"]["repository"]
    assert repository["version"]["display"] == f"whorl {version('whorl')}"
    assert not any(repository["status"].values())


def test_pages_of_allowed_origins(embedded_contracts: Store) -> None:
    """
    Preflights of allowed origins are answered, and their pages may read answers and errors; other origins may do
    neither.
    """
    ours, theirs = "https://app.example.org", "https://other.example"
    settings = Settings(allowed_origins=(ours,))
    service = TestClient(create_app(embedded_contracts, Credentials(("key",)), settings))
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    preflight = service.options(SEARCH, headers={"Origin": ours, **asks})
    assert preflight.status_code == 200
    assert preflight.headers["Access-Control-Allow-Origin"] == ours
    assert "authorization" in preflight.headers["Access-Control-Allow-Headers"]
    refused = service.options(SEARCH, headers={"Origin": theirs, **asks})
    assert "Access-Control-Allow-Origin" not in refused.headers
    body = {"query": {"query": "lease"}}
    key = {"Authorization": "Bearer key", "Sec-Fetch-Site": "cross-site"}
    for headers, status, allowed in (
        ({"Origin": ours, **key}, 200, ours),
        ({"Origin": ours, "Sec-Fetch-Site": "cross-site"}, 401, ours),
        ({"Origin": theirs, **key}, 403, None),
    ):
        answer = service.post(SEARCH, json=body, headers=headers)
        assert (answer.status_code, answer.headers.get("Access-Control-Allow-Origin")) == (status, allowed)
    closed = TestClient(create_app(embedded_contracts))
    assert "Access-Control-Allow-Origin" not in closed.options(SEARCH, headers={"Origin": ours, **asks}).headers
