"""Options of `sources`, `verify`, `duplicates`, `index`, `delete` and `simhash`, and the list of all operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from whorl.fingerprint.statistics.metric import Percent
from whorl.operations.option_declaration import (
    ALL_RETURNED,
    QUERY_SCHEMA,
    Bounds,
    Rows,
    Share,
    SimilarMetric,
    Start,
    only,
    option,
)
from whorl.operations.searches import (
    CompareOperation,
    ExplainOperation,
    IgnorableBoilerplate,
    SearchOperation,
    SimilarOperation,
)

PairMetric: TypeAlias = Literal["jaccard", "containment", "similarity"]
_FILES = only("cli", because="takes documents, not files")
_RESULT_FILES = only("cli", because="returns the result, and writes no files")
_SPARK = only("cli", because="Python's SparkDuplicates is a class of its own, and the service does without Spark")
_OF_A_STORE = only("cli", "python", because="compares the documents of a store with each other")
_UNDER_ITS_SCHEME = only("cli", "python", because="compares under the store's scheme")
_SET_UP = only("cli", "python", because="the store is set up before it is served")


@dataclass(frozen=True, kw_only=True)
class SourcesOperation(IgnorableBoilerplate):
    """Find the documents that a text comes from: a small set that covers as much of it as possible."""

    min_words: Annotated[int, Bounds(ge=1, le=1_000_000)] = option(
        8, "Words in the shortest passage that counts; at least as many as in a shingle."
    )
    exclude: str | None = option(
        None, "Leave out the documents that this query matches.", "QUERY", schema=QUERY_SCHEMA, examples=("type:form",)
    )
    without: Annotated[tuple[Literal["quotations", "references"], ...], Bounds(max_length=10)] = option(
        (), "Parts of the text to leave out.", cli_help="Leave out these parts of the text; can be given twice."
    )
    recall: Share = option(95, "How many of 100 sources to find, in percent; up to 1 as a fraction.", "PERCENT")
    most_read: Annotated[int, Bounds(ge=1, le=10_000)] = option(5_000, "The most documents to compare the text with.")
    medium: Share = option(10, "Share of the text in sources from which its level is medium.", "PERCENT")
    high: Share = option(50, "Share of the text in sources from which its level is high.", "PERCENT")
    fail_on: Literal["medium", "high"] | None = option(
        None,
        "End with status 1 if the text has this level or a higher one.",
        absent=only("cli", because="returns the level"),
    )
    timeout: Annotated[float | None, Bounds(gt=0, le=86_400)] = option(
        None, "Give up after this many seconds, with an error.", "SECONDS"
    )
    rows: Rows = option(10, "Sources to show.", absent=ALL_RETURNED)
    start: Start = option(0, "Sources to skip.", absent=ALL_RETURNED)


@dataclass(frozen=True, kw_only=True)
class VerifyOperation:
    """Check whether the quotations in a text are in the store, word for word, and where."""

    all: bool = option(False, "Check every sentence of the text, not only what it quotes.")
    min_words: Annotated[int, Bounds(ge=1, le=1_000)] = option(
        4, "Leave out quotations in the text that have fewer words; quotations that are given are all checked."
    )
    fail_on: str | None = option(
        None,
        "End with status 1 if a quotation has one of these verdicts, separated by commas.",
        "VERDICTS",
        absent=only("cli", because="returns the verdicts"),
    )
    rows: Rows = option(100, "Quotations to show.", absent=ALL_RETURNED)
    start: Start = option(0, "Quotations to skip.", absent=ALL_RETURNED)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Options for reading documents from files and rows."""

    text_column: str | None = option(
        None, "The column, or key, with the texts in rows.  [default: text]", "COLUMN", absent=_FILES
    )
    id_column: str | None = option(
        None,
        "The column with the ids; '' for none. Rows without an id get one from file and row.  [default: id, if any]",
        "COLUMN",
        absent=_FILES,
    )
    follow_links: bool = option(
        False,
        "Follow symbolic links that lead out of the named folder, or out of the fixed part of a pattern.",
        absent=_FILES,
    )


@dataclass(frozen=True, kw_only=True)
class DuplicatesOperation(IgnorableBoilerplate, Columns):
    """Find all near-duplicates."""

    metric: PairMetric | None = option(
        None,
        "Shared shingles as a share of those in either (jaccard, the default, or similarity), or in the smaller "
        "one (containment).",
        cli_help="Shared shingles as a share of those in either (jaccard or similarity), or in the smaller one "
        "(containment).  [default: jaccard; containment with --reference-only]",
    )
    threshold: Share = option(80, "Share from which two are duplicates, in percent; up to 1 as a fraction.", "PERCENT")
    recall: Share = option(
        95, "How many of 100 pairs just at the threshold to find, in percent; up to 1 as a fraction.", "PERCENT"
    )
    clusters: bool = option(
        True,
        "What to print.  [default: clusters]",
        names={"cli": "clusters/--pairs"},
        absent=only("cli", because="returns clusters with their pairs"),
    )
    complete: bool = option(
        False,
        "Clusters in which any two members are duplicates; no chains.",
        cli_help="Clusters in which any two members are duplicates; no chains. With --keep, those around the "
        "documents that stay.",
    )
    format: Literal["json", "csv", "table", "parquet"] | None = option(
        None, "Default: by the name of FILE, otherwise table.", absent=_RESULT_FILES
    )
    output: str | None = option(None, "Where to write; - is standard output.", "FILE", short="-o", absent=_RESULT_FILES)
    show_all: bool = option(
        False,
        "Print all clusters with all members, instead of the twenty largest.",
        names={"cli": "all"},
        absent=only("cli", because="returns all of them"),
    )
    state: str | None = option(
        None,
        "Where to keep what this run learns; the next run continues there and looks only at new documents.",
        "FOLDER",
        absent=only("cli", "python", because="compares the documents of a store, which keeps their sketches"),
    )
    new: bool = option(
        False,
        "With --state: only pairs and clusters with a new document.",
        absent=only("cli", "python", because="has no state"),
    )
    keep: str | None = option(
        None,
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
        None,
        "With --keep: a file for the ids of the others, one per line. Nothing is ever deleted.",
        "FILE",
        absent=_RESULT_FILES,
    )
    filtered: str | None = option(
        None,
        "A new folder for the files of PATHs without their duplicates, in the same formats and columns.",
        "DIR",
        absent=_RESULT_FILES,
    )
    annotated: str | None = option(
        None,
        "A new folder for the files of PATHs, with all rows and the columns cluster, is_principal and similarity.",
        "DIR",
        absent=_RESULT_FILES,
    )
    versions: bool = option(
        False, "Show each cluster's versions in order, and what each adds and loses compared with the one before."
    )
    date: str | None = option(
        None,
        "The property with the dates for versions, and for the newest or oldest document to keep.",
        "COLUMN",
        cli_help="The column, or property of a store, with the dates for --versions, --keep newest and --keep oldest.",
    )
    reference: tuple[str, ...] = option(
        (),
        "Files or folders to compare PATHs with; not compared with each other, and never listed for deletion.",
        "SET",
        absent=_OF_A_STORE,
    )
    reference_only: bool = option(
        False,
        "Compare PATHs with SET only, not with each other: which documents hold a text of SET, and where.",
        absent=_OF_A_STORE,
    )
    reference_column: tuple[str, ...] = option(
        (),
        "A column with texts of SET, such as question or answer, if not that of PATHs; can be given several times. "
        "Each column is compared by itself, and all together.",
        "COLUMN",
        absent=_FILES,
    )
    within: str | None = option(
        None,
        "Compare only documents with the same value in this column, for instance a language or a source.",
        "COLUMN",
        names={"cli": "within_column"},
        absent=only("cli", "python", because="compares all documents of a store"),
    )
    level: Literal["document", "paragraph", "line", "passage"] = option(
        "document",
        "What is compared; --filtered then removes it from the texts. Paragraphs end at empty lines; passages are "
        "runs of words that are repeated word for word.",
        absent=only("cli", "python", because="compares the documents of a store, not their parts"),
    )
    words: Annotated[int | None, Bounds(ge=2, le=999)] = option(
        None,
        "With --level passage: words in the shortest passage.  [default: 50]",
        "N",
        absent=only("cli", "python", because="compares the documents of a store, not their parts"),
    )
    shingle: Annotated[int | None, Bounds(ge=1, le=999)] = option(
        None,
        "Words in a shingle; 1 compares sets of words.  [default: 5, or the store's; 8 with --reference-only; "
        "9 characters]",
        "N",
        names={"python": "scheme"},
        absent=_UNDER_ITS_SCHEME,
    )
    characters: bool = option(
        False, "Shingles are made of characters, not of words.", names={"python": "scheme"}, absent=_UNDER_ITS_SCHEME
    )
    write_ids: bool = option(
        False,
        "Write into the store which complete cluster each document is in, so that searches can show one of each.",
        absent={"mcp": "the tool changes nothing", "python": "write_ids() is a function of its own"},
    )
    strict: bool = option(False, "Fail if anything could not be read, not only if more than 1 in 100.", absent=_FILES)
    workers: Annotated[int | None, Bounds(ge=1)] = option(
        None,
        "How many processes read and hash PATHs; the results are the same. With --state it is always one.  "
        "[default: one for each processor, for small PATHs 1]",
        absent=only("cli", "python", because="the service shares its processors among requests"),
    )
    engine: Literal["local", "spark"] = option(
        "local", "With spark, Spark reads PATHs and writes to FILE, which is a folder.", absent=_SPARK
    )
    input: Literal["parquet", "json", "text"] | None = option(
        None, "With --engine spark: the format of PATHs.  [default: by their names, otherwise text]", absent=_SPARK
    )
    name_column: str | None = option(
        None, "With --engine spark: the column with the names.  [default: name, if any]", "COLUMN", absent=_SPARK
    )
    checkpoints: str | None = option(
        None,
        "With --engine spark: for intermediate results that outlive an executor; all executors must reach it.",
        "FOLDER",
        absent=_SPARK,
    )

    @property
    def is_complete(self) -> bool:
        """Whether any two members of a cluster must be duplicates; retention policies and cluster labels need this."""
        return self.complete or self.write_ids or any((self.keep, self.filtered, self.annotated))


@dataclass(frozen=True, kw_only=True)
class IndexOperation(Columns):
    """Put documents into a store."""

    batch: Annotated[int, Bounds(ge=1, le=10_000)] = option(
        256, "Documents per batch.", absent=only("cli", "python", because="the service chooses batches by size")
    )
    again: bool = option(
        False,
        "Also index unchanged documents, for instance after a change of the schema.",
        names={"cli": "all"},
        absent=only("cli", "python", because="a change of the schema is for an administrator"),
    )
    passages: Annotated[int | None, Bounds(ge=8, le=20)] = option(
        None,
        "From now on, let the store find every passage of N words (see 'whorl sources'): 8 to 20, by default 20. "
        "Shorter passages take more space. A store keeps its N.",
        "[N]",
        absent=_SET_UP,
    )
    without_minhash: bool = option(
        False,
        "From now on, keep no MINHASH tokens in the store (a folder): a fifth less space, but no FINGERPRINT.",
        absent=_SET_UP,
    )
    no_text: bool = option(
        False,
        "Keep no texts in a new store (a folder), only hashes of their passages: 'whorl sources' works, but nothing "
        "that reads or compares texts.",
        absent=_SET_UP,
    )
    check: Annotated[Percent | None, Bounds(gt=0, le=100)] = option(
        None,
        "Store nothing, and list the documents that repeat stored ones by at least this share.",
        "PERCENT",
        absent={
            "cli": "'whorl similar --file FILE' compares without storing",
            "mcp": "the tool `similar` compares without storing",
            "python": "RepeatSearch is a class of its own",
        },
    )
    warn: Annotated[Percent | None, Bounds(gt=0, le=100)] = option(
        None,
        "List the stored documents that repeat earlier ones by at least this share, in percent; up to 1 as a fraction.",
        "PERCENT",
        absent={"mcp": "the tool `similar` tells it of a text", "python": "RepeatSearch is a class of its own"},
    )
    metric: SimilarMetric = option(
        "jaccard",
        "What this share is of: both texts (jaccard), the new one (a_in_b or contains), the other (b_in_a or "
        "within), or the larger of these two (containment).",
        cli_help="What --warn is a share of: both texts (jaccard), the new one (a_in_b or contains), the other "
        "(b_in_a or within), or the larger of these two (containment).",
        absent={"mcp": "nothing is compared", "python": "RepeatSearch is a class of its own"},
    )


@dataclass(frozen=True, kw_only=True)
class DeleteOperation:
    """Delete documents from a store."""

    query: str | None = option(
        None, "Delete the documents that this query matches.", "QUERY", schema=QUERY_SCHEMA, examples=("name:minutes",)
    )
    everything: bool = option(False, "Allow deleting all documents, if the query matches all.")
    dry_run: bool = option(
        False, "Only say how many documents would be deleted.", absent={"python": "Store.count counts them"}
    )


@dataclass(frozen=True, kw_only=True)
class SimhashOperation(Columns):
    """Print the SimHash code of each document."""

    scheme: str | None = option(
        None,
        "How codes are made: simhash1-icu70, simhash1-icu74 (the default) or simhash1-icu77; or as others do: "
        "simhash-py-0.4, simhash-py-0.1, simhash-cpp-0.1, simhash-1e0ng-2.",
        "NAME",
        absent=only("cli", "python", because="a store has no codes"),
    )
    format: Literal["codes", "tsv", "json"] = option(
        "codes", "One code per line; a code, a tab and the document's id; a JSON object.", absent=_RESULT_FILES
    )


#: All operations, in the order of the documentation.
OPERATIONS: tuple[type[Any], ...] = (
    SimilarOperation,
    SearchOperation,
    ExplainOperation,
    SourcesOperation,
    VerifyOperation,
    CompareOperation,
    DuplicatesOperation,
    IndexOperation,
    DeleteOperation,
    SimhashOperation,
)
