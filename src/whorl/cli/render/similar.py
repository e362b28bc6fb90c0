"""What a terminal shows of a calibrated search: its hits with their percentages, and its plan in words."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from whorl.fingerprint.statistics.estimate import Share
from whorl.similar.by_sketch import Similar, values
from whorl.wire.text import as_json, printable

_BAR_WIDTH = 20


def similar_table(page: Similar) -> Table:
    """Return the hits: a bar for the metric asked, each percentage with the ends of its 95 % interval."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("id", overflow="fold", ratio=3)
    table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=40)
    table.add_column("", no_wrap=True)
    for title in ("similarity", "contains", "within", "shingles"):
        table.add_column(title, justify="right", no_wrap=True)
    for found in page.found:
        estimate = found.estimate
        full = round(found.hit.score / 100 * _BAR_WIDTH)
        bar = Text("█" * full, style="green").append("░" * (_BAR_WIDTH - full), style="dim")
        shares = (estimate.jaccard, estimate.source_in_hit, estimate.hit_in_source)
        size = Text(f"{estimate.hit_size:,}")
        table.add_row(
            Text(printable(found.hit.id)), Text(printable(found.hit.name)), bar, *map(_percentage, shares), size
        )
    return table


def _percentage(share: Share) -> Text:
    text = Text(f"{100 * share.value:.1f}%")
    return text if share.low == share.high else text.append(f" {100 * share.low:.0f}–{100 * share.high:.0f}", "dim")


def similar_json(page: Similar) -> str:
    """Return a page as JSON; shares are fractions, each with the ends of its interval."""
    return as_json(values(page))
