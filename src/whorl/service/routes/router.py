"""Factory for routers of whorl's own routes, with the versioned prefix and JSON responses."""

from __future__ import annotations

from fastapi import APIRouter

from whorl.service.errors import Json
from whorl.service.paths import API


def api_router() -> APIRouter:
    """Return a router for whorl's own routes."""
    return APIRouter(prefix=API, tags=["whorl"], default_response_class=Json)
