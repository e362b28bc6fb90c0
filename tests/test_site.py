"""The documentation site: Sphinx builds it without a warning, and the generated reference is complete."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import reference_pages
import whorl
from tests.cli.running import every_command
from tests.sampling import thorough
from tests.service.test_description import ROUTES

ROOT = Path(__file__).parents[1]


@thorough
@pytest.mark.process
@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """
    Every link is valid, every page is in the table of contents, and every docstring can be rendered.
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


def test_search_prefers_guides() -> None:
    """
    The site's search ranks decisions, reference and figures lower than guides, and these pages exist.
    """
    scorer = (ROOT / "docs" / "site" / "scorer.js").read_text("utf-8")
    lower = re.compile("|".join(re.findall(r"= /(.*)/;", scorer)))
    pages = [path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    ranked = {page for page in pages if lower.match(page)}
    assert {
        "api",
        "internals",
        "changelog",
        "duplicates-figures",
        "duplicates-reference",
        "decisions/0001-scores-are-counts",
    } <= ranked
    assert ranked.isdisjoint({"tutorial", "how-it-works", "duplicates", "sources", "solr", "questions"})
    names = re.findall(r"[(|]([a-z]+)(?=[|)])", scorer)
    assert set(names) <= set(pages)


def test_every_command_has_its_help() -> None:
    """
    The generated page has the help of every command, under the command's full name.
    """
    named = re.findall(r"^## (.*)\n\n```text\nUsage: \1 ", "\n".join(reference_pages.commands()), re.MULTILINE | re.I)
    commands = [" ".join(["whorl", *words]) for words, command in every_command() if not hasattr(command, "commands")]
    assert named == [*commands, "simhash-find-all", "simhash-find-clusters"]


def test_every_option_is_in_the_reference() -> None:
    """
    The table of an operation has each option with its name in each front end and its default, or the reason.
    """
    page = "\n".join(reference_pages.options())
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == [
        *("similar", "search", "explain", "sources", "verify", "compare", "duplicates", "index", "delete", "simhash"),
    ]
    duplicates = page.split("## duplicates\n")[1].split("\n## ")[0]
    assert "| `--within-column` |  |  | `within` |  | Compare only" in duplicates
    assert "| `--threshold` | `threshold` | `threshold` | `threshold` | `80` |" in duplicates
    assert "- `write_ids`, not in MCP: the tool changes nothing." in duplicates


def test_every_public_name_is_in_the_reference() -> None:
    """
    The Python reference has each public name once.
    """
    named = re.findall(r"^\.\. auto\w+:: whorl\.(\w+)$", "\n".join(reference_pages.python()), re.MULTILINE)
    assert sorted(named) == sorted(whorl.__all__)


@pytest.mark.slow
def test_every_route_is_in_the_reference() -> None:
    """
    The HTTP reference has every route, with the bounds, choices and required fields of its parameters.
    """
    page = "\n".join(reference_pages.routes())
    named = set(re.findall(r"^## (\w+) (\S+)$", page, re.MULTILINE))
    assert named == {(method.upper(), path) for method, path in ROUTES}
    similar = page.split("## POST /api/v1/similar")[1].split("\n## ")[0]
    assert "| `threshold` | number, above 0 to 100 | `10` |" in similar
    assert "| `b` | object with `id`, `text` | required |" in page
