"""Base models of request bodies, with options shared by several routes: the text, common passages, percentages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, create_model, field_validator, model_validator

from whorl.operations import QUERY_SCHEMA, OptionField, options_of
from whorl.search.boilerplate import CommonOptions, common_limit
from whorl.search.similar.sources import SOURCE

#: A query in whorl's query language, described in docs/afts.md.
QueryText: TypeAlias = Annotated[str, Field(json_schema_extra={**QUERY_SCHEMA}, examples=["name:lease OR rent"])]

#: A threshold or a recall, written in the same way everywhere, as in a FINGERPRINT.
Percent: TypeAlias = Annotated[float, Field(gt=0, le=100, description="In percent; a number up to 1 is a fraction.")]

#: A number of documents or a share of all, as accepted by `common_limit`.
_LIMIT = r"^([1-9][0-9]{0,8}|(100|[1-9][0-9]?(\.[0-9]{1,4})?|0\.[0-9]{0,3}[1-9])%)$"

#: Ids of the documents on a page for which details are requested.
Shown: TypeAlias = Annotated[list[str], Field(max_length=100)]

#: Example of a body.
Example: TypeAlias = dict[str, Any] | None


class Asked(BaseModel):
    """Base model: rejects unknown keys and values of the wrong JSON type."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=lambda schema, cls: _complete(schema, cls))
    #: Whether the values come from a query string, where all values are text.
    is_text: ClassVar[bool] = False
    #: Constraint on several properties together, as JSON Schema.
    rule: ClassVar[dict[str, Any]] = {}
    #: Example request, answered by a store with the contracts of examples/; None if the properties have own examples.
    example: ClassVar[Example] = None

    @field_validator("*", mode="before")
    @classmethod
    def _is_of_its_type(cls, told: Any, info: ValidationInfo) -> Any:
        # JSON tells numbers, truth values and strings apart; pydantic would convert them into each other.
        kinds = {*_types(cls.model_fields[str(info.field_name)].annotation)}
        numbers = kinds & {int, float}
        if isinstance(told, bool) and numbers and bool not in kinds:
            raise ValueError("this is a number, not true or false")
        if isinstance(told, int | float) and not isinstance(told, bool) and bool in kinds and not numbers:
            raise ValueError("this is true or false, not a number")
        if isinstance(told, str) and not cls.is_text and kinds <= {bool, int, float, type(None)}:
            raise ValueError(f"this is {'a number' if numbers else 'true or false'}, not a text")
        return told


def _complete(schema: dict[str, Any], cls: type[Asked]) -> None:
    """Add the constraints and the example of a class to its schema."""
    if cls.example is not None:
        schema["examples"] = [cls.example]
    if rules := [each.__dict__["rule"] for each in cls.__mro__ if each.__dict__.get("rule")]:
        schema["allOf"] = rules


def _types(annotation: Any) -> Iterator[Any]:
    """Yield the plain types in an annotation."""
    if get_origin(annotation) is Literal:
        yield str
    elif parts := get_args(annotation):
        for each in parts:
            yield from _types(each)
    else:
        yield annotation


_Body = TypeVar("_Body", bound=Asked)
_Operation = TypeVar("_Operation")


def body_of(operation: type[Any]) -> Callable[[type[_Body]], type[_Body]]:
    """Return a decorator that adds an operation's options to a model as properties."""

    def decorate(model: type[_Body]) -> type[_Body]:
        properties: dict[str, Any] = {each.name: _property(each) for each in options_of(operation, "http")}
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **properties
        )

    return decorate


def options_in(body: Asked, operation: type[_Operation]) -> _Operation:
    """Return an operation with the options in a body."""
    return operation(**{each.name: getattr(body, each.name) for each in options_of(operation, "http")})


def _property(declared: OptionField) -> tuple[Any, Any]:
    """Return the type and the description of an option as a property."""
    option = declared.option
    kind: Any = float if declared.is_percent else declared.type
    if option.schema:
        kind = Annotated[kind, Field(json_schema_extra={**option.schema})]
    if declared.bounds:
        kind = Annotated[(kind, *declared.bounds)]
    if declared.is_optional:
        kind |= None
    name = declared.name_in("http")
    examples = [*option.examples] or None
    alias = None if name == declared.name else name
    return kind, Field(declared.default, alias=alias, description=option.help, examples=examples)


class OneText(Asked):
    """A text: the text of a document, given by its id, or the text itself."""

    rule = {
        "oneOf": [
            {"required": ["id"], "properties": {"id": {"type": "string"}, "text": {"type": "null"}}},
            {"required": ["text"], "properties": {"text": {"type": "string"}, "id": {"type": "null"}}},
        ]
    }

    id: str | None = Field(None, examples=["lease"])
    text: str | None = Field(None, examples=["The tenant pays a rent in advance."])

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.id is None) == (self.text is None):
            raise ValueError("name one: id or text")
        return self

    @property
    def reference(self) -> str:
        """The document's id, or the placeholder for a text in the request."""
        return SOURCE if self.id is None else self.id


class CommonLimit(Asked):
    """Check of the limit above which text is common."""

    @field_validator("common_above", check_fields=False)
    @classmethod
    def _is_a_limit(cls, limit: str | None) -> str | None:
        if limit is not None:
            common_limit(limit, 1)
        return limit


class Commonness(CommonLimit):
    """Options that mark parts of texts as common; without them nothing is common."""

    #: Passages in more documents than this are common: "50", or "1%" of all.
    common_above: str | None = Field(None, json_schema_extra={"pattern": _LIMIT}, examples=["1%"])
    #: Boilerplate texts.
    boilerplate: list[str] = Field(default_factory=list, max_length=100)


class Ignoring(Commonness):
    """Options that mark parts of texts as common, and optionally ignore these parts."""

    #: Whether to ignore the common parts.
    ignore_common: bool = False

    @property
    def common_options(self) -> CommonOptions:
        """The three options as keyword arguments of a store's methods."""
        return {
            "common_above": self.common_above,
            "boilerplate": self.boilerplate,
            "ignore_common": self.ignore_common,
        }
