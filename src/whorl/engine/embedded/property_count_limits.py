"""Limits the number of properties of a document, and of property names in a store on disk."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from whorl.errors import DocumentError
from whorl.model import CLUSTER, IS_PRINCIPAL, Document

_OWN = frozenset(("name", CLUSTER, IS_PRINCIPAL))


@dataclass(frozen=True, slots=True)
class PropertyLimits:
    """Maximum number of properties of a document, and of different property names in a store.

    The names are limited because every search reads all of them.
    """

    per_document: int = 1_000
    names: int = 10_000

    def require(self, documents: Iterable[Document], known: Collection[str]) -> None:
        """Raise DocumentError if a document exceeds a limit; `known` has the fields of the store."""
        names = {*known} - _OWN
        for document in documents:
            if (count := len(document.properties.keys() - _OWN)) > self.per_document:
                raise DocumentError(
                    f"document {document.id!r:.80} has {count:,} properties, and a store on disk "
                    f"takes {self.per_document:,} of one document (setting max_properties)"
                )
            new = {name for name, values in document.contents().items() if values} - names - _OWN
            names |= new
            if new and len(names) > self.names:
                raise DocumentError(
                    f"document {document.id!r:.80} has new names of properties, such as {min(new)!r:.80}, and with "
                    f"them the store would have {len(names):,} names; it takes {self.names:,} (setting "
                    f"max_property_names). Delete documents with names that are no longer needed, or raise the limit"
                )
