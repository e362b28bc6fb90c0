"""Corrects misspelt queries: replaces words that occur in no document with similar words that do."""

from __future__ import annotations

import re
from collections import Counter

from whorl.engine.protocol import Engine
from whorl.errors import SchemaError
from whorl.fingerprint.words.tokenizer import tokens, tokens_and_spans
from whorl.query.literals import QUALIFIED
from whorl.query.plan.fields_and_values import REPOSITORY_FIELDS, split_name
from whorl.query.plan.nodes import BoundPlan, FuzzyWord, Words
from whorl.query.plan.planner import MOST_EDITS, edit_distance, is_near
from whorl.request_context import require_time

#: Limits for suggestions: words to check, documents to read, and characters to read of each document.
_MOST_WORDS, _MOST_DOCUMENTS, _MOST_CHARACTERS = 20, 10, 100_000
#: Minimum length of a word to check (too many words are similar to a shorter word), and minimum length of a word that
#: may differ by two edits from its replacement.
_SHORTEST, _FEW_LETTERS = 3, 5
_OPERATORS = frozenset({"AND", "OR", "NOT", "TO"})
#: Fields whose values are ids, paths or names of types, not words.
_WORDLESS_FIELDS = {"FINGERPRINT", "ID", *QUALIFIED, *REPOSITORY_FIELDS} - {"TAG"}
#: Piece of a query: a phrase, a field of `_WORDLESS_FIELDS` with its values, the name of another field, or a word. The
#: pattern must also match words: otherwise, the search would start again at each escaped character of a word, which
#: takes quadratic time.
_QUERY_PIECE = re.compile(
    rf"""(?P<phrase>"(?:\\.|[^"\\])*")|\b(?:{"|".join(_WORDLESS_FIELDS)}):\s*(?:"[^"]*"?|'[^']*|\([^()]*|[^\s()"'^]*)"""
    r"""|(?:\\.|[\w.\-$])++\s*+:(?!//)|(?P<word>(?:\\.|[\w.\-$])++)"""
)


def correct_spelling(engine: Engine, text: str) -> str | None:
    """Replace unknown words of a text by known words; return None if no word is replaced.

    A word is known if the name or text of a document contains it. An unknown word is replaced by the nearest known word
    within two edits (one edit for short words); ties go to the most frequent word. Operators, names of fields,
    FINGERPRINTs, and values of fields such as TYPE are not replaced.
    """
    profile = engine.scheme.profile
    # Replace the pieces that are not text by blanks, so that the positions of the words stay the same.
    words, spans = tokens_and_spans(
        _QUERY_PIECE.sub(lambda match: match["phrase"] or match["word"] or " " * len(match[0]), text), profile
    )
    pieces, at = list[str](), 0
    for word, (start, end) in list(zip(words, spans.tolist(), strict=True))[:_MOST_WORDS]:
        if text[start:end] in _OPERATORS or len(word) < _SHORTEST or not word.isalpha():
            continue
        require_time()
        if replacement := _find_nearest(engine, word, profile):
            pieces += [text[at:start], replacement]
            at = end
    return "".join([*pieces, text[at:]]) if pieces else None


def _find_nearest(engine: Engine, word: str, profile: str) -> str | None:
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
        known = (hit.name, split_name(hit.name), texts.get(hit.id, "")[:_MOST_CHARACTERS])
        counts.update({other for text in known for other in tokens(text, profile)})
    near = [other for other in counts if is_near(other, word, edits)]
    return min(near, key=lambda other: (edit_distance(other, word), -counts[other], other), default=None)
