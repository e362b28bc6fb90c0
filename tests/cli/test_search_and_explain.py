"""Tests of `whorl search` and `whorl explain`: hits as JSON and as a table, positions of errors, texts as sources."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.running import FIRST, ids, search_json, whorl
from whorl import Document, open_store
from whorl.cli.main import main

pytestmark = pytest.mark.usefixtures("folder")


def test_json_has_one_shape(notes: Path) -> None:
    """
    JSON has query, total, warnings, and hits with id, name, score and, with one source, shared_tokens; nothing else.
    """
    body = search_json("FINGERPRINT:notes/a.txt")
    first, second = body["hits"]
    assert list(body) == ["query", "total", "total_is_exact", "warnings", "hits"]
    assert (body["query"], body["total"], body["warnings"]) == ("FINGERPRINT:notes/a.txt", 2, [])
    assert first == {"id": "notes/a.txt", "name": "a.txt", "score": 512.0, "shared_tokens": 512}
    assert list(second) == ["id", "name", "score", "shared_tokens"]
    assert 0 < second["shared_tokens"] == second["score"] < 512


def test_strict_parsing(notes: Path) -> None:
    """
    --afts strict parses a query like Alfresco: it splits 10.fox, and refuses a path without quotes.
    """
    assert ids(search_json("dog.zzz", "--afts", "strict")) == []
    assert ids(search_json("1.dog", "--afts", "strict")) == ["notes/a.txt", "notes/b.txt"]
    assert ids(search_json("1.dog")) == []
    refused = whorl("search", "--store", "store", "--afts", "strict", "/etc/hosts")
    assert refused.exit_code == 2
    assert "^" in refused.stderr
    assert whorl("explain", "--store", "store", "--afts", "strict", "1.dog").exit_code == 0


def test_json_without_a_source(notes: Path) -> None:
    """
    Hits of words have no shared tokens; warnings are in the JSON, not on standard error.
    """
    result = whorl("search", "--store", "store", "--json", 'fox AND "..." OR sun')
    output = json.loads(result.stdout)
    assert output["hits"] == [{"id": "notes/a.txt", "name": "a.txt", "score": 1.0}]
    assert any("there is no word in '...'" in warning for warning in output["warnings"])
    assert result.stderr == ""


def test_a_table_shows_tokens_and_share(notes: Path) -> None:
    """
    A row has the id, the name, the shared tokens and their share; the last line has the total.
    """
    lines = whorl("search", "--store", "store", "FINGERPRINT:notes/a.txt").stdout.splitlines()
    assert lines[0].split() == ["id", "name", "shared", "tokens", "overlap"]
    assert lines[1].split() == ["notes/a.txt", "a.txt", "512", "█" * 20, "100.0%"]
    assert lines[-1] == "2 documents"


def test_pages(notes: Path) -> None:
    """
    --rows and --start cut the list, and the last line has the total and the shown range.
    """
    assert ids(search_json("*", "--rows", "1", "--start", "1")) == ["notes/b.txt"]
    assert "3 documents, 2 to 2 shown" in whorl("search", "--store", "store", "--rows", "1", "--start", "1", "*").stdout
    assert "3 documents, none shown" in whorl("search", "--store", "store", "--rows", "0", "*").stdout
    assert "3 documents, none shown" in whorl("search", "--store", "store", "--start", "9", "*").stdout


def test_one_of_each_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The best hit of each cluster is shown with the number of its near-copies; without cluster labels the message says
    how to write them.
    """
    monkeypatch.chdir(tmp_path)
    text = " ".join(f"w{at}" for at in range(40))
    with open_store("store") as store:
        store.index([Document("a", text), Document("b", f"{text} more"), Document("c", "w1 and something else")])
    refused = whorl("search", "--store", "store", "--collapse", "w1")
    assert (refused.exit_code, "whorl duplicates --store STORE --write-ids" in refused.stderr) == (2, True)
    assert whorl("duplicates", "--store", "store", "--write-ids").exit_code == 0
    body = search_json("w1", "--collapse")
    assert (body["total"], body["matches"]) == (2, 3)
    assert [(hit["id"], hit["copies"], hit["cluster"]) for hit in body["hits"]] == [("a", 1, "a"), ("c", 0, None)]
    head, first, second, last = whorl("search", "--store", "store", "--collapse", "w1").stdout.splitlines()
    assert (head.split(), first.split(), second.split()) == (
        ["id", "name", "score", "near-copies"], ["a", "1", "1"], ["c", "1"],
    )  # fmt: skip
    assert last == "2 documents and 1 near-copy"
    assert "matches" not in search_json("w1")


def test_explain(notes: Path) -> None:
    """
    Explain prints the plan in numbers and the request as JSON, without searching; --explain prints the same with the
    hits.
    """
    result = whorl("explain", "--store", "store", "FINGERPRINT:notes/a.txt_70 AND fox")
    words, _, request = result.stdout.partition("\nRequest\n")
    assert "at least 359 of its 512 tokens" in words
    assert json.loads(request)["store"] == "store"
    beside = whorl("search", "--store", "store", "--explain", "--json", "FINGERPRINT:notes/a.txt_70 AND fox")
    assert beside.stderr.strip() == result.stdout.strip()
    assert json.loads(beside.stdout)["total"] == 2


@pytest.mark.parametrize(
    ("query", "place", "message"),
    [
        ("", "", "the query is empty"),
        (" \t", " \t", "the query is empty"),
        ("*:* AND", "", ""),
        ('big "brown fox', '"brown fox', "this quote is never closed"),
        ("'fox", "'fox", "this quote is never closed"),
        ("(fox", "", ""),
        ("fox)", ")", ""),
        ("FINGERPRINT:a_140", "140", "140"),
        ("FINGERPRINT:", "", ""),
        ("{!frange l=0}fox", "{", ""),
        ("fox\0", "\0", "U+0000 is a control character"),
        ("fox \x1b[31m", "\x1b", "U+001B is a control character"),
        ("fox \udcff", "\udcff", "U+DCFF is half of a surrogate pair"),
        ("(" * 5000 + "x" + ")" * 5000, "(", "levels deep"),
        ("NOT " * 5000 + "x", "", "levels deep"),
        ("a " * 2000, "a", "at most 1,000"),
        ("a" * 100_000, "a", "at most 65,536 characters, got 100,000"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_a_mistake_in_a_query_is_shown_at_its_place(notes: Path, query: str, place: str, message: str) -> None:
    """
    An error has one message with the reason, the line of the query, a caret and a hint; exit code 2, no output, no
    traceback.
    """
    for command in (["search"], ["search", "--json"], ["explain"]):
        result = whorl(*command, "--store", "store", "--", query)
        assert result.exit_code == 2
        assert result.stdout == ""
        said, shown, carets, *hint = result.stderr.splitlines()
        assert said.startswith("whorl: ")
        assert message in said
        assert set(carets) <= {" ", "^"}
        assert "^" in carets
        assert len(shown) < 160
        assert len(hint) <= 1
        under = shown[carets.index("^") : carets.index("^") + len(place)]
        assert under == "".join(char if char.isprintable() else "·" for char in place)


def test_a_query_that_begins_with_a_minus(notes: Path) -> None:
    """
    A query that begins with a minus follows "--"; without it the query is parsed as options, as the help says.
    """
    assert ids(search_json("-fox")) == ["notes/c.txt"]
    result = whorl("search", "--store", "store", "-fox")
    assert result.exit_code == 2
    assert "No such option" in result.stderr
    assert '"--"' in whorl("search", "--help").stdout


def test_ids_with_markup_and_very_long_ones(folder: Path) -> None:
    """
    Brackets and :key: are text; an id of 1,000 characters is wrapped, not cut; JSON has all characters.
    """
    odd = [
        "[bold red]x[/]",
        "a:key:b",
        "[/]",
        "\\[x]",
        "x" * 1000,
        "日本語のテキスト",
        "{!lucene}*:*",
        'quo"te',
        "under_score_70",
    ]
    with open_store(folder / "store") as store:
        store.index([Document(name, FIRST, name=name[:30]) for name in odd])
    assert set(ids(search_json("*", "--rows", "100"))) == set(odd)
    printed = whorl("search", "--store", "store", "FINGERPRINT:a:key:b").stdout
    for name in odd:
        assert name in printed or name == "x" * 1000
    assert printed.count("x") >= 1000
    assert all(len(line) <= 120 for line in printed.splitlines())


@pytest.mark.process
def test_a_text_that_is_not_in_the_store(notes: Path) -> None:
    """
    --source takes a file or standard input, in any encoding, and takes precedence over a document called "source".
    """
    with open_store("store") as store:
        store.index([Document("source", "something else entirely that nobody asks for")])
    (notes / "d.html").write_bytes(f"<p>{FIRST}".encode("utf-16"))
    for arguments, piped in ((["notes/d.html"], b""), (["-"], FIRST.encode("utf-8-sig"))):
        query = ["search", "--store", "store", "--json", "FINGERPRINT:source_30", "--source"]
        result = CliRunner().invoke(main, [*query, *arguments], input=piped)
        output = json.loads(result.stdout)
        assert ids(output) == ["notes/a.txt", "notes/b.txt"]
        assert output["hits"][0]["shared_tokens"] == 512
    assert "at least 154 of its 512 tokens" in whorl(
        "explain", "--store", "store", "FINGERPRINT:source_30", "--source", "notes/a.txt"
    ).stdout  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("file", ["gone", ".", "binary", "gone\x1b[31m", "page.html"])
def test_a_source_that_cannot_be_read(notes: Path, file: str) -> None:
    """
    An unreadable source is one line that names it, with exit code 2.
    """
    Path("binary").write_bytes(bytes(1000))
    Path("page.html").write_text(f"&#{'9' * 5000};", encoding="utf-8")
    for words in (["search", "FINGERPRINT:source", "--store", "store", "--source"], ["fingerprint"]):
        result = whorl(*words, file)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert file.replace("\x1b", "\ufffd") in result.stderr


def test_an_unknown_field_lists_the_fields(notes: Path) -> None:
    """
    If no field has a similar name, the error lists the fields that the documents have.
    """
    done = whorl("search", "--store", "store", "type:pdf")
    assert (done.exit_code != 0, "It has content, id, name." in done.stderr) == (True, True)
    assert whorl("search", "--store", "store", "name:b.txt").exit_code == 0
