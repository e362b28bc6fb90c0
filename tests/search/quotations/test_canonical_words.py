"""What an exact quotation ignores and what it compares, and the positions of words in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks import Checks
from tests.sampling import thorough
from whorl.request_context import new_request
from whorl.search.quotations import canonical_words
from whorl.search.quotations.canonical_words import CanonicalText


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Infor-\n  mation", "information"),
        ("well-known", "well- \nknown"),
        ("Erzh=\nerzog, abſch¬ \r\nneiden, blu⸗\n\ftig", "Erzherzog, abſchneiden, blutig"),
        ("שָׁ֔ם¬\nב", "שָׁ֔ם-\nב"),
        ("“Don’t”", '"don\'t"'),
        ("[T]he tenant,", "the tenant."),
        ("rent – due", "rent - due"),
        ("coöperate\u00ad", "coo\u0308perate"),
        ("ﬁle", "FILE"),
        ("STRASSE", "straße"),
        ("a\u00a0b", "a b"),
        ("roof—walls", "roof -- walls"),
        ("1990–1995", "1990-1995"),
        ("end.\nNext", "end next"),
        ("10 %", "10%"),
        ("10\n%", "10%"),
        ("−5", "-5"),
        ("Stop! (Now!)", "stop now"),
        ("the rent (in advance)", "the rent in advance"),
        ("a·b", "a b"),
        ("and/or", "and / or"),
        ("「民法」です。", "民法です"),
        ("\uff11\uff12", "12"),
        ("RFC-2119", "rfc 2119"),
        ("the *tenant pays* a **rent** of _5_", "the tenant pays a rent of 5"),
        ("۵٪", "۵%"),
        ("is due.[3] The tenant", "is due. The tenant"),
        ("in 1990.[12][13]", "in 1990."),
        ("in time,[1] it is due;[2][3] but", "in time, it is due; but"),
        ("in time,² it is", "in time, it is"),
        ("in 1990,[1, 2] it ended.[4–6] The", "in 1990, it ended. The"),
        ("in time,[citation needed] it[who?] ended[note 2].[3][clarification needed] The", "in time, it ended. The"),
        ("it is due,[1]", "it is due"),
        ("is due[^3] in May.[^note]", "is due in May."),
        ("is due.³ The tenant", "is due. The tenant"),
        ("see [the *lease*](https://example.org/a_(b)) of", "see the lease of"),
        ("see [the lease](docs/lease.md) of", "see the lease of"),
        ("Jose\u0301’s cafe\u0301-\nbar", "josé's café-bar"),
        ("[E\u0301]tat", "état"),
        ("か\u3099き\u3099う\u3099", "がぎゔ"),
        ("\u1025\u102e", "\u1026"),
        ("हिन्दी-\nभाषा", "हिन्दीभाषा"),
        ("of ***first*** and __second rank__", "of first and second rank"),
        ("x - y", "x y"),
        ("x – y", "x y"),
        ("5' high", '5" high'),
        ("see [it](#2) or ![a plan](./plan.png)", "see it or a plan"),
        ("wrote:\n> the rent\n> is due\n>\n>> in > May\n> > at noon", "wrote: the rent is due in > May at noon"),
        (
            "Due:\n* the rent\n  of May\n* the fee\n\n+ the tax\n+ 5 a day",
            "Due: the rent of May the fee the tax 5 a day",
        ),
        ("What is due\n* the rent\n* the fee", "What is due the rent the fee"),
        ("\n+ the rent", "the rent"),
        ("/**\n * The rent\n * is due\n */", "/** The rent is due */"),
        ("# The rent\n#\n# is due\n", "The rent is due"),
        (
            "+---+\n| The rent is |\n|             |\n| due in ad-  |\n| vance.      |\n+---+",
            "+---+ The rent is due in advance +---+",
        ),
        ("\n ** \n *  The rent * 2  *\n *  is due        *", " ** The rent * 2 is due"),
        ("# The rent #\n# is due #", "The rent is due"),
        ("the rent\\\nis due<br>\nat noon<br/>or<br>later", "the rent is due at noon or later"),
        ("the rent is due \\", "the rent is due"),
    ],
)
def test_equal(a: str, b: str) -> None:
    """
    Case, lines, hyphenation, typography, loose punctuation, footnote marks and links do not count.
    """
    assert CanonicalText(a).words == CanonicalText(b).words


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("it is\n> 5", "it is 5"),
        ("it is\n>= 5\n>= 4", "it is 5 4"),
        ("f(a\n+ b\n+ c)", "f(a b c)"),
        ("f(a\n* b)", "f(a b)"),
        ("Due:\n+ 5\n\nx\n+ y", "Due: 5 x y"),
        ("the <br> tag", "the tag"),
        ("1.5", "15"),
        (".5", "5"),
        ("n!", "n"),
        ("5! ways", "5 ways"),
        ("call foo() twice", "call foo twice"),
        ("1,000", "1.000"),
        ("5 %", "5"),
        ("set to 5\n\n% the width", "set to 5% the width"),
        ("set to 5\r\n \r\n‰ the width", "set to 5‰ the width"),
        ("-5", "5"),
        ("a < b", "a > b"),
        ("x= y", "xy"),
        ("x =\ny", "xy"),
        ("p¬ q", "pq"),
        ("a != b", "a = b"),
        ("$5", "€5"),
        ("can", "can't"),
        ("its", "it's"),
        ("10-20", "10 20"),
        ("1/2", "1 2"),
        ("v1.2", "v12"),
        ("C++", "C"),
        ("!x", "x"),
        ("./a", "/a"),
        ("≤5", "≥5"),
        ("10⁵", "105"),
        ("हिन्दी", "हन्द"),
        ("3:2", "3 2"),
        ("not able", "notable"),
        ("a − 5", "a 5"),
        ("a−5", "a 5"),
        ("x - 5", "x 5"),
        ("5·3", "5 3"),
        ("\u202e51", "51"),
        ("10[5]", "105"),
        ("[5]0", "50"),
        ("a[i]", "ai"),
        ("-$5", "$5"),
        ("-.5", ".5"),
        ("5 - 3", "5 3"),
        ("۵٪", "۵"),
        ("a /= b", "a = b"),
        ("x := 5", "x = 5"),
        ("*p", "p"),
        ("__init__", "init"),
        ("x + y", "x y"),
        ("x \u0338", "x"),
        ("Jose\u0301s", "José's"),
        ("x[3]", "x[4]"),
        ("names[3].", "names"),
        ("f(ab,[3] and c)", "f(ab,[4] and c)"),
        ("x,[3] and y", "x,[4] and y"),
        ("1,[2] and", "1,[3] and"),
        ("names,[3] + b", "names,[4] + b"),
        ("in time, [3] it", "in time, [4] it"),
        ("ids:[3] and", "ids:[4] and"),
        ("ids [1, 2] and", "ids [1, 3] and"),
        ("two, ² it", "two, ³ it"),
        ("f(a,[3] + b)", "f(a,[4] + b)"),
        ("items.[3] + b", "items.[4] + b"),
        ("ab[^3]+", "ab[^4]+"),
        ("m²", "m"),
        ("names[i](x)", "names[i](y)"),
        ("the [rent](paid) is", "the [rent](due) is"),
        ("a\n| b |\nc", "a b c"),
        ("a\n| b |\n* c *", "a b c"),
        ("a\n# b\nc", "a b c"),
        ("a\n#b\n#c", "a b c"),
        ("a | b\n| c | d\n", "a b c d"),
    ],
)
def test_different(a: str, b: str) -> None:
    """
    Numbers, signs, units, operators and apostrophes inside words count.
    """
    assert CanonicalText(a).words != CanonicalText(b).words


TEXTS = st.text(st.sampled_from([*"aB1é漢กか'’-–.,:/!%*_[](\n \u00ad\u200b\u0308\u3099ﬁ“"]), max_size=40)


@given(TEXTS)
def test_places_hold_their_words(text: str) -> None:
    """
    The range of each word alone has the word's letters and digits, and ranges are in ascending order.
    """
    whole = CanonicalText(text)
    end = 0
    for number, word in enumerate(whole.words):
        start, stop = whole.place(number, number + 1)
        assert end <= start < stop <= len(text)
        end = stop
        alone = "".join(CanonicalText(text[start:stop]).words)
        assert [letter for letter in alone if letter.isalnum()] == [letter for letter in word if letter.isalnum()]


@given(TEXTS, TEXTS, TEXTS)
def test_a_paragraph_is_found_at_its_place(before: str, quote: str, after: str) -> None:
    """
    A paragraph of a text is found at a place of the text with the same words.
    """
    whole, words = CanonicalText(f"{before}.\n\n{quote}\n\n.{after}"), CanonicalText(quote).words
    if not words:
        return
    at = whole.find(words)
    expected = [at for at in range(len(whole.words)) if whole.words[at : at + len(words)] == words]
    assert at == (expected[0] if expected else None)


def test_find_from_a_word_on() -> None:
    """
    A search begins at the given word, and ends at the end of the text.
    """
    text = CanonicalText("a b a b c")
    assert [text.find(["a", "b"], start) for start in (0, 1, 3, 9)] == [0, 2, None, None]


def test_long_texts_are_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A text has the same words and places in pieces of any length, also where a word is broken at the end of a line.
    """
    text = "The well-\n known “tenant’s” rent, 1.5 % of [T]he roof-  tiles 漢字かな is due. " * 20
    whole = CanonicalText(text)
    places = [whole.place(at, at + 1) for at in range(len(whole.words))]
    for characters in range(1, 80, 7):
        monkeypatch.setattr(canonical_words, "_PIECE_CHARACTERS", characters)
        cut = CanonicalText(text)
        assert cut.words == whole.words
        assert [cut.place(at, at + 1) for at in range(len(cut.words))] == places


@thorough
@pytest.mark.parametrize("word", ["rent ", "漢"])
def test_long_texts_check_for_each_piece(word: str) -> None:
    """
    A text of 500,000 characters checks for cancellation at least once for each 100,001, also without blanks.
    """
    checks = Checks()
    with new_request("", checks):
        CanonicalText(word * (500_000 // len(word)))
    assert checks.count >= 8


FOOTNOTED = "The roof[1] leaks.[2] The tenant[3], who pays, left."


@pytest.mark.parametrize(
    ("text", "is_footnoted"),
    [
        (FOOTNOTED, True),
        (f"{FOOTNOTED} The tenant[3] and the roof[1] stay.", True),
        (FOOTNOTED.replace("[3]", "[4]"), False),
        (FOOTNOTED.replace("[2]", ""), False),
        (FOOTNOTED.replace(".[2]", "[2]."), False),
        (f"{FOOTNOTED} The roof[2] is new.", False),
        (f"{FOOTNOTED} See items[0].", False),
        ("names[1], names[2], names[3] and names[4].", False),
    ],
)
def test_numbers_of_footnotes(text: str, *, is_footnoted: bool) -> None:
    """
    Numbers after words are footnote marks if all numbers count from 1, one is after a full stop, and no word has two.
    """
    canonical = CanonicalText(text)
    assert canonical.is_footnoted == is_footnoted
    plain = CanonicalText("The roof leaks. The tenant, who pays, left.")
    assert (CanonicalText(FOOTNOTED).without_numbers.words, plain.without_numbers) == (plain.words, plain)


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("*a b", " "),
        ("a *b c", " "),
        ("as in *NIX the usual way", " the usual "),
        ("x * y * we do not say", " we do not "),
        ("a_b*c we do not", " we do "),
        ("so we > do not say", " do not "),
        ("so we | do not # say", " do not "),
    ],
)
def test_run_without_marks(text: str, run: str) -> None:
    """
    A document with the text and all its marks has this run, too.
    """
    assert CanonicalText(text).longest_unmarked_run == run
