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
    wanted = [Requirement(line) for requirements in named for line in requirements]
    versions, visited = dict[str, str](), set[tuple[str, frozenset[str]]]()
    while wanted:
        current = wanted.pop()
        key = canonicalize_name(current.name), frozenset(current.extras)
        is_meant = current.marker is None or any(current.marker.evaluate({"extra": extra}) for extra in ("", *EXTRAS))
        if key in visited or not is_meant:
            continue
        visited.add(key)
        try:
            there = distribution(current.name)
        except PackageNotFoundError:
            # This requirement applies only to another system.
            continue
        versions[key[0]] = there.version
        for requirement in map(Requirement, there.requires or ()):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *current.extras)):
                requirement.marker = None
                wanted.append(requirement)
    versions.pop("whorl", None)
    yield from (f"{name}=={versions[name]}" for name in sorted(versions))


if __name__ == "__main__":
    print("# The image's packages; `python tools/constraints.py` writes this file.")
    print("\n".join(pins()))
