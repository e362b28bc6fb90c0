"""Blobs with the passage hashes of a document in a store without texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.embedded.passage_records import pack_passages, unpack_hashes, unpack_passages
from whorl.fingerprint.winnowing import PROOF_BITS, PassagePlaces

HASHES = st.integers(0, (1 << PROOF_BITS) - 1)


def passages(pairs: list[tuple[int, int]], words: int = 0) -> PassagePlaces:
    steps, hashes = zip(*pairs, strict=True) if pairs else ((), ())
    return PassagePlaces(words, np.cumsum(np.array(steps, np.int64)), np.array(hashes, np.uint64))


@given(st.lists(st.tuples(st.integers(0, 3) | st.integers(0, 1 << 40), HASHES)), st.integers(0, 1 << 40))
def test_every_hash_keeps_its_place(pairs: list[tuple[int, int]], words: int) -> None:
    written = passages(pairs, words)
    read = unpack_passages(pack_passages(written), words)
    assert read.words == words
    assert (read.places.tolist(), read.hashes.tolist()) == (written.places.tolist(), written.hashes.tolist())


@pytest.mark.parametrize(("most", "bits"), [(13, 4), (5, 3), (3, 2)])
def test_a_place_takes_a_few_bits(most: int, bits: int) -> None:
    """
    Hashes of random texts take 5 bytes each, and their places as many bits as the longest step. Equal hashes take less.
    """
    chance = np.random.default_rng(most)
    steps, hashes = chance.integers(1, most, 800, endpoint=True), chance.integers(1 << PROOF_BITS, size=800)
    pairs = list(zip(steps.tolist(), hashes.tolist(), strict=True))
    assert len(pack_passages(passages(pairs))) == 1 + 800 * 5 + 100 * bits
    assert len(pack_passages(passages([pairs[0]] * 800))) < 100


@given(st.lists(HASHES))
def test_hashes_of_earlier_stores(hashes: list[int]) -> None:
    packed = b"".join(number.to_bytes(5, "little") for number in hashes)
    assert unpack_hashes(packed).tolist() == hashes
