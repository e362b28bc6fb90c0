"""Files made to exhaust memory or time: each causes one problem, and the next file is read.

A child process reads them with little memory, so that a test fails instead of exhausting the machine.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.limited import whorl
from tests.sampling import FULL, thorough

pytestmark = [pytest.mark.process, pytest.mark.slow]

#: Address space of whorl, its libraries and its compiled loops, plus the memory limit of the readers.
MEMORY = 4_000_000_000
LIMITS = {
    "WHORL_FILE_MEMORY_BYTES": "200000000",
    "WHORL_MAX_FILE_TEXT": "10000000",
    "WHORL_FILE_TIMEOUT": "2",
}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}
HEAD = b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <a>\r\nContent-Type: text/plain\r\n"
MANY = 220_000_000


def page(head: bytes, body: bytes) -> bytes:
    """Return a web archive of one response."""
    content = b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + body
    return (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <a>\r\nContent-Type: application/http\r\n"
        b"Content-Length: %d\r\n\r\n%b\r\n\r\n" % (len(content), content)
    )


def repeated(begin: bytes, part: bytes, packer: Callable[[bytes], bytes] = gzip.compress, size: int = MANY) -> bytes:
    """Return a compressed file of several members or frames that repeat one part."""
    block = part * (2_000_000 // len(part))
    return packer(begin) + packer(block) * (size // len(block))


def columnar(write: Callable[[io.BytesIO, pa.Table], None]) -> bytes:
    """Return a file of 512 rows that share one stored text of 16 MB: 8.4 GB when read."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 512, pa.int32()), pa.array(["x" * 16_400_000]))
    out = io.BytesIO()
    write(out, pa.table({"text": text}))
    return out.getvalue()


def write_arrow(out: io.BytesIO, table: pa.Table) -> None:
    with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)


def stream(column: pa.Array) -> bytes:
    """Return an Arrow stream with one column of texts."""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, pa.schema([("text", column.type)])) as writer:
        writer.write_batch(pa.record_batch([column], names=["text"]))
    return out.getvalue()


def run_of(rows: int) -> bytes:
    """Return an Arrow stream of 10 KB whose rows all share one text of few words."""
    text = "a b c d e " + "f" * 10_000
    return stream(pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), pa.array([text])))


def repeated_texts() -> bytes:
    """Return an Arrow stream of 500 KB with 100,000 rows of the same text of 100 KB."""
    return stream(
        pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), pa.array(["words " + "x" * 100_000]))
    )


def repeated_rows(text: str = "one two three four five six seven" * 40, count: int = 2_000_000) -> bytes:
    """Return a Parquet file with rows of the same text, as a dictionary; 280 KB by default."""
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([text]))
    out = io.BytesIO()
    pq.write_table(pa.table({"text": rows}), out, compression="zstd")
    return out.getvalue()


def long_lists(count: int = 2_000, values: int = 10_000) -> bytes:
    """Return a small Parquet file of rows with long lists."""
    lists = pa.array([[0] * values] * count, pa.list_(pa.int8()))
    out = io.BytesIO()
    pq.write_table(pa.table({"text": ["one two three four five six seven"] * count, "x": lists}), out)
    return out.getvalue()


def nulls_parquet() -> bytes:
    """Return a small Parquet file of 20 million null texts."""
    out = io.BytesIO()
    pq.write_table(pa.table({"text": pa.nulls(20_000_000, pa.string())}), out, row_group_size=20_000_000)
    return out.getvalue()


#: Name, content and expected problem.
BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    **{
        f"line.csv.{suffix}": (
            lambda packer=packer: repeated(b"id,text\n1,", b"words ", packer),  # type: ignore[misc]
            "200 times its size",
        )
        for suffix, packer in list(PACKERS.items())[::2]
    },
    **{
        f"line.jsonl.{suffix}": (
            lambda packer=packer: repeated(b'{"text": "', b"words ", packer),  # type: ignore[misc]
            "200 times its size",
        )
        for suffix, packer in list(PACKERS.items())[1::2]
    },
    "dictionary.parquet": (
        lambda: columnar(lambda out, table: pq.write_table(table, out, compression="zstd")),
        "it asks for more memory than a file may take (setting file_memory_bytes)",
    ),
    "dictionary.arrow": (
        lambda: columnar(write_arrow),
        "it asks for more memory than a file may take (setting file_memory_bytes)",
    ),
    "runs.arrow": (lambda: run_of(2_000_000_000), "it has 2,000,000,000 rows in"),
    "runs.arrow.gz": (lambda: gzip.compress(run_of(2_000_000_000)), "it has 2,000,000,000 rows in"),
    "fewer-runs.arrow": (lambda: run_of(25_000), "200 times its size"),
    "fewer-runs.arrow.zst": (lambda: zstandard.compress(run_of(25_000)), "200 times its size"),
    "nulls.arrow": (lambda: stream(pa.nulls(2_000_000_000)), "it has 2,000,000,000 rows in"),
    "nulls.parquet": (nulls_parquet, "it has 20,000,000 rows in"),
    "repeated-text.arrow": (repeated_texts, "200 times its size"),
    "quoted.csv.gz": (
        lambda: repeated(b"id,text\n", b'1,"words\n' + b"x" * 500 + b'",\n"a\n",'),
        "200 times its size",
    ),
    "cells.csv": (lambda: b"id,text\n1" + b"," * 50_000_000, "more than 10,000,000 characters"),
    "names.csv": (lambda: b"text," * 400_000 + b"\n", "the first line, which names the columns, has more than"),
    "wide.csv.gz": (
        lambda: repeated(b"text" + b"," * 400_000 + b"\n", b"," * 400_000 + b"\n"),
        "200 times its size",
    ),
    "empty-rows.jsonl.gz": (lambda: repeated(b"", b"{}\n", size=15_000_000), "200 times its size"),
    "blank.csv": (lambda: b"id,text\n" + b"\n" * 2_000_000, "of blank lines between two lines"),
    "blank.jsonl.gz": (lambda: repeated(b"", b"\n"), "of blank lines between two lines"),
    "blank.jsonl.zst": (lambda: zstandard.compress(bytes(1) + b"\n" * MANY), "of blank lines between two lines"),
    "columns.jsonl.zst": (
        lambda: zstandard.compress((b'{"text": "a", "b": "' + b"x" * 5_000_000 + b'"}\n') * 60),
        "200 times its size",
    ),
    "lists.jsonl": (lambda: b'{"text": [' + b"[]," * 20_000_000 + b"[]]}", "may take more than 200,000,000 bytes"),
    "array.json": (lambda: b"[" + b"{}," * 20_000_000 + b"{}]", "may take more than 200,000,000 bytes"),
    "deep.jsonl": (lambda: b'{"text": ' + b"[" * 20_000_000, "this JSON of"),
    "deep.json": (lambda: b"[{" + b'"a":[' * 1_000_00 + b"]", "this is not JSON"),
    "header.warc.gz": (lambda: repeated(HEAD, b"A: b\r\n"), "a header has more than 1,000,000 bytes"),
    "header-line.warc.gz": (lambda: repeated(HEAD + b"A: ", b"b"), "a line of a record's header has more than"),
    "folded.warc.gz": (lambda: repeated(HEAD + b"A: b\r\n", b" b\r\n"), "a header has more than"),
    "blank.warc.gz": (
        lambda: repeated(HEAD + b"Content-Length: 0\r\n\r\n", b"\r\n"),
        "more than 1,000,000 bytes of blank lines",
    ),
    "header.warc": (lambda: HEAD + b"A: b\r\n" * 1_000_000, "a header has more than"),
    "page.warc": (
        lambda: page(b"Content-Type: text/plain\r\nContent-Encoding: gzip\r\n", gzip.compress(bytes(MANY))),
        "this response unpacks to more than",
    ),
    "page-header.warc": (lambda: page(b"A: b\r\n" * 5_000_000, b""), "a header has more than 1,000,000 bytes"),
}


#: Bombs that cause a problem of a row or document; commands show these problems after those of whole files.
IN_ROWS = ("cells.csv", "lists.jsonl", "array.json", "deep.jsonl", "deep.json", "page.warc", "page-header.warc")
#: `fewer-runs.arrow` takes as long as ten other bombs, so a short run reads only its compressed copy.
IN_FILES = tuple(name for name in BOMBS if name not in IN_ROWS and (FULL or name != "fewer-runs.arrow"))


@thorough
@pytest.mark.parametrize(
    "names", [IN_ROWS, IN_FILES[::2], IN_FILES[1::2]], ids=["in rows", "in files", "in other files"]
)
def test_bombs(names: tuple[str, ...], tmp_path: Path) -> None:
    """
    The problem of each bomb names the file and the limit; the following files are read.
    """
    for name in names:
        (tmp_path / name).write_bytes(BOMBS[name][0]())
    (tmp_path / "z.txt").write_text("one two three four five six seven", encoding="utf-8")
    options = ("--format", "tsv", "--text-column", "text")
    done = whorl(MEMORY, "simhash", *names, "z.txt", *options, folder=tmp_path, env=LIMITS)
    assert "z.txt" in done.stdout, done.stderr[-2000:]
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    for name in names:
        # On a slow machine, or with another memory allocator, the process may reach its time or memory limit first.
        reasons = (BOMBS[name][1], "(setting file_timeout)", "(setting file_memory_bytes)")
        lines = [line for line in done.stderr.splitlines() if f"{name}:" in line or f"{name}, " in line]
        assert any(reason in line for line in lines for reason in reasons), (name, done.stderr[-4000:])


def shared_text() -> bytes:
    """Return a small Parquet file of 200,000 rows that share one text of 16 KB and few words."""
    text = pa.array(["a b c d e " + "f" * 16_000])
    out = io.BytesIO()
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * 200_000, pa.int32()), text)
    pq.write_table(pa.table({"text": rows}), out, compression="zstd", row_group_size=1_000)
    return out.getvalue()


#: Name, content, and the expected problem of `index` and of `duplicates`; None if the command reads the file.
HEAVY: dict[str, tuple[Callable[[], bytes], str | None, str | None]] = {
    "shared-text.parquet": (shared_text, "200 times its size", "200 times its size"),
    "repeated-rows.parquet": (repeated_rows, "it has 2,000,000 rows in", "it has 2,000,000 rows in"),
    "long-lists.parquet": (long_lists, "200 times its size", None),
    "ligatures.txt": (lambda: "\ufdfa".encode() * 1_200_000, "adds 20,400,000 characters", None),
    "ligature-words.txt": (lambda: "\ufdfa ".encode() * 1_200_000, "adds 20,400,000 characters", None),
    "id.jsonl": (
        lambda: b'{"id": "%b", "text": "a b c d e f"}' % (b"x" * 5_000_000),
        "an id has 1 to 1000 characters",
        "an id has 1 to 1000 characters",
    ),
    "thai.txt": (lambda: "\u0e01\u0e33\u0e25".encode() * 200_000, None, None),
    # Last, because a command shows the first 20 problems only.
    "empty-rows.jsonl.gz": (
        lambda: repeated(b"", b"{}\n", size=15_000_000),
        "200 times its size",
        "200 times its size",
    ),
}


@thorough
@pytest.mark.parametrize("command", ["index", "duplicates"])
def test_commands_end_on_bombs(command: str, tmp_path: Path) -> None:
    """
    With the same memory limit, a command that stores or compares documents reports the limit that each bomb exceeds,
    and reads the next file.
    """
    for name, (make, *_) in HEAVY.items():
        (tmp_path / name).write_bytes(make())
    text = "eight nine ten eleven twelve thirteen fourteen"
    for name in ("y.txt", "z.txt"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    # The rows that are read in half a second already cause seconds of work.
    limits = {**LIMITS, "WHORL_FILE_TIMEOUT": "0.5"}
    store = ("--store", "store")
    options = store if command == "index" else ()
    done = whorl(MEMORY, command, *options, *HEAVY, "y.txt", "z.txt", folder=tmp_path, env=limits)
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    lines = done.stderr.splitlines()
    for name, (_, by_index, by_duplicates) in HEAVY.items():
        reason = by_index if command == "index" else by_duplicates
        named = [line for line in lines if f"{name}:" in line or f"{name}, " in line]
        # On a slow machine, the time limit is reached first.
        in_time = [line for line in named if "(setting file_timeout)" not in line]
        assert len(in_time) < len(named) or (any(reason in line for line in in_time) if reason else not named), lines
    shown = whorl(MEMORY, "similar", *store, "y.txt", folder=tmp_path) if command == "index" else done
    assert "z.txt" in shown.stdout, done.stderr[-2000:]
