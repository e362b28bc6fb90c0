"""Backend of a search application on FastAPI and Solr that shows near-copies once.

    pip install 'whorl[serve]'
    whorl solr init URL --content FIELD && whorl solr backfill URL
    whorl duplicates --store URL --keep longest --write-ids        # every night; see nightly_duplicates.sh
    SOLR=URL uvicorn --app-dir examples search_backend:app

`init` writes the names of the fields with texts and names to whorl.toml. Solr finds and ranks words: the search is an
ordinary edismax query, collapsed by the cluster ids that whorl has written. whorl answers what Solr cannot: which
documents contain part of this one, with exact shares.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
from fastapi import FastAPI, HTTPException, Query

from whorl import Settings, Store, UnknownDocumentError, open_store

#: One document of each cluster, the principal if it matches; documents without a cluster stay.
FOLD = "{!collapse field=whorl_cluster nullPolicy=expand sort='whorl_is_principal desc'}"
FIELDS = Settings.load().fields
SOLR = os.environ.get("SOLR", "http://localhost:8983/solr/docs")
app = FastAPI(title="Search without near-copies")


@contextmanager
def opened() -> Iterator[Store]:
    """Open the store for a request; a busy application keeps one open."""
    with open_store(SOLR) as store:
        yield store


@app.get("/search")
def search(q: str, start: int = Query(0, ge=0), rows: int = Query(10, ge=1, le=100)) -> dict[str, Any]:
    """Return a page of hits in Solr's order, each with the near-copies that it represents."""
    words = {"q": q, "defType": "edismax", "qf": f"{FIELDS.name}^3 {FIELDS.content}", "q.op": "AND"}
    page = {"fl": f"id,{FIELDS.name},whorl_cluster", "start": str(start), "rows": str(rows)}
    folded = {"fq": FOLD, "expand": "true", "expand.rows": "5"}
    answer = requests.post(f"{SOLR}/select", data={**words, **page, **folded}, timeout=30)
    if answer.status_code == 400:
        raise HTTPException(400, answer.json()["error"]["msg"])
    answer.raise_for_status()
    response = answer.json()
    copies = response.get("expanded", {})
    hits = [
        {
            "id": document["id"],
            "name": document.get(FIELDS.name, document["id"]),
            "copies": [copy["id"] for copy in copies.get(document.get("whorl_cluster"), {}).get("docs", [])],
        }
        for document in response["response"]["docs"]
    ]
    return {"total": response["response"]["numFound"], "hits": hits}


@app.get("/contained")
def contained(id: str, share: float = Query(20, gt=0, le=100)) -> list[dict[str, Any]]:  # noqa: A002 - the parameter's name
    """Return the documents that contain at least this percentage of a document, the largest share first."""
    try:
        with opened() as store:
            page = store.similar(id, metric="a_in_b", threshold=share)
    except UnknownDocumentError as error:
        raise HTTPException(404, str(error)) from error
    return [
        {
            "id": source.hit.id,
            "name": source.hit.name or source.hit.id,
            "share": source.estimate.shares.a_in_b,
            "exact": source.estimate.is_exact,
        }
        for source in page.found
    ]
