"""Files and folders to documents: text, Markdown, HTML, and JSON lines of `{"id", "text", …}`.

A file that cannot be read is a problem to be told at the end, never the end of the run.
"""

from __future__ import annotations

import codecs
import json
import stat
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from whorl.errors import DocumentError, ParameterError

if TYPE_CHECKING:
    from whorl.engine.base import Document

_HTML = frozenset({".html", ".htm", ".xhtml"})
#: Elements that stand on lines of their own.
_BLOCKS = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "option",
    "p",
    "pre",
    "section",
    "select",
    "table",
    "td",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
]
_JSON_LINES = frozenset({".jsonl", ".ndjson"})
#: Text encodings that announce themselves, those of four bytes first: they begin as the ones of two do.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, or a line of one, that gave no document."""

    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


def files_under(paths: Iterable[Path], on_problem: Callable[[Problem], None]) -> Iterator[Path]:
    """Yield the files that paths name, those in folders in the order of their names; hidden ones are left out.

    Links are followed, and each folder is read once, so that a link to a folder above ends. What is neither a file
    nor a folder (a pipe, a device) is a problem: reading it might never end.
    """
    for named in paths:
        # A list, not recursion: folders nest deeper than Python's stack.
        waiting, read = [named], set[tuple[int, int]]()
        while waiting:
            path = waiting.pop()
            try:
                status = path.stat()
                if stat.S_ISREG(status.st_mode):
                    yield path
                elif not stat.S_ISDIR(status.st_mode):
                    on_problem(Problem(str(path), "this is neither a file nor a folder"))
                elif (status.st_dev, status.st_ino) not in read:
                    read.add((status.st_dev, status.st_ino))
                    waiting += sorted((each for each in path.iterdir() if not each.name.startswith(".")), reverse=True)
            except FileNotFoundError:
                is_link = path.is_symlink()
                on_problem(
                    Problem(str(path), "this link leads nowhere" if is_link else "there is no such file or folder")
                )
            except OSError as error:
                on_problem(Problem(str(path), error.strerror or str(error)))


def documents_in(file: Path, on_problem: Callable[[Problem], None]) -> Iterator[Document]:
    """Yield the documents of a file: one for each JSON line, one for any other file, under its path as its id."""
    from whorl.engine.base import Document  # here, because the text of one file takes no documents

    try:
        if file.suffix.lower() in _JSON_LINES:
            yield from _json_lines(file, on_problem)
            return
        yield Document(id=file.as_posix(), text=file_text(file.read_bytes(), file), name=file.name)
    except OSError as error:
        on_problem(Problem(str(file), error.strerror or str(error)))
    except DocumentError as error:
        on_problem(Problem(str(file), str(error)))


def source_text(named: str) -> str:
    """Return the text of a file, or of standard input where `-` is named.

    Raises:
        ParameterError: It cannot be read, or is not text.
    """
    try:
        if named != "-":
            return file_text(Path(named).read_bytes(), Path(named))
        if sys.stdin is None:
            raise ParameterError("- is standard input, and that is closed; name a file")
        return decode(sys.stdin.buffer.read())
    except OSError as error:
        raise ParameterError(f"{named} cannot be read: {error.strerror or error}") from error
    except DocumentError as error:
        raise ParameterError(f"{named}: {error}") from error


def file_text(raw: bytes, file: PurePath) -> str:
    """Return the text of a file's bytes; by its name it is HTML, of which that is what a reader sees.

    Raises:
        DocumentError: The bytes are not text in any encoding that can be told, or the HTML cannot be read.
    """
    text = decode(raw)
    return html_text(text) if file.suffix.lower() in _HTML else text


def _json_lines(file: Path, on_problem: Callable[[Problem], None]) -> Iterator[Document]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if number == 1 and (encoding := _announced(line)) not in (None, "utf-8-sig"):
                raise DocumentError(f"JSON lines are UTF-8, and this is {encoding}")
            if line.strip():
                try:
                    yield json_document(line)
                except DocumentError as error:
                    on_problem(Problem(f"{file}, line {number}", str(error)))


def json_document(line: bytes) -> Document:
    """Return the document of one JSON line; what is not id, text or name becomes a property.

    Raises:
        DocumentError: No JSON, no object, or one without an id and a text.
    """
    from whorl.engine.base import Document

    try:
        told = json.loads(line)
    except json.JSONDecodeError as error:
        raise DocumentError(f"this is not JSON: {error.msg}, at character {error.colno}") from None
    except RecursionError:
        raise DocumentError("this is nested too deep to be read") from None
    except ValueError as error:
        # No UTF-8, or a number of thousands of digits.
        raise DocumentError(str(error)) from None
    if not isinstance(told, dict) or "id" not in told or "text" not in told:
        raise DocumentError('a line is an object with at least "id" and "text"')
    if isinstance(told["id"], int) and not isinstance(told["id"], bool):
        told["id"] = str(told["id"])
    document_id, text, name = told.pop("id"), told.pop("text"), told.pop("name", None)
    properties = {key: value for key, value in told.items() if value is not None}
    return Document(document_id, text, "" if name is None else name, properties)


def decode(raw: bytes) -> str:
    """Return the text of a file's bytes.

    Raises:
        DocumentError: The bytes are not text in any encoding that can be told.
    """
    broken = 0
    if encoding := _announced(raw):
        text = raw.decode(encoding, errors="replace")
        broken = 0 if encoding == "utf-8-sig" else text.count("\N{REPLACEMENT CHARACTER}")
    else:
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                # Only the last character is broken: the file was cut.
                return raw.decode("utf-8", errors="replace")
            # Imported here: few texts need to be guessed at.
            from charset_normalizer import from_bytes

            best = from_bytes(raw).best()
            if best is None or b"\0" in raw:
                raise DocumentError("this is not text in any encoding that can be told") from None
            return str(best)
    # A few of these stand in real text; many are a binary file that happens to begin as text does.
    if text.count("\0") + broken > max(1, len(text) // 100):
        raise DocumentError("this is not text: it is full of NUL characters or of broken ones")
    return text


def _announced(raw: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), None)


def html_text(markup: str) -> str:
    """Return what a reader of a page sees: no tags, scripts or styles; blocks stand on lines of their own.

    Raises:
        DocumentError: The parser gives up.
    """
    # Imported here: a tenth of a second that only HTML needs.
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    try:
        with warnings.catch_warnings():
            # Of pages that look like XML or are no longer than an address; those are read as well.
            warnings.simplefilter("ignore", UserWarning)
            soup = BeautifulSoup(markup, "html.parser")
    except (ParserRejectedMarkup, ValueError) as error:
        # A character reference of thousands of digits is the ValueError.
        raise DocumentError(f"this HTML cannot be read: {str(error).partition(chr(10))[0]}") from error
    for unseen in soup(["script", "style", "template", "noscript"]):
        unseen.decompose()
    # Words in a row may be parts of one (un<b>believ</b>able), but blocks are apart.
    for block in soup.find_all(_BLOCKS):
        block.insert(0, "\n")
        block.append("\n")
    return soup.get_text()
