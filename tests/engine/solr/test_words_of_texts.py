"""Searches for words and phrases in collections whose text field is not indexed as words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.running import own_collection
from whorl import Document, Store
from whorl.engine.check_findings import Finding
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.check_collection import check
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import SolrEngine
from whorl.search.quotations.results import Verdict, VerifiedQuotation

pytestmark = pytest.mark.solr

NAMES = FieldNames(content="body")
TEXT = "The license of the program allows everybody to copy, change and sell it without any fee or notice."
SHORT_TEXT = "Nothing in this sentence stands in the other"
QUOTATION = "allows everybody to copy, change and sell it without any fee"
ANALYZERS = {
    "whitespace": {"tokenizer": {"name": "whitespace"}},
    "edgengram": {
        "tokenizer": {"name": "standard"},
        "filters": [{"name": "edgeNGram", "minGramSize": 2, "maxGramSize": 5}],
    },
    "worddelimitergraph": {"tokenizer": {"name": "standard"}, "filters": [{"name": "wordDelimiterGraph"}]},
}


@pytest.fixture
def client(solr_standalone_url: str) -> Iterator[SolrClient]:
    """A core with a text field `body` that is stored but not indexed, and copied to MINHASH."""
    with own_collection(solr_standalone_url) as url:
        client = SolrClient(url)
        body = {"name": "body", "type": "text_whorl", "indexed": False, "stored": True}
        client.change("schema", {"delete-copy-field": {"source": "content", "dest": "MINHASH"}})
        client.change("schema", {"delete-field": {"name": "content"}})
        client.change("schema", {"add-field": body, "add-copy-field": {"source": "body", "dest": "MINHASH"}})
        yield client


def copy_body(client: SolrClient, to: str, field_type: str = "text_whorl") -> None:
    field = {"name": to, "type": field_type, "stored": False, "multiValued": True}
    client.change("schema", {"add-field": field, "add-copy-field": {"source": "body", "dest": to}})


def fill(client: SolrClient) -> Store:
    store = Store(SolrEngine(client, NAMES))
    # The sketch of the long document has hardly any shingle of a quotation, so look-ups of phrases must find it.
    numbers = " ".join(f"number{number}" for number in range(1_000))
    store.index([Document("a", TEXT), Document("long", f"{numbers} {SHORT_TEXT} {numbers}")])
    return store


def verified(store: Store) -> VerifiedQuotation:
    (quotation,) = store.verify(source=f'He wrote: "{QUOTATION}".').quotations
    return quotation


def findings(client: SolrClient) -> dict[str, Finding]:
    return {finding.code: finding for finding in check(client, NAMES)}


def test_words_are_looked_up_in_a_copy_of_the_text(client: SolrClient) -> None:
    """
    Words, phrases, quotations and short texts are found in a catch-all field with a hidden name.
    """
    copy_body(client, "_text_")
    with fill(client) as store:
        for query in ("license", "content:license", "body:license", 'TEXT:"sell it without"', "cm:content:fee"):
            page = store.search(query)
            assert ([hit.id for hit in page.hits], page.warnings) == (["a"], ()), query
        quotation = verified(store)
        assert quotation.verdict is Verdict.EXACT
        similar = store.similar(source=SHORT_TEXT, metric="a_in_b", threshold=70)
        assert [found.hit.id for found in similar.found] == ["long"]
        assert not similar.warnings
    assert "'_text_'" in findings(client)["words-copied"].message


def test_texts_without_indexed_words(client: SolrClient) -> None:
    """
    If no field has the words of the texts, answers claim nothing, and check names the way out.
    """
    with fill(client) as store:
        assert "the words of 'body' are not indexed" in store.search("license").warnings[0]
        quotation = verified(store)
        assert quotation.verdict is Verdict.ABSENT
        assert quotation.look_up is not None
        assert not quotation.look_up.is_complete
        assert "its words cannot all be looked up, so its absence is not proved" in quotation.notes
        similar = store.similar(source=SHORT_TEXT, metric="a_in_b", threshold=70)
        assert not similar.promised
        assert any("the words of 'body' are not indexed" in warning for warning in similar.warnings)
    assert "copyField" in findings(client)["words-not-indexed"].remedy


@pytest.mark.parametrize("analyzer", ANALYZERS)
def test_an_analyser_that_makes_other_tokens_than_words(client: SolrClient, analyzer: str) -> None:
    """
    Check warns about such an analyser, and absence is not proved; a copy with a better analyser is preferred.
    """
    made = {"name": "text_other", "class": "solr.TextField", "analyzer": ANALYZERS[analyzer]}
    client.change("schema", {"add-field-type": made})
    copy_body(client, "others", "text_other")
    with fill(client) as store:
        warnings = store.verify(source='He wrote: "words that no text of the collection has in it".').warnings
        assert "'others' is indexed through the" in warnings[0]
    assert repr(analyzer) in findings(client)["altered-words"].message
    copy_body(client, "catch_all")
    found = findings(client)
    assert "altered-words" not in found
    assert "'catch_all'" in found["words-copied"].message
