"""SimHash schemes of published libraries, compared with the codes of those libraries."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import ParameterError
from whorl.hamming.other_simhash_libraries import (
    hash_fp,
    lookup3,
    md5_of_four_characters,
    md5_of_four_words,
    rolling_ascii_words,
    rolling_unicode_words,
    shingle,
    unsigned_hash,
)
from whorl.hamming.simhash import simhash, simhashes
from whorl.hamming.votes import Hashes

ROOT = Path(__file__).parents[2]


#: The file names the original programs and how they were run.
VECTORS = json.loads((ROOT / "tests" / "vectors" / "simhash.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("scheme", [name for name in VECTORS["texts"][0] if name != "text"])
def test_codes_equal_those_of_the_original_libraries(scheme: str) -> None:
    """
    Texts have the codes of the original library, one by one and together.
    """
    expected = [vector[scheme] for vector in VECTORS["texts"]]
    assert [simhash(vector["text"], scheme) for vector in VECTORS["texts"]] == expected
    assert simhashes([vector["text"] for vector in VECTORS["texts"]], scheme).tolist() == expected


def test_features_and_hashes_equal_those_of_the_original_libraries() -> None:
    """
    Hashes of byte strings, codes of hashes, and windows equal those of simhash-py.
    """
    for string, expected in VECTORS["unsigned_hash"]:
        assert unsigned_hash(string.encode()) == expected
    for given_numbers, expected in VECTORS["hash_fp"]:
        assert hash_fp(given_numbers) == expected
    for count, window, expected in VECTORS["shingle"]:
        assert list(shingle(range(count), window)) == expected


@given(st.lists(st.integers(0, 3), max_size=9), st.integers(1, 5))
def test_windows(tokens: list[int], window: int) -> None:
    """
    A window contains `window` neighbouring tokens; the tokens may be an iterator.
    """
    expected = [tokens[at : at + window] for at in range(len(tokens) - window + 1)]
    assert list(shingle(iter(tokens), window)) == expected


def test_values_out_of_range_are_refused() -> None:
    """
    A window of 0 is an error before any token is read; numbers beyond 64 bits are an error, too.
    """
    with pytest.raises(ParameterError, match="must be positive, got 0"):
        shingle("abc", 0)
    for number in (1 << 63, -(1 << 63) - 1):
        with pytest.raises(ParameterError, match="with a sign"):
            hash_fp([number])


CODES = [md5_of_four_words, rolling_unicode_words, rolling_ascii_words, md5_of_four_characters]


@pytest.mark.parametrize("codes", CODES)
def test_codes_of_a_batch_equal_those_of_single_texts(codes: Callable[[Sequence[str]], Hashes]) -> None:
    """
    The code of a text does not depend on the preceding texts, even if these are empty or of one word.
    """
    texts = ["", "a", "one two three four five six", "", "One, two: three!", "naïve Straße 東京", "a b", "\ud800 x"]
    assert codes(texts).tolist() == [int(codes([text])[0]) for text in texts]
    assert codes([]).tolist() == []


def test_four_words_by_hand() -> None:
    """
    A text of four words is one feature, and its code is the hash; a text of three words has none.
    """
    assert md5_of_four_words(["a b c d", "a b c"]).tolist() == [unsigned_hash(b"a b c d"), 0]


#: The file names the original programs and how they were run.


def test_lookup3_prints_what_its_author_published() -> None:
    """
    The hashes are those published by the author of lookup3, and those of simhash-cpp.
    """
    for string, primary, secondary, expected in VECTORS["lookup3_published"]:
        assert f"{lookup3([string.encode()], primary, secondary)[0]:016x}" == expected
    for string, primary, secondary, expected in VECTORS["lookup3"]:
        assert lookup3([string.encode()], primary, secondary).tolist() == [expected]


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_hashes_of_many_strings_equal_those_of_single_strings(strings: list[bytes]) -> None:
    """
    Hashes of many strings equal those of single strings, whatever the lengths.
    """
    assert lookup3(strings).tolist() == [lookup3([string])[0] for string in strings]
