"""Tests of passage numbers on every engine: the documents with each number, and the resulting sources."""

from __future__ import annotations

import contextlib
import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner

from tests import opensearch_runtime, solr_runtime
from tests.conformance.engines import ENGINES
from tests.search.attribution.made import words
from whorl import Document, Store, open_store
from whorl.cli.main import main
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import SchemeMismatchError
from whorl.fingerprint.shingling import join
from whorl.fingerprint.winnowing import PassageScheme, winnow
from whorl.query.plan.nodes import BoundPlan, DocumentsByScore, Words

CHANCE = random.Random(61)
TEXT = words(CHANCE, 600)


def word_lists() -> dict[str, list[str]]:
    """
    Documents by id: 30 with a passage of the text, 25 near-copies with another passage, and unrelated ones.
    """
    texts = {}
    for number in range(30):
        start, length = CHANCE.randrange(570), CHANCE.randrange(20, 30)
        texts[f"part {number:02}"] = [*words(CHANCE, 60), *TEXT[start : start + length], *words(CHANCE, 60)]
    base = [*words(CHANCE, 200), *TEXT[300:380], *words(CHANCE, 200)]
    for number in range(25):
        copy = list(base)
        for _ in range(6):
            copy[CHANCE.randrange(len(copy))] = words(CHANCE, 1)[0]
        texts[f"copy, {number:02}"] = copy
    return {**texts, "other": words(CHANCE, 300), "short": TEXT[:12]}


def broken_at_line_ends(words: list[str]) -> str:
    """Return words on lines of five, each last one broken by a hyphen."""
    lines = [words[at : at + 5] for at in range(0, len(words), 5)]
    return " ".join(" ".join([*line[:-1], f"{line[-1][:2]}-\n{line[-1][2:]}"]) for line in lines)


MADE = word_lists()
#: Documents with passages of 8 to 12 words, for stores that find them for certain.
BITS = {
    f"bit {start:03}": [*words(CHANCE, 30), *TEXT[start : start + CHANCE.randrange(8, 13)], *words(CHANCE, 30)]
    for start in range(0, 580, 20)
}
#: Text that only one document has, with words broken at line ends.
WHOLE = ["".join(CHANCE.choices(ascii_lowercase, k=8)) for _ in range(60)]
#: Texts of 20 words. For each of them, one document breaks one of the words at the end of a line.
BREAKABLE = [["".join(CHANCE.choices(ascii_lowercase, k=8)) for _ in range(20)] for _ in range(24)]
#: Text with an apostrophe in every word, which one document has with typographic apostrophes.
_FRENCH = random.Random(67)
FRENCH = " ".join(f"l'{word}" for word in words(_FRENCH, 60))
#: Text in the middle of a large document, which has another kind of apostrophe in every 13 words. It has nearly as many
#: shingles as are looked up as phrases.
MIXED = " ".join(f"d'{word}" for word in words(_FRENCH, 130))


def documents(run: int) -> dict[str, list[str]]:
    """The documents of a store that finds passages of `run` words."""
    return MADE if run == 20 else {**MADE, **BITS}


def _filled(where: str | Path, run: int) -> Iterator[Store]:
    """Fill a store, which never opens for passages of another length."""
    with open_store(where, passages=True if "://" in str(where) else run) as store:
        assert store.engine.passage_scheme == PassageScheme.for_runs(run)
        store.index(Document(document_id, " ".join(own)) for document_id, own in documents(run).items())
        store.index([Document("broken", broken_at_line_ends(WHOLE)), Document("whole", " ".join(WHOLE[:40]))])
        store.index(_documents_with_broken_words(run))
        store.index([Document("typographic", FRENCH.replace("'", "’")), _mixed()])
        with pytest.raises(SchemeMismatchError, match=f"finds passages of {run} words, not of 12"):
            open_store(where, passages=12)
        yield store


def _mixed() -> Document:
    chance = random.Random(71)
    text = (word.replace("'", "’'‘ʼ"[number // 13 % 4]) for number, word in enumerate(MIXED.split()))
    return Document("mixed", " ".join([*words(chance, 5_000), *text, *words(chance, 5_000)]))


def _documents_with_broken_words(run: int) -> Iterator[Document]:
    for number, passage in enumerate(BREAKABLE):
        broken = list(passage)
        broken[number % run] = f"{broken[number % run][:3]}-\n{broken[number % run][3:]}"
        own = " ".join([*words(CHANCE, 30), *broken[:run], *words(CHANCE, 30)])
        yield Document(f"broken {number:02}", own)


@pytest.fixture(scope="module", params=[20, 8])
def run(request: pytest.FixtureRequest) -> int:
    """Length of the shortest passage that the store finds for certain."""
    return int(request.param)


@pytest.fixture(scope="module")
def embedded(run: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    yield from _filled(tmp_path_factory.mktemp("passages") / "store", run)


def run_init(server: str, url: str, run: int) -> None:
    """
    Run `init --passages` in a separate folder, because it writes a whorl.toml. 20 words are the default; afterwards
    another number is refused.
    """
    number = [] if run == 20 else [str(run)]
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        for numbers, exit_code, message in ((number, 0, ""), (["12"], 1, f"finds passages of {run} words")):
            result = CliRunner().invoke(main, [server, "init", "--passages", *numbers, url])
            assert (result.exit_code, message in result.output) == (exit_code, True), result.output


def _in_solr(url: str, run: int) -> Iterator[Store]:
    base_url, name = url.rpartition("/")[0], f"whorl_passages_{uuid.uuid4().hex[:8]}"
    own = solr_runtime.make_collection(base_url, name)
    run_init("solr", own, run)
    yield from _filled(own, run)
    solr_runtime.drop(base_url, name)


@pytest.fixture(scope="module")
def standalone(run: int, solr_standalone_url: str) -> Iterator[Store]:
    yield from _in_solr(solr_standalone_url, run)


@pytest.fixture(scope="module")
def cloud(run: int, solr_cloud_url: str) -> Iterator[Store]:
    yield from _in_solr(solr_cloud_url, run)


@pytest.fixture(scope="module")
def opensearch(run: int, opensearch_url: str) -> Iterator[Store]:
    with opensearch_runtime.own_index(opensearch_url) as url:
        run_init("opensearch", url, run)
        yield from _filled(url, run)


@pytest.fixture(params=ENGINES)
def passage_store(request: pytest.FixtureRequest, run: int) -> Store:
    opened = request.getfixturevalue(request.param)
    assert isinstance(opened, Store)
    return opened


def test_holders(passage_store: Store, run: int) -> None:
    """
    The documents of each number equal those of plain sets; a frequent number is looked up only in documents with a rare
    number and in the named ones.
    """
    scheme = PassageScheme.for_runs(run)
    numbers = winnow(join(TEXT), scheme).tolist()
    own = {document_id: set(winnow(join(words), scheme).tolist()) for document_id, words in documents(run).items()}
    counts = dict(zip(numbers, passage_store.engine.passage_counts(numbers), strict=True))
    assert counts == {number: sum(number in hashes for hashes in own.values()) for number in numbers}

    def pairs(most: int, among: tuple[str, ...] = (), left_out: tuple[str, ...] = ()) -> set[tuple[str, int]]:
        plan = DocumentsByScore("", ((1.0, left_out),)) if left_out else None
        holders = passage_store.engine.find_documents_with_passages(counts, most=most, among=among, left_out=plan)
        return {
            (holders.ids[a], numbers[b])
            for a, b in zip(holders.document_indices.tolist(), holders.hash_indices.tolist(), strict=True)
        }

    everything = {(document_id, number) for document_id, hashes in own.items() for number in hashes if number in counts}
    assert len(everything) > 100
    assert pairs(1_000) == everything
    gathered = {document_id for document_id, number in everything if counts[number] <= 15}
    assert {document_id for document_id, _ in everything} > gathered
    assert pairs(15) == {pair for pair in everything if pair[0] in gathered}
    assert pairs(0, ("copy, 03", "part 07")) == {pair for pair in everything if pair[0] in ("copy, 03", "part 07")}
    assert pairs(1_000, left_out=("copy, 03",)) == {pair for pair in everything if pair[0] != "copy, 03"}
    assert pairs(0) == set()


def test_sources(passage_store: Store, embedded: Store, run: int) -> None:
    """
    Every engine gives the same sources, and they cover at least every run of the store's length that a document shares
    with the text.
    """
    actual, expected = passage_store.sources(source=" ".join(TEXT)), embedded.sources(source=" ".join(TEXT))
    assert [(source.id, source.words, source.new_words, source.only_words) for source in actual.sources] == [
        (source.id, source.words, source.new_words, source.only_words) for source in expected.sources
    ]
    assert (actual.covered_words, actual.unread, actual.promise.crowded) == (expected.covered_words, 0, 0)
    assert {document_id for document_id, _ in actual.also} == {document_id for document_id, _ in expected.also}
    assert actual.promise.certain_words == run
    starts = range(len(TEXT) - run + 1)
    runs = {tuple(own[at : at + run]) for own in documents(run).values() for at in range(len(own) - run + 1)}
    covered = {at + step for at in starts if tuple(TEXT[at : at + run]) in runs for step in range(run)}
    assert actual.covered_words >= len(covered) > 300


def test_a_long_text(passage_store: Store, embedded: Store, run: int) -> None:
    """
    Every engine finds the 60 passages of a text of 10,000 words, and no other words, from the same documents.
    """
    chance = random.Random(62)
    text, copied = list[str](), 0
    for own in chance.choices([own for own in documents(run).values() if len(own) > 100], k=60):
        start, length = chance.randrange(len(own) - 40), chance.randrange(25, 40)
        text += [*words(chance, 140), *own[start : start + length]]
        copied += length
    assert len(text) > 10_000
    actual, expected = passage_store.sources(source=" ".join(text)), embedded.sources(source=" ".join(text))
    assert [(source.id, source.words) for source in actual.sources] == [
        (source.id, source.words) for source in expected.sources
    ]
    assert (actual.covered_words, actual.unread) == (copied, 0)


def test_every_run_of_the_store_s_length(passage_store: Store, run: int) -> None:
    """
    For a text of one shared run, every document with this run is found, as by a plain search in the texts, even if the
    other documents with it are excluded.
    """
    texts = {document_id: f" {' '.join(own)} " for document_id, own in documents(run).items()}
    count = 0
    for start in range(0, 580, 20):
        text = " ".join(TEXT[start : start + run])
        holders = [document_id for document_id, own in texts.items() if f" {text} " in own]
        for holder in holders[:2]:
            others = " OR ".join(f'id:"{document_id}"' for document_id in holders if document_id != holder)
            attribution = passage_store.sources(source=text, exclude=others or None)
            assert holder in {source.id for source in attribution.sources}
            assert attribution.coverage == 1
            count += 1
    assert count > 10


def test_documents_with_a_phrase(passage_store: Store, run: int) -> None:
    """
    The embedded engine names the documents with any of several phrases, and the phrases that any document has. Servers
    do not, because they split texts into words differently.
    """
    phrases = [tuple(MADE["other"][at : at + 5]) for at in (3, 200)] + [tuple(TEXT[310:315]), ("not", "there")]
    texts = {document_id: " ".join(own) for document_id, own in documents(run).items()}
    wanted = {document_id for document_id, text in texts.items() if any(" ".join(phrase) in text for phrase in phrases)}
    holders = passage_store.engine.find_documents_with_phrases(phrases)
    known = passage_store.engine.find_known_phrases(phrases)
    if isinstance(passage_store.engine, EmbeddedEngine):
        assert holders == wanted
        assert set(known or ()) == {*phrases[:-1]}
    else:
        assert (holders, known) == (None, None)
    assert len(wanted) > 2


def test_shortest_passages_with_a_broken_word(passage_store: Store, run: int) -> None:
    """
    A document has the shortest certain passage of a text, even if it breaks one of its words at the end of a line.
    """
    text = " ".join(" ".join([*words(CHANCE, 25), *passage[:run]]) for passage in BREAKABLE)
    sources = passage_store.sources(source=text, min_words=run).sources
    expected = [(f"broken {number:02}", run) for number in range(len(BREAKABLE))]
    assert sorted((source.id, source.words) for source in sources) == expected


def test_words_broken_at_line_ends(passage_store: Store) -> None:
    """
    A document with broken words is a source of the whole text, and the reverse. Passages show the original texts.
    """
    whole, broken = " ".join(WHOLE), broken_at_line_ends(WHOLE)
    attribution = passage_store.sources(source=whole)
    assert [(source.id, source.words) for source in attribution.sources] == [("broken", 60)]
    (passage,) = attribution.sources[0].passages
    assert passage.b is not None
    assert (whole[slice(*passage.a)], broken[slice(*passage.b)]) == (whole, broken)
    attribution = passage_store.sources(source=broken_at_line_ends(WHOLE[3:38]), exclude="id:broken")
    assert [source.id for source in attribution.sources] == ["whole"]
    assert attribution.coverage == 1


@pytest.mark.parametrize("mark", ["'", "‘", "ʼ"])
def test_other_apostrophes(passage_store: Store, mark: str) -> None:
    """
    Apostrophes of another kind change neither sources nor shares; FINGERPRINT compares Lucene's tokens, which differ.
    """
    text = FRENCH.replace("'", mark)
    attribution = passage_store.sources(source=text)
    assert [(source.id, source.words) for source in attribution.sources] == [("typographic", 60)]
    (passage,) = attribution.sources[0].passages
    assert passage.a == (0, len(text))
    hits = passage_store.similar(source=text, threshold=100).found
    assert [(hit.hit.id, hit.hit.score) for hit in hits] == [("typographic", 100)]
    assert passage_store.compare("source", "typographic", source=text).shares.jaccard == 1
    assert passage_store.search("FINGERPRINT:typographic_100").total == 1


def test_phrases_with_any_apostrophe(passage_store: Store) -> None:
    """
    A phrase of folded words finds a document with apostrophes of other kinds; all other letters must match.
    """
    engine, words_of_text = passage_store.engine, MIXED.split()
    content = engine.fields().content_field

    def find(phrase: str) -> list[str]:
        page = engine.search(BoundPlan(Words(phrase, content, any_apostrophe=True)), start=0, rows=10)
        return [hit.id for hit in page.hits]

    assert find(" ".join(words_of_text[2:7])) == find(words_of_text[3]) == ["mixed"]
    assert find(" ".join([*words_of_text[2:6], words_of_text[8]])) == []
    if isinstance(engine, EmbeddedEngine):
        phrases = [tuple(words_of_text[10:17]), (words_of_text[3],), (*words_of_text[2:6], words_of_text[8])]
        for known in phrases[:2]:
            assert engine.find_documents_with_phrases([known]) == {"mixed"}
        assert engine.find_known_phrases(phrases) == phrases[:2]


def test_short_text_with_other_apostrophes(passage_store: Store) -> None:
    """
    A short text is found in a document so large that it is looked up by phrases, whose apostrophes may be of any kind.
    A server finds no phrase with two kinds.
    """
    threshold = 95 if isinstance(passage_store.engine, EmbeddedEngine) else 60
    hits = passage_store.similar(source=MIXED, metric="a_in_b", threshold=threshold).found
    assert [hit.hit.id for hit in hits] == ["mixed"]
