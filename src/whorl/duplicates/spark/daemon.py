"""Spark's daemon, of which Python workers are copies, with the compiled loops at hand, so that they begin sooner.

Spark is told of it by `spark.python.daemon.module`. Without it each worker, of which there are several for each core,
imports numba and loads the loops by itself. What begins threads when it is imported, as pyarrow and pandas, has to
wait until a worker is a process of its own.
"""

from __future__ import annotations

from pyspark import daemon

from whorl.duplicates import candidates, sketching  # noqa: F401 - what workers import
from whorl.fingerprint.compiled.first_use import give_back, kernel_if_ready
from whorl.fingerprint.compiled.kernel import DEFAULT_SCHEME

if __name__ == "__main__":
    if fast := kernel_if_ready(DEFAULT_SCHEME):
        give_back(fast)
    daemon.manager()
