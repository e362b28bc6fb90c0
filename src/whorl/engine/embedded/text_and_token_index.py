"""Reads and writes the index of an embedded store: words in tantivy, fingerprint tokens in whorl's own segments.

A write changes both parts, and commits the tokens first. Each part stores the number of the last journal entry that it
contains. After a crash between the two commits, both parts are updated from the journal, starting after the last entry
of the words. A lost or broken index is rebuilt from the records in a new folder, which then replaces the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tantivy import Query

from whorl.engine.embedded.folder_and_sqlite import IndexBrokenError, index_errors, remove
from whorl.engine.embedded.prepare_documents import LAYOUT, Change
from whorl.engine.embedded.segmented_token_index import TokenIndex, TokenSnapshot
from whorl.engine.embedded.text_index import ReadEntries, ScoredId, TextIndex, TextIndexWriter

_TOKENS = "tokens"


class InvertedIndex:
    """The index of an embedded store, in one folder.

    Args:
        folder: The folder; `build` creates it.
        store: Identifier of the store; the index of another store is refused.
        on_merged: Called after background merges of token segments.
    """

    def __init__(self, folder: Path, store: str, token_bits: Sequence[int], on_merged: Callable[[], None]) -> None:
        bits = "-".join(map(str, token_bits))
        self._folder, self._store_id, self._token_bits = folder, f"{store} {LAYOUT} {bits}", token_bits
        self._text_index = TextIndex(folder, self._store_id)
        self._token_index = TokenIndex(folder / _TOKENS, self._store_id, token_bits, on_merged)

    def read_applied_numbers(self) -> tuple[int, int] | None:
        """Return the journal numbers that the text index and the token index have reached, the smaller number first.

        Return None if one of the two is damaged or belongs to another store.
        """
        words = self._text_index.read_applied_number()
        with suppress(IndexBrokenError):
            tokens = self.tokens().applied
            return None if words is None else (min(words, tokens), max(words, tokens))
        return None

    def tokens(self) -> TokenSnapshot:
        with index_errors(self._folder):
            return self._token_index.snapshot()

    def verify(self) -> None:
        """Read all files; raise IndexBrokenError if a checksum is wrong."""
        with index_errors(self._folder):
            self._text_index.verify()
            for segment in self._token_index.snapshot().segments:
                segment.verify()

    def matches(self, query: Query, start: int, rows: int, *, is_ranked: bool) -> tuple[int, list[ScoredId]]:
        return self._text_index.matches(query, start, rows, is_ranked=is_ranked)

    def ids(self, query: Query) -> list[str]:
        return self._text_index.ids(query)

    def are_known(self, queries: Iterable[Query]) -> list[bool]:
        return self._text_index.are_known(queries)

    def terms(self, field: str, prefix: str, most: int) -> list[str]:
        return self._text_index.terms(field, prefix, most)

    def writer(self, read_entries: ReadEntries, before_main: Callable[[], object]) -> IndexWriter:
        """Return a writer; the caller must hold the write lock."""
        with index_errors(self._folder):
            self._token_index.begin()
        return IndexWriter(self._folder, self._text_index.writer(read_entries, before_main), self._token_index)

    def build(self, changes: Iterable[Sequence[Change]], number: int, documents: int) -> None:
        """Build a new index in a separate folder, which then replaces the old one."""
        self.wait()
        aside = self._folder.with_name(self._folder.name + ".new")
        tokens = TokenIndex(aside / _TOKENS, self._store_id, self._token_bits)
        with index_errors(self._folder):
            remove(aside)
            tokens.make()
        try:
            writer = IndexWriter(aside, TextIndexWriter(aside, self._store_id), tokens)
            try:
                for batch in changes:
                    writer.replace(batch)
                writer.commit(number, documents)
                if wait_for_merges := writer.close():
                    wait_for_merges()
            except BaseException:
                writer.abandon()
                raise
            tokens.wait()
            with index_errors(self._folder):
                remove(self._folder)
                aside.rename(self._folder)
        finally:
            with suppress(OSError):
                remove(aside)

    @property
    def is_merging(self) -> bool:
        """Whether a background merge of tokens is running; no other process may write during the merge."""
        return self._token_index.is_merging

    def wait(self) -> None:
        self._token_index.wait()

    def close(self) -> None:
        self._text_index.close()
        self._token_index.close()


class IndexWriter:
    """Writer of an index. Readers see changes after `commit`. The caller must call `close` or `abandon` at the end."""

    def __init__(self, folder: Path, text_writer: TextIndexWriter, tokens: TokenIndex) -> None:
        self._folder, self._text_writer, self._token_index = folder, text_writer, tokens
        self.pending = self.pending_characters = 0

    @property
    def base(self) -> int:
        """Number of the last journal entry in the main part of the text index. Earlier entries are no longer needed."""
        return self._text_writer.base

    def replace(self, changes: Sequence[Change]) -> None:
        with index_errors(self._folder):
            self._token_index.replace({own.number: own.entry.tokens if own.entry else None for own in changes})
        self._text_writer.replace(changes)
        self.pending += len(changes)
        self.pending_characters += sum(
            len(terms) for change in changes if change.entry for _, terms in change.entry.values
        )

    def commit(self, number: int, documents: int) -> None:
        with index_errors(self._folder):
            self._token_index.commit(number)
        self._text_writer.commit(number, documents)
        self.pending = self.pending_characters = 0

    def close(self) -> Callable[[], None] | None:
        """Release the folder like `TextIndexWriter.close`; a background thread merges token segments."""
        with index_errors(self._folder):
            self._token_index.finish()
        return self._text_writer.close()

    def abandon(self) -> None:
        self._token_index.abandon()
        self._text_writer.abandon()
