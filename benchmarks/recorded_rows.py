"""Records the rows of a benchmark in a CSV file, and keeps the rows of other runs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path


def replace_rows(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]], keys: int) -> None:
    """Write rows to a file, in place of its rows with the same first `keys` columns."""
    texts = [[str(value) for value in row] for row in rows]
    known = list(csv.reader(path.open(encoding="utf-8", newline=""))) if path.exists() else []
    replaced = {tuple(row[:keys]) for row in texts}
    with path.open("w", newline="", encoding="utf-8") as file:
        others = [row for row in known[1:] if tuple(row[:keys]) not in replaced]
        csv.writer(file, lineterminator="\n").writerows([columns, *others, *texts])
