"""Hyphens at the ends of lines."""

from __future__ import annotations

import pytest

from whorl.fingerprint.words.tokenizer import line_end_hyphens, without_line_end_hyphens


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("an exam-\nple", "an example"),
        ("an exam-  \r\n\t ple", "an example"),
        ("Über\u00ad\nsicht, ge\u2010\nnau", "Übersicht, genau"),
        ("EXAM-\nPLE", "EXAMPLE"),
        ("ge¬\nweſen, ge⸗\nnau, ge=\nlehrt", "geweſen, genau, gelehrt"),
        ("exam-\n\f  ple", "example"),
        ("pre-\nWar", "pre-\nWar"),
        ("1-\n2, x -\ny, z-\n\nw, exam-ple", "1-\n2, x -\ny, z-\n\nw, exam-ple"),
        ("-\nab-\n", "-\nab-\n"),
    ],
)
def test_hyphens_between_letters(text: str, joined: str) -> None:
    """
    Only a hyphen between two letters and one line end breaks a word; a capital begins a new one.
    """
    assert without_line_end_hyphens(text) == joined
    remaining, end = "", 0
    for start, beyond in line_end_hyphens(text):
        remaining, end = remaining + text[end:start], beyond
    assert remaining + text[end:] == joined
