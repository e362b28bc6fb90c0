"""Documents into an engine, batch by batch: what is there unchanged is left alone, and what is reported is safe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TypedDict

from whorl.context import trace
from whorl.engine.protocol import Engine
from whorl.errors import DocumentError, ParameterError, WhorlError
from whorl.model import Document, Indexed

#: Documents sent to an engine at once: enough to spread the cost of a commit, small enough to lose little time.
DEFAULT_BATCH = 256
#: Characters of text in a batch, about: one request then takes seconds, not minutes.
BATCH_CHARACTERS = 4_000_000


class IndexOptions(TypedDict, total=False):
    """How documents are stored.

    Args:
        batch: Documents per batch, at least 1, by default 256, fewer if they are long; each batch is safe before the
            next is read.
        again: Whether to store unchanged ones too.
        progress: Called after every batch with what is safe so far.
        on_refused: Called with a document that the engine cannot store, and why; without it such a document ends the
            run.
        on_stored: Called with each document that is stored, once it is safe.
    """

    batch: int
    again: bool
    progress: Callable[[Indexed], None] | None
    on_refused: Callable[[Document, DocumentError], None] | None
    on_stored: Callable[[Document], None] | None


def index_documents(
    engine: Engine,
    documents: Iterable[Document],
    *,
    batch: int = DEFAULT_BATCH,
    again: bool = False,
    progress: Callable[[Indexed], None] | None = None,
    on_refused: Callable[[Document, DocumentError], None] | None = None,
    on_stored: Callable[[Document], None] | None = None,
) -> Indexed:
    """Store documents, as `Store.index` and `IndexOptions` say.

    Raises:
        ParameterError: A batch of no documents.
    """
    if batch < 1:
        raise ParameterError(f"batch must be at least 1, got {batch}")
    done = Indexed()
    remaining = iter(documents)
    sent: list[Document] = []
    try:
        # The last of several documents with one id in a batch is the one that counts.
        while group := _group(remaining, batch):
            there = {} if again else engine.digests(group)
            sent = [document for document in group.values() if there.get(document.id) != document.digest]
            stored = _stored(engine, sent, on_refused)
            done = Indexed(done.stored + len(stored), done.unchanged + len(group) - len(sent))
            trace().stored += len(stored)
            sent = []
            if on_stored:
                for document in stored:
                    on_stored(document)
            if progress:
                progress(done)
    except BaseException:
        # What was stored can be found and is counted: also when reading stopped, and of a batch that failed half-way.
        if done.stored or sent:
            with suppress(WhorlError):
                engine.refresh()
                # Documents that are sent again were there before, as far as anybody can tell.
                count = 0 if again else _there(engine, sent)
                trace().stored += count
                if progress and count:
                    progress(Indexed(done.stored + count, done.unchanged))
        raise
    if done.stored:
        engine.refresh()
    return done


def _stored(
    engine: Engine, documents: list[Document], on_refused: Callable[[Document, DocumentError], None] | None
) -> list[Document]:
    """Store documents and return those that are; where one is refused, the others are stored one by one."""
    try:
        engine.index(documents)
    except DocumentError as error:
        if on_refused is None:
            raise
        if len(documents) > 1:
            return [each for document in documents for each in _stored(engine, [document], on_refused)]
        on_refused(documents[0], error)
        return []
    return documents


def _there(engine: Engine, documents: list[Document]) -> int:
    """Return how many documents are in the engine as they are here."""
    digests = engine.digests([document.id for document in documents])
    return sum(digests.get(document.id) == document.digest for document in documents)


def _group(documents: Iterator[Document], most: int) -> dict[str, Document]:
    """Take the next documents, by id: at most so many, and no more once they are long enough together.

    Nothing is taken beyond the batch, as `arrays.chunks` does: whoever sends documents may wait for these to be safe.
    """
    group: dict[str, Document] = {}
    characters = 0
    for document in islice(documents, most):
        group[document.id] = document
        characters += len(document.text)
        if characters >= BATCH_CHARACTERS:
            break
    return group
