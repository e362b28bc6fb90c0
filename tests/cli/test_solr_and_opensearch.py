"""Tests of the output of commands for search servers: findings, and the end of a backfill."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from whorl.cli.solr_and_opensearch import show, watch
from whorl.engine.backfill_loop import BackfillReport
from whorl.engine.check_findings import Finding, Severity
from whorl.errors import EngineUnavailableError


@pytest.mark.parametrize("as_json", [False, True])
def test_findings(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    """
    An error among the findings determines the exit code.
    """
    note, error = Finding(Severity.NOTE, "a-note", "Seen.", "Do it."), Finding(Severity.ERROR, "an-error", "Broken.")
    show([note], as_json=as_json)
    assert "Seen." in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        show([note, error], as_json=as_json)
    assert ended.value.code == 1
    printed = capsys.readouterr().out
    if as_json:
        assert [load["code"] for load in json.loads(printed)] == ["a-note", "an-error"]
    else:
        assert printed.splitlines()[-1] == "  error  Broken."


def test_a_run_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    """
    A complete run prints the numbers of updated and remaining documents, and the refused ones with the reason.
    """
    end = BackfillReport(2_000, sent=1_998, refused=(("a", "too long"),), changed=1, example="a b")

    def run(note: Callable[[BackfillReport], None]) -> BackfillReport:
        note(BackfillReport(2_000, sent=1_000))
        return end

    url = "http://localhost:8983/solr/docs"
    assert watch(run, url, doing="making sketches", given="a sketch", textless="no text") is end
    printed, problems = capsys.readouterr()
    assert printed.splitlines()[-3:] == [
        "1,998 documents given a sketch.",
        "Ask for the near-copies of a document: whorl similar --store http://localhost:8983/solr/docs 'a b'",
        "1 document changed meanwhile or new: run the same command again.",
    ]
    assert "a: too long" in problems


@pytest.mark.parametrize("error", [EngineUnavailableError("Solr is away"), KeyboardInterrupt()])
def test_a_run_that_is_stopped(capsys: pytest.CaptureFixture[str], error: BaseException) -> None:
    """
    A stopped run prints its progress and how to continue, and the error reaches the caller.
    """

    def run(note: Callable[[BackfillReport], None]) -> BackfillReport:
        note(BackfillReport(20, sent=7))
        raise error

    with pytest.raises(type(error)):
        watch(run, "http://localhost:8983/solr/docs", doing="making sketches", given="a sketch", textless="no text")
    printed = capsys.readouterr().out
    assert "stopped: 7 of 20 documents given a sketch. Run the same command again to go on." in printed


def test_a_run_that_did_not_begin(capsys: pytest.CaptureFixture[str]) -> None:
    """
    A run that fails at its start prints only the error.
    """

    def run(note: Callable[[BackfillReport], None]) -> BackfillReport:
        raise EngineUnavailableError("Solr is away")

    with pytest.raises(EngineUnavailableError):
        watch(run, "http://localhost:8983/solr/docs", doing="making sketches", given="a sketch", textless="no text")
    assert "stopped" not in capsys.readouterr().out
