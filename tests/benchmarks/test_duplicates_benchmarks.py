"""Benchmarks of duplicates: true pairs, generated texts, timed parts and recorded rows."""

import csv
import re
import string
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba", reason="numba is not installed")

import duplicates
import duplicates_peers
import duplicates_profile
import duplicates_truth as truth
from duplicates_scaling import growth
from duplicates_texts import Texts, boilerplate, families, near_copies, planted

REAL = [" ".join(f"w{number * number % 977}" for number in range(start, start + 300)) for start in (0, 1000, 2000)]


@pytest.mark.slow
@given(st.lists(st.sets(st.integers(0, 12), max_size=8), max_size=8))
def test_every_pair_that_shares_half_is_counted(documents):
    """
    Pairs and numbers of shared shingles equal a comparison of all pairs of plain sets.
    """
    shared_counts = truth.counted([np.array(sorted(document), np.uint64) for document in documents])
    wanted = [
        (a, b, len(one & other))
        for a, one in enumerate(documents)
        for b, other in enumerate(documents)
        if a < b and one & other and 2 * len(one & other) >= min(len(one), len(other))
    ]
    assert (
        list(zip(shared_counts.a.tolist(), shared_counts.b.tolist(), shared_counts.shared.tolist(), strict=True))
        == wanted
    )


def test_a_pair_just_at_the_threshold_counts():
    """
    Four of five shingles in common are 80 %, and not 81.
    """
    shared_counts = truth.counted([np.array(numbers, np.uint64) for numbers in ([1, 2, 3, 4, 5], [1, 2, 3, 4])])
    pair = truth.codes(np.array([1]), np.array([0]))
    assert shared_counts.above("jaccard", 80).tolist() == pair.tolist()
    assert shared_counts.above("jaccard", 81).tolist() == []
    assert shared_counts.above("containment", 100).tolist() == pair.tolist()


def test_pairs_below_half_are_unknown():
    """
    Pairs that share less than half of the smaller document are unknown.
    """
    with pytest.raises(ValueError, match="below 50 percent were not counted, got 49"):
        truth.counted([]).above("jaccard", 49)


WORDS = {
    "whitespace": lambda text: text.lower().split(),
    "punctuation": lambda text: re.findall(f"[^{re.escape(string.punctuation)} \t\n\r\f]+", text.lower()),
    "nonword": lambda text: re.sub(r"\W", "\0", text.lower()).split("\0"),
}


@pytest.mark.parametrize("definition", WORDS)
def test_shingles_are_five_words_in_a_row(definition):
    """
    The numbers of distinct and of shared shingles equal those counted by hand.
    """
    texts = ["To be, or not to be: that is the question", "to be or not to be; that is", "To be, or not to be: that is"]
    sets = list(truth.shingle_sets(texts, definition))
    plain = []
    for text in texts:
        words = WORDS[definition](text)
        plain.append({tuple(words[at : at + 5]) for at in range(len(words) - 4)})
    assert [hashes.size for hashes in sets] == [len(shingles) for shingles in plain]
    for one in range(3):
        for other in range(3):
            assert np.intersect1d(sets[one], sets[other]).size == len(plain[one] & plain[other])


def test_too_few_words_make_no_shingle():
    """
    A text of four words has no shingle, in whorl and in the peers.
    """
    assert [next(truth.shingle_sets(["one two three four"], split)).size for split in truth.SPLIT] == [0, 0, 0]


def test_recall_and_precision():
    """
    Two of three true pairs are among four reported pairs: recall 2/3, precision 1/2.
    """
    accuracy = truth.judged(np.array([1, 2, 3, 4]), np.array([2, 3, 9]))
    assert accuracy.recall == pytest.approx(2 / 3)
    assert accuracy.precision == 0.5


def test_a_sample_is_spread_over_the_file(tmp_path):
    """
    A sample of three of ten lines takes the last line of each third.
    """
    (tmp_path / "all").write_bytes(b"".join(b"%d\n" % number for number in range(1, 11)))
    part = truth.lines_of(tmp_path / "all", 3, tmp_path / "part")
    assert part.read_text().split() == ["3", "6", "10"]
    assert truth.lines_of(tmp_path / "all", None, tmp_path / "none") == tmp_path / "all"


def test_bands_meet_just_below_the_threshold():
    """
    The bands for 80 % are the documented ones; for other thresholds, the curve is steepest just below the threshold.
    """
    assert [duplicates_peers.bands_for(percent / 100) for percent in (50, 80, 90)] == [32, 16, 8]


def test_texts_are_made_again_by_number():
    """
    A document depends on its number only, and each copy has an original.
    """
    texts = Texts(REAL)
    assert [texts.text(number) for number in range(40)] == [Texts(REAL).text(number) for number in range(40)]
    copies = {number: source for number in range(2000) if (source := texts.source(number)) is not None}
    assert 100 < len(copies) < 300
    assert all(texts.source(source) is None for source in copies.values())
    assert sum(len(family) - 1 for family in families(texts, 2000)) == len(copies)


@pytest.mark.slow
def test_only_planted_pairs_are_similar():
    """
    All pairs that share half of their shingles were planted, and most planted pairs share half.
    """
    texts = Texts(REAL)
    there = planted(texts, 300)
    counted = truth.counted(list(truth.shingle_sets(map(texts.text, range(300)), "whorl"))).above("jaccard", 50)
    assert counted.tolist() == truth.codes(there.a[there.jaccard >= 0.5], there.b[there.jaccard >= 0.5]).tolist()
    assert counted.size > 0.8 * there.a.size > 10


@pytest.mark.parametrize(
    ("kind", "least", "most"), [("one phrase", 1, 1), ("60 % boilerplate", 116, 117), ("all alike", 180, 196)]
)
def test_shared_boilerplate(kind, least, most):
    """
    Depending on the option, documents share one shingle, the shingles of 120 words, or nearly all shingles.
    """
    sets = list(truth.shingle_sets(boilerplate(kind, 10), "whitespace"))
    shared = [np.intersect1d(sets[0], other).size for other in sets[1:]]
    assert least <= min(shared)
    assert max(shared) <= most


@pytest.mark.parametrize(
    ("kind", "shared"),
    [("60 words, one differs", 51), ("300 words, one differs", 291), ("one text", 56), ("too short", 0)],
)
def test_changed_words_of_near_copies(kind, shared):
    """
    A changed word changes five shingles, and two texts share all others.
    """
    one, other = truth.shingle_sets(near_copies(kind, 2), "whitespace")
    assert np.intersect1d(one, other).size == shared


def test_exponent_of_a_power_law():
    """
    Times that grow as n ** 1.5 have the exponent 1.5.
    """
    assert growth([10, 100, 1000], [2 * size**1.5 for size in (10, 100, 1000)]) == pytest.approx(1.5)


def test_one_part_is_timed_at_a_time():
    """
    The time of a part excludes the parts that it calls, and the time between two items of its generator.
    """
    moments = iter(range(100))
    clocks = duplicates_profile.Clocks(lambda: (float(next(moments)), 0.0))
    numbers = clocks.around("inner", lambda: iter([1, 2]))
    outer = clocks.around("outer", lambda: sum(numbers()))
    assert outer() == 3
    # Each call of a clock takes one second: four stretches inside, five around them.
    assert {part: both[0] for part, both in clocks.seconds.items()} == {"outer": 5.0, "inner": 4.0}


@pytest.mark.parametrize(("part", "module", "name"), duplicates_profile.PARTS)
def test_timed_functions_exist(part, module, name):
    """
    Every timed function exists; the time of a renamed one would be reported as zero.
    """
    home = import_module(module)
    for part in name.split("."):
        home = getattr(home, part)
    assert callable(home)


def test_a_repeated_measurement_replaces_its_row(tmp_path):
    """
    A repeated measurement replaces its row; rows are in the order of thresholds, and ratios are computed from all rows.
    """
    path = tmp_path / "duplicates.csv"
    for percent, name, cpu in ((80, "rensa", 3), (80, "whorl", 2), (50, "gaoya", 1), (80, "rensa", 5)):
        row = dict.fromkeys(duplicates.FIELDS, "") | {"threshold": str(percent), "contender": name, "CPU s": str(cpu)}
        duplicates.write(path, [row])
    with path.open() as lines:
        rows = [(row["threshold"], row["contender"], row["times whorl's CPU"]) for row in csv.DictReader(lines)]
    assert rows == [("50", "gaoya", ""), ("80", "rensa", "2.50"), ("80", "whorl", "1.00")]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).filter(lambda pair: pair[0] != pair[1]), max_size=30))
def test_clusters_of_peers_have_each_document_once(pairs):
    """
    The clusters of pairs have each document of a pair once, and documents that are connected follow each other.
    """
    joined = [document for (document,) in duplicates_peers.clusters_of(iter(pairs))]
    assert sorted(joined) == sorted({document for pair in pairs for document in pair})
    components = {document: {document} for document in joined}
    for a, b in pairs * len(pairs):
        both = components[a] | components[b]
        components |= dict.fromkeys(both, both)
    order = [min(components[document]) for document in joined]
    assert [one for one, other in zip(order, ["", *order], strict=False) if one != other] == list(dict.fromkeys(order))


def test_single_documents_stay():
    """
    A document without a partner is written once.
    """
    assert list(duplicates_peers.clusters_of(iter([(3,), (5,), (3,)]))) == [(3,), (5,)]
