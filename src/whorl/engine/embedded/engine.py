"""Embedded search engine: a folder with an SQLite database of documents, and an index of their words and tokens.

The database is the source of truth. A write first stores its documents and journal entries in the database, in one
transaction, and then updates the index. Each commit of the index stores the number of the last journal entry that it
contains. When the engine opens the folder after a crash, it applies the later entries to the index. The engine rebuilds
a lost or broken index from the database.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, Self, TypeAlias, TypeVar

import numpy as np

from whorl.arrays_and_batches import chunks
from whorl.engine.embedded.cluster_labels import EmbeddedLabels
from whorl.engine.embedded.database import SKETCH_SCHEME, RecordDatabase, StoreOptions
from whorl.engine.embedded.prepare_documents import Change, DocumentPreparation
from whorl.engine.embedded.search import PlanRunner
from whorl.engine.embedded.segments import Numbers, Tokens
from whorl.engine.embedded.shared_tokens import passage_postings
from whorl.engine.embedded.store_files import (
    INDEX,
    LOCK,
    RECORDS,
    IndexBrokenError,
    OtherIndexError,
    WriteLock,
    WriterRegister,
    busy_message,
    file_base,
    folder_size,
    index_failure_message,
    is_read_only,
    link_index_files,
    prepare_folder,
)
from whorl.engine.embedded.store_index import StoreIndex, StoreIndexWriter
from whorl.engine.embedded.tantivy_query import translate
from whorl.engine.index_terms import engine_fields_by_name
from whorl.engine.protocol import (
    SCAN_BATCH_SIZE,
    Candidates,
    Engine,
    Facet,
    FacetResult,
    IndexLag,
    MinHashPart,
    PassageMatches,
    ScanBatch,
    plan_among,
    read_changed_texts,
    replacement_error,
)
from whorl.errors import DocumentError, SchemaError, StoreError
from whorl.fingerprint.fingerprint_texts import BATCH_CHARACTERS, BATCH_TEXTS, sign, signatures_by_id
from whorl.fingerprint.minhash.signature_and_tokens import Signature
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme
from whorl.fingerprint.winnowing import PROOF_BITS, PassagePlaces, PassageScheme
from whorl.model import Document, Order, Page, PropertyLimits, Stored
from whorl.query.plan.fields_and_values import Fields
from whorl.query.plan.nodes import (
    BoundLeaf,
    BoundNode,
    BoundPlan,
    SharedBands,
    SharedTokens,
    SketchTokens,
    WordClause,
    leaves,
)

#: Number of indexed documents after which the index is committed. Indexing them again, after a crash, takes about three
#: seconds.
COMMIT_EVERY = 8192
#: The index is also committed when the terms of the uncommitted documents reach this number of characters.
COMMIT_CHARACTERS = 1 << 25
#: Minimum time in seconds between a failed write of the index and the next attempt.
RETRY_SECONDS = 10.0
#: Value of `_repaired` (the damage that a rebuild has repaired) if there was no index.
_MISSING = "was missing"
_Result = TypeVar("_Result")
#: Option of `open_store` that reduces the data that a store keeps.
Reduction: TypeAlias = Literal["short_minhash", "without_minhash", "no_text"]


class EmbeddedEngine(Engine):
    """Engine for a store in a folder. As a context manager, it closes the store.

    Threads may share one engine. Several processes may open the same folder: one process writes, and any number search.
    Documents are safe when `index` returns, and searchable after `refresh`. Until `refresh`, writers in other processes
    wait.

    An engine raises StoreError if its folder was replaced, moved or removed after the engine opened it. The engine of a
    read-only folder searches the documents that the folder had when it was opened. It raises StoreError if another
    process has written to the folder since then.

    Args:
        wait_seconds: Maximum time to wait for a writer in another process.
        passages: Passage scheme; True for the store's own scheme, or for the default scheme if the store has none. If
            the store has no passage hashes yet, the engine indexes all documents again.
        reduction: "without_minhash" removes the MINHASH tokens from the index, for stores without FINGERPRINT queries.
            "short_minhash" keeps their upper bits; FINGERPRINT queries then read texts. "no_text" makes a new store
            keep the passage hashes of texts, but neither texts nor MINHASH tokens.

    Raises:
        StoreError: The folder has no store, has other files, or is not usable.
        SchemeMismatchError: The store's signatures or passage hashes have another scheme.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        scheme: Scheme = Scheme(),  # noqa: B008 - frozen
        wait_seconds: float = 30.0,
        passages: PassageScheme | bool | None = None,
        reduction: Reduction | None = None,
        property_limits: PropertyLimits = PropertyLimits(),  # noqa: B008 - frozen
    ) -> None:
        self._property_limits = property_limits
        self.path, self._scheme, self._wait_seconds = Path(path), scheme, wait_seconds
        self._process, self._is_open = os.getpid(), True
        self._writing, self._adopting = threading.RLock(), threading.Lock()
        self._writers = WriterRegister()
        # An index that has all changes up to a journal entry, and the number of this entry.
        self._complete_at: tuple[StoreIndex, int] | None = None
        # Time of the last failed write of the index.
        self._failed_at: float | None = None
        # Number of the last journal entry that this engine has made searchable.
        self._finished_at = -1
        # Description of the damage that a rebuild of the index has repaired; "" if the index was not damaged.
        self._repaired = ""
        self._writer: StoreIndexWriter | None = None
        self._merged = threading.Event()
        self._merged.set()
        has_store = prepare_folder(self.path, create=create)
        with ExitStack() as opened:
            # The program may change its working directory, so use the absolute path for files. Messages show the given
            # path.
            folder = self._folder = self.path.absolute()
            self._is_read_only = is_read_only(self.path)
            if self._is_read_only:
                folder = Path(opened.enter_context(TemporaryDirectory(prefix="whorl-", ignore_cleanup_errors=True)))
                link_index_files(self._folder, folder)
            self._lock = WriteLock(folder / LOCK)
            opened.callback(self._lock.release)
            if not has_store:
                # SQLite fails, instead of waiting, if another process turns on the write-ahead log at the same time. So
                # let only one process create the database.
                self._acquire_lock()
            self._records = RecordDatabase(
                self.path / RECORDS, scheme, wait_seconds=wait_seconds, is_read_only=self._is_read_only
            )
            opened.callback(self._records.close)
            if not has_store:
                self._lock.release()
            stored = self._records.options()
            options = self._with_requested(stored, passages, reduction)
            if options != stored:
                self._require_writable()
                self._acquire_lock()
                # Another process may have saved options before this process got the lock.
                stored = self._records.options()
                options = self._with_requested(stored, passages, reduction)
                self._save_options(options)
            self._index_folder = folder
            self._use_options(DocumentPreparation(scheme, *options))
            opened.callback(lambda: self._index.close())
            try:
                self._apply_leftovers()
            except BaseException:
                # If the index for the new options was not built, the old index still answers searches, so restore the
                # old options.
                with suppress(StoreError):
                    if options != stored:
                        self._save_options(stored)
                raise
            self._opened = opened.pop_all()

    @property
    def scheme(self) -> Scheme:
        return self._scheme

    def _with_requested(
        self, stored: StoreOptions, passages: PassageScheme | bool | None, reduction: Reduction | None
    ) -> StoreOptions:
        """Return the stored options, changed as the arguments of `__init__` request.

        Raises:
            StoreError: A store with documents cannot drop their texts.
            SchemeMismatchError: The stored passage scheme is not the requested one.
        """
        keeps_texts = stored.keeps_texts and reduction != "no_text"
        # Refuse even if all documents were deleted, because the file may still contain parts of their texts.
        if keeps_texts != stored.keeps_texts and self._records.last_change():
            raise StoreError(f"the store {self.path} has kept texts already; index into a new folder")
        requested = passages if isinstance(passages, PassageScheme) else PassageScheme() if passages else None
        if not keeps_texts:
            # In a store without texts, no text can confirm a match of hashes, so the hashes need more bits.
            requested = replace(requested or PassageScheme(), bits=PROOF_BITS)
        if stored.passages and isinstance(passages, PassageScheme):
            stored.passages.require(requested, f"the store {self.path}")
        minhash: MinHashPart = stored.minhash
        if not keeps_texts or reduction == "without_minhash":
            minhash = "none"
        elif reduction == "short_minhash":
            minhash = "short"
        return StoreOptions(stored.passages or requested, minhash, keeps_texts)

    def _save_options(self, options: StoreOptions) -> None:
        # The index's identifier contains the passage scheme and the number of bits of each kind of token, so the next
        # writer rebuilds the index.
        with self._records.writing():
            self._records.set_options(options)

    def _use_options(self, preparation: DocumentPreparation) -> None:
        # Set `_preparation` first: a search that uses the new index must check its plan with the new options.
        self._preparation = preparation
        self._index = StoreIndex(
            self._index_folder / INDEX,
            preparation.index_name(self._records.store),
            preparation.token_bits,
            self._release_after_merge,
            self._read_minhash if preparation.minhash == "short" else None,
        )
        self._runner = PlanRunner(self._records, self._index, self._scheme.profile)
        self._failed_at = None

    def _adopt_options(self) -> None:
        """Use the store's new options if another process has changed them since this engine read them."""
        with self._adopting:
            preparation = DocumentPreparation(self._scheme, *self._records.options())
            if preparation != self._preparation:
                self._use_options(preparation)

    def _adopt_replaced_index(self) -> None:
        """Adopt the store's new options if another process has replaced the index to apply them."""
        try:
            self._index.tokens()
        except IndexBrokenError:
            # The options must fit the index, so adopt the new options only now, when the old index is gone.
            self._adopt_options()

    def index(self, documents: Iterable[Document], *, replace: bool = True, only_unchanged: bool = False) -> None:
        """Store all documents, replacing documents with the same ids; after an error, store no document.

        The documents are safe when this method returns. It keeps all of them in memory, so split a large collection
        into several calls. With `only_unchanged`, skip documents that were changed or deleted in the store since the
        caller read them; a change of the cluster label does not count.
        """
        self._require_writable()
        # Preparing the documents is most of the work, so do it before taking the lock. If documents share an id, store
        # the last document.
        batch = list({document.id: document for document in documents}.values())
        if not only_unchanged:
            self._require_few_properties(batch)
        preparation = self._preparation
        prepared = preparation.prepare(batch)
        if not prepared:
            return

        def store(writer: StoreIndexWriter) -> None:
            nonlocal prepared
            if self._preparation != preparation:
                # Another process has changed the store's options in the meantime, so prepare the documents again.
                prepared = self._preparation.prepare(batch)
            # Another writer may have stored new property names in the meantime, so check the limit again.
            if not only_unchanged:
                self._require_few_properties(batch)
            stored = {} if replace else read_changed_texts(self, batch)
            for document in batch:
                if stored.get(document.id, document.text) != document.text:
                    raise replacement_error(document.id)
            retained = prepared
            if only_unchanged:
                digests = self.digests([record.document.id for record, _ in prepared])
                retained = [pair for pair in prepared if digests.get(pair[0].document.id) == pair[0].document.digest]
            # A store without texts has no dictionary, because a dictionary contains parts of texts.
            texts = (record.document.text for record, _ in prepared if self.keeps_texts)
            last = self._records.last_change()
            with self._records.writing(texts):
                self._records.forget_changes(writer.base)
                numbers = self._records.put([record for record, _ in retained])
            entries = zip(numbers, retained, strict=True)
            # A replaced document keeps its number, so all numbers above `last` belong to new documents.
            writer.replace(
                [Change(number, record.document.id, entry, number > last) for number, (record, entry) in entries]
            )
            if writer.pending >= COMMIT_EVERY or writer.pending_characters >= COMMIT_CHARACTERS:
                self._commit(writer)

        with self._writers.register_thread():
            self._write(store)

    def _require_few_properties(self, documents: Sequence[Document]) -> None:
        self._property_limits.require(documents, {name for name, _ in self._records.fields()})

    def refresh(self) -> None:
        self._require_usable()
        wanted = self._records.last_change()
        # One commit for all waiting writers takes as long as a commit of one document, so first let them store.
        self._writers.wait_for_current()
        with self._writing:
            # If another writer has begun after `wait_for_current`, it will make the documents searchable and release
            # the lock, so do nothing here.
            is_idle = self._writer is not None and self._finished_at == self._records.last_change()
            if self._finished_at < wanted or is_idle:
                self._make_searchable()

    def _make_searchable(self) -> None:
        """If the index lacks changes, commit the open writer or apply the journal; then release the write lock."""
        with self._writing:
            last = self._records.last_change()
            if self._writer is not None or not self._is_up_to_date():
                self._write(self._finish)
                self._release()
            self._finished_at = last

    def delete(self, ids: Collection[str], *, matching: BoundPlan | None = None) -> int:
        self._require_writable()
        stored = self.digests(ids)
        if not stored:
            return 0
        deleted: dict[int, str] | None = None

        def remove(writer: StoreIndexWriter) -> None:
            nonlocal deleted
            # Under the write lock, no document changes between the search and its deletion.
            chosen = stored if matching is None else self._search_committed(writer, plan_among(matching, stored))
            with self._records.writing():
                deleted = self._records.remove(chosen)
            writer.replace([Change(number, document_id, None) for number, document_id in deleted.items()])

        with self._writers.register_thread():
            # If the search finds a damaged index, `_write` rebuilds it and deletes nothing, so try again.
            while deleted is None:
                self._write(remove)
        self.refresh()
        return len(deleted)

    def _search_committed(self, writer: StoreIndexWriter, plan: BoundPlan) -> Sequence[str]:
        """Commit the changes of a writer, and return the ids of the documents that a plan matches."""
        if writer.pending:
            self._commit(writer)
        return self._runner.ids(self._require_tokens(plan))

    def _write(self, work: Callable[[StoreIndexWriter], None]) -> None:
        """Call a function with the index writer. The function must store the records before it changes the index."""
        self._require_usable()
        with self._writing:
            # Check again: another thread may have closed the store before this thread got the lock.
            self._require_usable()
            writer = self._writer or self._begin(self._wait_seconds)
            if writer is None:
                raise StoreError(busy_message(self.path, self._wait_seconds))
            try:
                work(writer)
            except IndexBrokenError as error:
                self._rebuild(error)
            except DocumentError:
                # This call has written nothing, so keep the writer if it has uncommitted changes of earlier calls.
                if not writer.pending:
                    self._release()
                raise
            except BaseException:
                # The index writer may have only some of this call's changes, so discard it. The next writer applies the
                # journal.
                self._release()
                raise

    def _begin(self, wait_seconds: float) -> StoreIndexWriter | None:
        """Take the write lock and return a writer of an up-to-date index, or None if another process holds the lock."""
        if not self._lock.acquire(wait_seconds):
            return None
        try:
            self._adopt_options()
            try:
                self._writer = self._start_writer()
            except IndexBrokenError as error:
                self._build(error)
                self._writer = self._start_writer()
        except IndexBrokenError as error:
            self._release()
            raise self._index_failed(error) from error
        except BaseException:
            self._release()
            raise
        return self._writer

    def _is_up_to_date(self) -> bool:
        last = self._records.last_change()
        return self._index.read_applied_numbers() == (last, last)

    def _start_writer(self) -> StoreIndexWriter:
        """Bring the index up to date, from the journal or by a rebuild, and return a writer."""
        reached = self._index.read_applied_numbers()
        is_possible = reached is not None and reached[1] <= self._records.last_change()
        changed = self._records.find_changed_since(reached[0]) if reached and is_possible else None
        if changed is None:
            self._build()
            changed = {}
        writer = self._index.writer(self._current_changes, self._merged.wait)
        try:
            stored = self._records.ids(list(changed))
            # Delete the old numbers first: a document that was deleted and stored again has a new number.
            if deleted := [Change(number, changed[number], None) for number in changed if number not in stored]:
                writer.replace(deleted)
            for changes in self._preparation.changes(self._records.documents("number", sorted(stored))):
                writer.replace(changes)
            if changed:
                self._commit(writer)
        except BaseException:
            writer.abandon()
            raise
        return writer

    def _current_changes(self, ids: Iterable[str]) -> Iterator[Change]:
        return chain.from_iterable(self._preparation.changes(self._records.documents("id", ids)))

    def _commit(self, writer: StoreIndexWriter) -> None:
        writer.commit(self._records.last_change(), self._records.count())

    def _finish(self, writer: StoreIndexWriter) -> None:
        """Commit and close a writer. A background thread then waits for tantivy's merges."""
        self._commit(writer)
        if merged := writer.close():
            self._merged.clear()
            try:
                threading.Thread(target=self._merge, args=(merged,), name="merges of whorl's index").start()
            except RuntimeError:
                # The system cannot start a thread, so merge here: otherwise, `close` would never return.
                self._merge(merged)

    def _merge(self, merged: Callable[[], None]) -> None:
        """Call `merged`, which waits for tantivy's merges, then release the write lock.

        This engine may write during the merges.
        """
        try:
            with suppress(IndexBrokenError):
                # A failed merge is harmless: unmerged segments stay valid, and a search that finds a broken segment
                # rebuilds the index.
                merged()
        finally:
            self._merged.set()
            self._release_after_merge()

    def _release_after_merge(self) -> None:
        with self._writing:
            if self._is_open and self._writer is None:
                self._release()

    def _acquire_lock(self) -> None:
        if not self._lock.acquire(self._wait_seconds):
            raise StoreError(busy_message(self.path, self._wait_seconds))

    def _release(self) -> None:
        """Discard uncommitted changes, and release the write lock unless a merge is running."""
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None
        if self._merged.is_set() and not self._index.token_index.is_merging:
            self._lock.release()

    def _rebuild(self, cause: IndexBrokenError | None = None) -> None:
        """Take the write lock and build the index; `cause` is the damage to repair, or None."""
        with self._writing:
            self._release()
            self._acquire_lock()
            try:
                self._adopt_options()
                self._build(cause)
            except IndexBrokenError as error:
                raise self._index_failed(error) from error
            finally:
                self._lock.release()

    def _build(self, cause: IndexBrokenError | None = None) -> None:
        """Build the index from the records, under the write lock; raise StoreError if the disk is full."""
        if cause is not None and cause.is_full:
            raise self._index_failed(cause) from cause
        if cause is not None:
            self._repaired = f"was damaged ({cause})"
        self._merged.wait()
        number = self._records.last_change()
        self._index.build(self._preparation.changes(self._records.all_documents()), number, self._records.count())

    def _read_minhash(self, numbers: Numbers, applied: int) -> Iterator[tuple[int, Tokens]]:
        """Compute MinHash tokens from texts (see `ReadMinHash`)."""
        changed = self._records.find_changed_since(applied) or {}
        documents = self._records.documents("number", (own for own in numbers.tolist() if own not in changed))
        for portion in chunks(documents, lambda numbered: len(numbered.document.text), BATCH_CHARACTERS, BATCH_TEXTS):
            tokens = self._preparation.minhash_tokens(numbered.document.text for numbered in portion)
            yield from zip((numbered.number for numbered in portion), tokens, strict=True)

    def _index_failed(self, cause: IndexBrokenError) -> StoreError:
        self._failed_at = time.monotonic()
        return StoreError(index_failure_message(self.path, cause))

    def _catch_up(self) -> None:
        """Apply the missing journal entries to the index, unless another thread or process is writing."""
        if self._writing.acquire(blocking=False):
            try:
                if self._writer is None and self._begin(0.0):
                    self._make_searchable()
            finally:
                self._writing.release()

    def _apply_leftovers(self) -> None:
        """Apply the journal entries that the index lacks after a crash."""
        if self._is_up_to_date():
            # Release the lock that `__init__` takes to save options.
            self._lock.release()
            return
        has_index = self._index.read_applied_numbers() is not None
        if not has_index:
            self._note_damage()
        try:
            # Another writer would apply the journal too, so wait for the lock only if there is no index.
            if self._begin(0.0 if has_index else self._wait_seconds):
                self._make_searchable()
            elif not has_index:
                raise StoreError(busy_message(self.path, self._wait_seconds))
        except StoreError:
            # If an index exists, searches use it although it is outdated, and warn about it. So ignore the error, for
            # example a full disk.
            if not has_index:
                raise
            self._failed_at = time.monotonic()

    def _note_damage(self) -> None:
        """Record in `_repaired` how the index is damaged, before the caller rebuilds it."""
        if not self._records.last_change():
            return
        try:
            if not (self._index_folder / INDEX).exists():
                self._repaired = _MISSING
            else:
                self._index.verify()
        except OtherIndexError:
            pass
        except IndexBrokenError as error:
            self._repaired = f"was damaged ({error})"

    @property
    def runs_in_process(self) -> bool:
        return True

    @property
    def is_read_only(self) -> bool:
        return self._is_read_only

    @property
    def keeps_texts(self) -> bool:
        return self._preparation.keeps_texts

    @property
    def minhash(self) -> MinHashPart:
        self._adopt_replaced_index()
        return self._preparation.minhash

    @property
    def sketch_scheme(self) -> SketchScheme | None:
        return SKETCH_SCHEME if self.keeps_texts else None

    def digests(self, ids: Collection[str], *, of_texts: bool = False) -> Mapping[str, str]:
        return {head.id: head.digest for head in self._usable_records.heads("id", ids)}

    def resolve(self, references: Collection[str]) -> Mapping[str, str]:
        documents = self._runner.resolve(references, self._usable_records.numbers)
        return {reference: document_id for reference, (document_id, _) in documents}

    def signatures(self, needs_order: Mapping[str, bool]) -> Mapping[str, Signature]:
        self._require_texts()
        return signatures_by_id(self._usable_records.texts(needs_order), self._scheme)

    def texts(self, ids: Collection[str]) -> Mapping[str, str]:
        self._require_texts()
        texts = self._usable_records.texts(ids)
        return {document_id: text for document_id, text in texts.items() if text}

    @property
    def passage_scheme(self) -> PassageScheme | None:
        self._adopt_replaced_index()
        return self._preparation.passage_scheme

    def passage_counts(self, numbers: Sequence[int]) -> Sequence[int]:
        wanted = np.array(numbers, np.int64)
        postings = self._with_repair(lambda: passage_postings(self._index.tokens(), wanted))
        return list(postings.counts(wanted.size).tolist())

    def find_documents_with_passages(
        self, counts: Mapping[int, int], *, most: int, among: Collection[str] = (), left_out: BoundNode | None = None
    ) -> PassageMatches:
        excluded = None if left_out is None else self._require_tokens(BoundPlan(left_out))
        return self._with_repair(lambda: self._runner.find_documents_with_passages(counts, most, among, excluded))

    def passage_places(self, ids: Collection[str]) -> Mapping[str, PassagePlaces]:
        return {} if self.keeps_texts else self._usable_records.passage_places(ids)

    def find_documents_with_phrases(self, phrases: Collection[tuple[str, ...]]) -> Collection[str] | None:
        if not self.keeps_texts:
            return None
        return self._with_repair(lambda: self._runner.find_documents_with_phrases(phrases))

    def find_known_phrases(self, phrases: Collection[tuple[str, ...]]) -> Collection[tuple[str, ...]] | None:
        if not self.keeps_texts:
            return None
        return self._with_repair(lambda: self._runner.find_known_phrases(phrases))

    def largest_size(self) -> int | None:
        self._require_usable()
        return self._with_repair(lambda: self._index.tokens().largest_size)

    def sketches(self, ids: Collection[str]) -> Mapping[str, Sketch]:
        return self._usable_records.sketches(ids) if self.keeps_texts else {}

    def sizes(self, ids: Collection[str]) -> Mapping[str, int]:
        return {document_id: sketch.size for document_id, sketch in self.sketches(ids).items()}

    def resolve_signatures(self, needs_order: Mapping[str, bool]) -> Mapping[str, tuple[str, Signature | None]]:
        self._require_texts()
        named = dict(self._runner.resolve(needs_order, self._usable_records.texts))
        signatures = signatures_by_id(dict(named.values()), self._scheme)
        return {reference: (document_id, signatures[document_id]) for reference, (document_id, _) in named.items()}

    def resolve_sketches(self, references: Collection[str]) -> Mapping[str, tuple[str, Sketch | None]]:
        self._require_texts()
        return dict(self._runner.resolve(references, self._usable_records.sketches))

    def scan(self, cursor: str = "") -> Iterator[ScanBatch]:
        self._require_texts()
        records = self._usable_records
        while batch := records.scan(cursor, SCAN_BATCH_SIZE):
            cursor = batch[-1].id
            yield ScanBatch(tuple((document.id, document.name, document.sketch) for document in batch), cursor)

    def has_lazy_candidates(self, plan: BoundPlan) -> bool:
        return True

    def candidates(self, plan: BoundPlan, *, start: int, rows: int, in_order: bool = True) -> Candidates:
        return self._with_repair(lambda: self._runner.candidates(self._require_tokens(plan), start, rows))

    def sign(self, text: str) -> Signature:
        return sign(text, self._scheme)

    def fields(self, *, latest: bool = False) -> Fields:
        known = engine_fields_by_name(self._usable_records.fields())
        return Fields(known, profile=self._scheme.profile, split_fields={"name"})

    def documents(self, ids: Collection[str]) -> Mapping[str, Stored]:
        heads = self._usable_records.heads("id", ids)
        return {
            head.id: Stored(head.id, head.name, head.document().contents() if head.properties else {}) for head in heads
        }

    def names(self, ids: Collection[str]) -> Mapping[str, str]:
        return self._usable_records.names(ids)

    def search(self, plan: BoundPlan, *, start: int, rows: int, order: Sequence[Order] = ()) -> Page:
        return self._with_repair(lambda: self._runner.page(self._require_tokens(plan), start, rows, order))

    def _require_tokens(self, plan: BoundPlan) -> BoundPlan:
        """Return the plan; raise SchemaError if it needs texts or MINHASH tokens that the store lacks."""
        if not self.keeps_texts and any(map(_needs_texts, leaves(plan.root))):
            self._require_texts()
        if self._preparation.minhash == "none" and any(
            isinstance(leaf, SharedTokens | SharedBands) for leaf in leaves(plan.root)
        ):
            raise SchemaError(
                f"the store {self.path} keeps no MINHASH tokens, which FINGERPRINT needs; 'whorl similar' and "
                "FINGERPRINT with '--plan calibrated' need none, and 'whorl index --short-minhash PATH' adds short ones"
            )
        return plan

    def _require_texts(self) -> None:
        if not self.keeps_texts:
            raise SchemaError(
                f"the store {self.path} keeps no texts, only their passages: 'whorl sources' finds those in a text or "
                "a file, and 'whorl search' finds names and properties, as in name:lease; for all else, index into a "
                "folder without --no-text"
            )

    def facets(self, plan: BoundPlan, facets: Sequence[Facet]) -> tuple[FacetResult, ...]:
        return self._with_repair(lambda: self._runner.facets(plan, facets))

    def _with_repair(self, search: Callable[[], _Result]) -> _Result:
        self._require_usable()
        # Another process may have just replaced the index, so first adopt its options, then refresh, and only then
        # rebuild.
        for repair in (self._adopt_options, self.refresh, self._rebuild):
            try:
                return search()
            except IndexBrokenError:
                repair()
        try:
            return search()
        except IndexBrokenError as error:
            raise self._index_failed(error) from error

    def explain(self, plan: BoundPlan, *, start: int, rows: int) -> Mapping[str, object]:
        """Return the query that `search` runs, as JSON values with counts instead of tokens."""
        self._require_usable()
        translation = translate(self._require_tokens(plan), self._scheme.profile, None)
        return {
            "engine": "embedded",
            "store": str(self.path),
            "scheme": self._scheme.name,
            "query": translation.description,
            "start": start,
            "rows": rows,
            "order": ["score descending", "id ascending"],
        }

    @property
    def labels(self) -> EmbeddedLabels:
        ids = lambda plan: self._with_repair(lambda: self._runner.ids(self._require_tokens(plan)))  # noqa: E731
        # Writing a label rewrites the whole document, so it needs the stored text.
        require_writable = self._require_writable if self.keeps_texts else self._require_texts
        return EmbeddedLabels(self._records, ids, require_writable, partial(self.index, only_unchanged=True))

    def count(self) -> int:
        return self._usable_records.count()

    def file_base(self, choose: Callable[[], Path] | None = None) -> Path | None:
        return file_base(self._folder, None if self._is_read_only else choose)

    def size(self) -> int:
        return folder_size(self._folder)

    def index_lag(self) -> IndexLag | None:
        self._require_usable()
        self._adopt_replaced_index()
        failed_at = self._failed_at  # Read the attribute once, because another thread may change it.
        missing = self._missing_changes()
        if missing and (failed_at is None or time.monotonic() - failed_at >= RETRY_SECONDS):
            # The index may lack changes after a crash. `_catch_up` applies them, unless a writer is active.
            self._failed_at = None
            try:
                self._catch_up()
            except StoreError:
                self._failed_at = time.monotonic()
            missing = self._missing_changes()
        if not missing:
            self._failed_at = None
            return None
        is_pending = self._failed_at is None
        is_elsewhere = is_pending and self._writer is None and not self._writers.are_registered()
        return IndexLag(missing, is_pending=is_pending, is_elsewhere=is_elsewhere)

    def _missing_changes(self) -> int:
        # Another thread may replace `_index`, so read it once.
        index, last = self._index, self._records.last_change()
        if self._complete_at == (index, last):
            return 0
        reached = index.read_applied_numbers()
        if reached is None:
            return self._records.count()
        if reached[0] >= last:
            self._complete_at = index, last
        return max(0, last - reached[0])

    def count_outdated(self, plan: BoundPlan) -> int:
        return self._with_repair(lambda: self._runner.count_outdated(self._require_tokens(plan)))

    def verify(self) -> bool:
        self._usable_records.verify()
        try:
            try:
                self._index.verify()
            except IndexBrokenError:
                # Another process may have just replaced the index, so adopt its options and verify again.
                self._adopt_options()
                self._index.verify()
        except IndexBrokenError as error:
            raise StoreError(
                f"the index {self.path / INDEX} is damaged ({error}); the next search or write makes it again"
            ) from error
        if self._repaired:
            is_missing = self._repaired == _MISSING
            advice = "unless you restored a backup, see who removed it" if is_missing else "see whether the disk fails"
            raise StoreError(
                f"repaired when opened: the index {self.path / INDEX} {self._repaired} and has been made again from "
                f"what is stored; all files are now as they were written, but {advice}"
            )
        return True

    def close(self) -> None:
        """Make all stored documents searchable, and close all files. A second call does nothing."""
        with self._writing:
            # A forked process does not own the connections and locks of its parent, so it must not close them.
            if not self._is_open or os.getpid() != self._process:
                return
            try:
                if self._writer is not None:
                    self._make_searchable()
            finally:
                self._is_open = False
                self._merged.wait()
                self._index.token_index.wait()
                self._release()
                self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _require_writable(self) -> None:
        self._require_usable()
        if self._is_read_only:
            raise StoreError(f"the store {self.path} can be searched and not written to; see who owns it and its files")

    @property
    def _usable_records(self) -> RecordDatabase:
        self._require_usable()
        return self._records

    def _require_usable(self) -> None:
        if not self._is_open:
            raise StoreError(f"the store {self.path} is closed; open it again")
        if os.getpid() != self._process:
            raise StoreError(f"the store {self.path} was opened in another process; open it in each that uses it")
        self._records.require_unchanged()
        self._records.require_same_file()


def _needs_texts(leaf: BoundLeaf) -> bool:
    if isinstance(leaf, WordClause):
        return leaf.field in (None, "content")
    return isinstance(leaf, SharedTokens | SharedBands | SketchTokens)
