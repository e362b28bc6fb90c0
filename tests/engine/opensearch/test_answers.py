"""What goes wrong in an answer is ours to tell, and nothing else is taken for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whorl.engine.opensearch.answers import reads_answers, reads_answers_of
from whorl.errors import EngineResponseError, ParameterError


@reads_answers
class Reader:
    """Reads what it is told."""

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
    [KeyError("hits"), TypeError("no list"), AttributeError("get"), IndexError(), ValueError("7x"), StopIteration()],
)
def test_another_shape(error: Exception) -> None:
    """
    In a method, a property, a generator or a function: an error that names the address.
    """
    for fails in (lambda: Reader().ask(error), lambda: list(Reader().each(error)), lambda: ask(Reader(), error)):
        with pytest.raises(EngineResponseError, match="http://c answers, but not as a cluster does"):
            fails()
    with pytest.raises(EngineResponseError, match="KeyError: 'first'"):
        _ = Reader().first


@pytest.mark.parametrize("error", [ParameterError("ours"), RuntimeError("other"), MemoryError()])
def test_what_is_none(error: Exception) -> None:
    """
    Our own errors, and those that no answer causes, pass as they are.
    """
    for fails in (lambda: Reader().ask(error), lambda: list(Reader().each(error)), lambda: ask(Reader(), error)):
        with pytest.raises(type(error)) as raised:
            fails()
        assert raised.value is error
