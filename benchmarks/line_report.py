"""Prints the lines that a benchmark measures, and records them as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

#: What was measured, its value, and the unit.
Line = tuple[str, float, str]


def report(lines: Iterable[Line], file: Path | None, width: int = 45) -> list[Line]:
    """Print each line when it is measured, write all of them to a CSV file if one is given, and return them."""
    measured = []
    for name, value, unit in lines:
        print(f"{name:{width}} {value:>12,.2f} {unit}", flush=True)
        measured.append((name, value, unit))
    if file:
        rows = [(name, f"{value:.3f}", unit) for name, value, unit in measured]
        with file.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([("what", "value", "unit"), *rows])
    return measured
