"""Tests of the messages and lists of `whorl duplicates`."""

from __future__ import annotations

from pathlib import Path

from whorl.cli.duplicates import (
    clusters_line,
    write_clusters_to,
    write_list,
    write_pairs_to,
)
from whorl.duplicates import Keep
from whorl.duplicates.results_and_retention import Cluster, Member, Pair

A, B, C = (Member(document_id, "", size) for document_id, size in (("a", 5), ("b", 9), ("c", 7)))
CLUSTER = Cluster((Pair.of_counts(A, A, 5, 5, 5), Pair.of_counts(A, B, 5, 5, 5), Pair.of_counts(A, C, 5, 5, 5)))


def test_written_items_are_counted_in_words(tmp_path: Path) -> None:
    """
    The number of written items is printed in words, whatever the format.
    """
    for form in ("json", "csv", "table", "parquet"):
        written = write_clusters_to(tmp_path / "c", [CLUSTER], form)
        assert clusters_line(written, "line") == "1 cluster with 3 lines"
        assert write_pairs_to(tmp_path / "p", CLUSTER.matches[1:], form) == "2 pairs"
        assert (tmp_path / "c").stat().st_size
        assert (tmp_path / "p").stat().st_size


def test_a_list_has_the_documents_not_kept(tmp_path: Path) -> None:
    """
    A delete list has the ids of the documents that are not kept, one a line.
    """
    write_list([CLUSTER], Keep("longest"), tmp_path / "ids")
    assert (tmp_path / "ids").read_text() == "a\nc\n"
