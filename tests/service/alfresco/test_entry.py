"""A hit as an entry of Alfresco's Search API, key by key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from whorl.model import Hit, Stored
from whorl.service.alfresco.entry import entry
from whorl.similar.hits import exact_estimate
from whorl.similar.measured import Measured

NODE = "aaaabbbb-cccc-4ddd-8eee-ffff00001111"


def made(
    properties: Mapping[str, Any],
    *,
    hit: Hit = Hit("d1", "", 2.0),  # noqa: B008 - frozen
    names: Mapping[str, str] | None = None,
    include: Collection[str] = (),
    fields: Collection[str] = (),
    source: tuple[str, Measured] | None = None,
) -> dict[str, Any]:
    """The entry of a document with some properties, each of one value or a tuple of several."""
    stored = {name: each if isinstance(each, tuple) else (each,) for name, each in properties.items()}
    return entry(
        hit, Stored(hit.id, hit.name, stored), names=names or {}, include=include, fields=fields, source=source
    )


def user(name: str) -> dict[str, str]:
    return {"id": name, "displayName": name}


def test_a_document_with_nothing() -> None:
    """
    The keys that generated clients want, with what nobody is known to have done.
    """
    never = "1970-01-01T00:00:00.000+0000"
    assert made({}) == {
        "id": "d1",
        "name": "d1",
        "nodeType": "cm:content",
        "isFolder": False,
        "isFile": True,
        "createdAt": never,
        "createdByUser": user("System"),
        "modifiedAt": never,
        "modifiedByUser": user("System"),
        "location": "nodes",
        "search": {"score": 2.0},
    }


def test_a_node() -> None:
    """
    Its own identity and type, in prefixes; times in Alfresco's form; who made it has changed it if nobody else did.
    """
    told = made(
        {
            "LID": f"workspace://SpacesStore/{NODE}",
            "TYPE": "{http://www.alfresco.org/model/content/1.0}folder",
            "PARENT": f"workspace://SpacesStore/{NODE}",
            "cm:name": "its name",
            "cm_created": "2020-05-03T10:30:00+02:00",
            "creator": "ann",
        }
    )
    assert (told["id"], told["parentId"], told["name"]) == (NODE, NODE, "its name")
    assert (told["nodeType"], told["isFolder"], told["isFile"]) == ("cm:folder", True, False)
    assert told["createdAt"] == told["modifiedAt"] == "2020-05-03T08:30:00.000+0000"
    assert told["createdByUser"] == told["modifiedByUser"] == user("ann")


def test_which_spelling_counts() -> None:
    """
    What the settings call a property, before its own name, its local one, and one with an underscore.
    """
    names = {"cm:creator": "author"}
    spellings = {"author": "a", "cm:creator": "b", "creator": "c", "cm_creator": "d"}
    for left in ("a", "b", "c", "d"):
        assert made(spellings, names=names)["createdByUser"] == user(left)
        spellings = {name: value for name, value in spellings.items() if value != left}
    assert made({"cm:creator": ()})["createdByUser"] == user("System")


@pytest.mark.parametrize("size", ["12.5", "-1", "", "1e3", "٣", "9" * 19, "9" * 5000, "x", True, 1.5])
def test_a_size_that_is_none(size: object) -> None:
    """
    Text may stand there, of any length; then there is no content, and both stay among the properties.
    """
    told = made({"cm:content.mimetype": "text/plain", "cm:content.size": size}, include=["properties"])
    assert "content" not in told
    assert told["properties"] == {"cm:content.mimetype": "text/plain", "cm:content.size": size}


def test_content() -> None:
    """
    Type, size and, where it is known, encoding.
    """
    told = made({"mimetype": "text/plain", "sizeInBytes": "12", "encoding": "UTF-8"}, include=["properties"])
    assert told["content"] == {
        "mimeType": "text/plain", "mimeTypeName": "text/plain", "sizeInBytes": 12, "encoding": "UTF-8",
    }  # fmt: skip
    assert told["properties"] == {}


def test_what_was_asked_for() -> None:
    """
    `include` adds, `fields` leaves out the others, and either may name what is not there unless it is asked for.
    """
    some = {"pages": 3, "tags": ("a", "b"), "PATH": "/x", "ASPECT": "{http://www.alfresco.org/model/content/1.0}titled"}
    added = made(some, include=["properties", "path", "aspectNames", "nosuch"])
    assert added.keys() - made(some).keys() == {"properties", "path", "aspectNames"}
    assert added["properties"] == {"pages": 3, "tags": ["a", "b"]}
    assert added["path"] == {"name": "/x", "isComplete": True, "elements": []}
    assert added["aspectNames"] == ["cm:titled"]
    assert made(some, fields=["id", "isLocked"]) == {"id": "d1", "isLocked": False}
    assert made(some, fields=["id"], include=["isLink"]) == {"id": "d1", "isLink": False}


def test_what_is_shared_with_the_source() -> None:
    """
    Tokens of how many, and the shares where they are known.
    """
    told = made({}, source=("src", Measured(100, 512, exact_estimate(40, 80, 20))))["search"]
    assert told == {
        "score": 2.0,
        "fingerprint": {
            "source": "src", "sharedTokens": 100, "tokens": 512,
            "jaccard": 0.2, "a_in_b": 0.5, "b_in_a": 0.25, "exact": True,
        },
    }  # fmt: skip
    without = made({}, source=("src", Measured(1, 512, None)))["search"]["fingerprint"]
    assert without == {"source": "src", "sharedTokens": 1, "tokens": 512}
