"""Another client of the same collection or index, which writes between the requests of a call."""

from __future__ import annotations

from typing import Any

import pytest

from whorl import Document, Store, open_store


def assert_no_text_of_another_client_is_replaced(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch, *, sender: str
) -> None:
    """
    Index with replace=False while another client stores a document, and then changes one, just before the method
    `sender` of the engine's client sends them.
    """
    text, other_text = "a text of five words", "another text of five words"
    store.index([Document("changed", text)])
    names, client = ["new", "changed"], store.engine._client  # type: ignore[attr-defined]
    send, refused = getattr(client, sender), list[str]()

    def send_later(documents: Any) -> Any:
        if names:
            with open_store(url) as other:
                other.index([Document(names.pop(0), other_text)])
        return send(documents)

    monkeypatch.setattr(client, sender, send_later)
    for document in (Document("new", text), Document("changed", text, "a name")):
        indexed = store.index([document], replace=False, on_refused=lambda _, error: refused.append(str(error)))
        assert indexed.stored == 0
    reason = "another client has just stored a document of this name; try again"
    assert refused == [f"new: {reason}", f"changed: {reason}"]
    assert store.texts(["new", "changed"]) == {"new": other_text, "changed": other_text}
    assert store.index([Document("new", other_text, "a name")], replace=False).stored == 1
    assert store.delete(["new", "changed"]) == 2
