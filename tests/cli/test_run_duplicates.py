"""Tests of the options of `whorl duplicates`: contradictions and consequences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whorl.cli.duplicates import duplicates
from whorl.cli.main import main
from whorl.cli.run_duplicates import DuplicatesCommand
from whorl.duplicates.retention import Keep
from whorl.operations import DuplicatesOperation, options_of


def command(*arguments: str) -> DuplicatesCommand:
    given: dict[str, Any] = duplicates.make_context("duplicates", list(arguments)).params
    return DuplicatesCommand(**given)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["a.txt", "--store", "s"], "PATHs or a --store"),
        (["a.txt", "--new"], "--state"),
        (["a.txt", "--delete-list", "x"], "--keep"),
        (["a.txt", "--date", "made"], "keep newest"),
        (["a.txt", "--annotated", "new"], "has no rows"),
        (["a.txt", "--annotated", "new", "--filtered", "new"], "one folder"),
        (["a.txt", "--annotated", "new/marked", "--filtered", "new"], "one in the other"),
        (["a.txt", "--annotated", "new", "--filtered", "new/clean"], "one in the other"),
        ([".", "--filtered", "new"], "new would be in ., so the next run would read it"),
        (["../", "--annotated", "new"], "new would be in ../, so"),
        (["a.txt", "--filtered", "new", "-o", "new/x.csv"], "new/x.csv would be in new, which holds only copies"),
        (["a.txt", "--filtered", ".", "--keep", "first", "--delete-list", "ids.txt"], "ids.txt would be in ., which"),
        (["a.txt", "--annotated", "new", "--state", "new/state"], "new/state would be in new, which"),
        (["a.txt", "--filtered", "circle/new", "--annotated", "new"], "circle/new cannot be written"),
        (["a.txt", "--filtered", "-"], "--filtered writes a folder"),
        (["a.txt", "--keep", "first", "--delete-list", "-"], "--delete-list writes a file"),
        (["a.txt", "--annotated", "-", "--engine", "spark", "-o", "out"], "--annotated writes a folder"),
        (["--store", "s", "--filtered", "new"], "PATHs"),
        (["a.txt", "--keep", "best", "--delete-list", "x"], "first, longest"),
        (["--store", "s", "--keep", "oldest", "--delete-list", "x"], "keep oldest:PROPERTY"),
        (["--within-column", "lang"], "PATHs"),
        (["--text-column", "lang", "--store", "s"], "PATHs"),
        (["nothing://a/b"], "cannot be reached"),
        (["a.txt", "--engine", "spark", "-o", "out", "--level", "line"], "--level line is for --engine local"),
        (["a.txt", "--pairs", "--complete"], "--complete"),
        (["a.txt", "--pairs", "--versions"], "--versions"),
        (["a.txt", "--write-ids"], "no PATHs"),
        (["a.txt", "--level", "line", "--words", "5"], "--level passage"),
        (["--store", "s", "--write-ids", "--state", "x", "--new"], "--new"),
        (["a.txt", "--threshold", "0"], "threshold"),
        (["a.txt", "--recall", "many"], "recall"),
        (["a.txt", "-o", "no/such/folder/x.csv"], "no/such/folder/x.csv"),
        (["a.txt", "-o", "out.xlsx"], "--output out.xlsx: .xlsx is not a format of this command; choose .json, .jsonl"),
        (["a.txt", "-o", "out.jsonl.GZ"], ".gz is not a format"),
        (["--reference", "a.txt"], "PATHs"),
        (["a.txt", "--reference", "a.txt", "--state", "s"], "--new"),
        (["a.txt", "--format", "parquet"], "--output FILE"),
        (["a.txt", "--format", "parquet", "-o", "-"], "--output FILE"),
        (["a.txt", "--engine", "spark"], "--output"),
        (["a.txt", "--engine", "spark", "-o", "-"], "--output"),
        (["a.txt", "--engine", "spark", "-o", "out", "--ignore-common"], "--ignore-common is for --engine local"),
        (["a.txt", "--common-above", "many"], "set by a number of documents"),
        (["a.txt", "--within-column", "lang", "--boilerplate", "a.txt"], "--boilerplate does not work"),
    ],
)
def test_contradicting_options_are_refused(
    arguments: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Contradicting options are refused with one message and the exit code of wrong usage.
    """
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("some words that are enough for a shingle")
    Path("circle").symlink_to("circle")
    done = CliRunner().invoke(main, ["duplicates", *arguments])
    assert done.exit_code == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "keep", "date_column"),
    [
        ([], None, None),
        (["--filtered", "new"], Keep("first"), None),
        (["--keep", "newest"], Keep("newest"), None),
        (["--keep", "newest", "--date", "made"], Keep("newest", "made"), "made"),
        (["--keep", "oldest:made"], Keep("oldest", "made"), "made"),
        (["--keep", "largest:pages"], Keep("largest", "pages"), None),
        (["--keep", "longest", "--versions", "--date", "made"], Keep("longest"), "made"),
    ],
)
def test_retention_policies(arguments: list[str], keep: Keep | None, date_column: str | None) -> None:
    """
    --keep has the given rule, and a date column if the rule itself names none; with --filtered the default is the first
    document.
    """
    given = command("a.txt", *arguments)
    given.require_consistent()
    assert (given.search.keep, given.search.date) == (keep, date_column)
    assert given.is_complete is (keep is not None)
    assert given.search.spanning_only is (keep is None)


def test_folders_of_spark_may_be_in_any_file_system() -> None:
    """
    Addresses of Spark folders keep both slashes.
    """
    given = command("s3a://b/x.parquet", "--engine", "spark", "--state", "s3a://b/seen", "--filtered", "s3a://b/left")
    assert (given.state, given.filtered) == ("s3a://b/seen", "s3a://b/left")


@pytest.mark.parametrize(
    ("arguments", "form"),
    [
        ([], "table"),
        (["-o", "x.CSV"], "csv"),
        (["-o", "x.ndjson"], "json"),
        (["-o", "x.csv", "--format", "json"], "json"),
        (["-o", "x.xlsx", "--format", "table"], "table"),
        (["-o", "x.txt"], "table"),
    ],
)
def test_the_form_follows_the_name_of_the_file(arguments: list[str], form: str) -> None:
    """
    The suffix of the output file determines the format, unless --format is given.
    """
    given = command("a.txt", *arguments)
    given.require_targets()
    assert given.form == form


def test_refused_options_exist() -> None:
    """
    Each option that some kind of run refuses is an option of the operation: a misspelt name would refuse nothing.
    """
    names = {option.name for option in options_of(DuplicatesOperation)}
    assert {name for refused in DuplicatesOperation.REFUSED.values() for name in refused.split()} < names
