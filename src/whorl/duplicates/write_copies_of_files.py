"""Writes copies of the input files, either without the duplicates or with columns that name each row's cluster."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import IO

from whorl.duplicates.input import InputReader, require_free_columns
from whorl.duplicates.options import Granularity
from whorl.duplicates.results import Cluster
from whorl.duplicates.split_documents import group_by_document, remove_pieces, without_ranges
from whorl.errors import DocumentError, ParameterError
from whorl.file_lock import lock_file
from whorl.fingerprint.statistics.metric import Metric, round_down
from whorl.ingest.extraction.detect_encoding import decode
from whorl.ingest.extraction.file_formats import format_of as format_of_file
from whorl.ingest.files import FoundFile, Problem, text_from_bytes, without_metadata
from whorl.ingest.rows.detect_row_format import format_of, is_columnar
from whorl.ingest.rows.row_format import (
    Added,
    Row,
    RowFormat,
    UncopiedRowsError,
    UnreadRowsError,
    find_value,
    has_column,
)
from whorl.query.plan.fields_and_values import LARGEST_INTEGER, SMALLEST_INTEGER

#: Columns added to rows: id of the document to keep in the row's cluster (null outside clusters), whether the row is
#: kept, and similarity to the kept document (Jaccard; with `--reference-only` the share that the metric measures).
ADDED: Added = {"cluster": str, "is_principal": bool, "similarity": float}
#: Values of the added columns for a row that is in no cluster.
_OUTSIDE_CLUSTERS = {"cluster": None, "is_principal": True, "similarity": None}
_METADATA_FILES = ("state.json", "dataset_info.json", "dataset_dict.json")
#: Entries of Hugging Face's metadata files that are wrong for a copy with fewer rows.
_STALE_METADATA = ("splits", "dataset_size", "size_in_bytes", "download_size", "download_checksums")
#: File that marks an unfinished folder, which the next run may replace. The run locks it.
_UNFINISHED = ".whorl-unfinished"
_LEAVE_OUT = "name the other files, for instance by a pattern such as 'data/**/*.parquet'"


@dataclass(frozen=True, slots=True)
class RetentionDecisions:
    """Ids of the documents to remove, and the values of the columns of ADDED by document id."""

    to_delete: set[str] = field(default_factory=set)
    added_columns: dict[str, dict[str, object]] = field(default_factory=dict)


def decide_retention(
    clusters: Iterable[Cluster], *, with_columns: bool, metric: Metric = Metric.JACCARD
) -> RetentionDecisions:
    """Decide which members of clusters to remove; `with_columns` also computes the columns of ADDED for all members."""
    decisions = RetentionDecisions()
    for cluster in clusters:
        for match in cluster.matches:
            is_kept = match.b.stays or match.b == match.a
            if not is_kept:
                decisions.to_delete.add(match.b.id)
            if with_columns:
                values = (match.a.id, is_kept, round_down(match.shares.measured_by(metric)))
                decisions.added_columns[match.b.id] = dict(zip(ADDED, values, strict=True))
    return decisions


def require_room(reader: InputReader, target: Path) -> None:
    """Raise ParameterError if the output folder is not empty or not writable, or if two copies share a path.

    The unfinished folder of a killed run is deleted.
    """
    if not target.name:
        # The target is the working directory or the root. It has no name, so the temporary folder cannot be named.
        raise ParameterError(f"{target} exists already; name a folder that does not exist")
    partial = _partial(target)
    try:
        for folder in (target, partial):
            _remove_unfinished(folder)
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                left = ", perhaps of a run that was killed; delete it, or" if folder is partial else ";"
                raise ParameterError(f"{folder} exists already{left} name a folder that does not exist")
        partial.mkdir(parents=True, exist_ok=True)
        partial.rmdir()
    except OSError as error:
        raise ParameterError(f"{target} cannot be written: {error.strerror or error}") from error
    taken: dict[PurePosixPath, FoundFile] = {}
    for found in reader.files:
        other = taken.setdefault(found.relative_path, found)
        if other is not found:
            raise ParameterError(
                f"{other.file} and {found.file} would both be {target / found.relative_path}; name the folder that "
                "both are in"
            )


def require_columns(reader: InputReader) -> None:
    """Raise ParameterError if a file, such as a plain text, cannot get the columns of ADDED, or has any of them."""
    for found, form, _ in _formats(reader):
        if form is None or not form.takes_columns:
            raise ParameterError(f"{found.file} has no rows that columns could be added to; {_LEAVE_OUT}")
        require_free_columns(found.file, reader.first_row(found), ADDED)


def require_texts(reader: InputReader) -> None:
    """Raise ParameterError if the texts of a file cannot be changed, as in a web archive, a PDF or a nested column."""
    for found, form, is_text in _formats(reader):
        if not (is_text if form is None else form.takes_columns):
            raise ParameterError(
                f"{found.file} has no text that a {reader.options.granularity} could be taken out of; {_LEAVE_OUT}"
            )
        if form is not None:
            _require_own_text(found, reader.first_row(found), reader)


def _require_own_text(found: FoundFile, row: Mapping[str, object], reader: InputReader) -> None:
    """Raise ParameterError if the text of a row is a list, or is nested in a column with other values."""
    text, has_text = reader.columns.text, reader.columns.has_text(row)
    if has_column(row, text) and (text not in row or (has_text and isinstance(row[text], list))):
        raise ParameterError(
            f"{found.file}: the text {text!r} is a list or in another column, and a {reader.options.granularity} can "
            "only be taken out of a text in a column of its own; copy the text to one"
        )


def _formats(reader: InputReader) -> Iterator[tuple[FoundFile, RowFormat | None, bool]]:
    """Yield each file with its row format, and whether it is a plain text; skip unreadable files."""
    for found in reader.files:
        try:
            with found.file.open("rb") as opened:
                form = _format_of(found, opened, reader)
                is_text = form is None and format_of_file(opened.read(), PurePath(found.file.name)) is None
        except (OSError, DocumentError):
            continue
        yield found, form, is_text


def _format_of(found: FoundFile, opened: IO[bytes], reader: InputReader) -> RowFormat | None:
    return format_of(opened, PurePath(found.file.name), reader.columns, text_from_bytes)


@contextmanager
def write_copies(
    reader: InputReader, decisions: RetentionDecisions, target: Path, *, with_columns: bool = False
) -> Iterator[tuple[int, int]]:
    """Write copies of the input files; yield the number of documents written and the number read.

    The copies lack the rows to be deleted, broken rows and unreadable files. Paragraphs, lines or passages to be
    deleted are removed from the texts. With `with_columns`, all rows are written, with the columns of ADDED. The copies
    are in a temporary folder, which gets its name at the end of the context, or is deleted after an exception.

    Raises:
        ParameterError: The folder cannot be written.
        DocumentError: An input file has changed since it was read for the first time.
    """
    reader.require_unchanged()
    writer = _OutputWriter(reader, decisions, with_columns=with_columns)
    partial = _partial(target)
    try:
        _remove_unfinished(partial)
        partial.mkdir(parents=True)
        lock = _lock(partial)
        try:
            writer.write_readable_files(partial)
            _write_metadata_files(reader.files, partial, with_columns=with_columns)
            reader.require_unchanged()
            yield writer.written, writer.read
            lock.close()
            if target.exists():
                target.rmdir()
            partial.replace(target)
            # Delete the marker last: if this run is killed before, the next run replaces the folder.
            (target / _UNFINISHED).unlink()
        finally:
            lock.close()
            # A complete folder has its final name already, so this removes only an incomplete one.
            with suppress(OSError):
                _remove(partial)
    except OSError as error:
        raise ParameterError(f"{target} cannot be written: {error.strerror or error}") from error


def _remove_unfinished(folder: Path) -> None:
    """Delete the unfinished folder of a run that was killed; raise ParameterError if another run is writing it."""
    if (folder / _UNFINISHED).is_file():
        _lock(folder).close()
        _remove(folder)


def _remove(folder: Path) -> None:
    """Delete an unfinished folder, its marker last, so that the next run can complete an interrupted deletion."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != _UNFINISHED:
            path.unlink()
    shutil.rmtree(folder)


def _lock(partial: Path) -> ExitStack:
    """Lock an unfinished folder until `close` is called; raise ParameterError if another run is writing it."""
    marker, held = partial / _UNFINISHED, ExitStack()
    marker.touch()
    # Some file systems have no locks; work without one there.
    with suppress(sqlite3.OperationalError):
        lock = lock_file(marker, 0)
        if lock is None:
            raise ParameterError(f"another run is writing {partial}; name another folder, or wait")
        held.callback(lock.close)
    return held


class _OutputWriter:
    """Writes copies of input files, without deleted documents or with cluster columns; counts the documents."""

    def __init__(self, reader: InputReader, decisions: RetentionDecisions, *, with_columns: bool) -> None:
        self._reader, self._decisions, self._with_columns = reader, decisions, with_columns
        self.written = self.read = 0
        granularity = reader.options.granularity
        self._takes_pieces = granularity is not Granularity.DOCUMENT
        self._has_text_ids = False
        self._passages = group_by_document(decisions.to_delete) if granularity is Granularity.PASSAGE else {}
        self._added: Added = {}
        if with_columns:
            clusters = (str(values["cluster"]) for values in decisions.added_columns.values())
            self._added = {**ADDED, "cluster": int} if all(map(_is_whole_number, clusters)) else ADDED
        elif self._takes_pieces:
            self._added = {reader.columns.text: str}

    def write_readable_files(self, folder: Path) -> None:
        """Write the files that the first reading could read, at least in part."""
        unread, problems = self._reader.unread, self._reader.problems
        for found in self._reader.files:
            if found.file.as_posix() in unread:
                continue
            try:
                self.write(found, folder / found.relative_path)
            except UnreadRowsError as error:
                # Keep the copy, which has the rows before the error. Report the error if the first reading missed it,
                # because that reading does not read all columns.
                if all(known.where != str(found.file) for known in problems):
                    problems.append(Problem(str(found.file), str(error), None))

    def write(self, found: FoundFile, target: Path) -> None:
        """Write a file; skip text files without any remaining text."""
        file, before = found.file.as_posix(), (self.read, self.written)

        def decide(rows: Sequence[Row]) -> list[Mapping[str, object] | None]:
            values = [self._values(row, found) for row in rows]
            self.written += sum(row_values is not None for row_values in values)
            return values

        with found.file.open("rb") as opened:
            form = _format_of(found, opened, self._reader)
            left = self._filter_text(opened.read(), file) if form is None else b""
            if left is None:
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            if form is not None and self._added.get("cluster") is int:
                self._has_text_ids = not is_columnar(opened) and self._contains_text_id(form, opened)
            try:
                with target.open("wb") as out:
                    if form is None:
                        out.write(left)
                    else:
                        form.rewrite(opened, out, self._reader.columns, decide, self._added)
            except UnreadRowsError as error:
                is_uncopied = isinstance(error, UncopiedRowsError)
                if not is_uncopied and self._is_readable(target):
                    raise
                target.unlink()
                self.read, self.written = before
                if is_uncopied:
                    raise
                raise UncopiedRowsError(f"{error}; the file is left out of the copy") from error

    def _is_readable(self, copy: Path) -> bool:
        """Check whether an incomplete copy is a readable file; it ends before the first unreadable row of the input."""
        with copy.open("rb") as opened:
            try:
                form = format_of(opened, PurePath(copy.name), self._reader.columns, text_from_bytes)
                rows = () if form is None else form.rows(opened, self._reader.columns)
                return form is not None and not any(isinstance(row.values, DocumentError) for row in rows)
            except UnreadRowsError:
                return False

    def _contains_text_id(self, form: RowFormat, opened: IO[bytes]) -> bool:
        """Check whether the id of any row is a string; rewind the file."""
        columns = self._reader.columns
        try:
            return any(
                not isinstance(row.values, DocumentError) and isinstance(find_value(row.values, columns.id_column), str)
                for row in form.rows(opened, columns)
            )
        except UnreadRowsError:
            # No row before the error has a string as its id. The copy ends there, so the later rows do not matter.
            return False
        finally:
            opened.seek(0)

    def _filter_text(self, raw: bytes, file: str) -> bytes | None:
        self.read += 1
        if file in self._decisions.to_delete:
            return None
        if self._takes_pieces:
            text = decode(raw)
            left = self._without_pieces(text, file)
            if left is None:
                return None
            # The original encoding may not be UTF-8, so do not encode an unchanged text again.
            raw = raw if left == text else left.encode()
        self.written += 1
        return raw

    def _without_pieces(self, text: str, document_id: str) -> str | None:
        """Return a text without the parts to delete, or None if no text is left."""
        if self._reader.options.granularity is Granularity.PASSAGE:
            return without_ranges(text, self._passages.get(document_id, ()))
        return remove_pieces(text, document_id, self._decisions.to_delete, self._reader.options.granularity)

    def _values(self, row: Row, found: FoundFile) -> Mapping[str, object] | None:
        """Return the values of a row's changed or added columns, or None to leave out the row."""
        columns = self._reader.columns
        try:
            if isinstance(row.values, DocumentError):
                return None
            document = columns.document(row.values, found.file.as_posix(), row.number)
        except DocumentError:
            return None
        self.read += 1
        if self._takes_pieces:
            text = self._without_pieces(document.text, document.id)
            if text is None:
                return None
            if text == document.text:
                return {}
            _require_own_text(found, row.values, self._reader)
            return {columns.text: text}
        if not self._with_columns:
            return None if document.id in self._decisions.to_delete else {}
        require_free_columns(found.file, row.values, ADDED)
        added = self._decisions.added_columns.get(document.id, _OUTSIDE_CLUSTERS)
        has_whole_numbers = self._added.get("cluster") is int and not self._has_text_ids
        if has_whole_numbers and added["cluster"]:
            # Give the cluster the type of the file's ids, so that users can compare the two.
            return {**added, "cluster": int(str(added["cluster"]))}
        return added


def _is_whole_number(document_id: str) -> bool:
    """Check whether an id is a 64-bit integer in decimal notation, without leading zeros or a plus sign."""
    try:
        number = int(document_id)
    except ValueError:
        return False
    return str(number) == document_id and SMALLEST_INTEGER <= number <= LARGEST_INTEGER


def _write_metadata_files(files: Sequence[FoundFile], target: Path, *, with_columns: bool) -> None:
    folders: dict[Path, PurePosixPath] = {}
    for found in files:
        if isinstance(found.file, Path):
            for folder, inside in zip(found.file.parents, found.relative_path.parents, strict=False):
                folders.setdefault(folder, inside)
    for folder, inside in folders.items():
        names = {file.name for file in folder.iterdir()}
        # An input file may have the name of a metadata file, so copy only the names that `without_metadata` drops.
        for name in (names - without_metadata(names)).intersection(_METADATA_FILES):
            if metadata := _read_metadata(folder / name):
                (target / inside / name).write_text(_adapt_metadata(metadata, with_columns=with_columns), "utf-8")


def _read_metadata(file: Path) -> dict[str, object]:
    try:
        metadata = json.loads(file.read_text("utf-8"))
    except ValueError:
        return {}
    return metadata if isinstance(metadata, dict) else {}


def _adapt_metadata(metadata: dict[str, object], *, with_columns: bool) -> str:
    is_of_parts = list(metadata) == ["splits"]
    entries = {name: value for name, value in metadata.items() if is_of_parts or name not in _STALE_METADATA}
    if with_columns:
        entries.pop("features", None)
    if "_fingerprint" in entries:
        # Change the cache key of the data set (`_fingerprint`), or `datasets` would use cached results for all rows.
        fingerprint = f"filtered {entries['_fingerprint']}".encode()
        entries["_fingerprint"] = hashlib.blake2b(fingerprint, digest_size=8).hexdigest()
    return json.dumps(entries, indent=2)


def _partial(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")
