"""The fast route gives the numbers of the plain one, whatever the text."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.plain import full_minima, murmur_halves
from whorl.errors import ParameterError
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.compiled.kernel import Kernel
from whorl.fingerprint.hashing import java_utf16, numbered
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.tokenizer import BUFFER_UNITS, PROFILES, shingles, tokens

pytestmark = pytest.mark.skipif(not kernel.is_available(), reason="numba is not installed")

#: Small windows, so that the plain route need not read much to see several.
WINDOW = 3 * BUFFER_UNITS
#: Enough for one shingle, so that a text of one odd word has minima to compare.
AROUND = "one two three four "

SCRIPTS = (
    "Don't e.g. 3.14 1,000 a:b foo_bar _x_ http://x.org/y?z=1 C++ (c) #1 *2 'quoted' x.y. 5'3 Straße ÆON ĲSSEL İi",
    "Слово за слово, Ёлка й ѝ; 3-й шаг", "Ελληνικά Σίσυφος ΆΈ ς", "עברית צה״ל ג׳ירפה", "العَرَبِيَّة ٣٫١٤ ﷺ ﻻ",
    "हिन्दी की किताब क़लम", "தமிழ் மொழி", "বাংলা ভাষা", "한국어 텍스트 한글", "ქართული ՀԱՅԵՐԵՆ և",
    "日本語のテキスト、カタカナ・ひらがな", "中文 分词 測試。", "ภาษาไทยง่าย", "ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာဘာသာ",
    "ⅣⅤ ﬁn ﬂ ① ½ ㎞ ℡ ™ © ª º ＡＢＣ ｶﾞ ㍿ ﷺ",
    "e\u0301 é a\u0323\u0307 a\u0307\u0323 x\u0301y \u0301a \u0345 ᾳ q\u0307\u0323",
    "a\u00adb \u00ad x\u200by \u2060 a\u200cb a\u200db \ufeffz",
    "😀 👩‍👩‍👧 👍🏽 🇩🇪🇫🇷 1\ufe0f\u20e3 #\ufe0f\u20e3 *\u20e3 ☎\ufe0f ☎ ©\ufe0f ℹ\ufe0f \u200d©",
    "𐐀𐐨 𝒜𝒷 𠀀𠀁 \U0001d15e \U000e0001", "\x00a\x00 \x1c\x1d\x85 \u2028\u2029 a\u3000b",
    "\ue000 \U000f0000 \U0010ffff \u0378 \ufffe",
    "\ud800 a\udc00b \udbff\u00ad\udfff \udc00\ud800",
)  # fmt: skip

fragments = st.one_of(
    st.sampled_from([word for line in SCRIPTS for word in line.split(" ")]),
    st.sampled_from(SCRIPTS),
    st.sampled_from(
        [" ", " ", ", ", ". ", "\n", "\r\n", "'", ".", ":", "_", "-", "\u0301", "\u200d", "\ufe0f", "\u30fc"]
    ),
    st.text(st.characters(codec=None), max_size=6),
    st.text(st.characters(codec="ascii"), max_size=12),
    st.integers(0, 0x10FFFF).map(chr),
    st.sampled_from("ab漢あアกກកက한ا̈·⁠'’.,:").map(lambda character: character * 30),
)
texts = st.lists(fragments, max_size=30).map("".join)


@cache
def made(scheme: Scheme) -> Kernel:
    return Kernel(scheme)


def words_of(one: Kernel, text: str) -> list[str]:
    return one.many_hashed([text], with_words=True)[2][0].words()


def assert_same(text: str, scheme: Scheme) -> None:
    words = tokens(text, scheme.profile)
    one = made(scheme)
    expected = full_minima(words, scheme)
    (several,), (count,) = one.many([text])
    (alone,), (hashes,), (read,) = one.many_hashed([text], with_words=True)
    assert read.words() == [java_utf16(word).decode("utf-16-le") for word in words]
    for found in (several, alone):
        assert found.dtype == expected.dtype
        assert np.array_equal(found if count else found[:0], expected)
    assert hashes.tolist() == np.unique(numbered(murmur_halves(words, scheme.shingle_size), 0)[0]).tolist()
    assert hashes.size == len({java_utf16(gram) for gram in shingles(words, scheme.shingle_size)})


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("text", SCRIPTS, ids=range(len(SCRIPTS)))
def test_every_script_alone_and_among_others(text: str, profile: str) -> None:
    """
    Words, minima and number of shingles are those of the plain route, in every script and at every border.
    """
    for whole in (text, AROUND + text, text + "x", text.replace(" ", ""), "".join(SCRIPTS) + text):
        assert_same(whole, Scheme(profile))


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts)
@example(text="")
@example(text="a b c d")
@example(text="a b c d e")
def test_any_text(profile: str, text: str) -> None:
    """
    There is no text on which the routes differ.
    """
    assert_same(text, Scheme(profile))


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_every_character(profile: str) -> None:
    """
    Each of the first two planes' characters, between letters, after a space and alone, makes the same words.
    """
    for first in range(0, 0x20000, 0x400):
        characters = [chr(code) for code in range(first, first + 0x400)]
        assert_same(" ".join(f"a{character}b {character} {character}c" for character in characters), Scheme(profile))


@pytest.mark.parametrize("scheme", [Scheme(shingle_size=1), Scheme(shingle_size=2, bucket_count=1),
                                    Scheme(shingle_size=9, bucket_count=100), Scheme(bucket_count=4096),
                                    Scheme("icu77", 300, 7)], ids=lambda scheme: scheme.name)  # fmt: skip
def test_other_schemes(scheme: Scheme) -> None:
    """
    Shingle size and bucket count are the scheme's, also where a bucket is no power of two, and a shingle is long.
    """
    for text in (" ".join(SCRIPTS), " ".join(map(str, range(2000))), "w " * 299, "w " * 300, "x" * 3000 + " " + AROUND):
        assert_same(text, scheme)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    length=st.integers(BUFFER_UNITS - 12, BUFFER_UNITS + 12),
    filler=st.sampled_from(["x", "x ", "é", "é ", "漢", "ก", "😀", "a😀 ", "Я ", "\u0301"]),
    text=texts,
)
def test_the_border_of_a_buffer(length: int, filler: str, text: str) -> None:
    """
    Lucene's buffer of 4,096 units cuts words at the same place, also through a surrogate pair.
    """
    start = (filler * length)[:length]
    assert_same(start + text + " " + start, Scheme())


@pytest.mark.parametrize("filler", ["word ", "x", "слово ", "日本語", "😀", "e\u0301 ", "3.14 don't "])
def test_the_border_of_a_window(filler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A text that is read in several windows has the words and the shingles of the whole.
    """
    monkeypatch.setattr(kernel, "WINDOW", WINDOW)
    numbered = "".join(f"{filler}{number} " for number in range(WINDOW // 8))
    for length in (WINDOW - 1, WINDOW, WINDOW + 1, WINDOW + BUFFER_UNITS, 2 * WINDOW + 1):
        assert_same((numbered * 3)[:length], Scheme())
    assert_same((filler * 3 * WINDOW)[: 2 * WINDOW + 5], Scheme(shingle_size=7))


def test_many_texts_are_each_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    No shingle reaches from one text into the next, wherever windows and slow words stand.
    """
    monkeypatch.setattr(kernel, "WINDOW", WINDOW)
    whole = [
        "",
        "a b c d",
        "e\u0301",
        AROUND * 40,
        "日本語",
        "\ud800",
        "\udc00",
        *SCRIPTS,
        "long " * WINDOW,
        *SCRIPTS * 40,
        "",
    ]
    minima, counts = made(Scheme()).many(whole)
    for text, row, count in zip(whole, minima, counts.tolist(), strict=True):
        words = tokens(text)
        assert count == max(0, len(words) - 4)
        if count:
            assert np.array_equal(row, full_minima(words, Scheme()))


@pytest.mark.slow
def test_threads_give_the_same() -> None:
    """
    Kernels of several threads, which share what they remember, do not disturb each other.
    """
    whole = [f"{line} {number} {other}" for number in range(40) for line in SCRIPTS for other in SCRIPTS[::5]]
    expected = made(Scheme()).many(whole)[0]
    with ThreadPoolExecutor(4) as pool:
        for found, _ in pool.map(lambda _: Kernel().many(whole), range(4)):
            assert np.array_equal(found, expected)


@pytest.mark.process
def test_long_texts_take_no_more_memory() -> None:
    """
    What a text needs beside itself does not grow with it: 40 MB leave less than 24 MB behind as the highest mark.
    """
    program = """
import resource
from whorl.fingerprint.compiled.kernel import Kernel
one, text = Kernel(), "word number and some others " * 1_500_000
one.many([text[:3_000_000]])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
one.many([text])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    pytest.importorskip("resource", reason="the highest mark of memory is asked of the resource module")
    grown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(grown) < 24 * 1024 * (1024 if sys.platform == "darwin" else 1)


@pytest.mark.process
@pytest.mark.parametrize(
    "trouble",
    [
        "caching.CacheImpl._locator_classes = []",  # no folder can be written
        "def full(*_): raise OSError(28, 'No space left on device')\ncaching.IndexDataCacheFile.save = full",
    ],
    ids=["no folder", "full"],
)
def test_a_cache_that_cannot_be_written(tmp_path: Path, trouble: str) -> None:
    """
    Where nothing can be kept, it is said once, and the numbers are the same.
    """
    program = f"from numba.core import caching\n{trouble}\n"
    program += "from whorl.fingerprint.compiled.kernel import Kernel\nprint(Kernel().many(['a b c d e'])[0][0, 0, 0])"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert int(run.stdout) == int(made(Scheme()).many(["a b c d e"])[0][0, 0, 0])
    assert "NUMBA_CACHE_DIR" in run.stderr


def test_parameters() -> None:
    """
    A profile that is not there and a shingle of nothing are refused as the plain route refuses them.
    """
    with pytest.raises(ParameterError, match="icu99"):
        Kernel(Scheme("icu99"))
    with pytest.raises(ParameterError, match="one hash in each bucket; minhash1-icu74-w5-b512-h2 takes"):
        Kernel(Scheme(hash_count=2))


def test_the_tables_of_this_python_are_not_used() -> None:
    """
    A character newer than a profile is no letter to it, whatever the Unicode of this Python.
    """
    newer = "\u1c89"  # Cyrillic, Unicode 16
    assert unicodedata.category("a") == "Ll"
    assert words_of(made(Scheme("icu77")), newer) == tokens(newer, "icu77") == ["\u1c8a"]
    assert words_of(made(Scheme("icu70")), newer) == tokens(newer, "icu70") == []
