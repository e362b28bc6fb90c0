"""Tests of printing a comparison on a terminal."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from whorl.cli.render.comparison import shorten, summary_lines
from whorl.fingerprint.compare_texts import compare
from whorl.fingerprint.shingling import Scheme
from whorl.operations import CompareOperation
from whorl.output.compare_documents import ReadText


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a  b\n\tc", "a b c"),
        ("x" * 330, "x" * 330),
        ("x" * 331, f"{'x' * 220} … {'x' * 110}"),
        ("x" * 9999, f"{'x' * 220} … {'x' * 110}"),
        ("ab " * 200, f"{'ab ' * 72}ab … {'ab ' * 35}ab"),
        ("a\x1b[31mb\u202ec", "a\ufffd[31mb\ufffdc"),
        ("می\u200cخواهم \U0001f469\u200d\U0001f680", "می\u200cخواهم \U0001f469\u200d\U0001f680"),
    ],
    ids=len,
)
def test_shortened(text: str, shown: str) -> None:
    """
    White space becomes one blank, words stay whole, control characters are replaced, and joiners are part of the text.
    """
    assert shorten(f"before {text.strip()} after", 7, 7 + len(text.strip())) == shown


@settings(max_examples=40)
@given(st.text(max_size=40), st.integers(0, 300), st.integers(0, 300))
def test_any_range_is_one_line(piece: str, repeats: int, start: int) -> None:
    """
    Any excerpt is one line of at most 333 characters, and none of them moves the cursor.
    """
    text = piece * repeats
    line = shorten(text, min(start, len(text)), len(text))
    assert len(line) <= 220 + len(" … ") + 110
    assert line.isprintable() or set(filter(lambda char: not char.isprintable(), line)) <= {"\u200c", "\u200d"}


def lines(a: ReadText, b: ReadText, *, most: int = 5, width: int = 120) -> list[str]:
    """Return the printed lines of a comparison."""
    printer = Console(file=io.StringIO(), width=width)
    comparison = compare(a.text, b.text, Scheme())
    return [line.plain for line in summary_lines(a, b, comparison, CompareOperation(rows=most), printer=printer)]


def test_sizes_shares_and_places() -> None:
    """
    Texts of nine and ten words with six consecutive words in common share two of five and of six shingles.
    """
    first = ReadText("a.txt", "file", "The quick brown fox jumps over the lazy dog.\n")
    second = ReadText("", "standard input", "So:\nTHE QUICK, brown\nfox jumps over a lazy dog.\n")
    assert lines(first, second) == [
        "A  file a.txt  9 words, 5 different shingles of 5 words",
        "B  standard input  10 words, 6 different shingles of 5 words",
        "",
        "jaccard  ████░░░░░░░░░░░░░░░░  22.2%  2 of the 9 shingles of both",
        "A in B   ████████░░░░░░░░░░░░  40.0%  2 of the 5 of A",
        "B in A   ███████░░░░░░░░░░░░░  33.3%  2 of the 6 of B",
        "",
        "1 passage in both, with 66.6% of the words of A and 60.0% of those of B",
        "",
        "1. 6 words  A line 1 [0:30], B lines 2-3 [4:35]",
        "   The quick brown fox jumps over",
    ]


def test_a_narrow_terminal() -> None:
    """
    Passages are wrapped to the width of the terminal, indented, with a minimum of twenty characters.
    """
    text = ReadText("a", "document", " ".join(["word"] * 40))
    for width, longest in ((40, 40), (10, 23)):
        passage = [line for line in lines(text, text, width=width) if line.startswith("   ")]
        assert len(passage) > 1
        assert longest - 5 <= max(map(len, passage)) <= longest


def test_names_are_not_acted_on() -> None:
    """
    Escape sequences in ids are replaced.
    """
    assert lines(ReadText("\x1b[2J", "document", ""), ReadText("b", "document", ""))[0].startswith(
        "A  document \ufffd[2J"
    )
