"""Recorded responses of a real server to each operation of an engine, and replays with damaged copies."""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest
import urllib3

from tests.accidents import value_changed
from whorl import Document, Settings, Store, open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.opensearch import check_index
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.protocol import ClusterLabel, MatchCount, StatisticsFacet, ValueFacet
from whorl.engine.server_engine import ServerConnections
from whorl.engine.solr import check_collection
from whorl.engine.solr.client import SolrClient
from whorl.errors import WhorlError
from whorl.model import Order
from whorl.query.plan.nodes import BoundPlan, Exists, Kind, MatchAll

Asking: TypeAlias = Callable[[Store], object]
_Request: TypeAlias = tuple[str, str, bytes]
_Answer: TypeAlias = tuple[int, bytes]

TEXT = " ".join(f"word{at}" for at in range(60))
DOCUMENTS = [Document(f"d{at}", f"{TEXT} and {at} more", f"name {at}", {"n": at, "kind": "note"}) for at in range(4)]
ALL = BoundPlan(MatchAll())
IDS = [document.id for document in DOCUMENTS]


def _place(store: Store, field_name: str, kind: Kind) -> str:
    places = store.engine.fields().resolve_name(field_name, {})
    return field_name if places is None or kind not in places else places[kind]


#: All operations of an engine, by name.
ASKINGS: Mapping[str, Asking] = {
    "index": lambda store: store.engine.index(DOCUMENTS),
    "refresh": lambda store: store.engine.refresh(),
    "delete": lambda store: store.engine.delete(["d3"]),
    "digests": lambda store: store.engine.digests(IDS),
    "resolve": lambda store: store.engine.resolve(["d1", "17"]),
    "signatures": lambda store: store.engine.signatures(dict.fromkeys(IDS, True)),
    "resolve_signatures": lambda store: store.engine.resolve_signatures({"d1": True}),
    "texts": lambda store: store.engine.texts(IDS),
    "passages": lambda store: (store.engine.passage_scheme, store.engine.passage_counts([1, 2])),
    "costs": lambda store: store.engine.costs,
    "largest": lambda store: store.engine.largest_size(),
    "sketches": lambda store: store.engine.sketches(IDS),
    "sizes": lambda store: store.engine.sizes(IDS),
    "resolve_sketches": lambda store: store.engine.resolve_sketches(["d1"]),
    "scan": lambda store: list(store.engine.scan()),
    "candidates": lambda store: store.engine.candidates(ALL, start=0, rows=3),
    "fields": lambda store: store.engine.fields(),
    "documents": lambda store: store.engine.documents(IDS),
    "search": lambda store: store.search("word1 OR FINGERPRINT:d1", with_shared=True),
    "ordered": lambda store: store.search("*", sort=[Order("n")]),
    "similar": lambda store: store.similar("d1"),
    "facets": lambda store: store.engine.facets(
        ALL,
        [
            ValueFacet(Kind.INTEGER, _place(store, "n", Kind.INTEGER), 3, subfacets=(MatchCount(MatchAll()),)),
            StatisticsFacet(Kind.INTEGER, _place(store, "n", Kind.INTEGER)),
        ],
    ),
    "present": lambda store: store.engine.search(
        BoundPlan(Exists(_place(store, "kind", Kind.KEYWORD), Kind.KEYWORD)), start=0, rows=1
    ),
    "marks": lambda store: (list(store.engine.labels.read_all()), store.engine.labels.labels_of(IDS)),
    "mark counts": lambda store: store.engine.labels.counts(ALL),
    "mark": lambda store: store.engine.labels.write({"d0": ClusterLabel("d0", is_principal=True)}),
    "prepare marks": lambda store: store.engine.labels.prepare(),
    "count": lambda store: store.engine.count(),
}


@dataclass
class Recording:
    """A server's responses by request; if a request was repeated, the last response."""

    answers: dict[_Request, _Answer] = field(default_factory=dict)
    #: The requests of each operation.
    requests: dict[str, list[_Request]] = field(default_factory=dict)

    def answer(self, request: _Request) -> _Answer:
        """Return the recorded response, or one to another request for the same address."""
        if request in self.answers:
            return self.answers[request]
        same = (answer for (method, path, _), answer in self.answers.items() if (method, path) == request[:2])
        return next(same, (404, b'{"error": {"msg": "nothing was recorded"}}'))


_Tamper: TypeAlias = Callable[[_Request, _Answer | None], _Answer | None]


@contextlib.contextmanager
def _between(tamper: _Tamper) -> Iterator[None]:
    """Replace the clients' transport.

    Args:
        tamper: Called with each request and None before it is sent; a result is used as the response. Without a result,
            it is called again with the server's response, and may replace it.
    """
    request = ServerConnections.request

    def ask(
        self: ServerConnections, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> urllib3.BaseHTTPResponse:
        key = (method, target, body or b"")
        if (answer := tamper(key, None)) is None:
            response = request(self, method, target, body, headers)
            tamper(key, (response.status, response.data))
            return response
        return urllib3.HTTPResponse(io.BytesIO(answer[1]), {"content-type": "application/json"}, answer[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServerConnections, "request", ask)
        yield


def record(url: str) -> Recording:
    """Run each operation on a server, and return the recorded responses."""
    recording = Recording()

    def keep_for(name: str) -> _Tamper:
        def keep(request: _Request, answer: _Answer | None) -> None:
            if answer is not None:
                recording.answers[request] = answer
                recording.requests.setdefault(name, []).append(request)

        return keep

    with open_store(url) as store:
        store.index(DOCUMENTS)
    for name, ask in _all_askings(url).items():
        with _between(keep_for(name)), _store(url) as store, contextlib.suppress(WhorlError):
            ask(store)
    return recording


def damaged_answers(recording: Recording, url: str, count: int, seed: int = 1) -> Iterator[tuple[str, BaseException]]:
    """Replay each operation with one damaged response, and yield the operations that fail with foreign errors.

    Args:
        recording: Responses of the server.
        url: The server's address.
        count: Number of replayed operations.
        seed: Seed for the choice of the response and its damage.
    """
    chance, askings = random.Random(seed), _all_askings(url)
    for number in range(count):
        name = sorted(askings)[number % len(askings)]
        wanted = chance.randrange(max(len(recording.requests.get(name, ())), 1))
        with _between(_replaying(recording, wanted, random.Random(chance.random()))):
            try:
                with _store(url) as store:
                    askings[name](store)
            except WhorlError:
                pass
            except Exception as error:
                yield name, error


def _replaying(recording: Recording, wanted: int, chance: random.Random) -> _Tamper:
    """Replay recorded responses, except one."""
    replayed = 0

    def replay(request: _Request, _: _Answer | None) -> _Answer:
        nonlocal replayed
        status, content = recording.answer(request)
        replayed += 1
        return _damaged(status, content, chance) if replayed - 1 == wanted else (status, content)

    return replay


def _store(url: str) -> AbstractContextManager[Store]:
    return open_store(url, Settings(engine_retries=0), create=False)


def _all_askings(url: str) -> dict[str, Asking]:
    if url.startswith("opensearch+"):
        check: Asking = lambda _: check_index.check(IndexClient(url), FieldNames())  # noqa: E731
    else:
        check = lambda _: check_collection.check(SolrClient(url), FieldNames())  # noqa: E731
    return {**ASKINGS, "check": check}


def _damaged(status: int, content: bytes, chance: random.Random) -> _Answer:
    """Return a damaged copy of a response."""
    match chance.randrange(12):
        case 0:
            return status, content[: chance.randrange(len(content) + 1)]
        case 1:
            return chance.choice([200, 204, 301, 400, 404, 409, 429, 500, 503]), content
        case 2:
            return status, chance.choice([b"<html>no</html>", b"", b"null", b"[]", b"7", b'"x"', b"{}", b"\xff\xfe{}"])
    try:
        response = json.loads(content)
    except ValueError:
        return status, content[::-1]
    return status, json.dumps(value_changed(response, chance)).encode()
