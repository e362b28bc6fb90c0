"""What `whorl duplicates` is asked: its options, what follows from them, and which of them contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from whorl.cli.options import boilerplate_texts, require_writable
from whorl.duplicates.common import CommonQuestion, ask_common
from whorl.duplicates.filtered import require_columns, require_room, require_texts
from whorl.duplicates.keep import Keep
from whorl.duplicates.levels import Level
from whorl.duplicates.question import PairQuestion, ask_pairs
from whorl.duplicates.reading import Reading
from whorl.errors import ParameterError
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.tokenizer import CHARACTERS
from whorl.ingest.rows.columns import Columns

_FORMATS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".parquet": "parquet"}
#: What stands for standard output, as for standard input among PATHs.
_STANDARD_OUTPUT = "-"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options of the command, by their names there; its properties are what follows from them.

    A property raises ParameterError where its own options make no sense.
    """

    # What is read.
    paths: tuple[str, ...]
    store: str | None
    reference: tuple[str, ...]
    text_column: str | None
    id_column: str | None
    date_named: str | None
    within: str | None
    level: str
    boilerplate_files: tuple[str, ...]
    strict: bool
    # What is looked for, and where.
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
    # What is written.
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
    def question(self) -> PairQuestion:
        """From which share two documents are duplicates, and how many of those just there are to be found."""
        return ask_pairs(self.metric, self.threshold, self.recall)

    @cached_property
    def scheme(self) -> Scheme:
        """What words and shingles of files are."""
        if self.characters:
            return Scheme(CHARACTERS, self.shingle or 9)
        return Scheme(shingle_size=self.shingle or 5)

    @property
    def columns(self) -> Columns:
        """The columns of rows."""
        return Columns(self.text_column or "text", self.id_column)

    @cached_property
    def common(self) -> CommonQuestion | None:
        """What text is common; None where nobody asks."""
        boilerplate = boilerplate_texts(self.boilerplate_files, [*self.paths, *self.reference])
        return ask_common(self.common_above, boilerplate, ignore_common=self.ignore_common)

    @cached_property
    def keep(self) -> Keep | None:
        """Which document of each cluster is kept; None where that makes no difference."""
        keep = None if self.keep_named is None else Keep.named(self.keep_named)
        if keep is not None and keep in (Keep("newest"), Keep("oldest")):
            return Keep(keep.by, self.date_named or "")
        if self.date_named is not None and not self.versions:
            raise ParameterError("--date goes with --versions, --keep newest or --keep oldest")
        return keep or (Keep("first") if self.folders else None)

    @property
    def rule(self) -> Keep:
        """Which document of each cluster is its principal one: the first, where nothing is kept."""
        return self.keep or Keep("first")

    @property
    def date_column(self) -> str | None:
        """The column of the dates that --versions and --keep go by."""
        if self.date_named is None and self.keep is not None and self.keep.is_by_date:
            return self.keep.column or None
        return self.date_named

    @property
    def piece(self) -> str | None:
        """What documents are cut into to be compared; None where they are compared whole."""
        return None if self.level == "document" else self.level

    @property
    def needs_complete(self) -> bool:
        """Whether in a cluster any two members are to be duplicates: so is what is not kept, and what is."""
        return self.complete or self.keep is not None or self.write_ids

    @property
    def links_suffice(self) -> bool:
        """Whether not all pairs of a crowd that is all alike are needed."""
        return self.wants_clusters and not self.needs_complete

    @property
    def shows_only_new(self) -> bool:
        """Whether only what has a new document is shown; what came before is the reference, where there is one."""
        return self.only_new or bool(self.reference)

    @property
    def state_folder(self) -> Path | None:
        """Where what is learned is kept on this machine; Spark may name other file systems."""
        return None if self.state is None else Path(self.state)

    @cached_property
    def file(self) -> Path | None:
        """What is written to; None for standard output."""
        return None if self.output is None or self.output == _STANDARD_OUTPUT else Path(self.output)

    @cached_property
    def form(self) -> str:
        """How it is written: json, csv, parquet or table."""
        by_name = "table" if self.file is None else _FORMATS.get(self.file.suffix.lower(), "table")
        return self.form_named or by_name

    @property
    def folders(self) -> Mapping[Path, bool]:
        """The folders for the files anew, and whether columns are added to their rows."""
        # Spark may be asked for one in another file system, whose address is no path here.
        filtered = None if self.filtered is None else Path(self.filtered)
        return {each: each is self.annotated for each in (filtered, self.annotated) if each is not None}

    def require_consistent(self) -> None:
        """Raise ParameterError where options contradict each other."""
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
        # A share or a line that is none is told now, before anything is read.
        common, _ = self.common, self.question
        if self.within and common and common.boilerplate:
            raise ParameterError("--boilerplate does not work with --within-column; leave out one of the two")

    def _require_of_store(self) -> None:
        for option, is_given in {
            "--within-column": self.within is not None, "--text-column": self.text_column is not None,
            "--id-column": self.id_column is not None, "--filtered": self.filtered is not None,
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
        """Return the folder that Spark writes.

        Raises:
            ParameterError: There is none, or nothing to read, or something is asked that Spark has no answer to.
        """
        for option, is_given in {
            "--delete-list": self.delete_list is not None,
            "--store": self.store is not None, "--workers": self.workers is not None,
            "--within-column": self.within is not None,
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
        """Raise ParameterError where what is found could not be written, before hours of work."""
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

    def reading(self) -> Reading:
        """Return what reads the files, of which none is read yet.

        Raises:
            ParameterError: They cannot be written anew as is asked.
        """
        reading = Reading(
            self.paths,
            reference=self.reference,
            columns=self.columns,
            keep=self.rule,
            date_column=self.date_column,
            within=self.within,
            level=Level(self.level),
            lasts=self.state is not None,
            is_rewritten=bool(self.folders),
        )
        for folder in self.folders:
            require_room(reading, folder)
        if self.annotated is not None:
            require_columns(reading)
        if self.folders and self.piece is not None:
            require_texts(reading)
        return reading
