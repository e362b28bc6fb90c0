"""HTTP to one index of a cluster: every request leaves here, every failure becomes an error of ours.

The client is opensearch-py, for both servers: it speaks the requests that they have in common, and asks no server
whether it is the right one.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import opensearchpy
from opensearchpy.exceptions import ConnectionError as NoConnectionError
from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException, SSLError, TransportError

from whorl.context import seconds_left, trace
from whorl.engine.opensearch.fields import Json
from whorl.errors import EngineError, EngineResponseError, EngineUnavailableError, ParameterError

#: Documents that one search pages through by numbers; beyond, the cluster goes on behind a hit.
RESULT_WINDOW = 10_000
_SCHEMES = re.compile(r"(?:(opensearch|elasticsearch)\+)?(https?)")
_CREDENTIALS = re.compile("//.*@", re.DOTALL)
_PASSING = frozenset({429, 502, 503, 504})
_Answered = TypeVar("_Answered")


@dataclass(frozen=True, slots=True)
class Access:
    """The way to a cluster.

    Args:
        timeout_seconds: How long it may be silent within one answer.
        auth: User and password, where the URL holds none.
        api_key: Elasticsearch's key, sent instead of these.
        ca: The file with the authorities that may vouch for it; None for the system's.
        verify: Whether its certificate is checked.
        retries: How often a request is repeated that may succeed in a moment, at most.
        connections: Those that are kept open, at most.
    """

    timeout_seconds: float = 60.0
    auth: tuple[str, str] | None = None
    api_key: str | None = None
    ca: str | None = None
    verify: bool = True
    retries: int = 3
    connections: int = 16


class IndexClient:
    """An index under its URL, `opensearch+http://host:9200/index`.

    Args:
        url: Its URL; `user:password@` before the host becomes basic authentication and is never shown.
        access: Time, trust, credentials.

    Raises:
        ParameterError: The URL is not one of an index.
    """

    def __init__(self, url: str, access: Access = Access()) -> None:
        shown = _CREDENTIALS.sub("//", url)
        try:
            parts = urlsplit(url)
            scheme, path = _SCHEMES.fullmatch(parts.scheme), parts.path.strip("/")
            is_address = scheme and parts.hostname and path and "/" not in path and not parts.query
        except ValueError:
            is_address = False
        if not is_address or scheme is None:
            raise ParameterError(
                f"{shown!r} is not the address of an index; it looks like opensearch+http://localhost:9200/INDEX"
            )
        self.index, self._access = unquote(path), access
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
        )

    def search(self, body: Json) -> Json:
        """Run a search; a partial answer is never taken for a whole one."""
        found = self.send("POST", f"/{quote(self.index)}/_search", body, allow_partial_search_results="false")
        if found.get("timed_out") or found.get("_shards", {}).get("failed"):
            raise EngineResponseError(f"{self.url} answered with a part of its shards only; see to its health")
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
            return found["hits"]["total"]["value"], found["hits"]["hits"]
        total, passed, page, after = 0, 0, list[Json](), None
        bare = {**body, "_source": False, "stored_fields": "_none_"}
        while passed < start + rows:
            is_before = passed < start
            size = min(RESULT_WINDOW, (start if is_before else start + rows) - passed)
            behind: Json = {} if after is None else {"search_after": after}
            wanted = bare if is_before else body
            found = self.search({**wanted, **behind, "size": size, "track_total_hits": after is None})
            hits = found["hits"]["hits"]
            total = total or found["hits"]["total"]["value"]
            page += [] if is_before else hits
            passed += len(hits)
            if len(hits) < size:
                break
            after = hits[-1]["sort"]
        return total, page

    def documents(self, ids: Sequence[str], wanted: Sequence[str], stored: Sequence[str] = ()) -> dict[str, Json]:
        """Return documents by their ids, of those that there are: what is asked for of their sources and stored fields.

        They are read as they were last written, searchable already or not.
        """
        if not ids:
            return {}
        docs = [{"_id": each, "_source": list(wanted) or False, "stored_fields": list(stored)} for each in ids]
        found = self.send("POST", f"/{quote(self.index)}/_mget", {"docs": docs})
        for each in found["docs"]:
            if "error" in each:
                raise EngineResponseError(f"{self.url}: {_detail(each['error'])}")
        return {each["_id"]: each for each in found["docs"] if each.get("found")}

    def bulk(self, actions: Sequence[Json]) -> list[Json]:
        """Send changes; return what became of each, in order."""
        lines = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in actions)
        found = self.send("POST", f"/{quote(self.index)}/_bulk", lines)
        return [next(iter(each.values())) for each in found["items"]]

    def count(self, query: Json) -> int:
        """Return how many documents a query matches."""
        return int(self.send("POST", f"/{quote(self.index)}/_count", {"query": query})["count"])

    def refresh(self) -> None:
        """Make everything sent so far searchable."""
        self.send("POST", f"/{quote(self.index)}/_refresh")

    def mapping(self) -> Json:
        """Return the index's mapping."""
        found = self.send("GET", f"/{quote(self.index)}/_mapping")
        # Behind an alias there may be several; one of them is as good as another to ask.
        mapping: Json = next(iter(found.values()))["mappings"]
        return mapping

    def info(self) -> Json:
        """Return what the server says of itself."""
        return self.send("GET", "/")

    def close(self) -> None:
        """Close the connections."""
        self.raw.close()

    def send(self, method: str, path: str, body: Any = None, **parameters: str) -> Json:
        """Send a request, again where it may succeed in a moment; return the JSON object of the answer.

        All can be repeated: questions change nothing, and documents and ids replace what an earlier attempt has left.
        """
        return self._repeated(lambda: self._once(method, path, body, parameters), path.rpartition("/")[2])

    def _once(self, method: str, path: str, body: Any, parameters: Mapping[str, str]) -> Json:
        left = seconds_left()
        seconds = self._access.timeout_seconds if left is None else min(left, self._access.timeout_seconds)
        if seconds <= 0:
            raise EngineUnavailableError(f"the time for this request is up before {self.url} is asked")
        params = {**parameters, "request_timeout": seconds}
        headers = {"content-type": "application/x-ndjson" if isinstance(body, str) else "application/json"}
        found = self.raw.transport.perform_request(method, path, params=params, body=body, headers=headers)
        if not isinstance(found, dict):
            raise EngineResponseError(f"{self.url} answers with no JSON object: {str(found)[:200]!r}")
        return found

    def _repeated(self, send: Callable[[], _Answered], doing: str) -> _Answered:
        noted = trace()
        for repetition in itertools.count(1):
            began = time.monotonic()
            noted.solr_requests += 1
            try:
                with self._translated(doing):
                    return send()
            except EngineUnavailableError as error:
                pause, left = min(2.0, 0.1 * 2.0 ** (repetition - 1)), seconds_left()
                if not error.is_passing or repetition > self._access.retries or (left is not None and left <= pause):
                    raise
            finally:
                noted.solr_seconds += time.monotonic() - began
            noted.solr_retries += 1
            time.sleep(pause)
        raise AssertionError("counting ends")

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
            raise EngineResponseError(f"{self.url} answers something strange ({doing}): {error}") from error

    def _refused(self, error: TransportError) -> EngineError:
        status = error.status_code if isinstance(error.status_code, int) else 0
        detail = _detail(error.info.get("error") if isinstance(error.info, dict) else error.info) or str(error.error)
        if status in _PASSING:
            return EngineUnavailableError(f"{self.url} cannot answer now ({status}): {detail}", is_passing=True)
        if status == 404:
            message = f"{self.url} is no index of this cluster ({detail}); 'whorl opensearch init' makes one"
        elif status in (401, 403):
            message = (
                f"{self.url} answers {status}: set WHORL_OPENSEARCH_AUTH=user:password or WHORL_OPENSEARCH_API_KEY, or "
                "check the user's rights"
            )
        else:
            message = f"{self.url} answers {status}: {detail}"
        return EngineResponseError(message, status=status, detail=detail)


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
