"""The novelty check's result as JSON and as lines, by hand."""

from __future__ import annotations

from whorl.fingerprint.statistics.metric import Metric
from whorl.model import Hit
from whorl.output.repeats import repeats_lines, repeats_values
from whorl.search.novelty import Repeats
from whorl.search.similar.results import Found, exact_estimate

REPEATS = Repeats("new\x1b", (Found(Hit("old", "Old", 75.0), exact_estimate(20, 30, 15)),))


def test_as_json() -> None:
    """
    The JSON has the shares of `similar`; A is the new document.
    """
    values = repeats_values(REPEATS)
    assert values["id"] == "new\x1b"
    (hit,) = values["hits"]  # type: ignore[misc, attr-defined]
    assert hit.items() >= {"id": "old", "name": "Old", "a_in_b": 0.75, "b_in_a": 0.5, "exact": True}.items()  # type: ignore[has-type]


def test_for_people() -> None:
    """
    The lines have the share of the metric, and no control characters.
    """
    assert list(repeats_lines(REPEATS, Metric.A_IN_B)) == ["new\ufffd repeats", "     75.0%  old  Old"]
    assert list(repeats_lines(REPEATS, Metric.B_IN_A))[1] == "     50.0%  old  Old"
