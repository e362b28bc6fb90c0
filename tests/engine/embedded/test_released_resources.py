"""Resources of an open store: no more after many writes and searches than after a few."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

from tests.engine.embedded.stores import matching_ids, opened
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.model import Document

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what a process holds")

_PROCESS = Path("/proc/self")


def replaced(engine: EmbeddedEngine, times: int) -> None:
    """Replace the same ten documents with other texts, `times` times, and search for them each time."""
    for stamp in range(times):
        engine.index([Document(f"d{number}", f"a text of few words {number} {stamp}") for number in range(10)])
        engine.refresh()
        assert len(matching_ids(engine)) == 10


@pytest.mark.slow
def test_replacing_documents_over_and_over(path: Path) -> None:
    """
    Segments, files and memory are released at once, not at the next garbage collection.
    """
    with opened(path) as engine:
        replaced(engine, 8)
        gc.collect()
        gc.disable()
        try:
            before = _count_resources()
            replaced(engine, 16)
            after = _count_resources()
        finally:
            gc.enable()
    # The number of segments varies slightly. A leak would leave at least one for each round, more than 16 in all.
    assert after["segments"] < 16
    assert after["files"] <= before["files"] + 6
    assert after["blocks"] <= before["blocks"] + 3_000


def _count_resources() -> dict[str, int]:
    mapped = (_PROCESS / "maps").read_text(encoding="utf-8")
    return {
        "segments": sum(line.removesuffix(" (deleted)").endswith(".segment") for line in mapped.splitlines()),
        "files": len(list((_PROCESS / "fd").iterdir())),
        "blocks": sys.getallocatedblocks(),
    }
