"""Passage numbers by winnowing: compared with sliding windows in plain Python, and their guarantees."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks import Checks
from tests.plain import read_joined_words
from whorl import ParameterError
from whorl.fingerprint.shingling import Scheme, join
from whorl.fingerprint.winnowing import (
    BROKEN_WORDS,
    PassageScheme,
    hashes_to_look_up,
    passage_places,
    run_hashes,
    stored_passage_hashes,
    winnow,
    winnow_with_positions,
    word_hashes,
)
from whorl.request_context import new_request

SCHEME = PassageScheme()
FEW = st.lists(st.sampled_from(["the", "a", "of", "whale", "š", "捕鯨"]), max_size=60)
LATIN = st.lists(st.sampled_from(["the", "a", "of", "whale", "š"]), max_size=60)
SCHEMES = st.integers(2, 12).flatmap(
    lambda run: st.integers(1, run).map(lambda hashed: PassageScheme(run_words=run, hashed_words=hashed))
)


@given(FEW, SCHEMES)
def test_the_same_as_in_plain_python(words: list[str], scheme: PassageScheme) -> None:
    """
    The numbers are the smallest hashes of the windows, in order. Two runs of words have the same hash if and only if
    they are equal.
    """
    hashes = run_hashes(join(words), scheme).tolist()
    size = scheme.hashed_words
    if len(words) < scheme.run_words:
        assert hashes == winnow(join(words), scheme).tolist() == []
        return
    runs = [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]
    assert len(hashes) == len(runs)
    assert len(set(hashes)) == len(set(runs)) == len(set(zip(hashes, runs, strict=True)))
    smallest = [min(hashes[at : at + scheme.window]) for at in range(len(hashes) - scheme.window + 1)]
    plain = list(dict.fromkeys(number % (1 << scheme.bits) for number in smallest))
    _, in_order = winnow_with_positions(join(words), scheme)
    assert list(dict.fromkeys(in_order.tolist())) == plain
    assert winnow(join(words), scheme).tolist() == sorted(plain)


def test_numbers_of_a_text_with_a_broken_word() -> None:
    """
    A text with a broken word keeps its hashes, those of the text with the joined word, and a mark.
    """
    whole = (
        " ".join(f"w{number}" for number in range(15)) + " example " + " ".join(f"v{number}" for number in range(15))
    )
    broken = whole.replace("example", "exam-\nple")
    profile = Scheme().profile
    kept, of_halves = (set(winnow(read_joined_words(text, profile), SCHEME).tolist()) for text in (whole, broken))
    numbers = stored_passage_hashes(broken, read_joined_words(broken, profile), Scheme(), SCHEME).tolist()
    assert numbers == sorted(kept | of_halves | {BROKEN_WORDS})
    assert kept != of_halves
    assert stored_passage_hashes(whole, read_joined_words(whole, profile), Scheme(), SCHEME).tolist() == sorted(kept)


@given(LATIN, SCHEMES, st.sets(st.integers(0, 30), max_size=3))
def test_places_of_hashes(words: list[str], scheme: PassageScheme, broken: set[int]) -> None:
    """
    Each stored hash has its place: the number of words before it, where a broken word counts as two.
    """
    long = [f"{word}example" for word in words]
    text = " ".join(f"{word[:-3]}-\n{word[-3:]}" if at in broken else word for at, word in enumerate(long))
    profile, halves = Scheme().profile, [at for at, word in enumerate(long) for _ in range(1 + (at in broken))]
    given = read_joined_words(text, profile)
    found = passage_places(text, given, Scheme(), scheme)
    assert found.words == len(halves) == len(given.starts) - 1
    assert sorted(set(found.hashes.tolist())) == stored_passage_hashes(text, given, Scheme(), scheme).tolist()
    # Hashes of runs of both versions, by the places of their first words.
    expected = set(enumerate(run_hashes(given, scheme).tolist()))
    expected |= {(halves.index(at), number) for at, number in enumerate(run_hashes(join(long), scheme).tolist())}
    expected = {(at, number % (1 << scheme.bits)) for at, number in expected} | {(0, BROKEN_WORDS)}
    assert set(zip(found.places.tolist(), found.hashes.tolist(), strict=True)) <= expected
    assert (np.diff(found.places) >= 0).all()
    whole, _ = winnow_with_positions(given, scheme)
    assert set(whole.tolist()) <= set(found.places.tolist())


@given(FEW, SCHEMES)
def test_the_words_around_a_hash(words: list[str], scheme: PassageScheme) -> None:
    """
    The range of a hash has the words of all windows whose smallest hash it is; among equal hashes, the first counts.
    """
    numbers, ranges = hashes_to_look_up(join(words), scheme)
    assert len(numbers) == len(ranges) == max(0, len(words) - scheme.hashed_words + 1)
    hashes = run_hashes(join(words), scheme).tolist()
    assert [number % (1 << scheme.bits) for number in hashes] == (numbers.tolist() if hashes else [])
    expected: list[set[int]] = [set() for _ in numbers]
    for start in range(len(words) - scheme.run_words + 1):
        smallest = min(range(start, start + scheme.window), key=hashes.__getitem__)
        expected[smallest] |= {*range(start, start + scheme.run_words)}
    assert [{*range(*words)} for words in ranges.tolist()] == expected


@given(FEW, FEW, FEW, FEW, FEW, SCHEMES)
def test_a_common_run_shares_a_number(
    common: list[str], before: list[str], after: list[str], left: list[str], right: list[str], scheme: PassageScheme
) -> None:
    """
    Texts with a common run of `run_words` words share a number, whatever surrounds it.
    """
    one, other = (winnow(join([*start, *common, *end]), scheme) for start, end in ((before, after), (left, right)))
    if len(common) >= scheme.run_words:
        assert set(one.tolist()) & set(other.tolist())


@pytest.mark.parametrize(
    "passage",
    [
        "call me ishmael some years ago never mind how long precisely having little or no money in my purse and no",
        "捕鯨船の甲板に立って、彼は海を見た。白い鯨がその向こうで潮を吹いていた。誰も声を出さなかった。",
        "он стоял на палубе и смотрел на море а белый кит пускал фонтаны вдали и никто не сказал ни слова об этом",
    ],
)
def test_lines_may_be_wrapped_anywhere(passage: str) -> None:
    """
    A passage shares a number with the same one in another text, even if its lines are wrapped differently.
    """
    other = passage.replace("，", "").replace("。", "。\n") if "。" in passage else passage.upper().replace(" ", "\n  ")
    numbers = [winnow(read_joined_words(text, "icu74"), SCHEME).tolist() for text in (f"x. {passage} y", f"z! {other}")]
    assert set(numbers[0]) & set(numbers[1])


def test_how_many_are_kept() -> None:
    """
    For random words, the number of kept hashes is the expected one, 2 / (window + 1) of all, within four standard
    deviations.
    """
    chance = random.Random(1)
    winnowed_hashes = winnow(join([str(chance.random()) for _ in range(20_000)]), SCHEME).size
    expected = 20_000 * 2 / (SCHEME.window + 1)
    assert abs(winnowed_hashes - expected) < 4 * expected**0.5


def test_numbers_use_all_bits_evenly() -> None:
    """
    Although the smallest hashes are kept, a quarter of the numbers is in each quarter of their range.
    """
    chance = random.Random(2)
    winnowed_hashes = winnow(join([str(chance.random()) for _ in range(20_000)]), SCHEME)
    for quarter in range(4):
        share = (winnowed_hashes >> 30 == quarter).mean()
        assert abs(share - 0.25) < 4 * (0.25 * 0.75 / winnowed_hashes.size) ** 0.5


@given(st.integers(2, 999).flatmap(lambda run: st.tuples(st.just(run), st.integers(1, run))), st.integers(24, 48))
def test_names(words: tuple[int, int], bits: int) -> None:
    """
    A scheme can be restored from its name, and from the name before apostrophes were folded.
    """
    scheme = PassageScheme(*words, bits)
    assert PassageScheme.parse(scheme.name) == scheme
    assert PassageScheme.parse(scheme.name.replace("passages2", "passages1")) == scheme
    assert scheme.window + scheme.hashed_words == scheme.run_words + 1


@pytest.mark.parametrize("name", ["", "passages2-t20-k8", "passages3-t20-k8-b32", "passages2-t20-k21-b32"])
def test_other_names(name: str) -> None:
    """
    Other names are refused with the reason.
    """
    with pytest.raises(ParameterError, match="passage scheme"):
        PassageScheme.parse(name)


def test_words_of_several_texts_have_the_hashes_that_they_have_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Words of several texts have the same hashes as alone, for texts without words and any portion size.
    """
    monkeypatch.setattr("whorl.fingerprint.winnowing._BYTES_AT_ONCE", 40)
    texts = [join(text.split()) for text in ("to be or not", "", "to be", "a text that is longer than forty bytes are")]
    alone = [word_hashes([words]) for words in texts]
    assert [own.size for own in alone] == [4, 0, 2, 9]
    assert word_hashes(texts).tolist() == np.concatenate(alone).tolist()


def test_words_of_a_long_text_are_hashed_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Hashing a long text in portions of whole words gives the same result; each portion checks for cancellation.
    """
    words = join([f"word{number}" for number in range(500)] + ["a-word-that-is-longer-than-a-portion"])
    whole = word_hashes([words]).tolist()
    monkeypatch.setattr("whorl.fingerprint.winnowing._BYTES_AT_ONCE", 64)
    checks = Checks()
    with new_request("", checks):
        assert word_hashes([words]).tolist() == whole
    assert checks.count >= words.encoded.size // 64
