"""A store without MINHASH tokens: what it answers all the same, what it refuses, and when it is rid of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from whorl import Document, open_store
from whorl.errors import ParameterError, SchemaError, StoreError

WORDS = [f"w{number}" for number in range(300)]
#: Each has most of the words of the one before.
DOCUMENTS = [Document(f"d{number}", " ".join(WORDS[10 * number : 200 + 10 * number])) for number in range(10)]


def tokens_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.glob("index/tokens/*.run"))


def test_similar_finds_as_with_them(tmp_path: Path) -> None:
    """
    By sketches, in a part of the room; a calibrated FINGERPRINT too, and words.
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
    Nothing would be found by it, which is no answer.
    """
    with open_store(tmp_path / "store", without_minhash=True) as store:
        store.index(DOCUMENTS)
        for ask in (store.search, store.explain):
            with pytest.raises(SchemaError, match="keeps no MINHASH tokens, which FINGERPRINT asks"):
                ask(query)
        with pytest.raises(SchemaError, match="keeps no MINHASH tokens"):
            store.similar("d3", filter=query)


def test_a_store_is_rid_of_them(tmp_path: Path) -> None:
    """
    The option stays set without repeating it, and engines that are open at the time refuse further writes.
    """
    path = tmp_path / "store"
    with open_store(path) as store:
        store.index(DOCUMENTS)
    before = tokens_bytes(path)
    with open_store(path) as late:
        with open_store(path, without_minhash=True):
            pass
        with pytest.raises(StoreError, match="was told to keep no MINHASH since it was opened"):
            late.index([Document("new", "some text")])
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
    with pytest.raises(ParameterError, match="whorl solr init --without-minhash"):
        open_store("http://localhost:8983/solr/whorl", without_minhash=True)
