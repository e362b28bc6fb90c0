"""What tantivy holds of a document: the numbers of its tokens, the words of its fields, and its whole values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tantivy

from whorl.engine.terms import BETWEEN_WORDS, presence, term, value_term
from whorl.planning.clauses import Kind, Value

#: Of the schema and of how words become terms; an index of another layout is made again.
LAYOUT = "5"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is indexed of a document.

    Args:
        id: The document's id.
        tokens: Its distinct tokens.
        sketch: The numbers by which an index knows its sketch.
        size: Its distinct shingles.
        values: Each value of its fields: the field's name, and the words in order.
        wholes: Whole values, each with its field and its type.
    """

    id: str
    tokens: Sequence[int]
    sketch: Sequence[int]
    size: int
    values: Sequence[tuple[str, Sequence[str]]]
    wholes: Sequence[tuple[str, Kind, Value]] = ()


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("MINHASH", indexed=True)
    builder.add_unsigned_field("sketch", indexed=True)
    builder.add_unsigned_field("size", indexed=True, fast=True)
    builder.add_text_field("words", tokenizer_name="words", index_option="position")
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
    """Return what splits the field of words where they were joined."""
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(f"[^{BETWEEN_WORDS}]+")).build()


def fill(document: tantivy.Document, entry: Entry) -> None:
    """Put all that is indexed of a document of the store into one of tantivy's."""
    document.add_text("id", entry.id)
    for token in entry.tokens:
        document.add_unsigned("MINHASH", token)
    for number in entry.sketch:
        document.add_unsigned("sketch", number)
    document.add_unsigned("size", entry.size)
    for name, words in entry.values:
        if words:
            # tantivy leaves a gap between values, so that no phrase goes across.
            document.add_text("words", BETWEEN_WORDS.join([term(name, word) for word in words]))
    present = {(name, kind) for name, kind, _ in entry.wholes} | {(name, Kind.TEXT) for name, words in entry.values}
    for name, kind in present:
        document.add_text("values", presence(name, kind))
    for name, kind, value in entry.wholes:
        document.add_text("values", value_term(name, kind, value))
