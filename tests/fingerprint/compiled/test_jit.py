"""Low-level helpers of the compiled loops, and their cache on disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fingerprint.compiled.scripts import cache_without_rotate, needs_numba, new_kernel
from tests.sampling import thorough
from whorl.fingerprint.shingling import Scheme

pytestmark = needs_numba


@thorough
@pytest.mark.process
def test_a_full_cache(tmp_path: Path) -> None:
    """
    If the disk is too full to cache a loop, one warning is given, and the numbers are the same.
    """
    program = """
from numba.core import caching
def full(*_): raise OSError(28, 'No space left on device')
caching.IndexDataCacheFile.save = full
from whorl.fingerprint.compiled.kernel import Kernel
print(Kernel().bucket_minima(['a b c d e'])[0][0, 0, 0])
"""
    printed, said = _run(program, cache_without_rotate(tmp_path))
    assert int(printed) == int(new_kernel(Scheme()).bucket_minima(["a b c d e"])[0][0, 0, 0])
    assert said.count("NUMBA_CACHE_DIR") == 1


@pytest.mark.process
def test_no_folder_for_a_cache(tmp_path: Path) -> None:
    """
    If no cache folder is writable, loops work, and one warning explains the repeated compilation.
    """
    for name in ("doubling", "other"):
        (tmp_path / f"{name}.py").write_text(
            "from whorl.fingerprint.compiled.jit import cached\n@cached\ndef doubled(number): return 2 * number\n"
        )
    program = """
from numba.core import caching
caching.CacheImpl._locator_classes = []
import other
from doubling import doubled
print(doubled(21))
"""
    printed, said = _run(program, {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])})
    assert int(printed) == 42
    assert said.count("NUMBA_CACHE_DIR") == 1


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what is mapped")
def test_pages_of_llvm_are_released(tmp_path: Path) -> None:
    """
    After loading, only the pages of LLVM that the linker has modified stay in memory, a fiftieth; LLVM can still
    compile.
    """
    # Fill the cache first, because compilation uses far more of LLVM than loading.
    _run("from whorl.fingerprint.compiled.kernel import Kernel; Kernel()", {**os.environ})
    program = """
import numpy as np
from whorl.fingerprint.compiled.kernel import Kernel
Kernel()
path, held = "", 0
for line in open("/proc/self/smaps"):
    if "-" in line.split()[0]:
        path = line.split()[-1]
    elif "llvmlite" in path and line.startswith("Rss:"):
        held += int(line.split()[1])
print(held)
from whorl.fingerprint.compiled.jit import loop
print(loop(lambda number: 2 * number)(21))
"""
    printed, _ = _run(program, {**os.environ})
    held, doubled = map(int, printed.split())
    assert held < 4096
    assert doubled == 42


def test_changed_pages_are_never_released() -> None:
    """
    Only unmodified pages of the library are released: no page with anonymous or swapped memory, and none for which the
    system does not report these amounts.
    """
    from whorl.fingerprint.compiled.jit import unmodified_mappings

    def mapping_lines(begin: int, rights: str, path: str, *lines: str) -> str:
        head = f"{begin:x}-{begin + 0x2000:x} {rights} 00000000 fe:00 5357762                    {path}\n"
        return head + "".join(f"{line}\n" for line in ["Size:                  8 kB", *lines, "VmFlags: rd mr mw me"])

    none, eight = "                 0 kB", "                 8 kB"
    smaps = "".join(
        [
            mapping_lines(
                0x1000, "r--p", "/a b/libllvmlite.so", f"Anonymous:{none}", f"Swap:{none}", f"SwapPss:{none}"
            ),
            mapping_lines(0x3000, "r-xp", "/a b/libllvmlite.so", f"Anonymous:{none}", f"Swap:{none}"),
            mapping_lines(0x5000, "r--p", "/a b/libllvmlite.so", f"Anonymous:{eight}", f"Swap:{none}"),
            mapping_lines(0x7000, "r--p", "/a b/libllvmlite.so", f"Anonymous:{none}", f"Swap:{eight}"),
            mapping_lines(0x9000, "r--p", "/a b/libllvmlite.so"),
            mapping_lines(0xB000, "rw-p", "/a b/libllvmlite.so", f"Anonymous:{none}", f"Swap:{none}"),
            mapping_lines(0xD000, "r--p", "/a b/other.so", f"Anonymous:{none}", f"Swap:{none}"),
            mapping_lines(0xF000, "r--p", "", f"Anonymous:{none}", f"Swap:{none}"),
        ]
    )
    assert unmodified_mappings(smaps, "libllvmlite.so") == [(0x1000, 0x2000), (0x3000, 0x2000)]


def _run(program: str, environment: dict[str, str]) -> tuple[str, str]:
    """Return the standard output and the standard error of a program."""
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return ended.stdout, ended.stderr


@pytest.mark.slow
def test_helpers_load_copy_and_find_bits() -> None:
    """
    Helpers read eight bytes as a number, copy eight units and find the lowest set bit, at every position.
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


def test_cache_names_depend_on_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A change in any compiled module, or in the dictionary's constants, changes the name of the cache.
    """
    from whorl.fingerprint.compiled import jit

    package = Path(jit.__file__).parents[1]
    for name in ("compiled", "words"):
        shutil.copytree(package / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "tables"))
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "compiled" / "jit.py"))
    digests = {jit._sources_digest()}
    assert digests == {jit._DIGEST}
    for changed in (tmp_path / "compiled" / "words.py", tmp_path / "words" / "split_by_dictionary.py"):
        with changed.open("a") as file:
            file.write("# changed\n")
        digests.add(jit._sources_digest())
    assert len(digests) == 3


def test_code_for_other_processors_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Loops compiled for another processor or by another numba are not reused; without a cache nothing counts as cached.
    """
    import numba

    from whorl.fingerprint.compiled import jit

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "_CACHED", [])

    def doubled(number: int) -> int:
        return 2 * number

    compiled = jit.cached(doubled)
    assert not jit.is_cached(__name__)
    assert jit.can_be_cached(__name__)
    assert compiled(2) == 4
    assert jit.is_cached(__name__)
    with monkeypatch.context() as unready:
        # A cached loop does not prepare the compiler.
        unready.setattr(type(compiled.targetctx), "refresh", lambda _: pytest.fail("ready to compile"))
        again = jit.loop(doubled)
        again._cache = jit._Cache(doubled)
        assert again(2) == 4
        assert list(again.stats.cache_hits.values()) == [1]
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(type(compiled.targetdescr.target_context.codegen()), "magic_tuple", lambda _: ("another",))
        assert not jit.is_cached(__name__)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(compiled._cache._cache_file, "_version", "0.1")
        assert not jit.is_cached(__name__)
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        jit.disable_cache(OSError("no room"))
    assert not jit.is_cached(__name__)
    assert not jit.can_be_cached(__name__)
