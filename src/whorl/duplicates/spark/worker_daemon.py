"""Loads the compiled loops once, and then forks Spark's Python workers.

Spark starts this module instead of its own daemon if `spark.python.daemon.module` names it. With Spark's daemon, each
worker would import numba and load the loops by itself, and there are several workers per core. Some libraries start
threads on import, such as pyarrow and pandas. These are imported only in the workers.

If the folder of PySpark is next to its archive, as pip installs it, PySpark is imported from the folder. Spark puts the
archive and a jar first on `sys.path`. Each worker would read their lists of files again for each package in them, which
takes two seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path


def unpacked_pyspark(paths: list[str]) -> str | None:
    """Return the folder to import PySpark from, if it is unpacked next to its archive; otherwise None."""
    for path in map(Path, paths):
        # A Spark installation has the archive in python/lib. In pip's installation, the folder around it is the package
        # itself.
        if path.name == "pyspark.zip" and len(path.parents) > 3 and (path.parents[2] / "__init__.py").is_file():
            return str(path.parents[3])
    return None


def main() -> None:
    if folder := unpacked_pyspark(sys.path):
        sys.path.insert(0, folder)
        import pyspark  # noqa: F401 - Python then finds its modules in this folder

        archives = Path(folder, "pyspark")
        sys.path[:] = [path for path in sys.path[1:] if archives not in Path(path).parents]
    from pyspark import daemon

    from whorl.duplicates import prefix_filter, sketching  # noqa: F401 - workers import these
    from whorl.fingerprint.compiled.kernel import DEFAULT_SCHEME, give_back, kernel_if_ready

    if fast := kernel_if_ready(DEFAULT_SCHEME):
        give_back(fast)
    daemon.manager()


if __name__ == "__main__":
    main()
