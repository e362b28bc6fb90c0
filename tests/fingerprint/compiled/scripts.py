"""Sample texts in every script, and a comparison of the compiled loops with plain Python."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.plain import murmur_halves, shingles
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.compiled.kernel import Kernel
from whorl.fingerprint.minhash.signature_and_tokens import minima_of
from whorl.fingerprint.shingling import Scheme, java_utf16, lucene_hashes
from whorl.fingerprint.words.tokenizer import BUFFER_UNITS, tokens

#: For modules whose tests run compiled loops.
needs_numba = pytest.mark.skipif(not kernel.is_available(), reason="numba is not installed")
#: With numpy, and with compiled loops; for fixtures that call `routed`.
ROUTES = ["numpy", pytest.param("compiled", marks=needs_numba)]


@contextmanager
def routed(route: str, module: str) -> Iterator[str]:
    """Let a module take one of the `ROUTES`, whether or not this process has loaded the loops."""
    loops = kernel.load_loops() if route == "compiled" else None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(f"{module}.loops_if_loaded", lambda: loops)
        yield route


#: Small windows, so that a text spans several windows without being slow by the plain route.
WINDOW = 3 * BUFFER_UNITS


#: Enough words for a shingle, so that a text of one odd word has minima.
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
def new_kernel(scheme: Scheme) -> Kernel:
    """Return the cached kernel of a scheme."""
    return Kernel(scheme)


def cache_without_rotate(folder: Path) -> dict[str, str]:
    """Return the environment of a machine that has compiled all loops but one; the folder contains its cache."""
    from numba.core.caching import _CacheLocator

    new_kernel(Scheme())
    cache_path = kernel.load_loops().shingle_hashes.rotate._cache._cache_path
    others = folder / _CacheLocator.get_suitable_cache_subpath(kernel.__file__)
    shutil.copytree(cache_path, others, ignore=shutil.ignore_patterns("*.pyc", "*rotate_*"))
    return {**os.environ, "NUMBA_CACHE_DIR": str(folder)}


def words_of(one: Kernel, text: str) -> list[str]:
    """Return the words that a kernel finds in a text."""
    return one.distinct_hashes([text], with_words=True)[2][0].words()


def assert_same(text: str, scheme: Scheme) -> None:
    """Assert that both routes give the same words, hashes and minima, alone and among several texts."""
    words = tokens(text, scheme.profile)
    one = new_kernel(scheme)
    halves = murmur_halves(words, scheme.shingle_size)
    expected = minima_of([halves], scheme)
    (actual,), (count,) = one.bucket_minima([text])
    hashes, _, (read,) = one.distinct_hashes([text], with_words=True)
    assert read.words() == [java_utf16(word).decode("utf-16-le") for word in words]
    assert actual.dtype == expected.dtype
    assert np.array_equal(actual if count else actual[:0], expected)
    together, sizes, joined = one.distinct_hashes([text, "", text], with_words=True)
    assert [own.words() for own in joined] == [read.words(), [], read.words()]
    assert together.tolist() == [*hashes.tolist(), *hashes.tolist()]
    assert sizes.tolist() == [hashes.size, 0, hashes.size]
    assert hashes.tolist() == np.unique(lucene_hashes(halves, 0)[0]).tolist()
    assert hashes.size == len({java_utf16(gram) for gram in shingles(words, scheme.shingle_size)})
