"""The tantivy folder of an embedded store: an index derived from the records, which can be made again at any time.

A document is the numbers of its tokens and the words of its fields. All words stand in one tantivy field, each
behind the name of its own field: tantivy's schemas cannot grow, properties can be called anything, and so no phrase
reaches from one field into another.
"""

from __future__ import annotations

import errno
import hashlib
import re
import shutil
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tantivy
from tantivy import Query

from whorl.planning.clauses import Kind, Value
from whorl.planning.values import whole

#: Of the schema and of how words become terms; an index of another layout is made again.
LAYOUT = "3"

_BETWEEN_WORDS, _AFTER_FIELD = "\x1e", "\x1f"
#: tantivy drops terms of 64 KB without a word. Of a longer field or word its beginning is kept, and a digest of all.
_LONGEST_PART, _BEGINNING = 1000, 200
_LETTERS: Mapping[Kind, str] = {
    Kind.TEXT: "w",
    Kind.KEYWORD: "t",
    Kind.INTEGER: "i",
    Kind.FLOAT: "f",
    Kind.DATE: "d",
    Kind.BOOLEAN: "b",
}
_HEAP_BYTES = 100_000_000
#: Hits fetched beyond the page, so that the end of a row of equal scores is mostly in sight.
_MARGIN = 64


class IndexBrokenError(Exception):
    """The folder cannot be read or written; stays within the embedded engine.

    Args:
        message: tantivy's own words.
        is_full: Whether the reason is the room on the disk, which a new folder would lack too.
    """

    def __init__(self, message: str, *, is_full: bool) -> None:
        super().__init__(message)
        self.is_full = is_full


@dataclass(frozen=True, slots=True)
class Entry:
    """What is indexed of a document.

    Args:
        id: The document's id.
        tokens: Its distinct tokens.
        sketch: The numbers by which an index knows its sketch.
        size: Its distinct shingles.
        values: Each value of its fields: the field's name, and the words in order.
        wholes: Whole values, each with its field and its type.
    """

    id: str
    tokens: Sequence[int]
    sketch: Sequence[int]
    size: int
    values: Sequence[tuple[str, Sequence[str]]]
    wholes: Sequence[tuple[str, Kind, Value]] = ()


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("MINHASH", indexed=True)
    builder.add_unsigned_field("sketch", indexed=True)
    builder.add_unsigned_field("size", indexed=True, fast=True)
    builder.add_text_field("words", tokenizer_name="words", index_option="position")
    builder.add_text_field("values", tokenizer_name="raw", index_option="basic")
    # One document has these two and no others: it tells how far into the journal the index is.
    builder.add_text_field("store", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("applied", stored=True)
    return builder.build()


SCHEMA = _schema()


class InvertedIndex:
    """The index in one folder.

    Args:
        folder: The folder; `build` makes it.
        store: The name of the store that it belongs to: another store's index is not taken for it.
    """

    def __init__(self, folder: Path, store: str) -> None:
        self._folder, self._mark = folder, f"{store} {LAYOUT}"
        self._reader: tantivy.Index | None = None

    def applied(self) -> int | None:
        """Return the journal number that the index is at, None when it is not a sound index of this store."""
        for _ in range(2):
            with suppress(IndexBrokenError), _failures(self._folder):
                searcher = self._searcher()
                count, hits = _search(searcher, Query.term_query(SCHEMA, "store", self._mark, "basic"), 1)
                if count == 1:
                    number: int | None = searcher.doc(hits[0][1]).get_first("applied")
                    return number
            # Once more with a new reader, since another process may have put another folder here.
            self._reader = None
        return None

    def _searcher(self) -> tantivy.Searcher:
        reader = self._reader or _open(self._folder)
        # Else commits of other processes would not be seen.
        reader.reload()
        self._reader = reader
        return reader.searcher()

    def close(self) -> None:
        """Let go of the files that are open for reading."""
        self._reader = None

    def writer(self) -> IndexWriter:
        """Start writing; the caller sees to it that nobody else does."""
        return IndexWriter(self._folder, self._mark)

    def build(self, entries: Iterable[Entry], number: int) -> None:
        """Make the index from nothing, and put it in the place of what is there when it is whole."""
        aside = self._folder.with_name(self._folder.name + ".new")
        with _failures(self._folder):
            _remove(aside)
            aside.mkdir()
        try:
            writer = IndexWriter(aside, self._mark)
            try:
                for entry in entries:
                    writer.replace(entry.id, entry)
                writer.commit(number)
            except BaseException:
                writer.abandon()
                raise
            writer.close()
            with _failures(self._folder):
                _remove(self._folder)
                aside.rename(self._folder)
        finally:
            with suppress(OSError):
                _remove(aside)

    def matches(self, query: Query, start: int, rows: int, *, ranked: bool) -> tuple[int, list[tuple[str, float]]]:
        """Return how many documents match, and the ids and scores of a page: best first, then by id.

        Args:
            query: What `whorl.engine.embedded.queries` makes of a plan.
            start: Hits before the page.
            rows: Hits on the page.
            ranked: False where every match has the same score, which saves the sorting of all of them.
        """
        with _failures(self._folder):
            searcher = self._searcher()
            # tantivy makes room for as many hits as it is asked for.
            wanted = min(start + rows, searcher.num_docs)
            if not rows or wanted <= start:
                return _search(searcher, query, 1)[0], []
            if ranked:
                return _ranked(searcher, query, start, wanted)
            count, best = _search(searcher, query, 1)
            in_order = {"offset": start, "order_by_field": "id", "order": tantivy.Order.Asc}
            _, hits = _search(searcher, query, wanted - start, **in_order)
            return count, [(document_id, best[0][0]) for document_id, _ in hits]

    def terms(self, field: str, beginning: str) -> list[str]:
        """Return all terms of one of tantivy's fields that begin so."""
        with _failures(self._folder):
            return [term for term, _ in self._searcher().terms_with_prefix(field, beginning)]


def _ranked(searcher: tantivy.Searcher, query: Query, start: int, end: int) -> tuple[int, list[tuple[str, float]]]:
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
    hits: list[tuple[str, float]] = [
        (searcher.doc(address).get_first("id") or "", score) for score, address in found[first:last]
    ]
    hits.sort(key=lambda hit: (-hit[1], hit[0]))
    return count, hits[start - first : end - first]


def _search(
    searcher: tantivy.Searcher, query: Query, limit: int, **options: Any
) -> tuple[int, list[tuple[Any, tantivy.DocAddress]]]:
    found = searcher.search(query, limit, **options)
    return found.count, found.hits  # type: ignore[attr-defined]  # tantivy's stubs have no count


class IndexWriter:
    """Changes to the index in a folder, seen by nobody before `commit`; `close` or `abandon` it."""

    def __init__(self, folder: Path, mark: str) -> None:
        self._folder, self._mark, self.pending = folder, mark, 0
        with _failures(folder):
            # Opened anew: tantivy remembers a folder's files as they were when it was opened.
            self._writer = _open(folder).writer(_HEAP_BYTES, num_threads=1)  # one thread: one segment a commit
            self._writer.garbage_collect_files()

    def replace(self, document_id: str, entry: Entry | None) -> None:
        """Index a document in the place of its predecessor, or delete it."""
        with _failures(self._folder):
            self._writer.delete_documents_by_term("id", document_id)
            if entry is not None:
                self._writer.add_document(_document(entry))
        self.pending += 1

    def commit(self, number: int) -> None:
        """Make all changes so far searchable, and the index be at a journal number, at once."""
        with _failures(self._folder):
            self._writer.delete_documents_by_term("store", self._mark)
            mark = tantivy.Document()
            mark.add_text("store", self._mark)
            mark.add_integer("applied", number)
            self._writer.add_document(mark)
            self._writer.commit()
        self.pending = 0

    def close(self) -> None:
        """Let go of the folder when its segments are merged: merges end with their writer."""
        with _failures(self._folder):
            self._writer.wait_merging_threads()

    def abandon(self) -> None:
        """Let go of the folder, forgetting what is not committed."""
        # Said outright, because the traceback of an error would keep the writer and its lock.
        with suppress(IndexBrokenError), _failures(self._folder):
            self._writer.rollback()
        with suppress(IndexBrokenError), _failures(self._folder):
            self._writer.wait_merging_threads()


def _open(folder: Path) -> tantivy.Index:
    # Given a schema, tantivy refuses a folder of another one.
    index = tantivy.Index(SCHEMA, str(folder))
    # Else a thread would look out for commits now and then; we look when we search.
    index.config_reader("manual")
    words = tantivy.Tokenizer.regex(f"[^{_BETWEEN_WORDS}]+")
    index.register_tokenizer("words", tantivy.TextAnalyzerBuilder(words).build())
    index.reload()
    return index


def _document(entry: Entry) -> tantivy.Document:
    document = tantivy.Document()
    document.add_text("id", entry.id)
    for token in entry.tokens:
        document.add_unsigned("MINHASH", token)
    for number in entry.sketch:
        document.add_unsigned("sketch", number)
    document.add_unsigned("size", entry.size)
    for name, words in entry.values:
        if not words:
            continue
        # tantivy leaves a gap between values, so that no phrase goes across.
        document.add_text("words", _BETWEEN_WORDS.join([term(name, word) for word in words]))
    present = {(name, kind) for name, kind, _ in entry.wholes}
    present |= {(name, Kind.TEXT) for name, words in entry.values}
    for name, kind in present:
        document.add_text("values", presence(name, kind))
    for name, kind, value in entry.wholes:
        document.add_text("values", value_term(name, kind, value))
    return document


def term(field: str, word: str) -> str:
    """Return the one term for a word in a field; a field's name holds no control characters."""
    return f"{_part(field)}{_AFTER_FIELD}{_part(word)}"


def value_term(field: str, kind: Kind, value: Value) -> str:
    """Return the one term for a whole value of a field; values of a type are in the order of their terms."""
    return values_begin(field, kind) + sortable(kind, value)


def values_begin(field: str, kind: Kind) -> str:
    """Return what the terms of a field's whole values of a type begin with."""
    return f"{_part(field)}{_AFTER_FIELD}{_LETTERS[kind]}"


def presence(field: str, kind: Kind) -> str:
    """Return the term of documents that have anything in a field."""
    return f"{_part(field)}{_AFTER_FIELD}{_LETTERS[kind].upper()}"


def sortable(kind: Kind, value: Value) -> str:
    """Spell a value such that the order of the spellings is that of the values."""
    match kind:
        case Kind.INTEGER | Kind.DATE:
            return f"{int(value) + (1 << 63):016x}"
        case Kind.FLOAT:
            (bits,) = struct.unpack(">Q", struct.pack(">d", value))
            return f"{bits ^ ((1 << 64) - 1 if bits >> 63 else 1 << 63):016x}"
        case _:
            return whole(str(value))


def _part(text: str) -> str:
    if len(text) <= _LONGEST_PART and _BETWEEN_WORDS not in text:
        return text
    # No word and no field holds this control character.
    return f"{text[:_BEGINNING]}\x1d{hashlib.blake2b(text.encode(), digest_size=32).hexdigest()}".replace(
        _BETWEEN_WORDS, ""
    )


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _failures(folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # A panic in tantivy's Rust is no Exception, and its class cannot be imported.
        if not isinstance(error, OSError | ValueError | RuntimeError) and type(error).__name__ != "PanicException":
            raise
        raise IndexBrokenError(str(error), is_full=_is_full(error, folder)) from error


def _is_full(error: BaseException, folder: Path) -> bool:
    told = re.findall(r"(?:os error |\bcode: )(\d+)", str(error))
    number = error.errno if isinstance(error, OSError) else int(told[0]) if told else None
    if number is not None:
        # EFBIG: the process may not write files as large as this.
        return number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    with suppress(OSError):
        # tantivy's threads do not tell what they died of, so the room that is left has to.
        return shutil.disk_usage(folder.parent).free < _HEAP_BYTES
    return False
