"""Single flipped bits in the files of a store; `make prove-flips` flips 500."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flips import Flip, answers, build, flips, outcome
from tests.sampling import thorough

COUNT = 30


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("flips") / "store"
    build(folder)
    return folder, answers(folder)


@thorough
@pytest.mark.slow
def test_no_flipped_bit_changes_an_answer(sound: tuple[Path, Any], tmp_path: Path) -> None:
    """
    The answers of a store with a flipped bit are those of the sound one, or an error.
    """
    folder, expected = sound
    results = {flip: outcome(folder, tmp_path / "copy", flip, expected) for flip in flips(folder, COUNT)}
    assert [flip for flip, result in results.items() if result not in ("same", "error")] == []
    # Damage of the records cannot be repaired; damage of the index always can.
    assert {result for flip, result in results.items() if flip.file.startswith("index")} == {"same"}
    assert Counter(results.values())["error"] > 0


def test_stored_ids_in_tantivys_files_are_verified(sound: tuple[Path, Any], tmp_path: Path) -> None:
    """
    A flipped bit in the middle of each file of document ids is repaired when the store is opened.
    """
    folder, expected = sound
    files = sorted(folder.glob("index/*/*.store"), key=lambda path: path.stat().st_size)
    for path in files[-2:]:
        flip = Flip(str(path.relative_to(folder)), path.stat().st_size * 2)
        assert outcome(folder, tmp_path / "copy", flip, expected) == "same"
