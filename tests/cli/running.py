"""Helpers that run the command line in this process or in a shell, and that prepare texts and collections."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner, Result

from tests import solr_runtime
from whorl.cli.main import main

WHORL = Path(sys.executable).parent / "whorl"
FIRST = "The quick brown fox jumps over the lazy dog and then it sleeps all day in the warm sun."
SECOND = "The quick brown fox jumps over the lazy dog and then it sleeps all day in the cold rain."
DEADLINE_SECONDS = 240.0


def whorl(*arguments: str) -> Result:
    """Run a command in this process; re-raise an exception that the user would see as a traceback."""
    result = CliRunner().invoke(main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback" not in result.output
    return result


def search_json(query: str, *options: str, store: str = "store") -> dict[str, Any]:
    """Search, and return the JSON."""
    result = whorl("search", "--store", store, "--json", *options, "--", query)
    assert result.exit_code == 0, result.output
    output: dict[str, Any] = json.loads(result.stdout)
    return output


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in answer["hits"]]


def run_page(page: str, heading: str, url: str) -> list[str]:
    """Run the first block of commands below a heading of a page in docs, on a document `a`; return their outputs.

    The first command is a check, which finds that something is missing.
    """
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    lines = text.partition(f"{heading}\n")[2].split("```")[1].strip().splitlines()
    outputs = []
    for at, line in enumerate(lines):
        _, *words = shlex.split(line, comments=True)
        done = whorl(*({"URL": url, "ID": "a"}.get(word, word) for word in words))
        assert done.exit_code == (at == 0), done.output
        outputs.append(done.output)
    return outputs


def in_shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in bash, with this environment's `whorl` on the path."""
    called = f"set -o pipefail; whorl() {{ '{WHORL}' \"$@\"; }}; {command}"
    return subprocess.run(
        ["bash", "-c", called],
        capture_output=True,
        check=False,
        timeout=DEADLINE_SECONDS,
        env={**os.environ, **environment},
    )


def every_command() -> Iterator[tuple[list[str], click.Command]]:
    """Yield every command with its words on the command line."""

    def below(command: click.Command, words: list[str]) -> Iterator[tuple[list[str], click.Command]]:
        yield words, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                subcommand = command.get_command(context, name)
                assert subcommand is not None
                yield from below(subcommand, [*words, name])

    yield from below(main, [])


@contextlib.contextmanager
def own_collection(url: str) -> Iterator[str]:
    """Yield the URL of an empty core or collection next to another."""
    base_url, name = url.rpartition("/")[0], f"whorl_test_{uuid.uuid4().hex[:8]}"
    try:
        yield solr_runtime.make_collection(base_url, name)
    finally:
        solr_runtime.drop(base_url, name)
