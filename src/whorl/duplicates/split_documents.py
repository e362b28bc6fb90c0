"""Splits documents into paragraphs or lines with ids, and removes pieces and passages from texts.

A piece is a paragraph or line: `report#3` is the id of the third paragraph of `report`. Blank pieces are counted, but
not compared. The id of a passage, which is a repeated run of words, contains its character range: `report#120-480`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from whorl.duplicates.options import Granularity
from whorl.errors import DocumentError
from whorl.model import Document, documents_of

#: Separators: one or more empty lines between paragraphs, a line break between lines.
_BETWEEN = {
    Granularity.PARAGRAPH: re.compile(r"\r?\n(?:[^\S\r\n]*\r?\n)+"),
    Granularity.LINE: re.compile(r"\r?\n"),
}
#: A text without any word: only white space and punctuation.
_NO_WORD = re.compile(r"[\s!-/:-@\[-`{-~\u2010-\u205e\u3001-\u301f]*")
#: White space within a line, and the rest of an empty line with its line break.
_BLANKS, _EMPTY_LINE = re.compile(r"[^\S\r\n]*"), re.compile(r"[^\S\r\n]*(?:\r\n|[\r\n])?")
_TWO_LETTERS = re.compile(r"\w\w")


def pieces(text: str, granularity: Granularity) -> list[tuple[int, int, int]]:
    r"""Return the start and end of each paragraph or line of a text, and the end of the separator after it.

    >>> pieces("one\n\ntwo\nthree\n", Granularity.PARAGRAPH)
    [(0, 3, 5), (5, 15, 15)]
    """
    ranges, begin = [], 0
    for between in _BETWEEN[granularity].finditer(text):
        ranges.append((begin, between.start(), between.end()))
        begin = between.end()
    return [*ranges, (begin, len(text), len(text))] if begin < len(text) else ranges


def pieces_of(document: Document, granularity: Granularity) -> list[Document]:
    """Return the paragraphs or lines of a document, with its name and properties; for other units, the document itself.

    Raises:
        DocumentError: The id of a piece is too long.
    """
    if granularity not in _BETWEEN:
        return [document]
    cut = (document.text[begin:end] for begin, end, _ in pieces(document.text, granularity))
    texts = {piece_id(document.id, number): text for number, text in enumerate(cut, start=1) if text.strip()}
    if not texts:
        return []
    properties = [document.properties] * len(texts) if document.properties else []
    documents = documents_of([*texts], [*texts.values()], [document.name] * len(texts), properties)
    if documents is None:
        raise DocumentError(f"its id is too long: those of its {granularity}s would have more than is allowed")
    return documents


def piece_id(document_id: str, number: int) -> str:
    return f"{document_id}#{number}"


def remove_pieces(text: str, document_id: str, removed_ids: Collection[str], granularity: Granularity) -> str | None:
    """Remove the pieces with ids in `removed_ids` from a document's text; return None if only white space is left."""
    remaining = [
        text[begin:after]
        for number, (begin, _, after) in enumerate(pieces(text, granularity), start=1)
        if piece_id(document_id, number) not in removed_ids
    ]
    left = "".join(remaining)
    if len(left) == len(text):
        return text
    return left if left.strip() else None


def passage_id(document_id: str, begin: int, end: int) -> str:
    return f"{document_id}#{begin}-{end}"


def span_of(passage: str) -> tuple[str, int, int]:
    document_id, _, span = passage.rpartition("#")
    begin, _, end = span.partition("-")
    return document_id, int(begin), int(end)


def group_by_document(passages: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
    """Return the character ranges of passage ids by document, ascending."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    for passage in passages:
        document_id, begin, end = span_of(passage)
        ranges.setdefault(document_id, []).append((begin, end))
    for own in ranges.values():
        own.sort()
    return ranges


def without_ranges(text: str, ranges: Sequence[tuple[int, int]]) -> str | None:
    r"""Remove ranges of characters from a text; return None if no word is left.

    The blanks after a range are also removed, unless the range directly follows a word or a punctuation mark; so is the
    line break after a range that begins a line. If two words would touch, they get a blank between them. The ranges
    ascend and may overlap.

    >>> without_ranges("one two three, four\n$five", [(4, 7), (15, 19)])
    'one three, \n$five'
    """
    left, at = "", 0
    for begin, end in ranges:
        if end <= at:
            continue
        left += text[at : max(at, begin)]
        at = _end_of_cut(left, text, end)
        if _TWO_LETTERS.match(left[-1:] + text[at : at + 1]):
            left += " "
    left += text[at:]
    return None if ranges and _NO_WORD.fullmatch(left) else left


def _end_of_cut(left: str, text: str, end: int) -> int:
    if left and not left[-1].isspace():
        return end
    space = (_BLANKS if left and left[-1] not in "\r\n" else _EMPTY_LINE).match(text, end)
    return space.end() if space else end
