"""The tantivy schema, and index entries of documents: number, words of fields and whole values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import tantivy

from whorl.engine.embedded.postings import DocumentTokens
from whorl.engine.lucene import OTHER_FIELDS, OWN_FIELDS, place, presence, value_term
from whorl.query.plan.clauses import Kind, Value

#: Version of the schema, of the terms and of the runs of tokens; an index with another version is rebuilt.
LAYOUT = "7"


@dataclass(frozen=True, slots=True)
class Entry:
    """The indexed data of a document.

    Args:
        tokens: The tokens of the document.
        values: Each value of its fields: the field's name, and its words joined by `terms.joined`.
        wholes: Whole values, each with its field and its type.
    """

    tokens: DocumentTokens
    values: Sequence[tuple[str, str]]
    wholes: Sequence[tuple[str, Kind, Value]] = ()


class Change(NamedTuple):
    """An index change: add or delete one document.

    Attributes:
        number: The document's number.
        id: The document's id.
        entry: Its indexed data, None to delete it.
    """

    number: int
    id: str
    entry: Entry | None


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("number", indexed=True)
    for name in (*OWN_FIELDS, OTHER_FIELDS):
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    builder.add_text_field("values", tokenizer_name="raw", index_option="basic")
    # In the small part: the id of each changed or deleted document.
    builder.add_text_field("changed", stored=True, tokenizer_name="raw", index_option="basic")
    # Only one special document of each part has these fields: the store, and the range of the journal applied.
    builder.add_text_field("store", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("base", stored=True)
    builder.add_integer_field("applied", stored=True)
    builder.add_integer_field("documents", stored=True)
    return builder.build()


SCHEMA = _schema()


def words_analyzer() -> tantivy.TextAnalyzer:
    """Return the analyzer that splits words at the separators of `terms.joined`."""
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()


def fill(document: tantivy.Document, document_id: str, number: int, entry: Entry) -> None:
    """Add the indexed data of a stored document to a tantivy document."""
    document.add_text("id", document_id)
    document.add_unsigned("number", number)
    for name, words in entry.values:
        if words:
            # tantivy leaves a gap between values, so that no phrase matches across them.
            document.add_text(place(name)[0], words)
    present = {(name, kind) for name, kind, _ in entry.wholes} | {(name, Kind.TEXT) for name, words in entry.values}
    for name, kind in present:
        document.add_text("values", presence(name, kind))
    for name, kind, value in entry.wholes:
        document.add_text("values", value_term(name, kind, value))
