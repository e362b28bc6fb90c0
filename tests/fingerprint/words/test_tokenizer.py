"""Tokenisation, compared with Lucene's words of the same texts, with rules by hand, and with slower versions."""

import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.checks import Checks
from whorl.errors import ParameterError
from whorl.fingerprint.words.tokenizer import (
    BUFFER_UNITS,
    DEFAULT_PROFILE,
    PROFILES,
    buffers,
    compose_hangul,
    folding_growth,
    segmenter_of,
    tokens,
    tokens_and_spans,
)
from whorl.request_context import new_request

VECTORS = Path(__file__).parents[2] / "vectors"
profiles = pytest.mark.parametrize("profile", PROFILES)

#: Characters with special rules in some script, most of them next to ones without.
GLUE = (
    "'.:,;_-\" \n\t\0#*19aZéßﬁя漢カーｶﾞﾟ゛ไก한한\u00ad\u200b\u200d\u2019\u0301\u0327\u3099\ufe0f\u20e3\ud83d\ude00😀🇫🇷𐐀"
)
any_text = st.text(st.one_of(st.sampled_from(GLUE), st.characters(exclude_categories=())), max_size=60)
#: A text near the size of Lucene's buffer, with few spaces and characters of one or two UTF-16 units.
long_text = st.builds(
    lambda unit, count, tail: unit * (count // len(unit)) + tail,
    st.sampled_from(["a", "é", "😀", "漢字", "ab ", "é 😀"]),
    st.integers(BUFFER_UNITS - 3, 2 * BUFFER_UNITS + 3),
    any_text,
)


@profiles
@given(text=st.text(st.one_of(st.sampled_from("ﷺﷲßŉﬃ㌖𝅗𝅥"), st.characters()), max_size=40))
def test_folding_adds_no_more_characters_than_announced(profile: str, text: str) -> None:
    """
    The announced growth must not be below the real one, because an index may reject a text by this number.
    """
    growth = folding_growth(text, profile)
    assert sum(map(len, tokens(text, profile))) <= len(text) + growth
    assert growth <= 17 * len(text)


def test_the_character_with_the_largest_growth() -> None:
    """
    U+FDFA, an Arabic ligature of four words, becomes 18 characters.
    """
    assert folding_growth("\ufdfa" * 3 + "abc \ud800") == 3 * 17
    assert sum(map(len, tokens("\ufdfa"))) == 18


@profiles
def test_words_equal_lucene(profile: str) -> None:
    """
    Every text of the vectors has the words that Lucene's released jars gave it.
    """
    vectors = json.loads((VECTORS / f"words-{profile}.json").read_text())["words"]
    assert len(vectors) > 400
    assert {text: tokens(text, profile) for text, _ in vectors} == dict(vectors)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("one two three four", ["one", "two", "three", "four"]),
        ("don't 'quote' l’été", ["don't", "quote", "l’été"]),
        ("1,000.50 12:30 v2.0 a,b", ["1,000.50", "12", "30", "v2.0", "a", "b"]),
        ("e-mail snake_case _ __", ["e", "mail", "snake_case", "__"]),
        ("ﬁve STRAẞE Straße", ["five", "strasse", "strasse"]),
        ("soft\u00adhyphen", ["softhyphen"]),
        ("cafe\u0301 café", ["café", "café"]),  # a combining accent becomes part of the letter
        ("e\u0327\u0301 e\u0301\u0327", ["ȩ́", "ȩ́"]),  # the order of two marks does not matter
        ("👩\u200d👩\u200d👧 #️⃣ # 1️⃣", ["👩👩👧", "#\u20e3", "1\u20e3"]),  # joiner and selector fold away
        ("helloмир", ["hello", "мир"]),  # a change of script ends a word
        ("ไทย123ไทย", ["ไทย123ไทย"]),  # digits are common to all scripts
        ("한국어 \u1112\u1161\u11ab", ["한국어", "한"]),  # jamo compose
        ("日本語の文章", ["日本語", "の", "文章"]),
        ("ｶﾀｶﾅ ＡＢＣ １２", ["カタカナ", "abc", "12"]),
        ("ภาษาไทย", ["ภาษา", "ไทย"]),
        ("ພາສາລາວ", ["ພາສາ", "ລາວ"]),
        ("សួស្តីពិភពលោក", ["សួស្តី", "ពិភពលោក"]),
        ("မြန်မာဘာသာစကား", ["မြန်မာဘာသာ", "စကား"]),
        ("a\0b", ["a", "b"]),
        ("a\ud800b", ["a", "b"]),
        ("x \ud83d\ude00", ["x", "😀"]),  # two adjacent halves are a pair, as in Java
        ("\u3164", [""]),  # a Hangul filler is a letter for the tokenizer and removed by folding
        ("ﷺ", ["صلى الله عليه وسلم"]),  # one character, one word, three spaces
    ],
)
def test_words(text: str, words: list[str]) -> None:
    """
    The default profile splits and folds as Solr 9.7 to 9.10 do.
    """
    assert tokens(text) == words


@pytest.mark.parametrize(
    ("profile", "words"),
    [("icu70", ["url:http"]), ("icu74", ["url", "http"]), ("icu77", ["url:http"])],
)
def test_a_colon_between_letters_depends_on_the_release(profile: str, words: list[str]) -> None:
    """
    ICU 72 to 75 end a word at a colon between letters; earlier and later releases do not.
    """
    assert tokens("url:http", profile) == words


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("a" * 5000, [4096, 904]),
        ("word " + "a" * 4090, [4, 4090]),  # 4,095 units: read at once
        ("word " + "a" * 4096, [4, 4096]),  # the first buffer ends after the space
        ("😀" * 3000, [1] * 3000),
        ("a" + "𐐀" * 3000, [1, 2047, 952]),  # the cut splits a pair; its halves are no letters
    ],
)
def test_a_buffer_without_white_space_ends_a_word(text: str, lengths: list[int]) -> None:
    """
    Lucene reads 4,096 UTF-16 units at a time, and a word ends at the end of a buffer without white space.
    """
    assert [len(word) for word in tokens(text)] == lengths


@pytest.mark.parametrize("space", "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2006\u2008\u200a\u2028\u2029\u205f\u3000")
def test_a_buffer_ends_after_white_space(space: str) -> None:
    """
    A buffer may end after any character that ICU4J's isWhitespace accepts.
    """
    assert [len(word) for word in tokens("a" * 4000 + space + "b" * 200)] == [4000, 200]


@pytest.mark.parametrize("other", "\0\x85\xa0\u2007\u200b\u202f\ufeff")
def test_a_buffer_does_not_end_after_other_blanks(other: str) -> None:
    """
    Next line, no-break spaces and zero-width space are not white space for ICU4J, so the buffer is cut at its full
    length.
    """
    assert len(tokens("a" * 4000 + other + "b" * 200)[-1]) == 105


def folded(text: str, profile: str) -> list[str]:
    """Return the folded text at the positions of the words."""
    fold = segmenter_of(profile).default.fold
    written = [text[start:end] for start, end in tokens_and_spans(text, profile)[1].tolist()]
    # Lucene treats a high and a low surrogate next to each other as one character.
    return [fold(token.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")) for token in written]


@profiles
def test_positions_of_the_vectors(profile: str) -> None:
    """
    The text at the positions of the words folds to the words, for every text of the vectors and for all of them joined.
    """
    texts = [text for text, _ in json.loads((VECTORS / f"words-{profile}.json").read_text())["words"]]
    for text in [*texts, "".join(texts), " ".join(texts)]:
        assert folded(text, profile) == tokens(text, profile)


@pytest.mark.slow
@profiles
@given(text=st.one_of(any_text, long_text))
@example(text="a" + "𐐀" * 3000)
@example(text="\ud83d" * 4095 + "\ude00 b")
def test_positions_of_words(profile: str, text: str) -> None:
    """
    Each word has a position; positions are in order without overlaps, and the text there folds to the word.
    """
    words, places = tokens_and_spans(text, profile)
    assert words == tokens(text, profile) == folded(text, profile)
    assert places.shape == (len(words), 2)
    assert (places[:, 0] < places[:, 1]).all()
    assert (places[:-1, 1] <= places[1:, 0]).all()
    assert not len(words) or (places[0, 0] >= 0 and places[-1, 1] <= len(text))


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", []),
        ("ﬁve  Straße!", [[0, 3], [5, 11]]),
        ("cafe\u0301 x", [[0, 5], [6, 7]]),
        ("\u1112\u1161\u11ab 한", [[0, 3], [4, 5]]),
        ("日本語の文章", [[0, 3], [3, 4], [4, 6]]),
        ("ภาษาไทย", [[0, 4], [4, 7]]),
        ("\ud83d x 😀 \ud83d\ude00 y", [[2, 3], [4, 5], [6, 8], [9, 10]]),
        ("a" * 5000, [[0, 4096], [4096, 5000]]),
        ("a" + "𐐀" * 3000, [[0, 1], [1, 2048], [2049, 3001]]),  # the cut splits the character 2048
        ("\u3164", [[0, 1]]),
    ],
)
def test_places(text: str, places: list[list[int]]) -> None:
    """
    Positions count characters as Python does.
    """
    assert tokens_and_spans(text)[1].tolist() == places


@given(long_text)
def test_buffers_concatenate_to_the_text(text: str) -> None:
    """
    The buffers together are the text, and none is larger than Lucene's.
    """
    read = [buffer.encode("utf-16-le", "surrogatepass") for buffer in buffers(text)]
    assert b"".join(read) == text.encode("utf-16-le", "surrogatepass")
    assert all(len(buffer) <= 2 * BUFFER_UNITS for buffer in read)


@profiles
@given(text=any_text)
@example(text="  \u200d\u2139a")  # a blank, a joiner and a letter that is a pictograph: one segment
@example(text="a #\ufe0f b")
def test_cut_texts_have_the_same_words(profile: str, text: str) -> None:
    """
    Pieces between separators, cached from other texts, have the words of the whole text.
    """
    segmenter = segmenter_of(profile)
    for chunks in (segmenter.default, segmenter.cjk):
        assert list(chunks.words(text)) == [chunks.fold(text[start:end]) for start, end in chunks.ranges(text)]


@given(st.text(st.characters(max_codepoint=127), max_size=200), st.sampled_from(PROFILES))
def test_ascii_words_are_one_regular_expression(text: str, profile: str) -> None:
    """
    The rules for ASCII are short: letters, digits and underscores; points and quotes inside; the colon depends on the
    release.
    """
    colon = "" if profile == "icu74" else ":"
    letters, digits = rf"(?<=[a-z])[.'{colon}](?=[a-z])", r"(?<=[0-9])[.',;](?=[0-9])"
    words = re.findall(rf"(?:[a-z0-9_]|{letters}|{digits})+", text.lower())
    assert tokens(text, profile) == [word for word in words if word != "_"]


@given(st.lists(st.text(st.characters(max_codepoint=127), max_size=2000), max_size=6))
def test_paragraphs_of_one_script_keep_their_words(paragraphs: list[str]) -> None:
    """
    A blank line between paragraphs of one script changes no words, even if a buffer ends there.
    """
    assert tokens("\n\n".join(paragraphs)) == [word for text in paragraphs for word in tokens(text)]


#: Assigned in Unicode 3.2, so that all later versions compose them in the same way.
old_characters = st.characters(exclude_categories=("Cs", "Cn")).filter(
    lambda character: unicodedata.ucd_3_2_0.category(character) != "Cn"
)
marks = st.sampled_from("aeoA\u0300\u0301\u0308\u0323\u0327\u0345\u05b0\u05bc\u0653가각\u1100\u1161\u11a8ྲ\u0f71\u0f80")


@profiles
@given(text=st.text(st.one_of(old_characters, marks), max_size=20))
def test_composition_is_nfc(profile: str, text: str) -> None:
    """
    The profile's composition equals Python's NFC for characters of both Unicode versions.
    """
    assert segmenter_of(profile).default.fold.compose(text) == unicodedata.normalize("NFC", text)


def test_hangul_composes_by_arithmetic() -> None:
    """
    Every syllable is composed from its jamo; other pairs are not.
    """
    for code in range(0xAC00, 0xD7A4):
        jamo = unicodedata.normalize("NFD", chr(code))
        assert compose_hangul(unicodedata.normalize("NFC", jamo[:-1]), jamo[-1]) == chr(code)
    assert compose_hangul("각", "\u11a8") is None
    assert compose_hangul("a", "\u1161") is None


def test_unknown_profiles_are_refused() -> None:
    """
    The error names the value and the valid ones.
    """
    assert DEFAULT_PROFILE in PROFILES
    with pytest.raises(ParameterError, match=r"'icu99'; there are icu70, icu74, icu77"):
        tokens("text", "icu99")
    with pytest.raises(ParameterError, match=r"'icu99'"):
        tokens_and_spans("text", "icu99")[1]


def test_positions_are_converted_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Positions in a text with surrogate pairs are the same for any portion size, and each portion checks for
    cancellation.
    """
    text = "one 😀 two 𐐀𐐁 three " * 200
    whole = tokens_and_spans(text)[1].tolist()
    monkeypatch.setattr("whorl.fingerprint.words.tokenizer._ENCODED_AT_ONCE", 50)
    checks = Checks()
    with new_request("", checks):
        assert tokens_and_spans(text)[1].tolist() == whole
    assert checks.count >= 2 * len(text) / 50 + len(whole) / 50
