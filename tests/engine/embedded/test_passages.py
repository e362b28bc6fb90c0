"""Passages in a store: adding them to an existing store, open engines, and replaced or deleted documents."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from whorl import Document, open_store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.protocol import IndexLag
from whorl.errors import ParameterError, SchemeMismatchError, StoreError
from whorl.fingerprint.shingling import join
from whorl.fingerprint.winnowing import PassageScheme, winnow
from whorl.query.plan.nodes import Bool, BoundPlan, DocumentsByScore, PassageHashes

SCHEME = PassageScheme()
WORDS = [f"w{number}" for number in range(60)]
NUMBERS = winnow(join(WORDS), SCHEME).tolist()
OTHER = " ".join(f"x{number}" for number in range(60))


def ids(engine: EmbeddedEngine) -> dict[str, float]:
    page = engine.search(BoundPlan(PassageHashes("", SCHEME, tuple(NUMBERS))), start=0, rows=10)
    return {hit.id: hit.score for hit in page.hits}


def test_a_store_begins_to_keep_them(tmp_path: Path) -> None:
    """
    Existing documents are indexed again; the option stays set without repeating it, also after a repair.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index([Document("whole", " ".join(WORDS)), Document("other", OTHER)])
        assert engine.passage_scheme is None
    with EmbeddedEngine(tmp_path / "store", passages=SCHEME) as engine:
        assert engine.passage_scheme == SCHEME
        assert ids(engine) == {"whole": len(NUMBERS)}
    with EmbeddedEngine(tmp_path / "store") as engine:
        assert engine.passage_scheme == SCHEME
        engine.index([Document("part", " ".join(WORDS[20:40]))])
        engine.refresh()
        assert ids(engine) == {"whole": len(NUMBERS), "part": 1.0}
    for file in (tmp_path / "store/index/tokens").glob("*.segment"):
        file.write_bytes(b"")
    with EmbeddedEngine(tmp_path / "store") as engine:
        assert ids(engine) == {"whole": len(NUMBERS), "part": 1.0}


def test_verification_after_another_process_began_to_keep_them(tmp_path: Path) -> None:
    """
    An open engine verifies the index that another process has made for other options.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index([Document("whole", " ".join(WORDS))])
        engine.refresh()
        with EmbeddedEngine(tmp_path / "store", passages=SCHEME):
            pass
        assert engine.verify()
        for file in (tmp_path / "store/index/tokens").glob("*.segment"):
            file.write_bytes(b"")
        engine._index.close()
        with pytest.raises(StoreError, match="is damaged"):
            engine.verify()


def test_passages_of_replaced_and_deleted_documents_are_not_counted(tmp_path: Path) -> None:
    """
    Replaced and deleted documents have no passages, and the numbers of documents per passage decrease.
    """
    with EmbeddedEngine(tmp_path / "store", passages=SCHEME) as engine:
        assert engine.passage_counts(NUMBERS) == [0] * len(NUMBERS)
        engine.index([Document(name, " ".join(WORDS)) for name in "abcd"])
        engine.refresh()
        assert engine.passage_counts([*NUMBERS, 7]) == [4] * len(NUMBERS) + [0]
        engine.index([Document("b", OTHER)])
        engine.delete(["c"])
        assert engine.passage_counts(NUMBERS) == [2] * len(NUMBERS)
        assert set(ids(engine)) == {"a", "d"}
        engine.delete(["a", "d"])
        assert engine.passage_counts(NUMBERS) == [0] * len(NUMBERS)
        assert ids(engine) == {}


def test_with_other_clauses(tmp_path: Path) -> None:
    """
    Documents can be excluded; `explain` shows the query.
    """
    with EmbeddedEngine(tmp_path / "store", passages=SCHEME) as engine:
        engine.index([Document(name, " ".join(WORDS)) for name in "ab"])
        engine.refresh()
        node = PassageHashes("text", SCHEME, tuple(NUMBERS))
        plan = BoundPlan(Bool(must=(node,), must_not=(DocumentsByScore("", ((1.0, ("a",)),)),)))
        assert [hit.id for hit in engine.search(plan, start=0, rows=10).hits] == ["b"]
        explained = engine.explain(BoundPlan(node), start=0, rows=10)
        assert explained["query"] == {"passage_numbers": {"source": "text", "numbers": len(NUMBERS)}}


def test_an_engine_opened_before_adopts_passages(tmp_path: Path) -> None:
    """
    An engine that is already open finds the passages of all documents and writes those of new documents, even in a
    prepared batch.
    """
    with EmbeddedEngine(tmp_path / "store") as before, EmbeddedEngine(tmp_path / "store") as writer:
        before.index([Document("whole", " ".join(WORDS))])
        before.refresh()
        assert before.passage_scheme is None
        with EmbeddedEngine(tmp_path / "store", passages=SCHEME) as engine:
            assert set(ids(engine)) == {"whole"}
        writer.index([Document("more", OTHER), Document("copy", " ".join(WORDS))])
        writer.refresh()
        assert before.passage_scheme == SCHEME
        assert set(ids(before)) == {"whole", "copy"}
    with EmbeddedEngine(tmp_path / "store") as engine:
        assert set(ids(engine)) == {"whole", "copy"}


def test_searches_need_no_lock_to_adopt_passages(tmp_path: Path) -> None:
    """
    An open engine finds passages while the engine that added them is still writing, possibly for hours.
    """
    with EmbeddedEngine(tmp_path / "store", wait_seconds=0.0) as before:
        before.index([Document("whole", " ".join(WORDS))])
        before.refresh()
        with EmbeddedEngine(tmp_path / "store", passages=SCHEME) as writer:
            writer.index([Document("more", OTHER)])
            assert before.index_lag() == IndexLag(1, is_pending=True)
            assert set(ids(before)) == {"whole"}
            writer.refresh()


def test_other_schemes_and_busy_stores_are_refused(tmp_path: Path) -> None:
    """
    Adding passages is refused for a store with another scheme, and while another engine writes.
    """
    with EmbeddedEngine(tmp_path / "store", passages=SCHEME):
        pass
    with pytest.raises(SchemeMismatchError, match="of 20 words, not of 30; use 20"):
        EmbeddedEngine(tmp_path / "store", passages=PassageScheme(run_words=30))
    with EmbeddedEngine(tmp_path / "other") as writer:
        writer.index([Document("a", OTHER)])
        with pytest.raises(StoreError, match="another process is writing"):
            EmbeddedEngine(tmp_path / "other", passages=SCHEME, wait_seconds=0.0)
        writer.refresh()


@pytest.mark.parametrize("run", [20, 15, 12, 9, 8])
def test_every_run_of_the_store_s_length_is_found(tmp_path: Path, run: int) -> None:
    """
    A document that shares a run of this length with a text is a source of the text, at any position in both.
    """
    chance, text = random.Random(run), [f"t{at}" for at in range(120)]
    documents = {}
    for start in range(0, len(text) - run, 3):
        around = [f"x{chance.randrange(10**9)}" for _ in range(chance.randrange(1, 60))]
        documents[f"d{start}"] = [*around, *text[start : start + run], *around[::-1]]
    with open_store(tmp_path / "store", passages=run) as store:
        store.index(Document(name, " ".join(words)) for name, words in documents.items())
        assert store.engine.passage_scheme == PassageScheme.for_runs(run)
        for start in range(0, len(text) - run, 3):
            attribution = store.sources(source=" ".join(text[start : start + run]))
            assert f"d{start}" in {source.id for source in attribution.sources} | {name for name, _ in attribution.also}
            assert attribution.coverage == 1
            assert attribution.promise.certain_words == run


def test_a_store_keeps_the_length_of_its_passages(tmp_path: Path) -> None:
    """
    A store keeps its first length and refuses others. Lengths outside 8 to 20 are refused everywhere.
    """
    folder = tmp_path / "store"
    open_store(folder, passages=12).close()
    for passages in (False, True, 12):
        with open_store(folder, passages=passages) as store:
            assert store.engine.passage_scheme == PassageScheme.for_runs(12)
    with pytest.raises(SchemeMismatchError, match="finds passages of 12 words, not of 8"):
        open_store(folder, passages=8)
    for passages in (7, 21):
        with pytest.raises(ParameterError, match=f"8 to 20 words for certain, got {passages}"):
            open_store(tmp_path / "other", passages=passages)
