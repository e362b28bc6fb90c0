"""Prints the results of engines.py as a table, and saves them as CSV."""

from __future__ import annotations

import csv
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from engine_timing import Ratio


@dataclass(frozen=True, slots=True)
class Row:
    """A comparison: `ratio` is the first value divided by the second.

    Args:
        measure: Index speed, size on disk, or search.
        form: Source of the query, or "".
        caches: Solr's caches (off, on, as configured), or "".
        first: Name of the first method.
        second: Name of the second method.
        ratio: Median over queries.
        low: 10th percentile over queries.
        high: 90th percentile over queries.
        first_value: In `unit`; the median over queries.
        second_value: In `unit`; the median over queries.
        unit: Unit of both values.
    """

    measure: str
    form: str
    caches: str
    first: str
    second: str
    ratio: float
    low: float | None
    high: float | None
    first_value: float
    second_value: float
    unit: str


def row_of_values(measure: str, unit: str, first: tuple[str, float], second: tuple[str, float]) -> Row:
    ratio = first[1] / second[1]
    return Row(measure, "", "", first[0], second[0], ratio, None, None, first[1], second[1], unit)


def row_of_times(form: str, caches: str, first: str, second: str, ratio: Ratio) -> Row:
    """Return the comparison of two search methods."""
    values = (ratio.median, ratio.low, ratio.high, ratio.first_ms, ratio.second_ms)
    return Row("search", form, caches, first, second, *values, "ms")


def circumstances(command: str) -> dict[str, str | int]:
    """Return the date, machine and versions of a run; the load is measured before it."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "whorl": version("whorl"),
        "tantivy": version("tantivy"),
        "python": platform.python_version(),
        "cores": os.cpu_count() or 0,
        "load": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "",
        "command": command,
    }


def values_table(rows: Iterable[Row]) -> str:
    """Return comparisons of single values as a Markdown table."""
    head = ("measure", "this", "", "against", "", "ratio")
    return _table(head, [
        (row.measure, row.first, _number(row.first_value), row.second, f"{_number(row.second_value)} {row.unit}",
         f"{row.ratio:.2f}")
        for row in rows
    ])  # fmt: skip


def times_table(rows: Iterable[Row]) -> str:
    """Return comparisons of search methods as a Markdown table."""
    head = ("this", "against", "query", "ratio", "10 % to 90 %", "this, ms", "against, ms")
    return _table(head, [
        (row.first, row.second, row.form, f"{row.ratio:.2f}", f"{row.low:.2f} to {row.high:.2f}",
         f"{row.first_value:.1f}", f"{row.second_value:.1f}")
        for row in rows
    ])  # fmt: skip


def write_csv(path: Path, rows: Sequence[Row], common: Mapping[str, str | int]) -> None:
    """Write one comparison a line, each with the run's common columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*common, *asdict(rows[0])])
        for row in rows:
            values = [f"{value:.4g}" if isinstance(value, float) else value for value in asdict(row).values()]
            writer.writerow([*common.values(), *values])


def say(message: str) -> None:
    print(f"engines: {message}", file=sys.stderr, flush=True)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    widths = [max(3, *(len(line[at]) for line in [head, *lines])) for at in range(len(head))]
    ruled = [head, ["-" * width for width in widths], *lines]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in ruled
    )
