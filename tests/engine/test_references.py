"""What a reference may name."""

import pytest

from whorl.engine.references import candidates

UUID = "3f2a91c0-0d6e-4b7c-9e55-0123456789ab"
STORE = "workspace://SpacesStore/"
NODEREF = STORE + UUID


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("1234", [("dbid", "1234"), ("key", "1234")]),
        ("007", [("dbid", "007"), ("key", "007")]),
        (UUID, [("noderef", NODEREF), ("key", UUID), ("key", NODEREF)]),
        ("A" + UUID[1:], [("noderef", f"{STORE}A{UUID[1:]}"), ("key", f"A{UUID[1:]}"), ("key", f"{STORE}A{UUID[1:]}")]),
        (NODEREF, [("noderef", NODEREF), ("key", NODEREF), ("key", UUID)]),
        ("workspace://SpacesStore/report", [("key", "workspace://SpacesStore/report")]),
        ("workspace://SpacesStore/12", [("key", "workspace://SpacesStore/12")]),
        ("archive://SpacesStore/" + UUID, [("key", "archive://SpacesStore/" + UUID)]),
        ("report 7.txt", [("key", "report 7.txt")]),
        ("१२", [("key", "१२")]),
        ("12\n", [("key", "12\n")]),
        ("", [("key", "")]),
    ],
)
def test_candidates(reference, expected):
    """
    Digits are a DBID first, a UUID a node reference first; everything else is an id.
    """
    assert candidates(reference) == tuple(expected)
