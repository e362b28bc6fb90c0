"""Options of the search for sources, in the words of a user."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import ParameterError
from whorl.model import Document
from whorl.operations import SourcesOperation
from whorl.search.attribution.find_sources import find_sources
from whorl.search.attribution.options import sources_of

TEXT = " ".join(f"word{number}" for number in range(60))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    with EmbeddedEngine(tmp_path / "store") as made:
        made.index([Document("whole", TEXT), Document("half", " ".join(TEXT.split()[:30]))])
        made.refresh()
        yield made


def test_what_is_not_said_is_as_usual(engine: EmbeddedEngine) -> None:
    """
    Missing options have their defaults, percentages become fractions, and a document is not its own source.
    """
    found = sources_of(engine, TEXT, "whole", None)
    assert [each.id for each in found.sources] == ["half"]
    assert found == sources_of(engine, TEXT, "whole", None, SourcesOperation(recall=95, min_words=8, most_read=300))
    assert found == find_sources(engine, TEXT, own_id="whole")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recall": 101}, "recall"),
        ({"min_words": 0}, "min_words must be at least 1, got 0"),
        ({"most_read": 10_001}, "most_read must be 1 to 10,000, got 10001"),
        ({"ignore_common": True}, "'whorl index --passages' makes them"),
    ],
)
def test_what_cannot_be_asked(engine: EmbeddedEngine, options: dict[str, Any], message: str) -> None:
    """
    Invalid options are refused before any document is read.
    """
    with pytest.raises(ParameterError, match=message):
        sources_of(engine, TEXT, None, None, SourcesOperation(**options))
