"""Calibrated search reaches its promised recall: measured on texts of this repository, and simulated."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from accuracy_documents import Amounts, made_of
from calibration import Cell, cells
from whorl import Document, Store, open_store
from whorl.fingerprint.statistics.metric import Metric
from whorl.fingerprint.words.tokenizer import tokens

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
AMOUNTS = Amounts(composites=6, passages=60, edited=150, composite_words=(4_000, 60_000))
RECALL = 95
THRESHOLDS = (20, 50, 80)
#: Minimum share of true hits among all hits, over all sources and thresholds.
PRECISION = {Metric.JACCARD: 0.99, Metric.A_IN_B: 0.9}

Shingles = frozenset[tuple[str, ...]]


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Sources and pages of the repository, and composites, passages and edited copies of them."""
    files = [*sorted((ROOT / "src").rglob("*.py")), *sorted((ROOT / "docs").rglob("*.md"))]
    real = [Document(str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")) for file in files]
    real = [document for document in real if len(document.text) > 600]
    return [*real, *made_of(real, AMOUNTS)]


@pytest.fixture(scope="module")
def store(documents: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("accuracy")) as opened:
        opened.index(documents)
        yield opened


@pytest.fixture(scope="module")
def shingles(documents: list[Document]) -> dict[str, Shingles]:
    """Shingles of each document as tuples of words, without hashes."""
    return {document.id: windows(tokens(document.text)) for document in documents}


@pytest.fixture(scope="module")
def sharing(shingles: dict[str, Shingles]) -> dict[str, Counter[str]]:
    """Number of shingles that every fifth document shares with every other document."""
    holders = defaultdict(list)
    for name, own in shingles.items():
        for shingle in own:
            holders[shingle].append(name)
    return {
        source: Counter(name for shingle in shingles[source] for name in holders[shingle] if name != source)
        for source in list(shingles)[::5]
    }


def windows(words: list[str]) -> Shingles:
    return frozenset(tuple(words[at : at + 5]) for at in range(len(words) - 4))


def share(metric: Metric, shared: int, source: Shingles, other: Shingles) -> Fraction:
    return Fraction(shared, len(source) if metric is Metric.A_IN_B else len(source) + len(other) - shared)


def at_least(share: float, number: int) -> float:
    """
    Return the expected number of successes in `number` trials of this probability, minus three standard
    deviations.
    """
    return share * number - 3 * math.sqrt(number * share * (1 - share))


@pytest.mark.parametrize("metric", [Metric.JACCARD, Metric.A_IN_B])
def test_requested_recall_is_reached(
    store: Store, shingles: dict[str, Shingles], sharing: dict[str, Counter[str]], metric: Metric
) -> None:
    """
    The recall is the requested one, the precision is high, and 95 % of the intervals contain the true share.

    The texts change with every commit, and with them the hashes that a sketch holds, so recall and intervals may be
    short by three standard deviations. A pair that is found at several thresholds has one interval, and counts once.
    """
    returned = right = all_wanted = all_covered = 0
    is_covered: dict[tuple[str, str], bool] = {}
    for threshold in THRESHOLDS:
        wanted = covered = 0
        for source, counts in sharing.items():
            truth = {
                other: share(metric, shared, shingles[source], shingles[other]) for other, shared in counts.items()
            }
            expected = {other for other, value in truth.items() if value >= Fraction(threshold, 100)}
            page = store.similar(source, metric=metric, threshold=threshold, recall=RECALL, rows=1000)
            assert page.is_total_exact
            names = {similar.hit.id for similar in page.found}
            wanted, covered = wanted + len(expected), covered + len(expected & names)
            returned, right = returned + len(names), right + len(names & expected)
            for similar in page.found:
                low, high = similar.estimate.low.measured_by(metric), similar.estimate.high.measured_by(metric)
                is_covered[source, similar.hit.id] = low - 1e-9 <= truth.get(similar.hit.id, 0) <= high + 1e-9
        assert wanted > 10
        assert covered >= at_least(RECALL / 100, wanted)
        all_wanted, all_covered = all_wanted + wanted, all_covered + covered
    assert all_covered >= at_least(RECALL / 100, all_wanted)
    assert right >= PRECISION[metric] * returned
    assert len(is_covered) > 50
    assert sum(is_covered.values()) >= at_least(0.95, len(is_covered))


@pytest.fixture(scope="module")
def simulated() -> list[Cell]:
    return [*cells((100,), 400, 11, every=2), *cells((20_000,), 400, 11, every=1)]


def test_simulated_recall_is_never_short(simulated: list[Cell]) -> None:
    """
    For every metric, size, threshold and recall, a search with a promise reaches the requested recall: exactly in the
    sum over all outcomes, and up to noise in the simulation.
    """
    promised = [cell for cell in simulated if cell.promised]
    assert len(promised) > 0.9 * len(simulated)
    for cell in promised:
        assert cell.recall >= float(cell.wanted) - 4.5 * cell.noise, cell
        assert cell.exact_recall is None or cell.exact_recall >= float(cell.wanted) - 1e-9, cell


@pytest.mark.parametrize("ratio", [1, 10, 100])
def test_simulated_recall_is_close_to_the_request(simulated: list[Cell], ratio: int) -> None:
    """
    For a large source, 128 tokens keep the recall within 2 points of the request, in all pairs of a case but one.
    """
    for metric in (Metric.JACCARD, Metric.A_IN_B):
        own = [c for c in simulated if (c.metric, c.source_size, c.hit_size) == (metric, 20_000, ratio * 20_000)]
        excesses = [cell.exact_recall - float(cell.wanted) for cell in own if cell.exact_recall is not None]
        assert sum(excess <= 0.02 for excess in excesses) >= len(excesses) - 1
        assert len(excesses) == (35 if metric is Metric.A_IN_B or ratio == 1 else 0)
