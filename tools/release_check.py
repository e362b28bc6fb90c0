"""Refuses a release that is not ready: `python tools/release_check.py v1.2.3`."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


def problems(tag: str, root: Path = ROOT) -> Iterator[str]:
    """Yield the reasons to refuse a tag."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    version = tomllib.loads(text)["project"]["version"]
    if tag != f"v{version}":
        yield f"the tag is {tag}, the version in pyproject.toml {version}"
    if not re.search(
        rf"^## \[?{re.escape(version)}\b", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    ):
        yield f"CHANGELOG.md has no section {version}"


if __name__ == "__main__":
    messages = list(problems(sys.argv[1]))
    print("\n".join(messages) or "ready")
    sys.exit(1 if messages else 0)
