"""Computes the sketches of documents, in batches; documents with equal texts share one sketch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import zip_with_results
from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.retention import UnreadValues, ranks_and_dates
from whorl.duplicates.sketch_arrays import HASH, Hashes, Numbers, Sketches
from whorl.fingerprint.fingerprint_texts import HashBatch, hash_in_batches
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme, sketch_of_distinct
from whorl.fingerprint.winnowing import mix_bits
from whorl.model import Document

#: Odd multiplier from the golden ratio: products modulo 2**64 are distinct and evenly spread.
GOLDEN_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class SketchBatch:
    """A batch of documents and their sketches, in columns.

    Args:
        ranks: Rank according to the retention policy; larger is better; float64, NaN if unknown.
        dates: Creation or modification time in seconds since 1970; float64, NaN if unknown.
        sizes: Number of distinct shingles of each document; int64 array of shape (documents,).
        starts: Offset of each document's hashes in `hashes`; documents with equal texts share one range.
        keys: 64-bit hashes of the sketches; int64 array of shape (documents,).
        offset: Offset of the hashes in the store's file, if they are already written there and `hashes` is empty.
        unread: Values that cannot be converted to a rank or a date.
    """

    ids: list[str]
    names: list[str]
    ranks: npt.NDArray[np.float64]
    dates: npt.NDArray[np.float64]
    sizes: Numbers
    starts: Numbers
    counts: Numbers
    keys: Numbers
    hashes: Hashes
    offset: int | None = None
    unread: Sequence[UnreadValues] = ()

    @classmethod
    def from_sketches(cls, ids: list[str], names: list[str], several: Sequence[Sketch], scheme: SketchScheme) -> Self:
        """Return a batch of documents whose sketches are known, without ranks and dates."""
        together, unknown = Sketches.from_sketches(several, scheme), np.full(len(ids), np.nan)
        keys = np.array([sketch_key(sketch) for sketch in several], np.int64)
        numbers = together.sizes, together.starts, together.counts, keys
        return cls(ids, names, unknown, unknown, *numbers, hashes=together.hashes)


MakeSketches: TypeAlias = Callable[[Iterable[Sequence[Document]]], Iterator[tuple[Sequence[Document], SketchBatch]]]


@dataclass(frozen=True, slots=True)
class Sketching:
    """Makes sketches from batches of documents.

    Args:
        options: Only scheme, `keep`, `date` and `within` apply.
        dates: Returns a document's date in seconds since 1970, or None; used if the options name no date column.
    """

    options: DuplicatesOptions
    sketch_scheme: SketchScheme
    dates: Callable[[Document], float | None] | None = None

    def ranks_and_dates(self, documents: Sequence[Document]) -> tuple[npt.NDArray[np.float64], list[UnreadValues]]:
        """Return ranks and dates as a float64 array of shape (2, documents), and the values that cannot be converted.

        Dates are in seconds since 1970; unknown ranks and dates are NaN.
        """
        keep, date = self.options.policy, self.options.date
        values, unread = ranks_and_dates(
            keep, date, lambda column: [document.properties.get(column) for document in documents], len(documents)
        )
        if not date and self.dates is not None:
            values[1] = [self.dates(document) for document in documents]
        return values, [one for key, own in unread.items() for one in UnreadValues.of_column(*key, own.values())]

    def sketch(self, portions: Iterable[Sequence[Document]]) -> Iterator[tuple[Sequence[Document], SketchBatch]]:
        distinct = (_distinct_texts(batch, self.options.within) for batch in portions)
        read = zip_with_results(
            distinct,
            lambda ahead: hash_in_batches(([text for text, _ in texts] for _, texts, _ in ahead), self.options.scheme),
        )
        for (documents, texts, indices), together in read:
            _separate_groups(together, [group for _, group in texts])
            yield documents, self._make_batch(documents, together, indices)

    def _make_batch(self, documents: Sequence[Document], batch: HashBatch, text_indices: Numbers) -> SketchBatch:
        hashes, counts = _retained_hashes(batch, self.sketch_scheme)
        values, unread = self.ranks_and_dates(documents)
        return SketchBatch(
            ids=[document.id for document in documents],
            names=[document.name for document in documents],
            ranks=values[0],
            dates=values[1],
            sizes=batch.sizes[text_indices],
            starts=(np.cumsum(counts) - counts)[text_indices],
            counts=counts[text_indices],
            keys=_keys(hashes, counts, batch.sizes)[text_indices],
            hashes=hashes,
            unread=unread,
        )


def _distinct_texts(
    documents: Sequence[Document], within: str | None
) -> tuple[Sequence[Document], dict[tuple[str, str], int], Numbers]:
    """Number the distinct texts of a batch; texts in different groups (see `group_of`) count as different.

    Return the documents, the number of each pair of text and group, and the number of each document's pair.
    """
    distinct: dict[tuple[str, str], int] = {}
    keys = ((document.text, group_of(document, within)) for document in documents)
    indices = [distinct.setdefault(key, len(distinct)) for key in keys]
    return documents, distinct, np.array(indices, np.int64)


def group_of(document: Document, within: str | None) -> str:
    """Return the name of a document's group: its value of the property `within`, or "".

    Only documents of one group are compared with each other. A whole float counts as an integer, because pandas
    converts integers to floats if a value is missing.
    """
    value = None if within is None else document.properties.get(within)
    if value is None:
        return ""
    values = value if isinstance(value, tuple) else (value,)
    return "\0".join(str(int(one) if isinstance(one, float) and one.is_integer() else one) for one in values)


def group_hash_mask(group: str) -> np.uint64:
    """Return the bits to flip in all hashes of a group (see `group_of`), so that different groups share no hash."""
    return np.uint64(int.from_bytes(hashlib.blake2b(group.encode(), digest_size=8).digest()) if group else 0)


def _separate_groups(batch: HashBatch, groups: Sequence[str]) -> None:
    ends = np.cumsum(batch.sizes)
    for group, end, size in zip(groups, ends.tolist(), batch.sizes.tolist(), strict=True):
        if group:
            own = batch.hashes[end - size : end]
            own ^= group_hash_mask(group)
            own.sort()


def _retained_hashes(batch: HashBatch, scheme: SketchScheme) -> tuple[Hashes, Numbers]:
    if batch.sizes.max(initial=0) <= scheme.k:
        return batch.hashes >> np.uint64(64 - scheme.bits), batch.sizes
    parts = np.split(batch.hashes, np.cumsum(batch.sizes)[:-1])
    sketches = [sketch_of_distinct(own, scheme).hashes for own in parts]
    return np.concatenate(sketches), np.array([own.size for own in sketches], np.int64)


def _keys(hashes: Hashes, counts: Numbers, sizes: Numbers) -> Numbers:
    """Return a 64-bit hash of each document's size and hashes. The hashes are grouped by document."""
    sums = np.append(np.uint64(0), np.cumsum(mix_bits(hashes + GOLDEN_FACTOR)))
    ends = np.cumsum(counts)
    keys: Hashes = sums[ends] - sums[ends - counts] + sizes.astype(np.uint64) * GOLDEN_FACTOR
    return keys.view(np.int64)


def sketch_digest(sketch: Sketch) -> bytes:
    digest = hashlib.blake2b(sketch.size.to_bytes(8, "little"), digest_size=16)
    digest.update(sketch.hashes.astype(HASH, copy=False).tobytes())
    return digest.digest()


def sketch_key(sketch: Sketch) -> int:
    return int.from_bytes(sketch_digest(sketch)[:8], "little", signed=True)
