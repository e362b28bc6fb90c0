"""How the numbers of passages stand in a text index: one field of tokens, and a mark that a document has been read."""

from __future__ import annotations

import numpy as np

from whorl.fingerprint.hashing import JoinedWords
from whorl.fingerprint.sketch.sketch import spelled
from whorl.fingerprint.winnow import PassageScheme, winnowed


def passage_tokens(words: JoinedWords, scheme: PassageScheme) -> list[str]:
    """Return what a document has in the field of passages.

    The scheme's name comes first, also for a text that is too short for any passage: it tells who has been read.

    Args:
        words: The folded words of its text.
        scheme: What is kept of them.
    """
    return [scheme.name, *spelled(winnowed(words, scheme), scheme.bits)]


def spelled_numbers(numbers: tuple[int, ...], scheme: PassageScheme) -> list[str]:
    """Return numbers of passages as they stand in the field."""
    return list(spelled(np.array(numbers, np.uint64), scheme.bits))
