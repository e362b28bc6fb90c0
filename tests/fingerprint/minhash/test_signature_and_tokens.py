"""Signatures restored from the distinct tokens of an index."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plain import full_minima, plain_filter, plain_minima
from tests.sampling import combine
from whorl.errors import SchemeMismatchError
from whorl.fingerprint.fingerprint_texts import sign, text_hashes
from whorl.fingerprint.minhash.bucket_estimates import buckets_of, compare_buckets, estimate_buckets
from whorl.fingerprint.minhash.signature_and_tokens import (
    Signature,
    TokenEncoding,
    buckets_from,
    distinct_minima,
    from_distinct,
    minima_of,
    read_tokens,
    shared_tokens,
    write_tokens,
)
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.statistics.metric import Shares

SCHEME = Scheme()
texts = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon"]), min_size=5, max_size=60)


@given(texts)
def test_repeats_and_order_are_preserved(words: list[str]) -> None:
    """
    A signature restored from distinct tokens has the same tokens, one for each bucket; an exact one also has their
    repeats, and their order if it matters.
    """
    tokens = write_tokens(full_minima(words, SCHEME))
    for has_repeats in (True, False):
        known = Counter(tokens) if has_repeats else dict.fromkeys(tokens, 1)
        for order_matters in (True, False):
            actual = from_distinct(
                known, SCHEME, TokenEncoding.UNITS_4, has_repeats=has_repeats, order_matters=order_matters
            )
            assert set(actual.tokens) == set(tokens)
            assert len(actual.tokens) == 512
            if actual.is_exact:
                assert Counter(actual.tokens) == Counter(tokens)
            if actual.is_exact and order_matters:
                assert actual.tokens == tokens
            if has_repeats and not order_matters:
                assert actual.is_exact


@given(st.lists(texts | st.just([]), max_size=4), st.sampled_from([1, 3, 100, 512]))
def test_distinct_minima_of_several_texts(several: list[list[str]], bucket_count: int) -> None:
    """
    The tokens of each text are the distinct minima in ascending order; a text without shingles has none.
    """
    scheme = Scheme(bucket_count=bucket_count)
    minima = [sorted({*full_minima(words, scheme)[:, 0].tolist()}) for words in several]
    hashes = [text_hashes(" ".join(words), scheme) for words in several]
    sizes = np.array([own.size for own in hashes], np.int64)
    together = np.concatenate([np.empty(0, np.uint64), *hashes])
    tokens, counts = distinct_minima(together, sizes, bucket_count)
    assert counts.tolist() == list(map(len, minima))
    assert tokens.tolist() == [token for own in minima for token in own]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "encoding"),
    combine(
        [
            *(Scheme(bucket_count=buckets) for buckets in (1, 3, 100, 500, 1000, 40_000, 65_535, 65_536)),
            *(Scheme(bucket_count=buckets, hash_count=3) for buckets in (1, 7, 16, 100)),
            *(Scheme(bucket_count=buckets, hash_set_size=3) for buckets in (1, 7, 100)),
            Scheme(bucket_count=500, hash_count=2, hash_set_size=2),
        ],
        [TokenEncoding.UNITS_4, TokenEncoding.UNITS_8],
    ),
    ids=str,
)
def test_exact_signatures_are_exact_under_every_scheme(scheme: Scheme, encoding: TokenEncoding) -> None:
    """
    Signatures marked as exact are exact under every scheme: for bucket borders within a unit, for several hash
    functions with rotation, and for several hashes per bucket.
    """
    exact = 0
    # A signature of 65,536 tokens takes a hundred times as long, so fewer texts of each length are enough.
    texts = 20 if scheme.bucket_count <= 1000 else 5
    for number in range(texts):
        words = [f"word{number}x{word}" for word in range((5, 6, 8, 60, 900)[number % 5])]
        tokens = write_tokens(full_minima(words, scheme), encoding)
        for has_repeats in (True, False):
            known = dict(sorted((Counter(tokens) if has_repeats else dict.fromkeys(tokens, 1)).items()))
            for order_matters in (True, False):
                actual = from_distinct(known, scheme, encoding, has_repeats=has_repeats, order_matters=order_matters)
                recovered = actual.tokens
                assert set(recovered) == set(tokens)
                exact += actual.is_exact
                if actual.is_exact:
                    assert Counter(recovered) == Counter(tokens)
                    assert recovered == tokens or not order_matters
    assert exact >= 0.6 * texts


def test_tokens_with_lost_units_go_to_possible_buckets() -> None:
    """
    A token that begins with half a surrogate pair is placed between buckets 431 and 448.
    """
    starts = [0xD700, 0xD810, 0xDA00, 0xE000]
    hashes = np.array([(start << 48) | 0x0041_0042_0043 for start in starts], dtype=np.uint64)
    tokens = write_tokens(hashes)
    actual = from_distinct(
        dict.fromkeys(tokens, 1), SCHEME, TokenEncoding.UNITS_4, has_repeats=False, order_matters=True
    )
    order = list(dict.fromkeys(actual.tokens))
    assert not actual.is_exact
    assert len({token[0] for token in tokens[1:3]}) == 1
    assert order[-1] == tokens[3] or order[0] == tokens[3]
    assert set(tokens) == set(order)


def test_padded_hexadecimal_gives_its_bucket() -> None:
    """
    Alfresco's tokens from a field of distinct tokens are restored in bucket order.
    """
    tokens = write_tokens(full_minima([f"word{number}" for number in range(9)], SCHEME), TokenEncoding.HEX)
    actual = from_distinct(
        dict.fromkeys(sorted(tokens), 1), SCHEME, TokenEncoding.HEX, has_repeats=False, order_matters=True
    )
    assert set(actual.tokens) == set(tokens)
    if all(len(token) == 32 for token in tokens):
        assert actual == Signature(SCHEME, read_tokens(tokens, TokenEncoding.HEX), TokenEncoding.HEX)


def test_no_tokens_give_an_empty_signature() -> None:
    """
    A document without tokens has an empty signature.
    """
    assert len(from_distinct({}, SCHEME, TokenEncoding.UNITS_4, has_repeats=True, order_matters=True)) == 0


@pytest.mark.parametrize("bucket_count", [1, 2, 3, 300, 512, 65_536])
def test_buckets_from_an_index_are_those_of_the_signature(bucket_count: int) -> None:
    """
    Buckets from an index equal those of the signature, for any number of buckets; a bucket that is empty, or may have
    lost its token, is left out.
    """
    scheme = Scheme(bucket_count=bucket_count)
    minima = full_minima([f"word{number}" for number in range(100)], scheme)[:, 0]
    expected, actual = (
        buckets_of(minima),
        buckets_from(Signature(scheme, read_tokens(write_tokens(minima)), TokenEncoding.UNITS_4)),
    )
    # One bucket in thirty-two may be lost, and one at a border.
    assert actual.is_known.sum() >= bucket_count * 31 // 32 - 1
    assert (actual.is_filled == expected.is_filled & actual.is_known).all()
    lost = np.array(["\ufffd" in token for token in write_tokens(minima)])
    exact = actual.is_filled & ~lost
    assert (actual.minima == expected.minima)[exact].all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "is_in_order", "least"),
    [
        (None, True, 0.95),
        (TokenEncoding.UNITS_4, True, 0.95),
        (TokenEncoding.UNITS_8, True, 0.95),
        (TokenEncoding.HEX, True, 0.95),
        (TokenEncoding.UNITS_8, False, 0.95),
        # Without the order some first units are misread.
        (TokenEncoding.HEX, False, 0.91),
    ],
)
def test_intervals_hold_for_every_token_encoding(
    encoding: TokenEncoding | None, is_in_order: bool, least: float
) -> None:
    """
    For pairs of sets of 20 to 20,000 hashes, with sizes up to ten times apart, the intervals contain the true shares in
    95 of 100 cases, and estimated sizes are right on average.
    """
    chance, holds, ratios = np.random.default_rng(5), list[bool](), list[float]()
    for _ in range(240):
        a = int(20 * 1000 ** chance.random())
        b = max(20, int(a * chance.choice([0.3, 1.0, 1.0, 1.2, 3.0, 10.0])))
        shared = int(min(a, b) * chance.choice([0.1, 0.2, 0.5, 0.8, 0.9, 1.0]))
        hashes = chance.integers(0, 1 << 64, (a + b - shared, 2), dtype=np.uint64)
        both = []
        for part in (hashes[:a], hashes[a - shared :]):
            minima = minima_of([part], Scheme())
            numbers = minima[:, 0] if encoding is None else read_tokens(write_tokens(minima, encoding), encoding)
            order = np.arange(512) if is_in_order else chance.permutation(512)
            both.append(buckets_from(Signature(Scheme(), numbers[order], encoding)))
        (estimates,) = estimate_buckets(compare_buckets(both[0], [both[1]]))
        truth = Shares.of_counts(shared, a, b)
        holds += [getattr(estimates.low, n) <= getattr(truth, n) <= getattr(estimates.high, n) for n in Shares.NAMES]
        ratios.append(both[0].size / a)
    assert np.mean(holds) >= least
    assert np.mean(ratios) == pytest.approx(1, abs=0.03)


def test_an_empty_token_is_no_error() -> None:
    """
    An empty token in an index causes no error.
    """
    assert from_distinct({"": 1}, SCHEME, TokenEncoding.HEX, has_repeats=True, order_matters=True).tokens


def test_four_words_have_no_signature() -> None:
    """
    Fewer words than a shingle have no tokens; five words are one token, repeated in every bucket.
    """
    assert sign("one two three four", Scheme()).tokens == ()
    five = sign("one two three four five", Scheme())
    assert len(five.tokens) == 512
    assert len(set(five.tokens)) == 1


def test_different_schemes_cannot_be_compared() -> None:
    """
    The error names the differing part with both values.
    """
    mine, theirs = (Signature(Scheme(profile), np.ones(1, np.uint64)) for profile in ("icu74", "icu77"))
    with pytest.raises(SchemeMismatchError, match=r"profile \(icu74 and icu77\)"):
        shared_tokens(mine, theirs)
    assert shared_tokens(mine, mine) == 1


words = st.lists(st.text(st.characters(exclude_categories=()), min_size=1, max_size=6), max_size=40)


@given(words, st.sampled_from([1, 7, 64, 512]))
def test_minima_equal_the_plain_filter(tokens: list[str], bucket_count: int) -> None:
    """
    The arrays have the minima of Lucene's loop, with rotation.
    """
    actual = full_minima(tokens, Scheme(bucket_count=bucket_count))
    assert [tuple(row) for row in actual.tolist()] == plain_minima(tokens, bucket_count)


schemes = st.builds(
    Scheme,
    shingle_size=st.integers(1, 6),
    bucket_count=st.sampled_from([1, 2, 3, 100, 512]),
    hash_count=st.integers(1, 3),
    hash_set_size=st.integers(1, 4),
    rotation=st.booleans(),
)


@given(st.lists(st.sampled_from("abcdef"), max_size=60), schemes)
def test_every_scheme_equals_the_plain_filter(tokens: list[str], scheme: Scheme) -> None:
    """
    Schemes with several hash functions, several hashes per bucket (fewer after repeated shingles) and empty buckets
    equal the reference implementation.
    """
    actual = full_minima(tokens, scheme)
    assert [high << 64 | low for high, low in actual.tolist()] == plain_filter(tokens, scheme)


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme", [Scheme(), Scheme(hash_count=4), Scheme(hash_set_size=2)], ids=lambda scheme: scheme.name
)
def test_hashes_of_a_long_text_are_processed_in_pieces(scheme: Scheme) -> None:
    """
    A million shingles in pieces take bounded memory and give the minima of the whole.
    """
    maker = np.random.default_rng(1)
    sizes = [0, 1, 99_999, *(100_000 for _ in range(9))]
    tracemalloc.start()
    try:
        actual = minima_of((maker.integers(0, 1 << 64, (size, 2), np.uint64) for size in sizes), scheme)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 25_000_000
    maker = np.random.default_rng(1)
    at_once = np.concatenate([maker.integers(0, 1 << 64, (size, 2), np.uint64) for size in sizes])
    assert np.array_equal(minima_of([at_once], scheme), actual)
