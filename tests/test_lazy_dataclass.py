"""Dataclasses that compile their methods on first use behave as those of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import KW_ONLY, FrozenInstanceError, field, fields, replace
from typing import Any, ClassVar

import pytest

from whorl import lazy_dataclass


def classes(dataclass: Callable[..., Any]) -> dict[str, Any]:
    """Return one class of each form that whorl has, made by a decorator."""

    @dataclass(frozen=True, slots=True)
    class Frozen:
        NAMES: ClassVar[tuple[str, ...]] = ("a", "b")
        a: int
        b: list[int] = field(default_factory=list, compare=False)
        _: KW_ONLY
        c: str = field(default="c", repr=False)
        self_: int = 1

        def __post_init__(self) -> None:
            object.__setattr__(self, "c", self.c.upper())

    @dataclass(slots=True)
    class Changing:
        a: int
        free: list[int] = field(init=False)
        b: dict[str, int] = field(default_factory=dict)

    @dataclass(frozen=True, kw_only=True)
    class Base:
        a: int = 1
        b: int

    @dataclass(frozen=True, kw_only=True)
    class Derived(Base):
        a: int = 2
        c: int = 3

    @dataclass(frozen=True, slots=True, eq=False)
    class Identity:
        a: int

    @dataclass(frozen=True, slots=True, eq=False)
    class OwnEquality:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True)
    class Empty:
        """Without fields."""

    return {name: value for name, value in locals().items() if name != "dataclass"}


OURS, THEIRS = classes(lazy_dataclass.dataclass), classes(dataclasses.dataclass)
ARGUMENTS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Frozen", (1,), {}),
    ("Frozen", (1, [2]), {"c": "d", "self_": 5}),
    ("Frozen", (2,), {}),
    ("Changing", (1,), {}),
    ("Changing", (1, {"x": 1}), {}),
    ("Base", (), {"b": 2}),
    ("Derived", (), {"b": 2}),
    ("Derived", (), {"b": 2, "c": 9}),
    ("Identity", (1,), {}),
    ("OwnEquality", (1,), {}),
    ("Empty", (), {}),
]


def instances(made: dict[str, Any]) -> list[Any]:
    """Return instances whose fields all have values."""
    instances = [made[name](*positional, **named) for name, positional, named in ARGUMENTS]
    for instance in instances:
        if isinstance(instance, made["Changing"]):
            instance.free = [3]
    return instances


def hash_or_error(instance: object) -> int | str:
    try:
        return hash(instance)
    except TypeError as error:
        return str(error).rpartition(".")[2]


def test_values_and_representations_are_those_of_the_standard_library() -> None:
    for ours, theirs in zip(instances(OURS), instances(THEIRS), strict=True):
        assert repr(ours) == repr(theirs)
        assert [getattr(ours, declared.name) for declared in fields(theirs)] == [
            getattr(theirs, declared.name) for declared in fields(theirs)
        ]


def test_equality_and_hashes_are_those_of_the_standard_library() -> None:
    ours, theirs = instances(OURS), instances(THEIRS)
    for left, their_left in zip(ours, theirs, strict=True):
        assert [left == right for right in ours] == [their_left == right for right in theirs]
        if type(left).__name__ != "Identity":
            assert hash_or_error(left) == hash_or_error(their_left)
    # Fields that do not compare may differ.
    assert OURS["Frozen"](1, [2]) == OURS["Frozen"](1, [3])
    assert OURS["Identity"](1) != OURS["Identity"](1)


@pytest.mark.parametrize("name", OURS)
def test_signature_fields_and_patterns_are_those_of_the_standard_library(name: str) -> None:
    ours, theirs = OURS[name], THEIRS[name]
    assert [
        (parameter.name, parameter.kind, parameter.default is inspect.Parameter.empty, parameter.annotation)
        for parameter in inspect.signature(ours).parameters.values()
    ] == [
        (parameter.name, parameter.kind, parameter.default is inspect.Parameter.empty, parameter.annotation)
        for parameter in inspect.signature(theirs).parameters.values()
    ]
    assert [declared.name for declared in fields(ours)] == [declared.name for declared in fields(theirs)]
    assert ours.__match_args__ == theirs.__match_args__
    assert getattr(ours, "__slots__", None) == getattr(theirs, "__slots__", None)


@pytest.mark.parametrize(
    ("name", "positional", "named"), [("Frozen", (), {}), ("Base", (1, 2), {}), ("Empty", (), {"a": 1})]
)
def test_wrong_arguments_are_refused(name: str, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
    for made in (OURS, THEIRS):
        with pytest.raises(TypeError, match="__init__"):
            made[name](*positional, **named)


@pytest.mark.parametrize("name", ["Frozen", "Derived"])
def test_frozen_instances_refuse_changes(name: str) -> None:
    instance = OURS[name](a=1, **({"b": 2} if name == "Derived" else {}))
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        instance.a = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'a'"):
        del instance.a
    assert replace(instance, a=5).a == 5
    assert instance.a == 1


def test_defaults_of_mutable_fields_are_not_shared() -> None:
    first, second = OURS["Frozen"](1), OURS["Frozen"](1)
    first.b.append(1)
    assert second.b == []


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Sent:
    a: int
    b: str = "b"


def test_frozen_instances_are_copied_and_pickled() -> None:
    sent = Sent(1, "c")
    for received in (copy.copy(sent), copy.deepcopy(sent), pickle.loads(pickle.dumps(sent))):
        assert received == sent
        assert received is not sent
