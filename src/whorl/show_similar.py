"""What a terminal shows of a calibrated search: its hits with their percentages, and its plan in words."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from whorl.fingerprint.calibration import Branch, Plan
from whorl.fingerprint.estimate import Share
from whorl.fingerprint.metrics import Metric
from whorl.fingerprint.prospects import final_false_positives, reach
from whorl.fingerprint.stock_plan import StockPlan
from whorl.show import as_json, counted, printable
from whorl.similar import Similar, values

_BAR_WIDTH = 20
_ASKED = {
    Metric.SIMILARITY: "share at least {0} of what both have together (Jaccard)",
    Metric.CONTAINS: "contain at least {0} of the source",
    Metric.WITHIN: "lie in the source with at least {0} of theirs",
}


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


def _few(number: float) -> str:
    return "none" if number < 0.005 else f"{number:.2f}"


def promise(plan: Plan | StockPlan) -> str:
    """Say in one line what can be relied on."""
    if isinstance(plan, StockPlan):
        return _promise_of_tokens(plan)
    if not plan.branches:
        return "the source has fewer words than one shingle, so nothing can share content with it"
    wanted = f"{float(100 * plan.recall):g} of 100"
    if plan.promised:
        return f"at least {wanted} documents just at the threshold are found, more of those above it"
    weak = [branch for branch in plan.branches if not branch.promised]
    return f"best effort: {wanted} is not promised for {_sizes(weak[0])}: {_reach(plan, weak[0])}"


def _promise_of_tokens(plan: StockPlan) -> str:
    wanted = f"about {float(100 * plan.recall):g} of 100"
    if not plan.buckets:
        return "the source has fewer words than one shingle, so nothing can share content with it"
    if plan.promised:
        return f"{wanted} documents just at the threshold are found, by their MinHash tokens alone"
    if plan.promised_sizes is None:
        return f"best effort: with MinHash tokens alone {wanted} is not promised for any size"
    smallest, largest = plan.promised_sizes
    return f"best effort: {wanted} is promised for documents of {smallest:,} to {largest:,} shingles only"


def _sizes(branch: Branch) -> str:
    to = "and more" if branch.largest_size is None else f"to {branch.largest_size:,}"
    return f"documents of {branch.smallest_size:,} {to} shingles"


def _reach(plan: Plan, branch: Branch) -> str:
    held_from = reach(plan, branch)
    if held_from is not None:
        return f"there it holds from {100 * held_from:.0f} % on"
    return f"the source is too short to be met there; {100 * branch.recall:.0f} of 100 are found"


def plan_lines(plan: Plan | StockPlan) -> Iterator[str]:
    """Yield the plan in words and numbers."""
    yield f"find documents that {_ASKED[plan.metric].format(f'{float(100 * plan.threshold):g} %')}"
    yield f"the source has {counted(plan.source_size, 'distinct shingle')}"
    if isinstance(plan, StockPlan):
        tokens = counted(len(plan.buckets), "MinHash token")
        yield f"at least {plan.min_should_match} of {tokens} (the documents have no samples)"
        yield "then all tokens of each candidate are compared, and those below the threshold are dropped"
        yield promise(plan)
        return
    for branch in plan.branches:
        asked = counted(len(branch.tokens), "token")
        yield f"{_sizes(branch)}: at least {branch.min_should_match} of {asked}"
        near, far = (100 * chance for chance in final_false_positives(plan, branch))
        yield (
            f"  finds {100 * branch.recall:.1f} of 100 at the threshold; passes {_few(near)} of 100 that are 10 points "
            f"below, {_few(far)} that are 20"
        )
    yield f"{counted(plan.look_ups, 'look-up')} in all"
    if plan.second_recall is not None:
        yield "then each candidate's whole sample is compared, and those below the threshold are dropped"
    yield promise(plan)
