"""`whorl delete`: ids and nothing else, and how many of them there were."""

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
