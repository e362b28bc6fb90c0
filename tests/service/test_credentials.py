"""Tests of keys, users and tickets, without a service."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import ParameterError
from whorl.service.credentials import MOST_TICKETS, TICKET_SECONDS, Authenticator, Credentials, Tickets, ticket_in

USER, PASSWORD = "ann", "p\u00e4ss:w\u00f6rd"


def basic(text: str, encoding: str = "utf-8") -> str:
    return "Basic " + base64.b64encode(text.encode(encoding)).decode()


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_tickets_end_when_they_are_not_used() -> None:
    """
    A ticket expires an hour after its last use.
    """
    clock = Clock()
    authenticator = Authenticator(Credentials(user=(USER, PASSWORD)), Tickets(clock))
    used, unused = authenticator.log_in(USER, PASSWORD), authenticator.log_in(USER, PASSWORD)
    assert used is not None
    assert unused is not None
    assert used != unused
    for _ in range(3):
        clock.now += TICKET_SECONDS - 1
        assert authenticator.tickets.renew(used)
    assert not authenticator.tickets.renew(unused)
    clock.now += TICKET_SECONDS + 1
    assert not authenticator.admits(basic(used), "")
    assert not authenticator.tickets.renew(used)


def test_tickets_are_bounded() -> None:
    """
    The number of tickets is limited: a new ticket replaces the oldest.
    """
    authenticator = Authenticator(Credentials(user=(USER, PASSWORD)), Tickets())
    tickets = [authenticator.log_in(USER, PASSWORD) or "" for _ in range(MOST_TICKETS + 2)]
    assert not authenticator.tickets.renew(tickets[0])
    assert not authenticator.tickets.renew(tickets[1])
    assert authenticator.tickets.renew(tickets[2])
    assert authenticator.tickets.renew(tickets[-1])


@pytest.mark.parametrize("made", [{"api_keys": ("good", "k\udcff")}, {"user": ("ann", "p\udcff")}])
def test_a_secret_that_is_no_text(made: dict[str, Any]) -> None:
    """
    A secret that is not UTF-8 is an error at start, and the message does not show it.
    """
    with pytest.raises(ParameterError, match="UTF-8") as error:
        Credentials(**made)
    assert "\udcff" not in str(error.value)


def test_no_secret_is_shown() -> None:
    """
    Printed credentials contain no secret.
    """
    shown = repr(Credentials(("key",), (USER, PASSWORD)))
    assert "api_keys=1" in shown
    assert PASSWORD not in shown
    assert USER not in shown


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_user_in_either_encoding(encoding: str) -> None:
    """
    Names and passwords are accepted in Latin-1, as browsers send them, and in UTF-8; a colon may be part of the
    password.
    """
    authenticator = Authenticator(Credentials(user=(USER, PASSWORD)), Tickets())
    given = base64.b64encode(f"{USER}:{PASSWORD}".encode(encoding)).decode()
    assert authenticator.admits(f"Basic {given}", "")
    assert authenticator.admits(f"bAsIc {given}", "")
    assert not authenticator.admits(f"Basic !{given}", "")
    assert not authenticator.admits(f"Bearer {given}", "")


@given(st.text(alphabet="ab:\u00e4", max_size=4), st.text(alphabet="ab:\u00e4", max_size=4))
def test_only_the_user_is_admitted(user: str, password: str) -> None:
    """
    Every other pair is refused; a header is compared as one string, a log-in by name and password separately.
    """
    authenticator = Authenticator(Credentials(user=("a", "b:a")), Tickets())
    assert authenticator.admits(basic(f"{user}:{password}"), "") is (f"{user}:{password}" == "a:b:a")
    assert (authenticator.log_in(user, password) is not None) is ((user, password) == ("a", "b:a"))


def test_keys_of_any_characters() -> None:
    """
    A key may have any characters, although headers arrive as Latin-1. Each of several keys works, but no part and no
    list of them.
    """
    authenticator = Authenticator(Credentials(api_keys=("hörse", "日本")), Tickets())
    for key in ("hörse", "日本"):
        assert authenticator.admits("Bearer " + key.encode().decode("latin-1"), "")
    for wrong in ("hörse", "h", "", "hörse,日本".encode().decode("latin-1")):
        assert not authenticator.admits(f"Bearer {wrong}", "")
    assert authenticator.log_in("hörse", "hörse") is None


@pytest.mark.parametrize(
    ("authorization", "query", "ticket"),
    [
        (basic("ROLE_TICKET:TICKET_1"), "", "TICKET_1"),
        (basic("role_ticket:TICKET_1"), "alf_ticket=TICKET_2", "TICKET_1"),
        (basic("TICKET_1"), "", "TICKET_1"),
        (basic("TICKET_1:"), "", "TICKET_1"),
        ("", "a=b&alf_ticket=TICKET_1&alf_ticket=TICKET_2", "TICKET_1"),
        ("", "alf_ticket=", None),
        ("", "", None),
        (basic("ann:TICKET_1"), "alf_ticket=TICKET_1", None),
        ("Bearer TICKET_1", "alf_ticket=TICKET_1", None),
        ("Basic ???", "", None),
    ],
)
def test_tickets_are_read_from_header_and_query(authorization: str, query: str, ticket: str | None) -> None:
    """
    A ticket is found in each form of Alfresco's clients; a header of another kind is not replaced by a ticket in the
    address.
    """
    assert ticket_in(authorization, query) == ticket


def test_a_ticket_is_ended() -> None:
    """
    A ticket can be ended once, and other tickets stay valid.
    """
    authenticator = Authenticator(Credentials(user=(USER, PASSWORD)), Tickets())
    one, other = authenticator.log_in(USER, PASSWORD), authenticator.log_in(USER, PASSWORD)
    assert one is not None
    assert other is not None
    tickets = authenticator.tickets
    assert [tickets.end(one), tickets.end(one), tickets.renew(one), tickets.renew(other)] == [True, False, False, True]


def test_an_open_service_admits_anybody() -> None:
    """
    An open service accepts any credentials, and gives a ticket to a client that asks for one.
    """
    authenticator = Authenticator(Credentials(), Tickets())
    assert authenticator.admits("Basic ???", "")
    ticket = authenticator.log_in("\ud800", ":")
    assert ticket is not None
    assert authenticator.tickets.renew(ticket)


@pytest.mark.parametrize(
    ("credentials", "host", "is_refused"),
    [
        (Credentials(), "127.0.0.1", False),
        (Credentials(), "::1", False),
        (Credentials(), "localhost", False),
        (Credentials(), "0.0.0.0", True),
        (Credentials(), "127.0.0.1.example.org", True),
        (Credentials(), "", True),
        (Credentials(api_keys=("key",)), "0.0.0.0", False),
        (Credentials(user=(USER, PASSWORD)), "0.0.0.0", False),
    ],
)
def test_an_open_service_listens_on_this_machine_only(credentials: Credentials, host: str, is_refused: bool) -> None:
    """
    A service without credentials may listen on this machine only.
    """
    if is_refused:
        with pytest.raises(ParameterError, match="could search and delete; set WHORL_USER"):
            credentials.require_credentials_for(host)
    else:
        credentials.require_credentials_for(host)
