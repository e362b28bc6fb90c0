"""Documents: which are refused, how values are converted, and when two documents are equal."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import DocumentError
from whorl.model import MAX_ID_LENGTH, RESERVED_FIELDS, Document, PropertyValue, documents_of
from whorl.query.plan.nodes import Kind

values = st.one_of(
    st.text(max_size=5),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)
names = st.sampled_from(["k", "cm:title", "größe", " ", "{http://x}n"])
properties = st.dictionaries(names, values | st.lists(values, max_size=3), max_size=3)
documents = st.builds(Document, st.sampled_from("ab"), st.text(max_size=3), st.text(max_size=3), properties)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.int64(4), 4),
        (np.uint8(4), 4),
        (np.float32(2.5), 2.5),
        (np.float64(2.5), 2.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.array([1, 2]), [1, 2]),
        ([np.int32(1), "x", np.float16(0.5)], [1, "x", 0.5]),
    ],
)
def test_values_of_numpy(value: Any, plain: Any) -> None:
    """
    Numbers, truth values, texts and arrays of numpy are stored as those of Python.
    """
    made, expected = (Document("a", "", properties={"k": own}) for own in (value, plain))
    assert (made, made.digest) == (expected, expected.digest)
    assert {type(own) for own in made.contents()["k"]} <= {str, int, float, bool}


@pytest.mark.parametrize("value", [np.float64("nan"), np.datetime64("2020-01-01"), np.array([[1]])])
def test_unsuitable_values_of_numpy(value: Any) -> None:
    """
    A value of numpy that is not a number is refused like one of Python.
    """
    with pytest.raises(DocumentError, match="property 'k' of document 'a'"):
        Document("a", "", properties={"k": value})


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"id": ""}, "an id has 1 to 1000 characters, got 0: ''"),
        ({"id": "x" * 1001}, "an id has 1 to 1000 characters, got 1001: 'xxx"),
        ({"id": "a\nb"}, "an id holds no control characters and no lone surrogates, got 'a\\nb'"),
        ({"id": "\x7f"}, "an id holds no control characters"),
        ({"id": "a\x9b31m"}, "an id holds no control characters"),
        ({"id": "\ud800"}, "an id holds no control characters and no lone surrogates, got '\\ud800'"),
        ({"id": 5}, "id must be text, got 5"),
        ({"text": None}, "text must be text, got None"),
        ({"name": b"x"}, "name must be text, got b'x'"),
        ({"properties": [1]}, "properties are named values, got [1] (document 'a')"),
        ({"properties": {"": 1}}, "a property cannot be called '' (document 'a'); choose another name"),
        ({"properties": {5: 1}}, "a property cannot be called 5 (document 'a')"),
        ({"properties": {"\ud800": 1}}, "a property cannot be called '\\ud800'"),
        ({"properties": {"a\tb": 1}}, "a property's name holds no control characters, got 'a\\tb' (document 'a')"),
        ({"properties": {"k": date(2024, 1, 31)}}, "got datetime.date(2024, 1, 31); store its isoformat()"),
        ({"properties": {"k": None}}, "property 'k' of document 'a' must be text, numbers, true, false or a list"),
        ({"properties": {"k": [1, {"x": 1}]}}, "got {'x': 1}; give its values names of their own"),
        ({"properties": {"k": {"x": 1}}}, "of those, got {'x': 1}"),
        ({"properties": {"k": [["x"]]}}, "of those, got ['x']"),
        ({"properties": {"k": float("nan")}}, "of those, got nan; leave it out"),
        ({"properties": {"k": [1.0, float("-inf")]}}, "of those, got -inf"),
        ({"properties": {"k": 10**1000}}, "property 'k' of document 'a' is a number of over 1,000 digits"),
        *(({"properties": {name: "x"}}, f"a property cannot be called {name!r}") for name in sorted(RESERVED_FIELDS)),
    ],
)
def test_invalid_documents(parts: dict[str, Any], message: str) -> None:
    """
    The message names the part and shows the value.
    """
    with pytest.raises(DocumentError, match=re.escape(message)):
        Document(**{"id": "a", "text": "", **parts})


def test_integers_beyond_64_bits_become_text() -> None:
    """
    A whole number that no engine stores as a number keeps its digits, as text; the field is named.
    """
    limits: list[PropertyValue] = [-(1 << 63), (1 << 63) - 1]
    beyond: list[Any] = [-(1 << 63) - 1, np.uint64(1 << 63), 10**1000 - 1]
    made = Document("a", "", properties={"k": [*limits, *beyond], "l": limits, "m": 1 << 64, "n": str(1 << 64)})
    texts = ("-9223372036854775809", "9223372036854775808", "9" * 1000)
    assert made.contents() == {
        "k": (*limits, *texts),
        "l": tuple(limits),
        "m": ("18446744073709551616",),
        "n": ("18446744073709551616",),
    }
    assert made.fields_with_large_integers() == ["k", "m"]
    kinds = {name: {kind for field, kind, _ in made.whole_values() if field == name} for name in "klmn"}
    assert kinds == {"k": {Kind.INTEGER, Kind.KEYWORD}, "l": {Kind.INTEGER}, "m": {Kind.KEYWORD}, "n": {Kind.KEYWORD}}


def test_messages_are_short() -> None:
    """
    Error messages are short, even for large values.
    """
    for parts in ({"text": ["x" * 9999]}, {"id": "x\n" * 500}, {"properties": {"k": ["x", object(), ("y" * 9999,)]}}):
        with pytest.raises(DocumentError) as caught:
            Document(**{"id": "a", "text": "", **parts})  # type: ignore[arg-type] # on purpose
        assert len(str(caught.value)) < 250


def test_the_length_of_an_id_counts_characters() -> None:
    """
    The length of an id counts characters, not bytes.
    """
    assert Document("😀" * MAX_ID_LENGTH, "").id == "😀" * MAX_ID_LENGTH


def test_lone_surrogates_and_nulls_are_replaced() -> None:
    """
    Lone surrogates in texts, names and values are replaced; two halves become their character, and null is not a value.
    """
    given: dict[str, Any] = {"k": "\ud83d", "l": ["\ud83d\ude00", None, 1, True], "none": []}
    made = Document("a", "x\ud800", "\udfffy", given)
    assert (made.text, made.name) == ("x\ufffd", "\ufffdy")
    assert made.contents() == {"k": ("\ufffd",), "l": ("😀", 1, True), "none": ()}


def test_values_in_three_ways() -> None:
    """
    Values are available unchanged, as text, and once each with their type; dates and long texts keep their own type.
    """
    made = Document(
        "a", "", "The name", {"n": [1, 1, 1.0, True], "when": "2021-05-03", "t": ["x", "x"], "f": -0.0, "0": []}
    )
    assert made.contents() == {"n": (1, 1, 1.0, True), "when": ("2021-05-03",), "t": ("x", "x"), "f": (-0.0,), "0": ()}
    assert made.values() == {
        "n": ("1", "1", "1.0", "true"), "when": ("2021-05-03",), "t": ("x", "x"), "f": ("-0.0",), "0": (),
    }  # fmt: skip
    assert made.whole_values() == [
        ("name", Kind.KEYWORD, "The name"),
        ("n", Kind.INTEGER, 1),
        ("n", Kind.FLOAT, 1.0),
        ("n", Kind.BOOLEAN, True),
        ("when", Kind.DATE, 1620000000000),
        ("t", Kind.KEYWORD, "x"),
        ("f", Kind.FLOAT, 0.0),
    ]
    assert Document("a", "").whole_values() == []


@given(documents, documents)
def test_equal_digests_are_equal_documents(one: Document, other: Document) -> None:
    """
    The digest changes with every stored part: 1, 1.0, true and "1" are four values.
    """

    def stored(document: Document) -> str:
        parts = [document.id, document.text, document.name, sorted(document.properties.items())]
        return json.dumps(parts)

    assert (one.digest == other.digest) == (stored(one) == stored(other))
    for twin in (1, 1.0, True, "1"):
        for sibling in (1, 1.0, True, "1"):
            same = repr(twin) == repr(sibling)
            assert (Document("a", "", "", {"k": twin}).digest == Document("a", "", "", {"k": sibling}).digest) == same


@given(documents)
def test_digests_are_those_of_earlier_versions(document: Document) -> None:
    """
    A digest is the hash of the document in the JSON of Python's `json`; another one would index unchanged documents.
    """
    parts = json.dumps([document.id, document.name, dict(document.properties), document.text], sort_keys=True)
    assert document.digest == hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()


@pytest.mark.parametrize("text", ["".join(map(chr, range(128))), "\x7f", '"\\\u2028é𝒳', "plain"])
def test_digests_of_texts_that_json_escapes(text: str) -> None:
    """
    Digests do not depend on the library that escapes a text.
    """
    parts = json.dumps(["a", text, {}, text])
    assert Document("a", text, text).digest == hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()


def test_the_order_of_properties_does_not_matter() -> None:
    """
    The order of properties does not matter, that of a property's values does; a single value equals a list of one.
    """
    assert Document("a", "", "", {"x": 1, "y": 2}).digest == Document("a", "", "", {"y": [2], "x": 1}).digest
    assert Document("a", "", "", {"x": [1, 2]}).digest != Document("a", "", "", {"x": [2, 1]}).digest


ODD = st.text(max_size=3) | st.sampled_from(["a" * 1001, "\ud800", "a\nb", 5, None, b"x"])


@given(st.lists(st.tuples(ODD, ODD, ODD, properties | st.just({"k": None})), min_size=1, max_size=3), st.booleans())
def test_documents_made_together(rows: list[tuple[Any, ...]], with_properties: bool) -> None:
    """
    documents_of makes the same documents as single construction, and none if one of them is refused.
    """
    ids, texts, called, own = (list(column) for column in zip(*rows, strict=True))
    own = own if with_properties else []
    made = documents_of(ids, texts, called, own)
    try:
        expected = [
            Document(*values[:3], values[3] if with_properties else {})
            for values in zip(ids, texts, called, own or ids, strict=True)
        ]
    except DocumentError:
        assert made is None
    else:
        assert made == expected
        assert [document.digest for document in made or []] == [document.digest for document in expected]
