"""The message about an index that lacks stored documents."""

from __future__ import annotations

from whorl.engine.lag import lag_message


def test_the_message_has_the_number() -> None:
    """
    One document and several, with a remedy.
    """
    assert lag_message(1).startswith("1 stored or deleted document is missing from the index, which")
    assert lag_message(1536).startswith("1,536 stored or deleted documents are missing from the index, which")
    assert "free some room on the disk" in lag_message(2)
