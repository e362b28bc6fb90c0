"""Routers of whorl's own routes, with the versioned prefix and JSON responses, and the types of these responses."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin

from fastapi import APIRouter
from typing_extensions import TypedDict

from whorl.output.values import CharRange, is_result, json_fields, without_none
from whorl.service.errors import Json
from whorl.service.paths import API


def api_router() -> APIRouter:
    """Return a router for whorl's own routes."""
    return APIRouter(prefix=API, tags=["whorl"], default_response_class=Json)


@lru_cache(None)
def response_type(result: Any) -> Any:
    """Return the type of a result's JSON, for FastAPI's `response_model`."""
    keys = {
        each.name: NotRequired[_json_type(each.annotation)] if each.condition else _json_type(each.annotation)
        for each in json_fields(result)
    }
    typed_dict: Any = TypedDict  # mypy accepts literals only
    made = typed_dict(result.__name__, keys)
    made.__doc__ = (inspect.getdoc(result) or "").partition("\n\n")[0]
    made.__module__ = result.__module__
    return made


def _json_type(annotation: Any) -> Any:
    value, may_be_none = without_none(annotation)
    if may_be_none:
        return _json_type(value) | None
    origin, args = get_origin(value), get_args(value)
    if origin is Annotated:
        return _json_type(args[0])
    if origin in (Union, UnionType):
        return Union[tuple(_json_type(each) for each in args)]  # noqa: UP007 - at run time
    if args == (int, int):
        return response_type(CharRange)
    if origin in (tuple, list):
        return list[_json_type(args[0])]  # type: ignore[misc]  # a type that is known at run time only
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, _json_type(args[1])]  # type: ignore[misc]
    if is_result(value):
        return response_type(value)
    if isinstance(value, type) and issubclass(value, Enum):
        return str
    return float if value is Fraction else value
