"""Finds the parts of a text that a search for sources can skip: quotations and lists of references.

They are recognised by their notation, so quotations without quotation marks are not found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from enum import Enum

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import mask_ranges
from whorl.errors import ParameterError
from whorl.fingerprint.compare_texts import TextWords
from whorl.request_context import timely

#: Opening quotation marks with their closing marks. The German closing mark is also the English opening mark.
_MARKS = dict(zip('“„«»「『｢〝❝﴿”"', ("”", "“”", "»", "«»", "」", "』", "｣", "〟〞", "❞", "﴾", "”", '"'), strict=True))
#: All opening and closing marks, and the full-width straight mark, which is treated like the usual straight mark.
MARKS = "".join(sorted({*_MARKS, *"".join(_MARKS.values()), "＂"}))
_OPENING = re.compile(f"[{''.join(_MARKS)}]")
#: For each opening mark, closing marks of other notations, because keyboards and language models mix notations. The
#: next mark after the opening mark closes the quotation if it is one of these.
_MIXED_MARKS = {"“": '"“', "„": '"', "”": '"', '"': "”“"}
_NEXT_MARK = re.compile('[“”„"]')
#: A closing mark: after a word, a bracket or a mark at the end of a sentence, and not before a word.
_CLOSING_MARK = re.compile(r"(?<=[\w.,;:!?…)\]%'’*_])[“”\"](?!\w)")
#: A ditto mark ("the same as above") in a column of a table.
_DITTO = re.compile(r'(?:(?<=\t)|(?<=[^\S\n]{2}))"(?=\s\s|\t|\n|\Z)|(?:^|(?<=\n))"(?=[^\S\n]{2}|\t)')
#: For a character class in a regular expression: digits, and letters of scripts with upper and lower case. In other
#: scripts, such as Arabic, Chinese and Thai, an opening mark may follow a letter directly.
CASED_OR_NUMBER = r"\dA-Za-z\xaa\xb2\xb3\xb5\xb9\xba\xbc-\xbe\xc0-\u058f\u10a0-\u10ff\u1e00-\u1fff\u2070-\u218f"
_CASED_OR_NUMBER = re.compile(f"[{CASED_OR_NUMBER}]")
#: Characters that can begin a quotation. A mark right after a letter opens a quotation only if one of them follows.
_BEGINNING = re.compile(r"[\w(\[（《〈「『【“‘«¿¡]")
#: A mark between Hebrew letters, which may have points. After a maqaf (U+05BE), it opens a quotation.
_GERSHAYIM = re.compile(r'(?<=[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7א-ת])"(?=[א-ת])')
#: Opening marks that every paragraph of a long quotation repeats. Only the last paragraph has a closing mark.
_REPEATED = "“„«"
_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n")
_QUOTED_LINES = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
#: Pattern of a heading that fills a line, optionally with a section number or Markdown's `#`.
_HEADING = r"^[ \t]*(?:#{1,6}[ \t]*)?(?:(?:\d+|[A-Z]|[IVX]+)(?:\.\d+)*\.?[ \t]+)?(?:%s)[ \t]*:?[ \t]*(?:#*)$"
_REFERENCES = re.compile(
    _HEADING % "references|bibliography|works cited|literature cited|literature|literatur|literaturverzeichnis|quellen|"
    "quellenverzeichnis|références|bibliographie|referencias|bibliografía|bibliografia|riferimenti|referências|"
    "参考文献",
    re.MULTILINE | re.IGNORECASE,
)
_FOLLOWING_SECTION = re.compile(
    _HEADING % r"append(?:ix|ices)\b.*|acknowledge?ments?|authors?['’]?s? address(?:es)?|index|anhang\b.*|annexes?\b.*|"
    "danksagung|remerciements",
    re.MULTILINE | re.IGNORECASE,
)


class Exclusion(Enum):
    """A kind of text whose words a search for sources ignores."""

    #: Text between quotation marks within a paragraph, and lines that begin with `>`.
    QUOTATIONS = "quotations"
    #: The section after a heading like "References", up to an appendix, acknowledgements, or the end.
    REFERENCES = "references"


def exclusion_named(name: Exclusion | str) -> Exclusion:
    try:
        return Exclusion(name)
    except ValueError:
        names = ", ".join(exclusion.value for exclusion in Exclusion)
        raise ParameterError(f"without must be one of {names}, got {name!r:.80}") from None


def mask_excluded_words(text: str, of_text: TextWords, exclusions: Collection[Exclusion]) -> npt.NDArray[np.bool_]:
    """Return a mask of the words in excluded parts; bool array of shape (words,)."""
    ranges = np.array([*find_excluded_ranges(text, exclusions)], np.int64).reshape(-1, 2)
    return mask_ranges(np.searchsorted(of_text.spans[:, 0], ranges), len(of_text.words))


def find_excluded_ranges(text: str, exclusions: Collection[Exclusion]) -> Iterator[tuple[int, int]]:
    """Yield the excluded parts of a text as half-open ranges of characters; they may overlap."""
    if Exclusion.QUOTATIONS in exclusions:
        yield from (line.span() for line in _QUOTED_LINES.finditer(text))
        yield from quotations_between_marks(text)
    if Exclusion.REFERENCES in exclusions:
        at = 0
        while heading := _REFERENCES.search(text, at):
            following = _FOLLOWING_SECTION.search(text, heading.end())
            at = following.start() if following else len(text)
            yield heading.start(), at


def quotations_between_marks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the quotations in quotation marks within each paragraph, as ranges of characters that include the marks."""
    text, start = unify_marks(text), 0
    for end in timely([*(blank.start() for blank in _PARAGRAPH_END.finditer(text)), len(text)]):
        yield from _find_quotations(text, start, end)
        start = end


def unify_marks(text: str) -> str:
    """Replace the marks of Hebrew abbreviations by gershayim (U+05F4); other gershayim and full-width marks by `"`."""
    return _GERSHAYIM.sub("\u05f4", text.replace("\u05f4", '"')).replace("＂", '"')


def is_inch_or_ditto(text: str, at: int) -> bool:
    """Check whether a straight mark is the sign of inches or a ditto mark."""
    before = text[at - 1 : at] if at else ""
    return (before.isalnum() and not before.isalpha()) or _DITTO.match(text, at) is not None


def _find_quotations(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the quotations in a paragraph, with their marks, as ranges of characters.

    An opening mark without a closing mark is ignored, unless the next paragraph repeats it.
    """
    # Cache the next position of each closing mark, for linear run time.
    places: dict[str, int] = {}
    at = start
    for opening in timely(_OPENING.finditer(text, start, end)):
        if opening.start() < at or not _can_open(text, opening.start()):
            continue
        for mark in _MARKS[opening[0]]:
            if places.get(mark, 0) <= opening.start():
                place = text.find(mark, opening.end(), end)
                places[mark] = place if place >= 0 else end
        closed = min(places[mark] for mark in _MARKS[opening[0]])
        if opening[0] in _MIXED_MARKS:
            closed = min(closed, _find_mixed_mark(text, opening.start(), end, is_needed=closed == end))
        if closed < end:
            yield opening.start(), closed + 1
            at = closed + 1
        elif opening[0] in _REPEATED and re.compile(rf"\s*{opening[0]}").match(text, end):
            yield opening.start(), end
            at = end


def _find_mixed_mark(text: str, at: int, end: int, *, is_needed: bool) -> int:
    """Return the position of the next mark if it closes the mark at `at` in another notation, else `end`.

    After a digit, the next mark may be the sign of inches. Then it closes the quotation only if no other mark in the
    paragraph could close it (`is_needed`).
    """
    found = _NEXT_MARK.search(text, at + 1, end)
    if not found or found[0] not in _MIXED_MARKS[text[at]] or not _CLOSING_MARK.match(text, found.start()):
        return end
    return found.start() if is_needed or not text[found.start() - 1].isdecimal() else end


def _can_open(text: str, at: int) -> bool:
    """Check whether a mark can open a quotation: it must not be an inch mark, a ditto mark or a closing mark."""
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    is_after_blank, is_before_blank = not before or before.isspace(), not after or after.isspace()
    if text[at] == '"' and is_inch_or_ditto(text, at):
        return False
    if text[at] == '"' and unicodedata.category(before or " ")[0] in "LM":
        return not _CASED_OR_NUMBER.match(before) and _BEGINNING.match(after) is not None
    if text[at] == '"':
        return is_after_blank or not is_before_blank
    return text[at] != "”" or ((is_after_blank or before in "([") and not is_before_blank)
