"""Tests of the words of names, which also end at underscores and dots, on every engine, as Alfresco's own tests
require.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whorl import Document, Store
from whorl.errors import FieldError
from whorl.search.highlighting import Marking
from whorl.search.prepared_search import highlight_hits

NAMES = ["lease_2024.txt", "one_two_three.txt", "hello.txt", "Hello txt notes", "Zeugnis_v1.2_Ärzte.pdf", "_", "v1.5"]


@pytest.fixture(scope="module")
def named(store: Store) -> Iterator[Store]:
    store.index(Document(f"named {name}", "a text of its own", name) for name in NAMES)
    yield store
    store.delete([f"named {name}" for name in NAMES])


def names(store: Store, query: str) -> set[str]:
    return {hit.name for hit in store.search(f"({query}) AND id:named*", rows=50).hits}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("name:2024", {"lease_2024.txt"}),
        ("name:lease", {"lease_2024.txt"}),
        ("2024", {"lease_2024.txt"}),
        ("lease_2024.txt", {"lease_2024.txt"}),
        ("name:lease_2024.txt", {"lease_2024.txt"}),
        ("name:LEASE.2024", {"lease_2024.txt"}),
        ('cm:name:"one_two"', {"one_two_three.txt"}),
        ('cm:name:"two three"', {"one_two_three.txt"}),
        ('cm:name:"hello.txt"', {"hello.txt", "Hello txt notes"}),
        ('"hello.txt"', {"hello.txt", "Hello txt notes"}),
        ('cm:name:"one three"~1', {"one_two_three.txt"}),
        ("cm:name:(one * txt)", {"one_two_three.txt"}),
        ("name:lease_20*", {"lease_2024.txt"}),
        ("name:*.pdf", {"Zeugnis_v1.2_Ärzte.pdf"}),
        ("*.pdf", {"Zeugnis_v1.2_Ärzte.pdf"}),
        ("name:l?ase_*", {"lease_2024.txt"}),
        ("name:ärzte", {"Zeugnis_v1.2_Ärzte.pdf"}),
        ("name:tree~0.6", {"one_two_three.txt"}),
        ("name:v1.5", {"v1.5"}),
        ("name:v1.2", {"Zeugnis_v1.2_Ärzte.pdf"}),
        # Exact searches need the whole value.
        ('=name:"hello.txt"', {"hello.txt"}),
        ("=name:hello", set()),
        ("=name:_", {"_"}),
        ("name:['hello.txt' TO 'hello.txt']", {"hello.txt"}),
    ],
)
def test_words_of_names(named: Store, query: str, expected: set[str]) -> None:
    """
    Words of a name are found alone, in phrases, in patterns and misspelt; exact searches and ranges compare the whole
    name.
    """
    assert names(named, query) == expected


def test_other_fields_keep_their_words(named: Store) -> None:
    """
    Versions and numbers in texts are not split at dots and underscores.
    """
    named.index([Document("named other", "release 4.2_beta", "none", {"edition": "4.2_beta"})])
    try:
        for query in ("content:4.2_beta", "edition:4.2_beta", "4.2_beta"):
            assert names(named, query) == {"none"}
        for query in ("content:beta", "edition:beta", "beta"):
            assert names(named, query) == set()
    finally:
        named.delete(["named other"])


def test_words_of_a_name_are_marked(named: Store) -> None:
    """
    Highlights mark a word at its place in the name.
    """
    prepared = named.prepare('name:2024 OR name:"one two"')
    ids = ["named lease_2024.txt", "named one_two_three.txt"]
    documents = named.documents(ids)
    highlights = highlight_hits(prepared, documents, {"name": Marking("<", ">")})
    assert {document_id: fragments[0][1] for document_id, fragments in highlights.by_id.items()} == {
        ids[0]: ["lease_<2024>.txt"],
        ids[1]: ["<one>_<two>_three.txt"],
    }


def test_names_of_several_words_are_corrected_word_by_word(named: Store) -> None:
    """
    A misspelt name of several words is corrected word by word.
    """
    with pytest.raises(FieldError, match="is 3 words, and only one"):
        named.search("name:leese_2024.txt~0.8")


@pytest.fixture(scope="module")
def prefixed(named: Store) -> Iterator[Store]:
    """Add documents with properties of the content model, with and without its prefix."""
    named.index(
        [
            Document("named bare", "a text of its own", "x", {"title": "old lease"}),
            Document("named prefix", "a text of its own", "y", {"cm:name": "lease 5", "cm:title": "new lease"}),
        ]
    )
    yield named
    named.delete(["named bare", "named prefix"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("cm:name:lease", {"lease_2024.txt", "y"}),
        ("name:lease", {"lease_2024.txt", "y"}),
        ("{http://www.alfresco.org/model/content/1.0}name:lease", {"lease_2024.txt", "y"}),
        ("=cm:name:lease_2024.txt", {"lease_2024.txt"}),
        ("@cm\\:title:lease", {"x", "y"}),
        ("title:new", {"y"}),
        ('=title:"new lease"', {"y"}),
        ("cm:title:old", {"x"}),
        ("cm:title:*", {"x", "y"}),
        ("EXISTS:title", {"x", "y"}),
        ('ISNULL:"cm:title"', set(NAMES)),
        ("NOT cm:title:new", {*NAMES, "x"}),
    ],
)
def test_a_property_with_and_without_its_prefix(prefixed: Store, query: str, expected: set[str]) -> None:
    """
    A name of the content model means the property with and without the prefix `cm:`.
    """
    assert names(prefixed, query) == expected


def test_a_sort_takes_one_of_two_names(prefixed: Store) -> None:
    """
    A sort takes the property with the typed name, and warns that documents with the other name come last.
    """
    for field, first in (("title", "named bare"), ("cm:title", "named prefix")):
        page = prefixed.search("id:named*", sort=field)
        assert page.hits[0].id == first
        (warning,) = page.warnings
        assert warning.startswith(f"sort: documents that have '{field}' only as ")
