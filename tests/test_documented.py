"""Every command, every option and every setting has a place in the README or in docs/."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import whorl.settings
from whorl.cli import main

ROOT = Path(__file__).parents[1]
TEXT = "\n".join(
    page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
)
#: In the source, so that one that is read but described nowhere is found.
VARIABLES = sorted(set(re.findall(r"WHORL_[A-Z_]+", Path(whorl.settings.__file__).read_text(encoding="utf-8"))))


def commands(command: click.Command = main, words: str = "whorl") -> Iterator[str]:
    below = getattr(command, "commands", {})
    if not below:
        yield words
    for name, each in below.items():
        yield from commands(each, f"{words} {name}")


@pytest.mark.parametrize("words", list(commands()))
def test_every_command_is_documented(words: str) -> None:
    """
    With the words that one types, of which "whorl" may be left out in a list.
    """
    assert re.search(rf"\b{words}\b|`{words.removeprefix('whorl ')}\b", TEXT)


@pytest.mark.parametrize("name", VARIABLES)
def test_every_variable_is_documented(name: str) -> None:
    """
    By its whole name, in the documentation and in the list at the top of its module.
    """
    assert re.search(rf"\b{name}\b", TEXT)
    assert re.search(rf"^ *{name} ", whorl.settings.__doc__ or "", re.MULTILINE)


@pytest.mark.parametrize(
    "name", ["store", "timeout", "user", "password", "minhash", "content", "name", "dbid", "noderef"]
)
def test_every_entry_of_the_file_is_documented(name: str) -> None:
    """
    Beside the name of the file.
    """
    assert "whorl.toml" in TEXT
    assert re.search(rf"`{name}\b|^{name} =", TEXT, re.MULTILINE)
