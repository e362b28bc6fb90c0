"""What is in the folder of an embedded store: its files, and what queries ask that the index alone does not tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tantivy import Query

from whorl.engine.embedded.clause_queries import Values
from whorl.engine.embedded.records import Records
from whorl.engine.embedded.word_index import InvertedIndex
from whorl.errors import StoreError

RECORDS, INDEX, LOCK = "records.db", "index", "writer.lock"


class Contents:
    """What is in the store, for clauses that no query of the index tells."""

    def __init__(self, index: InvertedIndex, records: Records, words: Callable[[str], list[str]]) -> None:
        self._index, self._records, self._words = index, records, words

    def names(self) -> Iterable[str]:
        return {"name", "content", *(name for name, _ in self._records.fields())}

    def terms(self, field: str, beginning: str) -> list[str]:
        return self._index.terms(field, beginning)

    def verified(self, query: Query, fields: Sequence[str], is_match: Callable[[Values], bool]) -> list[str]:
        _, found = self._index.matches(query, 0, self._records.count(), ranked=False)
        verified = []
        for record in self._records.records([document_id for document_id, _ in found]):
            document = record.document
            texts = {"name": (document.name,), "content": (document.text,), **document.values()}
            if any(is_match([self._words(text) for text in texts.get(field, ())]) for field in fields):
                verified.append(document.id)
        return verified


def prepare_folder(path: Path, *, create: bool) -> None:
    """See that a folder holds a store, or may become one."""
    try:
        there = sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []
        if path.exists() and not path.is_dir():
            raise StoreError(f"{path} is a file; a store is a folder: name another path")
        if RECORDS in there and (path / RECORDS).stat().st_size > 0:
            return
        # What is empty was left by a process that was stopped while it made the store, or is being made.
        if any(name != LOCK and not name.startswith(RECORDS) for name in there):
            raise StoreError(f"{path} holds other things and no store ({there[0]}, …); name an empty or a new folder")
        if not create:
            raise StoreError(f"there is no store at {path}; make one by indexing: whorl index --store {path} FILES")
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be used as a store: {error}; name another folder") from error
