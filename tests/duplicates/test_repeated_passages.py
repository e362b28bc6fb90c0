"""Tests of exact passages, against a brute-force search of all windows."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whorl.cli.main import main
from whorl.duplicates import DuplicatesOptions, passages_among
from whorl.duplicates.results import Cluster
from whorl.duplicates.split_documents import group_by_document, without_ranges
from whorl.errors import ParameterError
from whorl.fingerprint.words.tokenizer import tokens_and_spans
from whorl.model import Document

texts = st.lists(st.sampled_from(["a", "B", "c", "é", "3,000"]), max_size=14).map(" ".join)
#: Words and white space, with the characters that surround them in code, prices and quotations.
MARKED = [*["a b", "b, c d"] * 5, "e", "_f", "漢", "$", "-", "#", "“", "”", ".", *" (\n", " ", "\r\n", "    ", "\n\n"]
long_ago = "It was the best of times, it was the worst of times, it was the age of wisdom"


def covered(documents: Sequence[Document], words: int, old: int = 0, within: str = "") -> set[tuple[str, int]]:
    """
    Return the words, by document and position, in windows that occurred elsewhere before, by brute force.
    """
    first: dict[tuple[object, ...], tuple[int, int]] = {}
    actual = set()
    for number, document in enumerate(documents):
        own, _ = tokens_and_spans(document.text)
        for at in range(len(own) - words + 1):
            key = (document.properties.get(within), *own[at : at + words])
            there, place = first.setdefault(key, (number, at))
            if number >= old and (there != number or at - place >= words):
                actual |= {(document.id, word) for word in range(at, at + words)}
    return actual


def spans_read(clusters: Sequence[Cluster], documents: Sequence[Document]) -> set[tuple[str, int]]:
    """
    Return the words of repeated passages, after checking each passage against its source.
    """
    of_texts = {document.id: tokens_and_spans(document.text) for document in documents}
    actual = set()
    for cluster in clusters:
        stretches = []
        for match in cluster.matches:
            ((document_id, ((begin, end),)),) = group_by_document([match.b.id]).items()
            words, spans = of_texts[document_id]
            (first,), (last,) = (spans[:, 0] == begin).nonzero()[0], (spans[:, 1] == end).nonzero()[0]
            stretches.append((document_id, range(first, last + 1), words[first : last + 1]))
            assert (match.shares.jaccard, match.is_exact, match.b.size) == (1, True, last + 1 - first)
        assert all(words == stretches[0][2] for _, _, words in stretches)
        for document_id, places, _ in stretches[1:]:
            actual |= {(document_id, place) for place in places}
    return actual


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.lists(texts, max_size=6), st.integers(2, 5), st.integers(0, 2), st.booleans(), st.sampled_from([4, 1 << 20]))
def test_passages_cover_the_windows_that_a_plain_search_finds(
    own: list[str], words: int, old: int, has_parts: bool, at_once: int
) -> None:
    """
    Passages cover exactly the words in windows that occurred elsewhere before, whatever the batch size.
    """
    properties = [{"lang": "de"} if has_parts and at % 2 else {} for at in range(len(own))]
    documents = [
        Document(f"d#{at}", text, "", there) for at, (text, there) in enumerate(zip(own, properties, strict=True))
    ]
    within = "lang" if has_parts else None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("whorl.duplicates.repeated_passages._WORDS_AT_ONCE", at_once)
        patched.setattr("whorl.duplicates.repeated_passages._WINDOWS_AT_ONCE", at_once)
        with passages_among(
            documents[old:], words, DuplicatesOptions(within=within), reference=documents[:old]
        ) as passages:
            clusters, pairs = list(passages.clusters()), list(passages.pairs())
    assert spans_read(clusters, documents) == covered(documents, words, old, within or "")
    assert [len(cluster.matches) for cluster in clusters] == sorted(
        (len(cluster.matches) for cluster in clusters), reverse=True
    )
    assert {(pair.a.id, pair.b.id) for pair in pairs} == {
        (cluster.matches[0].b.id, match.b.id) for cluster in clusters for match in cluster.matches[1:]
    }


@pytest.mark.slow
@pytest.mark.process
def test_the_last_document_of_an_id_counts_in_any_number_of_processes() -> None:
    """
    Repeated ids are reported, and two processes find the same passages as one.
    """
    documents = [Document(str(at % 99), f"{at} {long_ago} {at}") for at in range(300)]
    several = []
    for workers in (1, 2):
        repeated: list[str] = []
        with passages_among(documents, 8, DuplicatesOptions(workers=workers), on_repeated=repeated.append) as passages:
            several.append([[match.b.id for match in cluster.matches] for cluster in passages.clusters()])
        assert set(repeated) == {str(at) for at in range(99)}
    assert several[0] == several[1]
    assert [len(passages) for passages in several[0]] == [99]
    assert several[0][0][0].startswith("3#4-")


def test_apostrophes_of_another_kind() -> None:
    """
    A passage is found with other apostrophes; its id has its place in the document.
    """
    passage = "l{0}été d{0}une ville qu{0}il n{0}aime pas, c{0}est l{0}hiver qu{0}elle attend"
    documents = [Document("a", passage.format("'")), Document("b", f"Il dit: {passage.format('’')}!")]
    with passages_among(documents, 8, DuplicatesOptions(workers=1)) as passages:
        (cluster,) = passages.clusters()
    begin, end = 8, 8 + len(passage.format("’"))
    assert {one.id for match in cluster.matches for one in (match.a, match.b)} >= {f"b#{begin}-{end}"}


def test_numbers_of_words_out_of_range() -> None:
    """
    A passage has 2 to 999 words.
    """
    for words in (1, 1000):
        with pytest.raises(ParameterError, match="2 to 999"), passages_among([], words):
            pass


def test_cuts_remove_only_white_space_besides_the_range() -> None:
    """
    Removing a range keeps punctuation, indentation and paragraph breaks; a text without any remaining word is removed.
    """
    assert without_ranges("one, two - three!", [(5, 8)]) == "one, - three!"
    assert without_ranges("one two\n__init__(self)", [(0, 7)]) == "__init__(self)"
    assert without_ranges("x = one\n    return", [(4, 7)]) == "x = \n    return"
    assert without_ranges("a\r\none\r\n\r\n#include", [(3, 6)]) == "a\r\n\r\n#include"
    assert without_ranges("one two three four", [(0, 7), (4, 13)]) == "four"
    assert without_ranges("ab漢_c", [(2, 3)]) == "ab _c"
    assert without_ranges("“one two”", [(1, 8)]) is None
    assert without_ranges("one 😀 two", [(0, 3)]) == "😀 two"
    assert without_ranges(" ", []) == " "


@settings(max_examples=60)
@example(["", "a ba b漢a ba b$_f"])
@given(st.lists(st.lists(st.sampled_from(MARKED), max_size=16).map("".join), min_size=2, max_size=5))
def test_the_remaining_text_lacks_its_passages(own: list[str]) -> None:
    """
    The remaining text is the text without its passages, except for white space, and has no new words.

    Words are compared without underscores at their ends: ICU counts these as part of the word or not, depending on the
    script before them.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for at, text in enumerate(own):
            (folder / f"{at}.txt").write_bytes(text.encode())
        options = ["--level", "passage", "--words", "2", "--keep", "first", "--delete-list", f"{name}.ids"]
        options += ["--filtered", f"{name}.out"]
        try:
            done = CliRunner().invoke(main, ["duplicates", name, *options])
            listed = Path(f"{name}.ids").read_text().splitlines()
            left = {path.name: path.read_bytes().decode() for path in Path(f"{name}.out").glob("*")}
        finally:
            shutil.rmtree(f"{name}.out", ignore_errors=True)
            Path(f"{name}.ids").unlink(missing_ok=True)
        assert done.exit_code == 0, done.output
    for at, text in enumerate(own):
        gone = {
            place
            for document_id, ranges in group_by_document(listed).items()
            if document_id.endswith(f"/{at}.txt")
            for begin, end in ranges
            for place in range(begin, end)
        }
        wanted = "".join(char for place, char in enumerate(text) if place not in gone)
        if f"{at}.txt" not in left:
            assert gone
            assert not tokens_and_spans(wanted)[0]
            continue
        actual = left[f"{at}.txt"]
        assert "".join(actual.split()) == "".join(wanted.split())
        _, spans = tokens_and_spans(text)
        words = [text[begin:end].strip("_") for begin, end in spans.tolist() if begin not in gone]
        left_words = [actual[begin:end].strip("_") for begin, end in tokens_and_spans(actual)[1].tolist()]
        assert list(filter(None, left_words)) == list(filter(None, words))
        if not gone:
            assert actual == text
