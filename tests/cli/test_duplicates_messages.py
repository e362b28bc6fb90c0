"""Tests of the messages and lists of `whorl duplicates`."""

from __future__ import annotations

from pathlib import Path

from whorl.cli.run_duplicates import clusters_line, write_list
from whorl.cli.shared.output_files import open_output
from whorl.duplicates import Keep
from whorl.duplicates.results import Cluster, Member, Pair
from whorl.output.duplicates import write_clusters, write_pairs

A, B, C = (Member(document_id, "", size) for document_id, size in (("a", 5), ("b", 9), ("c", 7)))
CLUSTER = Cluster((Pair.of_counts(A, A, 5, 5, 5), Pair.of_counts(A, B, 5, 5, 5), Pair.of_counts(A, C, 5, 5, 5)))


def test_written_items_are_counted_in_words(tmp_path: Path) -> None:
    """
    The number of written items is printed in words, whatever the format.
    """
    for form in ("json", "csv", "table", "parquet"):
        is_binary = form == "parquet"
        with open_output(tmp_path / "c", is_binary=is_binary) as out:
            written = write_clusters([CLUSTER], form, out)
        assert clusters_line(written, "line") == "1 cluster with 3 lines"
        with open_output(tmp_path / "p", is_binary=is_binary) as out:
            assert write_pairs(CLUSTER.matches[1:], form, out) == 2
        assert (tmp_path / "c").stat().st_size
        assert (tmp_path / "p").stat().st_size


def test_a_list_has_the_documents_not_kept(tmp_path: Path) -> None:
    """
    A delete list has the ids of the documents that are not kept, one a line.
    """
    write_list([CLUSTER], Keep("longest"), tmp_path / "ids")
    assert (tmp_path / "ids").read_text() == "a\nc\n"
