"""Client of a cluster: retries, timeouts, trust, and refusal of partial responses."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
import trustme

from tests import opensearch_runtime
from tests.candidate_pages import candidate_page
from tests.clock import Clock
from tests.engine.solr.test_transport import Door
from whorl import Document, Store, open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.opensearch.backfill_and_labels import backfill
from whorl.engine.opensearch.client import RESULT_WINDOW, IndexClient
from whorl.engine.opensearch.create_index import initialise
from whorl.engine.opensearch.document_fields import MAPPING, index_body
from whorl.engine.opensearch.engine import OpenSearchEngine
from whorl.engine.server_engine import ServerAccess
from whorl.errors import (
    DocumentError,
    EngineError,
    EngineResponseError,
    EngineUnavailableError,
    ParameterError,
    SchemaError,
)
from whorl.request_context import deadline, new_request
from whorl.settings.settings import Settings

TEXT = "one two three four five six seven"
Answer = tuple[int, Any]


@contextlib.contextmanager
def between(url: str, answer: Callable[[str, str], Answer | None], below: str = "") -> Iterator[str]:
    """Run a proxy before a real cluster; a result of `answer` for path and body replaces the cluster's response.

    The proxy serves only paths that begin with `below`, which the cluster does not get.
    """
    base, _, name = url.removeprefix("opensearch+").rpartition("/")

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            self.path, is_below = self.path.removeprefix(below), self.path.startswith(f"{below}/")
            own = answer(self.path, body.decode()) if is_below else (404, {})
            if own is None:
                kind = {"content-type": self.headers.get("content-type", "application/json")}
                there = requests.request(self.command, f"{base}{self.path}", data=body, headers=kind, timeout=240)
                own = there.status_code, there.json()
            content = own[1] if isinstance(own[1], bytes) else json.dumps(own[1]).encode()
            self.send_response(own[0])
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            if own[0] == 302:
                self.send_header("location", content.decode())
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = _pass  # noqa: N815 - names of the library

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"opensearch+http://127.0.0.1:{server.server_port}{below}/{name}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def opened(url: str, **access: Any) -> Store:
    return Store(OpenSearchEngine(IndexClient(url, ServerAccess(**access))))


@pytest.mark.parametrize(
    "url",
    [
        "opensearch+http://localhost:9200",
        "opensearch+http://localhost:9200/",
        "http://localhost:9200/a/b",
        "opensearch+http://localhost:9200/a/_search",
        "opensearch+http://localhost:9200/a?b=c",
        "opensearch+ftp://localhost:9200/a",
        "opensearch+http://:9200/a",
        "opensearch+http://localhost:many/a",
        "opensearch+http://localhost:99999/a",
        "opensearch+http://[::1/a",
        "solr+http://localhost:9200/a",
    ],
)
def test_an_invalid_url_is_refused(url: str) -> None:
    """
    An invalid URL is refused with an example.
    """
    with pytest.raises(ParameterError, match=r"looks like opensearch\+http://localhost:9200/INDEX"):
        IndexClient(url)


def test_credentials_are_not_shown() -> None:
    """
    No message shows credentials, whether they are in the URL or in the options.
    """
    client = IndexClient(
        "elasticsearch+https://ann:pa%3Ass@127.0.0.1:1/docs", ServerAccess(retries=0, timeout_seconds=5)
    )
    assert (client.url, client.store_url) == ("https://127.0.0.1:1/docs", "elasticsearch+https://127.0.0.1:1/docs")
    with pytest.raises(EngineUnavailableError) as failure:
        client.total()
    assert "pa" not in str(failure.value).replace("past", "")
    with pytest.raises(ParameterError) as refused:
        IndexClient("opensearch+http://ann:secret@localhost")
    assert "secret" not in str(refused.value)
    client.close()


@pytest.mark.process
def test_an_index_below_a_path(url: str) -> None:
    """
    A cluster below a path of a proxy, such as `https://host/search/es/index`, does the same as without one.
    """
    with between(url, lambda *_: None, "/search/es") as address, opened(address) as store:
        client: IndexClient = store.engine._client  # type: ignore[attr-defined]
        assert client.store_url == address
        assert client.about()["version"]
        assert store.index([Document("a", TEXT), Document("b", f"{TEXT} eight")]).stored == 2
        assert [hit.id for hit in store.search("FINGERPRINT:a").hits] == ["a", "b"]
        assert [len(hits) for hits in client.scroll({"size": 1})] == [1, 1]
        assert store.text("b") == f"{TEXT} eight"


def test_refused_connections_are_retried() -> None:
    """
    The error names the URL, and the request is retried as often as configured.
    """
    with opened("opensearch+http://127.0.0.1:1/docs", retries=1) as store, new_request() as request:
        with pytest.raises(
            EngineUnavailableError, match=r"no cluster answers at http://127.0.0.1:1/docs; is it running"
        ):
            store.count()
        assert (request.trace.engine_requests, request.trace.engine_retries) == (2, 1)


@pytest.mark.process
def test_a_silent_cluster_gets_one_request(url: str, clock: Clock) -> None:
    """
    A silent cluster gets one request, which lasts as long as the settings and the deadline allow.
    """
    for seconds, allowed in ((0.3, 60.0), (60.0, 0.3)):
        with (
            Door(url.removeprefix("opensearch+"), is_silent=True) as door,
            opened(f"opensearch+{door.url}", timeout_seconds=seconds) as store,
            deadline(allowed),
        ):
            with pytest.raises(EngineUnavailableError, match=r"did not answer within .*WHORL_TIMEOUT"):
                store.count()
            assert door.connections == 1


@pytest.mark.process
def test_lost_connections_are_opened_again(url: str) -> None:
    """
    A request is retried after a lost connection, and a document with a lost acknowledgement is stored once.
    """
    with Door(url.removeprefix("opensearch+"), lost=1, unanswered=1) as door, opened(f"opensearch+{door.url}") as store:
        store.index([Document("a", TEXT)])
        assert (store.count(), door.connections > 2) == (1, True)


@pytest.mark.process
def test_a_private_authority_is_trusted_once_configured(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A certificate of a private authority is trusted once configured; the message names the settings for trust and for no
    verification.
    """
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with Door(url.removeprefix("opensearch+"), context=context) as door:
        address = f"opensearch+{door.url}"
        with open_store(address) as store, pytest.raises(EngineUnavailableError, match="WHORL_OPENSEARCH_CA"):
            store.count()
        for settings in ({"WHORL_OPENSEARCH_CA": str(tmp_path / "ca.pem")}, {"WHORL_OPENSEARCH_VERIFY": "false"}):
            with open_store(address, Settings.load(settings)) as store:
                assert store.count() == 0


@pytest.mark.process
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "answers 401: set WHORL_OPENSEARCH_AUTH=user:password or WHORL_OPENSEARCH_API_KEY"),
        (403, "answers 403: .*check the user's rights"),
        (400, "answers 400: why"),
    ],
)
def test_refusals_are_not_repeated(url: str, status: int, words: str) -> None:
    """
    The message names the setting that helps, or contains the server's reason; there is no retry.
    """
    requests_sent = list[str]()

    def refuse(path: str, _: str) -> Answer:
        requests_sent.append(path)
        return status, {"error": {"type": "x", "reason": "outer", "root_cause": [{"type": "y", "reason": "why"}]}}

    with between(url, refuse) as address, opened(address) as store:
        with pytest.raises(EngineResponseError, match=words):
            store.count()
        assert len(requests_sent) == len(set(requests_sent))


@pytest.mark.process
def test_credentials_reach_the_cluster(url: str) -> None:
    """
    An API key, or user and password, reaches the cluster; credentials in the URL take precedence over the settings.
    """
    with Door(url.removeprefix("opensearch+"), is_silent=True) as door:
        for settings, wanted in (
            ({"WHORL_OPENSEARCH_API_KEY": "abc"}, {"authorization": "ApiKey abc"}),
            ({"WHORL_OPENSEARCH_AUTH": "ann:pass"}, {"authorization": "Basic YW5uOnBhc3M="}),
        ):
            with open_store(f"opensearch+{door.url}", Settings.load(settings)) as store:
                assert isinstance(store.engine, OpenSearchEngine)
                headers = store.engine._client.raw.transport.get_connection().headers
                assert {name: value for name, value in headers.items() if name == "authorization"} == wanted


@pytest.mark.process
def test_a_cluster_without_room(url: str) -> None:
    """
    A response of 429 is retried; in a batch, only for the rejected documents, which do not count as stored before.
    """
    refused: list[int] = []

    def no_room(path: str, body: str) -> Answer | None:
        if not path.endswith("_bulk"):
            return None
        lines = body.splitlines()
        refused.append(len(lines) // 2)
        if len(refused) > 2:
            return None
        if len(refused) == 1:
            return 429, {"error": {"type": "es_rejected_execution_exception", "reason": "queue is full"}}
        base = url.removeprefix("opensearch+")
        response = requests.post(
            f"{base}/_bulk", "\n".join(lines[:4]) + "\n", headers={"content-type": "application/x-ndjson"}, timeout=240
        ).json()
        busy = {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "queue is full"}}
        return 200, {**response, "items": [*response["items"], *({"index": {"_id": "?", **busy}} for _ in lines[4::2])]}

    documents = [Document(f"d{number}", f"{TEXT} {number}") for number in range(5)]
    with between(url, no_room) as address:
        with opened(address, retries=2) as store:
            assert store.index(documents).stored == 5
            assert refused == [5, 5, 3]
            assert store.count() == 5
        refused.clear()
        with opened(address, retries=1) as store:
            with pytest.raises(EngineUnavailableError, match=r"cannot answer now \(429\): queue is full"):
                store.index([Document(f"e{number}", f"{TEXT} {number}") for number in range(5)])
            store.engine.refresh()
            assert {hit.id for hit in store.search("id:e*").hits} == {"e0", "e1"}


@pytest.mark.process
def test_large_batches_are_divided(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A cluster that takes 30,000 bytes refuses one document alone, with the name of its setting, and stores the others.
    """
    most, sizes = 30_000, list[int]()

    def limited(path: str, body: str) -> Answer | None:
        if not path.endswith("_bulk"):
            return None
        sizes.append(len(body.encode()))
        return (413, b"") if sizes[-1] > most else None

    monkeypatch.setattr("whorl.engine.opensearch.client.MOST_BULK_BYTES", most)
    texts = [" ".join(f"word{number}of{place}" for place in range(200)) for number in range(8)]
    texts[3] *= 10
    refused = list[str]()
    with between(url, limited) as address, opened(address, retries=0) as store:
        documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
        done = store.index(documents, on_refused=lambda document, error: refused.append(f"{document.id} {error}"))
        assert done.stored == 7
        assert {hit.id for hit in store.search("*").hits} == {f"d{number}" for number in range(8) if number != 3}
    assert [refusal[:28] for refusal in refused] == ["d3 the cluster refuses 'd3':"]
    assert "http.max_content_length" in refused[0]
    assert {size > most for size in sizes} == {True, False}
    assert len(sizes) > 3


@pytest.mark.process
def test_a_cluster_that_takes_less_than_a_batch(url: str) -> None:
    """
    A request that is too large for the cluster fails with the name of the cluster's setting.
    """
    error = pytest.raises(EngineResponseError, match=r"answers 413: .*http\.max_content_length")
    refuse = lambda path, _: (413, b"") if path.endswith("_bulk") else None  # noqa: E731
    with between(url, refuse) as address, opened(address, retries=0) as store, error:
        store.engine.index([Document("a", TEXT), Document("b", TEXT)])


def test_documents_that_a_cluster_refuses(store: Store) -> None:
    """
    Refused documents are reported with the reason, and the others are stored.
    """
    refused = list[str]()
    documents = [Document("a", TEXT), Document("ü" * 300, TEXT), Document("b", TEXT)]
    done = store.index(documents, on_refused=lambda document, error: refused.append(f"{document.id[0]} {error}"))
    assert done.stored == 2
    assert [refusal[:40] for refusal in refused] == ["ü a cluster takes ids of 512 bytes at mo"]
    assert {hit.id for hit in store.search("*").hits} == {"a", "b"}
    with pytest.raises(DocumentError, match="512 bytes"):
        store.index(documents)


def test_some_that_the_cluster_refuses(other_url: str) -> None:
    """
    Documents that the cluster refuses in a batch are reported with its reason, and the others are stored.
    """
    client = IndexClient(other_url)
    body = index_body(FieldNames())
    client.create({**body, "mappings": {**body["mappings"], "properties": {**MAPPING, "name": {"type": "date"}}}})
    refused = list[str]()
    documents = [
        Document(f"d{number}", TEXT, name=f"2021-05-0{number}" if number % 2 else "no day") for number in range(6)
    ]
    with open_store(other_url) as store:
        done = store.index(documents, on_refused=lambda document, error: refused.append(f"{document.id} {error}"))
        assert done.stored == 3
        assert [refusal[:26] for refusal in refused] == [
            f"d{number} the cluster refuses 'd{number}" for number in (0, 2, 4)
        ]
        assert "to parse" in refused[0]
        assert {hit.id for hit in store.search("*").hits} == {"d1", "d3", "d5"}
    client.close()


def test_many_documents_are_requested_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Documents are requested in batches, since a cluster has no memory for a response with ten thousand texts.
    """
    batches = list[list[str]]()

    def existing(_: IndexClient, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        batches.append([doc["_id"] for doc in body["docs"]])
        return [{"_id": doc["_id"], "found": True} for doc in body["docs"] if doc["_id"] != "3"]

    monkeypatch.setattr(IndexClient, "_fetch_existing", existing)
    monkeypatch.setattr(IndexClient, "count", lambda *_: 0)
    with contextlib.closing(IndexClient("opensearch+http://c/i")) as client:
        ids = [str(number) for number in range(1_200)]
        assert list(client.documents(["", *ids], True)) == [document_id for document_id in ids if document_id != "3"]
        assert [len(batch) for batch in batches] == [500, 500, 200]
        assert (client.documents([""], True), len(batches)) == ({}, 3)


def test_a_shard_that_starts(url: str) -> None:
    """
    An error of a starting shard, about a document or a whole request, is retried; it does not count as a missing index
    or document.
    """
    error = {
        "type": "illegal_index_shard_state_exception",
        "reason": "CurrentState[RECOVERING] operations only allowed",
    }
    paths = list[str]()

    def recovering(path: str, _: str) -> Answer | None:
        paths.append(path.rpartition("/")[2].partition("?")[0])
        if paths.count(paths[-1]) > 1:
            return None
        whole = (404, {"error": {**error, "root_cause": [error]}, "status": 404})
        return {"_search": whole, "_mget": (200, {"docs": [{"_id": "a", "error": error}]})}.get(paths[-1])

    with open_store(url) as store:
        store.index([Document("a", TEXT)])
    with between(url, recovering) as address:
        with opened(address) as store:
            assert store.engine.texts(["a"]) == {"a": TEXT}
            assert store.count() == 1
            assert (paths.count("_mget"), paths.count("_search")) == (2, 2)
        paths.clear()
        with opened(address, retries=0) as store:
            for ask in (lambda: store.engine.texts(["a"]), store.count):
                with pytest.raises(EngineUnavailableError, match=r"cannot answer now \(503\): CurrentState"):
                    ask()


def test_a_read_only_index(opensearch_url: str) -> None:
    """
    A write block is not a refusal of single documents: the run ends with the reason, and works again after its removal.
    """
    with opensearch_runtime.own_index(opensearch_url) as url, open_store(url) as store:
        client = IndexClient(url)
        client.raw.indices.put_mapping(index=client.index, body={"properties": {"whorl_limit": {"type": "long"}}})
        client.raw.indices.put_settings(index=client.index, body={"index.blocks.write": True})
        refused = list[str]()
        with pytest.raises(EngineResponseError, match=r"is blocked \(index .*FORBIDDEN/8/index write.*index.blocks"):
            store.index(
                [Document(document_id, TEXT) for document_id in "ab"],
                on_refused=lambda document, _: refused.append(document.id),
            )
        assert not refused
        client.raw.indices.put_settings(index=client.index, body={"index.blocks.write": False})
        assert store.index([Document("a", TEXT)]).stored == 1

        def index_with_full_disk() -> None:
            # The cluster sets this block when a disk is nearly full. It removes the block when it looks at the disk,
            # which is not twice in a row.
            for _ in range(2):
                client.raw.indices.put_settings(index=client.index, body={"index.blocks.read_only_allow_delete": True})
                store.index([Document("b", TEXT)])

        with pytest.raises(EngineUnavailableError, match=r"is blocked \(.*flood-stage.*the cluster's room on disk"):
            index_with_full_disk()
        client.raw.indices.put_settings(index=client.index, body={"index.blocks.read_only_allow_delete": None})
        client.raw.indices.close(index=client.index)
        for use in (lambda: store.search("*"), lambda: store.index([Document("b", TEXT)])):
            with pytest.raises(EngineResponseError, match=rf"is closed; 'POST /{client.index}/_open' opens it"):
                use()
        client.close()


def test_an_index_with_a_shard_on_no_node(opensearch_url: str) -> None:
    """
    With one of two shards missing, no request returns partial results as complete, and no document counts as stored.
    """
    with opensearch_runtime.own_index(opensearch_url, is_made=False) as url:
        client = IndexClient(url, ServerAccess(retries=0))
        settings = {"index.number_of_shards": 2, "index.number_of_replicas": 0}
        only = {"index.routing.allocation.include._name": "Node 1", "index.routing.allocation.total_shards_per_node": 1}
        client.raw.indices.create(
            index=client.index,
            body={**index_body(FieldNames()), "settings": {**settings, **only}},
            params={"wait_for_active_shards": "0"},
        )
        with Store(OpenSearchEngine(client)) as store:
            assert client.health()["status"] == "red"
            calls: list[Callable[[], object]] = [
                store.count,
                lambda: store.search("*"),
                lambda: list(store.engine.scan()),
                lambda: store.engine.digests([f"d{number}" for number in range(20)]),
                lambda: store.similar(source=TEXT),
                store.engine.fields,
                store.engine.largest_size,
            ]
            for ask in calls:
                with pytest.raises(EngineError):
                    ask()
            # When indexing, the cluster waits a minute for its shards.
            client._access = ServerAccess(retries=0, timeout_seconds=1)
            with pytest.raises(EngineError):
                store.index([Document(f"d{number}", TEXT) for number in range(20)])


def test_an_answer_of_some_shards(url: str) -> None:
    """
    A partial response is refused, in each format of the cluster.
    """
    for broken in ({"timed_out": True}, {"_shards": {"failed": 1}}):

        def part(path: str, _: str, broken: Any = broken) -> Answer | None:
            return (200, {"hits": {"hits": [], "total": {"value": 0}}, **broken}) if "_search" in path else None

        with (
            between(url, part) as address,
            opened(address) as store,
            pytest.raises(EngineResponseError, match="a part of its shards only"),
        ):
            store.count()


def test_pages_behind_the_window(client: IndexClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A page beyond the result window equals that of a larger window, and the total counts all hits.
    """
    assert RESULT_WINDOW == 10_000
    with Store(OpenSearchEngine(client)) as store:
        store.index([Document(f"d{number:02}", TEXT if number % 3 else "law") for number in range(50)])
        whole = [hit.id for hit in store.search("*", rows=50).hits]
        monkeypatch.setattr("whorl.engine.opensearch.client.RESULT_WINDOW", 7)
        for start, rows in ((0, 7), (3, 10), (20, 7), (45, 20), (60, 5)):
            page = store.search("*", start=start, rows=rows)
            assert ([hit.id for hit in page.hits], page.total) == (whole[start : start + rows], 50)
        first = candidate_page(store.engine, store.prepare("one").bound, start=10, rows=5)
        assert (first.total, len(first.hits)) == (33, 5)


def test_an_alias_of_several_indexes(opensearch_url: str) -> None:
    """
    An alias or a pattern of several indexes is refused with their names, and so is a pattern that no index matches.
    """
    with (
        opensearch_runtime.own_index(opensearch_url) as one,
        opensearch_runtime.own_index(opensearch_url) as other,
        contextlib.closing(IndexClient(one)) as client,
    ):
        names = [url.rpartition("/")[2] for url in (one, other)]
        for name in names:
            client.raw.indices.put_alias(index=name, name=f"{names[0]}-both")
        with open_store(f"{one}-both") as store, pytest.raises(EngineResponseError, match="more than one index"):
            store.index([Document("a", TEXT)])
        several = rf"stands for 2 indexes \({', '.join(sorted(names))}\); name one of them"
        for url, reason in ((f"{one}-both", several), (f"{one},{names[1]}", several), (f"{one}-no*", "no index of")):
            with contextlib.closing(IndexClient(url)) as both, pytest.raises(SchemaError, match=reason):
                both.mapping()
            with open_store(url) as store, pytest.raises(SchemaError, match=reason):
                store.search("*")


def test_a_data_stream(opensearch_url: str) -> None:
    """
    A data stream is refused with the name of its index, which accepts a backfill.
    """
    name = f"whorl_test_{uuid.uuid4().hex[:8]}"
    with contextlib.closing(IndexClient(f"opensearch+{opensearch_url}/{name}")) as stream:
        try:
            stream.send("GET", "/_data_stream")
        except EngineResponseError:
            pytest.skip("this Elasticsearch lacks the module for data streams, which is not on Maven Central")
        template = {"index_patterns": [name], "data_stream": {}, "template": {"settings": {"number_of_replicas": 0}}}
        stream.send("PUT", f"/_index_template/{name}", template)
        try:
            document = {"@timestamp": "2026-01-01", "content": "one two three four five six"}
            stream.send("POST", f"/{name}/_doc", document, refresh="true")
            with pytest.raises(SchemaError, match="is a data stream") as refused:
                stream.mapping()
            index = str(refused.value).rpartition("name its index, ")[2]
            with contextlib.closing(IndexClient(f"opensearch+{opensearch_url}/{index}")) as client:
                list(initialise(client, FieldNames()))
                assert backfill(client, FieldNames()).sent == 1
        finally:
            stream.send("DELETE", f"/_data_stream/{name}")
            stream.send("DELETE", f"/_index_template/{name}")


@pytest.mark.process
def test_a_redirect() -> None:
    """
    A redirect is not followed; the message has its target without a password.
    """
    target = b"https://u:secret@login.example/sso"
    message = "answers 302, a redirect to https://login.example/sso"
    with (
        between("opensearch+http://127.0.0.1:9/index", lambda path, body: (302, target)) as url,
        contextlib.closing(IndexClient(url)) as client,
        pytest.raises(EngineResponseError, match=message),
    ):
        client.total()


@pytest.mark.process
@pytest.mark.parametrize("status", [200, 400, 503])
@pytest.mark.parametrize("opening", [b'{"hits":', b"["])
def test_an_answer_that_is_nested_too_deep(status: int, opening: bytes) -> None:
    """
    JSON of 3,000 or 100,000 levels raises an EngineError, in each method and on opening a store.
    """
    closing = b"]" if opening == b"[" else b"}"
    for depth in (3_000, 100_000):
        nested = opening * depth + b"1" + closing * depth
        with between("opensearch+http://127.0.0.1:9/index", lambda path, body: (status, nested)) as url:  # noqa: B023
            client = IndexClient(url, ServerAccess(retries=0))
            for fails in (lambda: client.count({}), client.total, client.mapping, lambda: open_store(url).count("*")):  # noqa: B023
                with pytest.raises(EngineError):
                    fails()
