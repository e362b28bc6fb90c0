"""The comparison of recorded results with the last run, and the list of benchmarks."""

from __future__ import annotations

from bench_all import changes, table, targets

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
    The list has the benchmarks of the Makefile, except the target that runs them.
    """
    target_names = targets()
    assert {"bench-engines", "bench-duplicates", "bench-service", "bench-licences"} <= set(target_names)
    assert "bench-all" not in target_names
    assert len(target_names) == len(set(target_names)) > 20
