"""What new documents repeat, as JSON and for people."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.fingerprint.statistics.metric import Metric
from whorl.repeats import Repeats
from whorl.wire.numbers import percent
from whorl.wire.similar import estimate_values
from whorl.wire.text import printable


def repeats_values(repeats: Repeats) -> dict[str, object]:
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
        share = f"{'' if each.estimate.is_exact else '~'}{percent(each.estimate.shares.by(metric))}"
        name = f"  {printable(each.hit.name)}" if each.hit.name and each.hit.name != each.hit.id else ""
        yield f"{share:>10}  {printable(each.hit.id)}{name}"
