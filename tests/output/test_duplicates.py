"""Pairs and clusters in every output format, by hand."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Sequence
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.families import family_documents
from whorl.duplicates import results
from whorl.duplicates.options import parse_pair_options
from whorl.duplicates.results import Cluster, Member, Pair, UnsharedText, Version
from whorl.duplicates.run import duplicates_among
from whorl.model import Document
from whorl.output.duplicates import (
    ClusterPreview,
    DescribedCluster,
    MatchedPair,
    not_compared_lines,
    write_cluster_lines,
    write_clusters,
    write_pair_lines,
    write_pairs,
)
from whorl.output.formatting import without_controls
from whorl.output.json_conversion import values

ONE, TWO, ODD = Member("one", "First", 30), Member("two", "", 20), Member('a,"b"\n\x1b[31m', "x\ny", 30)
ALIKE = Pair.of_counts(ONE, TWO, 15, 15, 15)
ABOUT = Pair.of_counts(ONE, ODD, 20, 10, 30)


def written(pairs: list[Pair], form: str) -> str:
    out = io.StringIO()
    assert write_pairs(iter(pairs), form, out) == len(pairs)
    return out.getvalue()


def test_a_pair() -> None:
    """
    Shares are rounded down; an estimate has intervals, rounded outward.
    """
    assert values(MatchedPair(ALIKE)) == {
        "a": "one", "b": "two", "jaccard": 0.428571, "a_in_b": 0.5, "b_in_a": 0.75, "exact": True,
    }  # fmt: skip
    assert values(MatchedPair(ABOUT)) == {
        "a": "one", "b": ODD.id, "jaccard": 0.5, "a_in_b": 0.666666, "b_in_a": 0.666666, "exact": False,
        "intervals": {"jaccard": [0.2, 1.0], "a_in_b": [0.333333, 1.0], "b_in_a": [0.333333, 1.0]},
    }  # fmt: skip


@pytest.mark.parametrize("shared", [0, 1, 7, 19, 20])
def test_a_line_is_what_the_values_of_a_pair_encode_to(shared: int) -> None:
    """
    A line is byte for byte the JSON of the pair's values, for any id.
    """
    for other in (TWO, ODD, Member("\u00fc\u65e5\u2028\\/\x7f", "", 20), Member("\ud800", "", 0)):
        for pair in (Pair.of_counts(TWO, other, shared, shared, shared), Pair.of_counts(TWO, other, shared, 0, 20)):
            line = without_controls(json.dumps(values(MatchedPair(pair)), ensure_ascii=False))
            assert written([pair], "json") == f"{line}\n"


def test_pairs_as_rows() -> None:
    """
    The JSON lines and the CSV rows have the same values, and any id is read back.
    """
    assert [json.loads(line) for line in written([ALIKE, ABOUT], "json").splitlines()] == [
        values(MatchedPair(ALIKE)),
        values(MatchedPair(ABOUT)),
    ]
    rows = list(csv.reader(io.StringIO(written([ALIKE, ABOUT], "csv"))))
    assert rows == [
        ["a", "b", "jaccard", "a_in_b", "b_in_a", "exact", "a_name", "b_name"],
        ["one", "two", "0.428571", "0.5", "0.75", "true", "First", ""],
        ["one", ODD.id, "0.5", "0.666666", "0.666666", "false", "First", "x\ny"],
    ]


def test_pairs_for_people() -> None:
    """
    The table has percentages, `~` for an estimate, and no control characters.
    """
    assert written([ALIKE, ABOUT], "table").splitlines() == [
        "   jaccard    A in B    B in A  A | B",
        "     42.8%     50.0%     75.0%  one | two",
        "    ~50.0%    ~66.6%    ~66.6%  one | a,\"b\"\ufffd\ufffd[31m",
    ]  # fmt: skip


def test_clusters_in_every_format() -> None:
    """
    Each member has its shares with the first one; the counts of clusters and documents are returned.
    """
    itself = Pair.of_counts(ONE, ONE, 30, 30, 30)
    clusters = [Cluster((itself, ALIKE)), Cluster((Pair.of_counts(ODD, ODD, 30, 30, 30), ABOUT))]
    assert values(DescribedCluster(clusters[0])) == {
        "cluster": "one",
        "documents": 2,
        "members": [
            {
                "id": "one", "name": "First", "shingles": 30, "is_principal": True,
                "jaccard": 1, "a_in_b": 1, "b_in_a": 1, "exact": True,
            },
            {
                "id": "two", "name": "", "shingles": 20, "is_principal": False,
                "jaccard": 0.428571, "a_in_b": 0.5, "b_in_a": 0.75, "exact": True,
            },
        ],
    }  # fmt: skip
    texts = {}
    for form in ("json", "csv", "table"):
        out = io.StringIO()
        assert write_clusters(iter(clusters), form, out) == (2, 4)
        texts[form] = out.getvalue()
    assert [json.loads(line) for line in texts["json"].splitlines()] == [
        values(DescribedCluster(cluster)) for cluster in clusters
    ]
    rows = list(csv.reader(io.StringIO(texts["csv"])))
    columns = ["cluster", "documents", "id", "name", "shingles", "is_principal"]
    assert rows[0] == [*columns, "jaccard", "a_in_b", "b_in_a", "exact"]
    assert rows[1:3] == [
        ["one", "2", "one", "First", "30", "true", "1.0", "1.0", "1.0", "true"],
        ["one", "2", "two", "", "20", "false", "0.428571", "0.5", "0.75", "true"],
    ]
    assert texts["table"].splitlines() == [
        "cluster 1: 2 documents",
        "  100.0%  one  First",
        "   42.8%  two",
        "",
        "cluster 2: 2 documents",
        "  100.0%  a,\"b\"\ufffd\ufffd[31m  x\ufffdy",
        "  ~50.0%  a,\"b\"\ufffd\ufffd[31m  x\ufffdy",
    ]  # fmt: skip


def test_a_preview_has_the_largest_clusters() -> None:
    """
    A preview shows some clusters, some members of each, and the beginning of a text; all clusters are counted.
    """
    members = [Pair.of_counts(ONE, Member(f"m{at}", "", 30), 30, 30, 30) for at in range(4)]
    clusters = [Cluster((Pair.of_counts(ONE, ONE, 30, 30, 30), *members)), Cluster((ALIKE,)), Cluster((ALIKE,))]
    requests: list[str] = []

    def texts(ids: Sequence[str]) -> dict[str, str]:
        requests.extend(ids)
        return {"one": " a  text\nof\x1b words " + "x" * 200}

    out = io.StringIO()
    assert write_clusters(iter(clusters), "table", out, preview=ClusterPreview(texts, clusters=2, members=2)) == (3, 7)
    assert requests == ["one", "one"]
    snippet = f'"a text of\ufffd words {"x" * 53}…"'
    assert out.getvalue().splitlines() == [
        f"cluster 1: 5 documents  {snippet}",
        "  100.0%  one  First",
        "  100.0%  m0",
        "          … and 3 more",
        "",
        f"cluster 2: 1 document  {snippet}",
        "   42.8%  two",
    ]


def test_versions_in_every_format() -> None:
    """
    Versions are in order, each with its additions and losses; if there are many passages, the longest are shown in text
    order.
    """
    later = Member("one", "First", 30, date=1.5)
    match = Pair.of_counts(TWO, later, 15, 15, 15)
    spans = tuple((10 * at, 10 * at + at) for at in range(1, 13))
    added = UnsharedText(12, spans, tuple("x" * (end - start) for start, end in spans))
    itself = Pair.of_counts(TWO, TWO, 20, 20, 20)
    cluster = Cluster((itself, match), (), (Version(TWO, None), Version(later, match, added, UnsharedText())))
    first, second = values(DescribedCluster(cluster))["versions"]
    assert first == {"id": "two", "name": "", "date": None, "is_principal": True, "change": None}
    change = second["change"]
    assert change is not None
    assert change["adds"]["passages"] is not None
    assert (second["date"], change["before"]) == ("1970-01-01T00:00:01Z", "two")
    assert change["loses"] == {"share": 0.25, "words": 0, "passages": []}
    assert (change["adds"]["share"], change["adds"]["words"]) == (0.5, 12)
    assert [passage["start"] for passage in change["adds"]["passages"]] == [10 * at for at in range(3, 13)]
    text, table, out = io.StringIO(), io.StringIO(), io.BytesIO()
    assert write_clusters([cluster], "csv", text, versions=True) == (1, 2)
    write_clusters([cluster], "table", table, versions=True)
    write_clusters([cluster], "parquet", out, versions=True)
    rows = list(csv.reader(io.StringIO(text.getvalue())))
    assert rows[0][-6:] == ["version", "date", "adds", "loses", "adds_words", "loses_words"]
    assert [row[-6:] for row in rows[1:]] == [
        ["1", "", "", "", "", ""],
        ["2", "1970-01-01T00:00:01Z", "0.5", "0.25", "12", "0"],
    ]
    assert [row["adds_words"] for row in pq.read_table(out).to_pylist()] == [None, 12]
    assert table.getvalue().splitlines() == [
        "cluster 1: 2 documents",
        "   1  two  (principal)",
        "   2  one  First  1970-01-01T00:00:01Z",
        "      + 50.0%, 12 words",
        *(f"        + {'x' * at}" for at in (10, 11, 12)),
        "      - 25.0%, 0 words",
    ]


def test_parquet_has_the_rows_of_csv() -> None:
    """
    Parquet has the rows of the CSV with types; without rows it still has the schema.
    """
    itself = Pair.of_counts(ONE, ONE, 30, 30, 30)
    cluster = Cluster((itself, ALIKE))
    kinds: list[tuple[Any, list[Any]]] = [(write_pairs, [ALIKE, ABOUT]), (write_clusters, [cluster])]
    for write, found in kinds:
        text, out, empty = io.StringIO(), io.BytesIO(), io.BytesIO()
        assert write(iter(found), "parquet", out) == write(iter(found), "csv", text)
        rows = list(csv.reader(io.StringIO(text.getvalue())))
        table = pq.read_table(out)
        assert table.schema.names == rows[0]
        assert [[str(value) for value in row.values()] for row in table.to_pylist()] == [
            [{"true": "True", "false": "False"}.get(cell, cell) for cell in row] for row in rows[1:]
        ]
        assert {str(kind) for kind in table.schema.types} <= {"string", "double", "bool", "int64"}
        assert str(table.schema.field("jaccard").type) == "double"
        write(iter([]), "parquet", empty)
        assert pq.read_table(empty).schema == table.schema


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", ""),
        ("csv", "a,b,jaccard,a_in_b,b_in_a,exact,a_name,b_name\n"),
        ("table", "   jaccard    A in B    B in A  A | B\n"),
    ],
)
def test_nothing_found(form: str, text: str) -> None:
    """
    Without pairs only the heading is written, if the format has one.
    """
    assert written([], form) == text


def test_documents_left_out_are_counted_by_reason() -> None:
    """
    Each reason for documents left out is one sentence, with the shingle size.
    """
    texts = ["one two", "one two three four five", "", "one two three four five"]
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    question = parse_pair_options("jaccard", 50, 95)
    with duplicates_among(documents, question) as duplicates:
        assert not_compared_lines(duplicates) == ["2 documents of fewer than 5 words were not compared"]
        duplicates.without_sketch = 1
        assert not_compared_lines(duplicates)[1:] == ["1 document without a sketch was not compared"]
    with duplicates_among(documents[1:2], question) as duplicates:
        assert not_compared_lines(duplicates) == []


#: Characters that JSON escapes, and others that it leaves unchanged.
ODD_TEXTS = ['"', "\\", "/", "\u2028", "\u00fc\u65e5", "\U0001f600", "", "a\tb\nc\x7f"]


def documents(seed: int) -> list[Document]:
    """
    Return families of near-copies, some members repeated, with odd ids and names.
    """
    chance = random.Random(seed)
    made = family_documents(60)
    made += chance.choices(made, k=25)
    chance.shuffle(made)
    return [
        Document(f"{number}{chance.choice(ODD_TEXTS[:-1])}", document.text, chance.choice(ODD_TEXTS))
        for number, document in enumerate(made)
    ]


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("at_once", [7, 1 << 15])
def test_lines_are_the_same_to_the_byte(new: bool, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The fast writers give pairs and clusters byte for byte like the plain ones, for all or only new documents, with
    copies, and for any portion size.
    """
    monkeypatch.setattr(results, "_PAIRS_AT_ONCE", at_once)
    monkeypatch.setattr(results, "_MEMBERS_AT_ONCE", at_once)
    collection = documents(at_once)
    with duplicates_among(
        collection[40:], parse_pair_options("jaccard", 40, 100), reference=collection[:40]
    ) as duplicates:
        assert duplicates.is_counted
        expected, written = io.StringIO(), io.StringIO()
        count = write_pairs(duplicates.pairs(new=new), "json", expected)
        assert write_pair_lines(duplicates.pairs_in_columns(new=new), written) == count > 100
        assert written.getvalue() == expected.getvalue()
        for complete in (False, True):
            expected, written = io.StringIO(), io.StringIO()
            counts = write_clusters(duplicates.clusters(complete=complete, new=new), "json", expected)
            several = duplicates.clusters_in_columns(complete=complete, new=new)
            assert write_cluster_lines(several, written) == counts
            assert written.getvalue() == expected.getvalue()
            assert counts[0] > 5
    assert {char for char in written.getvalue() if not char.isascii()} > {"\u2028", "\u65e5"}
    assert all(json.loads(line)["members"] for line in written.getvalue().split("\n")[:-1])


def test_no_output_without_duplicates() -> None:
    """
    Without similar documents no line is written.
    """
    with duplicates_among(
        [Document("a", "one two three four five six")], parse_pair_options("jaccard", 80, 95)
    ) as duplicates:
        out = io.StringIO()
        assert write_pair_lines(duplicates.pairs_in_columns(), out) == 0
        assert write_cluster_lines(duplicates.clusters_in_columns(), out) == (0, 0)
        assert out.getvalue() == ""
