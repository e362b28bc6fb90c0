"""References after `FINGERPRINT:`: a document's id, Alfresco's DBID, or a node reference."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

#: "key" is an id of the store itself, "dbid" the property DBID, "noderef" the property LID.
Role: TypeAlias = Literal["key", "dbid", "noderef"]

#: Prefix of Alfresco's references to nodes of its main store.
NODEREF_PREFIX = "workspace://SpacesStore/"

_NUMBER = re.compile(r"[0-9]+")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def candidates(reference: str) -> tuple[tuple[Role, str], ...]:
    """Return the possible meanings of a reference; the first that exists is the right one.

    Digits are a DBID before they are an id, as in Alfresco, whose users paste either.
    Source: Solr4QueryParser.createFingerPrintQuery.

    >>> candidates("1234")
    (('dbid', '1234'), ('key', '1234'))
    >>> candidates("report.txt")
    (('key', 'report.txt'),)
    """
    if _NUMBER.fullmatch(reference):
        return ("dbid", reference), ("key", reference)
    if _UUID.fullmatch(reference):
        noderef = NODEREF_PREFIX + reference
        return ("noderef", noderef), ("key", reference), ("key", noderef)
    uuid = reference.removeprefix(NODEREF_PREFIX)
    if uuid != reference and _UUID.fullmatch(uuid):
        return ("noderef", reference), ("key", reference), ("key", uuid)
    return (("key", reference),)
