"""Finds the document or text that a user refers to by id, path, name or file.

A reference is read as an id (or a DBID or node, see `engine.protocol.reference_meanings`), then as the path of an
indexed file, then as the name of a document. Only the command line gives `References` a folder and a function that
reads files; a service never opens a path.
"""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from whorl.engine.protocol import Engine
from whorl.errors import (
    EngineError,
    ParameterError,
    QueryError,
    SchemaError,
    UnknownDocumentError,
    list_references,
    nearest,
    shorten_repr,
)
from whorl.fingerprint.compare_texts import words_of
from whorl.fingerprint.shingling import join
from whorl.fingerprint.winnowing import winnow
from whorl.model import Hit
from whorl.query import ast
from whorl.query.plan.nodes import BoundPlan
from whorl.query.unparse import quote, unparse

Result = TypeVar("Result")
#: Maximum number of documents of the same name to list in a message.
NAMES_SHOWN = 5
#: Maximum number of documents that one name can stand for, such as the parts of a file.
MOST_SAME_NAMED = 1_000
#: Limits for suggestions: minimum and maximum length of a searched word, maximum number of searched words, and maximum
#: number of documents to choose from.
_SHORTEST, _LONGEST, _MOST_WORDS, _MOST_SIMILAR = 4, 50, 10, 50
#: Number of characters at the beginning of a text. Its passage hash is looked up before the whole text.
_BEGINNING = 1_000


@dataclass(frozen=True, slots=True)
class ResolvedReference:
    """A document of the store (`id`), or a text outside the store (`text`).

    If both are given, the text is the content of a file that has changed since it was indexed as this document.
    `note` explains the choice to the user; it is None if the reference is the document's id.
    """

    reference: str
    id: str | None = None
    text: str | None = None
    note: str | None = None

    def add_note(self, result: Result) -> Result:
        with_warnings: Any = result
        return result if self.note is None else replace(with_warnings, warnings=(self.note, *with_warnings.warnings))


class References:
    """Resolves references to the documents of a store.

    Args:
        bind_query: Returns the plan of a query for the store's engine.
        find_same: Returns the ids of documents with the same shingles as a text.
        folder: The user's current folder, for paths; None if the user is not on this machine.
        read: Returns the text of a local file, or None if the file is missing.
        advice: Advice for the error message if an unknown reference resembles no known name.
    """

    def __init__(
        self,
        engine: Engine,
        bind_query: Callable[[str], BoundPlan],
        find_same: Callable[[str], Iterable[str]],
        folder: Path | None = None,
        read: Callable[[str], str | None] = lambda path: None,
        advice: str = "",
    ) -> None:
        self._engine, self._bind_query, self._find_same = engine, bind_query, find_same
        self._folder, self._read = folder, read
        self._advice = advice
        self._base: Path | None = None
        self._kept_base: Path | None = None

    def ids(self, references: Iterable[str]) -> dict[str, str]:
        """Return a dict from each reference to the id of the document that it names; omit unknown references."""
        return {name: ids[0] for name, ids in self.ids_of_all(references).items() if len(ids) == 1}

    def other_ids(self, references: Iterable[str]) -> dict[str, str]:
        """Return a dict from paths and unambiguous names (but not ids) to the ids of their documents."""
        return {name: ids[0] for name in references if len(ids := self._ids_by_path_or_name(name)) == 1}

    def _ids_by_path_or_name(self, name: str) -> list[str]:
        by_path = self.id_by_path(name)
        return [hit.id for hit in self._find_by_name(name)] if by_path is None else [by_path]

    def ids_of_all(self, references: Iterable[str]) -> dict[str, list[str]]:
        """Return a dict from each reference to the ids of all documents that it names; omit unknown references.

        An id or a path names one document; a name can name several, at most `MOST_SAME_NAMED`.
        """
        wanted = list_references(references)
        resolved = dict(self._engine.resolve(wanted)) if wanted else {}
        ids = {name: [resolved[name]] if name in resolved else self._ids_by_path_or_name(name) for name in wanted}
        return {name: found for name, found in ids.items() if found}

    def ids_of_files(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """Return a dict from paths to the ids of documents with the same file name, ignoring folders and case.

        If no document has the name, return the parts of the file: documents whose ids begin with the path and a `#` or
        `:`.
        """
        names = {path: PurePosixPath(path.replace("\\", "/")).name for path in paths}
        hits = {path: self._find_by_name(name, ignores_case=True) or self._parts(path) for path, name in names.items()}
        return {path: [hit.id for hit in found] for path, found in hits.items() if found}

    def keys(self, ids: Iterable[str]) -> dict[str, str]:
        """Return a dict from each reference to its document's id; unlike `ids`, prefer ids to DBIDs."""
        wanted = list_references(ids)
        stored = self._engine.documents(wanted)
        return {**self.ids(name for name in wanted if name not in stored), **{name: name for name in stored}}

    def resolve(self, reference: str, *, finds_copy: bool = True, prefers_file: bool = False) -> ResolvedReference:
        """Return the document that a reference names, or the text of a file outside the store.

        A reference is first read as the id or path of a document, then as a file, then as the name of a document.

        Args:
            finds_copy: Whether to return a document with the same text for a file that is not indexed.
            prefers_file: Whether to return the file's text, not the stored document, if the file has changed since it
                was indexed.

        Raises:
            UnknownDocumentError: The reference names neither a document nor a file; the error suggests a similar
                reference.
        """
        is_own = reference in (ids := self._engine.resolve([reference]))
        document_id = ids[reference] if is_own else self.id_by_path(reference)
        is_stored = document_id is not None and self._engine.keeps_texts
        reads = self._folder is not None and (prefers_file or not is_stored)
        text = self._read(self._absolute(reference)) if reads else None
        if document_id is None and text is None:
            same_named = self._find_by_name(reference)
            document_id = same_named[0].id if len(same_named) == 1 else None
        named = None if is_own else f"{reference} is in the store as {shorten_repr(document_id)}"
        if document_id is not None and text is not None:
            match self._has_text(document_id, text):
                case True:
                    return ResolvedReference(reference, document_id, note=named)
                case False:
                    note = f"the file {reference} has changed since it was indexed; the file itself counts"
                    return ResolvedReference(reference, document_id, text, note)
                case None:
                    note = f"the store keeps no text for {shorten_repr(document_id)}, so the file itself is the source"
                    return ResolvedReference(reference, text=text, note=note)
        if document_id is not None:
            return ResolvedReference(reference, document_id, note=self._note_on_change(reference, document_id) or named)
        if text is not None:
            resolved = self.resolve_text(text, reference, finds_copy=finds_copy)
            note = f"{reference} is not in the store, so the file itself is the source"
            return resolved if resolved.note else replace(resolved, note=note)
        if names := self.names_hint(reference):
            raise UnknownDocumentError(reference, names)
        suggested = self._nearest_id(reference)
        advice = self._gaps_hint() or ("" if suggested else f"; {self._advice}")
        raise UnknownDocumentError(reference, f", and there is no such file{advice}", suggested)

    def unknown_document_error(self, reference: str) -> UnknownDocumentError:
        """Return the error for an unknown reference; it lists documents of this name, or suggests a similar one."""
        if names := self.names_hint(reference):
            return UnknownDocumentError(reference, names)
        return UnknownDocumentError(reference, self._gaps_hint(), self._nearest_id(reference))

    def names_hint(self, reference: str) -> str:
        """Return a hint that lists the documents with this name, if there are several, or else the parts of a file."""
        names = self._find_by_name(reference)
        shown = ", ".join(shorten_repr(hit.id) for hit in names[:NAMES_SHOWN])
        if len(names) > 1:
            return f", but several of this name: {shown}; name one by its id"
        shown = ", ".join(shorten_repr(hit.id) for hit in self._parts(reference)[:NAMES_SHOWN])
        return f", but parts of it: {shown}; name one by its id" if shown else ""

    def _gaps_hint(self) -> str:
        return "".join(f"; {gap}" for gap in self._engine.gaps("words"))

    def _nearest_id(self, reference: str) -> str | None:
        last = PurePosixPath(reference).name
        words = [word for word in re.findall(r"\w+", last.lower()) if _SHORTEST <= len(word) <= _LONGEST]
        clauses = [f"name:{word}~2" for word in words[:_MOST_WORDS]]
        if beginning := re.match(rf"\w{{1,{_LONGEST}}}", reference[: (len(reference) + 1) // 2]):
            clauses.append(f'id:"{beginning[0]}*"')
        if not clauses:
            return None
        with suppress(QueryError, ParameterError, EngineError):
            hits = self._engine.search(self._bind_query(" OR ".join(clauses)), start=0, rows=_MOST_SIMILAR).hits
            ids = {**{hit.name: hit.id for hit in hits}, **{hit.id: hit.id for hit in hits}}
            if close := nearest(reference, ids, 1) or nearest(last, ids, 1):
                return ids[close[0]]
        return None

    def resolve_text(self, text: str, name: str, *, finds_copy: bool = True) -> ResolvedReference:
        """Return the stored document with this text, or the text itself. Messages call the text `name`."""
        for document_id in self.documents_with(text) if finds_copy else ():
            return ResolvedReference(name, document_id, note=f"{name} is in the store as {shorten_repr(document_id)}")
        return ResolvedReference(name, text=text)

    def source(self, reference: str | None, text: str | None) -> ResolvedReference:
        """Return the source of a request: a referenced document, the document with a given text, or the text itself."""
        if reference is not None:
            return ResolvedReference(reference, reference)
        return self.resolve_text(text or "", "the text")

    def documents_with(self, text: str) -> list[str]:
        """Return the ids of the documents with this text, ignoring white space; empty for a blank text."""
        words = text.split()
        with suppress(SchemaError, ParameterError):
            ids = sorted(self._find_same(text)) if words and not self._has_new_beginning(text) else []
            texts = self._engine.texts(ids) if ids else {}
            return [document_id for document_id in ids if texts.get(document_id, "").split() == words]
        return []

    def _has_new_beginning(self, text: str) -> bool:
        """Check whether the store lacks a passage hash of the text's beginning; then no document has the text.

        For most texts, this replaces the search for documents with the same shingles, which is several times slower.
        """
        scheme = self._engine.passage_scheme
        if scheme is None:
            return False
        # Leave out the last two words, which the cut may have shortened.
        beginning = words_of(text[:_BEGINNING], self._engine.scheme).words[:-2]
        numbers = winnow(join(beginning), scheme)[:1].tolist()
        return bool(numbers) and not any(self._engine.passage_counts(numbers))

    def base_for(self, file: str) -> Path | None:
        """Return the folder that the ids of files are relative to; None if `folder` was not given.

        The first indexed file determines it (see `_base_of`). If the folder no longer exists, `file` determines it.
        """
        if self._base is None and self._folder is not None:
            base = self._engine.file_base(lambda: self._base_of(file))
            self._base = base if base is not None and os.path.isdir(base) else self._base_of(file)
        return self._base

    def _base_of(self, file: str) -> Path:
        """Return the folder that the id of a stored file is relative to; for any other file, the user's folder."""
        suffix, absolute = self._find_stored_suffix(file), self._absolute(file)
        base = absolute.removesuffix(suffix or absolute)
        return Path(base or self._folder or "/")

    def _note_on_change(self, reference: str, document_id: str) -> str | None:
        text = self._read_or_none(reference)
        if text is None or self._has_text(document_id, text) is not False:
            return None
        return f"the file {reference} has changed since it was indexed; the text in the store counts"

    def _has_text(self, document_id: str, text: str) -> bool | None:
        """Check whether a document has this text, ignoring white space; None if its text is not stored."""
        with suppress(SchemaError):
            stored = self._engine.texts([document_id]).get(document_id)
            return None if stored is None else stored.split() == text.split()
        return None

    def id_by_path(self, reference: str) -> str | None:
        """Return the id of the document that was read from the file with this path."""
        others = [form for form in _unicode_forms(posixpath.normpath(reference)) if form != reference]
        if (stored := self._find_stored(others)) is not None:
            return stored
        if self._folder is None or "://" in reference:
            return None
        self._kept_base = base = self._kept_base or self._engine.file_base()
        if base is not None and os.path.isdir(base):
            return self._find_stored(_unicode_forms(file_id(self._absolute(reference), base)))
        suffix = self._find_stored_suffix(reference)
        if suffix is None:
            return None
        # Another file's path may end in the same way, so compare the texts.
        text = self._read_or_none(reference)
        return suffix if text is None or self._engine.texts([suffix]).get(suffix, "").split() == text.split() else None

    def _find_stored(self, ids: Sequence[str]) -> str | None:
        stored = self._engine.documents(ids) if ids else {}
        return next((document_id for document_id in ids if document_id in stored), None)

    def _read_or_none(self, path: str) -> str | None:
        with suppress(ParameterError):
            return self._read(self._absolute(path)) if self._folder else None
        return None

    def _find_stored_suffix(self, path: str) -> str | None:
        """Return the longest suffix of a file's absolute path that is a document's id, or None."""
        absolute = self._absolute(path)
        parts = PurePosixPath(absolute).parts[1:]
        suffixes = [absolute, *("/".join(parts[start:]) for start in range(len(parts)))]
        stored = self._engine.documents(suffixes)
        return next((suffix for suffix in suffixes if suffix in stored), None)

    def _absolute(self, path: str) -> str:
        return Path(os.path.normpath(Path(self._folder or "/") / path)).as_posix()

    def _parts(self, path: str) -> list[Hit]:
        """Return the documents whose ids begin with a path and a `#` or `:`, such as `lease.pdf#p3`."""
        # Each range ends before the character that follows `#` or `:` in Unicode.
        ranges = [
            ast.Range(ast.Bound(path + mark), ast.Bound(path + chr(ord(mark) + 1), is_inclusive=False), "id")
            for mark in "#:"
        ]
        with suppress(QueryError, ParameterError, SchemaError):
            query = " OR ".join(map(unparse, ranges))
            return [*self._engine.search(self._bind_query(query), start=0, rows=MOST_SAME_NAMED).hits]
        return []

    def _find_by_name(self, name: str, *, ignores_case: bool = False) -> list[Hit]:
        # Ignore errors, because a file name may be invalid Unicode, which no query can contain.
        with suppress(QueryError, ParameterError, SchemaError):
            field = "name" if ignores_case else "=name"
            query = " OR ".join(f"{field}:{quote(form)}" for form in _unicode_forms(name))
            hits = self._engine.search(self._bind_query(query), start=0, rows=MOST_SAME_NAMED).hits
            if ignores_case:
                return [hit for hit in hits if _compose(hit.name.casefold()) == _compose(name.casefold())]
            same = [hit for hit in hits if hit.name == name]
            return same or [hit for hit in hits if _compose(hit.name) == _compose(name)]
        return []


def _compose(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _unicode_forms(name: str) -> list[str]:
    """Return a name and its forms with composed and with decomposed letters, which file names on macOS have."""
    if name.isascii():
        return [name]
    return [*dict.fromkeys((name, _compose(name), unicodedata.normalize("NFD", name)))]


def file_id(path: str, base: Path | None) -> str:
    """Return the id of a file: its path relative to the folder `base`, or its absolute path if it is outside `base`.

    If `base` is None, the id is the normalised path.

    >>> file_id("/work/texts/a.txt", Path("/work")), file_id("/else/a.txt", Path("/work"))
    ('texts/a.txt', '/else/a.txt')
    """
    if base is None:
        return Path(os.path.normpath(path)).as_posix()
    absolute = Path(os.path.abspath(path))
    is_inside = absolute.is_relative_to(base) and base.parent != base
    return (absolute.relative_to(base) if is_inside else absolute).as_posix()
