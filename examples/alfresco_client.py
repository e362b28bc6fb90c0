"""Searches like a client of Alfresco, with the standard library alone: logs in, searches, prints shares.

python examples/alfresco_client.py http://127.0.0.1:8000 USER PASSWORD NODE

It uses the two routes that Alfresco's own clients use, so it works with a repository whose search has fingerprints and
with `whorl serve`, which adds the three shares to each entry.
"""

from __future__ import annotations

import base64
import json
import sys
import urllib.request
from typing import Any

PUBLIC = "/alfresco/api/-default-/public"


def call(url: str, body: dict[str, Any], ticket: str | None = None) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    if ticket is not None:
        headers["Authorization"] = "Basic " + base64.b64encode(ticket.encode()).decode()
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        told: dict[str, Any] = json.load(answer)
        return told


def main(host: str, user: str, password: str, node: str) -> None:
    """Print the documents with at least a tenth of a node's content, the most similar first."""
    login = {"userId": user, "password": password}
    ticket = call(f"{host}{PUBLIC}/authentication/versions/1/tickets", login)["entry"]["id"]
    query = f'FINGERPRINT:"{node}"_10'
    search = {"query": {"query": query, "language": "afts"}, "paging": {"maxItems": 20}, "include": ["properties"]}
    found = call(f"{host}{PUBLIC}/search/versions/1/search", search, ticket)["list"]
    print(f"{found['pagination']['totalItems']} documents share content with {node}")
    for each in found["entries"]:
        entry, shares = each["entry"], each["entry"]["search"].get("fingerprint")
        told = f", {shares['a_in_b']:.0%} of {node} is in it" if shares else ""
        print(f"{entry['name']}: score {entry['search']['score']:.0f}{told}")


if __name__ == "__main__":
    main(*sys.argv[1:])
