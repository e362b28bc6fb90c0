"""Tests of `whorl demo`: texts of this machine, and three queries with hits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.running import FIRST, asked, whorl
from whorl import Document, open_store, parse
from whorl.cli import demo
from whorl.query.ast import And, Fingerprint


@pytest.mark.slow
def test_demo(folder: Path) -> None:
    """
    The demo indexes texts of this machine and runs three queries; the printed commands find documents.
    """
    result = whorl("demo", "--store", "demo")
    assert result.exit_code == 0
    assert result.stdout.count("whorl search --store demo 'FINGERPRINT:") == 3
    assert re.search(r"^[1-9][0-9,]* documents stored, [0-9]+ w", result.stdout, re.M)
    for query in [
        line.split("'", 1)[1].rstrip("'") for line in result.stdout.splitlines() if "search --store demo 'F" in line
    ]:
        assert asked(query, store="demo")["total"]


def test_demo_where_nothing_can_be_written(folder: Path) -> None:
    """
    A store that cannot be created is an ordinary error.
    """
    (folder / "file").touch()
    result = whorl("demo", "--store", "file/below")
    assert result.exit_code == 1
    assert "file/below" in result.stderr


def test_questions_about_ids_of_any_kind(folder: Path) -> None:
    """
    The three queries name the intended document, whatever its id.
    """
    odd = 'licence/a_70 "b" \\c'
    with open_store(folder / "store") as store:
        store.index(Document(each, FIRST, properties={"kind": "licence"}) for each in (odd, f"{odd}_1"))
        (first, second, third), named = demo.questions(store), set[str]()
        for title, query in (first, second, third):
            tree = parse(query)
            source = tree.children[0] if isinstance(tree, And) else tree
            assert isinstance(source, Fingerprint)
            assert source.reference in title
            assert store.search(query, rows=0).total == (0 if query == third[1] else 2)
            named.add(source.reference)
    assert named <= {odd, f"{odd}_1"}


@pytest.mark.parametrize("kind", ["module", "none"])
def test_a_machine_with_few_texts(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """
    Without licences, the demo uses modules; without any text, it is an error.
    """
    few = [] if kind == "none" else [Document("module/a", FIRST, properties={"kind": "module"})]
    monkeypatch.setattr(demo, "found_texts", lambda: iter(few))
    result = whorl("demo", "--store", "demo")
    assert result.exit_code == (0 if few else 1)
    assert ("share at least 70 % of the tokens of module/a?" in result.stdout) is bool(few)
    assert ("found no text on this machine to ask about" in result.stderr) is not bool(few)
