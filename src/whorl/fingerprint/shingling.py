"""Words of texts and Lucene's 128-bit hashes of their shingles, with numpy.

`pieces` reads words, a long text piece by piece. ASCII text has its own route: there the word-break rules look at most
one character to either side, so one pass over all characters marks those inside words. The role of each character in a
profile is found by calls of `tokenizer.tokens`. `murmur3_x64_128` hashes many slices of one buffer at once; short texts
are hashed together, because starting numpy's loops takes half of the time of a short text.

Sources: org.apache.lucene.analysis.minhash.MinHashFilter (identical in Lucene 8, 9 and 10): MurmurHash3_x64_128 with
    seed 0 of the shingle's UTF-16LE bytes, combined with the hash of the hash function's number. Austin Appleby's
    MurmurHash3_x64_128 (public domain) reads 16-byte blocks as two 64-bit lanes; here block i of all slices is read in
    one step.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import accumulate, chain, groupby, islice, pairwise

import mmh3
import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError
from whorl.fingerprint.words import tokenizer as plain

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MULTIPLIER = np.uint64(37)
_BLANK, _ASCII_BLANK = np.uint16(0x20), 0x20
_ENCODED_BLANK = np.array([0x20, 0], np.uint8)

#: Number of slices at a time: small enough that the data of one step stays in the processor's cache, large enough that
#: numpy's start-up cost does not dominate.
CHUNK = 8192
#: Slices with more blocks are left to mmh3, which hashes a whole one faster than numpy does block by block.
MOST_BLOCKS = 20
#: Below these numbers of slices, calling mmh3 for each is faster than one step or a whole chunk with numpy.
FEWEST_IN_STEP, FEWEST_IN_CHUNK = 80, 1200
#: From this number of offsets on, numbers are read on demand instead of copied for all offsets (which takes 1 MB).
_MANY_OFFSETS = 1 << 17
_BLOCK, _LANE = 16, 8  # bytes

_Bytes = npt.NDArray[np.uint8]
_Numbers = npt.NDArray[np.uint64]
_Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JoinedWords:
    """Folded words, joined by single blanks, in UTF-16LE.

    Args:
        encoded: uint8 array of shape (bytes,), U+FFFD for each lone surrogate.
        starts: int64 array of shape (words + 1,): the offset of each word and of a hypothetical next word, in bytes. A
            word ends 2 bytes, a blank, before the next one starts.
    """

    encoded: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]

    def words(self) -> list[str]:
        """Return the words as strings."""
        text = self.encoded.tobytes().decode("utf-16-le")
        if text.count(" ") == len(self.starts) - 2:
            return text.split(" ")
        raw, ends = self.encoded.tobytes(), self.starts.tolist()
        return [raw[start : end - 2].decode("utf-16-le") for start, end in pairwise(ends)]

    def followed_by(self, others: JoinedWords) -> JoinedWords:
        """Return the concatenation of these words and others."""
        if len(self.starts) == 1 or len(others.starts) == 1:
            return others if len(self.starts) == 1 else self
        encoded = np.concatenate((self.encoded, _ENCODED_BLANK, others.encoded))
        return JoinedWords(encoded, np.concatenate((self.starts[:-1], others.starts + self.starts[-1])))

    def last(self, count: int) -> JoinedWords:
        """Return the last `count` words, or all words if there are fewer."""
        starts = self.starts[-count - 1 :]
        return JoinedWords(self.encoded[starts[0] :], starts - starts[0])


def join(words: Sequence[str]) -> JoinedWords:
    """Join words."""
    # All words are encoded once; a shingle is a slice from the start of one word to the end of another.
    encoded = java_utf16(" ".join(words))
    return JoinedWords(np.frombuffer(encoded, np.uint8), _starts(words, encoded))


def numbered(murmur: npt.NDArray[np.uint64], number: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the hashes of one of several hash functions, computed from murmur's halves.

    Lucene folds the number into each hash (combineOrdered), even if number 0 is the only one.

    Returns:
        Two uint64 arrays of shape (shingles,): the leading half, whose top bits are the bucket, and the half that
        breaks ties.
    """
    first, second = hash_of_number(number).tolist()
    high, low = murmur[:, 1] * _MULTIPLIER, murmur[:, 0] * _MULTIPLIER
    high += np.uint64(second)
    low += np.uint64(first)
    return high, low


@cache
def hash_of_number(number: int) -> npt.NDArray[np.uint64]:
    """Return murmur's halves of a hash function's number, hashed as four big-endian bytes."""
    return np.frombuffer(mmh3.mmh3_x64_128_digest(number.to_bytes(4, "big"), 0), dtype="<u8")


def _starts(words: Sequence[str], encoded: bytes) -> npt.NDArray[np.int64]:
    """Return the byte offset of each word in the joined words, and of a hypothetical next word."""
    if not words:
        return np.zeros(1, np.int64)
    blanks = np.flatnonzero(np.frombuffer(encoded, "<u2") == _BLANK)
    if len(blanks) == len(words) - 1:
        return np.concatenate(([0], 2 * (blanks + 1), [len(encoded) + 2]))
    # Folding puts blanks into some words, for instance Arabic ligatures.
    sizes = (len(java_utf16(word)) + 2 for word in words)
    return np.fromiter(accumulate(sizes, initial=0), np.int64, len(words) + 1)


def java_utf16(text: str) -> bytes:
    """Encode as Java's UTF-16LE encoder does: no byte-order mark, U+FFFD for each lone surrogate."""
    try:
        return text.encode("utf-16-le")
    except UnicodeEncodeError:
        return well_formed(text).encode("utf-16-le")


def well_formed(text: str) -> str:
    """Join surrogate pairs and replace each lone surrogate by U+FFFD, as every UTF-8 writer of Lucene does."""
    # Nearly all texts are well-formed, and checking is much faster than converting.
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _LONE_SURROGATE.sub("\ufffd", joined)


def murmur3_x64_128(buffer: bytes | _Bytes, starts: npt.ArrayLike, ends: npt.ArrayLike) -> _Numbers:
    """Return the MurmurHash3_x64_128 hash of each slice of a buffer, with seed 0.

    Args:
        buffer: Bytes, or a uint8 array of shape (bytes,).
        starts: Offset of each slice, in bytes, of shape (n,). Slices may overlap and come in any order; short slices
            that are neighbours both in the array and in the buffer are hashed fastest.
        ends: End of each slice, in bytes, of shape (n,).

    Returns:
        uint64 array of shape (n, 2): h1 and h2, mmh3's digest read as two little-endian numbers.

    Raises:
        ParameterError: `starts` and `ends` differ in shape, or a slice exceeds the buffer.

    >>> murmur3_x64_128(b"to be or not to be", [0, 13], [5, 18])
    array([[9518442475791453575, 8680147493025265281],
           [9518442475791453575, 8680147493025265281]], dtype=uint64)
    """
    first, limit = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    if first.ndim != 1 or first.shape != limit.shape:
        raise ParameterError(f"every slice needs one start and one end, got shapes {first.shape} and {limit.shape}")
    if first.size and not (first.min() >= 0 and limit.max() <= len(buffer) and (first <= limit).all()):
        raise ParameterError(f"a slice of {len(buffer)} bytes must have 0 <= start <= end <= {len(buffer)}")
    # Padding, because whole blocks are read even at the end of the buffer.
    padded = bytes(buffer) + bytes(_BLOCK)
    hashes = np.empty((first.size, 2), np.uint64)
    for at in range(0, first.size, CHUNK):
        some = slice(at, at + CHUNK)
        _hash_chunk(padded, first[some], limit[some], hashes[some])
    return hashes


def _hash_chunk(padded: bytes, starts: _Places, ends: _Places, hashes: _Numbers) -> None:
    """Write the hashes of n slices into an array of shape (n, 2)."""
    if starts.size < FEWEST_IN_CHUNK:
        hashes[:] = _hash_each(padded, starts, ends)
        return
    blocks = np.minimum((ends - starts) // _BLOCK, MOST_BLOCKS + 1).astype(np.uint8)
    # reaching[i] is the number of slices with a block i.
    reaching = blocks.size - np.bincount(blocks, minlength=MOST_BLOCKS + 2).cumsum()
    steps = int(np.count_nonzero(reaching - reaching[MOST_BLOCKS] >= FEWEST_IN_STEP))
    # Sort by decreasing number of blocks, so that the slices of each step are a prefix of the slices of the step
    # before.
    order = np.argsort(np.uint8(MOST_BLOCKS + 1) - blocks, kind="stable")
    each, together = order[: reaching[steps]], order[reaching[steps] :]
    if each.size:
        hashes[each] = _hash_each(padded, starts[each], ends[each])
    if together.size:
        counts = (reaching[:steps] - each.size).tolist()
        hashes[together, 0], hashes[together, 1] = _hash_together(padded, starts[together], ends[together], counts)


def _hash_each(padded: bytes, starts: _Places, ends: _Places) -> _Numbers:
    """Return the hashes of slices, shape (n, 2), with one call of mmh3 each."""
    digest, places = mmh3.mmh3_x64_128_digest, zip(starts.tolist(), ends.tolist(), strict=True)
    return np.frombuffer(b"".join([digest(padded[start:end], 0) for start, end in places]), "<u8").reshape(-1, 2)


def _hash_together(padded: bytes, starts: _Places, ends: _Places, counts: list[int]) -> tuple[_Numbers, _Numbers]:
    """Return h1 and h2, each of shape (n,), of slices in order of decreasing numbers of blocks.

    Args:
        padded: The buffer, with at least one block's bytes after the last slice.
        starts: Offsets in bytes, of shape (n,).
        ends: End offsets in bytes, of shape (n,).
        counts: counts[i] is the number of slices with a block i; its length is the largest number of blocks.
    """
    # UTF-16 words have even offsets, so only every other number is needed.
    stride = 1 if np.bitwise_or.reduce(starts) & 1 else 2
    lowest = int(starts.min())
    numbers = _numbers_at(padded, lowest, int(ends.max()) + _LANE, stride)
    places = (starts - lowest) // stride
    first, second = np.zeros((2, starts.size), np.uint64)
    for count in counts:
        place, h1, h2 = places[:count], first[:count], second[:count]
        h1 ^= _mixed(numbers[place], _LANES[0])
        _rotate(h1, *_H1_TURN)
        h1 += h2
        h1 *= _FIVE
        h1 += _H1_ADDED
        place += _LANE // stride
        h2 ^= _mixed(numbers[place], _LANES[1])
        _rotate(h2, *_H2_TURN)
        h2 += h1
        h2 *= _FIVE
        h2 += _H2_ADDED
        place += _LANE // stride
    sizes = ends - starts
    tails = sizes % _BLOCK
    for half, masks, lane in zip((first, second), _TAIL_MASKS, _LANES, strict=True):
        half ^= _mixed(numbers[places] & masks[tails], lane)
        half ^= sizes.view(np.uint64)
        places += _LANE // stride
    _finish(first, second)
    return first, second


def _numbers_at(padded: bytes, lowest: int, highest: int, stride: int) -> _Numbers:
    """Return the little-endian 64-bit number at every stride-th offset from the lowest to the highest."""
    numbers: _Numbers = np.ndarray(((highest - lowest) // stride + 1,), "<u8", padded, lowest, (stride,))
    # numpy gathers aligned numbers several times faster, and overlapping slices gather each number repeatedly.
    return numbers.astype(np.uint64) if numbers.size <= _MANY_OFFSETS else numbers


def _number(value: int) -> _Numbers:
    """Return a number as a 0-dimensional array, which numpy handles faster than a scalar."""
    return np.array(value, np.uint64)


# Constants of the algorithm. A rotation is a pair of shifts, left and right.
_C1, _C2 = _number(0x87C37B91114253D5), _number(0x4CF5AD432745937F)
#: For each lane of a block: the factor before the rotation, the rotation, and the factor after it.
_LANES = ((_C1, (_number(31), _number(33)), _C2), (_C2, (_number(33), _number(31)), _C1))
_H1_TURN, _H2_TURN = (_number(27), _number(37)), (_number(31), _number(33))
_FIVE, _H1_ADDED, _H2_ADDED = _number(5), _number(0x52DCE729), _number(0x38495AB5)
_FINAL_SHIFT, _FINAL_FACTORS = _number(33), (_number(0xFF51AFD7ED558CCD), _number(0xC4CEB9FE1A85EC53))
#: Masks of the bits of each lane that belong to a last block of 0 to 15 bytes: shape (2, 16).
_TAIL_MASKS = np.array(
    [[(1 << 8 * min(max(size - lane, 0), _LANE)) - 1 for size in range(_BLOCK)] for lane in (0, _LANE)], np.uint64
)


def _mixed(numbers: _Numbers, lane: tuple[_Numbers, tuple[_Numbers, _Numbers], _Numbers]) -> _Numbers:
    """Mix one lane of a block, in place, before it is combined with the hash."""
    before, turn, after = lane
    numbers *= before
    _rotate(numbers, *turn)
    numbers *= after
    return numbers


def _rotate(numbers: _Numbers, left: _Numbers, right: _Numbers) -> None:
    """Rotate the bits of numbers, in place."""
    low = numbers >> right
    numbers <<= left
    numbers |= low


def _finish(h1: _Numbers, h2: _Numbers) -> None:
    """Finalise hashes in place, so that each bit depends on every other bit."""
    h1 += h2
    h2 += h1
    for half in (h1, h2):
        for factor in _FINAL_FACTORS:
            half ^= half >> _FINAL_SHIFT
            half *= factor
        half ^= half >> _FINAL_SHIFT
    h1 += h2
    h2 += h1


#: Number of Lucene's buffers read at a time, so that their data stays in the processor's cache.
_BUFFERS_AT_ONCE = 16
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
    starts = np.zeros(np.count_nonzero(letters == _ASCII_BLANK) + 1, np.int64)
    np.multiply(np.flatnonzero(letters == _ASCII_BLANK) + 1, 2, out=starts[1:])
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
        kept[1:] += (is_inside[:-1] > is_inside[1:]).view(np.uint8) * np.uint8(_ASCII_BLANK)
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


_BLANKS = re.compile(r"\s+")
#: Characters per piece if every character is a word.
_CHARACTERS_IN_PIECE = 1 << 18
#: Lucene's buffers per piece: about a million characters, so that memory does not grow with the text.
_BUFFERS_IN_PIECE = 256


def pieces(text: str, profile: str = plain.DEFAULT_PROFILE) -> Iterator[JoinedWords]:
    """Yield the folded words of a text in order, in pieces that end at the end of one of Lucene's buffers.

    With CHARACTERS as the profile, yield the characters instead: case-folded, in Unicode's form NFKC, with one blank
    for each run of white space.

    Raises:
        ParameterError: The profile does not exist.
    """
    if profile == plain.CHARACTERS:
        folded = _BLANKS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
        for at in range(0, len(folded), _CHARACTERS_IN_PIECE):
            yield join(folded[at : at + _CHARACTERS_IN_PIECE])
        return
    segmenter = plain.segmenter_of(profile)
    for is_ascii, buffers in groupby(plain.buffers(text), str.isascii):
        while some := list(islice(buffers, _BUFFERS_IN_PIECE)):
            # Joined buffers are cut at the same positions again.
            yield ascii_words("".join(some), profile) if is_ascii else join(list(chain(*map(segmenter.words, some))))


def murmur_pieces(read: Iterable[JoinedWords], size: int) -> Iterator[npt.NDArray[np.uint64]]:
    """Yield murmur's two halves of every shingle of a text, in text order.

    Args:
        read: Pieces of the text.
        size: Words per shingle, at least 1.

    Returns:
        uint64 arrays of shape (shingles, 2), as `murmur3_x64_128` returns them.
    """
    before = join([])
    for piece in read:
        words = before.followed_by(piece)
        starts = words.starts
        if len(starts) > size:
            yield murmur3_x64_128(words.encoded, starts[:-size], starts[size:] - 2)
        before = words.last(size - 1)


def joined_words(text: str, profile: str) -> JoinedWords:
    """Return the folded words of a text, all at once.

    Raises:
        ParameterError: The profile does not exist.
    """
    return reduce(JoinedWords.followed_by, pieces(text, profile), join([]))


def murmur_together(joined: Sequence[JoinedWords], size: int) -> tuple[npt.NDArray[np.uint64], list[int]]:
    """Return murmur's two halves of every shingle of several texts, concatenated, and the number of each text.

    Args:
        joined: Words of each text, at least one text.
        size: Words per shingle, at least 1.
    """
    counts = [max(0, len(words.starts) - size) for words in joined]
    # All words are in one buffer, but no shingle crosses the border of two texts.
    offsets = accumulate((len(words.encoded) for words in joined[:-1]), initial=0)
    placed = list(zip(joined, counts, offsets, strict=True))
    starts = np.concatenate([words.starts[:count] + offset for words, count, offset in placed])
    ends = np.concatenate([words.starts[size:] + (offset - 2) for words, _, offset in placed])
    return murmur3_x64_128(np.concatenate([words.encoded for words in joined]), starts, ends), counts
