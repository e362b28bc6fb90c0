"""Shows documents as nodes of Alfresco's Search and Nodes APIs.

Clients generated from Alfresco's API description require nine keys in every entry, so these keys are always present.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from whorl.model import Hit, Stored
from whorl.output.json_fields import values
from whorl.query.plan.values import date_of, written
from whorl.search.similar.results import Measured

#: Node types: the default for a document without a type, and the type that marks a folder.
NODE_TYPE, FOLDER_TYPE = "cm:content", "cm:folder"
#: Defaults for an unknown creator or modifier and for an unknown date.
NOBODY, NEVER = "System", "1970-01-01T00:00:00.000+0000"
#: Fields of an estimate that a search entry shows.
_ESTIMATED = ("jaccard", "a_in_b", "b_in_a", "exact", "intervals")
_NODES = "workspace://SpacesStore/"
#: A number of bytes. Its digits are limited, because Python refuses to convert thousands of digits.
_SIZE = re.compile(r"[0-9]{1,18}")
_PREFIXES = {
    "{http://www.alfresco.org/model/content/1.0}": "cm:",
    "{http://www.alfresco.org/model/system/1.0}": "sys:",
    "{http://www.alfresco.org/model/application/1.0}": "app:",
    "{http://www.alfresco.org/model/site/1.0}": "st:",
}
#: Properties with their own key in an entry, and the names under which a document may store each.
_OWN: Mapping[str, tuple[str, ...]] = {
    "name": ("cm:name",),
    "type": ("TYPE", "nodeType"),
    "aspects": ("ASPECT", "aspectNames"),
    "created": ("cm:created", "createdAt"),
    "creator": ("cm:creator", "createdByUser"),
    "modified": ("cm:modified", "modifiedAt"),
    "modifier": ("cm:modifier", "modifiedByUser"),
    "parent": ("PARENT", "parentId"),
    "path": ("PATH", "path"),
    "mime type": ("cm:content.mimetype", "mimetype", "mimeType"),
    "size": ("cm:content.size", "sizeInBytes"),
    "encoding": ("cm:content.encoding", "encoding"),
}


def entry(
    hit: Hit,
    stored: Stored,
    *,
    names: Mapping[str, str],
    include: Collection[str],
    fields: Collection[str],
    source: tuple[str, Measured] | None,
    highlight: Sequence[tuple[str, Sequence[str]]] = (),
) -> dict[str, Any]:
    """Return one entry of a search response. It has the keys of `fields` (default: all) and of `include`.

    `names` maps Alfresco's properties to their names in the store. `source` is the source of the query's FINGERPRINT
    with its overlap. `highlight` has fields with fragments of text in which the words of the query are marked.
    """
    node = _Node(stored, names)
    search: dict[str, Any] = {"score": hit.score}
    if source is not None:
        search["fingerprint"] = _fingerprint(*source)
    if highlight:
        search["highlight"] = [{"field": name, "snippets": list(snippets)} for name, snippets in highlight]
    keys = {**node.basics(hit), "search": search}
    optional = {name: value for name, value in node.extras().items() if name in {*include, *fields}}
    wanted = {*fields, *include} if fields else keys.keys()
    return {name: value for name, value in {**keys, **optional}.items() if name in wanted or name in optional}


def node_entry(stored: Stored, names: Mapping[str, str], include: Collection[str]) -> dict[str, Any]:
    """Return a document as an entry of the Nodes API, with aspects, properties and the optional keys of `include`.

    `isFavorite` is always false and `permissions` is always empty, because whorl has neither.
    """
    node = _Node(stored, names)
    more = {**node.extras(), "isFavorite": False, "permissions": {"isInheritanceEnabled": False}}
    wanted = {"aspectNames", "properties", *include}
    return {**node.basics(Hit(stored.id, stored.name, 0.0)), **{name: more[name] for name in more if name in wanted}}


class _Node:
    """Maps a document's stored fields to the keys of a node."""

    def __init__(self, stored: Stored, names: Mapping[str, str]) -> None:
        there = {name: values for name, values in stored.properties.items() if values}
        own_names = {role: _first_present(spellings, there, names) for role, spellings in _OWN.items()}
        for role in ("created", "modified"):
            if own_names[role] and _moment(str(there[own_names[role]][0])) is None:
                own_names[role] = ""
        if not (own_names["mime type"] and own_names["size"] and _SIZE.fullmatch(str(there[own_names["size"]][0]))):
            # `content` needs MIME type and size; if one is missing, the other is an ordinary property.
            own_names |= dict.fromkeys(("mime type", "size", "encoding"), "")
        self._own = {role: there[name] for role, name in own_names.items() if name}
        self._left = {name: values for name, values in there.items() if name not in own_names.values()}

    def _text(self, role: str, default: str = "") -> str:
        return str(self._own[role][0]) if role in self._own else default

    def basics(self, hit: Hit) -> dict[str, Any]:
        """Return the keys that are always present, and `parentId` and `content` if the document has them."""
        # If the documents come from Alfresco, use their node ids, which Alfresco's clients expect.
        noderef = str(self._left.get("LID", ("",))[0])
        node_type = _prefixed(self._text("type", NODE_TYPE))
        created = _moment(self._text("created")) or NEVER
        creator = self._text("creator", NOBODY)
        keys: dict[str, Any] = {
            "id": noderef.removeprefix(_NODES) if noderef.startswith(_NODES) else hit.id,
            "name": hit.name or self._text("name", hit.id),
            "nodeType": node_type,
            "isFolder": node_type == FOLDER_TYPE,
            "isFile": node_type != FOLDER_TYPE,
            "createdAt": created,
            "createdByUser": _user(creator),
            "modifiedAt": _moment(self._text("modified")) or created,
            "modifiedByUser": _user(self._text("modifier", creator)),
            "location": "nodes",
        }
        if parent := self._text("parent"):
            keys["parentId"] = parent.removeprefix(_NODES)
        if mime_type := self._text("mime type"):
            size = int(self._text("size"))
            keys["content"] = {"mimeType": mime_type, "mimeTypeName": mime_type, "sizeInBytes": size}
            if encoding := self._text("encoding"):
                keys["content"]["encoding"] = encoding
        return keys

    def extras(self) -> dict[str, Any]:
        path = self._text("path")
        return {
            # whorl cannot change a node, and has neither locks nor links.
            "allowableOperations": [],
            "isLocked": False,
            "isLink": False,
            "aspectNames": [_prefixed(str(aspect)) for aspect in self._own.get("aspects", ())],
            "path": {"name": path, "isComplete": bool(path), "elements": []},
            "properties": {
                name: values[0] if len(values) == 1 else list(values) for name, values in sorted(self._left.items())
            },
        }


def _fingerprint(reference: str, measured: Measured) -> dict[str, Any]:
    overlap: dict[str, Any] = {
        "source": reference,
        "sharedTokens": measured.shared_tokens,
        "tokens": measured.source_tokens,
    }
    estimated = {} if measured.estimate is None else values(measured.estimate)
    return overlap | {name: estimated[name] for name in _ESTIMATED if name in estimated}


def _first_present(spellings: tuple[str, ...], there: Collection[str], names: Mapping[str, str]) -> str:
    """Return the stored name of the first property in `spellings` that the document has; "" if it has none."""
    for spelling in spellings:
        local = spelling.partition(":")[2]
        for name in (names.get(spelling), spelling, names.get(local), local, spelling.replace(":", "_")):
            if name and name in there:
                return name
    return ""


def _user(name: str) -> dict[str, str]:
    return {"id": name, "displayName": name}


def _moment(text: str) -> str | None:
    moment = date_of(text)
    return None if moment is None else written(moment).replace("Z", "+0000")


def _prefixed(name: str) -> str:
    for uri, prefix in _PREFIXES.items():
        name = name.replace(uri, prefix)
    return name
