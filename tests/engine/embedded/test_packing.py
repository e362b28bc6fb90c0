"""Numbers of some bits each in words, against plain integers; and what a check sum notices."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.embedded.packing import BLOCK, check_sums, packed, picked, unpacked


@given(st.integers(1, 64), st.lists(st.integers(0, (1 << 64) - 1), max_size=200), st.data())
def test_numbers_come_out_as_they_went_in(width: int, wide: list[int], data: st.DataObject) -> None:
    """
    All together and one by one, and the words are the digits of one large number.
    """
    numbers = [number & ((1 << width) - 1) for number in wide]
    words = packed(np.array(numbers, np.uint64), width)
    assert words.size == -(-len(numbers) // 64) * width
    plain = sum(number << (at * width) for at, number in enumerate(numbers))
    assert int.from_bytes(words.astype("<u8").tobytes(), "little") == plain
    assert unpacked(words, width)[: len(numbers)].tolist() == numbers
    some = data.draw(st.lists(st.integers(0, max(0, len(numbers) - 1)), max_size=9)) if numbers else []
    raw = np.frombuffer(words.astype("<u8").tobytes() + bytes(9), np.uint8)
    assert picked(raw, np.array(some, np.int64), width).tolist() == [numbers[at] for at in some]


def test_every_flipped_bit_is_noticed() -> None:
    """
    Of a block of anything and of an empty one.
    """
    for block in (np.random.default_rng(1).bytes(BLOCK), bytes(BLOCK)):
        flipped = np.tile(np.frombuffer(block, np.uint8), (8 * BLOCK, 1))
        flipped[np.arange(8 * BLOCK), np.arange(8 * BLOCK) // 8] ^= np.uint8(1) << (np.arange(8 * BLOCK) % 8).astype(
            np.uint8
        )
        sums = check_sums(np.ascontiguousarray(flipped).view("<u8"))
        assert (sums != check_sums(np.frombuffer(block, "<u8")[None, :])).all()
