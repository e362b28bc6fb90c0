"""The memory limit for reading a file in this process."""

from __future__ import annotations

import sys

import pytest

from whorl.ingest.file_limits import file_limits, limit_memory

resource = pytest.importorskip("resource")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much a process has mapped")
def test_bounded_memory() -> None:
    """
    Half of the limit can be allocated, twice the limit cannot, and afterwards the process has its previous limit.
    """
    before = resource.getrlimit(resource.RLIMIT_AS)
    with limit_memory():
        assert len(bytearray(file_limits().memory_bytes // 2)) == file_limits().memory_bytes // 2
        with pytest.raises(MemoryError):
            bytearray(file_limits().memory_bytes * 2)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
