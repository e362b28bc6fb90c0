"""The word-break tables of a release, and their state machine and script runs."""

import re
import runpy
from functools import cache
from pathlib import Path

import hypothesis
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.words.tokenizer import (
    PROFILES,
)
from whorl.fingerprint.words.wordbreak import FIRST_PLANE, JAPANESE, TABLES, character_class, tables

TOOLS = Path(__file__).parents[3] / "tools" / "wordbreak"

profiles = pytest.mark.parametrize("profile", PROFILES)


@profiles
def test_ascii_folds_to_lower_case(profile: str) -> None:
    """
    The shortcut for ASCII folding agrees with the tables.
    """
    for code in range(128):
        assert tables(profile).fold.get(code, chr(code)) == chr(code).lower()


def test_the_tool_makes_the_tables_of_all_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The tool writes to the folder that whorl reads, and knows all profiles.
    """
    monkeypatch.syspath_prepend(TOOLS)
    tool = runpy.run_path(str(TOOLS / "build_tables.py"))
    assert tool["TABLES"] == TABLES
    assert tuple(tool["VERSIONS"]) == PROFILES


@profiles
def test_tables_name_their_source(profile: str) -> None:
    """
    Tables name their source jars and all their dictionaries.
    """
    about = tables(profile).about
    assert about["profile"] == profile
    assert {f"lucene-analysis-icu-{about['lucene']}.jar", f"icu4j-{about['icu4j']}.jar"} <= about["sha256"].keys()
    assert sorted(about["dictionaries"]) == ["burmesedict", "cjdict", "khmerdict", "laodict", "thaidict"]


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("", [(0, "")]),
        ("1 2", [(3, "")]),
        ("abc Миру. да 日本カナ, x", [(4, "Latn"), (13, "Cyrl"), (19, "Jpan"), (20, "Latn")]),
        ("1, а", [(4, "Cyrl")]),  # initial characters without a script belong to the following one
        ("a\u0301б\u0301", [(2, "Latn"), (4, "Cyrl")]),  # marks stay with their letter
        ("カーa", [(2, "Jpan"), (3, "Latn")]),
        ("\u0661ا\u0662", [(3, "Arab")]),
    ],
)
def test_runs_of_one_script(text: str, runs: list[tuple[int, str]]) -> None:
    """
    Common characters and marks continue a run; Chinese characters and both Kana are one script.
    """
    numbers = {"": 0, "Latn": 25, "Cyrl": 8, "Jpan": JAPANESE, "Arab": 2}
    actual = tables("icu74").script_runs(text)
    assert [(end, script) for _, end, script in actual] == [(end, numbers[name]) for end, name in runs]
    assert [start for start, _, _ in actual] == [0, *(end for end, _ in runs[:-1])]


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("", []),
        ("don't stop 12.", ["don't", "stop", "12"]),
        ("a,1 1,000 _x", ["a", "1", "1,000", "_x"]),
        ("#", []),
        ("\u0301 e\u0301", ["e\u0301"]),
    ],
)
@profiles
def test_segments_by_hand(profile: str, text: str, segments: list[str]) -> None:
    """
    Under the rules for most scripts, the segments cover the text, and the word segments are the expected words.
    """
    actual = tables(profile).default.segments(text, lambda segment: pytest.fail("no dictionary is asked"))
    assert "".join(text[start:end] for start, end, _ in actual) == text
    assert [text[start:end] for start, end, is_word in actual if is_word] == segments


def test_dictionaries_divide_segments() -> None:
    """
    Segments in need of a dictionary are divided by it, and no others.
    """
    segments: list[str] = []

    def divide(segment: str) -> list[int]:
        segments.append(segment)
        return [2] if segment == "ไทยไทย" else []

    actual = tables("icu74").default.segments("ab ไทยไทย cd", divide)
    assert [(start, end) for start, end, is_word in actual if is_word] == [(0, 2), (3, 5), (5, 9), (10, 12)]
    assert "ไทยไทย" in segments


@cache
def separators(profile: str) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    both = tables(profile)
    return both.default.separators(both.emoji)


@profiles
@given(before=st.text(max_size=8), after=st.text(min_size=1, max_size=8), separator=st.sampled_from(" \n:-("))
def test_separators_end_segments(profile: str, before: str, after: str, separator: str) -> None:
    """
    A text may be cut after a separator unless a joiner follows: the parts have the segments of the whole.
    """
    rules, (is_separator, is_joiner) = tables(profile).default, separators(profile)
    hypothesis.assume(is_separator[ord(separator)])
    hypothesis.assume(ord(after[0]) < FIRST_PLANE)
    hypothesis.assume(not is_separator[ord(after[0])] and not is_joiner[ord(after[0])])
    left, right = before + separator, after
    whole = rules.segments(left + right, lambda segment: [])
    shifted = [
        (start + len(left), end + len(left), is_word)
        for start, end, is_word in rules.segments(right, lambda segment: [])
    ]
    assert list(whole) == [*rules.segments(left, lambda segment: []), *shifted]


@given(st.sets(st.integers(0, 300)))
def test_character_classes(codes: set[int]) -> None:
    """
    The class of a set of characters matches exactly these, including special characters of regular expressions.
    """
    mask = np.zeros(301, np.bool_)
    mask[sorted(codes)] = True
    actual = re.compile(f"[{character_class(mask)}]") if codes else re.compile("(?!)")
    assert {code for code in range(301) if actual.fullmatch(chr(code))} == codes
