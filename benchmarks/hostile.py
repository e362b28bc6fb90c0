"""Hypothesis strategies for texts that are hard to split into words and to fold."""

from __future__ import annotations

from hypothesis import strategies as st

#: Characters by the problem that they cause; a text uses a few of these sets.
_ALPHABETS = (
    st.characters(exclude_categories=()),  # anything, unassigned, private use and lone surrogates included
    st.characters(min_codepoint=32, max_codepoint=126),
    st.sampled_from("aB:1.,'_-·’ \u00ad\u200b\u200d\u2060\ufeff\0"),
    st.characters(min_codepoint=0x300, max_codepoint=0x36F),  # combining marks
    st.sampled_from("ﬁﬀßſİıΣςǆǅ㎏㍿ﷺℵ①½ﾞﾟ"),  # folds that change length
    st.sampled_from("👩👨👧🏽‍❤️🇩🇪🏴󠁧1️⃣#️⃣*"),
    st.characters(min_codepoint=0x0E00, max_codepoint=0x0EFF),  # Thai, Lao
    st.characters(min_codepoint=0x1000, max_codepoint=0x109F),  # Myanmar
    st.characters(min_codepoint=0x1780, max_codepoint=0x17FF),  # Khmer
    st.characters(min_codepoint=0x3040, max_codepoint=0x30FF),  # kana
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF),  # Han
    st.characters(min_codepoint=0xAC00, max_codepoint=0xD7AF),  # Hangul
    st.characters(min_codepoint=0x0590, max_codepoint=0x06FF),  # Hebrew, Arabic
    st.characters(min_codepoint=0x0900, max_codepoint=0x0DFF),  # Indic
    st.characters(min_codepoint=0x10000, max_codepoint=0x1FFFF),
)
_words = st.one_of(*(st.text(alphabet, min_size=1, max_size=12) for alphabet in _ALPHABETS))
_separators = st.sampled_from([" ", " ", " ", "\n", "\t", "", "\u3000", "\r\n", "\u2028"])
_ordinary = st.lists(st.tuples(_words, _separators), max_size=40).map(
    lambda pairs: "".join(word + separator for word, separator in pairs)
)
# Lucene reads 4,096 units at a time and cuts longer words there.
_long = st.tuples(_ordinary, st.sampled_from("aé字ก"), st.integers(4080, 4110), _ordinary).map(
    lambda parts: f"{parts[0]}{parts[1] * parts[2]}{parts[3]} five more words after it"
)
TEXTS = st.one_of(*([_ordinary] * 19), _long)
