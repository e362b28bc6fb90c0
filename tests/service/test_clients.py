"""Tests with unmodified clients of Alfresco against `whorl serve` over a real Solr with real documents."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.service.alfresco_clients import (
    ALFRESCO_REST_CLIENT,
    PYTHON_ALFRESCO_API,
    REQUIRED,
    NoClientError,
    node_environment,
    python_environment,
)
from tests.service.contracts import NODE
from tests.service.served import serving

CLIENTS = Path(__file__).parent / "clients"
#: A password with characters that browsers and other clients encode differently.
USER, PASSWORD = "ann", "p\u00e4ss:w\u00f6rd"
_DEADLINE_SECONDS = 240.0

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(os.name != "posix", reason="environments are laid out as on POSIX"),
]


@pytest.fixture(scope="module")
def served(solr_contracts_url: str) -> Iterator[str]:
    """Address of a `whorl serve` with a user."""
    with serving(solr_contracts_url, user=USER, password=PASSWORD) as running:
        yield running.url
        assert "defect" not in running.events()


def unavailable(error: NoClientError) -> BaseException:
    """Return the exception for an unavailable client: a skip, or a failure if the client is required."""
    if os.environ.get(REQUIRED) == "1":
        return pytest.fail.Exception(f"{error} ({REQUIRED}=1 asks for it)", pytrace=False)
    return pytest.skip.Exception(str(error))


def client_output(command: Sequence[str | Path], url: str, **environment: str) -> Any:
    """Run a client's script, and return its output."""
    run = subprocess.run(
        [*map(str, command), url, USER, PASSWORD],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=_DEADLINE_SECONDS,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def python(name: str, pins: Sequence[str]) -> Path:
    try:
        return python_environment(name, pins)
    except NoClientError as error:
        raise unavailable(error) from None


def counts(facet: Any) -> dict[str, int]:
    """Return the count of each bucket of a facet, by label."""
    return {
        bucket["label"]: int(metric["value"]["count"])
        for bucket in facet["buckets"]
        for metric in bucket["metrics"]
        if metric["type"] == "count"
    }


def test_js_api(served: str) -> None:
    """
    The client logs in, sends the searches of Alfresco's applications, gets an error for a wrong one, and logs out.
    """
    try:
        node, folder = node_environment()
    except NoClientError as error:
        raise unavailable(error) from None
    saw = client_output([node, CLIENTS / "js_api.cjs"], served, NODE_PATH=str(folder / "node_modules"))
    assert saw["refused"] == 403
    assert saw["ticket"].startswith("TICKET_")
    listed = saw["found"]["list"]
    assert listed["pagination"]["totalItems"] == 2
    assert [entry["entry"]["name"] for entry in listed["entries"]] == ["lease.txt", "renewal.txt"]
    lease = listed["entries"][0]["entry"]
    assert lease["id"] == NODE
    assert lease["createdAt"] == "2017-04-10T10:52:30.868Z"  # The client returns a Date.
    assert lease["properties"]["cm:title"] == "The lease"
    assert lease["search"]["fingerprint"]["sharedTokens"] == lease["search"]["score"] == 512
    assert saw["neighbours"] == {"person": USER, "node": "lease.txt", "repository": "whorl"}
    page = saw["page"]["list"]
    first = page["entries"][0]["entry"]["search"]
    assert first["highlight"][0] == {"field": "cm:title", "snippets": ["The <b>lease</b>"]}
    facets = [(facet["type"], facet["label"], counts(facet)) for facet in page["context"]["facets"]]
    assert facets == [
        ("query", "dates", {"in 2017": 1}),
        ("field", "Creator", {"mjackson": 1}),
        ("field", "Site", {}),
        ("interval", "Created", {"past": 1}),
        ("range", "pages", {"[0 - 2)": 0, "[2 - 4)": 1}),
        ("pivot", "Creator", {"mjackson": 1}),
    ]
    assert page["context"]["spellCheck"] == {"type": "didYouMean", "suggestions": ["lease"]}
    status, summary = saw["mistake"]
    assert status == 400
    assert "(" in summary
    assert saw["gone"] == 401


def test_alfresco_rest_client(served: str) -> None:
    """
    By password and by ticket, the client gets nodes, scores and facet queries, and raises its own errors.
    """
    saw = client_output([python("alfresco-rest-client", ALFRESCO_REST_CLIENT), CLIENTS / "rest_client.py"], served)
    assert saw["BasicAuth"]["nodes"] == saw["TicketAuth"]["nodes"]
    for auth in ("BasicAuth", "TicketAuth"):
        nodes, listed, failed = (saw[auth][name] for name in ("nodes", "list", "failed"))
        assert [node[1] for node in nodes] == ["lease.txt", "renewal.txt", "minutes.txt"]
        assert nodes[0][0] == NODE
        assert nodes[0][2] == "2017-04-10 10:52:30.868000+00:00"
        assert nodes[0][3]["pages"] == 3
        assert (listed["pagination"]["count"], listed["pagination"]["hasMoreItems"]) == (2, True)
        assert listed["context"]["facetQueries"] == [{"label": "pages:1", "filterQuery": "pages:1", "count": 1}]
        assert listed["entries"][1]["entry"]["search"]["score"] > 400
        assert [failure[:2] for failure in failed] == [["InvalidArgumentError", 400]] * 2
        assert "cmis" in failed[1][2]
    assert saw["wrong"] == ["AuthenticationError", 401]


def test_python_alfresco_api(served: str) -> None:
    """
    By password and by ticket, the generated models find every key that they require.
    """
    saw = client_output([python("python-alfresco-api", PYTHON_ALFRESCO_API), CLIENTS / "generated.py"], served)
    assert saw["SimpleAuthUtil"] == saw["TicketAuthUtil"]
    page = saw["SimpleAuthUtil"]
    assert page["pagination"] == {"count": 2, "hasMoreItems": True, "totalItems": 3, "skipCount": 0, "maxItems": 2}
    assert page["request"] == "FINGERPRINT:lease_5"
    assert [entry[1] for entry in page["entries"]] == ["lease.txt", "renewal.txt"]
    identity, _, created, score, more = page["entries"][0]
    assert (identity, created, score) == (NODE, "2017-04-10 10:52:30.868000+00:00", 512.0)
    assert (more["fingerprint"]["jaccard"], more["fingerprint"]["exact"]) == (1.0, True)
    assert saw["wrong"] == 400
