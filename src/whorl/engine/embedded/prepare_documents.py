"""Turns documents into records and index entries of an embedded store, and defines the schema of its tantivy index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import tantivy

from whorl.arrays_and_batches import ascending_distinct, chunks, sort_distinct
from whorl.engine.embedded.database import SKETCH_SCHEME, NumberedDocument, Record
from whorl.engine.embedded.segmented_token_index import DocumentTokens
from whorl.engine.embedded.segments import MINHASH_BITS
from whorl.engine.index_terms import OWN_FIELDS, join_terms, presence_term, property_words, value_term
from whorl.engine.protocol import MinHashPart
from whorl.fingerprint.fingerprint_texts import (
    BATCH_CHARACTERS,
    BATCH_TEXTS,
    Outputs,
    TextHashes,
    hash_texts,
    index_numbers,
    index_outputs,
    least_stored_size,
)
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import Sketch
from whorl.fingerprint.winnowing import Numbers, PassagePlaces, PassageScheme, passage_places, stored_passage_hashes
from whorl.model import Document
from whorl.query.plan.nodes import Kind, Value

#: Name of tantivy's field for the words of all properties except OWN_FIELDS.
_OTHER_WORDS = "words"
#: Number of bits per MinHash token that an index without MinHash tokens declares: its format requires a number.
_BITS_WITHOUT_MINHASH = 8
#: Version of the computation of passage hashes. Version 3 added BROKEN_WORDS for words broken at line ends.
_PASSAGE_LAYOUT = "3"
_NO_TOKENS: Numbers = np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True)
class DocumentPreparation:
    """Computes the stored and indexed data of documents.

    A store without texts keeps only the passage hashes of the texts. Only FINGERPRINT queries use MinHash tokens. If
    `minhash` is "short", the index has only the upper bits of each MinHash token, as many as a look-up hash has. Most
    shortened tokens of a short text are also look-up hashes of this text, and then the index stores only one posting
    for both.
    """

    scheme: Scheme
    passage_scheme: PassageScheme | None
    minhash: MinHashPart = "whole"
    keeps_texts: bool = True

    @property
    def token_bits(self) -> list[int]:
        """Number of bits of each kind of token, in the order of `DocumentTokens.by_kind`."""
        bits = {"whole": MINHASH_BITS, "short": SKETCH_SCHEME.bits, "none": _BITS_WITHOUT_MINHASH}
        return [bits[self.minhash], SKETCH_SCHEME.bits, *([self.passage_scheme.bits] if self.passage_scheme else [])]

    def index_name(self, store: str) -> str:
        """Return the name of a store's index; an existing index with another name is rebuilt."""
        kept = "" if self.keeps_texts else " passages"
        return f"{store}{kept} {self.passage_scheme.name} {_PASSAGE_LAYOUT}" if self.passage_scheme else store

    def prepare(self, documents: Sequence[Document]) -> list[tuple[Record, IndexEntry]]:
        """Return each document's record for the database, and its entry for the text index and the token index."""
        hashes = list(self._hash(documents))
        contents: Sequence[Sketch | PassagePlaces | None]
        if self.keeps_texts or self.passage_scheme is None:
            least = least_stored_size(self.scheme)
            contents = [hashed.sketch(SKETCH_SCHEME) if hashed.hashes.size >= least else None for hashed in hashes]
            passages = self._passages(documents, hashes)
        else:
            contents = placed = [
                passage_places(document.text, hashed.words, self.scheme, self.passage_scheme)
                for document, hashed in zip(documents, hashes, strict=True)
            ]
            passages = [sort_distinct([own.hashes]) for own in placed]
        return list(zip(map(Record, documents, contents), self._entries(documents, hashes, passages), strict=True))

    def changes(self, documents: Iterable[NumberedDocument]) -> Iterator[list[Change]]:
        """Yield batches of index changes that add stored documents."""
        for portion in chunks(documents, lambda numbered: len(numbered.document.text), BATCH_CHARACTERS, BATCH_TEXTS):
            stored = [numbered.document for numbered in portion]
            hashes = list(self._hash(stored))
            passages = self._passages(stored, hashes)
            if not self.keeps_texts:
                passages = [_NO_TOKENS if numbered.passages is None else numbered.passages for numbered in portion]
            yield [
                Change(numbered.number, numbered.document.id, entry)
                for numbered, entry in zip(portion, self._entries(stored, hashes, passages), strict=True)
            ]

    def minhash_tokens(self, texts: Iterable[str]) -> Iterator[Numbers]:
        """Yield the whole MinHash tokens of each text as a uint64 array, ascending and distinct."""
        for hashed in hash_texts(texts, self.scheme, Outputs.MINIMA, workers=1):
            yield sort_distinct([hashed.minima[:, 0]])

    def _hash(self, documents: Sequence[Document]) -> Iterator[TextHashes]:
        outputs = index_outputs(self.scheme) if self.keeps_texts else Outputs.WORDS
        return hash_texts((document.text for document in documents), self.scheme, outputs, workers=1)

    def _passages(self, documents: Sequence[Document], hashes: Sequence[TextHashes]) -> list[Numbers]:
        if self.passage_scheme is None:
            return [_NO_TOKENS] * len(documents)
        return [
            stored_passage_hashes(document.text, hashed.words, self.scheme, self.passage_scheme)
            for document, hashed in zip(documents, hashes, strict=True)
        ]

    def _entries(
        self, documents: Sequence[Document], hashes: Sequence[TextHashes], passages: Sequence[Numbers]
    ) -> Iterator[IndexEntry]:
        texts = [document.text for document in documents]
        minima, lookups = index_numbers(texts, hashes, self.scheme, SKETCH_SCHEME)
        if self.minhash == "short":
            dropped_bits = np.uint64(MINHASH_BITS - SKETCH_SCHEME.bits)
            minima = [ascending_distinct(own >> dropped_bits) for own in minima]
        elif self.minhash == "none":
            minima = [_NO_TOKENS] * len(minima)
        if not self.keeps_texts:
            # Look-up hashes are hashes of only five words, so they would reveal more of a text than passage hashes.
            lookups = [_NO_TOKENS] * len(lookups)
        kinds = [minima, lookups, *([passages] if self.passage_scheme else [])]
        tokens_of_documents = map(DocumentTokens, (hashed.hashes.size for hashed in hashes), zip(*kinds, strict=True))
        columns = (documents, tokens_of_documents, property_words(documents, self.scheme), hashes)
        for document, tokens, named_words, hashed in zip(*columns, strict=True):
            values = [(name, join_terms(name, words)) for name, words in named_words]
            if self.keeps_texts and document.text:
                values.insert(0, ("content", join_terms("content", hashed.words)))
            yield IndexEntry(tokens, values, document.whole_values())


#: Version of the schema, of the terms and of the token segments. An index of another version is rebuilt.
LAYOUT = "13"


class IndexEntry(NamedTuple):
    """Indexed data of a document: tokens, words, and whole (not tokenized) values.

    `values` has a pair for each text of the document: the field's name, and the text's words, joined by
    `engine.index_terms.join_terms`.
    """

    tokens: DocumentTokens
    values: Sequence[tuple[str, str]]
    whole_values: Sequence[tuple[str, Kind, Value]] = ()


class Change(NamedTuple):
    """Index change: add a document, or delete it if `entry` is None; if `is_new`, the index has no earlier version."""

    number: int
    id: str
    entry: IndexEntry | None
    is_new: bool = False


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("number", indexed=True)
    for name in (*OWN_FIELDS, _OTHER_WORDS):
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    builder.add_text_field("values", tokenizer_name="raw", index_option="basic")
    # Ids of changed or deleted documents. Only the small part of the text index uses this field (see `text_index`).
    builder.add_bytes_field("changed", stored=True, indexed=True)
    # Each part has one special document with these four fields: the store's identifier; the numbers of the last journal
    # entries in the main part (`base`) and in this part (`applied`); and the number of documents in the store (main
    # part) or of changed documents (small part).
    builder.add_bytes_field("store", indexed=True)
    builder.add_integer_field("base", stored=True)
    builder.add_integer_field("applied", stored=True)
    builder.add_integer_field("documents", stored=True)
    return _without_field_norms(builder.build())


def _without_field_norms(schema: tantivy.Schema) -> tantivy.Schema:
    """Turn off the field norms of text fields. They take a byte per field and document, and only BM25 scores use them.

    The schema builder of tantivy-py cannot do this, so change the state that a schema is pickled to.
    """
    restore, (state,) = cast(Any, schema).__reduce__()
    for column in state["inner"]:
        if column["type"] == "text":
            column["options"]["indexing"]["fieldnorms"] = False
    return cast(tantivy.Schema, restore(state))


SCHEMA = _schema()
#: Analyzer that splits words at the separators of `engine.index_terms.join_terms`.
WORDS_ANALYZER = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()


def words_field(field: str) -> str:
    """Return the name of tantivy's field for the words of a document's field."""
    return field if field in OWN_FIELDS else _OTHER_WORDS


def fill_tantivy_document(document: tantivy.Document, document_id: str, number: int, entry: IndexEntry) -> None:
    document.add_text("id", document_id)
    document.add_unsigned("number", number)
    for name, words in entry.values:
        if words:
            # tantivy leaves a gap between two values, so no phrase matches across them.
            document.add_text(words_field(name), words)
    present = {(name, kind) for name, kind, _ in entry.whole_values} | {
        (name, Kind.TEXT) for name, words in entry.values
    }
    for name, kind in present:
        document.add_text("values", presence_term(name, kind))
    for name, kind, value in entry.whole_values:
        document.add_text("values", value_term(name, kind, value))
