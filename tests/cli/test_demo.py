"""Tests of `whorl demo`: texts of this machine, and questions about them with answers."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.running import FIRST, whorl
from whorl import Document, open_store, parse
from whorl.cli import demo
from whorl.query.ast import And, Fingerprint


@pytest.mark.slow
def test_demo(folder: Path) -> None:
    """
    The demo shows a letter with two sources and a passage of each, a similar search, a FINGERPRINT and the page; the
    printed commands run and find documents.
    """
    result = whorl("demo", "--store", "demo")
    assert result.exit_code == 0
    assert re.search(r"^[1-9][0-9,]* documents stored, [0-9]+ w", result.stdout, re.M)
    commands = [shlex.split(line)[1:] for line in result.stdout.splitlines() if line.startswith("  whorl ")]
    assert [words[0] for words in commands] == ["sources", "similar", "search", "serve", "index"]
    for words in commands[:3]:
        answer = json.loads(whorl(*words, "--json").stdout)
        assert answer["sources"] if words[0] == "sources" else answer["total"]
    assert len(re.findall(r"^  \d+ words of ", result.stdout, re.M)) == 2
    # The packages of the service are installed here.
    assert "pip install" not in result.stdout


def test_demo_in_a_read_only_folder(folder: Path) -> None:
    """
    A store that cannot be created is an ordinary error.
    """
    (folder / "file").touch()
    result = whorl("demo", "--store", "file/below")
    assert result.exit_code == 1
    assert "file/below" in result.stderr


def test_a_question_about_an_id_of_any_kind(folder: Path) -> None:
    """
    The query names the intended document, whatever its id.
    """
    odd = 'licence/a_70 "b" \\c'
    with open_store(folder / "store") as store:
        store.index(Document(name, FIRST, properties={"kind": "licence"}) for name in (odd, f"{odd}_1"))
        assert set(demo.choose_documents(store)) <= {odd, f"{odd}_1"}
        tree = parse(demo.make_query(odd))
        assert isinstance(tree, And)
        source = tree.children[0]
        assert isinstance(source, Fingerprint)
        assert source.reference == odd
        assert store.search(demo.make_query(odd), rows=0).total == 0


@pytest.mark.parametrize("kind", ["module", "none"])
def test_a_machine_with_few_texts(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """
    Without licences, the demo uses modules; without any text, it is an error.
    """
    few = [] if kind == "none" else [Document("module/a", FIRST, properties={"kind": "module"})]
    monkeypatch.setattr(demo, "find_texts", lambda: iter(few))
    result = whorl("demo", "--store", "demo")
    assert result.exit_code == (0 if few else 1)
    assert ("Which documents share text with module/a?" in result.stdout) is bool(few)
    assert ("found no text on this machine to ask about" in result.stderr) is not bool(few)
