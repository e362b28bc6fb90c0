"""The tokens of all documents: runs, from the oldest to the youngest, and one small file that names them.

A write adds a run. Where documents stand in several runs, the youngest has the last word, and it may be that they are
gone. Runs are merged as they grow: small ones within the write, large ones in a thread beside it; and once more at the
end of a large write, since every look-up goes through all of them. The file that names
them is replaced as a whole, and says how far in the journal they reach: whoever reads it sees one moment, and goes on
seeing it in the files that he has open. What a crash leaves unnamed is deleted by the next writer.
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
from whorl.engine.embedded.runs import Contents, Run, Tokens, entries_of, merged, write_run

#: Runs of fewer than 64, 256, 1,024, … documents are merged when there are four.
SMALLEST_RUN, FANOUT = 64, 4
#: Documents of a run, at most.
LARGEST_RUN = 1 << 19
#: When a writer ends, the youngest runs become one, as long as that has so many times the documents that he wrote.
GATHERED = 4
#: More documents than these are merged in a thread, at about 20,000 a second.
MOST_AT_ONCE = 8192
#: Tokens that wait in memory to be written, at most.
MOST_WAITING = 1 << 22

_NAMES = "runs.json"


class DocumentTokens(NamedTuple):
    """What is looked up of a document.

    Attributes:
        size: Its distinct shingles.
        kinds: Its tokens of each kind; sorted distinct uint64 arrays.
    """

    size: int
    kinds: tuple[Tokens, ...]


@dataclass(frozen=True, slots=True)
class TokenSnapshot:
    """The tokens at one moment.

    Args:
        applied: The journal number that they are at.
        runs: From the oldest to the youngest.
        alive: Of each run, the documents on which it has the last word; bool arrays of shape (documents,).
    """

    applied: int
    runs: tuple[Run, ...]
    alive: tuple[npt.NDArray[np.bool_], ...]


class TokenIndex:
    """The runs in one folder, for any number of threads to read and for one at a time to write.

    Args:
        folder: The folder; made by the first write.
        mark: What tells the tokens of one store from those of another.
        token_bits: Of each kind of token.
        on_merged: Called when large runs have been merged, in the thread that did so.
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
        """Return the tokens as they are now.

        Raises:
            IndexBrokenError: They are damaged, or not those of this store.
            OSError: They cannot be read.
        """
        with self._lock:
            while True:
                # Not its inode and times, which may be those of its predecessor.
                raw = self._names_now()
                if self._seen and self._seen[0] == raw:
                    return self._seen[1]
                try:
                    snapshot = self._opened(raw)
                except FileNotFoundError as error:
                    # Merged in this very moment: then other ones are named by now.
                    if raw == self._names_now():
                        raise IndexBrokenError(str(error)) from error
                else:
                    self._seen = raw, snapshot
                    return snapshot

    def _names_now(self) -> bytes:
        # Each search reads it, and does so in a third of the time that a file object takes.
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
            # What was superseded before stays so.
            own = known[run].copy() if run in known else np.ones(len(run), np.bool_)
            for younger in runs[at + 1 :]:
                if run not in known or younger not in before:
                    for numbers in (younger.numbers, younger.gone):
                        own[run.places_of(numbers)] = False
            alive.append(own)
        return TokenSnapshot(applied, tuple(runs), tuple(alive))

    def close(self) -> None:
        """Let go of the files that are open for reading."""
        with self._lock:
            self._seen = None

    # Writing; the caller sees to it that nobody else does.

    def make(self) -> None:
        """Begin with no tokens, in a folder that has none."""
        self._folder.mkdir(parents=True)
        self._publish(0, ())

    def begin(self) -> None:
        """Delete what a writer has left that did not come to its end."""
        if not self.is_merging:
            named = {_NAMES, *(run.name for run in self.snapshot().runs)}
            for file in self._folder.iterdir():
                if file.name not in named:
                    file.unlink()

    def replace(self, documents: Mapping[int, DocumentTokens | None]) -> None:
        """Take in documents by number, None for those that are gone; seen by nobody before `commit`."""
        self._waiting.update(documents)
        self._written_now += len(documents)
        if sum(sum(kind.size for kind in each.kinds) for each in self._waiting.values() if each) > MOST_WAITING:
            self._flush()

    def commit(self, applied: int) -> None:
        """Make all that was taken in seen, and the tokens be at a journal number, at once."""
        self._flush()
        with self._lock:
            self._publish(applied, [*self.snapshot().runs, *self._unnamed])
            self._unnamed = []
        # Merging can wait, for room on the disk for one.
        with suppress(OSError):
            while self._merge(MOST_AT_ONCE):
                pass
        self._start_merging()

    def finish(self) -> None:
        """After the last commit of a writer, put together what he has written in several runs."""
        self._gathering, self._written_now = GATHERED * self._written_now, 0
        self._start_merging()

    def _start_merging(self) -> None:
        if self._idle.is_set() and self._to_merge(LARGEST_RUN, self._gathering):
            self._idle.clear()
            try:
                threading.Thread(target=self._merge_large, name="merges of whorl's tokens").start()
            except RuntimeError:
                # The system gives no more threads: the runs stay apart until there is one.
                self._idle.set()

    def abandon(self) -> None:
        """Forget what is not committed."""
        self._waiting.clear()
        for run in self._unnamed:
            (self._folder / run.name).unlink(missing_ok=True)
        self._unnamed = []

    @property
    def is_merging(self) -> bool:
        """Whether a thread merges large runs, so that nobody else may write."""
        return not self._idle.is_set()

    def wait(self) -> None:
        """Wait for the thread that merges."""
        self._idle.wait()

    def _flush(self) -> None:
        """Write what waits as a run."""
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
        """Name the runs that there are from now on."""
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
        """Return neighbours that are to be one run; none where all is well.

        Args:
            most: Documents of that run, at most.
            gathering: How many the youngest runs may have together, to be merged whatever each has.
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
            # The runs stay apart then, and are as good; who finds one broken makes all again.
            with suppress(OSError, IndexBrokenError):
                while self._merge(LARGEST_RUN, self._gathering):
                    pass
        finally:
            self._gathering = 0
            self._idle.set()
            self._on_merged()

    def _merge(self, most: int, gathering: int = 0) -> bool:
        """Put one run in the place of some, if there are any to merge, whatever is added behind them meanwhile."""
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
