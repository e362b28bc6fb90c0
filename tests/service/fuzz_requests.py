"""Fuzz test of the service: hundreds of thousands of nearly valid and invalid requests to every route.

    python -m tests.service.fuzz_requests [RESULTS]          or: make fuzz

A valid request is mutated: a part of its JSON or of its address, its bytes, its headers, its method. Each answer must
be a success or a client error in the shape of its route, never a 5xx or an exception; JSON answers must be strict JSON.
Any other outcome ends the run and prints the request.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from tests.accidents import ODD_VALUES, bytes_changed, value_changed, write_record
from tests.made_files import mail, word
from tests.query.fuzz_queries import mutated
from tests.service.contracts import MINUTES, NODE, documents
from whorl import Document, Store, open_store
from whorl.engine.protocol import ClusterLabel
from whorl.service.app import create_app

#: Number of requests; more than 100,000 of them are requests that a client can send.
COUNT = 101_000
#: Maximum processor time of one request (two texts and a few documents), in milliseconds.
MOST = 2_000.0
#: Number of requests until the store is replaced by a new one, because requests add and delete documents.
_FILLED_EVERY = 2_000
_ALFRESCO = "/alfresco/api/-default-/public"


@dataclass(frozen=True)
class Sent:
    """A request.

    Args:
        path: Path with placeholders filled.
        parameters: Parameters of the address.
        body: JSON value, or bytes.
        headers: Headers besides the content type.
    """

    method: str
    path: str
    parameters: tuple[tuple[str, str], ...] = ()
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = field(default=None, repr=False)

    def content(self) -> bytes:
        """Return the bytes of the body."""
        if self.raw is not None:
            return self.raw
        return b"" if self.body is None else json.dumps(self.body).encode()


_LINES = (
    b'{"id": "new", "text": "one two three four five six", "properties": {"kind": "x"}}\n{"id": "b", "text": "x"}\n'
)
_SHARED = MINUTES[:1_500]
_QUERY = {"query": "FINGERPRINT:lease_50 AND rent", "plan": "calibrated", "metric": "contains", "rows": 5, "start": 0}
_SIMILAR = {
    "id": "lease",
    "metric": "within",
    "threshold": 20,
    "recall": 90,
    "filter": "pages:[1 TO 9]",
    "exact": True,
    "start": 0,
    "rows": 5,
    "common_above": "50%",
    "boilerplate": [_SHARED[:300]],
    "ignore_common": False,
}
_SOURCES = {
    "text": _SHARED,
    "min_words": 10,
    "exclude": "minutes",
    "ignore_common": True,
    "common_above": "3",
    "without": ["quotations"],
    "recall": 80,
    "most_read": 50,
    "texts": "passages",
    "name": "mine",
    "format": "html",
}
_SEARCH = {
    "query": {"query": "cm:name:lease OR FINGERPRINT:lease_20_90", "language": "afts", "userQuery": "lease"},
    "paging": {"maxItems": 10, "skipCount": 0},
    "include": ["properties", "aspectNames"],
    "includeRequest": True,
    "fields": ["id", "name"],
    "sort": [{"type": "FIELD", "field": "cm:name", "ascending": True}],
    "templates": [{"name": "T", "template": "%(cm:name TEXT)"}],
    "defaults": {"defaultFTSOperator": "AND", "namespace": "cm", "textAttributes": ["cm:title"]},
    "filterQueries": [{"query": "TYPE:'cm:content'"}, {"queries": ["pages:3", "pages:1"]}],
    "facetQueries": [{"query": "pages:[1 TO 2]", "label": "few", "group": "pages"}],
    "scope": {"locations": ["nodes"]},
    "localization": {"timezone": "UTC"},
}


def _in_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


_FACETS = {
    "query": {"query": "rent OR pages:[1 TO 9]"},
    "facetFields": {"facets": [{"field": "cm:creator", "label": "by", "mincount": 1, "limit": 5, "sort": "INDEX"}]},
    "facetIntervals": {
        "intervals": [{"field": "pages", "label": "p", "sets": [{"label": "few", "start": "0", "end": "2"}]}]
    },
    "ranges": [{"field": "pages", "start": "0", "end": "10", "gap": "5", "hardend": True, "label": "r"}],
    "stats": [{"field": "pages", "label": "s", "mean": True, "max": True}],
    "pivots": [{"key": "by"}],
    "highlight": {"prefix": "<b>", "postfix": "</b>", "snippetCount": 2, "fields": [{"field": "cm:content"}]},
    "spellcheck": {"query": "rnet"},
}
_TYPE, _LINES_TYPE = "content-type", ("content-type", "application/x-ndjson")
#: Valid requests of every route; a test compares them with the service's description.
RIGHT = (
    Sent("GET", "/api/v1/search", (("q", "FINGERPRINT:lease_50"), ("plan", "stock"), ("rows", "3"))),
    Sent("POST", "/api/v1/search", body=_QUERY),
    Sent("POST", "/api/v1/search", body={"query": "FINGERPRINT:source_30", "source": _SHARED, "collapse": True}),
    Sent("GET", "/api/v1/explain", (("q", "FINGERPRINT:lease AND pages:3"), ("plan", "calibrated"))),
    Sent("POST", "/api/v1/explain", body=_QUERY),
    Sent("POST", "/api/v1/similar", body=_SIMILAR),
    Sent("POST", "/api/v1/similar", body={"text": _SHARED, "threshold": 0.3}),
    Sent("POST", "/api/v1/sources", body=_SOURCES),
    Sent("POST", "/api/v1/sources", body={"id": "lease"}),
    Sent("POST", "/api/v1/verify", body={"text": "“the rent is due in advance” (lease)", "all": False, "min_words": 2}),
    Sent("POST", "/api/v1/verify", body={"quotations": [{"quote": "the rent ... advance", "source": "lease"}]}),
    Sent("POST", "/api/v1/compare", body={"a": {"id": "lease"}, "b": {"text": _SHARED}, "common_above": "1"}),
    Sent("POST", "/api/v1/passages", body={"id": "lease", "documents": ["renewal", "minutes"]}),
    Sent("POST", "/api/v1/snippets", body={"query": "rent AND house", "documents": ["lease", "renewal"]}),
    Sent("GET", "/api/v1/documents", (("filter", "lea"), ("start", "0"), ("rows", "5"))),
    Sent("POST", "/api/v1/documents", raw=_LINES, headers=(_LINES_TYPE,)),
    Sent("POST", "/api/v1/documents", (("check", "80"),), raw=_LINES, headers=(_LINES_TYPE,)),
    Sent("GET", "/api/v1/documents/lease", (("text", "true"),)),
    Sent("DELETE", "/api/v1/documents/new"),
    Sent("POST", "/api/v1/delete", body={"query": "name:minutes", "everything": False, "dry_run": True}),
    Sent("POST", "/api/v1/delete", body={"ids": ["new", "b"]}),
    Sent("POST", "/api/v1/text", body={"name": "a.eml", "content": _in_base64(mail("Hello", "A few words of mail."))}),
    Sent("POST", "/api/v1/text", body={"name": "a.docx", "content": _in_base64(word("A few words", "in a table"))}),
    Sent("POST", "/api/v1/text", body={"name": "a.txt", "content": _in_base64(b"A few words")}),
    Sent("POST", "/api/v1/duplicates", body={"threshold": 50, "metric": "jaccard", "complete": True, "recall": 90}),
    Sent("GET", "/api/v1/duplicates/none"),
    Sent("DELETE", "/api/v1/duplicates/none"),
    Sent("GET", "/api/v1/store"),
    Sent("GET", "/healthz"),
    Sent("GET", "/readyz"),
    Sent("POST", f"{_ALFRESCO}/search/versions/1/search", body=_SEARCH),
    Sent("POST", f"{_ALFRESCO}/search/versions/1/search", body=_FACETS),
    Sent("GET", f"{_ALFRESCO}/alfresco/versions/1/people/-me-"),
    Sent("GET", f"{_ALFRESCO}/alfresco/versions/1/nodes/{NODE}", (("include", "path"),)),
    Sent("GET", "/alfresco/api/discovery"),
    Sent("POST", f"{_ALFRESCO}/authentication/versions/1/tickets", body={"userId": "a", "password": "b"}),
    Sent("GET", f"{_ALFRESCO}/authentication/versions/1/tickets/-me-", (("alf_ticket", "TICKET_1"),)),
    Sent("DELETE", f"{_ALFRESCO}/authentication/versions/1/tickets/-me-"),
)  # fmt: skip
_METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "BREW")
_HEADERS = (
    (_TYPE, "application/json"), (_TYPE, "text/plain; charset=utf-16"), (_TYPE, ""),
    (_TYPE, "multipart/form-data; boundary=x"), ("expect", "200-ok"),
    ("content-encoding", "gzip"), ("transfer-encoding", "chunked"), ("accept", "image/png"), ("origin", "null"),
    ("authorization", "Basic !!!"), ("authorization", "Bearer \xff"), ("x-request-id", "\x01" * 3 + "a" * 300),
    ("content-length", "5"), ("content-length", "-1"), ("range", "bytes=0-1"), ("if-none-match", "*"),
    ("host", "["), ("x-forwarded-for", "a, b"), ("sec-fetch-site", "cross-site"), ("accept-encoding", "br;q=x"),
)  # fmt: skip
#: Valid requests to mutate, by kind of mutation.
_FOR = {
    "as it is": RIGHT,
    "a part of the JSON": [request for request in RIGHT if request.body is not None],
    "a query": [request for request in RIGHT if request.path.endswith(("/search", "/explain"))],
    "the address": RIGHT,
    "bytes": [request for request in RIGHT if request.content()],
    "headers": RIGHT,
    "method": RIGHT,
}
_KINDS = tuple(_FOR)


def changed(kind: str, chance: random.Random) -> Sent:
    """Return a valid request with one mutation of this kind."""
    sent = chance.choice(_FOR[kind])
    match kind:
        case "a part of the JSON":
            return replace(sent, body=value_changed(sent.body, chance))
        case "a query" if sent.parameters:
            return replace(sent, parameters=(("q", mutated(chance)), *sent.parameters[1:]))
        case "a query":
            query: object = mutated(chance)
            return replace(sent, body={**sent.body, "query": {"query": query} if sent.body is _SEARCH else query})
        case "the address":
            return _with_address_changed(sent, chance)
        case "bytes":
            return replace(sent, raw=bytes_changed(sent.content(), chance, _OTHERS))
        case "headers":
            return replace(sent, headers=(*sent.headers, *chance.sample(_HEADERS, chance.randint(1, 2))))
        case "method":
            return replace(sent, method=chance.choice(_METHODS))
    return sent


def _with_address_changed(sent: Sent, chance: random.Random) -> Sent:
    text = str(chance.choice(ODD_VALUES))[:2_000].encode("utf-8", "replace").decode()
    if sent.parameters and chance.random() < 0.7:
        names = [*(name for name, _ in sent.parameters), "nosuch"]
        parameters = (*sent.parameters[chance.randint(0, 1) :], (chance.choice(names), text))
        return replace(sent, parameters=parameters)
    folder = sent.path.rpartition("/")[0]
    return replace(sent, path=chance.choice((f"{sent.path}/{text}", f"{folder}/{text}", f"{sent.path}/")))


_OTHERS = tuple(request.content() for request in RIGHT)


class Tally:
    """Statuses and slowest times by kind of mutation."""

    def __init__(self) -> None:
        self.statuses: dict[str, Counter[int]] = {kind: Counter() for kind in _KINDS}
        self.slowest: dict[str, float] = dict.fromkeys(_KINDS, 0.0)

    async def take(self, client: httpx.AsyncClient, kind: str, sent: Sent) -> None:
        """Send one request and check its answer."""
        content = sent.content()
        headers = [(b"content-type", b"application/json")] if sent.body is not None else []
        headers += [(name.encode(), value.encode("latin-1", "replace")) for name, value in sent.headers]
        try:
            request = client.build_request(
                sent.method, sent.path, params=list(sent.parameters) or None, content=content, headers=headers
            )
        except (httpx.InvalidURL, UnicodeError):
            return
        begun = time.process_time()
        try:
            answer = await client.send(request)
            require_answer(sent, answer)
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\n{sent!r:.3000}\n{content!r:.3000}") from error
        self.slowest[kind] = max(self.slowest[kind], 1000 * (time.process_time() - begun))
        self.statuses[kind][answer.status_code] += 1


def require_answer(sent: Sent, answer: httpx.Response) -> None:
    """Raise unless the answer is a success or a client error in the shape of its route."""
    assert answer.status_code < 500, f"{answer.status_code} {answer.text[:500]}"
    kind = answer.headers.get("content-type", "")
    assert "Traceback" not in answer.text
    if sent.method == "HEAD" or not answer.content:
        return
    if answer.status_code >= 400:
        assert kind.startswith("application/json"), kind
        body = json.loads(answer.content)
        if "lines" in body:
            # Answers to documents list the error of each refused line.
            assert body["refused"] >= len(body["errors"]) > 0, body
            return
        body = body["error"]
        assert body["statusCode"] == answer.status_code
        assert body.get("message") or body.get("briefSummary"), body
    elif kind.startswith("application/json"):
        json.loads(answer.content, parse_constant=_no_number)


def _no_number(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def filled(folder: Path) -> Store:
    """Return a store with the documents that the requests name."""
    store = open_store(folder, passages=True)
    store.index([*documents(), Document("new", "one two three four five six seven")])
    store.engine.labels.prepare()
    store.engine.labels.write(
        {"lease": ClusterLabel("lease", is_principal=True), "renewal": ClusterLabel("lease", is_principal=False)}
    )
    store.engine.refresh()
    return store


async def _run(count: int, seed: int) -> Tally:
    tally, chance = Tally(), random.Random(seed)
    done = 0
    while done < count:
        with tempfile.TemporaryDirectory() as folder, filled(Path(folder) / "store") as store:
            app = create_app(store)
            transport = httpx.ASGITransport(app)
            async with (
                app.router.lifespan_context(app),
                httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
            ):
                for _ in range(min(_FILLED_EVERY, count - done)):
                    kind = _KINDS[done % len(_KINDS)]
                    await tally.take(client, kind, changed(kind, chance))
                    done += 1
    return tally


def run(count: int = COUNT, seed: int = 20_26) -> Tally:
    """Send `count` requests."""
    return asyncio.run(_run(count, seed))


def report(tally: Tally) -> Iterator[str]:
    """Yield the lines of the results file."""
    total = sum(sum(counts.values()) for counts in tally.statuses.values())
    yield f"{total:,} requests to {len({(right.method, right.path) for right in RIGHT})} routes: no 5xx, no exception"
    yield ""
    for kind, statuses in tally.statuses.items():
        summary = ", ".join(f"{count:,} of {status}" for status, count in sorted(statuses.items()))
        yield f"{kind:20} slowest {tally.slowest[kind]:8.2f} ms   {summary}"


def main(place: Path) -> None:
    """Run, write the results, and exit with an error if a request took too long."""
    tally = run()
    write_record(place, report(tally))
    slowest = max(tally.slowest.values())
    assert slowest <= MOST, f"{slowest:.0f} ms"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "benchmarks/results/fuzz-requests.txt"))
