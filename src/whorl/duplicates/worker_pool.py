"""Runs work on documents, such as sketching, in several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, TypeVar

from whorl.arrays_and_batches import batches
from whorl.duplicates.input import InputDocuments, InputPart
from whorl.duplicates.sketch_store import TemporarySketchStore, temporary_folder_error, write_all
from whorl.duplicates.sketching import MakeSketches, SketchBatch
from whorl.errors import StoreError
from whorl.fingerprint.compiled.kernel import kernel_if_ready, return_kernel
from whorl.fingerprint.fingerprint_texts import processor_count
from whorl.fingerprint.shingling import Scheme
from whorl.model import Document, documents_only
from whorl.request_context import require_time

Result = TypeVar("Result")

#: Number of documents to sketch at a time, and to send to a worker at a time if the main process reads them.
DOCUMENTS_AT_ONCE, _DOCUMENTS_SENT = 512, 4096
#: Number of input parts queued for each process, including the part in progress.
_QUEUED_PARTS = 3
_work: Callable[[Iterable[Document]], Iterable[Any]]
#: Minimum size of the input, in bytes, for which several processes are faster than one.
_LARGE = 32_000_000


def worthwhile_workers(size: int) -> int:
    """Return the number of processes for `size` bytes: one for small inputs, otherwise one per available core."""
    return processor_count() if size >= _LARGE else 1


def checked_documents(documents: Iterable[Document]) -> Iterable[Document]:
    """Return an iterable that raises DocumentError for an item that is not a document."""
    return documents if isinstance(documents, InputDocuments) else documents_only(documents)


def start_method(documents: Iterable[Document], workers: int) -> str:
    """Return the fastest safe method to start worker processes, "fork" or "spawn"; "" to work in this process."""
    # A daemonic process, such as a worker of multiprocessing.Pool, must not start processes, so work in this process.
    if workers < 2 or multiprocessing.current_process().daemon:
        return ""
    # Standard input cannot be sent to another process, so read it in this process.
    if isinstance(documents, InputDocuments) and not documents.is_portable:
        return ""
    if sys.platform == "linux" and threading.active_count() == 1:
        return "fork"
    # Spawn processes only for input files, which whorl's own command reads: a spawned process runs the main script
    # again, and a user's script may lack `if __name__ == "__main__"`. Nor would it have the objects of this process.
    return "spawn" if isinstance(documents, InputDocuments) else ""


def map_in_processes(
    documents: Iterable[Document],
    work: Callable[[Iterable[Document]], Iterable[Result]],
    scheme: Scheme,
    workers: int,
    method: str,
) -> Iterator[Result]:
    """Yield the results of `work` on parts of the documents, in the order of the documents.

    `work` is sent to each process only once. `method` is a result of `start_method`.

    Raises:
        StoreError: A process has died or cannot write.
    """
    if not method:
        yield from work(documents)
        return
    if fast := kernel_if_ready(scheme):
        # The kernel is loaded now, so forked processes inherit it.
        return_kernel(fast)
    parts: Iterator[Iterable[Document]] = (
        documents.parts() if isinstance(documents, InputDocuments) else batches(documents, _DOCUMENTS_SENT)
    )
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context(method), _start_worker, (work,))
    waiting: deque[Future[tuple[list[Result], InputPart | None]]] = deque()
    try:
        while True:
            waiting.extend(
                pool.submit(_work_on_part, part) for part in islice(parts, workers * _QUEUED_PARTS - len(waiting))
            )
            if not waiting:
                break
            require_time()
            results, part = waiting.popleft().result()
            yield from results
            if isinstance(documents, InputDocuments) and part is not None:
                documents.note(part)
        if isinstance(documents, InputDocuments):
            documents.finish()
    except BrokenProcessPool as error:
        reason = "a process that read documents has ended, perhaps for lack of memory; try --workers 1"
        raise StoreError(reason) from error
    finally:
        pool.shutdown(cancel_futures=True)


def begin_as_worker() -> None:
    """Ignore Ctrl-C, which a terminal sends to all processes, and exit when the parent process ends.

    The pipe from the parent stays open after the parent has ended, because all workers hold a copy of the parent's end.
    So a thread waits for the end of the parent process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A forked process must not keep the parent's handler.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        wait([parent.sentinel])
        os._exit(1)


def _start_worker(work: Callable[[Iterable[Document]], Iterable[Any]]) -> None:
    global _work
    begin_as_worker()
    _work = work


def _work_on_part(part: Iterable[Document]) -> tuple[list[Any], InputPart | None]:
    return list(_work(part)), part if isinstance(part, InputPart) else None


def sketch_in_processes(
    documents: Iterable[Document],
    sketch: MakeSketches,
    scheme: Scheme,
    scratch: TemporarySketchStore,
    workers: int,
    method: str,
) -> Iterator[SketchBatch]:
    """Yield the sketches of documents in order; the processes write the hashes into the file of `scratch`."""
    end = multiprocessing.get_context(method).Value("q", scratch.end)
    work = partial(_write_hashes, sketch, str(scratch.hashes_path), end)
    try:
        yield from map_in_processes(documents, work, scheme, workers, method)
    finally:
        scratch.end = end.value


def _write_hashes(sketch: MakeSketches, path: str, end: Any, part: Iterable[Document]) -> Iterator[SketchBatch]:
    """Sketch documents in a worker process, and write their hashes into a file that all processes share.

    `end` is the number of hashes in the file, in shared memory; it is locked to reserve a range of the file.
    """
    with open(path, "r+b", buffering=0) as file:
        for _, made in sketch(batches(part, DOCUMENTS_AT_ONCE)):
            with end.get_lock():
                offset = end.value
                end.value = offset + made.hashes.size
            try:
                write_all(file.fileno(), made.hashes, offset)
            except OSError as error:
                raise temporary_folder_error(Path(path).parent, error) from None
            yield replace(made, hashes=made.hashes[:0], offset=offset)
