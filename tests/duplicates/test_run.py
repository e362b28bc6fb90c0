"""Tests of runs over documents and stores: interrupted runs and incremental runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.duplicates.results import clusters, ids
from tests.families import family_documents, true_components, true_pairs
from whorl import Document, open_store
from whorl.duplicates.options import DuplicatesOptions, Granularity, parse_pair_options
from whorl.duplicates.retention import Keep
from whorl.duplicates.run import FILES_SCHEME, duplicates_among, duplicates_in
from whorl.duplicates.sketch_store import PersistentSketchStore
from whorl.duplicates.sketching import Sketching
from whorl.errors import DocumentError, NoSketchesError, ParameterError, StoppedError, StoreError
from whorl.fingerprint.fingerprint_texts import HashBatch, Outputs, hash_in_batches, hash_texts
from whorl.fingerprint.shingling import Scheme
from whorl.request_context import new_request

DOCUMENTS = family_documents(80)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize("item", ["a text", {"id": "a", "text": "a text"}, None])
@pytest.mark.process
def test_items_that_are_no_documents(tmp_path: Path, workers: int, has_state: bool, item: Any) -> None:
    """
    The error for an item of another type shows it and a document, in one process and in several.
    """
    options = DuplicatesOptions(workers=workers, state=tmp_path / "state" if has_state else None)
    for documents in ([Document("a", "one two"), item], item):
        with (
            pytest.raises(DocumentError, match=r"got .* instead of a Document; write Document\(id=…, text=…\)"),
            duplicates_among(documents, options),
        ):
            pass


@pytest.mark.slow
def test_a_stopped_run_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Documents read before Ctrl-C are not read again, and the result equals that of an uninterrupted run.
    """

    def stopping() -> Iterator[Document]:
        for number, document in enumerate(many):
            if number == 1_400:
                raise KeyboardInterrupt
            yield document

    # Produce results before all of these few texts are read.
    monkeypatch.setattr("whorl.fingerprint.fingerprint_texts.LARGE", 1)
    many = [Document(f"{turn}/{document.id}", document.text) for turn in range(6) for document in DOCUMENTS][:1_600]
    pair_options = parse_pair_options("jaccard", 80, 95)
    with (
        suppress(KeyboardInterrupt),
        duplicates_among(stopping(), DuplicatesOptions(pair_options, state=tmp_path / "state", workers=1)),
    ):
        raise AssertionError("nothing stopped it")
    origin = "files, under minhash1-icu74-w5-b512"
    with closing(PersistentSketchStore(tmp_path / "state", origin, FILES_SCHEME)) as store:
        count = store.count()
    assert 512 <= count < 1_400
    with duplicates_among(many, DuplicatesOptions(pair_options, state=tmp_path / "state")) as duplicates:
        resumed = {frozenset((pair.a.id, pair.b.id)) for pair in duplicates.pairs()}
    with duplicates_among(many, pair_options) as duplicates:
        assert {frozenset((pair.a.id, pair.b.id)) for pair in duplicates.pairs()} == resumed


@pytest.mark.slow
@pytest.mark.parametrize("spanning_only", [False, True])
def test_further_documents_are_compared_with_all_earlier_ones(tmp_path: Path, spanning_only: bool) -> None:
    """
    The documents of three days, in three runs, give the pairs and clusters of a single run; --new selects the pairs of
    the last day.
    """
    pair_options = parse_pair_options("jaccard", 50, 100)
    days = [DOCUMENTS[:150], DOCUMENTS[150:250], DOCUMENTS[250:]]
    before: set[frozenset[str]] = set()
    for day in days:
        with duplicates_among(
            day, DuplicatesOptions(pair_options, state=tmp_path / "state", spanning_only=spanning_only)
        ) as duplicates:
            there = {frozenset((pair.a.id, pair.b.id)) for pair in duplicates.pairs()}
            new = {frozenset((pair.a.id, pair.b.id)) for pair in duplicates.pairs(new=True)}
            clustered = clusters(duplicates)
            today = {document.id for document in day}
            assert new == {pair for pair in there if pair & today}
            if not spanning_only:
                assert there - before == new
        before = there
    expected = true_pairs(DOCUMENTS, "jaccard", 50)
    assert clustered == true_components(expected)
    if not spanning_only:
        assert before == set(expected)


def test_a_first_run_reads_each_date_once(tmp_path: Path) -> None:
    """
    An empty state has no dates to compare, so dates are only read for the sketches.
    """
    read: list[str] = []

    def date(document: Document) -> float:
        read.append(document.id)
        return 0.0

    documents = [Document(document_id, f"text of {document_id}") for document_id in "abc"]
    with duplicates_among(documents, DuplicatesOptions(state=tmp_path / "state", workers=1), dates=date):
        assert read == ["a", "b", "c"]


@pytest.mark.parametrize("changed", [False, True])
def test_documents_stay_new_until_the_results_are_written(tmp_path: Path, changed: bool) -> None:
    """
    A run that fails while its results are written leaves its documents new, also if the next run has another threshold;
    after a complete run they are known.
    """
    options = DuplicatesOptions(parse_pair_options("jaccard", 50, 100), state=tmp_path / "state")
    with duplicates_among(DOCUMENTS[:150], options):
        pass
    with pytest.raises(OSError, match="full"), duplicates_among(DOCUMENTS[150:], options):
        raise OSError("full")
    if changed:
        options = DuplicatesOptions(parse_pair_options("jaccard", 40, 100), state=tmp_path / "state")
    old = {document.id for document in DOCUMENTS[:150]}
    expected = {pair for pair in true_pairs(DOCUMENTS, "jaccard", 40 if changed else 50) if pair - old}
    for pairs in (expected, set()):
        with duplicates_among(DOCUMENTS[150:], options) as duplicates:
            assert set(ids(duplicates.pairs(new=True))) == pairs


def test_another_run_leaves_the_documents_of_a_failed_one_new(tmp_path: Path) -> None:
    """
    After a failed run, a run over other documents leaves its documents new.
    """
    options = DuplicatesOptions(parse_pair_options("jaccard", 50, 100), state=tmp_path / "state")
    with pytest.raises(OSError, match="full"), duplicates_among(DOCUMENTS[:150], options):
        raise OSError("full")
    with duplicates_among(DOCUMENTS[150:160], options):
        pass
    known = {document.id for document in DOCUMENTS[150:160]}
    expected = {pair for pair in true_pairs(DOCUMENTS[:160], "jaccard", 50) if pair - known}
    for pairs in (expected, set()):
        with duplicates_among(DOCUMENTS[:150], options) as duplicates:
            assert set(ids(duplicates.pairs(new=True))) == pairs


@pytest.mark.slow
def test_changed_and_deleted_documents_lose_their_pairs(tmp_path: Path) -> None:
    """
    A store that changes between two runs with one state gives the results of a run without state.
    """
    pair_options = parse_pair_options("jaccard", 50, 100)
    with open_store(tmp_path / "store") as store:
        store.index(DOCUMENTS)
        with duplicates_in(store.engine, DuplicatesOptions(pair_options, state=tmp_path / "state")) as duplicates:
            assert set(ids(duplicates.pairs())) == set(true_pairs(DOCUMENTS, "jaccard", 50))
        gone = {document.id for document in DOCUMENTS[::7]}
        changed = {
            document.id: Document(document.id, DOCUMENTS[at].text) for at, document in enumerate(DOCUMENTS[1::7])
        }
        store.delete(gone)
        store.index(changed.values())
        now = [changed.get(document.id, document) for document in DOCUMENTS if document.id not in gone]
        expected = set(true_pairs(now, "jaccard", 50))
        for folder in (tmp_path / "state", None):
            with duplicates_in(store.engine, DuplicatesOptions(pair_options, state=folder)) as duplicates:
                assert set(ids(duplicates.pairs())) == expected
                assert duplicates.documents == len(now)
        with duplicates_in(
            store.engine, DuplicatesOptions(parse_pair_options("jaccard", 90, 100), state=tmp_path / "state")
        ) as duplicates:
            assert set(ids(duplicates.pairs())) == set(true_pairs(now, "jaccard", 90))


def cluster_sizes(documents: list[Document], folder: Path | None) -> list[int]:
    with duplicates_among(
        documents, DuplicatesOptions(parse_pair_options("jaccard", 50, 95), state=folder, spanning_only=True)
    ) as duplicates:
        return [len(cluster.members) for cluster in duplicates.clusters()]


@pytest.mark.slow
def test_a_cluster_survives_the_loss_of_its_connecting_document(tmp_path: Path) -> None:
    """
    After the documents with the most spanning pairs are replaced, the rest of their cluster is connected again, and no
    other document counts as new.
    """
    words = [f"w{at}" for at in range(58)]
    crowd = [Document(f"d{at:03}", " ".join([*words, f"u{at // 40}", f"v{at % 40}"])) for at in range(600)]
    folder, pair_options = tmp_path / "state", parse_pair_options("jaccard", 50, 95)
    with duplicates_among(crowd, DuplicatesOptions(pair_options, state=folder, spanning_only=True)) as duplicates:
        assert [len(cluster.members) for cluster in duplicates.clusters()] == [600]
        links = Counter(document_id for pair in ids(duplicates.pairs()) for document_id in pair)
    for count, (gone, _) in enumerate(links.most_common(3), start=1):
        other = Document(gone, f"now {count} of entirely other words than those before")
        with duplicates_among([other], DuplicatesOptions(pair_options, state=folder, spanning_only=True)) as duplicates:
            assert max(len(cluster.members) for cluster in duplicates.clusters()) == 600 - count
            assert all(600 - count != len(cluster.members) for cluster in duplicates.clusters(new=True))


def test_an_unchanged_last_document_of_a_repeated_id_counts(tmp_path: Path) -> None:
    """
    The last document of an id counts, also if its text first changes and then, some hundred documents later, equals
    that of an earlier run.
    """
    before, between = Document("x", "one two three four five six"), Document("x", "nine ten eleven twelve more of it")
    others = [Document(f"f{at}", f"filler {at} with words {at + 1} and {at + 2}") for at in range(600)]
    assert cluster_sizes([before], tmp_path / "state") == []
    repeated: list[str] = []
    with duplicates_among(
        [between, *others, before, Document("y", before.text)],
        DuplicatesOptions(parse_pair_options("jaccard", 100, 95), state=tmp_path / "state"),
        on_repeated=repeated.append,
    ) as duplicates:
        assert clusters(duplicates) == {frozenset("xy")}
    assert repeated == ["x"]


def test_repeated_ids_are_reported() -> None:
    """
    A repeated id is reported once for each repetition, at any distance, and the last document counts.
    """
    text, other = "one two three four five six", "nine ten eleven twelve more of it"
    fillers = [Document(f"f{at}", f"filler {at} with words {at + 1} and {at + 2}") for at in range(600)]
    documents = [Document("x", other), Document("x", text), *fillers, Document("y", other), Document("y", text)]
    repeated: list[str] = []
    with duplicates_among(
        [*documents, Document("x", text)], parse_pair_options("jaccard", 100, 95), on_repeated=repeated.append
    ) as duplicates:
        assert clusters(duplicates) == {frozenset("xy")}
    assert repeated == ["x", "y", "x"]


def test_a_repeated_document_gets_its_new_name(tmp_path: Path) -> None:
    """
    A document that comes again with a different name has the new name.
    """
    text = "one two three four five six"
    for name in ("old", "new"):
        with duplicates_among(
            [Document("a", text, name=name), Document("b", text)],
            DuplicatesOptions(parse_pair_options("jaccard", 80, 95), state=tmp_path / "s"),
        ) as duplicates:
            assert [member.name for cluster in duplicates.clusters() for member in cluster.members] == [name, ""]


FEW = st.text(st.sampled_from("ab1_.,'- \n\u00e9\u4e2d"), max_size=24) | st.integers(250, 520).map("a".__mul__)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(FEW, max_size=12), st.integers(1, 4))
def test_short_and_repeated_texts(texts: list[str], size: int) -> None:
    """
    Texts that are too short or repeated have the sizes and pairs of texts that are hashed one by one.
    """
    scheme = Scheme(shingle_size=size)
    documents = [Document(str(number), text) for number, text in enumerate([*texts, *texts])]
    with duplicates_among(
        documents, DuplicatesOptions(parse_pair_options("jaccard", 100, 100), scheme=scheme)
    ) as duplicates:
        there = duplicates.members(range(len(documents)))
        sizes = {member.id: member.size for member in there.values()}
        together = duplicates.count_pairs()
    hashes = [signature.hashes.tolist() for signature in hash_texts(texts, scheme, Outputs.HASHES, workers=1)]
    assert sizes == {str(at): len(hash_list) for at, hash_list in enumerate(hashes + hashes)}
    alike = Counter(tuple(hash_list) for hash_list in hashes + hashes if hash_list)
    assert together == sum(count * (count - 1) // 2 for count in alike.values())


@pytest.mark.parametrize("has_state", [False, True])
def test_results_are_read_before_the_search_is_closed(tmp_path: Path, *, has_state: bool) -> None:
    """
    Pairs and clusters that are first read after the end of the search are an error that names the remedy.
    """
    options = DuplicatesOptions(parse_pair_options("jaccard", 30, 95), state=tmp_path / "state" if has_state else None)
    documents = [Document(name, "one two three four five six seven") for name in "ab"]
    with duplicates_among(documents, options) as duplicates:
        pairs = duplicates.pairs()
        assert len([*duplicates.pairs()]) == 1
    for late in (pairs, duplicates.clusters(), duplicates.clusters(complete=True)):
        with pytest.raises(StoreError, match="read its results inside its 'with'"):
            next(iter(late))


def test_a_state_keeps_documents_that_are_not_cut_into_pieces(tmp_path: Path) -> None:
    """
    Lines from Python may have any ids, so a line does not replace others of earlier runs with a similar id.
    """
    options = DuplicatesOptions(granularity=Granularity.LINE, state=tmp_path / "state")
    for id_, count in (("a", 1), ("page#1", 2), ("b", 3), ("page#2", 4)):
        with duplicates_among([Document(id_, f"one two three four five six {id_}")], options) as duplicates:
            assert duplicates.documents == count


def test_a_reference_keeps_no_state(tmp_path: Path) -> None:
    """
    A reference together with a state is an error, since the state would lack the pairs within the reference.
    """
    options = parse_pair_options("jaccard", 80, 95)
    with (
        pytest.raises(ParameterError, match="a run of its own"),
        duplicates_among([], DuplicatesOptions(options, state=tmp_path / "state"), reference=DOCUMENTS),
    ):
        pass
    assert not (tmp_path / "state").exists()


def test_a_repeated_text_is_sketched_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """
    A repeated text is hashed once and stored once, however many documents have it.
    """
    read = 0

    def counting(portions: Iterable[Sequence[str]], scheme: Scheme) -> Iterator[HashBatch]:
        def counted() -> Iterator[Sequence[str]]:
            nonlocal read
            for portion in portions:
                read += len(portion)
                yield portion

        return hash_in_batches(counted(), scheme)

    monkeypatch.setattr("whorl.duplicates.sketching.hash_in_batches", counting)
    text = " ".join(f"w{at}" for at in range(200))
    many = [Document(str(at), text) for at in range(5_000)]
    for folder in (tmp_path, None):
        with duplicates_among(
            many, DuplicatesOptions(parse_pair_options("jaccard", 80, 95), state=folder, workers=1)
        ) as duplicates:
            assert [len(cluster.members) for cluster in duplicates.clusters()] == [5_000]
    assert 0 < read < 50
    assert sum(file.stat().st_size for file in tmp_path.glob("hashes-*.u64")) < 20 * 200 * 8


def test_the_digest_of_an_unchanged_text_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """
    The digest of a text is computed once per run, for new documents and for stored ones.
    """
    made = Counter[str]()

    def counting(document: Document, sketching: Sketching) -> bytes:
        made[document.id] += 1
        return document.text.encode()[:16]

    monkeypatch.setattr("whorl.duplicates.run._digest", counting)
    for documents in (DOCUMENTS, [*DOCUMENTS, Document("new", "a text that was not there before this run")]):
        with duplicates_among(documents, DuplicatesOptions(parse_pair_options("jaccard", 80, 95), state=tmp_path)):
            assert made == Counter(document.id for document in documents)
        made.clear()


def test_a_search_stops_at_its_deadline() -> None:
    """
    A cancelled search stops, both while reading and while comparing.
    """
    pair_options = parse_pair_options("jaccard", 80, 95)

    def documents(most: int) -> Iterator[Document]:
        for number, document in enumerate(DOCUMENTS, start=1):
            if number == most:
                request.cancel()
            yield document

    for most in (5, len(DOCUMENTS)):
        duplicates = duplicates_among(documents(most), DuplicatesOptions(pair_options, workers=1))
        with new_request() as request, pytest.raises(StoppedError), duplicates:
            pass


@pytest.mark.slow
def test_documents_of_different_parts_make_no_pairs(tmp_path: Path) -> None:
    """
    With `within`, documents of different parts are not duplicates even if they are equal; each part has pairs.
    """
    languages = {document.id: ("de", "en", "")[at % 3] for at, document in enumerate(DOCUMENTS)}
    parted = [
        replace(document, properties={"lang": languages[document.id]} if languages[document.id] else {})
        for document in DOCUMENTS
    ]
    every = true_pairs(DOCUMENTS, "jaccard", 80)
    pairs = {pair: share for pair, share in every.items() if len({languages[document_id] for document_id in pair}) == 1}
    assert pairs
    pair_options = parse_pair_options("jaccard", 80, 100)
    for folder in (None, tmp_path / "state", tmp_path / "state"):
        with duplicates_among(parted, DuplicatesOptions(pair_options, within="lang", state=folder)) as duplicates:
            assert set(ids(duplicates.pairs())) == set(pairs)
        with duplicates_among(parted, DuplicatesOptions(pair_options, within="lang", spanning_only=True)) as duplicates:
            assert {frozenset(m.id for m in cluster.members) for cluster in duplicates.clusters()} == true_components(
                pairs
            )
    moved = [replace(document, properties={"lang": "de"}) for document in DOCUMENTS]
    with duplicates_among(
        moved, DuplicatesOptions(pair_options, within="lang", state=tmp_path / "state")
    ) as duplicates:
        assert set(ids(duplicates.pairs())) == set(true_pairs(DOCUMENTS, "jaccard", 80))
    with (
        pytest.raises(ParameterError, match="within lang"),
        duplicates_among(parted, DuplicatesOptions(pair_options, state=tmp_path / "state")),
    ):
        pass


def test_a_state_refuses_another_retention_column(tmp_path: Path) -> None:
    """
    A state is tied to its retention policy: ranks by another column cannot be compared with new ones.
    """
    documents = [replace(document, properties={"quality": at}) for at, document in enumerate(DOCUMENTS[:9])]
    pair_options = parse_pair_options("jaccard", 80, 95)
    with duplicates_among(
        documents, DuplicatesOptions(pair_options, keep=Keep("largest", "quality"), state=tmp_path / "state")
    ) as duplicates:
        assert sorted(member.rank for member in duplicates.members(range(9)).values()) == list(range(9))  # type: ignore[type-var]
    for keep in (Keep("smallest", "quality"), Keep("first")):
        with (
            pytest.raises(ParameterError, match="name another folder"),
            duplicates_among(documents, DuplicatesOptions(pair_options, keep=keep, state=tmp_path / "state")),
        ):
            pass


def test_the_error_of_a_store_without_texts_names_the_reason(tmp_path: Path) -> None:
    """
    A store on disk without texts has no sketches, and its error does not send the user to Solr.
    """
    with open_store(tmp_path / "store", no_text=True) as store:
        store.index([Document("a", "some words of a text in a store")])
        ask = duplicates_in(store.engine, parse_pair_options("jaccard", 50, 95))
        with pytest.raises(NoSketchesError, match="the store keeps no texts") as raised, ask:
            pass
    assert "solr" not in str(raised.value)
