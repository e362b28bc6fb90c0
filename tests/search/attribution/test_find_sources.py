"""Sources of a text: by hand, compared with plain sets of words, and within the limits of one search."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.attribution.made import words
from tests.search.similar.copies import Watched
from whorl import Document, ParameterError, Shares, Store, open_store
from whorl.arrays_and_batches import ranges_of
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import StoppedError
from whorl.fingerprint.compare_texts import Passage, words_of
from whorl.fingerprint.sketch.frac_minhash import Sketch
from whorl.fingerprint.winnowing import PassageScheme
from whorl.operations import SourcesOperation
from whorl.request_context import new_request, reporting
from whorl.search.attribution import candidate_reader
from whorl.search.attribution import find_sources as find_sources_module
from whorl.search.attribution.candidates import Candidates, find_candidates
from whorl.search.attribution.find_sources import find_sources, phrases_at, rejoin_words
from whorl.search.attribution.results import Attribution

#: Twelve words of Melville, ten of Austen, six of our own.
WHALE = "call me ishmael some years ago never mind how long precisely having"
PRIDE = "it is a truth universally acknowledged that a single man"
TEXT = f"{WHALE.title()}! And so we come to {PRIDE}."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(Watched(tmp_path / "store")) as opened:
        assert isinstance(opened.engine, Watched)
        opened.engine.requests = []
        yield opened


def answer(store: Store, text: str, *, min_words: int = 8, most_read: int = 300) -> Attribution:
    return find_sources(store.engine, text, SourcesOperation(min_words=min_words, most_read=most_read))


def test_by_hand(store: Store) -> None:
    """
    Moby-Dick has 12 of the text's 27 words, Pride and Prejudice 10; a list of first lines has nine of each.
    """
    store.index(
        [
            Document("moby", f"Loomings. {WHALE} little money", "Moby-Dick"),
            Document("pride", f"Chapter 1. {PRIDE} in possession", "Pride and Prejudice"),
            Document("lines", f"{' '.join(WHALE.split()[:9])} … {' '.join(PRIDE.split()[:9])}"),
            Document("other", "nothing of the kind is said in this one at all"),
        ]
    )
    attribution = answer(store, TEXT, min_words=9)
    # The list has 18 words of the text in passages of nine and is chosen first; the books add the rest of their words.
    assert [(source.id, source.words, source.new_words, source.only_words) for source in attribution.sources] == [
        ("lines", 18, 18, 0),
        ("moby", 12, 3, 3),
        ("pride", 10, 1, 1),
    ]
    assert (attribution.words, attribution.covered_words, attribution.longest_passage) == (27, 22, 12)
    moby = attribution.sources[1]
    assert moby.name == "Moby-Dick"
    # The text has 23 shingles and the document 11; they share 8.
    assert moby.shares == Shares.of_counts(8, 23, 11)
    assert moby.shingles == 11
    assert moby.passages == (Passage((0, 67), (10, 77), 12),)
    assert TEXT[slice(*moby.passages[0].a)].lower() == moby.content[slice(*moby.passages[0].b)] == WHALE
    assert (
        attribution.candidates,
        attribution.read,
        attribution.unread,
        attribution.without_text,
        attribution.also,
    ) == (3, 3, 0, 0, ())
    # With a minimum of ten words the list has no passage, and the books have all of theirs.
    attribution = answer(store, TEXT, min_words=10)
    assert [(source.id, source.words, source.new_words, source.only_words) for source in attribution.sources] == [
        ("moby", 12, 12, 12),
        ("pride", 10, 10, 10),
    ]
    assert attribution.also == ()


def test_parts_that_are_left_out(store: Store) -> None:
    """
    Quoted words need no source: the other words are the whole.
    """
    wife = f"{PRIDE} in possession of a good fortune must be in want of a wife"
    purse = f"{WHALE} little or no money in my purse and nothing particular to interest me on shore"
    store.index([Document("moby", purse), Document("pride", wife)])
    text = f"“{purse.title()}!” And so we come to {wife}.\n\nReferences\n\n{WHALE}"
    whole = find_sources(store.engine, text)
    assert [(source.id, source.words) for source in whole.sources] == [("moby", 39), ("pride", 23)]
    assert (whole.words, whole.counted_words, whole.excluded_words) == (68, 68, 0)
    # Words after the heading "References" are not left out, so Moby-Dick keeps them.
    quoted = find_sources(store.engine, text, SourcesOperation(without=("quotations",)))
    assert [(source.id, source.words) for source in quoted.sources] == [("pride", 23), ("moby", 12)]
    assert (quoted.counted_words, quoted.excluded_words, quoted.covered_words) == (41, 27, 35)
    options = SourcesOperation(without=("quotations", "references"))
    attribution = find_sources(store.engine, text, options)
    assert [(source.id, source.words, source.new_words, source.only_words) for source in attribution.sources] == [
        ("pride", 23, 23, 23)
    ]
    assert (attribution.words, attribution.counted_words, attribution.excluded_words) == (68, 28, 40)


def test_a_redundant_source_is_listed(store: Store) -> None:
    """
    A copy of a source adds nothing and is listed separately; the words of both belong to neither alone.
    """
    store.index([Document("b", WHALE, "B"), Document("a", WHALE, "A"), Document("most", " ".join(WHALE.split()[:10]))])
    attribution = answer(store, TEXT)
    assert [(source.id, source.new_words, source.only_words) for source in attribution.sources] == [("a", 12, 0)]
    assert attribution.also == (("b", "B"), ("most", ""))


@pytest.mark.slow
def test_the_same_as_with_plain_sets(store: Store) -> None:
    """
    For texts composed of each other, the words covered, added and unique equal those of plain sets of shingle
    positions.
    """
    chance = random.Random(11)
    text = words(chance, 400)
    made: dict[str, list[str]] = {}
    for number in range(30):
        own = words(chance, 100)
        for _ in range(chance.randrange(1, 4)):
            at, length = chance.randrange(360), chance.randrange(5, 60)
            own += [*text[at : at + length], *words(chance, 3)]
        made[f"{number:02}"] = own
    store.index(Document(name, " ".join(words)) for name, words in made.items())
    attribution = answer(store, " ".join(text), min_words=1)
    assert attribution.min_words == 5
    assert "min_words 1 counts as 5: passages have at least the words of a shingle" in attribution.warnings

    def covered(own: list[str]) -> set[int]:
        shingles = {tuple(own[at : at + 5]) for at in range(len(own) - 4)}
        starts = [at for at in range(len(text) - 4) if tuple(text[at : at + 5]) in shingles]
        return {at + step for at in starts for step in range(5)}

    read = {source.id for source in attribution.sources} | {name for name, _ in attribution.also}
    assert len(read) == attribution.read > 20
    plain = {name: covered(own) for name, own in made.items() if name in read}
    left = dict(plain)
    for source in attribution.sources:
        # Among equals any may come first.
        assert source.new_words == len(left[source.id]) == max(map(len, left.values()))
        left = {name: has - plain[source.id] for name, has in left.items()}
    assert not any(left.values())
    for source in attribution.sources:
        others = set().union(*(has for name, has in plain.items() if name != source.id))
        assert source.words == len(plain[source.id])
        assert source.only_words == len(plain[source.id] - others)
    assert attribution.covered_words == len(set().union(*plain.values()))
    assert 0 < attribution.coverage < 1


def test_means_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The number of documents read and their characters are limited; unread candidates are counted only if they could add
    to the coverage.
    """
    assert isinstance(store.engine, Watched)
    chance = random.Random(12)
    text = " ".join(words(chance, 50))
    store.index(Document(f"copy {number:02}", f"{text} {number}") for number in range(60))
    attribution = answer(store, text, most_read=7)
    assert (attribution.candidates, attribution.read, attribution.unread, attribution.coverage) == (60, 7, 0, 1.0)
    assert len({request for request in store.engine.requests if request.startswith("text of")}) == 7
    parts = [" ".join(words(chance, 30)) for _ in range(60)]
    store.index(Document(f"part {number:02}", part) for number, part in enumerate(parts))
    attribution = answer(store, "\n".join(parts), most_read=7)
    assert (attribution.candidates, attribution.read, attribution.unread, len(attribution.sources)) == (60, 7, 53, 7)
    monkeypatch.setattr(candidate_reader, "MOST_CHARACTERS", len(parts[0]))
    attribution = answer(store, "\n".join(parts))
    assert (attribution.read, attribution.unread) == (25, 35)


def test_a_limit_on_reading_hides_no_unread_candidate(tmp_path: Path) -> None:
    """
    With passage hashes of the length of the shortest passage, unread documents are counted as without these hashes.
    """
    parts = [" ".join(f"w{40 * number + at}" for at in range(40)) for number in range(60)]
    with open_store(tmp_path / "store", passages=20) as store:
        store.index(Document(f"part {number:02}", part) for number, part in enumerate(parts))
        attribution = answer(store, "\n".join(parts), min_words=8, most_read=7)
    assert (attribution.candidates, attribution.read, attribution.unread) == (60, 7, 53)


def test_missing_texts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Candidates without a stored text are counted.
    """
    store.index([Document("a", WHALE), Document("b", WHALE)])
    monkeypatch.setattr(store.engine, "texts", lambda ids: {"a": WHALE})
    attribution = answer(store, WHALE)
    assert (
        [source.id for source in attribution.sources],
        attribution.read,
        attribution.without_text,
        attribution.unread,
    ) == (["a"], 1, 1, 0)


def test_progress_reports(store: Store) -> None:
    """
    Progress reports name the step, the number done and the total.
    """
    store.index([Document("a", WHALE), Document("b", PRIDE)])
    reports: list[tuple[str, int, int | None]] = []
    with reporting(lambda *report: reports.append(report)):
        find_sources(store.engine, TEXT)
    assert reports == [("looking for candidates", 0, 1), ("comparing", 0, 2), ("comparing", 1, 2)]


def test_a_cancelled_request_ends(store: Store) -> None:
    """
    A cancelled request compares no further documents.
    """
    store.index([Document("a", WHALE), Document("b", WHALE)])
    with (
        new_request() as request,
        reporting(lambda step, *_: request.cancel() if step == "comparing" else None),
        pytest.raises(StoppedError),
    ):
        find_sources(store.engine, TEXT)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 12), st.sampled_from([0, 3, 8]))
def test_phrases_tell_of_every_run(is_open: list[bool], run: int, proven: int) -> None:
    """
    Every run of words that has an open word contains a whole phrase of the search. With passage hashes of `proven`
    words, this is required only of runs that also contain `proven` words in a row that are not open.
    """
    starts, length = phrases_at(ranges_of(np.array(is_open)), run, proven)
    for first in range(len(is_open)):
        for end in range(first + run, len(is_open) + 1):
            inside = is_open[first:end]
            has_hash = any(not any(inside[at : at + proven]) for at in range(len(inside) - proven + 1))
            if any(inside) and has_hash:
                assert any(first <= start <= end - length for start in starts)


@pytest.mark.parametrize("has_phrases", [True, False])
def test_a_document_with_more_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_phrases: bool) -> None:
    """
    A document with more words of the text than 150 others is the source, although all keep the same passage hashes. The
    index of words rules out the others without their sketches; a server's engine reads the sketches.
    """
    chance = random.Random(14)
    passage, beside, sketched = words(chance, 60), words(chance, 9), set[str]()
    with Store(EmbeddedEngine(tmp_path / "store", passages=PassageScheme())) as store:
        store.index(Document(f"copy {number:03}", " ".join([*words(chance, 50), *passage])) for number in range(150))
        store.index([Document("more", " ".join([*words(chance, 50), *passage, *beside]))])
        read_sketches = store.engine.sketches

        def sketches(ids: Collection[str]) -> Mapping[str, Sketch]:
            sketched.update(ids)
            return read_sketches(ids)

        monkeypatch.setattr(store.engine, "sketches", sketches)
        if not has_phrases:
            monkeypatch.setattr(store.engine, "find_documents_with_phrases", lambda phrases: None)
        attribution = store.sources(source=" ".join([*words(chance, 50), *passage, *beside, *words(chance, 50)]))
    assert [source.id for source in attribution.sources] == ["more"]
    assert (attribution.covered_words, attribution.also_count, attribution.unread) == (69, 150, 0)
    assert attribution.read <= 3
    assert len(sketched) <= 1 if has_phrases else len(sketched) >= 149


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"min_words": 0}, "min_words must be 1 to 1,000,000, got 0"),
        ({"most_read": 0}, "most_read must be 1 to 10,000, got 0"),
        ({"most_read": 10_001}, "most_read must be 1 to 10,000, got 10001"),
    ],
)
def test_numbers_out_of_range(store: Store, options: dict[str, int], said: str) -> None:
    """
    The error names the option and the valid range.
    """
    with pytest.raises(ParameterError, match=said):
        answer(store, TEXT, **options)


def test_a_source_with_a_phrase_of_the_remaining_words(tmp_path: Path) -> None:
    """
    A source that has a phrase of the uncovered words at another place stays chosen, and is read only once.
    """
    chance = random.Random(1)
    passage, beside = words(chance, 60), words(chance, 9)
    with Store(EmbeddedEngine(tmp_path / "store", passages=PassageScheme())) as store:
        store.index(Document(f"copy {number:03}", " ".join([*words(chance, 50), *passage])) for number in range(150))
        of_both = [*words(chance, 50), *passage, *words(chance, 20), *beside[:7]]
        store.index([Document("a phrase more", " ".join(of_both))])
        text = " ".join([*words(chance, 50), *passage, *beside, *words(chance, 50)])
        attribution = store.sources(source=text)
    assert (attribution.covered_words, len(attribution.sources), attribution.also_count, attribution.read) == (
        60,
        1,
        150,
        1,
    )


def test_passages_alone_find_sources_of_long_passages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If passage hashes find every passage that counts, no phrases are searched.
    """
    chance = random.Random(16)
    passage = words(chance, 30)

    def searched(*_: object, **__: object) -> None:
        raise AssertionError("phrases were searched")

    with Store(EmbeddedEngine(tmp_path / "store", passages=PassageScheme())) as store:
        store.index([Document("source", " ".join([*words(chance, 50), *passage, *words(chance, 50)]))])
        text = " ".join([*words(chance, 300), *passage, *words(chance, 300)])
        monkeypatch.setattr(store.engine, "find_known_phrases", searched)
        attribution = store.sources(source=text, min_words=20)
        assert ([source.id for source in attribution.sources], attribution.promise.certain_words) == (["source"], 20)
        with pytest.raises(AssertionError):
            store.sources(source=text, min_words=19)


def test_many_documents_with_a_shorter_passage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A passage of 20 words is found among hundreds of documents with 19 of its words, without reading their sketches.
    """
    chance = random.Random(3)
    passage = words(chance, 20)
    with Store(EmbeddedEngine(tmp_path / "store", passages=PassageScheme())) as store:
        shorter = [passage[:19], passage[1:]]
        store.index(
            Document(f"shorter {number:03}", " ".join([*words(chance, 30), *shorter[number % 2], *words(chance, 30)]))
            for number in range(500)
        )
        store.index([Document("source", " ".join([*words(chance, 50), *passage, *words(chance, 50)]))])
        sketches, asked = store.engine.sketches, list[str]()

        def recorded(ids: Collection[str]) -> Mapping[str, Sketch]:
            asked.extend(ids)
            return sketches(ids)

        monkeypatch.setattr(store.engine, "sketches", recorded)
        attribution = store.sources(source=" ".join([*words(chance, 40), *passage, *words(chance, 40)]), min_words=20)
    assert [(source.id, source.words) for source in attribution.sources] == [("source", 20)]
    assert attribution.candidates > 200
    assert len(asked) < 50


@pytest.mark.parametrize("seed", range(5))
def test_boilerplate_at_the_end_of_a_text(tmp_path: Path, seed: int) -> None:
    """
    A few words of a document before and after boilerplate at the end of a text do not disturb its other sources.
    """
    chance = random.Random(seed)
    form, before, after, passage = words(chance, 40), words(chance, 3), words(chance, 1), words(chance, 30)
    with Store(EmbeddedEngine(tmp_path / "store", passages=PassageScheme())) as store:
        parts = [*([form] * 15), [*before, *form, *after], passage]
        store.index(
            Document(f"{number:02}", " ".join([*words(chance, 20), *part, *words(chance, 20)]))
            for number, part in enumerate(parts)
        )
        text = " ".join([*passage, *words(chance, 30), *before, *form, *after])
        sources = store.sources(source=text, ignore_common=True).sources
    assert (sources[0].id, sources[0].words) == ("16", 30)
    # Winnowing may miss up to 12 words at the start of the boilerplate.
    assert all((source.id, source.words) <= ("15", 15) for source in sources[1:])


def test_a_passage_copied_with_a_broken_word(store: Store) -> None:
    """
    A passage that was copied with the halves of a broken word, and set in other lines, is covered as a whole, although
    the text has the whole word elsewhere.
    """
    chance = random.Random(17)
    before, after = words(chance, 15), words(chance, 15)
    store.index([Document("broken", " ".join(before) + " deal-\nings " + " ".join(after))])
    text = " ".join(["dealings", *words(chance, 30), *before, "deal- ings", *after])
    (source,) = (attribution := answer(store, text)).sources
    assert (source.id, attribution.covered_words) == ("broken", 32)


def test_a_word_that_both_texts_break_elsewhere(store: Store) -> None:
    """
    A passage is found whole if the text and the document break the same word at different places.
    """
    chance = random.Random(18)
    before, after = words(chance, 15), words(chance, 15)
    store.index([Document("broken", " ".join(before) + " deal-\nings " + " ".join(after))])
    (source,) = answer(store, " ".join([*before, "dea-\nlings", *after])).sources
    assert [passage.words for passage in source.passages] == [31]


@pytest.mark.parametrize("at_once", [1, 50])
def test_words_of_the_store_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """
    A broken word is joined if a document has it, or if none has its halves next to each other.
    """
    monkeypatch.setattr(find_sources_module, "_AT_ONCE", at_once)
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index([Document("a", "an example paragraph"), Document("b", "a well-known one")])
        engine.refresh()
        broken = words_of("An exam-\nple of well-\nknown para-\ngraphs, one para-\ngraph")
        assert " ".join(rejoin_words(engine, broken).words) == "an example of well known paragraphs one paragraph"
        whole = words_of("an example")
        assert rejoin_words(engine, whole) is whole


@pytest.mark.parametrize(("shared", "expected"), [(5, (0, 0, 0)), (19, (1, 1, 19))])
def test_windows_of_words_that_documents_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: int, expected: tuple[int, int, int]
) -> None:
    """
    Windows are searched only if a document has a passage of them: one with a phrase of five words is not read.
    """
    chance, searched = random.Random(18), list[str]()
    text = words(chance, 40)
    with Store(EmbeddedEngine(tmp_path / "store", passages=PassageScheme())) as store:
        # A document of 19 words has no passage hash.
        store.index([Document("source", " ".join([*text[10 : 10 + shared], *words(chance, 19 - shared)]))])

        def found(*arguments: Any, **options: Any) -> Candidates:
            searched.append("windows")
            return find_candidates(*arguments, **options)

        monkeypatch.setattr("whorl.search.attribution.find_sources.find_candidates", found)
        attribution = store.sources(source=" ".join(text))
    assert (len(searched), attribution.read, attribution.covered_words) == expected
