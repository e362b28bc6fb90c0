"""Tests of the search for reference texts in documents, against plain sets of word n-grams of all texts."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whorl.duplicates import contamination
from whorl.duplicates.contamination import find_in_documents, normalize_texts
from whorl.duplicates.options import DuplicatesOptions, parse_pair_options
from whorl.errors import DocumentError, ParameterError
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.words.tokenizer import tokens, tokens_and_spans
from whorl.model import Document

ITEM = "Write a function that returns the largest prime factor of a number. Assume that it is no prime itself."
texts = st.lists(st.sampled_from(["a", "B", "c", "é", "3,000", "\n1. d"]), max_size=14).map(" ".join)


def grams(text: str, size: int) -> set[tuple[str, ...]]:
    words = tokens(normalize_texts([text])[0])
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}


def options_of(metric: str = "containment", threshold: float = 80, size: int = 8, **more: object) -> DuplicatesOptions:
    return DuplicatesOptions(parse_pair_options(metric, threshold, 95), scheme=Scheme(shingle_size=size), **more)  # type: ignore[arg-type]


def longest_common_run(a: list[str], b: list[str]) -> int:
    lengths = [0] * (len(b) + 1)
    best = 0
    for word in a:
        lengths = [0] + [lengths[at] + 1 if word == other else 0 for at, other in enumerate(b)]
        best = max(best, *lengths)
    return best


@settings(deadline=None, max_examples=80)
@given(
    st.lists(texts, max_size=5),
    st.lists(texts, max_size=5),
    st.integers(1, 4),
    st.sampled_from(["containment", "jaccard"]),
    st.sampled_from([20, 50, 100]),
    st.booleans(),
    st.sampled_from([1, 1 << 22]),
)
@example(["a B c"], ["a B c a B c"], 3, "containment", 100, False, 1)
def test_matches_equal_a_plain_comparison(
    reference: list[str], rows: list[str], size: int, metric: str, threshold: int, has_parts: bool, at_once: int
) -> None:
    """
    Matches and their shares equal those found by comparing plain sets of n-grams; passages are the longest common runs
    of words.
    """
    properties = [{"lang": "de"} if has_parts and at % 2 else {} for at in range(5)]
    items = [Document(f"item {at}", text, "", properties[at]) for at, text in enumerate(reference)]
    documents = [Document(f"row {at}", text, "", properties[at]) for at, text in enumerate(rows)]
    expected = {}
    for item in items:
        for row in documents:
            a, b = grams(item.text, size), grams(row.text, size)
            union = len(a | b) if metric == "jaccard" else min(len(a), len(b))
            if item.properties == row.properties and a & b and Fraction(len(a & b), union) >= Fraction(threshold, 100):
                expected[item.id, row.id] = len(a & b) / len(a), len(a & b) / len(b)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(contamination, "_COUNTED_AT_ONCE", at_once)
        chosen = options_of(metric, threshold, size, within="lang" if has_parts else None)
        matches = find_in_documents(iter(documents), iter(items), chosen)
    pairs = list(matches.pairs())
    assert {(pair.a.id, pair.b.id): (pair.shares.a_in_b, pair.shares.b_in_a) for pair in pairs} == expected
    assert (matches.documents, len(matches.references)) == (len(documents), len(items))
    assert matches.too_short == sum(not grams(text, size) for text in rows)
    assert matches.too_short_references == sum(not grams(text, size) for text in reference)
    by_id = {document.id: document.text for document in [*items, *documents]}
    for pair in pairs:
        assert pair.spans is not None
        passages = [
            tokens(normalize_texts([by_id[member.id]])[0][slice(*span)])
            for member, span in zip((pair.a, pair.b), pair.spans, strict=True)
        ]
        assert passages[0] == passages[1]
        words = [tokens(normalize_texts([by_id[member.id]])[0]) for member in (pair.a, pair.b)]
        assert len(passages[0]) == longest_common_run(*words)
    shares = [
        pair.shares.jaccard if metric == "jaccard" else max(pair.shares.a_in_b, pair.shares.b_in_a) for pair in pairs
    ]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize(
    "row",
    [
        ITEM,
        ITEM.upper().replace(".", "!"),
        ITEM.replace(" ", "\n"),
        f"Question 17.\n 3) {ITEM}",
        f"{'so it goes and goes ' * 200}({ITEM})",
        "\n".join(f"{number}. {line}" for number, line in enumerate(ITEM.split(". "), 1)),
    ],
)
def test_case_line_breaks_and_punctuation_do_not_matter(row: str) -> None:
    """
    Line breaks, case, punctuation, numbering, and text around an item change nothing.
    """
    (pair,) = find_in_documents([Document("row", row)], [Document("item", ITEM)], options_of()).pairs()
    assert pair.shares.a_in_b == 1
    assert pair.spans is not None
    words, spans = tokens_and_spans(row)
    begin, end = pair.spans[1]
    assert row[begin:end].lower().startswith("write")
    assert row[begin:end].lower().endswith("itself")
    assert begin in spans[:, 0]
    assert len(words) >= 19


@pytest.mark.parametrize(("in_item", "in_row"), [("'", "’"), ("’", "'"), ("ʼ", "‘")])
def test_apostrophes_do_not_matter(in_item: str, in_row: str) -> None:
    """
    An item and a row may have apostrophes of different kinds.
    """
    item, row = (
        f"l{mark}été d{mark}une ville qu{mark}il n{mark}aime pas du tout l{mark}hiver" for mark in (in_item, in_row)
    )
    (pair,) = find_in_documents([Document("row", f"On lit: {row}.")], [Document("item", item)], options_of()).pairs()
    assert (pair.shares.a_in_b, pair.spans) == (1, ((0, len(item)), (8, 8 + len(row))))


def test_a_short_row_and_a_part_of_an_item() -> None:
    """
    The shorter text decides: a row that is a part of an item matches, and so does a row with a large part of it.
    """
    words = ITEM.split()
    rows = [Document("part", " ".join(words[:9])), Document("half", " ".join([*words[:13], *["else"] * 40]))]
    matches = find_in_documents(rows, [Document("item", ITEM)], options_of(threshold=50))
    shares = {pair.b.id: (pair.shares.a_in_b, pair.shares.b_in_a) for pair in matches.pairs()}
    assert shares == {"part": (2 / 12, 1), "half": (6 / 12, 6 / 14)}


def test_clusters_have_the_rows_of_each_item() -> None:
    """
    A cluster has an item and its rows, the item with most rows first. For rewriting files, each row counts once.
    """
    other = ITEM.replace("largest", "smallest").replace("Assume", "Suppose")
    rows = [Document("one", other), Document("two", f"{ITEM} {other}"), Document("three", ITEM), Document("four", "no")]
    matches = find_in_documents(rows, [Document("a", ITEM), Document("b", other)], options_of(threshold=100))
    members = [[member.id for member in cluster.members] for cluster in matches.clusters()]
    assert members == [["a", "two", "three"], ["b", "one", "two"]]
    once = [[member.id for member in cluster.members] for cluster in matches.clusters_by_document()]
    assert once == [["a", "two", "three"], ["b", "one"]]
    assert [member.stays for member in next(matches.clusters()).members] == [True, False, False]
    items = [(item.id, [pairs[0].b.id for pairs in item.documents]) for item in matches.items()]
    assert items == [("a", ["two", "three"]), ("b", ["one", "two"])]


@pytest.mark.parametrize("texts", [[ITEM, "no"], ["no", ITEM], [ITEM, ITEM, "no", ITEM]])
def test_the_last_document_of_a_repeated_id_counts(texts: list[str]) -> None:
    """
    If documents have the same id, only the last one counts, and each repetition is reported.
    """
    rows = [Document("other", ITEM), *(Document("same", text) for text in texts)]
    repeated: list[str] = []
    matches = find_in_documents(rows, [Document("item", ITEM)], options_of(), on_repeated=repeated.append)
    assert [pair.b.id for pair in matches.pairs()] == ["other", *(["same"] if texts[-1] == ITEM else [])]
    assert (matches.documents, matches.too_short) == (2, texts[-1] == "no")
    assert repeated == ["same"] * (len(texts) - 1)


@pytest.mark.process
def test_several_processes_give_the_same_result() -> None:
    """
    Two processes find the matches of one, in the same order.
    """
    drawn = random.Random(5)
    words = [f"w{number}" for number in range(30)]
    items = [Document(f"item {at}", " ".join(drawn.choices(words, k=30))) for at in range(20)]
    rows = []
    for at in range(9000):
        text = " ".join(drawn.choices(words, k=12))
        rows.append(Document(f"row {at}", f"{text} {items[at % 20].text if at % 50 == 0 else ''} {text}"))
    one = find_in_documents(iter(rows), items, options_of())
    two = find_in_documents(iter(rows), items, options_of(workers=2))
    assert list(one.pairs()) == list(two.pairs())
    assert len(list(one.pairs())) == 180
    assert (one.documents, two.documents) == (9000, 9000)


def test_a_text_that_repeats_itself_takes_no_longer() -> None:
    """
    Texts that repeat one word have a single shingle, and do not take quadratic time.
    """
    (pair,) = find_in_documents(
        [Document("row", "la " * 50_000)], [Document("item", "la " * 50_000)], options_of()
    ).pairs()
    assert (pair.shares.jaccard, pair.a.size, pair.b.size) == (1, 1, 1)


@pytest.mark.parametrize("item", ["a text", None])
def test_items_that_are_no_documents(item: Any) -> None:
    """
    The error for a document or a reference of another type shows it and a document.
    """
    for documents, reference in (([item], []), ([], [item])):
        with pytest.raises(DocumentError, match=r"got .* instead of a Document; write Document\(id=…, text=…\)"):
            find_in_documents(documents, reference)


def test_options_of_other_searches_are_refused(tmp_path: Path) -> None:
    """
    A state is refused, because each run reads all documents.
    """
    with pytest.raises(ParameterError, match="no state"):
        find_in_documents([], [], options_of(state=tmp_path))
