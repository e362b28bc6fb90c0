"""Routes for Alfresco's clients besides the search: the current user, the repository's version, a node by its id."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict

from whorl.errors import UnknownDocumentError
from whorl.service.alfresco.entry import node_entry
from whorl.service.credentials import Access
from whorl.service.errors import Json
from whorl.service.paths import DISCOVERY, NODES, PEOPLE
from whorl.store import Store

NodePart: TypeAlias = Literal[
    "allowableOperations", "aspectNames", "association", "definition", "isFavorite", "isLink", "isLocked", "path",
    "permissions", "properties",
]  # fmt: skip


def _split(told: Any) -> Any:
    """Split comma-separated values, given in one parameter or in several."""
    return [name for each in told for name in str(each).split(",") if name] if isinstance(told, list) else told


class NodeQuery(BaseModel):
    """Query parameters of the node route."""

    model_config = ConfigDict(extra="forbid")

    include: Annotated[list[NodePart], BeforeValidator(_split)] = []
    fields: Annotated[list[str], BeforeValidator(_split)] = []
    alf_ticket: str = ""


def neighbour_routes(store: Store, access: Access, *, is_read_only: bool) -> APIRouter:
    """Return the routes for person, discovery and node.

    Args:
        store: Store with the documents.
        access: Resolves a request's credentials to a user.
        is_read_only: Whether the service refuses to change the store.
    """
    router = APIRouter(tags=["Alfresco"], default_response_class=Json)

    @router.get(f"{PEOPLE}/-me-", summary="Who asks")
    def person(request: Request) -> dict[str, Any]:
        """The user of the request's ticket or password; there are no others, and nothing else is known of them."""
        user = access.user_of(request.headers.get("Authorization", ""), request.url.query)
        capabilities = {"isAdmin": False, "isGuest": False, "isMutable": False}
        about = {"id": user, "firstName": user, "displayName": user, "email": "", "enabled": True}
        return {"entry": {**about, "capabilities": capabilities}}

    @router.get(DISCOVERY, summary="What this is")
    def discovery() -> dict[str, Any]:
        """That this is whorl, and which version; no feature of a repository is there."""
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
    def node(node_id: Annotated[str, Path(examples=["lease"])], asked: Annotated[NodeQuery, Query()]) -> dict[str, Any]:
        """A document as a node, by the id that a hit has, or any other that names it."""
        document_id = store.engine.resolve([node_id]).get(node_id, node_id)
        stored = store.documents([document_id]).get(document_id)
        if stored is None:
            raise UnknownDocumentError(node_id)
        entry = node_entry(stored, store.names, asked.include)
        return {"entry": {name: entry[name] for name in entry if not asked.fields or name in asked.fields}}

    return router
