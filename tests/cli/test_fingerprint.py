"""Tests of `whorl fingerprint`: the tokens of a file, in each format."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from tests.cli.running import whorl
from whorl.cli.main import main

SHORT = "six words in a row here"


def test_fingerprint(folder: Path) -> None:
    """
    Each format has the 512 tokens, in the same order, for a file or for standard input.
    """
    (folder / "a.txt").write_text(SHORT, encoding="utf-8")
    told = json.loads(whorl("fingerprint", "a.txt").stdout)
    assert (told["size"], len(told["tokens"])) == (2, 512)
    lines = CliRunner().invoke(main, ["fingerprint", "-", "--format", "text"], input=SHORT).stdout.splitlines()
    assert list(map(int, lines)) == told["tokens"]
    numbers = np.load(io.BytesIO(whorl("fingerprint", "--format", "npy", "a.txt").stdout_bytes))
    assert numbers.tolist() == told["tokens"]
    assert whorl("fingerprint", "--scheme", "nosuch", "a.txt").exit_code == 2


def test_fingerprint_of_nothing(folder: Path) -> None:
    """
    A text with fewer words than a shingle has no tokens, which is not an error.
    """
    (folder / "a.txt").touch()
    assert json.loads(whorl("fingerprint", "a.txt").stdout)["tokens"] == []
    assert whorl("fingerprint", "--format", "text", "a.txt").stdout.strip() == ""
    assert len(np.load(io.BytesIO(whorl("fingerprint", "--format", "npy", "a.txt").stdout_bytes))) == 0
