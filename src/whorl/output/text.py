"""Text formatting for terminals, JSON and CSV: control characters, counts with nouns, spreadsheet-safe cells."""

from __future__ import annotations

import json
import re
import sys

#: First characters that make a spreadsheet compute a cell (OWASP, CSV injection).
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
#: Control characters that JSON does not escape, although terminals interpret them.
_UNESCAPED_CONTROLS = re.compile("[\x7f-\x9f]")
_C1 = re.compile("[\x80-\x9f]")
#: Control characters that terminals interpret, except tabs and line ends, which CSV quotes.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def as_json(values: object) -> str:
    """Return JSON for standard output, in its encoding and without control characters."""
    # The terminal's encoding may lack characters of an id.
    is_unicode = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    text = json.dumps(values, ensure_ascii=not is_unicode, indent=2)
    return without_controls(text)


def without_controls(text: str) -> str:
    r"""Escape the control characters that JSON permits unescaped.

    >>> without_controls('"a\x9b31m"')
    '"a\\u009b31m"'
    """
    return _UNESCAPED_CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04x}", text)


def counted(number: int, noun: str, several: str = "") -> str:
    """Return a number with its noun: `1 document`, `2,000 documents`; `several` is an irregular plural."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {several or f'{noun}s'}"


def printable(text: str) -> str:
    """Replace control characters, which would move the cursor or colour the screen; ids and names are untrusted."""
    return "".join(char if char.isprintable() or char == " " else "\N{REPLACEMENT CHARACTER}" for char in text)


def is_one_line(text: str) -> bool:
    r"""Check that a text is one line without control characters, as whorl's own ids are.

    >>> is_one_line("a b"), is_one_line("a\u2028b"), is_one_line("a\x9b"), is_one_line("")
    (True, False, False, False)
    """
    return text.splitlines() == [text] and not _CONTROLS.search(text)


def titled(document_id: str, name: str) -> str:
    """Return the printable id of a document, with its name if it has another one."""
    return f"{printable(document_id)}  {printable(name)}" if name and name != document_id else printable(document_id)


def cell(value: object) -> object:
    """Return a value as a cell of CSV: truth values in lower case, and text that a spreadsheet does not compute.

    A text that begins like a formula gets an apostrophe before it, which spreadsheets read as "this is text".

    >>> cell("=1+1"), cell("a=1"), cell(-1.5), cell(True)
    ("'=1+1", 'a=1', -1.5, 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return value
    shown = _C1.sub("\N{REPLACEMENT CHARACTER}", value)
    return f"'{shown}" if shown.startswith(_FORMULAS) else shown
