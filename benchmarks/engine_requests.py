"""Sends requests to Solr without whorl: recorded ones again, and `{!min_hash}` queries written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from urllib.parse import urljoin

import requests
import urllib3

from whorl.engine.server_engine import ServerAccess, ServerConnections
from whorl.engine.solr.request_body import join_tokens

#: Result of a query: the total, and the ids and scores on the page.
Answer = tuple[int, list[tuple[str, float]]]

_TIMEOUT_SECONDS = 60.0


@contextmanager
def recorded() -> Iterator[list[requests.PreparedRequest]]:
    """Record this process's requests in a list, to send them again.

    It records at the connection, below all of whorl's code. It leaves out requests that the server refuses, such as the
    question for the state of a cluster, which a standalone Solr refuses.
    """
    heard: list[requests.PreparedRequest] = []
    ask = ServerConnections.request

    def record(
        connections: ServerConnections, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> urllib3.BaseHTTPResponse:
        url = urljoin(connections.url, target)
        response = ask(connections, method, target, body, headers)
        if response.status < requests.codes.bad_request:
            heard.append(requests.Request(method, url, headers=dict(headers), data=body).prepare())
        return response

    with patch.object(ServerConnections, "request", record):
        yield heard


def elsewhere(recording: Sequence[requests.PreparedRequest], url: str, other: str) -> list[requests.PreparedRequest]:
    """Return the requests to a core or collection, addressed to another one."""
    moved = [request.copy() for request in recording]
    for request in moved:
        request.url = str(request.url).replace(url, other)
    return moved


class ByHand:
    """A plain `requests.Session` for a core or collection.

    Args:
        url: URL of the core or collection.
        rows: Hits per page.
    """

    def __init__(self, url: str, rows: int) -> None:
        self._url, self._rows = url, rows
        self._session = requests.Session()
        self._session.trust_env = False
        self._connections = ServerConnections(url, "Solr", "", ServerAccess(), None)

    def replay(self, recording: Sequence[requests.PreparedRequest]) -> bytes:
        """Send requests again and read the responses completely; return the last one."""
        content = b""
        for request in recording:
            response = self._session.send(request, timeout=_TIMEOUT_SECONDS)
            content = response.content
            response.raise_for_status()
        return content

    def replay_on_connections(self, recording: Sequence[requests.PreparedRequest]) -> bytes:
        """Replay the requests over whorl's connections."""
        content = b""
        for request in recording:
            body = request.body if isinstance(request.body, bytes) else None
            content = self._connections.request(str(request.method), request.path_url, body, request.headers).data
        return content

    def replay_and_decode(self, recording: Sequence[requests.PreparedRequest]) -> Any:
        """Replay the requests and decode the JSON of every response; return the last one."""
        decoded = None
        for request in recording:
            response = self._session.send(request, timeout=_TIMEOUT_SECONDS)
            decoded = json.loads(response.content)
            response.raise_for_status()
        return decoded

    def min_hash_tokens(self, tokens: Sequence[str], numbers: Mapping[str, str]) -> Any:
        """Search with Solr's own parser for documents that share tokens, sent in the index's encoding."""
        text, separator = join_tokens(tokens)
        return self._min_hash({"sep": separator, **numbers, "query": text})

    def min_hash_text(self, text: str, numbers: Mapping[str, str]) -> Any:
        """Search with Solr's own parser for documents that share tokens with a text, which Solr analyses."""
        return self._min_hash({**numbers, "query": text})

    def _min_hash(self, arguments: Mapping[str, str]) -> Any:
        body = {
            "query": {"min_hash": {"field": "MINHASH", **arguments}},
            "limit": self._rows,
            "fields": ["id", "name", "score"],
            "sort": "score desc, id asc",
        }
        response = self._session.post(f"{self._url}/select", json=body, timeout=_TIMEOUT_SECONDS)
        response.raise_for_status()
        return response.json()

    def close(self) -> None:
        self._session.close()
        self._connections.close()


def answer_of(solr_json: Any) -> Answer:
    """Return the hits in a Solr response."""
    response = solr_json["response"]
    return response["numFound"], [(document["id"], document["score"]) for document in response["docs"]]
