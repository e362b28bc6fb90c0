"""Measures a page of Solr's cursor by its number of documents, in the Solr that `million.py` filled.

    python benchmarks/million_pages.py [--folder FOLDER] > benchmarks/results/million-pages.txt

Solr visits all matching documents to select the next page; this is the time of a page of ten.
"""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from corpus import DEFAULT_DIRECTORY
from million_stores import place
from whorl.engine.solr.client import FIRST_CURSOR_MARK, SolrClient
from whorl.engine.solr.field_definitions import SCHEME, SKETCH
from whorl.engine.solr.request_body import EVERYTHING


class Pages(NamedTuple):
    """Pages of one size with some fields; `least` is the number of hits that Solr counts exactly."""

    fields: list[str]
    rows: int
    number: int
    least: int | None = None


_IDS, _SKETCHES = ["id"], ["id", "name", SKETCH, SCHEME]
_ASKED = {
    "to warm up": Pages(_SKETCHES, 1_000, 30),
    "ids, 1,000 at once": Pages(_IDS, 1_000, 40),
    "sketches, 1,000": Pages(_SKETCHES, 1_000, 40),
    "ids, 10,000": Pages(_IDS, 10_000, 10),
    "sketches, 10,000": Pages(_SKETCHES, 10_000, 10),
    "sketches, 5,000": Pages(_SKETCHES, 5_000, 10),
    "ids, 10": Pages(_IDS, 10, 40),
    "ids, 1,000, hits not counted": Pages(_IDS, 1_000, 40, least=0),
    "ids, 100, hits not counted": Pages(_IDS, 100, 40, least=0),
    "ids, 100": Pages(_IDS, 100, 40),
}


def main() -> None:
    """Request the pages, and print their times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=DEFAULT_DIRECTORY / "million", help="of the stores")
    with place("solr", parser.parse_args().folder) as where, closing(SolrClient(where.url)) as client:
        print(f"{client.count(EVERYTHING):,} documents")
        for name, pages in _ASKED.items():
            begun, server, mark, count = time.perf_counter(), where.server_seconds(), FIRST_CURSOR_MARK, 0
            for _ in range(pages.number):
                more = {} if pages.least is None else {"minExactCount": str(pages.least)}
                body: dict[str, Any] = {"query": EVERYTHING, "limit": pages.rows, "fields": pages.fields}
                response = client.select({**body, "sort": "id asc", "params": {"cursorMark": mark, **more}})
                mark, count = str(response.answer["nextCursorMark"]), count + len(response.documents)
            taken = 1000 * (where.server_seconds() - server)
            elapsed = 1000 * (time.perf_counter() - begun)
            a_document = 1000 * taken / count
            print(
                f"{name:30} Solr's CPU {taken / pages.number:6.2f} ms a page, {a_document:7.1f} µs a document; "
                f"elapsed {elapsed / pages.number:7.1f} ms a page",
                flush=True,
            )


if __name__ == "__main__":
    main()
