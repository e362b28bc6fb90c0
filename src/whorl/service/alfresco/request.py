"""Request models of Alfresco's Search API: queries, facets, highlighting. Unsupported features are refused."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)
from pydantic.alias_generators import to_camel

from whorl.model import Order
from whorl.operations import MAX_ROWS, MAX_START
from whorl.query.ast import Operator
from whorl.query.plan.fields_and_values import ALWAYS_IN_ALFRESCO
from whorl.query.plan.planner import QueryDefaults
from whorl.search.highlighting import Marking
from whorl.service.requests_and_responses import TypedModel


class AlfrescoModel(TypedModel):
    """Base model of a request: ignores null values, and refuses unknown keys."""

    model_config = ConfigDict(
        extra="forbid",
        alias_generator=to_camel,
        frozen=True,
        json_schema_extra=lambda schema, cls: _complete(schema, cls),
    )
    # Alfresco accepts a number written as text.
    is_text = True

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: Any) -> Any:
        is_object = isinstance(values, dict)
        return {name: value for name, value in values.items() if value is not None} if is_object else values


def _complete(schema: dict[str, Any], cls: type[AlfrescoModel]) -> None:
    required, null = schema.get("required", ()), {"type": "null"}
    schema["properties"] = {
        name: part if name in required or null in part.get("anyOf", ()) else {"anyOf": [part, null]}
        for name, part in schema["properties"].items()
    }
    if cls.example is not None:
        schema["examples"] = [cls.example]


def wrap_in_list(value: Any) -> Any:
    return [value] if isinstance(value, dict | str) else value


def to_upper_case(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _require_empty(value: Any) -> Any:
    if value in ([], {}, {"facets": []}):
        return None
    raise ValueError("whorl does not do this; leave it out")


def _require(is_valid: Callable[[Any], bool], message: str) -> AfterValidator:
    """Return a validator that refuses a value if `is_valid` is false; `{!r}` in the message stands for the value."""

    def check(value: Any) -> Any:
        if not is_valid(value):
            raise ValueError(message.format(value))
        return value

    return AfterValidator(check)


#: An option of Alfresco that whorl does not support. Only an empty value is accepted.
UnsupportedKey: TypeAlias = Annotated[Any, BeforeValidator(_require_empty)]
#: A flag of Alfresco that whorl does not support; only false is accepted.
UnsupportedFlag: TypeAlias = Annotated[bool, _require(operator.not_, "whorl does not do this; leave it out")]
Text: TypeAlias = Annotated[str, Field(min_length=1)]


#: Maximum number of facets in one request, and of values of one field.
MOST_FACETS, MOST_VALUES = 100, 10_000
_NONZERO = _require(bool, "a limit is 1 or more, or -1 for as many as can be told")


def _number_to_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


_PlainQuery: TypeAlias = Annotated[
    str,
    _require(
        lambda query: not query.lstrip().startswith("{!"),
        "write the query itself, without parameters of Solr in {{! }}",
    ),
]
#: Bounds of a range, written as a number or as text.
_Bound: TypeAlias = Annotated[str, BeforeValidator(_number_to_text, json_schema_input_type=str | float)]
_Step: TypeAlias = Annotated[Text, BeforeValidator(_number_to_text, json_schema_input_type=Text | float)]
RangeOther: TypeAlias = Literal["before", "after", "between", "none", "all"]
RangeInclude: TypeAlias = Literal["lower", "upper", "edge", "outer", "all"]


class FacetQuery(AlfrescoModel):
    """Count of the hits that match a query."""

    query: _PlainQuery
    label: str = ""
    group: str | None = None

    @property
    def name(self) -> str:
        return self.label or self.query


class NamedFacet(AlfrescoModel):
    """Facet of a field. The name of the facet is its label, or else the field."""

    field: Text
    label: Text | None = None

    @property
    def name(self) -> str:
        return self.label or self.field


class FacetField(NamedFacet):
    """Counts of a field's values.

    `method` and `facetEnumCacheMinDf` are accepted and ignored: each engine chooses its own method.
    """

    prefix: str = ""
    sort: Annotated[Literal["COUNT", "INDEX"], BeforeValidator(to_upper_case)] = "COUNT"
    method: Annotated[Literal["ENUM", "FC"], BeforeValidator(to_upper_case)] | None = None
    missing: bool = False
    limit: Annotated[int, Field(ge=-1, le=MOST_VALUES), _NONZERO] = 100
    offset: Annotated[int, Field(ge=0, le=MOST_VALUES)] = 0
    mincount: Annotated[int, Field(ge=1, le=2**31 - 1)] = 1
    facet_enum_cache_min_df: int | None = None
    exclude_filters: list[Text] = []


class FacetFields(AlfrescoModel):
    """Fields whose values are counted."""

    facets: Annotated[list[FacetField], Field(max_length=MOST_FACETS)] = []


class IntervalSet(AlfrescoModel):
    """An interval of values. The bound `*` leaves the interval open at that end."""

    label: Text | None = None
    start: _Bound
    end: _Bound
    start_inclusive: bool = True
    end_inclusive: bool = True


class Interval(NamedFacet):
    """Counts of a field's values by interval. A field without intervals of its own uses `facetIntervals.sets`."""

    sets: Annotated[list[IntervalSet], Field(max_length=MOST_FACETS)] = []


class FacetIntervals(AlfrescoModel):
    """Fields whose values are counted by interval."""

    sets: Annotated[list[IntervalSet], Field(max_length=MOST_FACETS)] = []
    intervals: Annotated[list[Interval], Field(max_length=MOST_FACETS)] = []

    @model_validator(mode="after")
    def _has_sets(self) -> Self:
        bare = next((interval.field for interval in self.intervals if not (interval.sets or self.sets)), None)
        if bare is not None:
            raise ValueError(f"the interval of {bare!r:.60} has no sets")
        return self


class FacetRange(NamedFacet):
    """Counts of a field's values by steps from `start` to `end`."""

    start: _Step
    end: _Step
    gap: _Step
    hardend: bool = False
    other: Annotated[list[RangeOther], BeforeValidator(wrap_in_list)] = []
    include: Annotated[list[RangeInclude], BeforeValidator(wrap_in_list)] = ["lower"]
    exclude_filters: list[Text] = []


class Stats(NamedFacet):
    """Statistics of a numeric field."""

    min: bool = True
    max: bool = True
    sum: bool = True
    count_values: bool = True
    missing: bool = True
    mean: bool = True
    stddev: bool = True
    sum_of_squares: bool = True
    distinct_values: UnsupportedFlag = False
    count_distinct: UnsupportedFlag = False
    cardinality: UnsupportedFlag = False
    cardinality_accuracy: float | None = None
    percentiles: UnsupportedKey = None
    exclude_filters: list[Text] = []


class Pivot(AlfrescoModel):
    """Nested counts. Each key is the label of a facet field; the last key may instead be the label of statistics."""

    key: Text
    pivots: Annotated[list[Pivot], Field(max_length=1)] = []

    @property
    def keys(self) -> list[str]:
        return [self.key, *(key for pivot in self.pivots for key in pivot.keys)]


MOST_FILTERS = 100
_UTC = frozenset({"utc", "gmt", "z", "etc/utc", "etc/gmt", "universal", "zulu", "utc+0", "gmt+0", "gmt0"})


def _require_afts(language: str) -> str:
    if language.lower() in ("lucene", "cmis"):
        raise ValueError(f"{language} is a language that whorl does not read; write the query in afts")
    if language.lower() != "afts":
        raise ValueError(f"the language is afts, got {language!r:.40}")
    return "afts"


def _require_nodes(locations: list[str]) -> list[str]:
    for location in locations:
        if location not in ("nodes", "versions", "deleted-nodes"):
            raise ValueError(f"locations are nodes, versions and deleted-nodes, got {location!r:.40}")
        if location != "nodes":
            raise ValueError(f"whorl holds no {location}, only nodes")
    return locations


SnippetCount: TypeAlias = Annotated[int, Field(ge=1, le=100)]
FragmentSize: TypeAlias = Annotated[int, Field(ge=0, le=100_000)]
OperatorName: TypeAlias = Annotated[Literal["AND", "OR"], BeforeValidator(to_upper_case)]
Include: TypeAlias = Literal["allowableOperations", "aspectNames", "isLink", "isLocked", "path", "properties"]
NodeBasic: TypeAlias = Literal[
    "id", "name", "nodeType", "isFolder", "isFile", "createdAt", "createdByUser", "modifiedAt", "modifiedByUser",
    "parentId", "content", "location",
]  # fmt: skip
EntryField: TypeAlias = Literal[NodeBasic, "search", Include]


class RequestQuery(AlfrescoModel):
    """The query. `userQuery` is the text for the spell checker."""

    query: str
    language: Annotated[str, AfterValidator(_require_afts)] = "afts"
    user_query: str | None = None


class RequestPagination(AlfrescoModel):
    """Range of the hits to return. The numbers may also be sent as strings, such as "10"."""

    max_items: Annotated[int, Field(ge=1, le=MAX_ROWS)] = 100
    skip_count: Annotated[int, Field(ge=0, le=MAX_START)] = 0


class Sort(AlfrescoModel):
    """One sort key. DOCUMENT is the order of the ids."""

    type: Annotated[Literal["FIELD", "DOCUMENT", "SCORE"], BeforeValidator(to_upper_case)] = "FIELD"
    field: Text | None = None
    ascending: bool = False

    @model_validator(mode="after")
    def _has_a_field(self) -> Self:
        if self.type == "FIELD" and self.field is None:
            raise ValueError("a sort of type FIELD names its field")
        # Alfresco's own pages send the field "score" with this type, so accept it.
        if self.type == "SCORE" and self.field not in (None, "score"):
            raise ValueError(f"a sort of type SCORE has no field but score, got {self.field!r:.60}")
        if self.type == "DOCUMENT" and self.field is not None:
            raise ValueError("a sort of type DOCUMENT has no field")
        return self

    @property
    def order(self) -> Order:
        if self.type == "FIELD":
            return Order(self.field, self.ascending)
        return Order(None if self.type == "SCORE" else "id", self.ascending)


class QueryTemplate(AlfrescoModel):
    """A named query with the placeholder `%field` for the searched words."""

    name: Text
    template: Text


class Defaults(AlfrescoModel):
    """Defaults of a query: fields, operators and namespace."""

    text_attributes: Annotated[list[Text], Field(max_length=20)] = []
    default_fts_operator: Annotated[OperatorName, Field(alias="defaultFTSOperator")] = "OR"
    default_fts_field_operator: Annotated[OperatorName, Field(alias="defaultFTSFieldOperator")] = "OR"
    namespace: Annotated[str, _require(str.isidentifier, "a namespace is a prefix such as cm, got {!r:.40}")] = "cm"
    default_field_name: Text = "TEXT"


class FilterQuery(AlfrescoModel):
    """One query, or several alternatives. Facets may exclude the filter by its tags."""

    query: str | None = None
    queries: Annotated[list[str], Field(max_length=MOST_FILTERS)] = []
    tags: list[str] = []

    @model_validator(mode="after")
    def _has_a_query(self) -> Self:
        if (self.query is None) == (not self.queries):
            raise ValueError("a filter has either query or queries")
        return self

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Return the queries; a hit must match one of them."""
        return (self.query,) if self.query is not None else tuple(self.queries)


class HighlightField(AlfrescoModel):
    """A field whose matching words are marked. Options that are not set come from `highlight`."""

    field: Text
    snippet_count: SnippetCount | None = None
    fragment_size: FragmentSize | None = None
    merge_contiguous: bool | None = None
    prefix: str | None = None
    postfix: str | None = None


class Highlight(AlfrescoModel):
    """Options for marking the words of the query in the hits."""

    prefix: str = "<em>"
    postfix: str = "</em>"
    snippet_count: SnippetCount = 1
    fragment_size: FragmentSize = 100
    max_analyzed_chars: Annotated[int, Field(ge=1, le=1_000_000)] = 51_200
    merge_contiguous: bool = False
    use_phrase_highlighter: bool = True
    fields: Annotated[list[HighlightField], Field(max_length=20)] = []


class Spellcheck(AlfrescoModel):
    """Text for the spell checker. The default is `userQuery`."""

    query: Text | None = None


class Scope(AlfrescoModel):
    """Locations to search. whorl searches only current nodes, neither versions nor deleted nodes."""

    locations: Annotated[list[str], BeforeValidator(wrap_in_list), AfterValidator(_require_nodes)] = ["nodes"]


class Localization(AlfrescoModel):
    """The client's locale.

    It has no effect: words are split in the same way for all languages, and dates are in UTC.
    """

    timezone: Annotated[
        str, _require(lambda zone: zone.lower() in _UTC, "whorl reads dates in UTC only, got {!r:.40}")
    ] = "UTC"
    locales: UnsupportedKey = None


class SearchRequest(AlfrescoModel):
    """The body of `POST …/search/versions/1/search`."""

    example: ClassVar[dict[str, Any] | None] = {
        "query": {"query": "FINGERPRINT:lease_20 AND TYPE:'cm:content'"},
        "paging": {"maxItems": 10, "skipCount": 0},
        "include": ["properties"],
        "facetFields": {"facets": [{"field": "creator", "label": "Creator"}]},
    }

    query: RequestQuery
    paging: RequestPagination = RequestPagination()
    include: list[Include] = []
    include_request: bool = False
    fields: list[EntryField] = []
    sort: Annotated[list[Sort], BeforeValidator(wrap_in_list), Field(max_length=10)] = []
    templates: Annotated[list[QueryTemplate], Field(max_length=100)] = []
    defaults: Defaults = Defaults()
    filter_queries: Annotated[list[FilterQuery], Field(max_length=MOST_FILTERS)] = []
    facet_queries: Annotated[list[FacetQuery], Field(max_length=MOST_FACETS)] = []
    facet_format: Annotated[Literal["V1", "V2"], BeforeValidator(to_upper_case)] = "V1"
    scope: Scope = Scope()
    localization: Localization = Localization()
    facet_fields: FacetFields = FacetFields()
    facet_intervals: FacetIntervals = FacetIntervals()
    ranges: Annotated[list[FacetRange], BeforeValidator(wrap_in_list), Field(max_length=MOST_FACETS)] = []
    stats: Annotated[list[Stats], BeforeValidator(wrap_in_list), Field(max_length=MOST_FACETS)] = []
    pivots: Annotated[list[Pivot], Field(max_length=MOST_FACETS)] = []
    limits: UnsupportedKey = None
    highlight: Highlight | None = None
    spellcheck: Spellcheck | None = None

    @model_validator(mode="after")
    def _labels_are_unique(self) -> Self:
        for kind, names in (
            ("facet queries of one label", [facet.name for facet in self.facet_queries]),
            ("templates of one name", [template.name.lower() for template in self.templates]),
            ("facet fields of one label", [facet.name for facet in self.facet_fields.facets]),
            ("stats of one label", [stats.name for stats in self.stats]),
        ):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"there are two {kind}, {twice!r:.60}")
        return self

    @model_validator(mode="after")
    def _references_exist(self) -> Self:
        tags = {tag for filter_query in self.filter_queries for tag in filter_query.tags}
        facets: list[FacetField | FacetRange | Stats] = [*self.facet_fields.facets, *self.ranges, *self.stats]
        unknown = next((tag for facet in facets for tag in facet.exclude_filters if tag not in tags), None)
        if unknown is not None:
            raise ValueError(f"no filter has the tag {unknown!r:.60} that excludeFilters names")
        fields, stats = {facet.name for facet in self.facet_fields.facets}, {facet.name for facet in self.stats}
        for *outer, last in (pivot.keys for pivot in self.pivots):
            if missing := next((key for key in [*outer, last] if key not in fields and key not in stats), None):
                raise ValueError(f"a pivot's key is the label of a facet field or of stats, got {missing!r:.60}")
            if any(key not in fields for key in outer) or (not outer and last not in fields):
                raise ValueError("stats must be innermost in pivots, within a facet field")
        if self.spellcheck is not None and not (self.spellcheck.query or self.query.user_query):
            raise ValueError("spellcheck needs a query, or query.userQuery")
        return self

    @property
    def query_defaults(self) -> QueryDefaults:
        defaults = self.defaults
        return QueryDefaults(
            default_operator=Operator(defaults.default_fts_operator),
            field_operator=Operator(defaults.default_fts_field_operator),
            templates={template.name: template.template for template in self.templates},
            default_field=defaults.default_field_name,
            text_fields=tuple(defaults.text_attributes),
            namespace=defaults.namespace,
            empty_fields=ALWAYS_IN_ALFRESCO,
        )


def markings(highlight: Highlight) -> dict[str, Marking]:
    """Return the highlighting options by the name of the field; without a field, those of cm:name and cm:content."""

    def marking(field: HighlightField) -> Marking:
        own = highlight.model_copy(update=field.model_dump(exclude={"field"}, exclude_none=True))
        return Marking(**own.model_dump(exclude={"fields"}))

    fields = highlight.fields or [HighlightField(field=name) for name in ("cm:name", "cm:content")]
    return {field.field: marking(field) for field in fields}
