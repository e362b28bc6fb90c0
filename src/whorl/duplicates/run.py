"""Runs a duplicate search: reads documents or a store, makes or loads sketches, and finds the pairs."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from whorl.arrays_and_batches import batches
from whorl.duplicates.all_pairs import find_pairs, first_of_equals
from whorl.duplicates.input import InputDocuments
from whorl.duplicates.options import DuplicatesOptions, Granularity, PairOptions
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.prefix_lengths import JoinOptions
from whorl.duplicates.remove_common_shingles import remove_boilerplate
from whorl.duplicates.results import Duplicates, ReadProperties, ReadTexts
from whorl.duplicates.retention import UnreadValues, none_for_nan, ranks_and_dates
from whorl.duplicates.sketch_arrays import Hashes
from whorl.duplicates.sketch_store import PersistentSketchStore, SketchStore, TemporarySketchStore, temporary_store
from whorl.duplicates.sketching import MakeSketches, SketchBatch, Sketching, group_of, sketch_digest
from whorl.duplicates.verify_by_texts import ReadHashes, split_equal_samples, verify_exact
from whorl.duplicates.worker_pool import DOCUMENTS_AT_ONCE, checked_documents, sketch_in_processes, start_method
from whorl.engine.protocol import Engine, ScanBatch
from whorl.errors import NoSketchesError, ParameterError, SchemaError
from whorl.fingerprint.fingerprint_texts import hash_texts
from whorl.fingerprint.sketch.frac_minhash import SketchScheme, sketch_of_distinct
from whorl.model import Document
from whorl.query.plan.fields_and_values import value_named
from whorl.request_context import report_progress, require_time

#: Sketch scheme of documents outside a store. The sketch of a document of up to `k` shingles has all hashes, so its
#: comparison is exact.
FILES_SCHEME = SketchScheme(k=1 << 20, floor_level=0, cap=1 << 20, bits=40)
#: Maximum number of documents to compare in a request. For a larger store, use the command line.
MOST_DOCUMENTS = 200_000
_TEXTS_AT_ONCE = 50
_LISTED_FIELDS = 20


@contextmanager
def duplicates_among(
    documents: Iterable[Document],
    options: PairOptions | DuplicatesOptions,
    *,
    reference: Iterable[Document] = (),
    dates: Callable[[Document], float | None] | None = None,
    texts: ReadTexts = lambda ids: {},
    on_repeated: Callable[[str], None] = lambda document_id: None,
) -> Iterator[Duplicates]:
    """Find the near-duplicates among documents outside any store.

    Args:
        documents: Documents, read lazily. If documents share an id, only the last document is used.
        reference: Documents to compare with `documents`, but not with each other. Cannot be combined with a folder
            (`state`).
        dates: Returns a document's creation or modification time in seconds since 1970, or None. Used if the options
            name no date column.
        texts: Reads texts by id, to find the words that versions add and lose.

    Raises:
        StoreError: The folder cannot be used.
        ParameterError: The folder was made for other input or options, or two options cannot be combined.
    """
    options = DuplicatesOptions.from_options(options)
    if options.within and options.common and options.common.boilerplate:
        raise ParameterError(
            "boilerplate does not work within a part of a collection; compare all documents, or leave it out"
        )
    if options.state is not None and reference:
        raise ParameterError("a reference keeps no state: put it into the folder by a run of its own")

    sketching = Sketching(options, FILES_SCHEME, dates)
    with _store(options.state, description_of_options(options), FILES_SCHEME) as store:
        if isinstance(store, PersistentSketchStore):
            store.begin_partial_scan()
            _set_options(store, options)
            unread = _load_changed(store, checked_documents(documents), sketching, on_repeated)
            # Only documents from files have ids with the number of a paragraph or line. Other ids may end with a number
            # by chance, so delete no pieces then.
            if options.granularity is not Granularity.DOCUMENT and isinstance(documents, InputDocuments):
                store.delete_old_pieces()
        else:
            load_documents(store, reference, sketching.sketch, options, on_repeated)
            store.mark_as_reference()
            unread = load_documents(store, documents, sketching.sketch, options, on_repeated)
        duplicates = _find_duplicates(store, options, None, spanning_everywhere=options.spanning_only)
        duplicates.read_texts, duplicates.kind = texts, options.granularity.value
        if isinstance(store, PersistentSketchStore):
            duplicates.replaced, duplicates.unfinished = store.replaced, store.count_unfinished()
        duplicates.find_unread_values = lambda: unread
        yield duplicates
        store.end_run()


def description_of_options(options: DuplicatesOptions) -> str:
    """Describe the options that affect the sketches in a folder. The folder refuses a run with another description."""
    parts = (
        f"files, under {options.scheme.name}",
        f"by {options.granularity}s" if options.granularity != Granularity.DOCUMENT else "",
        f"within {options.within}" if options.within else "",
        f"with what decides on the {options.policy}" if options.policy.column else "",
        f"with dates of {options.date}" if options.date else "",
    )
    return ", ".join(filter(None, parts))


@contextmanager
def duplicates_in(
    engine: Engine,
    options: PairOptions | DuplicatesOptions,
    *,
    origin: str = "a store",
    names: Mapping[str, str] | None = None,
) -> Iterator[Duplicates]:
    """Find the near-duplicates in a store: compare the stored sketches, and read texts if sketches cannot decide.

    Args:
        options: Field names are the names in queries. With boilerplate options, the search reads all texts, because the
            store's sketches are incomplete. With a folder for later runs (`state`), only new texts are read. Documents
            deleted from the store are also deleted from the folder.
        origin: Name of the store, for error messages. The folder remembers it, and refuses another store.
        names: Maps field names of a query to field names in the store.

    Raises:
        NoSketchesError: The documents of the store have no sketches.
        StoreError: The folder cannot be used.
        ParameterError: The folder was made for another store, or the store lacks a field.
    """
    options = replace(DuplicatesOptions.from_options(options), scheme=engine.scheme)
    policy, date_field = options.policy, options.date
    scheme = engine.sketch_scheme if options.common is None else FILES_SCHEME
    if scheme is None and engine.count():
        raise NoSketchesError(keeps_texts=engine.keeps_texts)
    needed_types = {policy.column: policy.needed_type, date_field: "date"}
    _require_fields(engine, names or {}, {name: kind for name, kind in needed_types.items() if name}, origin)
    with _store(options.state, f"{origin}, under {engine.scheme.name}", scheme or SketchScheme()) as store:
        without = 0
        for portion in engine.scan(store.begin_scan()):
            without += _put_changed(store, engine, portion, of_texts=options.common is not None)
            require_time()
            report_progress("reading", store.count())
        store.end_scan()

        unread: dict[tuple[str, str], dict[str, object]] = {}

        def properties(ids: Sequence[str]) -> Mapping[str, tuple[float | None, float | None]]:
            # Read properties only for members of clusters, and only when needed, so that they are current.
            documents = engine.documents(ids)
            read_ids = list(documents)

            def values_of(field: str) -> list[object]:
                return [value_named(field, names or {}, document.properties) for document in documents.values()]

            values, failed = ranks_and_dates(policy, date_field, values_of, len(read_ids))
            for key, own in failed.items():
                unread.setdefault(key, {}).update((read_ids[at], value) for at, value in own.items())
            return dict(zip(read_ids, zip(*map(none_for_nan, values), strict=True), strict=True))

        read = None if options.common else partial(_read_hashes, engine)
        duplicates = _find_duplicates(store, options, read, properties if policy.column or date_field else None)
        duplicates.read_texts = partial(_read_texts, engine)
        duplicates.gaps = engine.gaps("words")
        duplicates.find_unread_values = lambda: [
            found for key, of_ids in unread.items() for found in UnreadValues.of_column(*key, of_ids.values())
        ]
        # If the engine reports no gaps, all texts have sketches, so a document without a sketch has no text.
        if without and options.common is None and engine.gaps("sketches"):
            duplicates.without_sketch = without
        else:
            duplicates.without_text = without
        yield duplicates
        store.end_run()


def require_few_documents(engine: Engine, where: str) -> int:
    """Return the number of a store's documents; raise ParameterError (naming `where`) if there are too many."""
    count = engine.count()
    if count > MOST_DOCUMENTS:
        raise ParameterError(
            f"the store has {count:,} documents, more than the {MOST_DOCUMENTS:,} that are compared {where}; "
            "'whorl duplicates' does it on the command line"
        )
    return count


def _put_changed(store: SketchStore, engine: Engine, portion: ScanBatch, *, of_texts: bool) -> int:
    """Put the new and changed documents of a batch into a sketch store; return the number without a sketch or text.

    Sketches come from the engine, or with `of_texts` from the texts. Unchanged documents get only their current name.
    """
    names = {document_id: name for document_id, name, _ in portion.documents}
    sketches = {document_id: sketch for document_id, _, sketch in portion.documents if sketch is not None}
    if of_texts:
        digests = {key: digest.encode() for key, digest in engine.digests(list(names), of_texts=True).items()}
    else:
        digests = {document_id: sketch_digest(sketch) for document_id, sketch in sketches.items()}
    same = store.mark_unchanged([(key, digests[key], names[key], None, None) for key in names if key in digests])
    changed = [key for key in names if key not in same]
    if of_texts:
        sketches = {}
        for batch in batches(changed, _TEXTS_AT_ONCE):
            require_time()
            read = _read_hashes(engine, batch)
            sketches |= {key: sketch_of_distinct(hashes, FILES_SCHEME) for key, hashes in read.items()}
    ids = [key for key in changed if key in sketches]
    own = SketchBatch.from_sketches(ids, [names[key] for key in ids], [sketches[key] for key in ids], store.scheme)
    store.put(own, [digests.get(key, b"") for key in ids], portion.cursor)
    return len(names) - len(ids) - len(same)


def _read_hashes(engine: Engine, ids: Sequence[str]) -> dict[str, Hashes]:
    texts = engine.texts(ids)
    read = hash_texts(texts.values(), engine.scheme, workers=1)
    return {document_id: text.hashes for document_id, text in zip(texts, read, strict=True)}


def _read_texts(engine: Engine, ids: Sequence[str]) -> Mapping[str, str]:
    try:
        return engine.texts(ids)
    except SchemaError:
        # A store may keep no texts.
        return {}


def _require_fields(engine: Engine, names: Mapping[str, str], needed_types: Mapping[str, str], origin: str) -> None:
    """Raise ParameterError if a store lacks a field. `needed_types` maps each field to "date" or "number"."""
    if not needed_types or not engine.count():
        return
    fields = engine.fields()
    for name, kind in needed_types.items():
        if fields.resolve_name(name, names) is None:
            known = sorted(fields.known.keys() - {"id", "content", "name"})[:_LISTED_FIELDS]
            raise ParameterError(
                f"{origin} has no field {name!r:.80}; name the field of the {kind}"
                + (f", of {', '.join(known)}" if known else "")
            )


def _store(folder: Path | None, origin: str, scheme: SketchScheme) -> AbstractContextManager[SketchStore]:
    return temporary_store(scheme) if folder is None else closing(PersistentSketchStore(folder, origin, scheme))


def load_documents(
    store: TemporarySketchStore,
    documents: Iterable[Document],
    sketch: MakeSketches,
    options: DuplicatesOptions,
    on_repeated: Callable[[str], None],
) -> list[UnreadValues]:
    """Sketch documents, and put them into a temporary store; return values that are not readable as a rank or date."""
    documents, unread = checked_documents(documents), list[UnreadValues]()
    if method := start_method(documents, options.workers):
        sketch_batches = sketch_in_processes(documents, sketch, options.scheme, store, options.workers, method)
    else:
        sketch_batches = (sketched for _, sketched in sketch(batches(documents, DOCUMENTS_AT_ONCE)))
    for sketched in sketch_batches:
        require_time()
        unread = UnreadValues.sum([*unread, *sketched.unread])
        for document_id in store.put(sketched):
            on_repeated(document_id)
        report_progress("reading", store.count())
    for document_id in store.repeated_ids():
        on_repeated(document_id)
    return unread


def _load_changed(
    store: PersistentSketchStore,
    documents: Iterable[Document],
    sketching: Sketching,
    on_repeated: Callable[[str], None],
) -> list[UnreadValues]:
    """Sketch and store new and changed documents; return the values that are not readable as a rank or date.

    Unchanged documents are marked as seen; their names, ranks and dates are updated.
    """
    unread: list[UnreadValues] = []
    ahead: Counter[str] = Counter()
    digests_ahead: deque[list[bytes]] = deque()
    # If the store is empty, all documents are new, so there are no ranks and dates of stored documents to update.
    is_empty = not store.count()

    def changed_documents() -> Iterator[list[Document]]:
        for batch in batches(documents, DOCUMENTS_AT_ONCE):
            require_time()
            digests = [_digest(document, sketching) for document in batch]
            same: dict[str, bool] = {}
            if not is_empty:
                values, own_unread = sketching.ranks_and_dates(batch)
                unread.extend(own_unread)
                # Documents in `ahead` are read but not yet stored, so the store cannot compare their digests.
                same = store.mark_unchanged(
                    [
                        (document.id, digest, document.name, rank, date)
                        for document, digest, rank, date in zip(batch, digests, *values.tolist(), strict=True)
                        if document.id not in ahead
                    ]
                )
            for document_id in [document.id for document in batch if document.id in same]:
                if same[document_id]:
                    on_repeated(document_id)
                same[document_id] = True
            new = [pair for pair in zip(batch, digests, strict=True) if pair[0].id not in same]
            ahead.update(document.id for document, _ in new)
            if new:
                digests_ahead.append([digest for _, digest in new])
                yield [document for document, _ in new]

    seen = store.count()
    for batch, sketched in sketching.sketch(changed_documents()):
        if is_empty:
            unread.extend(sketched.unread)
        for document_id in store.put(sketched, digests_ahead.popleft()):
            on_repeated(document_id)
        ahead -= Counter(document.id for document in batch)
        seen += len(set(sketched.ids))
        report_progress("reading", seen)
    return UnreadValues.sum(unread)


def _digest(document: Document, sketching: Sketching) -> bytes:
    group = group_of(document, sketching.options.within)
    return hashlib.blake2b(document.text.encode(), digest_size=16, key=group.encode()[-64:]).digest()


def _set_options(store: SketchStore, options: DuplicatesOptions) -> None:
    described = str(options.pairs)
    if options.common is not None and options.common.is_ignored:
        described += " of what is not common"
    store.set_options(described, spanning_only=options.spanning_only)


def _find_duplicates(
    store: SketchStore,
    options: DuplicatesOptions,
    read: ReadHashes | None,
    properties: ReadProperties | None = None,
    *,
    spanning_everywhere: bool = False,
) -> Duplicates:
    """Find the pairs of the documents in a sketch store.

    Args:
        read: Returns all hashes of texts by id, for pairs that sketches cannot decide; None if sketches are complete.
        properties: Returns the rank and date of documents by id; None if the sketch store has them.
        spanning_everywhere: See `JoinOptions`.
    """
    _set_options(store, options)
    stored, common = store.read_sketches(), options.common
    if read is not None:
        stored = split_equal_samples(store, stored, options.pairs, read)
    firsts = first_of_equals(stored.keys, stored.sketches.sizes)
    known, is_known = store.pairs(stored), stored.is_paired
    if read is None:
        # Equal texts have one set of pairs. A reference document was not compared with the other reference documents,
        # but a new document must be. So if any document with a text is new, compare this text with all others.
        is_known = np.bincount(firsts, ~is_known, minlength=firsts.size)[firsts] == 0
    residual = None if common is None else remove_boilerplate(stored.sketches, firsts, common, options.scheme)
    if common is not None and common.is_ignored and isinstance(store, PersistentSketchStore):
        # The common text may have changed since the last run, so search for all pairs again.
        known, is_known = Pairs.concatenate([]), np.zeros_like(is_known)
    pairs = find_pairs(
        residual.sketches if residual and residual.options.is_ignored else stored.sketches,
        firsts,
        JoinOptions(
            options.pairs,
            spanning_only=options.spanning_only,
            spanning_everywhere=spanning_everywhere,
            workers=options.workers,
        ),
        known=known,
        is_known=is_known,
        keys=stored.keys,
    )
    if read is not None:
        pairs = verify_exact(store, stored, pairs, options.pairs, read)
    store.replace_pairs(pairs, stored.numbers)
    return Duplicates(store, stored, pairs, firsts, options.scheme, properties, residual)
