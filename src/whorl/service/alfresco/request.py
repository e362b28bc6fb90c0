"""What a client of Alfresco's Search API may send: each part is used, or refused by its name."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from whorl.model import Order
from whorl.planning.options import Conventions
from whorl.query.ast import Operator

#: Facets and filters of one request; each facet query is a search of its own.
MOST_FACETS, MOST_FILTERS = 100, 100
_UTC = frozenset({"utc", "gmt", "z", "etc/utc", "etc/gmt", "universal", "zulu", "utc+0", "gmt+0", "gmt0"})


class _Part(BaseModel):
    """A part of a request; what is null is not there, and what is not known is an error."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, told: Any) -> Any:
        return {name: value for name, value in told.items() if value is not None} if isinstance(told, dict) else told


def _listed(told: Any) -> Any:
    return [told] if isinstance(told, dict | str) else told


def _folded(told: Any) -> Any:
    return told.upper() if isinstance(told, str) else told


def _afts(language: str) -> str:
    if language.lower() in ("lucene", "cmis"):
        raise ValueError(f"{language} is a language that whorl does not read; write the query in afts")
    if language.lower() != "afts":
        raise ValueError(f"the language is afts, got {language!r:.40}")
    return "afts"


def _unasked(told: Any) -> Any:
    if told in ([], {}, {"facets": []}):
        return None
    raise ValueError("whorl does not do this; leave it out")


def _unknown(told: Any) -> Any:
    raise ValueError("whorl does not do this; leave it out")


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


def _plain(query: str) -> str:
    if query.lstrip().startswith("{!"):
        raise ValueError("write the query itself, without parameters of Solr in {! }")
    return query


def _namespace(name: str) -> str:
    if not name.isidentifier():
        raise ValueError(f"a namespace is a prefix such as cm, got {name!r:.40}")
    return name


#: A part of Alfresco's that whorl does not do, where an empty one asks for nothing.
Unasked: TypeAlias = Annotated[Any, BeforeValidator(_unasked)]
#: One that asks for something even if it is empty.
Unknown: TypeAlias = Annotated[Any, BeforeValidator(_unknown)]
Text: TypeAlias = Annotated[str, Field(min_length=1)]
OperatorName: TypeAlias = Annotated[Literal["AND", "OR"], BeforeValidator(_folded)]
Include: TypeAlias = Literal["allowableOperations", "aspectNames", "isLink", "isLocked", "path", "properties"]
EntryField: TypeAlias = Literal[
    "id", "name", "nodeType", "isFolder", "isFile", "createdAt", "createdByUser", "modifiedAt", "modifiedByUser",
    "parentId", "content", "location", "search", "allowableOperations", "aspectNames", "isLink", "isLocked", "path",
    "properties",
]  # fmt: skip


class RequestQuery(_Part):
    """What is searched for; `userQuery` is what a spell checker would look at."""

    query: str
    language: Annotated[str, AfterValidator(_afts)] = "afts"
    user_query: str | None = None


class Paging(_Part):
    """Which of the hits; numbers may be text."""

    max_items: Annotated[int, Field(ge=1, le=10_000)] = 100
    skip_count: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class Sort(_Part):
    """One key to sort by; DOCUMENT is the order of the ids."""

    type: Annotated[Literal["FIELD", "DOCUMENT", "SCORE"], BeforeValidator(_folded)] = "FIELD"
    field: Text | None = None
    ascending: bool = False

    @model_validator(mode="after")
    def _has_a_field(self) -> Self:
        if (self.type == "FIELD") != (self.field is not None):
            raise ValueError("a sort of type FIELD names its field, and no other does")
        return self

    @property
    def order(self) -> Order:
        """The key as a store takes it."""
        if self.type == "FIELD":
            return Order(self.field, self.ascending)
        return Order(None if self.type == "SCORE" else "id", self.ascending)


class Template(_Part):
    """A query by name, in which `%field` takes what is searched for."""

    name: Text
    template: Text


class Defaults(_Part):
    """What a query leaves unsaid."""

    text_attributes: Annotated[list[Text], Field(max_length=20)] = []
    default_fts_operator: Annotated[OperatorName, Field(alias="defaultFTSOperator")] = "OR"
    default_fts_field_operator: Annotated[OperatorName, Field(alias="defaultFTSFieldOperator")] = "OR"
    namespace: Annotated[str, AfterValidator(_namespace)] = "cm"
    default_field_name: Text = "TEXT"


class FilterQuery(_Part):
    """One query, or several of which a hit matches any; tags would take it out of field facets, and there are none."""

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
        """The queries of which any is to match."""
        return (self.query,) if self.query is not None else tuple(self.queries)


class FacetQuery(_Part):
    """A query whose matches among the hits are counted."""

    query: Annotated[str, AfterValidator(_plain)]
    label: str = ""
    group: str | None = None

    @property
    def name(self) -> str:
        """What its count is called in the answer."""
        return self.label or self.query


class Scope(_Part):
    """Where is searched: in what is there, not in versions or among what was deleted."""

    locations: Annotated[list[str], BeforeValidator(_listed), AfterValidator(_nodes)] = ["nodes"]


class Localization(_Part):
    """Where the client is; words are the same in all languages here, and dates are in UTC."""

    timezone: Annotated[str, AfterValidator(_utc)] = "UTC"
    locales: Unasked = None


class SearchRequest(_Part):
    """The body of `POST …/search/versions/1/search`."""

    query: RequestQuery
    paging: Paging = Paging()
    include: list[Include] = []
    include_request: bool = False
    fields: list[EntryField] = []
    sort: Annotated[list[Sort], BeforeValidator(_listed), Field(max_length=10)] = []
    templates: Annotated[list[Template], Field(max_length=100)] = []
    defaults: Defaults = Defaults()
    filter_queries: Annotated[list[FilterQuery], Field(max_length=MOST_FILTERS)] = []
    facet_queries: Annotated[list[FacetQuery], Field(max_length=MOST_FACETS)] = []
    facet_format: Annotated[Literal["V1", "V2"], BeforeValidator(_folded)] = "V1"
    scope: Scope = Scope()
    localization: Localization = Localization()
    facet_fields: Unasked = None
    facet_intervals: Unasked = None
    ranges: Unasked = None
    stats: Unasked = None
    pivots: Unasked = None
    limits: Unasked = None
    highlight: Unknown = None
    spellcheck: Unknown = None

    @model_validator(mode="after")
    def _says_each_thing_once(self) -> Self:
        labels = [facet.name for facet in self.facet_queries]
        names = [template.name.lower() for template in self.templates]
        for what, said in (("facet queries of one label", labels), ("templates of one name", names)):
            twice = next((each for each in said if said.count(each) > 1), None)
            if twice is not None:
                raise ValueError(f"there are two {what}, {twice!r:.60}")
        return self

    @property
    def conventions(self) -> Conventions:
        """What the queries of this request leave unsaid."""
        defaults = self.defaults
        return Conventions(
            operator=Operator(defaults.default_fts_operator),
            field_operator=Operator(defaults.default_fts_field_operator),
            templates={template.name: template.template for template in self.templates},
            default_field=defaults.default_field_name,
            text_fields=tuple(defaults.text_attributes),
            namespace=defaults.namespace,
        )
