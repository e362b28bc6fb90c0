"""Texts cut into what is compared: whole documents, paragraphs or lines; or passages, wherever they stand in them.

A piece goes by its document's id, `#` and its number in it, from 1 on: `report#3` is the third paragraph of `report`.
Pieces without a word are left out, and counted all the same, so that a number tells which one it is.
A passage goes by the characters that it has there: `report#120-480`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

from whorl.errors import DocumentError
from whorl.model import Document, documents_of


class Level(StrEnum):
    """What is compared."""

    DOCUMENT = "document"
    PARAGRAPH = "paragraph"
    LINE = "line"
    PASSAGE = "passage"


#: What stands between pieces: a paragraph ends where a line is empty.
_BETWEEN = {
    Level.PARAGRAPH: re.compile(r"\r?\n(?:[^\S\r\n]*\r?\n)+"),
    Level.LINE: re.compile(r"\r?\n"),
}
#: Blanks and punctuation, in which there is no word.
_NO_WORD = re.compile(r"[\s!-/:-@\[-`{-~\u2010-\u205e\u3001-\u301f]*")


def pieces(text: str, level: Level) -> list[tuple[int, int, int]]:
    r"""Return where the pieces of a text begin, where they end, and where what stands behind them ends.

    >>> pieces("one\n\ntwo\nthree\n", Level.PARAGRAPH)
    [(0, 3, 5), (5, 15, 15)]
    """
    if level not in _BETWEEN:
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
    if level not in _BETWEEN:
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


def passage_id(document_id: str, begin: int, end: int) -> str:
    """Return the id of the passage that a document has in a half-open range of its characters."""
    return f"{document_id}#{begin}-{end}"


def by_document(passages: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
    """Return the ranges of passages of each document, by their ids, in the order of its text."""
    found: dict[str, list[tuple[int, int]]] = {}
    for each in passages:
        document_id, _, told = each.rpartition("#")
        begin, _, end = told.partition("-")
        found.setdefault(document_id, []).append((int(begin), int(end)))
    for ranges in found.values():
        ranges.sort()
    return found


def without_ranges(text: str, ranges: Sequence[tuple[int, int]]) -> str | None:
    r"""Return a text without some ranges and the punctuation and blanks behind each; None if no more than such is left.

    Args:
        text: Of the document.
        ranges: Half-open ranges of characters, in the order of the text.

    >>> without_ranges("one two. Three\nfour", [(4, 7)])
    'one Three\nfour'
    """
    kept, at = [], 0
    for begin, end in ranges:
        kept.append(text[at : max(at, begin)])
        behind = _NO_WORD.match(text, max(at, end))
        at = behind.end() if behind else end
    left = "".join([*kept, text[at:]])
    return None if ranges and _NO_WORD.fullmatch(left) else left
