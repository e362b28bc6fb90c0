"""Numbers and text as people and terminals read them."""

from __future__ import annotations

import json
import re
import sys

#: What a cell begins with that a spreadsheet computes (OWASP, CSV injection).
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_UNESCAPED_CONTROLS = re.compile("[\x7f-\x9f]")


def as_json(values: object) -> str:
    """Return JSON that standard output can show whatever its encoding, and that no terminal acts on."""
    # Not every terminal's encoding has every character of an id.
    is_unicode = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    text = json.dumps(values, ensure_ascii=not is_unicode, indent=2)
    # JSON leaves these as they are, and some terminals act on them.
    return _UNESCAPED_CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04x}", text)


def counted(number: int, noun: str, several: str = "") -> str:
    """Return a number with its noun: `1 document`, `2,000 documents`, or the word for several of them."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {several or f'{noun}s'}"


def printable(text: str) -> str:
    """Replace what would move the cursor or colour the screen: control characters in ids and names are data."""
    return "".join(char if char.isprintable() or char == " " else "\N{REPLACEMENT CHARACTER}" for char in text)


def is_one_line(text: str) -> bool:
    """Tell whether a text is one line to whoever reads lines; whorl's own ids are, those of others need not be.

    >>> is_one_line("a b"), is_one_line("a\u2028b"), is_one_line("")
    (True, False, False)
    """
    return text.splitlines() == [text]


def titled(document_id: str, name: str) -> str:
    """Return the id of a document and, where it has another one, its name, both printable."""
    return f"{printable(document_id)}  {printable(name)}" if name and name != document_id else printable(document_id)


def cell(value: object) -> object:
    """Return a value as a cell of CSV: truth values in small letters, and no text that a spreadsheet would compute.

    A text that begins as a formula does gets an apostrophe before it, which spreadsheets take for "this is text".

    >>> cell("=1+1"), cell("a=1"), cell(-1.5), cell(True)
    ("'=1+1", 'a=1', -1.5, 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
