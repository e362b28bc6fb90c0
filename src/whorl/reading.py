"""Files and folders to documents: text, Markdown, HTML, and JSON lines of `{"id", "text", …}`.

A file that cannot be read is a problem to be told at the end, never the end of the run.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from charset_normalizer import from_bytes

from whorl.engine.base import Document
from whorl.errors import DocumentError

_HTML = frozenset({".html", ".htm", ".xhtml"})
_JSON_LINES = frozenset({".jsonl", ".ndjson"})
#: Text encodings that announce themselves.
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, or a line of one, that gave no document."""

    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


def files_under(paths: Iterable[Path], on_problem: Callable[[Problem], None]) -> Iterator[Path]:
    """Yield the files that paths name, those in folders in the order of their names; hidden ones are left out."""
    for path in paths:
        if path.is_dir():
            try:
                inside = sorted(child for child in path.iterdir() if not child.name.startswith("."))
            except OSError as error:
                on_problem(Problem(str(path), error.strerror or str(error)))
                continue
            yield from files_under((child for child in inside if child.is_dir() or child.is_file()), on_problem)
        elif path.is_file():
            yield path
        else:
            on_problem(Problem(str(path), "there is no such file or folder"))


def documents_in(file: Path, on_problem: Callable[[Problem], None]) -> Iterator[Document]:
    """Yield the documents of a file: one for each JSON line, one for any other file, under its path as its id."""
    try:
        if file.suffix.lower() in _JSON_LINES:
            yield from _json_lines(file, on_problem)
            return
        text = decode(file.read_bytes())
        if file.suffix.lower() in _HTML:
            text = html_text(text)
        yield Document(id=file.as_posix(), text=text, name=file.name)
    except OSError as error:
        on_problem(Problem(str(file), error.strerror or str(error)))
    except DocumentError as error:
        on_problem(Problem(str(file), str(error)))


def _json_lines(file: Path, on_problem: Callable[[Problem], None]) -> Iterator[Document]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    yield json_document(line)
                except (DocumentError, ValueError, RecursionError) as error:
                    on_problem(Problem(f"{file}, line {number}", str(error)))


def json_document(line: bytes) -> Document:
    """Return the document of one JSON line; what is not id, text or name becomes a property.

    Raises:
        DocumentError: No object, or without an id and a text.
        ValueError: No JSON.
    """
    told = json.loads(line)
    if not isinstance(told, dict) or "id" not in told or "text" not in told:
        raise DocumentError('a line is an object with at least "id" and "text"')
    if isinstance(told["id"], int) and not isinstance(told["id"], bool):
        told["id"] = str(told["id"])
    named = {key: told.pop(key) for key in ("id", "text", "name") if key in told}
    return Document(**named, properties={key: value for key, value in told.items() if value is not None})


def decode(raw: bytes) -> str:
    """Return the text of a file's bytes.

    Raises:
        DocumentError: The bytes are not text in any encoding that can be told.
    """
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return raw.decode(encoding, errors="replace")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        best = from_bytes(raw).best()
        if best is None or b"\0" in raw:
            raise DocumentError("this is not text in any encoding that can be told") from None
        return str(best)
    # A few NULs stand in real text; many are a binary file that happens to be valid UTF-8.
    if text.count("\0") > len(text) // 100:
        raise DocumentError("this is not text: it is full of NUL characters")
    return text


def html_text(markup: str) -> str:
    """Return what a reader of a page sees: no tags, scripts or styles; blocks stand on lines of their own."""
    # Imported here: a tenth of a second that only HTML needs.
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(markup, "html.parser")
    for unseen in soup(["script", "style", "template", "noscript"]):
        unseen.decompose()
    return soup.get_text("\n")
