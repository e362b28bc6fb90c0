"""Tests of values over 1,000 characters, which are indexed by their beginning and a digest, on every engine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest

from whorl import Document, Store, quote

#: Texts without a digit, and without a word that ends in a.
_WORDS = ["the", "tenant", "keeps", "inside", "of", "office", "repair", "and", "landlord", "roof", "rent", "month"]
#: Number of characters of a longer value that patterns see.
_SEEN = 200


def texts() -> dict[str, str]:
    chance = random.Random(1)
    long = {f"long {number}": " ".join(chance.choices(_WORDS, k=250)) for number in range(60)}
    short = {f"short {number}": " ".join(chance.choices(_WORDS, k=60)) for number in range(20)}
    return long | short


TEXTS = texts()
#: Words that are too long for a term of OpenSearch.
LONG_WORDS = {f"word {letter}": letter * 260 for letter in "abcdefgh"}


@pytest.fixture(scope="module")
def filled(store: Store) -> Iterator[Store]:
    abstracts = [Document(name, "", properties={"abstract": text}) for name, text in TEXTS.items()]
    store.index([*abstracts, *(Document(name, "", properties={"big": word}) for name, word in LONG_WORDS.items())])
    yield store
    store.delete([*TEXTS, *LONG_WORDS])


def found(store: Store, query: str) -> set[str]:
    return {hit.id for hit in store.search(query, rows=100).hits}


@pytest.mark.parametrize("pattern", ["*0*", "*7", "?*7", "*a", "*f", "*d?", "*zz*"])
def test_no_pattern_matches_a_digest(filled: Store, pattern: str) -> None:
    """
    A pattern that no word and no value matches finds nothing.
    """
    words = {name for name, text in TEXTS.items() if any(fnmatchcase(word, pattern) for word in text.split())}
    assert found(filled, f"abstract:{pattern}") == words


@pytest.mark.parametrize("pattern", ["*landlord*", "tenant*", "*repair", "*roof*rent*", "t?e *", "*", "*month*rent"])
def test_patterns_of_whole_values(filled: Store, pattern: str) -> None:
    """
    A pattern of whole values sees the first 200 characters of a longer value, and no end.
    """
    expected = {name for name, text in TEXTS.items() if len(text) <= 1000 and fnmatchcase(text, pattern)}
    if pattern.endswith("*"):
        expected |= {name for name, text in TEXTS.items() if fnmatchcase(text[:_SEEN], pattern)}
    assert found(filled, f'=abstract:"{pattern}"') == expected


def test_the_whole_value(filled: Store) -> None:
    """
    A long value is equal only to itself, and a range of values sees its beginning.
    """
    for name in ("long 0", "long 7", "short 3"):
        assert found(filled, f"=abstract:{quote(TEXTS[name])}") == {name}
    expected = {name for name, text in TEXTS.items() if "office" <= text <= "rent the"}
    assert found(filled, 'abstract:["office" TO "rent the"]') == expected


@pytest.mark.parametrize("letter", "abcdefg7")
def test_no_pattern_matches_the_digest_of_a_word(filled: Store, letter: str) -> None:
    """
    A pattern finds only the words that end or begin with its letter.
    """
    expected = {name for name, word in LONG_WORDS.items() if word.endswith(letter)}
    assert found(filled, f"big:*{letter}") == expected
    assert found(filled, f"big:{letter}*") == expected
