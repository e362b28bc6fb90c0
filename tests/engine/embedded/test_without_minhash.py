"""Stores with short MINHASH tokens or without any: searches, refusals, and changes of the option."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl import Document, Store, open_store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.embedded.store_files import IndexBrokenError
from whorl.engine.embedded.store_index import StoreIndex
from whorl.errors import ParameterError, SchemaError, StoreError

WORDS = [f"w{number}" for number in range(300)]
#: Each document has most of the words of its predecessor.
DOCUMENTS = [Document(f"d{number}", " ".join(WORDS[10 * number : 200 + 10 * number])) for number in range(10)]


def tokens_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.glob("index/tokens/*.segment"))


def test_similar_finds_as_with_them(tmp_path: Path) -> None:
    """
    `similar`, calibrated FINGERPRINT and words find the same documents by sketches, with less than half of the bytes.
    """
    with open_store(tmp_path / "with") as whole, open_store(tmp_path / "without", without_minhash=True) as part:
        answers = []
        for store in (whole, part):
            store.index(DOCUMENTS)
            similar = store.similar("d3", metric="jaccard", threshold=60)
            hits = store.search("FINGERPRINT:d3_60 AND w60", plan="calibrated").hits
            answers.append((similar.total, similar.found, hits, store.signature("d3")))
    assert answers[0] == answers[1]
    assert answers[0][0] > 1
    assert 2 * tokens_bytes(tmp_path / "without") < tokens_bytes(tmp_path / "with")


@pytest.mark.parametrize("query", ["FINGERPRINT:d3", "FINGERPRINT:d3_50_90", "w60 OR NOT FINGERPRINT:d3_50"])
def test_fingerprint_is_refused(tmp_path: Path, query: str) -> None:
    """
    FINGERPRINT is an error, since an empty result would be misleading.
    """
    with open_store(tmp_path / "store", without_minhash=True) as store:
        store.index(DOCUMENTS)
        for ask in (store.search, store.explain):
            with pytest.raises(SchemaError, match="keeps no MINHASH tokens, which FINGERPRINT needs"):
                ask(query)
        with pytest.raises(SchemaError, match="keeps no MINHASH tokens"):
            store.similar("d3", filter=query)


VOCABULARY = [f"w{number}" for number in range(500)]


def random_documents(seed: int) -> list[Document]:
    """Return near-copies of a few texts, of 3 to 900 words, some of them equal."""
    chance = random.Random(seed)
    originals = [chance.choices(VOCABULARY, k=size) for size in (3, 8, 30, 60, 300, 900)]
    documents = []
    for number in range(90):
        words = list(chance.choice(originals))
        for _ in range(chance.randrange(len(words) // 4 + 1)):
            words[chance.randrange(len(words))] = chance.choice(VOCABULARY)
        documents.append(Document(f"d{number}", " ".join(words)))
    return documents


@pytest.fixture(scope="module")
def whole_and_short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store]]:
    """
    Two stores with the same documents. Some were replaced, some deleted, and some stored but not made searchable.
    """
    folder = tmp_path_factory.mktemp("minhash")
    with open_store(folder / "whole") as whole, open_store(folder / "short", short_minhash=True) as short:
        for store in (whole, short):
            store.index(random_documents(1))
            store.index(random_documents(2)[:30])
            store.delete([f"d{number}" for number in range(20, 35)])
            store.engine.index(random_documents(3)[35:40])
        yield whole, short
    # The sizes depend on the merges that have ended by then.
    assert 1.6 * tokens_bytes(folder / "short") < tokens_bytes(folder / "whole")


@given(
    st.sampled_from(sorted({*range(20), *range(40, 90)})),
    st.sampled_from(["", "_1", "_20", "_50", "_80", "_100", "_20_50", "_50_90", "_80_99"]),
    st.sampled_from(["{}", "{} AND NOT w5", "w7 OR {}^3", "+w8 {}", "{} OR FINGERPRINT:d41_30", "NOT {}"]),
    st.integers(0, 30),
)
def test_short_tokens_find_the_same(
    whole_and_short: tuple[Store, Store], number: int, parts: str, form: str, start: int
) -> None:
    """
    Short tokens give the same hits, scores and totals as whole tokens.
    """
    query = form.format(f"FINGERPRINT:d{number}{parts}")
    whole, short = (store.search(query, rows=20, start=start) for store in whole_and_short)
    assert (short.total, short.hits) == (whole.total, whole.hits)


def test_a_store_changes_to_short_tokens_and_none(tmp_path: Path) -> None:
    """
    The option stays set without repeating it; a store without tokens can get short ones, but no whole ones.
    """
    path, totals, sizes = tmp_path / "store", [], []
    with open_store(path) as store:
        store.index(DOCUMENTS)
    for cut in ("", "short", "", "none", "short"):
        with open_store(path, without_minhash=cut == "none", short_minhash=cut == "short") as store:
            if cut == "none":
                with pytest.raises(SchemaError, match="'whorl index --short-minhash PATH' adds short ones"):
                    store.search("FINGERPRINT:d3_50")
            else:
                totals.append(store.search("FINGERPRINT:d3_50").total)
        sizes.append(tokens_bytes(path))
    assert totals == [totals[0]] * 4
    assert totals[0] > 1
    assert sizes[0] > sizes[1] == sizes[2] == sizes[4] > sizes[3]
    with open_store(path) as late:
        with open_store(path, without_minhash=True), open_store(path, short_minhash=True):
            pass
        late.index([Document("new", "some text")])
    with pytest.raises(ParameterError, match="without_minhash removes them; give one of them"):
        open_store(path, without_minhash=True, short_minhash=True)
    with pytest.raises(ParameterError, match="no_text removes them; give one of them"):
        open_store(tmp_path / "new", no_text=True, short_minhash=True)


def test_a_failed_change_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If no new index can be built, the old one still answers, and the option is not set.
    """
    path = tmp_path / "store"
    with open_store(path) as store:
        store.index(DOCUMENTS)
        total = store.search("FINGERPRINT:d3_50").total

    def build(*_: object) -> None:
        raise IndexBrokenError("no space left", is_full=True)

    for options in ({"short_minhash": True}, {"without_minhash": True}, {"passages": True}):
        with monkeypatch.context() as patch:
            patch.setattr(StoreIndex, "build", build)
            with pytest.raises(StoreError, match="no room left on the disk"):
                open_store(path, None, **options)
        with open_store(path) as store:
            assert store.search("FINGERPRINT:d3_50").total == total
            assert store.engine.passage_scheme is None


def test_a_change_that_was_not_finished(tmp_path: Path) -> None:
    """
    A store killed while its tokens were removed can have short ones again, and other engines can write.
    """
    path = tmp_path / "store"
    with open_store(path, short_minhash=True) as store:
        store.index(DOCUMENTS)
    with closing(sqlite3.connect(path / "records.db")) as records:
        records.execute("UPDATE meta SET value = 'none' WHERE key = 'minhash'")
        records.commit()
    with open_store(path, short_minhash=True) as store, EmbeddedEngine(path, wait_seconds=0.05) as other:
        other.index([Document("new", DOCUMENTS[3].text)])
        other.refresh()
        assert "new" in [hit.id for hit in store.search("FINGERPRINT:d3_100").hits]


def test_a_store_is_rid_of_them(tmp_path: Path) -> None:
    """
    The store keeps the option, so it need not be repeated, and open engines adopt it.
    """
    path = tmp_path / "store"
    with open_store(path) as store:
        store.index(DOCUMENTS)
    before = tokens_bytes(path)
    with open_store(path) as late:
        with open_store(path, without_minhash=True):
            pass
        late.index([Document("new", "some text")])
        with pytest.raises(SchemaError, match="keeps no MINHASH tokens"):
            late.search("FINGERPRINT:d3")
    assert 2 * tokens_bytes(path) < before
    with open_store(path) as store:
        store.index([Document("d10", DOCUMENTS[3].text)])
        assert [hit.hit.id for hit in store.similar("d3", metric="jaccard", threshold=99).found] == ["d10"]
        with pytest.raises(SchemaError):
            store.search("FINGERPRINT:d3")


def test_the_option_is_for_folders_only() -> None:
    """
    Other stores are set up by commands of their own.
    """
    with pytest.raises(ParameterError, match="'whorl solr init --without-minhash' or 'whorl open"):
        open_store("http://localhost:8983/solr/whorl", without_minhash=True)
    with pytest.raises(ParameterError, match="short_minhash is for a folder"):
        open_store("http://localhost:8983/solr/whorl", short_minhash=True)
