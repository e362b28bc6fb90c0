"""Tests of framing, host names, web pages, credentials, methods, paths and security headers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.service.limited import limited
from tests.service.served import listening, sending, serving
from whorl import Document, Store, open_store
from whorl.errors import ParameterError
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.service.middleware.request_checks import AllowedHosts
from whorl.service.requests_and_responses import SEARCH, TICKETS
from whorl.service.run import Connection
from whorl.settings.settings import Settings

pytestmark = pytest.mark.process
SMUGGLED = b"GET /api/v1/search?q=* HTTP/1.1\r\nHost: localhost\r\n\r\n"
PREFLIGHT = b"Origin: https://app.example\r\nAccess-Control-Request-Method: GET\r\n"


@pytest.fixture(scope="module")
def framed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("framed") / "store"
    with open_store(folder) as opened:
        opened.index([Document("a", "seven silver spoons shine softly")])
    with serving(folder) as served:
        yield served.url


def request(start: str, more: bytes = b"", version: str = "1.1") -> bytes:
    """Return a request with both headers; a second request follows its last chunk, within its content length."""
    head = f"{start} HTTP/{version}\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode() + more
    return head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED


def answer_to(url: str, sent: bytes) -> bytes:
    """Return all bytes until the service closes the connection."""
    with sending(url, sent) as connection:
        return b"".join(iter(lambda: connection.recv(65_536), b""))


@pytest.mark.parametrize(
    "start", ["POST /api/v1/search", "POST /api/v1/documents", f"POST {SEARCH}", f"POST {TICKETS}", "GET /healthz"]
)
def test_two_lengths_are_refused(start: str, framed: str) -> None:
    """
    Two lengths are a 400, and the connection is closed without an answer to the second request.
    """
    length = b"Content-Length: %d\r\n" % (5 + len(SMUGGLED))
    answer = answer_to(framed, request(start, length))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nconnection: close\r\n" in answer.lower()
    assert answer.count(b"HTTP/1.1 ") == 1


def test_chunks_of_an_old_client_are_refused(framed: str) -> None:
    """
    Chunks in HTTP/1.0 are refused. HTTP/1.0 does not define them, so a proxy of this version would see a different end
    of the request.
    """
    answer = answer_to(framed, request("POST /api/v1/search", version="1.0"))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("http", ["h11", "httptools"])
def test_preflights_have_one_length(store: Store, http: str) -> None:
    """
    Preflights with two lengths are refused, too, although they are answered before routing, with both parsers of
    uvicorn.
    """
    pytest.importorskip(http)
    app = create_app(store, settings=Settings(allowed_origins=("https://app.example",)))
    with listening(app, http) as url:
        answer = answer_to(url, request("OPTIONS /api/v1/search", PREFLIGHT + b"Content-Length: 60\r\n"))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.fixture(scope="module")
def called(store: Store) -> Iterator[tuple[TestClient, AllowedHosts]]:
    """A service, and its allowed hosts, which each test changes: a new service takes as long as many requests."""
    hosts = AllowedHosts("localhost")
    with limited(store, hosts=hosts) as service:
        yield service, hosts


@pytest.mark.parametrize(
    ("listening", "allowed", "host", "is_admitted"),
    [
        ("127.0.0.1", (), "localhost:8000", True),
        ("127.0.0.1", (), "LOCALHOST.", True),
        ("127.0.0.1", (), "127.0.0.1", True),
        ("127.0.0.1", (), "[::1]:8000", True),
        ("127.0.0.1", (), "attacker.example", False),
        ("127.0.0.1", (), "attacker.example:8000", False),
        ("127.0.0.1", (), "localhost.attacker.example", False),
        ("127.0.0.1", (), "127.0.0.1.attacker.example:80", False),
        ("127.0.0.1", (), "attacker.example#localhost", False),
        ("127.0.0.1", (), "", False),
        ("127.0.0.1", (), "192.168.1.5", False),
        ("192.168.1.5", (), "192.168.1.5:8000", True),
        ("search.example", (), "search.example", True),
        ("127.0.0.1", ("search.example",), "Search.Example:443", True),
        ("127.0.0.1", ("search.example",), "www.search.example", False),
        ("127.0.0.1", ("*",), "attacker.example", True),
        ("0.0.0.0", (), "192.168.1.5:8000", True),
        ("::", (), "[fe80::1]:8000", True),
        ("0.0.0.0", (), "attacker.example:8000", False),
    ],
)
def test_names_that_an_open_service_is_called_by(
    called: tuple[TestClient, AllowedHosts], listening: str, allowed: tuple[str, ...], host: str, is_admitted: bool
) -> None:
    """
    A foreign host name that resolves to this machine gets 403 on every route; the message names the setting that allows
    it.
    """
    service, hosts = called
    vars(hosts).update(vars(AllowedHosts(listening, allowed)))
    assert hosts.admit(host) == is_admitted
    if host:
        for path in ("/api/v1/search?q=*", "/healthz", "/", "/metrics", "/openapi.json"):
            answer = service.get(path, headers={"Host": host})
            assert answer.status_code == (200 if is_admitted else 403)
            assert is_admitted or "WHORL_ALLOWED_HOSTS" in answer.json()["error"]["message"]


@pytest.mark.parametrize("name", ["docs.example.org:8000", "*.example.org", "http://docs.example.org", "a b", ""])
def test_allowed_hosts_are_names(name: str) -> None:
    """
    An allowed host that no browser could send is a settings error at start, since it would never match.
    """
    with pytest.raises(ParameterError, match="allowed_hosts"):
        AllowedHosts("127.0.0.1", [name])
    assert AllowedHosts("127.0.0.1", ["docs.example.org", "fe80::1"]).admit("docs.example.org:8000")


@pytest.fixture(
    scope="module", params=[Credentials(), pytest.param(Credentials(user=("ann", "secret")), marks=pytest.mark.slow)]
)
def signed_in(request: pytest.FixtureRequest, store: Store) -> Iterator[TestClient]:
    """Client of a service that allows another site, with a password or without."""
    with limited(store, request.param, AllowedHosts("localhost", ["friend.example"])) as service:
        service.auth = request.param.user
        yield service


@pytest.mark.parametrize(
    ("origin", "site", "is_admitted"),
    [
        ("", "", True),
        ("", "same-origin", True),
        ("", "none", True),
        ("", "cross-site", False),
        ("", "same-site", False),
        ("http://localhost:8000", "same-origin", True),
        ("http://localhost:3000", "same-site", False),
        ("http://localhost:8000", "", True),
        ("https://attacker.example", "cross-site", False),
        ("https://attacker.example", "", False),
        ("https://localhost.attacker.example", "", False),
        ("null", "cross-site", False),
        ("null", "", False),
        ("https://[", "", False),
        ("https://friend.example", "cross-site", True),
        ("https://friend.example:8443", "", True),
    ],
)
def test_pages_of_other_sites(signed_in: TestClient, origin: str, site: str, is_admitted: bool) -> None:
    """
    Requests for data must come from this site or an allowed one, because browsers add the user's credentials. The page
    itself can be linked from anywhere, and programs, which send no site, are admitted.
    """
    values = {"Host": "localhost:8000", "Origin": origin, "Sec-Fetch-Site": site}
    headers = {name: value for name, value in values.items() if value}
    answers = [
        signed_in.get("/api/v1/search?q=*", headers=headers),
        signed_in.post("/api/v1/similar", json={"id": "a"}, headers=headers),
        signed_in.delete("/api/v1/documents/none", headers=headers),
    ]
    assert [answer.status_code for answer in answers] == ([200, 200, 404] if is_admitted else [403] * 3)
    assert is_admitted or "a page of another site" in answers[0].json()["error"]["message"]
    assert signed_in.get("/", headers=headers).status_code == 200


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
def test_invalid_credentials_are_challenged(asking: TestClient, given: str) -> None:
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
    A password in a request about tickets is a 400, as in Alfresco.
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
    Each of several keys works, so that a key can be replaced while clients still use the old one.
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


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/v1/search", "GET, HEAD, POST"),
        ("DELETE", "/api/v1/documents", "GET, HEAD, POST"),
        ("POST", "/api/v1/documents/lease", "DELETE, GET, HEAD"),
        ("GET", SEARCH, "POST"),
        ("PATCH", f"{TICKETS}/-me-", "DELETE, GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
        ("TRACE", "/", "GET, HEAD"),
    ],
)
def test_an_unsupported_method(embedded_service: TestClient, method: str, path: str, allowed: str) -> None:
    """
    A 405 lists the methods of all routes at the path, before the body is checked.
    """
    answer = embedded_service.request(method, path, content=b"x")
    assert (answer.status_code, answer.headers["Allow"]) == (405, allowed)
    assert method in answer.text


def test_no_route(embedded_service: TestClient) -> None:
    """
    An unknown path is a 404, whatever the body.
    """
    assert embedded_service.post("/api/v1/nothing", content=b"x").status_code == 404


@pytest.mark.parametrize(
    "path", ["/healthz", "/api/v1/search?q=lease", "/api/v1/search?q=(", "/nothing", "/", "/page/main.js"]
)
def test_every_answer_is_what_it_says(embedded_service: TestClient, path: str) -> None:
    """
    Headers of every answer forbid browsers to guess its type, to frame it, and to cache it unchecked.
    """
    headers = embedded_service.get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] in ("no-store", "no-cache")


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/healthz", "/readyz", "/openapi.json",
                                  "/api/v1/search?q=lease", "/api/v1/documents/lease", "/api/v1/documents/gone",
                                  "/nothing"])  # fmt: skip
def test_the_same_without_a_body(embedded_service: TestClient, path: str) -> None:
    """
    HEAD has the status and headers of GET, with the length of its body, and no body.
    """
    head, get = embedded_service.head(path), embedded_service.get(path)
    assert head.content == b""
    varying = {"x-request-id"}
    assert head.status_code == get.status_code
    assert {name: value for name, value in head.headers.items() if name not in varying} == {
        name: value for name, value in get.headers.items() if name not in varying
    }


@pytest.mark.process
def test_no_defect_on_a_socket(tmp_path: Path) -> None:
    """
    A real server keeps the connection open after HEAD, and the service counts no error.
    """
    with (
        open_store(tmp_path) as store,
        listening(create_app(store), Connection) as url,
        sending(url, b"") as connection,
    ):
        connection.sendall(b"HEAD /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n" * 2)
        connection.sendall(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        received = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert received.count(b"HTTP/1.1 200 OK") == 3
    assert b"whorl_errors_total{" not in received


def test_head_without_get(embedded_service: TestClient) -> None:
    """
    A route without GET refuses HEAD.
    """
    answer = embedded_service.head("/api/v1/similar")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
