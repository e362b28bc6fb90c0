"""Tests of `whorl status`."""

from __future__ import annotations

import shutil
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


def test_repaired_damage_is_an_error(tmp_path: Path) -> None:
    """
    `status --verify` reports damage of the index that opening the store repaired; the next run finds none.
    """
    store = tmp_path / "store"
    with open_store(store) as opened:
        opened.index([Document("lease", "the rent is due each month " * 20)])
    for file in (store / "index").rglob("*.store"):
        raw = bytearray(file.read_bytes())
        raw[len(raw) // 2] ^= 4
        file.write_bytes(raw)
    damaged = CliRunner().invoke(main, ["status", "--verify", "--store", str(store)])
    assert damaged.exit_code == 1
    assert "repaired when opened" in damaged.output
    assert str(store / "index") in damaged.output
    assert CliRunner().invoke(main, ["status", "--verify", "--store", str(store)]).exit_code == 0


def test_a_missing_index_is_an_error(tmp_path: Path) -> None:
    """
    `status --verify` reports an index that was missing; a new store has no damage.
    """
    store = tmp_path / "store"
    with open_store(store) as opened:
        assert opened.engine.verify()
        opened.index([Document("lease", "the rent is due each month " * 20)])
        assert opened.engine.verify()
    shutil.rmtree(store / "index")
    damaged = CliRunner().invoke(main, ["status", "--verify", "--store", str(store)])
    assert damaged.exit_code == 1
    assert "repaired when opened" in damaged.output
    assert "it was missing" in damaged.output
