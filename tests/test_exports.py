"""What `import whorl` gives, and that type checkers believe it."""

from __future__ import annotations

import importlib.metadata
import inspect
from importlib.resources import files

import whorl

PUBLIC = {"Document", "Hit", "Page", "Signature", "Store", "WhorlError", "open_store", "parse", "unparse"}


def test_all_is_what_is_public() -> None:
    """
    __all__ names each public name once, in order, and everything else that can be seen is a module of ours.
    """
    assert set(whorl.__all__) == PUBLIC
    assert list(whorl.__all__) == sorted(whorl.__all__)
    visible = {name for name, value in vars(whorl).items() if not name.startswith("_") and not inspect.ismodule(value)}
    assert visible - {"version"} == PUBLIC


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
