"""The router of whorl's own routes."""

from __future__ import annotations

from whorl import Store
from whorl.service.app import create_app
from whorl.service.paths import speaks_as_alfresco


def test_own_routes_name_their_version(embedded_contracts: Store) -> None:
    """
    All described routes except Alfresco's and the health checks are below /api/v1/, and no path has a second spelling.
    """
    described = create_app(embedded_contracts).openapi()["paths"]
    own = {path for path in described if not speaks_as_alfresco(path)} - {"/healthz", "/readyz"}
    assert len(own) > 10
    assert all(path.startswith("/api/v1/") for path in own)
    assert all("whorl" in about["tags"] for path in own for about in described[path].values())
