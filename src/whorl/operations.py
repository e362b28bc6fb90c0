"""Declares the options of each operation once: type, bounds, default, help. All front ends derive theirs from here.

Each field is an option. It may have another name in some front ends, or be absent from them for a stated reason. The
command line derives its flags (`cli/options.py`), HTTP its request bodies (`routes/route_models.py`), and MCP the
parameters of its tools (`mcp.py`). Each front end itself declares the subject of an operation (a query, documents,
texts, files) and the format of its result, which take a different form in each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import lru_cache
from inspect import get_annotations
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from whorl.errors import ParameterError
from whorl.fingerprint.statistics.metric import Percent

_Operation = TypeVar("_Operation")
_Value = TypeVar("_Value")

FrontEnd: TypeAlias = Literal["cli", "http", "mcp", "python"]
FRONT_ENDS: tuple[FrontEnd, ...] = get_args(FrontEnd)
SimilarMetric: TypeAlias = Literal["containment", "jaccard", "a_in_b", "b_in_a", "similarity", "contains", "within"]
PairMetric: TypeAlias = Literal["jaccard", "containment", "similarity"]
#: Meanings of FINGERPRINT in a query, and ways to read a query.
QueryPlan: TypeAlias = Literal["stock", "calibrated"]
Reading: TypeAlias = Literal["lenient", "strict"]
#: Maximum number of hits on a page and before the page; engines sort all of them.
MAX_ROWS, MAX_START = 10_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a number, and the maximum length of a list; the names are pydantic's."""

    ge: int | None = None
    gt: int | None = None
    le: int | None = None
    max_length: int | None = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The given bounds, as keywords of pydantic's `Field`."""
        return {bound.name: value for bound in fields(self) if (value := getattr(self, bound.name)) is not None}


#: JSON schema of a query in whorl's query language, described in docs/afts.md.
QUERY_SCHEMA: Mapping[str, Any] = {"format": "afts", "minLength": 1}
#: JSON schema of a number of documents or a percentage of all documents; `common_limit` reads it.
_LIMIT_SCHEMA = {"pattern": r"^([1-9][0-9]{0,8}|(100|[1-9][0-9]?(\.[0-9]{1,4})?|0\.[0-9]{0,3}[1-9])%)$"}
#: A share in percent; a number up to 1 is a fraction.
_Share: TypeAlias = Annotated[Percent, Bounds(gt=0, le=100)]
_Rows: TypeAlias = Annotated[int, Bounds(ge=0, le=MAX_ROWS)]
_Start: TypeAlias = Annotated[int, Bounds(ge=0, le=MAX_START)]


@dataclass(frozen=True, slots=True)
class Option:
    """Description of an option.

    Args:
        metavar: Placeholder of the value on the command line.
        names: Names that differ from the field's name, by front end.
        absent: Front ends without the option, each with the reason.
        cli_help: Help text of the command line, if its value is of another kind, such as a file.
        schema: Further keywords of the option's JSON schema, if its value is a text.
        examples: Example values for the HTTP description.
    """

    help: str
    metavar: str | None = None
    names: Mapping[FrontEnd, str] = field(default_factory=dict)
    absent: Mapping[FrontEnd, str] = field(default_factory=dict)
    cli_help: str | None = None
    short: str | None = None
    schema: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[Any, ...] = ()


def option(default: _Value, help: str, metavar: str | None = None, **more: Any) -> _Value:  # noqa: A002 - as in `Option`
    """Return a dataclass field that declares an option; see `Option`."""
    return field(default=default, metadata={"option": Option(help, metavar, **more)})


@dataclass(frozen=True, slots=True)
class OptionField:
    """An option, declared by a field of an operation; `type` excludes None and metadata."""

    name: str
    type: Any
    is_optional: bool
    default: Any
    bounds: Bounds
    option: Option

    def name_in(self, front_end: FrontEnd) -> str:
        return self.option.names.get(front_end, self.name)

    @property
    def flag(self) -> str:
        return f"--{self.name_in('cli').replace('_', '-')}"

    @property
    def is_percent(self) -> bool:
        return bool(self.type == Percent)

    @property
    def choices(self) -> tuple[str, ...]:
        """Permitted texts of the option or of its items; empty if any is permitted."""
        item = get_args(self.type)[0] if self.is_list else self.type
        return get_args(item) if get_origin(item) is Literal else ()

    @property
    def is_list(self) -> bool:
        return get_origin(self.type) is tuple


def _only(*front_ends: FrontEnd, because: str) -> Mapping[FrontEnd, str]:
    """Return all front ends except the given ones, each with the reason why it lacks the option."""
    return {front_end: because for front_end in FRONT_ENDS if front_end not in front_ends}


_FILES = _only("cli", because="takes documents, not files")
_RESULT_FILES = _only("cli", because="returns the result, and writes no files")
_SPARK = _only("cli", because="Python's SparkDuplicates is a class of its own, and the service does without Spark")
_ALL_RETURNED = _only("cli", "mcp", because="returns all of them")
_OF_A_STORE = _only("cli", "python", because="compares the documents of a store with each other")
_UNDER_ITS_SCHEME = _only("cli", "python", because="compares under the store's scheme")
_SET_UP = _only("cli", "python", because="the store is set up before it is served")


@dataclass(frozen=True, kw_only=True)
class Paging:
    """Page of the hits."""

    rows: _Rows = option(10, "Hits to show.")
    start: _Start = option(0, "Hits to skip.")


@dataclass(frozen=True, kw_only=True)
class Boilerplate:
    """Definition of common text."""

    common_above: str | None = option(
        None,
        "Text in more documents of the store than this is common: a number (50) or a share (1%). Shows shares "
        "without it too.",
        "LINE",
        schema=_LIMIT_SCHEMA,
        examples=("1%",),
    )
    boilerplate: Annotated[tuple[str, ...], Bounds(max_length=100)] = option(
        (), "Texts that are common.", "FILE", cli_help="Text in this file is common; can be given several times."
    )


@dataclass(frozen=True, kw_only=True)
class IgnorableBoilerplate(Boilerplate):
    """Definition of common text, and whether it counts."""

    ignore_common: bool = option(
        False,
        "Count only what is not common, by default with 1% as the limit.",
        cli_help="Count only what is not common, by default with --common-above 1%.",
    )


@dataclass(frozen=True, kw_only=True)
class SimilarOperation(Paging, IgnorableBoilerplate):
    """Find the documents that share content with a document or a text."""

    metric: SimilarMetric = option(
        "containment",
        "What the threshold is a share of: the source or the document found, whichever share is larger "
        "(containment), both texts together (jaccard or similarity), the source (a_in_b or contains), or the "
        "document found (b_in_a or within).",
    )
    threshold: _Share = option(10, "The smallest share of a hit, in percent; up to 1 as a fraction.", "PERCENT")
    recall: _Share = option(
        95, "How many of 100 documents just at the threshold to find, in percent; up to 1 as a fraction.", "PERCENT"
    )
    exact: bool = option(False, "Compare the whole texts of the hits shown, not their sketches.")
    filter: str | None = option(
        None, "Only documents that this query matches.", "QUERY", schema=QUERY_SCHEMA, examples=("name:lease OR rent",)
    )
    plan: Literal["calibrated", "stock"] = option(
        "calibrated",
        "stock is FINGERPRINT:ID_threshold_recall, as in Alfresco and Solr.",
        absent=_only("cli", because="a search with that FINGERPRINT has its own answer"),
    )


@dataclass(frozen=True, kw_only=True)
class ExplainOperation(Paging, IgnorableBoilerplate):
    """Explain a query without searching."""

    plan: QueryPlan = option(
        "stock", "What FINGERPRINT means: the tokens and bands of Alfresco and Solr, or what 'whorl similar' finds."
    )
    metric: SimilarMetric = option(
        "jaccard", "What the overlap of a calibrated FINGERPRINT is a share of, as for 'whorl similar'."
    )
    afts: Reading = option(
        "lenient", "How the query is read: as its author probably means it, or exactly as Alfresco reads it."
    )
    filter: str | None = option(
        None,
        "Only documents that this query matches; it does not score.",
        "QUERY",
        schema=QUERY_SCHEMA,
        examples=("name:lease OR rent",),
    )


@dataclass(frozen=True, kw_only=True)
class SearchOperation(ExplainOperation):
    """Search with a query."""

    sort: str | None = option(
        None,
        "Fields to sort by, separated by commas, each with asc (the default) or desc: 'cm:modified desc, name'. "
        "score is the score, the best first.",
        "FIELDS",
        examples=("score, name",),
    )
    collapse: bool = option(False, "Show only the best hit of each cluster that 'whorl duplicates --write-ids' wrote.")


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
    recall: _Share = option(95, "How many of 100 sources to find, in percent; up to 1 as a fraction.", "PERCENT")
    most_read: Annotated[int, Bounds(ge=1, le=10_000)] = option(5_000, "The most documents to compare the text with.")
    medium: _Share = option(10, "Share of the text in sources from which its level is medium.", "PERCENT")
    high: _Share = option(50, "Share of the text in sources from which its level is high.", "PERCENT")
    fail_on: Literal["medium", "high"] | None = option(
        None,
        "End with status 1 if the text has this level or a higher one.",
        absent=_only("cli", because="returns the level"),
    )
    timeout: Annotated[float | None, Bounds(gt=0, le=86_400)] = option(
        None, "Give up after this many seconds, with an error.", "SECONDS"
    )
    rows: _Rows = option(10, "Sources to show.", absent=_ALL_RETURNED)
    start: _Start = option(0, "Sources to skip.", absent=_ALL_RETURNED)


@dataclass(frozen=True, kw_only=True)
class VerifyOperation:
    """Check whether the quotations of a text stand in a store word for word, and where."""

    all: bool = option(False, "Check every sentence of the text, not only what it quotes.")
    min_words: Annotated[int, Bounds(ge=1, le=1_000)] = option(
        4, "Leave out quotations in the text that have fewer words; quotations that are given are all checked."
    )
    fail_on: str | None = option(
        None,
        "End with status 1 if a quotation has one of these verdicts, separated by commas.",
        "VERDICTS",
        absent=_only("cli", because="returns the verdicts"),
    )
    rows: _Rows = option(100, "Quotations to show.", absent=_ALL_RETURNED)
    start: _Start = option(0, "Quotations to skip.", absent=_ALL_RETURNED)


@dataclass(frozen=True, kw_only=True)
class CompareOperation(Boilerplate):
    """Count exactly what two texts share, and show the passages."""

    rows: _Rows = option(10, "Passages to show.", absent=_ALL_RETURNED)
    start: _Start = option(0, "Passages to skip.", absent=_ALL_RETURNED)
    scheme: str | None = option(
        None,
        "How texts are cut into shingles. Default: the store's.",
        "NAME",
        absent=_only("cli", because="compares under the store's scheme"),
    )


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Parts of files and rows that hold the documents."""

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
    threshold: _Share = option(80, "Share from which two are duplicates, in percent; up to 1 as a fraction.", "PERCENT")
    recall: _Share = option(
        95, "How many of 100 pairs just at the threshold to find, in percent; up to 1 as a fraction.", "PERCENT"
    )
    clusters: bool = option(
        True,
        "What to print.  [default: clusters]",
        names={"cli": "clusters/--pairs"},
        absent=_only("cli", because="returns clusters with their pairs"),
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
        absent=_only("cli", because="returns all of them"),
    )
    state: str | None = option(
        None,
        "Where to keep what this run learns; the next run continues there and looks only at new documents.",
        "FOLDER",
        absent=_only("cli", "python", because="compares the documents of a store, which keeps their sketches"),
    )
    new: bool = option(
        False,
        "With --state: only pairs and clusters with a new document.",
        absent=_only("cli", "python", because="has no state"),
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
        absent=_only("cli", "python", because="compares all documents of a store"),
    )
    level: Literal["document", "paragraph", "line", "passage"] = option(
        "document",
        "What is compared; --filtered then removes it from the texts. Paragraphs end at empty lines; passages are "
        "runs of words that are repeated word for word.",
        absent=_only("cli", "python", because="compares the documents of a store, not their parts"),
    )
    words: Annotated[int | None, Bounds(ge=2, le=999)] = option(
        None,
        "With --level passage: words in the shortest passage.  [default: 50]",
        "N",
        absent=_only("cli", "python", because="compares the documents of a store, not their parts"),
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
        absent=_only("cli", "python", because="the service shares its processors among requests"),
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
        256, "Documents per batch.", absent=_only("cli", "python", because="the service chooses batches by size")
    )
    again: bool = option(
        False,
        "Also index unchanged documents, for instance after a change of the schema.",
        names={"cli": "all"},
        absent=_only("cli", "python", because="a change of the schema is for an administrator"),
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
        absent=_only("cli", "python", because="a store has no codes"),
    )
    format: Literal["codes", "tsv", "json"] = option(
        "codes", "One code per line; a code, a tab and the document's id; a JSON object.", absent=_RESULT_FILES
    )


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


def options_of(operation: type[Any], front_end: FrontEnd | None = None) -> tuple[OptionField, ...]:
    """Return the options of an operation for all front ends or for one; inherited options come last."""
    declared = _declared(operation)  # type: ignore[arg-type]  # classes are hashable
    return tuple(field for field in declared if front_end is None or front_end not in field.option.absent)


def operation_of(operation: type[_Operation], options: _Operation | None, keywords: Mapping[str, Any]) -> _Operation:
    """Return an operation from an object, from keywords, or from both; keywords replace options of the object."""
    return operation(**keywords) if options is None else replace(options, **keywords)  # type: ignore[type-var]


def require_choices(operation: Any, *names: str) -> None:
    for option in options_of(type(operation)):
        value = getattr(operation, option.name)
        if option.name in names and value not in option.choices:
            raise ParameterError(f"{option.name} must be {' or '.join(option.choices)}, got {value!r:.80}")


def changed_options(operation: Any) -> Iterator[OptionField]:
    """Yield the options of an operation whose values differ from their defaults."""
    for option in options_of(type(operation)):
        value = getattr(operation, option.name)
        # The command line passes percentages as text.
        if (str(value) != str(option.default)) if option.is_percent else (value != option.default):
            yield option


@lru_cache
def _declared(operation: type[Any]) -> tuple[OptionField, ...]:
    hints = get_type_hints(operation, include_extras=True)
    # Front ends add their subjects as fields without an option.
    declared = {member.name: member for member in fields(operation) if "option" in member.metadata}
    names = dict.fromkeys(name for cls in operation.__mro__ for name in get_annotations(cls) if name in declared)
    return tuple(_option_field(declared[name], hints[name]) for name in names)


def _option_field(declared: Field[Any], hint: Any) -> OptionField:
    kind, bounds = get_args(hint) if get_origin(hint) is Annotated else (hint, Bounds())
    is_optional = get_origin(kind) in (Union, UnionType) and type(None) in get_args(kind)
    if is_optional:
        # The type of a percentage is itself a union.
        kind = Union[tuple(member for member in get_args(kind) if member is not type(None))]  # noqa: UP007
    option = declared.metadata["option"]
    return OptionField(declared.name, kind, is_optional, declared.default, bounds, option)
