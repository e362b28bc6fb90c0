"""Tests of properties whose names are spelled in several ways, with a prefix and without, on every engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whorl import Document, Store
from whorl.search.highlighting import Marking
from whorl.search.prepared_search import highlight_hits

TEXT = "five words of a text"
#: Documents that have the same properties under names with a prefix, with an underscore, and without.
DOCUMENTS = [
    Document("spelled bare", TEXT, "lease_2024.txt", {"subject": "old lease"}),
    Document("spelled prefix", TEXT, "x", {"cm:name": "lease 5", "cm:subject": "new lease"}),
    Document("spelled underscore", TEXT, "y", {"cm_subject": "third lease"}),
    Document("spelled elsewhere", TEXT, "z", {"st:subject": "site lease"}),
    Document("spelled twice", TEXT, "z", {"description": "old deed", "cm:description": "new lease"}),
]
CONTENT_MODEL = "{http://www.alfresco.org/model/content/1.0}"


@pytest.fixture(scope="module")
def spelled(store: Store) -> Iterator[Store]:
    store.index(DOCUMENTS)
    yield store
    store.delete([document.id for document in DOCUMENTS])


def found(store: Store, query: str) -> set[str]:
    page = store.search(f"({query}) AND id:spelled*")
    return {hit.id.removeprefix("spelled ") for hit in page.hits}


@pytest.mark.parametrize("field", ["subject", "cm:subject", "cm_subject", f"{CONTENT_MODEL}subject", "@cm\\:subject"])
def test_every_spelling_finds_all_documents(spelled: Store, field: str) -> None:
    """
    A property of the content model is one field, however the documents and the query spell its name.
    """
    everywhere = {"bare", "prefix", "underscore"}
    assert found(spelled, f"{field}:lease") == everywhere
    assert found(spelled, f"{field}:*ease") == everywhere
    assert found(spelled, f'={field}:"new lease"') == {"prefix"}
    assert found(spelled, f"{field}:[new TO third]") == {"bare", "prefix"}
    assert found(spelled, f"NOT {field}:lease") == {"elsewhere", "twice"}
    assert found(spelled, f"{field}:*") == everywhere


def test_other_namespaces_stay_apart(spelled: Store) -> None:
    """
    A property of another namespace is another field.
    """
    assert found(spelled, "st:subject:lease") == {"elsewhere"}
    assert found(spelled, "st_subject:lease") == {"elsewhere"}


def test_a_document_counts_once(spelled: Store) -> None:
    """
    The score does not depend on the number of spellings.
    """
    page = spelled.search("cm:subject:lease OR cm:name:lease", filter="id:spelled*")
    scores = {hit.id: hit.score for hit in page.hits}
    assert scores == {"spelled bare": 2.0, "spelled prefix": 2.0, "spelled underscore": 1.0}


def test_a_sort_names_the_spelling_that_it_uses(spelled: Store) -> None:
    """
    A sort uses one spelling, and a warning names the others.
    """
    page = spelled.search("id:spelled*", sort="cm:subject")
    assert page.hits[0].id == "spelled prefix"
    assert "sort: documents that have 'cm:subject' only as 'cm_subject' or 'subject' come last" in page.warnings


def test_words_are_marked_in_every_spelling(spelled: Store) -> None:
    """
    Highlights of cm:name show names and properties of this name.
    """
    prepared = spelled.prepare("cm:name:lease")
    documents = spelled.documents(["spelled bare", "spelled prefix"])
    highlights = highlight_hits(prepared, documents, {"cm:name": Marking("<", ">", fragment_size=0)})
    assert {document_id: fragments[0][1] for document_id, fragments in highlights.by_id.items()} == {
        "spelled bare": ["<lease>_2024.txt"],
        "spelled prefix": ["x\n<lease> 5"],
    }


@pytest.mark.parametrize("field", ["description", "cm:description", "cm_description"])
def test_words_are_marked_in_all_spellings_of_one_document(spelled: Store, field: str) -> None:
    """
    A document with a property under two names has highlights in both values.
    """
    documents = spelled.documents(["spelled twice"])
    marking = Marking("<", ">", fragment_size=0)
    highlights = highlight_hits(spelled.prepare(f"{field}:(lease OR deed)"), documents, {field: marking})
    ((_, (fragment,)),) = highlights.by_id["spelled twice"]
    assert sorted(fragment.split("\n")) == ["new <lease>", "old <deed>"]
