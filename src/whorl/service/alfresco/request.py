"""Model of the body of a request to Alfresco's Search API; unsupported parts are rejected by name."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from whorl.model import Order
from whorl.operations import MAX_ROWS, MAX_START
from whorl.query.ast import Operator
from whorl.query.plan.defaults import QueryDefaults
from whorl.query.plan.fields import ALWAYS_IN_ALFRESCO
from whorl.search.highlight import Marking
from whorl.service.alfresco.facet_request import (
    MOST_FACETS,
    FacetField,
    FacetFields,
    FacetIntervals,
    FacetQuery,
    FacetRange,
    Pivot,
    Stats,
)
from whorl.service.alfresco.parts import Part, Text, Unasked, folded, listed

#: Maximum number of filters in one request.
MOST_FILTERS = 100
_UTC = frozenset({"utc", "gmt", "z", "etc/utc", "etc/gmt", "universal", "zulu", "utc+0", "gmt+0", "gmt0"})


def _afts(language: str) -> str:
    if language.lower() in ("lucene", "cmis"):
        raise ValueError(f"{language} is a language that whorl does not read; write the query in afts")
    if language.lower() != "afts":
        raise ValueError(f"the language is afts, got {language!r:.40}")
    return "afts"


def _utc(zone: str) -> str:
    if zone.lower() not in _UTC:
        raise ValueError(f"whorl reads dates in UTC only, got {zone!r:.40}")
    return zone


def _nodes(locations: list[str]) -> list[str]:
    for location in locations:
        if location not in ("nodes", "versions", "deleted-nodes"):
            raise ValueError(f"locations are nodes, versions and deleted-nodes, got {location!r:.40}")
        if location != "nodes":
            raise ValueError(f"whorl holds no {location}, only nodes")
    return locations


def _namespace(name: str) -> str:
    if not name.isidentifier():
        raise ValueError(f"a namespace is a prefix such as cm, got {name!r:.40}")
    return name


SnippetCount: TypeAlias = Annotated[int, Field(ge=1, le=100)]
FragmentSize: TypeAlias = Annotated[int, Field(ge=0, le=100_000)]
OperatorName: TypeAlias = Annotated[Literal["AND", "OR"], BeforeValidator(folded)]
Include: TypeAlias = Literal["allowableOperations", "aspectNames", "isLink", "isLocked", "path", "properties"]
EntryField: TypeAlias = Literal[
    "id", "name", "nodeType", "isFolder", "isFile", "createdAt", "createdByUser", "modifiedAt", "modifiedByUser",
    "parentId", "content", "location", "search", "allowableOperations", "aspectNames", "isLink", "isLocked", "path",
    "properties",
]  # fmt: skip


class RequestQuery(Part):
    """The query; `userQuery` is the text for the spell checker."""

    query: str
    language: Annotated[str, AfterValidator(_afts)] = "afts"
    user_query: str | None = None


class Paging(Part):
    """Section of the hits to return; numbers may be text."""

    max_items: Annotated[int, Field(ge=1, le=MAX_ROWS)] = 100
    skip_count: Annotated[int, Field(ge=0, le=MAX_START)] = 0


class Sort(Part):
    """One sort key; DOCUMENT is the order of the ids."""

    type: Annotated[Literal["FIELD", "DOCUMENT", "SCORE"], BeforeValidator(folded)] = "FIELD"
    field: Text | None = None
    ascending: bool = False

    @model_validator(mode="after")
    def _has_a_field(self) -> Self:
        if self.type == "FIELD" and self.field is None:
            raise ValueError("a sort of type FIELD names its field")
        # The type already says it, but Alfresco's own pages also name "score" as the field.
        if self.type == "SCORE" and self.field not in (None, "score"):
            raise ValueError(f"a sort of type SCORE has no field but score, got {self.field!r:.60}")
        if self.type == "DOCUMENT" and self.field is not None:
            raise ValueError("a sort of type DOCUMENT has no field")
        return self

    @property
    def order(self) -> Order:
        """The sort key in the store's terms."""
        if self.type == "FIELD":
            return Order(self.field, self.ascending)
        return Order(None if self.type == "SCORE" else "id", self.ascending)


class QueryTemplate(Part):
    """A named query with the placeholder `%field` for the searched words."""

    name: Text
    template: Text


class Defaults(Part):
    """Defaults of a query: fields, operators and namespace."""

    text_attributes: Annotated[list[Text], Field(max_length=20)] = []
    default_fts_operator: Annotated[OperatorName, Field(alias="defaultFTSOperator")] = "OR"
    default_fts_field_operator: Annotated[OperatorName, Field(alias="defaultFTSFieldOperator")] = "OR"
    namespace: Annotated[str, AfterValidator(_namespace)] = "cm"
    default_field_name: Text = "TEXT"


class FilterQuery(Part):
    """One query, or several alternatives; facets may exclude the filter by its tags."""

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
        """The alternative queries; a hit must match one of them."""
        return (self.query,) if self.query is not None else tuple(self.queries)


class HighlightField(Part):
    """A field whose matching words are marked; options that are not set come from `highlight`."""

    field: Text
    snippet_count: SnippetCount | None = None
    fragment_size: FragmentSize | None = None
    merge_contiguous: bool | None = None
    prefix: str | None = None
    postfix: str | None = None


class Highlight(Part):
    """How the words of the query are marked in the hits."""

    prefix: str = "<em>"
    postfix: str = "</em>"
    snippet_count: SnippetCount = 1
    fragment_size: FragmentSize = 100
    max_analyzed_chars: Annotated[int, Field(ge=1, le=1_000_000)] = 51_200
    merge_contiguous: bool = False
    use_phrase_highlighter: bool = True
    fields: Annotated[list[HighlightField], Field(max_length=20)] = []


class Spellcheck(Part):
    """A text whose words may be misspelt; without one, `userQuery` is checked."""

    query: Text | None = None


class Scope(Part):
    """Locations to search; only the current nodes, not versions or deleted nodes."""

    locations: Annotated[list[str], BeforeValidator(listed), AfterValidator(_nodes)] = ["nodes"]


class Localization(Part):
    """The client's locale; words are split in the same way for all languages, and dates are in UTC."""

    timezone: Annotated[str, AfterValidator(_utc)] = "UTC"
    locales: Unasked = None


class SearchRequest(Part):
    """The body of `POST …/search/versions/1/search`."""

    example: ClassVar[dict[str, Any] | None] = {
        "query": {"query": "FINGERPRINT:lease_20 AND TYPE:'cm:content'"},
        "paging": {"maxItems": 10, "skipCount": 0},
        "include": ["properties"],
        "facetFields": {"facets": [{"field": "creator", "label": "Creator"}]},
    }

    query: RequestQuery
    paging: Paging = Paging()
    include: list[Include] = []
    include_request: bool = False
    fields: list[EntryField] = []
    sort: Annotated[list[Sort], BeforeValidator(listed), Field(max_length=10)] = []
    templates: Annotated[list[QueryTemplate], Field(max_length=100)] = []
    defaults: Defaults = Defaults()
    filter_queries: Annotated[list[FilterQuery], Field(max_length=MOST_FILTERS)] = []
    facet_queries: Annotated[list[FacetQuery], Field(max_length=MOST_FACETS)] = []
    facet_format: Annotated[Literal["V1", "V2"], BeforeValidator(folded)] = "V1"
    scope: Scope = Scope()
    localization: Localization = Localization()
    facet_fields: FacetFields = FacetFields()
    facet_intervals: FacetIntervals = FacetIntervals()
    ranges: Annotated[list[FacetRange], BeforeValidator(listed), Field(max_length=MOST_FACETS)] = []
    stats: Annotated[list[Stats], BeforeValidator(listed), Field(max_length=MOST_FACETS)] = []
    pivots: Annotated[list[Pivot], Field(max_length=MOST_FACETS)] = []
    limits: Unasked = None
    highlight: Highlight | None = None
    spellcheck: Spellcheck | None = None

    @model_validator(mode="after")
    def _says_each_thing_once(self) -> Self:
        labels = [facet.name for facet in self.facet_queries]
        names = [template.name.lower() for template in self.templates]
        fields, stats = ([each.name for each in some] for some in (self.facet_fields.facets, self.stats))
        for what, said in (
            ("facet queries of one label", labels),
            ("templates of one name", names),
            ("facet fields of one label", fields),
            ("stats of one label", stats),
        ):
            twice = next((each for each in said if said.count(each) > 1), None)
            if twice is not None:
                raise ValueError(f"there are two {what}, {twice!r:.60}")
        return self

    @model_validator(mode="after")
    def _names_what_is_there(self) -> Self:
        tags = {tag for each in self.filter_queries for tag in each.tags}
        facets: list[FacetField | FacetRange | Stats] = [*self.facet_fields.facets, *self.ranges, *self.stats]
        strange = next((tag for each in facets for tag in each.exclude_filters if tag not in tags), None)
        if strange is not None:
            raise ValueError(f"no filter has the tag {strange!r:.60} that excludeFilters names")
        fields, stats = {each.name for each in self.facet_fields.facets}, {each.name for each in self.stats}
        for *outer, last in (pivot.keys for pivot in self.pivots):
            if missing := next((key for key in [*outer, last] if key not in fields and key not in stats), None):
                raise ValueError(f"a pivot's key is the label of a facet field or of stats, got {missing!r:.60}")
            if any(key not in fields for key in outer) or (not outer and last not in fields):
                raise ValueError("stats stand innermost in pivots, within a facet field")
        if self.spellcheck is not None and not (self.spellcheck.query or self.query.user_query):
            raise ValueError("spellcheck needs a query, or query.userQuery")
        return self

    @property
    def query_defaults(self) -> QueryDefaults:
        """Defaults for the queries of this request."""
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


def markings(asked: Highlight) -> dict[str, Marking]:
    """Return each field's highlighting options; the default fields are cm:name and cm:content."""

    def marking(field: HighlightField) -> Marking:
        own = {name: getattr(field, name) for name in HighlightField.model_fields}
        said = {name: getattr(asked, name) if own.get(name) is None else own[name] for name in Highlight.model_fields}
        return Marking(
            said["prefix"],
            said["postfix"],
            said["snippet_count"],
            said["fragment_size"],
            said["merge_contiguous"],
            said["max_analyzed_chars"],
            said["use_phrase_highlighter"],
        )

    fields = asked.fields or [HighlightField(field=name) for name in ("cm:name", "cm:content")]
    return {each.field: marking(each) for each in fields}
