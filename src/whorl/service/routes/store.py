"""What a page has to know of the store before it asks: its fields, whether it may be changed, what it keeps."""

from __future__ import annotations

from fastapi import APIRouter
from typing_extensions import TypedDict

from whorl.service.routes.router import api_router
from whorl.store import Store


class FieldValues(TypedDict):
    """A field that queries can name, and the types of its values: keyword, text, number, date."""

    name: str
    types: list[str]


class StoreValues(TypedDict):
    """What a store is, and what can be asked of it."""

    documents: int
    is_read_only: bool
    keeps_passages: bool
    has_sketches: bool
    shingle_words: int
    fields: list[FieldValues]


def store_routes(store: Store, *, is_read_only: bool) -> APIRouter:
    """Return the route.

    Args:
        store: What is told of.
        is_read_only: Whether the service refuses to change it.
    """
    router = api_router()

    @router.get("/store", summary="What the store is")
    def describe_store() -> StoreValues:
        """How many documents there are, the fields that queries can name, and what can be asked.

        `keeps_passages` says whether what is common in the collection can be told apart, `has_sketches` whether
        near-duplicates can be looked for.
        """
        engine = store.engine
        fields = engine.fields().known
        return {
            "documents": store.count(),
            "is_read_only": is_read_only,
            "keeps_passages": engine.passage_scheme is not None,
            "has_sketches": engine.sketch_scheme is not None,
            "shingle_words": engine.scheme.shingle_size,
            "fields": [{"name": name, "types": sorted(kind.value for kind in fields[name])} for name in sorted(fields)],
        }

    return router
