"""Commands `simhash-find-all` and `simhash-find-clusters`: find similar SimHash codes.

They write pairs or clusters of codes that differ in few bits. The input has one code per line. Options, messages and
exit codes are the same as in simhash-cpp. (The help of its find-all wrongly says that the number of blocks may equal
the distance.) In two cases simhash-cpp aborts, but these commands report an error: an invalid line (exit code 9), and
more than 64 blocks (6). Modules are imported when needed, because imports take longer than the search of a small input.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import getopt
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TextIO

from whorl.cli.shared.output_files import is_same_file
from whorl.errors import ParameterError

if TYPE_CHECKING:
    from whorl.hamming.codes import Codes
    from whorl.hamming.groups import Groups

_MOST_BLOCKS, _DIGITS = 64, 19
#: Exit code after SIGPIPE, as in shells.
_BROKEN_PIPE = 141
#: Number of bytes of the first line that are checked for an id.
_FIRST_LINE = 4096
_HELP = """\
usage: {name} --blocks BLOCKS --distance DISTANCE [--input INPUT] [--output OUTPUT]

Reads simhashes, one decimal number per line, and writes {what}
that differ in at most DISTANCE bits, one per line: [1, 3]. Of lines with ids, as
'whorl simhash --format tsv' or json writes them, the ids: ["a.txt", "b.txt"].

  -b, --blocks BLOCKS      Bit blocks, more than DISTANCE and at most 64 (the answer does not depend on it)
  -d, --distance DISTANCE  Bits that may differ, at least 1
  -i, --input INPUT        Path to input ('-', the default, for stdin)
  -o, --output OUTPUT      Path to output ('-', the default, for stdout)
  -h, --help               Print this
"""
#: Time in seconds per code without compiled loops, and number of bytes per line, both approximate.
_PLAIN_SECONDS, _LINE = 0.8e-6, 20


class _Job(NamedTuple):
    """Search function and messages of one of the two commands."""

    name: str
    sought: str
    written: str
    what: str
    find: Callable[[Codes, int], Iterator[Groups]]
    are_pairs: bool


class _ExitError(Exception):
    """Ends the command with an exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def find_all(arguments: Sequence[str] | None = None) -> int:
    return _main(_Job("simhash-find-all", "matches", "matches", "all pairs of them", _pairs, are_pairs=True), arguments)


def find_clusters(arguments: Sequence[str] | None = None) -> int:
    what = "all groups of them connected by pairs"
    return _main(_Job("simhash-find-clusters", "clusters", "results", what, _clusters, are_pairs=False), arguments)


def _pairs(codes: Codes, distance: int) -> Iterator[Groups]:
    import numpy as np

    from whorl.hamming.groups import Groups
    from whorl.hamming.pairs import stream_pairs

    for pairs in stream_pairs(codes, distance):
        yield Groups(pairs.ravel(), np.arange(0, pairs.size + 1, 2))


def _clusters(codes: Codes, distance: int) -> Iterator[Groups]:
    from whorl.hamming.pairs import clusters_of, stream_pairs

    yield clusters_of(stream_pairs(codes, distance))


def _main(job: _Job, arguments: Sequence[str] | None) -> int:
    if arguments is None:
        arguments = sys.argv[1:]
    try:
        _run(job, arguments)
    except _ExitError as end:
        if str(end):
            _print_message(end)
        return end.code
    except BrokenPipeError:
        # The reader of standard output (such as head or less) has closed it.
        _discard_output(sys.stdout)
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return 130
    return 0


def _run(job: _Job, arguments: Sequence[str]) -> None:
    try:
        given, others = getopt.gnu_getopt(
            list(arguments), "i:o:b:d:h", ["input=", "output=", "blocks=", "distance=", "help"]
        )
    except getopt.GetoptError as problem:
        raise _ExitError(1, f"{job.name}: {problem.msg}") from None
    options = {name.lstrip("-")[0]: value for name, value in given}
    if "h" in options:
        print(_HELP.format(name=job.name, what=job.what), end="", flush=True)
        return
    if others:
        raise _ExitError(1, f"{job.name}: {others[0]!r:.80} is not an option; a file is read with --input FILE")
    blocks, distance = _number(options.get("b")), _number(options.get("d"))
    source, target = options.get("i", "-"), options.get("o", "-")
    for is_right, code, message in (
        (blocks, 2, "Blocks must be provided and > 0"),
        (distance, 3, "Distance must be provided and > 0"),
        (source, 4, "Input must be provided and non-empty."),
        (target, 5, "Output must be provided and non-empty."),
        (blocks > distance, 6, f"Blocks ({blocks}) must be > distance ({distance})"),
        (blocks <= _MOST_BLOCKS, 6, f"Blocks ({blocks}) must be <= {_MOST_BLOCKS}"),
    ):
        if not is_right:
            raise _ExitError(code, message)
    if Path(target).is_file() and is_same_file(Path(target), source):
        raise _ExitError(8, f"Output {target} is the input, which it would replace")
    _print_message(f"Reading hashes from {'stdin.' if source == '-' else source}")
    codes, ids = _read(source)
    _print_message(f"Computing {job.sought}...")
    with _progress(target):
        _write(job, target, _lines(job, job.find(codes, distance), ids))


def _number(text: str | None) -> int:
    """Parse a number; return 0, which no option accepts, for other texts."""
    if not (text and text.isascii() and text.isdigit()):
        return 0
    # int() refuses more than 4,300 digits, but far fewer are already too large.
    return int(text.lstrip("0")[:_DIGITS] or "0")


def _standard(stream: TextIO | None) -> BinaryIO:
    if stream is None:  # The caller has closed this stream, for example by `<&-`.
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return stream.buffer


def _read(source: str) -> tuple[Codes, dict[int, list[str]]]:
    """Return the codes, and the ids of each code; no ids if the input has none."""
    from whorl.hamming import load_loops
    from whorl.hamming.simhash_files import is_labelled, prepend_lines, read_codes, read_labelled

    try:
        with contextlib.ExitStack() as opened:
            if source == "-":
                stream = _standard(sys.stdin)
            else:
                stream = opened.enter_context(Path(source).open("rb"))
                size = stream.seek(0, io.SEEK_END) if stream.seekable() else 0
                if size:
                    stream.seek(0)
                seconds = size / _LINE * _PLAIN_SECONDS
                if seconds > load_loops.LOADING_SECONDS:  # Load the compiled loops before reading the input.
                    load_loops.loops_if_worth_loading(seconds)
            name, ahead = (
                "stdin" if source == "-" else source,
                stream.readline(_FIRST_LINE).removeprefix(codecs.BOM_UTF8),
            )
            if is_labelled(ahead):
                return read_labelled(prepend_lines(ahead, stream), name)
            return read_codes(stream, name, ahead), {}
    except OSError as problem:
        raise _ExitError(7, f"Error reading {source}") from problem
    except ParameterError as problem:
        raise _ExitError(9, str(problem)) from None


def _lines(job: _Job, batches: Iterator[Groups], ids: Mapping[int, list[str]]) -> Iterator[bytes]:
    from whorl.hamming.simhash_files import ids_of_clusters, ids_of_pairs, lines_of
    from whorl.output.formatting import without_controls

    if ids:
        groups = ids_of_pairs(batches, ids) if job.are_pairs else ids_of_clusters(batches, ids)
        return (f"{without_controls(json.dumps(group, ensure_ascii=False))}\n".encode() for group in groups)
    return (text for groups in batches for text in lines_of(groups))


def _write(job: _Job, target: str, lines: Iterator[bytes]) -> None:
    to = "Writing results to stdout." if target == "-" else f"Writing {job.written} to {target}"
    _print_message(to)
    try:
        with contextlib.ExitStack() as opened:
            stream = _standard(sys.stdout) if target == "-" else opened.enter_context(Path(target).open("wb"))
            for text in lines:
                stream.write(text)
            stream.flush()
    except OSError as problem:
        if target == "-" and isinstance(problem, BrokenPipeError):
            raise
        raise _ExitError(8, f"Error writing {target}") from problem


@contextlib.contextmanager
def _progress(target: str) -> Iterator[None]:
    if not _is_terminal(sys.stderr) or (target == "-" and _is_terminal(sys.stdout)):
        yield
        return
    from whorl.cli.render.terminal import progress_bar
    from whorl.request_context import reporting

    with progress_bar("%") as bar:
        task = bar.add_task("comparing", total=100)
        with reporting(lambda _step, done, total: bar.update(task, completed=100 * done // (total or 1))):
            yield


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _print_message(message: object) -> None:
    # If standard error is closed, print() would write into the results on standard output.
    if sys.stderr is None:
        return
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:
        # Go on without messages, because standard output may still have a reader.
        _discard_output(sys.stderr)


def _discard_output(stream: TextIO) -> None:
    """Discard further output of a stream, because Python would fail to flush it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
