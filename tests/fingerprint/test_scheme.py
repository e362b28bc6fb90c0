"""Schemes of signatures, and their names."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import ParameterError, SchemeMismatchError
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.words.tokenizer import PROFILES


def test_names_of_schemes() -> None:
    """
    A name lists the differences from Lucene's defaults; rotation appears only if it matters, so equal schemes have one
    name.
    """
    assert Scheme().name == "minhash1-icu74-w5-b512"
    assert Scheme("icu77", 5, 1, 2, 512, rotation=False).name == "minhash1-icu77-w5-b1-h2-s512"
    assert Scheme(rotation=False).name == "minhash1-icu74-w5-b512-unrotated"
    assert Scheme(bucket_count=1, rotation=False) == Scheme(bucket_count=1)


@pytest.mark.parametrize("name", ["icu99", "minhash2-icu74-w5-b512", "minhash1-icu74-w5", "minhash1-icu74-w5-b99999",
                                  "minhash1-icu74-w0-b512", "minhash1-icu74-w5-b512-h0", "minhash1-icu74-w٥-b512",
                                  ""])  # fmt: skip
def test_invalid_scheme_names_are_refused(name: str) -> None:
    """
    The error names the valid forms.
    """
    with pytest.raises(ParameterError, match=r"no scheme|is 1 to"):
        Scheme.parse(name)


def test_a_profile_is_a_name() -> None:
    """
    A profile alone names the scheme with Lucene's other defaults; the error for an unknown profile lists the known
    ones.
    """
    assert Scheme.parse("icu70") == Scheme("icu70")
    with pytest.raises(ParameterError, match="icu70, icu74, icu77"):
        Scheme.parse("icu99")


@given(
    st.sampled_from(PROFILES),
    st.integers(1, 999),
    st.integers(1, 65_536),
    st.integers(1, 1024),
    st.integers(1, 65_536),
    st.booleans(),
)
def test_a_name_gives_its_scheme_back(
    profile: str, words: int, buckets: int, functions: int, retained: int, rotation: bool
) -> None:
    """
    A name identifies its scheme, whatever the numbers; different schemes have different names.
    """
    scheme = Scheme(profile, words, buckets, functions, retained, rotation)
    assert Scheme.parse(scheme.name) == scheme
    assert scheme.name != Scheme(profile, words, buckets, functions % 1024 + 1, retained, rotation).name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scheme(shingle_size=1000), "shingle size is 1 to 999, got 1000"),
        (lambda: Scheme(shingle_size=2.5), "shingle size must be a whole number, got 2.5"),  # type: ignore[arg-type]
        (lambda: Scheme(bucket_count=True), "bucket count must be a whole number, got True"),
        (lambda: Scheme(bucket_count=0), "bucket count is 1 to 65536, got 0"),
        (lambda: Scheme(hash_count=1025), "hash count is 1 to 1024, got 1025"),
        (lambda: Scheme(hash_set_size=-1), "hash set size is 1 to 65536, got -1"),
    ],
)
def test_numbers_outside_their_ranges(make: Callable[[], Scheme], message: str) -> None:
    """
    The error has the parameter's name, its range and the given value.
    """
    with pytest.raises(ParameterError, match=f"^{message}$"):
        make()


def test_schemes_that_fill_every_bucket() -> None:
    """
    A scheme fills every bucket if it has one function, one hash per bucket, and rotation; bands and compiled loops rely
    on it.
    """
    filling = [Scheme(), Scheme(bucket_count=1, rotation=False), Scheme("icu77", 3, 100)]
    others = [Scheme(hash_count=2), Scheme(hash_set_size=2), Scheme(rotation=False)]
    assert [scheme.fills_every_bucket for scheme in filling + others] == [True] * 3 + [False] * 3


def test_differing_parameters_are_listed() -> None:
    """
    The error lists every differing part with both values; equal schemes pass.
    """
    Scheme().require(Scheme())
    with pytest.raises(
        SchemeMismatchError, match=r"in shingle_size \(5 and 3\), rotation \(True and False\); make both"
    ):
        Scheme().require(Scheme(shingle_size=3, rotation=False))
