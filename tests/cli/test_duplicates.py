"""Tests of `whorl duplicates`: output, files, combinations of options, and unreadable input."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from tests.families import family_documents, true_components, true_pairs
from whorl import Document, open_store
from whorl.cli.main import main
from whorl.cli.run_duplicates import report_unread_documents
from whorl.duplicates.options import DuplicatesOptions, parse_pair_options
from whorl.duplicates.results import Member
from whorl.duplicates.run import duplicates_among
from whorl.ingest.files import Problem, Problems

DOCUMENTS = family_documents(30, seed=3, longest=300)


def run(*arguments: str | Path, environment: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, ["duplicates", *map(str, arguments)], env=environment)


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("duplicates") / "all.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": document.id, "text": document.text, "name": document.name}) + "\n"
            for document in DOCUMENTS
        )
    )
    return path


def test_pairs_in_every_format(lines: Path) -> None:
    """
    JSON lines and CSV have the same pairs as plain sets; a table has a line for each.
    """
    expected = set(true_pairs(DOCUMENTS, "jaccard", 80))
    as_json = [json.loads(line) for line in run(lines, "--pairs", "--format", "json").stdout.splitlines()]
    as_csv = list(csv.DictReader(io.StringIO(run(lines, "--pairs", "--format", "csv").stdout)))
    assert {frozenset((pair["a"], pair["b"])) for pair in as_json} == expected
    assert [(hit["a"], hit["b"], float(hit["jaccard"])) for hit in as_csv] == [
        (hit["a"], hit["b"], hit["jaccard"]) for hit in as_json
    ]
    assert {pair["exact"] for pair in as_csv} == {"true"}
    assert as_csv[0]["a_name"] == f"text {as_csv[0]['a']}"
    table = run(lines, "--pairs").stdout.splitlines()
    assert len(table) == len(expected) + 1
    assert table[1].split()[:3] == ["100.0%", "100.0%", "100.0%"]


def test_a_table_shows_twenty_clusters_and_sums_up(tmp_path: Path) -> None:
    """
    The table has the twenty largest clusters with the beginning of a text; --all and the other formats have all. The
    last lines count documents, clusters, and the documents that could be deleted if one of each cluster stayed.
    """
    texts = [f"cluster number {at} begins " + " ".join(f"w{at}x{word}" for word in range(30)) for at in range(25)]
    rows = [{"id": f"{at}/{copy}", "text": text} for at, text in enumerate(texts) for copy in range(4)]
    rows += [{"id": f"alone/{at}", "text": " ".join(f"a{at}x{word}" for word in range(30))} for at in range(100)]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run(tmp_path / "all.jsonl")
    assert done.stdout.count("cluster ") == 40
    assert 'cluster 1: 4 documents  "cluster number 0 begins w0x0 w0x1' in done.stdout
    size = (tmp_path / "all.jsonl").stat().st_size / 1e3
    counts, redundancy, shown = done.stderr.splitlines()
    assert counts == "25 clusters with 100 documents, of 200 documents in all"
    # Each text of a cluster has 30 shingles of 5 words, each of the others 26.
    share = 75 * 30 / (100 * 30 + 100 * 26)
    assert redundancy == (
        f"keeping one of each removes 75 documents (37.5%) with {int(1000 * share) / 10}% of the text, "
        f"about {share * size:,.1f} of {size:,.1f} kB"
    )
    assert shown.startswith("the 20 largest are shown; --all shows all")
    whole = run(tmp_path / "all.jsonl", "--all")
    assert whole.stdout.count("\n  100.0%") == 100
    assert "shown" not in whole.stderr
    assert len(run(tmp_path / "all.jsonl", "--format", "json").stdout.splitlines()) == 25
    run(tmp_path / "all.jsonl", "--output", tmp_path / "table.txt")
    assert (tmp_path / "table.txt").read_text() == whole.stdout


def test_two_sets_match_with_ids_and_spans(tmp_path: Path) -> None:
    """
    Each pair of passages between a set and its reference has the ids of both documents and both ranges, in every
    format.
    """
    shared = " ".join(f"shared{at}" for at in range(20))
    texts = {"known": f"before it {shared} and after", "new": f"{shared}, else", "alone": "nothing in common here"}
    for name, text in texts.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": f"{name}#1", "text": text}) + "\n")
    sets: list[str | Path] = [tmp_path / "new.jsonl", tmp_path / "alone.jsonl", "--reference", tmp_path / "known.jsonl"]
    options: list[str | Path] = ["--level", "passage", "--words", "12", "--pairs"]
    (line,) = run(*sets, *options, "--format", "json").stdout.splitlines()
    (row,) = csv.DictReader(io.StringIO(run(*sets, *options, "--format", "csv").stdout))
    run(*sets, *options, "--output", tmp_path / "pairs.parquet")
    (stored,) = pq.read_table(tmp_path / "pairs.parquet").to_pylist()
    for pair in (json.loads(line), row, stored):
        assert (pair["a_document"], pair["b_document"]) == (f"{tmp_path / 'known.jsonl'}:known#1", "new#1")
        for side, name in (("a", "known"), ("b", "new")):
            assert texts[name][int(pair[f"{side}_start"]) : int(pair[f"{side}_end"])] == shared


def test_a_file_is_no_duplicate_of_itself(tmp_path: Path) -> None:
    """
    Paths and links to the same file are one document, so that its only copy is never listed; a hard link counts as a
    copy.
    """
    folder, listed = tmp_path / "files", tmp_path / "list"
    folder.mkdir()
    (folder / "text.txt").write_text(" ".join(map(str, range(20))))
    (folder / "a link.txt").symlink_to("text.txt")
    (folder / "another").symlink_to(folder)
    keep = ("--keep", "first", "--delete-list", listed)
    for paths in ((folder,), (folder / "text.txt", os.path.relpath(folder / "text.txt")), (folder, folder)):
        assert run(*paths, *keep).exit_code == 0
        assert listed.read_text() == ""
    (folder / "zoo.txt").hardlink_to(folder / "text.txt")
    run(folder, *keep)
    assert listed.read_text() == f"{folder}/zoo.txt\n"


def test_clusters_in_every_format(lines: Path, tmp_path: Path) -> None:
    """
    Clusters are the connected components of the pairs; the name of the file determines the format.
    """
    expected = true_components(true_pairs(DOCUMENTS, "jaccard", 80))
    done = run(lines, "-o", tmp_path / "c.jsonl")
    assert done.stdout == ""
    clusters = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert {frozenset(member["id"] for member in cluster["members"]) for cluster in clusters} == expected
    assert [cluster["documents"] for cluster in clusters] == sorted(
        (cluster["documents"] for cluster in clusters), reverse=True
    )
    message = f"{len(expected)} clusters with {sum(map(len, expected))} documents, of {len(DOCUMENTS)} documents in all"
    assert message in done.stderr
    run(lines, "-o", tmp_path / "c.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "c.csv").read_text())))
    assert [row["id"] for row in rows] == [member["id"] for cluster in clusters for member in cluster["members"]]
    assert f"cluster {len(expected)}:" in run(lines).stdout
    run(lines, "-o", tmp_path / "c.parquet")
    table = pq.read_table(tmp_path / "c.parquet").to_pylist()
    assert [(row["cluster"], row["id"]) for row in table] == [(row["cluster"], row["id"]) for row in rows]
    assert {row["cluster"] for row in rows} == {cluster["cluster"] for cluster in clusters}


def test_a_list_of_superfluous_documents(lines: Path, tmp_path: Path) -> None:
    """
    No two kept documents of a cluster are duplicates of each other, and no document is deleted.
    """
    before = lines.read_bytes()
    done = run(lines, "--keep", "longest", "--delete-list", tmp_path / "list", "--format", "json")
    listed = (tmp_path / "list").read_text().splitlines()
    clusters = [{member["id"] for member in json.loads(line)["members"]} for line in done.stdout.splitlines()]
    assert len(listed) == len(set(listed)) == sum(len(cluster) - 1 for cluster in clusters)
    pairs = true_pairs(DOCUMENTS, "jaccard", 80)
    for cluster in clusters:
        (retained,) = cluster - set(listed)
        assert all(frozenset((retained, other)) in pairs for other in cluster - {retained})
    assert "nothing was deleted" in done.stderr
    assert lines.read_bytes() == before


DATES = {"a": "2020-01-01", "b": "30.06.2022", "c": "2022/06/30", "d": None, "e": " "}


@pytest.mark.parametrize(
    ("keep", "options"),
    [("newest:d", []), ("newest:d", ["--workers", "2"]), ("largest:n", []), ("newest", ["--date", "d"])],
)
@pytest.mark.parametrize("kind", ["files", "state", "store"])
@pytest.mark.process
def test_dates_and_numbers_that_cannot_be_read_are_noted(
    tmp_path: Path, kind: str, keep: str, options: list[str]
) -> None:
    """
    A note counts the values that are no date or number, and shows the first one; missing values are not counted.
    """
    numbers = dict(zip(DATES, ["999", "1,000,000", "2 000", None, ""], strict=True))
    rows = [{"id": key, "text": DOCUMENTS[0].text, "d": day, "n": numbers[key]} for key, day in DATES.items()]
    if kind == "store":
        options = [option for option in options if option not in ("--workers", "2")]
        with open_store(tmp_path / "store") as store:
            for row in rows:
                own = {name: value for name in ("d", "n") if (value := row[name]) is not None}
                store.index([Document(str(row["id"]), DOCUMENTS[0].text, properties=own)])
        inputs = ["--store", str(tmp_path / "store")]
    else:
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        inputs = [str(tmp_path / "rows.jsonl"), *(["--state", str(tmp_path / "state")] if kind == "state" else [])]
    sought, column, first = ("number", "n", "1,000,000") if keep == "largest:n" else ("date", "d", "30.06.2022")
    start = f"note: 2 documents have no {sought} that can be read in the column {column!r}, such as {first!r}"
    for _ in range(2):
        done = run(*inputs, *options, "--keep", keep, "--delete-list", tmp_path / "list")
        assert done.exit_code == 0, done.stderr
        notes = [line for line in done.stderr.splitlines() if line.startswith("note")]
        assert notes == [f"{start}, and count as without a {sought}"]
    done = run(*inputs, *options, "--keep", keep, "--strict")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (
        1,
        "failed: 2 values could not be read as a date or number",
    )


def test_a_threshold_up_to_one_is_a_fraction(lines: Path, tmp_path: Path) -> None:
    """
    0.8 and 80 give the same delete list; 1 means 100 %.
    """
    listed = {}
    for threshold in ("0.8", "80", "1", "100"):
        done = run(
            lines, "--threshold", threshold, "--recall", "0.95", "--keep", "first", "--delete-list", tmp_path / "list"
        )
        assert done.exit_code == 0
        listed[threshold] = (tmp_path / "list").read_text().splitlines()
    assert len(listed["80"]) > len(listed["100"]) > 0
    assert (listed["0.8"], listed["1"]) == (listed["80"], listed["100"])


def test_a_threshold_of_exactly_one_says_how_it_was_read(lines: Path) -> None:
    """
    Threshold 1 prints a note, since it could mean 1 % or 100 %; 100 prints none.
    """
    note = "note: threshold 1 means 100 %, since a number up to 1 is a fraction; write 0.01 for 1 %"
    assert note in run(lines, "--threshold", "1").stderr.splitlines()
    assert "means 100" not in run(lines, "--threshold", "100").stderr


def test_the_newest_file_stays(tmp_path: Path) -> None:
    """
    Files are dated by their modification time, JSON lines and a store's documents by a field.
    """
    text = " ".join(f"w{at}" for at in range(50))
    for name, changed in (("old.txt", 1_000), ("new.txt", 3_000), ("middle.txt", 2_000)):
        (tmp_path / "files" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "files" / name).write_text(text)
        os.utime(tmp_path / "files" / name, (changed, changed))
    listed = tmp_path / "list"
    run(tmp_path / "files", "--keep", "newest", "--delete-list", listed)
    assert {Path(line).name for line in listed.read_text().splitlines()} == {"old.txt", "middle.txt"}
    with open_store(tmp_path / "store") as store:
        store.index(Document(f"d{year}", text, properties={"made": f"{year}-05-01"}) for year in (2001, 2003, 2002))
    wanted = ("--keep", "newest", "--delete-list", listed)
    done = run("--store", tmp_path / "store", *wanted, "--date", "made")
    assert (done.exit_code, listed.read_text()) == (0, "d2001\nd2002\n")
    done = run("--store", tmp_path / "store", *wanted)
    assert done.exit_code == 2
    assert "keep newest:PROPERTY" in done.stderr
    assert listed.read_text() == "d2001\nd2002\n"


def test_members_are_compared_with_the_kept_one(tmp_path: Path) -> None:
    """
    Every rule of --keep compares the others with the kept document, in every format; a property is named as in a query
    and may be a date or a number.
    """
    versions = {"v1": PAGE, "v2": f"{PAGE} and more", "v3": f"{PAGE} and more again"}
    with open_store(tmp_path / "store") as store:
        store.index(
            Document(version, text, properties={"modified": f"2020-01-0{4 - at}", "quality": (at - 1) ** 2})
            for at, (version, text) in enumerate(versions.items(), start=1)
        )
    retained = {}
    for keep in ("first", "longest", "newest:modified", "oldest:cm:modified", "largest:quality", "smallest:quality"):
        done = run("--store", tmp_path / "store", "--keep", keep, "--format", "json")
        assert done.exit_code == 0, done.output
        (cluster,) = map(json.loads, done.stdout.splitlines())
        (retained[keep],) = [member["id"] for member in cluster["members"] if member["is_principal"]]
        assert [member["jaccard"] == 1 for member in cluster["members"]] == [
            version == retained[keep] for version in versions
        ]
    assert retained == {
        "first": "v1", "longest": "v3", "newest:modified": "v1", "oldest:cm:modified": "v3",
        "largest:quality": "v3", "smallest:quality": "v1",
    }  # fmt: skip
    lines = run("--store", tmp_path / "store", "--keep", "longest").stdout.splitlines()
    assert lines[-1] == "  100.0%  v3  (kept)"
    assert [line.endswith("(kept)") for line in lines] == [False, False, False, True]


def test_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Versions are ordered by dates if there are any, otherwise by containment; files and stores have texts that show the
    changes.
    """
    monkeypatch.chdir(tmp_path)
    texts = {"a": f"{PAGE} second thoughts", "b": PAGE, "c": f"{PAGE} second thoughts and a third"}
    for name, text in texts.items():
        Path(f"{name}.txt").write_text(text)
    with open_store("store") as store:
        store.index(
            Document(name, text, properties={"made": f"200{at}-05-01T10:00:00Z"})
            for at, (name, text) in enumerate(texts.items())
        )

    def versions_of(*arguments: str) -> list[dict[str, Any]]:
        done = run(*arguments, "--versions", "--threshold", "50", "--format", "json")
        assert done.exit_code == 0, done.output
        (cluster,) = map(json.loads, done.stdout.splitlines())
        return list(cluster["versions"])

    files = versions_of("a.txt", "b.txt", "c.txt")
    assert [(file["id"], file["date"], file["is_principal"]) for file in files] == [
        ("b.txt", None, False), ("a.txt", None, True), ("c.txt", None, False),
    ]  # fmt: skip
    assert files[0]["change"] is None
    changes = [file["change"] for file in files[1:]]
    assert [(change["before"], change["adds"]["words"], change["loses"]["words"]) for change in changes] == [
        ("b.txt", 2, 0), ("a.txt", 3, 0),
    ]  # fmt: skip
    assert changes[1]["adds"]["passages"] == [
        {"start": len(texts["a"]) + 1, "end": len(texts["c"]), "text": "and a third"}
    ]
    dated = versions_of("--store", "store", "--keep", "newest:made")
    assert [(entry["id"], entry["date"]) for entry in dated] == [
        ("a", "2000-05-01T10:00:00Z"), ("b", "2001-05-01T10:00:00Z"), ("c", "2002-05-01T10:00:00Z"),
    ]  # fmt: skip
    assert [member["is_principal"] for member in dated] == [False, False, True]
    assert dated == versions_of("--store", "store", "--keep", "newest", "--date", "made")
    written_rows = run("--store", "store", "--versions", "--date", "made", "--format", "csv").stdout
    rows = csv.DictReader(io.StringIO(written_rows))
    assert [(row["version"], row["id"], row["adds_words"], row["loses_words"]) for row in rows] == [
        ("1", "a", "", ""), ("2", "b", "0", "2"), ("3", "c", "5", "0"),
    ]  # fmt: skip
    table = run("a.txt", "b.txt", "c.txt", "--versions").stdout.splitlines()
    assert [line.strip() for line in table[1:5]] == [
        "1  b.txt", "2  a.txt  (principal)", f"+ {table[3].split()[1]} 2 words", "+ second thoughts",
    ]  # fmt: skip
    Path("rows.jsonl").write_text(
        "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items())
    )
    versions_of_rows = versions_of("rows.jsonl")
    assert [entry["id"] for entry in versions_of_rows] == ["b", "a", "c"]
    assert [row["change"]["adds"]["words"] for row in versions_of_rows[1:]] == [None, None]
    assert [row["change"]["adds"]["share"] for row in versions_of_rows[1:]] == [
        change["adds"]["share"] for change in changes
    ]


def test_clusters_are_written_into_a_store(tmp_path: Path) -> None:
    """
    Complete clusters are written into the store, with the kept document as principal; a second run changes nothing.
    """
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", PAGE), Document("b", f"{PAGE} more"), Document("c", OTHER)])
    command = ("--store", tmp_path / "store", "--keep", "longest", "--write-ids")
    message = "2 documents of 1 cluster say so in the store: {} changed, 0 that are in none any more cleared\n"
    assert run(*command).stderr.endswith(message.format(2))
    assert run(*command).stderr.endswith(message.format(0))
    with open_store(tmp_path / "store") as store:
        assert [hit.id for hit in store.search("whorl_is_principal:true").hits] == ["b"]
        assert [hit.id for hit in store.search("=whorl_cluster:a", rows=5).hits] == ["a", "b"]


def test_a_state_and_new_documents(lines: Path, tmp_path: Path) -> None:
    """
    With a state a second file is compared with the first, and --new lists only the pairs of new documents to delete.
    """
    text = DOCUMENTS[0].text
    (tmp_path / "more.jsonl").write_text(json.dumps({"id": "more", "text": text}) + "\n")
    first = run(lines, "--pairs", "--format", "json", "--state", tmp_path / "state")
    second = run(tmp_path / "more.jsonl", "--pairs", "--format", "json", "--state", tmp_path / "state")
    new = run(tmp_path / "more.jsonl", "--pairs", "--format", "json", "--state", tmp_path / "state", "--new")
    brought = set(second.stdout.splitlines()) - set(first.stdout.splitlines())
    assert brought
    assert all("more" in (json.loads(line)["a"], json.loads(line)["b"]) for line in brought)
    assert new.stdout == ""
    store = tmp_path / "store"
    open_store(store).close()
    done = run("--store", store, "--state", tmp_path / "state")
    assert (done.exit_code, "name another folder" in done.stderr) == (2, True)


def test_the_size_of_a_state_is_unknown(lines: Path, tmp_path: Path) -> None:
    """
    The line on what can be removed has sizes only if all documents are from this run's files.
    """
    (tmp_path / "more.jsonl").write_text(json.dumps({"id": "more", "text": DOCUMENTS[0].text}) + "\n")
    told = [
        next(line for line in run(path, "--state", tmp_path / "state").stderr.splitlines() if "keeping one" in line)
        for path in (lines, tmp_path / "more.jsonl", lines)
    ]
    assert ["kB" in line for line in told] == [True, False, False]
    assert "% of the text" in told[1]


def test_unreadable_documents_are_reported(tmp_path: Path) -> None:
    """
    Broken lines, repeated ids and missing paths are reported, and the rest is compared.
    """
    (tmp_path / "a.jsonl").write_text('{"id": "x", "text": "one"}\nnot json\n{"id": "x", "text": "two"}\n')
    done = run(tmp_path / "a.jsonl", tmp_path / "nowhere")
    assert done.exit_code == 1
    assert "a.jsonl, line 2: this is not JSON" in done.stderr
    assert "x: this id came before" in done.stderr
    assert "nowhere: there is no such file or folder" in done.stderr
    assert "1 document of fewer than 5 words" in done.stderr


def test_empty_input(tmp_path: Path) -> None:
    """
    An empty store has no duplicates; an empty folder is an error.
    """
    open_store(tmp_path / "store").close()
    done = run("--store", tmp_path / "store")
    assert (done.exit_code, done.stdout) == (0, "")
    (tmp_path / "empty").mkdir()
    (tmp_path / "heading.csv").write_text("id,text\n")
    for paths, has in ((["empty"], "has"), (["heading.csv", "empty"], "have")):
        done = run(*(tmp_path / path for path in paths))
        named = ", ".join(str(tmp_path / path) for path in paths)
        assert (done.exit_code, done.stderr.splitlines()[-1]) == (1, f"failed: {named} {has} no documents")


@pytest.mark.parametrize("options", [["--keep", "largest:{}"], ["--within-column", "{}"], ["--keep", "newest:{}"]])
@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ("text", "has the texts, so it cannot choose or separate documents"),
        (
            "id",
            "cannot choose or separate documents, because this name is reserved; copy it to a column with another name",
        ),
    ],
)
def test_columns_that_cannot_be_compared(lines: Path, options: list[str], column: str, reason: str) -> None:
    """
    The columns of texts and ids are refused before any row is read.
    """
    done = run(lines, *(option.format(column) for option in options))
    assert (done.exit_code, f"the column '{column}' {reason}" in done.stderr) == (2, True)


@pytest.mark.parametrize("options", [["--within-column", "{}"], ["--keep", "newest:{}"]])
@pytest.mark.parametrize("column", ["meta", "tags"])
def test_a_column_of_objects_is_one_problem(tmp_path: Path, options: list[str], column: str) -> None:
    """
    All rows with objects in a column that is compared are one problem, with their number and a remedy that works.
    """
    files = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    row = {"text": PAGE, "meta": {"date": "2020-01-01"}, "tags": [{"date": "2020-01-01"}]}
    for file in files:
        file.write_text(f"{json.dumps(row)}\n" * 3)
    flag, named = options
    done = run(*files, flag, named.format(column))
    problem, remedy = f"  column '{column}': it has objects or nested lists, ", f"such as {column}.NAME, "
    told = [line for line in done.stderr.splitlines() if line.startswith("  column")]
    assert [(line.startswith(problem), remedy in line, line.endswith(" (6 rows)")) for line in told] == [(True,) * 3]
    assert "6 could not be read" in done.stderr
    assert run(*files, flag, named.format(f"{column}.date")).exit_code == 0


@pytest.mark.parametrize("output", ["", ".", "/"])
@pytest.mark.parametrize("option", ["-o", "--delete-list"])
def test_an_output_without_a_name(lines: Path, option: str, output: str) -> None:
    """
    An output that cannot be written is an error before anything is read.
    """
    more = ["--keep", "first"] if option == "--delete-list" else []
    done = run(lines, option, output, *more)
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)


def test_two_outputs_in_one_file(lines: Path, tmp_path: Path) -> None:
    """
    The same path for the clusters and the delete list is an error.
    """
    done = run(lines, "-o", tmp_path / "x", "--keep", "first", "--delete-list", tmp_path / "x")
    assert (done.exit_code, "one file" in done.stderr) == (2, True)
    assert not list(tmp_path.iterdir())


def test_an_id_of_two_lines_is_not_listed(lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    An id with a line break is left out of the delete list, since its second line could be the id of another document.
    """
    members = [Member(name, "", 9) for name in ("a", "b\nc", "d")]
    monkeypatch.setattr("whorl.cli.run_duplicates.documents_to_remove", lambda *_: iter(members))
    done = run(lines, "--keep", "first", "--delete-list", tmp_path / "list")
    assert (tmp_path / "list").read_text() == "a\nd\n"
    assert "2 ids in" in done.stderr
    assert "note: 1 id not listed, for the line breaks or control characters in them" in done.stderr


def test_inputs_are_not_overwritten(lines: Path) -> None:
    """
    Neither the clusters nor the delete list overwrite the input.
    """
    before = lines.read_bytes()
    for option in ("-o", "--delete-list"):
        done = run(lines, "--keep", "first", option, lines)
        assert (done.exit_code, "is what is read; name another file" in done.stderr) == (2, True)
    assert lines.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_written_to_and_stays_one(lines: Path, tmp_path: Path) -> None:
    """
    A pipe or a device as output is written to, not replaced by a regular file.
    """
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run(lines, "-o", pipe, "--format", "csv").exit_code == 0
        assert os.read(reader, 8) == b"cluster,"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("percent", ["1e99999999", "1e-99999999", "1e9_9_9_9_9_9_9_9"])
def test_a_threshold_of_a_hundred_million_digits(lines: Path, percent: str) -> None:
    """
    A number with too many digits to print is refused at once.
    """
    done = run(lines, "--threshold", percent)
    assert (done.exit_code, "must be a percentage above 0" in done.stderr) == (2, True)


def test_no_advice_to_repeat_a_lasting_error(lines: Path, tmp_path: Path) -> None:
    """
    An error that the same command would repeat has no advice to run it again.
    """
    more = ("--keep", "newest", "--delete-list", tmp_path / "list")
    done = run(lines, "--state", tmp_path / "state", *more)
    assert (done.exit_code, "--keep newest:COLUMN" in done.stderr) == (2, True)
    assert "run the same command again" not in done.stderr


def written(path: Path, documents: dict[str, str], **fields: str) -> Path:
    """Write JSON lines of texts with their ids."""
    path.write_text(
        "".join(json.dumps({"id": name, "text": text, **fields}) + "\n" for name, text in documents.items())
    )
    return path


WORDS = [f"w{at}" for at in range(60)]
PAGE, OTHER = " ".join(WORDS), " ".join(reversed(WORDS))


@pytest.mark.parametrize(
    ("broken", "strict", "failed"), [(1, False, False), (1, True, True), (3, False, True), (0, True, False)]
)
def test_much_that_cannot_be_read_is_a_failure(tmp_path: Path, broken: int, strict: bool, failed: bool) -> None:
    """
    More than one unreadable document in a hundred is a failure, with --strict any; the message has both counts.
    """
    file = written(tmp_path / "a.jsonl", {f"d{at}": PAGE for at in range(150)})
    file.write_text(file.read_text() + "no JSON\n" * broken)
    done = run(file, *(["--strict"] if strict else []))
    assert done.exit_code == int(failed)
    assert (f"{broken} of {150 + broken} documents could not be read" in done.stderr) == failed
    assert "1 cluster with 150 documents" in done.stderr


@pytest.mark.parametrize("more", [[], ["--level", "passage"], ["--reference-only", "--reference"], ["--state"]])
def test_strict_refuses_repeated_ids(tmp_path: Path, more: list[str]) -> None:
    """
    Two files that share an id give a note, and with --strict a failure; files without common ids are no failure.
    """
    first, second, third = (
        written(tmp_path / f"{name}.jsonl", {number: PAGE, f"{name}2": OTHER}) for name, number in ("a1", "b1", "c2")
    )
    values = {"--reference": third, "--state": tmp_path / "state"}
    options: list[str | Path] = [*more, *(values[flag] for flag in more[-1:] if flag in values)]
    for files, exit_codes in (((first, third), (0, 0)), ((first, second), (0, 1))):
        done = [run(*files, *options, *strict) for strict in ([], ["--strict"])]
        assert tuple(one.exit_code for one in done) == exit_codes
        assert ["1: this id came before" in one.stderr for one in done] == [second in files] * 2
    assert "failed: 1 repetition of ids; only one document of each id was compared\n" in done[1].stderr


@pytest.mark.parametrize(
    ("name", "content"), [("a.csv", f"id,words\n1,{PAGE}\n"), ("a.json", json.dumps([PAGE, PAGE])), ("a.orc", "ORC\0")]
)
def test_unreadable_files_fail(lines: Path, tmp_path: Path, name: str, content: str) -> None:
    """
    An unreadable file is a failure, whatever else was read.
    """
    (tmp_path / name).write_text(content)
    for also in ([], [lines]):
        done = run(tmp_path / name, *also)
        assert done.exit_code == 1
        assert "1 path could not be read, or not to the end" in done.stderr


@pytest.mark.process
def test_rows_of_any_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Parquet files by a pattern and a CSV file are read with named columns; the best row by a column is kept, within each
    language.
    """
    monkeypatch.chdir(tmp_path)
    rows = [(PAGE, "en", 0.5), (OTHER, "en", 0.1), (PAGE, "de", 0.1), (PAGE, "en", 0.9), (PAGE, "de", None)]
    for at, (body, lang, quality) in enumerate(rows[:3]):
        pq.write_table(pa.table({"body": [body], "lang": [lang], "quality": [quality]}), f"part-{at}.parquet")
    with Path("more.csv").open("w") as file:
        csv.writer(file).writerows([["body", "lang", "quality"], *rows[3:]])
    words = ("part-*.parquet", "more.csv", "--text-column", "body", "--within-column", "lang", "--format", "json")
    done = run(*words, "--keep", "largest:quality", "--delete-list", "list")
    assert done.exit_code == 0
    assert sorted(Path("list").read_text().split()) == ["more.csv:3", "part-0.parquet:1"]
    assert {frozenset(member["id"] for member in json.loads(line)["members"]) for line in done.stdout.splitlines()} == {
        frozenset(("part-0.parquet:1", "more.csv:2")),
        frozenset(("part-2.parquet:1", "more.csv:3")),
    }
    done = run(*words, "--keep", "oldest:quality", "--delete-list", "list", "--id-column", "no")
    assert (done.exit_code, "'lang'" in done.stderr, "--id-column" in done.stderr) == (1, True, True)


@pytest.mark.parametrize("level", ["document", "passage"])
def test_no_folder_of_nothing(lines: Path, tmp_path: Path, level: str) -> None:
    """
    A run without a readable text leaves no output folder, so that the corrected command can create it.
    """
    out = tmp_path / "out"
    words = (lines, "--level", level, "--filtered", out)
    done = run(*words, "--text-column", "body")
    assert (done.exit_code, "--text-column" in done.stderr, "failed:" in done.stderr) == (1, True, True)
    assert not out.exists()
    assert run(*words, "--text-column", "text").exit_code == 0
    assert out.exists()


@pytest.mark.process
@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_text_column_without_texts_is_one_problem_of_a_file(tmp_path: Path, suffix: str, workers: str) -> None:
    """
    A text column of lists or objects is reported once for each file, with the columns to name instead.
    """
    rows = [{"id": name, "turns": [{"role": "user", "content": PAGE}]} for name in "abc"]
    file = tmp_path / f"chat.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    else:
        file.write_text("\n".join(map(json.dumps, rows)) if suffix == "jsonl" else json.dumps(rows))
    done = run(file, "--text-column", "turns", "--workers", workers)
    reason = (
        "column 'turns' has other values than texts; name the one of the text (--text-column), of 'id', "
        "'turns.role', 'turns.content'"
    )
    assert [line for line in done.stderr.splitlines() if "chat" in line] == [f"  {file}: {reason}"]
    assert done.exit_code == 1
    assert run(file, "--text-column", "turns.content", "--workers", workers).exit_code == 0


@pytest.mark.process
@pytest.mark.parametrize(
    "values", [[1, 2], [1.5, None], [True, False], [None, datetime(2026, 1, 1)], [Decimal("1.2"), 3]]
)
def test_a_text_column_of_parquet_with_numbers_is_one_problem_of_a_file(tmp_path: Path, values: list[object]) -> None:
    """
    The schema of a Parquet file says that a column has no texts; the error lists all columns.
    """
    pq.write_table(pa.table({"id": ["a", "b"], "value": values, "body": [PAGE, OTHER]}), tmp_path / "a.parquet")
    done = run(tmp_path, "--text-column", "value")
    assert (done.exit_code, done.stderr.count("a.parquet")) == (1, 1)
    assert (
        "'value' has other values than texts; name the one of the text (--text-column), of 'id', 'value', 'body'"
        in (done.stderr)
    )


def test_missing_values_do_not_hide_a_wrong_path_of_a_nested_text(tmp_path: Path) -> None:
    """
    A path that no row has is an error, also if rows lack the value or the list that it leads through.
    """
    rows = [{"turns": None}, {"turns": []}, *({"turns": [{"content": text}]} for text in (PAGE, PAGE))]
    file = tmp_path / "chat.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    done = run(file, "--text-column", "turns.contents")
    assert (done.exit_code, "there is no column 'turns.contents'" in done.stderr) == (1, True)
    done = run(file, "--text-column", "turns.content")
    assert (done.exit_code, "1 cluster with 2 documents, of 4 documents" in done.stderr) == (0, True)


def test_a_row_without_a_text_names_the_column(tmp_path: Path) -> None:
    """
    Rows without a text are errors of their own if other rows have one, and name the column.
    """
    file = tmp_path / "mixed.jsonl"
    file.write_text("".join(json.dumps({"body": body}) + "\n" for body in ([1], PAGE, {"a": PAGE}, None)))
    done = run(file, "--text-column", "body")
    assert [f"line {line}: body must be text" in done.stderr for line in (1, 2, 3, 4)] == [True, False, True, False]
    assert "of 2 documents in all" in done.stderr


@pytest.mark.parametrize("more", [[], ["--level", "passage"], ["--reference-only", "--reference"], ["--reference"]])
@pytest.mark.parametrize("column", ["body", "n"])
def test_a_run_without_a_readable_document_leaves_existing_files(tmp_path: Path, column: str, more: list[str]) -> None:
    """
    The output and the list of an earlier run stay if the text column is missing, or has no text in any row.
    """
    rows, items = tmp_path / "rows.jsonl", written(tmp_path / "items.jsonl", {"a": PAGE})
    rows.write_text("".join(json.dumps({"id": name, "text": PAGE, "n": [{"a": 1}]}) + "\n" for name in "bc"))
    output, listed = tmp_path / "out.jsonl", tmp_path / "list"
    words: list[str | Path] = [rows, "--keep", "first", "-o", output, "--delete-list", listed]
    words += [*more, items] if "--reference" in more else more
    columns = ["--reference-column", "text"] if "--reference" in more else []
    assert run(*words).exit_code == 0
    before = output.read_text(), listed.read_text()
    assert all(before)
    assert run(*words, "--text-column", column, *columns, "--filtered", tmp_path / "clean").exit_code == 1
    assert (output.read_text(), listed.read_text()) == before
    assert not (tmp_path / "clean").exists()


def test_the_input_without_its_duplicates(lines: Path, tmp_path: Path) -> None:
    """
    The filtered rows are the input without the delete list, unchanged; or all rows, with their clusters.
    """
    listed, out, noted = tmp_path / "list", tmp_path / "out", tmp_path / "noted"
    keep = ("--keep", "longest", "--delete-list", listed)
    done = run(lines, *keep, "--filtered", out, "--annotated", noted)
    assert done.exit_code == 0
    gone = set(listed.read_text().splitlines())
    rows = lines.read_text().splitlines()
    remaining = [row for row in rows if json.loads(row)["id"] not in gone]
    assert (out / "all.jsonl").read_text().splitlines() == remaining
    assert f"{len(remaining)} of {len(rows)} documents in {out}" in done.stderr
    annotated = [json.loads(row) for row in (noted / "all.jsonl").read_text().splitlines()]
    assert {row["id"] for row in annotated if not row["is_principal"]} == gone
    pairs = true_pairs(DOCUMENTS, "jaccard", 80)
    for row in annotated:
        if not row["is_principal"]:
            assert pairs[frozenset((row["id"], row["cluster"]))] == pytest.approx(row["similarity"], abs=1e-5)
    done = run(lines, "--filtered", out)
    assert (done.exit_code, "exists already" in done.stderr) == (2, True)


def test_standard_input() -> None:
    """
    JSON lines without ids from standard input have their line number as id.
    """
    done = CliRunner().invoke(
        main, ["duplicates", "-", "--pairs", "--format", "json"], input=(json.dumps({"text": PAGE}) + "\n") * 2
    )
    assert (done.exit_code, json.loads(done.stdout)["a"], json.loads(done.stdout)["b"]) == (0, "-:1", "-:2")


@pytest.mark.process
def test_standard_input_with_several_workers() -> None:
    """
    Standard input cannot be sent to other processes, so one process reads it, whatever --workers says.
    """
    command = [sys.executable, "-m", "whorl", "duplicates", "-", "--text-column", "text", "--workers", "2", "--pairs"]
    lines = (json.dumps({"text": PAGE}) + "\n") * 2
    done = subprocess.run([*command, "--format", "json"], input=lines, capture_output=True, text=True, check=False)
    assert (done.returncode, json.loads(done.stdout)["a"], done.stderr.count("Traceback")) == (0, "-:1", 0)


@pytest.mark.process
@pytest.mark.parametrize("options", [[], ["--text-column", "text"]])
@pytest.mark.parametrize(
    ("name", "pack", "unpack"), [("data.csv", bytes, bytes), ("data.csv.gz", gzip.compress, gzip.decompress)]
)
def test_a_table_on_standard_input(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    name: str,
    pack: Callable[[bytes], bytes],
    unpack: Callable[[bytes], bytes],
) -> None:
    """
    A table on standard input gives the same output as a file of the same content, also as its filtered copy.
    """
    monkeypatch.chdir(tmp_path)
    content = pack(f"id,text\n1,{PAGE}\n2,{PAGE}\n3,{OTHER}\n".encode())
    Path(name).write_bytes(content)
    expected = run(name, *options, "--filtered", "of-file")
    done = CliRunner().invoke(main, ["duplicates", "-", *options, "--filtered", "of-input"], input=content)
    assert (done.exit_code, done.stdout) == (0, expected.stdout)
    assert "1 cluster with 2 documents, of 3 documents in all" in done.stderr
    assert unpack(Path("of-input/standard-input").read_bytes()) == unpack(Path("of-file", name).read_bytes())


@pytest.mark.parametrize("options", [["--format", "csv"], []])
def test_standard_output(lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    """
    `-` means standard output, not a file of this name.
    """
    monkeypatch.chdir(tmp_path)
    assert run(lines, *options, "-o", "-").stdout == run(lines, *options).stdout != ""
    assert not list(tmp_path.iterdir())


def test_a_reference_is_compared_with_and_never_listed(tmp_path: Path) -> None:
    """
    All duplicates of reference documents are listed. In clusters without a reference, one document stays. Ids may occur
    in both inputs.
    """
    near = PAGE.replace("w7 ", "x7 ")
    reference = written(tmp_path / "train.jsonl", {"1": PAGE, "2": near, "3": OTHER})
    looked_at = written(
        tmp_path / "test.jsonl",
        {"1": near, "2": PAGE, "3": "another " + PAGE, "4": "x " * 30, "5": "x " * 30, "6": "y z " * 9},
    )
    listed, keep = tmp_path / "list", ("--keep", "first", "--delete-list", tmp_path / "list")
    done = run(looked_at, "--reference", reference, *keep, "--format", "json")
    assert (done.exit_code, sorted(listed.read_text().split())) == (0, ["1", "2", "3", "5"])
    clusters = [json.loads(line)["members"] for line in done.stdout.splitlines()]
    assert {frozenset(member["id"] for member in members) for members in clusters} == {
        frozenset(("1", f"{reference}:2")),
        frozenset(("2", "3", f"{reference}:1")),
        frozenset(("4", "5")),
    }
    pairs = [
        json.loads(line)
        for line in run(looked_at, "--reference", reference, "--pairs", "--format", "json").stdout.splitlines()
    ]
    assert not any({pair["a"], pair["b"]} <= {f"{reference}:{at}" for at in "123"} for pair in pairs)
    assert {frozenset((pair["a"], pair["b"])) for pair in pairs} >= {
        frozenset((name, f"{reference}:{at}")) for name in "123" for at in "12"
    }
    # A file that is also in the reference is not listed.
    files = tmp_path / "files"
    (files / "kept").mkdir(parents=True)
    for name in ("kept/a.txt", "b.txt"):
        (files / name).write_text(PAGE)
    run(files, "--reference", files / "kept", *keep)
    assert listed.read_text().splitlines() == [str(files / "b.txt")]


def test_files_that_are_in_the_reference_too(tmp_path: Path) -> None:
    """
    A note counts files that are in PATHs and in the reference; if PATHs have no other files, that is an error.
    """
    data = tmp_path / "data"
    data.mkdir()
    both = written(data / "kept.jsonl", {"a": PAGE})
    written(data / "new.jsonl", {"b": PAGE, "c": OTHER})
    done = run(data, "--reference", both, "--filtered", tmp_path / "clean", "--delete-list", tmp_path / "list")
    assert (done.exit_code, (tmp_path / "list").read_text()) == (0, "b\n")
    assert "note: PATHs and --reference have 1 file in common, compared as reference only" in done.stderr
    done = run(both, "--reference", both, "--filtered", tmp_path / "none")
    assert (done.exit_code, (tmp_path / "none").exists()) == (2, False)
    assert "all files of PATHs are in --reference too, and count as reference; name other PATHs" in done.stderr


def test_columns_in_the_names_of_folders(tmp_path: Path) -> None:
    """
    A folder such as `lang=en` gives its rows the value of a column that they lack; a column of the file comes first.
    """
    rows = {"lang=en/made=2024-01-01/a": ["a"], "lang=en/made=2024-02-01/b": ["b"], "lang=de/made=2025-01-01/c": ["c"]}
    for name, ids in rows.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        written(tmp_path / f"{name}.jsonl", dict.fromkeys(ids, PAGE))
    found = run(tmp_path, "--within-column", "lang", "--keep", "newest:made", "--format", "json")
    members = [json.loads(line)["members"] for line in found.stdout.splitlines()]
    assert [[(each["id"], each["is_principal"]) for each in cluster] for cluster in members] == [
        [("a", False), ("b", True)]
    ]
    (tmp_path / "lang=en" / "d.jsonl").write_text(json.dumps({"id": "d", "text": PAGE, "lang": "de"}))
    found = run(tmp_path, "--within-column", "lang", "--pairs", "--format", "json")
    pairs = [json.loads(line) for line in found.stdout.splitlines()]
    assert {(pair["a"], pair["b"]) for pair in pairs} == {("a", "b"), ("c", "d")}


def test_new_leaves_out_earlier_duplicates(tmp_path: Path) -> None:
    """
    With --new, duplicates among Monday's documents stay, and Tuesday's duplicates of them are listed.
    """
    monday = written(tmp_path / "monday.jsonl", {"a": PAGE, "b": PAGE.replace("w7 ", "x7 ")})
    tuesday = written(tmp_path / "tuesday.jsonl", {"c": PAGE.replace("w9 ", "x9 "), "d": OTHER, "e": OTHER})
    state = ("--state", tmp_path / "state")
    run(monday, *state)
    done = run(tuesday, *state, "--new", "--keep", "first", "--delete-list", tmp_path / "list")
    assert (done.exit_code, (tmp_path / "list").read_text().split()) == (0, ["c", "e"])
    assert "no document is new" not in done.stderr
    # A second run has nothing to list: it leaves the files of the first run, and a note gives the reason.
    lists = {name: tmp_path / name for name in ("list", "out.jsonl", "other")}
    lists["out.jsonl"].write_text("a cluster")
    command = (tuesday, *state, "--new", "--keep", "first")
    done = run(*command, "--delete-list", lists["list"], "-o", lists["out.jsonl"])
    assert (done.exit_code, lists["list"].read_text().split()) == (0, ["c", "e"])
    assert lists["out.jsonl"].read_text() == "a cluster"
    assert f"note: --new: no document is new to {tmp_path / 'state'}; an earlier run" in done.stderr
    # A list that does not exist becomes an empty one.
    assert run(*command, "--delete-list", lists["other"]).exit_code == 0
    assert lists["other"].read_text() == ""


def test_a_shorter_text_replaces_all_pieces_of_the_earlier_one(tmp_path: Path) -> None:
    """
    A paragraph that a document no longer has does not make the paragraph of another document a duplicate.
    """
    third = " ".join(f"z{number}" for number in range(40))
    monday = written(tmp_path / "monday.jsonl", {"a": f"{PAGE}\n\n{OTHER}", "a#2": third})
    tuesday = written(tmp_path / "tuesday.jsonl", {"a": PAGE, "b": PAGE, "c": OTHER, "d": third})
    state = ("--level", "paragraph", "--state", tmp_path / "state", "--new", "--pairs", "--format", "json")
    run(monday, *state)
    pairs = [json.loads(line) for line in run(tuesday, *state).stdout.splitlines()]
    assert [(pair["a"], pair["b"]) for pair in pairs] == [("a#1", "b#1"), ("a#2#1", "d#1")]


@pytest.mark.parametrize("blank", ["", " \n\n\t"])
def test_a_blank_text_replaces_all_pieces_of_the_earlier_one(blank: str, tmp_path: Path) -> None:
    monday = written(tmp_path / "monday.jsonl", {"a": f"{PAGE}\n\n{OTHER}"})
    tuesday = written(tmp_path / "tuesday.jsonl", {"a": blank, "b": PAGE, "c": OTHER})
    state = ("--level", "paragraph", "--state", tmp_path / "state", "--new", "--pairs", "--format", "json")
    run(monday, *state)
    done = run(tuesday, *state)
    assert (done.stdout, "of 2 paragraphs in all" in done.stderr) == ("", True), done.stderr


def test_a_note_counts_replaced_documents(tmp_path: Path) -> None:
    """
    Rows of a second file with the same path and without ids replace those of the first, which a note counts.
    """
    path, state = tmp_path / "new.jsonl", ("--state", tmp_path / "state")
    notes = []
    for texts in ([PAGE, OTHER], [OTHER, PAGE], [OTHER, PAGE]):
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        notes.append([line for line in run(path, *state).stderr.splitlines() if "replaced" in line])
    expected = (
        "note: replaced 2 documents of earlier runs by new ones with the same id; rows without an id are named by file "
        "and line"
    )
    assert notes == [[], [expected], []]


def test_a_note_counts_documents_of_an_interrupted_run(tmp_path: Path) -> None:
    """
    Documents of an interrupted run count until a run that has them ends; until then, a note counts them.
    """
    monday = written(tmp_path / "monday.jsonl", {"a": PAGE, "b": OTHER})
    corrected = written(tmp_path / "corrected.jsonl", {"c": PAGE, "b": OTHER})
    state = ("--state", tmp_path / "state")
    options = DuplicatesOptions(parse_pair_options("jaccard", 80, 95), state=tmp_path / "state")
    documents = [Document("a", PAGE), Document("b", OTHER)]
    with suppress(KeyboardInterrupt), duplicates_among(documents, options):
        raise KeyboardInterrupt
    notes = [
        [line for line in run(path, *state).stderr.splitlines() if "interrupted" in line]
        for path in (corrected, monday, corrected)
    ]
    expected = (
        "note: also compared with 1 document that an interrupted run read and PATHs do not have; run that command "
        "again, or begin another --state"
    )
    assert notes == [[expected], [], []]


@pytest.mark.parametrize(("size", "pairs"), [("1", 1), ("2", 0)])
def test_sets_of_single_words(tmp_path: Path, size: str, pairs: int) -> None:
    """
    With shingles of one word, the sets {a, b, c, d} and {b, d, c, a, e} share four of five.
    """
    file = written(tmp_path / "sets.jsonl", {"S1": "alpha beta gamma delta", "S2": "beta delta gamma alpha epsilon"})
    done = run(file, "--shingle", size, "--pairs", "--format", "json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["a"], row["b"], row["jaccard"]) for row in rows] == [("S1", "S2", 0.8)] * pairs


def test_shingles_of_characters(tmp_path: Path) -> None:
    """
    Character shingles ignore case and collapse blanks. abcde and abcdf have three different 4-shingles together and
    share one, abcd.
    """
    file = written(tmp_path / "a.jsonl", {"a": "ABcde", "b": "abcdf", "c": "ab \n cde", "d": "AB cde", "e": "abc"})
    state = ("--state", tmp_path / "state")
    done = run(file, "--characters", "--shingle", "4", "--threshold", "30", "--pairs", "--format", "json", *state)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["a"], row["b"], row["jaccard"]) for row in rows] == [("c", "d", 1.0), ("a", "b", 0.333333)]
    assert "1 document of fewer than 4 characters" in done.stderr
    done = run(file, *state)
    assert (done.exit_code, "characters-c4-" in done.stderr) == (2, True)
    done = run("--store", tmp_path / "store", "--characters")
    assert (done.exit_code, "--characters is for PATHs" in done.stderr) == (2, True)


def test_a_state_and_a_store_keep_their_shingles(tmp_path: Path) -> None:
    """
    A state of another scheme is refused, and the shingles of a store cannot be changed.
    """
    file = written(tmp_path / "sets.jsonl", {"a": PAGE})
    assert run(file, "--state", tmp_path / "state").exit_code == 0
    done = run(file, "--state", tmp_path / "state", "--shingle", "1")
    assert (done.exit_code, "-w1-" in done.stderr, "name another folder" in done.stderr) == (2, True, True)
    open_store(tmp_path / "store").close()
    done = run("--store", tmp_path / "store", "--shingle", "3")
    assert (done.exit_code, "shingles of 5 words" in done.stderr) == (2, True)
    assert run("--store", tmp_path / "store", "--shingle", "5").exit_code == 0


def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make reading a document an error."""

    def none(*_: object, **__: object) -> None:
        raise AssertionError("documents were read")

    monkeypatch.setattr("whorl.duplicates.input.documents_in", none)


@pytest.mark.parametrize("option", ["-o", "--delete-list"])
def test_an_unwritable_target_is_an_early_error(
    lines: Path, tmp_path: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    An unwritable target is an error before anything is read; a writable one is not created early.
    """
    unread(monkeypatch)
    (tmp_path / "file").write_text("")
    more = ["--keep", "first"] if option == "--delete-list" else []
    for target in (tmp_path / "nowhere" / "x.csv", tmp_path / "file" / "x.csv"):
        done = run(lines, option, target, *more)
        assert (done.exit_code, f"{target} cannot be written" in done.stderr) == (2, True)
    assert isinstance(run(lines, option, tmp_path / "x.csv", *more).exception, AssertionError)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("content", ["letter.txt", "documents.sqlite"])
def test_a_folder_without_a_state_is_an_early_error(
    lines: Path, tmp_path: Path, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A folder that is not a state is an error before anything is read; it stays unchanged, and the message has no advice
    to run the command again.
    """
    unread(monkeypatch)
    with sqlite3.connect(tmp_path / content) as database:
        database.execute("CREATE TABLE theirs (number INTEGER)")
    database.close()
    before = (tmp_path / content).read_bytes()
    done = run(lines, "--state", tmp_path)
    assert (done.exit_code, "name a new folder" in done.stderr) == (1, True)
    assert "run the same command again" not in done.stderr
    assert (tmp_path / content).read_bytes() == before


def test_the_newest_of_documents_without_dates(tmp_path: Path) -> None:
    """
    --keep newest without dates is an error before the comparison, and lists the available fields.
    """
    file = written(tmp_path / "a.jsonl", {"a": PAGE, "b": OTHER}, made="2020-05-01", by="X")
    keep = ("--keep", "newest", "--delete-list", tmp_path / "list")
    done = run(file, *keep)
    assert (done.exit_code, "(--keep newest:COLUMN, of by, made)" in done.stderr) == (2, True)
    done = run(file, *keep, "--date", "by")
    assert (done.exit_code, "(--keep newest:COLUMN, of by, made)" in done.stderr) == (2, True)
    assert run(file, *keep, "--date", "made").exit_code == 0
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", PAGE, properties={"made": "2020-05-01"})])
    done = run("--store", tmp_path / "store", *keep, "--date", "by")
    assert (done.exit_code, "field of the date, of made" in done.stderr) == (2, True)
    assert run("--store", tmp_path / "store", *keep, "--date", "made").exit_code == 0


def test_common_text_is_ignored(tmp_path: Path) -> None:
    """
    Forms filled in differently are duplicates only with common text; every format has both shares.
    """
    form = " ".join(f"form{number}" for number in range(60))
    texts = {f"{number}.txt": f"{form} {' '.join(f'own{number}x{at}' for at in range(9))}" for number in range(15)}
    texts["again.txt"] = f"{texts['3.txt']} more"
    for name, text in {**texts, "form": form}.items():
        (tmp_path / name).write_text(text)
    files = [tmp_path / name for name in texts]
    assert run(*files, "--threshold", "70").stdout.startswith("cluster 1: 16 documents")
    ignored = run(*files, "--threshold", "70", "--ignore-common")
    assert "cluster 1: 2 documents" in ignored.stdout
    assert "98.4% (90.0%)" in ignored.stdout
    assert "note: 56 shingles in more than 10 different documents, 86.0% of all text, are common" in ignored.stderr
    assert run(*files, "--threshold", "70", "--boilerplate", tmp_path / "form", "--ignore-common").stdout == (
        ignored.stdout
    )
    output = run(*files, "--threshold", "70", "--common-above", "10", "--pairs", "--format", "json").stdout.splitlines()
    values = [json.loads(line) for line in output]
    assert len(values) == 120
    assert {value["without_common"]["jaccard"] for value in values} == {0.0, 0.9}
    rows = csv.DictReader(
        io.StringIO(run(*files, "--threshold", "70", "--ignore-common", "--format", "csv", "--complete").stdout)
    )
    assert [row["jaccard_without_common"] for row in rows] == ["1.0", "0.9"]
    parquet = tmp_path / "clusters.parquet"
    assert run(*files, "--threshold", "70", "--ignore-common", "-o", parquet).exit_code == 0
    assert pq.read_table(parquet).column("b_in_a_without_common").to_pylist() == [1.0, 0.9]


@pytest.mark.parametrize(
    ("lost", "documents", "strict", "message"),
    [
        ([], 9, True, ""),
        ([1], 199, False, ""),
        ([1], 199, True, "1 of 200 documents could not be read"),
        ([3], 197, False, "3 of 200 documents could not be read"),
        ([None], 199, False, "1 path could not be read, or not to the end"),
        ([None, 2], 198, False, "1 path could not be read, or not to the end, and 2 of 200 documents"),
    ],
)
def test_when_too_much_is_lost(
    lost: list[int | None], documents: int, strict: bool, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    The run fails if more than one document in a hundred is unreadable, if a file of unknown size is, or, with --strict,
    if any document is.
    """
    problems = Problems(Problem("x", "broken", number) for number in lost)
    assert report_unread_documents(problems, documents, strict=strict) == bool(message)
    assert capsys.readouterr().err == (f"failed: {message}; the results cover only the others\n" if message else "")
