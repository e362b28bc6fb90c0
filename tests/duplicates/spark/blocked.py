"""Sketches and documents as blocks, and what is in these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from whorl.duplicates.gathering import FILES_SCHEME
from whorl.duplicates.keep import Keep
from whorl.duplicates.sketching import Sketching, no_date
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whorl.duplicates.spark.blocks import Gathered

SKETCHING = Sketching(Scheme(), FILES_SCHEME, no_date, None, Keep("first"), None)


def members_in(rows: Any) -> set[Any]:
    """Return id, name, size and key of each document of some blocks."""
    from whorl.duplicates.spark.blocks import Members, sizes_in

    members, times = Members.of(rows)
    assert times.tolist() == [1] * len(members.ids)
    sizes = sizes_in(rows, members.keys)
    return set(zip(members.ids, members.names, sizes.tolist(), members.keys.tolist(), strict=True))


def blocked(spark: SparkSession, sketches: Mapping[int, Sketch], scheme: SketchScheme, count: int) -> Gathered:
    """Return sketches by their keys, divided over so many parts."""
    from whorl.duplicates.spark.blocks import SKETCHES, Gathered
    from whorl.duplicates.spark.frames import Kept, Parts, narrowed, sent

    parts = Parts.so_many(count)
    rows = []
    for key, sketch in sketches.items():
        keys, numbers = np.array([key], np.int64), np.array([[sketch.size], [sketch.hashes.size]], np.int64)
        raw = (keys, *numbers, np.array([True]), narrowed(sketch.hashes, scheme.bits))
        rows.append((int(parts.of(keys)[0]), *(bytearray(each.tobytes()) for each in raw)))
    blocks = sent(spark.createDataFrame(rows, SKETCHES), parts).persist()
    largest = max(sketch.hashes.size for sketch in sketches.values())
    return Gathered(blocks, parts, scheme, len(sketches), 0, 0, largest, Kept())
