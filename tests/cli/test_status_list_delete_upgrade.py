"""Tests of the commands that look after a store: status, delete, upgrade."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest
import tantivy
from click.testing import CliRunner, Result

from tests.cli.running import ids, search_json, whorl
from tests.engine.embedded.previous_store import write_previous_store
from whorl import Document, StoreError, open_store
from whorl.cli.main import main
from whorl.cli.status_list_delete_upgrade import upgrade
from whorl.engine.embedded import database
from whorl.engine.embedded.store_files import LOCK, WriteLock
from whorl.errors import SchemaError
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import Indexed
from whorl.store import Store


def test_delete(notes: Path) -> None:
    """
    The number of deleted documents is printed; unknown ids are noted, as are paths and names.
    """
    done = whorl("delete", "--store", "store", "notes/a.txt", "gone")
    assert (done.stdout, done.stderr) == ("1 of 2 documents deleted\n", "note: the store has no document 'gone'\n")
    several = whorl("delete", "--store", "store", *"1234567", "--dry-run").stderr
    assert several == "note: the store has no document '1', '2', '3', '4', '5' and 2 more\n"
    assert ids(search_json("*")) == ["notes/b.txt", "notes/c.txt"]
    named = whorl("delete", "--store", "store", "./notes/b.txt", "c.txt")
    assert named.stdout == "2 of 2 documents deleted\n"
    assert "note: c.txt is in the store as 'notes/c.txt'" in named.stderr
    assert search_json("*")["total"] == 0


def test_delete_of_a_name_that_several_have(notes: Path) -> None:
    """
    A name of several documents deletes none, and a note lists them.
    """
    with open_store("store") as opened:
        opened.index([Document(f"{folder}/b.txt", "Other words.", name="b.txt") for folder in ("x", "y")])
    done = whorl("delete", "--store", "store", "b.txt", "gone")
    assert done.stdout == "0 of 2 documents deleted\n"
    several = "'notes/b.txt', 'x/b.txt', 'y/b.txt'; name one by its id"
    assert f"note: the store has no document 'b.txt', but several of this name: {several}" in done.stderr
    assert "note: the store has no document 'gone'" in done.stderr


@pytest.mark.parametrize("reference", ["*", "*:*", "notes/*", "{!lucene}*:*", "", "\ud800", "notes/a.txt\0"])
def test_delete_takes_ids_and_no_queries(notes: Path, reference: str) -> None:
    """
    An id with query syntax deletes at most the document of that id.
    """
    assert whorl("delete", "--store", "store", reference).stdout == "0 of 1 documents deleted\n"
    assert search_json("*")["total"] == 3


def test_delete_by_a_query(notes: Path) -> None:
    """
    A query deletes exactly its matches, after a dry run that counts them; deleting everything needs a confirmation.
    """
    several = ("delete", "--store", "store", "--query", "id:notes* AND NOT id:*b.txt")
    assert whorl(*several, "--dry-run").stdout == "2 documents would be deleted\n"
    assert search_json("*")["total"] == 3
    assert whorl(*several).stdout == "2 documents deleted\n"
    assert ids(search_json("*")) == ["notes/b.txt"]
    # NOT would match all documents.
    for mistyped in (["--dry-run"], []):
        wrong = whorl("delete", "--store", "store", "--query", "id:notes* AND NOT FINGERPRINT:typo", *mistyped)
        assert (wrong.exit_code, wrong.stdout, search_json("*")["total"]) == (2, "", 1)
        assert "the store has no document 'typo'" in wrong.stderr
    everything = ("delete", "--store", "store", "--query", "*")
    refused = whorl(*everything)
    assert (refused.exit_code, search_json("*")["total"]) == (2, 1)
    assert "matches all 1 documents" in refused.stderr
    assert whorl(*everything, "--everything").stdout == "1 document deleted\n"
    for neither_or_both in ((), ("a", "--query", "b")):
        assert "by their ids, or by a --query" in whorl("delete", "--store", "store", *neither_or_both).stderr


def test_the_state_of_a_store(tmp_path: Path) -> None:
    """
    `status --verify` prints the store's location, engine and number of documents, and that index and files are intact.
    """
    store = tmp_path / "store"
    with open_store(store) as opened:
        opened.index([Document(f"d{number}", f"a text of some words {number}") for number in range(30)])
    result = CliRunner().invoke(main, ["status", "--verify", "--store", str(store)])
    assert result.output.splitlines() == [
        f"store: {store}",
        "engine: embedded",
        "documents: 30",
        "size: 0.1 MB",
        "scheme: minhash1-icu74-w5-b512",
        "MINHASH: whole tokens",
        "missing: passages, so sources with short passages can be missed; "
        f"'whorl index --passages --store {store} PATH…' adds them",
        "index: complete",
        "files: as they were written",
    ]
    assert result.exit_code == 0
    for options, line in (
        (["--short-minhash"], "MINHASH: short tokens, so FINGERPRINT also reads texts"),
        (["--without-minhash"], "MINHASH: none, so FINGERPRINT works only with '--plan calibrated'"),
    ):
        whorl("index", "--store", str(store), *options, __file__)
        assert line in whorl("status", "--store", str(store)).stdout.splitlines()


def test_the_list_of_documents(notes: Path) -> None:
    """
    `list` shows ids and names in the order of the ids, a page at a time, and says how to see more.
    """
    listed = whorl("list", "--store", "store", "--rows", "2")
    assert listed.stdout.splitlines() == [
        "notes/a.txt  a.txt",
        "notes/b.txt  b.txt",
        "3 documents, 1 to 2 shown; --start 2 shows more",
    ]
    remaining = json.loads(whorl("list", "--store", "store", "--start", "2", "--json").stdout)
    assert remaining == {"total": 3, "documents": [{"id": "notes/c.txt", "name": "c.txt"}]}


def test_damage_is_an_error(tmp_path: Path) -> None:
    """
    `status --verify` finds a flipped bit of a stored text, and names the document.
    """
    store = tmp_path / "store"
    with open_store(store) as opened:
        opened.index([Document("lease", "the rent is due each month " * 20)])
    raw = bytearray((store / "records.db").read_bytes())
    raw[raw.index(b"the rent") + 4] ^= 4
    (store / "records.db").write_bytes(raw)
    result = CliRunner().invoke(main, ["status", "--verify", "--store", str(store)])
    assert result.exit_code == 1
    assert "head of document 1, lease is not what was stored" in result.output


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
    assert "/index was missing and has been made again" in damaged.output
    assert "unless you restored a backup" in damaged.output
    assert "disk" not in damaged.output


DOCUMENTS = [
    Document("a", "one two three four five six", "A", {"DBID": 7, "kind": ["x", 1.5, True]}),
    Document("b \N{GREEK SMALL LETTER BETA}", "", ""),
    *(Document(f"c{number}", f"the same text of some words {number}") for number in range(20)),
]


def run(folder: Path) -> Result:
    return CliRunner().invoke(main, ["upgrade", str(folder)])


def assert_upgraded(folder: Path) -> None:
    with open_store(folder, create=False) as store:
        ids = [document.id for document in DOCUMENTS]
        assert store.engine.digests(ids) == {document.id: document.digest for document in DOCUMENTS}
        assert store.search("FINGERPRINT:c3_100").total == 1
        assert [hit.id for hit in store.search("kind:x").hits] == ["a"]
    assert (folder.with_name("store.old") / "records.db").exists()
    assert not folder.with_name("store.upgraded").exists()


def test_a_previous_store(tmp_path: Path) -> None:
    """
    Opening an old store prints the command; afterwards the new store is complete, and the old folder still exists.
    """
    folder = tmp_path / "store"
    write_previous_store(folder, DOCUMENTS)
    with pytest.raises(StoreError, match=f"bring it up to date: whorl upgrade {folder}"):
        open_store(folder)
    done = run(folder)
    assert (done.exit_code, done.stdout) == (
        0,
        f"22 documents upgraded; the old store is {folder}.old: delete it when all is well\n",
    )
    assert_upgraded(folder)
    again = run(folder)
    assert (again.exit_code, again.stdout) == (0, f"{folder} is a store of this version already; nothing to do\n")


def test_an_upgrade_keeps_cluster_labels(tmp_path: Path) -> None:
    """
    Labels are stored like properties, whose names users cannot give.
    """
    document = Document("a", "a text of some words", "", {"whorl_cluster": "a", "whorl_is_principal": True})
    write_previous_store(tmp_path / "store", [document])
    assert run(tmp_path / "store").exit_code == 0
    with open_store(tmp_path / "store", create=False) as store:
        assert [hit.id for hit in store.search("whorl_is_principal:true").hits] == ["a"]


def test_an_upgrade_keeps_the_options_of_the_store(tmp_path: Path) -> None:
    """
    The new store finds passages of the same length, and has no MINHASH tokens if the old one had none.
    """
    write_previous_store(tmp_path / "store", DOCUMENTS, passages=12, without_minhash=True)
    assert run(tmp_path / "store").exit_code == 0
    with open_store(tmp_path / "store", create=False) as store:
        assert store.engine.passage_scheme == PassageScheme.for_runs(12)
        with pytest.raises(SchemaError, match="keeps no MINHASH tokens"):
            store.search("FINGERPRINT:c3_100")


def test_an_upgrade_keeps_the_base_of_ids(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    An upgrade keeps the folder that ids of files are relative to.
    """
    assert whorl("upgrade", "store", "--rewrite").exit_code == 0
    others = notes.parent / "others"
    others.mkdir()
    (others / "d.txt").write_text("another text", encoding="utf-8")
    monkeypatch.chdir(others)
    assert whorl("index", "--store", "../store", ".").exit_code == 0
    assert ids(search_json("*", store="../store")) == ["notes/a.txt", "notes/b.txt", "notes/c.txt", "others/d.txt"]


def test_a_rewritten_store_has_nothing_of_deleted_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Words of deleted documents are in the files of a store, and in none of a rewritten store.
    """
    monkeypatch.setattr(database, "TRAINING_BYTES", 50_000)
    folder = tmp_path / "store"
    secrets = [f"{number} secretword {'the same clause of all secret letters ' * 20}" for number in range(100)]
    with open_store(folder, passages=True) as store:
        kept = Document("kept", "some other words " * 30)
        store.index([kept, *(Document(f"d{number}", text) for number, text in enumerate(secrets))])
        store.delete([f"d{number}" for number in range(100)])

    def remains() -> set[str]:
        with closing(sqlite3.connect(folder / "records.db")) as connection:
            meta = dict(connection.execute("SELECT key, value FROM meta"))
            journal = str(connection.execute("SELECT entry FROM journal").fetchall())
        parts = [tantivy.Index.open(str(part)) for part in (folder / "index").iterdir() if part.name != "tokens"]
        found = {
            "dictionary": b"secret letters" in meta.get("dictionary", b""),
            "journal": "d7" in journal,
            "index": any(part.searcher().doc_freq("content", "secretword") for part in parts),
        }
        return {place for place, is_there in found.items() if is_there}

    assert remains() == {"dictionary", "journal", "index"}
    done = CliRunner().invoke(main, ["upgrade", "--rewrite", str(folder)])
    assert done.stdout == f"1 document copied; the old store is {folder}.old: delete it when all is well\n"
    assert not remains()
    with open_store(folder, create=False) as store:
        assert [hit.id for hit in store.search("*").hits] == ["kept"]


def test_nothing_is_written_during_an_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    An upgrade fails while another process writes, and holds the write lock until it ends.
    """
    folder = tmp_path / "store"
    with open_store(folder) as store:
        store.index(DOCUMENTS)
    lock, real = WriteLock(folder / LOCK), Store.index
    assert lock.acquire(0.0)
    assert "another process is writing to the store" in whorl("upgrade", "--rewrite", str(folder)).stderr
    lock.release()

    def index(store: Store, documents: Iterable[Document], **options: Any) -> Indexed:
        assert not lock.acquire(0.0)
        return real(store, documents, **options)

    monkeypatch.setattr(Store, "index", index)
    assert whorl("upgrade", "--rewrite", str(folder)).exit_code == 0
    assert_upgraded(folder)
    assert lock.acquire(0.0)
    lock.release()


@pytest.mark.parametrize("renames", [None, 0, 1])
def test_an_interrupted_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int | None) -> None:
    """
    An upgrade interrupted while storing documents, or before one of the two renames, is completed by a second run.
    """
    folder = tmp_path / "store"
    write_previous_store(folder, DOCUMENTS)
    with monkeypatch.context() as patch:
        left = [renames]
        real = Path.rename

        def stopping(path: Path, target: Path) -> Path:
            if "index" not in path.name:
                if left[0] == 0:
                    raise KeyboardInterrupt
                left[0] = (left[0] or 0) - 1
            return real(path, target)

        def stored_partly(store: Store, documents: object, **_: object) -> None:
            store.engine.index(DOCUMENTS[:5])
            raise KeyboardInterrupt

        patch.setattr(*((Store, "index", stored_partly) if renames is None else (Path, "rename", stopping)))
        with pytest.raises((KeyboardInterrupt, click.Abort)):
            upgrade.main([str(folder)], standalone_mode=False)
    assert run(folder).exit_code == 0
    assert_upgraded(folder)


@pytest.mark.parametrize("named", [".", "../link"])
def test_a_store_by_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    """
    The store can be the working directory, or a link, which then leads to the new store.
    """
    folder = tmp_path / "store"
    write_previous_store(folder, DOCUMENTS)
    (tmp_path / "link").symlink_to("store")
    monkeypatch.chdir(folder)
    assert run(Path(named)).exit_code == 0
    assert_upgraded(folder)
    with open_store(tmp_path / "link", create=False) as store:
        assert store.count() == len(DOCUMENTS)


def test_stores_that_cannot_be_upgraded(tmp_path: Path) -> None:
    """
    A missing or damaged store, a store of another version, and an old folder that is in the way are errors.
    """
    for path in (tmp_path / "nothing", Path("/")):
        assert "there is no store at" in run(path).stderr
    assert "upgrade is for a store in a folder" in run(Path("http://localhost:1/solr/letters")).stderr
    folder = tmp_path / "store"
    write_previous_store(folder, DOCUMENTS)
    (tmp_path / "store.old").mkdir()
    assert "store.old is in the way" in run(folder).stderr
    (tmp_path / "store.old").rmdir()
    connection = sqlite3.connect(folder / "records.db")
    connection.execute("UPDATE document SET head = x'00000000' WHERE id = 'c7'")
    connection.commit()
    assert "head of document 10, c7 is not what was stored" in run(folder).stderr
    connection.execute("UPDATE meta SET value = '3' WHERE key = 'format'")
    connection.commit()
    connection.close()
    assert "use the version that made it" in run(folder).stderr


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("is_parent_locked", [False, True])
def test_a_read_only_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_parent_locked: bool) -> None:
    """
    The files of the old store stay unchanged, as store.old; in a read-only parent folder, the upgrade is an error and
    changes nothing.
    """
    folder = tmp_path / "store"
    write_previous_store(folder, DOCUMENTS)
    before = files_in(folder)
    if is_parent_locked:
        real = os.access
        monkeypatch.setattr("os.access", lambda file, mode: file != tmp_path and real(file, mode))
        assert f"{tmp_path} may not be written to; see who owns it" in " ".join(run(folder).stderr.split())
        assert files_in(folder) == before
        assert [path.name for path in tmp_path.iterdir()] == ["store"]
        return
    assert run(folder).exit_code == 0
    assert_upgraded(folder)
    assert files_in(folder.with_name("store.old")) == before
