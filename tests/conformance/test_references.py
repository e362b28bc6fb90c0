"""Paths and names of documents on every engine, sizes of stores, and deleting by reference."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from whorl import Document, Store, UnknownDocumentError
from whorl.cli.shared.open_store_and_documents import file_documents, read_if_file
from whorl.ingest.files import Problems
from whorl.ingest.rows.row_format import RowColumns
from whorl.search.similar.compare_hit_texts import compare_with_documents

TEXT = " ".join(f"heron{number}" for number in range(30))
#: A text with words broken at the ends of lines.
BROKEN = " ".join(f"newt{number} swims in the wa-\nter" for number in range(30))


@pytest.fixture
def filled(store: Store) -> Iterator[Store]:
    documents = [
        Document("marsh/heron.txt", TEXT, name="heron.txt"),
        Document("marsh/reed.txt", f"{TEXT} and reed", name="reed.txt"),
        Document("pond/reed.txt", "reeds of another pond stand here", name="reed.txt"),
        Document("pond/newt.txt", BROKEN, name="newt.txt"),
    ]
    store.index(documents)
    yield store
    store.delete([document.id for document in documents])


def test_comparisons_in_the_order_of_the_request(filled: Store) -> None:
    """
    Documents are compared in the order of the request on every engine; a missing document is left out.
    """
    wanted = ["pond/reed.txt", "marsh/heron.txt", "nosuch", "pond/newt.txt", "marsh/reed.txt"]
    for ids in (wanted, wanted[::-1]):
        compared = [document_id for document_id, _ in compare_with_documents(filled.engine, TEXT, ids)]
        assert compared == [document_id for document_id in ids if document_id != "nosuch"]


def test_paths_and_names(filled: Store, tmp_path: Path) -> None:
    """
    A path with dots, the end of an absolute path and a unique name are the document; a name of several is none.
    """
    references = ["./marsh/heron.txt", "heron.txt", "reed.txt", "HERON.txt", "nosuch"]
    assert filled.references.ids(references) == dict.fromkeys(references[:2], "marsh/heron.txt")
    filled.read_files(tmp_path / "marsh", read_if_file)
    try:
        meant = filled.references.ids(["heron.txt", str(tmp_path / "marsh/reed.txt"), "../pond/reed.txt"])
        assert list(meant.values()) == ["marsh/heron.txt", "marsh/reed.txt", "pond/reed.txt"]
        assert filled.references.documents_with(f" {TEXT}\n")[0] == "marsh/heron.txt"
        assert filled.references.documents_with(" ".join(BROKEN.split()))[0] == "pond/newt.txt"
        for other in (f"{TEXT} or more", f"more {TEXT}", TEXT.upper(), BROKEN.replace("-\n", "")):
            assert not filled.references.documents_with(other)
    finally:
        filled.references = Store(filled.engine, filled.names).references


def test_searches_take_names(filled: Store) -> None:
    """
    A name gives the same hits, shares, tokens and text as the id.
    """
    query = 'FINGERPRINT:"{}" AND NOT id:pond*'
    by_name, by_id = (filled.search(query.format(name)).hits for name in ("heron.txt", "marsh/heron.txt"))
    assert by_name == by_id
    assert [hit.id for hit in by_id] == ["marsh/heron.txt", "marsh/reed.txt"]
    hits = [similar.hit.id for similar in filled.similar("heron.txt").found]
    assert hits == [similar.hit.id for similar in filled.similar("marsh/heron.txt").found] == ["marsh/reed.txt"]
    assert filled.text("heron.txt") == TEXT
    assert filled.compare("heron.txt", "marsh/heron.txt").shares.jaccard == 1


def test_deleting_by_name(filled: Store) -> None:
    """
    A unique name deletes its document, a shared one nothing.
    """
    assert filled.delete(["reed.txt", "nosuch"]) == 0
    assert filled.delete(["heron.txt"]) == 1
    assert filled.documents(["marsh/heron.txt", "marsh/reed.txt"]).keys() == {"marsh/reed.txt"}


def test_an_unknown_name_brings_the_nearest(filled: Store) -> None:
    """
    The error for a misspelt path, name or id, and the warning of a FINGERPRINT, name the nearest document, or none if
    there is no near one.
    """
    for name in ("marsh/herno.txt", "heorn.txt", "./herons.txt"):
        with pytest.raises(UnknownDocumentError, match=r"; did you mean 'marsh/heron\.txt'\?"):
            filled.document(name)
        with pytest.raises(UnknownDocumentError, match=r"; did you mean 'marsh/heron\.txt'\?"):
            filled.similar(name)
        for plan in ("stock", "calibrated"):
            (warning,) = filled.search(f'FINGERPRINT:"{name}"', plan=plan).warnings
            assert "; did you mean 'marsh/heron.txt'?" in warning
    with pytest.raises(UnknownDocumentError, match=r"; did you mean 'pond/reed\.txt'\?"):
        filled.document("pond/reeeeds")
    for name in ("nosuchthing", "*", '"', "", "a:b OR (", "x" * 5_000):
        with pytest.raises(UnknownDocumentError, match=r"^the store has no document [^?]*$"):
            filled.document(name)


def test_every_engine_has_a_size_in_bytes(store: Store) -> None:
    """
    Each engine knows how many bytes its documents take.
    """
    assert (store.engine.size() or 0) > 10_000


def test_a_file_has_the_same_id_in_every_folder(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The store keeps the folder of its first file; when all files have moved, the end of a path is still the id.
    """
    project, others = tmp_path / "project", store.references
    (project / "texts").mkdir(parents=True)
    for name in ("a", "b"):
        (project / "texts" / name).write_text(f"{TEXT} and {name}", encoding="utf-8")
    (tmp_path / "else").write_text(f"{TEXT} and else", encoding="utf-8")

    problems = Problems()

    def indexed(folder: Path, file: str) -> str:
        monkeypatch.chdir(folder)
        store.read_files(folder, read_if_file)
        (document,) = file_documents(store, [Path(file)], problems.append, RowColumns(), pytest.fail)
        store.index([document])
        assert not problems
        return document.id

    try:
        assert indexed(project, "texts/a") == "texts/a"
        assert store.engine.file_base() == Path(os.path.realpath(project))
        assert indexed(project / "texts", "b") == indexed(tmp_path, "project/texts/b") == "texts/b"
        names = ["./b", str(project / "texts/b"), "project/texts/b"]
        assert store.references.ids(names) == dict.fromkeys(names[1:], "texts/b")
        assert indexed(project, str(tmp_path / "else")) == str(tmp_path / "else")

        project.rename(tmp_path / "moved")
        assert indexed(tmp_path / "moved/texts", "b") == "texts/b"
        assert store.references.ids(["a"]) == {"a": "texts/a"}
    finally:
        store.delete(["texts/a", "texts/b", str(tmp_path / "else")])
        store.references = others
