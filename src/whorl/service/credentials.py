"""Authenticates requests by API key, by user name and password, or by Alfresco ticket."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs

from whorl.errors import ParameterError
from whorl.settings.settings import LOOPBACK

#: Time in seconds after which an unused ticket expires, as in Alfresco.
TICKET_SECONDS = 3600.0
#: Maximum number of valid tickets; further ones replace the least recently used.
MOST_TICKETS = 10_000
_TICKET_USER = b"ROLE_TICKET"
_TICKET = "TICKET_"
_NOBODY = "guest"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials that the service requires; without keys and user, the service is open.

    Args:
        api_keys: Keys to accept as bearer tokens; never shown.
        user: Name and password to accept as basic authentication and for tickets; never shown.

    Raises:
        ParameterError: A key, name or password is not valid UTF-8.
    """

    api_keys: tuple[str, ...] = ()
    user: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        try:
            "".join((*self.api_keys, *(self.user or ()))).encode()
        except UnicodeEncodeError:
            # The message of UnicodeEncodeError would show the secret.
            raise ParameterError("keys, users and passwords must be text in UTF-8; one of them is not") from None

    def __repr__(self) -> str:
        return f"Credentials(api_keys={len(self.api_keys)}, user={'set' if self.user else 'not set'})"

    @property
    def is_open(self) -> bool:
        return not self.api_keys and self.user is None

    def require_credentials_for(self, host: str) -> None:
        """Raise ParameterError if no credentials are required and the host is not a loopback address."""
        if self.is_open and host not in LOOPBACK:
            raise ParameterError(
                f"anyone who reaches {host} could search and delete; set WHORL_USER and WHORL_PASSWORD, or "
                "WHORL_API_KEY, or say --open"
            )


class Tickets:
    """Valid tickets, each with its user and the time of its last use; thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._tickets: dict[str, tuple[float, str]] = {}

    def issue(self, user: str) -> str:
        ticket = _TICKET + secrets.token_hex(20)
        with self._lock:
            self._tickets[ticket] = self._clock(), user
            while len(self._tickets) > MOST_TICKETS:
                del self._tickets[next(iter(self._tickets))]
        return ticket

    def renew(self, ticket: str) -> bool:
        """Renew a ticket for an hour; return False if it has expired."""
        with self._lock:
            used, user = self._tickets.pop(ticket, (None, ""))
            now = self._clock()
            if used is None or now - used > TICKET_SECONDS:
                return False
            # The dict is in the order of last use, and its first ticket is the next to be dropped.
            self._tickets[ticket] = now, user
            return True

    def end(self, ticket: str) -> bool:
        """End a ticket; return False if it had already ended."""
        is_good = self.renew(ticket)
        with self._lock:
            self._tickets.pop(ticket, None)
        return is_good

    def user_of(self, ticket: str) -> str:
        with self._lock:
            return self._tickets.get(ticket, (0.0, _NOBODY))[1]


class Authenticator:
    """Checks the credentials of requests; thread-safe."""

    def __init__(self, credentials: Credentials, tickets: Tickets) -> None:
        self.is_open, self.tickets = credentials.is_open, tickets
        self._keys = [key.encode() for key in credentials.api_keys]
        self._users = [] if credentials.user is None else list(_spellings(":".join(credentials.user)))

    def admits(self, authorization: str, query: str) -> bool:
        """Check the credentials of a request: its Authorization header, or a ticket in its query. Renew a ticket."""
        if self.is_open:
            return True
        kind, _, given = authorization.partition(" ")
        # `header` has decoded the bytes as Latin-1, so this encoding restores them.
        if kind.lower() == "bearer" and self._keys:
            return _is_one_of(given.strip().encode("latin-1"), self._keys)
        ticket = ticket_in(authorization, query)
        if ticket is not None:
            return self.tickets.renew(ticket)
        return kind.lower() == "basic" and _is_one_of(_decode_base64(given), self._users)

    def log_in(self, user: str, password: str) -> str | None:
        """Return a new ticket, or None if the password is wrong. An open service accepts any password."""
        given = f"{user}:{password}".encode("utf-8", "surrogatepass")
        if not self.is_open and (":" in user or not _is_one_of(given, self._users)):
            return None
        return self.tickets.issue(user)

    def user_of(self, authorization: str, query: str) -> str:
        """Return the name of an accepted request's user, or "guest"."""
        ticket = ticket_in(authorization, query)
        if ticket is not None:
            return self.tickets.user_of(ticket)
        kind, _, given = authorization.partition(" ")
        name = _decode_base64(given).partition(b":")[0] if kind.lower() == "basic" else b""
        try:
            return name.decode() or _NOBODY
        except UnicodeDecodeError:
            return name.decode("latin-1")


def _is_one_of(given: bytes, known: list[bytes]) -> bool:
    # Compare with all secrets, so that the response time does not reveal a match.
    return sum(hmac.compare_digest(given, key) for key in known) > 0


def ticket_in(authorization: str, query: str) -> str | None:
    """Return the ticket of a request: `base64(ROLE_TICKET:ticket)`, `base64(ticket)`, or the parameter `alf_ticket`."""
    kind, _, given = authorization.partition(" ")
    if kind.lower() == "basic":
        user, _, password = _decode_base64(given).partition(b":")
        if user.upper() == _TICKET_USER:
            return password.decode("latin-1")
        if user.startswith(_TICKET.encode()):
            return user.decode("latin-1")
        return None
    if authorization:
        return None
    return next(iter(parse_qs(query).get("alf_ticket", [])), None)


def _decode_base64(given: str) -> bytes:
    try:
        return base64.b64decode(given.strip(), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _spellings(text: str) -> set[bytes]:
    spelled = {text.encode()}
    with contextlib.suppress(UnicodeEncodeError):
        spelled.add(text.encode("latin-1"))
    return spelled
