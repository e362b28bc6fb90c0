"""Tests of the service's allowed host names, and of the web pages that may call it from a browser."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.limited import limited
from whorl import Store
from whorl.errors import ParameterError
from whorl.service.credentials import Credentials
from whorl.service.middleware.hosts import Hosts


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
    store: Store, listening: str, allowed: tuple[str, ...], host: str, is_admitted: bool
) -> None:
    """
    A foreign host name that resolves to this machine gets 403 on every route; the message names the setting that allows
    it.
    """
    hosts = Hosts(listening, allowed)
    assert hosts.admit(host) == is_admitted
    if host:
        with limited(store, hosts=hosts) as service:
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
        Hosts("127.0.0.1", [name])
    assert Hosts("127.0.0.1", ["docs.example.org", "fe80::1"]).admit("docs.example.org:8000")


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
@pytest.mark.parametrize(
    "credentials", [Credentials(), pytest.param(Credentials(user=("ann", "secret")), marks=pytest.mark.slow)]
)
def test_pages_of_other_sites(
    store: Store, credentials: Credentials, origin: str, site: str, is_admitted: bool
) -> None:
    """
    Requests for data must come from this site or an allowed one, because browsers add the user's credentials; the page
    itself can be linked from anywhere, and programs send no site.
    """
    told = {"Host": "localhost:8000", "Origin": origin, "Sec-Fetch-Site": site}
    headers = {name: value for name, value in told.items() if value}
    # The test client also accepts None as the user, but some of its releases do not declare this.
    user: Any = credentials.user
    with limited(store, credentials, Hosts("localhost", ["friend.example"])) as service:
        answers = [
            service.get("/api/v1/search?q=*", headers=headers, auth=user),
            service.post("/api/v1/similar", json={"id": "a"}, headers=headers, auth=user),
            service.delete("/api/v1/documents/none", headers=headers, auth=user),
        ]
        assert [answer.status_code for answer in answers] == ([200, 200, 404] if is_admitted else [403] * 3)
        assert is_admitted or "a page of another site" in answers[0].json()["error"]["message"]
        assert service.get("/", headers=headers).status_code == 200
