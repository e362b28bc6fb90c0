"""Exact passages against a slow search of all windows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl.duplicates import passages_among
from whorl.duplicates.levels import by_document, without_ranges
from whorl.duplicates.result import Cluster
from whorl.errors import ParameterError
from whorl.fingerprint.words.tokenizer import tokens_and_spans
from whorl.model import Document

texts = st.lists(st.sampled_from(["a", "B", "c", "é", "3,000"]), max_size=14).map(" ".join)
long_ago = "It was the best of times, it was the worst of times, it was the age of wisdom"


def covered(documents: Sequence[Document], words: int, old: int = 0, within: str = "") -> set[tuple[str, int]]:
    """
    Return the words, by document and place, that a plain search finds in a window that stood somewhere else before.
    """
    first: dict[tuple[object, ...], tuple[int, int]] = {}
    found = set()
    for number, document in enumerate(documents):
        own, _ = tokens_and_spans(document.text)
        for at in range(len(own) - words + 1):
            key = (document.properties.get(within), *own[at : at + words])
            there, place = first.setdefault(key, (number, at))
            if number >= old and (there != number or at - place >= words):
                found |= {(document.id, each) for each in range(at, at + words)}
    return found


def told(clusters: Sequence[Cluster], documents: Sequence[Document]) -> set[tuple[str, int]]:
    """
    Return the words of passages that repeat others, each of which is checked to be the words of its source.
    """
    of_texts = {document.id: tokens_and_spans(document.text) for document in documents}
    found = set()
    for cluster in clusters:
        stretches = []
        for match in cluster.matches:
            ((document_id, ((begin, end),)),) = by_document([match.b.id]).items()
            words, spans = of_texts[document_id]
            (first,), (last,) = (spans[:, 0] == begin).nonzero()[0], (spans[:, 1] == end).nonzero()[0]
            stretches.append((document_id, range(first, last + 1), words[first : last + 1]))
            assert (match.shares.jaccard, match.is_exact, match.b.size) == (1, True, last + 1 - first)
        assert all(words == stretches[0][2] for _, _, words in stretches)
        for document_id, places, _ in stretches[1:]:
            found |= {(document_id, place) for place in places}
    return found


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.lists(texts, max_size=6), st.integers(2, 5), st.integers(0, 2), st.booleans(), st.sampled_from([4, 1 << 20]))
def test_what_comes_again_is_what_a_slow_search_finds(
    own: list[str], words: int, old: int, has_parts: bool, at_once: int
) -> None:
    """
    Each word in a window that stood somewhere else before is in a passage, and no other; whatever is done at once.
    """
    properties = [{"lang": "de"} if has_parts and at % 2 else {} for at in range(len(own))]
    documents = [
        Document(f"d#{at}", text, "", there) for at, (text, there) in enumerate(zip(own, properties, strict=True))
    ]
    within = "lang" if has_parts else None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("whorl.duplicates.passages._WORDS_AT_ONCE", at_once)
        patched.setattr("whorl.duplicates.passages._WINDOWS_AT_ONCE", at_once)
        with passages_among(documents[old:], words, reference=documents[:old], within=within) as found:
            clusters, pairs = list(found.clusters()), list(found.pairs())
    assert told(clusters, documents) == covered(documents, words, old, within or "")
    assert [len(each.matches) for each in clusters] == sorted((len(each.matches) for each in clusters), reverse=True)
    assert {(pair.a.id, pair.b.id) for pair in pairs} == {
        (each.matches[0].b.id, match.b.id) for each in clusters for match in each.matches[1:]
    }


@pytest.mark.slow
@pytest.mark.process
def test_the_last_document_of_an_id_counts_and_processes_find_the_same() -> None:
    """
    Ids that come again are told; one process or two, in the same places.
    """
    documents = [Document(str(at % 99), f"{at} {long_ago} {at}") for at in range(300)]
    several = []
    for workers in (1, 2):
        repeated: list[str] = []
        with passages_among(documents, 8, workers=workers, on_repeated=repeated.append) as found:
            several.append([[match.b.id for match in each.matches] for each in found.clusters()])
        assert set(repeated) == {str(at) for at in range(99)}
    assert several[0] == several[1]
    assert [len(each) for each in several[0]] == [99]
    assert several[0][0][0].startswith("3#4-")


def test_numbers_of_words_out_of_range() -> None:
    """
    One word is no passage.
    """
    for words in (1, 1000):
        with pytest.raises(ParameterError, match="2 to 999"), passages_among([], words):
            pass


def test_ranges_go_with_the_punctuation_behind_them() -> None:
    """
    Never with a word; of a text of which only punctuation is left nothing is.
    """
    assert without_ranges("one, two - three!", [(5, 8)]) == "one, three!"
    assert without_ranges("“one two”", [(1, 8)]) is None
    assert without_ranges("one 😀 two", [(0, 3)]) == "😀 two"
    assert without_ranges(" ", []) == " "
