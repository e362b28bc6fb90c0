"""What tantivy holds of a document: its number, the words of its fields, and its whole values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import tantivy

from whorl.engine.embedded.tokens import DocumentTokens
from whorl.engine.terms import OTHER_FIELDS, OWN_FIELDS, place, presence, value_term
from whorl.planning.clauses import Kind, Value

#: Of the schema, of how words become terms and of the runs of tokens; an index of another layout is made again.
LAYOUT = "6"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is indexed of a document.

    Args:
        tokens: What is looked up of it.
        values: Each value of its fields: the field's name, and what `terms.joined` makes of the words.
        wholes: Whole values, each with its field and its type.
    """

    tokens: DocumentTokens
    values: Sequence[tuple[str, str]]
    wholes: Sequence[tuple[str, Kind, Value]] = ()


class Change(NamedTuple):
    """A document that is to be found from now on, or not any more.

    Attributes:
        number: Its number.
        id: Its id.
        entry: What is indexed of it, None where it is gone.
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
    # Of a document that changed after the main part was written: its id, which a deleted one has, too.
    builder.add_text_field("changed", stored=True, tokenizer_name="raw", index_option="basic")
    # One document of each part has these and no others: from where in the journal the part reaches how far.
    builder.add_text_field("store", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("base", stored=True)
    builder.add_integer_field("applied", stored=True)
    return builder.build()


SCHEMA = _schema()


def words_analyzer() -> tantivy.TextAnalyzer:
    """Return what splits words where `terms.joined` has joined them."""
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()


def fill(document: tantivy.Document, document_id: str, number: int, entry: Entry) -> None:
    """Put all that is indexed of a document of the store into one of tantivy's."""
    document.add_text("id", document_id)
    document.add_unsigned("number", number)
    for name, words in entry.values:
        if words:
            # tantivy leaves a gap between values, so that no phrase goes across.
            document.add_text(place(name)[0], words)
    present = {(name, kind) for name, kind, _ in entry.wholes} | {(name, Kind.TEXT) for name, words in entry.values}
    for name, kind in present:
        document.add_text("values", presence(name, kind))
    for name, kind, value in entry.wholes:
        document.add_text("values", value_term(name, kind, value))
