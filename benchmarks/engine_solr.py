"""Starts the measured Solr, with caches that can be switched, or uses a running one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from whorl.engine.local.server_process import RunningServer
from whorl.engine.local.solr import admin, configset_directory, start_standalone
from whorl.engine.solr.client import SolrClient
from whorl.errors import EngineResponseError

_CORE, _OTHER = "engines", "bare"
_CACHES = re.compile(r"<(?:filter|queryResult|document)Cache\b[^>]*/>")


@dataclass(frozen=True, slots=True)
class MeasuredSolr:
    """A measured core or collection.

    Args:
        url: URL of the core or collection.
        own: The Solr started here; None for a running one.
        other: URL of an empty core in the same Solr; "" for a running one.
    """

    url: str
    own: RunningServer | None = None
    other: str = ""

    @property
    def version(self) -> str:
        """Return Solr's version, such as `9.9.0`."""
        client = SolrClient(self.url)
        try:
            return str(client.get("admin/system")["lucene"]["solr-spec-version"])
        finally:
            client.close()

    def index_bytes(self) -> int | None:
        """Return the index size on disk, or None if the index has several cores."""
        base, _, name = self.url.rpartition("/")
        try:
            return int(admin(base, "cores", action="STATUS", core=name)["status"][name]["index"]["sizeInBytes"])
        except (KeyError, EngineResponseError):
            return None

    def switch_caches(self, *, on: bool) -> None:
        """Switch the caches of queries, results and documents on or off in a Solr started here."""
        if self.own is None:
            raise ValueError("the caches of a Solr that somebody else runs stay as they are")
        stock = (configset_directory() / "conf" / "solrconfig.xml").read_text(encoding="utf-8")
        core = self.url.rpartition("/")[2]
        config = self.own.log.parent / core / "conf" / "solrconfig.xml"
        config.write_text(stock if on else _CACHES.sub("", stock), encoding="utf-8")
        admin(self.own.url, "cores", action="RELOAD", core=core)


@contextmanager
def own_solr(home: Path) -> Iterator[MeasuredSolr]:
    with start_standalone(home, dict.fromkeys((_CORE, _OTHER), configset_directory())) as running:
        yield MeasuredSolr(f"{running.url}/{_CORE}", running, f"{running.url}/{_OTHER}")
