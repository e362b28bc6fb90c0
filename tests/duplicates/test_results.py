"""Tests of pairs, clusters and kept documents, against plain sets."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.duplicates.results import clusters, ids
from tests.families import family_documents, shingles, true_components, true_pairs
from whorl import Document
from whorl.duplicates.options import DuplicatesOptions, parse_pair_options
from whorl.duplicates.results import PairColumns, compare_versions, documents_to_remove, version_order
from whorl.duplicates.run import duplicates_among
from whorl.errors import ParameterError
from whorl.fingerprint.compare_texts import words_of
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.statistics.metric import Shares
from whorl.output.duplicates import not_compared_lines

DOCUMENTS = family_documents(80)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["jaccard", "containment"])
@pytest.mark.parametrize("percent", [20, 50, 80, 90, 100])
def test_pairs_and_clusters_equal_a_plain_comparison(metric: str, percent: int) -> None:
    """
    Each pair comes once, by descending similarity, with the shares of plain sets; clusters are the components of the
    pairs.
    """
    expected = true_pairs(DOCUMENTS, metric, percent)
    texts = {document.id: shingles(document.text) for document in DOCUMENTS}
    assert len(expected) > 30
    with duplicates_among(DOCUMENTS, parse_pair_options(metric, percent, 100)) as duplicates:
        pairs = list(duplicates.pairs())
        assert duplicates.count_pairs() == len(pairs)
        assert set(ids(iter(pairs))) == set(expected)
        assert len(pairs) == len(expected)
        assert [pair.shares.jaccard for pair in pairs] == sorted((pair.shares.jaccard for pair in pairs), reverse=True)
        shares = []
        for pair in pairs:
            sizes = len(texts[pair.a.id]), len(texts[pair.b.id])
            common = len(texts[pair.a.id] & texts[pair.b.id])
            shares.append((common / (sum(sizes) - common), common / sizes[0], common / sizes[1]))
            assert (pair.a.size, pair.b.size, pair.is_exact) == (*sizes, True)
        found = [(pair.shares.jaccard, pair.shares.a_in_b, pair.shares.b_in_a) for pair in pairs]
        assert np.allclose(found, shares, rtol=1e-6, atol=0)
        assert clusters(duplicates) == true_components(expected)
        for complete in clusters(duplicates, complete=True):
            assert all(frozenset(pair) in expected for pair in combinations(complete, 2))
    with duplicates_among(
        DOCUMENTS, DuplicatesOptions(parse_pair_options(metric, percent, 100), spanning_only=True)
    ) as duplicates:
        assert clusters(duplicates) == true_components(expected)


def test_all_copies_are_reported(tmp_path: Path) -> None:
    """
    Four equal documents and a similar one give all ten pairs; two documents too short for shingles give none.
    """
    text = " ".join(f"w{at}" for at in range(200))
    documents = [
        *(Document(f"copy {number}", text) for number in range(4)),
        Document("edited", f"{text} and more"),
        *(Document(f"short {number}", "four words are few") for number in range(2)),
    ]
    with duplicates_among(documents, parse_pair_options("jaccard", 80, 95)) as duplicates:
        pairs = list(duplicates.pairs())
        assert [pair.shares.jaccard for pair in pairs].count(1.0) == 6
        assert len(pairs) == duplicates.count_pairs() == 10
        assert {(pair.a.id, pair.b.id) for pair in pairs} == set(
            combinations(["copy 0", "copy 1", "copy 2", "copy 3", "edited"], 2)
        )
        assert duplicates.too_short == 2
        (cluster,) = duplicates.clusters(complete=True, with_pairs_up_to=5)
        assert [member.id for member in cluster.members] == ["copy 0", "copy 1", "copy 2", "copy 3", "edited"]
        assert [match.shares.jaccard for match in cluster.matches] == pytest.approx([1.0, 1.0, 1.0, 1.0, 196 / 198])
        assert list(cluster.pairs) == pairs
        assert [cluster.pairs for cluster in duplicates.clusters(with_pairs_up_to=4)] == [()]


def test_a_chain_is_one_component_and_several_complete_clusters() -> None:
    """
    Ten versions with a tenth changed each time are one cluster, but several complete clusters.
    """
    words = [f"w{at}" for at in range(400)]
    versions = [
        Document(f"v{step}", " ".join([f"x{at}" for at in range(step * 20)] + words[step * 20 :])) for step in range(10)
    ]
    with duplicates_among(versions, parse_pair_options("jaccard", 80, 95)) as duplicates:
        assert clusters(duplicates) == {frozenset(version.id for version in versions)}
        complete = clusters(duplicates, complete=True)
    assert len(complete) > 2
    expected = true_pairs(versions, "jaccard", 80)
    for group in complete:
        assert all(frozenset(pair) in expected for pair in combinations(group, 2))


def test_retention_policies_choose_the_document_to_keep() -> None:
    """
    One document of each complete cluster is kept: the first, the longest or the newest, ties to the first.
    """
    text = " ".join(f"w{at}" for at in range(100))
    documents = [Document("a", text), Document("b", f"{text} more"), Document("c", f"{text} more"), Document("d", text)]
    dates = {"a": 5.0, "b": None, "c": 9.0, "d": 9.0}
    with duplicates_among(
        documents, parse_pair_options("jaccard", 80, 95), dates=lambda document: dates[document.id]
    ) as duplicates:
        retained = {}
        for keep in ("first", "longest", "newest"):
            others = {member.id for member in documents_to_remove(duplicates.clusters(complete=True), keep)}
            retained[keep] = {"a", "b", "c", "d"} - others
    assert retained == {"first": {"a"}, "longest": {"b"}, "newest": {"c"}}
    with (
        duplicates_among(documents, parse_pair_options("jaccard", 80, 95)) as duplicates,
        pytest.raises(ParameterError, match="keep newest:NAME"),
    ):
        list(documents_to_remove(duplicates.clusters(complete=True), "newest"))
    with pytest.raises(ParameterError, match=r"^keep must be one of first, longest, .*, got 'bogus'$"):
        documents_to_remove([], "bogus")


def test_too_short_documents_depend_on_the_scheme() -> None:
    """
    With shingles of three words, documents of two words are too short, and the message says three.
    """
    documents = [Document("a", "to be"), Document("b", "to be or not"), Document("c", "to be or not")]
    pair_options = parse_pair_options("jaccard", 80, 95)
    with duplicates_among(
        documents, DuplicatesOptions(pair_options, scheme=Scheme(shingle_size=3), workers=1)
    ) as duplicates:
        assert duplicates.count_pairs() == 1
        assert not_compared_lines(duplicates) == ["1 document of fewer than 3 words was not compared"]


counts = st.integers(0, 1 << 20)


@given(st.lists(st.tuples(counts, counts, st.floats(0, 1)), max_size=20))
def test_columns_have_the_shares_of_single_pairs(drawn: list[tuple[int, int, float]]) -> None:
    """
    The shares in columns equal those of single pairs to the last bit, also for documents without shingles.
    """
    shared = np.array([int(share * min(a, b)) for a, b, share in drawn], np.int64)
    sizes = np.array([size for a, b, _ in drawn for size in (a, b)], np.int64)
    places = np.arange(sizes.size)
    names = list(map(str, places))
    actual = PairColumns(names, names, sizes, places[::2], places[1::2], shared).shares()
    expected = [Shares.of_counts(number, a, b) for number, (a, b, _) in zip(shared.tolist(), drawn, strict=True)]
    assert [column.tolist() for column in actual] == [
        [share.jaccard for share in expected],
        [share.a_in_b for share in expected],
        [share.b_in_a for share in expected],
    ]


_TEXTS = st.lists(st.sampled_from("abcd"), max_size=40).map(" ".join)


@given(st.lists(st.tuples(st.none() | st.sampled_from([1.0, 2.0, 3.0]), st.integers(1, 9)), max_size=8))
def test_versions_are_ordered_by_date_then_containment(documents: list[tuple[float | None, int]]) -> None:
    """
    Versions ascend by date, and without dates by size; a document without a date comes before the first larger one.
    """
    dates, sizes = [date for date, _ in documents], [size for _, size in documents]
    order = version_order(dates, sizes)
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
def test_own_words_are_those_outside_shared_passages(before: str, after: str, size: int) -> None:
    """
    The words of only one text are the words in no shingle of the other text, and each run comes with its text.
    """
    scheme = Scheme(shingle_size=size)
    comparison, lost, added = compare_versions((before, words_of(before)), (after, words_of(after)), scheme)
    for text, other, own, actual in ((before, after, lost, comparison.a), (after, before, added, comparison.b)):
        words = text.split()
        theirs = {tuple(other.split()[at : at + size]) for at in range(len(other.split()) - size + 1)}
        is_own = [
            not any(tuple(words[at : at + size]) in theirs for at in range(max(0, place - size + 1), place + 1))
            for place in range(len(words))
        ]
        assert own.words == sum(is_own) == actual.words - actual.shared_words
        assert own.passages == tuple(text[start:end] for start, end in own.spans)
        assert [word for passage in own.passages for word in passage.split()] == [
            word for word, mine in zip(words, is_own, strict=True) if mine
        ]
        assert all(end < start for (_, end), (start, _) in zip(own.spans, own.spans[1:], strict=False))


def test_versions_by_hand() -> None:
    """
    A changed word and an additional sentence are found.
    """
    before = "The tenant pays the rent of 500 euros on the first of each month to the landlord."
    after = "The tenant pays the rent of 600 euros on the first of each month to the landlord. Heating is extra!"
    comparison, lost, added = compare_versions((before, words_of(before)), (after, words_of(after)), Scheme())
    assert (lost.words, lost.passages) == (1, ("500",))
    assert (added.words, added.passages) == (4, ("600", "Heating is extra"))
    assert comparison.shares.a_in_b == len(shingles(before) & shingles(after)) / len(shingles(before))
