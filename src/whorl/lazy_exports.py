"""Imports the public names of a package on first use, so that commands start faster."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

_EXPORT = re.compile(r"^    from (whorl\S+) import (\w+) as \2$", re.MULTILINE)


def lazily(package: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return the function `__getattr__` and the list `__all__` of a package, given its full name.

    A package imports its public names in a `TYPE_CHECKING` block, as `import name as name`. Type checkers and editors
    read the names there; this function reads them from the source.
    """
    module: Any = sys.modules[package]
    homes = {name: home for home, name in _EXPORT.findall(module.__spec__.loader.get_source(package))}

    def import_name(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(module, name, value)
        return value

    return import_name, sorted(homes)
