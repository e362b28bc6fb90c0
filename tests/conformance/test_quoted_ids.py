"""Tests of quoted ids that end like numbers: the full id has precedence over a shorter id with an overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pytest

from whorl import Document, Store
from whorl.operations import QueryPlan

FIRST = " ".join(f"quince{number}" for number in range(40))
SECOND = " ".join(f"medlar{number}" for number in range(40))
LOG = "load_test_pkg_err.txt"


@pytest.fixture
def filled(store: Store) -> Iterator[Store]:
    documents = [
        Document("my", FIRST),
        Document("my_50", SECOND),
        Document(LOG, f"{SECOND} more"),
        Document("x", FIRST),
    ]
    store.index(documents)
    yield store
    store.delete([document.id for document in documents])


def ids(store: Store, query: str, *, plan: QueryPlan = "stock") -> set[str]:
    return {hit.id for hit in store.search(query, plan=plan).hits}


@pytest.mark.parametrize("plan", ["stock", "calibrated"])
def test_the_document_of_a_quoted_id_wins(filled: Store, plan: QueryPlan) -> None:
    """
    If a document has the full id, the query means this document, and a warning shows how to write an overlap.
    """
    query = 'FINGERPRINT:"my_50"'
    prepared = filled.prepare(query, plan=plan)
    assert prepared.references == ("my_50",)
    assert ids(filled, query, plan=plan) == {"my_50", LOG}
    (warning,) = prepared.explain().warnings
    assert warning == (
        "\"my_50\" is the id of a document, and so means all of it; the document 'my' with an overlap is "
        'FINGERPRINT:"my"_50'
    )
    assert "'my_50'" in prepared.explain().plan[0]
    for other in ('FINGERPRINT:"my"_50', "FINGERPRINT:my_50"):
        assert ids(filled, other, plan=plan) == {"my", "x"}
        assert filled.prepare(other, plan=plan).explain().warnings == ()


@pytest.mark.parametrize("plan", ["stock", "calibrated"])
def test_the_end_of_an_unknown_quoted_id_is_read_as_numbers(filled: Store, plan: QueryPlan) -> None:
    """
    Without a document of the full id, the end of the quoted id is read as numbers, as in Alfresco.
    """
    filled.delete(["my_50"])
    prepared = filled.prepare('FINGERPRINT:"my_50"', plan=plan)
    assert prepared.references == ("my",)
    assert (prepared.explain().warnings, "'my'" in prepared.explain().plan[0]) == ((), True)
    assert ids(filled, 'FINGERPRINT:"my_50"', plan=plan) == {"my", "x"}


def test_ids_with_a_different_spelling(filled: Store) -> None:
    """
    A fuzzy search on the id compares whole ids.
    """
    filled.index([Document("arch-150", FIRST), Document("arch-151", SECOND), Document("arch-2150", "", "arch-150")])
    try:
        assert ids(filled, "ID:arch-150~1") == {"arch-150", "arch-151", "arch-2150"}
        assert ids(filled, "ID:arch-252~1") == set()
        assert ids(filled, "ID:arhc-151~1") == {"arch-151"}
    finally:
        filled.delete(["arch-150", "arch-151", "arch-2150"])


def test_a_quoted_file_name(filled: Store) -> None:
    """
    If the part after the underscore is not a number, the whole text is the id, also in a group and in a filter.
    """
    assert ids(filled, f'FINGERPRINT:"{LOG}"') == {"my_50", LOG}
    assert ids(filled, f"FINGERPRINT:('{LOG}' \"my_50\") AND medlar1") == {"my_50", LOG}
    assert {hit.id for hit in filled.search("*", filter=['FINGERPRINT:"my_50"']).hits} == {"my_50", LOG}
    assert filled.count('FINGERPRINT:"my_50"') == 2


def test_an_unknown_id_with_underscores_shows_the_overlap(filled: Store) -> None:
    """
    The warning for an unknown id with underscores shows how to write an overlap.
    """
    for plan in get_args(QueryPlan):
        (warning,) = filled.search('FINGERPRINT:"load_test_20"', plan=plan).warnings
        assert warning == (
            "the store has no document 'load_test_20'; if its end is an overlap, write FINGERPRINT:\"load_test\"_20"
        )


def test_the_name_of_a_given_text_may_end_in_numbers(filled: Store) -> None:
    """
    The name of a text given with the query may also end like numbers.
    """
    prepared = filled.prepare('FINGERPRINT:"given_70"', source={"given_70": FIRST})
    assert prepared.references == ("given_70",)
    assert {hit.id for hit in prepared.search().hits} == {"my", "x"}
