"""Memory that is free in the C library goes back to the system."""

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


def test_pages_that_are_free_are_given_back() -> None:
    """
    A hundredth of the blocks stays, each on two pages at most: of 100 MB, 8 at most.
    """
    told = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    before, after = map(float, told.split())
    assert before > 90
    assert before - after > 80
