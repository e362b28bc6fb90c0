"""Writes constraints.txt: the installed versions of all dependencies of the image.

python tools/constraints.py > constraints.txt
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

#: Extras that the Dockerfile installs.
EXTRAS = ("serve", "files", "opensearch")


def pins() -> Iterator[str]:
    """Yield `package==version` for all requirements of whorl with these extras, sorted."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in EXTRAS)]
    wanted = [Requirement(each) for some in named for each in some]
    versions, seen = dict[str, str](), set[tuple[str, frozenset[str]]]()
    while wanted:
        each = wanted.pop()
        key = canonicalize_name(each.name), frozenset(each.extras)
        is_meant = each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in ("", *EXTRAS))
        if key in seen or not is_meant:
            continue
        seen.add(key)
        try:
            there = distribution(each.name)
        except PackageNotFoundError:
            # A requirement of another system.
            continue
        versions[key[0]] = there.version
        for requirement in map(Requirement, there.requires or ()):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *each.extras)):
                requirement.marker = None
                wanted.append(requirement)
    versions.pop("whorl", None)
    yield from (f"{name}=={versions[name]}" for name in sorted(versions))


if __name__ == "__main__":
    print("# The image's packages; `python tools/constraints.py` writes this file.")
    print("\n".join(pins()))
