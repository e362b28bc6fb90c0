"""Tests of what a text need not account for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import ParameterError
from whorl.fingerprint.passages import words_of
from whorl.fingerprint.scheme import Scheme
from whorl.sources.exclusions import Exclusion, excluded_ranges, excluded_words, exclusion_named

BOTH = tuple(Exclusion)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("She said “we go” and “we stay” then.", ["“we go”", "“we stay”"]),
        ("Er sagte „gut so“ und „nein”.", ["„gut so“", "„nein”"]),
        ("Il dit « oui » ; sie sagt »nein«.", ["« oui »", "»nein«"]),
        ("彼は「はい」と『いいえ』", ["「はい」", "『いいえ』"]),
        ('A "first" and a "second" one', ['"first"', '"second"']),
        # What nothing closes in its paragraph opens nothing: an inch, a forgotten mark.
        ('A 19" rack.\n\nAnother 19" rack.', []),
        ("“ never closed", []),
        ("don't, it's", []),
        ("> quoted line\nown\n  > another\n>> deeper", ["> quoted line", "  > another", ">> deeper"]),
    ],
)
def test_quotations(text: str, parts: list[str]) -> None:
    """
    What stands between marks of a language, within a paragraph, and lines as e-mail quotes them.
    """
    found = sorted(excluded_ranges(text, [Exclusion.QUOTATIONS]))
    assert [text[start:end] for start, end in found] == parts
    assert list(excluded_ranges(text, [Exclusion.REFERENCES])) == []


@pytest.mark.parametrize(
    "heading",
    ["References", "7. References", "## Bibliography", "12.3  WORKS CITED", "Literaturverzeichnis:", "参考文献"],
)
@pytest.mark.parametrize("behind", ["", "Appendix A. More\ntext", "Authors' Addresses\nsomewhere", "Anhang B\nmehr"])
def test_references(heading: str, behind: str) -> None:
    """
    From their heading, which stands alone in its line, to the end or to what usually stands behind them.
    """
    own, listed = "References are listed below.\n\n", f"{heading}\n\n[1] One\n[2] Two\n\n"
    text = own + listed + behind
    assert [text[start:end] for start, end in excluded_ranges(text, [Exclusion.REFERENCES])] == [listed]


def test_words_in_them() -> None:
    """
    Whole words, by their places in the text.
    """
    text = 'one "two three" four\nReferences\nfive'
    is_excluded = excluded_words(text, words_of(text, Scheme()), BOTH)
    assert is_excluded.tolist() == [False, True, True, False, True, True]
    assert not excluded_words(text, words_of(text, Scheme()), []).any()


@given(st.text(alphabet='“”„«»「」"\n> aReferences1.', max_size=80))
def test_ranges_are_within_the_text(text: str) -> None:
    """
    Whatever the marks, each range is one of the text.
    """
    found = list(excluded_ranges(text, BOTH))
    assert all(0 <= start < end <= len(text) for start, end in found)


def test_marks_that_nothing_closes_are_looked_for_once() -> None:
    """
    Many opening marks end at once: for each to look to the end would be 10^9 steps.
    """
    assert list(excluded_ranges("“「『" * 30_000, [Exclusion.QUOTATIONS])) == []


def test_no_such_part() -> None:
    """
    The message names those that there are.
    """
    assert exclusion_named("quotations") is exclusion_named(Exclusion.QUOTATIONS) is Exclusion.QUOTATIONS
    with pytest.raises(ParameterError, match="must be one of quotations, references, got 'footnotes'"):
        exclusion_named("footnotes")
