"""Memory that is free in the C library goes back to the system, and threads share what they take it from."""

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
#: Takes 100 MB in blocks of 1,000 bytes, frees 99 of 100 of them, and says what memory it has before and after.
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


#: Says how many arenas there are once eight threads at a time have taken memory, after what is said before.
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
    By itself the C library gives each of a few threads one of its own; told otherwise, two serve all.
    """
    program = f"from whorl.service.memory import limit_arenas\n{before}\n{ARENAS}"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert most - 1 <= int(told) <= most


def test_pages_that_are_free_are_given_back() -> None:
    """
    A hundredth of the blocks stays, each on two pages at most: of 100 MB, 8 at most.
    """
    told = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    before, after = map(float, told.split())
    assert before > 90
    assert before - after > 80
