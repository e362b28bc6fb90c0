"""Draws the pictures of benchmarks/README.md and docs/accuracy.md from the recorded results.

    python benchmarks/pictures.py

Draws how right, how fast, how big whorl is, and how its costs grow; then recall and precision by threshold, and the
containment error by the ratio of sizes. The pictures are SVG files in docs/images/. The same results give the same
files.
"""

from __future__ import annotations

import csv
import subprocess
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

#: The results of duplicates.py by collection, and what each collection holds.
COLLECTIONS = {
    "duplicates.csv": "licences, RFCs, man pages",
    "duplicates-descriptions.csv": "package descriptions",
    "duplicates-pieces.csv": "pieces of 3,000 bytes",
    "duplicates-short.csv": "texts of 60 words",
    "duplicates-installed.csv": "files of packages",
}
#: A shade for each threshold in percent, and a colour for each engine of million.py.
SHADES = {"50": "#a6cee3", "80": "#1f78b4", "90": "#08306b"}
ENGINES = {"embedded": ("embedded store", "#1b9e77"), "solr": ("Solr", "#d95f02"), "cloud": ("SolrCloud", "#7570b3")}
#: The stores and indexes of index_sizes.py.
SIZED = {
    "embedded": "embedded store",
    "embedded-short": "embedded store, --short-minhash",
    "solr": "Solr",
    "opensearch": "OpenSearch",
}

Row = dict[str, str]


def rows(name: str) -> list[Row]:
    with (RESULTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def recorded(*names: str) -> str:
    """Return the day on which the newest of these results was committed, for the corner of a picture."""
    command = ["git", "log", "-1", "--format=%as", "--", *(str(RESULTS / name) for name in names)]
    day = subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True).stdout.strip()
    return f"recorded {day}" if day else "not committed"


def draw_right() -> None:
    """Draw recall and precision of the pairs that each tool reports, by threshold."""
    rows_read = [row for row in rows("duplicates.csv") if row["recall"]]
    names = list(dict.fromkeys(row["contender"] for row in rows_read))
    figure, panels = plt.subplots(1, len(SHADES), figsize=(9, 0.34 * len(names) + 1.2), sharey=True)
    for panel, threshold in zip(panels, SHADES, strict=True):
        for row in (row for row in rows_read if row["threshold"] == threshold):
            place, recall, precision = _place(names, row), 100 * float(row["recall"]), 100 * float(row["precision"])
            panel.plot([recall, precision], [place, place], color="#cccccc", zorder=1)
            panel.scatter([precision], [place], color="#d95f02", marker="D", s=34, label="precision")
            panel.scatter([recall], [place], color="#1b9e77", s=30, label="recall")
        panel.set(title=f"threshold {threshold} %", xlabel="%", xlim=(-4, 104), yticks=range(len(names)))
        panel.set_yticklabels(names[::-1])
        panel.grid(alpha=0.3)
    handles, labels = panels[0].get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    panels[0].legend(by_label.values(), by_label.keys(), fontsize=8, loc="lower left")
    _save(figure, "figures-right.svg", recorded("duplicates.csv"))


def draw_fast() -> None:
    """Draw the CPU time of each tool that finds duplicates, as a multiple of whorl's, by collection and threshold."""
    measured = {title: rows(name) for name, title in COLLECTIONS.items()}
    names = list(dict.fromkeys(row["contender"] for rows in measured.values() for row in rows))
    figure, panels = plt.subplots(1, len(measured), figsize=(13, 0.34 * len(names) + 1.4), sharey=True)
    for panel, (title, figures) in zip(panels, measured.items(), strict=True):
        for threshold, colour in SHADES.items():
            shown = [row for row in figures if row["threshold"] == threshold]
            times, places = [float(row["times whorl's CPU"]) for row in shown], [_place(names, row) for row in shown]
            panel.scatter(times, places, color=colour, s=30, label=f"at {threshold} %")
        panel.axvline(1, color="#1b9e77", linewidth=1.2)
        panel.set(title=title, xscale="log", xlim=(0.4, 90), xticks=(1, 2, 5, 10, 50), yticks=range(len(names)))
        panel.set_xticklabels(("1", "2", "5", "10", "50"))
        panel.minorticks_off()
        panel.set_yticklabels(names[::-1])
        panel.grid(alpha=0.3)
    panels[0].set_xlabel("times whorl's CPU time")
    panels[-1].legend(fontsize=8)
    _save(figure, "figures-fast.svg", recorded(*COLLECTIONS))


def draw_big() -> None:
    """Draw the size of stores and indexes as a share of their text."""
    names = {"embedded": "embedded store", "Solr": "Solr", "OpenSearch": "OpenSearch"}
    long_texts = [
        (f"{names[row['index']]}, texts of 14 KB", 100 * float(row["of the text"]))
        for row in rows("opensearch-index.csv")
        if row["index"] in names
    ]
    paragraphs = [
        (f"{SIZED[row['engine']]}, paragraphs of 400 bytes", float(row["% of the text"]))
        for row in rows("index-sizes.csv")
        if (row["label"], row["what"]) == ("1,000,000", "all")
    ]
    bars = sorted([*long_texts, *paragraphs], key=lambda bar: bar[1], reverse=True)
    figure, panel = plt.subplots(figsize=(9, 0.4 * len(bars) + 1))
    drawn = panel.barh([name for name, _ in bars], [share for _, share in bars], color="#1f78b4", height=0.6)
    panel.bar_label(drawn, fmt="%.0f %%", fontsize=9, padding=3)
    panel.axvline(100, color="black", linewidth=0.8, linestyle=":")
    panel.margins(x=0.1)
    panel.set(xlabel="size on disk, % of the text (dotted: the text itself)")
    _save(figure, "figures-big.svg", recorded("opensearch-index.csv", "index-sizes.csv"))


def draw_growth() -> None:
    """Draw how the cost of a search and of finding duplicates grows with the number of documents."""
    figure, (search, duplicates) = plt.subplots(1, 2, figsize=(9, 3.6))
    measured = [row for row in rows("million.csv") if row["engine"] in ENGINES]
    for engine, (name, colour) in ENGINES.items():
        for quantile, style in (("p50", "-"), ("p99", "--")):
            points = [
                (int(row["documents"]), float(row["value"]))
                for row in measured
                if (row["engine"], row["what"]) == (engine, f"similar 50: CPU {quantile}")
            ]
            label = f"{name}, {'median' if quantile == 'p50' else '99th percentile'}"
            search.plot(*zip(*points, strict=True), style, marker="o", markersize=4, color=colour, label=label)
    search.set(xscale="log", yscale="log", xlabel="documents", ylabel="ms of CPU")
    search.set_title("similar at 50 %, a search")
    search.legend(fontsize=7)
    for workers, style in (("1", "-"), ("2", "--")):
        rows_read = [row for row in rows("duplicates-scaling.csv") if row["workers"] == workers]
        points = [(int(row["documents"]), float(row["wall s"])) for row in rows_read]
        label = "one process" if workers == "1" else "two processes"
        duplicates.plot(*zip(*points, strict=True), style, marker="o", markersize=4, color="#1b9e77", label=label)
    duplicates.set(xscale="log", yscale="log", xlabel="documents of 3 KB", ylabel="s")
    duplicates.set_title("all duplicates at 80 %")
    duplicates.legend(fontsize=8)
    for panel in (search, duplicates):
        panel.grid(alpha=0.3)
    _save(figure, "figures-growth.svg", recorded("million.csv", "duplicates-scaling.csv"))


def _place(names: Sequence[str], row: Row) -> int:
    """Return the height of a contender's line; the first name is at the top."""
    return len(names) - 1 - names.index(row["contender"])


def draw_accuracy(rows: Sequence[Row], value: str) -> None:
    """Draw recall or precision by threshold, with one panel for each metric."""
    figure, panels = plt.subplots(1, len(METRICS), figsize=(9, 3.6), sharey=True)
    for panel, (metric, title) in zip(panels, METRICS.items(), strict=True):
        own = [row for row in rows if row["metric"] == metric]
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


def _save(figure: Any, name: str, corner: str = "") -> None:
    figure.tight_layout()
    figure.text(0.995, 0.01, corner, ha="right", fontsize=7, color="#666666")
    figure.savefig(IMAGES / name, metadata={"Date": None})


def main() -> None:
    draw_right()
    draw_fast()
    draw_big()
    draw_growth()
    rows_read = rows("accuracy.csv")
    draw_accuracy(rows_read, "recall")
    draw_accuracy(rows_read, "precision")
    draw_errors(rows("accuracy-errors.csv"))


if __name__ == "__main__":
    main()
