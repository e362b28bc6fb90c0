"""Router, base request models and response types for the routes below /api/v1."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Coroutine, Mapping
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    NotRequired,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import orjson
from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, create_model, field_validator, model_validator
from typing_extensions import TypedDict

from whorl.errors import shorten_repr
from whorl.operations import QUERY_SCHEMA, OptionField, options_of, require_json_type
from whorl.output.json_conversion import CharRange, is_result, json_fields, without_none
from whorl.search.boilerplate import common_limit
from whorl.service.responses import Json
from whorl.service.route_paths import API

#: A query in whorl's query language, described in docs/afts.md.
QueryText: TypeAlias = Annotated[str, Field(json_schema_extra={**QUERY_SCHEMA}, examples=["name:lease OR rent"])]

#: Ids of hits for which a client requests details, for example all hits on a page.
Shown: TypeAlias = Annotated[list[str], Field(max_length=100)]

Example: TypeAlias = dict[str, Any] | None


class RequestBody(BaseModel):
    """Base model that refuses unknown keys and values of the wrong JSON type."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=lambda schema, cls: _complete(schema, cls))
    #: Whether the values come from a query string, so that each value is a text.
    is_text: ClassVar[bool] = False
    #: JSON Schema of a condition that several properties must meet together.
    rule: ClassVar[dict[str, Any]] = {}
    #: Example request for a store with the contracts of examples/; None if the properties have examples.
    example: ClassVar[Example] = None
    #: Descriptions of valid objects, for the error message if the value is not an object; "" to show `example` instead.
    forms: ClassVar[str] = ""

    @model_validator(mode="before")
    @classmethod
    def _is_an_object(cls, value: Any) -> Any:
        if not isinstance(value, Mapping | cls):
            form = cls.forms or json.dumps(cls.example, ensure_ascii=False)
            instance = f", such as {form}" if cls.forms or cls.example else ""
            raise ValueError(f"this must be an object{instance}, got {shorten_repr(value)}")
        return value

    @field_validator("*", mode="before")
    @classmethod
    def _is_of_its_type(cls, value: Any, info: ValidationInfo) -> Any:
        require_json_type(cls.model_fields[str(info.field_name)].annotation, value, takes_texts=cls.is_text)
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
    option = declared.option
    kind: Any = float if declared.is_percent else declared.type
    if option.schema:
        kind = Annotated[kind, Field(json_schema_extra={**option.schema})]
    if bounds := declared.bounds.keywords:
        kind = Annotated[kind, Field(**bounds)]
    if declared.is_optional:
        kind |= None
    name = declared.name_in("http")
    examples = [*option.examples] or None
    alias = None if name == declared.name else name
    return kind, Field(declared.default, alias=alias, description=option.help, examples=examples)


class OneText(RequestBody):
    """A text, given either directly or by the id of a document."""

    rule = {
        "oneOf": [
            {"required": ["id"], "properties": {"id": {"type": "string"}, "text": {"type": "null"}}},
            {"required": ["text"], "properties": {"text": {"type": "string"}, "id": {"type": "null"}}},
        ]
    }

    forms: ClassVar[str] = '{"id": "a document"} or {"text": "the words"}'

    id: str | None = Field(None, examples=["lease"])
    text: str | None = Field(None, examples=["The tenant pays a rent in advance."])

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.id is None) == (self.text is None):
            raise ValueError("name one: id or text")
        return self


class DirectRoute(APIRoute):
    """Route that calls its function without FastAPI's own machinery, which takes a quarter of the time of a search.

    This applies to valid requests for functions whose only argument is a `RequestBody`. FastAPI still describes these
    routes, and answers invalid requests.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer_by_fastapi, endpoint = super().get_route_handler(), self.endpoint
        match [*get_type_hints(endpoint, include_extras=True).values()]:
            case [type() as model, type() as result] if issubclass(model, RequestBody) and issubclass(result, Response):
                body_type: type[RequestBody] = model
            case _:
                return answer_by_fastapi

        async def answer(request: Request) -> Response:
            if request.scope["query_string"]:
                return await answer_by_fastapi(request)
            try:
                body = body_type.model_validate(orjson.loads(await request.body()))
            except ValueError:
                return await answer_by_fastapi(request)
            return await run_in_threadpool(endpoint, body)

        return answer


def api_router() -> APIRouter:
    known = [Depends(refuse_unknown_parameters)]
    return APIRouter(
        prefix=API, tags=["whorl"], default_response_class=Json, dependencies=known, route_class=DirectRoute
    )


def refuse_unknown_parameters(request: Request) -> None:
    """Raise RequestValidationError if the query string has a parameter that the route does not have."""
    known = set[str]()
    for field in request.scope["route"].dependant.query_params:
        model = field.field_info.annotation
        is_model = isinstance(model, type) and issubclass(model, BaseModel)
        known |= {own.alias or name for name, own in model.model_fields.items()} if is_model else {field.alias}
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        message = "there is no such part" + (f"; choose from {', '.join(sorted(known))}" if known else "")
        raise RequestValidationError([{"type": "unknown", "loc": ("query", name), "msg": message} for name in unknown])


@lru_cache(None)
def response_type(result: Any) -> Any:
    """Return the type of a result's JSON, for FastAPI's `response_model`."""
    keys = {
        field.name: NotRequired[_json_type(field.annotation)] if field.condition else _json_type(field.annotation)
        for field in json_fields(result)
    }
    typed_dict: Any = TypedDict  # mypy accepts only literal names
    made = typed_dict(result.__name__, keys)
    made.__doc__ = (inspect.getdoc(result) or "").partition("\n\n")[0]
    made.__module__ = result.__module__
    # Only the description at /openapi.json needs the schema, so do not build it when the service starts.
    made.__pydantic_config__ = ConfigDict(defer_build=True)
    return made


def _json_type(annotation: Any) -> Any:
    value, may_be_none = without_none(annotation)
    if may_be_none:
        return _json_type(value) | None
    origin, args = get_origin(value), get_args(value)
    if origin is Annotated:
        return _json_type(args[0])
    if origin in (Union, UnionType):
        return Union[tuple(map(_json_type, args))]  # noqa: UP007 - at run time
    if args == (int, int):
        return response_type(CharRange)
    if origin in (tuple, list):
        return list[_json_type(args[0])]  # type: ignore[misc]  # the type is known only at run time
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, _json_type(args[1])]  # type: ignore[misc]
    if is_result(value):
        return response_type(value)
    if isinstance(value, type) and issubclass(value, Enum):
        return str
    return float if value is Fraction else value
