"""Tests of the C library's memory: free memory is returned to the system, and threads share arenas."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library is not glibc"
    ),
]
#: A program that allocates 100 MB in blocks of 1,000 bytes, frees 99 of 100, and prints its memory before and after
#: `give_back`.
PROGRAM = """
import ctypes, re
from whorl.service.memory import give_back

def own():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
blocks = [libc.malloc(1000) for _ in range(100_000)]
for block in blocks:
    ctypes.memset(ctypes.c_void_p(block), 1, 1000)
for number, block in enumerate(blocks):
    if number % 100:
        libc.free(block)
before = own()
give_back()
print(before, own())
"""


#: A program that prints the number of arenas after eight threads at a time have allocated memory; a first line can be
#: added.
ARENAS = """
import ctypes, tempfile, threading

libc, all_here = ctypes.CDLL(None), threading.Barrier(8)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p

def take():
    all_here.wait()
    libc.malloc(1000)
    all_here.wait()

threads = [threading.Thread(target=take) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
with tempfile.NamedTemporaryFile() as told:
    file = ctypes.c_void_p(libc.fopen(told.name.encode(), b"w"))
    libc.malloc_info(0, file)
    libc.fclose(file)
    print(told.read().count(b"<heap nr="))
"""


@pytest.mark.parametrize(("before", "most"), [("", 8 + 1), ("limit_arenas()", 2)])
def test_threads_share_arenas(before: str, most: int) -> None:
    """
    By default, the C library gives each of a few threads an arena; with the limit, all share two.
    """
    program = f"from whorl.service.memory import limit_arenas\n{before}\n{ARENAS}"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert most - 1 <= int(told) <= most


def test_pages_that_are_free_are_given_back() -> None:
    """
    The hundredth of the blocks that stays takes at most two pages each: at most 8 of 100 MB.
    """
    told = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    before, after = map(float, told.split())
    assert before > 90
    assert before - after > 80
