"""What new documents repeat, as JSON and for people."""

from __future__ import annotations

from collections.abc import Iterator

from typing_extensions import TypedDict

from whorl.fingerprint.statistics.metric import Metric
from whorl.repeats import Repeats
from whorl.wire.numbers import percent
from whorl.wire.similar import EstimateValues, estimate_values
from whorl.wire.text import printable, titled


class Repeated(EstimateValues):
    """A document of the store that a new one repeats, as B."""

    id: str
    name: str


class RepeatsValues(TypedDict):
    """A new document, and what it repeats."""

    id: str
    hits: list[Repeated]


def repeats_values(repeats: Repeats) -> RepeatsValues:
    """Return what a document repeats as JSON values; A is the document."""
    return {
        "id": repeats.id,
        "hits": [
            {"id": each.hit.id, "name": each.hit.name, **estimate_values(each.estimate)} for each in repeats.found
        ],
    }


def repeats_lines(repeats: Repeats, metric: Metric) -> Iterator[str]:
    """Yield what a document repeats, line by line, each with its share by a metric; `~` marks an estimate."""
    yield f"{printable(repeats.id)} repeats"
    for each in repeats.found:
        share = percent(each.estimate.shares.by(metric), is_exact=each.estimate.is_exact)
        yield f"{share:>10}  {titled(each.hit.id, each.hit.name)}"
