"""The benchmark of a million documents: its documents, their true pairs, and its results."""

import gzip
import io
import json
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import descriptions
import installed
import million
import million_texts
import million_truth
from corpus import Document
from million_stores import ran


def paragraph(first, count=20):
    return " ".join(f"w{number % 40}" for number in range(first, first + count))


def test_paragraphs():
    """
    Paragraphs of at least twenty words are kept, with their number in the text.
    """
    text = f"Title\n\n{paragraph(0)}\n  \n{paragraph(1, 19)}\n\n\n  {paragraph(2, 10)}\n{paragraph(3, 10)}\n"
    paragraphs = list(million_texts.paragraphs([Document("a", "A", text)]))
    assert [document.id for document in paragraphs] == ["a#1", "a#3"]
    assert paragraphs[0].text == paragraph(0)
    assert paragraphs[1].text == f"{paragraph(2, 10)}\n{paragraph(3, 10)}"


def test_archives_within_packages_are_opened():
    """
    Files in nested archives are read; broken archives are skipped.
    """
    packed, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        member = tarfile.TarInfo("a.c")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"int"))
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("B.java", "class")
    assert list(million_texts.unpacked("p/c.tar.xz", packed.getvalue())) == [("p/c.tar.xz/a.c", b"int")]
    assert list(million_texts.unpacked("src.zip", zipped.getvalue())) == [("src.zip/B.java", b"class")]
    assert list(million_texts.unpacked("main.go", b"package")) == [("main.go", b"package")]
    for broken in ("a.zip", "a.tar.xz"):
        assert list(million_texts.unpacked(broken, b"nothing of the kind")) == []


def test_texts_of_original_archives(tmp_path):
    """
    Only texts of original archives are read: no signatures, no binary files, no files with undecodable names.
    """
    folder = tmp_path / "program"
    folder.mkdir()
    for part in ("", "-docs"):
        with tarfile.open(folder / f"program_1.orig{part}.tar.gz", "w:gz") as archive:
            for name, content in ((f"a{part}.c", b"int"), ("b.bin", b"\xff"), ("\udcff.c", b"x"), ("c", b"\0")):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    (folder / "program_1.orig.tar.gz.asc").write_text("signed")
    (folder / "program_1-2.debian.tar.xz").write_text("changes of the packagers")
    assert [(document.id, document.text) for document in million_texts.source_documents([folder])] == [
        ("code:program/program_1.orig-docs.tar.gz/a-docs.c", "int"),
        ("code:program/program_1.orig.tar.gz/a.c", "int"),
    ]


def test_descriptions_are_titles_and_bodies():
    """
    Each package with a description becomes a document, without the line marks of the package index.
    """
    index = "Package: a\nDescription-md5: 0\nDescription-en: One\n Two\n .\n  - three\n\nPackage: b\n\n"
    assert list(descriptions.descriptions(index)) == [Document("a", "One", "One\nTwo\n\n - three")]


@settings(max_examples=10)
@given(st.sets(st.text(min_size=1, max_size=5), max_size=40))
def test_order_depends_on_ids_only(tmp_path_factory, ids):
    """
    The order has every document once, and a smaller set keeps it.
    """
    documents = [Document(id_, "", f"text of {id_}") for id_ in ids]
    lines = list(million_texts.mixed(documents, tmp_path_factory.mktemp("a")))
    assert sorted(json.loads(line)["id"] for line in lines) == sorted(ids)
    fewer = list(million_texts.mixed(documents[::-2], tmp_path_factory.mktemp("b")))
    assert fewer == [line for line in lines if line in set(fewer)]


def test_true_pairs(tmp_path, monkeypatch):
    """
    The truth has exactly the pairs at or above the threshold among the first documents, and is saved for the next run.
    """
    texts = [paragraph(at % 17, 12 + at % 9) for at in range(60)]
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps({"id": f"d{at}", "text": text}) + "\n" for at, text in enumerate(texts)))
    monkeypatch.setattr(million_truth, "FIRST", 30)
    monkeypatch.setattr(million_truth, "SOURCES", 10)
    monkeypatch.setattr(million_truth, "AT_ONCE", 7)
    truth = million_truth.truth_of(path, tmp_path / "truth.npz")
    monkeypatch.setattr(million_truth, "_counted", None)
    assert million_truth.truth_of(path, tmp_path / "truth.npz").ids == truth.ids
    sets = [{tuple(words[at : at + 5]) for at in range(len(words) - 4)} for words in (text.split() for text in texts)]
    assert truth.sizes.tolist() == [len(members) for members in sets]
    assert truth.text_bytes.tolist() == [len(text) for text in texts]
    pair_count = 0
    for number, place in enumerate(truth.sources.tolist()):
        own = sets[place]
        for documents in (30, 60):
            for percent in (50, 80):
                for metric in ("jaccard", "a_in_b"):
                    right = {
                        f"d{at}"
                        for at, other in enumerate(sets[:documents])
                        if at != place
                        and 100 * len(own & other) >= percent * len(own if metric == "a_in_b" else own | other)
                    }
                    assert truth.right(number, metric, percent, documents) == right
                    pair_count += len(right)
    assert pair_count > 100


def test_results_are_kept_step_by_step(tmp_path, capsys):
    """
    The next run skips completed steps, and the report shows how figures grow.
    """
    path = tmp_path / "million.csv"
    figures = million.Figures(path)
    for size in (1_000, 10_000):
        figures.add("embedded", size, [("indexing: documents", size / 10, "a second"), ("bytes: all", 5.0, "%")])
    again = million.Figures(path)
    assert again.rows == figures.rows
    assert again.has("embedded", 1_000, "bytes")
    assert not again.has("embedded", 1_000, "similar")
    assert not again.has("solr", 1_000, "bytes")
    lines = list(million.report(again))
    assert "| indexing: documents, a second | 100 | 1e+03 | 1.00 |" in lines
    assert "| bytes: all, % | 5 | 5 | 0.00 |" in lines


@pytest.mark.process
def test_time_and_memory_of_a_process():
    """
    The processor time and memory of a process are measured; a failed process ends the benchmark with its message.
    """
    took = ran(
        [sys.executable, "-c", "import time\nb = b'x' * 50_000_000\ntime.sleep(0.3)\nfor _ in range(10**6): pass"]
    )
    assert took.peak >= took.anonymous > 50
    assert 0 < took.cpu <= took.wall + 1
    with pytest.raises(SystemExit, match="out of order"):
        ran([sys.executable, "-c", "raise SystemExit('out of order')"])


def test_installed_files_are_texts_of_whole_folders(tmp_path):
    """
    Compressed files are read. Links, short files and files that are not text are left out. A folder's files are all
    taken or none.
    """
    texts = {"a/one.py": "x = 1\n" * 300, "a/two.gz": "y = 2\n" * 300, "b/three.md": "z = 3\n" * 300}
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    (tmp_path / "a" / "short.py").write_text("x = 1\n")
    (tmp_path / "a" / "raw").write_bytes(b"\xff" * 2_000)
    (tmp_path / "a" / "broken.gz").write_bytes(b"\x1f\x8b" + b"x" * 2_000)
    (tmp_path / "a" / "link.py").symlink_to(tmp_path / "a" / "one.py")
    actual = {
        Path(document.id).relative_to(tmp_path).as_posix(): document.text
        for document in installed.documents([tmp_path], 10**6)
    }
    assert actual == texts
    names = {Path(document.id).parent.name for document in installed.documents([tmp_path], 1)}
    counts = {"a": 2, "b": 1}
    assert [counts[name] for name in names] == [len(list(installed.documents([tmp_path], 1)))]
