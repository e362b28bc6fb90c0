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
from whorl.fingerprint.shingling import join
from whorl.fingerprint.winnowing import PassageScheme, winnowed
from whorl.query.plan.nodes import DocumentIds

SCHEME = PassageScheme()
CHANCE = random.Random(61)
TEXT = words(CHANCE, 600)


def made() -> dict[str, list[str]]:
    """Documents by id: 30 with a passage of the text, 25 near-copies with another passage, and unrelated ones."""
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


MADE = made()
#: A text of its own, and a document that has it with words broken at line ends.
WHOLE = ["".join(CHANCE.choices(ascii_lowercase, k=8)) for _ in range(60)]


def _filled(where: str | Path) -> Iterator[Store]:
    with open_store(where, passages=True) as store:
        store.index(Document(each, " ".join(own)) for each, own in MADE.items())
        store.index([Document("broken", broken_at_line_ends(WHOLE)), Document("whole", " ".join(WHOLE[:40]))])
        yield store


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    yield from _filled(tmp_path_factory.mktemp("passages") / "store")


def run_init(server: str, url: str) -> None:
    """Run `init --passages` in a folder of its own, for the whorl.toml that it writes."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        assert CliRunner().invoke(main, [server, "init", url, "--passages"]).exit_code == 0


def _in_solr(url: str) -> Iterator[Store]:
    base_url, name = url.rpartition("/")[0], f"whorl_passages_{uuid.uuid4().hex[:8]}"
    own = solr_runtime.make_collection(base_url, name)
    run_init("solr", own)
    yield from _filled(own)
    solr_runtime.drop(base_url, name)


@pytest.fixture(scope="module")
def standalone(solr_standalone_url: str) -> Iterator[Store]:
    yield from _in_solr(solr_standalone_url)


@pytest.fixture(scope="module")
def cloud(solr_cloud_url: str) -> Iterator[Store]:
    yield from _in_solr(solr_cloud_url)


@pytest.fixture(scope="module")
def opensearch(opensearch_url: str) -> Iterator[Store]:
    with opensearch_runtime.own_index(opensearch_url) as url:
        run_init("opensearch", url)
        yield from _filled(url)


@pytest.fixture(params=ENGINES)
def kept(request: pytest.FixtureRequest) -> Store:
    opened = request.getfixturevalue(request.param)
    assert isinstance(opened, Store)
    return opened


def test_holders(kept: Store) -> None:
    """
    The documents of each number equal those of plain sets; a frequent number is looked up only in documents with a rare
    number and in the named ones.
    """
    numbers = winnowed(join(TEXT), SCHEME).tolist()
    own = {each: set(winnowed(join(some), SCHEME).tolist()) for each, some in MADE.items()}
    counts = dict(zip(numbers, kept.engine.passage_counts(numbers), strict=True))
    assert counts == {number: sum(number in some for some in own.values()) for number in numbers}

    def pairs(most: int, among: tuple[str, ...] = (), left_out: tuple[str, ...] = ()) -> set[tuple[str, int]]:
        plan = DocumentIds("", ((1.0, left_out),)) if left_out else None
        found = kept.engine.passage_holders(counts, most=most, among=among, left_out=plan)
        return {(found.ids[a], numbers[b]) for a, b in zip(found.owners.tolist(), found.numbers.tolist(), strict=True)}

    everything = {(each, number) for each, some in own.items() for number in some if number in counts}
    assert len(everything) > 100
    assert pairs(1_000) == everything
    gathered = {each for each, number in everything if counts[number] <= 15}
    assert {each for each, _ in everything} > gathered
    assert pairs(15) == {pair for pair in everything if pair[0] in gathered}
    assert pairs(0, ("copy, 03", "part 07")) == {pair for pair in everything if pair[0] in ("copy, 03", "part 07")}
    assert pairs(1_000, left_out=("copy, 03",)) == {pair for pair in everything if pair[0] != "copy, 03"}
    assert pairs(0) == set()


def test_sources(kept: Store, embedded: Store) -> None:
    """
    Every engine gives the same sources, and they cover at least every run of 20 words that a document shares with the
    text.
    """
    found, expected = kept.sources(source=" ".join(TEXT)), embedded.sources(source=" ".join(TEXT))
    assert [(source.id, source.words, source.new_words, source.only_words) for source in found.sources] == [
        (source.id, source.words, source.new_words, source.only_words) for source in expected.sources
    ]
    assert (found.covered_words, found.unread, found.promise.crowded) == (expected.covered_words, 0, 0)
    assert {each for each, _ in found.also} == {each for each, _ in expected.also}
    runs = {tuple(own[at : at + 20]) for own in MADE.values() for at in range(len(own) - 19)}
    starts = [at for at in range(len(TEXT) - 19) if tuple(TEXT[at : at + 20]) in runs]
    assert found.covered_words >= len({at + step for at in starts for step in range(20)}) > 300


def test_documents_with_a_phrase(kept: Store) -> None:
    """
    The embedded engine names the documents with any of several phrases; servers split texts into words of their own.
    """
    phrases = [tuple(MADE["other"][at : at + 5]) for at in (3, 200)] + [tuple(TEXT[310:315]), ("not", "there")]
    wanted = {each for each, own in MADE.items() if any(" ".join(phrase) in " ".join(own) for phrase in phrases)}
    found = kept.engine.phrase_holders(phrases)
    assert found == (wanted if isinstance(kept.engine, EmbeddedEngine) else None)
    assert len(wanted) > 2


def test_words_broken_at_line_ends(kept: Store) -> None:
    """
    A document with broken words is a source of the whole text, and the reverse. Passages show the original texts.
    """
    whole, broken = " ".join(WHOLE), broken_at_line_ends(WHOLE)
    found = kept.sources(source=whole)
    assert [(source.id, source.words) for source in found.sources] == [("broken", 60)]
    (passage,) = found.sources[0].passages
    assert (whole[slice(*passage.a)], broken[slice(*passage.b)]) == (whole, broken)
    found = kept.sources(source=broken_at_line_ends(WHOLE[3:38]), exclude="id:broken")
    assert [source.id for source in found.sources] == ["whole"]
    assert found.coverage == 1
