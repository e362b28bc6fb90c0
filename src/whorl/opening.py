"""Opening of a store by name: `open_store` chooses and configures the engine."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from whorl.engine.protocol import Engine
from whorl.errors import EngineError, EngineUnavailableError, ParameterError, StoreError
from whorl.settings.settings import Settings
from whorl.store import Store

if TYPE_CHECKING:
    from whorl.engine.opensearch.client import IndexClient
    from whorl.engine.opensearch.documents import SourceNames

_HOST_AND_PORT = re.compile(r"[\w.-]+:\d+/")
#: A plain URL that may belong to an index; URLs of Solr have a path before the name.
_MAYBE_INDEX = re.compile(r"(?i:https?)://[^/]+/(?!solr/?$)[^/?#]+/?")


def open_store(
    store: str | Path | None = None,
    settings: Settings | None = None,
    *,
    create: bool = True,
    passages: bool = False,
    without_minhash: bool = False,
) -> Store:
    """Open a store by name.

    Args:
        store: The http(s) URL of a Solr core or collection; the URL of an index of OpenSearch or Elasticsearch, which
            begins with `opensearch+` or `elasticsearch+` (if a plain URL has only a name after the host, the server is
            asked what it is); or the path of a folder, which is created if it does not exist. None means the
            configured store: WHORL_STORE, whorl.toml, or a folder in the user's data directory.
        settings: Field names, time limits and credentials; None reads them from the environment.
        create: Whether to create a folder that does not exist; if False, that is an error.
        passages: Whether the store finds passages with certainty from now on. A folder without passages is indexed
            again, and a new index is created with them; other stores must have been set up for it.
        without_minhash: Whether a folder keeps no MINHASH tokens from now on: a fifth less space, if you never use
            FINGERPRINT. Existing tokens are removed.

    Raises:
        ParameterError: The URL is not that of a core, collection or index; or `without_minhash` is given for a server.
        SchemaError: The collection or index has no field for passages.
        StoreError: The folder cannot be used, or does not exist.
    """
    settings = settings or Settings.load()
    name = str(store) if store is not None else settings.store
    if not name or _HOST_AND_PORT.match(name):
        raise ParameterError(
            f"a store is a Solr URL (http://localhost:8983/solr/NAME), that of an index "
            f"(opensearch+http://localhost:9200/NAME) or a folder, got {name!r}"
        )
    if without_minhash and "://" in name:
        raise ParameterError(
            f"without_minhash is for a folder, and {name} is not one; set up a Solr collection with "
            "'whorl solr init --without-minhash'"
        )
    if _is_of_a_cluster(name, settings):
        name = f"opensearch+{name}"
    if name.startswith(("opensearch+", "elasticsearch+")):
        client, names = index_client(name, settings), source_names(settings)
        from whorl.engine.opensearch.engine import OpenSearchEngine

        cluster = OpenSearchEngine(client, names)
        if passages:
            cluster.require_passages()
        engine: Engine = cluster
    elif "://" in name:
        from whorl.engine.solr.client import SolrClient
        from whorl.engine.solr.engine import SolrEngine

        solr = SolrClient(
            name, timeout_seconds=settings.timeout_seconds, auth=settings.solr_auth, link=settings.solr_link
        )
        solr_engine = SolrEngine(solr, settings.fields)
        if passages:
            solr_engine.require_passages()
        engine = solr_engine
    else:
        from whorl.engine.embedded.engine import EmbeddedEngine
        from whorl.fingerprint.winnowing import PassageScheme

        try:
            folder = Path(name).expanduser()
        except RuntimeError as error:
            raise StoreError(f"{name} cannot be used as a store: {error}") from error
        is_wanted = passages or (create and settings.passages)
        scheme = PassageScheme() if is_wanted else None
        engine = EmbeddedEngine(
            folder,
            create=create,
            passages=scheme,
            without_minhash=without_minhash,
            property_limits=settings.property_limits,
        )
    return Store(engine, settings.names, limits=settings.query_limits, max_rows=settings.max_rows)


def _is_of_a_cluster(name: str, settings: Settings) -> bool:
    """Check whether OpenSearch or Elasticsearch answers at a plain URL; True if no server answers."""
    if not _MAYBE_INDEX.fullmatch(name):
        return False
    try:
        with closing(index_client(f"opensearch+{name}", replace(settings, solr_retries=0))) as client:
            return "cluster_name" in client.about()
    except EngineUnavailableError:
        return True
    except (EngineError, ParameterError):
        return False


def index_client(url: str, settings: Settings) -> IndexClient:
    """Return a client for an index of OpenSearch or Elasticsearch.

    Raises:
        ParameterError: The URL is not one of an index, or the client's package is not installed.
    """
    try:
        from whorl.engine.opensearch.client import ClusterAccess, IndexClient
    except ImportError as error:
        raise ParameterError(
            f"for {url.partition(':')[0]} install: pip install 'whorl[opensearch]' ({error})"
        ) from error

    access = ClusterAccess(
        timeout_seconds=settings.timeout_seconds,
        connect_seconds=settings.connect_timeout_seconds,
        auth=settings.opensearch_auth,
        api_key=settings.opensearch_api_key,
        ca=str(settings.opensearch_ca) if settings.opensearch_ca else None,
        verify=settings.opensearch_verify,
        retries=settings.solr_retries,
        connections=settings.solr_connections,
    )
    return IndexClient(url, access)


def source_names(settings: Settings) -> SourceNames:
    """Return the configured names of an index's fields for the parts of a document."""
    from whorl.engine.opensearch.documents import SourceNames

    fields = settings.fields
    return SourceNames(fields.content, fields.name, fields.dbid, fields.noderef, fields.minhash)
