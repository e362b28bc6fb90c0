"""Options of `whorl duplicates`: derived values, defaults, and checks for contradictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from whorl.cli.options import boilerplate_texts, require_writable
from whorl.duplicates.boilerplate import BoilerplateOptions, ask_common
from whorl.duplicates.input import InputReader
from whorl.duplicates.options import DuplicatesOptions, Granularity, Keep, PairOptions, ask_pairs
from whorl.duplicates.output import require_columns, require_room, require_texts
from whorl.errors import ParameterError
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.tokenizer import CHARACTERS
from whorl.ingest.rows.rows import Columns

_FORMATS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".parquet": "parquet"}
#: Name for standard output, as for standard input among PATHs.
_STANDARD_OUTPUT = "-"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options of the command under their own names; properties hold the values derived from them.

    A property raises ParameterError if its options are invalid.
    """

    # Options for input.
    paths: tuple[str, ...]
    store: str | None
    reference: tuple[str, ...]
    text_column: str | None
    id_column: str | None
    follow_links: bool
    date_named: str | None
    within: str | None
    level: str
    boilerplate_files: tuple[str, ...]
    strict: bool
    # Options for the search.
    metric: str
    threshold: str
    recall: str
    complete: bool
    words: int | None
    shingle: int | None
    characters: bool
    common_above: str | None
    ignore_common: bool
    state: str | None
    only_new: bool
    workers: int | None
    engine: str
    # Options for output.
    wants_clusters: bool
    versions: bool
    form_named: str | None
    output: str | None
    keep_named: str | None
    delete_list: Path | None
    filtered: str | None
    annotated: Path | None
    write_ids: bool

    @cached_property
    def question(self) -> PairOptions:
        """Metric, threshold and recall of the search."""
        return ask_pairs(self.metric, self.threshold, self.recall)

    @cached_property
    def options(self) -> DuplicatesOptions:
        """All options of the search."""
        return DuplicatesOptions(
            self.question,
            scheme=self.scheme,
            keep=self.keep,
            date_column=self.date_column,
            within=self.within,
            unit=Granularity(self.level),
            common=self.common,
            spanning_only=self.spanning_only,
            folder=self.state_folder,
        )

    @cached_property
    def scheme(self) -> Scheme:
        """Scheme for words and shingles of files."""
        if self.characters:
            return Scheme(CHARACTERS, self.shingle or 9)
        return Scheme(shingle_size=self.shingle or 5)

    @property
    def columns(self) -> Columns:
        """The columns of rows."""
        return Columns(self.text_column or "text", self.id_column)

    @cached_property
    def common(self) -> BoilerplateOptions | None:
        """Options for common text; None if it is not treated separately."""
        boilerplate = boilerplate_texts(self.boilerplate_files, [*self.paths, *self.reference])
        return ask_common(self.common_above, boilerplate, ignore_common=self.ignore_common)

    @cached_property
    def keep(self) -> Keep | None:
        """Retention policy for each cluster; None if it makes no difference."""
        keep = None if self.keep_named is None else Keep.named(self.keep_named)
        if keep is not None and keep in (Keep("newest"), Keep("oldest")):
            return Keep(keep.by, self.date_named or "")
        if self.date_named is not None and not self.versions:
            raise ParameterError("--date goes with --versions, --keep newest or --keep oldest")
        return keep or (Keep("first") if self.folders else None)

    @property
    def rule(self) -> Keep:
        """Retention policy that chooses each cluster's principal; the first document by default."""
        return self.keep or Keep("first")

    @property
    def date_column(self) -> str | None:
        """The column with the dates for --versions and --keep."""
        if self.date_named is None and self.keep is not None and self.keep.is_by_date:
            return self.keep.column or None
        return self.date_named

    @property
    def piece(self) -> str | None:
        """Unit that documents are split into for the comparison; None to compare whole documents."""
        return None if self.level == "document" else self.level

    @property
    def needs_complete(self) -> bool:
        """Whether any two members of a cluster must be duplicates; retention policies and cluster labels need this."""
        return self.complete or self.keep is not None or self.write_ids

    @property
    def spanning_only(self) -> bool:
        """Whether pairs that connect the clusters suffice, instead of all pairs of large similar groups."""
        return self.wants_clusters and not self.needs_complete

    @property
    def shows_only_new(self) -> bool:
        """Whether to show only pairs and clusters with a new document, as always if there is a reference."""
        return self.only_new or bool(self.reference)

    @property
    def state_folder(self) -> Path | None:
        """Local folder for the sketch store; Spark may name other file systems instead."""
        return None if self.state is None else Path(self.state)

    @cached_property
    def file(self) -> Path | None:
        """Output file; None for standard output."""
        return None if self.output is None or self.output == _STANDARD_OUTPUT else Path(self.output)

    @cached_property
    def form(self) -> str:
        """Output format: json, csv, parquet or table."""
        by_name = "table" if self.file is None else _FORMATS.get(self.file.suffix.lower(), "table")
        return self.form_named or by_name

    @property
    def folders(self) -> Mapping[Path, bool]:
        """The folders for rewritten files, each with whether to add columns to the rows."""
        # With Spark, the folder may be an address in another file system, so it is converted only here.
        filtered = None if self.filtered is None else Path(self.filtered)
        return {each: each is self.annotated for each in (filtered, self.annotated) if each is not None}

    def require_consistent(self) -> None:
        """Raise ParameterError if options contradict each other."""
        keep = self.keep
        if self.paths and self.store is not None:
            raise ParameterError("give PATHs or a --store, not both")
        if self.only_new and self.state is None:
            raise ParameterError("--new needs a --state FOLDER to compare with; give one")
        if self.keep_named is None and self.delete_list is not None:
            raise ParameterError("--delete-list lists what is not kept; say which is, with --keep first for instance")
        if self.versions and not self.wants_clusters:
            raise ParameterError("--versions shows clusters; leave out --pairs")
        if self.complete and not self.wants_clusters:
            raise ParameterError("--complete makes clusters; leave out --pairs")
        if self.write_ids and (self.paths or self.only_new):
            raise ParameterError("--write-ids writes into a store; give no PATHs, and leave out --new")
        if keep is not None and keep.is_by_value and not keep.column and not self.paths:
            raise ParameterError(
                f"--keep {keep} needs the field of the date where documents come from a store: --keep {keep}:FIELD"
            )
        if not self.paths:
            self._require_of_store()
        if self.reference and self.state is not None:
            raise ParameterError(
                "--reference keeps no state; with --state FOLDER run SET as PATHs first, then the others with --new"
            )
        self._require_of_level()
        # Check percentages and limits now, before anything is read.
        common, _ = self.common, self.question
        if self.within and common and common.boilerplate:
            raise ParameterError("--boilerplate does not work with --within-column; leave out one of the two")

    def _require_of_store(self) -> None:
        for option, is_given in {
            "--within-column": self.within is not None, "--text-column": self.text_column is not None,
            "--id-column": self.id_column is not None, "--follow-links": self.follow_links,
            "--filtered": self.filtered is not None,
            "--annotated": self.annotated is not None, "--characters": self.characters,
            "--level": self.piece is not None,
        }.items():  # fmt: skip
            if is_given:
                raise ParameterError(f"{option} is for PATHs; name some")
        if self.reference:
            raise ParameterError("--reference is compared with PATHs; give some")

    def _require_of_level(self) -> None:
        if self.words is not None and self.level != "passage":
            raise ParameterError("--words sets the length of passages; add --level passage")
        for option, is_given in {"--annotated": self.annotated is not None, "--versions": self.versions}.items():
            if self.piece and is_given:
                raise ParameterError(f"{option} is for documents; leave it out, or --level {self.level}")

    def output_of_spark(self) -> str:
        """Return the output folder for Spark.

        Raises:
            ParameterError: No output folder or PATHs are given, or an option is not supported by Spark.
        """
        for option, is_given in {
            "--delete-list": self.delete_list is not None,
            "--store": self.store is not None, "--workers": self.workers is not None,
            "--within-column": self.within is not None, "--follow-links": self.follow_links,
            "--annotated": self.annotated is not None, "--versions": self.versions,
            "--common-above": self.common_above is not None, "--boilerplate": bool(self.boilerplate_files),
            "--ignore-common": self.ignore_common, "--level": self.piece is not None,
        }.items():  # fmt: skip
            if is_given:
                raise ParameterError(f"{option} is for --engine local")
        if not self.paths or self.output is None or self.output == _STANDARD_OUTPUT:
            raise ParameterError("--engine spark reads PATHs and writes the folder of --output; name both")
        return self.output

    def require_targets(self) -> None:
        """Raise ParameterError if the output cannot be written, before hours of work."""
        file, delete_list = self.file, self.delete_list
        if file is not None and delete_list is not None and file.absolute() == delete_list.absolute():
            raise ParameterError(f"--output and --delete-list are one file, {file}; name two")
        for target in (file, delete_list):
            if target is not None:
                require_writable(target, [*self.paths, *self.reference, *self.boilerplate_files])
        if self.form == "parquet" and file is None:
            raise ParameterError("parquet is for a file; name it with --output FILE")
        if self.form == "parquet" and find_spec("pyarrow") is None:
            raise ParameterError("writing parquet needs more: pip install 'whorl[data]'")
        if self.filtered is not None and Path(self.filtered) == self.annotated:
            raise ParameterError(f"--filtered and --annotated are one folder, {self.filtered}; name two")

    def reading(self) -> InputReader:
        """Return the reader of the files, without reading yet.

        Raises:
            ParameterError: The files cannot be rewritten with these options.
        """
        reading = InputReader(
            self.paths,
            self.options,
            reference=self.reference,
            columns=self.columns,
            is_rewritten=bool(self.folders),
            follow_links=self.follow_links,
        )
        for folder in self.folders:
            require_room(reading, folder)
        if self.annotated is not None:
            require_columns(reading)
        if self.folders and self.piece is not None:
            require_texts(reading)
        return reading
