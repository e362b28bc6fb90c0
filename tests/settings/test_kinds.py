"""Tests of the types of settings: values from a variable and from a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.solr.schema import FieldNames
from whorl.errors import ParameterError
from whorl.settings.kinds import Address, Fields, File, Flag, Folder, Kind, Login, Names, Seconds, Text, Texts, Whole
from whorl.settings.settings import Settings


@pytest.mark.parametrize(
    ("told", "address"),
    [("0.0.0.0:80", ("0.0.0.0", 80)), ("[::1]:0", ("::1", 0)), ("example.org:65535", ("example.org", 65_535))],
)
def test_addresses(told: str, address: tuple[str, int]) -> None:
    """
    An address is a host and a port; an IPv6 address loses its brackets.
    """
    assert Settings.load({"WHORL_LISTEN": told}).listen == address


@pytest.mark.parametrize("told", ["8000", ":8000", "::1:8000", "localhost", "localhost:65536", "a:b", "http://a:80"])
def test_no_addresses(told: str) -> None:
    """
    An ambiguous address is an error.
    """
    with pytest.raises(ParameterError, match="WHORL_LISTEN must be host:port, an IPv6 address in brackets"):
        Settings.load({"WHORL_LISTEN": told})


@pytest.mark.parametrize("told", ["true", "Yes", "1", "on"])
def test_flags_in_variables(told: str) -> None:
    """
    A flag accepts the usual words for true and false.
    """
    assert Settings.load({"WHORL_OPEN": told}).is_open
    opposite = {"true": "false", "Yes": "no", "1": "0", "on": "off"}[told]
    assert not Settings.load({"WHORL_SOLR_VERIFY": opposite}).solr_verify


def test_leading_zeros_change_no_number() -> None:
    """
    Any number of leading zeros leaves a number unchanged.
    """
    assert Settings.load({"WHORL_MAX_WAITING": "0" * 30 + "25"}).max_waiting == 25
    assert Settings.load({"WHORL_MAX_WAITING": "0" * 30}).max_waiting == 0


class Refused:
    """Marker of a ValueError, which becomes an error message of the setting."""


def read(kind: Kind, told: object) -> object:
    try:
        return kind.read(told)
    except ValueError:
        return Refused


FIVE = Whole(1, 5)
READ: list[tuple[Kind, object, object]] = [
    (Text("words"), "a b", "a b"),
    (Text("words"), "", Refused),
    (Text("words"), 5, Refused),
    (Texts("a key"), " a ,b", ("a", "b")),
    (Texts("a key"), ["a, b ", "c"], ("a, b", "c")),
    (Texts("a key"), [], ()),
    (Texts("a key"), "", Refused),
    (Texts("a key"), "a,,b", Refused),
    (Texts("a key"), ["a", 5], Refused),
    (Texts("a key"), {"a": "b"}, Refused),
    (FIVE, "0005", 5),
    (FIVE, 5, 5),
    (FIVE, "6", Refused),
    (FIVE, "0", Refused),
    (FIVE, "-1", Refused),
    (FIVE, "+1", Refused),
    (FIVE, " 1", Refused),
    (FIVE, "1.0", Refused),
    (FIVE, 1.0, Refused),
    (FIVE, True, Refused),
    (FIVE, "５", Refused),
    (FIVE, "9" * 5_000, Refused),
    (Whole(0, 10**6), "1_000", 1000),
    (Whole(0, 10**6), "1__000", Refused),
    (Whole(0, 10**6), "1_", Refused),
    (Seconds(), "0.5", 0.5),
    (Seconds(), 5, 5.0),
    (Seconds(), True, Refused),
    (Seconds(), 0, Refused),
    (Seconds(), "nan", Refused),
    (Seconds(), 86_399.9, 86_399.9),
    (Seconds(), 10**400, Refused),
    (Seconds(), None, Refused),
    (Flag(), "OFF", False),
    (Flag(), True, True),
    (Flag(), 1, Refused),
    (Flag(), "y", Refused),
    (Folder(), "not/there", Path("not/there")),
    (Folder(), "", Refused),
    (File(), __file__, Path(__file__)),
    (File(), str(Path(__file__).parent), Refused),
    (File(), "not/there", Refused),
    (Login(), "user:pass:word", ("user", "pass:word")),
    (Login(), "user:", ("user", "")),
    (Login(), ":password", Refused),
    (Login(), "user", Refused),
    (Address(), "[::1]:0", ("::1", 0)),
    (Address(), "host:65536", Refused),
    (Address(), "[host]:80", Refused),
    (Address(), "host:٨٠", Refused),
    (Address(), 80, Refused),
    (Fields(), {"content": "text_en"}, FieldNames(content="text_en")),
    (Fields(), {"text": "x"}, Refused),
    (Fields(), {"content": ""}, Refused),
    (Fields(), "content", Refused),
    (Names(), {"cm:title": "title", "": "x"}, {"cm:title": "title", "": "x"}),
    (Names(), {"a": 5}, Refused),
    (Names(), [], Refused),
]


@pytest.mark.parametrize(("kind", "told", "value"), READ)
def test_what_is_told_is_read_or_refused(kind: Kind, told: object, value: object) -> None:
    """
    An ambiguous value is refused, never guessed.
    """
    found = read(kind, told)
    assert (found, type(found)) == (value, type(value))


@given(st.integers(0, 10**18), st.integers(0, 10**18), st.integers(0, 10**19), st.integers(0, 30))
def test_whole_numbers_are_those_of_their_range(one: int, other: int, number: int, zeros: int) -> None:
    """
    Whole numbers within the range are accepted from a file or as text, with any number of leading zeros.
    """
    kind = Whole(min(one, other), max(one, other))
    value = number if kind.least <= number <= kind.most else Refused
    assert read(kind, number) == read(kind, "0" * zeros + str(number)) == value


@pytest.mark.parametrize(
    "kind", {type(kind): kind for kind, _, _ in READ}.values(), ids=lambda kind: type(kind).__name__
)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda one: st.lists(one) | st.dictionaries(st.text(), one),
        max_leaves=5,
    )
)
def test_nothing_else_is_raised(kind: Kind, told: object) -> None:
    """
    Reading raises only ValueError, whatever value a file has.
    """
    read(kind, told)
    assert kind.allowed
