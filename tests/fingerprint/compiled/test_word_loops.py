"""Words by tables and by the state machine, compared with the plain route."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fingerprint.compiled.scripts import (
    assert_same,
    needs_numba,
    new_kernel,
    texts,
    words_of,
)
from tests.sampling import sample
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.words.tokenizer import BUFFER_UNITS, PROFILES, tokens

pytestmark = needs_numba


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_every_character(profile: str) -> None:
    """
    Each character of the first two planes (of a quarter of them in a sample) gives the same words between letters,
    after a space and alone. Their hashes do not depend on the profile.
    """
    for first in sample(range(0, 0x20000, 0x400), 4, PROFILES.index(profile)):
        characters = [chr(code) for code in range(first, first + 0x400)]
        text = " ".join(f"a{character}b {character} {character}c" for character in characters)
        if profile == PROFILES[-1]:
            assert_same(text, Scheme(profile))
        else:
            assert words_of(new_kernel(Scheme(profile)), text) == tokens(text, profile)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    length=st.integers(BUFFER_UNITS - 12, BUFFER_UNITS + 12),
    filler=st.sampled_from(["x", "x ", "é", "é ", "漢", "ก", "😀", "a😀 ", "Я ", "\u0301"]),
    text=texts,
)
def test_the_border_of_a_buffer(length: int, filler: str, text: str) -> None:
    """
    The end of Lucene's buffer of 4,096 units cuts words at the same position, even within a surrogate pair.
    """
    start = (filler * length)[:length]
    assert_same(start + text + " " + start, Scheme())


def test_python_unicode_tables_are_not_used() -> None:
    """
    A character newer than a profile's Unicode version is not a letter, whatever the Unicode version of this Python.
    """
    newer = "\u1c89"  # Cyrillic, Unicode 16
    assert unicodedata.category("a") == "Ll"
    assert words_of(new_kernel(Scheme("icu77")), newer) == tokens(newer, "icu77") == ["\u1c8a"]
    assert words_of(new_kernel(Scheme("icu70")), newer) == tokens(newer, "icu70") == []
