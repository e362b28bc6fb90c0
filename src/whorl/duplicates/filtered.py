"""A collection without its duplicates, or with what was found beside each row: files in, the same files out."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import IO

from whorl.duplicates.levels import Level, by_document, without, without_ranges
from whorl.duplicates.reading import Reading
from whorl.duplicates.result import Cluster
from whorl.errors import DocumentError, ParameterError
from whorl.ingest.extraction.decoding import decode
from whorl.ingest.extraction.formats import format_of as format_of_file
from whorl.ingest.files import file_text, without_notes
from whorl.ingest.places import Place
from whorl.ingest.rows.columns import UnreadRowsError
from whorl.ingest.rows.formats import format_of
from whorl.ingest.rows.row import Added, Format, Row

#: The columns that are added to rows: the id of the document of its cluster that is kept (null if it is in none),
#: whether it is kept, and its Jaccard similarity to the one that is.
ADDED = {"cluster": str, "is_principal": bool, "similarity": float}
#: What Hugging Face's library writes beside a data set, and what of it no longer holds for a part of the rows.
_NOTES = ("state.json", "dataset_info.json", "dataset_dict.json")
_OF_ALL_ROWS = ("splits", "dataset_size", "size_in_bytes", "download_size", "download_checksums")


@dataclass(frozen=True, slots=True)
class Decided:
    """What is known of the documents that are in a cluster.

    Args:
        superfluous: Ids of those that are not kept.
        found: The columns that are added, by ids, where these are wanted.
    """

    superfluous: set[str] = field(default_factory=set)
    found: dict[str, dict[str, object]] = field(default_factory=dict)


def decided(clusters: Iterable[Cluster], *, with_columns: bool) -> Decided:
    """Return what clusters say of their members.

    Args:
        clusters: Complete ones, each compared with the member that is kept.
        with_columns: Whether columns are added to rows.
    """
    told = Decided()
    for cluster in clusters:
        for match in cluster.matches:
            is_kept = match.b.stays or match.b == match.a
            if not is_kept:
                told.superfluous.add(match.b.id)
            if with_columns:
                values = (match.a.id, is_kept, round(match.shares.jaccard, 6))
                told.found[match.b.id] = dict(zip(ADDED, values, strict=True))
    return told


def require_room(reading: Reading, target: Path) -> None:
    """Raise where a collection cannot be written to a folder, before hours of work.

    Raises:
        ParameterError: The folder is not empty or cannot be made, or two files would be one in it.
    """
    partial = _partial(target)
    try:
        for each in (target, partial):
            if each.exists() and (not each.is_dir() or any(each.iterdir())):
                left = ", perhaps of a run that was killed; delete it, or" if each is partial else ";"
                raise ParameterError(f"{each} is there already{left} name a folder that is not")
        partial.mkdir(parents=True, exist_ok=True)
        partial.rmdir()
    except OSError as error:
        raise ParameterError(f"{target} cannot be written: {error.strerror or error}") from error
    taken: dict[PurePosixPath, Place] = {}
    for place in reading.places:
        other = taken.setdefault(place.inside, place)
        if other is not place:
            raise ParameterError(
                f"{other.file} and {place.file} would both be {target / place.inside}; name the folder that both are in"
            )


def require_columns(reading: Reading) -> None:
    """Raise where a file has no rows that columns could be added to.

    Raises:
        ParameterError: It is a text, or a web archive.
    """
    for place in reading.places:
        try:
            with place.file.open("rb") as opened:
                form = _format_of(place, opened, reading)
        except (OSError, DocumentError):
            # That it cannot be read is told where it is read.
            continue
        if form is None or not form.takes_columns:
            raise ParameterError(f"{place.file} has no rows that columns could be added to; leave it out")


def require_texts(reading: Reading) -> None:
    """Raise where a file has no texts that pieces could be taken out of.

    Raises:
        ParameterError: It is a web archive, or a file whose text is made of something else, as of PDF.
    """
    for place in reading.places:
        try:
            with place.file.open("rb") as opened:
                form = _format_of(place, opened, reading)
                is_made = form is None and format_of_file(opened.read(), PurePath(place.file.name)) is not None
        except (OSError, DocumentError):
            continue
        if is_made or (form is not None and not form.takes_columns):
            raise ParameterError(f"{place.file} has no text that a {reading.level} could be taken out of; leave it out")


def _format_of(place: Place, opened: IO[bytes], reading: Reading) -> Format | None:
    return format_of(opened, PurePath(place.file.name), reading.columns, file_text)


def write_filtered(reading: Reading, told: Decided, target: Path, *, with_columns: bool = False) -> tuple[int, int]:
    """Write files anew, and return how many of their documents were written, of how many.

    Args:
        reading: What was read. Files that could not be read are not written, broken rows neither; of texts whose
            paragraphs or lines were compared, those that are superfluous are left out.
        told: What is known of the documents.
        target: The folder, which is in its place once it is complete.
        with_columns: Whether all rows are written, with the columns of ADDED; else those that are not superfluous.

    Raises:
        ParameterError: It cannot be written.
    """
    writing = _Writing(reading, told, with_columns=with_columns)
    partial = _partial(target)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for place in reading.places:
            try:
                writing.write(place, partial / place.inside)
            except UnreadRowsError:
                # Told when it was read; what came before is written.
                continue
        _write_notes(reading.places, partial, with_columns=with_columns)
        if target.exists():
            target.rmdir()
        partial.replace(target)
    except OSError as error:
        raise ParameterError(f"{target} cannot be written: {error.strerror or error}") from error
    return writing.written, writing.read


class _Writing:
    """Files that are written anew, and how many of their documents were read and written so far."""

    def __init__(self, reading: Reading, told: Decided, *, with_columns: bool) -> None:
        self._reading, self._told, self._with_columns = reading, told, with_columns
        self.written = self.read = 0
        self._takes_pieces = reading.level is not Level.DOCUMENT
        self._passages = by_document(told.superfluous) if reading.level is Level.PASSAGE else {}
        self._added: Added = {}
        if with_columns:
            self._added = ADDED
        elif self._takes_pieces:
            self._added = {reading.columns.text: str}

    def write(self, place: Place, target: Path) -> None:
        """Write a file; a text of which nothing is left is not written.

        Raises:
            UnreadRowsError: It cannot be read, or not to its end.
        """
        file = place.file.as_posix()

        def decide(rows: Sequence[Row]) -> list[Mapping[str, object] | None]:
            values = [self._values(row, file) for row in rows]
            self.read += sum(not isinstance(row.values, DocumentError) for row in rows)
            self.written += sum(each is not None for each in values)
            return values

        with place.file.open("rb") as opened:
            form = _format_of(place, opened, self._reading)
            left = self._left(opened.read(), file) if form is None else b""
            if left is None:
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as out:
                if form is None:
                    out.write(left)
                else:
                    form.rewrite(opened, out, self._reading.columns, decide, self._added)

    def _left(self, raw: bytes, file: str) -> bytes | None:
        """Return what stays of a file that is one document, None for nothing."""
        self.read += 1
        if file in self._told.superfluous:
            return None
        if self._takes_pieces:
            text = decode(raw)
            left = self._without_pieces(text, file)
            if left is None:
                return None
            # What nothing is taken from stays as it is, in whatever encoding.
            raw = raw if left == text else left.encode()
        self.written += 1
        return raw

    def _without_pieces(self, text: str, document_id: str) -> str | None:
        """Return a text without what is superfluous of it, None where nothing is left."""
        if self._reading.level is Level.PASSAGE:
            return without_ranges(text, self._passages.get(document_id, ()))
        return without(text, document_id, self._told.superfluous, self._reading.level)

    def _values(self, row: Row, file: str) -> Mapping[str, object] | None:
        """Return what stands in the added columns of a row, None where it is left out."""
        columns = self._reading.columns
        try:
            if isinstance(row.values, DocumentError):
                return None
            document = columns.document(row.values, file, row.number)
        except DocumentError:
            return None
        if self._takes_pieces:
            text = self._without_pieces(document.text, document.id)
            return None if text is None else {columns.text: text}
        if not self._with_columns:
            return None if document.id in self._told.superfluous else {}
        return self._told.found.get(document.id, {"is_principal": True})


def _write_notes(places: Sequence[Place], target: Path, *, with_columns: bool) -> None:
    """Write what Hugging Face's library wants beside a data set."""
    seen: set[Path] = set()
    for place in places:
        if not isinstance(place.file, Path):
            continue
        for inside in place.inside.parents:
            folder = place.file.parents[len(place.inside.parts) - len(inside.parts) - 1]
            if folder in seen:
                continue
            seen.add(folder)
            names = {each.name for each in folder.iterdir()}
            # Others of these names are documents, and written like all of them.
            for name in (names - without_notes(names)).intersection(_NOTES):
                if note := _note_in(folder / name):
                    (target / inside / name).write_text(_noted(note, with_columns=with_columns), "utf-8")


def _note_in(file: Path) -> dict[str, object]:
    """Return what a note says, nothing where it is damaged: the rows are worth more."""
    try:
        note = json.loads(file.read_text("utf-8"))
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}


def _noted(note: dict[str, object], *, with_columns: bool) -> str:
    is_of_parts = list(note) == ["splits"]
    kept = {name: value for name, value in note.items() if is_of_parts or name not in _OF_ALL_ROWS}
    if with_columns:
        kept.pop("features", None)
    if "_fingerprint" in kept:
        # What its library has cached for all rows is not to be taken for what these give.
        kept["_fingerprint"] = hashlib.blake2b(f"filtered {kept['_fingerprint']}".encode(), digest_size=8).hexdigest()
    return json.dumps(kept, indent=2)


def _partial(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")
