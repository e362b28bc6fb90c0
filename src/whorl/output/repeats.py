"""Results of the novelty check, as JSON and for people: new documents and the stored ones they repeat."""

from __future__ import annotations

from collections.abc import Iterator

from typing_extensions import TypedDict

from whorl.fingerprint.statistics.metric import Metric
from whorl.output.numbers import percent
from whorl.output.similar import EstimateValues, estimate_values
from whorl.output.text import printable, titled
from whorl.search.novelty import Repeats


class Repeated(EstimateValues):
    """A stored document repeated by a new one, as B."""

    id: str
    name: str


class RepeatsValues(TypedDict):
    """A new document, and the documents it repeats."""

    id: str
    hits: list[Repeated]


def repeats_values(repeats: Repeats) -> RepeatsValues:
    """Return the documents that a new one repeats as JSON values; A is the new document."""
    return {
        "id": repeats.id,
        "hits": [
            {"id": each.hit.id, "name": each.hit.name, **estimate_values(each.estimate)} for each in repeats.found
        ],
    }


def repeats_lines(repeats: Repeats, metric: Metric) -> Iterator[str]:
    """Yield a line for each document that a new one repeats, with its share by a metric; `~` marks an estimate."""
    yield f"{printable(repeats.id)} repeats"
    for each in repeats.found:
        share = percent(each.estimate.shares.by(metric), is_exact=each.estimate.is_exact)
        yield f"{share:>10}  {titled(each.hit.id, each.hit.name)}"
