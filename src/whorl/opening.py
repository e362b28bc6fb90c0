"""A store by its name: the engine that the name means, under the settings."""

from __future__ import annotations

import re
from pathlib import Path

from whorl.engine.protocol import Engine
from whorl.errors import ParameterError, StoreError
from whorl.settings.settings import Settings
from whorl.store import Store

_HOST_AND_PORT = re.compile(r"[\w.-]+:\d+/")


def open_store(store: str | Path | None = None, settings: Settings | None = None, *, create: bool = True) -> Store:
    """Open a store by name.

    Args:
        store: An http(s) URL of a Solr core or collection; one of an index of OpenSearch or Elasticsearch, which begins
            with `opensearch+` or `elasticsearch+`; or the path of a folder, which is made when it is not there. None means the configured one: WHORL_STORE, whorl.toml, or a folder in the user's data directory.
        settings: Field names, time limits and credentials; read from the environment where None.
        create: Whether to make a folder that is not there; without it, that is an error.

    Raises:
        ParameterError: The URL is not one of a core, collection or index.
        StoreError: The folder cannot be used, or is not there.
    """
    settings = settings or Settings.load()
    name = str(store) if store is not None else settings.store
    if not name or _HOST_AND_PORT.match(name):
        raise ParameterError(
            f"a store is a Solr URL (http://localhost:8983/solr/NAME), that of an index "
            f"(opensearch+http://localhost:9200/NAME) or a folder, got {name!r}"
        )
    if name.startswith(("opensearch+", "elasticsearch+")):
        from whorl.engine.opensearch.client import Access, IndexClient
        from whorl.engine.opensearch.engine import OpenSearchEngine

        access = Access(
            settings.timeout_seconds,
            settings.opensearch_auth,
            settings.opensearch_api_key,
            str(settings.opensearch_ca) if settings.opensearch_ca else None,
            settings.opensearch_verify,
            settings.solr_retries,
            settings.solr_connections,
        )
        engine: Engine = OpenSearchEngine(IndexClient(name, access))
    elif "://" in name:
        from whorl.engine.solr.client import SolrClient
        from whorl.engine.solr.engine import SolrEngine

        client = SolrClient(
            name, timeout_seconds=settings.timeout_seconds, auth=settings.solr_auth, link=settings.solr_link
        )
        engine = SolrEngine(client, settings.fields)
    else:
        from whorl.engine.embedded.engine import EmbeddedEngine

        try:
            folder = Path(name).expanduser()
        except RuntimeError as error:
            raise StoreError(f"{name} cannot be used as a store: {error}") from error
        engine = EmbeddedEngine(folder, create=create)
    return Store(engine, settings.names, limits=settings.query_limits, max_rows=settings.max_rows)
