"""Models of facets in a request to Alfresco's Search API: queries, fields, intervals, ranges, statistics, pivots."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from whorl.service.alfresco.parts import Part, Text, Unasked, UnaskedFlag, folded, listed

#: Maximum number of facets in one request, and of values of one field.
MOST_FACETS, MOST_VALUES = 100, 10_000


def _some(limit: int) -> int:
    if limit == 0:
        raise ValueError("a limit is 1 or more, or -1 for as many as can be told")
    return limit


def _spelled(told: Any) -> Any:
    return str(told) if isinstance(told, int | float) and not isinstance(told, bool) else told


def _plain(query: str) -> str:
    if query.lstrip().startswith("{!"):
        raise ValueError("write the query itself, without parameters of Solr in {! }")
    return query


#: Bounds that may be written as a number or as text.
_Bound: TypeAlias = Annotated[str, BeforeValidator(_spelled, json_schema_input_type=str | float)]
_Step: TypeAlias = Annotated[Text, BeforeValidator(_spelled, json_schema_input_type=Text | float)]
RangeOther: TypeAlias = Literal["before", "after", "between", "none", "all"]
RangeInclude: TypeAlias = Literal["lower", "upper", "edge", "outer", "all"]


class FacetQuery(Part):
    """Count of the hits that match a query."""

    query: Annotated[str, AfterValidator(_plain)]
    label: str = ""
    group: str | None = None

    @property
    def name(self) -> str:
        """Label of its count in the response."""
        return self.label or self.query


class FacetField(Part):
    """Counts of a field's values.

    `method` and `facetEnumCacheMinDf` are accepted and ignored: each engine chooses its own method.
    """

    field: Text
    label: Text | None = None
    prefix: str = ""
    sort: Annotated[Literal["COUNT", "INDEX"], BeforeValidator(folded)] = "COUNT"
    method: Annotated[Literal["ENUM", "FC"], BeforeValidator(folded)] | None = None
    missing: bool = False
    limit: Annotated[int, Field(ge=-1, le=MOST_VALUES), AfterValidator(_some)] = 100
    offset: Annotated[int, Field(ge=0, le=MOST_VALUES)] = 0
    mincount: Annotated[int, Field(ge=1)] = 1
    facet_enum_cache_min_df: int | None = None
    exclude_filters: list[Text] = []

    @property
    def name(self) -> str:
        """Label of its counts in the response."""
        return self.label or self.field


class FacetFields(Part):
    """Fields whose values are counted."""

    facets: Annotated[list[FacetField], Field(max_length=MOST_FACETS)] = []


class IntervalSet(Part):
    """One interval; `*` leaves an end open."""

    label: Text | None = None
    start: _Bound
    end: _Bound
    start_inclusive: bool = True
    end_inclusive: bool = True


class Interval(Part):
    """Counts of a field's values by interval; without own intervals, by those of `facetIntervals`."""

    field: Text
    label: Text | None = None
    sets: Annotated[list[IntervalSet], Field(max_length=MOST_FACETS)] = []


class FacetIntervals(Part):
    """Fields whose values are counted by interval."""

    sets: Annotated[list[IntervalSet], Field(max_length=MOST_FACETS)] = []
    intervals: Annotated[list[Interval], Field(max_length=MOST_FACETS)] = []

    @model_validator(mode="after")
    def _has_sets(self) -> Self:
        bare = next((each.field for each in self.intervals if not (each.sets or self.sets)), None)
        if bare is not None:
            raise ValueError(f"the interval of {bare!r:.60} has no sets")
        return self


class FacetRange(Part):
    """Counts of a field's values by steps from `start` to `end`."""

    field: Text
    start: _Step
    end: _Step
    gap: _Step
    hardend: bool = False
    other: Annotated[list[RangeOther], BeforeValidator(listed)] = []
    include: Annotated[list[RangeInclude], BeforeValidator(listed)] = ["lower"]
    label: Text | None = None
    exclude_filters: list[Text] = []


class Stats(Part):
    """Statistics of a numeric field."""

    field: Text
    label: Text | None = None
    min: bool = True
    max: bool = True
    sum: bool = True
    count_values: bool = True
    missing: bool = True
    mean: bool = True
    stddev: bool = True
    sum_of_squares: bool = True
    distinct_values: UnaskedFlag = False
    count_distinct: UnaskedFlag = False
    cardinality: UnaskedFlag = False
    cardinality_accuracy: float | None = None
    percentiles: Unasked = None
    exclude_filters: list[Text] = []

    @property
    def name(self) -> str:
        """Label of the statistics in the response."""
        return self.label or self.field


class Pivot(Part):
    """Nested counts; a key is the label of one of the `facetFields`, or, for the innermost, of one of `stats`."""

    key: Text
    pivots: Annotated[list[Pivot], Field(max_length=1)] = []

    @property
    def keys(self) -> list[str]:
        """Own key, followed by those of the nested pivots."""
        return [self.key, *(key for each in self.pivots for key in each.keys)]
