"""Tests of options of several commands: --store, --rows, --start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import FIRST, whorl


def test_the_default_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without --store, the store is WHORL_STORE, or the folder in the user's data directory.
    """
    (folder / "a.txt").write_text(FIRST, encoding="utf-8")
    assert whorl("index", "a.txt").exit_code == 0
    assert whorl("search", "--json", "*").exit_code == 0
    monkeypatch.setenv("WHORL_STORE", str(folder / "other"))
    assert whorl("search", "*").exit_code == 1
    assert whorl("index", "a.txt").exit_code == 0
    assert (folder / "other").is_dir()


def test_a_missing_store(folder: Path) -> None:
    """
    A search does not create a store: a mistyped --store is an error with exit code 1, and no folder is created.
    """
    for words in (["search", "x"], ["explain", "x"], ["delete", "x"]):
        result = whorl(*words, "--store", "tyop")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("whorl: there is no store at tyop; make one by indexing")
    assert not (folder / "tyop").exists()


@pytest.mark.parametrize("option", [("--rows", "-1"), ("--rows", "10001"), ("--rows", "x"), ("--start", "1000001")])
def test_pages_out_of_range(notes: Path, option: tuple[str, str]) -> None:
    """
    The message names the option and its range; the exit code is that of wrong usage.
    """
    result = whorl("search", "--store", "store", *option, "*")
    assert result.exit_code == 2
    assert option[0] in result.stderr
