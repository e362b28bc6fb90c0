"""Texts in few bytes, with a dictionary of what they have in common."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from zstandard import ZstdError

from whorl.engine.embedded import texts as module
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.embedded.records import FORMAT
from whorl.engine.embedded.texts import TextCodec
from whorl.errors import StoreError
from whorl.model import Document

#: Letters of one kind: each says something of its own between words that all have.
LETTERS = [
    f"Dear customer {number * 7919 % 1000}, we have received your payment of {number} pounds and {number % 97} pence "
    f"on account {number * 104729 % 99991} and thank you for your prompt attention to this matter. Yours sincerely"
    for number in range(400)
]


@pytest.fixture(autouse=True)
def _of_few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLED", 30_000)


def kept(folder: Path) -> dict[str, object]:
    with closing(sqlite3.connect(folder / "records.db")) as connection:
        return dict(connection.execute("SELECT key, value FROM meta"))


def documents(first: int, last: int) -> Iterator[Document]:
    return (Document(f"letter {number}", LETTERS[number]) for number in range(first, last))


def test_texts_with_much_in_common_take_few_bytes() -> None:
    """
    Once there are enough, with a dictionary; those of before are read as well.
    """
    dictionaries: list[bytes] = []
    codec = TextCodec(lambda: dictionaries[0] if dictionaries else None)
    assert codec.begin(LETTERS[:50]) is None
    alone = [codec.compressed(text) for text in LETTERS]
    dictionaries += filter(None, [codec.begin(LETTERS[50:])])
    assert codec.begin(LETTERS) is None
    together = [codec.compressed(text) for text in LETTERS]
    assert 2 * sum(map(len, together)) < sum(map(len, alone))
    for reader in (codec, TextCodec(lambda: dictionaries[0])):
        assert [reader.text(each) for each in (*alone, *together, *alone)] == LETTERS * 3
    with pytest.raises(ZstdError):
        TextCodec(lambda: None).text(together[0])


def test_texts_with_nothing_in_common() -> None:
    """
    Those too short for a dictionary, or none at all, are compressed without.
    """
    codec = TextCodec(lambda: None)
    for texts in ([""] * 40, ["\u4e00"] * 20_000, LETTERS):
        codec.begin(texts)
        assert [codec.text(codec.compressed(text)) for text in ("", "some", "\x00")] == ["", "some", "\x00"]


@pytest.mark.slow
def test_a_store_keeps_its_dictionary(tmp_path: Path) -> None:
    """
    It comes with the texts that it takes, who opens the store later has it, and one is enough.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index(documents(0, 50))
        engine.refresh()
        assert "dictionary" not in kept(tmp_path / "store")
        with EmbeddedEngine(tmp_path / "store") as reader:
            engine.index(documents(50, 300))
            engine.refresh()
            made = kept(tmp_path / "store")["dictionary"]
            assert reader.texts(["letter 7", "letter 299"]) == {"letter 7": LETTERS[7], "letter 299": LETTERS[299]}
        engine.index(documents(300, 400))
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index(documents(0, 400))
        assert engine.texts([f"letter {number}" for number in range(400)]) == {
            f"letter {number}": text for number, text in enumerate(LETTERS)
        }
    assert kept(tmp_path / "store")["dictionary"] == made


def test_a_store_of_the_version_before_gets_one(tmp_path: Path) -> None:
    """
    The first write makes it a store of the present format, and the dictionary comes with enough texts.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index(documents(0, 50))
    with closing(sqlite3.connect(tmp_path / "store" / "records.db")) as connection:
        connection.execute("UPDATE meta SET value = '6' WHERE key = 'format'")
        connection.commit()
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index(documents(50, 60))
        assert "dictionary" not in kept(tmp_path / "store")
        engine.index(documents(60, 400))
        assert kept(tmp_path / "store")["format"] == FORMAT
    with EmbeddedEngine(tmp_path / "store") as engine:
        assert engine.texts(["letter 1", "letter 399"]) == {"letter 1": LETTERS[1], "letter 399": LETTERS[399]}


def test_what_was_not_stored_leaves_no_dictionary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A write that failed takes the dictionary back that it has brought; texts stored later do not need it.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        put = engine._records.put
        monkeypatch.setattr(engine._records, "put", lambda record: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            engine.index(documents(0, 300))
        monkeypatch.setattr(engine._records, "put", put)
        assert "dictionary" not in kept(tmp_path / "store")
        engine.index(documents(0, 10))
        engine.refresh()
        assert "dictionary" not in kept(tmp_path / "store")
        engine.index(documents(10, 300))
        assert "dictionary" in kept(tmp_path / "store")
    with EmbeddedEngine(tmp_path / "store") as engine:
        assert engine.texts(["letter 3"]) == {"letter 3": LETTERS[3]}


def test_damage_to_the_dictionary_is_told(tmp_path: Path) -> None:
    """
    One flipped bit of it makes no other text of any.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index(documents(0, 300))
    raw = kept(tmp_path / "store")["dictionary"]
    assert isinstance(raw, bytes)
    for worse in (raw[:100] + bytes([raw[100] ^ 4]) + raw[101:], None):
        with closing(sqlite3.connect(tmp_path / "store" / "records.db")) as connection:
            connection.execute("DELETE FROM meta WHERE key = 'dictionary'")
            if worse:
                connection.execute("INSERT INTO meta VALUES ('dictionary', ?)", (worse,))
            connection.commit()
        with EmbeddedEngine(tmp_path / "store") as engine, pytest.raises(StoreError, match=r"records\.db is damaged"):
            engine.texts(["letter 3"])
