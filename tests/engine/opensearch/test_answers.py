"""Errors from malformed responses become EngineResponseError; other errors stay unchanged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whorl.engine.opensearch.answers import reads_answers, reads_answers_of
from whorl.errors import EngineResponseError, ParameterError


@reads_answers
class Reader:
    """Class whose methods raise the errors they get."""

    url = "http://c"

    @property
    def first(self) -> int:
        return dict[str, int]()["first"]

    def ask(self, error: Exception) -> None:
        raise error

    def each(self, error: Exception) -> Iterator[int]:
        yield 1
        raise error


@reads_answers_of
def ask(client: Reader, error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    "error",
    [
        KeyError("hits"),
        TypeError("no list"),
        AttributeError("get"),
        IndexError(),
        ValueError("7x"),
        StopIteration(),
        RecursionError(),
    ],
)
def test_another_shape(error: Exception) -> None:
    """
    In a method, a property, a generator and a function, a malformed response becomes an error with the URL.
    """
    for fails in (lambda: Reader().ask(error), lambda: list(Reader().each(error)), lambda: ask(Reader(), error)):
        with pytest.raises(EngineResponseError, match="http://c answers, but not as a cluster does"):
            fails()
    with pytest.raises(EngineResponseError, match="KeyError: 'first'"):
        _ = Reader().first


@pytest.mark.parametrize("error", [ParameterError("ours"), RuntimeError("other"), MemoryError()])
def test_what_is_none(error: Exception) -> None:
    """
    whorl's own errors, and errors that no response causes, stay unchanged.
    """
    for fails in (lambda: Reader().ask(error), lambda: list(Reader().each(error)), lambda: ask(Reader(), error)):
        with pytest.raises(type(error)) as raised:
            fails()
        assert raised.value is error
