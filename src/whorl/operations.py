"""Declarations of a store's operations; every front end derives its options from them.

A field is an option: its type with bounds, its default, its help text, and where a front end needs it another name or
the reason why the front end has no such option. The command line derives flags (`cli/options.py`), HTTP request bodies
(`service/routes/asked.py`), MCP tool parameters (`mcp.py`). The subject of an operation (a query, documents, texts,
files) is declared by each front end, because it takes a different form in each: an argument, a file, a JSON object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from inspect import get_annotations
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from annotated_types import BaseMetadata, Ge, Gt, Le, MaxLen

from whorl.fingerprint.statistics.metric import Percent

#: The ways to call an operation.
FrontEnd: TypeAlias = Literal["cli", "http", "mcp", "python"]
FRONT_ENDS: tuple[FrontEnd, ...] = get_args(FrontEnd)
#: Metrics of a search for a single source.
SimilarMetric: TypeAlias = Literal["jaccard", "a_in_b", "b_in_a", "similarity", "contains", "within"]
#: Upper bounds for the hits on a page and before it: engines sort all of these.
MAX_ROWS, MAX_START = 10_000, 1_000_000

#: JSON schema of a query in whorl's query language, described in docs/afts.md.
QUERY_SCHEMA: Mapping[str, Any] = {"format": "afts", "minLength": 1}
#: JSON schema of a number of documents or a share of all, as `common_limit` reads it.
_LIMIT_SCHEMA = {"pattern": r"^([1-9][0-9]{0,8}|(100|[1-9][0-9]?(\.[0-9]{1,4})?|0\.[0-9]{0,3}[1-9])%)$"}
_PERCENT = (Gt(0), Le(100))


@dataclass(frozen=True, slots=True)
class Option:
    """Description of an option.

    Args:
        help: Help text for all front ends.
        metavar: Placeholder of the value on the command line.
        names: Names that differ from the field's, by front end.
        absent: Front ends without the option, each with the reason.
        cli_help: Help text of the command line, if it takes another kind of value, such as a file.
        schema: Further keywords of the JSON schema of a text.
        examples: Example values for the HTTP description.
    """

    help: str
    metavar: str | None = None
    names: Mapping[FrontEnd, str] = field(default_factory=dict)
    absent: Mapping[FrontEnd, str] = field(default_factory=dict)
    cli_help: str | None = None
    schema: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class OptionField:
    """An option as declared by a field of an operation.

    Args:
        name: Name of the field.
        type: Type of the value, without None and without metadata.
        is_optional: Whether the value may be None.
        default: Default value.
        bounds: Bounds of the value.
        option: Description.
    """

    name: str
    type: Any
    is_optional: bool
    default: Any
    bounds: tuple[BaseMetadata, ...]
    option: Option

    def name_in(self, front_end: FrontEnd) -> str:
        """Return the name in a front end."""
        return self.option.names.get(front_end, self.name)

    @property
    def is_percent(self) -> bool:
        """Whether the value is a percentage."""
        return bool(self.type == Percent)

    @property
    def choices(self) -> tuple[str, ...]:
        """The permitted texts, or of a list's items; empty if any text is permitted."""
        item = get_args(self.type)[0] if self.is_list else self.type
        return get_args(item) if get_origin(item) is Literal else ()

    @property
    def is_list(self) -> bool:
        """Whether the option can be given several times."""
        return get_origin(self.type) is tuple

    @property
    def limits(self) -> tuple[Any, Any]:
        """Smallest and largest value of a number; None without a limit."""
        low = next((each.ge for each in self.bounds if isinstance(each, Ge)), None)
        return low, next((each.le for each in self.bounds if isinstance(each, Le)), None)

    @property
    def max_length(self) -> int | None:
        """Largest number of values of a list."""
        return next((each.max_length for each in self.bounds if isinstance(each, MaxLen)), None)


@dataclass(frozen=True, kw_only=True)
class Paging:
    """Page of the hits."""

    rows: Annotated[int, Ge(0), Le(MAX_ROWS), Option("Hits to show.")] = 10
    start: Annotated[int, Ge(0), Le(MAX_START), Option("Hits to skip.")] = 0


@dataclass(frozen=True, kw_only=True)
class Boilerplate:
    """Definition of common text."""

    common_above: Annotated[
        str | None,
        Option(
            "Text in more documents of the store than this is common: a number (50) or a share (1%). Shows shares "
            "without it too.",
            "LINE",
            schema=_LIMIT_SCHEMA,
            examples=("1%",),
        ),
    ] = None
    boilerplate: Annotated[
        tuple[str, ...],
        MaxLen(100),
        Option("Texts that are common.", "FILE", cli_help="Text in this file is common; can be given several times."),
    ] = ()


@dataclass(frozen=True, kw_only=True)
class IgnorableBoilerplate(Boilerplate):
    """Definition of common text, and whether it counts."""

    ignore_common: Annotated[
        bool,
        Option(
            "Count only what is not common, by default with 1% as the limit.",
            cli_help="Count only what is not common, by default with --common-above 1%.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class SimilarOperation(Paging, IgnorableBoilerplate):
    """Find the documents that share content with a document or a text."""

    metric: Annotated[
        SimilarMetric,
        Option(
            "What the threshold is a share of: both texts together (jaccard or similarity), the source (a_in_b or "
            "contains), or the document found (b_in_a or within)."
        ),
    ] = "jaccard"
    threshold: Annotated[
        Percent,
        *_PERCENT,
        Option("The smallest share of a hit, in percent; up to 1 as a fraction.", "PERCENT"),
    ] = 20
    recall: Annotated[
        Percent,
        *_PERCENT,
        Option(
            "How many of 100 documents just at the threshold to find, in percent; up to 1 as a fraction.",
            "PERCENT",
        ),
    ] = 95
    exact: Annotated[bool, Option("Compare the whole texts of the hits shown, not their sketches.")] = False
    filter: Annotated[
        str | None,
        Option(
            "Only documents that this query matches.",
            "QUERY",
            names={"python": "only"},
            schema=QUERY_SCHEMA,
            examples=("name:lease OR rent",),
        ),
    ] = None
    plan: Annotated[
        Literal["calibrated", "stock"],
        Option(
            "stock is FINGERPRINT:ID_threshold_recall, as in Alfresco and Solr.",
            absent=dict.fromkeys(("http", "mcp", "python"), "a search with that FINGERPRINT has its own answer"),
        ),
    ] = "calibrated"


@dataclass(frozen=True, kw_only=True)
class SearchOperation(Paging, IgnorableBoilerplate):
    """Search with a query."""

    plan: Annotated[
        Literal["stock", "calibrated"],
        Option(
            "What FINGERPRINT means: the tokens and bands of Alfresco and Solr, or what 'whorl similar' finds.",
            names={"python": "calibrated"},
        ),
    ] = "stock"
    metric: Annotated[
        SimilarMetric, Option("What the overlap of a calibrated FINGERPRINT is a share of, as for 'whorl similar'.")
    ] = "jaccard"
    afts: Annotated[
        Literal["lenient", "strict"],
        Option(
            "How the query is read: as its author probably means it, or exactly as Alfresco reads it.",
            names={"python": "defaults"},
        ),
    ] = "lenient"
    filter: Annotated[
        str | None,
        Option(
            "Only documents that this query matches; it does not score.",
            "QUERY",
            names={"python": "filters"},
            schema=QUERY_SCHEMA,
            examples=("name:lease OR rent",),
        ),
    ] = None
    sort: Annotated[
        str | None,
        Option(
            "Fields to sort by, separated by commas, each with asc (the default) or desc: 'cm:modified desc, name'. "
            "score is the score, the best first.",
            "FIELDS",
            names={"python": "order"},
            examples=("score, name",),
        ),
    ] = None
    collapse: Annotated[
        bool,
        Option(
            "Show only the best hit of each cluster that 'whorl duplicates --write-ids' wrote.",
            names={"python": "collapsed"},
        ),
    ] = False


OPERATIONS: tuple[type[Any], ...] = (SimilarOperation, SearchOperation)


def options_of(operation: type[Any], front_end: FrontEnd | None = None) -> tuple[OptionField, ...]:
    """Return the options of an operation, its own before the shared ones.

    Args:
        operation: The operation.
        front_end: Only the options of this front end.
    """
    declared = _declared(operation)  # type: ignore[arg-type]  # classes are hashable
    return tuple(each for each in declared if front_end is None or front_end not in each.option.absent)


@lru_cache
def _declared(operation: type[Any]) -> tuple[OptionField, ...]:
    hints = get_type_hints(operation, include_extras=True)
    defaults = {each.name: each.default for each in fields(operation)}
    names = [name for cls in operation.__mro__ for name in get_annotations(cls)]
    return tuple(_option_field(name, hints[name], defaults[name]) for name in names)


def _option_field(name: str, hint: Any, default: Any) -> OptionField:
    kind, *metadata = get_args(hint)
    (option,) = (each for each in metadata if isinstance(each, Option))
    bounds = tuple(each for each in metadata if isinstance(each, BaseMetadata))
    is_optional = get_origin(kind) in (Union, UnionType) and type(None) in get_args(kind)
    if is_optional:
        (kind,) = (each for each in get_args(kind) if each is not type(None))
    return OptionField(name, kind, is_optional, default, bounds, option)
