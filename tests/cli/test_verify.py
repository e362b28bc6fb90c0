"""Tests of `whorl verify`: its texts, its output and files, its exit status, its errors."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.running import WHORL, whorl
from tests.made_files import quoting_word
from whorl import Document, open_store
from whorl.cli.main import main

pytestmark = pytest.mark.usefixtures("notes")

TEXT = (
    "He says “the quick brown fox jumps over the lazy dog” (notes/a.txt) and “the quick brown fox jumps over the crazy "
    "dog”, but “cheese is made on the green moon by night”.\n"
)


@pytest.fixture
def text(folder: Path) -> str:
    (folder / "text.md").write_text(TEXT, encoding="utf-8")
    return "text.md"


def test_the_list(text: str) -> None:
    """
    Each quotation has its verdict, its place and its differences; the last line counts the verdicts.
    """
    result = whorl("verify", "--store", "store", text)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "1. exact  9 words, source named: notes/a.txt",
        "   “the quick brown fox jumps over the lazy dog”",
        "   notes/a.txt  a.txt, line 1 [0:43]",
        "",
        "2. edited  9 words",
        "   “the quick brown fox jumps over the crazy dog”",
        "   notes/a.txt  a.txt, line 1 [0:43]",
        "     “crazy” for “lazy”",
        "",
        "3. absent  9 words",
        "   “cheese is made on the green moon by night”",
        "   7 runs of its words looked up in 3 documents, 0 read: none has it",
        "",
        "3 quotations looked for in 3 documents: 1 exact, 1 edited, 1 absent.",
    ]
    page = whorl("verify", "--store", "store", text, "--start", "1", "--rows", "1").stdout
    assert page.splitlines()[0] == "2. edited  9 words"
    assert "… and 1 more" in page


@pytest.mark.parametrize(("verdicts", "status"), [("absent, misattributed", 1), ("stitched", 0), ("edited", 1)])
def test_status(text: str, verdicts: str, status: int) -> None:
    """
    The status is 1 if a quotation has one of the verdicts of --fail-on; the output is complete in any case.
    """
    result = whorl("verify", "--store", "store", text, "--json", "--fail-on", verdicts)
    assert result.exit_code == status
    assert len(json.loads(result.stdout)["quotations"]) == 3


def test_the_status_of_a_text_without_quotations(folder: Path) -> None:
    """
    A text without quotations passes the gate: no quotation is wrong.
    """
    (folder / "plain.md").write_text("Nothing is quoted in here.", encoding="utf-8")
    result = whorl("verify", "--store", "store", "plain.md", "--fail-on", "absent,edited,stitched,misattributed")
    assert (result.exit_code, result.stdout.split(":")[0]) == (0, "No quotation found")
    assert whorl("verify", "--store", "store", "plain.md", "--all", "--fail-on", "absent").exit_code == 1


def test_text_rows(text: str) -> None:
    """
    JSON has the ranges of quotations and places, CSV a line for each quotation.
    """
    values = json.loads(whorl("verify", "--store", "store", text, "--json").stdout)
    assert values["counts"] == {"exact": 1, "edited": 1, "stitched": 0, "misattributed": 0, "absent": 1}
    first, second, third = values["quotations"]
    assert TEXT[first["place"]["start"] : first["place"]["end"]] == "“the quick brown fox jumps over the lazy dog”"
    assert (first["verdict"], first["source"], first["source_id"]) == ("exact", "notes/a.txt", "notes/a.txt")
    (difference,) = second["places"][0]["differences"]
    assert (difference["kind"], difference["quote"], difference["document"]) == ("changed", "crazy", "lazy")
    assert (third["places"], third["looked_up"]["documents"]) == ([], 3)
    rows = [*csv.DictReader(io.StringIO(whorl("verify", "--store", "store", text, "--csv").stdout))]
    assert [(row["verdict"], row["id"], row["differences"], row["changes"]) for row in rows] == [
        ("exact", "notes/a.txt", "0", ""),
        ("edited", "notes/a.txt", "1", "“crazy” for “lazy”"),
        ("absent", "", "0", ""),
    ]


def test_pages(folder: Path) -> None:
    """
    The place of a quotation has its page where form feeds end the pages, and CSV has the notes.
    """
    (folder / "quoting.md").write_text("“the quick brown fox jumps” (c.pdf)", encoding="utf-8")
    with open_store("paged") as store:
        store.index([Document("b", "one page\n\f\nthe quick brown fox jumps\n\f")])
    printed = whorl("verify", "--store", "paged", "quoting.md").stdout
    assert "   b, page 2, line 3 [11:36]" in printed
    (row,) = csv.DictReader(io.StringIO(whorl("verify", "--store", "paged", "quoting.md", "--csv").stdout))
    assert (row["page"], row["first_line"], row["notes"]) == ("2", "3", "the store has no document 'c.pdf'")


def test_quotations_from_standard_input() -> None:
    """
    A JSON list holds quotations, with the source that each names.
    """
    given = json.dumps([{"quote": "all day in the warm sun", "source": "notes/b.txt"}, {"quote": "the lazy dog"}])
    result = CliRunner().invoke(main, ["verify", "--store", "store", "--json", "-"], input=given)
    quotations = json.loads(result.stdout)["quotations"]
    assert [quotation["verdict"] for quotation in quotations] == ["misattributed", "exact"]
    assert quotations[0]["places"][0]["id"] == "notes/a.txt"


@pytest.mark.process
def test_a_pipe_is_read_once(folder: Path, text: str) -> None:
    """
    A pipe from the shell's <(…) has the same quotations as the file; its bytes cannot be read twice.
    """
    call = f"'{WHORL}' verify --store store <(cat {text})"
    piped = subprocess.run(["bash", "-c", call], capture_output=True, check=True, text=True)
    assert piped.stdout == whorl("verify", "--store", "store", text).stdout
    assert "1 exact" in piped.stdout


@pytest.mark.process
def test_html(folder: Path) -> None:
    """
    Block quotes of HTML are found, in files with and without a suffix and on standard input; a report shows them.
    """
    page = "<p>x</p><blockquote cite='notes/a.txt'>The quick brown fox <b>jumps</b> over the lazy dog</blockquote>"
    (folder / "page.html").write_text(page, encoding="utf-8")
    (folder / "page").write_text(f"<html>{page}", encoding="utf-8")
    piped = CliRunner().invoke(main, ["verify", "--store", "store", "-"], input=f"<html>{page}")
    result = whorl("verify", "--store", "store", "page.html", "--html", "report.html")
    for each in (result, piped, whorl("verify", "--store", "store", "page")):
        assert each.stdout.splitlines()[0] == "1. exact  9 words, source named: notes/a.txt"
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "<title>Quotations of page.html</title>" in report
    assert "over the lazy dog</blockquote>" in report


@pytest.mark.process
def test_an_html_file_in_the_store(folder: Path) -> None:
    """
    An HTML file in the store is not its own source; it is the source of another file of its name.
    """
    page = folder / "notes" / "page.html"
    page.write_text("<title>Cheese</title><p><q>Cheese is made on the green moon by night</q></p>", encoding="utf-8")
    assert whorl("index", "--store", "store", "notes").exit_code == 0
    (folder / "page.html").write_text("<q>Cheese is made on the green moon by night</q>!", encoding="utf-8")
    (folder / "copy.html").write_text(f"{page.read_text(encoding='utf-8')}\n", encoding="utf-8")
    for name, verdict in (("notes/page.html", "absent"), ("page.html", "exact"), ("copy.html", "absent")):
        values = json.loads(whorl("verify", "--store", "store", "--json", name).stdout)
        assert [quotation["verdict"] for quotation in values["quotations"]] == [verdict]


@pytest.mark.process
def test_word(folder: Path) -> None:
    """
    A DOCX has block quotes in the styles of Word, and notes that name sources; its copies are no sources.
    """
    pages = {
        name: quoting_word("The quick brown fox jumps over the dog", "All day in the warm sun")
        for name in ("a", "notes/b")
    }
    for name, content in pages.items():
        (folder / f"{name}.docx").write_bytes(content)
    assert whorl("index", "--store", "store", "notes").exit_code == 0
    for name in pages:
        values = json.loads(whorl("verify", "--store", "store", "--json", f"{name}.docx").stdout)
        quotations = [(each["quote"], each["verdict"], each["source"]) for each in values["quotations"]]
        assert quotations == [
            ("The quick brown fox jumps over the dog", "edited", "a.txt"),
            ("All day in the warm sun", "misattributed", "b.txt"),
        ]


def test_a_document(folder: Path) -> None:
    """
    The id of a document is its text; it is not its own source.
    """
    (folder / "notes" / "letter.md").write_text(TEXT, encoding="utf-8")
    assert whorl("index", "--store", "store", "notes").exit_code == 0
    (folder / "notes" / "letter.md").unlink()
    values = json.loads(whorl("verify", "--store", "store", "--json", "notes/letter.md").stdout)
    assert [quotation["verdict"] for quotation in values["quotations"]] == ["exact", "edited", "absent"]


def test_a_file_in_the_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A file in the store is not its own source, by any path; a note names its document, or says that the file changed.
    """
    letter = folder / "notes" / "letter.md"
    letter.write_text(TEXT, encoding="utf-8")
    assert whorl("index", "--store", "store", "notes").exit_code == 0
    monkeypatch.chdir(folder / "notes")
    result = whorl("verify", "--store", "../store", "--json", "letter.md")
    assert [quotation["verdict"] for quotation in json.loads(result.stdout)["quotations"]] == [
        "exact",
        "edited",
        "absent",
    ]
    assert "letter.md is in the store as 'notes/letter.md'" in result.stderr
    letter.write_text("It says “all day in the warm sun”.", encoding="utf-8")
    changed = whorl("verify", "--store", "../store", "--json", "letter.md")
    assert len(json.loads(changed.stdout)["quotations"]) == 3
    assert "the file letter.md has changed since it was indexed" in changed.stderr


def test_a_gate_checks_a_changed_file(folder: Path) -> None:
    """
    With --fail-on, the present text of a file is checked, and its stored text proves none of its quotations.
    """
    letter = folder / "notes" / "letter.md"
    letter.write_text("It says “all day in the warm sun”, and cheese is made on the green moon.", encoding="utf-8")
    assert whorl("index", "--store", "store", "notes").exit_code == 0
    gate = ("verify", "--store", "store", "--json", "notes/letter.md", "--fail-on", "absent")
    assert whorl(*gate).exit_code == 0
    letter.write_text("It says “cheese is made on the green moon”.", encoding="utf-8")
    failing = whorl(*gate)
    assert (failing.exit_code, json.loads(failing.stdout)["quotations"][0]["verdict"]) == (1, "absent")
    assert "has changed since it was indexed; the file itself counts" in failing.stderr


def test_no_quotations(folder: Path) -> None:
    """
    For a text without quotations the message names the kinds of quotations that count.
    """
    (folder / "plain.txt").write_text("Nothing is quoted here.", encoding="utf-8")
    result = whorl("verify", "--store", "store", "plain.txt")
    assert result.exit_code == 0
    assert result.stdout.startswith("No quotation found: nothing stands between quotation marks")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json", "--csv"], "--json and --csv exclude each other"),
        (["--fail-on", "wrong"], "--fail-on takes exact, edited, stitched, misattributed, absent, separated by commas"),
        (["--html", "text.md"], "text.md is what is read"),
        (["--min-words", "0"], "0 is not in the range"),
    ],
)
def test_mistakes(text: str, arguments: list[str], message: str) -> None:
    """
    Invalid options end with status 2 and a message with the expected values.
    """
    result = whorl("verify", "--store", "store", text, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_texts_that_cannot_be_read(folder: Path) -> None:
    """
    A name without a file or a document, a folder, and a JSON file of another shape are usage errors.
    """
    nowhere = whorl("verify", "--store", "store", "nowhere")
    assert (nowhere.exit_code, "there is no such file" in nowhere.stderr) == (2, True)
    notes = whorl("verify", "--store", "store", "notes")
    assert (notes.exit_code, "notes is a folder" in notes.stderr) == (2, True)
    (folder / "other.json").write_text('{"quotes": "a"}', encoding="utf-8")
    result = whorl("verify", "--store", "store", "other.json")
    assert (result.exit_code, "not a JSON list of quotations" in result.stderr) == (2, True)
    result = whorl("verify", "--store", "store", "other.json", "--html", "-")
    assert (result.exit_code, "--html writes a file" in result.stderr) == (2, True)


def test_html_without_block_quotes(folder: Path) -> None:
    """
    A file of HTML is read as HTML, and unpaired quotation marks are noted.
    """
    html = '<p title="“a b c d e”">He says &ldquo;the quick <b>brown</b> fox jumps&rdquo; and &ldquo;no more.</p>'
    (folder / "page.html").write_text(html, encoding="utf-8")
    result = whorl("verify", "--store", "store", "page.html")
    assert result.stdout.splitlines()[:2] == ["1. exact  5 words", "   “the quick brown fox jumps”"]
    assert "skipped 1 quotation mark without" in result.stderr
