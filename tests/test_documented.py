"""Every command and module has its place in the README or in docs/; tests/test_settings.py checks the settings."""

from __future__ import annotations

import pkgutil
import re
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from tests.cli.running import every_command

ROOT = Path(__file__).parents[1]
TEXT = "\n".join(
    page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
)


@pytest.mark.parametrize(
    "words", [" ".join(["whorl", *words]) for words, command in every_command() if not isinstance(command, click.Group)]
)
def test_every_command_is_documented(words: str) -> None:
    """
    The documentation names each command as typed; lists may leave out "whorl".
    """
    assert re.search(rf"\b{words}\b|`{words.removeprefix('whorl ')}\b", TEXT)


def test_named_files_exist() -> None:
    """
    Each module and grammar that docs/internals.md or a decision names exists, and each folder of the former.
    """
    places = [f"/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "src" / "whorl").rglob("*")]
    internals, decisions = ROOT / "docs" / "internals.md", (ROOT / "docs" / "decisions").glob("*.md")
    missing = []
    for page in [internals, *decisions]:
        ending = r"(?:\.py|\.lark|/)" if page == internals else r"\.(?:py|lark)"
        named = [name.rstrip("/") for name in re.findall(rf"`([\w./-]+{ending})`", page.read_text(encoding="utf-8"))]
        missing += [
            (page.name, name)
            for name in named
            if not (ROOT / name).exists() and not any(place.endswith(f"/{name}") for place in places)
        ]
    assert missing == []


def test_named_members_are_in_their_files() -> None:
    """
    If docs/internals.md names a member with its file, as in "`Metric` (`metric.py`)", the file contains the member.
    """
    text = " ".join((ROOT / "docs" / "internals.md").read_text(encoding="utf-8").split())
    named = re.findall(r"`([\w.]+)` (?:in |\()`([\w./-]+\.(?:py|js|html))`", text)
    assert len(named) > 50
    files = [
        path for folder in ("src", "tests", "tools") for path in (ROOT / folder).rglob("*.*") if path.suffix != ".pyc"
    ]
    missing = [
        (member, name)
        for member, name in named
        if not any(
            re.search(rf"\b{member.rpartition('.')[2]}\b", path.read_text(encoding="utf-8"))
            for path in files
            if path.as_posix().endswith(f"/{name}")
        )
    ]
    assert missing == []


def test_named_modules_exist() -> None:
    """
    Modules and their members that docs, benchmarks and tools name can be imported.
    """
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = {
        match.group()
        for page in [*pages, *(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tools").glob("*.py")]
        for match in re.finditer(r"\bwhorl\.(?!toml\b|old\b|file_base\b)[a-z_]+(?:\.\w+)*", page.read_text("utf-8"))
    }
    assert "whorl.hamming" in named
    if find_spec("pyspark") is None:
        # These modules cannot be imported without pyspark.
        named = {name for name in named if not name.startswith("whorl.duplicates.spark")}
    missing = []
    for name in sorted(named):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            missing.append(name)
    assert missing == []
