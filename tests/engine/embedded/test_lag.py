"""The lag of an index that could not be written: every answer reports it, and it ends when the disk has room."""

import json
import subprocess
import sys

import pytest

from tests.engine.embedded import full_disk
from tests.engine.embedded.conftest import ROOT
from tests.engine.embedded.store_process import document
from tests.engine.embedded.stores import matching_ids, opened
from whorl import Document, Store, StoreError, WhorlError
from whorl.engine.embedded.store_files import IndexBrokenError
from whorl.engine.protocol import IndexLag
from whorl.operations import DeleteOperation
from whorl.search.quotations.results import Verdict

LEFT_OUT = "this answer leaves them out"
MISSING = "40 stored or deleted documents are missing from the index"


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """
    Answers of a store of 41 documents whose index lacks 40, and of the same store after the disk has space again.
    """
    pytest.importorskip("fastapi")
    folder = tmp_path_factory.mktemp("full") / "store"
    command = [sys.executable, "-m", full_disk.__name__, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=True)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    at = [name for name, *_ in reports].index("/alfresco") + 1
    return tuple({name: (status, answer) for name, status, answer in part} for part in (reports[:at], reports[at:]))


@pytest.mark.process
@pytest.mark.parametrize("command", ["search", "search by content", "similar", "sources"])
def test_commands_warn(answers, command):
    """
    A command that finds nothing in an incomplete index prints the number of missing documents, not only "0 documents".
    """
    status, output = answers[0][command]
    assert status == 0
    assert MISSING in output
    assert "\n0 documents\n" not in output


@pytest.mark.process
def test_documents_are_not_deleted_by_an_incomplete_index(answers):
    """
    Deleting by a query is refused; a dry run says that more documents may match.
    """
    status, output = answers[0]["delete --query"]
    assert status == 1
    assert MISSING in output
    status, output = answers[0]["delete --dry-run"]
    assert status == 0
    assert MISSING in output
    assert "at least 0 documents would be deleted" in output


@pytest.mark.process
@pytest.mark.parametrize("route", ["/search", "/similar", "/documents", "/sources", "/alfresco"])
def test_answers_over_http_warn(answers, route):
    """
    The warning is in the answer, and no total is called exact.
    """
    status, answer = answers[0][route]
    answer = answer["list"]["context"] if route == "/alfresco" else answer
    assert status == 200
    assert any(MISSING in warning for warning in answer["warnings"])
    assert not answer.get("total_is_exact")
    assert answer.get("certain_words") is answer.get("promised_words") is None


@pytest.mark.process
def test_a_service_with_an_incomplete_index_is_not_ready(answers):
    """
    /readyz is 503, the store's description has the number, and deleting by a query is 503 as well.
    """
    assert answers[0]["/readyz"][0] == answers[0]["/delete"][0] == 503
    assert MISSING in answers[0]["/readyz"][1]["error"]["message"]
    assert (answers[0]["/store"][1]["documents"], answers[0]["/store"][1]["index_lag"]) == (41, 40)


@pytest.mark.process
def test_an_index_is_completed_once_there_is_room(answers):
    """
    The next search of the same process finds everything, without a warning.
    """
    status, answer = answers[1]["/search"]
    assert (status, answer["total"], answer["total_is_exact"], answer["warnings"]) == (200, 40, True, [])
    assert answers[1]["/readyz"] == (200, {"status": "ok", "documents": 41})
    assert answers[1]["/store"][1]["index_lag"] == 0


def test_a_search_beside_a_writer_counts_what_it_misses(path):
    """
    Documents that wait for their commit are counted in every answer, in the writer's engine and in another one.
    """
    text = "the tenant keeps the garden and the fence in good order at all times"
    with opened(path) as engine, opened(path) as other:
        engine.index([Document("a", text), Document("b", text)])
        assert engine.index_lag() == other.index_lag() == IndexLag(2, is_pending=True)
        warning = f"{other.index_lag()}; this answer leaves them out"
        for store in (Store(engine), Store(other)):
            page = store.similar(source=text)
            assert (page.total, page.is_total_exact, page.warnings) == (0, False, (warning,))
            assert (store.search("tenant").total, store.search("tenant").warnings) == (0, (warning,))
            sources = store.sources(source=text)
            assert (sources.is_complete, sources.promise.words, sources.warnings) == (False, None, (warning,))
            verification = store.verify(quotations=[{"quote": text}])
            assert verification.warnings == (warning,)
            assert [quotation.verdict for quotation in verification.quotations] == [Verdict.ABSENT]
            assert [each.look_up and each.look_up.is_complete for each in verification.quotations] == [False]
        engine.refresh()
        assert engine.index_lag() is other.index_lag() is None
        assert Store(other).verify(quotations=[{"quote": text}]).warnings == ()


def test_a_count_includes_documents_that_wait_for_their_commit(path):
    """
    A count by a query first makes waiting documents searchable. Those of another process only cause a warning.
    """
    with opened(path) as engine, opened(path) as other:
        engine.index([Document("a", "the tenant")])
        count = Store(other).count("tenant")
        assert (count, count.is_exact, count.warnings) == (0, False, (f"{engine.index_lag()}; {LEFT_OUT}",))
        for store in (Store(engine), Store(other)):
            count = store.count("tenant")
            assert (count, count.is_exact, count.warnings) == (1, True, ())


@pytest.mark.parametrize("query", ["tenant", "FINGERPRINT:source"])
def test_a_count_beside_a_writer_is_a_lower_bound(path, query):
    """
    Documents that another process has replaced or deleted are not counted; a search says how many of its hits are
    such documents.
    """
    text = "the tenant keeps the garden and the fence in good order at all times"
    with opened(path) as engine, opened(path) as other:
        store = Store(other)
        engine.index([Document(name, text) for name in "abcd"])
        engine.refresh()
        engine.index([Document("a", "a landlord"), Document("b", "a landlord"), Document("e", "a landlord")])
        page = store.search(query, source=text if query.endswith("source") else None)
        assert (page.total, page.is_total_exact, page.outdated) == (4, False, 2)
        assert store.count("tenant") == 2
        engine.refresh()
        page = store.search("tenant")
        assert (page.total, page.is_total_exact, page.outdated) == (2, True, None)


def test_a_count_is_a_lower_bound_if_the_index_becomes_current_meanwhile(path, monkeypatch):
    """
    If a writer ends while a count searches, the count omits replaced documents, which the search has found.
    """
    with opened(path) as engine, opened(path) as other:
        engine.index([Document(name, "the tenant") for name in "abcd"])
        engine.refresh()
        engine.index([Document("a", "a landlord"), Document("b", "a landlord")])
        search = other.search

        def search_before_commit(*args, **options):
            page = search(*args, **options)
            engine.refresh()
            return page

        monkeypatch.setattr(other, "search", search_before_commit)
        assert Store(other).count("tenant") <= 2


@pytest.mark.parametrize(
    ("method", "writes", "message"), [("count", 1, "matches all 2"), ("search", 5, "another process is writing")]
)
def test_a_query_that_matches_all_documents_deletes_none_beside_a_writer(path, monkeypatch, method, writes, message):
    """
    The query is refused, also if another process replaces a document just before the documents are counted, and
    commits it just before they are deleted.
    """
    with opened(path) as engine, opened(path) as other:
        engine.index([Document("a", "the tenant"), Document("b", "the tenant")])
        engine.refresh()
        index_lag, count_or_search, versions = other.index_lag, getattr(other, method), list(range(writes))

        def index_lag_before_write():
            lag = index_lag()
            if lag is None and versions:
                engine.index([Document("b", f"the tenant {versions.pop()}")])
            return lag

        def count_or_search_before_commit(*args, **options):
            result = count_or_search(*args, **options)
            engine.refresh()
            return result

        monkeypatch.setattr(other, "index_lag", index_lag_before_write)
        monkeypatch.setattr(other, method, count_or_search_before_commit)
        with pytest.raises(WhorlError, match=message):
            Store(other).delete_matching("tenant")
        assert matching_ids(engine) == ["a", "b"]


def test_a_deletion_by_a_query_waits_for_a_writer(path):
    """
    While another process writes, a deletion by a query fails, and a dry run counts with a warning.
    """
    with opened(path) as engine, opened(path, wait_seconds=0.1) as other:
        engine.index([Document("a", "the tenant")])
        with pytest.raises(StoreError, match="another process"):
            Store(other).delete_matching("tenant")
        count = Store(other).delete_chosen(None, DeleteOperation(query="tenant", dry_run=True))
        assert (count, count.is_exact) == (0, False)


def test_a_comparison_does_not_wait_for_a_writer(path):
    """
    A comparison counts what is common in the documents in the index, while another process adds documents.
    """
    text = "the tenant keeps the garden and the fence in good order at all times"
    with opened(path, passages=True) as engine, opened(path, wait_seconds=0.1) as other:
        engine.index([Document("a", text), Document("b", text)])
        assert Store(other).compare("a", "b", common_above="1").shares.jaccard == 1


def test_an_open_store_completes_the_index_of_a_writer_that_died(path, start):
    """
    A reader that stays open applies the journal itself.
    """
    with opened(path) as reader:
        child = start("crash", path, "commit", "before", 0)
        assert child.wait(timeout=240) == -9
        assert matching_ids(reader) == []
        assert reader.index_lag() is None
        assert len(matching_ids(reader)) == reader.count() > 0


def test_failed_attempts_are_not_repeated_at_once(path, monkeypatch):
    """
    Searches on a full disk do not try to write the index each time.
    """
    attempts: list[None] = []

    def full(*_):
        attempts.append(None)
        raise IndexBrokenError("[Errno 28]", is_full=True)

    with opened(path) as engine:
        engine.index([document("a", "s1")])
        engine.refresh()
        with monkeypatch.context() as patch:
            patch.setattr("whorl.engine.embedded.store_index.StoreIndexWriter.commit", full)
            engine.index([document("b", "s1"), document("c", "s1")])
            with pytest.raises(Exception, match="no room left"):
                engine.refresh()
            count = len(attempts)
            assert [engine.index_lag() for _ in range(3)] == [IndexLag(2, is_pending=False)] * 3
            assert len(attempts) <= count + 1
        engine.delete(["a"])
        assert engine.index_lag() is None
        assert matching_ids(engine) == ["b", "c"]
