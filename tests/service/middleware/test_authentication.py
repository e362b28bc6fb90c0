"""Tests of authentication: keys, passwords and tickets, in every form that Alfresco's clients send."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.service.limited import limited
from whorl import Store
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.service.paths import SEARCH, TICKETS

USER, PASSWORD = "ann", "p\u00e4ss:w\u00f6rd"
GOOD = {"query": {"query": "*"}}


def basic(text: str, encoding: str = "utf-8") -> str:
    return "Basic " + base64.b64encode(text.encode(encoding)).decode()


@pytest.fixture
def asking(embedded_contracts: Store) -> Iterator[TestClient]:
    """Client of a service with a user and without a key."""
    with TestClient(create_app(embedded_contracts, Credentials(user=(USER, PASSWORD)))) as made:
        yield made


@pytest.fixture
def ticket(asking: TestClient) -> str:
    answer = asking.post(TICKETS, json={"userId": USER, "password": PASSWORD})
    assert answer.status_code == 201
    assert answer.json().keys() == {"entry"}
    entry = answer.json()["entry"]
    assert entry["userId"] == USER
    return str(entry["id"])


def status(service: TestClient, authorization: str = "", query: str = "") -> int:
    headers = {"Authorization": authorization} if authorization else {}
    return int(service.post(SEARCH + query, json=GOOD, headers=headers).status_code)


def test_a_password(asking: TestClient) -> None:
    """
    A password works in UTF-8 and in Latin-1, on whorl's own and on Alfresco's routes.
    """
    for encoding in ("utf-8", "latin-1"):
        given = basic(f"{USER}:{PASSWORD}", encoding)
        assert status(asking, given) == 200
        assert asking.get("/api/v1/search?q=*", headers={"Authorization": given}).status_code == 200


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Basic",
        "Basic ",
        "Basic ???",
        "Bearer ",
        "Bearer None",
        basic(""),
        basic(":"),
        basic(USER),
        basic(f"{USER}:"),
        basic(f"{USER}:{PASSWORD} "),
        basic(f"x{USER}:{PASSWORD}"),
        basic("ROLE_TICKET:"),
        basic("ROLE_TICKET:TICKET_0"),
        basic("TICKET_0"),
        basic("TICKET_"),
        f"{USER}:{PASSWORD}".encode().decode("latin-1"),
    ],
)
def test_what_does_not_do(asking: TestClient, given: str) -> None:
    """
    Invalid credentials are a 401 with a challenge, in the shape of the route's errors.
    """
    headers = {b"Authorization": given.encode("latin-1")}
    answer = asking.post(SEARCH, json=GOOD, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")
    assert "briefSummary" in answer.json()["error"]
    answer = asking.get("/api/v1/search?q=*", headers=headers)
    assert answer.status_code == 401
    assert "message" in answer.json()["error"]
    assert asking.get("/healthz").status_code == 200


def test_a_ticket(asking: TestClient, ticket: str) -> None:
    """
    A ticket works as ROLE_TICKET's password, alone, as a user without a password, and in the address.
    """
    for given in (basic(f"ROLE_TICKET:{ticket}"), basic(ticket), basic(f"{ticket}:")):
        assert status(asking, given) == 200
    assert status(asking, query=f"?alf_ticket={ticket}") == 200
    assert status(asking, query=f"?alf_ticket={ticket}x") == 401
    # A ticket in the address does not make up for a wrong header.
    assert status(asking, basic("x:y"), f"?alf_ticket={ticket}") == 401


def test_a_ticket_is_validated_and_ended(asking: TestClient, ticket: str) -> None:
    """
    GET returns the ticket, DELETE ends it, and afterwards it is invalid.
    """
    me, headers = f"{TICKETS}/-me-", {"Authorization": basic(f"ROLE_TICKET:{ticket}")}
    assert asking.get(me, headers=headers).json() == {"entry": {"id": ticket}}
    assert asking.get(f"{me}?alf_ticket={ticket}").json() == {"entry": {"id": ticket}}
    ended = asking.delete(me, headers=headers)
    assert (ended.status_code, ended.content) == (204, b"")
    assert asking.get(me, headers=headers).status_code == 401
    assert asking.delete(me, headers=headers).status_code == 401
    assert status(asking, headers["Authorization"]) == 401


def test_a_password_is_no_ticket(asking: TestClient) -> None:
    """
    A ticket's routes answer a password with 400, like Alfresco.
    """
    headers = {"Authorization": basic(f"{USER}:{PASSWORD}")}
    for method in ("GET", "DELETE"):
        assert asking.request(method, f"{TICKETS}/-me-", headers=headers).status_code == 400


@pytest.mark.parametrize(
    ("body", "status_code"),
    [
        ({"userId": USER, "password": "wrong"}, 403),
        ({"userId": "bob", "password": PASSWORD}, 403),
        ({"userId": "", "password": ""}, 403),
        ({"userId": f"{USER}:p\u00e4ss", "password": "w\u00f6rd"}, 403),
        ({"userId": "\ud800", "password": "\ud800"}, 403),
        ({"userId": USER}, 400),
        ({"userId": USER, "password": None}, 400),
        ({}, 400),
    ],
)
def test_a_log_in_that_fails(asking: TestClient, body: dict[str, str | None], status_code: int) -> None:
    """
    A log-in with a wrong name or password is a 403, with a missing one a 400.
    """
    answer = asking.post(TICKETS, content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert answer.status_code == answer.json()["error"]["statusCode"] == status_code
    assert PASSWORD not in answer.text


def test_a_stale_header_does_not_keep_anybody_out(asking: TestClient) -> None:
    """
    A log-in ignores an expired ticket in the header, because clients send their last one along.
    """
    body, headers = {"userId": USER, "password": PASSWORD}, {"Authorization": basic("ROLE_TICKET:TICKET_0")}
    assert asking.post(TICKETS, json=body, headers=headers).status_code == 201


def test_an_open_service_gives_tickets_to_anybody(embedded_service: TestClient) -> None:
    """
    A service without credentials gives tickets to clients that insist on logging in, and needs none.
    """
    answer = embedded_service.post(TICKETS, json={"userId": "who", "password": "ever"})
    assert answer.status_code == 201
    given = basic(f"ROLE_TICKET:{answer.json()['entry']['id']}")
    assert embedded_service.get(f"{TICKETS}/-me-", headers={"Authorization": given}).status_code == 200
    gone = embedded_service.get(f"{TICKETS}/-me-", headers={"Authorization": basic("TICKET_0")})
    assert gone.status_code == gone.json()["error"]["statusCode"] == 404
    assert status(embedded_service) == 200


def test_a_key_is_good_for_all_routes(embedded_contracts: Store) -> None:
    """
    A key works as a bearer token on all routes; without a user, no log-in succeeds.
    """
    service = TestClient(create_app(embedded_contracts, Credentials(api_keys=("key",))))
    assert status(service, "Bearer key") == 200
    assert status(service, "bearer key") == 200
    assert status(service, "Bearer keys") == 401
    assert status(service) == 401
    assert service.post(TICKETS, json={"userId": "a", "password": "key"}).status_code == 403


def test_several_keys(embedded_contracts: Store) -> None:
    """
    Each of several keys works, so that a key can be replaced while clients still use the other.
    """
    with limited(embedded_contracts, Credentials(api_keys=("old", "new"))) as service:
        for given, status in (("old", 200), ("new", 200), ("old,new", 401), ("ol", 401), ("", 401)):
            headers = {"Authorization": f"Bearer {given}"}
            assert service.get("/api/v1/search?q=*", headers=headers).status_code == status


KEY = "correct hörse"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer correct"},
        {"Authorization": "Basic Y29ycmVjdA=="},
        {"Host": "x/?"},
        {"Host": "x/y"},
        {"Host": "x#"},
    ],
    ids=str,
)
def test_without_the_key_nothing_is_searched(store: Store, headers: dict[str, str]) -> None:
    """
    Without the key, every route under /api is a 401, whatever the request; health needs no key.
    """
    client = TestClient(create_app(store, Credentials(api_keys=(KEY,))))
    for path in ("/api/v1/search?q=*", "/api/v1/search?q=(", "/api/v1/search", "/%61pi/search?q=*", "/api/v1/none"):
        answer = client.get(path, headers=headers)
        assert answer.status_code == answer.json()["error"]["statusCode"] == 401
    assert client.get("/healthz", headers=headers).status_code == 200


def test_with_the_key(store: Store) -> None:
    """
    A key may contain any characters.
    """
    client = TestClient(create_app(store, Credentials(api_keys=(KEY,))))
    headers = {b"Authorization": f"Bearer {KEY}".encode()}
    assert client.get("/api/v1/search?q=*", headers=headers).json()["total"] == 1
