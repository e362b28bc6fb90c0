"""What tantivy is given of a document, as its own analyzer and documents show it."""

from __future__ import annotations

import tantivy
from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.embedded.postings import DocumentTokens
from whorl.engine.embedded.schema import Entry, fill, words_analyzer
from whorl.engine.lucene import BETWEEN_WORDS, joined, presence, term, value_term
from whorl.fingerprint.shingling import join
from whorl.query.plan.clauses import Kind

ANALYZER = words_analyzer()


NO_TOKENS = DocumentTokens(0, ())


def filled(entry: Entry) -> dict[str, list[object]]:
    document = tantivy.Document()
    fill(document, "a", 7, entry)
    return dict(document.to_dict())


@given(st.text("k \N{NO-BREAK SPACE}", min_size=1), st.lists(st.text("aÄ\x1e\x1f \n\0😀"), max_size=6))
def test_words_are_split_where_they_were_joined(field: str, words: list[str]) -> None:
    """
    Whatever is in a word, blanks and control characters as well, it is one term, in its place.
    """
    terms = [term(field, word) for word in words]
    assert ANALYZER.analyze(BETWEEN_WORDS.join(terms)) == terms


def test_everything_is_indexed() -> None:
    """
    Number, words and whole values, each in the field that queries ask.
    """
    wholes = (("k", Kind.KEYWORD, "red"), ("n", Kind.INTEGER, 7))
    words = [(name, joined(name, join(own))) for name, own in (("k", ["red", "car"]), ("content", ["blue", "sky"]))]
    told = filled(Entry(NO_TOKENS, words, wholes))
    values = told.pop("values")
    assert told == {
        "id": ["a"],
        "number": [7],
        "words": [BETWEEN_WORDS.join([term("k", "red"), term("k", "car")])],
        "content": ["blue sky"],
    }
    present = [presence(*each) for each in (("k", Kind.TEXT), ("content", Kind.TEXT), ("k", Kind.KEYWORD))]
    present.append(presence("n", Kind.INTEGER))
    assert sorted(map(str, values)) == sorted(present + [value_term(*each) for each in wholes])


def test_values_without_words_are_there() -> None:
    """
    A text of punctuation has no term to be found by, and the document has something in the field all the same.
    """
    told = filled(Entry(NO_TOKENS, [("k", "")]))
    assert told == {"id": ["a"], "number": [7], "values": [presence("k", Kind.TEXT)]}
