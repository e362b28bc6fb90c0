"""What hits share with a source without what is common: counted on whole texts, for the hits of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whorl.boilerplate import Commons
from whorl.context import require_time
from whorl.engine.protocol import Engine
from whorl.fingerprint.passages import CommonWords, Rest, compare_words, words_of
from whorl.similar.sources import Source

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
    own = source.text
    if own is None and source.document_id is not None:
        own = engine.texts([source.document_id]).get(source.document_id)
    if own is None:
        return Rests({}, (f"{source.name!r} has no stored text, so nothing is known without what is common",))
    of_source, scheme = words_of(own, engine.scheme), engine.scheme
    is_common = commons.words(of_source)
    found: dict[str, Rest] = {}
    characters = 0
    for at in range(0, len(ids), _TEXTS_AT_ONCE):
        if characters >= MOST_CHARACTERS:
            break
        for document_id, text in engine.texts(ids[at : at + _TEXTS_AT_ONCE]).items():
            require_time()
            characters += len(text)
            of_hit = words_of(text, scheme)
            common = CommonWords(is_common, commons.words(of_hit), commons.edge)
            rest = compare_words(of_source, of_hit, scheme, common).rest
            assert rest is not None
            found[document_id] = rest
    missing = len(ids) - len(found)
    warnings = (f"{missing} of the hits were not read, so nothing is known of them without what is common",)
    return Rests(found, warnings if missing else ())
