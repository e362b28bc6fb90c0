"""HTTP client of one Solr core or collection; turns every failure into one of whorl's errors.

Queries are sent as JSON, because URLs, XML and comma-separated lists would change control characters, commas and blanks
in tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any
from urllib.parse import SplitResult, unquote, urlencode, urlsplit, urlunsplit

import orjson
import pysolr
import urllib3
from requests.utils import DEFAULT_CA_BUNDLE_PATH

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
    format_names,
    without_login,
)

_TITLE = re.compile(r"<title>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_IDENTIFIER, _NO_IDENTIFIER = re.compile(r"[^\W\d]\w*", re.ASCII), re.compile(r"^\d|\W", re.ASCII)
#: Cache time in seconds for the description of the collection, which other clients may change.
DESCRIPTION_SECONDS = 60.0
#: Cursor mark of the first page.
FIRST_CURSOR_MARK = "*"
#: Parameters of all requests, which replace the defaults of a request handler. They forbid Solr to replace ${…} in ids,
#: words and tokens (`expandMacros`), to repeat hundreds of tokens in the response's header (`echoParams`), to return
#: incomplete results after a time limit or a shard's failure (`timeAllowed`, `shards.tolerant`), to estimate the number
#: of hits (`minExactCount`), and to omit the header, which marks incomplete results (`omitHeader`).
_ALWAYS = (
    "expandMacros=false&wt=json&echoParams=none&omitHeader=false&indent=false&timeAllowed=-1&shards.tolerant=false"
    "&minExactCount=2147483647"
)
_JSON = "application/json"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """Page of documents from a search. `answer` is the whole response, with the next cursor mark."""

    total: int
    documents: list[Json]
    answer: Json

    @property
    def facets(self) -> Json:
        """Facets of the response; an empty collection has none."""
        return dict(self.answer.get("facets", {}))


@guard_responses
class SolrClient:
    """Client of one core or collection, whose base URL is `http://host:8983/solr/name`.

    `user:password@` before the host becomes basic authentication; messages never show it.
    """

    def __init__(self, url: str, access: ServerAccess = ServerAccess()) -> None:  # noqa: B008 - frozen
        shown = without_login(url)
        example = (
            f"{shown!r} is not the address of a Solr core or collection; it looks like http://localhost:8983/solr/NAME"
            + ("; in a password, write / # ? @ as %2F %23 %3F %40, or use WHORL_SOLR_AUTH" if shown != url else "")
        )
        parts, access = split_address(url, access, _names_collection, example)
        self.url = urlunsplit(parts).rstrip("/")
        self._access = access
        self._connections = ServerConnections(self.url, "Solr", "WHORL_SOLR_CA", access, DEFAULT_CA_BUNDLE_PATH)
        self._path = urlsplit(self.url).path
        self._headers = access.headers
        # pysolr uses only `post` of its session, and `encode` of its encoder, so these two functions are enough.
        encoder = SimpleNamespace(encode=lambda documents: json_bytes(documents).decode())
        self._pysolr = pysolr.Solr(self.url, session=SimpleNamespace(post=self._post_update), encoder=encoder)
        self._routers = TtlCache(lambda _: self._read_routers(), DESCRIPTION_SECONDS)

    def get(self, path: str, **params: str | int) -> Json:
        return self._send("GET", path, params)

    def post(self, path: str, body: object, **params: str | int) -> Json:
        return self._send("POST", path, params, json_bytes(body))

    def select(self, body: object, handler: str = "select", **params: str) -> SearchResponse:
        answer = self.post(handler, body, **params)
        response = answer["response"]
        # `dict` raises an error if a document is not a JSON object.
        return SearchResponse(response_int(response["numFound"]), [*map(dict, response["docs"])], answer)

    def fetch(self, query: Mapping[str, Any], fields: Iterable[str], limit: int) -> list[Json]:
        return self.select({"query": query, "limit": limit, "fields": escape_field_names(fields)}).documents

    def count(self, query: Mapping[str, Any]) -> int:
        return self.select({"query": query, "limit": 0}).total

    def counts(self, queries: Sequence[str]) -> list[int]:
        """Count the documents that match each query in Lucene's syntax, in one request."""
        facets = {f"q{number}": {"type": "query", "q": query} for number, query in enumerate(queries)}
        results = self.select({"query": {"bool": {"must": ["*:*"]}}, "limit": 0, "facet": facets}).facets
        return [int(results.get(name, {}).get("count", 0)) for name in facets]

    def pages(
        self, query: Mapping[str, Any], key: str, fields: Iterable[str], rows: int, mark: str = FIRST_CURSOR_MARK
    ) -> Iterator[tuple[list[Json], str]]:
        """Yield pages of matching documents, sorted by id, each page with the cursor mark of the next page.

        Args:
            key: Field with the ids.
            mark: Cursor mark of the first page to yield.
        """
        following, mark = mark, ""
        while following != mark:
            mark = following
            body = {"query": query, "limit": rows, "fields": escape_field_names(fields), "sort": f"{key} asc"}
            page = self.select({**body, "params": {"cursorMark": mark}})
            following = str(page.answer["nextCursorMark"])
            if page.documents:
                yield page.documents, following

    def change(self, path: str, command: object) -> Json:
        """Send a command to the Schema or Config API. Do not retry, because Solr refuses a repeated command."""
        return self._object(self._send_once("POST", path, {}, json_bytes(command)))

    def post_xml(self, path: str, text: str) -> Json:
        """Send XML to the handler of document analysis, which accepts no other format."""
        return self._send("POST", path, {}, text.encode(), "text/xml; charset=utf-8")

    def add(self, documents: Sequence[Mapping[str, object]]) -> None:
        """Send documents to Solr's update log. A commit makes them searchable."""
        self._object(with_retries(lambda: str(self._pysolr.add(documents, commit=False)), self._access.retries))

    def _post_update(self, _: str, *, data: bytes, headers: Mapping[str, str], **__: object) -> SimpleNamespace:
        content = self._send_once("POST", "update", {}, data, headers["Content-type"])
        return SimpleNamespace(status_code=200, content=content)

    def delete(self, versions: Mapping[str, int | None]) -> None:
        """Delete documents; searches find them until the next commit.

        `versions` maps each document's id to its expected version, or to None if any version may be deleted. If a
        document has another version, Solr responds with the status 409, and ignores the rest of the request.
        """
        # Only one form of the command can have versions: a JSON object with a member "delete" for each document.
        members = (
            b'"delete":' + json_bytes({"id": document_id, **({} if version is None else {"_version_": version})})
            for document_id, version in versions.items()
        )
        self._send("POST", "update", {}, b"{" + b",".join(members) + b"}")

    def commit(self) -> None:
        # Do not use pysolr's commit: it would send XML, and Solr would respond with XML.
        self.post("update", {"commit": {}})

    def reload(self) -> None:
        """Reload a collection of a SolrCloud, and wait until all its cores use its changed schema.

        SolrCloud answers a schema change before all cores have reloaded. A document that is committed during a reload
        can stay invisible until the next commit. A standalone Solr reloads before it answers.
        """
        # The schema has already changed, and the user may lack the right to reload, so ignore the error.
        with suppress(EngineResponseError):
            self._administer("RELOAD", "name")

    def _read_routers(self) -> dict[str, Json]:
        """Return the router of each collection of the URL by name; {} on a standalone Solr, or if Solr refuses."""
        with suppress(EngineResponseError):
            collections = self._administer("CLUSTERSTATUS", "collection")["cluster"]["collections"]
            return {name: dict(state.get("router") or {}) for name, state in collections.items()}
        return {}

    @property
    def is_cloud(self) -> bool:
        """Whether this is a SolrCloud; False for a standalone Solr, or if Solr refuses to answer."""
        return bool(self._routers())

    def aliased_collections(self) -> list[str]:
        """Return the collections of this client's alias; empty if the URL is not an alias or Solr refuses to answer."""
        names = sorted(self._routers())
        return [] if names == [unquote(self.url.rpartition("/")[2])] else names

    def has_implicit_router(self) -> bool:
        """Check whether clients choose the shard of each document, so that Solr cannot find it by its id."""
        return any(router.get("name") == "implicit" for router in self._routers().values())

    def route_field(self) -> str | None:
        """Return the field that decides a document's shard, or None; each update of a document must contain it."""
        return next((router["field"] for router in self._routers().values() if router.get("field")), None)

    def require_updatable(self) -> None:
        """Raise SchemaError for an alias of several collections, and if Solr cannot find documents by their ids."""
        self.require_one_collection()
        if self.has_implicit_router():
            problem = f"{self.url} has the router 'implicit', with which Solr finds no shard by a document's id"
            remedy = "copy the documents into a collection with the router 'compositeId'"
            raise SchemaError(f"{problem}: it can only be searched. {remedy}")

    def require_one_collection(self) -> None:
        """Raise SchemaError if the URL is an alias of several collections: Solr would change only the first."""
        if len(names := self.aliased_collections()) > 1:
            base = self.url.rpartition("/")[0]
            problem = (
                f"{self.url} is an alias of {len(names)} collections, {format_names(names, 5)}, and can only be read"
            )
            remedy = f"Name a collection, such as {base}/{names[0]}"
            raise SchemaError(f"{problem}: Solr would change the first of them alone. {remedy}")

    def cores(self, *, directly: bool = True) -> Iterator[SolrClient]:
        """Yield a client for one core of each shard, or this client on a standalone Solr.

        If `directly`, the clients use the addresses that the nodes have registered, which some machines cannot resolve.
        Otherwise, they use the address of this client's node, which forwards the requests.
        """
        try:
            status = self._administer("CLUSTERSTATUS", "collection")
        except EngineResponseError as error:
            if error.status != 400:
                raise
            # Only a SolrCloud knows this command. On a standalone Solr, the URL already names a core.
            yield self
            return
        base = self.url.rpartition("/")[0]
        collections = status["cluster"]["collections"].values()
        shards = [shard for collection in collections for shard in collection["shards"].values()]
        active = [shard["replicas"].values() for shard in shards if shard.get("state") == "active"]
        for replica in (min(replicas, key=lambda own: own.get("leader") != "true") for replicas in active if replicas):
            address = f"{replica['base_url'] if directly else base}/{replica['core']}"
            with closing(SolrClient(address, self._access)) as core:
                yield core

    def _administer(self, action: str, parameter: str) -> Json:
        """Call the Collections API; `parameter` is the API's parameter for the name of the collection."""
        base, name = self.url.rsplit("/", 1)
        with closing(SolrClient(f"{base}/admin", self._access)) as admin:
            return admin.get("collections", **{"action": action, parameter: unquote(name)})

    def close(self) -> None:
        self._connections.close()

    def _send(
        self, method: str, path: str, params: Mapping[str, str | int], body: bytes | None = None, kind: str = _JSON
    ) -> Json:
        send = partial(self._send_once, method, path, params, body, kind)
        return self._object(with_retries(send, self._access.retries))

    def _send_once(
        self, method: str, path: str, params: Mapping[str, str | int], body: bytes | None = None, kind: str = _JSON
    ) -> bytes:
        target = f"{self._path}/{path}?{_ALWAYS}{'&' if params else ''}{urlencode(params)}"
        headers = self._headers if body is None else {**self._headers, "Content-Type": kind}
        response = self._connections.request(method, target, body, headers)
        if response.status != 200:
            raise _response_error(self.url, path, response)
        return response.data

    def _object(self, body: str | bytes) -> Json:
        try:
            parts = orjson.loads(body)
        except orjson.JSONDecodeError:
            parts = None
            # Try Python's parser, which accepts lone surrogates, unlike orjson.
            with suppress(ValueError, RecursionError):
                parts = json.loads(body)
        if not isinstance(parts, dict):
            text = body if isinstance(body, str) else body.decode(errors="replace")
            raise self.malformed_response(f"no JSON object: {_title_or_text(text) or 'nothing'}")
        header = parts.get("responseHeader")
        if isinstance(header, dict) and (header.get("partialResults") or header.get("segmentTerminatedEarly")):
            detail = _shorten(str(header.get("partialResultsDetails", "")))
            problem = f"{self.url} answered with a part of the results only{detail and f' ({detail})'}"
            limits = "limits such as timeAllowed in the invariants of its request handlers"
            message = f"{problem}; look for {limits}, and for shards that are down"
            raise EngineResponseError(message, status=200, detail=detail)
        return parts

    def missing_field(self, field: str, alternative: str = "") -> SchemaError:
        """Return the error for a field that `whorl solr init` would add; `field` is its name and purpose."""
        return SchemaError(f"{self.url} has no field {field}; 'whorl solr init {self.url}' adds it{alternative}")

    def malformed_response(self, reason: str, other_cause: str = "") -> EngineResponseError:
        """Return the error for a response that does not look like Solr's; its message ends with `other_cause`."""
        message = f"{self.url} answers, but not as a Solr does ({reason:.200}); is this a Solr's address?{other_cause}"
        return EngineResponseError(message, status=200, detail=reason)


def _names_collection(parts: SplitResult) -> bool:
    is_web = parts.scheme in ("http", "https") and not parts.fragment
    return is_web and "/" in parts.path.strip("/") and "@" not in parts.path


def _response_error(url: str, path: str, response: urllib3.BaseHTTPResponse) -> EngineError:
    status, detail = response.status, _detail(response.data)
    if "lookupLog" in detail:
        # Solr 9.9 fails with this message if a document is changed before Solr has replayed it from its log.
        message = f"Solr at {url} is still reading its log again, as it does after it was killed; try again in a minute"
        return EngineUnavailableError(message, is_temporary=True)
    if 300 <= status < 400 and "location" in response.headers:
        message = redirect_message(url, status, response.headers["location"])
    elif status == 404:
        message = f"{url} answers 404, so there is no such core or collection, or it lacks a request handler ({detail})"
    elif status in (401, 403):
        message = f"{url}/{path} answers {status}: set WHORL_SOLR_AUTH=user:password, or check the user's rights"
    elif "maxClauseCount" in detail:
        problem = f"the query has more clauses than {url} allows ({detail})"
        message = f"{problem}; ask for fewer terms at once, or raise maxBooleanClauses in solr.xml"
    elif status in (429, 502, 503, 504):
        # Solr sends 429 and 503. A proxy that cannot reach Solr sends 502 and 504.
        return EngineUnavailableError(f"Solr at {url} cannot answer now ({status}): {detail}", is_temporary=True)
    else:
        # Once its disk has been full, Solr refuses all changes until it is restarted.
        is_full = any(part in detail for part in ("No space left", "IndexWriter is closed", "Server error writing"))
        remedy = "; see whether Solr's disk is full, and restart Solr when it has room" if is_full else ""
        message = f"Solr at {url} answers {status}: {detail}{remedy}"
    return EngineResponseError(message, status=status, detail=detail)


def _detail(body: bytes) -> str:
    """Return the server's error message as one line, shortened."""
    try:
        error = json.loads(body)["error"]
        return _shorten(str(error.get("msg") or error.get("trace", "")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return _title_or_text(body.decode(errors="replace"))


def _title_or_text(page: str) -> str:
    """Return the title of an HTML page from a proxy or Jetty; if it has no title, the shortened page."""
    title = _TITLE.search(page)
    return _shorten(title[1] if title else page)


def _shorten(words: str) -> str:
    return " ".join(words.split())[:300]


def term_vectors(answer: Json, field: str) -> dict[str, dict[str, int]]:
    """Return each document's tokens with their frequencies, keyed by document id; the request must set json.nl=map."""
    documents = (part for part in answer.get("termVectors", {}).values() if isinstance(part, dict))
    tokens = {str(document["uniqueKey"]): document.get(field, {}) for document in documents if "uniqueKey" in document}
    return {key: {token: int(own.get("tf", 1)) for token, own in found.items()} for key, found in tokens.items()}


def escape_field_names(fields: Iterable[str]) -> list[str]:
    """Escape field names for a field list. The response may also contain fields with similar names."""
    # Some characters, and the name `score`, have a meaning in a field list, and Solr reads a digit at the beginning as
    # a number. So replace them with `?`, which matches any character.
    names = ("scor?" if name == "score" else name for name in fields)
    return [name if _IDENTIFIER.fullmatch(name) else _NO_IDENTIFIER.sub("?", name) for name in names]


def response_int(value: int) -> int:
    """Return an integer of a response; raise ValueError if it has more than 64 bits, which Solr never writes."""
    if int(value).bit_length() > 63:
        raise ValueError(f"{value!r:.80} is too large")
    return int(value)


def first_text(value: object) -> str:
    return next(iter(texts(value)), "")


def whole_text(value: object) -> str:
    return "\n".join(texts(value))


def texts(value: object) -> list[str]:
    """Return a field's values as a list of texts. Solr returns the value of a single-valued field without a list."""
    values = value if isinstance(value, list) else [value]
    return [str(part) for part in values if part is not None]
