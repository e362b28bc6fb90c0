"""What compiled loops do that numba's language cannot say, and what is kept of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fingerprint.compiled.scripts import (
    made,
    needs_numba,
)
from whorl.fingerprint.scheme import Scheme

pytestmark = needs_numba


@pytest.mark.process
@pytest.mark.parametrize(
    "trouble",
    [
        "caching.CacheImpl._locator_classes = []",  # no folder can be written
        "def full(*_): raise OSError(28, 'No space left on device')\ncaching.IndexDataCacheFile.save = full",
    ],
    ids=["no folder", "full"],
)
def test_a_cache_that_cannot_be_written(tmp_path: Path, trouble: str) -> None:
    """
    Where nothing can be kept, it is said once, and the numbers are the same.
    """
    program = f"from numba.core import caching\n{trouble}\n"
    program += "from whorl.fingerprint.compiled.kernel import Kernel\nprint(Kernel().many(['a b c d e'])[0][0, 0, 0])"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert int(run.stdout) == int(made(Scheme()).many(["a b c d e"])[0][0, 0, 0])
    assert "NUMBA_CACHE_DIR" in run.stderr


@pytest.mark.slow
def test_what_is_read_and_written_at_once() -> None:
    """
    Eight bytes as one number, eight units copied, and the lowest bit set, at every place.
    """
    from whorl.fingerprint.compiled import jit

    tools: Any = jit
    copy8, get, load8, lowest_bit = tools.copy8, tools.get, tools.load8, tools.lowest_bit

    def plain(units: Any, target: Any, at: int, bits: Any) -> Any:
        copy8(target, 1, units, at)
        return get(units, at), load8(units, at), lowest_bit(bits)

    read = tools.loop(plain)
    units = np.random.default_rng(1).integers(0, 1 << 16, 24, np.uint16)
    for at in range(16):
        target = np.zeros(10, np.uint16)
        bits = 5 << at | 1 << 63
        first, eight, place = read(units, target, at, np.uint64(bits))
        assert (first, eight) == (units[at], int.from_bytes(units[at : at + 4].tobytes(), sys.byteorder))
        assert target.tolist() == [0, *units[at : at + 8].tolist(), 0]
        assert place == at


def test_what_is_kept_is_named_by_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A change in any module that is compiled in, the dictionary's constants as well, gives other names.
    """
    from whorl.fingerprint.compiled import jit

    package = Path(jit.__file__).parents[1]
    for name in ("compiled", "words"):
        shutil.copytree(package / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "tables"))
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "compiled" / "jit.py"))
    digests = {jit._sources_digest()}
    assert digests == {jit._DIGEST}
    for changed in (tmp_path / "compiled" / "words.py", tmp_path / "words" / "dictionary.py"):
        with changed.open("a") as file:
            file.write("# changed\n")
        digests.add(jit._sources_digest())
    assert len(digests) == 3


def test_what_others_compiled_is_not_kept_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Nobody may have to wait on another processor or for another numba; where nothing can be kept, nothing is missing.
    """
    import numba

    from whorl.fingerprint.compiled import jit

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "_KEPT", [])

    def doubled(number: int) -> int:
        return 2 * number

    compiled = jit.kept(doubled)
    assert not jit.is_kept(__name__)
    assert compiled(2) == 4
    assert jit.is_kept(__name__)
    with monkeypatch.context() as unready:
        # Nothing is made ready to compile where nothing is compiled.
        unready.setattr(type(compiled.targetctx), "refresh", lambda _: pytest.fail("ready to compile"))
        again = jit.loop(doubled)
        again._cache = jit._Cache(doubled)
        assert again(2) == 4
        assert list(again.stats.cache_hits.values()) == [1]
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(type(compiled.targetdescr.target_context.codegen()), "magic_tuple", lambda _: ("another",))
        assert not jit.is_kept(__name__)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(compiled._cache._cache_file, "_version", "0.1")
        assert not jit.is_kept(__name__)
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        jit.keep_nothing(OSError("no room"))
    assert jit.is_kept(__name__)
