"""Lines of JSON, `{"id", "text", …}`, to documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from whorl.errors import DocumentError
from whorl.ingest.extraction.decoding import announced

if TYPE_CHECKING:
    from whorl.model import Document


def documents_of_lines(lines: Iterable[bytes]) -> Iterator[tuple[int, Document | DocumentError]]:
    """Yield the number of each line that is not empty, from 1 on, and its document, or why it has none.

    Raises:
        DocumentError: The lines are in another encoding than UTF-8.
    """
    for number, line in enumerate(lines, start=1):
        if number == 1 and (encoding := announced(line)) not in (None, "utf-8-sig"):
            raise DocumentError(f"JSON lines are UTF-8, and this is {encoding}")
        if line.strip():
            try:
                yield number, json_document(line)
            except DocumentError as error:
                yield number, error


def json_document(line: bytes) -> Document:
    """Return the document of one JSON line; what is not id, text or name becomes a property.

    Raises:
        DocumentError: No JSON, no object, or one without an id and a text.
    """
    try:
        told = json.loads(line)
    except json.JSONDecodeError as error:
        raise DocumentError(f"this is not JSON: {error.msg}, at character {error.colno}") from None
    except RecursionError:
        raise DocumentError("this is nested too deep to be read") from None
    except ValueError as error:
        # No UTF-8, or a number of thousands of digits.
        raise DocumentError(str(error)) from None
    return document_of(told)


def document_of(told: object) -> Document:
    """Return the document of a JSON value.

    Raises:
        DocumentError: No object, or one without an id and a text.
    """
    from whorl.model import Document

    if not isinstance(told, dict) or "id" not in told or "text" not in told:
        raise DocumentError('a line is an object with at least "id" and "text"')
    if isinstance(told["id"], int) and not isinstance(told["id"], bool):
        told["id"] = str(told["id"])
    document_id, text, name = told.pop("id"), told.pop("text"), told.pop("name", None)
    properties = {key: value for key, value in told.items() if value is not None}
    return Document(document_id, text, "" if name is None else name, properties)
