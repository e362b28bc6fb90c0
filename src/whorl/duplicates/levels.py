"""Granularity of the comparison: whole documents, paragraphs or lines; or passages, wherever they occur in documents.

A piece has the id of its document, `#` and its number from 1: `report#3` is the third paragraph of `report`. Pieces
without a word are left out but counted, so that the number identifies the paragraph in the text.
A passage has its character range instead: `report#120-480`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

from whorl.errors import DocumentError
from whorl.model import Document, documents_of


class Level(StrEnum):
    """Granularity of the comparison."""

    DOCUMENT = "document"
    PARAGRAPH = "paragraph"
    LINE = "line"
    PASSAGE = "passage"


#: Separators of pieces: a paragraph ends at an empty line.
_BETWEEN = {
    Level.PARAGRAPH: re.compile(r"\r?\n(?:[^\S\r\n]*\r?\n)+"),
    Level.LINE: re.compile(r"\r?\n"),
}
#: White space and punctuation.
_NO_WORD = re.compile(r"[\s!-/:-@\[-`{-~\u2010-\u205e\u3001-\u301f]*")
#: White space within a line, and the same with the following line break.
_BLANKS, _EMPTY_LINE = re.compile(r"[^\S\r\n]*"), re.compile(r"[^\S\r\n]*(?:\r\n|[\r\n])?")
_TWO_LETTERS = re.compile(r"\w\w")


def pieces(text: str, level: Level) -> list[tuple[int, int, int]]:
    r"""Return the start and end of each piece of a text, and the end of the separator after it.

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
        DocumentError: The document's id is too long for the longer ids of its pieces.
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
    """Return a text without some of its pieces; None if only white space is left of a text that had more.

    Args:
        text: Text of the document.
        document_id: Id of the document, prefix of the ids of its pieces.
        superfluous: Ids of the pieces to remove.
        level: Granularity of the pieces.
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
    """Return the id of the passage in a half-open character range of a document."""
    return f"{document_id}#{begin}-{end}"


def by_document(passages: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
    """Return the character ranges of passages by document id, in the order of the text."""
    found: dict[str, list[tuple[int, int]]] = {}
    for each in passages:
        document_id, _, told = each.rpartition("#")
        begin, _, end = told.partition("-")
        found.setdefault(document_id, []).append((int(begin), int(end)))
    for ranges in found.values():
        ranges.sort()
    return found


def without_ranges(text: str, ranges: Sequence[tuple[int, int]]) -> str | None:
    r"""Return a text without some ranges of its characters; None if no word is left.

    Everything else stays, except white space: blanks after a cut are removed if white space or nothing precedes the
    cut, and so is the following line break at the beginning of a line. A blank separates words that a cut would join.

    Args:
        text: Text of the document.
        ranges: Half-open ranges of characters, in the order of the text; they may overlap.

    >>> without_ranges("one two three, four\n$five", [(4, 7), (15, 19)])
    'one three, \n$five'
    """
    left, at = "", 0
    for begin, end in ranges:
        if end <= at:
            continue
        left += text[at : max(at, begin)]
        at = _behind(left, text, end)
        if _TWO_LETTERS.match(left[-1:] + text[at : at + 1]):
            left += " "
    left += text[at:]
    return None if ranges and _NO_WORD.fullmatch(left) else left


def _behind(left: str, text: str, end: int) -> int:
    """Return the end of the white space to remove after a cut, given the text that stays before it."""
    if left and not left[-1].isspace():
        return end
    space = (_BLANKS if left and left[-1] not in "\r\n" else _EMPTY_LINE).match(text, end)
    return space.end() if space else end
