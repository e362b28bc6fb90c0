"""Remote files: failing servers, secrets in addresses, and unusable file systems of fsspec."""

from __future__ import annotations

import socket
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fsspec
import pytest
from click.testing import CliRunner

from whorl.cli.main import main
from whorl.errors import ParameterError
from whorl.ingest.files import Problem, documents_in, find_files
from whorl.ingest.remote import RemoteFile

LINE = b'{"id": "a", "text": "one"}\n'


class Handler(BaseHTTPRequestHandler):
    """Serves a text whole, in ranges, cut or not at all, depending on the first part of the path."""

    protocol_version = "HTTP/1.1"
    content = LINE.replace(b'"id": "a", ', b"") * 3

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        kind = self.path.split("/")[1]
        if kind.isdigit() or (kind == "late500" and self.command == "GET"):
            self.send_response(int(kind.removeprefix("late")), "No")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if kind == "page":
            self.content = b"<p>visible <b>text</b><script>hidden</script>"
        begin, end = 0, len(self.content)
        byte_range = self.headers.get("Range", "").removeprefix("bytes=").split("-")
        if kind == "parts" and len(byte_range) == 2:
            begin, end = int(byte_range[0]), min(end, int(byte_range[1]) + 1)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(self.content)}")
        else:
            self.send_response(200)
        if kind == "parts":
            self.send_header("Accept-Ranges", "bytes")
        if kind == "endless":
            # Without a length, the end of the connection is the end of the file.
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(end - begin + 10 * (kind == "cut")))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(self.content[begin:end])
        self.close_connection = True


@pytest.fixture
def server() -> Iterator[str]:
    pytest.importorskip("aiohttp", reason="what fsspec reads the web with")
    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"127.0.0.1:{serving.server_port}"
    finally:
        serving.shutdown()
        serving.server_close()
        thread.join()


def read(*words: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the ids and texts of all documents, and the problems."""
    problems: list[Problem] = []
    documents = [
        (document.id, document.text)
        for found in find_files(words, problems.append)
        for document in documents_in(found.file, problems.append)
    ]
    return documents, [str(problem) for problem in problems]


@pytest.mark.process
@pytest.mark.parametrize("kind", ["parts", "whole", "endless"])
def test_a_server_with_and_without_ranges(server: str, kind: str) -> None:
    """
    Rows are read even if the server ignores ranges or sends no length.
    """
    address = f"http://{server}/{kind}/a.jsonl"
    rows_read, problems = read(address)
    assert problems == []
    assert rows_read == [(f"{address}:{number}", "one") for number in (1, 2, 3)]


@pytest.mark.process
@pytest.mark.parametrize("kind", ["500", "403", "401", "404", "late500", "cut"])
def test_a_server_that_fails(server: str, kind: str) -> None:
    """
    A failure is one problem without the login and signature of the address; the next file is read.
    """
    address = f"http://ann:s3cr3t@{server}/{kind}/a.jsonl?X-Amz-Signature=s1gn4ture&page=1"
    fine = f"http://ann:s3cr3t@{server}/parts/b.txt?token=s1gn4ture"
    rows_read, (problem,) = read(address, fine)
    assert rows_read[-3:] == [(f"http://{server}/parts/b.txt:{number}", "one") for number in (1, 2, 3)]
    assert f"http://{server}/{kind}/a.jsonl?page=1" in problem
    assert "s3cr3t" not in problem
    assert "s1gn4ture" not in problem


@pytest.mark.process
def test_a_host_that_cannot_be_reached(server: str) -> None:
    """
    The message says that there is no connection, not that there is no file.
    """
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{unused.getsockname()[1]}"
    assert "no such file" in read(f"http://{server}/404/a.txt")[1][0]
    documents, (problem,) = read(f"http://{host}/a.txt")
    assert documents == []
    assert problem.startswith(f"http://{host}/a.txt: this address cannot be reached: Cannot connect to host")


@pytest.mark.process
@pytest.mark.parametrize("rest", ["?page=2", "#part", "?v=a.b#d"])
def test_the_format_of_an_address_with_a_query(server: str, rest: str) -> None:
    """
    The path of an address tells the format, without the query and fragment; these stay in the id and the name.
    """
    address = f"http://{server}/page/index.html{rest}"
    problems: list[Problem] = []
    (found,) = find_files([address], problems.append)
    (document,) = documents_in(found.file, problems.append)
    assert problems == []
    assert document.text.split() == ["visible", "text"]
    assert (document.id, document.name) == (address, address.rpartition("/")[2])


def test_files_of_one_name_in_two_archives(tmp_path: Path) -> None:
    """
    The address of a file in an archive names the archive, so files of two archives are two documents.
    """
    for name in ("jan", "feb"):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            archive.writestr("reports/report.txt", f"the report of {name}")
    words = [f"zip://{inside}::{tmp_path}/{name}.zip" for name, inside in (("jan", ""), ("feb", "reports/*.txt"))]
    documents, problems = read(*words)
    expected = [
        (f"zip://reports/report.txt::{tmp_path}/{name}.zip", f"the report of {name}") for name in ("jan", "feb")
    ]
    assert (documents, problems) == (expected, [])
    assert [found.file.name for found in find_files(words, list[Problem]().append)] == ["report.txt"] * 2
    assert read(*(address for address, _ in documents))[0] == documents


@pytest.mark.parametrize("word", ["webhdfs://ann:secret@host:9870/d", "webhdfs://host:9870", "webhdfs://host:9870/d/*"])
def test_the_address_of_a_file_names_its_host(word: str) -> None:
    """
    The host is part of the address, although the paths of fsspec's file system do not contain it.
    """
    system = fsspec.filesystem("webhdfs", host="host", port=9870)
    assert RemoteFile(system, "/d/a.txt", word).as_posix() == "webhdfs://host:9870/d/a.txt"


@pytest.mark.process
def test_an_address_that_is_signed_again(server: str) -> None:
    """
    A new signature does not change the id; if two addresses differ only in the signature, the second one is a problem.
    """
    address = f"http://{server}/parts/view.txt?page=1"
    first, second = (f"{address}&X-Amz-Date={at}&X-Amz-Signature={at}" for at in (1, 2))
    rows = [(f"{address}:{number}", "one") for number in (1, 2, 3)]
    assert read(first)[0] == read(second)[0] == rows
    rows_read, problems = read(first, second)
    assert rows_read == rows
    assert problems == [f"{address}: an earlier address differs from this one in login or signature only"]


@pytest.mark.process
def test_the_command_shows_no_secret(server: str, tmp_path: Path) -> None:
    """
    No secret appears in the output or in the store.
    """
    store = str(tmp_path / "store")
    addresses = [
        f"http://ann:s3cr3t@{server}/parts/a.txt?sig=s1gn4ture",
        f"http://ann:s3cr3t@{server}/404/a.txt?sig=s1gn4ture",
    ]
    results = [CliRunner().invoke(main, ["index", "--store", store, *addresses])]
    results += [CliRunner().invoke(main, ["search", "--store", store, "*"])]
    results += [CliRunner().invoke(main, ["index", "--store", store, f"nothing://ann:s3cr3t@{server}/x"])]
    results += [CliRunner().invoke(main, ["compare", addresses[0], addresses[1]])]
    results += [CliRunner().invoke(main, ["similar", "--store", store, addresses[0]])]
    assert "3 documents stored" in results[0].output
    for result in results:
        assert "s3cr3t" not in result.output
        assert "s1gn4ture" not in result.output
        assert isinstance(result.exception, SystemExit | None)
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert b"s3cr3t" not in file.read_bytes()
            assert b"s1gn4ture" not in file.read_bytes()


@pytest.mark.process
@pytest.mark.parametrize("protocol", sorted({*fsspec.available_protocols()} - {"file", "local", "ftp"}))
@pytest.mark.parametrize("location", ["", "x", "ann:s3cr3t@h/x", "x/*", "[", "{x}"])
def test_any_file_system_of_fsspec(
    protocol: str, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    An incomplete address, or an address of an unavailable file system, gives one message without the password.
    """
    if protocol in ("http", "https", "github", "gist", "sftp", "ssh", "smb", "webhdfs", "dbfs", "hdfs", "hf"):
        location = f"{location}::".replace("ann:s3cr3t", "owner:repository" if protocol == "github" else "ann:s3cr3t")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_bytes(b"no archive")
    messages: list[str] = []
    try:
        messages = read(f"{protocol}://{location}")[1]
    except ParameterError as error:
        messages.append(str(error))
    assert not any("s3cr3t" in message for message in messages)
