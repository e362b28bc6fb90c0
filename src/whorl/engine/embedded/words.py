"""The words and whole values of all documents, in tantivy.

tantivy merges small segments with large ones, up to 16,000 documents for the sake of one, and cannot be told not to.
So the index has two parts, each a folder of its own: the main part, and a small one with the documents that changed
since, deleted ones as well. A search asks both, and the small part has the last word on its documents. When it has
grown, the main part is brought up to date from the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import tantivy
from tantivy import Occur, Query

from whorl.engine.embedded.folder import HEAP_BYTES, IndexBrokenError, index_failures
from whorl.engine.embedded.schema import SCHEMA, Change, fill, words_analyzer

#: Documents in the small part, at most.
MOST_RECENT = 128

_MAIN, _RECENT = "main", "recent"
_HEAP_BYTES = {_MAIN: HEAP_BYTES, _RECENT: 20_000_000}
#: Hits fetched beyond the page, so that the end of a row of equal scores is mostly in sight.
_MARGIN = 64

#: An id and a score.
Found: TypeAlias = tuple[str, float]


@dataclass(frozen=True, slots=True)
class WordSnapshot:
    """The index as a search sees it.

    Args:
        main: The large part.
        recent: The small part, None where nothing has changed.
        base: The journal number that the large part is at.
        applied: The one that both are at together.
        changed: Ids of the documents on which the small part has the last word.
    """

    main: tantivy.Searcher
    recent: tantivy.Searcher | None
    base: int
    applied: int
    changed: frozenset[str]


class WordIndex:
    """The index in one folder.

    Args:
        folder: The folder; the first writer makes it.
        mark: What tells the index of one store from that of another.
    """

    def __init__(self, folder: Path, mark: str) -> None:
        self._folder, self._mark = folder, mark
        self._readers: dict[str, tantivy.Index] = {}
        self._changed: tuple[tuple[int, int], frozenset[str]] = (-1, -1), frozenset()

    def applied(self) -> int | None:
        """Return the journal number that the index is at, None when it is not a sound index of this store."""
        for _ in range(2):
            with suppress(IndexBrokenError):
                return self._snapshot().applied
            # Once more with new readers, since another process may have put another folder here.
            self.close()
        return None

    def _snapshot(self) -> WordSnapshot:
        with index_failures(self._folder):
            # The small part first: should the main part go beyond it meanwhile, it has all that is in the small one.
            recent = self._searcher(_RECENT) if (self._folder / _RECENT / "meta.json").exists() else None
            main = self._searcher(_MAIN)
            reached, numbers = self._numbers(main), None if recent is None else self._numbers(recent)
            if reached is None:
                raise IndexBrokenError("it is not the index of this store")
            base = reached[1]
            if recent is None or numbers is None or numbers[0] != base:
                return WordSnapshot(main, None, base, base, frozenset())
            if self._changed[0] != numbers:
                _, hits = _search(recent, Query.all_query(), recent.num_docs)
                ids = [recent.doc(address).get_first("changed") for _, address in hits]
                self._changed = numbers, frozenset(each for each in ids if each is not None)
            return WordSnapshot(main, recent, base, numbers[1], self._changed[1])

    def _numbers(self, part: tantivy.Searcher) -> tuple[int, int] | None:
        """Return from where in the journal a part reaches how far, None when it is not one of this store."""
        count, hits = _search(part, Query.term_query(SCHEMA, "store", self._mark, "basic"), 1)
        if count != 1:
            return None
        mark = part.doc(hits[0][1])
        return int(mark.get_first("base") or 0), int(mark.get_first("applied") or 0)

    def _searcher(self, part: str) -> tantivy.Searcher:
        reader = self._readers.get(part) or _open(self._folder / part)
        # Else commits of other processes would not be seen.
        reader.reload()
        self._readers[part] = reader
        return reader.searcher()

    def close(self) -> None:
        """Let go of the files that are open for reading."""
        self._readers.clear()

    def writer(self, stored: Stored, before_main: Callable[[], object]) -> WordWriter:
        """Start writing; the caller sees to it that nobody else does."""
        return WordWriter(self._folder, self._mark, self._snapshot(), stored, before_main)

    def matches(self, query: Query, start: int, rows: int, *, is_ranked: bool) -> tuple[int, list[Found]]:
        """Return how many documents match, and the ids and scores of a page: best first, then by id.

        Args:
            query: What `whorl.engine.embedded.queries` makes of a plan.
            start: Hits before the page.
            rows: Hits on the page.
            is_ranked: False where every match has the same score, which saves the sorting of all of them.
        """
        with index_failures(self._folder):
            seen = self._snapshot()
            page = _ranked if is_ranked else _unranked
            if seen.recent is None:
                return page(seen.main, query, start, start + rows)
            recent_count, recent = page(seen.recent, query, 0, seen.recent.num_docs if rows else 0)
            superseded = Query.term_set_query(SCHEMA, "id", list(seen.changed))
            others = Query.boolean_query([(Occur.Must, query), (Occur.MustNot, superseded)])
            # Each recent hit before the page takes the place of one of the main part's.
            begin = max(0, start - len(recent))
            count, found = page(seen.main, others, begin, start + rows)
            found = sorted([*found, *recent], key=_best_first)[start - begin :][:rows]
            return count + recent_count, found

    def terms(self, field: str, beginning: str, most: int) -> list[str]:
        """Return terms of one of tantivy's fields that begin so: all of them, or some more than `most`."""
        with index_failures(self._folder):
            seen = self._snapshot()
            parts = [part for part in (seen.main, seen.recent) if part is not None]
            found = {term for part in parts for term, _ in part.terms_with_prefix(field, beginning, limit=most + 1)}
            return sorted(found)


def _best_first(hit: Found) -> tuple[float, str]:
    return -hit[1], hit[0]


def _unranked(searcher: tantivy.Searcher, query: Query, start: int, end: int) -> tuple[int, list[Found]]:
    """Return how many documents match, and a page of them by id."""
    count, best = _search(searcher, query, 1)
    # tantivy makes room for as many hits as it is asked for.
    end = min(end, count)
    if end <= start:
        return count, []
    _, hits = _search(searcher, query, end - start, offset=start, order_by_field="id", order=tantivy.Order.Asc)
    return count, [(document_id, best[0][0]) for document_id, _ in hits]


def _ranked(searcher: tantivy.Searcher, query: Query, start: int, end: int) -> tuple[int, list[Found]]:
    """Return how many documents match, and a page of them by score, then by id."""
    end = min(end, searcher.num_docs)
    if end <= start:
        return _search(searcher, query, 1)[0], []
    limit = end + _MARGIN
    while True:
        count, found = _search(searcher, query, min(limit, searcher.num_docs))
        scores = [score for score, _ in found]
        end = min(end, count)
        if end <= start:
            return count, []
        # tantivy orders equal scores in its own way, so the page's first and last rows of them must be here whole.
        if len(scores) == count or scores[-1] < scores[end - 1]:
            break
        limit *= 4
    first = scores.index(scores[start])
    last = len(scores) - scores[::-1].index(scores[end - 1])
    hits: list[Found] = [(searcher.doc(address).get_first("id") or "", score) for score, address in found[first:last]]
    hits.sort(key=_best_first)
    return count, hits[start - first : end - first]


def _search(
    searcher: tantivy.Searcher, query: Query, limit: int, **options: Any
) -> tuple[int, list[tuple[Any, tantivy.DocAddress]]]:
    found = searcher.search(query, limit, **options)
    return found.count, found.hits  # type: ignore[attr-defined]  # tantivy's stubs have no count


#: What the documents of some ids are now, of those that are there.
Stored: TypeAlias = Callable[[Iterable[str]], Iterable[Change]]


class WordWriter:
    """Changes to the index in a folder, seen by nobody before `commit`; `close` or `abandon` it.

    Args:
        folder: The folder.
        mark: What tells the index of one store from that of another.
        snapshot: The index as it is, None to make one.
        stored: Tells what documents are now that changed before.
        before_main: Called before the main part is opened, to wait for its former writer.
    """

    def __init__(
        self,
        folder: Path,
        mark: str,
        snapshot: WordSnapshot | None = None,
        stored: Stored = lambda _: (),
        before_main: Callable[[], object] = lambda: None,
    ) -> None:
        self._folder, self._mark, self._stored, self._before_main = folder, mark, stored, before_main
        self._is_new, self.base = snapshot is None, snapshot.base if snapshot else 0
        self._changed = set(snapshot.changed if snapshot else ())
        self._is_outdated = snapshot is not None and snapshot.recent is None
        self._writers: dict[str, tantivy.IndexWriter] = {}

    @property
    def _part(self) -> str:
        """The part that is written to; once it is the main part, it stays so."""
        return _MAIN if self._is_new or _MAIN in self._writers else _RECENT

    def replace(self, changes: Sequence[Change]) -> None:
        """Index documents in the place of their predecessors, and delete those that are gone."""
        ids = {change.id for change in changes}
        with index_failures(self._folder):
            if self._part == _RECENT and len(self._changed | ids) > MOST_RECENT:
                if small := self._writers.pop(_RECENT, None):
                    small.rollback()
                    small.wait_merging_threads()
                main, others = self._writer(_MAIN), self._changed - ids
                for document_id in others:
                    main.delete_documents_by_term("id", document_id)
                for change in self._stored(others):
                    self._put(change)
            for change in changes:
                self._put(change)
        if self._part == _RECENT:
            self._changed |= ids

    def _put(self, change: Change) -> None:
        writer, document = self._writer(self._part), tantivy.Document()
        writer.delete_documents_by_term("id" if self._part == _MAIN else "changed", change.id)
        if self._part == _RECENT:
            document.add_text("changed", change.id)
        if change.entry is not None:
            fill(document, change.id, change.number, change.entry)
        if self._part == _RECENT or change.entry is not None:
            writer.add_document(document)

    def commit(self, number: int) -> None:
        """Make all changes so far searchable, and the index be at a journal number, at once."""
        with index_failures(self._folder):
            writer, is_main = self._writer(self._part), self._part == _MAIN
            mark = tantivy.Document()
            mark.add_text("store", self._mark)
            # A main part that is further on makes the small one behind it worthless.
            mark.add_integer("base", number if is_main else self.base)
            mark.add_integer("applied", number)
            writer.delete_documents_by_term("store", self._mark)
            writer.add_document(mark)
            writer.commit()
        if is_main:
            self.base = number

    def close(self) -> Callable[[], None] | None:
        """Let go of the folder, but for the merges of the main part, which end with their writer.

        Returns:
            What waits for those and lets go of the main part, and is to be called; None if that was not written to.
        """
        main = self._writers.pop(_MAIN, None)
        with index_failures(self._folder):
            if small := self._writers.pop(_RECENT, None):
                small.wait_merging_threads()

        def merged() -> None:
            with index_failures(self._folder):
                if main:
                    main.wait_merging_threads()

        return merged if main else None

    def abandon(self) -> None:
        """Let go of the folder, forgetting what is not committed."""
        # Said outright, because the traceback of an error would keep the writer and its lock.
        for writer in self._writers.values():
            for end in (writer.rollback, writer.wait_merging_threads):
                with suppress(IndexBrokenError), index_failures(self._folder):
                    end()
        self._writers.clear()

    def _writer(self, part: str) -> tantivy.IndexWriter:
        if part not in self._writers:
            if part == _MAIN:
                self._before_main()
            folder = self._folder / part
            folder.mkdir(parents=True, exist_ok=True)
            # Opened anew: tantivy remembers a folder's files as they were when it was opened. One thread makes one
            # segment a commit.
            writer = self._writers[part] = _open(folder).writer(_HEAP_BYTES[part], num_threads=1)
            writer.garbage_collect_files()
            if part == _RECENT and self._is_outdated:
                writer.delete_all_documents()
        return self._writers[part]


def _open(folder: Path) -> tantivy.Index:
    # Given a schema, tantivy refuses a folder of another one.
    index = tantivy.Index(SCHEMA, str(folder))
    # Else a thread would look out for commits now and then; we look when we search.
    index.config_reader("manual")
    index.register_tokenizer("words", words_analyzer())
    index.reload()
    return index
