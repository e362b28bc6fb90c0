"""Joins words of a text that are broken at line ends, if the store has the whole words."""

from __future__ import annotations

from whorl.arrays import batches
from whorl.engine.protocol import Engine, MatchCount
from whorl.fingerprint.compare import TextWords
from whorl.query.plan.nodes import BoundPlan, MatchAll, Words

#: Maximum number of broken words looked up for a text, and in one request.
MOST_LOOKED_UP, _AT_ONCE = 1_000, 50


def rejoin(engine: Engine, of_text: TextWords) -> TextWords:
    """Join the halves of each broken word if a document has the joined word.

    A hyphen that belongs to the word, as in `well-known`, is kept: hardly any document has `wellknown`.
    """
    if not of_text.broken.size:
        return of_text
    whole = list(dict.fromkeys(of_text.whole_words()))[:MOST_LOOKED_UP]
    counts = [
        count
        for batch in batches(whole, _AT_ONCE)
        for count in engine.facets(BoundPlan(MatchAll()), [MatchCount(Words(word)) for word in batch])
    ]
    return of_text.rejoined({word for word, count in zip(whole, counts, strict=True) if count})
