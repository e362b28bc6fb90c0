"""Exclusion of quotations and references from the words to be accounted for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import ParameterError
from whorl.fingerprint.compare_texts import words_of
from whorl.fingerprint.shingling import Scheme
from whorl.search.attribution.excluded_parts import (
    Exclusion,
    exclusion_named,
    find_excluded_ranges,
    mask_excluded_words,
)

BOTH = tuple(Exclusion)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("She said “we go” and “we stay” then.", ["“we go”", "“we stay”"]),
        ("Er sagte „gut so“ und „nein”.", ["„gut so“", "„nein”"]),
        ("Il dit « oui » ; sie sagt »nein«.", ["« oui »", "»nein«"]),
        ("彼は「はい」と『いいえ』", ["「はい」", "『いいえ』"]),
        ('A "first" and a "second" one', ['"first"', '"second"']),
        # A mark that is not closed in its paragraph opens no quotation: an inch sign, a forgotten mark.
        ('A 19" rack.\n\nAnother 19" rack.', []),
        ("“ never closed", []),
        ("don't, it's", []),
        ("> quoted line\nown\n  > another\n>> deeper", ["> quoted line", "  > another", ">> deeper"]),
    ],
)
def test_quotations(text: str, parts: list[str]) -> None:
    """
    Quotations are text between the quotation marks of a language, within a paragraph, and quoted lines of an e-mail.
    """
    excluded = sorted(find_excluded_ranges(text, [Exclusion.QUOTATIONS]))
    assert [text[start:end] for start, end in excluded] == parts
    assert list(find_excluded_ranges(text, [Exclusion.REFERENCES])) == []


@pytest.mark.parametrize(
    "heading",
    ["References", "7. References", "## Bibliography", "12.3  WORKS CITED", "Literaturverzeichnis:", "参考文献"],
)
@pytest.mark.parametrize("behind", ["", "Appendix A. More\ntext", "Authors' Addresses\nsomewhere", "Anhang B\nmehr"])
def test_references(heading: str, behind: str) -> None:
    """
    References extend from their heading, alone on its line, to the end or to a typical following section.
    """
    own, listed = "References are listed below.\n\n", f"{heading}\n\n[1] One\n[2] Two\n\n"
    text = own + listed + behind
    assert [text[start:end] for start, end in find_excluded_ranges(text, [Exclusion.REFERENCES])] == [listed]


def test_words_in_them() -> None:
    """
    mask_excluded_words marks whole words by their positions.
    """
    text = 'one "two three" four\nReferences\nfive'
    is_excluded = mask_excluded_words(text, words_of(text, Scheme()), BOTH)
    assert is_excluded.tolist() == [False, True, True, False, True, True]
    assert not mask_excluded_words(text, words_of(text, Scheme()), []).any()


@given(st.text(alphabet='“”„«»「」"\n> aReferences1.', max_size=80))
def test_ranges_are_within_the_text(text: str) -> None:
    """
    For any marks, every range lies within the text.
    """
    excluded = list(find_excluded_ranges(text, BOTH))
    assert all(0 <= start < end <= len(text) for start, end in excluded)


def test_marks_that_nothing_closes_are_looked_for_once() -> None:
    """
    The search for unclosed marks takes linear time: a separate one for each mark would take 10^9 steps.
    """
    assert list(find_excluded_ranges("“「『" * 30_000, [Exclusion.QUOTATIONS])) == []


def test_no_such_part() -> None:
    """
    The error lists the valid names of parts.
    """
    assert exclusion_named("quotations") is exclusion_named(Exclusion.QUOTATIONS) is Exclusion.QUOTATIONS
    with pytest.raises(ParameterError, match="must be one of quotations, references, got 'footnotes'"):
        exclusion_named("footnotes")
