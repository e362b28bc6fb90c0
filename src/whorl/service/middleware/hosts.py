"""The names that an open service may be called by.

Where nobody is asked who they are, a page of any site could have its own name point here and then ask what it likes
(DNS rebinding). The browser still says that name in the Host header, which gives it away.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection

from whorl.errors import ParameterError

#: In the list of allowed hosts: any.
ANY = "*"
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


class Hosts:
    """Which Host headers are answered.

    Args:
        listening: The host that the service listens on.
        allowed: Further names; `ANY` for all.

    Raises:
        ParameterError: A name that no browser could say: with a port, a path, or a pattern.
    """

    def __init__(self, listening: str, allowed: Collection[str] = ()) -> None:
        for name in allowed:
            plain = _plain(name)
            if name != ANY and not (_is_address(plain) or (plain and not set(plain) & set(":/*@ "))):
                raise ParameterError(
                    f"allowed_hosts takes names alone, such as docs.example.org, without a port, or {ANY} for any, "
                    f"got {name!r}"
                )
        self._names = _HERE | {_plain(name) for name in (listening, *allowed)}
        self._is_any = ANY in allowed
        # Whoever listens on all addresses may be called by each; and a number is nobody's name to be pointed here.
        self._is_everywhere = _is_unspecified(listening)

    def admit(self, header: str) -> bool:
        """Say whether a request with this Host header is answered."""
        if self._is_any:
            return True
        name = _plain(_without_port(header))
        return name in self._names or (self._is_everywhere and _is_address(name))


def _without_port(header: str) -> str:
    host, separator, port = header.strip().rpartition(":")
    return host if separator and port.isdecimal() else header.strip()


def _plain(name: str) -> str:
    return name.strip().removeprefix("[").removesuffix("]").removesuffix(".").lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_unspecified(host: str) -> bool:
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified
