"""Sets up numba: compilation options, the cache on disk, and operations that numba does not have.

Importing this module imports numba, which takes half a second or more. Only the modules with loops import it.
"""

from __future__ import annotations

import ctypes
import mmap
import re
import warnings
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding.ffi import get_library_name
from numba import njit, types
from numba.core import cgutils
from numba.core.caching import FunctionCache, NullCache
from numba.extending import intrinsic

#: Options for numba. The loops allocate no arrays, so they need no reference counting (`_nrt`), for which threads would
#: wait for each other.
_OPTIONS = {"_nrt": False, "nogil": True}

#: numpy's types, declared as Any, because mypy and numba disagree about the types of arithmetic results.
int64: Any = np.int64
uint16: Any = np.uint16
uint32: Any = np.uint32
uint64: Any = np.uint64

_CACHED: list[Any] = []

#: Matches a non-writable mapping in `/proc/self/smaps`: start, end, file name, and the other lines of the mapping.
_MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) .-.. .*/(.*)\n((?:\w+:.*\n)+)", re.MULTILINE)
#: Matches a line that counts 0 kB of private pages, in memory or in swap space.
_NO_PRIVATE_PAGES = re.compile(r"^(?:Anonymous|Swap): +0 kB$", re.MULTILINE)

loop = njit(**_OPTIONS)
inlined = njit(**_OPTIONS, forceinline=True)


def _sources_digest() -> str:
    """Return a digest of this package's source code and of `split_by_dictionary`, whose constants the loops use."""
    folder = Path(__file__).parent
    sources = [*sorted(folder.glob("*.py")), folder.with_name("words") / "split_by_dictionary.py"]
    return sha256(b"".join(source.read_bytes() for source in sources if source.exists())).hexdigest()[:12]


_DIGEST = _sources_digest()


class _Cache(FunctionCache):
    """On-disk cache of a compiled function. If it has the function, numba does not set up its compiler.

    The set-up takes four times as long as loading all loops.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        finally:
            release_llvm_pages()


def release_llvm_pages() -> None:
    """Release the memory of LLVM's code and constants, 45 MB. A later compilation reads them from the file again."""
    for address, size in _llvm_mappings():
        ctypes.CDLL(None).madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), mmap.MADV_DONTNEED)


@cache
def _llvm_mappings() -> list[tuple[int, int]]:
    """Return the address and size of each memory mapping of LLVM's code and constants; none if there is no /proc."""
    try:
        return unmodified_mappings(Path("/proc/self/smaps").read_text(), get_library_name())
    except OSError:
        return []


def unmodified_mappings(smaps: str, name: str) -> list[tuple[int, int]]:
    """Return the address and size in bytes of each mapping of a file that the linker has not changed in memory.

    Releasing a changed mapping would lose the changes.
    """
    return [
        (int(begin, 16), int(end, 16) - int(begin, 16))
        for begin, end, file, details in _MAPPING.findall(smaps)
        if file == name and len(_NO_PRIVATE_PAGES.findall(details)) == 2
    ]


def cached(function: Callable[..., Any]) -> Any:
    """Decorator that compiles a loop on its first use, and stores the compiled code on disk if possible.

    numba checks only the function's own module for changes, so the name of the compiled function contains a digest of
    all modules.
    """
    function.__qualname__ += f"_{_DIGEST}"
    compiled = loop(function)
    try:
        compiled._cache = _Cache(function)
    except RuntimeError:
        warn_of_cache("numba finds no folder that can be written")
        return compiled
    _CACHED.append(compiled)
    return compiled


def is_cached(package: str) -> bool:
    """Check whether the loops of a package are on disk, compiled by this numba for this processor."""
    own = _cached_functions(package)
    return bool(own) and all(map(_is_on_disk, own))


def can_be_cached(package: str) -> bool:
    return any(not isinstance(function._cache, NullCache) for function in _cached_functions(package))


def _cached_functions(package: str) -> list[Any]:
    return [function for function in _CACHED if function.py_func.__module__.startswith(package)]


def _is_on_disk(function: Any) -> bool:
    if isinstance(function._cache, NullCache):
        return False
    # numba's cache has no public look-up method. A key consists of a signature, the processor, and the code's hash.
    processor = function.targetdescr.target_context.codegen().magic_tuple()
    return any(key[1] == processor for key in function._cache._cache_file._load_index())


def warn_of_cache(problem: object) -> None:
    # Python prints a warning once for each line of code, so let this line warn for all loops.
    warnings.warn(
        f"what numba compiled cannot be kept, so every process compiles for some seconds ({problem}); "
        "set NUMBA_CACHE_DIR to a folder that can be written",
        RuntimeWarning,
        stacklevel=1,
    )


def disable_cache(problem: Exception) -> None:
    warn_of_cache(problem)
    for function in _CACHED:
        function._cache = NullCache()


def call_safely(call_each: Callable[[], None]) -> None:
    """Call every loop once. If the compiled code cannot be stored, warn and work without the cache on disk."""
    try:
        call_each()
    except OSError as problem:  # the folder exists, but is full or no longer writable
        disable_cache(problem)
        call_each()


def element(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    return builder.gep(data, [index])


def splat(builder: Any, value: Any, lanes: ir.VectorType) -> Any:
    """Repeat a value in all lanes of a vector."""
    vector = builder.insert_element(ir.Constant(lanes, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    indices = ir.Constant(ir.VectorType(ir.IntType(32), lanes.count), [0] * lanes.count)
    return builder.shuffle_vector(vector, vector, indices)


@intrinsic
def get(typing: Any, array: Any, index: Any) -> Any:
    """Return array[index]. Unlike numba's indexing, this does not support negative indices."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(element(context, builder, signature.args[0], *arguments))

    return array.dtype(array, types.int64), generate


@intrinsic
def load8(typing: Any, array: Any, index: Any) -> Any:
    """Load the eight bytes that begin at array[index] as one 64-bit number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = element(context, builder, signature.args[0], *arguments)
        word = builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))
        word.align = signature.args[0].dtype.bitwidth // 8
        return word

    return types.uint64(array, types.int64), generate


@intrinsic
def copy8(typing: Any, target: Any, to: Any, source: Any, start: Any) -> Any:
    """Copy eight 16-bit units from source[start] to target[to]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.IntType(16), 8).as_pointer()
        from_ = builder.bitcast(element(context, builder, signature.args[2], *arguments[2:]), vector)
        units = builder.load(from_)
        units.align = 2
        store = builder.store(
            units, builder.bitcast(element(context, builder, signature.args[0], *arguments[:2]), vector)
        )
        store.align = 2
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64), generate


@intrinsic
def lowest_bit(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
