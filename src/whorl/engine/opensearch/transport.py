"""Connects opensearch-py to whorl's own connections, and checks the shape of responses.

Methods read nested members of responses without checking them. If the response is malformed, Python raises an error,
and `guard_response` turns it into EngineResponseError.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar
from urllib.parse import urlencode

import opensearchpy

from whorl.engine.http import ServerConnections
from whorl.errors import EngineResponseError, WhorlError


class ClusterConnection(opensearchpy.Connection):
    """Connection to one node, shared by threads."""

    def __init__(self, *, connections: ServerConnections, **options: Any) -> None:
        super().__init__(**options)
        self._connections = connections

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: object = None,
        ignore: object = (),
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], str]:
        """Send a request and read the whole response.

        Raises:
            EngineUnavailableError: The node is unreachable or does not respond, or the connection breaks.
            TransportError: The node responds with an error.
        """
        target = f"{url}?{urlencode(params)}" if params else url
        response = self._connections.request(method, target, body, {**self.headers, **(headers or {})})
        content = response.data.decode("utf-8", "surrogatepass")
        if not 200 <= response.status < 300:
            self._raise_error(response.status, content, response.headers.get("content-type"))
        return response.status, response.headers, content

    def close(self) -> None:
        """Close the connections; a later request opens new connections."""
        self._connections.close()


#: Python's errors for a missing member, a wrong type, an unreadable value, or JSON that is nested too deeply.
_SHAPE_ERRORS = (AttributeError, LookupError, TypeError, ValueError, OverflowError, StopIteration, RecursionError)
_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def guard_responses(cls: _Class) -> _Class:
    """Apply `guard_response` to all public methods and properties of a class.

    The class has an attribute `url`, or an attribute `_client` that has one.
    """
    for name, member in inspect.getmembers_static(cls):
        if name.startswith("_"):
            continue
        if isinstance(member, property) and member.fget is not None:
            setattr(cls, name, property(guard_response(member.fget), doc=member.__doc__))
        elif inspect.isfunction(member):
            setattr(cls, name, guard_response(member))
    return cls


def guard_response(function: _Function) -> _Function:
    """Turn the errors that a malformed response causes in a function into EngineResponseError; `self` has the URL."""
    if inspect.isgeneratorfunction(function):

        @wraps(function)
        def generated(self: Any, *args: Any, **arguments: Any) -> Iterator[Any]:
            with _guarded(self):
                yield from function(self, *args, **arguments)

        return generated  # type: ignore[return-value]  # for callers, it is the same function

    @wraps(function)
    def called(self: Any, *args: Any, **arguments: Any) -> Any:
        with _guarded(self):
            return function(self, *args, **arguments)

    return called  # type: ignore[return-value]  # for callers, it is the same function


@contextmanager
def _guarded(owner: Any) -> Iterator[None]:
    try:
        yield
    except (*_SHAPE_ERRORS, RuntimeError) as error:
        # In a generator, Python turns StopIteration into RuntimeError.
        is_shape_error = isinstance(error, _SHAPE_ERRORS) or isinstance(error.__cause__, StopIteration)
        if isinstance(error, WhorlError) or not is_shape_error:
            raise
        url, reason = getattr(owner, "url", None) or owner._client.url, f"{type(error).__name__}: {error}"
        raise EngineResponseError(
            f"{url} answers, but not as a cluster does ({reason:.200}); is this an OpenSearch's or Elasticsearch's "
            "address?"
        ) from error
