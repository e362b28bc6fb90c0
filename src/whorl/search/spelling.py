"""Suggests spellings: replaces words found in no document by the nearest words that are."""

from __future__ import annotations

from collections import Counter

from whorl.engine.protocol import Engine
from whorl.errors import SchemaError
from whorl.fingerprint.words.tokenizer import tokens, tokens_and_spans
from whorl.query.plan.nodes import BoundPlan, FuzzyWord, Words
from whorl.query.plan.resolve import MOST_EDITS, distance
from whorl.query.plan.values import split_name
from whorl.request_context import require_time

#: Maximum numbers of words to check in a text, of documents searched for nearer words, and of characters per document.
_MOST_WORDS, _MOST_DOCUMENTS, _MOST_CHARACTERS = 20, 10, 100_000
#: Minimum length of a checked word (shorter words have too many neighbours); minimum length for replacements that
#: differ by two edits instead of one.
_SHORTEST, _FEW_LETTERS = 3, 5
_OPERATORS = frozenset({"AND", "OR", "NOT", "TO"})


def corrected(engine: Engine, text: str) -> str | None:
    """Return a text with its unknown words replaced by known ones, or None if no word is replaced.

    A word is known if a document has it in its name or text. An unknown word is replaced by the nearest known word
    within two edits, or one edit if the word is short. Ties go to the word that is most frequent in the documents read.
    """
    profile = engine.scheme.profile
    words, spans = tokens_and_spans(text, profile)
    pieces, at = list[str](), 0
    for word, (start, end) in list(zip(words, spans.tolist(), strict=True))[:_MOST_WORDS]:
        if text[start:end] in _OPERATORS or len(word) < _SHORTEST or not word.isalpha():
            continue
        require_time()
        if replacement := _nearest(engine, word, profile):
            pieces += [text[at:start], replacement]
            at = end
    return "".join([*pieces, text[at:]]) if pieces else None


def _nearest(engine: Engine, word: str, profile: str) -> str | None:
    if engine.search(BoundPlan(Words(word)), start=0, rows=0).total:
        return None
    edits = MOST_EDITS if len(word) >= _FEW_LETTERS else 1
    hits = engine.search(BoundPlan(FuzzyWord(word, edits)), start=0, rows=_MOST_DOCUMENTS).hits
    try:
        texts = engine.texts([hit.id for hit in hits])
    except SchemaError:
        texts = {}
    counts = Counter[str]()
    for hit in hits:
        words = {
            *tokens(hit.name, profile),
            *tokens(split_name(hit.name), profile),
            *tokens(texts.get(hit.id, "")[:_MOST_CHARACTERS], profile),
        }
        counts.update(other for other in words if abs(len(other) - len(word)) <= edits)
    near = [(edited, -count, other) for other, count in counts.items() if (edited := distance(other, word)) <= edits]
    return min(near)[2] if near else None
