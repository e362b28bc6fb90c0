"""Token index of a store: a log-structured list of segments ("runs"), oldest first, and a small file that names them.

A write adds a run. The youngest run with a document or a tombstone for it overrides the older ones. Runs are merged as
their number grows: small ones during the write, large ones in a background thread, and all of a large write at its end,
because every look-up reads all runs. The file of names is replaced atomically and holds the journal number of the
index, so readers see a consistent snapshot and keep it through their open files. The next writer deletes the unnamed
files that a crash left.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.engine.embedded.folder import IndexBrokenError
from whorl.engine.embedded.segments import Contents, Run, Tokens, entries_of, merged, write_run

#: Four runs of fewer than 64, 256, 1,024, … documents are merged.
SMALLEST_RUN, FANOUT = 64, 4
#: Most documents of a merged run.
LARGEST_RUN = 1 << 19
#: At the end of a write, the youngest runs are merged up to this multiple of the documents written.
GATHERED = 4
#: Most documents merged during a write; larger merges run in a thread, at about 20,000 documents a second.
MOST_AT_ONCE = 8192
#: Tokens buffered in memory before a run is written.
MOST_WAITING = 1 << 22

_NAMES = "runs.json"


class DocumentTokens(NamedTuple):
    """The tokens of a document.

    Attributes:
        size: Distinct shingles of the document.
        kinds: Its tokens of each kind; sorted distinct uint64 arrays.
    """

    size: int
    kinds: tuple[Tokens, ...]


@dataclass(frozen=True, slots=True)
class TokenSnapshot:
    """Consistent snapshot of the token index.

    Args:
        applied: The journal number of the snapshot.
        runs: The runs, oldest first.
        alive: For each run, the mask of documents that no younger run overrides; bool arrays of shape (documents,).
    """

    applied: int
    runs: tuple[Run, ...]
    alive: tuple[npt.NDArray[np.bool_], ...]


class TokenIndex:
    """The token index in one folder, for any number of reading threads and one writer at a time.

    Args:
        folder: The folder of the runs; `make` creates it.
        mark: Identifier of the store, to detect the index of another store.
        token_bits: Bits of each kind of token.
        on_merged: Called after merges of large runs, in the merging thread.
    """

    def __init__(
        self, folder: Path, mark: str, token_bits: Sequence[int], on_merged: Callable[[], None] = lambda: None
    ) -> None:
        self._folder, self._mark, self._token_bits, self._on_merged = folder, mark, token_bits, on_merged
        self._names = os.fspath(folder / _NAMES)
        self._lock = threading.RLock()
        self._seen: tuple[bytes, TokenSnapshot] | None = None
        self._busy: set[Run] = set()
        self._idle = threading.Event()
        self._idle.set()
        self._waiting: dict[int, DocumentTokens | None] = {}
        self._unnamed: list[Run] = []
        self._written_now, self._gathering = 0, 0

    def snapshot(self) -> TokenSnapshot:
        """Return the current snapshot.

        Raises:
            IndexBrokenError: The index is damaged, or belongs to another store.
            OSError: The index cannot be read.
        """
        with self._lock:
            while True:
                # Compare the bytes: inode and times may equal those of the file's predecessor.
                raw = self._names_now()
                if self._seen and self._seen[0] == raw:
                    return self._seen[1]
                try:
                    snapshot = self._opened(raw)
                except FileNotFoundError as error:
                    # A merge deleted the run a moment ago; then the file names other runs now.
                    if raw == self._names_now():
                        raise IndexBrokenError(str(error)) from error
                else:
                    self._seen = raw, snapshot
                    return snapshot

    def _names_now(self) -> bytes:
        # Each search reads this file; os.read takes a third of the time of a file object.
        file = os.open(self._names, os.O_RDONLY)
        try:
            return os.read(file, os.fstat(file).st_size)
        finally:
            os.close(file)

    def _opened(self, raw: bytes) -> TokenSnapshot:
        told, _, check = raw.rpartition(b"\n")
        if str(zlib.crc32(told)).encode() != check:
            raise IndexBrokenError(f"{self._folder / _NAMES} is damaged")
        named = json.loads(told)
        if named["mark"] != self._mark:
            raise IndexBrokenError("it is not the index of this store")
        return self._snapshot(named["applied"], [self._run(name) for name in named["runs"]])

    def _run(self, name: str) -> Run:
        known = {run.name: run for run in self._seen[1].runs} if self._seen else {}
        return known[name] if name in known else Run(self._folder / name)

    def _snapshot(self, applied: int, runs: Sequence[Run]) -> TokenSnapshot:
        known = dict(zip(self._seen[1].runs, self._seen[1].alive, strict=True)) if self._seen else {}
        before = set(self._seen[1].runs) if self._seen else set()
        alive = []
        for at, run in enumerate(runs):
            # Documents overridden in the last snapshot stay overridden.
            own = known[run].copy() if run in known else np.ones(len(run), np.bool_)
            for younger in runs[at + 1 :]:
                if run not in known or younger not in before:
                    for numbers in (younger.numbers, younger.gone):
                        own[run.places_of(numbers)] = False
            alive.append(own)
        return TokenSnapshot(applied, tuple(runs), tuple(alive))

    def close(self) -> None:
        """Close the files that are open for reading."""
        with self._lock:
            self._seen = None

    # Writing; the caller holds the write lock.

    def make(self) -> None:
        """Create the folder with an empty index."""
        self._folder.mkdir(parents=True)
        self._publish(0, ())

    def begin(self) -> None:
        """Delete the unnamed files of a writer that did not finish."""
        if not self.is_merging:
            named = {_NAMES, *(run.name for run in self.snapshot().runs)}
            for file in self._folder.iterdir():
                if file.name not in named:
                    file.unlink()

    def replace(self, documents: Mapping[int, DocumentTokens | None]) -> None:
        """Add or replace documents by number, None for deleted ones; readers see them after `commit`."""
        self._waiting.update(documents)
        self._written_now += len(documents)
        if sum(sum(kind.size for kind in each.kinds) for each in self._waiting.values() if each) > MOST_WAITING:
            self._flush()

    def commit(self, applied: int) -> None:
        """Publish all changes together with the journal number `applied`."""
        self._flush()
        with self._lock:
            self._publish(applied, [*self.snapshot().runs, *self._unnamed])
            self._unnamed = []
        # A merge may fail, for instance on a full disk, and happen later.
        with suppress(OSError):
            while self._merge(MOST_AT_ONCE):
                pass
        self._start_merging()

    def finish(self) -> None:
        """Merge the runs of a writer after its last commit."""
        self._gathering, self._written_now = GATHERED * self._written_now, 0
        self._start_merging()

    def _start_merging(self) -> None:
        if self._idle.is_set() and self._to_merge(LARGEST_RUN, self._gathering):
            self._idle.clear()
            try:
                threading.Thread(target=self._merge_large, name="merges of whorl's tokens").start()
            except RuntimeError:
                # The system has no threads left: a later merge joins the runs.
                self._idle.set()

    def abandon(self) -> None:
        """Discard uncommitted changes."""
        self._waiting.clear()
        for run in self._unnamed:
            (self._folder / run.name).unlink(missing_ok=True)
        self._unnamed = []

    @property
    def is_merging(self) -> bool:
        """Whether a thread merges large runs; no other process may write during that time."""
        return not self._idle.is_set()

    def wait(self) -> None:
        """Wait for the merging thread."""
        self._idle.wait()

    def _flush(self) -> None:
        """Write the buffered documents as a run."""
        if not self._waiting:
            return
        there = {number: each for number, each in sorted(self._waiting.items()) if each is not None}
        kinds = [[each.kinds[kind] for each in there.values()] for kind in range(len(self._token_bits))]
        contents = Contents(
            np.array(list(there), np.int64),
            np.array([each.size for each in there.values()], np.int64),
            np.array(sorted(self._waiting.keys() - there.keys()), np.int64),
            [np.array([own.size for own in kind], np.int64) for kind in kinds],
        )
        entries = [[entries_of(kind, bits)] for kind, bits in zip(kinds, self._token_bits, strict=True)]
        self._unnamed.append(self._written(lambda path: write_run(path, contents, self._token_bits, entries)))
        self._waiting.clear()

    def _written(self, write: Callable[[Path], None]) -> Run:
        path = self._folder / f"{uuid.uuid4().hex}.run"
        try:
            write(path)
            return Run(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _publish(self, applied: int, runs: Sequence[Run]) -> None:
        """Replace the file of names by one with these runs and this journal number."""
        told = json.dumps({"mark": self._mark, "applied": applied, "runs": [run.name for run in runs]}).encode()
        aside = self._folder / f"{_NAMES}.new"
        with aside.open("wb") as file:
            file.write(told + b"\n" + str(zlib.crc32(told)).encode())
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self._folder / _NAMES)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _to_merge(self, most: int, gathering: int = 0) -> Sequence[Run]:
        """Return consecutive runs to be merged; empty if no merge is due.

        Args:
            most: Most documents of the merged run.
            gathering: Most documents of the youngest runs together to be merged regardless of their sizes.
        """
        snapshot = self.snapshot()
        begin = max((at for at, run in enumerate(snapshot.runs, 1) if run in self._busy), default=0)
        runs = snapshot.runs[begin:]
        for run, alive in zip(runs, snapshot.alive[begin:], strict=True):
            if np.count_nonzero(alive) * 2 < len(run) <= most and len(run) > SMALLEST_RUN:
                return [run]
        sizes = [len(run) + run.gone.size for run in runs]
        bound = SMALLEST_RUN
        while bound <= LARGEST_RUN:
            count = next((at for at, size in enumerate(reversed(sizes)) if size >= bound), len(sizes))
            if count >= FANOUT and sum(sizes[-count:]) <= most:
                return runs[-count:]
            bound *= FANOUT
        together = np.cumsum(sizes[::-1])
        count = int(np.searchsorted(together, min(most, gathering), side="right"))
        return runs[-count:] if count > 1 else ()

    def _merge_large(self) -> None:
        try:
            # Unmerged runs stay valid; a search that finds a broken run causes a rebuild.
            with suppress(OSError, IndexBrokenError):
                while self._merge(LARGEST_RUN, self._gathering):
                    pass
        finally:
            self._gathering = 0
            self._idle.set()
            self._on_merged()

    def _merge(self, most: int, gathering: int = 0) -> bool:
        """Merge due runs into one, and return whether any were due; runs added during the merge are kept."""
        with self._lock:
            some = self._to_merge(most, gathering)
            self._busy.update(some)
            snapshot = self.snapshot()
        if not some:
            return False
        try:
            first = snapshot.runs.index(some[0])
            gone = np.unique(np.concatenate([run.gone for run in some])) if first else np.empty(0, np.int64)
            alive = snapshot.alive[first : first + len(some)]
            run = self._written(lambda path: merged(path, some, alive, gone))
            with self._lock:
                now = self.snapshot()
                at = now.runs.index(some[0])
                self._publish(now.applied, [*now.runs[:at], run, *now.runs[at + len(some) :]])
        finally:
            self._busy.difference_update(some)
        for old in some:
            (self._folder / old.name).unlink(missing_ok=True)
        return True
