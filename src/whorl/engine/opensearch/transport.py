"""Connection class for opensearch-py over whorl's own connections, and the guard against malformed responses.

Code reads deep into responses, mostly in single expressions. Any error raised there is the response's fault, so it is
converted to EngineResponseError at the boundary: in each method that returns data from a cluster's response.
"""

from __future__ import annotations

import inspect
import ssl
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, TypeVar
from urllib.parse import urlencode

import opensearchpy
import urllib3
from opensearchpy.exceptions import ConnectionError as NoConnectionError
from opensearchpy.exceptions import ConnectionTimeout, SSLError

from whorl.engine.http import ConnectError, ConnectionPool
from whorl.errors import EngineResponseError, WhorlError


class ClusterConnection(opensearchpy.Connection):
    """Connection to one node, shared by threads.

    Args:
        http_auth: User and password.
        verify_certs: Whether to check the node's certificate.
        ca_certs: The file with the trusted authorities; None for the system's.
        pool_maxsize: Maximum number of idle connections.
        rest: Address of the node and headers for each request.
    """

    def __init__(
        self,
        *,
        http_auth: tuple[str, str] | None = None,
        verify_certs: bool = True,
        ca_certs: str | None = None,
        pool_maxsize: int = 16,
        **rest: Any,
    ) -> None:
        super().__init__(**rest)
        if http_auth:
            self.headers |= urllib3.make_headers(basic_auth=":".join(http_auth))
        trust = (ca_certs or self.default_ca_certs() or True) if verify_certs else False
        self._pool = ConnectionPool(self.hostname, self.port, trust if self.use_ssl else None, pool_maxsize)

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: Any = None,
        ignore: object = (),
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], str]:
        """Send a request and read the whole response.

        Args:
            method: HTTP method.
            url: The path.
            params: Query parameters.
            body: The request body.
            timeout: Connect timeout and maximum silence of the node, in seconds.
            ignore: Statuses that are not errors; unused.
            headers: Headers in addition to those of every request.

        Raises:
            NoConnectionError: The node is unreachable, or the connection breaks.
            ConnectionTimeout: The node is silent.
            SSLError: The node is not trusted.
            TransportError: The node responds with an error.
        """
        target = f"{self.url_prefix}{url}?{urlencode(params)}" if params else f"{self.url_prefix}{url}"
        connect, silence = timeout or (self.timeout, self.timeout)
        all_headers = {**self.headers, **(headers or {})}
        try:
            found = self._pool.request(
                method, target, body, all_headers, connect_seconds=connect, silence_seconds=silence
            )
            content = found.content.decode("utf-8", "surrogatepass")
        except ConnectError as error:
            kind = SSLError if isinstance(error.__cause__, ssl.SSLError) else NoConnectionError
            raise kind("N/A", str(error), error.__cause__) from error
        except TimeoutError as error:
            raise ConnectionTimeout("TIMEOUT", str(error), error) from error
        except (OSError, ValueError) as error:
            raise NoConnectionError("N/A", str(error), error) from error
        if not 200 <= found.status < 300:
            self._raise_error(found.status, content, found.headers.get("content-type"))
        return found.status, found.headers, content

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        self._pool.close()


#: Python's errors for a missing member, a wrong type or an unreadable value.
#: RecursionError comes from JSON that is nested some thousand levels deep.
_SHAPES = (AttributeError, LookupError, TypeError, ValueError, OverflowError, StopIteration, RecursionError)
_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def guard_responses(cls: _Class) -> _Class:
    """Make the public methods and properties of a class turn malformed responses into EngineResponseError.

    Args:
        cls: A class with an attribute `url`, or an attribute `_client` that has one.
    """
    for name, member in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, property) and member.fget is not None:
            setattr(cls, name, property(_guarded(member.fget), doc=member.__doc__))
        elif inspect.isfunction(member):
            setattr(cls, name, _guarded(member))
    return cls


def guard_response(function: _Function) -> _Function:
    """Apply the conversion of `guard_responses` to a function whose first argument is a client."""
    return _guarded(function)


def _guarded(function: _Function) -> _Function:
    if inspect.isgeneratorfunction(function):

        @wraps(function)
        def generated(self: Any, *args: Any, **arguments: Any) -> Iterator[Any]:
            try:
                yield from function(self, *args, **arguments)
            except (*_SHAPES, RuntimeError) as error:
                if not _is_of_a_shape(error):
                    raise
                raise _strange(self, error) from error

        return generated  # type: ignore[return-value]  # the same function to its callers

    @wraps(function)
    def called(self: Any, *args: Any, **arguments: Any) -> Any:
        try:
            return function(self, *args, **arguments)
        except _SHAPES as error:
            if not _is_of_a_shape(error):
                raise
            raise _strange(self, error) from error

    return called  # type: ignore[return-value]  # the same function to its callers


def _is_of_a_shape(error: Exception) -> bool:
    if isinstance(error, RuntimeError) and not isinstance(error, RecursionError):
        # Python converts a StopIteration within a generator to RuntimeError.
        return isinstance(error.__cause__, StopIteration)
    return not isinstance(error, WhorlError)


def _strange(owner: Any, error: Exception) -> EngineResponseError:
    url = getattr(owner, "url", None) or owner._client.url
    reason = f"{type(error).__name__}: {error}"
    return EngineResponseError(
        f"{url} answers, but not as a cluster does ({reason:.200}); is this an OpenSearch's or Elasticsearch's address?"
    )
