"""docs/ as a site: Sphinx reads all of it without a warning, and what is generated names everything that there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import reference_pages
import whorl
from tests.cli.running import every_command
from tests.service.test_description import ROUTES

ROOT = Path(__file__).parents[1]


@pytest.mark.process
@pytest.mark.slow
def test_the_site_is_made_without_a_warning(tmp_path: Path) -> None:
    """
    Every link leads somewhere, every page is in the table of contents, and every docstring can be read.
    """
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "dummy",
        str(ROOT / "docs"),
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_every_command_has_its_help() -> None:
    """
    Under its name, as a shell has it.
    """
    named = re.findall(r"^## (.*)\n\n```text\nUsage: \1 ", "\n".join(reference_pages.commands()), re.MULTILINE | re.I)
    commands = [" ".join(["whorl", *words]) for words, each in every_command() if not hasattr(each, "commands")]
    assert named == [*commands, "simhash-find-all", "simhash-find-clusters"]


def test_every_public_name_is_in_the_reference() -> None:
    """
    Each once, as a function, a class or an error.
    """
    named = re.findall(r"^\.\. auto\w+:: whorl\.(\w+)$", "\n".join(reference_pages.python()), re.MULTILINE)
    assert sorted(named) == sorted(whorl.__all__)


@pytest.mark.slow
def test_every_route_is_in_the_reference() -> None:
    """
    With what it takes: bounds, choices and what has to be there.
    """
    page = "\n".join(reference_pages.routes())
    named = set(re.findall(r"^## (\w+) (\S+)$", page, re.MULTILINE))
    assert named == {(method.upper(), path) for method, path in ROUTES}
    similar = page.split("## POST /api/v1/similar")[1].split("\n## ")[0]
    assert "| `threshold` | number, above 0 to 100 | `20` |" in similar
    assert "| `b` | object with `id`, `text` | required |" in page
