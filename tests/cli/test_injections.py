"""Tests that syntax of Solr and OpenSearch is plain text in every user input, on every engine.

`make test` tests each text in a sample of the inputs, and each input with a sample of the texts; `make injections`
tests all of them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests import opensearch_runtime
from tests.cli.running import FIRST, SECOND, ids, own_collection, search_json, whorl
from tests.sampling import sample
from whorl import Document, Store, open_store
from whorl.errors import FieldError, ParameterError, QueryError
from whorl.model import Order
from whorl.service.app import create_app
from whorl.service.requests_and_responses import API, DOCUMENTS, SEARCH

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


class Inputs:
    """Inputs of Python and the command line, each checked with a text."""

    def __init__(self, name: str, store: Store, text: str) -> None:
        self.name, self.store, self.text = name, store, text

    def checks(self) -> list[Callable[[], None]]:
        made: list[Callable[[], None]] = []
        for form in (quoted, escaped):
            own, other = form(self.text), form(f"{self.text}x")
            made += [
                *(partial(self.finds, query, self.text) for query in (f"id:{own}", f"FINGERPRINT:{own}_100")),
                partial(self.finds, f"FINGERPRINT:{other}"),
                *(
                    partial(self.matches_few, place.format(own))
                    for place in ("{}", "kind:{}", "content:{}", "name:{}", "+{}")
                ),
                partial(self.names_no_field, f"nosuch:{own}", "no field 'nosuch'"),
                partial(self.excludes_few, f"NOT {own}"),
                partial(self.filters, f"kind:{own}"),
                partial(self.filters_similar, f"kind:{own}"),
            ]
        text = self.text
        bare = (text, f"id:{text}", f"kind:{text}", f"FINGERPRINT:{text}", f"{text}:fox", f"fox AND {text}")
        return [
            *made,
            self.is_an_id,
            self.orders,
            *(partial(self.names_no_field, f"{sign}{escaped(text)}:fox", "no field") for sign in ("", "@")),
            *(partial(self.is_read, "search", "--json", "--", query) for query in bare),
            partial(self.is_read, "explain", "--", text),
            self.is_found_by_command,
        ]

    def found(self, query: str) -> list[str]:
        return [hit.id for hit in self.store.search(query, rows=200).hits]

    def finds(self, query: str, *expected: str) -> None:
        assert self.found(query) == [*expected], query

    def matches_few(self, query: str) -> None:
        assert set(self.found(query)) <= {"canary"}, query

    def names_no_field(self, query: str, message: str) -> None:
        with pytest.raises(FieldError, match=message):
            self.found(query)

    def excludes_few(self, query: str) -> None:
        assert len(self.found(query)) >= len(ODD) - 1, query

    def filters(self, query: str) -> None:
        assert {hit.id for hit in self.store.search("*", rows=200, filter=[query]).hits} <= {"canary"}, query

    def filters_similar(self, query: str) -> None:
        assert self.store.similar("plain0", threshold=5, filter=query).total == 0, query

    def is_an_id(self) -> None:
        assert list(self.store.documents([self.text, f"{self.text}x"])) == [self.text]

    def orders(self) -> None:
        with contextlib.suppress(ParameterError):
            assert self.store.search("*", sort=[Order(self.text)]).total == len(ODD)

    def is_read(self, command: str, *arguments: str) -> None:
        assert whorl(command, "--store", self.name, *arguments).exit_code in (0, 2), arguments

    def is_found_by_command(self) -> None:
        assert ids(search_json(f"FINGERPRINT:{quoted(self.text)}_100", store=self.name)) == [self.text]


#: Number of `Inputs`.
PLACES = 36


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(INJECTIONS)), ids=INJECTIONS)
def test_syntax_of_a_search_server_is_text(injected: tuple[str, Store], number: int) -> None:
    """
    As an id the text finds its own document; as words, fields or values it matches none of the hundred; unquoted it is
    valid query syntax or a query error; it never causes an engine failure.
    """
    checks = Inputs(*injected, INJECTIONS[number]).checks()
    assert len(checks) == PLACES
    for check in sample(checks, 12, number):
        check()


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
    "a document that is not a source": (
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
    for place in sample([*BESIDE, *OWN], 8, number):
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
@example("xid:*")
def test_any_characters_mean_the_same_to_both_engines(both: tuple[Store, Store], query: str) -> None:
    """
    Any query is an error with the same message and position on the embedded engine and in Solr, or gives the same hits.
    Hints may differ, because they name fields of the store.
    """
    answers = list[list[tuple[object, object]]]()
    for store in both:
        try:
            page = store.search(query, rows=100)
            answers.append([(hit.id, hit.score) for hit in page.hits])
        except QueryError as error:
            answers.append([(error.message, error.span)])
    assert answers[0] == answers[1]
