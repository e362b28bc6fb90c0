"""Fixtures: a temporary working directory, a few indexed texts, and a core in a real Solr."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import FIRST, SECOND, own_collection, whorl


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which also contains the default store and the caches."""
    for name in ("STORE", "SOLR_AUTH", "TIMEOUT", "API_KEY", "CONFIG"):
        monkeypatch.delenv(f"WHORL_{name}", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def notes(folder: Path) -> Path:
    """Three texts, two of them nearly equal, indexed into `store`."""
    made = folder / "notes"
    made.mkdir()
    for name, text in {"a.txt": FIRST, "b.txt": SECOND, "c.txt": "Nothing of the kind is said in here, is it?"}.items():
        (made / name).write_text(text, encoding="utf-8")
    assert whorl("index", "--store", "store", "notes").exit_code == 0
    return made


@pytest.fixture(scope="module")
def core(solr_standalone_url: str) -> Iterator[str]:
    """URL of a core that only these tests use."""
    with own_collection(solr_standalone_url) as url:
        yield url
