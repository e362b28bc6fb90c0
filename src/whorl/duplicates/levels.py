"""Texts cut into what is compared: whole documents, paragraphs or lines.

A piece goes by its document's id, `#` and its number in it, from 1 on: `report#3` is the third paragraph of `report`.
Pieces without a word are left out, and counted all the same, so that a number tells which one it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum

from whorl.errors import DocumentError
from whorl.model import Document, documents_of


class Level(StrEnum):
    """What is compared."""

    DOCUMENT = "document"
    PARAGRAPH = "paragraph"
    LINE = "line"


#: What stands between pieces: a paragraph ends where a line is empty.
_BETWEEN = {
    Level.PARAGRAPH: re.compile(r"\r?\n(?:[^\S\r\n]*\r?\n)+"),
    Level.LINE: re.compile(r"\r?\n"),
}


def pieces(text: str, level: Level) -> list[tuple[int, int, int]]:
    r"""Return where the pieces of a text begin, where they end, and where what stands behind them ends.

    >>> pieces("one\n\ntwo\nthree\n", Level.PARAGRAPH)
    [(0, 3, 5), (5, 15, 15)]
    """
    if level is Level.DOCUMENT:
        return [(0, len(text), len(text))]
    found, begin = [], 0
    for between in _BETWEEN[level].finditer(text):
        found.append((begin, between.start(), between.end()))
        begin = between.end()
    return [*found, (begin, len(text), len(text))] if begin < len(text) else found


def pieces_of(document: Document, level: Level) -> list[Document]:
    """Return the pieces of a document as documents, each with its name and its properties.

    Raises:
        DocumentError: Its id is too long for pieces to have others.
    """
    if level is Level.DOCUMENT:
        return [document]
    cut = (document.text[begin:end] for begin, end, _ in pieces(document.text, level))
    texts = [(number, text) for number, text in enumerate(cut, start=1) if text and not text.isspace()]
    ids = [piece_id(document.id, number) for number, _ in texts]
    count = len(texts)
    if not count:
        return []
    properties = [document.properties] * count if document.properties else []
    made = documents_of(ids, [text for _, text in texts], [document.name] * count, properties)
    if made is None:
        raise DocumentError(f"its id is too long: those of its {level}s would have more than is allowed")
    return made


def piece_id(document_id: str, number: int) -> str:
    """Return the id of a piece."""
    return f"{document_id}#{number}"


def without(text: str, document_id: str, superfluous: Collection[str], level: Level) -> str | None:
    """Return a text without some of its pieces; None if nothing but blanks is left of one that had more.

    Args:
        text: Of the document.
        document_id: By which its pieces are known.
        superfluous: Ids of pieces.
        level: What they are.
    """
    kept = [
        text[begin:after]
        for number, (begin, _, after) in enumerate(pieces(text, level), start=1)
        if piece_id(document_id, number) not in superfluous
    ]
    left = "".join(kept)
    if len(left) == len(text):
        return text
    return left if left.strip() else None
