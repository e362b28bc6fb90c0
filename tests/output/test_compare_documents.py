"""A comparison as JSON: sides, shares, and passages with their positions in characters and lines."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.compare_texts import CommonWords, compare, compare_words, words_of
from whorl.output.compare_documents import Lines, ReadText, comparison_values, warnings

FIRST = "The quick brown fox jumps over the lazy dog.\n"
SECOND = "So:\nTHE QUICK, brown\nfox jumps over a lazy dog.\n"
A, B = ReadText("a.txt", "file", FIRST), ReadText("", "text", SECOND)


def test_everything_that_is_known() -> None:
    """
    The values have shares rounded down, positions on both sides, and the texts of the passages.
    """
    assert comparison_values(A, B, compare(FIRST, SECOND)) == {
        "a": {"name": "a.txt", "kind": "file", "words": 9, "shingles": 5, "shared_words": 6, "coverage": 0.666666},
        "b": {"name": "", "kind": "text", "words": 10, "shingles": 6, "shared_words": 6, "coverage": 0.6},
        "scheme": "minhash1-icu74-w5-b512",
        "shared_shingles": 2,
        "jaccard": 0.222222,
        "a_in_b": 0.4,
        "b_in_a": 0.333333,
        "exact": True,
        "without_common": None,
        "warnings": [],
        "passages": [
            {
                "words": 6,
                "a": {"start": 0, "end": 30, "first_line": 1, "last_line": 1, "text": "The quick brown fox jumps over"},
                "b": {
                    "start": 4, "end": 35, "first_line": 2, "last_line": 3, "text": "THE QUICK, brown\nfox jumps over",
                },
            }
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "in_sides", "in_passages"),
    [("none", False, False), ("passages", False, True), ("whole", True, False)],
)
def test_texts_stand_in_one_place(
    texts: Literal["none", "passages", "whole"], in_sides: bool, in_passages: bool
) -> None:
    """
    The values contain the texts of the passages, the whole texts, or none.
    """
    comparison = compare(FIRST, SECOND)
    values: Any = comparison_values(A, B, comparison, texts=texts)
    passages = values["passages"]
    assert isinstance(passages, list)
    for side, read in (("a", A), ("b", B)):
        whole = values[side]
        assert isinstance(whole, dict)
        assert whole.get("text") == (read.text if in_sides else None)
        assert [passage[side].get("text") is not None for passage in passages] == [in_passages]


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("one two three four", FIRST, ["A has 4 words, fewer than the 5 of a shingle"]),
        (FIRST, "one", ["B has 1 word, fewer than the 5 of a shingle"]),
        ("", "…", ["A has 0 words, fewer than the 5 of a shingle", "B has 0 words, fewer than the 5 of a shingle"]),
        (FIRST, SECOND, []),
    ],
)
def test_texts_without_shingles(a: str, b: str, said: list[str]) -> None:
    """
    A warning names each side without shingles, and all shares are 0.
    """
    comparison = compare(a, b)
    assert [warning.partition(":")[0] for warning in warnings(comparison)] == said
    values = comparison_values(ReadText("", "text", a), ReadText("", "text", b), comparison)
    assert values["warnings"] == warnings(comparison)
    if said:
        assert (values["jaccard"], values["a_in_b"], values["b_in_a"], values["passages"]) == (0, 0, 0, [])


@given(st.text(alphabet="ab\n\r\u2028😀\f", max_size=30), st.data())
def test_lines_are_counted(text: str, data: st.DataObject) -> None:
    """
    Line numbers count the line feeds before the first and last character of a range; other line ends do not count.
    Pages count form feeds.
    """
    if not text:
        return
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    lines = Lines(text)
    assert lines.span(start, end) == (1 + text.count("\n", 0, start), 1 + text.count("\n", 0, end - 1))
    found = lines.range((start, end), with_text=True)
    assert found.text == text[start:end]
    assert found.page == (1 + text.count("\f", 0, start) if "\f" in text else None)
    ends = [lines.span(at, at + 1)[0] for at in range(len(text))]
    assert all(later - earlier in (0, 1) for earlier, later in pairwise(ends))


def test_without_common_text() -> None:
    """
    The values without common text: six of nine words are common, and three of five shingles remain.
    """
    of_a, of_b = words_of(FIRST), words_of(SECOND)
    marks = [np.array([place in range(first, first + 6) for place in range(size)]) for first, size in ((0, 9), (1, 10))]
    comparison = compare_words(of_a, of_b, common=CommonWords(marks[0], marks[1], 0))
    assert comparison_values(A, B, comparison)["without_common"] == {
        "jaccard": 0.0,
        "a_in_b": 0.0,
        "b_in_a": 0.0,
        "shared_shingles": 0,
        "a": {"common_words": 6, "shingles": 3, "common": [{"start": 0, "end": 30}]},
        "b": {"common_words": 6, "shingles": 4, "common": [{"start": 4, "end": 35}]},
    }
