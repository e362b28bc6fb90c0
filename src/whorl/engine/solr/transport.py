"""How requests reach Solr: with how much time, over which connections, trusting whom, and how often again."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connectionpool import ConnectionPool, HTTPConnectionPool, HTTPSConnectionPool

from whorl.context import seconds_left


@dataclass(frozen=True, slots=True)
class Link:
    """The way to a Solr.

    Args:
        connect_seconds: How long connecting may take.
        verify: Whether its certificate is checked, or the file with the authorities that may vouch for it.
        retries: How often a request is repeated, at most.
        connections: Those that are kept open, at most.
    """

    connect_seconds: float = 5.0
    verify: bool | str = True
    retries: int = 0
    connections: int = 16


class Transport(HTTPAdapter):
    """Gives each request its time: that of the settings, or what is left to whoever waits for the answer.

    Args:
        link: The way to Solr.
        silence_seconds: How long Solr may be silent within one answer.
    """

    def __init__(self, link: Link, silence_seconds: float) -> None:
        self._connect_seconds, self._silence_seconds = link.connect_seconds, silence_seconds
        self._pool: ConnectionPool | None = None
        super().__init__(pool_connections=4, pool_maxsize=link.connections)

    def init_poolmanager(self, *args: Any, **arguments: Any) -> None:
        """Make the connections; sending a body on them takes the time of an answer."""
        super().init_poolmanager(*args, **arguments)
        pools = {"http": HTTPConnectionPool, "https": HTTPSConnectionPool}
        self.poolmanager.pool_classes_by_scheme = {
            scheme: _patient(pool, self._silence) for scheme, pool in pools.items()
        }

    def get_connection_with_tls_context(self, *args: Any, **arguments: Any) -> Any:
        """Return the connections to the one address that all requests go to, all with the same trust."""
        if self._pool is None:
            self._pool = super().get_connection_with_tls_context(*args, **arguments)
        return self._pool

    def close(self) -> None:
        """Close the connections; a later request opens others."""
        self._pool = None
        super().close()

    def send(self, request: requests.PreparedRequest, *args: Any, **arguments: Any) -> requests.Response:
        """Send a request; the time that is given beside it, if any, is not looked at."""
        silence = self._silence()
        if silence <= 0:
            raise requests.Timeout("the time is up", request=request)
        return super().send(request, *args, **{**arguments, "timeout": (min(self._connect_seconds, silence), silence)})

    def _silence(self) -> float:
        left = seconds_left()
        return self._silence_seconds if left is None else min(left, self._silence_seconds)


def _patient(pool: type[HTTPConnectionPool], silence: Callable[[], float]) -> type[HTTPConnectionPool]:
    """Return a kind of connections that send a request with the time of an answer.

    urllib3 sends with the time to connect; but Solr reads documents as fast as it can analyse them, and a pause of its
    garbage collector is longer than connecting may take.
    """

    class Connection(pool.ConnectionCls):  # type: ignore[misc, name-defined]
        def request(self, *args: Any, **arguments: Any) -> None:
            if self.sock is None:
                self.connect()
            # Of no time at all, sockets would not wait, which is another error.
            self.timeout = max(silence(), 0.001)
            self.sock.settimeout(self.timeout)
            super().request(*args, **arguments)

    return type(pool.__name__, (pool,), {"ConnectionCls": Connection})


def session(link: Link, silence_seconds: float, auth: tuple[str, str] | None) -> requests.Session:
    """Return a session to one Solr, which threads may share.

    Args:
        link: The way to it.
        silence_seconds: How long Solr may be silent within one answer.
        auth: User and password.
    """
    made = requests.Session()
    # Solr and its user sit on a trusted path that the user named; a proxy from the environment is not part of it.
    made.trust_env = False
    made.auth, made.verify = auth, link.verify
    if not link.verify:
        # It was asked for; the documentation says what it means.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    for scheme in ("http://", "https://"):
        made.mount(scheme, Transport(link, silence_seconds))
    return made


def distrust(error: BaseException | None) -> str | None:
    """Return why a certificate was not trusted, in OpenSSL's words; None where an error is of another kind."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        if isinstance(error, ssl.SSLError):
            return error.reason or "no TLS"
        reason = getattr(error, "reason", None) or next(iter(error.args), None)
        error = reason if isinstance(reason, BaseException) else error.__cause__
    return None
