"""Documents and texts as users of the command line name them: references to a store, files, standard input."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click

from whorl.errors import UnknownDocumentError
from whorl.output.format import printable
from whorl.search.similar.references import Referent
from whorl.store import Store, open_store

#: The word for standard input.
STANDARD_INPUT = "-"


def opened_store(name: str | None) -> Store:
    """Open an existing store for a user of this machine, who may call a document by its path, or name a file."""
    store = open_store(name, create=False)
    store.read_files(Path.cwd(), file_text)
    return store


def is_file(name: str) -> bool:
    """Check whether a name is a file, or standard input."""
    # A pipe, such as bash's <(…), is read like a file; a folder is not.
    return name == STANDARD_INPUT or (os.path.exists(name) and not os.path.isdir(name))


def file_text(path: str) -> str | None:
    """Return the text of a file, None if there is no such file.

    Raises:
        ParameterError: The file cannot be read, or is not text.
    """
    from whorl.ingest.files import source_text

    return source_text(path) if path != STANDARD_INPUT and is_file(path) else None


def referent(store: Store, name: str) -> Referent:
    """Return the document or text of a name on the command line, and print the note on it.

    Args:
        store: The store, opened by `opened_store`.
        name: A reference to a document, a file, or `-` for standard input.

    Raises:
        UnknownDocumentError: It is neither a document nor a file.
        ParameterError: The file cannot be read, or is not text.
    """
    from whorl.ingest.files import source_text

    if name == STANDARD_INPUT:
        meant = store.references.of_text(source_text(name), "standard input")
    else:
        meant = store.references.referent(name)
    print_notes([meant.note])
    return meant


def texts_beside(store: Store, names: Iterable[str]) -> dict[str, str]:
    """Return the texts of files that a query names like documents, by name, and print the notes on all names."""
    texts = {}
    for name in names:
        with suppress(UnknownDocumentError):
            meant = referent(store, name)
            if meant.text is not None:
                texts[name] = meant.text
    return texts


def print_notes(notes: Iterable[str | None]) -> None:
    """Print notes on standard error."""
    for note in notes:
        if note is not None:
            click.echo(f"note: {printable(note)}", err=True)
