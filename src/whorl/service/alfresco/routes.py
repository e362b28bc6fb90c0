"""Routes of Alfresco's REST API: search, tickets, the current user, the repository's version, nodes.

Requests and responses follow Alfresco's own description (alfresco-search.yaml, alfresco-auth.yaml); docs/alfresco.md
lists the differences. Every entry of a list has the nine keys that generated clients require.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict

from whorl.errors import ParameterError, UnknownDocumentError
from whorl.model import Hit, Page, Stored
from whorl.output.json_conversion import values
from whorl.query.plan.fields_and_values import convert_qualified_name, date_of, format_date
from whorl.search.highlighting import Highlights
from whorl.search.prepared_search import PreparedQuery, highlight_hits
from whorl.search.similar.results import Measured
from whorl.search.spelling import correct_spelling
from whorl.service.alfresco.facets import facets_of
from whorl.service.alfresco.request import NodeBasic, SearchRequest, markings
from whorl.service.credentials import Authenticator, ticket_in
from whorl.service.requests_and_responses import DISCOVERY, NODES, PEOPLE, SEARCH, TICKETS, Json
from whorl.store import Store

NODE_TYPE, FOLDER_TYPE = "cm:content", "cm:folder"
#: Placeholders for an unknown creator or modifier, and for an unknown date.
NOBODY, NEVER = "System", "1970-01-01T00:00:00.000+0000"
#: Fields of an estimate that are in an entry of a search response.
_ESTIMATED = ("jaccard", "a_in_b", "b_in_a", "exact", "intervals")
_NODES = "workspace://SpacesStore/"
#: A number of bytes with at most 18 digits; `int` fails for thousands of digits.
_SIZE = re.compile(r"[0-9]{1,18}")
#: Properties that an entry shows outside `properties`, with their names in a document, the preferred one first.
_OWN: Mapping[str, tuple[str, ...]] = {
    "name": ("cm:name",),
    "type": ("TYPE", "nodeType"),
    "aspects": ("ASPECT", "aspectNames"),
    "created": ("cm:created", "createdAt"),
    "creator": ("cm:creator", "createdByUser"),
    "modified": ("cm:modified", "modifiedAt"),
    "modifier": ("cm:modifier", "modifiedByUser"),
    "parent": ("PARENT", "parentId"),
    "path": ("PATH", "path"),
    "mime type": ("cm:content.mimetype", "mimetype", "mimeType"),
    "size": ("cm:content.size", "sizeInBytes"),
    "encoding": ("cm:content.encoding", "encoding"),
}


def entry(
    hit: Hit,
    stored: Stored,
    *,
    names: Mapping[str, str],
    include: Collection[str],
    fields: Collection[str],
    source: tuple[str, Measured] | None,
    highlight: Sequence[tuple[str, Sequence[str]]] = (),
) -> dict[str, Any]:
    """Return one entry of a search response, with the keys in `fields` (by default all) and in `include`.

    `names` maps Alfresco's properties to the store's; `source` is the query's source, with the hit's overlap;
    `highlight` has the highlighted fragments of each field.
    """
    node = _Node(stored, names)
    search: dict[str, Any] = {"score": hit.score}
    if source is not None:
        search["fingerprint"] = _fingerprint(*source)
    if highlight:
        search["highlight"] = [{"field": name, "snippets": list(snippets)} for name, snippets in highlight]
    keys = {**node.basics(hit), "search": search}
    wanted = {*include, *(fields or keys)}
    return {name: value for name, value in {**keys, **node.extras()}.items() if name in wanted}


def node_entry(stored: Stored, names: Mapping[str, str], include: Collection[str]) -> dict[str, Any]:
    node = _Node(stored, names)
    more = {**node.extras(), "isFavorite": False, "permissions": {"isInheritanceEnabled": False}}
    wanted = {"aspectNames", "properties", *include}
    return {**node.basics(Hit(stored.id, stored.name, 0.0)), **{name: more[name] for name in more if name in wanted}}


class _Node:
    """Maps a document's stored fields to the keys of a node."""

    def __init__(self, stored: Stored, names: Mapping[str, str]) -> None:
        present = {name: values for name, values in stored.properties.items() if values}
        own_names = {role: _first_present(spellings, present, names) for role, spellings in _OWN.items()}
        for role in ("created", "modified"):
            if own_names[role] and _moment(str(present[own_names[role]][0])) is None:
                own_names[role] = ""
        if not (own_names["mime type"] and own_names["size"] and _SIZE.fullmatch(str(present[own_names["size"]][0]))):
            # An entry has `content` only if MIME type and size are known; otherwise show them as ordinary properties.
            own_names |= dict.fromkeys(("mime type", "size", "encoding"), "")
        self._own = {role: present[name] for role, name in own_names.items() if name}
        self._left = {name: values for name, values in present.items() if name not in own_names.values()}

    def _text(self, role: str, default: str = "") -> str:
        return str(self._own[role][0]) if role in self._own else default

    def basics(self, hit: Hit) -> dict[str, Any]:
        """Return the keys that every entry has, and `parentId` and `content` if the document has them."""
        # Alfresco's clients expect its node ids for documents that come from Alfresco.
        noderef = str(self._left.get("LID", ("",))[0])
        # The types that a document's type inherits from may follow it.
        types = [_with_prefix(str(name)) for name in self._own.get("type", (NODE_TYPE,))]
        created = _moment(self._text("created")) or NEVER
        creator = self._text("creator", NOBODY)
        keys: dict[str, Any] = {
            "id": noderef.removeprefix(_NODES) if noderef.startswith(_NODES) else hit.id,
            "name": hit.name or self._text("name", hit.id),
            "nodeType": types[0],
            "isFolder": FOLDER_TYPE in types,
            "isFile": FOLDER_TYPE not in types,
            "createdAt": created,
            "createdByUser": _user(creator),
            "modifiedAt": _moment(self._text("modified")) or created,
            "modifiedByUser": _user(self._text("modifier", creator)),
            "location": "nodes",
        }
        if parent := self._text("parent"):
            keys["parentId"] = parent.removeprefix(_NODES)
        if mime_type := self._text("mime type"):
            size = int(self._text("size"))
            keys["content"] = {"mimeType": mime_type, "mimeTypeName": mime_type, "sizeInBytes": size}
            if encoding := self._text("encoding"):
                keys["content"]["encoding"] = encoding
        return keys

    def extras(self) -> dict[str, Any]:
        """Return all optional keys of an entry; the caller chooses the keys that the client has requested."""
        path = self._text("path")
        return {
            # whorl has no locks or links, and its Alfresco routes cannot change a node.
            "allowableOperations": [],
            "isLocked": False,
            "isLink": False,
            "aspectNames": [_with_prefix(str(aspect)) for aspect in self._own.get("aspects", ())],
            "path": {"name": path, "isComplete": bool(path), "elements": []},
            "properties": {
                name: values[0] if len(values) == 1 else list(values) for name, values in sorted(self._left.items())
            },
        }


def _fingerprint(reference: str, measured: Measured) -> dict[str, Any]:
    estimated = {} if measured.estimate is None else values(measured.estimate)
    shares = {name: estimated[name] for name in _ESTIMATED if name in estimated}
    return {"source": reference, "sharedTokens": measured.shared_tokens, "tokens": measured.source_tokens, **shares}


def _first_present(spellings: tuple[str, ...], present: Collection[str], names: Mapping[str, str]) -> str:
    """Return the first of a property's possible names (`spellings`) that the document has, or ""."""
    for spelling in spellings:
        local = spelling.partition(":")[2]
        for name in (names.get(spelling), spelling, names.get(local), local, spelling.replace(":", "_")):
            if name and name in present:
                return name
    return ""


def _user(name: str) -> dict[str, str]:
    return {"id": name, "displayName": name}


def _moment(text: str) -> str | None:
    moment = date_of(text)
    return None if moment is None else format_date(moment).replace("Z", "+0000")


def _with_prefix(name: str) -> str:
    """Replace the namespace in a qualified name by its prefix, if Alfresco has it."""
    return (convert_qualified_name(name) if name.startswith("{") else None) or name


_ME = f"{TICKETS}/-me-"
#: Query parameter with a ticket. A search allows no other query parameters.
_TICKET_PARAMETER = "alf_ticket"


class LogIn(BaseModel):
    """Body of `POST tickets`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"userId": "ann", "password": "secret"}]})

    userId: str  # noqa: N815 - Alfresco's name
    password: str


NodePart: TypeAlias = Literal[
    "allowableOperations", "aspectNames", "association", "definition", "isFavorite", "isLink", "isLocked", "path",
    "permissions", "properties",
]  # fmt: skip


NodeField: TypeAlias = Literal[NodeBasic, NodePart]


def _split(names: Any) -> Any:
    return [name for value in names for name in str(value).split(",") if name] if isinstance(names, list) else names


class NodeQuery(BaseModel):
    """Query parameters of the node route."""

    model_config = ConfigDict(extra="forbid")

    include: Annotated[list[NodePart], BeforeValidator(_split)] = []
    fields: Annotated[list[NodeField], BeforeValidator(_split)] = []
    alf_ticket: str = ""


def alfresco_routes(store: Store, authenticator: Authenticator, *, is_read_only: bool) -> APIRouter:
    router = APIRouter(tags=["Alfresco"], default_response_class=Json)

    @router.post(SEARCH, summary="Search", response_description="A page of hits")
    def search(body: SearchRequest, request: Request) -> Json:
        """Search as Alfresco's Search API does. For a FINGERPRINT, each entry also has `search.fingerprint`."""
        unknown = sorted(set(request.query_params) - {_TICKET_PARAMETER})
        if unknown:
            raise ParameterError(
                f"the address has parameters {unknown!r:.100}; a search takes its parameters in its body"
            )
        return Json({"list": _result_list(store, body)})

    @router.post(TICKETS, status_code=201, summary="Log in")
    def log_in(body: LogIn) -> Json:
        """Return a new ticket."""
        ticket = authenticator.log_in(body.userId, body.password)
        if ticket is None:
            raise HTTPException(403, "login failed")
        return Json({"entry": {"id": ticket, "userId": body.userId}}, 201)

    @router.get(_ME, summary="Validate the ticket")
    def validate(request: Request) -> Json:
        """Return the request's ticket if it is valid."""
        ticket = _ticket(request)
        if not authenticator.tickets.renew(ticket):
            raise HTTPException(404, "the ticket has ended")
        return Json({"entry": {"id": ticket}})

    @router.delete(_ME, status_code=204, summary="Log out")
    def log_out(request: Request) -> Response:
        """End the request's ticket."""
        if not authenticator.tickets.end(_ticket(request)):
            raise HTTPException(404, "the ticket has ended")
        return Response(status_code=204)

    @router.get(f"{PEOPLE}/-me-", summary="Who asks")
    def person(request: Request) -> dict[str, Any]:
        """The user of the request's ticket or password. Only the user's name is known."""
        user = authenticator.user_of(request.headers.get("Authorization", ""), request.url.query)
        capabilities = {"isAdmin": False, "isGuest": False, "isMutable": False}
        about = {"id": user, "firstName": user, "displayName": user, "email": "", "enabled": True}
        return {"entry": {**about, "capabilities": capabilities}}

    @router.get(DISCOVERY, summary="What this is")
    def discovery() -> dict[str, Any]:
        """The name and version of this service. It has none of a repository's features."""
        own = version("whorl")
        major, minor, patch = (*own.split("."), "0", "0")[:3]
        numbers = {"major": major, "minor": minor, "patch": patch, "hotfix": "0", "schema": 0}
        features = ("isAuditEnabled", "isQuickShareEnabled", "isThumbnailGenerationEnabled", "isDirectAccessUrlEnabled")
        repository = {
            "id": "whorl",
            "edition": "whorl",
            "version": {**numbers, "label": own, "display": f"whorl {own}"},
            "status": {"isReadOnly": is_read_only, **dict.fromkeys(features, False)},
            "modules": [],
        }
        return {"entry": {"repository": repository}}

    @router.get(f"{NODES}/{{node_id:path}}", summary="One node")
    def node(node_id: Annotated[str, Path(examples=["lease"])], query: Annotated[NodeQuery, Query()]) -> dict[str, Any]:
        """A document as a node, by the id in a hit or by any other id of the document."""
        # An id has precedence over an equal DBID of another document.
        found = store.documents([node_id]) or store.documents(store.engine.resolve([node_id]).values())
        stored = next(iter(found.values()), None)
        if stored is None:
            raise UnknownDocumentError(node_id)
        entry = node_entry(stored, store.names, {*query.include, *query.fields})
        return {"entry": {name: entry[name] for name in entry if not query.fields or name in query.fields}}

    return router


def _ticket(request: Request) -> str:
    ticket = ticket_in(request.headers.get("Authorization", ""), request.url.query)
    if ticket is None:
        raise HTTPException(400, "the request has no ticket: Authorization: Basic base64(ticket)")
    return ticket


def _result_list(store: Store, body: SearchRequest) -> dict[str, Any]:
    paging, filters = body.paging, [filter_query.alternatives for filter_query in body.filter_queries]
    if paging.max_items > store.max_rows:
        raise ParameterError(f"paging.maxItems must be 1 to {store.max_rows:,}, got {paging.max_items:,}")
    prepared = store.prepare(body.query.query, defaults=body.query_defaults, filter=filters)
    page = prepared.search(start=paging.skip_count, rows=paging.max_items, sort=[key.order for key in body.sort])
    context, warnings = facets_of(prepared, body)
    if body.include_request:
        context = {"request": body.model_dump(by_alias=True, exclude_unset=True, exclude_none=True), **context}
    if body.spellcheck is not None:
        meant = correct_spelling(store.engine, body.spellcheck.query or body.query.user_query or "")
        if meant is not None:
            context["spellCheck"] = {"type": "didYouMean", "suggestions": [meant]}
    entries, highlight_warnings = _entries(store, prepared, body, page)
    # Alfresco's responses have no key for warnings, so add one.
    if all_warnings := list(dict.fromkeys((*page.warnings, *warnings, *highlight_warnings))):
        context["warnings"] = all_warnings
    until = paging.skip_count + len(page.hits)
    return {
        "pagination": {
            "count": len(page.hits),
            "hasMoreItems": until < page.total,
            "totalItems": page.total,
            "skipCount": paging.skip_count,
            "maxItems": paging.max_items,
        },
        "context": context,
        "entries": entries,
    }


def _entries(
    store: Store, prepared: PreparedQuery, body: SearchRequest, page: Page
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    ids = [hit.id for hit in page.hits]
    documents = store.documents(ids)
    measured = prepared.measure_hits(ids)
    marked = Highlights({}, ())
    if body.highlight is not None:
        marked = highlight_hits(prepared, documents, markings(body.highlight))
    entries = [
        {
            "entry": entry(
                hit,
                # A document deleted after the search is shown with only its id and name.
                documents.get(hit.id) or Stored(hit.id, hit.name, {}),
                names=store.names,
                include=body.include,
                fields=body.fields,
                source=(prepared.references[0], measured[hit.id]) if hit.id in measured else None,
                highlight=marked.by_id.get(hit.id, ()),
            )
        }
        for hit in page.hits
    ]
    return entries, marked.warnings
