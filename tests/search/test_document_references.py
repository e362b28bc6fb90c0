"""Tests of references: a document by its id, path or name, and files that are not in the store."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import Literal

import pytest

from tests.cli.running import FIRST, SECOND
from whorl import Document, Store, UnknownDocumentError, Verdict, open_store
from whorl.cli.shared.open_store_and_documents import read_if_file
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.winnowing import PassageScheme
from whorl.search.document_references import References, file_id


@pytest.fixture
def store(tmp_path: Path):
    """Two files by their paths, a document of the same name as another, and one with a number for an id."""
    with open_store(tmp_path / "store") as opened:
        opened.index(
            [
                Document("texts/a.txt", FIRST, name="a.txt"),
                Document("texts/b.txt", SECOND, name="b.txt"),
                Document("other/b.txt", "nothing of the kind is said in here", name="b.txt"),
                Document("7", "a number is the id of this one", name="seven"),
                Document("x", "a number is another property of this", properties={"DBID": 7}),
            ]
        )
        yield opened


def in_folder(store: Store, folder: Path) -> Store:
    store.read_files(folder, read_if_file)
    return store


def test_the_parts_of_an_unknown_file(store: Store) -> None:
    """
    The error for a file whose parts are documents lists their ids, which continue the path after `#` or `:`.
    """
    others = "m_1.pdfx", "m_1.pdf$", "M_2.pdf#p1"
    store.index([Document(key, SECOND) for key in ("m_1.pdf#p1", "m_1.pdf#p2", "m_1.pdf:3", *others)])
    with pytest.raises(UnknownDocumentError) as error:
        store.similar("m_1.pdf")
    assert "but parts of it: 'm_1.pdf#p1', 'm_1.pdf#p2', 'm_1.pdf:3'; name one by its id" in str(error.value)


def test_every_form_of_a_path_is_the_document(store: Store, tmp_path: Path) -> None:
    """
    An id, a path with dots, an absolute path and a path from another folder name the same document in all operations.
    """
    assert store.engine.file_base(lambda: tmp_path) == tmp_path
    (tmp_path / "texts").mkdir()
    for folder, names in {
        tmp_path: ["texts/a.txt", "./texts/a.txt", "texts/../texts/a.txt", str(tmp_path / "texts/a.txt"), "a.txt"],
        tmp_path / "texts": ["a.txt", "./a.txt", "../texts/a.txt"],
    }.items():
        opened = in_folder(store, folder)
        for name in names:
            assert opened.references.ids([name]) == {name: "texts/a.txt"}
            assert opened.text(name) == FIRST
            assert opened.similar(name, threshold=1).found == opened.similar("texts/a.txt", threshold=1).found
            assert opened.sources(name).sources == opened.sources("texts/a.txt").sources
            assert opened.compare(name, "texts/a.txt").shares.jaccard == 1
            query = f'FINGERPRINT:"{name}"'
            assert opened.search(query).hits == opened.search('FINGERPRINT:"texts/a.txt"').hits
            assert opened.search("*", filter=query).total == opened.search(query).total


def test_a_name_that_several_have(store: Store) -> None:
    """
    A name of two documents names neither, and the message lists both ids.
    """
    assert store.references.ids(["b.txt", "seven", "B.TXT", "*", ""]) == {"seven": "7"}
    with pytest.raises(UnknownDocumentError, match=r"but several of this name: 'other/b\.txt', 'texts/b\.txt'"):
        store.references.resolve("b.txt")
    with pytest.raises(UnknownDocumentError, match="but several of this name: 'other/b") as unknown:
        store.document("b.txt")
    assert unknown.value.suggested is None


def test_composed_and_decomposed_letters(tmp_path: Path) -> None:
    """
    A name with decomposed letters, as macOS writes it, is found under the composed name, and the other way around.
    """
    forms: tuple[Literal["NFC", "NFD"], Literal["NFC", "NFD"]] = ("NFC", "NFD")
    for given, kept in (forms, forms[::-1]):
        key, name, upper = (
            unicodedata.normalize(kept, text) for text in ("nf/Kündigung März.txt", "Kündigung März.txt", "Ärger")
        )
        with open_store(tmp_path / kept) as opened:
            opened.index([Document(key, FIRST, name=name), Document("other", SECOND, name=upper)])
            for text in (key, f"./{key}", name):
                wanted = unicodedata.normalize(given, text)
                assert wanted != text
                assert opened.references.ids([wanted]) == {wanted: key}
                assert opened.references.resolve(wanted).id == key
                assert opened.similar(wanted, threshold=1).found == opened.similar(key, threshold=1).found
                assert opened.text(wanted) == FIRST
                quotation = {"quote": " ".join(FIRST.split()[:6]), "source": wanted}
                (verified,) = opened.verify(quotations=[quotation]).quotations
                assert (verified.verdict, verified.source_id) == (Verdict.EXACT, key)
            in_capitals = unicodedata.normalize(given, "kündigung märz.TXT")
            assert opened.references.ids_of_files([in_capitals]) == {in_capitals: [key]}
            assert opened.delete([unicodedata.normalize(given, "Ärger")]) == 1
            assert opened.delete([unicodedata.normalize(given, "nf/Kündigung März.txt")]) == 1


def test_the_same_name_in_both_forms(tmp_path: Path) -> None:
    """
    Of two names that differ in the form of their letters only, the identical one is meant.
    """
    forms = [unicodedata.normalize("NFC", "März"), unicodedata.normalize("NFD", "März")]
    with open_store(tmp_path / "store") as opened:
        opened.index([Document(f"id of {form}", FIRST, name=form) for form in forms])
        assert opened.references.ids(forms) == {form: f"id of {form}" for form in forms}


def test_without_a_folder_no_file_is_read(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A service's store has no user folder, so it reads no files, and looks paths up among the ids only.
    """
    store.engine.file_base(lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("secret.txt").write_text("a secret of this machine", encoding="utf-8")
    for name in ("secret.txt", str(tmp_path / "secret.txt"), str(tmp_path / "texts/a.txt")):
        assert store.references.ids([name]) == {}
        with pytest.raises(UnknownDocumentError):
            store.references.resolve(name)
    assert store.references.ids(["./texts/a.txt"]) == {"./texts/a.txt": "texts/a.txt"}


def test_a_file_next_to_the_store(store: Store, tmp_path: Path) -> None:
    """
    A file that the store lacks is its text; one with the text of a document is that document; both say so.
    """
    (tmp_path / "new.txt").write_text("some words that no document of the store has", encoding="utf-8")
    (tmp_path / "copy.txt").write_text(f"  {FIRST}\n", encoding="utf-8")
    references = in_folder(store, tmp_path).references
    new, copy = references.resolve("new.txt"), references.resolve("copy.txt")
    assert (new.id, new.text) == (None, "some words that no document of the store has")
    assert new.note == "new.txt is not in the store, so the file itself is the source"
    assert (copy.id, copy.text, copy.note) == ("texts/a.txt", None, "copy.txt is in the store as 'texts/a.txt'")


def test_a_file_with_the_name_of_a_document(store: Store, tmp_path: Path) -> None:
    """
    A file here wins over a document of the same name in another folder.
    """
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "a.txt").write_text("some words that no document of the store has", encoding="utf-8")
    assert in_folder(store, tmp_path).references.resolve("a.txt").id == "texts/a.txt"
    here = in_folder(store, tmp_path / "here").references.resolve("a.txt")
    assert (here.id, here.text) == (None, "some words that no document of the store has")


def test_a_changed_file(store: Store, tmp_path: Path) -> None:
    """
    The text in the store counts, and a note says that the file has another one.
    """
    store.engine.file_base(lambda: tmp_path)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.txt").write_text("other words", encoding="utf-8")
    meant = in_folder(store, tmp_path).references.resolve("./texts/a.txt")
    assert meant.id == "texts/a.txt"
    assert "has changed since it was indexed" in (meant.note or "")


def test_a_changed_file_that_is_preferred(store: Store, tmp_path: Path) -> None:
    """
    With `prefers_file`, the text of a changed file counts; a file with the text of its document is this document.
    """
    store.engine.file_base(lambda: tmp_path)
    (tmp_path / "texts").mkdir()
    file = tmp_path / "texts/a.txt"
    file.write_text(FIRST, encoding="utf-8")
    references = in_folder(store, tmp_path).references
    for reference in ("texts/a.txt", "./texts/a.txt"):
        unchanged = references.resolve(reference, prefers_file=True)
        assert (unchanged.id, unchanged.text) == ("texts/a.txt", None)
        assert "changed" not in (unchanged.note or "")
    file.write_text("other words", encoding="utf-8")
    for reference in ("texts/a.txt", "./texts/a.txt"):
        changed = references.resolve(reference, prefers_file=True)
        assert (changed.id, changed.text) == ("texts/a.txt", "other words")
        assert (changed.note or "").endswith("has changed since it was indexed; the file itself counts")
    file.unlink()
    assert references.resolve("texts/a.txt", prefers_file=True).text is None


def test_a_store_without_a_base(store: Store, tmp_path: Path) -> None:
    """
    Where a store has no base, the end of a path is the id, unless the file there has another text.
    """
    (tmp_path / "deep/texts").mkdir(parents=True)
    (tmp_path / "deep/texts/a.txt").write_text(FIRST, encoding="utf-8")
    (tmp_path / "deep/texts/b.txt").write_text("another file of this path", encoding="utf-8")
    references = in_folder(store, tmp_path / "deep/texts").references
    assert references.ids(["a.txt", str(tmp_path / "deep/texts/b.txt")]) == {"a.txt": "texts/a.txt"}
    assert references.base_for("a.txt") == tmp_path / "deep"
    assert references.base_for("elsewhere") == tmp_path / "deep"


def test_the_base_moves_with_the_store(tmp_path: Path) -> None:
    """
    A store inside its base folder finds it after both were moved; a store outside remembers the folder's path.
    """
    project = tmp_path / "project"
    for place in (project / "store", tmp_path / "store"):
        with open_store(place) as opened:
            assert opened.engine.file_base() is None
            assert opened.engine.file_base(lambda: project) == project
    project.rename(tmp_path / "moved")
    with open_store(tmp_path / "moved/store") as opened:
        assert opened.engine.file_base() == tmp_path / "moved"
    with open_store(tmp_path / "store") as opened:
        assert opened.engine.file_base(lambda: tmp_path) == project


def test_deleting_takes_ids_first(store: Store) -> None:
    """
    To delete, an id comes before a DBID; paths and names work, too, and a shared name deletes nothing.
    """
    assert store.delete(["7"]) == 1
    assert store.documents(["7", "x"]).keys() == {"x"}
    assert store.delete(["b.txt", "nosuch", "*"]) == 0
    assert store.delete(["./texts/a.txt", "a.txt"]) == 1
    assert store.count() == 3


def test_ids_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The id of a file is the path from the base folder, the whole path for a file outside of it, and without a base
    folder the shortest path.
    """
    (tmp_path / "a/b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a")
    assert file_id("b/c.txt", tmp_path) == file_id("../a/b/c.txt", tmp_path) == "a/b/c.txt"
    assert file_id("../c.txt", tmp_path / "a") == f"{tmp_path}/c.txt"
    assert file_id("b/c.txt", Path(os.sep)) == f"{tmp_path}/a/b/c.txt"
    assert file_id("./b/../c.txt", None) == "c.txt"


@pytest.mark.parametrize(("passages", "searched_texts"), [(PassageScheme(), 2), (None, 3)])
def test_the_beginning_of_a_text_saves_a_search(
    tmp_path: Path, passages: PassageScheme | None, searched_texts: int
) -> None:
    """
    A text is only searched for if a document begins with the same words; without passages, every text is.
    """
    text = " ".join(f"word{number}" for number in range(200))
    texts = [text, f"{text} and more", " ".join(reversed(text.split()))]
    searched = list[str]()
    with Store(EmbeddedEngine(tmp_path / "store", passages=passages)) as store:
        store.index([Document("a", text)])

        def same(given: str) -> list[str]:
            searched.append(given)
            return [similar.hit.id for similar in store.similar(source=given, threshold=100).found]

        references = References(store.engine, store._bound, same)
        assert [*map(references.documents_with, texts)] == [["a"], [], []]
    assert searched == texts[:searched_texts]
