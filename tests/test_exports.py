"""The names that `import whorl` provides, also as type checkers see them."""

from __future__ import annotations

import importlib.metadata
import inspect
import re
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import whorl
from whorl import errors

#: `Store` imports the types of single operations only to check types.
PUBLIC = {name: getattr(whorl, name) for name in whorl.__all__}
CLASSES = [public for public in PUBLIC.values() if inspect.isclass(public)]


def ours(hint: Any) -> Iterator[type]:
    """Yield whorl's own types in an annotation; the syntax tree of a query has its own module, `whorl.query.ast`."""
    if inspect.isclass(hint) and hint.__module__.startswith("whorl."):
        yield hint
    for part in typing.get_args(hint):
        for argument in part if isinstance(part, list) else [part]:
            yield from ours(argument)


def taken_and_returned(public: type) -> Iterator[tuple[str, type]]:
    """Yield the types of the parameters and results of a class's public methods, and of a dataclass's fields."""
    for name, member in inspect.getmembers(public, inspect.isroutine):
        if not name.startswith("_") and hasattr(member, "__annotations__") and not is_dataclass(public):
            for hint in typing.get_type_hints(member, localns=PUBLIC).values():
                yield from ((name, own_type) for own_type in ours(hint))
    if is_dataclass(public):
        hints = typing.get_type_hints(public, localns=PUBLIC)
        for field in fields(public):
            yield from ((field.name, own_type) for own_type in ours(hints[field.name]))


@pytest.mark.parametrize("public", CLASSES, ids=lambda public: public.__name__)
def test_types_of_public_signatures_are_public(public: type) -> None:
    """
    Every type in a public signature can be imported from whorl.
    """
    hidden = {f"{name}: {type_.__name__}" for name, type_ in taken_and_returned(public) if type_ not in CLASSES}
    assert hidden == set()


def test_every_error_is_public() -> None:
    """
    Every error class is public, so that callers can catch it.
    """
    raised = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)}
    assert raised <= set(whorl.__all__)


@pytest.mark.parametrize("name", whorl.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    """
    Each public name has a docstring and appears in the package's docstring and in docs/python.md.
    """
    page = (Path(__file__).parents[1] / "docs" / "python.md").read_text(encoding="utf-8")
    assert inspect.getdoc(getattr(whorl, name))
    assert re.search(rf"\b{name}\b", whorl.__doc__ or "")
    assert re.search(rf"\b{name}\b", page)


def test_types_ship() -> None:
    """
    The package contains py.typed.
    """
    assert files("whorl").joinpath("py.typed").is_file()


def test_the_version_is_the_distributions() -> None:
    """
    The version comes from the distribution's metadata.
    """
    assert whorl.__version__ == importlib.metadata.version("whorl")
