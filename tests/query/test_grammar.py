"""Tables of grammars on disk: loaded when they are sound, built again when they are not."""

from __future__ import annotations

import os
import pickle
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from lark import Lark, Tree
from lark.exceptions import UnexpectedInput

from whorl.query.parser import parser_of
from whorl.query.strict_alfresco_tokens_and_errors import Splitter

WORDS = "query: WORD+\nWORD: /[a-z]+/\n%ignore / +/\n"
NUMBERS = WORDS.replace("a-z", "0-9")
DOTTED = 'query: (INTEGER | DOT)+\nINTEGER: /[0-9]+/\nDOT: "."\nDOTTED: /[0-9]+\\.[0-9]+\\./\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the tables."""
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "whorl" / "grammars"


@pytest.fixture
def no_builds(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let every attempt to build tables fail after `WORDS` is on disk."""
    parser_of(WORDS, None)

    def build(*_: object, **__: object) -> None:
        raise AssertionError("tables were built")

    monkeypatch.setattr(Lark, "__init__", build)
    return monkeypatch


def words(parser: Lark, query: str = "big dog") -> list[object]:
    """Return the leaves that a parser reads."""
    tree = parser.parse(query)
    assert isinstance(tree, Tree)
    return [str(leaf) for leaf in tree.children]


def only(folder: Path) -> Path:
    """Return the only file of a folder."""
    (path,) = folder.iterdir()
    return path


def test_tables_are_loaded(no_builds: pytest.MonkeyPatch) -> None:
    assert words(parser_of(WORDS, None)) == ["big", "dog"]


def test_a_loaded_parser_refuses_the_same(no_builds: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnexpectedInput):
        parser_of(WORDS, None).parse("big 2")


def test_a_splitter_works_with_loaded_tables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = words(parser_of(DOTTED, Splitter()), "1.2.")
    monkeypatch.setattr(Lark, "__init__", None)
    assert words(parser_of(DOTTED, Splitter()), "1.2.") == built == ["1", ".", "2", "."]


def test_a_changed_grammar_has_its_own_tables(folder: Path) -> None:
    parser_of(WORDS, None)
    assert words(parser_of(NUMBERS, None), "1 22") == ["1", "22"]
    assert words(parser_of(WORDS, None)) == ["big", "dog"]
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("name", ["lark.__version__", "sys.version"])
def test_another_version_has_its_own_tables(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parser_of(WORDS, None)
    monkeypatch.setattr(name, "another")
    parser_of(WORDS, None)
    assert len(list(folder.iterdir())) == 2


def with_digest(content: bytes) -> bytes:
    """Return content with its digest in front, as in an undamaged file."""
    return sha256(content).digest() + content


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 1000,
        with_digest(b""),
        with_digest(b"no pickle"),
        with_digest(pickle.dumps({})),
        with_digest(pickle.dumps({"data": {}, "memo": {1: 2}})),
    ],
)
def test_a_file_without_tables_is_replaced(content: bytes, folder: Path) -> None:
    parser_of(WORDS, None)
    path = only(folder)
    sound = path.read_bytes()
    path.write_bytes(content)
    assert words(parser_of(WORDS, None)) == ["big", "dog"]
    assert len(only(folder).read_bytes()) == len(sound)


def test_a_single_wrong_byte_is_noticed(folder: Path) -> None:
    parser_of(WORDS, None)
    path = only(folder)
    sound = path.read_bytes()
    place = sound.index(b"[a-z]+")
    path.write_bytes(sound[:place] + b"[b-z]+" + sound[place + 6 :])
    assert words(parser_of(WORDS, None)) == ["big", "dog"]
    assert words(parser_of(WORDS, None), "a") == ["a"]


class _Runs:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_a_file_cannot_run_code(folder: Path, tmp_path: Path) -> None:
    parser_of(WORDS, None)
    only(folder).write_bytes(with_digest(pickle.dumps(_Runs(tmp_path / "ran"))))
    assert words(parser_of(WORDS, None)) == ["big", "dog"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs the owner and mode of files")
@pytest.mark.parametrize("is_foreign", [True, False])
def test_tables_that_others_can_change_are_not_read(
    is_foreign: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser_of(WORDS, None)
    path = only(folder)
    # Sound tables of another grammar, which would be used if they were private.
    parser_of(NUMBERS, None)
    (other,) = set(folder.iterdir()) - {path}
    path.write_bytes(other.read_bytes())
    if is_foreign:
        monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    else:
        path.chmod(0o666)
    assert words(parser_of(WORDS, None)) == ["big", "dog"]


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file in its place")
    assert words(parser_of(WORDS, None)) == ["big", "dog"]


def test_a_file_that_cannot_be_replaced_leaves_nothing(folder: Path) -> None:
    parser_of(WORDS, None)
    path = only(folder)
    path.unlink()
    (path / "inside").mkdir(parents=True)
    assert words(parser_of(WORDS, None)) == ["big", "dog"]
    assert only(folder) == path


def test_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: Path("~") / name)
    monkeypatch.chdir(tmp_path)
    assert words(parser_of(WORDS, None)) == ["big", "dog"]
    assert not list(tmp_path.iterdir())
