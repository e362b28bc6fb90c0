"""Turns documents into records and index entries of an embedded store, and defines the schema of its tantivy index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import tantivy

from whorl.arrays import chunks, sorted_distinct
from whorl.engine.embedded.database import NumberedDocument, Record
from whorl.engine.embedded.segmented_token_index import DocumentTokens
from whorl.engine.index_terms import (
    OWN_FIELDS,
    joined_terms,
    presence_term,
    text_terms,
    value_term,
)
from whorl.fingerprint.batch import BATCH_CHARACTERS, BATCH_TEXTS, Hashed, Parts, hashed
from whorl.fingerprint.shingling import Scheme, joined_words
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme, lookup_numbers
from whorl.fingerprint.winnowing import Numbers, PassageScheme, passage_numbers
from whorl.model import Document
from whorl.query.plan.fields_and_values import split_name
from whorl.query.plan.nodes import Kind, Value

#: tantivy's field for the words of all properties except OWN_FIELDS.
_OTHER_WORDS = "words"
#: Number of bits of a MinHash token; the smaller number marks an index without MinHash tokens.
_BITS_OF_MINHASH, _BITS_WITHOUT_MINHASH = 64, 8
_NO_TOKENS: Numbers = np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True)
class DocumentPreparation:
    """Computes the stored and indexed data of documents.

    Args:
        passage_scheme: None for a store without passages.
        has_minhash: Whether the store has MinHash tokens, which only FINGERPRINT queries use.
        keeps_texts: Whether the store keeps texts, not only their passage hashes.
    """

    scheme: Scheme
    sketch_scheme: SketchScheme
    passage_scheme: PassageScheme | None
    has_minhash: bool = True
    keeps_texts: bool = True

    @property
    def token_bits(self) -> list[int]:
        """Bits of each kind of token, in the order of `DocumentTokens.kinds`."""
        minhash = _BITS_OF_MINHASH if self.has_minhash else _BITS_WITHOUT_MINHASH
        return [minhash, self.sketch_scheme.bits, *([self.passage_scheme.bits] if self.passage_scheme else [])]

    def prepare(self, documents: Sequence[Document]) -> list[tuple[Record, IndexEntry]]:
        """Return each document's record for the database, and its entry for the word and token indexes."""
        prepared = []
        for document, fingerprints in zip(documents, self._hash(documents), strict=True):
            if self.keeps_texts:
                sketch = fingerprints.sketch(self.sketch_scheme)
                prepared.append((Record(document, sketch), self._entry(document, fingerprints, sketch)))
            else:
                passages = self._passages(document, fingerprints)
                prepared.append((Record(document, passages), self._entry_without_text(document, passages)))
        return prepared

    def changes(self, documents: Iterable[NumberedDocument]) -> Iterator[list[Change]]:
        """Yield the entries of stored documents for the index, as changes, in batches."""
        for portion in chunks(documents, lambda numbered: len(numbered.document.text), BATCH_CHARACTERS, BATCH_TEXTS):
            if not self.keeps_texts:
                yield [
                    Change(number, document.id, self._entry_without_text(document, passages))
                    for number, document, passages in portion
                ]
                continue
            hashes = self._hash([numbered.document for numbered in portion])
            changes = []
            for (number, document, _), fingerprints in zip(portion, hashes, strict=True):
                sketch = fingerprints.sketch(self.sketch_scheme)
                changes.append(Change(number, document.id, self._entry(document, fingerprints, sketch)))
            yield changes

    def words(self, text: str) -> list[str]:
        return joined_words(text, self.scheme.profile).words()

    def _hash(self, documents: Sequence[Document]) -> Iterator[Hashed]:
        parts = Parts.ALL if self.has_minhash else Parts.HASHES | Parts.WORDS if self.keeps_texts else Parts.WORDS
        return hashed((document.text for document in documents), self.scheme, parts, workers=1)

    def _passages(self, document: Document, fingerprints: Hashed) -> Numbers:
        assert self.passage_scheme is not None
        return passage_numbers(document.text, fingerprints.words, self.scheme, self.passage_scheme)

    def _entry_without_text(self, document: Document, passages: Numbers | None) -> IndexEntry:
        kinds = (_NO_TOKENS, _NO_TOKENS, _NO_TOKENS if passages is None else passages)
        return IndexEntry(DocumentTokens(0, kinds), self._values(document), document.wholes())

    def _entry(self, document: Document, fingerprints: Hashed, sketch: Sketch) -> IndexEntry:
        content = [("content", joined_terms("content", fingerprints.words))] if document.text else []
        # Without MinHash tokens the minima are empty.
        kinds = [sorted_distinct([fingerprints.minima[:, 0]]), lookup_numbers(sketch)]
        if self.passage_scheme:
            kinds.append(self._passages(document, fingerprints))
        tokens = DocumentTokens(sketch.size, tuple(kinds))
        return IndexEntry(tokens, [*content, *self._values(document)], document.wholes())

    def _values(self, document: Document) -> list[tuple[str, str]]:
        """Return the terms of the name and of the properties' distinct values."""
        values = []
        texts = [(name, text) for name, given in document.values().items() for text in dict.fromkeys(given)]
        for name, text in (("name", document.name), *texts):
            if text:
                split = split_name(text) if name == "name" else text
                values.append((name, text_terms(name, split, self.scheme.profile)))
        return values


#: Version of the schema, of the terms and of the token segments; other versions are rebuilt.
LAYOUT = "10"


class IndexEntry(NamedTuple):
    """Indexed data of a document.

    Args:
        values: Pairs of a field's name and the terms of a value, from `engine.index_terms.joined_terms`.
        wholes: Whole values with their fields and types.
    """

    tokens: DocumentTokens
    values: Sequence[tuple[str, str]]
    wholes: Sequence[tuple[str, Kind, Value]] = ()


class Change(NamedTuple):
    """Index change: add the document, or delete it if the entry is None."""

    number: int
    id: str
    entry: IndexEntry | None


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("number", indexed=True)
    for name in (*OWN_FIELDS, _OTHER_WORDS):
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    builder.add_text_field("values", tokenizer_name="raw", index_option="basic")
    # Id of each changed or deleted document, only in the part of the index for recent documents (see `text_index`). A
    # field of bytes takes no space in other documents; a text field would take a byte each.
    builder.add_bytes_field("changed", stored=True, indexed=True)
    # One special document in each part has the name of the store and the range of applied journal numbers.
    builder.add_bytes_field("store", indexed=True)
    builder.add_integer_field("base", stored=True)
    builder.add_integer_field("applied", stored=True)
    builder.add_integer_field("documents", stored=True)
    return builder.build()


SCHEMA = _schema()


def words_analyzer() -> tantivy.TextAnalyzer:
    """Return the analyzer that splits words at the separators of `engine.index_terms.joined_terms`."""
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()


def words_field(field: str) -> str:
    """Return tantivy's field for the words of a field."""
    return field if field in OWN_FIELDS else _OTHER_WORDS


def fill(document: tantivy.Document, document_id: str, number: int, entry: IndexEntry) -> None:
    """Add the indexed data of a document to a tantivy document."""
    document.add_text("id", document_id)
    document.add_unsigned("number", number)
    for name, words in entry.values:
        if words:
            # tantivy leaves a gap between two values, so that no phrase matches across them.
            document.add_text(words_field(name), words)
    present = {(name, kind) for name, kind, _ in entry.wholes} | {(name, Kind.TEXT) for name, words in entry.values}
    for name, kind in present:
        document.add_text("values", presence_term(name, kind))
    for name, kind, value in entry.wholes:
        document.add_text("values", value_term(name, kind, value))
