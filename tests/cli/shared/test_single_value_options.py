"""Tests of options that are given twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.cli.running import whorl
from whorl.cli.main import main
from whorl.cli.shared.single_value_options import SingleValueCommand


@pytest.mark.parametrize(
    "words",
    [
        ["duplicates", ".", "--text-column", "prompt", "--text-column", "response"],
        ["duplicates", ".", "--within-column=lang", "--within-column=source"],
        ["duplicates", ".", "--filtered", "one", "--filtered", "two"],
        ["duplicates", ".", "-o", "one.csv", "--output", "two.csv"],
        ["index", ".", "--passages", "--passages", "12"],
        ["index", "a.txt", "--store", "one", "--store", "two"],
        ["similar", "a.txt", "--threshold", "50", "--threshold", "50"],
        ["solr", "up", "--port", "1", "--port", "2"],
        ["--config", "one.toml", "--config", "two.toml", "status"],
    ],
)
def test_a_second_value_of_an_option_is_an_error(folder: Path, words: list[str]) -> None:
    """
    An option that takes one value can be given once, in every command; otherwise the first value would be ignored
    silently.
    """
    result = whorl(*words)
    flag = max((word.partition("=")[0] for word in words if word.startswith("-")), key=len)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Error: {flag} can be given only once" in result.stderr
    assert [*folder.iterdir()] == []


def _commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from _commands(command)


def test_all_commands_refuse_a_second_value() -> None:
    """
    Every command is one of whorl's class, which refuses a second value.
    """
    assert all(isinstance(command, SingleValueCommand) for command in [main, *_commands(main)])
