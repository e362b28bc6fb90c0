"""Finds words that a hyphen breaks at the end of a line.

The hyphen may be part of the word, as in `well-known`; the other text of a comparison decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: A hyphen, or a soft hyphen, at the end of a line, up to the first word of the next line.
_HYPHEN = re.compile("[-\u00ad\u2010][ \t\r]*\n[ \t]*")


def line_end_hyphens(text: str) -> Iterator[tuple[int, int]]:
    """Yield the character range of each hyphen and line end between two letters."""
    return (found.span() for found in _HYPHEN.finditer(text) if _is_in_word(found))


def without_line_end_hyphens(text: str) -> str:
    r"""Return a text with broken words joined.

    >>> without_line_end_hyphens("An exam-\n  ple of 1-\n2, pre-\nWar")
    'An example of 1-\n2, pre-\nWar'
    """
    return _HYPHEN.sub(lambda hyphen: "" if _is_in_word(hyphen) else hyphen[0], text)


def _is_in_word(hyphen: re.Match[str]) -> bool:
    text, start, end = hyphen.string, hyphen.start(), hyphen.end()
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    return before.isalpha() and after.isalpha() and (after.islower() or before.isupper())
