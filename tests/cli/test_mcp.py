"""Tests of the process `whorl mcp`, started like an assistant starts it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters

from tests.cli.running import WHORL, whorl
from tests.test_mcp import asked
from whorl import Document, open_store


@pytest.mark.process
@pytest.mark.slow
def test_it_speaks_on_standard_streams(tmp_path: Path) -> None:
    """
    The answer of a tool is on standard output, and nothing else.
    """
    folder = str(tmp_path / "store")
    with open_store(folder) as store:
        store.index([Document("a", "five words and one more", name="note")])
    started = StdioServerParameters(command=str(WHORL), args=["mcp", "--store", folder], env=dict(os.environ))
    assert asked(started, "document", id="a")["name"] == "note"


def test_no_folder_is_made(tmp_path: Path) -> None:
    """
    A missing store is an error, since an assistant would otherwise see an empty store for a mistyped name.
    """
    result = whorl("mcp", "--store", str(tmp_path / "stroe"))
    assert result.exit_code == 1
    assert "stroe" in result.stderr
    assert not (tmp_path / "stroe").exists()
