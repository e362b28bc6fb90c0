"""Progress counts of a backfill, and its commits in all cases."""

from __future__ import annotations

import pytest

from whorl.engine.backfill_loop import BackfillReport, fill_batches, ignore_progress
from whorl.errors import EngineUnavailableError


def test_every_document_that_was_looked_at_counts_once() -> None:
    """
    Every processed document counts once, whatever its outcome; remaining ones do not count.
    """
    so_far = BackfillReport(
        100, sent=1, cleared=2, too_short=4, textless=8, refused=(("a", "why"), ("b", "why")), changed=32
    )
    assert so_far.processed == 17


@pytest.mark.parametrize("ids", [["b", "", "a"], ["a", "b", ""], ["", "", "a"]])
def test_the_example_does_not_depend_on_the_order_of_batches(ids: list[str]) -> None:
    """
    The reports of batches have one example together, the smallest id; a batch without sent documents has none.
    """
    assert sum((BackfillReport(example=example) for example in ids), start=BackfillReport()).example == "a"


def test_a_long_run_commits_in_between_and_at_its_end() -> None:
    """
    A commit follows 10,000 updates and the end. Documents without a text and refused ones are not counted as remaining.
    """
    commits = list[str]()
    done = fill_batches(
        20_002,
        [9_999, 2, 9_999],
        lambda size: BackfillReport(sent=size - 1, textless=1, refused=((str(size), "why"),)),
        commit=lambda: commits.append("commit"),
        lacking=lambda: 9,
        progress=ignore_progress,
    )
    assert (done.total, done.sent, done.textless, done.changed) == (20_002, 19_997, 3, 3)
    assert [document_id for document_id, _ in done.refused] == ["9999", "2", "9999"]
    assert len(commits) == 2


def test_a_failed_batch_commits_the_earlier_ones() -> None:
    """
    The error of the batch is raised, even if the commit fails too.
    """
    commits = list[str]()

    def fill(batch: str) -> BackfillReport:
        if batch == "bad":
            raise EngineUnavailableError("the first error")
        return BackfillReport(sent=1)

    def commit() -> None:
        commits.append("commit")
        raise EngineUnavailableError("the second error")

    with pytest.raises(EngineUnavailableError, match="the first error"):
        fill_batches(3, ["good", "bad", "good"], fill, commit=commit, lacking=lambda: 0, progress=ignore_progress)
    assert commits == ["commit"]
