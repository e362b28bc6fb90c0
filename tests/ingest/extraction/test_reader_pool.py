"""Extraction of text in separate processes: words in order, errors with a reason, limits, and no hanging process."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path, PurePath
from types import FrameType
from typing import Any

import pytest
from click.testing import CliRunner

from tests.clock import Clock
from tests.made_files import SENTENCES, mail, pdf, pdf_of_stream, sheet, slides, with_member, word
from whorl.cli.main import main
from whorl.errors import DocumentError, StoppedError
from whorl.ingest.extraction import FileLimits
from whorl.ingest.extraction.reader_pool import ReaderPool, _ReaderProcess
from whorl.ingest.files import text_from_bytes
from whorl.request_context import Request, deadline, new_request

pytestmark = pytest.mark.process

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc, and limits memory")
#: HTML of a few megabytes that keeps its parser busy for half a minute.
ENDLESS = b"<div>" * 3_000_000
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
MIXED = {
    "a.pdf": pdf(*SENTENCES),
    "a.docx": word(*SENTENCES),
    "a.pptx": slides(*SENTENCES),
    "a.xlsx": sheet(*([sentence] for sentence in SENTENCES)),
    "a.eml": mail(SENTENCES[0], "\n".join(SENTENCES[1:])),
    "a.html": "".join(f"<p>{sentence}</p>" for sentence in SENTENCES).encode(),
}


@pytest.fixture(scope="module")
def reader() -> Iterator[ReaderPool]:
    """A reader for all tests without special limits."""
    made = ReaderPool()
    yield made
    made.close()


@pytest.fixture
def limited() -> Iterator[Callable[..., ReaderPool]]:
    """Factory of readers with limits."""
    readers: list[ReaderPool] = []

    def make(workers: int = 1, **limits: Any) -> ReaderPool:
        readers.append(ReaderPool(FileLimits(**limits), workers))
        return readers[-1]

    yield make
    for reader in readers:
        reader.close()


def words(name: str, raw: bytes, reader: ReaderPool) -> list[str]:
    return text_from_bytes(raw, PurePath(name), reader).split()


def problem(name: str, raw: bytes, reader: ReaderPool) -> str:
    with pytest.raises(DocumentError) as caught:
        text_from_bytes(raw, PurePath(name), reader)
    return str(caught.value)


def children() -> set[int]:
    """The running child processes of this process."""
    pids: set[int] = set()
    for thread in Path("/proc/self/task").iterdir():
        # A thread of a stopped timer may have ended by now.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            pids |= {int(child) for child in (thread / "children").read_text().split()}
    return pids


@pytest.mark.parametrize("name", MIXED)
def test_words_in_order(reader: ReaderPool, name: str) -> None:
    """
    All words of all paragraphs are extracted in order, and nothing else.
    """
    read_words = words(name, MIXED[name], reader)
    assert read_words == (["Sheet"] if name == "a.xlsx" else []) + " ".join(SENTENCES).split()


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.pptx", "a.xlsx"])
def test_the_first_bytes_tell_more_than_the_name(reader: ReaderPool, name: str) -> None:
    """
    A file without a suffix, or with the suffix of a text file, is read in its actual format.
    """
    assert words("a", MIXED[name], reader) == words("a.txt", MIXED[name], reader) == words(name, MIXED[name], reader)


@pytest.mark.parametrize(
    ("name", "raw", "reason"),
    [
        ("a.pdf", MIXED["a.pdf"][:300], "this PDF is damaged"),
        ("a.pdf", b"no PDF", "this PDF is damaged, or it is none"),
        ("a.pdf", pdf("secret", password="x"), "this PDF is encrypted"),
        ("a.pdf", pdf(""), "there is no text in this PDF; perhaps it was scanned"),
        ("a.docx", MIXED["a.docx"][:9_000], "this file is damaged"),
        ("a.docx", b"", "this file is empty"),
        ("a.docx", with_member(MIXED["a.docx"], "word/document.xml", lambda old: old[:500]), "this DOCX is damaged"),
        ("a.docx", OLE, "this DOCX is encrypted with a password"),
        ("a.pptx", MIXED["a.pptx"][:9_000], "this file is damaged"),
        ("a.pptx", with_member(MIXED["a.pptx"], "ppt/presentation.xml", lambda _: b""), "this PPTX is damaged"),
        ("a.xlsx", MIXED["a.xlsx"][:2_000], "this file is damaged"),
        ("a.xlsx", with_member(MIXED["a.xlsx"], "xl/workbook.xml", lambda old: old[:200]), "this XLSX is damaged"),
        ("a.xlsx", MIXED["a.docx"].replace(b"word/document.xml", b"word/document.XXX"), "damaged"),
        ("a.eml", b"\xff\0 no mail" * 50, "this is not an e-mail"),
        ("a.html", b"\0\1\2\3" * 50, "this is not text"),
        ("a.doc", OLE, "save it as DOCX"),
        ("a.msg", OLE, r"save it as \.eml"),
        ("a.zip", b"PK\x03\x04" + bytes(600), r"this is an archive \(ZIP\)"),
    ],
)
def test_unreadable_files_give_a_short_reason(reader: ReaderPool, name: str, raw: bytes, reason: str) -> None:
    """
    The error names the reason in one short line.
    """
    reason_given = problem(name, raw, reader)
    assert re.search(reason, reason_given)
    assert "\n" not in reason_given
    assert len(reason_given) < 300


@pytest.mark.parametrize(
    ("name", "library"), [("a.pdf", "pypdfium2"), ("a.docx", "docx"), ("a.pptx", "pptx"), ("a.xlsx", "openpyxl")]
)
def test_a_missing_extra_is_named(reader: ReaderPool, monkeypatch: pytest.MonkeyPatch, name: str, library: str) -> None:
    """
    The error names the missing extra, for formats recognised by content or by name; e-mail and HTML need no extra.
    """
    monkeypatch.setitem(sys.modules, library, None)
    for file_name in (name, "a"):
        assert "pip install 'whorl[files]'" in problem(file_name, MIXED[name], reader)
    assert words("a.eml", MIXED["a.eml"], reader) == words("a.html", MIXED["a.html"], reader)


def test_a_file_may_be_too_large(limited: Callable[..., ReaderPool]) -> None:
    """
    The error has the size, the limit and the setting.
    """
    message = problem("a.pdf", MIXED["a.pdf"], limited(file_bytes=1_000))
    assert f"{len(MIXED['a.pdf']):,} bytes" in message
    assert "1,000" in message
    assert "max_file_bytes" in message


@pytest.mark.parametrize("name", MIXED)
def test_a_text_may_be_too_long(limited: Callable[..., ReaderPool], name: str) -> None:
    """
    A text beyond the limit is refused in every format; it is not truncated, since half a document is a different
    document.
    """
    longest = len(text_from_bytes(MIXED[name], PurePath(name), limited()))
    assert "max_file_text" in problem(name, MIXED[name], limited(text_characters=longest - 1))
    assert words(name, MIXED[name], limited(text_characters=longest))


@pytest.mark.parametrize(
    ("name", "member"),
    [("a.docx", "word/document.xml"), ("a.pptx", "ppt/presentation.xml"), ("a.xlsx", "xl/workbook.xml")],
)
def test_a_small_archive_of_much_is_not_unpacked(limited: Callable[..., ReaderPool], name: str, member: str) -> None:
    """
    A file of less than a megabyte that declares more content than the memory limit is refused.
    """
    bomb = with_member(MIXED[name], member, lambda old: old + bytes(210_000_000))
    assert len(bomb) < 1_000_000
    assert "unpacked it would have 210," in problem(name, bomb, limited(memory_bytes=200_000_000))


def test_an_archive_with_an_understated_size(reader: ReaderPool) -> None:
    """
    Content beyond the declared size is not unpacked, so the file counts as damaged.
    """
    size = len(zipfile.ZipFile(made := io.BytesIO(MIXED["a.docx"])).read("word/document.xml"))
    lying = made.getvalue().replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lying != MIXED["a.docx"]
    assert "damaged" in problem("a.docx", lying, reader)


@linux
def test_too_much_memory(limited: Callable[..., ReaderPool]) -> None:
    """
    A document of a million paragraphs that exceeds the memory limit is an error; the next file is read.
    """
    small = limited(memory_bytes=250_000_000)
    many = b"<w:p><w:r><w:t/></w:r></w:p>" * 1_000_000
    bomb = with_member(MIXED["a.docx"], "word/document.xml", lambda old: old.replace(b"<w:body>", b"<w:body>" + many))
    assert "more than 250,000,000 bytes of memory" in problem("a.docx", bomb, small)
    assert words("a.docx", MIXED["a.docx"], small)


@linux
def test_a_pdf_that_unpacks_to_more_than_the_memory(limited: Callable[..., ReaderPool]) -> None:
    """
    PDFium aborts the process when memory runs out, since it cannot go on safely; the next file is read.
    """
    small = limited(memory_bytes=250_000_000)
    page = b"BT /F 12 Tf 50 700 Td %sET"
    assert words("a.pdf", pdf_of_stream(page % b"(word) Tj "), small) == ["word"]
    bomb = pdf_of_stream(page % (b"(word) Tj " * 30_000_000))
    assert len(bomb) < 2_000_000
    assert re.search(r"was ended by SIG\w+: .*more than 250,000,000 bytes of memory", problem("a.pdf", bomb, small))
    assert words("a.pdf", MIXED["a.pdf"], small)


def test_reading_ends_at_the_time_limit(limited: Callable[..., ReaderPool], clock: Clock) -> None:
    """
    Reading ends at the time limit with a reason; the next file is read.
    """
    hasty = limited(seconds=1.0)
    assert problem("a.html", ENDLESS, hasty) == "reading it took longer than 1 seconds (setting file_timeout)"
    patient = limited()
    with deadline(0.5):
        assert "took longer than 0.5 seconds (setting request_timeout)" in problem("a.html", ENDLESS, patient)
    assert words("a.html", MIXED["a.html"], patient)


@linux
def test_processes_are_few_and_end(limited: Callable[..., ReaderPool]) -> None:
    """
    Plain text needs no process, all other files share one, and closing the reader ends it.
    """
    before, mine = children(), limited()
    assert text_from_bytes(b"plain", PurePath("a.txt"), mine) == "plain"
    assert children() == before
    started = set()
    for name, raw in MIXED.items():
        assert words(name, raw, mine)
        started |= children() - before
    assert len(started) == 1
    mine.close()
    assert children() == before


def is_running(process: int) -> bool:
    """Return True if a process runs and is not a zombie."""
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_process_that_died_between_files_is_replaced(limited: Callable[..., ReaderPool], number: int) -> None:
    """
    A process killed between two files, as by the kernel short of memory, is replaced without an error.
    """
    before, mine = children(), limited()
    assert words("a.pdf", MIXED["a.pdf"], mine)
    (worker,) = children() - before
    os.kill(worker, number)
    assert words("a.pdf", MIXED["a.pdf"], mine) == " ".join(SENTENCES).split()
    (other,) = children() - before
    assert other != worker


@linux
def test_a_hanging_process_is_replaced(limited: Callable[..., ReaderPool], clock: Clock) -> None:
    """
    A stopped process is ended at the time limit, even while it should receive a large file; the next file is read.
    """
    before, mine = children(), limited()
    assert words("a.eml", MIXED["a.eml"], mine)
    (worker,) = children() - before
    os.kill(worker, signal.SIGSTOP)
    with deadline(1):
        assert "took longer than 1 seconds" in problem("a.eml", MIXED["a.eml"] + bytes(10_000_000), mine)
    assert worker not in children()
    assert words("a.eml", MIXED["a.eml"], mine)


@linux
def test_an_interruption_ends_the_process(limited: Callable[..., ReaderPool], monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Ctrl-C in the middle of a file leaves no process running.
    """
    real = _ReaderProcess._exchange

    def exchange(self: _ReaderProcess, *arguments: Any) -> Any:
        # The timer starts here, because no process works on the file before this call.
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        return real(self, *arguments)

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before, mine = children(), limited()
    assert words("a.html", MIXED["a.html"], mine)
    assert children() > before
    old = signal.signal(signal.SIGALRM, interrupt)
    monkeypatch.setattr(_ReaderProcess, "_exchange", exchange)
    try:
        with pytest.raises(KeyboardInterrupt):
            text_from_bytes(ENDLESS, PurePath("a.html"), mine)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert children() == before


@linux
def test_slow_files_leave_a_place_to_others(
    limited: Callable[..., ReaderPool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Two slow files may occupy both processes until another file waits; then one of them is refused with a request to try
    again.
    """
    monkeypatch.setattr("whorl.ingest.extraction.reader_pool.SLOW_SECONDS", 0.1)
    before, shared = children(), limited(workers=2)
    with ThreadPoolExecutor(2) as threads:
        slow = [threads.submit(problem, "a.html", ENDLESS, shared) for _ in range(2)]
        while len(children() - before) < 2:
            time.sleep(0.01)
        assert words("a.eml", MIXED["a.eml"], shared)
        done, left = wait(slow, return_when=FIRST_COMPLETED)
        assert [document.result() for document in done] == [
            "reading it took longer than 0.1 seconds, and others wait; try again"
        ]
        assert len(left) == 1
        for child in children() - before:
            os.kill(child, signal.SIGKILL)
        assert "was ended by SIGKILL" in left.pop().result()


@linux
def test_cancelling_a_request_ends_the_reading(limited: Callable[..., ReaderPool]) -> None:
    """
    Cancelling a request ends the process that reads its file, or its wait for a process, long before the time limit.
    """
    before, one = children(), limited()

    def read(request: Request) -> str:
        with new_request("", request.cancelled), pytest.raises(StoppedError) as stopped:
            text_from_bytes(ENDLESS, PurePath("a.html"), one)
        return str(stopped.value)

    first, second = Request(), Request()
    with ThreadPoolExecutor(2) as threads:
        reading = threads.submit(read, first)
        while not children() - before:
            time.sleep(0.01)
        waiting = threads.submit(read, second)
        second.cancel()
        assert "the request was cancelled" in waiting.result()
        assert not reading.done()
        first.cancel()
        assert "that sent this file has disconnected" in reading.result()
    assert children() == before


@linux
def test_a_process_ends_with_its_parent(tmp_path: Path) -> None:
    """
    The process also ends if its parent is killed and cannot clean up, between two files or in the middle of one.
    """
    (tmp_path / "endless.html").write_bytes(ENDLESS)
    program = (
        "import os, pathlib, sys, threading\n"
        "from whorl.ingest.extraction.reader_pool import ReaderPool\n"
        "from whorl.ingest.files import text_from_bytes\n"
        "reader = ReaderPool()\n"
        "text_from_bytes(b'<p>word</p>', pathlib.PurePath('a.html'), reader)\n"
        "if sys.argv[1:]:\n"
        "    raw = pathlib.Path(sys.argv[1]).read_bytes()\n"
        "    arguments = (raw, pathlib.PurePath('a.html'), reader)\n"
        "    threading.Thread(target=text_from_bytes, args=arguments, daemon=True).start()\n"
        "print('reads', flush=True)\n"
        "sys.stdin.read()\n"
    )
    for arguments in ([], [str(tmp_path / "endless.html")]):
        started = subprocess.Popen(
            [sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert started.stdout is not None
        assert started.stdout.readline() == b"reads\n"
        (worker,) = (int(child) for task in Path(f"/proc/{started.pid}/task").iterdir()
                     for child in (task / "children").read_text().split())  # fmt: skip
        started.kill()
        started.communicate()
        # The time limit of the test applies if the process does not end.
        while is_running(worker):
            time.sleep(0.05)


def test_threads_get_each_its_own_text(limited: Callable[..., ReaderPool]) -> None:
    """
    Eight threads that share two processes each get their own text.
    """
    shared = limited(workers=2)
    pages = [f"page of thread {number}" for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        read_words = threads.map(lambda page: words("a.pdf", pdf(page), shared), pages)
    assert list(read_words) == [page.split() for page in pages]


def test_a_folder_of_files_is_no_place_to_import_from(
    reader: ReaderPool, limited: Callable[..., ReaderPool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Modules next to the documents are not imported.
    """
    for name in ("json", "pypdfium2", "whorl", "resource"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert words("a.pdf", MIXED["a.pdf"], limited()) == words("a.pdf", MIXED["a.pdf"], reader)


def test_index_reports_problems_and_continues(tmp_path: Path) -> None:
    """
    For a folder of readable and unreadable files, the readable ones are indexed, and the others reported with the
    reason.
    """
    folder = tmp_path / "files"
    folder.mkdir()
    for name, raw in {
        **MIXED,
        "b.pdf": MIXED["a.pdf"][:300],
        "c.docx": b"no archive",
        "d.pdf": pdf("secret", password="x"),
        "e.doc": OLE,
        "f.txt": " ".join(SENTENCES).encode(),
    }.items():
        (folder / name).write_bytes(raw)
    store = str(tmp_path / "store")
    done = CliRunner().invoke(main, ["index", str(folder), "--store", store])
    assert done.exit_code == 0
    assert "7 documents stored" in done.output
    for message in (
        "b.pdf: this PDF is damaged",
        "c.docx: this file is damaged",
        "d.pdf: this PDF is encrypted",
        "e.doc:",
    ):
        assert message in done.output
    result = CliRunner().invoke(
        main, ["similar", "--file", str(folder / "a.pdf"), "--threshold", "90", "--store", store]
    )
    assert result.exit_code == 0
    assert "6 documents" in result.output


def test_the_settings_limit_what_is_read(tmp_path: Path) -> None:
    """
    The limits also apply to plain text by its size; small files and JSON lines are always read.
    """
    (tmp_path / "small.txt").write_bytes(SENTENCES[0].encode())
    (tmp_path / "large.txt").write_bytes(SENTENCES[1].encode() + bytes(1_000_001))
    (tmp_path / "large.jsonl").write_text(f'{{"id": "line", "text": "{SENTENCES[2]}"}}\n' + "\n" * 1_000_001)
    (tmp_path / "long.html").write_bytes(MIXED["a.html"])
    done = subprocess.run(
        [sys.executable, "-c", "from whorl.cli.main import main; main()", "simhash", ".", "--format", "tsv"],
        cwd=tmp_path,
        env={**os.environ, "WHORL_MAX_FILE_BYTES": "1000000", "WHORL_MAX_FILE_TEXT": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert [line.split("\t")[1] for line in done.stdout.splitlines()] == ["line", "small.txt"]
    assert "large.txt: this file has 1,00" in done.stderr
    assert "long.html: its text is longer than 100 characters" in done.stderr


def test_standard_input_may_be_a_pdf() -> None:
    """
    A PDF on standard input is recognised by its first bytes.
    """
    of_pdf, of_text = (
        CliRunner().invoke(main, ["simhash", "-"], input=raw) for raw in (MIXED["a.pdf"], " ".join(SENTENCES).encode())
    )
    assert of_pdf.exit_code == of_text.exit_code == 0
    assert of_pdf.output == of_text.output
