"""Routes of Alfresco's REST API: search, tickets, the current user, the repository's version, nodes.

Requests and responses follow Alfresco's own description (alfresco-search.yaml, alfresco-auth.yaml); docs/alfresco.md
lists the differences and their reasons.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict

from whorl.errors import ParameterError, UnknownDocumentError
from whorl.model import Page, Stored
from whorl.search.highlight import Highlights
from whorl.search.prepared import PreparedQuery, highlighted
from whorl.search.spelling import corrected
from whorl.service.alfresco.facets import facets_of
from whorl.service.alfresco.nodes import entry, node_entry
from whorl.service.alfresco.request import SearchRequest, markings
from whorl.service.credentials import Access, ticket_in
from whorl.service.errors import Json
from whorl.service.request_paths import DISCOVERY, NODES, PEOPLE, SEARCH, TICKETS
from whorl.store import Store

_ME = f"{TICKETS}/-me-"
#: The only query parameter that is allowed.
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


def _split(names: Any) -> Any:
    """Split comma-separated values, given in one parameter or in several."""
    return [name for value in names for name in str(value).split(",") if name] if isinstance(names, list) else names


class NodeQuery(BaseModel):
    """Query parameters of the node route."""

    model_config = ConfigDict(extra="forbid")

    include: Annotated[list[NodePart], BeforeValidator(_split)] = []
    fields: Annotated[list[str], BeforeValidator(_split)] = []
    alf_ticket: str = ""


def alfresco_routes(store: Store, access: Access, *, is_read_only: bool) -> APIRouter:
    router = APIRouter(tags=["Alfresco"], default_response_class=Json)

    @router.post(SEARCH, summary="Search", response_description="A page of hits")
    def search(body: SearchRequest, request: Request) -> Json:
        """Search as Alfresco's Search API does; a FINGERPRINT adds `search.fingerprint` to each entry."""
        unknown = sorted(set(request.query_params) - {_TICKET_PARAMETER})
        if unknown:
            raise ParameterError(f"the address has parameters {unknown!r:.100}; all of a search stands in its body")
        return Json({"list": _result_list(store, body)})

    @router.post(TICKETS, status_code=201, summary="Log in")
    def log_in(body: LogIn) -> Json:
        """Return a new ticket."""
        ticket = access.log_in(body.userId, body.password)
        if ticket is None:
            raise HTTPException(403, "login failed")
        return Json({"entry": {"id": ticket, "userId": body.userId}}, 201)

    @router.get(_ME, summary="Validate the ticket")
    def validate(request: Request) -> Json:
        """Return the request's own ticket, if it is good."""
        ticket = _ticket(request)
        if not access.tickets.renew(ticket):
            raise HTTPException(404, "the ticket has ended")
        return Json({"entry": {"id": ticket}})

    @router.delete(_ME, status_code=204, summary="Log out")
    def log_out(request: Request) -> Response:
        """End the request's own ticket."""
        if not access.tickets.end(_ticket(request)):
            raise HTTPException(404, "the ticket has ended")
        return Response(status_code=204)

    @router.get(f"{PEOPLE}/-me-", summary="Who asks")
    def person(request: Request) -> dict[str, Any]:
        """The user of the request's ticket or password. Only the user's name is known."""
        user = access.user_of(request.headers.get("Authorization", ""), request.url.query)
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

    @router.get(f"{NODES}/{{node_id}}", summary="One node")
    def node(node_id: Annotated[str, Path(examples=["lease"])], query: Annotated[NodeQuery, Query()]) -> dict[str, Any]:
        """A document as a node, by the id in a hit or by any other id of the document."""
        document_id = store.engine.resolve([node_id]).get(node_id, node_id)
        stored = store.documents([document_id]).get(document_id)
        if stored is None:
            raise UnknownDocumentError(node_id)
        entry = node_entry(stored, store.names, query.include)
        return {"entry": {name: entry[name] for name in entry if not query.fields or name in query.fields}}

    return router


def _ticket(request: Request) -> str:
    ticket = ticket_in(request.headers.get("Authorization", ""), request.url.query)
    if ticket is None:
        raise HTTPException(400, "the request has no ticket: Authorization: Basic base64(ticket)")
    return ticket


def _result_list(store: Store, body: SearchRequest) -> dict[str, Any]:
    paging, filters = body.paging, [filter_query.alternatives for filter_query in body.filter_queries]
    prepared = store.prepare(body.query.query, defaults=body.query_defaults, filter=filters)
    page = prepared.search(start=paging.skip_count, rows=paging.max_items, sort=[key.order for key in body.sort])
    context, warnings = facets_of(prepared, body)
    if body.spellcheck is not None:
        meant = corrected(store.engine, body.spellcheck.query or body.query.user_query or "")
        if meant is not None:
            context["spellCheck"] = {"type": "didYouMean", "suggestions": [meant]}
    entries, further = _entries(store, prepared, body, page)
    all_warnings = tuple(dict.fromkeys((*page.warnings, *warnings, *further)))
    until = paging.skip_count + len(page.hits)
    return {
        "pagination": {
            "count": len(page.hits),
            "hasMoreItems": until < page.total,
            "totalItems": page.total,
            "skipCount": paging.skip_count,
            "maxItems": paging.max_items,
        },
        "context": _context(body, context, all_warnings),
        "entries": entries,
    }


def _entries(
    store: Store, prepared: PreparedQuery, body: SearchRequest, page: Page
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    ids = [hit.id for hit in page.hits]
    documents = store.documents(ids)
    # With several sources, `measured` returns nothing, because shares refer to a single source.
    measured = prepared.measured(ids)
    marked = Highlights({}, ())
    if body.highlight is not None:
        marked = highlighted(prepared, documents, markings(body.highlight))
    entries = [
        {
            "entry": entry(
                hit,
                # The document may have been deleted since the search.
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


def _context(body: SearchRequest, counted: dict[str, Any], warnings: tuple[str, ...]) -> dict[str, Any]:
    """Return the context of a response. It has whorl's own key `warnings` only if there is a warning."""
    context: dict[str, Any] = {}
    if body.include_request:
        context["request"] = body.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)
    context |= counted
    if warnings:
        context["warnings"] = list(warnings)
    return context
