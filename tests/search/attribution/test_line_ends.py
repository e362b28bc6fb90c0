"""Words broken at line ends, and the store's opinion of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from whorl import Document
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.compare import words_of
from whorl.search.attribution import line_ends
from whorl.search.attribution.line_ends import rejoin


@pytest.mark.parametrize("at_once", [1, 50])
def test_words_of_the_store_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """
    A broken word is joined if a document has it; `wellknown` is in none.
    """
    monkeypatch.setattr(line_ends, "_AT_ONCE", at_once)
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index([Document("a", "an example paragraph"), Document("b", "a well-known one")])
        engine.refresh()
        broken = words_of("An exam-\nple of well-\nknown para-\ngraphs, one para-\ngraph")
        assert " ".join(rejoin(engine, broken).words) == "an example of well known para graphs one paragraph"
        whole = words_of("an example")
        assert rejoin(engine, whole) is whole
