"""Fuzz test of file reading: hundreds of thousands of damaged files of every supported format.

    python -m tests.ingest.fuzz_files [RESULTS]          or: make fuzz

A valid file is cut, overwritten, or mixed with another one. The result must be documents, or problems that name the
file and the reason, without an exception and within the time limit. Any other outcome ends the run and leaves the file
in the folder for temporary files.
"""

from __future__ import annotations

import io
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePath

from tests.accidents import bytes_changed, write_record
from tests.ingest.rows import test_detect_row_format, test_warc
from tests.made_files import mail, open_document, pdf, pdf_of_stream, sheet, slides, word
from whorl.ingest.files import Problem, documents_in

COUNT = 150_000
#: Limit for the time of one file, in seconds; the limit in the settings is 60.
MOST = 20.0

#: Valid files, by name.
RIGHT = {
    "a.pdf": pdf("One page of words.", "And another one."),
    "b.pdf": pdf_of_stream(b"BT /F 12 Tf (words) Tj ET"),
    "a.docx": word("A paragraph", "and a table"),
    "a.pptx": slides("A slide", "and another"),
    "a.xlsx": sheet(["a cell", 1, 2.5], ["another", None, True]),
    "a.eml": mail("A subject", "plain words", "<p>words &amp; <b>marks</b>", b"attached"),
    "a.ipynb": b'{"cells": [{"source": ["words\\n"], "outputs": [{"text": "printed"}]}]}',
    "a.odt": open_document("<text:p>words<text:note><text:p>note</text:p></text:note></text:p>"),
    "a.html": b"<!doctype html><title>T</title><script>x()</script><p>words<table><td>cell &eacute;</table><!-- no -->",
    "a.txt": "Words in UTF-8: Größe, 日本語, \U0001f600".encode(),
    "b.txt": "Words in UTF-16".encode("utf-16"),
    **{f"rows.{kind}": raw for kind, raw in test_detect_row_format.MADE.items()},
    "a.warc": test_warc.archive(is_packed=False),
    "b.warc.gz": test_warc.archive(is_packed=True),
}


class Held:
    """A file in memory."""

    def __init__(self, name: str, content: bytes) -> None:
        self.name, self.content = name, content

    def as_posix(self) -> str:
        """Return the path."""
        return self.name

    def __str__(self) -> str:
        return self.name

    def open(self, mode: str) -> io.BytesIO:
        """Return a new stream of the content."""
        return io.BytesIO(self.content)


class Tally:
    """Counts of files and of those with text, and the longest time, by format."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.read: Counter[str] = Counter()
        self.slowest: dict[str, float] = {}

    def take(self, name: str, content: bytes) -> None:
        """Read one file."""
        kind, problems, begun = name.partition(".")[2], list[Problem](), time.perf_counter()
        try:
            documents = list(documents_in(Held(name, content), problems.append, on_text_table=None))
            for problem in problems:
                assert problem.where.startswith(name)
                assert problem.reason
                assert "Traceback" not in problem.reason
            for document in documents:
                document.text.encode()
                assert document.id
        except Exception as error:
            with tempfile.NamedTemporaryFile(suffix=PurePath(name).suffix, delete=False) as file:
                file.write(content)
            raise AssertionError(f"{file.name}: {type(error).__name__}: {error}") from error
        self.files[kind] += 1
        self.read[kind] += bool(documents)
        self.slowest[kind] = max(self.slowest.get(kind, 0.0), time.perf_counter() - begun)


def run(count: int = COUNT, seed: int = 20_26) -> Tally:
    """Read `count` damaged files."""
    tally, chance, others = Tally(), random.Random(seed), tuple(RIGHT.values())
    names = list(RIGHT)
    for number in range(count):
        name = names[number % len(names)]
        # Some files get the name of another format.
        called = chance.choice(names) if chance.random() < 0.05 else name
        tally.take(called, bytes_changed(RIGHT[name], chance, others))
    return tally


def report(tally: Tally) -> Iterator[str]:
    """Yield the lines of the report."""
    yield f"{sum(tally.files.values()):,} damaged files: documents, or what is wrong with them; no exception"
    yield ""
    for kind in sorted(tally.files):
        yield (
            f"{kind:12} {tally.files[kind]:7,} files  {tally.read[kind]:7,} with text  "
            f"slowest {1000 * tally.slowest[kind]:9.1f} ms"
        )


def main(place: Path) -> None:
    """Run, write the report, and fail if a file took too long."""
    tally = run()
    write_record(place, report(tally))
    slowest = max(tally.slowest.values())
    assert slowest <= MOST, f"{slowest:.1f} s"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "benchmarks/results/fuzz-files.txt"))
