"""Fixture: a working directory without a settings file."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, without a whorl.toml."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
