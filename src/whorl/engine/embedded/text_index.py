"""Reads and writes the text index of an embedded store: words and whole (not tokenized) values, in tantivy.

tantivy may merge 16,000 documents for a single new document, because no setting prevents it from merging a small
segment with a large segment. So the text index has two tantivy indexes, in separate folders. The main part has the
documents that existed at its last commit. The small part has only the documents that were changed or deleted since
then, at most `MOST_RECENT`.

A search queries both parts, and ignores documents of the main part that are also in the small part. When the small part
is full, a writer updates the main part from the database.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import tantivy
from tantivy import Occur, Query

from whorl.engine.embedded.prepare_documents import SCHEMA, WORDS_ANALYZER, Change, fill_tantivy_document
from whorl.engine.embedded.store_files import HEAP_BYTES, IndexBrokenError, OtherIndexError, index_errors
from whorl.request_context import require_time, timely

#: Maximum number of documents in the small part.
MOST_RECENT = 128

META = "meta.json"
_MAIN, _RECENT = "main", "recent"
_HEAP_BYTES = {_MAIN: HEAP_BYTES, _RECENT: 20_000_000}
#: Number of hits to fetch after the page. They usually include all hits with the same score as the page's last hit.
_MARGIN = 700

#: Number of ids to request at first, before the number of matches is known. tantivy allocates memory for all of them.
_FEW_IDS = 2_000
#: Time that tantivy's search ordered by id takes per hit, divided by the time to read one id from the stored fields.
_ORDERED_COST = 10

ScoredId: TypeAlias = tuple[str, float]


@dataclass(frozen=True, slots=True)
class TextSnapshot:
    """Consistent snapshot of both parts of the text index, for one search.

    Args:
        recent: The small part; None if nothing has changed since the last commit of the main part.
        base: Number of the last journal entry in the main part.
        applied: Number of the last journal entry in either part.
        changed: Ids of the documents that the small part overrides.
    """

    main: tantivy.Searcher
    recent: tantivy.Searcher | None
    base: int
    applied: int
    changed: frozenset[str]


class TextIndex:
    """The text index in one folder, which the first writer creates.

    If the files have another `store_id`, reading raises OtherIndexError.
    """

    def __init__(self, folder: Path, store_id: str) -> None:
        self._folder, self._store_id = folder, store_id
        self._readers: dict[str, PartReader] = {}
        self._verified_state: tuple[object, ...] = ()
        self._cached: tuple[tuple[bytes, bytes], TextSnapshot] | None = None

    def read_applied_number(self) -> int | None:
        """Return the last journal number in the index; None if the index is damaged or belongs to another store."""
        for _ in range(2):
            with suppress(IndexBrokenError):
                return self._snapshot().applied
            # Retry with new readers: another process may have replaced the folder.
            self.close()
        return None

    def _snapshot(self) -> TextSnapshot:
        with index_errors(self._folder):
            # A new file may have the same inode and times as the previous file, so compare the bytes.
            raw = self._read_metas()
            # Another thread may replace the attribute, so read it once.
            cached = self._cached
            if cached is not None and cached[0] == raw:
                return cached[1]
            snapshot = self._read_snapshot()
            # Do not cache a snapshot if another process has committed during the read.
            self._cached = (raw, snapshot) if raw == self._read_metas() else None
            return snapshot

    def _read_metas(self) -> tuple[bytes, bytes]:
        """Read the meta.json of both parts; each commit and each merge changes one of them."""
        recent = self._folder / _RECENT / META
        return (self._folder / _MAIN / META).read_bytes(), recent.read_bytes() if recent.exists() else b""

    def _read_snapshot(self) -> TextSnapshot:
        # Open the small part first: if a writer then commits the main part, the main part has all documents of the
        # small part. In the other order, both could lack documents.
        recent = self._searcher(_RECENT) if (self._folder / _RECENT / META).exists() else None
        main = self._searcher(_MAIN)
        reached, numbers = self._journal_numbers(main), None if recent is None else self._journal_numbers(recent)
        if reached is None:
            raise OtherIndexError
        self._require_complete(main, reached)
        base = reached[1]
        if recent is None or numbers is None or numbers[0] != base:
            return TextSnapshot(main, None, base, base, frozenset())
        count, hits = _search(recent, Query.all_query(), recent.num_docs)
        ids = [recent.doc(address).get_first("changed") for _, address in hits]
        changed = frozenset(document_id.decode() for document_id in ids if document_id is not None)
        # Each part has one more document, with the store's identifier and the journal numbers, so add 1 to the counts.
        if not count == recent.num_docs == len(changed) + 1 == numbers[2] + 1:
            raise IndexBrokenError(f"{self._folder / _RECENT} has {count - 1:,} documents, not {numbers[2]:,}")
        return TextSnapshot(main, recent, base, numbers[1], changed)

    def _require_complete(self, main: tantivy.Searcher, reached: tuple[int, int, int]) -> None:
        """Raise IndexBrokenError if the main part lacks documents, for example because of a damaged meta.json.

        `reached` is the result of `_journal_numbers` for the main part.
        """
        state = (reached, main.num_docs, main.num_segments)
        if state != self._verified_state:
            count, _ = _search(main, Query.exists_query("id"), 1)
            if not count == reached[2] == main.num_docs - 1:
                raise IndexBrokenError(f"{self._folder / _MAIN} has {count:,} documents, not {reached[2]:,}")
            self._verified_state = state

    def _journal_numbers(self, part: tantivy.Searcher) -> tuple[int, int, int] | None:
        """Return `base`, `applied` and `documents` of a part (see `_schema`); None if it belongs to another store."""
        count, hits = _search(part, _bytes_query("store", self._store_id), 1)
        if count != 1:
            return None
        marker = part.doc(hits[0][1])
        base, applied, documents = (int(marker.get_first(name) or 0) for name in ("base", "applied", "documents"))
        return base, applied, documents

    def _searcher(self, part: str) -> tantivy.Searcher:
        return self._readers.setdefault(part, PartReader(self._folder / part)).searcher()

    def close(self) -> None:
        self._cached = None
        self._readers.clear()
        self._verified_state = ()

    def verify(self) -> None:
        """Read the files of all segments again; raise IndexBrokenError if a checksum is wrong."""
        self.close()
        self._snapshot()

    def writer(self, read_entries: ReadEntries, before_main: Callable[[], object]) -> TextIndexWriter:
        """Return a writer; the caller must hold the write lock. `TextIndexWriter` describes the arguments."""
        return TextIndexWriter(self._folder, self._store_id, self._snapshot(), read_entries, before_main)

    def matches(self, query: Query, start: int, rows: int, *, is_ranked: bool) -> tuple[int, list[ScoredId]]:
        """Return the number of matching documents, and the ids and scores of one page.

        The page is sorted by descending score, then by id. If `is_ranked` is False, all hits get the score of the best
        hit, so the page is sorted by id only.
        """
        with index_errors(self._folder):
            snapshot = self._snapshot()
            page = _search_by_score if is_ranked else _search_by_id
            if snapshot.recent is None:
                return page(snapshot.main, query, start, start + rows)
            recent_count, recent = page(snapshot.recent, query, 0, snapshot.recent.num_docs if rows else 0)
            superseded = Query.term_set_query(SCHEMA, "id", list(snapshot.changed))
            others = Query.boolean_query([(Occur.Must, query), (Occur.MustNot, superseded)])
            # Each hit of the small part may push a hit of the main part back by one, so start reading the main part
            # earlier by the number of hits in the small part.
            begin = max(0, start - len(recent))
            count, hits = page(snapshot.main, others, begin, start + rows)
            hits = sorted([*hits, *recent], key=_best_first)[start - begin :][:rows]
            return count + recent_count, hits

    def ids(self, query: Query) -> list[str]:
        with index_errors(self._folder):
            require_time()
            snapshot = self._snapshot()
            main = _all_ids(snapshot.main, query)
            if snapshot.recent is None:
                return main
            return [*(own for own in main if own not in snapshot.changed), *_all_ids(snapshot.recent, query)]

    def are_known(self, queries: Iterable[Query]) -> list[bool]:
        """Check for each query whether it matches any document; outdated versions in the main part also count."""
        with index_errors(self._folder):
            snapshot = self._snapshot()
            parts = [part for part in (snapshot.main, snapshot.recent) if part is not None]
            # Give the queries a constant score, so that tantivy does not read the data for scores.
            unscored = (Query.const_score_query(query, 1.0) for query in queries)
            return [any(_search(part, query, 1)[0] for part in parts) for query in timely(unscored, 1)]

    def terms(self, field: str, prefix: str, most: int) -> list[str]:
        """Return the terms of a tantivy field with a prefix. If there are more than `most`, some may be missing."""
        with index_errors(self._folder):
            snapshot = self._snapshot()
            parts = [part for part in (snapshot.main, snapshot.recent) if part is not None]
            terms = {term for part in parts for term, _ in part.terms_with_prefix(field, prefix, limit=most + 1)}
            return sorted(terms)


def _best_first(hit: ScoredId) -> tuple[float, str]:
    return -hit[1], hit[0]


def _all_ids(searcher: tantivy.Searcher, query: Query) -> list[str]:
    unscored = Query.const_score_query(query, 1.0)
    count, hits = _search(searcher, unscored, _FEW_IDS)
    if count > _FEW_IDS:
        _, hits = _search(searcher, unscored, count)
    return [searcher.doc(address).get_first("id") or "" for _, address in hits]


def _search_by_id(searcher: tantivy.Searcher, query: Query, start: int, end: int) -> tuple[int, list[ScoredId]]:
    count, best = _search(searcher, query, 1)
    # tantivy allocates memory for the requested number of hits, so request no more than exist.
    end = min(end, count)
    if end <= start:
        return count, []
    if count < _ORDERED_COST * (end - start):
        ids = sorted(_all_ids(searcher, query))[start:end]
    else:
        _, hits = _search(searcher, query, end - start, offset=start, order_by_field="id", order=tantivy.Order.Asc)
        ids = [document_id for document_id, _ in hits]
    return count, [(document_id, best[0][0]) for document_id in ids]


def _search_by_score(searcher: tantivy.Searcher, query: Query, start: int, end: int) -> tuple[int, list[ScoredId]]:
    """Return the number of matching documents, and one page of them ordered by score and id."""
    end = min(end, searcher.num_docs)
    if end <= start:
        return _search(searcher, query, 1)[0], []
    limit = end + _MARGIN
    while True:
        count, results = _search(searcher, query, min(limit, searcher.num_docs))
        scores = [score for score, _ in results]
        end = min(end, count)
        if end <= start:
            return count, []
        # tantivy does not order equal scores by id. So fetch all hits with the same score as the first or the last hit
        # of the page, and sort them below.
        if len(scores) == count or scores[-1] < scores[end - 1]:
            break
        limit *= 4
    first = scores.index(scores[start])
    last = len(scores) - scores[::-1].index(scores[end - 1])
    hits: list[ScoredId] = [
        (searcher.doc(address).get_first("id") or "", score) for score, address in results[first:last]
    ]
    hits.sort(key=_best_first)
    return count, hits[start - first : end - first]


def _bytes_query(field: str, value: str) -> Query:
    return Query.term_query(SCHEMA, field, value.encode(), "basic")


def _search(
    searcher: tantivy.Searcher, query: Query, limit: int, **options: Any
) -> tuple[int, list[tuple[Any, tantivy.DocAddress]]]:
    result = searcher.search(query, limit, **options)
    return result.count, result.hits  # type: ignore[attr-defined]  # tantivy's stubs have no count


#: Function that takes ids, and returns the changes that add the existing documents with these ids to the index.
ReadEntries: TypeAlias = Callable[[Iterable[str]], Iterable[Change]]


class TextIndexWriter:
    """Writer of the text index. Readers see changes after `commit`. The caller must call `close` or `abandon`.

    Args:
        snapshot: The current index; None to create an index.
        read_entries: Reads the documents of the small part from the database, to add them to the main part.
        before_main: Waits for the previous writer of the main part.
    """

    def __init__(
        self,
        folder: Path,
        store_id: str,
        snapshot: TextSnapshot | None = None,
        read_entries: ReadEntries = lambda _: (),
        before_main: Callable[[], object] = lambda: None,
    ) -> None:
        self._folder, self._store_id = folder, store_id
        self._read_entries, self._before_main = read_entries, before_main
        self._is_new, self.base = snapshot is None, snapshot.base if snapshot else 0
        self._changed = set(snapshot.changed if snapshot else ())
        self._is_outdated = snapshot is not None and snapshot.recent is None
        self._writers: dict[str, tantivy.IndexWriter] = {}

    @property
    def _part(self) -> str:
        """Part to write to: the main part if it is new or already open for writing, otherwise the small part."""
        return _MAIN if self._is_new or _MAIN in self._writers else _RECENT

    def replace(self, changes: Sequence[Change]) -> None:
        """Add, replace or delete documents. If the small part is full, write its documents to the main part."""
        ids = {change.id for change in changes}
        with index_errors(self._folder):
            if self._part == _RECENT and len(self._changed | ids) > MOST_RECENT:
                if small := self._writers.pop(_RECENT, None):
                    small.rollback()
                    small.wait_merging_threads()
                main, others = self._writer(_MAIN), self._changed - ids
                for document_id in others:
                    main.delete_documents_by_term("id", document_id)
                for change in self._read_entries(others):
                    self._put(change)
            for change in changes:
                self._put(change)
        if self._part == _RECENT:
            self._changed |= ids

    def _put(self, change: Change) -> None:
        writer, document = self._writer(self._part), tantivy.Document()
        if self._part == _MAIN:
            # A new document can have the id of a deleted document. If this id is in the small part, the main part may
            # still have the deleted document, so delete it here.
            if not change.is_new or change.id in self._changed:
                writer.delete_documents_by_term("id", change.id)
        else:
            writer.delete_documents_by_query(_bytes_query("changed", change.id))
            document.add_bytes("changed", change.id.encode())
        if change.entry is not None:
            fill_tantivy_document(document, change.id, change.number, change.entry)
        if self._part == _RECENT or change.entry is not None:
            writer.add_document(document)

    def commit(self, number: int, documents: int) -> None:
        """Publish all changes so far, with the number of the last journal entry and the store's number of documents."""
        with index_errors(self._folder):
            writer, is_main = self._writer(self._part), self._part == _MAIN
            marker = tantivy.Document()
            marker.add_bytes("store", self._store_id.encode())
            # Readers use `base` to recognize and ignore a small part that is older than the main part.
            marker.add_integer("base", number if is_main else self.base)
            marker.add_integer("applied", number)
            marker.add_integer("documents", documents if is_main else len(self._changed))
            writer.delete_documents_by_query(_bytes_query("store", self._store_id))
            writer.add_document(marker)
            writer.commit()
        self._share_files()
        if is_main:
            self.base = number

    def close(self) -> Callable[[], None] | None:
        """Release the folder for other writers, except the main part while tantivy merges it.

        Return a function that waits for this merge, or None if this writer did not write to the main part.
        """
        main = self._writers.pop(_MAIN, None)
        with index_errors(self._folder):
            if small := self._writers.pop(_RECENT, None):
                small.wait_merging_threads()
        self._share_files()

        def wait_for_merge() -> None:
            with index_errors(self._folder):
                if main:
                    main.wait_merging_threads()
            self._share_files()

        return wait_for_merge if main else None

    def abandon(self) -> None:
        """Discard uncommitted changes and release the folder."""
        # The traceback of an error would keep the writers and their locks alive, so close them now.
        for writer in self._writers.values():
            for end in (writer.rollback, writer.wait_merging_threads):
                with suppress(IndexBrokenError), index_errors(self._folder):
                    end()
        self._writers.clear()

    def _share_files(self) -> None:
        """Let all users who may read the folder also read its files, which tantivy makes private to their owner."""
        for name in (META, ".managed.json"):
            for file in self._folder.glob(f"*/{name}"):
                # A merge may have replaced the file. Ignore the error, because this method runs again after the merge.
                with suppress(OSError):
                    file.chmod(file.parent.stat().st_mode & 0o666)

    def _writer(self, part: str) -> tantivy.IndexWriter:
        if part not in self._writers:
            if part == _MAIN:
                self._before_main()
            folder = self._folder / part
            folder.mkdir(parents=True, exist_ok=True)
            # tantivy caches the list of a folder's files, so open the folder again. With one thread, each commit makes
            # one segment.
            writer = self._writers[part] = _open(folder).writer(_HEAP_BYTES[part], num_threads=1)
            writer.garbage_collect_files()
            if part == _RECENT and self._is_outdated:
                writer.delete_all_documents()
        return self._writers[part]


def _open(folder: Path) -> tantivy.Index:
    # Pass the schema, so that tantivy raises an error if the folder has another schema.
    index = tantivy.Index(SCHEMA, str(folder))
    # By default, a thread of tantivy would poll for commits; whorl reloads the index at each search instead.
    index.config_reader("manual")
    index.register_tokenizer("words", WORDS_ANALYZER)
    index.reload()
    return index


#: Suffixes of a segment's files. Each file ends with a footer: JSON with the CRC32 of the content, the length of the
#: JSON, and a magic number. `meta.json`, which names the segments, has no footer.
_ENDINGS = ("store", "idx", "pos", "term", "fast", "fieldnorm")
_MAGIC = (1337).to_bytes(4, "little")
_END_BYTES = 8


class PartReader:
    """Opens one part of the index, and verifies each segment file once: Python cannot call tantivy's own check."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._index: tantivy.Index | None = None
        self._sound: dict[Path, tuple[int, int, int]] = {}

    def searcher(self) -> tantivy.Searcher:
        """Return a searcher for the current state; verify new files first, and raise IndexBrokenError for damage."""
        while True:
            meta = _state(self._folder / META)
            try:
                files = {path: _state(path) for path in segment_files(self._folder)}
                for path, state in files.items():
                    if self._sound.get(path) != state:
                        require_sound(path)
            except FileNotFoundError:
                # If meta.json is still the same, its file is really missing. Otherwise, a merge has just replaced
                # meta.json and deleted the file, so read the new meta.json.
                if meta == _state(self._folder / META):
                    raise
                continue
            self._sound = files
            if self._index is None:
                self._index = _open(self._folder)
            # Another process may have committed, so read the index again.
            self._index.reload()
            # If a writer has committed or merged since the verification, verify again.
            if meta == _state(self._folder / META):
                return self._index.searcher()


def segment_files(folder: Path) -> Iterator[Path]:
    """Yield the files of all segments in a tantivy folder; raise ValueError if META is damaged."""
    meta = json.loads((folder / META).read_bytes())
    try:
        segments = [(segment["segment_id"].replace("-", ""), segment.get("deletes")) for segment in meta["segments"]]
        deletions = [f"{name}.{deletes['opstamp']}.del" for name, deletes in segments if deletes]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{META} is damaged ({error})") from error
    for name, _ in segments:
        yield from (path for ending in _ENDINGS if (path := folder / f"{name}.{ending}").exists())
    yield from (folder / name for name in deletions)


def require_sound(path: Path) -> None:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < _END_BYTES:
            raise IndexBrokenError(f"{path} was cut short")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw, memoryview(raw) as view:
            end = size - _END_BYTES - int.from_bytes(view[-8:-4], "little")
            try:
                if view[-4:] != _MAGIC or end < 0:
                    raise ValueError("it has no footer")
                if zlib.crc32(view[:end]) != json.loads(bytes(view[end:-_END_BYTES]))["crc"]:
                    raise ValueError("its checksum is wrong")
            except (ValueError, KeyError, TypeError) as error:
                raise IndexBrokenError(f"{path} is damaged ({error})") from error


def _state(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
