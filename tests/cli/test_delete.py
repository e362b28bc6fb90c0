"""Tests of `whorl delete`: by ids or by a query, with the number of deleted documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import asked, ids, whorl


def test_delete(notes: Path) -> None:
    """
    The number of deleted documents is printed; unknown ids are not an error.
    """
    assert whorl("delete", "--store", "store", "notes/a.txt", "gone").stdout == "1 of 2 documents deleted\n"
    assert ids(asked("*")) == ["notes/b.txt", "notes/c.txt"]


@pytest.mark.parametrize("reference", ["*", "*:*", "notes/*", "{!lucene}*:*", "", "\ud800", "notes/a.txt\0"])
def test_delete_takes_ids_and_no_queries(notes: Path, reference: str) -> None:
    """
    An id with query syntax deletes at most the document of that id.
    """
    assert whorl("delete", "--store", "store", reference).stdout == "0 of 1 documents deleted\n"
    assert asked("*")["total"] == 3


def test_delete_by_a_query(notes: Path) -> None:
    """
    A query deletes exactly its matches, after a dry run that counts them; deleting everything needs a confirmation.
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
        assert "by their ids, or by a --query" in whorl("delete", "--store", "store", *neither_or_both).stderr
