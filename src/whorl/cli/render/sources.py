"""What a terminal shows of the sources of a text: its totals, and a table of the sources."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from whorl.fingerprint.statistics.metric import Shares
from whorl.sources.result import Attribution
from whorl.wire.numbers import percent
from whorl.wire.sources import recall_line
from whorl.wire.text import counted, printable


def sources_table(found: Attribution, most: int) -> Table:
    """Return the first sources: what each covers, adds and has alone, of the words of the text, and what both share.

    Where it is known what is common, the shares without that stand behind the others.

    Args:
        found: The sources.
        most: How many to show.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("source", overflow="fold", ratio=3)
    table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=30)
    for title in ("covers", "adds", "alone", "jaccard", "A in B", "B in A", "passages"):
        table.add_column(title, justify="right", no_wrap=True)
    for each in found.sources[:most]:
        shares = [percent(getattr(each.shares, name)) for name in Shares.NAMES]
        if each.rest is not None:
            rest = (percent(getattr(each.rest.shares, name)) for name in Shares.NAMES)
            shares = [f"{whole} ({part})" for whole, part in zip(shares, rest, strict=True)]
        table.add_row(
            # Text objects: brackets in ids and names are not markup.
            Text(printable(each.id)),
            Text(printable(each.name)),
            *(percent(words / found.counted_words) for words in (each.words, each.new_words, each.only_words)),
            *shares,
            f"{len(each.passages):,}",
        )
    return table


def totals_line(found: Attribution) -> str:
    """Say how much of the text stands in other documents."""
    if not found.sources:
        return f"No source: none of {counted(found.counted_words, 'word')} stands in a passage of another document."
    return (
        f"{found.covered_words:,} of {counted(found.counted_words, 'word')} ({percent(found.coverage)}) stand in "
        f"{counted(len(found.sources), 'source')}; the longest passage has {counted(found.longest_passage, 'word')}."
    )


def closing_line(found: Attribution) -> str:
    """Say what was read for it, who has no more than the sources, and how surely a source is found."""
    also = f", {len(found.also):,} of them with nothing that the sources lack" if found.also else ""
    return f"{counted(found.read, 'document')} read{also}; {recall_line(found)}"
