"""Every command has a place in the README or in docs/; tests/test_settings.py sees to the settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from whorl.cli.main import main

ROOT = Path(__file__).parents[1]
TEXT = "\n".join(
    page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
)


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
