"""HTTP client of one OpenSearch or Elasticsearch index; turns every failure into one of whorl's errors.

The library opensearch-py also works with Elasticsearch, because it does not check the server's product.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar
from urllib.parse import SplitResult, quote, unquote, urlencode, urlunsplit

import opensearchpy
from opensearchpy.exceptions import OpenSearchException, TransportError

from whorl.arrays_and_batches import batches
from whorl.engine.opensearch.document_fields import Json
from whorl.engine.server_engine import (
    ServerAccess,
    ServerConnections,
    TtlCache,
    guard_responses,
    json_bytes,
    redirect_message,
    split_address,
    with_retries,
)
from whorl.errors import (
    EngineError,
    EngineResponseError,
    EngineUnavailableError,
    SchemaError,
    without_login,
)
from whorl.fingerprint.shingling import well_formed

MOST_ID_BYTES = 512
#: Largest offset plus page size that a cluster accepts (default of index.max_result_window). A request for later hits
#: contains the sort key of the previous hit instead of an offset.
RESULT_WINDOW = 10_000
#: Largest body of a bulk request with several changes. A cluster refuses bodies of more than 100 MB
#: (http.max_content_length), some managed services of more than 10 MiB.
MOST_BULK_BYTES = 10_000_000
_TOO_LARGE = "the request has more bytes than the cluster takes; raise its setting http.max_content_length"
# whorl reports refusals itself, so opensearch-py must not print them.
logging.getLogger("opensearch").addHandler(logging.NullHandler())
logging.getLogger("opensearch").propagate = False
_SCHEMES = re.compile(r"(?:(?:opensearch|elasticsearch)\+)?https?")
_TEMPORARY_STATUSES = frozenset({429, 502, 503, 504})
_NO_INDEX = "index_not_found_exception"
#: Error for a look-up by id alone, in an index whose mapping requires a routing.
_NO_ROUTING = "routing_missing_exception"
#: Maximum age in seconds of the result of `is_routed`.
_ROUTING_SECONDS = 30.0
#: Part of a cluster's message about too many values in facets. This error is not temporary, although its status is 503.
TOO_MANY_BUCKETS = "too many buckets"
#: Number of documents per read request: small, because some responses include whole texts.
_READ_AT_ONCE = 500
#: Options of a request for term vectors: return only the terms.
_ONLY_TERMS = dict.fromkeys(("positions", "offsets", "payloads", "field_statistics", "term_statistics"), False)
_Result = TypeVar("_Result")
#: The id of a change in a bulk request, and the lines of the request's body.
_EncodedChange: TypeAlias = tuple[str, bytes]


class ClusterConnection(opensearchpy.Connection):
    """Connection of opensearch-py to one node; threads may share it."""

    def __init__(self, *, connections: ServerConnections, **options: Any) -> None:
        super().__init__(**options)
        self._connections = connections

    def perform_request(
        self, method: str, url: str, params: Any = None, body: Any = None, *_: Any, headers: Any = None, **__: Any
    ) -> tuple[int, Mapping[str, str], str]:
        """Send a request and read the whole response; raise TransportError if the node responds with an error."""
        target = self.url_prefix + (f"{url}?{urlencode(params)}" if params else url)
        response = self._connections.request(method, target, body, {**self.headers, **(headers or {})})
        content = response.data.decode("utf-8", "surrogatepass")
        if 300 <= response.status < 400 and "location" in response.headers:
            message = redirect_message(self._connections.url, response.status, response.headers["location"])
            raise EngineResponseError(message, status=response.status)
        if not 200 <= response.status < 300:
            self._raise_error(response.status, content, response.headers.get("content-type"))
        return response.status, response.headers, content

    def close(self) -> None:
        self._connections.close()


@guard_responses
class IndexClient:
    """Client of one index, whose URL is `opensearch+http://host:9200/index`, or `opensearch+http://host/path/index`.

    `user:password@` before the host becomes basic authentication; messages never show it.
    """

    def __init__(self, url: str, access: ServerAccess = ServerAccess()) -> None:  # noqa: B008 - frozen
        error = f"{without_login(url)!r} is not the address of an index; it looks like opensearch+http://localhost:9200/INDEX"
        error += " or opensearch+https://HOST/PATH/INDEX"
        parts, self._access = split_address(url, access, _names_index, error)
        path, _, index = parts.path.rstrip("/").rpartition("/")
        self.index = unquote(index)
        #: URL of the store for messages and commands, without user and password.
        self.store_url = urlunsplit(parts._replace(path=f"{path}/{index}", fragment=""))
        server = urlunsplit((parts.scheme.rpartition("+")[2], parts.netloc, path, "", ""))
        #: URL for requests, without user and password.
        self.url = f"{server}/{index}"
        self._existed = False
        has_routing = {"exists": {"field": "_routing"}}
        self._is_routed = TtlCache(lambda _: self.count(has_routing) > 0, _ROUTING_SECONDS)
        default_ca = opensearchpy.Connection.default_ca_certs()
        self.raw = opensearchpy.OpenSearch(
            [server],
            headers=self._access.headers,
            # opensearch-py does not know the request's deadline, so whorl retries by itself.
            max_retries=0,
            connection_class=ClusterConnection,
            connections=ServerConnections(self.url, "the cluster", "WHORL_OPENSEARCH_CA", self._access, default_ca),
        )

    def search(self, body: Json) -> Json:
        """Run a search; raise EngineResponseError for a partial response."""
        return self._require_whole(self.send("POST", self._path("_search"), body, allow_partial_search_results="false"))

    def _require_whole(self, response: Json) -> Json:
        if response.get("timed_out") or response.get("_shards", {}).get("failed"):
            raise EngineResponseError(f"{self.url} answered with a part of its shards only; check its health")
        return response

    def hits(self, body: Json) -> list[Json]:
        return list(self.search(body)["hits"]["hits"])

    def page(self, body: Json, start: int, rows: int) -> tuple[int, list[Json]]:
        """Return the number of hits, and one page of hits at any offset. The last sort key of `body` must be unique."""
        if start + rows <= RESULT_WINDOW:
            hits = self.search({**body, "from": start, "size": rows, "track_total_hits": True})["hits"]
            return int(hits["total"]["value"]), list(hits["hits"])
        total, passed, page, after = 0, 0, list[Json](), dict[str, object]()
        bare = {**body, "_source": False, "stored_fields": "_none_"}
        while passed < start + rows:
            is_before = passed < start
            size = min(RESULT_WINDOW, (start if is_before else start + rows) - passed)
            wanted = {**(bare if is_before else body), **after, "size": size, "track_total_hits": not after}
            hits = self.search(wanted)["hits"]
            total = total or int(hits["total"]["value"])
            batch = hits["hits"]
            page += [] if is_before else batch
            passed += len(batch)
            if len(batch) < size:
                break
            after = {"search_after": batch[-1]["sort"]}
        return total, page

    def documents(self, ids: Sequence[str], source: object, stored: Sequence[str] = ()) -> dict[str, Json]:
        """Return the latest versions of the existing documents, keyed by id, even if they are not searchable yet.

        `source` is the `_source` filter of the request; `stored` lists the stored fields to return. A document with a
        custom routing is found only if it is searchable.
        """
        documents, wanted = dict[str, Json](), {"_source": source, "stored_fields": list(stored)}
        # Leave out invalid ids, because a single invalid id would make the whole request fail.
        for batch in batches(filter(_may_be_id, ids), _READ_AT_ONCE):
            docs = [{"_id": document_id, **wanted} for document_id in batch]
            documents |= {document["_id"]: document for document in self._fetch_existing("_mget", {"docs": docs})}
            if (missing := [document_id for document_id in batch if document_id not in documents]) and self.is_routed:
                # A look-up by id does not find documents with a routing, so search for them.
                body = {"query": {"ids": {"values": missing}}, "size": len(missing), "seq_no_primary_term": True}
                documents |= {hit["_id"]: hit for hit in self.hits({**body, **wanted})}
        return documents

    @property
    def is_routed(self) -> bool:
        """Whether documents have a custom routing, so that their ids do not determine their shards."""
        return self._is_routed()

    def bulk(self, changes: Sequence[tuple[Json, Json | None]]) -> list[tuple[str, int, str]]:
        """Send changes, with retries after temporary failures; return the id, status and reason of each refused change.

        Changes of more than `MOST_BULK_BYTES` are sent in several requests.

        Raises:
            EngineUnavailableError: The cluster has no capacity for some of the changes; it has stored others.
            EngineResponseError: The index accepts no change: it is blocked or deleted, or the user may not write to it.
        """
        refused = list[tuple[str, int, str]]()

        def send(unsent: list[_EncodedChange]) -> None:
            try:
                response = self._send_once("POST", self._path("_bulk"), b"".join(lines for _, lines in unsent), {})
            except TransportError as error:
                if error.status_code != 413 or len(unsent) > 1:
                    raise
                refused.append((unsent[0][0], 413, _TOO_LARGE))
                return
            items = [next(iter(item.values())) for item in response["items"]]
            failures = [(change, item) for change, item in zip(unsent, items, strict=True) if "error" in item]
            if failure := next((item for _, item in failures if _concerns_index(item)), None):
                raise self._error(failure["status"], failure["error"])
            temporary = [(change, item) for change, item in failures if item["status"] in _TEMPORARY_STATUSES]
            unsent[:] = [change for change, _ in temporary]
            for _, item in failures:
                if item["status"] not in _TEMPORARY_STATUSES:
                    refused.append((item["_id"], item["status"], _detail(item["error"])))
            if temporary:
                raise self._error(temporary[0][1]["status"], temporary[0][1]["error"])

        for portion in _divide(changes):
            self._with_retries(partial(send, portion), "_bulk")
        return refused

    def count(self, query: Json) -> int:
        return int(self.search({"query": query, "size": 0, "track_total_hits": True})["hits"]["total"]["value"])

    def counts(self, queries: Sequence[Json]) -> list[int]:
        """Count the documents that match each query, in one request."""
        filters = {f"q{number}": query for number, query in enumerate(queries)}
        response = self.search({"size": 0, "aggs": {"counts": {"filters": {"filters": filters}}}})
        return [int(response["aggregations"]["counts"]["buckets"][name]["doc_count"]) for name in filters]

    def total(self) -> int:
        """Return the number of all documents in the index, with or without whorl's fields."""
        return self.count({"match_all": {}})

    def statistics(self, part: str) -> Json:
        return self.send("GET", self._path("_stats", part))

    def refresh(self) -> None:
        if self.send("POST", self._path("_refresh"))["_shards"]["failed"]:
            raise EngineResponseError(f"{self.url} has made only a part of its shards searchable; check its health")

    def mapping(self, fields: str = "") -> Json | None:
        """Return the index's mapping, or None if the index does not exist.

        Raise SchemaError for several indexes, for a pattern that no index matches, and for a data stream, because it
        accepts no changes of its documents.

        If this client has seen the index before, a missing index is an error: the caller must not create an empty index
        instead, because an alias may just be moving to another index. `fields` is a pattern for the names of the fields
        to return, in addition to `_source` and `_meta`.
        """
        mappings = f"*.mappings.properties.{fields},*.mappings._source,*.mappings._meta"
        parts = f"{mappings},*.settings.index.uuid,*.data_stream"
        try:
            indexes = self.send("GET", self._path(), **({"filter_path": parts} if fields else {}))
        except EngineResponseError as error:
            if error.status == 404 and not self._existed:
                return None
            raise
        self._existed = True
        if not indexes:
            raise SchemaError(f"no index of this cluster matches {self.url}")
        if len(indexes) > 1:
            problem = f"{self.url} stands for {len(indexes)} indexes ({', '.join(sorted(indexes))})"
            raise SchemaError(f"{problem}; name one of them")
        ((name, index),) = indexes.items()
        if index.get("data_stream") == self.index:
            problem = f"{self.url} is a data stream, in which no document can be changed"
            raise SchemaError(f"{problem}; name its index, {name}")
        return dict(index.get("mappings", {}))

    def settings(self) -> Json:
        """Return the index's settings, keyed by their full names, including defaults."""
        indexes = self.send("GET", self._path("_settings"), flat_settings="true", include_defaults="true")
        (index,) = indexes.values()
        return {**index.get("defaults", {}), **index.get("settings", {})}

    def create(self, body: Json) -> None:
        self.send("PUT", self._path(), body)

    def add_fields(self, fields: Json, about: Json | None = None) -> None:
        self.send("PUT", self._path("_mapping"), {"properties": fields, **({"_meta": about} if about else {})})

    def scroll(self, body: Json) -> Iterator[list[Json]]:
        """Yield all current hits of a search in batches, in no particular order.

        At most ten minutes may pass between two batches. This method uses the scroll API, because its syntax is the
        same in all versions of OpenSearch and Elasticsearch.
        """
        options = {"scroll": "10m", "allow_partial_search_results": "false"}
        page = self.send("POST", self._path("_search"), {**body, "sort": ["_doc"]}, **options)
        try:
            while hits := self._require_whole(page)["hits"]["hits"]:
                yield hits
                page = self.send("POST", "/_search/scroll", {"scroll": "10m", "scroll_id": page["_scroll_id"]})
        finally:
            with suppress(EngineError):
                self.send("DELETE", "/_search/scroll", {"scroll_id": [page["_scroll_id"]]})

    def about(self) -> Json:
        return self.send("GET", "/")

    def health(self) -> Json:
        return self.send("GET", f"/_cluster/health/{quote(self.index, safe='')}")

    def cluster_setting(self, name: str) -> str | None:
        """Return a setting of the cluster, or None if it is unknown or hidden."""
        try:
            groups = self.send("GET", "/_cluster/settings", flat_settings="true", include_defaults="true")
        except EngineResponseError:
            # A managed service may refuse to show its settings.
            return None
        return next((group[name] for group in groups.values() if isinstance(group, dict) and name in group), None)

    def term_vectors(self, ids: Sequence[str], field: str) -> dict[str, dict[str, int]]:
        """Return the tokens of documents in a field, with frequencies; the cluster computes missing term vectors."""
        valid = list(filter(_may_be_id, ids))
        if not valid:
            return {}
        body = {"ids": valid, "parameters": {"fields": [field], **_ONLY_TERMS}}
        return {document["_id"]: _terms(document, field) for document in self._fetch_existing("_mtermvectors", body)}

    def _fetch_existing(self, path: str, body: Json) -> list[Json]:
        """Request documents, and return the existing ones; retry after temporary errors of single shards."""

        def ask() -> list[Json]:
            documents: list[Json] = self._send_once("POST", self._path(path), body, {})["docs"]
            for document in documents:
                if "error" in document and _kind(document["error"]) != _NO_ROUTING:
                    raise self._error(_status_of(document["error"]), document["error"])
            return [document for document in documents if document.get("found")]

        return self._with_retries(ask, path)

    def terms_of(self, text: str, text_field: str, field: str) -> dict[str, int]:
        """Return the tokens of a text in a field, with frequencies; `text_field` is this field or its parent."""
        body = {"doc": {text_field: text}, "fields": [field], **_ONLY_TERMS}
        return _terms(self.send("POST", self._path("_termvectors"), body), field)

    def _path(self, *parts: str) -> str:
        return "/".join(["", quote(self.index, safe=""), *parts])

    def close(self) -> None:
        self.raw.close()

    def send(self, method: str, path: str, body: Any = None, **parameters: str) -> Json:
        return self._with_retries(lambda: self._send_once(method, path, body, parameters), path.rpartition("/")[2])

    def _send_once(self, method: str, path: str, body: Any, parameters: Mapping[str, str]) -> Json:
        headers = {"content-type": "application/x-ndjson" if isinstance(body, bytes) else "application/json"}
        response = self.raw.transport.perform_request(method, path, params=parameters, body=body, headers=headers)
        if not isinstance(response, dict):
            raise EngineResponseError(f"{self.url} answers with no JSON object: {str(response)[:200]!r}")
        return response

    def _with_retries(self, send: Callable[[], _Result], path: str) -> _Result:
        def send_once() -> _Result:
            try:
                return send()
            except TransportError as error:
                status = error.status_code if isinstance(error.status_code, int) else 0
                cause = error.info.get("error") if isinstance(error.info, dict) else error.info
                # A cluster responds with 404 while a shard is starting. Treat this as a temporary failure (503).
                status = 503 if _is_temporary(cause) else status
                raise self._error(status, cause or str(error.error)) from error
            except OpenSearchException as error:
                raise EngineResponseError(f"{self.url} gives an unexpected answer ({path}): {error}") from error

        return with_retries(send_once, self._access.retries)

    def without_fields(self) -> SchemaError:
        init, backfill = f"'whorl opensearch init {self.store_url}'", f"'whorl opensearch backfill {self.store_url}'"
        return SchemaError(f"{self.url} lacks whorl's fields; {init} adds them, and {backfill} fills them")

    def malformed_response(self, reason: str, other_cause: str = "") -> EngineResponseError:
        problem = f"{self.url} answers, but not as a cluster does ({reason:.200})"
        return EngineResponseError(f"{problem}; is this an OpenSearch's or Elasticsearch's address?{other_cause}")

    def _error(self, status: int, cause: Any) -> EngineError:
        detail = _detail(cause)
        blocked = f"{self.url} is blocked ({detail}): see its settings index.blocks, and the cluster's room on disk"
        if status in _TEMPORARY_STATUSES and TOO_MANY_BUCKETS not in detail:
            # A cluster whose disk is full refuses changes with the status 429.
            is_full = status == 429 and _kind(cause) == "cluster_block_exception"
            message = blocked if is_full else f"{self.url} cannot answer now ({status}): {detail}"
            return EngineUnavailableError(message, is_temporary=True)
        if status == 404:
            remedy = f"'whorl opensearch init {self.store_url}' makes it"
            message = f"{self.url} is not an index of this cluster ({detail}); {remedy}"
        elif "No mapping found for [whorl_id]" in detail:
            return self.without_fields()
        elif _kind(cause) == "cluster_block_exception":
            message = blocked
        elif _kind(cause) == "index_closed_exception":
            message = f"{self.url} is closed; 'POST /{self.index}/_open' opens it"
        elif status in (401, 403):
            remedy = "set WHORL_OPENSEARCH_AUTH=user:password or WHORL_OPENSEARCH_API_KEY, or check the user's rights"
            message = f"{self.url} answers {status}: {remedy} ({detail})"
        else:
            message = f"{self.url} answers {status}: {_TOO_LARGE if status == 413 else detail}"
        return EngineResponseError(message, status=status, detail=detail)


def _names_index(parts: SplitResult) -> object:
    path, _, index = parts.path.strip("/").rpartition("/")
    # Only a URL with a prefix such as `opensearch+` may have a path, because a plain URL with a path belongs to Solr. A
    # last part such as `_search` is a request, not an index.
    is_path_allowed = "+" in parts.scheme and not index.startswith("_")
    return _SCHEMES.fullmatch(parts.scheme) and index and (not path or is_path_allowed)


def address(hit: Json) -> Json:
    """Return the metadata of a bulk action that names a document: its id, and its routing if it has one."""
    routing = {"routing": hit["_routing"]} if "_routing" in hit else {}
    return {"_id": hit["_id"], **routing}


def _divide(changes: Sequence[tuple[Json, Json | None]]) -> Iterator[list[_EncodedChange]]:
    """Encode bulk changes, and yield them in portions of at most `MOST_BULK_BYTES`; send a larger change alone."""
    portion, size = list[_EncodedChange](), 0
    for change in changes:
        lines = b"".join(json_bytes(part) + b"\n" for part in change if part)
        if portion and size + len(lines) > MOST_BULK_BYTES:
            yield portion
            portion, size = [], 0
        portion.append((next(iter(change[0].values()))["_id"], lines))
        size += len(lines)
    if portion:
        yield portion


def _may_be_id(text: str) -> bool:
    return 0 < len(text.encode(errors="replace")) <= MOST_ID_BYTES and text == well_formed(text)


def _terms(document: Json, field: str) -> dict[str, int]:
    terms = document.get("term_vectors", {}).get(field, {}).get("terms", {})
    return {token: statistics["term_freq"] for token, statistics in terms.items()}


def _status_of(error: Any) -> int:
    """Return the HTTP status that fits the error of one document in a response."""
    known = {_NO_INDEX: 404, "illegal_argument_exception": 400}
    return 503 if _is_temporary(error) else known.get(_kind(error), 500)


def _concerns_index(item: Json) -> bool:
    """Check whether the cluster refuses a change because of the index or the user's rights, not the document."""
    return item["status"] in (401, 403) or _kind(item["error"]) == _NO_INDEX


def _kind(error: Any) -> str:
    return str(error.get("type", "")) if isinstance(error, dict) else ""


def _is_temporary(error: Any) -> bool:
    """Check whether an error is temporary, because a shard is starting or moving to another node."""
    kind = _kind(error)
    return kind.startswith(("no_shard", "index_shard_", "illegal_index_shard_state")) or "unavailable" in kind


def _detail(error: Any) -> str:
    """Return the innermost error message of the server, as one line of at most 300 characters."""
    while isinstance(error, dict):
        causes = error.get("root_cause") or [error.get("caused_by")]
        deepest = causes[0] if isinstance(causes, list) and causes and isinstance(causes[0], dict) else None
        if deepest is None or deepest is error:
            error = error.get("reason") or error.get("type") or ""
        else:
            error = {**deepest, "root_cause": None}
    return " ".join(str(error or "").split())[:300]
