"""Check that atomic updates lose no field values in a Solr collection.

At an atomic update, Solr rebuilds the whole document from the values that it can read back: stored fields, and
docValues fields with useDocValuesAsStored. It fills copyField destinations from their sources and discards their
previous values. An atomic update silently empties every other field.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from whorl.engine.solr.answer import Json
from whorl.engine.solr.clauses import exists
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.fields import NEEDED, PASSAGES
from whorl.engine.solr.request import listed
from whorl.engine.solr.schema import Collection, names_in_use
from whorl.errors import EngineResponseError, SchemaError

#: Fields that Solr fills itself, and fields that the update sets.
_NOT_LOST = frozenset({"_version_", "_root_", "_nest_path_", PASSAGES, *NEEDED})
#: Part of the names of subfields of a multi-part field type; Solr rebuilds them with their parent field.
_PART_OF_A_FIELD = "___"
#: Documents checked one by one when a query cannot decide.
_MOST_SUSPECTS = 1000


def require_safe(client: SolrClient, collection: Collection) -> None:
    """Raise an error unless an atomic update of any document leaves all its fields unchanged.

    The check misses documents whose copyField destination has other values in addition to the copied ones.

    Raises:
        SchemaError: The schema has no `_version_`, or documents have values that would be lost; the message names all
            these fields.
    """
    if "_version_" not in collection.schema.fields:
        raise SchemaError(
            f"{client.url} has no field '_version_', without which Solr changes no document in part; add it to the "
            "schema, or index the documents again (whorl index --all)"
        )
    losses = list(_Losses(client, collection).all())
    if losses:
        raise SchemaError(
            f"a change of documents in part would lose what {client.url} has in other fields: {'; '.join(losses)}. "
            "Make what is named stored and index the documents again (whorl index --all)"
        )


class _Losses:
    def __init__(self, client: SolrClient, collection: Collection) -> None:
        self._client, self._collection = client, collection
        self._dynamic = collection.schema.dynamic
        self._sources: dict[str, list[str]] = {}
        for source, destination in collection.schema.copies:
            self._sources.setdefault(destination, []).append(source)

    def all(self) -> Iterator[str]:
        """Yield a description of each loss, with the field and the reason."""
        fields = self._collection.schema.fields
        yield from self._unreadable([name for name in fields if name != self._collection.names.key])
        if any(not self._is_kept(each) and _holds(each) for each in self._dynamic.values()):
            yield from self._unreadable([name for name in self._names_in_use if name not in fields])
        for destination in self._sources:
            yield from self._copied(destination)
        yield from self._nested()

    def _unreadable(self, names: list[str]) -> Iterator[str]:
        for name in sorted(names):
            about = self._about(name)
            is_made = name in _NOT_LOST or _PART_OF_A_FIELD in name or self._is_destination(name)
            if about is None or is_made or self._is_kept(about) or not _holds(about):
                continue
            if count := self._count(exists(name)):
                yield f"{name!r} is neither stored nor docValues ({count})"

    def _copied(self, destination: str) -> Iterator[str]:
        """Yield the destination if Solr would not fill it again from its sources."""
        about = self._about(destination)
        if destination in _NOT_LOST or about is None or not (_holds(about) or self._is_kept(about)):
            return
        sources = [name for pattern in self._sources[destination] for name in self._matching(pattern)]
        unreadable = [name for name in sources if not self._is_kept(self._about(name) or {})]
        if not _holds(about) or "*" in destination:
            # A query cannot find out if the destination is in use, so only its sources decide.
            if unreadable:
                yield f"{destination!r} is copied from {unreadable[0]!r}, which is not stored"
        elif unreadable:
            if count := self._count(exists(destination)):
                yield f"{destination!r} is copied from {unreadable[0]!r}, which is not stored ({count})"
        elif all(_holds(self._about(name) or {}) for name in sources) and (own := self._own(destination)):
            yield f"{destination!r} holds values that were not copied from {', '.join(map(repr, sources))} ({own})"

    def _own(self, destination: str) -> str:
        """Return the number of documents with a filled destination and no source, as text; "" for none."""
        if "*" in self._sources[destination]:
            return ""
        sources = [name for pattern in self._sources[destination] for name in self._matching(pattern)]
        query = {"bool": {"filter": [exists(destination)], "must_not": [exists(name) for name in sources]}}
        body = {"query": query, "limit": _MOST_SUSPECTS, "fields": listed([self._collection.names.key, *sources])}
        found = self._client.select(body)
        # A source whose analysis leaves no word cannot be searched, but can be read back.
        innocent = sum(any(name in document for name in sources) for document in found.documents)
        return _counted(found.total - innocent)

    def _nested(self) -> Iterator[str]:
        """Yield a description of nested documents, since an atomic update would break their blocks."""
        root, key = "_root_", self._collection.names.key
        if not self._collection.schema.fields.get(root, {}).get("indexed"):
            return
        roots = {"join": {"from": root, "to": key, "query": "*:*"}}
        if count := self._count({"bool": {"filter": [exists(root)], "must_not": [roots]}}):
            yield f"there are documents within documents ({count})"

    def _count(self, query: Mapping[str, Any]) -> str:
        """Return the number of matching documents as text, "" for none; a field that is not searchable may have any."""
        try:
            return _counted(self._client.count(query))
        except EngineResponseError as error:
            if error.status != 400:
                raise
            return "some documents, perhaps: it cannot be searched"

    def _about(self, name: str) -> Json | None:
        return self._collection.schema.describe(name)

    def _is_kept(self, about: Json) -> bool:
        """Check whether Solr can read a field's values back unchanged."""
        kind = str(self._collection.schema.types.get(str(about.get("type")), {}).get("class"))
        has_values = about.get("docValues") and about.get("useDocValuesAsStored") and "Collation" not in kind
        return bool(about.get("stored") or has_values)

    def _is_destination(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self._sources)

    def _matching(self, pattern: str) -> list[str]:
        """Return the fields that match the source pattern of a copyField."""
        if "*" not in pattern:
            return [pattern]
        names = [*self._collection.schema.fields, *self._names_in_use]
        fitting = dict.fromkeys(name for name in names if fnmatch.fnmatchcase(name, pattern))
        # Solr does not copy a copyField destination on to other fields.
        return [name for name in fitting if name not in _NOT_LOST and not self._is_destination(name)]

    @cached_property
    def _names_in_use(self) -> list[str]:
        """Names of all fields that documents have or had, including dynamic fields."""
        return sorted(names_in_use(self._client))


def _holds(about: Json) -> bool:
    """Check whether documents can have searchable values in a field."""
    return bool(about.get("indexed") or about.get("docValues"))


def _counted(count: int) -> str:
    return f"{count:,} document{'' if count == 1 else 's'}" if count > 0 else ""
