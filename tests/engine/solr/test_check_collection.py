"""`whorl solr init` and `check` on real collections: bare ones, whorl's own, and one with every mistake."""

from __future__ import annotations

from tests.cli.running import own_collection
from tests.engine.solr.bare import TRAPS, Collections, codes
from tests.engine.solr.indexed import DOCUMENTS
from whorl import Document, Store, open_store
from whorl.engine.check_findings import Finding, Severity
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.check_collection import check, compare_sample
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import SolrEngine
from whorl.engine.solr.inspect_collection import TokenSource, inspect

COUNT = len(DOCUMENTS)


def test_check_finds_whorls_own_collection_well(solr_standalone_url: str) -> None:
    """
    Check on whorl's own collection gives no warnings and names the token source.
    """
    findings = check(SolrClient(solr_standalone_url), FieldNames())
    assert {finding.level for finding in findings} <= {Severity.OK, Severity.NOTE}
    assert any(finding.code == "token-source" and "stored text" in finding.message for finding in findings)


def test_check_sees_every_trap(collections: Collections) -> None:
    """
    Check warns about norms, positions, rotation, missing truncation, stored text, a missing handler, another source and
    another analysis.
    """
    finding_codes = codes(collections.make(TRAPS))
    expected = {
        "norms", "positions", "rotation", "no-truncation", "stored-text", "no-vector-handler", "other-copy-field",
        "tokenizer", "no-folding", "query-analyzer", "other-words",
    }  # fmt: skip
    assert {code for code, level in finding_codes.items() if level is Severity.WARNING} == expected
    assert finding_codes["text-only"] is Severity.NOTE
    assert finding_codes["buckets"] is Severity.NOTE
    assert finding_codes["no-dbid"] is Severity.NOTE
    assert finding_codes["no-noderef"] is Severity.NOTE


def test_check_on_a_scheme_that_whorl_lacks(collections: Collections) -> None:
    """
    Check reports more buckets than a scheme can have as an error.
    """
    url = collections.make(TRAPS.replace('bucketCount="256"', 'bucketCount="70000"'))
    (finding,) = check(SolrClient(url), FieldNames())
    assert finding.level is Severity.ERROR
    assert "bucket count is 1 to 65536, got 70000" in finding.message


def test_check_without_any_source(collections: Collections) -> None:
    """
    Check reports a collection without vectors and stored values as an error, with a remedy.
    """
    plain = """<field name="MINHASH" type="plain" indexed="true" stored="false"/>"""
    findings = {
        finding.code: finding for finding in check(SolrClient(collections.make(plain, stored="false")), FieldNames())
    }
    assert findings["no-token-source"].level is Severity.ERROR
    assert findings["wrong-analyzer"].level is Severity.ERROR
    assert "termVectors" in findings["no-token-source"].remedy


def test_check_sees_uncommitted_documents(solr_standalone_url: str) -> None:
    """
    Check counts uncommitted documents.
    """
    client = SolrClient(solr_standalone_url)
    store = Store(SolrEngine(client))
    store.engine.index([Document("pending", "one two three four five six")])
    try:
        uncommitted = [finding for finding in check(client, FieldNames()) if finding.code == "uncommitted"]
        assert "1 documents are not committed" in uncommitted[0].message
    finally:
        store.engine.refresh()
        store.delete(["pending"])
    assert "uncommitted" not in codes(solr_standalone_url)


def test_check_counts_documents_without_fingerprint(solr_standalone_url: str) -> None:
    """
    Check counts documents with fewer than five words.
    """

    def counted(url: str) -> int:
        findings = check(SolrClient(url), FieldNames())
        # A backfill changes nothing about short texts.
        found = [finding for finding in findings if finding.code in ("without-fingerprint", "short-texts")]
        assert {finding.remedy for finding in found} <= {""}
        return sum(int(finding.message.split()[0]) for finding in found if finding.code == "without-fingerprint")

    with own_collection(solr_standalone_url) as url, open_store(url) as store:
        store.index([Document("enough", "one two three four five")])
        assert counted(url) == 0
        store.index([Document("few", "one two three four")])
        assert counted(url) == 1


def test_findings_as_json() -> None:
    """
    A finding in JSON has its parts by name.
    """
    finding = Finding(Severity.WARNING, "norms", "it keeps norms", "omit them")
    assert finding.as_json() == {
        "level": "warning",
        "code": "norms",
        "message": "it keeps norms",
        "remedy": "omit them",
    }
    assert str(finding).splitlines()[1].strip() == "→ omit them"


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
