"""Exact comparison of a page's hits with the source on their texts, with and without common text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from whorl.arrays import batches
from whorl.context import require_time
from whorl.engine.protocol import Engine
from whorl.fingerprint.compare import Comparison, Rest, words_of
from whorl.search.boilerplate import Commons, Comparer
from whorl.search.similar.sources import Source, text_of

#: Texts fetched in one request, and number of characters in all after which no further texts are read.
_TEXTS_AT_ONCE, MOST_CHARACTERS = 25, 20_000_000


@dataclass(frozen=True, slots=True)
class Rests:
    """Shares of hits without common text.

    Args:
        by_id: Shares by the id of the hit, for hits whose text and whose source's text are available.
        warnings: Warnings for the user.
    """

    by_id: Mapping[str, Rest]
    warnings: tuple[str, ...] = ()


def rests(engine: Engine, source: Source, ids: Sequence[str], commons: Commons) -> Rests:
    """Compare a source with documents without common text.

    Args:
        engine: Engine of the store.
        source: The source, as A.
        ids: Ids of the documents.
        commons: Detector of common text.
    """
    own = text_of(engine, source)
    if own is None:
        return Rests({}, (f"{source.name!r} has no stored text, so its common text cannot be left out",))
    found: dict[str, Rest] = {}
    for document_id, comparison in comparisons(engine, own, ids, commons):
        assert comparison.rest is not None
        found[document_id] = comparison.rest
    missing = len(ids) - len(found)
    warnings = (f"{missing} of the hits were not read, so nothing is known of them without what is common",)
    return Rests(found, warnings if missing else ())


def comparisons(
    engine: Engine, text: str, ids: Sequence[str], commons: Commons | None = None
) -> Iterator[tuple[str, Comparison]]:
    """Yield the ids of documents, each with the comparison of a text, as A, and the document's text.

    Documents without a text are left out, and so are the last ones after the limit of characters.

    Args:
        engine: Engine of the store.
        text: Text to compare the documents with.
        ids: Ids of the documents.
        commons: Detector of common text; None to count all text only.
    """
    scheme, characters = engine.scheme, 0
    comparer = Comparer(words_of(text, scheme), scheme, commons)
    for some in batches(ids, _TEXTS_AT_ONCE):
        if characters >= MOST_CHARACTERS:
            break
        for document_id, other in engine.texts(some).items():
            require_time()
            characters += len(other)
            yield document_id, comparer.compare(other)
