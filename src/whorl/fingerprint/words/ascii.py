"""Lucene's words of ASCII text with numpy, in the encoding for shingle hashes.

In ASCII the word-break rules look at most one character to either side: words are runs of letters, digits and low
lines, and of, for example, full stops between two letters or two digits. So one pass over all characters marks those
inside words. The role of each character in a profile is found by calls of `tokenizer.tokens`; the tests compare the
words of every short text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np

from whorl.errors import ParameterError
from whorl.fingerprint.shingling import JoinedWords
from whorl.fingerprint.words import tokenizer as plain

#: Number of Lucene's buffers read at a time, so that their data stays in the processor's cache.
_BUFFERS_AT_ONCE = 16
_BLANK = 0x20
#: Lower-case table for `bytes.translate`.
_LOWER = bytes(range(256)).lower()


def ascii_words(text: str, profile: str = plain.DEFAULT_PROFILE) -> JoinedWords:
    """Return the words of an ASCII text, joined: the same as `tokenizer.tokens(text, profile)`.

    Needs about 7 bytes of memory for each character of the text.

    Args:
        text: ASCII text, control characters included.
        profile: Lucene releases to follow, one of `tokenizer.PROFILES`.

    Raises:
        ParameterError: The profile does not exist, or the text is not ASCII.

    >>> words = ascii_words("Don't PANIC: 3.14!")
    >>> words.encoded.tobytes().decode("utf-16-le"), words.starts.tolist()
    ("don't panic 3.14", [0, 12, 24, 34])
    """
    if not text.isascii():
        raise ParameterError("the text is not ASCII; its words are those of whorl.fingerprint.words.tokenizer.tokens")
    rules = _rules(profile)
    joined = b"".join(map(rules.words, _windows(text)))
    letters = np.frombuffer(joined, np.uint8)
    starts = np.zeros(np.count_nonzero(letters == _BLANK) + 1, np.int64)
    np.multiply(np.flatnonzero(letters == _BLANK) + 1, 2, out=starts[1:])
    return JoinedWords(letters[:-1].astype("<u2").view(np.uint8), starts)


def _windows(text: str) -> Iterator[str]:
    """Yield a text in pieces, with blanks where Lucene's ICUTokenizer ends a buffer, because no word crosses that."""
    buffers = plain.buffers(text)
    while window := list(islice(buffers, _BUFFERS_AT_ONCE)):
        yield " ".join(window)


@dataclass(frozen=True, slots=True)
class _Rules:
    """Roles of ASCII characters in words.

    Args:
        actions: For each byte, two sets of character kinds, one bit per kind. Low four bits: the kind, if the character
            is always part of a run (letters, digits and low lines, for example, are kinds). High four bits: the kinds
            of neighbours on both sides between which it is part of one run with them.
        never_alone: Characters that have a kind, but are no word on their own.
    """

    actions: bytes
    never_alone: bytes

    def words(self, window: str) -> bytes:
        """Return the folded words of a window, each followed by a blank."""
        # A blank is not part of any word, so every character has two neighbours, and every word ends inside the window.
        raw = f" {window} ".encode("ascii")
        letters, actions = (np.frombuffer(each, np.uint8) for each in (raw, raw.translate(self.actions)))
        kinds, joins = actions & np.uint8(0x0F), actions >> np.uint8(4)
        joins[1:-1] &= kinds[:-2]
        joins[1:-1] &= kinds[2:]
        is_inside = (kinds | joins) != 0
        for single in self.never_alone:
            if single in raw:
                places = np.flatnonzero(letters == single)
                is_inside[places] = (kinds[places - 1] | kinds[places + 1]) != 0
        # Characters outside of words become 0 and are dropped, except for one blank after each word.
        kept = letters * is_inside.view(np.uint8)
        kept[1:] += (is_inside[:-1] > is_inside[1:]).view(np.uint8) * np.uint8(_BLANK)
        runs: bytes = kept.tobytes()
        return runs.translate(_LOWER, b"\0")


@cache
def _rules(profile: str) -> _Rules:
    """Return the roles of the characters in a profile, found by tokenizing pairs and triples of them."""

    def is_word(text: str) -> bool:
        return plain.tokens(text, profile) == [text.lower()]

    categories = plain.segmenter_of(profile).tables.default.categories[:0x80].tolist()
    sketches = {category: chr(code) for code, category in enumerate(categories)}
    bits = {kind: 1 << number for number, kind in enumerate(kind for kind in sketches.values() if is_word(kind * 2))}
    actions = {
        category: bits.get(sketch) or sum(bit << 4 for kind, bit in bits.items() if is_word(kind + sketch + kind))
        for category, sketch in sketches.items()
    }
    spread = bytes(actions[category] for category in categories)
    never_alone = "".join(kind for kind in map(chr, range(0x80)) if spread[ord(kind)] & 0x0F and not is_word(kind))
    return _Rules(spread.ljust(0x100, b"\0"), never_alone.encode("ascii"))
