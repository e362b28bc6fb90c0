"""Tools to declare the options of an operation as fields of a dataclass, to list them, and to check their types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, field, fields, replace
from functools import lru_cache
from inspect import get_annotations
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from whorl.errors import ParameterError, require_int, require_texts
from whorl.fingerprint.statistics.metric import Percent

_Operation = TypeVar("_Operation")
_Value = TypeVar("_Value")

FrontEnd: TypeAlias = Literal["cli", "http", "mcp", "python"]
FRONT_ENDS: tuple[FrontEnd, ...] = get_args(FrontEnd)
#: Maximum number of hits on a page, and of hits before it: engines must sort all of them.
MAX_ROWS, MAX_START = 10_000, 1_000_000


class Bounds(NamedTuple):
    """Bounds of a number, and the maximum length of a list, named as in pydantic."""

    ge: int | None = None
    gt: int | None = None
    le: int | None = None
    max_length: int | None = None

    @property
    def keywords(self) -> dict[str, Any]:
        """The given bounds, as keywords of pydantic's `Field`."""
        return {name: value for name, value in self._asdict().items() if value is not None}


#: JSON schema of a query in whorl's query language, described in docs/afts.md.
QUERY_SCHEMA: Mapping[str, Any] = {"format": "afts", "minLength": 1}
#: A share in percent; a number up to 1 is a fraction.
Share: TypeAlias = Annotated[Percent, Bounds(gt=0, le=100)]
Rows: TypeAlias = Annotated[int, Bounds(ge=0, le=MAX_ROWS)]
Start: TypeAlias = Annotated[int, Bounds(ge=0, le=MAX_START)]


#: The default None of an option. Its type is Any, so mypy accepts it for all fields, and still checks other defaults.
_NONE: Any = None


def option(text: str, metavar: str | None = None, *, default: _Value = _NONE, **more: Any) -> _Value:
    """Return a dataclass field that declares an option, with its help text; see `OptionField`."""
    return field(default=default, metadata={"option": {"help": text, "metavar": metavar, **more}})


def flag(text: str, **more: Any) -> bool:
    """Return a dataclass field that declares an option which is False by default."""
    return option(text, default=False, **more)


class OptionField(NamedTuple):
    """An option, as declared by a field of an operation.

    Args:
        type: The field's type without None and bounds.
        metavar: Placeholder of the value on the command line.
        names: Names that differ from the field's name, keyed by front end.
        absent: Front ends that lack the option, with the reason.
        cli_help: Help text for the command line, if the option takes another kind of value there, such as a file.
        schema: Additional keywords of the option's JSON schema, if its value is a text.
        examples: Example values for the HTTP description.
    """

    name: str
    type: Any
    is_optional: bool
    default: Any
    bounds: Bounds
    help: str
    metavar: str | None = None
    names: Mapping[FrontEnd, str] = MappingProxyType({})
    absent: Mapping[FrontEnd, str] = MappingProxyType({})
    cli_help: str | None = None
    short: str | None = None
    schema: Mapping[str, Any] = MappingProxyType({})
    examples: tuple[Any, ...] = ()

    def name_in(self, front_end: FrontEnd) -> str:
        return self.names.get(front_end, self.name)

    @property
    def flag(self) -> str:
        return f"--{self.name_in('cli').replace('_', '-')}"

    @property
    def is_percent(self) -> bool:
        return bool(self.type == Percent)

    @property
    def choices(self) -> tuple[str, ...]:
        """Permitted values of the option, or of its items, if only fixed texts are permitted; otherwise empty."""
        item = get_args(self.type)[0] if self.is_list else self.type
        return get_args(item) if get_origin(item) is Literal else ()

    @property
    def is_list(self) -> bool:
        return get_origin(self.type) is tuple


def only(*front_ends: FrontEnd, because: str) -> Mapping[FrontEnd, str]:
    """Map all front ends except the given ones to the reason why they lack an option."""
    return {front_end: because for front_end in FRONT_ENDS if front_end not in front_ends}


#: Front ends that lack the paging options of an operation, with the reason: it returns its whole result.
ALL_RETURNED = only("cli", "mcp", because="returns all of them")


def options_of(operation: type[Any], front_end: FrontEnd | None = None) -> tuple[OptionField, ...]:
    """Return the options of an operation for all front ends or for one; inherited options come last."""
    declared = _declared_options(operation)  # type: ignore[arg-type]  # classes are hashable
    return tuple(field for field in declared if front_end is None or front_end not in field.absent)


def operation_of(operation: type[_Operation], options: _Operation | None, keywords: Mapping[str, Any]) -> _Operation:
    """Return an operation from an object, from keywords, or from both; keywords replace options of the object.

    Raises:
        ParameterError: An option has a value of another type.
    """
    if not isinstance(options, operation | None):
        raise ParameterError(
            f"options must be a {operation.__name__}, or keywords such as rows=10, got {options!r:.80}"
        )
    made = operation(**keywords) if options is None else replace(options, **keywords)  # type: ignore[type-var]
    for own in options_of(operation, "python"):
        given = getattr(made, own.name)
        if (checked := _checked(own, given)) is not given:
            made = replace(made, **{own.name: checked})  # type: ignore[type-var]
    return made


#: Options that accept more types in Python. Their types are checked where they are used.
_WIDER_IN_PYTHON = ("filter", "sort", "metric")


def _checked(option: OptionField, value: Any) -> Any:
    """Return the value of an option, with numpy's integers as int; raise ParameterError if it has another type."""
    if (value is None and option.is_optional) or option.name in _WIDER_IN_PYTHON:
        return value
    if option.type is int:
        return require_int(option.name, value)
    wanted = ""
    if option.type is bool and value not in (True, False):
        wanted = "True or False"
    elif option.type is str and not isinstance(value, str):
        wanted = f"text, such as {option.examples[0]!r}" if option.examples else "text"
    elif option.is_list:
        require_texts(option.name, value)
    elif option.choices and value not in option.choices:
        wanted = " or ".join(option.choices)
    if wanted:
        raise ParameterError(f"{option.name} must be {wanted}, got {value!r:.80}")
    return value


def require_bounds(operation: Any) -> None:
    """Raise ParameterError if an option with a smallest and a largest value has a whole number beyond them."""
    for option in options_of(type(operation), "python"):
        value, least, most = getattr(operation, option.name), option.bounds.ge, option.bounds.le
        if isinstance(value, int) and least is not None and most is not None and not least <= value <= most:
            raise ParameterError(f"{option.name} must be {least:,} to {most:,}, got {value}")


def require_json_type(annotation: Any, value: Any, *, takes_texts: bool) -> None:
    """Raise ValueError for a number, boolean or text that pydantic would convert to the type of a field.

    `takes_texts` allows a number or a boolean that is written as a text.
    """
    kinds = _json_types(annotation)
    numbers = kinds & {int, float}
    if isinstance(value, bool) and numbers and bool not in kinds:
        raise ValueError("this is a number, not true or false")
    if isinstance(value, int | float) and not isinstance(value, bool) and bool in kinds and not numbers:
        raise ValueError("this is true or false, not a number")
    if isinstance(value, str) and not takes_texts and kinds <= {bool, int, float, type(None)}:
        raise ValueError(f"this is {'a number' if numbers else 'true or false'}, not a text")


@lru_cache(None)
def _json_types(annotation: Any) -> frozenset[Any]:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return frozenset({str})
    return frozenset().union(*map(_json_types, args[:1] if origin is Annotated else args)) or frozenset({annotation})


def changed_options(operation: Any) -> Iterator[OptionField]:
    """Yield the options of an operation whose values differ from their defaults."""
    for option in options_of(type(operation)):
        value = getattr(operation, option.name)
        # Compare percentages as text, because the command line passes them as text.
        if (str(value) != str(option.default)) if option.is_percent else (value != option.default):
            yield option


@lru_cache
def _declared_options(operation: type[Any]) -> tuple[OptionField, ...]:
    hints = get_type_hints(operation, include_extras=True)
    # Front ends add fields that are not options, such as the query or the paths.
    declared = {member.name: member for member in fields(operation) if "option" in member.metadata}
    names = dict.fromkeys(name for cls in operation.__mro__ for name in get_annotations(cls) if name in declared)
    return tuple(_option_field(declared[name], hints[name]) for name in names)


def _option_field(declared: Field[Any], hint: Any) -> OptionField:
    kind, bounds = get_args(hint) if get_origin(hint) is Annotated else (hint, Bounds())
    is_optional = get_origin(kind) in (Union, UnionType) and type(None) in get_args(kind)
    if is_optional:
        # Remove None and keep the other types: a percentage can be of several types, even without None.
        kind = Union[tuple(member for member in get_args(kind) if member is not type(None))]  # noqa: UP007
    return OptionField(declared.name, kind, is_optional, declared.default, bounds, **declared.metadata["option"])
