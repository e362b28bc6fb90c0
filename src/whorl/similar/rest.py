"""What the hits of a page share with a source, counted on whole texts, and what of it without what is common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from whorl.arrays import batches
from whorl.boilerplate import Commons, Comparer
from whorl.context import require_time
from whorl.engine.protocol import Engine
from whorl.fingerprint.passages import Comparison, Rest, words_of
from whorl.similar.sources import Source, text_of

#: Texts fetched in one request; and no more are read once they have so many characters together.
_TEXTS_AT_ONCE, MOST_CHARACTERS = 25, 20_000_000


@dataclass(frozen=True, slots=True)
class Rests:
    """What is left of hits without what is common.

    Args:
        by_id: By the ids of the hits, of those whose text and whose source's text are known.
        warnings: What the user should know beside them.
    """

    by_id: Mapping[str, Rest]
    warnings: tuple[str, ...] = ()


def rests(engine: Engine, source: Source, ids: Sequence[str], commons: Commons) -> Rests:
    """Compare a source with documents without what is common.

    Args:
        engine: Where the documents are.
        source: The source, which is A.
        ids: Of the documents.
        commons: Tells what is common.
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
    """Yield documents, and how a text, as A, compares with each.

    A document without a text is left out, and so are the last ones where all together are too long.

    Args:
        engine: Where the documents are.
        text: What they are compared with.
        ids: Of the documents.
        commons: Tells what is common; None where nobody has said what that is.
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
