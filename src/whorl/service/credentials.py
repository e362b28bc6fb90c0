"""Who may ask: an API key, a user with a password, and the tickets that Alfresco's clients get for them."""

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

#: A ticket ends when it was not used for as long as this, as Alfresco's do.
TICKET_SECONDS = 3600.0
#: Tickets that are kept, at most; of more, the one that was unused for longest ends.
MOST_TICKETS = 10_000
_TICKET_USER = b"ROLE_TICKET"
_TICKET = "TICKET_"
_NOBODY = "guest"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the service asks for; nothing at all where there is neither.

    Args:
        api_keys: Each is taken as a bearer token; never shown.
        user: A name and a password, taken as basic authentication and for tickets; never shown.

    Raises:
        ParameterError: One of them is no text.
    """

    api_keys: tuple[str, ...] = ()
    user: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        try:
            "".join((*self.api_keys, *(self.user or ()))).encode()
        except UnicodeEncodeError:
            # Bytes of a variable that are no text; the error would quote them.
            raise ParameterError("keys, users and passwords must be text in UTF-8; one of them is not") from None

    def __repr__(self) -> str:
        return f"Credentials(api_keys={len(self.api_keys)}, user={'set' if self.user else 'not set'})"

    @property
    def is_open(self) -> bool:
        """Whether anybody may ask."""
        return not self.api_keys and self.user is None

    def require_for(self, host: str) -> None:
        """Refuse to let anybody ask from other machines.

        Raises:
            ParameterError: Others reach this address, and nothing is asked for.
        """
        if self.is_open and host not in ("127.0.0.1", "::1", "localhost"):
            raise ParameterError(
                f"anyone who reaches {host} could search and delete; set WHORL_USER and WHORL_PASSWORD, or "
                "WHORL_API_KEY, or say --open"
            )


class Access:
    """Who may ask, and the tickets that are good at the moment. Threads may share one.

    Args:
        credentials: What is asked for.
        clock: Seconds that only grow.
    """

    def __init__(self, credentials: Credentials, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_open = credentials.is_open
        self._keys = [key.encode() for key in credentials.api_keys]
        self._users = [] if credentials.user is None else list(_spellings(":".join(credentials.user)))
        self._clock, self._lock = clock, threading.Lock()
        #: When each was used last, and whose it is.
        self._tickets: dict[str, tuple[float, str]] = {}

    def admits(self, authorization: str, query: str) -> bool:
        """Say whether a request may be answered.

        Args:
            authorization: The header, "" where there is none.
            query: What stands behind `?` in the address, which may hold a ticket.
        """
        if self.is_open:
            return True
        kind, _, given = authorization.partition(" ")
        # Headers come as Latin-1, whatever their bytes mean.
        if kind.lower() == "bearer" and self._keys:
            return _is_one_of(given.strip().encode("latin-1"), self._keys)
        ticket = ticket_in(authorization, query)
        if ticket is not None:
            return self.renew(ticket)
        return kind.lower() == "basic" and self._is_user(_decoded(given))

    def log_in(self, user: str, password: str) -> str | None:
        """Return a new ticket, or None where the password is wrong; an open service takes any."""
        given = f"{user}:{password}".encode("utf-8", "surrogatepass")
        if not self.is_open and (":" in user or not self._is_user(given)):
            return None
        ticket = _TICKET + secrets.token_hex(20)
        with self._lock:
            self._tickets[ticket] = self._clock(), user
            while len(self._tickets) > MOST_TICKETS:
                del self._tickets[next(iter(self._tickets))]
        return ticket

    def renew(self, ticket: str) -> bool:
        """Say whether a ticket is good; it then is for another hour."""
        with self._lock:
            used, user = self._tickets.pop(ticket, (None, ""))
            now = self._clock()
            if used is None or now - used > TICKET_SECONDS:
                return False
            # At the end, so that the first is always the one unused for longest.
            self._tickets[ticket] = now, user
            return True

    def log_out(self, ticket: str) -> bool:
        """End a ticket; say whether it was good."""
        is_good = self.renew(ticket)
        with self._lock:
            self._tickets.pop(ticket, None)
        return is_good

    def user_of(self, authorization: str, query: str) -> str:
        """Return the name of who asks, as `admits` knows them; "guest" for who has none, as with a key."""
        ticket = ticket_in(authorization, query)
        with self._lock:
            if ticket is not None:
                return self._tickets.get(ticket, (0.0, _NOBODY))[1]
        kind, _, given = authorization.partition(" ")
        name = _decoded(given).partition(b":")[0] if kind.lower() == "basic" else b""
        try:
            return name.decode() or _NOBODY
        except UnicodeDecodeError:
            return name.decode("latin-1")

    def _is_user(self, given: bytes) -> bool:
        return _is_one_of(given, self._users)


def _is_one_of(given: bytes, known: list[bytes]) -> bool:
    # All are compared, so that the time taken tells nothing of them.
    return sum(hmac.compare_digest(given, each) for each in known) > 0


def ticket_in(authorization: str, query: str) -> str | None:
    """Return the ticket of a request: `base64(ROLE_TICKET:ticket)`, `base64(ticket)`, or `alf_ticket` in the address.

    Args:
        authorization: The header, "" where there is none.
        query: What stands behind `?` in the address.
    """
    kind, _, given = authorization.partition(" ")
    if kind.lower() == "basic":
        user, _, password = _decoded(given).partition(b":")
        if user.upper() == _TICKET_USER:
            return password.decode("latin-1")
        if user.startswith(_TICKET.encode()):
            return user.decode("latin-1")
        return None
    if authorization:
        return None
    return next(iter(parse_qs(query).get("alf_ticket", [])), None)


def _decoded(given: str) -> bytes:
    try:
        return base64.b64decode(given.strip(), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _spellings(text: str) -> set[bytes]:
    """Return a text as clients send it: browsers' `btoa` knows Latin-1 only, others send UTF-8."""
    spelled = {text.encode()}
    with contextlib.suppress(UnicodeEncodeError):
        spelled.add(text.encode("latin-1"))
    return spelled
