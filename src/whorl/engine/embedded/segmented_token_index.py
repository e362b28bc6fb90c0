"""On-disk index from fingerprint tokens to the documents that have them, in immutable files (segments).

A write adds a segment, as in a log-structured merge tree. A tombstone records that a document was deleted. For each
document, the youngest segment with the document or its tombstone overrides all older segments. Every look-up reads all
segments, so they are merged: small segments during the write, large segments in a background thread, and the youngest
segments at the end of a write.

A manifest lists the segments and stores the number of the last journal entry in the index. Each commit replaces the
manifest atomically, so readers see a consistent snapshot. Readers keep the files of their snapshot open. After a crash,
the next writer deletes the leftover files.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import find_sorted
from whorl.engine.embedded.segments import (
    MINHASH,
    MINHASH_BITS,
    Numbers,
    Segment,
    Tokens,
    merge_segments,
    write_documents,
)
from whorl.engine.embedded.store_files import IndexBrokenError, OtherIndexError

#: Merge the youngest segments if at least `FANOUT` of them have fewer than `SMALLEST_SEGMENT` documents each.
#: Otherwise, repeat the check with a limit that is `FANOUT` times as high, up to `LARGEST_SEGMENT`.
SMALLEST_SEGMENT, FANOUT = 64, 4
LARGEST_SEGMENT = 1 << 19
#: `FANOUT` for large segments (more than `MOST_AT_ONCE` documents) while the writer is active. A larger fan-out saves
#: time, because each merge reads and writes all tokens of its segments.
FANOUT_WHILE_WRITING = 16
#: After a write of n documents, merge the youngest segments to a segment of at most `FINAL_MERGE_FACTOR * n` documents.
FINAL_MERGE_FACTOR = 4
#: Maximum number of documents to merge in the writing thread. A background thread does larger merges, at about 20,000
#: documents a second.
MOST_AT_ONCE = 8192
#: Number of tokens in memory after which the writer writes a segment.
MOST_BUFFERED = 1 << 22

_MANIFEST = "segments.json"


#: Function that computes the MinHash tokens of documents from their stored texts, for an index that has only the upper
#: bits of these tokens. It takes document numbers, and the number of the last journal entry in the index. For each
#: document that has not changed since this entry, it yields the document's number and distinct tokens. It skips other
#: documents, because their texts no longer fit the index.
ReadMinHash: TypeAlias = Callable[[Numbers, int], Iterator[tuple[int, Tokens]]]


class DocumentTokens(NamedTuple):
    """Tokens of a document, and its number of distinct shingles.

    `by_kind` has MinHash tokens, look-up hashes (the indexed hashes of the sketch) and optional passage hashes, as
    sorted distinct uint64 arrays.
    """

    size: int
    by_kind: tuple[Tokens, ...]


@dataclass(frozen=True)
class TokenSnapshot:
    """Consistent snapshot of the token index: its last journal entry (`applied`), and its segments, the oldest first.

    `alive` has for each segment a mask of the documents that no younger segment overrides; bool arrays of shape
    (documents,). `read_minhash` computes MinHash tokens from texts; None if the index has all bits of these tokens.
    """

    applied: int
    segments: tuple[Segment, ...]
    alive: tuple[npt.NDArray[np.bool_], ...]
    read_minhash: ReadMinHash | None = None
    #: Cached matches of clauses that need the documents' texts: numbers and scores of the documents, keyed by clause.
    matches_by_texts: dict[object, tuple[Numbers, npt.NDArray[np.float32]]] = field(default_factory=dict, compare=False)
    #: Cached numbers, ascending, of the documents with a frequent passage hash, keyed by hash.
    frequent_passages: dict[int, Numbers] = field(default_factory=dict, compare=False)

    @property
    def dropped_bits(self) -> int:
        """Number of lower bits of each MinHash token that the index does not store."""
        return MINHASH_BITS - self.segments[0].postings[MINHASH].token_bits if self.segments else 0

    @cached_property
    def largest_size(self) -> int | None:
        """Number of distinct shingles in the largest document; None for an empty index."""
        pairs = zip(self.segments, self.alive, strict=True)
        return max((int(segment.sizes[mask].max()) for segment, mask in pairs if mask.any()), default=None)

    def sizes(self, numbers: Numbers) -> Numbers:
        """Return the number of distinct shingles of each document, 0 for a missing document."""
        sizes = np.zeros(numbers.size, np.int64)
        for segment, alive in zip(self.segments, self.alive, strict=True):
            ordinals, is_own = find_sorted(segment.numbers, numbers)
            own = np.flatnonzero(is_own)
            own = own[alive[ordinals[own]]]
            sizes[own] = segment.sizes[ordinals[own]]
        return sizes


class TokenIndex:
    """Token index in one folder, for any number of reading threads and one writer at a time.

    `make` creates the folder. If the files have another `store_id`, reading raises OtherIndexError. The thread that
    merges large segments calls `on_merged` at the end. `read_minhash` computes MinHash tokens from texts (see
    `TokenSnapshot`).
    """

    def __init__(
        self,
        folder: Path,
        store_id: str,
        token_bits: Sequence[int],
        on_merged: Callable[[], None] = lambda: None,
        read_minhash: ReadMinHash | None = None,
    ) -> None:
        self._folder, self._store_id, self._token_bits, self._on_merged = folder, store_id, token_bits, on_merged
        self._read_minhash = read_minhash
        self._manifest = folder / _MANIFEST
        self._lock = threading.RLock()
        self._cached: tuple[bytes, TokenSnapshot] | None = None
        self._being_merged: set[Segment] = set()
        self._idle = threading.Event()
        self._idle.set()
        self._buffered: dict[int, DocumentTokens | None] = {}
        self._tokens_buffered = 0
        self._unpublished: list[Segment] = []
        self._documents_written, self._final_merge_size = 0, 0

    def snapshot(self) -> TokenSnapshot:
        """Return the current snapshot; raise IndexBrokenError if the index is damaged or belongs to another store."""
        with self._lock:
            while True:
                # A new manifest may have the same inode and times as the previous manifest, so compare the bytes.
                raw = self._manifest.read_bytes()
                if self._cached and self._cached[0] == raw:
                    return self._cached[1]
                try:
                    snapshot = self._open_manifest(raw)
                except FileNotFoundError as error:
                    # If the manifest is still the same, its segment is really missing. Otherwise, a merge has just
                    # replaced the manifest and deleted the segment, so read the new manifest.
                    if raw == self._manifest.read_bytes():
                        raise IndexBrokenError(str(error)) from error
                else:
                    self._cached = raw, snapshot
                    return snapshot

    def _open_manifest(self, raw: bytes) -> TokenSnapshot:
        content, _, check = raw.rpartition(b"\n")
        if str(zlib.crc32(content)).encode() != check:
            raise IndexBrokenError(f"{self._manifest} is damaged")
        manifest = json.loads(content)
        # Use `get`, because an earlier version of whorl wrote other keys.
        if manifest.get("store") != self._store_id:
            raise OtherIndexError
        known = {segment.name: segment for segment in self._cached[1].segments} if self._cached else {}
        names = manifest["segments"]
        segments = [known[name] if name in known else Segment(self._folder / name) for name in names]
        return self._make_snapshot(manifest["applied"], segments)

    def _make_snapshot(self, applied: int, segments: Sequence[Segment]) -> TokenSnapshot:
        known = dict(zip(self._cached[1].segments, self._cached[1].alive, strict=True)) if self._cached else {}
        alive = []
        for at, segment in enumerate(segments):
            # An overridden document stays overridden, so start from the mask in the last snapshot.
            mask = known[segment].copy() if segment in known else np.ones(len(segment), np.bool_)
            for younger in segments[at + 1 :]:
                if segment not in known or younger not in known:
                    for numbers in (younger.numbers, younger.tombstones):
                        ordinals, is_own = find_sorted(segment.numbers, numbers)
                        mask[ordinals[is_own]] = False
            alive.append(mask)
        return TokenSnapshot(applied, tuple(segments), tuple(alive), self._read_minhash)

    def close(self) -> None:
        with self._lock:
            self._cached = None

    # Callers of the following methods must hold the write lock.

    def make(self) -> None:
        self._folder.mkdir(parents=True)
        self._publish(0, ())

    def begin(self) -> None:
        """Delete the files that an unfinished writer has left."""
        if not self.is_merging:
            named = {_MANIFEST, *(segment.name for segment in self.snapshot().segments)}
            for file in self._folder.iterdir():
                if file.name not in named:
                    file.unlink()

    def replace(self, documents: Mapping[int, DocumentTokens | None]) -> None:
        """Add, replace or delete (None) the documents with these numbers; readers see the changes after `commit`."""
        self._buffered.update(documents)
        self._documents_written += len(documents)
        # The sum need not be exact: a document that is replaced twice may count twice.
        self._tokens_buffered += sum(
            own.size for document in documents.values() if document for own in document.by_kind
        )
        if self._tokens_buffered > MOST_BUFFERED:
            self._flush()

    def commit(self, applied: int) -> None:
        """Publish all changes together with the journal number `applied`."""
        self._flush()
        with self._lock:
            self._publish(applied, [*self.snapshot().segments, *self._unpublished])
            self._unpublished = []
        # If a merge fails, for example on a full disk, the next write tries again.
        with suppress(OSError):
            while self._merge(MOST_AT_ONCE):
                pass
        self._start_merging()

    def finish(self) -> None:
        """After a writer's last commit, start merging its segments in a background thread."""
        with self._lock:
            self._final_merge_size, self._documents_written = FINAL_MERGE_FACTOR * self._documents_written, 0
            self._start_merging()

    def _start_merging(self) -> None:
        if self._idle.is_set() and self._due_segments(LARGEST_SEGMENT, self._final_merge_size):
            self._idle.clear()
            try:
                threading.Thread(target=self._merge_large, name="merges of whorl's tokens").start()
            except RuntimeError:
                # If the system cannot start a thread, a later write merges the segments.
                self._idle.set()

    def abandon(self) -> None:
        """Discard uncommitted changes, and delete their segments."""
        self._clear_buffer()
        for segment in self._unpublished:
            (self._folder / segment.name).unlink(missing_ok=True)
        self._unpublished = []

    @property
    def is_merging(self) -> bool:
        """Whether a background thread is merging large segments. During the merge, no other process may write."""
        return not self._idle.is_set()

    def wait(self) -> None:
        self._idle.wait()

    def _flush(self) -> None:
        """Write the buffered documents to a segment; readers see the segment after the next commit."""
        if not self._buffered:
            return
        stored = {number: document for number, document in sorted(self._buffered.items()) if document is not None}
        numbers = np.array(list(stored), np.int64)
        sizes = np.array([document.size for document in stored.values()], np.int64)
        tombstones = np.array(sorted(self._buffered.keys() - stored.keys()), np.int64)
        kinds = [[document.by_kind[kind] for document in stored.values()] for kind in range(len(self._token_bits))]
        self._unpublished.append(
            self._write_file(lambda path: write_documents(path, numbers, sizes, tombstones, kinds, self._token_bits))
        )
        self._clear_buffer()

    def _clear_buffer(self) -> None:
        self._buffered.clear()
        self._tokens_buffered = 0

    def _write_file(self, write: Callable[[Path], None]) -> Segment:
        path = self._folder / f"{uuid.uuid4().hex}.segment"
        try:
            write(path)
            return Segment(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _publish(self, applied: int, segments: Sequence[Segment]) -> None:
        """Replace the manifest: list these segments, with the journal number `applied`."""
        names = [segment.name for segment in segments]
        content = json.dumps({"store": self._store_id, "applied": applied, "segments": names}).encode()
        raw = content + b"\n" + str(zlib.crc32(content)).encode()
        aside = self._folder / f"{_MANIFEST}.new"
        with aside.open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self._manifest)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        with self._lock:
            self._cached = raw, self._make_snapshot(applied, segments)

    def _due_segments(self, most: int, final_merge_size: int = 0) -> Sequence[Segment]:
        """Return consecutive segments to merge, or one segment to shrink after deletions; empty if none is due.

        Args:
            most: Maximum number of documents in the merged segment.
            final_merge_size: Merge the youngest segments, even of different sizes, if together they have at most this
                number of documents.
        """
        snapshot = self.snapshot()
        begin = max((at for at, segment in enumerate(snapshot.segments, 1) if segment in self._being_merged), default=0)
        segments = snapshot.segments[begin:]
        for segment, alive in zip(segments, snapshot.alive[begin:], strict=True):
            if np.count_nonzero(alive) * 2 < len(segment) <= most and len(segment) > SMALLEST_SEGMENT:
                return [segment]
        sizes = [len(segment) + segment.tombstones.size for segment in segments]
        bound = SMALLEST_SEGMENT
        while bound <= LARGEST_SEGMENT:
            is_bulk = not final_merge_size and MOST_AT_ONCE < bound <= LARGEST_SEGMENT // FANOUT_WHILE_WRITING
            fanout = FANOUT_WHILE_WRITING if is_bulk else FANOUT
            count = next((at for at, size in enumerate(reversed(sizes)) if size >= bound), len(sizes))
            if count >= fanout and sum(sizes[-count:]) <= most:
                return segments[-count:]
            bound *= fanout
        total_sizes = np.cumsum(sizes[::-1])
        count = int(np.searchsorted(total_sizes, min(most, final_merge_size), side="right"))
        return segments[-count:] if count > 1 else ()

    def _merge_large(self) -> None:
        is_done = False
        try:
            # Ignore errors: unmerged segments stay valid, and a search that finds a broken segment rebuilds the index.
            with suppress(OSError, IndexBrokenError):
                while not (is_done := self._end_merging()):
                    self._merge(LARGEST_SEGMENT, self._final_merge_size)
        finally:
            if not is_done:
                self._idle.set()
            self._on_merged()

    def _end_merging(self) -> bool:
        """If no merge is due, mark the background merges as ended and return True; otherwise, return False."""
        # While this thread runs, `finish` starts no other thread, so this thread must also merge the segments that
        # `finish` finds. Hold the lock, so that `finish` cannot run between the check and the end of this thread.
        with self._lock:
            if self._due_segments(LARGEST_SEGMENT, self._final_merge_size):
                return False
            self._final_merge_size = 0
            self._idle.set()
            return True

    def _merge(self, most: int, final_merge_size: int = 0) -> bool:
        """Merge the due segments; return False if no merge is due. Writes may add segments during the merge."""
        with self._lock:
            due = self._due_segments(most, final_merge_size)
            self._being_merged.update(due)
            snapshot = self.snapshot()
        if not due:
            return False
        try:
            first = snapshot.segments.index(due[0])
            tombstones = (
                np.unique(np.concatenate([segment.tombstones for segment in due])) if first else np.empty(0, np.int64)
            )
            alive = snapshot.alive[first : first + len(due)]
            segment = self._write_file(lambda path: merge_segments(path, due, alive, tombstones))
            with self._lock:
                latest = self.snapshot()
                at = latest.segments.index(due[0])
                self._publish(latest.applied, [*latest.segments[:at], segment, *latest.segments[at + len(due) :]])
        finally:
            self._being_merged.difference_update(due)
        for old in due:
            (self._folder / old.name).unlink(missing_ok=True)
        return True
