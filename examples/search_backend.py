"""The backend of a search application on FastAPI and Solr that shows near-copies once.

    pip install 'whorl[serve]'
    whorl solr init URL && whorl index --store URL documents/
    whorl duplicates --store URL --keep longest --write-ids        # every night; see nightly_duplicates.sh
    SOLR=URL uvicorn --app-dir examples search_backend:app

Words and ranking are Solr's work: the search is an ordinary edismax query, folded by the ids that whorl has written.
whorl answers what Solr cannot: which documents contain part of this one, counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
from fastapi import FastAPI, HTTPException, Query

from whorl import Store, UnknownDocumentError, open_store

#: One document of each cluster, the principal if it matches; documents in no cluster as they are.
FOLD = "{!collapse field=whorl_cluster nullPolicy=expand sort='whorl_is_principal desc'}"
SOLR = os.environ.get("SOLR", "http://localhost:8983/solr/docs")
app = FastAPI(title="Search without near-copies")


@contextmanager
def opened() -> Iterator[Store]:
    """Open the store for a request; a busy application keeps one open."""
    with open_store(SOLR) as store:
        yield store


@app.get("/search")
def search(q: str, start: int = Query(0, ge=0), rows: int = Query(10, ge=1, le=100)) -> dict[str, Any]:
    """Return a page of hits in Solr's order, each with the near-copies that it stands for."""
    asked = {"q": q, "defType": "edismax", "qf": "name^3 content", "q.op": "AND", "fl": "id,name,whorl_cluster"}
    folded = {"fq": FOLD, "expand": "true", "expand.rows": "5", "start": str(start), "rows": str(rows)}
    answer = requests.post(f"{SOLR}/select", data={**asked, **folded}, timeout=30)
    if answer.status_code == 400:
        raise HTTPException(400, answer.json()["error"]["msg"])
    answer.raise_for_status()
    found = answer.json()
    copies = found.get("expanded", {})
    hits = [
        {
            "id": each["id"],
            "name": each.get("name", each["id"]),
            "copies": [copy["id"] for copy in copies.get(each.get("whorl_cluster"), {}).get("docs", [])],
        }
        for each in found["response"]["docs"]
    ]
    return {"total": found["response"]["numFound"], "hits": hits}


@app.get("/contained")
def contained(id: str, share: float = Query(20, gt=0, le=100)) -> list[dict[str, Any]]:  # noqa: A002 - the parameter's name
    """Return the documents that contain at least so many percent of a document, the one that contains most first."""
    try:
        with opened() as store:
            page = store.similar(id, metric="a_in_b", threshold=share)
    except UnknownDocumentError as error:
        raise HTTPException(404, str(error)) from error
    return [
        {
            "id": each.hit.id,
            "name": each.hit.name,
            "share": each.estimate.shares.a_in_b,
            "exact": each.estimate.is_exact,
        }
        for each in page.found
    ]
