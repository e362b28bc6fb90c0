"""What a terminal shows of a calibrated search: its hits with their percentages, and its plan in words."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from whorl.fingerprint.calibration import Branch, Plan
from whorl.fingerprint.estimate import Estimate, Share
from whorl.fingerprint.metrics import Metric
from whorl.show import as_json, counted, printable
from whorl.similar import Similar

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
    return as_json(similar_values(page))


def similar_values(page: Similar) -> dict[str, object]:
    """Return a page as JSON values."""
    plan = page.plan
    return {
        "metric": plan.metric.value,
        "threshold": float(plan.threshold),
        "recall": float(plan.recall),
        "promised": plan.promised,
        "source_size": plan.source_size,
        "total": page.total,
        "total_is_exact": page.is_total_exact,
        "candidates": page.candidates,
        "warnings": list(page.warnings),
        "hits": [
            {"id": found.hit.id, "name": found.hit.name, "score": found.hit.score, **_values(found.estimate)}
            for found in page.found
        ],
    }


def _values(estimate: Estimate) -> dict[str, object]:
    shares = {
        "similarity": estimate.jaccard,
        "contains": estimate.source_in_hit,
        "within": estimate.hit_in_source,
    }
    return {
        **{name: {"value": share.value, "low": share.low, "high": share.high} for name, share in shares.items()},
        "shared": estimate.shared,
        "asked": estimate.asked,
        "size": estimate.hit_size,
        "exact": estimate.is_exact,
    }


def promise(plan: Plan) -> str:
    """Say in one line what can be relied on."""
    if not plan.branches:
        return "the source has fewer words than one shingle, so nothing can share content with it"
    wanted = f"{float(100 * plan.recall):g} of 100"
    if plan.promised:
        return f"at least {wanted} documents just at the threshold are found, more of those above it"
    weak = [branch for branch in plan.branches if not branch.promised]
    return f"best effort: {wanted} is not promised for {_sizes(weak[0])}: {_reach(weak[0])}"


def _sizes(branch: Branch) -> str:
    to = "and more" if branch.largest_size is None else f"to {branch.largest_size:,}"
    return f"documents of {branch.smallest_size:,} {to} shingles"


def _reach(branch: Branch) -> str:
    if branch.reach is not None:
        return f"there it holds from {100 * branch.reach:.0f} % on"
    return f"the source is too short to be met there; {100 * branch.recall:.0f} of 100 are found"


def plan_lines(plan: Plan) -> Iterator[str]:
    """Yield the plan in words and numbers."""
    yield f"find documents that {_ASKED[plan.metric].format(f'{float(100 * plan.threshold):g} %')}"
    yield f"the source has {counted(plan.source_size, 'distinct shingle')}"
    for branch in plan.branches:
        asked = counted(len(branch.tokens), "token")
        yield f"{_sizes(branch)}: at least {branch.min_should_match} of {asked}"
        near, far = (100 * chance for chance in branch.final_false_positives)
        yield (
            f"  finds {100 * branch.recall:.1f} of 100 at the threshold; passes {near:.2g} of 100 that are 10 points "
            f"below, {far:.2g} that are 20"
        )
    yield f"{counted(plan.look_ups, 'look-up')} in all"
    if plan.second_recall is not None:
        yield "then each candidate's whole sample is compared, and those below the threshold are dropped"
    yield promise(plan)
