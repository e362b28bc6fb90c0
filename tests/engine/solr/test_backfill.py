"""Backfill adds the sketches that indexing would have added, and changes nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from click.testing import CliRunner

from tests.engine.solr.indexed import (
    DOCUMENTS,
    SCHEME_NOW,
    WITH_TEXT,
    answers,
    indexed_tokens,
    only_of_texts,
    stored,
    tokens_of,
    versions,
    without_sketches,
)
from whorl import DuplicatesOptions, Store
from whorl.cli.main import main
from whorl.duplicates.run import duplicates_in
from whorl.engine.backfill_loop import BackfillReport
from whorl.engine.check_findings import Severity
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.add_missing_fields import initialise
from whorl.engine.solr.backfill_and_labels import backfill, prepare
from whorl.engine.solr.check_collection import check
from whorl.engine.solr.client import Json, SolrClient
from whorl.engine.solr.engine import SolrEngine
from whorl.engine.solr.field_definitions import SCHEME, SKETCH, SKETCH_FIELDS
from whorl.errors import SchemaError
from whorl.fingerprint.sketch.frac_minhash import Sketch

TEXT = "one two three four five six seven"
PLAIN: dict[str, object] = {"id": "a", "content": TEXT}


def test_backfill_gives_what_indexing_gives(client: SolrClient, store: Store, sketches: Mapping[str, Sketch]) -> None:
    """
    After a backfill, all fields and search results are as if whorl had indexed the documents; documents without a text
    get no sketch.
    """
    before, answered = stored(client), answers(store)
    without_sketches(client)
    assert all(name not in document for document in stored(client) for name in SKETCH_FIELDS)
    with Store(SolrEngine(client)) as bare:
        assert bare.engine.sketch_scheme is None
        assert bare.engine.sketches(["big"]) == {}
    assert prepare(client, FieldNames())[1] == WITH_TEXT < len(DOCUMENTS)
    assert backfill(client, FieldNames(), batch=7) == BackfillReport(total=WITH_TEXT, sent=WITH_TEXT)
    assert stored(client) == only_of_texts(before)
    assert answers(store) == answered
    assert all(indexed_tokens(client, name) == tokens_of(sketches[name]) for name in ("big", "d40", "a,b"))
    once = versions(client)
    assert backfill(client, FieldNames()) == BackfillReport(total=0)
    assert versions(client) == once


def test_documents_without_a_text_lack_no_sketch(client: SolrClient, store: Store) -> None:
    """
    After a complete backfill, a search for duplicates names no document whose sketch is missing, only those without a
    text; the example of a backfill has words.
    """
    client.post("update", [{"id": "!", "content": " "}], commit="true")
    without_sketches(client)
    done = backfill(client, FieldNames())
    texts = {document.id: document.text for document in DOCUMENTS}
    assert done.example == min(name for name, text in texts.items() if len(text.split()) >= 5)
    with duplicates_in(SolrEngine(client), DuplicatesOptions()) as found:
        assert (found.without_sketch, found.without_text) == (0, len(DOCUMENTS) - WITH_TEXT)
    client.post("update", [{"id": "new", "content": TEXT}], commit="true")
    with duplicates_in(SolrEngine(client), DuplicatesOptions()) as found:
        assert (found.without_sketch, found.without_text) == (len(DOCUMENTS) - WITH_TEXT + 1, 0)
    client.post("update", {"delete": ["new", "!"]}, commit="true")


def test_backfill_goes_on_where_it_was_stopped(client: SolrClient, store: Store) -> None:
    """
    Updates sent before a Ctrl-C remain, and the next run does not repeat them.
    """
    before = stored(client)
    without_sketches(client)

    def stop(done: BackfillReport) -> None:
        if done.sent == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill(client, FieldNames(), batch=10, progress=stop)
    once = versions(client)
    there = {document["id"] for document in stored(client) if SCHEME in document}
    assert len(there) == 20
    with Store(SolrEngine(client)) as partly:
        assert partly.engine.sketch_scheme == SCHEME_NOW
        (warning,) = partly.engine.gaps("sketches")
    assert "whorl solr backfill" in warning
    assert warning.startswith(f"{WITH_TEXT - 20} of {len(DOCUMENTS)} documents")
    done = backfill(client, FieldNames(), batch=10)
    assert done == BackfillReport(total=WITH_TEXT - 20, sent=WITH_TEXT - 20)
    assert {name: version for name, version in versions(client).items() if name in there} == {
        name: version for name, version in once.items() if name in there
    }
    assert stored(client) == only_of_texts(before)


class Counting(SolrClient):
    """Client that counts cursor requests; for each, Solr goes through all documents without a sketch."""

    passes = 0

    def post(self, path: str, body: object, **params: str | int) -> Json:
        if path == "select" and isinstance(body, dict) and "cursorMark" in body.get("params", {}):
            self.passes += 1
        return super().post(path, body, **params)


def test_backfill_lists_documents_once(url: str, client: SolrClient, store: Store) -> None:
    """
    Backfill lists the documents once, not once per batch, since listing goes through all of them.
    """
    without_sketches(client)
    counting = Counting(url)
    assert backfill(counting, FieldNames(), batch=2).sent == WITH_TEXT
    # Documents without a sketch and documents without its tokens, each with a request for the next page.
    assert counting.passes <= 4


class Meddling(SolrClient):
    """Client that changes one document and deletes another just before the first sketches are sent."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.is_done = False

    def post(self, path: str, body: object, **params: str | int) -> Json:
        if path == "update" and isinstance(body, list) and not self.is_done:
            self.is_done = True
            super().post("update", [{"id": "d40", "content": "changed in the meantime by somebody else"}])
            super().post("update", {"delete": ["d41"]})
        return super().post(path, body, **params)


def test_backfill_skips_documents_changed_during_the_run(url: str, client: SolrClient, store: Store) -> None:
    """
    A document changed during the run keeps its new text without the old sketch, a deleted one stays deleted, and a
    second run completes the work.
    """
    without_sketches(client)
    try:
        done = backfill(Meddling(url), FieldNames())
        assert done.changed == 1
        changed = next(document for document in stored(client) if document["id"] == "d40")
        assert changed["content"] == "changed in the meantime by somebody else"
        assert SKETCH not in changed
        assert all(document["id"] != "d41" for document in stored(client))
        assert backfill(client, FieldNames()) == BackfillReport(total=1, sent=1)
    finally:
        store.index(DOCUMENTS, again=True)


def test_backfill_repairs_fields_that_others_removed(client: SolrClient) -> None:
    """
    Check reports tokens lost by another client's atomic update, and backfill restores them; it also replaces sketches
    of an old scheme.
    """
    before = stored(client)
    changes = [{"id": "big", "name": {"set": "the big one"}}, {"id": "d40", SCHEME: {"set": "minhash0+sketch0"}}]
    client.post("update", changes, commit="true")
    assert indexed_tokens(client, "big") == set()
    findings = {finding.code: finding for finding in check(client, FieldNames())}
    assert findings["lost-sketches"].message.startswith("1 documents")
    assert "minhash0+sketch0" in findings["other-sketch-scheme"].message
    assert f"whorl solr backfill {client.url}" in findings["lost-sketches"].remedy
    assert backfill(client, FieldNames()).sent == 2
    assert indexed_tokens(client, "big")
    assert stored(client) == before
    codes = {finding.code: finding.level for finding in check(client, FieldNames())}
    assert codes["sketches"] is Severity.OK
    assert not {"lost-sketches", "other-sketch-scheme", "without-sketch", "no-sketches"} & codes.keys()


def test_an_earlier_scheme_is_converted(client: SolrClient, store: Store) -> None:
    """
    Sketches of the first scheme are not compared: until they are converted, searches use tokens and warn, and check
    counts both schemes; afterwards everything is as newly indexed.
    """
    before, answered, first = stored(client), answers(store), "minhash1-icu74-w5-b512+sketch1-k1024-f3-c16384-s40-t40"
    client.post("update", [{**document, SCHEME: first} for document in before], commit="true")

    def counted() -> list[str]:
        findings = {finding.code: finding for finding in check(client, FieldNames())}
        assert f"whorl solr backfill {client.url}" in findings["other-sketch-scheme"].remedy
        return [findings[code].message for code in ("sketches", "other-sketch-scheme")]

    assert [message.split()[0] for message in counted()] == ["0", str(len(DOCUMENTS))]
    with Store(SolrEngine(client)) as earlier:
        assert earlier.engine.sketch_scheme is None
        assert earlier.engine.sketches(["big"]) == {}
        result = earlier.similar("d40", metric="jaccard", threshold=20)
        assert "whorl solr check" in result.warnings[0]
        assert answers(earlier) == answered

    so_far = BackfillReport(0)

    def stop(done: BackfillReport) -> None:
        nonlocal so_far
        so_far = done
        if done.sent >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill(client, FieldNames(), batch=10, progress=stop)
    have, others = counted()
    assert int(have.split()[0]) == so_far.sent
    assert int(others.split()[0]) == len(DOCUMENTS) - so_far.processed
    assert first in others
    with Store(SolrEngine(client)) as partly:
        assert partly.engine.sketch_scheme == SCHEME_NOW
    done = backfill(client, FieldNames())
    assert done.sent + done.cleared == int(others.split()[0])
    assert stored(client) == only_of_texts(before)
    assert answers(store) == answered
    assert "other-sketch-scheme" not in {finding.code for finding in check(client, FieldNames())}


def test_the_command(client: SolrClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A dry run changes nothing; a run reports its changes; a second run finds nothing to do.
    """
    without_sketches(client)

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, ["solr", "backfill", client.url, *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    assert run("--dry-run") == f"{WITH_TEXT} documents would be given a sketch\n"
    assert all(SCHEME not in document for document in stored(client))
    assert {finding.code for finding in check(client, FieldNames())} >= {"without-sketch"}
    done, ask = run("--batch", "9").splitlines()
    assert done == f"{WITH_TEXT} documents given a sketch."
    assert ask.startswith(f"Ask for the near-copies of a document: whorl similar --store {client.url} ")
    assert run() == "0 documents given a sketch.\n"


def test_backfill_without_stored_text(others: Any) -> None:
    """
    Backfill refuses a collection without stored text, and leaves documents alone that were indexed before the text was
    stored.
    """
    client = others(stored="false")
    initialise(client, FieldNames(), dry_run=False)
    client.post("update", [PLAIN, {"id": "b"}], commit="true")
    with pytest.raises(SchemaError, match="'content' is not a stored field"):
        prepare(client, FieldNames())
    definition = {"name": "content", "type": "plain", "indexed": True, "stored": True}
    client.post("schema", {"replace-field": definition})
    client.post("update", [{"id": "c", "content": TEXT}], commit="true")
    assert backfill(client, FieldNames()) == BackfillReport(total=2, sent=1, textless=1)
    seven = {"query": {"field": {"f": "content", "query": "seven"}}, "limit": 9, "sort": "id asc"}
    assert [document["id"] for document in client.post("select", seven)["response"]["docs"]] == ["a", "c"]


def test_empty_texts(others: Any) -> None:
    """
    An empty text gets an empty sketch, so that no document is missing afterwards.
    """
    client = others()
    initialise(client, FieldNames(), dry_run=False)
    client.post("update", [PLAIN, {"id": "b", "content": ""}, {"id": "c"}], commit="true")
    backfill(client, FieldNames())
    with Store(SolrEngine(client)) as store:
        assert store.engine.gaps("tokens") == store.engine.gaps("sketches") == ()
    assert backfill(client, FieldNames(), repair=True).textless == 0
