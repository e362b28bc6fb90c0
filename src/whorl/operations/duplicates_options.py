"""Options of `duplicates`, which finds all near-duplicates in a store or among files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from whorl.fingerprint.statistics.metric import PAIR_METRICS, PairMetric, describe_metrics
from whorl.operations.option_declaration import Bounds, Share, flag, only, option
from whorl.operations.search_similar_compare_options import FILES, RESULT_FILES, Columns, IgnorableBoilerplate

_METRICS = describe_metrics(PAIR_METRICS)
_SPARK = only("cli", because="Python's SparkDuplicates is a class of its own, and the service does without Spark")
_OF_A_STORE = only("cli", "python", because="compares the documents of a store with each other")
_UNDER_ITS_SCHEME = only("cli", "python", because="compares under the store's scheme")


@dataclass(frozen=True, kw_only=True)
class DuplicatesOperation(IgnorableBoilerplate, Columns):
    """Find all near-duplicates."""

    metric: PairMetric | None = option(
        f"What the threshold is a share of: {_METRICS}. The default is jaccard.",
        cli_help=f"What the threshold is a share of: {_METRICS}.  "
        "[default: jaccard; containment with --reference-only]",
    )
    threshold: Share = option(
        "Share from which two are duplicates, in percent; up to 1 as a fraction.", "PERCENT", default=80
    )
    recall: Share = option(
        "How many of 100 pairs just at the threshold to find, in percent; up to 1 as a fraction.", "PERCENT", default=95
    )
    clusters: bool = option(
        "What to print.  [default: clusters]",
        default=True,
        names={"cli": "clusters/--pairs"},
        absent=only("cli", because="returns clusters with their pairs"),
    )
    complete: bool = flag(
        "Clusters in which any two members are duplicates; no chains.",
        cli_help="Clusters in which any two members are duplicates; no chains. With --keep, those around the "
        "documents that stay.",
    )
    format: Literal["json", "csv", "table", "parquet"] | None = option(
        "Default: by the name of FILE, otherwise table.", absent=RESULT_FILES
    )
    output: str | None = option("Where to write; - is standard output.", "FILE", short="-o", absent=RESULT_FILES)
    show_all: bool = flag(
        "Print all clusters with all members, instead of the twenty largest.",
        names={"cli": "all"},
        absent=only("cli", because="returns all of them"),
    )
    state: str | None = option(
        "Where to keep what this run learns; the next run continues there and looks only at new documents.",
        "FOLDER",
        absent=only("cli", "python", because="compares the documents of a store, which keeps their sketches"),
    )
    new: bool = flag(
        "With --state: only pairs and clusters with a new document.",
        absent=only("cli", "python", because="has no state"),
    )
    keep: str | None = option(
        "Which documents to keep, each with its duplicates: first, longest, or by a property newest:PROPERTY, "
        "oldest:PROPERTY, largest:PROPERTY, smallest:PROPERTY. No two that stay are duplicates.",
        "WHICH",
        cli_help="Which documents to keep, each with its duplicates: first, longest, newest, oldest, or "
        "newest:COLUMN, oldest:COLUMN, largest:COLUMN, smallest:COLUMN by a column, or by a property of a store. "
        "No two that stay are duplicates.",
        schema={"pattern": "^(first|longest|newest|oldest|(newest|oldest|largest|smallest):.+)$"},
        examples=("newest:cm:modified",),
    )
    delete_list: str | None = option(
        "With --keep: a file for the ids of the others, one per line. Nothing is ever deleted.",
        "FILE",
        absent=RESULT_FILES,
    )
    filtered: str | None = option(
        "A new folder for the files of PATHs without their duplicates, in the same formats and columns.",
        "DIR",
        absent=RESULT_FILES,
    )
    annotated: str | None = option(
        "A new folder for the files of PATHs, with all rows and the columns cluster, is_principal and similarity.",
        "DIR",
        absent=RESULT_FILES,
    )
    versions: bool = flag(
        "Show each cluster's versions in order, and what each adds and loses compared with the one before."
    )
    date: str | None = option(
        "The property with the dates for versions, and for the newest or oldest document to keep.",
        "COLUMN",
        cli_help="The column, or property of a store, with the dates for --versions, --keep newest and --keep oldest.",
    )
    reference: tuple[str, ...] = option(
        "Files or folders to compare PATHs with; not compared with each other, and never listed for deletion.",
        "SET",
        default=(),
        absent=_OF_A_STORE,
    )
    reference_only: bool = flag(
        "Compare PATHs with SET only, not with each other: which documents hold a text of SET, and where.",
        absent=_OF_A_STORE,
    )
    reference_column: tuple[str, ...] = option(
        "A column with texts of SET, such as question or answer, if not that of PATHs; can be given several times. "
        "Each column is compared by itself, and all together.",
        "COLUMN",
        default=(),
        absent=FILES,
    )
    within: str | None = option(
        "Compare only documents with the same value in this column, for instance a language or a source.",
        "COLUMN",
        names={"cli": "within_column"},
        absent=only("cli", "python", because="compares stored sketches, made without the values of properties"),
    )
    level: Literal["document", "paragraph", "line", "passage"] = option(
        "What is compared; --filtered then removes it from the texts. Paragraphs end at empty lines; passages are "
        "runs of words that are repeated word for word.",
        default="document",
        names={"python": "granularity"},
        absent=only("cli", "python", because="compares the documents of a store, not their parts"),
    )
    words: Annotated[int | None, Bounds(ge=2, le=999)] = option(
        "With --level passage: words in the shortest passage.  [default: 50]",
        "N",
        absent=only("cli", "python", because="compares the documents of a store, not their parts"),
    )
    shingle: Annotated[int | None, Bounds(ge=1, le=999)] = option(
        "Words in a shingle; 1 compares sets of words.  [default: 5, or the store's; 8 with --reference-only; "
        "9 characters]",
        "N",
        names={"python": "scheme"},
        absent=_UNDER_ITS_SCHEME,
    )
    characters: bool = flag(
        "Shingles are made of characters, not of words.", names={"python": "scheme"}, absent=_UNDER_ITS_SCHEME
    )
    write_ids: bool = flag(
        "Write into the store which complete cluster each document is in, so that searches can show one of each.",
        absent={"mcp": "the tool changes nothing", "python": "write_ids() is a function of its own"},
    )
    strict: bool = flag(
        "Fail if anything could not be read (otherwise, if more than 1 in 100), or if an id came more than once.",
        absent=FILES,
    )
    workers: Annotated[int | None, Bounds(ge=1)] = option(
        "How many processes read and hash PATHs; the results are the same. With --state it is always one.  "
        "[default: one for each processor, for small PATHs 1]",
        absent=only("cli", "python", because="the service shares its processors among requests"),
    )
    engine: Literal["local", "spark"] = option(
        "With spark, Spark reads PATHs and writes to FILE; each FILE is a folder.", default="local", absent=_SPARK
    )
    input: Literal["parquet", "json", "text"] | None = option(
        "With --engine spark: the format of PATHs.  [default: by their names, otherwise text]", absent=_SPARK
    )
    name_column: str | None = option(
        "With --engine spark: the column with the names.  [default: name, if any]", "COLUMN", absent=_SPARK
    )
    checkpoints: str | None = option(
        "With --engine spark: for intermediate results that outlive an executor; all executors must reach it.",
        "FOLDER",
        absent=_SPARK,
    )

    #: Options that the command line refuses in a run on a store, of parts of texts, and so on: they would do nothing.
    REFUSED: ClassVar[Mapping[str, str]] = {
        "store": "text_column id_column follow_links exclude filtered annotated within level characters",
        "parts": "annotated versions",
        "reference_only": "recall complete state new versions date words characters common_above boilerplate "
        "ignore_common",
        "passages": "metric threshold recall state shingle characters common_above boilerplate",
        "spark": "follow_links exclude versions level workers common_above boilerplate ignore_common",
        "local": "input name_column checkpoints",
    }

    @property
    def is_complete(self) -> bool:
        """Whether any two members of a cluster must be duplicates; retention policies and cluster labels need this."""
        return self.complete or self.write_ids or any((self.keep, self.filtered, self.annotated))
