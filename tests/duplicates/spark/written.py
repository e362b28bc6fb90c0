"""What either engine wrote, so that both can be compared."""

from __future__ import annotations

import json
from pathlib import Path


def files_of(written: Path) -> list[Path]:
    """Return a file, or those of a folder in which Spark's own begin with a dot or a line."""
    if written.is_file():
        return [written]
    return [each for each in sorted(written.rglob("*")) if each.is_file() and each.name[0] not in "._"]


def cluster_told(line: str) -> tuple[object, ...]:
    """Return what a cluster's line tells, whatever the order of its members."""
    told = json.loads(line)
    return told["cluster"], *sorted(json.dumps(member, sort_keys=True) for member in told["members"])


def pair_told(line: str) -> tuple[object, ...]:
    """Return a pair of a JSON line, whichever of its documents came first."""
    told = json.loads(line)
    sides = sorted([(told["a"], told["a_in_b"]), (told["b"], told["b_in_a"])])
    return (*sides, told["jaccard"], told["exact"])
