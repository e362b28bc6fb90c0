"""Converts result objects to JSON, using the fields that each result class lists in `JSON_FIELDS`.

The OpenAPI description of the service uses the same declarations. If a class declares nothing, its JSON has the fields
of the dataclass. An entry of JSON_FIELDS is one of

    total                     an attribute or property
    shingles=hit_size         an attribute under another name; `metric=plan.metric` is an attribute of an attribute
    *estimate                 the JSON fields of the result in this attribute
    intervals?                left out if the value is None
    cluster?copies=cluster    left out if another attribute (copies) is None or False

A later entry replaces an earlier one of the same name. Type annotations determine the conversion: an enumeration
becomes its value, a fraction a float, a tuple a list, and a pair of integers a range with `start` and `end`. A `Share`
is rounded down to six decimals, an `Interval` outward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

from whorl.fingerprint.statistics.metric import INTERVAL, SHARE, round_down, round_up
from whorl.request_context import timely

_Convert: TypeAlias = Callable[[Any], Any]
#: Number of items above which the conversion of a list checks the deadline (`timely`).
_MANY = 1_000


class CharRange(NamedTuple):
    """A half-open range of characters as Python counts them, from 0."""

    start: int
    end: int


class JsonField(NamedTuple):
    """JSON field of a result class: its name, and the path of the attribute with its value.

    The field is left out if the attribute at the path `condition` is None or False; with "" as `condition`, it is
    always there.
    """

    name: str
    path: str
    annotation: Any
    condition: str = ""

    def nest(self, path: str, *, is_optional: bool) -> JsonField:
        """Return this field as a field of an outer object, whose attribute `path` is the inner object.

        With `is_optional`, this attribute may be None; the type of the field then includes None.
        """
        condition = f"{path}.{self.condition}" if self.condition else ""
        annotation = self.annotation | None if is_optional else self.annotation
        return JsonField(self.name, f"{path}.{self.path}", annotation, condition)


def values(result: Any) -> dict[str, Any]:
    return _writer(type(result))(result)  # type: ignore[arg-type]  # classes are hashable


@lru_cache(None)
def json_fields(cls: Any) -> tuple[JsonField, ...]:
    """Return the JSON fields of a result class; raise AttributeError if an entry names a missing attribute."""
    declared: dict[str, JsonField] = {}
    for entry in _entries(cls):
        for json_field in _parse_fields(cls, entry):
            declared.pop(json_field.name, None)
            declared[json_field.name] = json_field
    return tuple(declared.values())


def is_result(annotation: Any) -> bool:
    return isinstance(annotation, type) and (is_dataclass(annotation) or hasattr(annotation, "_fields"))


def without_none(annotation: Any) -> tuple[Any, bool]:
    """Return a type without None, and whether it included None."""
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    others = tuple(member for member in members if member is not NoneType)
    return (others[0] if len(others) == 1 else Union[others]), len(others) < len(members)  # noqa: UP007 - at run time


def _entries(cls: type[Any]) -> tuple[str, ...]:
    listed: tuple[str, ...] | None = getattr(cls, "JSON_FIELDS", None) or getattr(cls, "_fields", None)
    return tuple(declared.name for declared in fields(cls)) if listed is None else listed


def _parse_fields(cls: type[Any], entry: str) -> Iterator[JsonField]:
    if entry.startswith("*"):
        path = entry[1:]
        result, is_optional = without_none(_annotation(cls, path))
        yield from (field.nest(path, is_optional=is_optional) for field in json_fields(result))
        return
    left, _, path = entry.partition("=")
    name, mark, condition = left.partition("?")
    path = path or name
    annotation = _annotation(cls, path)
    if mark and not condition:
        annotation, condition = without_none(annotation)[0], path
    yield JsonField(name, path, annotation, condition)


def _annotation(cls: Any, path: str) -> Any:
    """Return the type of the attribute at a path; it includes None if an attribute on the path may be None."""
    annotation, may_be_none = cls, False
    for name in path.split("."):
        owner, is_optional = without_none(annotation)
        may_be_none |= is_optional
        # The first member of a union stands for all: they share the attributes that become JSON.
        annotation = _attribute((get_args(owner) or (owner,))[0], name)
    return annotation | None if may_be_none else annotation


def _attribute(cls: type[Any], name: str) -> Any:
    member = getattr(cls, name, None)
    if isinstance(member, property | cached_property):
        function = member.fget if isinstance(member, property) else member.func
        return get_type_hints(function, include_extras=True)["return"]
    hints = get_type_hints(cls, include_extras=True)
    if name not in hints:
        raise AttributeError(f"{cls.__name__} has no attribute {name!r} for its JSON")
    return hints[name]


@lru_cache(None)
def _writer(cls: Any) -> Callable[[Any], dict[str, Any]]:
    """Return a function that converts instances of a class; it is compiled from generated code, as in `dataclasses`."""
    lines, names = ["def write(result):", " answer = {}"], dict[str, Any]()
    for number, json_field in enumerate(json_fields(cls)):
        condition, value = _expression(cls, json_field.condition), _expression(cls, json_field.path)
        line = " "
        if json_field.condition:
            line = f" if (there := {condition}) is not None and there is not False: "
            value = "there" if json_field.condition == json_field.path else value
        if convert := json_type(json_field.annotation, _describe)[1]:
            names[f"to_json{number}"] = convert
            to_json = f"to_json{number}({value})"
            may_be_none = without_none(json_field.annotation)[1]
            value = f"None if (value := {value}) is None else to_json{number}(value)" if may_be_none else to_json
        lines.append(f"{line}answer[{json_field.name!r}] = {value}")
    exec("\n".join([*lines, " return answer"]), names)
    write: Callable[[Any], dict[str, Any]] = names["write"]
    return write


def _expression(cls: type[Any], path: str) -> str:
    """Return a Python expression for the attribute of `result` at a path; None if an attribute on the path is None."""
    names = path.split(".")
    expression = f"result.{path}"
    for end in range(len(names) - 1, 0, -1):
        owner = ".".join(names[:end])
        if without_none(_annotation(cls, owner))[1]:
            expression = f"(None if result.{owner} is None else {expression})"
    return expression


def _describe(cls: Any) -> tuple[Any, _Convert]:
    return cls, _writer(cls)


def json_type(annotation: Any, describe: Callable[[Any], tuple[Any, _Convert | None]]) -> tuple[Any, _Convert | None]:
    """Return the type of a value's JSON, and a function that converts a value other than None.

    Return None instead of the function if values need no conversion. `describe` returns the type and the function for a
    result class.
    """
    value, may_be_none = without_none(annotation)
    if may_be_none:
        kind, convert = json_type(value, describe)
        return kind | None, convert
    origin, args = get_origin(value), get_args(value)
    if origin is Annotated:
        kind, convert = json_type(args[0], describe)
        return kind, round_down if SHARE in args else _round_outward if INTERVAL in args else convert
    if origin in (Union, UnionType):
        return Union[tuple(json_type(member, describe)[0] for member in args)], None  # noqa: UP007 - at run time
    if args == (int, int):
        return describe(CharRange)[0], lambda pair: {"start": pair[0], "end": pair[1]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        kind, inner = json_type(args[1], describe)
        to_dict = dict if inner is None else lambda mapping: {name: inner(value) for name, value in mapping.items()}
        return dict[str, kind], to_dict  # type: ignore[valid-type]  # the type is known only at run time
    if origin in (tuple, list):
        kind, convert = json_type(args[0], describe)
        return list[kind], list if convert is None else partial(_convert_items, convert)  # type: ignore[valid-type]
    if is_result(value):
        return describe(value)
    if isinstance(value, type) and issubclass(value, Enum):
        return str, attrgetter("value")
    return (float, float) if value is Fraction else (value, None)


def _round_outward(interval: tuple[float, float]) -> list[float]:
    return [round_down(interval[0]), round_up(interval[1])]


def _convert_items(convert: _Convert, items: Sequence[Any]) -> list[Any]:
    return [convert(item) for item in (timely(items) if len(items) > _MANY else items)]
