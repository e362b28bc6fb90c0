"""Tests of `whorl sources`: its texts, its output and files, its errors."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.running import FIRST, SECOND, whorl
from whorl.cli.main import main

pytestmark = pytest.mark.usefixtures("notes")


def test_a_text_is_a_file_an_id_or_standard_input(folder: Path) -> None:
    """
    A document of the store is never its own source. A file or a piped text with the same text is compared with all
    documents, including this one.
    """
    (folder / "own.txt").write_text(FIRST, encoding="utf-8")
    result = whorl("sources", "--store", "store", "--json", "notes/a.txt")
    assert result.stderr == "note: notes/a.txt is in the store, and so none of its own sources\n"
    document = json.loads(result.stdout)
    assert (document["text"]["kind"], [source["id"] for source in document["sources"]]) == ("document", ["notes/b.txt"])
    for name in ("own.txt", "-"):
        copy = CliRunner().invoke(main, ["sources", "--store", "store", "--json", name], input=FIRST)
        assert [source["id"] for source in json.loads(copy.stdout)["sources"]] == ["notes/a.txt"]
        failing = CliRunner().invoke(main, ["sources", "--store", "store", "--fail-on", "high", name], input=FIRST)
        assert failing.exit_code == 1
    (folder / "new.txt").write_text(f"{FIRST} and more", encoding="utf-8")
    new = whorl("sources", "--store", "store", "--json", "new.txt")
    assert json.loads(new.stdout)["text"]["kind"] == "file"
    assert [source["id"] for source in json.loads(new.stdout)["sources"]] == ["notes/a.txt"]
    assert new.stderr.startswith("note: new.txt is not in the store, so the file itself is the source")
    # Both texts have "The quick … all day in the".
    assert (document["covered_words"], document["text"]["words"]) == (17, 19)


def test_a_gate_judges_a_changed_file(folder: Path) -> None:
    """
    With --fail-on, the present text of a file is judged; without, the stored text.
    """
    mail = folder / "notes" / "mail.txt"
    mail.write_text("See you all at noon in the canteen, as always on the first day of the month.", encoding="utf-8")
    assert whorl("index", "--store", "store", "notes").exit_code == 0
    gate = ("sources", "--store", "store", "notes/mail.txt", "--fail-on", "medium")
    assert whorl(*gate).exit_code == 0
    mail.write_text(SECOND, encoding="utf-8")
    failing = whorl(*gate, "--json")
    assert (failing.exit_code, json.loads(failing.stdout)["level"]) == (1, "high")
    note = "the file notes/mail.txt has changed since it was indexed"
    assert failing.stderr == f"note: {note}; the file itself counts\n"
    stored = whorl(*gate[:-2], "--json")
    assert (json.loads(stored.stdout)["level"], f"{note}; the text in the store counts" in stored.stderr) == (
        "low",
        True,
    )
    # If a file cannot be read any more, the gate does not fall back on the text in the store.
    mail.write_bytes(b"\x00\x01\x02\xff" * 50)
    assert whorl(*gate).exit_code == 2


def test_files_that_cannot_be_read(folder: Path) -> None:
    """
    A note counts them, nothing is promised, and --fail-on fails, whatever the level.
    """
    mail = folder / "mail.txt"
    mail.write_text("See you all at noon in the canteen, as always on the first day of the month.", encoding="utf-8")
    search = ("sources", "mail.txt", "--in", "notes")
    readable = whorl(*search, "--fail-on", "high")
    assert (readable.exit_code, readable.stderr) == (0, "")
    for name in ("secret.bin", "other.bin"):
        (folder / "notes" / name).write_bytes(b"\x00\x01\x02\xff" * 50)
    result = whorl(*search, "--json")
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["promised_words"], answer["certain_words"]) == (0, None, None)
    assert answer["warnings"] == ["2 documents could not be read, so nothing is promised; they may be sources, too"]
    failing = whorl(*search, "--fail-on", "high")
    assert failing.exit_code == 1
    assert "nothing is promised" in failing.stdout
    assert "the level may be higher, as documents could not be read: --fail-on fails" in failing.stderr


def test_parts_that_are_left_out(folder: Path) -> None:
    """
    A line and the report have the number of excluded words.
    """
    (folder / "own.txt").write_text(f"{SECOND}\n\nReferences\n\n{FIRST}", encoding="utf-8")
    result = whorl("sources", "--store", "store", "own.txt", "--without", "references", "--html", "report.html")
    said = "20 of 39 words are in quotations or references and are left out."
    assert result.stdout.splitlines()[1] == said
    assert said in (folder / "report.html").read_text(encoding="utf-8")


def test_a_recall_of_exactly_one_says_how_it_was_read(folder: Path) -> None:
    """
    Recall 1 prints a note, since it could mean 1 % or 100 %.
    """
    output = json.loads(whorl("sources", "--store", "store", "--json", "--recall", "1", "notes/a.txt").stdout)
    assert "recall 1 means 100 %" in " ".join(output["warnings"])


def test_printed_lines(folder: Path) -> None:
    """
    The output has totals, the sources that add something, and the number of documents read.
    """
    (folder / "own.txt").write_text(f"{SECOND} And nothing else.", encoding="utf-8")
    result = whorl("sources", "--store", "store", "own.txt")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "19 of 22 words (86.3%) are in 1 source; the longest passage has 19 words."
    assert lines[3].split()[0] == "notes/b.txt"
    assert lines[-1].startswith("2 documents read, 1 other document with nothing that the sources lack; ")
    few = whorl("sources", "--store", "store", "own.txt", "--rows", "0").stdout
    assert "… and 1 more" in few
    assert "notes/b.txt" not in few


def test_exclude_and_min_words(folder: Path) -> None:
    """
    --exclude excludes documents, --min-words short passages; CSV has a line for each source.
    """
    (folder / "own.txt").write_text(SECOND, encoding="utf-8")
    arguments = ("sources", "--store", "store", "own.txt", "--csv")
    (row,) = csv.DictReader(io.StringIO(whorl(*arguments, "--exclude", "name:b.txt").stdout))
    assert (row["id"], row["words"]) == ("notes/a.txt", "17")
    assert whorl(*arguments, "--exclude", "name:b.txt", "--min-words", "18").stdout.count("\n") == 1


def test_csv_of_passages(folder: Path) -> None:
    """
    --csv-passages has a line for each passage of --json, and excludes other formats.
    """
    (folder / "own.txt").write_text(SECOND, encoding="utf-8")
    arguments = ("sources", "--store", "store", "own.txt")
    listed = json.loads(whorl(*arguments, "--json").stdout)["sources"]
    expected = [(source["id"], str(passage["b"]["start"])) for source in listed for passage in source["passages"]]
    rows = csv.DictReader(io.StringIO(whorl(*arguments, "--csv-passages").stdout))
    assert [(row["id"], row["start_b"]) for row in rows] == expected
    assert expected
    assert whorl(*arguments, "--csv-passages", "--json").exit_code == 2


def test_an_exclusion_of_no_document(folder: Path) -> None:
    """
    If the query of --exclude matches no document, a note says so; for an id, the note has the query that matches it.
    """
    (folder / "own.txt").write_text(SECOND, encoding="utf-8")
    arguments = ("sources", "--store", "store", "own.txt", "--csv", "--exclude")
    done = whorl(*arguments, "notes/b.txt")
    note = "note: no document matches the query to exclude, 'notes/b.txt'"
    assert f'{note}; to exclude the document of this id, write id:"notes/b.txt"\n' in done.stderr
    assert "notes/b.txt" in done.stdout
    mended = whorl(*arguments, 'id:"notes/b.txt"')
    assert ("to exclude" in mended.stderr, "notes/b.txt" in mended.stdout) == (False, False)
    assert "no document matches the query to exclude, 'name:nowhere'\n" in whorl(*arguments, "name:nowhere").stderr


def test_a_report_is_written(folder: Path) -> None:
    """
    --html FILE writes a report besides the output; a report that cannot be written leaves no file.
    """
    (folder / "own.txt").write_text(SECOND, encoding="utf-8")
    assert whorl("sources", "--store", "store", "own.txt", "--html", "report.html").exit_code == 0
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    result = whorl("sources", "--store", "store", "own.txt", "--html", "notes")
    assert (result.exit_code, result.stderr) == (2, "whorl: notes is a folder; name a file to write to\n")
    result = whorl("sources", "--store", "store", "own.txt", "--html", "nosuch/report.html")
    assert result.exit_code == 2
    assert "cannot be written: No such file" in result.stderr
    # The report does not overwrite the text, by whatever path.
    result = whorl("sources", "--store", "store", "own.txt", "--html", str(folder / "notes" / ".." / "own.txt"))
    assert (result.exit_code, "own.txt is what is read; name another file" in result.stderr) == (2, True)
    assert (folder / "own.txt").read_text(encoding="utf-8") == SECOND


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nosuch"], "the store has no document 'nosuch', and there is no such file"),
        (["notes/a.txt", "--json", "--csv"], "--json and --csv exclude each other"),
        (["notes/a.txt", "--recall", "0"], "recall must be a percentage above 0"),
        (["notes/a.txt", "--exclude", "("], "this parenthesis is never closed"),
        (["notes/a.txt", "--min-words", "0"], "--min-words"),
    ],
)
def test_mistakes(arguments: list[str], said: str) -> None:
    """
    An error is exit code 2 with a remedy.
    """
    result = whorl("sources", "--store", "store", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_common_text_is_counted_and_ignored(folder: Path) -> None:
    """
    A line has the share of common text; it is ignored on request, with a default limit of 1 %.
    """
    form = " ".join(f"w{word}" for word in range(40))
    (folder / "form.txt").write_text(form, encoding="utf-8")
    (folder / "own.txt").write_text(f"{form} {FIRST}", encoding="utf-8")
    arguments = ("sources", "--store", "store", "own.txt")
    assert "--boilerplate" not in whorl(*arguments).stdout
    lines = whorl(*arguments, "--boilerplate", "form.txt").stdout.splitlines()
    assert lines[1] == "40 of 59 words are common; of the 19 others 19 (100.0%) are in sources."
    left = json.loads(whorl(*arguments, "--boilerplate", "form.txt", "--ignore-common", "--json").stdout)
    assert (left["coverage"], left["common"]["ignored"], left["common"]["above"]) == (1.0, True, None)
    report = folder / "own.html"
    whorl(*arguments, "--boilerplate", "form.txt", "--html", str(report))
    assert "40 of 59 words are common" in report.read_text(encoding="utf-8")
    refused = CliRunner().invoke(main, [*arguments, "--ignore-common"])
    assert (refused.exit_code, "'whorl index --passages' adds them" in refused.output) == (2, True)
    whorl("index", "--store", "store", "--passages", "notes")
    output = json.loads(whorl(*arguments, "--ignore-common", "--json").stdout)
    assert (output["common"]["above"], output["certain_words"]) == (10, 20)


def test_from_a_text_and_a_folder_to_the_report(folder: Path) -> None:
    """
    One command without a store finds the sources in a folder and writes the report.
    """
    (folder / "new.txt").write_text(f"{FIRST} and more", encoding="utf-8")
    done = whorl("sources", "new.txt", "--in", "notes", "--html", "report.html")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "are in 1 source" in done.stdout
    assert "notes/a.txt" in (folder / "report.html").read_text(encoding="utf-8")
    nowhere = whorl("sources", "new.txt", "--store", "nosuch")
    assert nowhere.exit_code == 1
    assert "Or search files without a store: --in FOLDER" in nowhere.stderr


def test_a_file_of_a_store_without_texts(folder: Path) -> None:
    """
    If the store has a document of the file but no texts, the file itself is read.
    """
    (folder / "notes" / "a.txt").write_text(f"{FIRST} {SECOND}", encoding="utf-8")
    assert whorl("index", "--store", "bare", "--no-text", "notes").exit_code == 0
    done = whorl("sources", "--store", "bare", "notes/a.txt")
    assert done.exit_code == 0
    assert "note: the store keeps no text for 'notes/a.txt', so the file itself is the source" in done.stderr
    assert "notes/a.txt" in done.stdout
    refused = whorl("similar", "--store", "bare", "notes/a.txt")
    assert (refused.exit_code, "keeps no texts" in refused.stderr) == (1, True)
