"""Spark's daemon, of which Python workers are copies, with the compiled loops at hand, so that they begin sooner.

Spark is told of it by `spark.python.daemon.module`. Without it each worker, of which there are several for each core,
imports numba and loads the loops by itself. What begins threads when it is imported, as pyarrow and pandas, has to
wait until a worker is a process of its own.

PySpark itself is read from its folder where that stands beside its archive, as pip installs it. Spark puts the archive
and a jar first, of which each worker would read the lists of files anew, for each package in them: two seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path


def beside_archive(paths: list[str]) -> str | None:
    """Return the folder from which PySpark is imported as it is in its archive, of the same version; None for none.

    Args:
        paths: Where Python looks for modules, as `sys.path`.
    """
    for path in map(Path, paths):
        # Of a folder of Spark the archive is in python/lib; pip's folder of Spark is the package itself.
        if path.name == "pyspark.zip" and len(path.parents) > 3 and (path.parents[2] / "__init__.py").is_file():
            return str(path.parents[3])
    return None


def main() -> None:
    """Become the daemon."""
    if folder := beside_archive(sys.path):
        sys.path.insert(0, folder)
        import pyspark  # noqa: F401 - what is in it is looked for where it is

        archives = Path(folder, "pyspark")
        sys.path[:] = [path for path in sys.path[1:] if archives not in Path(path).parents]
    from pyspark import daemon

    from whorl.duplicates import candidates, sketching  # noqa: F401 - what workers import
    from whorl.fingerprint.compiled.first_use import give_back, kernel_if_ready
    from whorl.fingerprint.compiled.kernel import DEFAULT_SCHEME

    if fast := kernel_if_ready(DEFAULT_SCHEME):
        give_back(fast)
    daemon.manager()


if __name__ == "__main__":
    main()
