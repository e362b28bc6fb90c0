"""Lines written in bulk, compared with those written one at a time."""

from __future__ import annotations

import io
import json
import random

import pytest

from tests.families import family_documents
from whorl.duplicates import result
from whorl.duplicates.options import ask_pairs
from whorl.duplicates.run import duplicates_among
from whorl.model import Document
from whorl.output.duplicate_lines import write_cluster_lines, write_pair_lines
from whorl.output.duplicates import write_clusters, write_pairs

#: Characters that JSON escapes, and others that it leaves unchanged.
ODD = ['"', "\\", "/", "\u2028", "\u00fc\u65e5", "\U0001f600", "", "a\tb\nc\x7f"]


def documents(seed: int) -> list[Document]:
    """
    Return families of near-copies, some members repeated, with odd ids and names.
    """
    chance = random.Random(seed)
    made = family_documents(60)
    made += chance.choices(made, k=25)
    chance.shuffle(made)
    return [
        Document(f"{number}{chance.choice(ODD[:-1])}", each.text, chance.choice(ODD))
        for number, each in enumerate(made)
    ]


@pytest.mark.parametrize("only_new", [False, True])
@pytest.mark.parametrize("at_once", [7, 1 << 15])
def test_lines_are_the_same_to_the_byte(only_new: bool, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Pairs and clusters are the same to the byte, with equal documents, all or only new ones, for any portion size.
    """
    monkeypatch.setattr(result, "_PAIRS_AT_ONCE", at_once)
    monkeypatch.setattr(result, "_MEMBERS_AT_ONCE", at_once)
    some = documents(at_once)
    with duplicates_among(some[40:], ask_pairs("jaccard", 40, 100), reference=some[:40]) as found:
        assert found.is_counted
        expected, written = io.StringIO(), io.StringIO()
        count = write_pairs(found.pairs(only_new=only_new), "json", expected)
        assert write_pair_lines(found.pairs_in_columns(only_new=only_new), written) == count > 100
        assert written.getvalue() == expected.getvalue()
        for complete in (False, True):
            expected, written = io.StringIO(), io.StringIO()
            counts = write_clusters(found.clusters(complete=complete, only_new=only_new), "json", expected)
            several = found.clusters_in_columns(complete=complete, only_new=only_new)
            assert write_cluster_lines(several, written) == counts
            assert written.getvalue() == expected.getvalue()
            assert counts[0] > 5
    assert {char for char in written.getvalue() if not char.isascii()} > {"\u2028", "\u65e5"}
    assert all(json.loads(line)["members"] for line in written.getvalue().split("\n")[:-1])


def test_nothing_is_written_of_nothing() -> None:
    """
    Without similar documents no line is written.
    """
    with duplicates_among([Document("a", "one two three four five six")], ask_pairs("jaccard", 80, 95)) as found:
        out = io.StringIO()
        assert write_pair_lines(found.pairs_in_columns(), out) == 0
        assert write_cluster_lines(found.clusters_in_columns(), out) == (0, 0)
        assert out.getvalue() == ""
