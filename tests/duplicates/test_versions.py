"""Tests of the order of versions, and of the words that each version adds and loses, against plain Python."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.families import shingles
from whorl.duplicates.versions import in_order, told_apart
from whorl.fingerprint.compare import words_of
from whorl.fingerprint.scheme import Scheme

_TEXTS = st.lists(st.sampled_from("abcd"), max_size=40).map(" ".join)


@given(st.lists(st.tuples(st.none() | st.sampled_from([1.0, 2.0, 3.0]), st.integers(1, 9)), max_size=8))
def test_dates_decide_and_then_what_contains_what(documents: list[tuple[float | None, int]]) -> None:
    """
    Versions ascend by date, and without dates by size; a document without a date comes before the first larger one.
    """
    dates, sizes = [date for date, _ in documents], [size for _, size in documents]
    order = in_order(dates, sizes)
    assert sorted(order) == list(range(len(documents)))
    dated = [at for at in order if dates[at] is not None]
    assert dated == sorted(dated, key=lambda at: (dates[at], at))
    undated = [at for at in order if dates[at] is None]
    assert undated == sorted(undated, key=lambda at: (sizes[at], at))
    for place, at in enumerate(order):
        if dates[at] is None:
            assert all(sizes[before] <= sizes[at] for before in order[:place])
            assert place + 1 == len(order) or dates[order[place + 1]] is None or sizes[order[place + 1]] > sizes[at]


@given(_TEXTS, _TEXTS, st.integers(1, 4))
def test_what_only_one_has(before: str, after: str, size: int) -> None:
    """
    The words of only one text are those in no shingle of the other, and each run comes with its text.
    """
    scheme = Scheme(shingle_size=size)
    found, lost, added = told_apart((before, words_of(before)), (after, words_of(after)), scheme)
    for text, other, own, told in ((before, after, lost, found.a), (after, before, added, found.b)):
        words = text.split()
        theirs = {tuple(other.split()[at : at + size]) for at in range(len(other.split()) - size + 1)}
        is_own = [
            not any(tuple(words[at : at + size]) in theirs for at in range(max(0, place - size + 1), place + 1))
            for place in range(len(words))
        ]
        assert own.words == sum(is_own) == told.words - told.shared_words
        assert own.passages == tuple(text[start:end] for start, end in own.places)
        assert [word for passage in own.passages for word in passage.split()] == [
            word for word, mine in zip(words, is_own, strict=True) if mine
        ]
        assert all(end < start for (_, end), (start, _) in zip(own.places, own.places[1:], strict=False))


def test_by_hand() -> None:
    """
    A changed word and an additional sentence are found.
    """
    before = "The tenant pays the rent of 500 euros on the first of each month to the landlord."
    after = "The tenant pays the rent of 600 euros on the first of each month to the landlord. Heating is extra!"
    found, lost, added = told_apart((before, words_of(before)), (after, words_of(after)), Scheme())
    assert (lost.words, lost.passages) == (1, ("500",))
    assert (added.words, added.passages) == (4, ("600", "Heating is extra"))
    assert found.shares.a_in_b == len(shingles(before) & shingles(after)) / len(shingles(before))
