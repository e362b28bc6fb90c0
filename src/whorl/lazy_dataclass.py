"""Dataclasses that compile their `__init__` on first use, so that commands start faster.

The standard library compiles six methods per class at import, which takes 0.6 ms. A command imports over a hundred
classes, and creates objects of a third. All methods except `__init__` read the fields by name, and are not compiled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any


def _dataclass(
    *, frozen: bool = False, slots: bool = False, eq: bool = True, kw_only: bool = False
) -> Callable[[type], type]:
    """Return a decorator; its options are those of the standard library's, and so are the classes it makes."""

    def decorate(cls: type) -> type:
        cls.__doc__ = cls.__doc__ or cls.__name__  # Without one, the standard library writes a signature, in 0.2 ms.
        made: type = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
        methods: dict[str, object] = {"__init__": _Init(made, frozen), "__repr__": _representation(made)}
        if eq:
            values = _reader(tuple(each.name for each in fields(made) if each.compare))
            methods["__eq__"] = _equality(values)
            methods["__hash__"] = _hash(values) if frozen else None
        if frozen:
            methods |= {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
            if slots:
                methods |= {"__getstate__": _state, "__setstate__": _set_state}
        for name, method in methods.items():
            # Python adds `__hash__ = None` to a class with its own `__eq__`.
            if made.__dict__.get(name) is None:
                setattr(made, name, method)
        return made

    return decorate


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass


class _Init:
    """The `__init__` of a dataclass until its first use, which replaces it."""

    def __init__(self, cls: type, is_frozen: bool) -> None:
        self._cls = cls
        self._is_frozen = is_frozen

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        init = _compile_init(self._cls, self._is_frozen)
        setattr(self._cls, "__init__", init)  # noqa: B010 - mypy forbids the assignment
        return init.__get__(instance, owner)


def _compile_init(cls: Any, is_frozen: bool) -> Any:
    names: dict[str, Any] = {"__set": object.__setattr__, "__missing": MISSING}
    positional, by_name, lines = ["self"], ["*"], []
    for each in fields(cls):
        name, default = each.name, f"__{each.name}"
        parameter, value = name, name
        if each.default_factory is not MISSING:
            names[default] = each.default_factory
            parameter, value = f"{name}=__missing", f"{default}() if {name} is __missing else {name}"
        elif each.default is not MISSING:
            names[default] = each.default
            parameter = f"{name}={default}"
        if each.init:
            (by_name if each.kw_only else positional).append(parameter)
            lines.append(f'__set(self, "{name}", {value})' if is_frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(positional + by_name * (len(by_name) > 1))
    exec(f"def __init__({parameters}):\n " + "\n ".join(lines or ["pass"]), names)
    init = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {each.name: each.type for each in fields(cls) if each.init} | {"return": None}
    return init


def _reader(names: tuple[str, ...]) -> Callable[[object], tuple[Any, ...]]:
    """Return a function that reads the values of some fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _representation(cls: Any) -> Callable[[object], str]:
    names = [each.name for each in fields(cls) if each.repr]

    def represent(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return represent


def _equality(values: Callable[[object], tuple[Any, ...]]) -> Callable[[object, object], Any]:
    def is_equal(self: object, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return is_equal


def _hash(values: Callable[[object], tuple[Any, ...]]) -> Callable[[object], int]:
    def hash_of(self: object) -> int:
        return hash(values(self))

    return hash_of


def _refuse_assignment(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
