"""`whorl delete`: documents by their ids or by a query, and how many of them there were."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import asked, ids, whorl


def test_delete(notes: Path) -> None:
    """
    It says how many there were; ids that were not there are no error.
    """
    assert whorl("delete", "--store", "store", "notes/a.txt", "gone").stdout == "1 of 2 documents deleted\n"
    assert ids(asked("*")) == ["notes/b.txt", "notes/c.txt"]


@pytest.mark.parametrize("reference", ["*", "*:*", "notes/*", "{!lucene}*:*", "", "\ud800", "notes/a.txt\0"])
def test_delete_takes_ids_and_no_queries(notes: Path, reference: str) -> None:
    """
    Nothing that would mean many documents elsewhere means more than one here.
    """
    assert whorl("delete", "--store", "store", reference).stdout == "0 of 1 documents deleted\n"
    assert asked("*")["total"] == 3


def test_delete_by_a_query(notes: Path) -> None:
    """
    What it matches and no more, after a look at how many that is; everything only where that is said.
    """
    several = ("delete", "--store", "store", "--query", "id:notes* AND NOT id:*b.txt")
    assert whorl(*several, "--dry-run").stdout == "2 documents would be deleted\n"
    assert asked("*")["total"] == 3
    assert whorl(*several).stdout == "2 documents deleted\n"
    assert ids(asked("*")) == ["notes/b.txt"]
    everything = ("delete", "--store", "store", "--query", "*")
    refused = whorl(*everything)
    assert (refused.exit_code, asked("*")["total"]) == (2, 1)
    assert "matches all 1 documents" in refused.stderr
    assert whorl(*everything, "--everything").stdout == "1 document deleted\n"
    for neither_or_both in ((), ("a", "--query", "b")):
        assert "by their ids, or by a --query" in whorl("delete", *neither_or_both).stderr
