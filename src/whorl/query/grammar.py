"""Loads Lark's parser of a grammar, and caches its tables on disk.

Building the tables takes far longer than parsing a query; loading them takes a few milliseconds. A cached file that is
damaged or not private is ignored, and the tables are built again.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import lark
import platformdirs
from lark import Lark
from lark.common import LexerConf
from lark.lexer import ContextualLexer

from whorl.query.alfresco import Splitter

_OPTIONS = {"parser": "lalr", "start": "query", "maybe_placeholders": False}
_DIGEST_SIZE = sha256().digest_size


class _Lexer(ContextualLexer):
    """Lark's contextual lexer without the comparison of terminals, which takes minutes if interegular is installed."""

    def __init__(
        self, conf: LexerConf, states: dict[int, Collection[str]], always_accept: Collection[str] = ()
    ) -> None:
        conf.skip_validation = True
        super().__init__(conf, states, always_accept)


class _PlainUnpickler(pickle.Unpickler):
    """Unpickles only plain values and tokens, so that a file cannot run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) != ("lark.lexer", "Token"):
            raise pickle.UnpicklingError(f"{module}.{name} is not expected in the tables of a grammar")
        return lark.Token


def parser_of(grammar: str, splitter: Splitter | None) -> Lark:
    """Load the parser of a grammar from the cache, or build and cache it.

    Args:
        grammar: Text of the grammar.
        splitter: Lark's postlex step, if the grammar has one.
    """
    # Lark does not save these options.
    plugins = {"postlex": splitter, "_plugins": {"ContextualLexer": _Lexer}}
    path = _tables_path(grammar, splitter)
    # A file whose digest is right can still hold tables that this version of Lark cannot load.
    with suppress(Exception):
        tables = _PlainUnpickler(BytesIO(_read(path))).load()
        load: Callable[..., Lark] = Lark._load_from_dict
        return load(tables["data"], tables["memo"], **plugins)
    built = Lark(grammar, **_OPTIONS, **plugins)
    content = BytesIO()
    built.save(content, exclude_options=plugins)
    # Without a cache, each process builds its tables.
    with suppress(OSError):
        _write(path, content.getvalue())
    return built


def _tables_path(grammar: str, splitter: Splitter | None) -> Path:
    """Return the path of a grammar's tables; the name is a hash of grammar, options and versions."""
    accepted = () if splitter is None else tuple(splitter.always_accept)
    key = repr((grammar, _OPTIONS, accepted, lark.__version__, sys.version))
    return platformdirs.user_cache_path("whorl") / "grammars" / sha256(key.encode()).hexdigest()[:32]


def _read(path: Path) -> bytes:
    """Return the content of a cached file.

    Raises:
        OSError: The file does not exist, or is unreadable.
        ValueError: The file is damaged, or another user owns the file or can write to it.
    """
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if os.name == "posix" and (status.st_uid != os.getuid() or status.st_mode & 0o022):
            raise ValueError(f"{path} is not private")
        digest, content = file.read(_DIGEST_SIZE), file.read()
    if sha256(content).digest() != digest:
        raise ValueError(f"{path} is damaged")
    return content


def _write(path: Path, content: bytes) -> None:
    """Replace a cached file atomically, so that no process reads an incomplete file."""
    if not path.is_absolute():  # for a user without a home
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(sha256(content).digest() + content)
            file.close()
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
            raise
