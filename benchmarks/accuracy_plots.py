"""Draws the figures of docs/accuracy.md from the results of accuracy.py.

    python benchmarks/accuracy_plots.py

Draws recall and precision by threshold, for similarity and containment, and the containment error by the ratio of
sizes, as SVG into docs/images/. The same results give the same files.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
# The ids in the files are random without a salt.
mpl.rcParams.update({"svg.hashsalt": "whorl", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10})

from matplotlib import pyplot as plt  # noqa: E402  # the backend comes first

HERE = Path(__file__).resolve().parent
RESULTS, IMAGES = HERE / "results", HERE.parent / "docs" / "images"
METRICS = {"jaccard": "Jaccard similarity", "a_in_b": "containment of the source"}
COLOURS = {
    "stock OR": "#888888",
    "stock bands": "#c8a415",
    "Solr min_hash": "#d95f02",
    "datasketch LSH": "#7570b3",
    "datasketch Ensemble": "#7570b3",
    "stock tokens, tested": "#1f78b4",
    "whorl": "#1b9e77",
    "whorl, sketches": "#1b9e77",
    "whorl, hits": "#66c2a5",
}

Row = dict[str, str]


def rows(name: str) -> list[Row]:
    with (RESULTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def draw_found(found: Sequence[Row], value: str) -> None:
    """Draw recall or precision by threshold, with one panel for each metric."""
    figure, panels = plt.subplots(1, len(METRICS), figsize=(9, 3.6), sharey=True)
    for panel, (metric, title) in zip(panels, METRICS.items(), strict=True):
        own = [row for row in found if row["metric"] == metric]
        for method in dict.fromkeys(row["method"] for row in own):
            points = [(int(row["threshold"]), 100 * float(row[value])) for row in own if row["method"] == method]
            panel.plot(*zip(*points, strict=True), marker="o", markersize=4, label=method, **_style(method))
        if value == "recall":
            panel.axhline(95, color="black", linewidth=0.8, linestyle=":")
        panel.set(title=title, xlabel="threshold, %", ylim=(0, 102))
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    panels[0].set_ylabel(f"{value}, %")
    _save(figure, f"accuracy-{value}.svg")


def draw_errors(errors: Sequence[Row]) -> None:
    """Draw the mean containment error for each group of size ratios."""
    figure, panel = plt.subplots(figsize=(9, 3.4))
    groups = [row for row in errors if row["below"] or float(row["least"]) > 1]
    labels = list(dict.fromkeys((row["least"], row["below"]) for row in groups))
    methods = list(dict.fromkeys(row["method"] for row in groups))
    width = 0.8 / len(methods)
    for number, method in enumerate(methods):
        heights = {(row["least"], row["below"]): float(row["containment"]) for row in groups if row["method"] == method}
        places = [at + (number - (len(methods) - 1) / 2) * width for at in range(len(labels))]
        bars = panel.bar(places, [heights[label] for label in labels], width, label=method, color=COLOURS[method])
        panel.bar_label(bars, fmt="%.1f", fontsize=7)
    names = [f"{least} to {below}" if below else f"{least} and more" for least, below in labels]
    panel.set(xticks=range(len(labels)), xticklabels=names, xlabel="larger size by smaller", ylabel="points")
    panel.set_title("mean absolute error of containment")
    panel.legend(fontsize=8)
    _save(figure, "accuracy-errors.svg")


def _style(method: str) -> dict[str, Any]:
    return {"color": COLOURS[method], "linewidth": 2.4 if method == "whorl" else 1.2}


def _save(figure: Any, name: str) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(IMAGES / name, metadata={"Date": None})


def main() -> None:
    found = rows("accuracy.csv")
    draw_found(found, "recall")
    draw_found(found, "precision")
    draw_errors(rows("accuracy-errors.csv"))


if __name__ == "__main__":
    main()
