"""Runs of the search for near-duplicates, over a store or over other documents: load the sketches, then find pairs."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whorl.arrays import batches
from whorl.context import require_time
from whorl.duplicates.boilerplate import BoilerplateOptions, remove_boilerplate
from whorl.duplicates.exact import ReadHashes, split_by_hash_collision, verify_exact
from whorl.duplicates.options import Keep, PairOptions, seconds_of
from whorl.duplicates.pairs import find_pairs, first_of_equals
from whorl.duplicates.result import Duplicates, ReadProperties, ReadTexts
from whorl.duplicates.sketch_store import PersistentSketchStore, SketchStore, TemporarySketchStore, sketch_digest
from whorl.duplicates.sketching import Entry, Sketching, SketchMaker, no_date, part_of
from whorl.duplicates.verify import Pairs
from whorl.duplicates.worker_pool import AT_ONCE, sketch_in_processes, start_method
from whorl.engine.protocol import Engine, ScanBatch
from whorl.errors import NoSketchesError, ParameterError, SchemaError
from whorl.fingerprint.batch import hashed
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme
from whorl.model import Document
from whorl.query.plan.fields import value_named

#: Sketch scheme of documents outside a store: complete up to this number of shingles, so that these compare exactly.
FILES_SCHEME = SketchScheme(k=1 << 20, floor_level=0, cap=1 << 20, bits=40)
#: Largest number of documents compared within a request; larger stores need the command line.
MOST_DOCUMENTS = 200_000
#: Texts fetched from a store in one request.
_TEXTS_AT_ONCE = 50
#: Largest number of field names listed in an error message.
_SHOWN = 20

Progress = Callable[[str, int], None]


@contextmanager
def duplicates_among(
    documents: Iterable[Document],
    pair_options: PairOptions,
    *,
    scheme: Scheme = Scheme(),  # noqa: B008 - frozen
    reference: Iterable[Document] = (),
    folder: Path | None = None,
    dates: Callable[[Document], float | None] = no_date,
    date_column: str | None = None,
    keep: Keep = Keep("first"),  # noqa: B008 - frozen
    within: str | None = None,
    kind: str = "document",
    common: BoilerplateOptions | None = None,
    spanning_only: bool = False,
    workers: int = 1,
    texts: ReadTexts = lambda ids: {},
    on_repeated: Callable[[str], None] = lambda document_id: None,
    progress: Progress = lambda doing, count: None,
) -> Iterator[Duplicates]:
    """Find the near-duplicates among documents outside any store.

    Args:
        documents: Documents, read lazily; the last one of each id counts.
        pair_options: Options of the search.
        scheme: Scheme of words and shingles.
        reference: Documents that the others are compared with, and that are not compared with each other; the result
            treats them like documents of an earlier run with the same folder. Not together with a folder.
        folder: Folder of the persistent sketch store, from which a later run continues: it completes an interrupted
            run, and compares further documents with all earlier ones. None for a temporary store.
        dates: Returns a document's time of creation or change in seconds since 1970, None if unknown.
        date_column: The property with that time, if documents have one.
        keep: Retention policy for clusters; its column is a property.
        within: A property that compared documents must have in common; documents without it are compared with each
            other.
        kind: Name of the compared units, fixed for a folder: "paragraph", for instance, if they are parts of documents.
        common: Options of boilerplate. Common text changes with every document: in a folder all documents read so far
            count, and if common text is ignored, all pairs are found again.
        spanning_only: Whether clusters alone are needed, so that pairs within connected components may be skipped.
        workers: Processes for reading and sketching, and threads for comparing; the result does not depend on it. With
            a folder a single process reads.
        texts: Returns the texts of the documents that still have one, to show in words what versions add and lose.
        on_repeated: Called with each id that comes again in this run.
        progress: Called with the current activity and its count.

    Raises:
        StoreError: The folder cannot be used.
        ParameterError: The folder belongs to another origin, or comes together with a reference; or boilerplate comes
            together with `within`.
    """
    if within and common and common.boilerplate:
        raise ParameterError(
            "boilerplate does not work within a part of a collection; compare all documents, or leave it out"
        )
    if folder is not None and reference:
        raise ParameterError("a reference keeps no state: put it into the folder by a run of its own")

    sketching = Sketching(scheme, FILES_SCHEME, dates, date_column, keep, within)
    with ExitStack() as opened:
        origin = origin_of_files(scheme, keep, kind=kind, within=within, date_column=date_column)
        store = _store(opened, folder, origin, FILES_SCHEME)
        if isinstance(store, PersistentSketchStore):
            store.begin_partial_scan()
            _set_options(store, pair_options, common, spanning_only=spanning_only)
            _load_changed(store, documents, sketching, on_repeated, progress)
        else:
            load_documents(store, reference, sketching, workers, on_repeated, progress)
            store.mark_as_reference()
            load_documents(store, documents, sketching, workers, on_repeated, progress)
        found = _find_duplicates(
            store,
            pair_options,
            scheme,
            None,
            common=common,
            spanning_only=spanning_only,
            spanning_everywhere=spanning_only,
            workers=workers,
            progress=progress,
        )
        found.read_texts, found.kind = texts, kind
        yield found


def origin_of_files(
    scheme: Scheme, keep: Keep, *, kind: str = "document", within: str | None = None, date_column: str | None = None
) -> str:
    """Return the origin that a sketch store records for documents of files; arguments as in `duplicates_among`."""
    return (
        f"files, under {scheme.name}"
        + (f", by {kind}s" if kind != "document" else "")
        + (f", within {within}" if within else "")
        + (f", with what decides on the {keep}" if keep.column else "")
        + (f", with dates of {date_column}" if date_column else "")
    )


@contextmanager
def duplicates_in(
    engine: Engine,
    pair_options: PairOptions,
    *,
    origin: str = "a store",
    folder: Path | None = None,
    names: Mapping[str, str] | None = None,
    date_field: str | None = None,
    keep: Keep = Keep("first"),  # noqa: B008 - frozen
    common: BoilerplateOptions | None = None,
    spanning_only: bool = False,
    progress: Progress = lambda doing, count: None,
) -> Iterator[Duplicates]:
    """Find the near-duplicates in a store, from its sketches, and from its texts if these leave a pair undecided.

    Args:
        engine: Engine of the store.
        pair_options: Options of the search.
        origin: Name of the store.
        folder: As in `duplicates_among`; documents deleted from the store are deleted from the folder, too.
        names: Maps field names to those in the store, as in a query.
        date_field: Field with the dates of documents, named as in a query; None if dates do not matter.
        keep: Retention policy for clusters; its column is a field, named as in a query.
        common: As in `duplicates_among`; all texts of the store are then read, or with a folder those new to it.
        spanning_only: Whether clusters alone are needed: a block of near-copies then needs only its spanning pairs.
        progress: As in `duplicates_among`.

    Raises:
        NoSketchesError: The documents of the store have no sketches.
        StoreError: The folder cannot be used.
        ParameterError: The folder belongs to another origin, or the store lacks a field.
    """
    scheme = engine.sketch_scheme if common is None else FILES_SCHEME
    if scheme is None and engine.count():
        raise NoSketchesError
    sought = {keep.column: keep.sought, date_field: "date"}
    _require_fields(engine, names or {}, {name: kind for name, kind in sought.items() if name}, origin)
    with ExitStack() as opened:
        store = _store(opened, folder, f"{origin}, under {engine.scheme.name}", scheme or SketchScheme())
        without = 0
        for portion in engine.scan(store.begin_scan()):
            new, missing = (
                _new_from_sketches(portion, store) if common is None else _new_from_texts(portion, store, engine)
            )
            store.put(new, portion.mark)
            without += missing
            require_time()
            progress("reading", store.count())
        store.end_scan()

        def read(ids: Sequence[str]) -> Mapping[str, npt.NDArray[np.uint64]]:
            texts = engine.texts(ids)
            found = hashed(texts.values(), engine.scheme, workers=1)
            return {document_id: each.hashes for document_id, each in zip(texts, found, strict=True)}

        def properties(ids: Sequence[str]) -> Mapping[str, tuple[float | None, float | None]]:
            # Read for the members of clusters only, and with their current values.
            return {
                document_id: (
                    keep.worth(value_named(keep.column, names or {}, each.properties)) if keep.column else None,
                    seconds_of(value_named(date_field, names or {}, each.properties)) if date_field else None,
                )
                for document_id, each in engine.documents(ids).items()
            }

        found = _find_duplicates(
            store,
            pair_options,
            engine.scheme,
            None if common else read,
            properties if keep.column or date_field else None,
            common=common,
            spanning_only=spanning_only,
            progress=progress,
        )
        found.read_texts = texts_of(engine)
        if common:
            found.without_text = without
        else:
            found.without_sketch = without
        yield found


def require_few_documents(engine: Engine, where: str) -> int:
    """Return the number of documents of a store, if they are few enough to be compared within a request.

    Args:
        engine: Engine of the store.
        where: Kind of request, for the message: "over HTTP".

    Raises:
        ParameterError: There are more than MOST_DOCUMENTS documents.
    """
    count = engine.count()
    if count > MOST_DOCUMENTS:
        raise ParameterError(
            f"the store has {count:,} documents, more than the {MOST_DOCUMENTS:,} that are compared {where}; "
            "'whorl duplicates' does it on the command line"
        )
    return count


def _new_from_sketches(portion: ScanBatch, store: SketchStore) -> tuple[list[Entry], int]:
    """Return the entries that are new to an archive, from stored sketches, and the number of documents without one."""
    entries = [
        Entry(document_id, sketch_digest(sketch), sketch, name)
        for document_id, name, sketch in portion.documents
        if sketch is not None
    ]
    same = store.seen_unchanged([(entry.id, entry.digest, entry.name, None, None) for entry in entries])
    return [entry for entry in entries if entry.id not in same], len(portion.documents) - len(entries)


def _new_from_texts(portion: ScanBatch, store: SketchStore, engine: Engine) -> tuple[list[Entry], int]:
    """Return the entries that are new to an archive, from whole texts, and the number of documents without a text."""
    names = {document_id: name for document_id, name, _ in portion.documents}
    digests = {each: digest.encode() for each, digest in engine.digests(list(names), of_texts=True).items()}
    known = [(each, digests[each], name, None, None) for each, name in names.items() if each in digests]
    same = store.seen_unchanged(known)
    read = _whole_sketches(engine, [each for each in names if each not in same])
    entries = [Entry(each, digests.get(each, b""), read[each], name) for each, name in names.items() if each in read]
    return entries, len(names) - len(entries) - len(same)


def _whole_sketches(engine: Engine, ids: Sequence[str]) -> dict[str, Sketch]:
    """Return sketches of the whole texts of documents, for the documents that have a text."""
    found: dict[str, Sketch] = {}
    for some in batches(ids, _TEXTS_AT_ONCE):
        require_time()
        texts = engine.texts(some)
        read = hashed(texts.values(), engine.scheme, workers=1)
        found |= {each: one.sketch(FILES_SCHEME) for each, one in zip(texts, read, strict=True)}
    return found


def texts_of(engine: Engine) -> ReadTexts:
    """Return a reader for the texts of a store's documents; it returns none if the store does not keep texts."""

    def read(ids: Sequence[str]) -> Mapping[str, str]:
        try:
            return engine.texts(ids)
        except SchemaError:
            return {}

    return read


def _require_fields(engine: Engine, names: Mapping[str, str], sought: Mapping[str, str], origin: str) -> None:
    """Raise unless a store has the given fields, to fail before hours of work.

    Args:
        engine: Engine of the store.
        names: Maps field names to those in the store.
        sought: Kind of value needed from each field: a date or a number.
        origin: Name of the store.
    """
    if not sought or not engine.count():
        return
    fields = engine.fields()
    for name, kind in sought.items():
        if fields.named(name, names) is None:
            there = sorted(fields.known.keys() - {"id", "content", "name"})[:_SHOWN]
            raise ParameterError(
                f"{origin} has no field {name!r:.80}; name the field of the {kind}"
                + (f", of {', '.join(there)}" if there else "")
            )


def _store(opened: ExitStack, folder: Path | None, origin: str, scheme: SketchScheme) -> SketchStore:
    if folder is not None:
        return opened.enter_context(PersistentSketchStore(folder, origin, scheme))
    # Some systems cannot delete a mapped file before the process ends.
    temporary = tempfile.TemporaryDirectory(prefix="whorl-duplicates-", ignore_cleanup_errors=True)
    return opened.enter_context(TemporarySketchStore(Path(opened.enter_context(temporary)), scheme))


def load_documents(
    store: TemporarySketchStore,
    documents: Iterable[Document],
    sketching: SketchMaker,
    workers: int,
    on_repeated: Callable[[str], None],
    progress: Progress,
) -> None:
    """Load documents into a temporary sketch store.

    Args:
        store: The sketch store.
        documents: Documents, read lazily.
        sketching: Sketching method.
        workers: Processes for reading and sketching.
        on_repeated: Called with each id that comes again.
        progress: Called with the current activity and its count.
    """
    method = start_method(documents) if workers > 1 else ""
    if method:
        several = sketch_in_processes(documents, sketching, store, workers, method)
    else:
        several = (sketched for _, sketched in sketching.sketched(batches(documents, AT_ONCE)))
    for sketched in several:
        require_time()
        for document_id in store.add(sketched):
            on_repeated(document_id)
        progress("reading", store.count())
    for document_id in store.repeated():
        on_repeated(document_id)


def _load_changed(
    store: PersistentSketchStore,
    documents: Iterable[Document],
    sketching: Sketching,
    on_repeated: Callable[[str], None],
    progress: Progress,
) -> None:
    """Put documents into a persistent sketch store, except unchanged ones."""
    ahead: Counter[str] = Counter()
    digests_ahead: deque[list[bytes]] = deque()
    is_empty = not store.count()

    def changed() -> Iterator[list[Document]]:
        for some in batches(documents, AT_ONCE):
            require_time()
            digests = [_digest(each, sketching) for each in some]
            same: dict[str, bool] = {}
            if not is_empty:
                # The archive does not know yet the documents of this run that are still to be put, so skip their ids.
                same = store.seen_unchanged(
                    [
                        (each.id, digest, each.name, *sketching.rank_and_date(each))
                        for each, digest in zip(some, digests, strict=True)
                        if each.id not in ahead
                    ]
                )
            new = []
            for document, digest in zip(some, digests, strict=True):
                if document.id not in same:
                    new.append((document, digest))
                elif same[document.id]:
                    on_repeated(document.id)
                else:
                    same[document.id] = True
            ahead.update(document.id for document, _ in new)
            if new:
                digests_ahead.append([digest for _, digest in new])
                yield [document for document, _ in new]

    seen = store.count()
    for some, sketched in sketching.sketched(changed()):
        entries: dict[str, Entry] = {}
        for entry in sketched.entries(store.scheme, digests_ahead.popleft()):
            if entry.id in entries:
                on_repeated(entry.id)
            entries[entry.id] = entry
        for document_id in store.put(list(entries.values())):
            on_repeated(document_id)
        ahead -= Counter(document.id for document in some)
        seen += len(entries)
        progress("reading", seen)


def _digest(document: Document, sketching: Sketching) -> bytes:
    part = part_of(document, sketching.within)
    return hashlib.blake2b(document.text.encode(), digest_size=16, key=part.encode()[-64:]).digest()


def _set_options(
    store: SketchStore, pair_options: PairOptions, common: BoilerplateOptions | None, *, spanning_only: bool
) -> None:
    told = str(pair_options)
    if common is not None and common.is_ignored:
        told += " of what is not common"
    store.set_options(told, spanning_only=spanning_only)


def _find_duplicates(
    store: SketchStore,
    pair_options: PairOptions,
    scheme: Scheme,
    read: ReadHashes | None,
    properties: ReadProperties | None = None,
    *,
    common: BoilerplateOptions | None,
    spanning_only: bool,
    spanning_everywhere: bool = False,
    workers: int = 1,
    progress: Progress,
) -> Duplicates:
    _set_options(store, pair_options, common, spanning_only=spanning_only)
    stored = store.stored()
    if read is not None:
        stored = split_by_hash_collision(store, stored, pair_options, read)
    firsts = first_of_equals(stored.keys, stored.sketches.sizes)
    known, is_known = store.pairs(stored), stored.is_paired
    if read is None:
        # Documents that were not compared with each other still need their pairs if they equal a new document.
        is_known = np.bincount(firsts, ~is_known, minlength=firsts.size)[firsts] == 0
    rest = None if common is None else remove_boilerplate(stored.sketches, firsts, common, scheme)
    if common is not None and common.is_ignored and isinstance(store, PersistentSketchStore):
        # Common text has changed since the last run, so its pairs no longer hold.
        known, is_known = Pairs.together([]), np.zeros_like(is_known)
    pairs = find_pairs(
        rest.sketches if rest and rest.options.is_ignored else stored.sketches,
        firsts,
        pair_options,
        known=known,
        is_known=is_known,
        keys=stored.keys,
        spanning_only=spanning_only,
        spanning_everywhere=spanning_everywhere,
        workers=workers,
        progress=lambda count: progress("comparing", count),
    )
    if read is not None:
        pairs = verify_exact(store, stored, pairs, pair_options, read, lambda count: progress("reading whole", count))
    store.replace_pairs(pairs, stored.numbers)
    return Duplicates(store, stored, pairs, firsts, stored.is_new, scheme, properties, rest)
