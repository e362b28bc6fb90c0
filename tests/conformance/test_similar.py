"""Calibrated search on every engine: correct hits, the promised recall, and equal numbers everywhere."""

from __future__ import annotations

import random
from dataclasses import asdict
from fractions import Fraction
from functools import cache

import pytest

from tests.conformance.answers import collected
from tests.sampling import sample
from whorl import Document, Store
from whorl.fingerprint.statistics.metric import Metric
from whorl.fingerprint.words.tokenizer import tokens

METRICS = ("jaccard", "a_in_b", "b_in_a")
THRESHOLDS = (5, 20, 50, 80, 100)
ROWS = 500


@cache
def shingles() -> dict[str, frozenset[tuple[str, ...]]]:
    """Return the shingles of each document as tuples of words, without hashes."""
    return {document.id: windows(document.text) for document in collected().values()}


@cache
def shares_with_all(text: str) -> dict[str, dict[str, Fraction]]:
    """Return the shares of a text and each document, by document id and metric; once for all engines."""
    source = windows(text)
    return {name: shares(source, other) for name, other in shingles().items()}


def windows(text: str) -> frozenset[tuple[str, ...]]:
    words = tokens(text)
    return frozenset(tuple(words[at : at + 5]) for at in range(len(words) - 4))


def shares(source: frozenset[object], other: frozenset[object]) -> dict[str, Fraction]:
    common = len(source & other)
    wholes = {
        "jaccard": len(source) + len(other) - common,
        "a_in_b": len(source),
        "b_in_a": len(other),
        "containment": min(len(source), len(other)),
    }
    return {metric: Fraction(common, whole) if whole else Fraction(0) for metric, whole in wholes.items()}


def test_short_sources_give_one_warning(store: Store) -> None:
    """
    A text or document of four words has no similar documents, and one warning gives the reason.
    """
    page = store.similar(source="four words are few")
    assert (page.total, page.warnings) == (0, ("the text 'source' has no fingerprint: it has fewer than 5 words",))
    page = store.similar("words-4")
    assert page.total == 0
    (warning,) = page.warnings
    assert warning.startswith("document 'words-4' has no fingerprint: its text has fewer than 5 words, or")


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_hits_equal_plain_sets_of_shingles(store: Store, metric: str, threshold: int) -> None:
    """
    Documents of up to 1,024 shingles are compared exactly: every hit is correct, with exact percentages. For larger
    ones the intervals contain the true values, and the recall is at least the requested one.
    """
    wanted = right = covered = estimated = 0
    for source, document in list(collected().items())[::9]:
        truth = shares_with_all(document.text)
        expected = {
            other for other, about in truth.items() if about[metric] >= Fraction(threshold, 100) and other != source
        }
        page = store.similar(source, metric=metric, threshold=threshold, rows=ROWS)
        assert (page.is_total_exact, page.total) == (True, len(page.found))
        for similar in page.found:
            estimate = similar.estimate
            estimated_shares, low, high = (asdict(part) for part in (estimate.shares, estimate.low, estimate.high))
            assert similar.hit.score == pytest.approx(100 * estimated_shares[metric], abs=1e-4)
            real = {name: float(truth[similar.hit.id][name]) for name in METRICS}
            if estimate.is_exact:
                assert similar.hit.id in expected
                assert estimated_shares == pytest.approx(real)
            else:
                estimated += 1
                covered += all(low[name] - 1e-9 <= real[name] <= high[name] + 1e-9 for name in METRICS)
        wanted, right = wanted + len(expected), right + len(expected & {similar.hit.id for similar in page.found})
    assert right >= 0.95 * wanted
    assert covered >= 0.9 * estimated


def test_engines_find_equal_hits(store: Store, embedded_store: Store, collection: list[Document]) -> None:
    """
    Ids, names, numbers, order and promised recall are equal on all engines, since they use the same hash. Only the
    number of looked-up tokens differs, because it depends on the cost of a look-up in each engine.
    """
    for document in collection[::11]:
        for metric in METRICS:
            page = store.similar(document.id, metric=metric, threshold=30, rows=ROWS)
            other = embedded_store.similar(document.id, metric=metric, threshold=30, rows=ROWS)
            assert (page.found, page.total) == (other.found, other.total)
            assert page.plan.promised == other.plan.promised


def test_a_text_as_the_source(store: Store, collection: list[Document]) -> None:
    """
    A text outside the store finds its copy there, and a filter selects hits.
    """
    original = next(document for document in collection if document.id == "f4-0")
    page = store.similar(source=original.text, threshold=90)
    assert [(similar.hit.id, similar.hit.score) for similar in page.found][:1] == [("f4-0", 100.0)]
    assert store.similar(source=original.text, threshold=90, filter="NOT id:f4-0").total == page.total - 1
    assert store.similar(source="four words and no", threshold=0.01).total == 0


@pytest.mark.parametrize("metric", ["a_in_b", "containment"])
def test_short_texts_in_long_documents(store: Store, metric: str) -> None:
    """
    A text of 6 to 40 words, whole or with words changed, is found in every document that has 30 % of its shingles,
    however long the document is, and the plan promises it.
    """
    chance, expected_in_long = random.Random(30), 0
    long = [document for document in collected().values() if len(shingles()[document.id]) > 800]
    for document in sample(long, 3):
        words = tokens(document.text)
        for length in (6, 9, 14, 25, 40):
            start = chance.randrange(len(words) - length)
            cut = words[start : start + length]
            if length > 10:
                cut[length // 3] = "changed"
            truth = shares_with_all(" ".join(cut))
            expected = {name for name, about in truth.items() if about[metric] >= Fraction(3, 10)}
            page = store.similar(source=" ".join(cut), metric=metric, threshold=30, rows=ROWS)
            assert {hit.hit.id for hit in page.found} == expected
            assert page.plan.promised
            expected_in_long += len(expected)
    assert expected_in_long > 30


def test_within_other_queries(store: Store) -> None:
    """
    A FINGERPRINT in any query finds the documents of `similar`, scored by percentage, and its source as well.
    """
    alone = store.similar("f4-0", metric="jaccard", threshold=20, rows=ROWS)
    page = store.search("FINGERPRINT:f4-0_20_95", plan="calibrated", rows=ROWS)
    assert {hit.id for hit in page.hits} == {similar.hit.id for similar in alone.found} | {"f4-0"}
    assert page.hits[0].score == 100
    without = store.search("FINGERPRINT:f4-0_20_95 AND NOT id:f4-0", plan="calibrated", rows=ROWS)
    assert {hit.id for hit in without.hits} == {similar.hit.id for similar in alone.found}
    missing = store.search("FINGERPRINT:nosuch_20_95", plan="calibrated")
    assert (missing.total, "'nosuch'" in missing.warnings[0]) == (0, True)


def test_ignored_boilerplate_does_not_count(store: Store, embedded_store: Store, collection: list[Document]) -> None:
    """
    If the first half of a text is ignored as boilerplate, the threshold applies to the remainder, with the shares of a
    comparison.
    """
    text = store.texts(["f4-0"])["f4-0"]
    half = text[: len(text) // 2]
    others = [document.id for document in collection if document.text and document.id != "f4-0"]
    rests = {other: embedded_store.compare("f4-0", other, boilerplate=[half]).residual for other in others}
    for metric in METRICS:
        page = store.similar("f4-0", metric=metric, threshold=30, rows=ROWS, boilerplate=[half], ignore_common=True)
        # The recall is not promised for a document with few shingles left in the source.
        least = 20 if metric == "b_in_a" else 1
        enough = {
            name
            for name, residual in rests.items()
            if residual and residual.shares.measured_by(Metric(metric)) >= 0.3 and residual.shared_shingles >= least
        }
        assert enough
        residuals = {similar.hit.id: similar.residual for similar in page.found}
        assert {name: residuals.get(name) for name in enough} == {name: rests[name] for name in enough}
        assert all(residual == rests[name] for name, residual in residuals.items())
        assert enough < {
            similar.hit.id for similar in store.similar("f4-0", metric=metric, threshold=5, rows=ROWS).found
        }
