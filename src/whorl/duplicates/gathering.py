"""All near-duplicates of a store, or of documents in none: their sketches are gathered, then pairs found among them."""

from __future__ import annotations

import hashlib
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whorl.context import require_time
from whorl.duplicates.archive import Archive, Entry, sketch_digest
from whorl.duplicates.question import PairQuestion
from whorl.duplicates.result import Duplicates
from whorl.duplicates.search import find_pairs, first_of_equals
from whorl.duplicates.whole_text import ReadHashes, settled, told_apart
from whorl.engine.protocol import Engine, Scanned
from whorl.errors import NoSketchesError
from whorl.fingerprint.batch import hashed
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.model import Document
from whorl.planning.dates import DateError, read_date

#: Of documents that are in no store whole sets of hashes are kept, up to so many shingles: those are compared exactly.
FILES_SCHEME = SketchScheme(k=1 << 20, floor_level=0, cap=1 << 20, bits=40)
#: Documents put into an archive at once, and looked for in it.
_AT_ONCE = 512

Progress = Callable[[str, int], None]


@contextmanager
def duplicates_among(
    documents: Iterable[Document],
    question: PairQuestion,
    *,
    scheme: Scheme = Scheme(),  # noqa: B008 - frozen
    folder: Path | None = None,
    dates: Callable[[Document], float | None] = lambda document: None,
    links_suffice: bool = False,
    workers: int | None = None,
    on_repeated: Callable[[str], None] = lambda document_id: None,
    progress: Progress = lambda doing, count: None,
) -> Iterator[Duplicates]:
    """Find the near-duplicates among documents that need be in no store.

    Args:
        documents: Read as they are needed; of several with one id the last counts.
        question: What is to be found.
        scheme: What words and shingles are.
        folder: Where what is learned of them stays, so that another run goes on from there: a run that was stopped is
            completed, and further documents are compared with all that came before. None for a temporary one.
        dates: Seconds since 1970 when a document was made or changed, None where nobody knows.
        links_suffice: Whether only clusters are wanted: of a crowd that is all alike not all pairs are looked for.
        workers: As in `fingerprint.bulk.signatures_of`.
        on_repeated: Called with an id that comes again in this run.
        progress: Called with what is being done, and how much of it is.

    Raises:
        StoreError: The folder cannot be used.
        ParameterError: The folder is of something else.
    """
    with ExitStack() as opened:
        archive = opened.enter_context(_archive(opened, folder, f"files, under {scheme.name}", FILES_SCHEME))
        archive.begin_reading()
        _gather(archive, documents, scheme, dates, workers, on_repeated, progress)
        yield _found(archive, question, scheme, None, links_suffice=links_suffice, progress=progress)


@contextmanager
def duplicates_in(
    engine: Engine,
    question: PairQuestion,
    *,
    origin: str = "a store",
    folder: Path | None = None,
    date_field: str | None = None,
    links_suffice: bool = False,
    progress: Progress = lambda doing, count: None,
) -> Iterator[Duplicates]:
    """Find the near-duplicates in a store, from the sketches that it keeps, and its texts where these leave a doubt.

    Args:
        engine: Where the documents are.
        question: What is to be found.
        origin: What to call the store.
        folder: As in `duplicates_among`; what is gone from the store is forgotten.
        date_field: The field that says when a document was made or changed, where dates are wanted.
        links_suffice: As in `duplicates_among`.
        progress: As in `duplicates_among`.

    Raises:
        NoSketchesError: The documents of the store have none.
        StoreError: The folder cannot be used.
        ParameterError: The folder is of something else.
    """
    scheme = engine.sketch_scheme
    if scheme is None and engine.count():
        raise NoSketchesError
    with ExitStack() as opened:
        archive = opened.enter_context(
            _archive(opened, folder, f"{origin}, under {engine.scheme.name}", scheme or SketchScheme())
        )
        without = 0
        # What was read without its dates would go without them.
        for portion in engine.scan(archive.begin_scan(anew=date_field is not None)):
            dates = _dates(engine, portion, date_field)
            entries = [
                Entry(document_id, sketch_digest(sketch), sketch, name, dates.get(document_id))
                for document_id, name, sketch in portion.documents
                if sketch is not None
            ]
            without += len(portion.documents) - len(entries)
            same = archive.unchanged([(entry.id, entry.digest, entry.name, entry.date) for entry in entries])
            archive.put([entry for entry in entries if entry.id not in same], portion.mark)
            require_time()
            progress("reading", archive.count())
        archive.end_scan()

        def read(ids: Sequence[str]) -> Mapping[str, npt.NDArray[np.uint64]]:
            texts = engine.texts(ids)
            found = hashed(texts.values(), engine.scheme, workers=1)
            return {document_id: each.hashes for document_id, each in zip(texts, found, strict=True)}

        found = _found(archive, question, engine.scheme, read, links_suffice=links_suffice, progress=progress)
        found.without_sketch = without
        yield found


def _dates(engine: Engine, portion: Scanned, field: str | None) -> dict[str, float | None]:
    if field is None:
        return {}
    stored = engine.documents([document_id for document_id, _, _ in portion.documents])
    return {document_id: seconds_of(each.properties.get(field)) for document_id, each in stored.items()}


def seconds_of(value: object) -> float | None:
    """Return the moment of a field's value, or of the first of several, in seconds since 1970; None if it is none.

    Args:
        value: A date as queries write it, or a number of seconds; in a list or tuple or alone.
    """
    first = value[0] if isinstance(value, list | tuple) and value else value
    if isinstance(first, int | float):
        return float(first)
    if not isinstance(first, str):
        return None
    try:
        return read_date(first, datetime.now(UTC)).first / 1000
    except DateError:
        return None


def _archive(opened: ExitStack, folder: Path | None, origin: str, scheme: SketchScheme) -> Archive:
    if folder is not None:
        return Archive(folder, origin, scheme)
    # What is mapped may not be deleted everywhere before the process ends.
    temporary = tempfile.TemporaryDirectory(prefix="whorl-duplicates-", ignore_cleanup_errors=True)
    return Archive(Path(opened.enter_context(temporary)), origin, scheme, lasts=False)


def _gather(
    archive: Archive,
    documents: Iterable[Document],
    scheme: Scheme,
    dates: Callable[[Document], float | None],
    workers: int | None,
    on_repeated: Callable[[str], None],
    progress: Progress,
) -> None:
    """Put documents into an archive, except those that are in it unchanged."""
    waiting: deque[tuple[str, str, float | None, bytes]] = deque()
    fresh: dict[str, Entry] = {}
    remaining = iter(documents)
    seen = archive.count()
    is_empty = not seen

    def texts() -> Iterator[str]:
        while some := list(islice(remaining, _AT_ONCE)):
            require_time()
            digests = [_digest(each.text) if archive.lasts else b"" for each in some]
            moments = [dates(each) for each in some]
            # What came before in this run and is still to be put is not known by what the archive has under its id.
            ahead = {document_id for document_id, *_ in waiting} | fresh.keys()
            known = [
                (each.id, digest, each.name, moment)
                for each, digest, moment in zip(some, digests, moments, strict=True)
                if each.id not in ahead
            ]
            same = set() if is_empty else archive.unchanged(known)
            for document, digest, moment in zip(some, digests, moments, strict=True):
                if document.id not in same:
                    waiting.append((document.id, document.name, moment, digest))
                    yield document.text

    for each in hashed(texts(), scheme, workers=workers):
        document_id, name, moment, digest = waiting.popleft()
        if document_id in fresh:
            on_repeated(document_id)
        fresh[document_id] = Entry(document_id, digest, each.sketch(archive.scheme), name, moment)
        if len(fresh) == _AT_ONCE:
            seen += _put(archive, fresh, on_repeated)
            progress("reading", seen)
    seen += _put(archive, fresh, on_repeated)
    progress("reading", seen)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _put(archive: Archive, fresh: dict[str, Entry], on_repeated: Callable[[str], None]) -> int:
    count = len(fresh)
    for document_id in archive.put(list(fresh.values())):
        on_repeated(document_id)
    fresh.clear()
    return count


def _found(
    archive: Archive,
    question: PairQuestion,
    scheme: Scheme,
    read: ReadHashes | None,
    *,
    links_suffice: bool,
    progress: Progress,
) -> Duplicates:
    told = f"{question.metric.value} {question.threshold} with recall {question.recall}"
    archive.ask(told, links_suffice=links_suffice)
    archived = archive.archived()
    if read is not None:
        archived = told_apart(archive, archived, question, read)
    firsts = first_of_equals(archived.keys, archived.sketches.sizes)
    known = archive.pairs(archived)
    pairs = find_pairs(
        archived.sketches,
        firsts,
        question,
        known=known,
        is_known=archived.is_paired,
        keys=archived.keys,
        links_suffice=links_suffice,
        progress=lambda count: progress("comparing", count),
    )
    if read is not None:
        pairs = settled(archive, archived, pairs, question, read, lambda count: progress("reading whole", count))
    archive.keep_pairs(pairs, archived.numbers)
    return Duplicates(archive, archived, pairs, firsts, archived.is_new, scheme.shingle_size)
