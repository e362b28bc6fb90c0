"""A signature recovered from its distinct tokens, as an index would give them back."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.minhash import Signature, Spelling, full_minima, spell
from whorl.fingerprint.recovery import from_distinct
from whorl.fingerprint.scheme import Scheme

SCHEME = Scheme()
texts = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon"]), min_size=5, max_size=60)


@given(texts)
def test_repeats_and_order_come_back(words: list[str]) -> None:
    """
    What is called exact is exact; what is not still has every token, and as many as there are buckets.
    """
    tokens = spell(full_minima(words, SCHEME))
    for has_repeats in (True, False):
        known = Counter(tokens) if has_repeats else dict.fromkeys(tokens, 1)
        for order_matters in (True, False):
            found = from_distinct(known, SCHEME, has_repeats=has_repeats, order_matters=order_matters)
            assert set(found.tokens) == set(tokens)
            assert len(found.tokens) == 512
            if found.is_exact:
                assert Counter(found.tokens) == Counter(tokens)
            if found.is_exact and order_matters:
                assert found.tokens == tokens
            if has_repeats and not order_matters:
                assert found.is_exact


def test_lost_first_units_are_placed_where_they_can_be_from() -> None:
    """
    A token that begins with half a surrogate pair stands between bucket 431 and bucket 448.
    """
    starts = [0xD700, 0xD810, 0xDA00, 0xE000]
    hashes = np.array([(start << 48) | 0x0041_0042_0043 for start in starts], dtype=np.uint64)
    tokens = spell(hashes)
    found = from_distinct(dict.fromkeys(tokens, 1), SCHEME, has_repeats=False, order_matters=True)
    order = list(dict.fromkeys(found.tokens))
    assert not found.is_exact
    assert len({token[0] for token in tokens[1:3]}) == 1
    assert order[-1] == tokens[3] or order[0] == tokens[3]
    assert set(tokens) == set(order)


def test_padded_hex_tells_its_bucket() -> None:
    """
    Alfresco's tokens from a field that keeps only distinct ones come back in bucket order.
    """
    tokens = spell(full_minima([f"word{number}" for number in range(9)], SCHEME), Spelling.HEX)
    found = from_distinct(dict.fromkeys(sorted(tokens), 1), SCHEME, has_repeats=False, order_matters=True)
    assert set(found.tokens) == set(tokens)
    if all(len(token) == 32 for token in tokens):
        assert found == Signature(SCHEME, tokens)


def test_nothing_gives_an_empty_signature() -> None:
    """
    A document without tokens has a signature without tokens.
    """
    assert from_distinct({}, SCHEME, has_repeats=True, order_matters=True) == Signature(SCHEME, ())
