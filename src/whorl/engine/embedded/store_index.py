"""Reads and writes the two indexes of an embedded store together: words in tantivy, fingerprint tokens in segments.

`TextIndex` is the text index (words and whole values), `TokenIndex` the token index, and `StoreIndex` has both. A write
changes both indexes, and commits the token index first. Each index stores the number of the last journal entry that it
contains.

After a crash between the two commits, the next writer updates both indexes from the journal, starting after the last
entry of the text index. If an index is lost or broken, the engine builds both again from the database in a new folder,
which then replaces the old folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from whorl.engine.embedded.prepare_documents import LAYOUT, Change
from whorl.engine.embedded.segmented_token_index import ReadMinHash, TokenIndex, TokenSnapshot
from whorl.engine.embedded.store_files import IndexBrokenError, delete_path, index_errors
from whorl.engine.embedded.text_index import ReadEntries, TextIndex, TextIndexWriter

_TOKENS = "tokens"


class StoreIndex:
    """The index of an embedded store, in one folder, which `build` creates.

    Reading the index of another store raises OtherIndexError. The token index calls `on_merged` after background
    merges. `read_minhash` computes MinHash tokens from texts; None if the index has all bits of these tokens.
    """

    def __init__(
        self,
        folder: Path,
        store: str,
        token_bits: Sequence[int],
        on_merged: Callable[[], None],
        read_minhash: ReadMinHash | None,
    ) -> None:
        bits = "-".join(map(str, token_bits))
        self._folder, self._store_id, self._token_bits = folder, f"{store} {LAYOUT} {bits}", token_bits
        self.text_index = TextIndex(folder, self._store_id)
        self.token_index = TokenIndex(folder / _TOKENS, self._store_id, token_bits, on_merged, read_minhash)

    def read_applied_numbers(self) -> tuple[int, int] | None:
        """Return the number of the last journal entry in each of the two indexes, the smaller number first.

        Return None if an index is damaged or belongs to another store.
        """
        words = self.text_index.read_applied_number()
        with suppress(IndexBrokenError):
            tokens = self.tokens().applied
            return None if words is None else (min(words, tokens), max(words, tokens))
        return None

    def tokens(self) -> TokenSnapshot:
        with index_errors(self._folder):
            return self.token_index.snapshot()

    def verify(self) -> None:
        with index_errors(self._folder):
            self.text_index.verify()
            for segment in self.token_index.snapshot().segments:
                segment.verify()

    def writer(self, read_entries: ReadEntries, before_main: Callable[[], object]) -> StoreIndexWriter:
        """Return a writer; the caller must hold the write lock. `TextIndexWriter` describes the arguments."""
        with index_errors(self._folder):
            self.token_index.begin()
        return StoreIndexWriter(self._folder, self.text_index.writer(read_entries, before_main), self.token_index)

    def build(self, changes: Iterable[Sequence[Change]], number: int, documents: int) -> None:
        """Build a new index in a separate folder, which then replaces the old folder; see `TextIndexWriter.commit`."""
        self.token_index.wait()
        aside = self._folder.with_name(self._folder.name + ".new")
        tokens = TokenIndex(aside / _TOKENS, self._store_id, self._token_bits)
        with index_errors(self._folder):
            delete_path(aside)
            tokens.make()
        try:
            writer = StoreIndexWriter(aside, TextIndexWriter(aside, self._store_id), tokens)
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
                delete_path(self._folder)
                aside.rename(self._folder)
        finally:
            with suppress(OSError):
                delete_path(aside)

    def close(self) -> None:
        self.text_index.close()
        self.token_index.close()


class StoreIndexWriter:
    """Writer of an index. Readers see changes after `commit`. The caller must call `close` or `abandon` at the end."""

    def __init__(self, folder: Path, text_writer: TextIndexWriter, tokens: TokenIndex) -> None:
        self._folder, self._text_writer, self._token_index = folder, text_writer, tokens
        self.pending = self.pending_characters = 0

    @property
    def base(self) -> int:
        """Number of the last journal entry in the text index's main part; entries up to it are no longer needed."""
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
        """Close the text index, like `TextIndexWriter.close`, and start merging token segments in the background."""
        with index_errors(self._folder):
            self._token_index.finish()
        return self._text_writer.close()

    def abandon(self) -> None:
        self._token_index.abandon()
        self._text_writer.abandon()
