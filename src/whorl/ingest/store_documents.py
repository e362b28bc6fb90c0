"""Stores documents in batches, skips unchanged documents, and reports the documents that are safely stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TypedDict, Unpack

from whorl.engine.protocol import Engine
from whorl.errors import DocumentError, ParameterError, WhorlError, require_int
from whorl.fingerprint.words.tokenizer import folding_growth
from whorl.ingest.file_limits import file_limits
from whorl.model import RESERVED_PREFIX, Document, Indexed, documents_only
from whorl.request_context import trace

#: Default number of documents per batch. Each commit takes long, but an error loses the work of a whole batch.
DEFAULT_BATCH = 256
#: Approximate maximum number of characters in a batch, so that one request takes seconds, not minutes.
BATCH_CHARACTERS = 4_000_000
#: Maximum number of distinct ids that `SeenIds` stores, in about 70 MB.
MOST_IDS = 1_000_000
#: Maximum length in characters of a document whose folding takes little memory, and is not checked.
_SMALL_CHARACTERS = 1_000_000


class IndexOptions(TypedDict, total=False):
    """Options for storing documents.

    Args:
        batch: Number of documents per batch, at least 1; by default 256, or fewer if they are long. Each batch is
            safely stored before the next is read.
        again: Whether unchanged documents are stored again.
        replace: Whether a document replaces an earlier document with the same id and a different text (the default), or
            is refused. The earlier document may be from the same call.
        progress: Called after every batch with the numbers of documents safely stored or unchanged so far.
        on_refused: Called with a document that the engine cannot store, and with the error; by default, the error ends
            the run.
        on_stored: Called with each document when it is safely stored.
        seen: Ids from earlier calls in the same run; by default, the run has no earlier calls.
        takes_reserved: Whether properties may have the names of whorl's own fields, as in documents of another store.
    """

    batch: int
    again: bool
    replace: bool
    progress: Callable[[Indexed], None] | None
    on_refused: Callable[[Document, DocumentError], None] | None
    on_stored: Callable[[Document], None] | None
    seen: SeenIds
    takes_reserved: bool


class SeenIds:
    """Detects repeated ids in a run, among the first `MOST_IDS` distinct ids.

    `first_repeated` is the first repeated id, or None.
    """

    def __init__(self) -> None:
        self._hashes = set[int]()
        self.first_repeated: str | None = None

    def add(self, document_id: str) -> bool:
        """Add an id; return whether it is a repetition."""
        key = hash(document_id)
        if key not in self._hashes:
            if len(self._hashes) < MOST_IDS:
                self._hashes.add(key)
            return False
        self.first_repeated = self.first_repeated or document_id
        return True


def index_documents(engine: Engine, documents: Iterable[Document], **options: Unpack[IndexOptions]) -> Indexed:
    """Store documents; see `Store.index` and `IndexOptions`."""
    if unknown := options.keys() - IndexOptions.__optional_keys__:
        raise TypeError(f"index() has no option {min(unknown)!r}")
    batch, again = require_int("batch", options.get("batch", DEFAULT_BATCH)), options.get("again", False)
    progress, on_stored, seen = options.get("progress"), options.get("on_stored"), options.get("seen") or SeenIds()
    if batch < 1:
        raise ParameterError(f"batch must be at least 1, got {batch}")
    done = Indexed()
    sent: list[Document] = []
    try:
        for group in _groups(documents_only(documents), batch, replaces=options.get("replace", True)):
            new = {document.id for document in group if not seen.add(document.id)}
            # If documents in a batch share an id, only the last one is stored.
            last = {document.id: document for document in group}
            digests = {} if again else engine.digests(last)
            # A digest does not cover cluster labels, so always send documents with labels, which `_store` then refuses.
            sent = [
                document
                for document in last.values()
                if not document.has_digest(digests.get(document.id)) or _reserved_name(document, options)
            ]
            stored = _store(engine, sent, options)
            new_stored, new_sent = (sum(document.id in new for document in some) for some in (stored, sent))
            done = Indexed(
                done.stored + new_stored,
                done.unchanged + len(new) - new_sent,
                done.repeated + len(group) - len(new),
            )
            trace().stored += len(stored)
            sent = []
            if on_stored:
                for document in stored:
                    on_stored(document)
            if progress:
                progress(done)
    except BaseException:
        # Make the documents that have been stored so far searchable, and count them.
        if done.stored or sent:
            with suppress(WhorlError):
                engine.refresh()
                # With `again`, count none: an equal document in the store may be from an earlier run.
                stored_digests = {} if again else engine.digests([document.id for document in sent])
                count = sum(document.has_digest(stored_digests.get(document.id)) for document in sent)
                trace().stored += count
                if progress and count:
                    progress(replace(done, stored=done.stored + count))
        raise
    # Documents that an interrupted run has stored are unchanged now, but may not be searchable yet.
    if done.stored or done.unchanged:
        engine.refresh()
    return done


def _store(engine: Engine, documents: list[Document], options: IndexOptions) -> list[Document]:
    """Store documents, one by one if the engine refuses one of them; return the stored documents."""
    try:
        for document in documents:
            _require_bounded_folding(document)
            if name := _reserved_name(document, options):
                raise DocumentError(
                    f"a property cannot be called {name!r:.80} (document {document.id!r:.80}); names that begin with "
                    f"{RESERVED_PREFIX} are whorl's own: choose another name, or leave it out"
                )
        engine.index(documents, replace=options.get("replace", True))
    except DocumentError as error:
        if (on_refused := options.get("on_refused")) is None:
            raise
        if len(documents) > 1:
            return [stored for document in documents for stored in _store(engine, [document], options)]
        on_refused(documents[0], error)
        return []
    return documents


def _reserved_name(document: Document, options: IndexOptions) -> str | None:
    """Return the first property name with the reserved prefix of whorl's fields; None if the options permit it."""
    names = () if options.get("takes_reserved") else document.properties
    return next((name for name in names if name.startswith(RESERVED_PREFIX)), None)


def _require_bounded_folding(document: Document) -> None:
    """Raise DocumentError if folding adds too many characters: U+FDFA, for example, becomes 18 letters."""
    texts = [document.text, document.name, *(text for values in document.values().values() for text in values)]
    if sum(map(len, texts)) > _SMALL_CHARACTERS:
        growth, most = sum(map(folding_growth, texts)), file_limits().text_characters
        if growth > most:
            raise DocumentError(
                f"document {document.id!r:.80}: folding, as U+FDFA becomes 18 letters, adds {growth:,} characters, and "
                f"it may add {most:,} (setting max_file_text)"
            )


def _groups(documents: Iterator[Document], most: int, *, replaces: bool) -> Iterator[list[Document]]:
    """Yield the documents in batches of `most`, or fewer if they are long.

    Unless documents replace others, a batch ends before a different text with the same id, so that the engine refuses
    that text. No document is read ahead, because its sender may wait until this batch is stored.
    """
    group, characters, texts = list[Document](), 0, dict[str, str]()
    for document in documents:
        if not replaces and texts.setdefault(document.id, document.text) != document.text:
            yield group
            group, characters, texts = [], 0, {document.id: document.text}
        group.append(document)
        characters += len(document.text)
        if len(group) == most or characters >= BATCH_CHARACTERS:
            yield group
            group, characters, texts = [], 0, {}
    if group:
        yield group
