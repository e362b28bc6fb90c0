"""Encoding of sketches: round trip, documented format, and detection of damage."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plain import sketch_of
from whorl.errors import ParameterError, SchemeMismatchError, StoreError
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme, decode, decode_all, decode_texts, encode

pytestmark = pytest.mark.usefixtures("each_route")

SCHEME = SketchScheme()


schemes = st.builds(
    lambda k, floor, more, part, bits: SketchScheme(k, floor, k + more, -(-k // part), bits),
    st.integers(1, 50),
    st.integers(0, 5),
    st.integers(0, 200),
    st.integers(1, 50),
    st.sampled_from([24, 27, 32, 40, 63, 64]),
)


def random_hashes(count: int, seed: int = 1) -> npt.NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)


@given(st.integers(0, 3000), schemes)
def test_decoding_inverts_encoding(count: int, scheme: SketchScheme) -> None:
    """
    Any sketch of any scheme is read back.
    """
    sketch = sketch_of(random_hashes(count, seed=count), scheme)
    assert decode(encode(sketch), scheme) == sketch


@given(st.lists(st.integers(0, 3000), max_size=12), schemes)
def test_several_sketches_are_decoded_together(counts: list[int], scheme: SketchScheme) -> None:
    """
    Sketches decoded together equal sketches decoded one by one, including empty and equal sketches, and sketches with
    equally many low bits.
    """
    sketches = [sketch_of(random_hashes(count, seed=count), scheme) for count in counts]
    assert decode_all(list(map(encode, sketches)), scheme) == sketches


@pytest.mark.parametrize(
    "numbers", [[], [0], [(1 << 64) - 1], [0, (1 << 64) - 1], [1 << 63] * 3, list(range(0, 1 << 44, 1 << 34))]
)
@pytest.mark.parametrize("bits", [27, 64])
def test_bytes_of_unlikely_hashes(numbers: list[int], bits: int) -> None:
    """
    Unevenly distributed hashes are read back, too.
    """
    scheme = replace(SCHEME, bits=bits)
    sketch = sketch_of(np.array(numbers, dtype=np.uint64), scheme)
    assert decode(encode(sketch), scheme) == sketch


@pytest.mark.parametrize(("size", "most"), [(100, 3.2), (500, 2.8), (1000, 2.6), (5000, 2.3), (100_000, 1.8)])
def test_encoded_sketches_are_small(size: int, most: float) -> None:
    """
    A hash takes at most 3.2 of 8 bytes in a small sketch, and 1.8 in a large one.
    """
    sketch = sketch_of(random_hashes(size), SCHEME)
    assert len(encode(sketch)) / len(sketch.hashes) < most


def test_damaged_base64_gives_none() -> None:
    """
    Intact sketches are read even if others are missing, no base64, or of another scheme.
    """
    own = sketch_of(random_hashes(300), SCHEME)
    other = encode(sketch_of(random_hashes(300), replace(SCHEME, bits=24)))
    sound, foreign = (b64encode(raw).decode() for raw in (encode(own), other))
    first, missing, second = decode_texts([sound, None, sound], SCHEME)
    assert (first, missing) == (own, None)
    assert second is first, "equal texts are decoded once"
    assert decode_texts([sound, "no base64", foreign, "", sound[:-8], None, sound], SCHEME) == [own, *[None] * 5, own]
    assert decode_texts([], SCHEME) == []


def test_bytes_as_documented() -> None:
    """
    The bytes of two shingles with the 27-bit hashes 1 and 2**26 + 5 * 2**23. 16 and 8 of the 26 low bits are in planes,
    and the other two are packed in sequence: 0 and 2. The high bits, 0 and 1, are at the positions 0 and 1 + 1.
    """
    sketch = Sketch(SCHEME, 2, np.array([1, (1 << 26) + (5 << 23)], dtype=np.uint64))
    head = bytes([3, 27, 0, 26, 2, 0, 0, 0, 2, 0, 0, 0])
    body = head + bytes([1, 0, 0, 0]) + bytes([0, 128]) + bytes([2 << 2, 0b101])
    assert encode(sketch) == body + crc32(body).to_bytes(4, "little")


@given(st.data())
def test_damage_is_found(data: st.DataObject) -> None:
    """
    A flipped bit, a truncation or an addition is an error, never another sketch.
    """
    raw = encode(sketch_of(random_hashes(200), SCHEME))
    at = data.draw(st.integers(0, len(raw) - 1))
    flipped = bytearray(raw)
    flipped[at] ^= 1 << data.draw(st.integers(0, 7))
    for damaged in (bytes(flipped), raw[:at], raw + b"\0"):
        with pytest.raises(StoreError, match="index its document again"):
            decode(damaged)
        with pytest.raises(StoreError, match="index its document again"):
            decode_all([raw, damaged, raw])


@pytest.mark.parametrize(
    "body",
    [
        bytes([3, 27, 0, 26, 2, 0, 0, 0, 9, 0, 0, 0, 3]),  # fewer low parts than hashes
        bytes([3, 27, 0, 3, 2, 0, 0, 0, 9, 0, 0, 0, 3]),  # fewer remaining bits than hashes
        bytes([3, 27, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 7]),  # more high parts than hashes
        bytes([3, 27, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0]),  # no high parts
        bytes([3, 27, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 255]),  # eight high parts, but a size of one
        bytes([3, 27, 0, 0, 5, 0, 0, 0, 0, 0, 0, 128]),  # no high parts, but a size of two thousand million
        bytes([3, 27, 0, 71, 5, 0, 0, 0, 2, 0, 0, 0, *[17] * 18, 3]),  # more low bits than a hash has
    ],
)
def test_contradictions_are_found(body: bytes) -> None:
    """
    Contradictory bytes with a valid check sum are a StoreError, not an error of numpy.
    """
    raw = body + crc32(body).to_bytes(4, "little")
    with pytest.raises(StoreError, match="contradicts itself"):
        decode(raw)
    # The same damage is found if an intact sketch with as many low bits is decoded with it.
    sound = encode(sketch_of(random_hashes(2), replace(SCHEME, bits=27)))
    for beside in ([raw], [sound, raw], [raw, raw]):
        with pytest.raises(StoreError, match="contradicts itself"):
            decode_all(beside)


def test_other_schemes_are_not_read() -> None:
    """
    Bytes of another scheme are refused; the error names both schemes.
    """
    raw = encode(sketch_of(random_hashes(3000), SCHEME))
    for other in (replace(SCHEME, bits=48), replace(SCHEME, k=512)):
        with pytest.raises(SchemeMismatchError, match=f"version 3, 27 bits, level 2 for 3000 shingles.*{other.name}"):
            decode(raw, other)


def test_sizes_that_do_not_fit() -> None:
    """
    A document of 2**32 shingles is refused, not written with a wrong size.
    """
    nothing = np.empty(0, np.uint64)
    largest = Sketch(SCHEME, (1 << 32) - 1, nothing)
    assert decode(encode(largest)) == largest
    with pytest.raises(ParameterError, match=r"below 2\*\*32, got 4294967296"):
        encode(Sketch(SCHEME, 1 << 32, nothing))


def test_decoded_hashes_are_read_only() -> None:
    """
    The hashes of decoded sketches are read-only, since they may be shared.
    """
    raw = encode(sketch_of(random_hashes(5), SCHEME))
    for sketch in (decode(raw), *decode_all([raw, raw])):
        with pytest.raises(ValueError, match="read-only"):
            sketch.hashes[0] = 1
