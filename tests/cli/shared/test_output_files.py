"""Tests of output files: a file is replaced only when it is complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import whorl
from whorl.cli.shared.output_files import open_output, require_writable
from whorl.errors import ParameterError


def test_a_file_is_in_its_place_once_it_is_whole(folder: Path) -> None:
    """
    An output file is replaced when it is complete, and the old content stays until then; a folder or an unwritable file
    is an error.
    """
    file = folder / "out.txt"
    file.write_text("before", encoding="utf-8")
    with open_output(file) as out:
        out.write("after")
        assert file.read_text(encoding="utf-8") == "before"
    assert file.read_text(encoding="utf-8") == "after"
    assert [path.name for path in folder.iterdir()] == ["out.txt"]
    for wrong in (folder, Path(), folder / "nosuch" / "out.txt", file / "out.txt"):
        with pytest.raises(ParameterError, match=r"is a folder; name a file|cannot be written"):
            require_writable(wrong)
    for wrong in (folder / "nosuch" / "out.txt", file / "out.txt"):
        with pytest.raises(ParameterError, match="cannot be written"), open_output(wrong):
            pass


def test_output_follows_a_link(folder: Path) -> None:
    """
    A link stays a link, also to a missing file; incomplete output is in the folder of the target.
    """
    (folder / "elsewhere").mkdir()
    file, link = folder / "elsewhere" / "out.txt", folder / "link.txt"
    link.symlink_to(file)
    for text in ("first", "second"):
        require_writable(link)
        with open_output(link) as out:
            out.write(text)
        assert link.is_symlink()
        assert file.read_text(encoding="utf-8") == text
    assert sorted(path.name for path in folder.rglob("*")) == ["elsewhere", "link.txt", "out.txt"]


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "-", "notes/a.txt"],
        ["similar", "--store", "store", "--file", "-"],
        ["similar", "--store", "store", "--text", "-"],
        ["sources", "--store", "store", "-"],
        ["duplicates", "-"],
        ["duplicates", "notes", "--boilerplate", "-"],
    ],
)
def test_standard_input_is_read_once(notes: Path, words: list[str]) -> None:
    """
    Using standard input twice, as a text or as boilerplate, is an error, because the second read would be empty.
    """
    result = whorl(*words, "--boilerplate", "-")
    assert (result.exit_code, result.stderr) == (
        2, "whorl: - is standard input, which is read once; name a file beside it\n",
    )  # fmt: skip


def test_two_write_to_one_file(folder: Path) -> None:
    """
    Two simultaneous writers do not delete each other's output, a failing one leaves nothing, and the last to finish
    wins.
    """
    file = folder / "out.txt"

    def fails() -> None:
        with open_output(file) as out:
            out.write("nothing")
            raise RuntimeError

    with open_output(file) as out, pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.getpid", lambda: 0)
        require_writable(file)
        with open_output(file) as other:
            other.write("other")
        with pytest.raises(RuntimeError):
            fails()
        assert file.read_text(encoding="utf-8") == "other"
        patch.undo()
        out.write("own")
    assert file.read_text(encoding="utf-8") == "own"
    assert [path.name for path in folder.iterdir()] == ["out.txt"]
