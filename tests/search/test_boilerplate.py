"""Boilerplate detection: by document frequencies, kept up to date as the store changes, and by named texts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.search.attribution.made import words
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import ParameterError
from whorl.fingerprint.compare_texts import words_of
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.search.boilerplate import BoilerplateDetector, boilerplate_detector, common_limit

SCHEME = PassageScheme()
CHANCE = random.Random(51)
FORM = words(CHANCE, 120)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """
    Thirty documents with a form of 120 words in the middle, and thirty without.
    """
    folder = tmp_path_factory.mktemp("boilerplate") / "store"
    with Store(EmbeddedEngine(folder, passages=SCHEME)) as opened:
        opened.index(filled(number) for number in range(30))
        opened.index(Document(f"other {number}", " ".join(words(CHANCE, 200))) for number in range(30))
        yield opened


def filled(number: int) -> Document:
    return Document(f"{number:02}", " ".join([*words(CHANCE, 80), *FORM, *words(CHANCE, 80)]))


def marked(store: Store, above: str | None, text: list[str], boilerplate: tuple[str, ...] = ()) -> list[str]:
    of_text = words_of(" ".join(text))
    tells_common = boilerplate_detector(store.engine, above, boilerplate)
    assert tells_common
    is_common = tells_common.mark_common(of_text)
    return [word for word, common in zip(of_text.words, is_common.tolist(), strict=True) if common]


def test_a_form_is_common(store: Store) -> None:
    """
    Only words of the form are marked, except for fewer than 13 words at either end: there the smallest hash of a window
    may come from the neighbouring text.
    """
    own = words(CHANCE, 300)
    marks = marked(store, "29", [*own[:150], *FORM, *own[150:]])
    assert marks
    start = FORM.index(marks[0])
    assert marks == FORM[start : start + len(marks)]
    assert start <= 12
    assert len(FORM) - start - len(marks) <= 12
    assert marked(store, "30", [*own[:150], *FORM, *own[150:]]) == []
    assert marked(store, "29", own) == []


def test_frequencies_follow_changes(tmp_path: Path) -> None:
    """
    Frequencies follow deletions and replacements: after 10 of 30 documents with a form are deleted and 10 replaced, the
    form occurs in 10.
    """
    with Store(EmbeddedEngine(tmp_path / "store", passages=SCHEME)) as store:
        store.index(filled(number) for number in range(30))
        whole = marked(store, "29", FORM)
        assert len(whole) >= 96
        store.delete([f"{number:02}" for number in range(10)])
        store.index(Document(f"{number:02}", " ".join(words(CHANCE, 200))) for number in range(10, 20))
        assert marked(store, "9", FORM) == whole
        assert marked(store, "10", FORM) == []
        store.index(filled(number) for number in range(40, 60))
        assert marked(store, "29", FORM) == whole


def test_named_texts(store: Store) -> None:
    """
    Passages of named texts are common to the word, whatever the collection holds; runs of fewer than eight words are
    not.
    """
    own, header = words(CHANCE, 50), words(CHANCE, 15)
    text = [*header, *own[:20], *header[:7], *own[20:]]
    assert marked(store, None, text, (" ".join(header),)) == header
    assert marked(store, "29", [*text, *FORM], (" ".join(header),))[:15] == header


def test_texts_without_passages(store: Store) -> None:
    """
    Short and empty texts have no common words.
    """
    assert marked(store, "1", []) == marked(store, "1", FORM[:19]) == []
    assert BoilerplateDetector(Scheme()).mark_common(words_of("a b")).tolist() == [False, False]


def test_shares_without_common_text(store: Store) -> None:
    """
    Nearly a third of each of two filled forms is in the other; without the form they share nothing.
    """
    comparison = store.compare("03", "04", common_above="29")
    assert comparison.shares.a_in_b > 0.3
    assert comparison.residual is not None
    residual = comparison.residual
    # Both texts together show the end of the form, so none of its shingles counts; each text alone does not show it.
    assert residual.shared_shingles == 0
    text = str(store.text("03"))
    ((start, end),) = residual.common_a
    assert 96 <= len(text[start:end].split()) == residual.common_words_a <= 120
    named = store.compare("03", "04", boilerplate=[" ".join(FORM)]).residual
    assert named is not None
    assert (named.common_words_a, named.common_words_b, named.shares) == (120, 120, residual.shares)
    assert residual.shingles_a == comparison.a.shingles - 116
    assert store.compare("03", "04").residual is None


def test_sources_of_uncommon_text(store: Store) -> None:
    """
    A text joined from a form and a document has that document as its only source once the form is ignored.
    """
    other = str(store.text("other 3")).split()
    text = " ".join([*FORM, *other[40:100]])
    both = store.sources(source=text, common_above="20")
    assert both.common is not None
    assert (both.common.limit, both.common.is_ignored) == (20, False)
    assert len(both.sources) == 2
    assert both.covered_words == both.counted_words == 180
    assert 96 <= both.common.words <= 120
    assert both.common.words + both.common.covered_words == 180
    result = store.sources(source=text, common_above="20", ignore_common=True)
    assert [source.id for source in result.sources] == ["other 3"]
    assert result.common is not None
    assert result.common.words == both.common.words
    assert (result.counted_words, result.covered_words) == (180 - result.common.words, 60)
    assert result.sources[0].residual is not None
    assert result.sources[0].residual.shared_shingles == 56


def test_common_words_of_the_text(store: Store) -> None:
    """
    The number of common words of a text is the same in every comparison, and for every number of documents that
    `sources` reads.
    """
    text = f"{' '.join(FORM)} {store.text('other 1')}"
    common_word_counts = {
        residual.common_words_a
        for other in ("00", "01", "02", "other 1", "other 2")
        if (residual := store.compare("text", other, source={"text": text}, common_above="29").residual)
    }
    for most_read in (1, 3, 5_000):
        for ignore_common in (False, True):
            common = store.sources(
                source=text, common_above="29", ignore_common=ignore_common, most_read=most_read
            ).common
            assert common is not None
            common_word_counts.add(common.words)
    assert common_word_counts == {len(marked(store, "29", text.split()))}


@pytest.mark.parametrize(
    ("above", "documents", "limit"),
    [("1%", 5_000, 50), ("1 %", 5_099, 50), ("1%", 30, 10), ("0.5%", 10_000, 50), ("3", 30, 3), ("100%", 70, 70)],
)
def test_limits(above: str, documents: int, limit: int) -> None:
    """
    A limit is a number of documents, or a share of all documents, but at least ten.
    """
    assert common_limit(above, documents) == limit


@pytest.mark.parametrize("above", ["", "0", "0%", "101%", "-3", "1.5", "few", "٣"])
def test_invalid_limits_are_refused(above: str) -> None:
    """
    An invalid limit is named in the error, with valid examples.
    """
    with pytest.raises(ParameterError, match=r"a number of documents \(50\) or a share \(1%\), got"):
        common_limit(above, 100)


def test_a_store_without_passages(tmp_path: Path) -> None:
    """
    A store without passages has no frequencies: the error names the remedy; named texts still work.
    """
    with Store(EmbeddedEngine(tmp_path / "plain")) as plain:
        plain.index([Document("a", " ".join(FORM)), Document("b", " ".join(FORM[:100]))])
        with pytest.raises(ParameterError, match="'whorl index --passages' adds them"):
            plain.compare("a", "b", common_above="1%")
        assert plain.compare("a", "b", boilerplate=[" ".join(FORM)]).residual is not None
        with pytest.raises(ParameterError, match="'whorl index --passages' adds them"):
            plain.sources("a", ignore_common=True)


def test_marks_between_neighbours() -> None:
    """
    Two consecutive frequent hashes mark the words between them; a rare hash between them keeps them apart.
    """
    from whorl.search.boilerplate import _mark_runs

    def runs(places: list[int], is_frequent: list[bool]) -> list[int]:
        marks = np.zeros(40, np.bool_)
        _mark_runs(marks, np.array(places), np.array(is_frequent), 3)
        return np.flatnonzero(marks).tolist()

    assert runs([2, 10], [True, True]) == list(range(2, 13))
    assert runs([2, 6, 10], [True, False, True]) == [2, 3, 4, 10, 11, 12]
    assert runs([0, 37], [False, True]) == [37, 38, 39]


def test_words_shared_next_to_a_form_are_not_common(store: Store) -> None:
    """
    More than a dozen words shared before or after a form do not count as part of it.
    """
    shared, (one, other) = words(CHANCE, 40), (words(CHANCE, 30), words(CHANCE, 30))
    texts = {"a": " ".join([*one, *FORM, *shared]), "b": " ".join([*other, *FORM, *shared])}
    residual = store.compare("a", "b", source=texts, common_above="29").residual
    assert residual is not None
    assert 96 <= residual.common_words_a <= 120
    assert 36 <= residual.shared_shingles <= 36 + 12 + 4
