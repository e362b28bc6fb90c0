"""Formats numbers and text for output: percentages, counts, escaped control characters, CSV cells.

All output rounds shares down: to six decimals in JSON and CSV, and to a tenth of a percent in text. So only complete
overlap is shown as 1 or 100.0%; 22 of 187 is 0.117647 or 11.7%. An interval is rounded outward, so that it never
shrinks: its lower end down, and its upper end up.
"""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import IO

from whorl.fingerprint.statistics.metric import SLACK, Shares

#: Columns of CSV and Parquet files for the shares without common text (boilerplate), keyed by the names of the shares.
RESIDUAL_COLUMNS = {name: f"{name}_without_common" for name in Shares.NAMES}


def percent(share: float, *, is_exact: bool = True) -> str:
    """Format a share in [0, 1] as a percentage; `~` marks an estimate.

    >>> percent(22 / 187), percent(9999 / 10000), percent(1 / 5000)
    ('11.7%', '99.9%', '<0.1%')
    """
    tenths = math.floor(share * 1000 + SLACK)
    shown = "<0.1%" if share and not tenths else f"{tenths // 10}.{tenths % 10}%"
    return shown if is_exact else f"~{shown}"


def percent_interval(low: float, high: float) -> str:
    """Format an interval of shares in whole percent.

    >>> percent_interval(0.118, 0.131)
    '11–14'
    """
    return f"{math.floor(100 * low + SLACK)}–{math.ceil(100 * high - SLACK)}"


#: If a cell begins with one of these characters, a spreadsheet evaluates it as a formula (OWASP, CSV injection).
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
#: Control characters that terminals interpret but JSON does not escape.
_UNESCAPED_CONTROLS = re.compile("[\x7f-\x9f]")
_C1 = re.compile("[\x80-\x9f]")
#: Control characters that terminals interpret, without tabs and line ends, which CSV quotes.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def as_json(values: object) -> str:
    """Return JSON in the encoding of standard output, with escaped control characters."""
    # An encoding other than Unicode may lack characters of an id, so escape all characters outside ASCII.
    is_unicode = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    text = json.dumps(values, ensure_ascii=not is_unicode, indent=2)
    return without_controls(text)


def without_controls(text: str) -> str:
    r"""Escape the control characters that JSON does not escape by itself.

    >>> without_controls('"a\x9b31m"')
    '"a\\u009b31m"'
    """
    return _UNESCAPED_CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04x}", text)


def plural(number: int, noun: str, several: str = "") -> str:
    """Format a number with its noun: `1 document`, `2,000 documents`; `several` is an irregular plural."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {several or f'{noun}s'}"


def printable(text: str) -> str:
    """Replace control characters in an untrusted id or name: they could move the cursor or colour the screen."""
    return "".join(char if char.isprintable() or char == " " else "\N{REPLACEMENT CHARACTER}" for char in text)


def is_one_line(text: str) -> bool:
    r"""Check whether a text is one line without control characters.

    >>> is_one_line("a b"), is_one_line("a\u2028b"), is_one_line("a\x9b"), is_one_line("")
    (True, False, False, False)
    """
    return text.splitlines() == [text] and not _CONTROLS.search(text)


def title_of(document_id: str, name: str) -> str:
    """Return the printable id of a document, and its name if it differs from the id."""
    return f"{printable(document_id)}  {printable(name)}" if name and name != document_id else printable(document_id)


def cell(value: object) -> object:
    """Return a value as a CSV cell; truth values are in lower case.

    An apostrophe is put before a text that begins like a formula, so that spreadsheets do not evaluate it.

    >>> cell("=1+1"), cell("a=1"), cell(-1.5), cell(True)
    ("'=1+1", 'a=1', -1.5, 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return value
    shown = _C1.sub("\N{REPLACEMENT CHARACTER}", value)
    return f"'{shown}" if shown.startswith(_FORMULAS) else shown


def write_csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]], out: IO[str]) -> None:
    """Write the named columns of rows as CSV; a missing value gives an empty cell."""
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
