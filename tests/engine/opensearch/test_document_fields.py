"""Documents read from the sources of whorl's own and foreign indexes."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.configured_fields import FieldNames
from whorl.engine.index_terms import BETWEEN_WORDS
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.document_fields import (
    CLUSTER_FIELDS,
    FIELDS,
    MAPPING,
    MINHASH,
    OWN,
    REFERENCES,
    SAMPLE,
    SIZE,
    SKETCH,
    WORDS,
    IndexFeatures,
    Json,
    encode_minhash,
    index_body,
    mapping,
    name_in,
    own_fields,
    passage_scheme,
    properties_in,
    source,
    text_in,
    word_term,
    word_terms,
    words_of_texts,
)
from whorl.engine.server_engine import json_bytes
from whorl.fingerprint.fingerprint_texts import Outputs, hash_texts, least_stored_size
from whorl.fingerprint.shingling import Scheme, join
from whorl.fingerprint.sketch.frac_minhash import SketchScheme, lookup_tokens
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import Document

NAMES = FieldNames(content="body.text", name="title")


def test_a_document_is_read_back() -> None:
    """
    Name, text and properties are read back, wherever the index has them.
    """
    document = Document("a", "one two", name="A", properties={"year": 2020, "tags": ["x", "y"], "a.b": True})
    for names in (FieldNames(), NAMES):
        source_fields = source(document, names)
        assert (name_in(source_fields, names), text_in(source_fields, names)) == ("A", "one two")
        assert properties_in(source_fields, names) == {"year": (2020,), "tags": ("x", "y"), "a.b": (True,)}


@pytest.mark.parametrize(
    ("source_fields", "text", "name", "properties"),
    [
        ({"body": {"text": ["one", "two"]}, "title": ["A", "B"]}, "one\ntwo", "A", {}),
        ({"body.text": "one", "title": None}, "one", "", {}),
        ({"body": "one", "title": 7}, "", "7", {"body": ("one",)}),
        (
            {"body": [{"text": ["one", ""]}, {"text": 2}, {"x": 3}], "title": [None, True]},
            "one\n2",
            "true",
            {"body.x": (3,)},
        ),
        (
            {"author": {"name": "Ann", "born": 1970}, "whorl_id": "x", "place": {"lat": 1.5}, "none": None},
            "",
            "",
            {"author.name": ("Ann",), "author.born": (1970,), "place.lat": (1.5,)},
        ),
        (
            {"lines": [{"n": 1}, {"n": 2}, 3], "properties": "p"},
            "",
            "",
            {"lines.n": (1, 2), "lines": (3,), "properties": ("p",)},
        ),
    ],
)
def test_documents_of_another_program(
    source_fields: dict[str, Any], text: str, name: str, properties: dict[str, Any]
) -> None:
    """
    Nested values get names with dots; values of other types are left out.
    """
    assert (text_in(source_fields, NAMES), name_in(source_fields, NAMES)) == (text, name)
    assert properties_in(source_fields, NAMES) == properties


def fields_of(documents: list[Document], features: IndexFeatures = IndexFeatures()) -> list[Json]:  # noqa: B008 - frozen
    return [json.loads(json_bytes(own)) for own in own_fields(documents, FieldNames(), features)]


def test_each_document_of_a_batch_has_its_own_tokens() -> None:
    """
    Tokens of many documents are encoded together; each document gets its own, as if encoded alone.
    """
    lengths = [300, 0, 5, 4, 12, *range(6, 80), 3_000]
    texts = [" ".join(f"w{at * at % 977}of{number}" for at in range(n)) for number, n in enumerate(lengths)]
    fields = fields_of([Document(str(number), text) for number, text in enumerate(texts)])
    for own, fingerprints in zip(fields, hash_texts(texts, Scheme(), Outputs.ALL), strict=True):
        numbers = sorted(set(fingerprints.minima[:, 0].tolist()))
        assert own[MINHASH] == [base64.b64encode(number.to_bytes(8, "big")).decode().rstrip("=") for number in numbers]
        assert tuple(own[SAMPLE]) == lookup_tokens(fingerprints.sketch(SketchScheme()))
    assert [own[SIZE] for own in fields[:4]] == [296, 0, 1, 0]


def test_own_fields_describe_the_document() -> None:
    """
    The own fields contain words with field prefixes, types of values, and the properties that name the document.
    """
    document = Document("a", "One, two!", name="Note", properties={"DBID": 7, "LID": "n", "tag": "Big dog"})
    (own,) = fields_of([document])
    assert own[WORDS][0] == word_term("name", "note")
    assert own[WORDS][-1] == " ".join([word_term("content", "one"), word_term("content", "two")])
    assert " ".join([word_term("tag", "big"), word_term("tag", "dog")]) in own[WORDS]
    assert own[REFERENCES] == ["DBID\x1f7", "LID\x1fn"]
    assert "content\x1fTEXT" in own[FIELDS]
    assert own[SIZE] == 0


@pytest.mark.parametrize("keeps_texts", [True, False])
@pytest.mark.parametrize("words", [203, 204])
def test_a_short_document_has_no_sketch_beside_its_text(words: int, keeps_texts: bool) -> None:
    """
    A document of 199 shingles has no stored sketch if its text can be read; one of 200 shingles has one.
    """
    document = Document("a", " ".join(f"w{number}" for number in range(words)))
    (own,) = fields_of([document], IndexFeatures(keeps_texts=keeps_texts))
    assert own[SIZE] == words - 4
    assert (own[SKETCH] is None) == (keeps_texts and own[SIZE] < least_stored_size(Scheme()))


#: Java's Character.isWhitespace by its documentation: separators except the three non-breaking ones, and some controls.
WHITE = [chr(code) for code in (*range(9, 14), *range(28, 32), 32, 0x1680, 0x2003, 0x2028, 0x2029, 0x205F, 0x3000)]
#: Blanks are included, since U+202F does not separate words and is folded to a blank.
WORD = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp"), include_characters=" "), max_size=300)
NAME = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=120)


@given(st.lists(st.tuples(NAME, WORD), min_size=2, max_size=6, unique=True))
def test_a_term_is_one_and_its_own(pairs: list[tuple[str, str]]) -> None:
    """
    Terms have no white space and at most the analyser's number of units, and differ for different fields and words.
    """
    terms = [word_term(field, word) for field, word in pairs]
    assert len(set(terms)) == len(pairs)
    for term in terms:
        assert not any(char in term for char in WHITE)
        assert len(term.encode("utf-16-le")) <= 510


@given(NAME, st.lists(WORD, max_size=6))
def test_the_terms_of_several_words(field: str, words: list[str]) -> None:
    """
    The terms of words that are joined are those of the single words, also for empty and long words and those with
    blanks.
    """
    terms = " ".join([word_term(field, word) for word in words])
    assert json.loads(word_terms(field, join(words)) or '""') == terms


@given(NAME, st.lists(st.lists(st.one_of(WORD, st.sampled_from(["the", "", " ", '"', "ü", "𝒳"])), max_size=4)))
def test_the_terms_of_several_texts(field: str, texts: list[list[str]]) -> None:
    """
    The terms of texts that are encoded together are those of single texts; a text without words has none.
    """
    terms = words_of_texts(field, [join([]), *map(join, texts)])
    assert [json.loads(term or '""') for term in terms] == [
        "", *(" ".join([word_term(field, word) for word in words]) for words in texts)
    ]  # fmt: skip


def test_white_space_in_the_name_of_a_field() -> None:
    """
    Names that differ in white space are different fields.
    """
    terms = {word_term(f"a{char}b", "word") for char in WHITE} | {word_term("ab", "word"), word_term("a b", "word")}
    assert len(terms) == len(WHITE) + 1


def test_the_beginning_of_a_long_word_stays() -> None:
    """
    The term of a long word begins with the word's prefix, so prefix patterns find it.
    """
    assert word_term("content", "abc" * 200).startswith(word_term("content", "abc" * 13))


def test_terms_as_a_cluster_cuts_them(url: str) -> None:
    """
    The cluster's analyser returns each term unchanged, including the longest and those of unusual field names.
    """
    terms = [
        word_term(field, word)
        for field in ("content", "a b", "\u3000x\u2028", "n" * 100)
        for word in ("law", "10 ", " 1 0", "ü" * 300, "𝒳" * 200, "x" * 240, "x" * 260)
    ]
    client = IndexClient(url)
    analysis = client.raw.indices.analyze(index=client.index, body={"field": WORDS, "text": BETWEEN_WORDS.join(terms)})
    assert [token["token"] for token in analysis["tokens"]] == terms
    assert [token["position"] for token in analysis["tokens"]] == list(range(len(terms)))
    client.close()


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_minhash_tokens_are_their_bytes(numbers: list[int]) -> None:
    """
    Each token is eight bytes in base64, without padding.
    """
    spelled = encode_minhash(np.array(numbers, dtype=np.uint64))
    assert [int.from_bytes(base64.b64decode(f"{token}=")) for token in spelled] == numbers
    assert spelled == [base64.b64encode(number.to_bytes(8)).decode().rstrip("=") for number in numbers]


def test_a_new_index_keeps_nothing_twice() -> None:
    """
    A new index excludes whorl's fields from the source, and leaves the number of shards to the cluster.
    """
    body = index_body(FieldNames(content="body"))
    assert body["settings"] == {}
    assert body["mappings"]["_source"] == {"excludes": [OWN]}
    without = {*MAPPING, *CLUSTER_FIELDS, "name", "body", "properties"}
    assert set(body["mappings"]["properties"]) == {*without, MINHASH}
    assert set(index_body(FieldNames(content="body"), without_minhash=True)["mappings"]["properties"]) == without


@pytest.mark.parametrize("name", [*MAPPING])
def test_our_fields_are_covered_by_the_pattern(name: str) -> None:
    """
    The pattern of whorl's fields matches each of them, so that sources exclude it.
    """
    assert name.startswith(OWN.rstrip("*"))
    assert mapping(FieldNames())[name] == MAPPING[name]


def test_passage_field_of_an_older_version() -> None:
    """
    The field of an index made before apostrophes were folded has the same parameters, so that a backfill can use it.
    """
    field = {"type": "text", "meta": {"scheme": "passages1-t12-k8-b32"}}
    assert passage_scheme(field) == PassageScheme.for_runs(12)
