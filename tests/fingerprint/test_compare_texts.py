"""Exact comparison: examples by hand, a reference implementation of the passage rule, and bounds on the work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.checks import Checks
from tests.fingerprint.compiled.scripts import ROUTES, routed
from tests.sampling import thorough
from whorl.errors import ParameterError, StoppedError
from whorl.fingerprint.compare_texts import (
    CANDIDATES,
    Comparison,
    Passage,
    RunIndex,
    ShingleIndex,
    Size,
    compare,
    compare_words,
    match_plainly,
    match_shingles,
    words_of,
)
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.words.tokenizer import PROFILES, tokens
from whorl.request_context import new_request

FOX = "The quick brown fox jumps over the lazy dog."
#: Few different words, so that texts repeat in every way; some fold to others, some take two UTF-16 units.
repetitive = st.lists(
    st.sampled_from(["a", "b", "A", "ﬁ", "fi", "😀", "ß", "漢字の", "İ", "e\u0301"]), max_size=60
).map(" ".join)
numbers = st.lists(st.integers(0, 3), max_size=70)
sizes = st.sampled_from([1, 2, 3, 5, 7])


@pytest.fixture(scope="module", params=ROUTES, autouse=True)
def route(request: pytest.FixtureRequest) -> Iterator[str]:
    """Compare without and with the compiled loops."""
    with routed(request.param, "whorl.fingerprint.compare_texts") as route:
        yield route


@pytest.fixture
def _without_loops(route: str) -> None:
    """Skip a test of checks and counts that the compiled loops do not make."""
    if route != "numpy":
        pytest.skip("the compiled loops do all work at once")


def texts_of(comparison: Comparison, a: str, b: str) -> list[tuple[str, str]]:
    """Return the passages as substrings of both texts."""
    return [(a[slice(*passage.a)], b[slice(*passage.b)]) for passage in comparison.passages]


def test_two_sentences() -> None:
    """
    Nine words are five shingles; the changed word is in the other three, so the first two are shared.
    """
    other = "So: THE QUICK, brown fox jumps over a lazy dog."
    comparison = compare(FOX, other)
    assert (comparison.a, comparison.b) == (Size(9, 5, 6), Size(10, 6, 6))
    assert comparison.shared_shingles == 2  # the quick brown fox jumps, quick brown fox jumps over
    assert astuple(comparison.shares) == (2 / 9, 2 / 5, 2 / 6)
    assert comparison.passages == (Passage((0, 30), (4, 35), 6),)
    assert texts_of(comparison, FOX, other) == [("The quick brown fox jumps over", "THE QUICK, brown fox jumps over")]


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [(None, "a", "the first text must be text, got None"), ("a", b"b", "the second text must be text, got b'b'")],
)
def test_texts_of_other_types(a: Any, b: Any, message: str) -> None:
    """
    A text of another type is whorl's own error.
    """
    with pytest.raises(ParameterError, match=message):
        compare(a, b)


def test_passages_are_a_sequence() -> None:
    """The passages of a comparison behave like a tuple, as a whole and in slices."""
    first, second = Passage((0, 15), (0, 15), 3), Passage((20, 33), (16, 29), 3)
    passages = compare(
        "the quick brown fox jumps over it", "the quick brown jumps over it", Scheme(shingle_size=3)
    ).passages
    assert [*passages] == [first, second]
    assert passages == (first, second) != passages[:1]
    assert (passages[0], passages[-1]) == (first, second)
    assert [*map(tuple, (passages[1:], passages[:0], passages[::-1]))] == [(second,), (), (second, first)]
    assert (hash(passages), repr(passages)) == (hash((first, second)), repr((first, second)))
    with pytest.raises(IndexError):
        passages[2]


@pytest.mark.parametrize(
    ("a", "b", "passages"),
    [
        ("a b c d e", "a b c d e", ["a b c d e"]),
        ("a b c d", "a b c d", []),  # fewer words than a shingle
        ("x a b c d e y a b c d f", "a b c d e", ["a b c d e"]),
        # In another order: one passage for each part, the longer first.
        ("a b c d e 1 2 3 4 5 6", "1 2 3 4 5 6 a b c d e", ["1 2 3 4 5 6", "a b c d e"]),
        # Twice in A, once in B: two passages.
        ("a b c d e x a b c d e", "a b c d e", ["a b c d e", "a b c d e"]),
        # Once in A, twice in B: one passage.
        ("a b c d e", "a b c d e x a b c d e", ["a b c d e"]),
        # Two passages share the words c d e f in A.
        ("a b c d e f g h", "a b c d e f 1 c d e f g h", ["a b c d e f", "c d e f g h"]),
        ("w w w w w w w", "w w w w w w w", ["w w w w w w w"]),
    ],
)
def test_passages(a: str, b: str, passages: list[str]) -> None:
    """
    The passages of both texts are those expected, longest first.
    """
    comparison = compare(a, b)
    assert [text for text, _ in texts_of(comparison, a, b)] == passages
    assert all(passage.a[1] - passage.a[0] == passage.b[1] - passage.b[0] for passage in comparison.passages)


def test_a_passage_that_b_repeats_continues_the_previous_one() -> None:
    """
    The chorus occurs twice in B; after the second verse, the passage refers to the second one.
    """
    chorus, first, second = "la le li lo lu ly", "one two three four five six", "seven eight nine ten eleven twelve"
    b = f"{first} {chorus} {second} {chorus}"
    (passage,) = compare(f"{second} {chorus}", b).passages
    assert b[slice(*passage.b)] == f"{second} {chorus}"
    # An inserted word separates chorus and verse, and the nearer chorus is still chosen.
    *_, passage = sorted(compare(f"{second} inserted {chorus}", b).passages, key=lambda passage: passage.a)
    assert (b[slice(*passage.b)], passage.b[1]) == (chorus, len(b))


@pytest.mark.parametrize(
    ("a", "b"), [("", ""), ("a b c d", "a b c d"), ("", FOX), (FOX, "quick brown fox jumps"), ("…", "a b c d e")]
)
def test_a_text_shorter_than_a_shingle_is_contained_nowhere(a: str, b: str) -> None:
    """
    If a text is shorter than a shingle, sizes and shares are 0, even for equal texts.
    """
    comparison = compare(a, b)
    assert 0 in (comparison.a.shingles, comparison.b.shingles)
    assert astuple(comparison.shares) == (0, 0, 0)
    assert (comparison.a.coverage, comparison.b.coverage, comparison.shared_shingles) == (0, 0, 0)
    assert not comparison.passages


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("ﬁve ﬁshes in the STRAẞE, İzmir", "FIVE FISHES IN THE strasse, i\u0307zmir"),
        ("cafe\u0301 \u1112\u1161\u11ab한 soft\u00adhyphen Ｗｉｄｅ Ⅳ", "caf\u00e9 한 한 softhyphen wide iv"),
        ("😀 𐐀𐐁 one two 👩\u200d👧", "😀 𐐨𐐩 one two 👩\u200d👧"),
        ("日本語の文章 です", "【日本語の文章 です】"),
        ("ภาษาไทย ภาษาลาว ภาษา", "“ภาษาไทย ภาษาลาว ภาษา”"),
        ("x \ud83d\ude00 one two three", "x 😀 one two three"),
    ],
)
@pytest.mark.parametrize("before", ["", "😀 ", "\ud800, ", "ab 😀 " * 1500])
def test_ranges_survive_normalisation(a: str, b: str, before: str) -> None:
    """
    Ranges refer to the original text, whatever normalisation changes.
    """
    (passage,) = compare(before + a, "* * " + b, Scheme(shingle_size=4)).passages
    end = len(a) if a[-1].isalnum() or ord(a[-1]) > 0x7F else a.rindex(" ")
    assert passage.a == (len(before), len(before) + end)
    assert ("* * " + b)[slice(*passage.b)].strip("【】“”") == b.strip("【】“”")


BROKEN = "We saw an exam-\nple of well-\nknown words that a para-\ngraph has in it"


@pytest.mark.parametrize(
    ("other", "passages"),
    [
        ("We saw an example of well-known words that a paragraph has in it", [BROKEN]),
        (BROKEN, [BROKEN]),
        ("We saw an exam-\nple of well-known words that a para-\ngraph has in it", [BROKEN]),
        ("We saw an example of well-known words that a text has in it", [BROKEN[:47]]),
    ],
)
def test_words_broken_at_line_ends(other: str, passages: list[str]) -> None:
    """
    A broken word equals the whole one, and a hyphen that belongs to a word stays. Ranges refer to the original texts.
    """
    for a, b in ((BROKEN, other), (other, BROKEN)):
        comparison = compare(a, b)
        texts = [(a[slice(*passage.a)], b[slice(*passage.b)]) for passage in comparison.passages]
        assert [text_a if a is BROKEN else text_b for text_a, text_b in texts] == passages
    assert comparison.shares.jaccard == 1 or passages != [BROKEN]


def test_halves_of_several_line_ends() -> None:
    """
    A word in three pieces keeps its last one. Unknown words stay broken.
    """
    of_text = words_of("one in-\nde-\npendent two un-\nknown")
    assert of_text.whole_words() == ["inde", "dependent", "unknown"]
    assert of_text.rejoin({"inde"}).words == ["one", "inde", "pendent", "two", "un", "known"]
    assert of_text.rejoin(()) is of_text
    rejoined = of_text.rejoin({"unknown"})
    assert rejoined.spans.tolist()[-1] == [24, 33]


def test_a_scheme_decides() -> None:
    """
    The scheme determines words and shingle size; an unknown profile is an error.
    """
    assert compare("a b c", "b c d", Scheme(shingle_size=2)).shares.jaccard == 1 / 3
    assert compare("x url:http", "x url http", Scheme("icu70", 1)).shared_shingles == 1
    assert compare("x url:http", "x url http", Scheme("icu74", 1)).shared_shingles == 3
    with pytest.raises(ParameterError, match="icu99"):
        compare("a", "b", Scheme("icu99"))


@given(repetitive, repetitive, sizes, st.sampled_from(PROFILES))
def test_counts_equal_plain_sets(a: str, b: str, size: int, profile: str) -> None:
    """
    Sizes and shares equal those of sets of shingles, and are mirrored for swapped texts.
    """

    def shingles(text: str) -> list[tuple[str, ...]]:
        words = tokens(text, profile)
        return [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]

    scheme = Scheme(profile, size)
    actual, mirrored = compare(a, b, scheme), compare(b, a, scheme)
    of_a, of_b = set(shingles(a)), set(shingles(b))
    within = {at + n for at, shingle in enumerate(shingles(a)) if shingle in of_b for n in range(size)}
    assert actual.a == Size(len(tokens(a, profile)), len(of_a), len(within)) == mirrored.b
    assert actual.b == mirrored.a
    assert actual.shared_shingles == len(of_a & of_b) == mirrored.shared_shingles
    assert actual.shares.jaccard == (len(of_a & of_b) / len(of_a | of_b) if of_a | of_b else 0)
    assert actual.shares.a_in_b == mirrored.shares.b_in_a


@given(repetitive, repetitive, sizes)
def test_passages_have_equal_words(a: str, b: str, size: int) -> None:
    """
    Both ranges of a passage have the same words and the reported number of them; together they cover exactly the shared
    words.
    """
    comparison = compare(a, b, Scheme(shingle_size=size))
    words = tokens(a)
    covered = 0
    for passage, (in_a, in_b) in zip(comparison.passages, texts_of(comparison, a, b), strict=True):
        assert tokens(in_a) == tokens(in_b)
        assert len(tokens(in_a)) == passage.words >= size
        covered += passage.words
    assert comparison.a.shared_words <= covered
    assert (comparison.a.shared_words == len(words) > 0) == (comparison.a.coverage == 1)
    assert [passage.words for passage in comparison.passages] == sorted(
        (passage.words for passage in comparison.passages), reverse=True
    )


def common(a: list[int], start: int, b: list[int], place: int) -> int:
    length = 0
    while start + length < len(a) and place + length < len(b) and a[start + length] == b[place + length]:
        length += 1
    return length


def plain_matches(a: list[int], b: list[int]) -> list[tuple[int, int, int]]:
    """Return the passages by the rule, in a plain loop."""
    anchored = set()
    for at, item in enumerate(a):
        if b.count(item) == 1:
            start, place = at, b.index(item)
            while start and place and a[start - 1] == b[place - 1]:
                start, place = start - 1, place - 1
            anchored.add((start, place, common(a, start, b, place)))
    covered = {start + n for start, _, length in anchored for n in range(length)}
    actual: list[tuple[int, int, int]] = []
    shift = at = 0
    while at < len(a):
        if at in covered or a[at] not in b:
            at += 1
            continue
        before = [match for match in (*anchored, *actual) if match[0] < at]
        if before:
            start, place, _ = max(before)
            shift = place - start
        places = [place for place, item in enumerate(b) if item == a[at]]
        near = [*sorted(places, key=lambda place: (abs(place - at - shift), place))[:CANDIDATES], places[0]]
        place = max(near, key=lambda place: common(a, at, b, place))
        actual.append((at, place, common(a, at, b, place)))
        at += common(a, at, b, place)
    return sorted([*anchored, *actual])


def matches(a: list[int], b: list[int]) -> list[tuple[int, ...]]:
    arrays = np.array(a, np.int64), np.array(b, np.int64), np.arange(len(a))
    return sorted(map(tuple, match_shingles(*arrays).tolist()))


# The run in the middle of A is short, and B continues it with the last run of A.
@example("a b c d e f g h i j k l m n q q q q q q q k l m n o p r s", "a b c d e f g h i j z j k l m n o p r s", 8)
@given(repetitive, repetitive, st.integers(1, 12))
def test_long_passages_hold_every_long_run(a: str, b: str, min_words: int) -> None:
    """
    With `min_words`, long passages cover exactly the words of A in runs of that length that B contains, by plain
    tuples.
    """
    of_a, of_b = words_of(a), words_of(b)
    length = max(min_words, 5)
    runs_b = {tuple(of_b.words[at : at + length]) for at in range(len(of_b.words) - length + 1)}
    starts = (at for at in range(len(of_a.words) - length + 1) if tuple(of_a.words[at : at + length]) in runs_b)
    expected = {at + step for at in starts for step in range(length)}
    actual = set[int]()
    for passage in compare_words(of_a, of_b, min_words=min_words).passages:
        if passage.words >= min_words:
            start = int(np.searchsorted(of_a.spans[:, 0], passage.a[0]))
            place = int(np.searchsorted(of_b.spans[:, 0], passage.b[0]))
            assert of_a.words[start : start + passage.words] == of_b.words[place : place + passage.words]
            actual.update(range(start, start + passage.words))
    assert actual == expected


def test_a_long_run_after_a_short_passage() -> None:
    """
    B has "one … seven" once and "three … ten" twice: the plain rule finds passages of seven words only, `min_words` the
    longer one.
    """
    a = words_of("one two three four five six seven eight nine ten")
    three = "three four five six seven eight nine ten"
    b = words_of(f"{three}. One two three four five six seven. {three}.")
    assert [passage.words for passage in compare_words(a, b).passages] == [7, 7]
    starts = {passage.a[0] for passage in compare_words(a, b, min_words=8).passages if passage.words >= 8}
    assert starts == {8}


@given(numbers, numbers)
def test_passages_equal_a_plain_implementation(a: list[int], b: list[int]) -> None:
    """
    The arrays find the passages of the plain loop, for items that repeat often.
    """
    assert matches(a, b) == plain_matches(a, b)


@given(st.permutations(range(40)), st.lists(st.integers(0, 45), max_size=60))
def test_passages_around_unique_shingles(b: list[int], a: list[int]) -> None:
    """
    The same holds if every item of b is unique.
    """
    assert matches(a, b) == plain_matches(a, b)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8)), max_size=12), st.lists(st.integers(0, 6), max_size=38)
)
def test_passages_of_a_patchwork(pieces: list[tuple[int, int]], b: list[int]) -> None:
    """
    The same holds if a consists of pieces of b.
    """
    a = [item for start, length in pieces for item in b[start : start + length]]
    assert matches(a, b) == plain_matches(a, b)


HARD = {
    "one word": ([0] * 50_000, [0] * 50_000),
    "one word, fewer": ([0] * 50_000, [0] * 500),
    "one word, once": ([0] * 50_000, [0]),
    "in turn": ([0, 1] * 25_000, [1, 0, 0] * 17_000),
    "a little more each time": (
        [item for size in range(1, 300) for item in [0] * size + [1]],
        [item for size in range(300, 1, -1) for item in [0] * size + [1]],
    ),
    "ever new": ([item for end in range(2, 300) for item in range(end)], list(range(300)) * 2),
    "by chance": (
        np.random.default_rng(1).integers(0, 2, 40_000).tolist(),
        np.random.default_rng(2).integers(0, 2, 40_000).tolist(),
    ),
    "backwards": (list(range(20_000)), list(range(20_000))[::-1]),
    "backwards twice": (list(range(10_000)) * 2, list(range(10_000))[::-1] * 2),
}


class Counted(int):
    """An item that counts the comparisons of all items."""

    comparisons = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return int(self) == other


@pytest.mark.slow
@pytest.mark.usefixtures("_without_loops")
@pytest.mark.parametrize("hard", HARD)
def test_the_work_grows_with_the_length(hard: str) -> None:
    """
    Texts that repeat themselves in any way take at most 300 comparisons per shingle, not one for each pair. The
    compiled loops do not count them, and would take minutes.
    """
    a, b = HARD[hard]
    Counted.comparisons = 0
    counted: list[list[int]] = [[*map(Counted, items)] for items in (a, b)]
    actual = np.array(match_plainly(counted[0], counted[1], [*range(len(a))]), np.int64)
    assert len(a) <= Counted.comparisons <= 300 * len(a)
    assert len(actual) <= len(a)
    covered = np.zeros(len(a) + 1, np.int64)
    np.add.at(covered, actual[:, 0], 1)
    np.add.at(covered, actual[:, 0] + actual[:, 2], -1)
    assert ((np.cumsum(covered)[:-1] > 0) == np.isin(a, b)).all()
    for start, place, length in actual[:: max(1, len(actual) // 200)].tolist():
        assert a[start : start + length] == b[place : place + length]


def test_a_text_of_one_repeated_word() -> None:
    """
    A word repeated a hundred thousand times is one shingle and one passage.
    """
    text = "word " * 100_000
    comparison = compare(text, text)
    assert (comparison.a, comparison.shares.jaccard) == (Size(100_000, 1, 100_000), 1)
    assert comparison.passages == (Passage((0, 499_999), (0, 499_999), 100_000),)


@thorough
@pytest.mark.usefixtures("_without_loops")
def test_a_comparison_stops_at_each_check() -> None:
    """
    For two texts of 5,000 words of four kinds, with hundreds of passages, cancellation is checked for each buffer of
    words and about every second passage, and stops the work at each check.
    """
    random = Random(7)
    a, b = (" ".join(random.choices([f"word{kind}" for kind in range(4)], k=5_000)) for _ in "ab")
    whole = Checks()
    with new_request("", whole):
        passages = compare(a, b).passages
    assert whole.count > (len(a) + len(b)) / 4_096 + len(passages) / 2 > 500
    for last in range(0, whole.count, whole.count // 40):
        cancelled = Checks(last)
        with new_request("", cancelled), pytest.raises(StoppedError):
            compare(a, b)
        assert cancelled.count == last + 1


@pytest.mark.parametrize("size", [1, 3, 8])
def test_runs_are_numbered(size: int) -> None:
    """
    Equal runs of both sequences have equal numbers, without gaps.
    """
    random = Random(7)
    a, b = (np.array(random.choices(range(4), k=500), np.int64) for _ in "ab")
    b[100:200] = 4
    runs = [tuple(tokens[at : at + size].tolist()) for tokens in (a, b) for at in range(len(tokens) - size + 1)]
    index = RunIndex(a, size)
    numbers = [*index.runs.tolist(), *index.number(b).tolist()]
    assert len(set(zip(numbers, runs, strict=True))) == len(set(runs)) == len(set(numbers))
    assert set(numbers) == set(range(len(set(runs))))
    assert set(index.runs.tolist()) == set(range(index.distinct))


@given(repetitive, st.lists(repetitive, max_size=4), sizes, st.integers(0, 9), st.integers(0, 2))
def test_a_text_is_indexed_once_for_several_comparisons(
    a: str, others: list[str], size: int, min_words: int, kept: int
) -> None:
    """
    An indexed text has the same passages with each of several texts as by the plain rule, even if it drops the words of
    earlier texts.
    """
    scheme = Scheme(shingle_size=size)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("whorl.fingerprint.compare_texts._MOST_OTHER_WORDS", kept)
        index = ShingleIndex(words_of(a, scheme), scheme)
        for b in others:
            words = [tokens(text) for text in (a, b)]
            runs = [[tuple(word[at : at + size]) for at in range(len(word) - size + 1)] for word in words]
            of_run = {run: number for number, run in enumerate(dict.fromkeys([*runs[0], *runs[1]]))}
            plain = plain_matches(*([of_run[run] for run in tokens] for tokens in runs))
            spans = [words_of(text).spans for text in (a, b)]
            expected = [
                Passage(
                    (int(spans[0][start, 0]), int(spans[0][start + length + size - 2, 1])),
                    (int(spans[1][place, 0]), int(spans[1][place + length + size - 2, 1])),
                    length + size - 1,
                )
                for start, place, length in sorted(plain, key=lambda match: (-match[2], match[0]))
            ]
            assert list(index.compare(words_of(b, scheme)).passages) == expected
            assert index.compare(words_of(b, scheme), None, min_words) == compare_words(
                words_of(a, scheme), words_of(b, scheme), scheme, None, min_words
            )


@pytest.mark.usefixtures("_without_loops")
def test_a_long_comparison_checks_for_each_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The smaller the portions, the more often a comparison checks for cancellation: at least once for each of them.
    """
    text = " ".join(f"word{number % 997}" for number in range(4_000))
    counts = []
    for _ in range(2):
        checks = Checks()
        with new_request("", checks):
            compare(text, text)
        counts.append(checks.count)
        monkeypatch.setattr("whorl.fingerprint.compare_texts._NUMBERED_AT_ONCE", 64)
    assert counts[1] - counts[0] > 1.5 * 4_000 / 64
