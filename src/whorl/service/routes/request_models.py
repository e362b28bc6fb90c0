"""Base models of request bodies below /api/v1, and models made from the options of an operation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Self, TypeAlias, TypeVar

from pydantic import ConfigDict, Field, create_model, field_validator, model_validator

from whorl.errors import shorten_repr
from whorl.operations import QUERY_SCHEMA, OptionField, options_of
from whorl.search.boilerplate import common_limit
from whorl.service.requests_and_responses import TypedModel

#: A query in whorl's query language, described in docs/afts.md.
QueryText: TypeAlias = Annotated[str, Field(json_schema_extra={**QUERY_SCHEMA}, examples=["name:lease OR rent"])]

#: Ids of hits for which a client requests details, for example all hits on a page.
ShownIds: TypeAlias = Annotated[list[str], Field(max_length=100)]


class RequestBody(TypedModel):
    """Base model of the routes below /api/v1, which also refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=lambda schema, cls: _complete(schema, cls))
    #: JSON Schema of a condition that several properties must meet together.
    rule: ClassVar[dict[str, Any]] = {}
    #: Descriptions of valid objects, for the error message if the value is not an object; "" shows `example` instead.
    forms: ClassVar[str] = ""

    @model_validator(mode="before")
    @classmethod
    def _is_an_object(cls, value: Any) -> Any:
        if not isinstance(value, Mapping | cls):
            form = cls.forms or json.dumps(cls.example, ensure_ascii=False)
            instance = f", such as {form}" if cls.forms or cls.example else ""
            raise ValueError(f"this must be an object{instance}, got {shorten_repr(value)}")
        return value

    @field_validator("common_above", check_fields=False)
    @classmethod
    def _is_a_limit(cls, limit: str | None) -> str | None:
        if limit is not None:
            common_limit(limit, 1)
        return limit


def _complete(schema: dict[str, Any], cls: type[RequestBody]) -> None:
    if cls.example is not None:
        schema["examples"] = [cls.example]
    if rules := [base.__dict__["rule"] for base in cls.__mro__ if base.__dict__.get("rule")]:
        schema["allOf"] = rules


_Body = TypeVar("_Body", bound=RequestBody)
_Operation = TypeVar("_Operation")


def body_of(operation: type[Any]) -> Callable[[type[_Body]], type[_Body]]:
    """Return a decorator that adds the options of an operation to a model, as properties."""

    def decorate(model: type[_Body]) -> type[_Body]:
        properties: dict[str, Any] = {option.name: _property(option) for option in options_of(operation, "http")}
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **properties
        )

    return decorate


def options_in(body: RequestBody, operation: type[_Operation]) -> _Operation:
    return operation(**{option.name: getattr(body, option.name) for option in options_of(operation, "http")})


def _property(declared: OptionField) -> tuple[Any, Any]:
    kind: Any = float if declared.is_percent else declared.type
    if declared.schema:
        kind = Annotated[kind, Field(json_schema_extra={**declared.schema})]
    if bounds := declared.bounds.keywords:
        kind = Annotated[kind, Field(**bounds)]
    if declared.is_optional:
        kind |= None
    name = declared.name_in("http")
    examples = [*declared.examples] or None
    alias = None if name == declared.name else name
    return kind, Field(declared.default, alias=alias, description=declared.help, examples=examples)


def exactly_one(**types: str) -> dict[str, Any]:
    """Return the JSON Schema of an object with exactly one of some properties, given the type of each."""

    def properties(name: str) -> dict[str, Any]:
        return {name: {"type": types[name]}, **{other: {"type": "null"} for other in types if other != name}}

    return {"oneOf": [{"required": [name], "properties": properties(name)} for name in types]}


class OneText(RequestBody):
    """A text, given either directly or by the id of a document."""

    rule = exactly_one(id="string", text="string")
    forms: ClassVar[str] = '{"id": "a document"} or {"text": "the words"}'

    id: str | None = Field(None, examples=["lease"])
    text: str | None = Field(None, examples=["The tenant pays a rent in advance."])

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.id is None) == (self.text is None):
            raise ValueError("name one: id or text")
        return self
