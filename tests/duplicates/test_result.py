"""Near-duplicates of documents and stores, against plain sets; going on where a run was stopped; incremental runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import astuple
from itertools import combinations
from pathlib import Path

import pytest

from tests.families import family_documents, shingles, true_components, true_pairs
from whorl import Document, open_store
from whorl.context import new_request
from whorl.duplicates.archive import Archive
from whorl.duplicates.gathering import FILES_SCHEME, duplicates_among, duplicates_in, seconds_of
from whorl.duplicates.question import ask_pairs
from whorl.duplicates.result import Duplicates, Pair, superfluous
from whorl.errors import ParameterError, StoppedError
from whorl.fingerprint.batch import text_sketch
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.wire.duplicates import left_out

DOCUMENTS = family_documents(80)


def ids(pairs: Iterator[Pair]) -> list[frozenset[str]]:
    return [frozenset((pair.a.id, pair.b.id)) for pair in pairs]


def clusters(found: Duplicates, *, complete: bool = False) -> set[frozenset[str]]:
    return {frozenset(member.id for member in each.members) for each in found.clusters(complete=complete)}


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["jaccard", "containment"])
@pytest.mark.parametrize("percent", [20, 50, 80, 90, 100])
def test_pairs_and_clusters_are_those_of_plain_sets(metric: str, percent: int) -> None:
    """
    Each pair comes once, the most similar first, with the shares of plain sets; clusters are what pairs hold together.
    """
    expected = true_pairs(DOCUMENTS, metric, percent)
    texts = {document.id: shingles(document.text) for document in DOCUMENTS}
    assert len(expected) > 30
    with duplicates_among(DOCUMENTS, ask_pairs(metric, percent, 100)) as found:
        pairs = list(found.pairs())
        assert found.count_pairs() == len(pairs)
        assert set(ids(iter(pairs))) == set(expected)
        assert len(pairs) == len(expected)
        assert [pair.shares.jaccard for pair in pairs] == sorted((pair.shares.jaccard for pair in pairs), reverse=True)
        for pair in pairs:
            a, b = texts[pair.a.id], texts[pair.b.id]
            shares = (len(a & b) / len(a | b), len(a & b) / len(a), len(a & b) / len(b))
            assert astuple(pair.shares) == pytest.approx(shares)
            assert (pair.a.size, pair.b.size, pair.is_exact) == (len(a), len(b), True)
        assert clusters(found) == true_components(expected)
        for complete in clusters(found, complete=True):
            assert all(frozenset(pair) in expected for pair in combinations(complete, 2))
    with duplicates_among(DOCUMENTS, ask_pairs(metric, percent, 100), links_suffice=True) as found:
        assert clusters(found) == true_components(expected)


@pytest.mark.slow
def test_a_store_gives_what_its_documents_give(tmp_path: Path) -> None:
    """
    Of sketches that hold a part of large documents, texts settle what is open: no pair is wrong, and few are missed.
    """
    documents = family_documents(40, seed=9, longest=6_000)
    large = {document.id for document in documents if len(shingles(document.text)) > 1024}
    assert len(large) > 15
    with open_store(tmp_path / "store") as store:
        store.index(documents)
        for metric, percent in (("jaccard", 80), ("jaccard", 90), ("containment", 80)):
            expected = set(true_pairs(documents, metric, percent))
            with duplicates_in(store.engine, ask_pairs(metric, percent, 95)) as found:
                there = set(ids(found.pairs()))
                assert found.documents == len(documents)
            assert there <= expected
            assert len(there) >= 0.95 * len(expected)


def test_equal_documents_are_all_told(tmp_path: Path) -> None:
    """
    Of four equal documents and one that is like them all ten pairs come; of two too short to have shingles none.
    """
    text = " ".join(f"w{at}" for at in range(200))
    documents = [
        *(Document(f"copy {number}", text) for number in range(4)),
        Document("edited", f"{text} and more"),
        *(Document(f"short {number}", "four words are few") for number in range(2)),
    ]
    with duplicates_among(documents, ask_pairs("jaccard", 80, 95)) as found:
        pairs = list(found.pairs())
        assert [pair.shares.jaccard for pair in pairs].count(1.0) == 6
        assert len(pairs) == found.count_pairs() == 10
        assert {(pair.a.id, pair.b.id) for pair in pairs} == set(
            combinations(["copy 0", "copy 1", "copy 2", "copy 3", "edited"], 2)
        )
        assert found.too_short == 2
        (cluster,) = found.clusters(complete=True, with_pairs_up_to=5)
        assert [member.id for member in cluster.members] == ["copy 0", "copy 1", "copy 2", "copy 3", "edited"]
        assert [match.shares.jaccard for match in cluster.matches] == pytest.approx([1.0, 1.0, 1.0, 1.0, 196 / 198])
        assert list(cluster.pairs) == pairs
        assert [each.pairs for each in found.clusters(with_pairs_up_to=4)] == [()]


def test_a_chain_is_one_cluster_and_several_complete_ones() -> None:
    """
    Ten versions, each a tenth further from the first: pairs hold all together, but not any two are a pair.
    """
    words = [f"w{at}" for at in range(400)]
    versions = [
        Document(f"v{step}", " ".join([f"x{at}" for at in range(step * 20)] + words[step * 20 :])) for step in range(10)
    ]
    with duplicates_among(versions, ask_pairs("jaccard", 80, 95)) as found:
        assert clusters(found) == {frozenset(each.id for each in versions)}
        complete = clusters(found, complete=True)
    assert len(complete) > 2
    expected = true_pairs(versions, "jaccard", 80)
    for group in complete:
        assert all(frozenset(pair) in expected for pair in combinations(group, 2))


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    What was read before Ctrl-C is not read again, and the result is that of one run.
    """

    def stopping() -> Iterator[Document]:
        for number, document in enumerate(many):
            if number == 1_400:
                raise KeyboardInterrupt
            yield document

    # So that results come before all of these few texts are read.
    monkeypatch.setattr("whorl.fingerprint.batch.LARGE", 1)
    many = [Document(f"{turn}/{each.id}", each.text) for turn in range(6) for each in DOCUMENTS][:1_600]
    question = ask_pairs("jaccard", 80, 95)
    with suppress(KeyboardInterrupt), duplicates_among(stopping(), question, folder=tmp_path / "state", workers=1):
        raise AssertionError("nothing stopped it")
    with Archive(tmp_path / "state", "files, under minhash1-icu74-w5-b512", FILES_SCHEME) as archive:
        kept = archive.count()
    assert 512 <= kept < 1_400
    with duplicates_among(many, question, folder=tmp_path / "state") as found:
        resumed = {frozenset((pair.a.id, pair.b.id)) for pair in found.pairs()}
    with duplicates_among(many, question) as found:
        assert {frozenset((pair.a.id, pair.b.id)) for pair in found.pairs()} == resumed


@pytest.mark.slow
@pytest.mark.parametrize("links_suffice", [False, True])
def test_further_documents_are_compared_with_all_before(tmp_path: Path, links_suffice: bool) -> None:
    """
    Three days' documents one after the other give the pairs and clusters of all together; --new are those of the day.
    """
    question = ask_pairs("jaccard", 50, 100)
    days = [DOCUMENTS[:150], DOCUMENTS[150:250], DOCUMENTS[250:]]
    before: set[frozenset[str]] = set()
    for day in days:
        with duplicates_among(day, question, folder=tmp_path / "state", links_suffice=links_suffice) as found:
            there = {frozenset((pair.a.id, pair.b.id)) for pair in found.pairs()}
            new = {frozenset((pair.a.id, pair.b.id)) for pair in found.pairs(only_new=True)}
            clustered = clusters(found)
            today = {document.id for document in day}
            assert new == {pair for pair in there if pair & today}
            if not links_suffice:
                assert there - before == new
        before = there
    expected = true_pairs(DOCUMENTS, "jaccard", 50)
    assert clustered == true_components(expected)
    if not links_suffice:
        assert before == set(expected)


@pytest.mark.slow
def test_changed_and_deleted_documents_lose_their_pairs(tmp_path: Path) -> None:
    """
    A store that changes between two runs with the same state gives what a run without one gives.
    """
    question = ask_pairs("jaccard", 50, 100)
    with open_store(tmp_path / "store") as store:
        store.index(DOCUMENTS)
        with duplicates_in(store.engine, question, folder=tmp_path / "state") as found:
            assert set(ids(found.pairs())) == set(true_pairs(DOCUMENTS, "jaccard", 50))
        gone = {document.id for document in DOCUMENTS[::7]}
        changed = {each.id: Document(each.id, DOCUMENTS[at].text) for at, each in enumerate(DOCUMENTS[1::7])}
        store.delete(gone)
        store.index(changed.values())
        now = [changed.get(each.id, each) for each in DOCUMENTS if each.id not in gone]
        expected = set(true_pairs(now, "jaccard", 50))
        for folder in (tmp_path / "state", None):
            with duplicates_in(store.engine, question, folder=folder) as found:
                assert set(ids(found.pairs())) == expected
                assert found.documents == len(now)
        with duplicates_in(store.engine, ask_pairs("jaccard", 90, 100), folder=tmp_path / "state") as found:
            assert set(ids(found.pairs())) == set(true_pairs(now, "jaccard", 90))


def test_what_is_kept_and_what_is_not() -> None:
    """
    Of each complete cluster one document stays: the first, the longest, or the newest; of several, the first.
    """
    text = " ".join(f"w{at}" for at in range(100))
    documents = [Document("a", text), Document("b", f"{text} more"), Document("c", f"{text} more"), Document("d", text)]
    dates = {"a": 5.0, "b": None, "c": 9.0, "d": 9.0}
    with duplicates_among(documents, ask_pairs("jaccard", 80, 95), dates=lambda document: dates[document.id]) as found:
        kept = {}
        for keep in ("first", "longest", "newest"):
            others = {member.id for member in superfluous(found.clusters(complete=True), keep)}
            kept[keep] = {"a", "b", "c", "d"} - others
    assert kept == {"first": {"a"}, "longest": {"b"}, "newest": {"c"}}
    with (
        duplicates_among(documents, ask_pairs("jaccard", 80, 95)) as found,
        pytest.raises(ParameterError, match="--date"),
    ):
        list(superfluous(found.clusters(complete=True), "newest"))


def test_dates_of_fields() -> None:
    """
    A date as queries write it, seconds, or the first of several; anything else is none.
    """
    assert seconds_of("1970-01-02") == 86_400
    assert seconds_of(("1970-01-01T00:00:10Z", "2000-01-01")) == 10
    assert seconds_of(12) == 12
    none: tuple[object, ...] = ("yesterday-ish", None, (), [])
    assert [seconds_of(each) for each in none] == [None] * 4


@pytest.mark.parametrize(
    ("metric", "threshold", "recall", "named"),
    [("a_in_b", 80, 95, "metric"), ("jaccard", 0, 95, "threshold"), ("jaccard", 80, 101, "recall")],
)
def test_questions_that_nobody_can_answer(metric: str, threshold: int, recall: int, named: str) -> None:
    """
    A wrong metric or number is named.
    """
    with pytest.raises(ParameterError, match=named):
        ask_pairs(metric, threshold, recall)


def cluster_sizes(documents: list[Document], folder: Path | None) -> list[int]:
    with duplicates_among(documents, ask_pairs("jaccard", 50, 95), folder=folder, links_suffice=True) as found:
        return [len(each.members) for each in found.clusters()]


def test_a_cluster_outlives_the_document_that_held_it_together(tmp_path: Path) -> None:
    """
    Of a crowd only links are kept, most of them to a few documents; when these are replaced, others are linked anew,
    and none of them counts as new.
    """
    words = [f"w{at}" for at in range(58)]
    crowd = [Document(f"d{at:03}", " ".join([*words, f"u{at // 40}", f"v{at % 40}"])) for at in range(600)]
    folder, question = tmp_path / "state", ask_pairs("jaccard", 50, 95)
    with duplicates_among(crowd, question, folder=folder, links_suffice=True) as found:
        assert [len(each.members) for each in found.clusters()] == [600]
        links = Counter(each for pair in ids(found.pairs()) for each in pair)
    for count, (gone, _) in enumerate(links.most_common(3), start=1):
        other = Document(gone, f"now {count} of entirely other words than those before")
        with duplicates_among([other], question, folder=folder, links_suffice=True) as found:
            assert max(len(each.members) for each in found.clusters()) == 600 - count
            assert all(600 - count != len(each.members) for each in found.clusters(only_new=True))


def test_the_last_document_of_an_id_counts_also_if_it_is_the_one_of_before(tmp_path: Path) -> None:
    """
    An id that comes with another text and then, some hundred documents later, with that of an earlier run.
    """
    before, between = Document("x", "one two three four five six"), Document("x", "nine ten eleven twelve more of it")
    others = [Document(f"f{at}", f"filler {at} with words {at + 1} and {at + 2}") for at in range(600)]
    assert cluster_sizes([before], tmp_path / "state") == []
    repeated: list[str] = []
    with duplicates_among(
        [between, *others, before, Document("y", before.text)],
        ask_pairs("jaccard", 100, 95),
        folder=tmp_path / "state",
        on_repeated=repeated.append,
    ) as found:
        assert clusters(found) == {frozenset("xy")}
    assert repeated == ["x"]


def test_another_name_of_the_same_text_is_told(tmp_path: Path) -> None:
    """
    A document that comes again with its text and another name is known by that one.
    """
    text = "one two three four five six"
    for name in ("old", "new"):
        with duplicates_among(
            [Document("a", text, name=name), Document("b", text)],
            ask_pairs("jaccard", 80, 95),
            folder=tmp_path / "s",
        ) as found:
            assert [member.name for each in found.clusters() for member in each.members] == [name, ""]


def test_equal_sketches_are_no_copies(tmp_path: Path) -> None:
    """
    Large documents of a store with equal sketches are told apart by their texts where the threshold asks for it.
    """
    words = [f"w{at}" for at in range(5_000)]
    sketch = text_sketch(" ".join(words), Scheme(), SketchScheme())
    assert not sketch.is_complete
    # One word more: none of the ten shingles that change is in the sketch.
    edits = (" ".join([*words[:at], "other", *words[at + 1 :]]) for at in range(10, 4_000, 10))
    edited = next(text for text in edits if text_sketch(text, Scheme(), SketchScheme()) == sketch)
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", " ".join(words)), Document("b", " ".join(words)), Document("edited", edited)])
        with duplicates_in(store.engine, ask_pairs("jaccard", 100, 95), folder=tmp_path / "state") as found:
            assert ids(found.pairs()) == [frozenset(("a", "b"))]
        with duplicates_in(store.engine, ask_pairs("jaccard", 100, 95), folder=tmp_path / "state") as found:
            assert ids(found.pairs()) == [frozenset(("a", "b"))]
        with duplicates_in(store.engine, ask_pairs("jaccard", 80, 95)) as found:
            (cluster,) = found.clusters()
            assert [member.id for member in cluster.members] == ["a", "b", "edited"]
            assert [match.is_exact for match in cluster.matches] == [True, False, False]


def test_what_is_too_short_follows_the_scheme() -> None:
    """
    Two words are no shingle of three; the message says three, whatever the usual number is.
    """
    documents = [Document("a", "to be"), Document("b", "to be or not"), Document("c", "to be or not")]
    question = ask_pairs("jaccard", 80, 95)
    with duplicates_among(documents, question, scheme=Scheme(shingle_size=3), workers=1) as found:
        assert found.count_pairs() == 1
        assert left_out(found) == ["1 document of fewer than 3 words was not compared"]


def test_a_search_ends_with_its_time() -> None:
    """
    One that nobody waits for any more stops, while it reads and while it compares.
    """
    question = ask_pairs("jaccard", 80, 95)

    def documents(most: int) -> Iterator[Document]:
        for number, each in enumerate(DOCUMENTS, start=1):
            if number == most:
                request.cancel()
            yield each

    for most in (5, len(DOCUMENTS)):
        found = duplicates_among(documents(most), question, workers=1)
        with new_request() as request, pytest.raises(StoppedError), found:
            pass
