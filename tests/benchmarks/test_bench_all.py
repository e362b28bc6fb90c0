"""The comparison of recorded results with the last run, and the list of benchmarks."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

import bench_all
from bench_all import COMMANDS, HERE, KEPT, PRINTING_COMMANDS, RENEWED, RESULTS, ROOT, changes, steps, table

BEFORE = "date,threshold,tool,CPU s\n2026-11-01,50,whorl,2.0\n2026-11-01,50,other,4.0\n2026-11-01,80,whorl,1.00\n"
AFTER = "date,threshold,tool,CPU s\n2026-11-02,50,whorl,3.0\n2026-11-02,80,whorl,1.05\n2026-11-02,90,whorl,0.5\n"


def test_changes_are_larger_than_noise() -> None:
    """
    A number that grew by half, a new row and a missing row are listed; another date and 5 % more are not.
    """
    assert list(changes(table(BEFORE), table(AFTER))) == [
        "50, whorl: CPU s 2 -> 3 (1.50 times)",
        "new: 90, whorl",
        "gone: 50, other",
    ]


def test_equal_results_have_no_changes() -> None:
    """
    Rows that differ only in measured numbers are compared in their order.
    """
    repeated = "tool,ms\nwhorl,1.0\nwhorl,9.0\n"
    assert not list(changes(table(repeated), table(repeated)))
    assert list(changes(table(repeated), table(repeated.replace("9.0", "8.0")))) == ["whorl: ms 9 -> 8 (0.89 times)"]


def test_all_benchmarks_are_run() -> None:
    """
    The list has the benchmarks of the Makefile, except the target that runs them, and targets and scripts that exist.
    """
    names = steps()
    assert {"bench-engines", "bench-duplicates", "bench-load", "prove-kills", "copies.csv"} <= set(names)
    assert "bench-all" not in names
    assert len(names) == len(set(names)) > 40
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in names:
        script = {**COMMANDS, **PRINTING_COMMANDS}.get(name, "").partition(" ")[0]
        assert (HERE / script).is_file() if script else f"\n{name}:" in makefile


def shown_files() -> set[str]:
    """Return the recorded files that a page names, with or without their folder."""
    pages = [ROOT / "README.md", HERE / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    recorded = {path.name for path in RESULTS.iterdir()}
    named = {name for name in recorded if re.search(rf"[`/]{re.escape(name)}\b", text)}
    return named | {name for name in re.findall(r"results/([\w-]+\.\w+)", text) if "." in name}


def test_every_shown_file_is_renewed() -> None:
    """
    A step renews each recorded file that a page shows, or the list of kept files has the reason.
    """
    renewed = {*COMMANDS, *PRINTING_COMMANDS, *chain.from_iterable(RENEWED.values())}
    assert shown_files() - renewed == shown_files() & KEPT.keys()
    assert {path.name for path in RESULTS.iterdir()} - renewed == KEPT.keys()
    assert RENEWED.keys() <= set(steps())


@pytest.mark.parametrize("target", RENEWED)
def test_a_target_writes_its_files(target: str) -> None:
    """
    The recipe of a target, or a script that it runs, names each of its files, or makes its name of two parts.
    """
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition(f"\n{target}:")[2].partition("\n\n")[0]
    scripts = [Path(name) for name in re.findall(r"benchmarks/\w+\.py", recipe)]
    scripts += [Path(name.replace(".", "/") + ".py") for name in re.findall(r"-m (tests[\w.]+)", recipe)]
    text = "\n".join([recipe, *((ROOT / script).read_text(encoding="utf-8") for script in scripts)])
    for file in RENEWED[target]:
        beginning, _, end = file.partition(".")[0].partition("-")
        assert file in text or (end and (f"{beginning}-" in text or f"-{end}" in text))


@pytest.mark.parametrize("file", COMMANDS)
def test_a_command_writes_its_file(file: str) -> None:
    """
    The arguments of a command, or its script, name the file, or make its name of two parts.
    """
    script = COMMANDS[file].partition(" ")[0]
    assert any(part in COMMANDS[file] + (HERE / script).read_text("utf-8") for part in (file, "duplicates-{name}"))


@pytest.mark.process
def test_the_output_of_a_command_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A command that prints its figures gets a record with a heading, unless it fails; the log has its errors.
    """
    for name in ("LOGS", "RESULTS", "HERE"):
        monkeypatch.setattr(bench_all, name, tmp_path)
    (tmp_path / "good.py").write_text("print('one figure')")
    (tmp_path / "bad.py").write_text("print('half a figure'); raise SystemExit('broken')")
    monkeypatch.setattr(bench_all, "PRINTING_COMMANDS", {"good.txt": "good.py --rounds 1", "bad.txt": "bad.py"})
    assert "failed" not in bench_all.run("good.txt")
    heading, figures = (tmp_path / "good.txt").read_text().splitlines()
    assert heading.startswith("# python benchmarks/good.py --rounds 1, 20")
    assert figures == "one figure"
    assert "bad.txt: failed after" in bench_all.run("bad.txt")
    assert not (tmp_path / "bad.txt").exists()
    assert "broken" in (tmp_path / "bad.txt.log").read_text()
