"""Tests of `whorl status`."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from whorl import Document, open_store
from whorl.cli.main import main


def test_the_state_of_a_store(tmp_path: Path) -> None:
    """
    `status --verify` prints the store's location, engine and number of documents, and that index and files are intact.
    """
    store = tmp_path / "store"
    with open_store(store) as opened:
        opened.index([Document(f"d{number}", f"a text of some words {number}") for number in range(30)])
    told = CliRunner().invoke(main, ["status", "--verify", "--store", str(store)])
    assert told.output.splitlines() == [
        f"store: {store}",
        "engine: embedded",
        "documents: 30",
        "index: complete",
        "files: as they were written",
    ]
    assert told.exit_code == 0


def test_damage_is_an_error(tmp_path: Path) -> None:
    """
    `status --verify` finds a flipped bit of a stored text, and names the document.
    """
    store = tmp_path / "store"
    with open_store(store) as opened:
        opened.index([Document("lease", "the rent is due each month " * 20)])
    raw = bytearray((store / "records.db").read_bytes())
    raw[raw.index(b"\x28\xb5\x2f\xfd") + 20] ^= 4
    (store / "records.db").write_bytes(raw)
    told = CliRunner().invoke(main, ["status", "--verify", "--store", str(store)])
    assert told.exit_code == 1
    assert "content of document 1, lease is not what was stored" in told.output
