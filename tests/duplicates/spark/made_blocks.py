"""Helpers that put sketches and documents into blocks, and read blocks."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.run import FILES_SCHEME
from whorl.duplicates.sketching import Sketching
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme
from whorl.model import Document

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whorl.duplicates.spark.sketch_documents import LoadedDocuments

#: Sketches of few hashes, so that a few hundred documents have many levels.
SMALL = SketchScheme(k=256, floor_level=1, cap=512)


SKETCHING = Sketching(DuplicatesOptions(), FILES_SCHEME)


def numbers(chance: random.Random, count: int) -> set[int]:
    return {chance.getrandbits(64) for _ in range(count)}


def alike_sets(chance: random.Random) -> list[set[int]]:
    """Return families of similar sets of many sizes, some with a shared page frame, and a block of near-copies."""
    sets = []
    frame = numbers(chance, 60)
    for _ in range(40):
        own = numbers(chance, round(2_500 ** (0.5 + 0.5 * chance.random())))
        for _ in range(chance.randrange(1, 5)):
            sample = set(chance.sample(sorted(own), round(len(own) * chance.choice([1, 0.95, 0.9, 0.8, 0.5]))))
            # Some have the same size.
            sets.append(sample | (frame if chance.random() < 0.4 else numbers(chance, chance.choice([0, 0, 1, 60]))))
    page = numbers(chance, 400)
    sets += [set(chance.sample(sorted(page), 380)) | numbers(chance, chance.choice([1, 3, 90])) for _ in range(60)]
    return [members for members in sets if members]


def members_in(rows: Any) -> set[Any]:
    """Return id, name, size and key of each document in the rows of blocks."""
    from whorl.duplicates.spark.arrow_blocks import BlockMembers, sizes_in

    members = BlockMembers.from_rows(rows)
    sizes = sizes_in(rows, members.keys)
    return set(zip(members.ids, members.names, sizes.tolist(), members.keys.tolist(), strict=True))


def blocked(spark: SparkSession, sketches: Mapping[int, Sketch], scheme: SketchScheme, count: int) -> LoadedDocuments:
    """Return sketches, given by their keys, divided over `count` parts."""
    from whorl.duplicates.spark.arrow_blocks import (
        SKETCHES,
        MaterialisedRows,
        Partitioning,
        pack_hashes,
        partition_by_part,
    )
    from whorl.duplicates.spark.sketch_documents import LoadedDocuments

    parts = Partitioning.with_count(count)
    rows = []
    for key, sketch in sketches.items():
        keys, numbers = np.array([key], np.int64), np.array([[sketch.size], [sketch.hashes.size]], np.int64)
        raw = (keys, *numbers, np.array([True]), pack_hashes(sketch.hashes, scheme.bits))
        rows.append((int(parts.parts_of(keys)[0]), *(bytearray(column.tobytes()) for column in raw)))
    blocks = partition_by_part(spark.createDataFrame(rows, SKETCHES), parts).persist()
    largest = max(sketch.hashes.size for sketch in sketches.values())
    return LoadedDocuments(blocks, parts, scheme, len(sketches), 0, 0, largest, None, MaterialisedRows())


def framed(spark: SparkSession, documents: list[Document], partitions: int) -> DataFrame:
    """Return documents in random order, in `partitions` partitions."""
    from whorl.duplicates.spark.read_files import documents_of

    rows = [(document.id, document.text, document.name) for document in documents]
    random.Random(partitions).shuffle(rows)
    frame = spark.createDataFrame(rows, "id string, text string, name string")
    return documents_of(frame.repartition(partitions))
