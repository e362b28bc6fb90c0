"""Checks that the flags of `whorl duplicates` fit together, and turns them into the options of the search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from whorl.cli.flags import require_default, with_boilerplate_texts
from whorl.cli.output_files import require_writable
from whorl.duplicates.input import InputReader
from whorl.duplicates.options import DuplicatesOptions, Keep, require_property
from whorl.duplicates.write_copies_of_files import ADDED, require_columns, require_room, require_texts
from whorl.errors import ParameterError
from whorl.ingest.rows.row_format import RowColumns
from whorl.operations import DuplicatesOperation

_FORMATS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".parquet": "parquet"}
#: Name of standard output; among the PATHs, it is standard input.
_STANDARD_OUTPUT = "-"
#: Options that need PATHs.
_OF_FILES = ("within", "text_column", "id_column", "follow_links", "filtered", "annotated", "characters", "level")
#: Options that need whole documents.
_OF_DOCUMENTS = ("annotated", "versions")
#: Options that do not apply if the search only looks for reference texts.
_NOT_OF_REFERENCE_ONLY = (
    *("recall", "complete", "versions", "state", "new", "date", "common_above", "boilerplate", "ignore_common"),
    *("characters", "words"),
)
#: Options that do not apply to a search for passages.
_NOT_OF_PASSAGES = ("metric", "threshold", "recall", "state", "common_above", "boilerplate", "shingle", "characters")
#: Options that Spark does not support.
_LOCAL = (
    *("delete_list", "workers", "within", "follow_links", "annotated", "versions", "common_above", "boilerplate"),
    *("ignore_common", "level", "reference_only", "reference_column"),
)
#: Options that need Spark.
_OF_SPARK = ("input", "name_column", "checkpoints")


@dataclass(frozen=True, kw_only=True)
class DuplicatesCommand(DuplicatesOperation):
    """Options of `whorl duplicates`, with the inputs that the command line names.

    Properties are computed from the options, and raise ParameterError if an option is invalid.
    """

    paths: tuple[str, ...]
    store: str | None

    @cached_property
    def search(self) -> DuplicatesOptions:
        return DuplicatesOptions.from_options(with_boilerplate_texts(self, [*self.paths, *self.reference]))

    @property
    def keep_policy(self) -> Keep | None:
        """Retention policy for each cluster; None keeps the first document."""
        return self.search.keep

    @property
    def columns(self) -> RowColumns:
        return RowColumns.from_names(self.text_column, self.id_column)

    @property
    def shows_only_new(self) -> bool:
        """Whether to show only pairs and clusters with a new document. Always true if there are reference documents."""
        return self.new or bool(self.reference)

    @property
    def file(self) -> Path | None:
        return None if self.output is None or self.output == _STANDARD_OUTPUT else Path(self.output)

    @property
    def delete_file(self) -> Path | None:
        return None if self.delete_list is None else Path(self.delete_list)

    @property
    def form(self) -> str:
        """Output format: the requested format, or the format of the output file's suffix."""
        by_name = "table" if self.file is None else _FORMATS.get(self.file.suffix.lower(), "table")
        return self.format or by_name

    @property
    def is_preview(self) -> bool:
        """Whether the output is a table with only the largest clusters."""
        return self.form == "table" and self.file is None and not self.show_all

    @property
    def folders(self) -> Mapping[Path, bool]:
        """Folders for copies of the input files, mapped to whether the copies get additional columns."""
        named = {self.filtered: False, self.annotated: True}
        return {Path(folder): has_columns for folder, has_columns in named.items() if folder is not None}

    def require_consistent(self) -> None:
        """Raise ParameterError for flags that do not fit together, or for an invalid value."""
        if self.paths and self.store is not None:
            raise ParameterError("give PATHs or a --store, not both")
        if self.new and self.state is None:
            raise ParameterError("--new needs a --state FOLDER to compare with; give one")
        if self.keep is None and self.delete_list is not None:
            raise ParameterError("--delete-list lists what is not kept; say which is, with --keep first for instance")
        if self.delete_list == _STANDARD_OUTPUT:
            raise ParameterError("--delete-list writes a file, because standard output has the clusters; name a file")
        for flag, folder in (("--filtered", self.filtered), ("--annotated", self.annotated)):
            if folder == _STANDARD_OUTPUT:
                raise ParameterError(f"{flag} writes a folder, which standard output cannot hold; name a folder")
        if self.versions and not self.clusters:
            raise ParameterError("--versions shows clusters; leave out --pairs")
        if self.complete and not self.clusters:
            raise ParameterError("--complete makes clusters; leave out --pairs")
        if self.write_ids and (self.paths or self.new):
            raise ParameterError("--write-ids writes into a store; give no PATHs, and leave out --new")
        if not self.paths:
            require_default(self, _OF_FILES, "is for PATHs; name some")
            require_default(self, ["reference"], "is compared with PATHs; give some")
        if self.reference and self.state is not None:
            raise ParameterError(
                "--reference keeps no state; with --state FOLDER run SET as PATHs first, then the others with --new"
            )
        if not self.reference:
            require_default(
                self, ["reference_only", "reference_column"], "is about a reference; name it with --reference"
            )
        if self.reference_only and self.level != "passage":
            require_default(self, _NOT_OF_REFERENCE_ONLY, "is not for --reference-only; leave one of the two out")
            if self.keep not in (None, "first"):
                raise ParameterError(f"--keep {self.keep} chooses among PATHs, which --reference-only does not compare")
        if self.engine == "local":
            require_default(self, _OF_SPARK, "is for --engine spark")
        self._require_of_level()
        # Check percentages, limits and policies before reading any input.
        search = self.search
        if not self.paths:
            require_property(search.keep)
        if self.within and search.common and search.common.boilerplate:
            raise ParameterError("--boilerplate does not work with --within-column; leave out one of the two")

    def _require_of_level(self) -> None:
        if self.words is not None and self.level != "passage":
            raise ParameterError("--words sets the length of passages; add --level passage")
        if self.level != "document":
            require_default(self, _OF_DOCUMENTS, f"is for documents; leave it out, or --level {self.level}")
        if self.level == "passage":
            reason = (
                "is not for passages: they are equal word for word, the first stays, and --words N says how long they "
                "are"
            )
            require_default(self, _NOT_OF_PASSAGES, reason)
            if self.keep != "first":
                require_default(self, ["keep"], reason)

    def output_of_spark(self) -> str:
        """Return the output folder for Spark.

        Raises:
            ParameterError: No output folder or PATHs are given, or an option is not supported by Spark.
        """
        reason = "is for --engine local"
        require_default(self, _LOCAL, reason)
        if self.store is not None:
            raise ParameterError(f"--store {reason}")
        if not self.paths or self.output is None or self.output == _STANDARD_OUTPUT:
            raise ParameterError("--engine spark reads PATHs and writes the folder of --output; name both")
        return self.output

    def require_targets(self) -> None:
        """Raise ParameterError if the output cannot be written; otherwise a long run might fail at its end."""
        output, delete_list = self.file, self.delete_file
        if output is not None and delete_list is not None and output.absolute() == delete_list.absolute():
            raise ParameterError(f"--output and --delete-list are one file, {output}; name two")
        for target in (output, delete_list):
            if target is not None:
                require_writable(target, [*self.paths, *self.reference, *self.boilerplate])
        if self.form == "parquet" and self.file is None:
            raise ParameterError("parquet is for a file; name it with --output FILE")
        if self.form == "parquet" and find_spec("pyarrow") is None:
            raise ParameterError("writing parquet needs more: pip install 'whorl[data]'")
        if self.filtered is not None and self.annotated is not None and Path(self.filtered) == Path(self.annotated):
            raise ParameterError(f"--filtered and --annotated are one folder, {self.filtered}; name two")

    def make_reader(self) -> InputReader:
        """Return a reader for the input files. Raise ParameterError if copies are requested, but cannot be written."""
        reading = InputReader(
            self.paths,
            self.search,
            reference=self.reference,
            reference_columns=self.reference_column,
            columns=self.columns,
            is_rewritten=bool(self.folders),
            follow_links=self.follow_links,
        )
        for folder in self.folders:
            require_room(reading, folder)
        if self.annotated is not None:
            reading.added = frozenset(ADDED)
            require_columns(reading)
        if self.folders and self.level != "document":
            require_texts(reading)
        return reading
