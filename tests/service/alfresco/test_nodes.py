"""Tests of a hit as an entry of Alfresco's Search API, key by key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from whorl.model import Hit, Stored
from whorl.search.similar.results import Measured, exact_estimate
from whorl.service.alfresco.routes import entry

NODE = "aaaabbbb-cccc-4ddd-8eee-ffff00001111"


def node_json(
    properties: Mapping[str, Any],
    *,
    hit: Hit = Hit("d1", "", 2.0),  # noqa: B008 - frozen
    names: Mapping[str, str] | None = None,
    include: Collection[str] = (),
    fields: Collection[str] = (),
    source: tuple[str, Measured] | None = None,
) -> dict[str, Any]:
    """Return the entry of a document with these properties; a tuple is a property of several values."""
    stored = {name: value if isinstance(value, tuple) else (value,) for name, value in properties.items()}
    return entry(
        hit, Stored(hit.id, hit.name, stored), names=names or {}, include=include, fields=fields, source=source
    )


def user(name: str) -> dict[str, str]:
    return {"id": name, "displayName": name}


def test_a_document_with_nothing() -> None:
    """
    An entry has the keys that generated clients require; unknown users and times have placeholders.
    """
    never = "1970-01-01T00:00:00.000+0000"
    assert node_json({}) == {
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
    A node has its own identity and prefixed type, and times in Alfresco's form; without a modifier, the creator is the
    modifier.
    """
    node = node_json(
        {
            "LID": f"workspace://SpacesStore/{NODE}",
            "TYPE": "{http://www.alfresco.org/model/content/1.0}folder",
            "PARENT": f"workspace://SpacesStore/{NODE}",
            "cm:name": "its name",
            "cm_created": "2020-05-03T10:30:00+02:00",
            "creator": "ann",
        }
    )
    assert (node["id"], node["parentId"], node["name"]) == (NODE, NODE, "its name")
    assert (node["nodeType"], node["isFolder"], node["isFile"]) == ("cm:folder", True, False)
    assert node["createdAt"] == node["modifiedAt"] == "2020-05-03T08:30:00.000+0000"
    assert node["createdByUser"] == node["modifiedByUser"] == user("ann")


@pytest.mark.parametrize(
    ("types", "is_folder"),
    [
        (("st:site", "cm:folder", "cm:cmobject"), True),
        (("acme:contract", "cm:content"), False),
        (("acme:folder",), False),
    ],
)
def test_a_type_with_those_that_it_inherits_from(types: tuple[str, ...], is_folder: bool) -> None:
    """
    The first type is the node's; a node is a folder if its type inherits from `cm:folder`.
    """
    node = node_json({"TYPE": types})
    assert (node["nodeType"], node["isFolder"], node["isFile"]) == (types[0], is_folder, not is_folder)


def test_precedence_of_spellings() -> None:
    """
    The name in the settings comes before the property's own name, its local name, and the name with an underscore.
    """
    names = {"cm:creator": "author"}
    spellings = {"author": "a", "cm:creator": "b", "creator": "c", "cm_creator": "d"}
    for left in ("a", "b", "c", "d"):
        assert node_json(spellings, names=names)["createdByUser"] == user(left)
        spellings = {name: value for name, value in spellings.items() if value != left}
    assert node_json({"cm:creator": ()})["createdByUser"] == user("System")


@pytest.mark.parametrize("size", ["12.5", "-1", "", "1e3", "٣", "9" * 19, "9" * 5000, "x", True, 1.5])
def test_a_size_that_is_none(size: object) -> None:
    """
    An invalid size (text of any length) leaves out the content, and both values stay among the properties.
    """
    node = node_json({"cm:content.mimetype": "text/plain", "cm:content.size": size}, include=["properties"])
    assert "content" not in node
    assert node["properties"] == {"cm:content.mimetype": "text/plain", "cm:content.size": size}


def test_content() -> None:
    """
    The content has the type, the size and, if known, the encoding.
    """
    node = node_json({"mimetype": "text/plain", "sizeInBytes": "12", "encoding": "UTF-8"}, include=["properties"])
    assert node["content"] == {
        "mimeType": "text/plain", "mimeTypeName": "text/plain", "sizeInBytes": 12, "encoding": "UTF-8",
    }  # fmt: skip
    assert node["properties"] == {}


def test_include_adds_keys_and_fields_selects_them() -> None:
    """
    `include` adds keys and `fields` selects keys; both may name keys that an entry only has on request, and `include`
    ignores unknown names.
    """
    properties = {
        "pages": 3,
        "tags": ("a", "b"),
        "PATH": "/x",
        "ASPECT": "{http://www.alfresco.org/model/content/1.0}titled",
    }
    added = node_json(properties, include=["properties", "path", "aspectNames", "nosuch"])
    assert added.keys() - node_json(properties).keys() == {"properties", "path", "aspectNames"}
    assert added["properties"] == {"pages": 3, "tags": ["a", "b"]}
    assert added["path"] == {"name": "/x", "isComplete": True, "elements": []}
    assert added["aspectNames"] == ["cm:titled"]
    assert node_json(properties, fields=["id", "isLocked"]) == {"id": "d1", "isLocked": False}
    assert node_json(properties, fields=["id"], include=["isLink"]) == {"id": "d1", "isLink": False}


def test_namespaces_of_all_models_become_prefixes() -> None:
    """
    Qualified names have the prefix of Alfresco's model; a name of another namespace is unchanged.
    """
    names = ("{http://www.alfresco.org/model/exif/1.0}exif", "{http://example.org}own", "cm:titled")
    added = node_json({"ASPECT": names}, include=["aspectNames"])
    assert added["aspectNames"] == ["exif:exif", "{http://example.org}own", "cm:titled"]


def test_an_entry_has_its_overlap_with_the_source() -> None:
    """
    An entry has the number of shared tokens, the number of tokens looked up, and the shares if they are known.
    """
    search = node_json({}, source=("src", Measured(100, 512, exact_estimate(40, 80, 20))))["search"]
    assert search == {
        "score": 2.0,
        "fingerprint": {
            "source": "src", "sharedTokens": 100, "tokens": 512,
            "jaccard": 0.2, "a_in_b": 0.5, "b_in_a": 0.25, "exact": True,
        },
    }  # fmt: skip
    without = node_json({}, source=("src", Measured(1, 512, None)))["search"]["fingerprint"]
    assert without == {"source": "src", "sharedTokens": 1, "tokens": 512}
