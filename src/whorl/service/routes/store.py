"""Route that describes the store for the web page: fields, features, and whether it may be changed."""

from __future__ import annotations

from fastapi import APIRouter
from typing_extensions import TypedDict

from whorl.service.routes.router import api_router
from whorl.store import Store


class FieldValues(TypedDict):
    """A field for queries, and the types of its values: keyword, text, number, date."""

    name: str
    types: list[str]


class StoreValues(TypedDict):
    """Properties of a store."""

    documents: int
    index_lag: int
    is_read_only: bool
    keeps_passages: bool
    has_sketches: bool
    shingle_words: int
    fields: list[FieldValues]


def store_routes(store: Store, *, is_read_only: bool) -> APIRouter:
    """Return the route.

    Args:
        store: The store to describe.
        is_read_only: Whether the service refuses to change the store.
    """
    router = api_router()

    @router.get("/store", summary="What the store is")
    def describe_store() -> StoreValues:
        """How many documents there are, the fields that queries can name, and what can be asked.

        `index_lag` counts stored or deleted documents that are missing from the index, on a full disk for one.
        `keeps_passages` says whether what is common in the collection can be told apart, `has_sketches` whether
        near-duplicates can be looked for.
        """
        engine = store.engine
        fields = engine.fields().known
        return {
            "documents": store.count(),
            "index_lag": engine.index_lag(),
            "is_read_only": is_read_only,
            "keeps_passages": engine.passage_scheme is not None,
            "has_sketches": engine.sketch_scheme is not None,
            "shingle_words": engine.scheme.shingle_size,
            "fields": [{"name": name, "types": sorted(kind.value for kind in fields[name])} for name in sorted(fields)],
        }

    return router
