"""Prints the hits of a similarity search as a table with percentages."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from whorl.cli.render.console import share_bar
from whorl.fingerprint.statistics.estimate import Estimate
from whorl.fingerprint.statistics.metric import Metric
from whorl.output.formatting import percent, percent_interval, printable
from whorl.search.similar.results import Similar

#: Shares of a hit, one in each column.
_COLUMNS = (Metric.JACCARD, Metric.A_IN_B, Metric.B_IN_A)


def similar_table(page: Similar) -> Table:
    """Return the hits as a table: a bar for the requested metric, and each share with its 95 % interval.

    With common text, the shares without it follow in brackets.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("id", overflow="fold", ratio=3)
    table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=40)
    table.add_column("", no_wrap=True)
    for title in ("jaccard", "A in B", "B in A", "shingles"):
        table.add_column(title, justify="right", no_wrap=True)
    for found in page.found:
        estimate = found.estimate
        bar = share_bar(found.hit.score / 100)
        shares = [_percentage(estimate, metric) for metric in _COLUMNS]
        if found.residual is not None:
            rest = found.residual.shares
            shares = [
                whole.append(f" ({percent(rest.by(each))})") for whole, each in zip(shares, _COLUMNS, strict=True)
            ]
        size = Text(f"{estimate.hit_size:,}")
        table.add_row(Text(printable(found.hit.id)), Text(printable(found.hit.name)), bar, *shares, size)
    return table


def _percentage(estimate: Estimate, metric: Metric) -> Text:
    value, low, high = (shares.by(metric) for shares in (estimate.shares, estimate.low, estimate.high))
    text = Text(percent(value))
    return text if low == high else text.append(f" {percent_interval(low, high)}", "dim")
