"""Opens the store or the files that a command searches, and finds the documents that users name."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from whorl.cli.render.terminal import print_notes, print_problems
from whorl.cli.shared.flags import STORE, operation_option, store_flag
from whorl.errors import ParameterError, StoreError, UnknownDocumentError
from whorl.operations import Columns

# Importing these modules takes longer than comparing two files, so each function imports what it needs.
if TYPE_CHECKING:
    from whorl.ingest.files import OnProblem
    from whorl.ingest.rows.row_format import File, RowColumns
    from whorl.model import Document
    from whorl.search.document_references import ResolvedReference
    from whorl.store import Store

_IN = click.option(
    "--in",
    "folders",
    metavar="FOLDER",
    multiple=True,
    help="Search the files in this folder instead of a store; can be given several times.",
)
STANDARD_INPUT = "-"
#: Id of a text that is stored from standard input.
_INPUT_ID = "standard-input"


def open_existing_store(name: str | None) -> Store:
    """Open an existing store that can also find documents by paths, and read local files."""
    from whorl.store import open_store

    store = open_store(name, create=False)
    store.read_files(Path.cwd(), read_if_file, f"'whorl list{store_flag(name)}' shows its documents")
    return store


class SearchScope(NamedTuple):
    """Documents to search: a store (None is the configured store), or files and folders, with the columns to read."""

    store: str | None
    folders: tuple[str, ...]
    text_column: str | None = None
    id_column: str | None = None


def add_search_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--store`, `--in` and the options for columns to a command, as its argument `scope`."""

    @STORE
    @_IN
    @operation_option(Columns, "text_column")
    @operation_option(Columns, "id_column")
    @wraps(command)
    def call(
        store: str | None, folders: tuple[str, ...], text_column: str | None, id_column: str | None, **values: Any
    ) -> None:
        command(scope=SearchScope(store, folders, text_column, id_column), **values)

    return call


@contextmanager
def open_store_or_files(scope: SearchScope) -> Iterator[tuple[Store, int | None]]:
    """Open an existing store, or a temporary store with the documents of files and folders.

    Yields the store, and the number of documents that could not be read; None if all were read. Raises ParameterError
    if options conflict, or the folders have no text.
    """
    folders, text_column, id_column = scope.folders, scope.text_column, scope.id_column
    if not folders:
        for flag, column in (("--text-column", text_column), ("--id-column", id_column)):
            if column is not None:
                raise ParameterError(f"{flag} is for the rows of files; name the files with --in")
        try:
            opened = open_existing_store(scope.store)
        except StoreError as error:
            raise StoreError(f"{error}\nOr search files without a store: --in FOLDER") from error
        with opened as store:
            yield store, None
        return
    if scope.store is not None:
        raise ParameterError("--in and --store exclude each other: --in reads files, and keeps no store")
    from whorl.cli.render.terminal import progress_bar
    from whorl.ingest.files import Problem, Problems, find_files
    from whorl.ingest.rows.row_format import RowColumns
    from whorl.store import open_store

    with TemporaryDirectory(prefix="whorl-") as made, open_store(Path(made) / "store", passages=True) as store:
        problems = Problems()
        store.engine.file_base(Path.cwd)
        store.read_files(Path.cwd(), read_if_file, f"name a file, or a document in {', '.join(folders)}")
        files = [found.file for found in find_files(folders, problems.append)]
        text_tables: list[str] = []
        left_out = set[str]()
        with progress_bar("files") as bar:
            read = bar.track(files, total=len(files), description="reading")
            columns = RowColumns.from_names(text_column, id_column, left_out=left_out)
            store.index(
                file_documents(store, read, problems.append, columns, text_tables.append),
                on_refused=lambda document, error: problems.append(Problem(document.id, str(error))),
            )
        print_notes(table_notes(text_tables, left_out))
        print_problems(problems, "could not be read")
        if not store.engine.count():
            raise ParameterError(f"no text could be read in {', '.join(folders)}; name other files or folders")
        yield store, problems.lost if problems else None


def file_documents(
    store: Store, files: Iterable[File], on_problem: OnProblem, columns: RowColumns, on_table: Callable[[str], None]
) -> Iterator[Document]:
    """Yield the documents in files; ids are relative to the store's base folder, which must be set.

    A table is one document unless its text column is named. `on_table` gets the names of these tables, and of JSON
    files that may have rows.
    """
    from whorl.ingest.files import documents_in
    from whorl.search.document_references import file_id

    for file in files:
        if isinstance(file, Path):
            own_id = file_id(str(file), store.references.base_for(str(file)))
        else:
            # Give standard input another id than `-`, which other commands would read as standard input.
            own_id = _INPUT_ID if str(file) == STANDARD_INPUT else file.as_posix()
        yield from documents_in(file, on_problem, columns, on_text_table=on_table, file_id=own_id)


def table_notes(names: Sequence[str], left_out: Collection[str] = ()) -> list[str]:
    """Return notes about the files that were read as one document each: tables, and JSON without rows.

    Add a note about the columns that were left out.
    """
    others = [name for name in names if PurePath(name).suffix.lower() == ".json"]
    tables = [name for name in names if name not in others]
    notes = []
    if tables:
        more = f" and {len(tables) - 1:,} more are tables and were" if len(tables) > 1 else " is a table and was"
        notes.append(f"{tables[0]}{more} read as one text; --text-column NAME makes each row a document")
    if others:
        more = f" and {len(others) - 1:,} more are JSON" if len(others) > 1 else " is JSON"
        notes.append(
            f"{others[0]}{more} without rows, read as one text; JSON lines and objects in an array become documents"
        )
    if left_out:
        notes.append(f"columns left out, since no field can have their names: {', '.join(map(repr, sorted(left_out)))}")
    return notes


def is_file(name: str) -> bool:
    # A pipe, such as bash's <(…), is read like a file, so `os.path.isfile` would be wrong here.
    return name == STANDARD_INPUT or (os.path.exists(name) and not os.path.isdir(name))


def read_if_file(path: str) -> str | None:
    """Return the text of a file, None if it is missing; raise ParameterError if it is unreadable or not text."""
    if path == STANDARD_INPUT or not is_file(path):
        return None
    from whorl.ingest.files import source_text

    return source_text(path)


def resolve_reference(
    store: Store, name: str, *, is_file_expected: bool = False, finds_copy: bool = True, prefers_file: bool = False
) -> ResolvedReference:
    """Find the document or text that a name on the command line refers to, and print a note about it.

    With `is_file_expected`, there is no note for a file outside the store; see `References.resolve` for other options.
    Raises UnknownDocumentError, or ParameterError for a folder or an unreadable file.
    """
    if name == STANDARD_INPUT:
        from whorl.ingest.files import source_text

        meant = store.references.resolve_text(source_text(name), "standard input", finds_copy=finds_copy)
    else:
        try:
            meant = store.references.resolve(name, finds_copy=finds_copy, prefers_file=prefers_file)
        except UnknownDocumentError as error:
            if os.path.isdir(name):
                raise ParameterError(f"{name} is a folder; name a file in it, or a document of the store") from error
            raise
    if meant.id is not None or not is_file_expected:
        print_notes([meant.note])
    return meant


def read_named_files(store: Store, names: Iterable[str]) -> dict[str, str]:
    """Return the texts of the files that a query names, by name, and print the notes about all names."""
    texts = {}
    for name in names:
        with suppress(UnknownDocumentError):
            meant = resolve_reference(store, name)
            if meant.text is not None:
                texts[name] = meant.text
    return texts
