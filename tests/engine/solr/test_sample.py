"""Comparison of a collection's indexed tokens with whorl's: read back if possible, otherwise looked up."""

from __future__ import annotations

from tests.engine.solr.indexed import DOCUMENTS
from whorl.engine.findings import Severity
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.sample import compare_sample
from whorl.engine.solr.schema import FieldNames, TokenSource, inspect

COUNT = len(DOCUMENTS)


def test_tokens_that_cannot_be_read_are_asked_for(client: SolrClient) -> None:
    """
    All tokens made from a text are in the index of its document; none are in an unfilled field.
    """
    assert inspect(client, FieldNames()).sources == (TokenSource.TEXT,)
    finding = compare_sample(client, FieldNames(), COUNT)
    assert (finding.code, finding.message.split()[0]) == ("sample-agrees", str(COUNT))
    client.change("schema", {"add-field": {"name": "unfilled", "type": "text_min_hash", "stored": False}})
    finding = compare_sample(client, FieldNames(minhash="unfilled"), COUNT)
    assert (finding.level, finding.code) == (Severity.WARNING, "sample-differs")
    assert "tokens made here, 0 the same" in finding.message
    client.change("schema", {"delete-field": {"name": "unfilled"}})


def test_a_sample_of_few(client: SolrClient) -> None:
    """
    A sample has the requested number of documents.
    """
    assert compare_sample(client, FieldNames(), 7).message.startswith("7 stored texts compared")
