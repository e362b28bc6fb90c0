"""Tests that syntax of Solr and OpenSearch is plain text in every user input, on every engine.

Over HTTP, each text is tested in a few of the inputs here, and in all of them by `make injections`.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests import opensearch_runtime
from tests.cli.running import FIRST, SECOND, ids, own_collection, search_json, whorl
from whorl import Document, Store, open_store
from whorl.errors import FieldError, ParameterError, QueryError
from whorl.model import Order
from whorl.service.app import create_app
from whorl.service.request_paths import API, DOCUMENTS, SEARCH

pytestmark = pytest.mark.usefixtures("folder")


INJECTIONS = [
    "{!lucene}*:*",
    "{!frange l=0 u=9}1",
    "{!func}sum(1,1)",
    "{!terms f=id}canary",
    "{!join from=id to=id}*:*",
    "{!parent which=*:*}*:*",
    "{!xmlparser}<MatchAllDocsQuery/>",
    "{!v=$q}",
    "_query_:{!lucene}*:*",
    "${solr.data.dir}",
    "${limit}",
    "${q:canary}",
    "$q",
    "*:*",
    "[* TO *]",
    "/.*/",
    "canary OR *:*",
    'canary" OR "',
    "canary\\",
    "canary~2 canary*",
    "canary^=5 AND NOT x",
    "') OR *:* OR ('",
    '","params":{"fq":"*:*"},"x":"',
    "canary&fq=*:*#",
    "%7B!lucene%7D*:*",
    "<delete><query>*:*</query></delete>",
    '{"match_all":{}}',
    '"}},{"match_all":{}},{"term":{"x":"',
    '{"script":{"source":"true"}}',
    "_exists_:kind OR x",
    "kind:(odd OR canary)",
    "{{#toJson}}q{{/toJson}}",
    'canary {} {"query":{"match_all":{}}}',
]


def quoted(text: str) -> str:
    return (
        '"'
        + text.replace("\\", "\\\\").replace('"', '\\"').replace("*", "\\*").replace("?", "\\?").replace("_", "\\_")
        + '"'
    )


def escaped(text: str) -> str:
    return "".join(char if char.isalnum() else f"\\{char}" for char in text)


ODD = [
    *(Document(text, f"{FIRST} number {number}", properties={"kind": "odd"}) for number, text in enumerate(INJECTIONS)),
    *(Document(f"plain{number}", f"{SECOND} {number}", properties={"kind": "plain"}) for number in range(100)),
    Document("canary", "canary birds are sung about in songs of nobody", properties={"kind": "canary"}),
]


@pytest.fixture(
    scope="module",
    params=[
        "embedded",
        pytest.param("solr_standalone_url", marks=pytest.mark.solr),
        pytest.param("solr_cloud_url", marks=pytest.mark.cloud),
        pytest.param("opensearch_url", marks=pytest.mark.opensearch),
    ],
)
def injected(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Store]]:
    """Name and store of documents whose ids are Solr syntax, and of a hundred that this syntax must not match."""
    made: contextlib.AbstractContextManager[str]
    if request.param == "embedded":
        made = contextlib.nullcontext(str(tmp_path_factory.mktemp("injected") / "store"))
    elif request.param == "opensearch_url":
        made = opensearch_runtime.own_index(request.getfixturevalue(request.param))
    else:
        made = own_collection(request.getfixturevalue(request.param))
    with made as name, open_store(name) as store:
        store.index(ODD)
        yield name, store


@pytest.mark.slow
@pytest.mark.parametrize("text", INJECTIONS)
def test_syntax_of_a_search_server_is_text(injected: tuple[str, Store], text: str) -> None:
    """
    As an id the text finds its own document; as words, fields or values it matches none of the hundred; unquoted it is
    valid query syntax or a query error; it never causes an engine failure.
    """
    name, store = injected

    def search_ids(query: str) -> list[str]:
        return [hit.id for hit in store.search(query, rows=200).hits]

    for form in (quoted, escaped):
        assert search_ids(f"id:{form(text)}") == search_ids(f"FINGERPRINT:{form(text)}_100") == [text]
        assert search_ids(f"FINGERPRINT:{form(text + 'x')}") == []
        for place in ("{}", "kind:{}", "content:{}", "name:{}", "+{}"):
            assert set(search_ids(place.format(form(text)))) <= {"canary"}, place
        with pytest.raises(FieldError, match="no field 'nosuch'"):
            search_ids(f"nosuch:{form(text)}")
        assert len(search_ids(f"NOT {form(text)}")) >= len(ODD) - 1
        within = f"kind:{form(text)}"
        assert {hit.id for hit in store.search("*", rows=200, filter=[within]).hits} <= {"canary"}
        assert store.similar("plain0", threshold=5, filter=within).total == 0
    assert list(store.documents([text, f"{text}x"])) == [text]
    with contextlib.suppress(ParameterError):
        assert store.search("*", sort=[Order(text)]).total == len(ODD)
    for sign in ("", "@"):
        with pytest.raises(FieldError, match="no field"):
            search_ids(f"{sign}{escaped(text)}:fox")
    for bare in (text, f"id:{text}", f"kind:{text}", f"FINGERPRINT:{text}", f"{text}:fox", f"fox AND {text}"):
        assert whorl("search", "--store", name, "--json", "--", bare).exit_code in (0, 2)
    assert whorl("explain", "--store", name, "--", text).exit_code in (0, 2)
    assert ids(search_json(f"FINGERPRINT:{quoted(text)}_100", store=name)) == [text]


#: Number of inputs of `test_syntax_of_a_search_server_is_text`.
PLACES = 36
#: Each text is tested in every STEP-th input over HTTP; 1 tests all inputs.
STEP = int(os.environ.get("INJECTIONS_STEP", "8"))
ONE = {"query": {"query": "kind:canary"}}
#: Parts of an Alfresco request that accompany a query for one document.
BESIDE: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "a facet's field": lambda text: {"facetFields": {"facets": [{"field": text}]}},
    "a facet's prefix": lambda text: {"facetFields": {"facets": [{"field": "kind", "prefix": text}]}},
    "a facet's label": lambda text: {"facetFields": {"facets": [{"field": "kind", "label": text}]}},
    "a facet query": lambda text: {"facetQueries": [{"query": text, "label": "a"}]},
    "a facet query's value": lambda text: {"facetQueries": [{"query": f"kind:{quoted(text)}", "label": text}]},
    "an interval's ends": lambda text: {
        "facetIntervals": {"intervals": [{"field": "kind", "sets": [{"label": text, "start": text, "end": text}]}]}
    },
    "an interval's field": lambda text: {
        "facetIntervals": {"intervals": [{"field": text, "sets": [{"label": "a", "start": "a", "end": "z"}]}]}
    },
    "a range": lambda text: {"ranges": [{"field": "kind", "start": text, "end": text, "gap": text}]},
    "a range's field": lambda text: {"ranges": [{"field": text, "start": "0", "end": "9", "gap": "1"}]},
    "statistics": lambda text: {"stats": [{"field": text}]},
    "a pivot": lambda text: {
        "facetFields": {"facets": [{"field": "kind", "label": text}]},
        "pivots": [{"key": text}],
    },
    "marks": lambda text: {"highlight": {"prefix": text, "postfix": text, "fields": [{"field": "kind"}]}},
    "a marked field": lambda text: {"highlight": {"fields": [{"field": text}]}},
    "a word to be spelled": lambda text: {"spellcheck": {"query": text}},
    "an order": lambda text: {"sort": [{"type": "FIELD", "field": text, "ascending": True}]},
    "a template": lambda text: {
        "query": {"query": "kind:canary AND T:fox"},
        "templates": [{"name": "T", "template": text}],
    },
    "a template's name": lambda text: {"templates": [{"name": text, "template": "%content"}]},
    "text fields": lambda text: {
        "query": {"query": "kind:canary AND fox"},
        "defaults": {"textAttributes": [text], "namespace": text, "defaultFieldName": text},
    },
    "a filter": lambda text: {"filterQueries": [{"query": text}]},
    "a filter's value": lambda text: {"filterQueries": [{"query": f"kind:{escaped(text)}"}]},
    "a time zone": lambda text: {"localization": {"timezone": text, "locales": [text]}},
    "fields to return": lambda text: {"include": [text], "fields": [text]},
}
IDS = sorted(document.id for document in ODD)
HARMLESS = {*INJECTIONS, "canary"}
#: Requests to whorl's own routes, and checks of their answers.
OWN: Mapping[str, tuple[Callable[[str], tuple[str, str, Any]], Callable[[str, Any], bool]]] = {
    "a name in the list": (
        lambda text: ("GET", f"{DOCUMENTS}?named={quote(text)}", None),
        lambda text, answer: HARMLESS.issuperset(document["id"] for document in answer["documents"]),
    ),
    "an end of the list": (
        lambda text: ("GET", f"{DOCUMENTS}?after={quote(text)}", None),
        lambda text, answer: (
            [document["id"] for document in answer["documents"]] == [name for name in IDS if name > text][:50]
        ),
    ),
    "ids to delete": (
        lambda text: ("POST", f"{API}/delete", {"ids": [text, f"{text}x"], "dry_run": True}),
        lambda text, answer: answer["matched"] == 1,
    ),
    "a query to delete by": (
        lambda text: ("POST", f"{API}/delete", {"query": f"id:{quoted(text)}", "dry_run": True}),
        lambda text, answer: answer["matched"] == 1,
    ),
    "a document to compare": (
        lambda text: ("POST", f"{API}/compare", {"a": {"id": text}, "b": {"id": "canary"}}),
        lambda text, answer: answer["jaccard"] == 0,
    ),
    "documents to quote from": (
        lambda text: ("POST", f"{API}/snippets", {"query": "canary fox", "documents": [text, f"{text}x"]}),
        lambda text, answer: {text}.issuperset(document["id"] for document in answer["documents"]),
    ),
    "documents that share passages": (
        lambda text: ("POST", f"{API}/passages", {"id": text, "documents": [text, f"{text}x"]}),
        lambda text, answer: [document["id"] for document in answer["documents"]] == [text],
    ),
    "a source": (
        lambda text: ("POST", f"{API}/similar", {"id": text, "threshold": 5, "filter": f"kind:{quoted(text)}"}),
        lambda text, answer: answer["total"] == 0,
    ),
    "a document that is no source": (
        lambda text: ("POST", f"{API}/sources", {"text": ODD[0].text, "exclude": f"id:{quoted(text)}", "min_words": 5}),
        lambda text, answer: text not in [source["id"] for source in answer["sources"]],
    ),
}


@pytest.fixture(scope="module")
def client(injected: tuple[str, Store]) -> TestClient:
    """A client of a service over the store."""
    return TestClient(create_app(injected[1]), raise_server_exceptions=False)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(INJECTIONS)), ids=INJECTIONS)
def test_syntax_of_a_search_server_is_text_over_http(client: TestClient, number: int) -> None:
    """
    In a request with a query for one document, the text matches and counts no other document; whorl's own requests read
    it as an id. Elsewhere it is a client error.
    """
    text = INJECTIONS[number]
    tried = [place for at, place in enumerate([*BESIDE, *OWN]) if (at + number) % STEP == 0]
    for place in tried:
        if place in BESIDE:
            answer = client.post(SEARCH, json=ONE | BESIDE[place](text))
            assert answer.status_code in (200, 400), (place, answer.text)
            if answer.status_code == 200:
                assert answer.json()["list"]["pagination"]["totalItems"] <= 1, place
                assert not re.search(r'"count": ?"?(?!0|1\b)\d', answer.text), (place, answer.text)
        else:
            ask, is_right = OWN[place]
            method, path, body = ask(text)
            answer = client.request(method, path, json=body)
            assert answer.status_code == 200, (place, answer.text)
            assert is_right(text, answer.json()), (place, answer.text)


def test_injections_are_counted() -> None:
    """
    The documentation has the number of texts and inputs.
    """
    documentation = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    places = PLACES + len(BESIDE) + len(OWN)
    assert f"{len(INJECTIONS)} pieces of other languages' syntax in {places} places each" in documentation
    assert f"| {len(INJECTIONS) * places:,} |" in documentation


def test_syntax_of_a_search_server_deletes_nothing(injected: tuple[str, Store]) -> None:
    """
    Each text is an id, and deletes one document or none.
    """
    name, store = injected
    for text in ("*", "[* TO *]x", "id:canary", "{!terms f=id}plain1", "plain*", '"plain1"', "plain1\\"):
        assert whorl("delete", "--store", name, "--", text).stdout == "0 of 1 documents deleted\n"
    assert whorl("delete", "--store", name, "--", "*:*", "{!lucene}*:*").stdout == "2 of 2 documents deleted\n"
    assert store.search("*").total == len(ODD) - 2
    assert store.index(ODD).stored == 2


@pytest.fixture(scope="module")
def both(core: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store]]:
    """The same few documents in the embedded engine and in a real Solr."""
    documents = [Document(f"d{number}", f"{FIRST} {number}", properties={"kind": "a b"}) for number in range(5)]
    with open_store(tmp_path_factory.mktemp("both") / "store") as embedded, open_store(core) as solr:
        for store in (embedded, solr):
            store.index(documents)
        yield embedded, solr
        solr.delete([document.id for document in documents])


CHARACTERS = "{}!()[]:^\"'\\*?~/&|+-_.,;=<>$%#@ \t\n\u3000\u00ad\u200bxß日0\U0001f600"


PIECES = [
    "fox",
    "d1",
    "kind:",
    "id:",
    "FINGERPRINT:",
    " AND ",
    " OR ",
    "NOT ",
    "_50",
    "{!lucene}",
    "*:*",
    "\\u0000",
    "\\ud83d",
]


@settings(max_examples=250, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from([*CHARACTERS, *PIECES]), min_size=1, max_size=12).map("".join))
@example("__")
def test_any_characters_mean_the_same_to_both_engines(both: tuple[Store, Store], query: str) -> None:
    """
    Any query is an error with a message, or gives the same hits on the embedded engine and in Solr.
    """
    answers = []
    for store in both:
        try:
            page = store.search(query, rows=100)
            answers.append([(hit.id, hit.score) for hit in page.hits])
        except QueryError as error:
            answers.append([(str(error), 0.0)])
    assert answers[0] == answers[1]
