"""The index of an embedded store, derived from the records: words in tantivy, tokens in runs of our own.

A write goes to both. The tokens are made seen first; should a crash come between them, both are brought on from where
the words are. An index that is lost or broken is made again from the records, beside the old one, and takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tantivy import Query

from whorl.engine.embedded.folder import IndexBrokenError, index_failures, remove
from whorl.engine.embedded.schema import LAYOUT, Change
from whorl.engine.embedded.tokens import TokenIndex, TokenSnapshot
from whorl.engine.embedded.words import Found, Stored, WordIndex, WordWriter

_TOKENS = "tokens"


class InvertedIndex:
    """The index in one folder.

    Args:
        folder: The folder; `build` makes it.
        store: The name of the store that it belongs to: another store's index is not taken for it.
        token_bits: Of each kind of token.
        on_merged: Called when runs of tokens have been merged beside the writing.
    """

    def __init__(self, folder: Path, store: str, token_bits: Sequence[int], on_merged: Callable[[], None]) -> None:
        bits = "-".join(map(str, token_bits))
        self._folder, self._mark, self._token_bits = folder, f"{store} {LAYOUT} {bits}", token_bits
        self._words = WordIndex(folder, self._mark)
        self._tokens = TokenIndex(folder / _TOKENS, self._mark, token_bits, on_merged)

    def reached(self) -> tuple[int, int] | None:
        """Return the least and the most of the journal numbers that its parts are at.

        None when they are no sound index of this store.
        """
        words = self._words.applied()
        with suppress(IndexBrokenError):
            tokens = self.tokens().applied
            return None if words is None else (min(words, tokens), max(words, tokens))
        return None

    def tokens(self) -> TokenSnapshot:
        """Return the tokens as they are now."""
        with index_failures(self._folder):
            return self._tokens.snapshot()

    def matches(self, query: Query, start: int, rows: int, *, is_ranked: bool) -> tuple[int, list[Found]]:
        """Return what `WordIndex.matches` does."""
        return self._words.matches(query, start, rows, is_ranked=is_ranked)

    def terms(self, field: str, beginning: str, most: int) -> list[str]:
        """Return what `WordIndex.terms` does."""
        return self._words.terms(field, beginning, most)

    def writer(self, stored: Stored, before_main: Callable[[], object]) -> IndexWriter:
        """Start writing; the caller sees to it that nobody else does."""
        with index_failures(self._folder):
            self._tokens.begin()
        return IndexWriter(self._folder, self._words.writer(stored, before_main), self._tokens)

    def build(self, changes: Iterable[Sequence[Change]], number: int) -> None:
        """Make the index from nothing, and put it in the place of what is there when it is whole."""
        self.wait()
        aside = self._folder.with_name(self._folder.name + ".new")
        tokens = TokenIndex(aside / _TOKENS, self._mark, self._token_bits)
        with index_failures(self._folder):
            remove(aside)
            tokens.make()
        try:
            writer = IndexWriter(aside, WordWriter(aside, self._mark), tokens)
            try:
                for some in changes:
                    writer.replace(some)
                writer.commit(number)
                if merged := writer.close():
                    merged()
            except BaseException:
                writer.abandon()
                raise
            tokens.wait()
            with index_failures(self._folder):
                remove(self._folder)
                aside.rename(self._folder)
        finally:
            with suppress(OSError):
                remove(aside)

    @property
    def is_merging(self) -> bool:
        """Whether runs of tokens are merged beside the writing, so that nobody else may write."""
        return self._tokens.is_merging

    def wait(self) -> None:
        """Wait for that."""
        self._tokens.wait()

    def close(self) -> None:
        """Let go of the files that are open for reading."""
        self._words.close()
        self._tokens.close()


class IndexWriter:
    """Changes to an index, seen by nobody before `commit`; `close` or `abandon` it.

    Args:
        folder: The folder of the index.
        words: Writes the words.
        tokens: The tokens.
    """

    def __init__(self, folder: Path, words: WordWriter, tokens: TokenIndex) -> None:
        self._folder, self._words, self._tokens = folder, words, tokens
        self.pending = 0

    @property
    def base(self) -> int:
        """The journal number before which nobody asks any more."""
        return self._words.base

    def replace(self, changes: Sequence[Change]) -> None:
        """Index documents in the place of their predecessors, and forget those that are gone."""
        with index_failures(self._folder):
            self._tokens.replace({each.number: each.entry.tokens if each.entry else None for each in changes})
        self._words.replace(changes)
        self.pending += len(changes)

    def commit(self, number: int) -> None:
        """Make all changes so far searchable, and the index be at a journal number."""
        with index_failures(self._folder):
            self._tokens.commit(number)
        self._words.commit(number)
        self.pending = 0

    def close(self) -> Callable[[], None] | None:
        """Let go of the folder, as `WordWriter.close` does; the tokens are merged beside it."""
        with index_failures(self._folder):
            self._tokens.finish()
        return self._words.close()

    def abandon(self) -> None:
        """Let go of the folder, forgetting what is not committed."""
        self._tokens.abandon()
        self._words.abandon()
