"""Wildcard patterns split into words, and edit distances of fuzzy words."""

from __future__ import annotations

import struct
from decimal import Decimal

from whorl.fingerprint.shingling import well_formed
from whorl.fingerprint.words.tokenizer import tokens_and_spans
from whorl.query.ast import Joker, Pattern

#: Limit of Lucene's automata.
MOST_EDITS = 2
#: Rare letters that stand for wildcards while a text is split into words; a letter that occurs in the text is skipped.
_LETTERS = "ꟻꟼꟽꟾꟿꬰꬲꬳꬴ"


def words_of(pattern: Pattern, profile: str) -> list[Pattern]:
    """Return a pattern's words in order, each as a case-folded pattern; a wildcard belongs to the word it touches.

    >>> words_of(("Annual re", Joker.ANY), "icu74")
    [('annual',), ('re', <Joker.ANY: '*'>)]
    >>> words_of(("x-", Joker.ANY), "icu74")
    [('x',), (<Joker.ANY: '*'>,)]
    """
    literal = well_formed("".join(piece for piece in pattern if isinstance(piece, str)))
    free = [letter for letter in _LETTERS if letter not in literal]
    letters = dict(zip(Joker, free, strict=False))
    jokers = {letter: joker for joker, letter in letters.items()}
    text = "".join(letters[piece] if isinstance(piece, Joker) else well_formed(piece) for piece in pattern)
    words: list[str] = []
    end = -1
    split, spans = tokens_and_spans(text, profile)
    for word, (start, stop) in zip(split, spans.tolist(), strict=True):
        if not word:
            continue
        # Word boundaries also occur between scripts, and the letters that stand for wildcards belong to a script.
        is_touched = start == end and (words[-1][-1] in jokers or word[0] in jokers)
        if is_touched:
            words[-1] += word
        else:
            words.append(word)
        end = stop
    return [_pieces(word, jokers) for word in words]


def _pieces(word: str, jokers: dict[str, Joker]) -> Pattern:
    pieces: list[str | Joker] = []
    for letter in word:
        if letter in jokers:
            pieces.append(jokers[letter])
        elif pieces and isinstance(pieces[-1], str):
            pieces[-1] += letter
        else:
            pieces.append(letter)
    return tuple(pieces)


def edits_of(similarity: Decimal, length: int) -> int:
    """Return the number of edits that Lucene derives from a similarity; from 1 on it is the number of edits itself.

    Args:
        similarity: At least 0.
        length: Length of the word in characters.

    Source: FuzzyQuery.floatToEdits, which reads a 32-bit float.

    >>> edits_of(Decimal("0.7"), 4), edits_of(Decimal("0.9"), 4), edits_of(Decimal(1), 4), edits_of(Decimal(0), 4)
    (1, 0, 1, 0)
    """
    if similarity >= 1:
        return min(int(similarity), MOST_EDITS)
    if similarity == 0:
        return 0
    as_float = float(struct.unpack("f", struct.pack("f", float(similarity)))[0])
    edits = int((1.0 - as_float) * length)
    return min(edits, MOST_EDITS)


def distance(one: str, other: str) -> int:
    """Return the number of insertions, deletions, substitutions and transpositions of neighbours between two words.

    No character is edited twice, as in Lucene's automata.

    >>> distance("roam", "foams"), distance("form", "from")
    (2, 1)
    """
    rows = [list(range(len(other) + 1))]
    for at, letter in enumerate(one, 1):
        above, row = rows[-1], [at]
        for there, wanted in enumerate(other, 1):
            best = min(above[there] + 1, row[there - 1] + 1, above[there - 1] + (letter != wanted))
            if at > 1 and there > 1 and (letter, one[at - 2]) == (other[there - 2], wanted):
                best = min(best, rows[-2][there - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]
