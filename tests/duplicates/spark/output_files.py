"""Parsers of the output files of both engines, for comparisons."""

from __future__ import annotations

import json
from pathlib import Path


def files_of(written: Path) -> list[Path]:
    """Return a file, or the files of a folder except Spark's own, whose names begin with a dot or an underscore."""
    if written.is_file():
        return [written]
    return [path for path in sorted(written.rglob("*")) if path.is_file() and path.name[0] not in "._"]


def cluster_of_line(line: str) -> tuple[object, ...]:
    """Return the content of a cluster's line, independent of the order of its members."""
    record = json.loads(line)
    return record["cluster"], *sorted(json.dumps(member, sort_keys=True) for member in record["members"])


def pair_of_line(line: str) -> tuple[object, ...]:
    """Return the pair of a JSON line, independent of the order of its documents."""
    record = json.loads(line)
    sides = sorted([(record["a"], record["a_in_b"]), (record["b"], record["b_in_a"])])
    return (*sides, record["jaccard"], record["exact"])
