"""HTTP to one index of a cluster: every request leaves here, every failure becomes an error of ours.

The client is opensearch-py, for both servers: it speaks the requests that they have in common, and asks no server
whether it is the right one.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import opensearchpy
from opensearchpy.exceptions import ConnectionError as NoConnectionError
from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException, SSLError, TransportError

from whorl.arrays import batches
from whorl.context import seconds_left
from whorl.engine.opensearch.answers import reads_answers
from whorl.engine.opensearch.connection import Connection
from whorl.engine.opensearch.fields import Json
from whorl.engine.repetition import repeated
from whorl.errors import (
    EngineError,
    EngineResponseError,
    EngineUnavailableError,
    ParameterError,
    SchemaError,
    without_login,
)
from whorl.fingerprint.hashing import well_formed

#: A cluster takes no longer id.
MOST_ID_BYTES = 512
#: Documents that one search pages through by numbers; beyond, the cluster goes on behind a hit.
RESULT_WINDOW = 10_000
# The client would write refusals to standard error: they are for us to tell.
logging.getLogger("opensearch").addHandler(logging.NullHandler())
logging.getLogger("opensearch").propagate = False
_SCHEMES = re.compile(r"(?:(opensearch|elasticsearch)\+)?(https?)")
_PASSING = frozenset({429, 502, 503, 504})
_NO_INDEX = "index_not_found_exception"
#: Documents asked for in one request, some with their whole texts.
_READ_AT_ONCE = 500
#: What is not asked of term vectors.
_TERMS_ALONE = dict.fromkeys(("positions", "offsets", "payloads", "field_statistics", "term_statistics"), False)
_Answered = TypeVar("_Answered")


@dataclass(frozen=True, slots=True)
class Access:
    """The way to a cluster.

    Args:
        timeout_seconds: How long it may be silent within one answer.
        connect_seconds: How long connecting may take.
        auth: User and password, where the URL holds none.
        api_key: Elasticsearch's key, sent instead of these.
        ca: The file with the authorities that may vouch for it; None for the system's.
        verify: Whether its certificate is checked.
        retries: How often a request is repeated that may succeed in a moment, at most.
        connections: Those that are kept open, at most.
    """

    timeout_seconds: float = 60.0
    connect_seconds: float = 5.0
    auth: tuple[str, str] | None = None
    api_key: str | None = None
    ca: str | None = None
    verify: bool = True
    retries: int = 3
    connections: int = 16


@reads_answers
class IndexClient:
    """An index under its URL, `opensearch+http://host:9200/index`.

    Args:
        url: Its URL; `user:password@` before the host becomes basic authentication and is never shown.
        access: Time, trust, credentials.

    Raises:
        ParameterError: The URL is not one of an index.
    """

    def __init__(self, url: str, access: Access = Access()) -> None:
        shown = without_login(url)
        try:
            parts = urlsplit(url)
            scheme, path = _SCHEMES.fullmatch(parts.scheme), parts.path.strip("/")
            is_address = scheme and parts.hostname and path and "/" not in path and not parts.query and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address or scheme is None:
            raise ParameterError(
                f"{shown!r} is not the address of an index; it looks like opensearch+http://localhost:9200/INDEX"
            )
        self.index, self._access = unquote(path), access
        #: As the commands take it, and as it is; without user and password.
        self.shown = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], f"/{path}", "", ""))
        self.url = urlunsplit((scheme[2], parts.netloc.rpartition("@")[2], f"/{path}", "", ""))
        auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else access.auth
        headers = {"authorization": f"ApiKey {access.api_key}"} if access.api_key else None
        self.raw = opensearchpy.OpenSearch(
            [urlunsplit((scheme[2], parts.netloc.rpartition("@")[2], "", "", ""))],
            http_auth=None if access.api_key else auth,
            headers=headers,
            verify_certs=access.verify,
            ssl_show_warn=False,
            ca_certs=access.ca,
            pool_maxsize=access.connections,
            # Repeated here, where it is known who waits how long.
            max_retries=0,
            trust_env=False,
            connection_class=Connection,
        )

    def search(self, body: Json) -> Json:
        """Run a search; a partial answer is never taken for a whole one."""
        return self._whole(self.send("POST", self._path("_search"), body, allow_partial_search_results="false"))

    def _whole(self, found: Json) -> Json:
        if found.get("timed_out") or found.get("_shards", {}).get("failed"):
            raise EngineResponseError(f"{self.url} answered with a part of its shards only; check its health")
        return found

    def hits(self, body: Json) -> list[Json]:
        """Return the hits of a search."""
        return list(self.search(body)["hits"]["hits"])

    def page(self, body: Json, start: int, rows: int) -> tuple[int, list[Json]]:
        """Return how many hits a search has, and a page of them, however far behind.

        Args:
            body: With what they are sorted by, the last key different for each hit.
            start: Hits before the page.
            rows: Hits on it.
        """
        if start + rows <= RESULT_WINDOW:
            found = self.search({**body, "from": start, "size": rows, "track_total_hits": True})
            return int(found["hits"]["total"]["value"]), list(found["hits"]["hits"])
        total, passed, page, after = 0, 0, list[Json](), None
        bare = {**body, "_source": False, "stored_fields": "_none_"}
        while passed < start + rows:
            is_before = passed < start
            size = min(RESULT_WINDOW, (start if is_before else start + rows) - passed)
            behind: Json = {} if after is None else {"search_after": after}
            wanted = bare if is_before else body
            found = self.search({**wanted, **behind, "size": size, "track_total_hits": after is None})
            hits = found["hits"]["hits"]
            total = total or int(found["hits"]["total"]["value"])
            page += [] if is_before else hits
            passed += len(hits)
            if len(hits) < size:
                break
            after = hits[-1]["sort"]
        return total, page

    def documents(self, ids: Sequence[str], source: object, stored: Sequence[str] = ()) -> dict[str, Json]:
        """Return documents by their ids, of those that there are: as they were last written, searchable or not.

        Args:
            ids: Their ids.
            source: What to return of their sources, as `_source` says it.
            stored: Stored fields to return.
        """
        found = dict[str, Json]()
        # A cluster takes no other ids, so it has none of these either; an answer about one would fail them all.
        for some in batches(filter(_may_be_id, ids), _READ_AT_ONCE):
            docs = [{"_id": each, "_source": source, "stored_fields": list(stored)} for each in some]
            found |= {each["_id"]: each for each in self._each("_mget", {"docs": docs})}
        return found

    def bulk(self, changes: Sequence[tuple[Json, Json | None]]) -> list[tuple[str, int, str]]:
        """Send changes; return those that are refused: id, status, reason. Those that may succeed later are repeated.

        Raises:
            EngineUnavailableError: The cluster has no room for some of them; the others are safe.
            EngineResponseError: The index takes none of them: it is blocked, or gone, or nobody may write to it.
        """
        left, refused = list(changes), list[tuple[str, int, str]]()

        def send() -> None:
            nonlocal left
            lines = "".join(json.dumps(each, ensure_ascii=False) + "\n" for pair in left for each in pair if each)
            items = [next(iter(each.values())) for each in self._once("POST", self._path("_bulk"), lines, {})["items"]]
            pairs = [(change, item) for change, item in zip(left, items, strict=True) if "error" in item]
            if ours := next((item for _, item in pairs if _is_of_the_index(item)), None):
                raise self._error(ours["status"], ours["error"])
            left = [change for change, item in pairs if item["status"] in _PASSING]
            refused.extend(
                (item["_id"], item["status"], _detail(item["error"]))
                for _, item in pairs
                if item["status"] not in _PASSING
            )
            if left:
                passing = next(item for _, item in pairs if item["status"] in _PASSING)
                raise self._error(passing["status"], passing["error"])

        if left:
            self._repeated(send, "_bulk")
        return refused

    def count(self, query: Json) -> int:
        """Return how many documents a query matches."""
        found = self.search({"query": query, "size": 0, "track_total_hits": True})
        return int(found["hits"]["total"]["value"])

    def total(self) -> int:
        """Return how many documents the index holds, ours or not."""
        return self.count({"match_all": {}})

    def refresh(self) -> None:
        """Make everything sent so far searchable."""
        if self.send("POST", self._path("_refresh"))["_shards"]["failed"]:
            raise EngineResponseError(f"{self.url} has made only a part of its shards searchable; check its health")

    def mapping(self, fields: str = "") -> Json | None:
        """Return the index's mapping, None where there is no index.

        Args:
            fields: A pattern for the names of fields that are enough, with what is said of the source.

        Raises:
            SchemaError: The name is an alias of several indexes.
        """
        wanted = (
            {"filter_path": f"*.mappings.properties.{fields},*.mappings._source,*.settings.index.uuid"}
            if fields
            else {}
        )
        try:
            found = self.send("GET", self._path(), **wanted)
        except EngineResponseError as error:
            if error.status == 404:
                return None
            raise
        if len(found) > 1:
            raise SchemaError(
                f"{self.url} is an alias of {len(found)} indexes ({', '.join(sorted(found))}); name one of them"
            )
        (only,) = found.values()
        return dict(only.get("mappings", {}))

    def settings(self) -> Json:
        """Return the index's settings, by their full names, with the defaults."""
        found = self.send("GET", self._path("_settings"), flat_settings="true", include_defaults="true")
        (only,) = found.values()
        return {**only.get("defaults", {}), **only.get("settings", {})}

    def create(self, body: Json) -> None:
        """Make the index."""
        self.send("PUT", self._path(), body)

    def add_fields(self, fields: Json) -> None:
        """Add fields to the mapping."""
        self.send("PUT", self._path("_mapping"), {"properties": fields})

    def scroll(self, body: Json, keep: str = "10m") -> Iterator[list[Json]]:
        """Yield all hits of a search as they are now, a portion at a time, in no order.

        By a scroll, since both servers and all of their versions take it in the same words.

        Args:
            body: With the size of a portion.
            keep: How long a portion may take.
        """
        sort = {"sort": ["_doc"]}
        found = self.send(
            "POST", self._path("_search"), {**body, **sort}, scroll=keep, allow_partial_search_results="false"
        )
        try:
            while hits := self._whole(found)["hits"]["hits"]:
                yield hits
                found = self.send("POST", "/_search/scroll", {"scroll": keep, "scroll_id": found["_scroll_id"]})
        finally:
            with suppress(EngineError):
                self.send("DELETE", "/_search/scroll", {"scroll_id": [found["_scroll_id"]]})

    def about(self) -> Json:
        """Return what the cluster says of itself: its name, version and distribution."""
        return self.send("GET", "/")

    def health(self) -> Json:
        """Return the health of the index: its status, and how many of its shards are on no node."""
        return self.send("GET", f"/_cluster/health/{quote(self.index, safe='')}")

    def cluster_setting(self, name: str) -> str | None:
        """Return a setting of the cluster; None where it does not tell it, or does not have it."""
        try:
            found = self.send("GET", "/_cluster/settings", flat_settings="true", include_defaults="true")
        except EngineResponseError:
            # Managed services keep it to themselves.
            return None
        return next((each[name] for each in found.values() if isinstance(each, dict) and name in each), None)

    def term_vectors(self, ids: Sequence[str], field: str) -> dict[str, dict[str, int]]:
        """Return the tokens of documents in a field, each with how often it stands there, of those that there are.

        Where the index does not keep them by document, the cluster makes them of the source.
        """
        wanted = [each for each in ids if _may_be_id(each)]
        if not wanted:
            return {}
        body = {"ids": wanted, "parameters": {"fields": [field], **_TERMS_ALONE}}
        return {each["_id"]: _terms(each, field) for each in self._each("_mtermvectors", body)}

    def _each(self, path: str, body: Json) -> list[Json]:
        """Return what is told of each of some documents, of those that there are.

        The errors of a shard are within such an answer, and may pass as well as those of a whole request.
        """

        def ask() -> list[Json]:
            docs: list[Json] = self._once("POST", self._path(path), body, {})["docs"]
            for each in docs:
                if "error" in each:
                    raise self._error(_status_of(each["error"]), each["error"])
            return [each for each in docs if each.get("found")]

        return self._repeated(ask, path)

    def terms_of(self, text: str, place: str, field: str) -> dict[str, int]:
        """Return the tokens that a field would have of a text, each with how often; nothing is stored.

        Args:
            text: The text.
            place: Where a document would have it: the field, or the one beside which that is.
            field: Of the tokens.
        """
        body = {"doc": {place: text}, "fields": [field], **_TERMS_ALONE}
        return _terms(self.send("POST", self._path("_termvectors"), body), field)

    def _path(self, *parts: str) -> str:
        return "/".join(["", quote(self.index, safe=""), *parts])

    def close(self) -> None:
        """Close the connections."""
        self.raw.close()

    def send(self, method: str, path: str, body: Any = None, **parameters: str) -> Json:
        """Send a request, again where it may succeed in a moment; return the JSON object of the answer."""
        return self._repeated(lambda: self._once(method, path, body, parameters), path.rpartition("/")[2])

    def _once(self, method: str, path: str, body: Any, parameters: Mapping[str, str]) -> Json:
        left = seconds_left()
        seconds = self._access.timeout_seconds if left is None else min(left, self._access.timeout_seconds)
        if seconds <= 0:
            raise EngineUnavailableError(f"the time for this request is up before {self.url} is asked")
        params = {**parameters, "request_timeout": (min(seconds, self._access.connect_seconds), seconds)}
        headers = {"content-type": "application/x-ndjson" if isinstance(body, str) else "application/json"}
        found = self.raw.transport.perform_request(method, path, params=params, body=body, headers=headers)
        if not isinstance(found, dict):
            raise EngineResponseError(f"{self.url} answers with no JSON object: {str(found)[:200]!r}")
        return found

    def _repeated(self, send: Callable[[], _Answered], doing: str) -> _Answered:
        def once() -> _Answered:
            with self._translated(doing):
                return send()

        return repeated(once, self._access.retries)

    @contextmanager
    def _translated(self, doing: str) -> Iterator[None]:
        try:
            yield
        except ConnectionTimeout as error:
            raise EngineUnavailableError(
                f"{self.url} did not answer in time ({doing}); try again, or allow it more time with WHORL_TIMEOUT"
            ) from error
        except SSLError as error:
            raise EngineUnavailableError(
                f"{self.url} cannot be trusted ({error.info}); does it speak TLS, and does WHORL_OPENSEARCH_CA name "
                "the authority that vouches for it?"
            ) from error
        except NoConnectionError as error:
            raise EngineUnavailableError(
                f"no cluster answers at {self.url}; is it running, and is the address right?", is_passing=True
            ) from error
        except TransportError as error:
            raise self._refused(error) from error
        except OpenSearchException as error:
            raise EngineResponseError(f"{self.url} gives an unexpected answer ({doing}): {error}") from error

    def _refused(self, error: TransportError) -> EngineError:
        status = error.status_code if isinstance(error.status_code, int) else 0
        told = error.info.get("error") if isinstance(error.info, dict) else error.info
        # A shard that comes up is no missing index, though it is told with the same status.
        return self._error(503 if _is_passing(told) else status, told or str(error.error))

    def _error(self, status: int, told: Any) -> EngineError:
        detail = _detail(told)
        if status in _PASSING:
            return EngineUnavailableError(f"{self.url} cannot answer now ({status}): {detail}", is_passing=True)
        if status == 404:
            message = (
                f"{self.url} is no index of this cluster ({detail}); 'whorl opensearch init {self.shown}' makes it"
            )
        elif _kind(told) == "cluster_block_exception":
            message = f"{self.url} is blocked ({detail}): see its settings index.blocks, and the cluster's room on disk"
        elif status in (401, 403):
            message = (
                f"{self.url} answers {status}: set WHORL_OPENSEARCH_AUTH=user:password or WHORL_OPENSEARCH_API_KEY, or "
                f"check the user's rights ({detail})"
            )
        else:
            message = f"{self.url} answers {status}: {detail}"
        return EngineResponseError(message, status=status, detail=detail)


def _may_be_id(text: str) -> bool:
    return 0 < len(text.encode(errors="replace")) <= MOST_ID_BYTES and text == well_formed(text)


def _terms(document: Json, field: str) -> dict[str, int]:
    terms = document.get("term_vectors", {}).get(field, {}).get("terms", {})
    return {token: told["term_freq"] for token, told in terms.items()}


def _status_of(error: Any) -> int:
    """Return the HTTP status that an error within an answer stands for."""
    known = {_NO_INDEX: 404, "illegal_argument_exception": 400}
    return 503 if _is_passing(error) else known.get(_kind(error), 500)


def _is_of_the_index(item: Json) -> bool:
    """Tell whether a change is refused for what it is sent to, and not for what it is."""
    return item["status"] in (401, 403) or _kind(item["error"]) == _NO_INDEX


def _kind(error: Any) -> str:
    return str(error.get("type", "")) if isinstance(error, dict) else ""


def _is_passing(error: Any) -> bool:
    """Tell whether a shard is about to come up, or is just moving to another node."""
    kind = _kind(error)
    return kind.startswith(("no_shard", "index_shard_", "illegal_index_shard_state")) or "unavailable" in kind


def _detail(error: Any) -> str:
    """Return the server's own words, short and on one line."""
    while isinstance(error, dict):
        causes = error.get("root_cause") or [error.get("caused_by")]
        deepest = causes[0] if isinstance(causes, list) and causes and isinstance(causes[0], dict) else None
        if deepest is None or deepest is error:
            error = error.get("reason") or error.get("type") or ""
        else:
            error = {**deepest, "root_cause": None}
    return " ".join(str(error or "").split())[:300]
