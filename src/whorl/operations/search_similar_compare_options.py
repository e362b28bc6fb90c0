"""Options of `search`, `explain`, `similar` and `compare`, and shared options: files, paging and common text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias, TypedDict

from whorl.fingerprint.statistics.metric import SIMILAR_METRICS, SimilarMetric, describe_metrics
from whorl.operations.option_declaration import (
    ALL_RETURNED,
    QUERY_SCHEMA,
    Bounds,
    Rows,
    Share,
    Start,
    flag,
    only,
    option,
)

#: Values of `ExplainOperation.plan` (the meaning of FINGERPRINT in a query) and `ExplainOperation.afts` (the strictness
#: of reading a query).
QueryPlan: TypeAlias = Literal["stock", "calibrated"]
Reading: TypeAlias = Literal["lenient", "strict"]
#: JSON schema of a number of documents or a percentage of all documents; `common_limit` reads it.
_LIMIT_SCHEMA = {"pattern": r"^([1-9][0-9]{0,8}|(100|[1-9][0-9]?(\.[0-9]{1,4})?|0\.[0-9]{0,3}[1-9])%)$"}

#: Front ends other than the command line, with the reason why they lack the options for files.
FILES = only("cli", because="takes documents, not files")
RESULT_FILES = only("cli", because="returns the result, and writes no files")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Options for reading documents from files: columns of rows, symbolic links, and files to leave out."""

    text_column: str | None = option(
        "The column, or key, with the texts in rows; doc.text names a nested one.  [default: text]",
        "COLUMN",
        absent=FILES,
    )
    id_column: str | None = option(
        "The column with the ids; '' for none. Rows without an id get one from file and row.  [default: id, if any]",
        "COLUMN",
        absent=FILES,
    )
    follow_links: bool = flag(
        "Follow symbolic links that lead out of the named folder, or out of the fixed part of a pattern.", absent=FILES
    )
    exclude: tuple[str, ...] = option(
        "Leave out files and folders of this name, such as '*.min.js' or node_modules, as in .gitignore: "
        "drafts/*.txt is relative to PATH, build/ is a folder. Can be given several times.",
        "PATTERN",
        default=(),
        absent=FILES,
    )


@dataclass(frozen=True, kw_only=True)
class Paging:
    """Options that select a page of hits."""

    rows: Rows = option("Hits to show.", default=10)
    start: Start = option("Hits to skip.", default=0)


@dataclass(frozen=True, kw_only=True)
class Boilerplate:
    """Options that define common text: text in many documents of the store, or given texts."""

    common_above: str | None = option(
        "Text in more documents of the store than this is common: a number (50) or a share (1%). Shows shares "
        "without it too.",
        "LINE",
        schema=_LIMIT_SCHEMA,
        examples=("1%",),
    )
    boilerplate: Annotated[tuple[str, ...], Bounds(max_length=100)] = option(
        "Texts that are common.",
        "FILE",
        default=(),
        cli_help="Text in this file is common; can be given several times.",
    )


@dataclass(frozen=True, kw_only=True)
class IgnorableBoilerplate(Boilerplate):
    """Options that define common text, and say whether it is ignored."""

    ignore_common: bool = flag(
        "Count only what is not common, by default with 1% as the limit.",
        cli_help="Count only what is not common, by default with --common-above 1%.",
    )


class CommonOptions(TypedDict, total=False):
    """Options of `IgnorableBoilerplate` as keywords: they define common text (boilerplate), and whether to ignore it.

    Args:
        common_above: Text in more documents than this is common: a number ("50") or a share of the store ("1%", but at
            least 10 documents). None for no limit.
        boilerplate: Texts whose passages are common.
        ignore_common: Ignore common text. Without a limit, text in more than 1% of the documents is common.
    """

    common_above: str | None
    boilerplate: Sequence[str]
    ignore_common: bool


@dataclass(frozen=True, kw_only=True)
class SimilarOperation(Paging, IgnorableBoilerplate):
    """Find the documents that share content with a document or a text."""

    metric: SimilarMetric = option(
        f"What the threshold is a share of: {describe_metrics(SIMILAR_METRICS, 'the source', 'the document found')}.",
        default="containment",
    )
    threshold: Share = option("The smallest share of a hit, in percent; up to 1 as a fraction.", "PERCENT", default=10)
    recall: Share = option(
        "How many of 100 documents just at the threshold to find, in percent; up to 1 as a fraction.",
        "PERCENT",
        default=95,
    )
    exact: bool = flag("Compare the whole texts of the hits shown, not their sketches.")
    filter: str | None = option(
        "Only documents that this query matches.", "QUERY", schema=QUERY_SCHEMA, examples=("name:lease OR rent",)
    )
    plan: Literal["calibrated", "stock"] = option(
        "stock is FINGERPRINT:ID_threshold_recall, as in Alfresco and Solr.",
        default="calibrated",
        absent=only("cli", because="a search with that FINGERPRINT has its own answer"),
    )


@dataclass(frozen=True, kw_only=True)
class ExplainOperation(Paging, IgnorableBoilerplate):
    """Explain a query without searching."""

    plan: QueryPlan = option(
        "What FINGERPRINT means: the tokens and bands of Alfresco and Solr, or what 'whorl similar' finds.",
        default="stock",
    )
    metric: SimilarMetric = option(
        "What the overlap of a calibrated FINGERPRINT is a share of, as for 'whorl similar'.", default="jaccard"
    )
    afts: Reading = option(
        "How the query is read: as its author probably means it, or exactly as Alfresco reads it.", default="lenient"
    )
    filter: str | None = option(
        "Only documents that this query matches; it does not score.",
        "QUERY",
        schema=QUERY_SCHEMA,
        examples=("name:lease OR rent",),
    )


@dataclass(frozen=True, kw_only=True)
class SearchOperation(ExplainOperation):
    """Search with a query."""

    sort: str | None = option(
        "Fields to sort by, separated by commas, each with asc (the default) or desc: 'cm:modified desc, name'. "
        "score is the score, the best first; @score is a field of that name.",
        "FIELDS",
        examples=("score, name",),
    )
    collapse: bool = flag("Show only the best hit of each cluster that 'whorl duplicates --write-ids' wrote.")


@dataclass(frozen=True, kw_only=True)
class CompareOperation(Boilerplate):
    """Count exactly what two texts share, and show the passages."""

    differences: bool = flag(
        "Also return the words that differ, in the order of the texts.",
        cli_help="Show the words that differ, in the order of the texts, instead of the passages; --json has both.",
        absent={"python": "find_differences() is a function of its own"},
    )
    rows: Rows = option("Passages or differences to show.", default=10, absent=ALL_RETURNED)
    start: Start = option("Passages or differences to skip.", default=0, absent=ALL_RETURNED)
    scheme: str | None = option(
        "How texts are cut into shingles. Default: the store's.",
        "NAME",
        absent=only("cli", because="compares under the store's scheme"),
    )
