"""Reading of files and folders: encodings, names, links, permissions, devices and limits."""

from __future__ import annotations

import errno
import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from email.message import EmailMessage
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.limited import whorl
from whorl import Document, DuplicatesOptions, open_store, parse_pair_options
from whorl.cli.render.terminal import problem_lines
from whorl.duplicates.run import duplicates_among
from whorl.errors import ParameterError
from whorl.ingest.files import FoundFile, Problem, Problems, documents_in, files_under, find_files
from whorl.ingest.rows.row_format import RowColumns

posix = pytest.mark.skipif(os.name != "posix", reason="needs what POSIX file systems have")


def read(*paths: Path) -> tuple[list[Document], list[Problem]]:
    """Read all files under the paths; return the documents and the problems."""
    problems: list[Problem] = []
    files = files_under(paths, problems.append)
    return [document for file in files for document in documents_in(file, problems.append)], problems


def lines(folder: Path, *content: bytes) -> tuple[list[Document], list[Problem]]:
    """Read a file of JSON lines; return the documents and the problems."""
    file = folder / "many.jsonl"
    file.write_bytes(b"\n".join(content))
    return read(file)


def names(documents: Sequence[Document]) -> list[str]:
    return [document.name for document in documents]


def reasons(problems: Sequence[Problem], under: Path) -> dict[str, str]:
    return {os.path.relpath(problem.where, under): problem.reason for problem in problems}


def test_a_file_is_a_document_under_its_path(tmp_path: Path) -> None:
    """
    The id is the given path, the name is that of the file.
    """
    (tmp_path / "a.txt").write_text("one two", encoding="utf-8")
    documents, problems = read(tmp_path / "a.txt")
    assert [(document.id, document.name, document.text) for document in documents] == [
        ((tmp_path / "a.txt").as_posix(), "a.txt", "one two")
    ]
    assert problems == []


def test_stores_are_not_read(tmp_path: Path) -> None:
    """
    A whorl store inside a folder is not read as documents, nor is the state of a search for duplicates.
    """
    (tmp_path / "a.txt").write_text("a text")
    state = DuplicatesOptions(parse_pair_options("jaccard", 80, 95), state=tmp_path / "seen")
    with duplicates_among([Document("x", "another text")], state):
        pass
    with open_store(tmp_path / "s.whorl") as store:
        store.index([Document("x", "another text")])
    problems: list[Problem] = []
    assert list(files_under([tmp_path], problems.append)) == [tmp_path / "a.txt"]
    assert problems == []


@pytest.mark.process
def test_folders_are_read_in_the_order_of_names_without_hidden_ones(tmp_path: Path) -> None:
    """
    Sub-folders are sorted among the files; hidden ones are skipped, unless they are named explicitly, and so are Word's
    locks of open files.
    """
    for name in ("b/2.txt", "b/1.md", "a.txt", "c.html", ".git/x.txt", "b/.hidden.txt", "b/~$open.docx"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("text", encoding="utf-8")
    assert names(read(tmp_path)[0]) == ["a.txt", "1.md", "2.txt", "c.html"]
    assert names(read(tmp_path / ".git")[0]) == ["x.txt"]


@pytest.mark.process
def test_empty_files_and_folders(tmp_path: Path) -> None:
    """
    An empty file is a document without text; an empty folder or an empty JSON lines file yields no documents.
    """
    (tmp_path / "folder").mkdir()
    for name in ("empty.txt", "empty.html", "empty.jsonl"):
        (tmp_path / name).touch()
    documents, problems = read(tmp_path)
    assert [(document.name, document.text) for document in documents] == [("empty.html", ""), ("empty.txt", "")]
    assert problems == []


@pytest.mark.process
def test_html_is_what_a_reader_sees(tmp_path: Path) -> None:
    """
    Tags, scripts, styles and comments are not text; entities are decoded; blocks are separated.
    """
    (tmp_path / "page.HTM").write_text(
        "<!doctype html><title>Page</title><style>p{}</style><script>var x</script><!-- no -->"
        "<p>one&nbsp;&amp; two<p>three<template><script>y</script></template><noscript>z</noscript>",
        encoding="utf-8",
    )
    assert read(tmp_path)[0][0].text.split() == ["Page", "one", "&", "two", "three"]


@pytest.mark.process
def test_html_that_the_parser_gives_up_on_is_a_problem(tmp_path: Path) -> None:
    """
    A character reference of 5,000 digits is a problem, and the next file is read.
    """
    (tmp_path / "a.html").write_text(f"&#{'9' * 5000};", encoding="utf-8")
    (tmp_path / "b.html").write_text("fine", encoding="utf-8")
    documents, problems = read(tmp_path)
    assert names(documents) == ["b.html"]
    assert reasons(problems, tmp_path)["a.html"].startswith("this HTML cannot be read")


def test_json_lines(tmp_path: Path) -> None:
    """
    Each line is a document: keys other than id, text and name are properties, nulls are dropped, and numbers can be
    ids.
    """
    documents, problems = lines(
        tmp_path,
        b'\xef\xbb\xbf{"id": "a", "text": "one", "name": "A", "year": 2020, "tags": ["x", 1, true], "gone": null}\r',
        b"",
        b'{"id": 7, "text": "two", "name": null}',
    )
    assert documents == [
        Document("a", "one", "A", {"year": 2020, "tags": ["x", 1, True]}),
        Document("7", "two"),
    ]
    assert problems == []


def test_a_bad_line_is_reported_with_its_file_and_number(tmp_path: Path) -> None:
    """
    A bad line is a problem with file and line number; the lines before and after it are documents.
    """
    documents, problems = lines(tmp_path, b'{"id": "before", "text": "t"}', b"", b"no", b'{"id": "after", "text": "t"}')
    assert [document.id for document in documents] == ["before", "after"]
    assert reasons(problems, tmp_path) == {"many.jsonl, line 3": "this is not JSON: Expecting value, at character 1"}


def test_json_lines_in_utf_16_are_one_problem(tmp_path: Path) -> None:
    """
    A UTF-16 file is one problem, not one for each of a million lines.
    """
    (tmp_path / "a.jsonl").write_text('{"id": "a", "text": "t"}\n' * 50, encoding="utf-16")
    documents, problems = read(tmp_path)
    assert documents == []
    assert reasons(problems, tmp_path) == {"a.jsonl": "JSON lines are UTF-8, and this is utf-16"}


@posix
def test_a_missing_path(tmp_path: Path) -> None:
    """
    Missing paths, too long paths, and paths below a file are problems.
    """
    (tmp_path / "file").touch()
    documents, problems = read(tmp_path / "gone", tmp_path / ("a" * 5000), tmp_path / "file" / "below")
    assert documents == []
    assert [problem.reason for problem in problems] == [
        "there is no such file or folder",
        os.strerror(errno.ENAMETOOLONG),
        os.strerror(errno.ENOTDIR),
    ]


@pytest.mark.process
@posix
def test_files_without_permission_are_problems(tmp_path: Path) -> None:
    """
    Files and folders without permission are problems, and the rest is read. The test runs a child process, which drops
    its rights.
    """
    (tmp_path / "fine.txt").write_text("fine", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "below.txt").touch()
    program = (
        "import os, sys; from pathlib import Path\n"
        "from whorl.ingest.files import documents_in, files_under\n"
        # Read one file first, so that all modules are imported before the process drops its rights.
        "list(documents_in(Path('fine.txt'), print))\n"
        "os.geteuid() or os.setuid(65534)\n"
        "say = lambda problem: print(problem.where, '|', problem.reason)\n"
        "paths = [Path(), Path('closed/below.txt')]\n"
        "for file in files_under(paths, say):\n"
        "    print(*[each.id for each in documents_in(file, say)])"
    )
    tmp_path.chmod(0o755)
    (tmp_path / "secret.txt").chmod(0)
    (tmp_path / "closed").chmod(0)
    try:
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    finally:
        (tmp_path / "closed").chmod(0o755)
    assert done.stderr == ""
    assert set(filter(None, done.stdout.splitlines())) == {
        "fine.txt",
        "secret.txt | Permission denied",
        "closed | Permission denied",
        "closed/below.txt | Permission denied",
    }


@posix
def test_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    """
    A folder is read once, under the first path that leads to it; a link to itself or to a missing file is a problem.
    """
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "text.txt").write_text("text", encoding="utf-8")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "b" / "self").symlink_to("self")
    (tmp_path / "a" / "b" / "nowhere").symlink_to("gone")
    (tmp_path / "file").symlink_to("a/b/text.txt")
    (tmp_path / "folder").symlink_to("a")
    documents, problems = read(tmp_path)
    assert names(documents) == ["text.txt", "file"]
    assert reasons(problems, tmp_path) == {
        "a/b/nowhere": "this link leads nowhere",
        "a/b/self": os.strerror(errno.ELOOP),
    }


@posix
def test_links_between_folders_are_not_multiplied(tmp_path: Path) -> None:
    """
    Thirty folders that each link twice to the next have a thousand million paths and thirty texts.
    """
    for number in range(30):
        folder = tmp_path / f"n{number}"
        folder.mkdir()
        (folder / f"{number}.txt").touch()
        for link in ("one", "two"):
            (folder / link).symlink_to(f"../n{(number + 1) % 30}")
    documents, problems = read(tmp_path / "n0")
    assert len(documents) == 30
    assert problems == []


@posix
def test_pipes_and_devices_are_problems(tmp_path: Path) -> None:
    """
    Pipes and devices are problems and are not read, since reading could block forever or never end.
    """
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "text.txt").touch()
    documents, problems = read(tmp_path, Path("/dev/zero"))
    assert names(documents) == ["text.txt"]
    assert {problem.reason for problem in problems} == {"this is neither a file nor a folder"}
    assert [Path(problem.where).name for problem in problems] == ["pipe", "pipe.jsonl", "zero", "zero"]


@posix
def test_folders_deeper_than_the_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    1,200 nested folders are read.
    """
    monkeypatch.chdir(tmp_path)
    for _ in range(1200):
        Path("d").mkdir()
        os.chdir("d")
    bottom = Path.cwd()
    Path("bottom.jsonl").write_text('{"id": "a", "text": "t"}', encoding="utf-8")
    try:
        assert [document.id for document in read(tmp_path)[0]] == ["a"]
    finally:
        # Remove the folders one by one: pytest would remove them with shutil, which is recursive.
        os.chdir(bottom)
        Path("bottom.jsonl").unlink()
        for _ in range(1200):
            os.chdir("..")
            Path("d").rmdir()


@posix
@pytest.mark.parametrize("name", [b"new\nline", b"escape\x1b[31m", b"not-utf-8-\xff", b"bell\x07"])
def test_invalid_ids_from_names_are_problems(tmp_path: Path, name: bytes) -> None:
    """
    A path with control characters or invalid UTF-8 cannot be an id and is a problem; JSON lines in that file have their
    own ids.
    """
    plain = os.fsdecode(os.path.join(os.fsencode(tmp_path), name))
    try:
        Path(plain).write_text("text", encoding="utf-8")
    except OSError:
        pytest.skip("this file system refuses the name itself")
    Path(f"{plain}.jsonl").write_text('{"id": "a", "text": "t"}', encoding="utf-8")
    documents, problems = read(tmp_path)
    assert [document.id for document in documents] == ["a"]
    assert [problem.where for problem in problems] == [plain]
    assert ("not UTF-8" if b"\xff" in name else "control characters") in problems[0].reason


def test_names_that_only_look_dangerous_are_ids(tmp_path: Path) -> None:
    """
    Blanks, quotes, markup, local parameters, underscores and other scripts are valid in ids.
    """
    given = {"a b.txt", "it's.txt", "[bold]x.txt", "{!lucene}x.txt", "a_70.txt", "Ünïcode-日本.txt", "-.txt", "a:b.txt"}
    for name in given:
        (tmp_path / name).touch()
    documents, problems = read(tmp_path)
    assert set(names(documents)) == given
    assert {document.id for document in documents} == {(tmp_path / name).as_posix() for name in given}
    assert problems == []


@posix
@pytest.mark.process
@pytest.mark.parametrize(
    "command", [["compare", "/dev/zero", "a.txt"], ["fingerprint", "/dev/zero"], ["compare", "-", "a.txt"]]
)
def test_a_text_without_end(tmp_path: Path, command: list[str]) -> None:
    """
    A device or standard input is read only up to the maximum size of a file.
    """
    (tmp_path / "a.txt").write_text("one two three four five six", encoding="utf-8")
    with Path("/dev/zero").open("rb") as endless:
        done = whorl(2_000_000_000, *command, folder=tmp_path, stdin=endless, env={"WHORL_MAX_FILE_BYTES": "1000000"})
    assert done.returncode == 2, done.stderr
    assert "those of up to 1,000,000 are read (setting max_file_bytes)" in done.stderr


def test_problems_of_many_rows_are_counted_but_not_kept() -> None:
    """
    Of 100,000 broken rows the first 10,000 are kept; whole files are always kept, and all counts are exact.
    """
    part = Problems(Problem(f"a.csv, line {at}", "broken") for at in range(100_000))
    part.append(Problem("b", "this id came before", 0))
    part.append(Problem("a.csv", "too large", None))
    total = Problems([Problem("c.csv, line 1", "broken")])
    total.extend(part)
    assert (len(total), total.lost, total.whole_files) == (100_003, 100_002, 1)
    retained = list(total)
    assert (len(retained), retained[0].where, retained[-1].where) == (10_001, "c.csv, line 1", "a.csv")
    assert problem_lines(total, "were not read")[::10_002] == ["100,003 were not read:", "  … and 90,002 more"]


LINE = b'{"id": "a", "text": "one"}\n'


def places_of(*words: str) -> tuple[list[FoundFile], list[Problem]]:
    problems: list[Problem] = []
    return list(find_files(words, problems.append)), problems


def inside(*words: str) -> list[str]:
    there, problems = places_of(*words)
    assert problems == []
    return [str(file.relative_path) for file in there]


NAMES = (
    "a.js",
    "a.min.js",
    "x/a.min.js",
    "x/build/b.txt",
    "build",
    "x/y/c.txt",
    "node_modules/d.js",
    "x/node_modules/e.js",
)


@pytest.mark.process
@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        # A pattern without a slash matches a name at any depth; `*` stops at a slash.
        (["*.min.js"], ["a.js", "build", "node_modules/d.js", "x/build/b.txt", "x/node_modules/e.js", "x/y/c.txt"]),
        (["node_modules", "*.js"], ["build", "x/build/b.txt", "x/y/c.txt"]),
        (["build/", "*.js"], ["build", "x/y/c.txt"]),
        # A slash makes it relative to the named folder.
        (["/node_modules", "*.min.js"], ["a.js", "build", "x/build/b.txt", "x/node_modules/e.js", "x/y/c.txt"]),
        (["x/*.js", "x/c.txt", "**/build", "node_modules"], ["a.js", "a.min.js", "x/y/c.txt"]),
        (["x/**/c.txt", "x/**/*.js", "[a-b]*"], ["node_modules/d.js"]),
    ],
)
def test_excluded_files(tmp_path: Path, patterns: list[str], left: list[str]) -> None:
    """
    Patterns leave out files and whole folders as git's do, in folders and patterns.
    """
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    for word in (str(tmp_path), f"{tmp_path}/**"):
        found = find_files([word], list[Problem]().append, exclude=patterns)
        assert sorted({str(file.relative_path) for file in found}) == left
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("\n".join(patterns))
    listed = subprocess.run(
        ["git", "-C", str(tmp_path), "ls-files", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert sorted({*listed.stdout.split()} - {".gitignore"}) == left


def test_problems_in_an_excluded_folder(tmp_path: Path) -> None:
    """
    Nothing in an excluded folder is read or reported, and a named file can be excluded too.
    """
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp/link").symlink_to("nowhere")
    (tmp_path / "a.txt").write_text("text")
    problems: list[Problem] = []
    words = [str(tmp_path), str(tmp_path / "a.txt")]
    assert list(find_files(words, problems.append, exclude=["tmp", "a.txt"])) == []
    assert problems == []


@pytest.mark.parametrize("pattern", ["", "/", "!a.txt"])
def test_invalid_exclusion(pattern: str) -> None:
    """
    An empty pattern is an error, and so is an exception (`!`).
    """
    with pytest.raises(ParameterError, match="--exclude"):
        list(find_files(["."], list[Problem]().append, exclude=[pattern]))


def documents(*words: str) -> list[Document]:
    problems: list[Problem] = []
    read = [
        document
        for found in find_files(words, problems.append)
        for document in documents_in(found.file, problems.append)
    ]
    assert problems == []
    return read


def test_files_folders_and_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Each file has its path below the named folder; a file whose name looks like a pattern is a file.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("data/a/1.jsonl", "data/b/1.jsonl", "data/b/2.txt", "data/.hidden/3.jsonl", "data/[x].jsonl"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(LINE)
    assert inside("data") == ["[x].jsonl", "a/1.jsonl", "b/1.jsonl", "b/2.txt"]
    assert inside("data/b/2.txt", "data/[x].jsonl") == ["2.txt", "[x].jsonl"]
    assert inside("data/**/*.jsonl") == ["[x].jsonl", "a/1.jsonl", "b/1.jsonl"]
    assert inside("data/?/1.jsonl") == ["a/1.jsonl", "b/1.jsonl"]
    assert [found.size for found in places_of("data/b")[0]] == [len(LINE)] * 2
    assert places_of("*.none")[1][0].documents is None
    first, second = (
        places_of(word)[0][0].identity for word in ("data/a/1.jsonl", str(tmp_path / "data/a/../a/1.jsonl"))
    )
    assert first == second


@pytest.mark.process
def test_folders_of_other_programs(tmp_path: Path) -> None:
    """
    Files that Spark and Hugging Face's library write next to their data are skipped.
    """
    for name in ("_SUCCESS", "part-0.jsonl", "_metadata", "ds/dataset_dict.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(LINE if "part" in name else b"")
    train = tmp_path / "ds" / "train"
    train.mkdir()
    table = pa.table({"text": ["one", "two"], "label": [0, 1]})
    for name in ("data-00000-of-00001.arrow", "cache-1f.arrow"):
        with (train / name).open("wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    for name in ("state.json", "dataset_info.json"):
        (train / name).write_text(json.dumps({"_data_files": [], "_fingerprint": "x"}))
    assert inside(str(tmp_path)) == ["ds/train/data-00000-of-00001.arrow", "part-0.jsonl"]
    assert [(document.id, document.text) for document in documents(str(tmp_path / "ds"))] == [
        (f"{train}/data-00000-of-00001.arrow:{at}", text) for at, text in ((1, "one"), (2, "two"))
    ]


@pytest.mark.process
def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Standard input can have any format, and can be read several times.
    """
    out = io.BytesIO()
    pq.write_table(pa.table({"text": ["one", "two"]}), out)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(out.getvalue())))
    (found,), _ = places_of("-")
    for _ in range(2):
        assert [document.id for document in documents_in(found.file, lambda problem: None)] == ["-:1", "-:2"]
    assert found.size == len(out.getvalue())
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ParameterError, match="closed"):
        documents("-")


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.mark.process
def test_find_remote_files(memory: fsspec.AbstractFileSystem, tmp_path: Path) -> None:
    """
    Files, folders and patterns on any fsspec file system are read; their ids are their addresses.
    """
    memory.pipe("/bucket/a/1.jsonl", LINE.replace(b'"id": "a", ', b""))
    memory.pipe("/bucket/b/2.txt", b"two")
    memory.pipe("/bucket/.hidden/3.txt", b"no")
    memory.pipe("/bucket/_SUCCESS", b"")
    out = io.BytesIO()
    pq.write_table(pa.table({"text": ["three"]}), out)
    memory.pipe("/bucket/b/3.parquet", out.getvalue())
    assert [(document.id, document.text) for document in documents("memory://bucket")] == [
        ("memory:///bucket/a/1.jsonl:1", "one"),
        ("memory:///bucket/b/2.txt", "two"),
        ("memory:///bucket/b/3.parquet:1", "three"),
    ]
    assert inside("memory://bucket") == ["a/1.jsonl", "b/2.txt", "b/3.parquet"]
    assert inside("MEMORY://bucket") == inside("memory://bucket")
    assert inside("memory://bucket/*/*.txt", "memory://bucket/a/1.jsonl") == ["b/2.txt", "1.jsonl"]
    assert places_of("memory://bucket/gone")[1] == [
        Problem("memory://bucket/gone", "there is no such file or folder", None)
    ]
    (tmp_path / "4.txt").write_text("four")
    assert [document.text for document in documents(f"file://{tmp_path}")] == ["four"]
    assert [found.size for found in places_of("memory://bucket/b/2.txt")[0]] == [3]


@pytest.mark.parametrize("address", ["nothing://x/y", "s3://bucket/x"])
def test_places_that_cannot_be_reached(address: str) -> None:
    """
    The error is one sentence with the reason.
    """
    if address.startswith("s3") and fsspec.utils.get_protocol(address) and _has("s3fs"):
        pytest.skip("s3fs is installed here")
    with pytest.raises(ParameterError, match="cannot be reached"):
        places_of(address)


def _has(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def test_a_page_of_the_web_is_a_file() -> None:
    """
    A web page is a file, although its links could be taken for the contents of a folder.
    """

    class Web(fsspec.AbstractFileSystem):  # type: ignore[misc]
        protocol = "web"

        def isfile(self, path: str) -> bool:
            return True

        def info(self, path: str, **_: object) -> dict[str, object]:
            return {"name": path, "size": None, "type": "file"}

        def find(self, path: str, **_: object) -> dict[str, object]:
            raise AssertionError

        def _open(self, path: str, *_: object, **__: object) -> io.BytesIO:
            return io.BytesIO(LINE)

    fsspec.register_implementation("web", Web, clobber=True)
    assert [(document.id, document.text) for document in documents("web://host/a.jsonl")] == [("a", "one")]


def test_a_missing_remote_file(memory: fsspec.AbstractFileSystem) -> None:
    """
    A file deleted between listing and reading is a problem.
    """
    memory.pipe("/a.jsonl", LINE)
    (found,), _ = places_of("memory://a.jsonl")
    memory.rm("/a.jsonl")
    problems: list[Problem] = []
    assert list(documents_in(found.file, problems.append, RowColumns())) == []
    assert "a.jsonl" in problems[0].where


@pytest.mark.skipif(os.name != "posix", reason="needs what POSIX file systems have")
def test_links_that_lead_out(tmp_path: Path) -> None:
    """
    Links out of the folder are followed on request or if named explicitly; otherwise they are problems.
    """
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    for name in ("inner/own/1.txt", "outer/2.txt", "outer/below/3.txt", "inner-too/4.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (inner / "inside.txt").symlink_to("own/1.txt")
    (inner / "file.txt").symlink_to(outer / "2.txt")
    (inner / "folder").symlink_to(outer)
    (inner / "beside.txt").symlink_to("../inner-too/4.txt")
    (inner / "over.txt").symlink_to("folder/below/3.txt")
    (inner / "zero").symlink_to("/dev/zero")
    message = "this link leads out of the folder; --follow-links follows it"
    for word in (str(inner), f"{inner}/*", f"file://{inner}", f"{inner}/**/*.txt"):
        there, problems = places_of(word)
        names = {str(file.relative_path) for file in there}
        assert names == {"inside.txt", "own/1.txt"}
        outside = {Path(problem.where).relative_to(inner).parts[0] for problem in problems if problem.reason == message}
        assert outside >= {"file.txt", "folder", "beside.txt", "over.txt"} - ({"folder"} if "**" in word else set())
        assert {problem.documents for problem in problems if problem.reason == message} == {0}
    problems = []
    followed = {str(found.relative_path) for found in find_files([str(inner)], problems.append, follow_links=True)}
    assert followed == {
        *("inside.txt", "own/1.txt", "file.txt", "folder/2.txt", "folder/below/3.txt", "beside.txt", "over.txt")
    }
    assert [problem.reason for problem in problems] == ["this is neither a file nor a folder"]
    assert [str(found.relative_path) for found in places_of(str(inner / "folder"))[0]] == ["2.txt", "below/3.txt"]
    assert [str(found.relative_path) for found in places_of(str(inner / "file.txt"))[0]] == ["file.txt"]


@pytest.mark.skipif(os.name != "posix", reason="needs what POSIX file systems have")
def test_devices_pipes_and_sockets_behind_links(tmp_path: Path) -> None:
    """
    Links to devices, pipes and sockets are not followed, since reading could block forever.
    """
    (tmp_path / "links").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for name, target in {"pipe": "../pipe", "socket": "../socket", "zero": "/dev/zero", "tty": "/dev/tty"}.items():
            (tmp_path / "links" / name).symlink_to(target)
        for word in (str(tmp_path / "links"), f"{tmp_path}/links/*", f"file://{tmp_path}/links"):
            for follow_links in (False, True):
                problems: list[Problem] = []
                assert list(find_files([word], problems.append, follow_links=follow_links)) == []
                assert len(problems) == 4


def test_a_repeated_problem_beyond_the_limit_is_counted() -> None:
    """
    A repeated problem that comes after the last stored one is counted, and changes no other problem.
    """
    rows = [Problem(f"a.csv, line {at}", "broken") for at in range(10_000)]
    problems = Problems([*rows, *[Problem("column tags", "nested", is_repeatable=True)] * 3])
    assert (len(problems), problems.lost, list(problems)) == (10_003, 10_003, rows)
    problems.append(Problem("b.csv", "unreadable", None))
    problems.append(Problem("column tags", "nested", is_repeatable=True))
    assert list(problems) == [*rows, Problem("b.csv", "unreadable", None)]


@pytest.mark.process
def test_a_mail_with_a_part_that_cannot_be_decoded(tmp_path: Path) -> None:
    """
    The document has the other texts of the mail, and a problem that loses no document names the part.
    """
    mail = EmailMessage()
    mail["Subject"] = "S"
    mail.make_mixed()
    for part in (b"plain", bytes(range(256)) * 9):
        mail.add_attachment(part, "text", "plain", disposition="inline")
    (tmp_path / "a.eml").write_bytes(bytes(mail))
    [document], [problem] = read(tmp_path / "a.eml")
    assert document.text.split() == ["S", "plain"]
    assert (problem.where, problem.documents) == (str(tmp_path / "a.eml"), 0)
    assert problem.reason.startswith("a part of this e-mail (text/plain) was left out: this is not text")
