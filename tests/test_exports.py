"""What `import whorl` gives, and that type checkers believe it."""

from __future__ import annotations

import importlib.metadata
import inspect
import subprocess
import sys
from importlib.resources import files

import pytest

import whorl

PUBLIC = {"Document", "Hit", "Page", "Signature", "Store", "WhorlError", "open_store", "parse", "simhash", "simhashes",
          "unparse"}  # fmt: skip


def test_all_is_what_is_public() -> None:
    """
    __all__ names each public name once, in order, each can be had, and no other.
    """
    assert set(whorl.__all__) == PUBLIC
    assert list(whorl.__all__) == sorted(whorl.__all__)
    assert {name for name in dir(whorl) if not name.startswith("_")} == PUBLIC
    assert all(getattr(whorl, name).__name__ == name for name in PUBLIC)
    with pytest.raises(AttributeError, match="no attribute 'open_stores'"):
        _ = whorl.open_stores


@pytest.mark.process
def test_importing_the_package_imports_little() -> None:
    """
    Names are imported when they are asked for.
    """
    program = "import sys, whorl; print(sorted(name for name in sys.modules if name.startswith('whorl')))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['whorl']"


def test_every_public_name_is_documented() -> None:
    """
    Each has a docstring, and the package's own docstring names it.
    """
    for name in PUBLIC:
        assert inspect.getdoc(getattr(whorl, name)), name
        assert name in (whorl.__doc__ or ""), name


def test_types_ship() -> None:
    """
    py.typed lies in the package.
    """
    assert files("whorl").joinpath("py.typed").is_file()


def test_the_version_is_the_distributions() -> None:
    """
    One place says it: the metadata.
    """
    assert whorl.__version__ == importlib.metadata.version("whorl")
