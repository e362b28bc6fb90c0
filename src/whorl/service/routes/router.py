"""The router of whorl's own routes: below the path of their version, answering in JSON."""

from __future__ import annotations

from fastapi import APIRouter

from whorl.service.errors import Json
from whorl.service.paths import API


def api_router() -> APIRouter:
    """Return a router for routes of whorl's own."""
    return APIRouter(prefix=API, tags=["whorl"], default_response_class=Json)
