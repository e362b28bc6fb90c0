"""Documents read from the sources of whorl's own and foreign indexes."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.engine.opensearch.documents import name_in, own_fields, properties_in, source, text_in, without_text
from whorl.engine.opensearch.fields import FIELDS, HANDLE, SIZE, WORDS, SourceNames, word_term
from whorl.fingerprint.batch import Parts, hashed
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.model import Document

NAMES = SourceNames(content="body.text", name="title")


def test_a_document_comes_back() -> None:
    """
    Name, text and properties are read back, wherever the index has them.
    """
    document = Document("a", "one two", name="A", properties={"year": 2020, "tags": ["x", "y"], "a.b": True})
    for names in (SourceNames(), NAMES):
        told = source(document, names)
        assert (name_in(told, names), text_in(told, names)) == ("A", "one two")
        assert properties_in(told, names) == {"year": (2020,), "tags": ("x", "y"), "a.b": (True,)}


@pytest.mark.parametrize(
    ("told", "text", "name", "properties"),
    [
        ({"body": {"text": ["one", "two"]}, "title": ["A", "B"]}, "one\ntwo", "A", {}),
        ({"body.text": "one", "title": None}, "one", "", {}),
        ({"body": "one", "title": 7}, "", "", {"body": ("one",)}),
        (
            {"author": {"name": "Ann", "born": 1970}, "whorl_id": "x", "place": {"lat": 1.5}, "none": None},
            "",
            "",
            {"author.name": ("Ann",), "author.born": (1970,), "place.lat": (1.5,)},
        ),
        (
            {"lines": [{"n": 1}, {"n": 2}, 3], "properties": "p"},
            "",
            "",
            {"lines.n": (1, 2), "lines": (3,), "properties": ("p",)},
        ),
    ],
)
def test_documents_of_others(told: dict[str, Any], text: str, name: str, properties: dict[str, Any]) -> None:
    """
    Nested values get names with dots; values of other types are left out.
    """
    assert (text_in(told, NAMES), name_in(told, NAMES)) == (text, name)
    assert properties_in(told, NAMES) == properties


def test_own_fields_tell_what_can_be_asked() -> None:
    """
    The own fields contain words with field prefixes, types of values, and the properties that name the document.
    """
    document = Document("a", "One, two!", name="Note", properties={"DBID": 7, "LID": "n", "tag": "Big dog"})
    (read,) = hashed([document.text], Scheme(), Parts.ALL)
    own = own_fields(document, read, Scheme(), SketchScheme(), SourceNames(), None)
    assert own[WORDS][0] == word_term("name", "note")
    assert own[WORDS][-1] == " ".join([word_term("content", "one"), word_term("content", "two")])
    assert " ".join([word_term("tag", "big"), word_term("tag", "dog")]) in own[WORDS]
    assert own[HANDLE] == ["DBID\x1f7", "LID\x1fn"]
    assert "content\x1fTEXT" in own[FIELDS]
    assert own[SIZE] == 0


def test_what_is_asked_for_without_the_text() -> None:
    """
    Neither the text nor whorl's own fields are requested.
    """
    assert without_text(NAMES) == {"excludes": ["whorl_*", "body.text"]}
