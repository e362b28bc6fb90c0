"""Converts MinHash tokens between numbers and their forms in indexes: UTF-16 terms or Alfresco's hexadecimal.

An index loses some information: a lone surrogate becomes U+FFFD. Alfresco drops the leading zeros of units, and so
loses the borders between units.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise

import numpy as np
import numpy.typing as npt

#: Smallest and largest length of Alfresco's tokens. They have eight units of up to four digits, and few units lack
#: leading zeros.
ALFRESCO_LENGTHS = (20, 32)
ALFRESCO_TOKEN = re.compile(rf"[0-9a-f]{{{ALFRESCO_LENGTHS[0]},{ALFRESCO_LENGTHS[1]}}}")

#: Replacement for a lone surrogate in an index.
_LOST = 0xFFFD


class Spelling(Enum):
    """Encoding of tokens in an index."""

    UNITS_4 = "64-bit tokens, four UTF-16 units"
    UNITS_8 = "128-bit tokens, eight UTF-16 units"
    HEX = "Alfresco's hexadecimal, units without leading zeros"


#: Bytes per token in `read`: UTF-16 units, or hexadecimal letters in ASCII.
_BYTES = {Spelling.UNITS_4: 8, Spelling.UNITS_8: 16, Spelling.HEX: 32}


def spell(hashes: npt.NDArray[np.uint64], spelling: Spelling = Spelling.UNITS_4) -> tuple[str, ...]:
    """Encode hashes as tokens; `read` is the inverse.

    Hashes have two halves, or the high half alone. The encodings are

    - UNITS_4: MinHashFilter's term, cut by TruncateTokenFilter(prefixLength=4)
    - UNITS_8: MinHashFilter's whole term
    - HEX: the form that Alfresco stores (SolrInformationServer: Integer.toHexString of each unit)

    The first two have U+FFFD for lone surrogates, as in an index (UnicodeUtil.UTF16toUTF8).
    """
    if not len(hashes):
        return ()
    if spelling is not Spelling.HEX:
        units, is_pair = _kept_units(hashes, spelling)
        text = units.tobytes().decode("utf-16-be")
        ends = np.cumsum(units.shape[1] - is_pair.sum(axis=1)).tolist()
        return tuple([text[start:end] for start, end in pairwise([0, *ends])])
    units = _units(hashes, spelling)
    if units.shape[1] * 2 == _BYTES[Spelling.HEX]:
        return tuple(bytes(letters).rstrip(b"\0").decode(errors="replace") for letters in units)
    return tuple("".join(f"{unit:x}" for unit in row) for row in units.tolist())


def _units(hashes: npt.NDArray[np.uint64], spelling: Spelling) -> npt.NDArray[np.uint16]:
    words = hashes.reshape(len(hashes), -1)
    if spelling is Spelling.UNITS_4:
        words = words[:, :1]
    return words.astype(">u8").view(">u2").reshape(len(words), -1)


def _kept_units(
    hashes: npt.NDArray[np.uint64], spelling: Spelling
) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.bool_]]:
    """Return the units of tokens with U+FFFD for lone surrogates, and a mask of the starts of surrogate pairs."""
    units = _units(hashes, spelling)
    if not ((units & 0xF800) == 0xD800).any():
        # Tokens from an index rarely have surrogates, because the index has replaced lone surrogates.
        return units, np.zeros((len(units), units.shape[1] - 1), np.bool_)
    is_high, is_low = (units & 0xFC00) == 0xD800, (units & 0xFC00) == 0xDC00
    # Compare within rows: a high surrogate at the end of a token does not pair with the next token's first unit.
    is_pair = is_high[:, :-1] & is_low[:, 1:]
    is_lone = is_high | is_low
    is_lone[:, :-1] &= ~is_pair
    is_lone[:, 1:] &= ~is_pair
    units[is_lone] = _LOST
    return units, is_pair


def as_indexed(hashes: npt.NDArray[np.uint64], spelling: Spelling) -> npt.NDArray[np.uint64]:
    """Return hashes as an index returns them: `read(spell(...))`; both halves for UNITS_8."""
    if spelling is Spelling.HEX or not len(hashes):
        return read(spell(hashes, spelling), spelling)
    words = _kept_units(hashes, spelling)[0].view(">u8").astype(np.uint64)
    return words.reshape(-1) if spelling is Spelling.UNITS_4 else words


def read(tokens: Sequence[str], spelling: Spelling = Spelling.UNITS_4) -> npt.NDArray[np.uint64]:
    r"""Decode an index's tokens to distinct numbers; `spell` is the inverse.

    Returns:
        uint64 array. Its shape is (tokens,) for UNITS_4 and (tokens, 2) for UNITS_8: the hashes, without the
        information that the index has lost. For HEX, the hash is uncertain, so the array has shape (tokens, 4) and
        contains the letters of the token in ASCII.

    >>> [hex(number) for number in read(["ab\U0001f600"])]
    ['0x610062d83dde00']
    """
    size, encoding = _BYTES[spelling], "utf-8" if spelling is Spelling.HEX else "utf-16-be"
    # Cut or pad tokens of other lengths; no document has such a token.
    raw = b"".join([token.encode(encoding, "surrogatepass")[:size].ljust(size, b"\0") for token in tokens])
    words = np.frombuffer(raw, ">u8").astype(np.uint64)
    return words if size == _BYTES[Spelling.UNITS_4] else words.reshape(len(tokens), size // 8)


def integers(hashes: npt.NDArray[np.uint64]) -> tuple[int, ...]:
    """Return each token as one integer; the first column becomes the top bits."""
    if hashes.ndim == 1:
        return tuple(hashes.tolist())
    raw, size = hashes.astype(">u8").tobytes(), 8 * hashes.shape[1]
    return tuple(int.from_bytes(raw[at : at + size], "big") for at in range(0, len(raw), size))


def spell_integers(numbers: Sequence[int], spelling: Spelling) -> tuple[str, ...]:
    return spell(_hashes(numbers, spelling), spelling)


def spelled_in_one(numbers: Sequence[int], spelling: Spelling, marks: str) -> tuple[str, str]:
    """Encode integers of tokens as one string, and return the string and its separator.

    The separator is the first of `marks` that no token contains. Both results are empty if tokens contain all marks,
    and for HEX, because its tokens vary in length.
    """
    if spelling is Spelling.HEX:
        return "", ""
    units, _ = _kept_units(_hashes(numbers, spelling), spelling)
    mark = next((mark for mark in marks if not (units == ord(mark)).any()), "")
    if not mark:
        return "", ""
    rows = np.full((len(units), units.shape[1] + 1), ord(mark), ">u2")
    rows[:, :-1] = units
    return rows.tobytes()[:-2].decode("utf-16-be"), mark


def _hashes(numbers: Sequence[int], spelling: Spelling) -> npt.NDArray[np.uint64]:
    size = _BYTES[spelling]
    if size == _BYTES[Spelling.UNITS_4]:
        return np.array(numbers, np.uint64)
    raw = b"".join([number.to_bytes(size, "big") for number in numbers])
    return np.frombuffer(raw, ">u8").reshape(-1, size // 8)
