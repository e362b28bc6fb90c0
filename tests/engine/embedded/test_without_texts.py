"""A store without texts names the same sources as one with texts, and its files have no words of the documents."""

from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from string import ascii_lowercase

import pytest
from click.testing import CliRunner, Result

from whorl import Document, Store, open_store
from whorl.cli.main import main
from whorl.engine.embedded.database import TextCodec, _label, _seal
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.embedded.segments import Segment
from whorl.engine.embedded.store_files import INDEX, RECORDS
from whorl.errors import ParameterError, SchemaError, SchemeMismatchError, StoreError
from whorl.fingerprint.shingling import join
from whorl.fingerprint.winnowing import PROOF_BITS, PassageScheme, winnow
from whorl.model import CLUSTER
from whorl.search.attribution.results import HashedPassage

CHANCE = random.Random(321)
TEXT = ["".join(CHANCE.choices(ascii_lowercase, k=9)) for _ in range(400)]


def other_words(count: int) -> list[str]:
    return ["".join(CHANCE.choices(ascii_lowercase, k=9)) for _ in range(count)]


def word_lists() -> dict[str, list[str]]:
    """
    Documents by id, with 3 to 40 words of the text between other words; several have the same ones.
    """
    texts = {}
    for number in range(60):
        start, length = CHANCE.randrange(360), CHANCE.randrange(3, 40)
        texts[f"d{number:02}"] = [*other_words(50), *TEXT[start : start + length], *other_words(50)]
    return {**texts, "copy": texts["d07"], "two": [*TEXT[10:40], *other_words(9), *TEXT[200:230]], "short": TEXT[:4]}


MADE = word_lists()
DOCUMENTS = [Document(name, " ".join(words), f"Title {name}") for name, words in MADE.items()]


def run_starts(words: list[str], length: int) -> set[int]:
    """Return the starts of runs of `length` words that the text has in common with a document."""
    own = {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}
    return {at for at in range(len(TEXT) - length + 1) if tuple(TEXT[at : at + length]) in own}


def run_words(starts: Iterable[int], length: int) -> set[int]:
    return {at + step for at in starts for step in range(length)}


def certain_words(words: list[str], scheme: PassageScheme) -> set[int]:
    """Return the words of the runs that are certainly found, without the words at their ends that can be missing."""
    edge = scheme.window - 1
    return {
        at + step
        for at in run_starts(words, scheme.run_words)
        for step in range(edge, scheme.run_words - edge)
        if scheme.run_words > 2 * edge
    }


def whorl(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.mark.parametrize("run", [20, 12, 8])
def test_the_same_documents_and_words(tmp_path: Path, run: int) -> None:
    """
    Every document with a run of the promised length is named, no document without a run of the hashed length is, and
    the words of each source are in runs that the document has. The index can be made again.
    """
    scheme = PassageScheme.for_runs(run)
    holders = {name for name, words in MADE.items() if run_starts(words, run)}
    sharing = {name for name, words in MADE.items() if run_starts(words, scheme.hashed_words)}
    with open_store(tmp_path / "store", passages=run, no_text=True) as store:
        store.index(DOCUMENTS)
        store.index([Document("gone", " ".join(TEXT)), Document("changed", " ".join(TEXT))])
        store.index([Document("changed", " ".join(other_words(30)))])
        assert store.delete(["gone"]) == 1
    for is_made_again in (False, True):
        if is_made_again:
            shutil.rmtree(tmp_path / "store" / INDEX)
        with open_store(tmp_path / "store") as store, open_store(tmp_path / "with texts", passages=run) as whole:
            whole.index(DOCUMENTS)
            assert store.engine.passage_scheme == PassageScheme(run, scheme.hashed_words, PROOF_BITS)
            result, expected = store.sources(source=" ".join(TEXT)), whole.sources(source=" ".join(TEXT))
            named = {source.id for source in result.sources} | {name for name, _ in result.also}
            assert holders <= named <= sharing
            assert (result.promise.certain_words, result.read, result.unread) == (run, 0, 0)
            assert f"up to {scheme.window - 1} words can be missing at each end" in result.warnings[0]
            # Only words at the ends of passages can be missing from the covered words.
            ends = 2 * (scheme.window - 1) * sum(len(source.passages) for source in expected.sources)
            assert expected.covered_words - ends <= result.covered_words
            covered = set[int]()
            for source in result.sources:
                words = {TEXT.index(word) for place in source.passages for word in cut(place.a)}
                assert words <= run_words(run_starts(MADE[source.id], scheme.hashed_words), scheme.hashed_words)
                assert (source.words, source.name) == (len(words), f"Title {source.id}")
                assert (source.shares, source.content, {place.b for place in source.passages}) == (None, "", {None})
                for place in source.passages:
                    assert isinstance(place, HashedPassage)
                    assert place.b_words
                    first, last, length = place.b_words
                    assert MADE[source.id][first - 1 : last] == cut(place.a)
                    assert length == len(MADE[source.id])
                covered |= words
            assert covered >= set().union(*(certain_words(words, scheme) for words in MADE.values()))
            assert result.covered_words == len(covered)
            assert is_made_again or store.engine.verify()


def cut(place: tuple[int, int]) -> list[str]:
    return " ".join(TEXT)[slice(*place)].split()


def words_in_files(folder: Path) -> set[str]:
    """Return the words of the documents that stand in any file of a store."""
    content = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    # Every word has nine letters. Searching all files for each word would take a minute.
    parts = {run[at : at + 9] for run in re.findall(rb"[a-z]{9,}", content) for at in range(len(run) - 8)}
    return {word for words in MADE.values() for word in words if word.encode() in parts}


def test_files_have_no_words(tmp_path: Path) -> None:
    """
    No file has a word of a document, though the files of a store with texts have hundreds. The records have five and a
    half bytes for each passage hash and its place, six more bytes, and no dictionary, which is made from texts. The
    index has passage hashes alone.
    """
    many = [Document(f"more {at}", " ".join(other_words(40) + TEXT[:200])) for at in range(1_200)]
    for folder, no_text in (("with", False), ("without", True)):
        with open_store(tmp_path / folder, no_text=no_text) as store:
            store.index([*DOCUMENTS, *many])
            store.index([*DOCUMENTS, *many], again=True)
        word_count = len(words_in_files(tmp_path / folder))
        with closing(sqlite3.connect(tmp_path / folder / RECORDS)) as records:
            has_dictionary = bool(records.execute("SELECT 1 FROM meta WHERE key = 'dictionary'").fetchall())
            lengths = dict(records.execute("SELECT id, length(content) FROM document WHERE sketch IS NULL").fetchall())
        segments = map(Segment, (tmp_path / folder / INDEX / "tokens").glob("*.segment"))
        kinds = zip(*(map(len, segment.postings) for segment in segments), strict=True)
        has_postings = [bool(sum(counts)) for counts in kinds]
        if no_text:
            assert (word_count, has_dictionary, len(lengths)) == (0, False, len(DOCUMENTS) + len(many))
            assert has_postings == [False, False, True]
            hashes = {name: len(winnow(join(words), PassageScheme(bits=PROOF_BITS))) for name, words in MADE.items()}
            for name, count in hashes.items():
                assert 5 * count + 5 <= lengths[name] <= 5.5 * count + 6
        else:
            assert (word_count > 300, has_dictionary, has_postings) == (True, True, [True, True])


def write_without_places(folder: Path) -> None:
    """Change the records of a store without texts to those of format 11, which have no places."""
    with EmbeddedEngine(folder) as engine:
        stored = list(engine._records.all_documents())
        heads = {head.id: head for head in engine._records.heads("number", [own.number for own in stored])}
    codec = TextCodec(lambda: None)
    with closing(sqlite3.connect(folder / RECORDS)) as connection:
        for number, document, hashes in stored:
            name = document.id
            assert hashes is not None
            content = b"".join(value.to_bytes(5, "little") for value in hashes.tolist())
            head = codec.compress(json.dumps([heads[name].name, heads[name].properties, heads[name].stored_digest]))
            sealed = [_seal(_label(part, number, name), blob) for part, blob in (("head", head), ("content", content))]
            connection.execute("UPDATE document SET head = ?, content = ? WHERE number = ?", (*sealed, number))
        connection.execute("UPDATE meta SET value = '11' WHERE key = 'format'")
        connection.commit()


def test_a_store_without_places(tmp_path: Path) -> None:
    """
    A store of format 11 has no places. It is read unchanged, and its index can be made again; documents that are
    indexed again have places.
    """
    folder, text = tmp_path / "store", " ".join(TEXT)
    with open_store(folder, passages=12, no_text=True) as store:
        store.index(DOCUMENTS)
        expected = [(source.id, source.words) for source in store.sources(source=text).sources]
    write_without_places(folder)
    shutil.rmtree(folder / INDEX)
    for is_again in (False, True):
        with open_store(folder) as store:
            store.index(DOCUMENTS, again=is_again)
            found = store.sources(source=text)
            assert [(source.id, source.words) for source in found.sources] == expected
            assert isinstance(store.engine, EmbeddedEngine)
            store.engine._records.verify()
            passages = [passage for source in found.sources for passage in source.passages]
            assert {isinstance(own, HashedPassage) and own.b_words is not None for own in passages} == {is_again}


REFUSED: dict[str, Callable[[Store], object]] = {
    "similar": lambda store: store.similar("d01"),
    "similar to a text": lambda store: store.similar(source=" ".join(TEXT)),
    "compare": lambda store: store.compare("d01", "d02"),
    "verify": lambda store: store.verify(source=f'He said "{" ".join(TEXT[:12])}".'),
    "verify with a source": lambda store: store.verify(quotations=[{"quote": "a b c d", "source": "d01"}]),
    "texts": lambda store: store.texts(["d01"]),
    "words": lambda store: store.search("lease"),
    "words of the content": lambda store: store.search("content:lease"),
    "a phrase": lambda store: store.search('content:"a lease"'),
    "a wildcard": lambda store: store.search("content:lea*"),
    "a fuzzy word": lambda store: store.search("content:lease~1"),
    "FINGERPRINT": lambda store: store.search("FINGERPRINT:d01"),
    "labels": lambda store: store.engine.labels.prepare(),
    "all documents": lambda store: list(store.engine.scan()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_operations_on_texts_are_refused(tmp_path: Path, name: str) -> None:
    with open_store(tmp_path / "store", no_text=True) as store:
        store.index(DOCUMENTS)
        with pytest.raises(SchemaError, match="keeps no texts, only their passages: 'whorl sources' finds those in"):
            REFUSED[name](store)


def test_names_and_properties_are_searched(tmp_path: Path) -> None:
    """
    Names, properties and ids are kept; unchanged documents are skipped.
    """
    document = Document("a", " ".join(TEXT), "Lease of 2024", {"year": 2024, CLUSTER: "x"})
    with open_store(tmp_path / "store", no_text=True) as store:
        assert store.index([document], takes_reserved=True).stored == 1
        assert store.index([document], takes_reserved=True).unchanged == 1
        for query in ("name:lease", "year:2024", "id:a", "*", "name:le*"):
            assert [hit.id for hit in store.search(query).hits] == ["a"]
        assert store.count("name:other") == 0


def test_options_of_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If another process leaves out texts while this one waits for the lock, neither loses its options.
    """
    EmbeddedEngine(tmp_path / "store").close()
    acquire = EmbeddedEngine._acquire_lock

    def save_others_first(engine: EmbeddedEngine) -> None:
        monkeypatch.setattr(EmbeddedEngine, "_acquire_lock", acquire)
        EmbeddedEngine(tmp_path / "store", reduction="no_text").close()
        acquire(engine)

    monkeypatch.setattr(EmbeddedEngine, "_acquire_lock", save_others_first)
    with closing(EmbeddedEngine(tmp_path / "store", passages=True)) as engine:
        assert not engine.keeps_texts


def test_when_texts_can_be_left_out(tmp_path: Path) -> None:
    """
    A store keeps no texts from its first document on, or keeps them for ever; it stays without texts when it is opened.
    """
    with open_store(tmp_path / "with") as store:
        store.index([Document("a", "one two three")])
        store.delete(["a"])
    with pytest.raises(StoreError, match="has kept texts already; index into a new folder"):
        open_store(tmp_path / "with", no_text=True)
    with pytest.raises(ParameterError, match="no_text is for a folder"):
        open_store("http://localhost:1/solr/none", no_text=True)
    open_store(tmp_path / "without", passages=12, no_text=True).close()
    for passages, no_text in ((12, True), (True, False), (False, False)):
        with open_store(tmp_path / "without", passages=passages, no_text=no_text) as store:
            assert not store.engine.keeps_texts
            assert store.engine.passage_scheme == PassageScheme(12, 8, PROOF_BITS)
    with pytest.raises(SchemeMismatchError, match="finds passages of 12 words, not of 20"):
        open_store(tmp_path / "without", passages=20)


def test_another_process_left_out_texts(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as early:
        open_store(tmp_path / "store", no_text=True).close()
        early.index(DOCUMENTS)
        assert not early.engine.keeps_texts
    text = DOCUMENTS[0].text.encode()
    assert not any(text in file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file())


def test_on_the_command_line(tmp_path: Path) -> None:
    """
    All outputs of `sources` say which documents and how much, and leave out what needs texts.
    """
    store, report, letter = str(tmp_path / "store"), tmp_path / "report.html", tmp_path / "letter.txt"
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "lease.txt").write_text(" ".join(TEXT[:60]), encoding="utf-8")
    letter.write_text(" ".join([*other_words(10), *TEXT[5:55], *other_words(10)]), encoding="utf-8")
    done = whorl("index", "--store", store, "--no-text", "--passages", "12", str(tmp_path / "files"))
    assert done.exit_code == 0, done.stderr
    result = whorl("sources", "--store", store, "--json", str(letter))
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    (source,) = answer["sources"]
    assert 42 <= source["words"] <= 50
    assert (source["jaccard"], source["shingles"], source["exact"]) == (None, None, False)
    (passage,) = source["passages"]
    assert (passage["b"], passage["words"]) == (None, source["words"])
    place, words = passage["b_words"], passage["a"]["text"].split()
    assert TEXT[:60][place["first_word"] - 1 : place["last_word"]] == words
    assert place["document_words"] == 60
    assert passage["a"]["text"] in letter.read_text(encoding="utf-8")
    table = whorl("sources", "--store", store, "--html", str(report), str(letter))
    assert table.exit_code == 0
    assert "the store keeps no texts" in table.stderr
    assert "lease.txt" in table.stdout
    assert f"In the source, words {place['first_word']} to {place['last_word']} of 60." in report.read_text("utf-8")
    assert whorl("sources", "--store", store, "--csv", str(letter)).stdout.count("\n") == 2
    assert "texts: none" in whorl("status", "--store", store).stdout
    for words in (("similar", str(letter)), ("search", "lease"), ("verify", str(letter)), ("duplicates",)):
        refused = whorl(words[0], "--store", store, *words[1:])
        assert refused.exit_code in (1, 2)
        assert "keeps no texts" in refused.stderr
