"""64-bit codes: taken from what a caller has."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from whorl.errors import CodeRangeError, CodeTypeError

BITS: int = 64
LARGEST: int = 2**BITS - 1

Codes = npt.NDArray[np.uint64]
CodesLike = Codes | npt.NDArray[np.integer] | Iterable[int]


def as_codes(values: CodesLike, called: str = "codes") -> Codes:
    """Return integers as an array of codes; one of uint64 is returned as it is.

    Args:
        values: The integers.
        called: What messages call them.

    Raises:
        CodeTypeError: Something is not a whole number.
        CodeRangeError: A number is not one from 0 to 2**64 - 1.
    """
    allowed = f"{called} are whole numbers from 0 to 2**64 - 1"
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "ui":
            raise CodeTypeError(f"{allowed}, in an array of one dimension; got {values.dtype} of shape {values.shape}")
        if values.dtype.kind == "i" and values.size and values.min() < 0:
            raise CodeRangeError(f"{allowed}, got {values.min()}")
        return np.ascontiguousarray(values, np.uint64)
    if isinstance(values, bytes | bytearray):
        raise CodeTypeError(f"{allowed}, got bytes; numpy.frombuffer(values, 'uint64') makes numbers of them")
    try:
        # Three times as fast as numpy with a list, and it refuses what is not a 64-bit number.
        return np.frombuffer(array("Q", values), np.uint64)
    except TypeError as problem:
        raise CodeTypeError(f"{allowed}: {problem}") from problem
    except OverflowError as problem:
        raise CodeRangeError(f"{allowed}: {problem}") from problem


def as_code(code: int) -> int:
    """Return one number as `as_codes` does."""
    if type(code) is int and 0 <= code <= LARGEST:
        return code
    try:
        number = code.__index__()
    except AttributeError:
        raise CodeTypeError(f"a code is a whole number from 0 to 2**64 - 1, got {code!r}") from None
    if not 0 <= number <= LARGEST:
        raise CodeRangeError(f"a code is a whole number from 0 to 2**64 - 1, got {number}")
    return number
