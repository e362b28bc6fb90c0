"""Detection of the fields that hold the documents' stored texts, the input of fingerprints and sketches."""

from __future__ import annotations

from dataclasses import dataclass

from whorl.engine.solr.clauses import exists
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.request import EVERYTHING
from whorl.engine.solr.schema import FieldNames, Schema, minhash_chain, names_in_use

#: Fields counted in one request.
_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class TextField:
    """A stored text field and the number of documents with a value in it."""

    name: str
    documents: int

    def __str__(self) -> str:
        return f"{self.name} ({self.documents:,} document{'' if self.documents == 1 else 's'})"


def stored_texts(client: SolrClient, schema: Schema, wanted: FieldNames) -> list[TextField]:
    """Return the stored text fields in use except that of the names, ordered by descending number of documents.

    A field that is not indexed is left out: no query can count its documents.
    """
    names = sorted(name for name in {*schema.fields, *names_in_use(client)} if _is_text(name, schema))
    found = []
    for at in range(0, len(names), _AT_ONCE):
        some = [name for name in names[at : at + _AT_ONCE] if name != wanted.name or name == wanted.content]
        counts = {
            f"field{number}": {"type": "query", "q": exists(name)["lucene"]["query"]}
            for number, name in enumerate(some)
        }
        answer = client.select({"query": EVERYTHING, "limit": 0, "facet": counts}).answer
        facets = answer.object("facets", is_optional=True)
        for number, name in enumerate(some):
            if count := int(facets.object(f"field{number}", is_optional=True).get("count", 0)):
                found.append(TextField(name, count))
    return sorted(found, key=lambda each: (-each.documents, each.name))


def _is_text(name: str, schema: Schema) -> bool:
    field = schema.describe(name)
    if field is None or name.startswith(("whorl_", "_")) or not schema.is_text(name):
        return False
    return (
        schema.is_stored(name) and bool(field.get("indexed", True)) and not minhash_chain(schema.types[field["type"]])
    )


def listing(texts: list[TextField]) -> str:
    """Return the first ten fields with their counts, as part of a sentence."""
    return ", ".join(map(str, texts[:10])) + (f" and {len(texts) - 10} more" if len(texts) > 10 else "")
