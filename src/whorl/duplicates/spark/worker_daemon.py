"""Loads the compiled loops once, and then forks Spark's Python workers.

Spark starts this module as its daemon if `spark.python.daemon.module` names it. Under Spark's own daemon, each worker
would import numba and load the loops. Libraries that start threads on import, such as pyarrow and pandas, are imported
only in the workers.
If pip has installed PySpark in a folder next to its archive, the daemon imports it from the folder. Spark's `sys.path`
begins with the archive and a jar, and each worker would take two seconds to read their lists of files.
"""

from __future__ import annotations

import sys
from pathlib import Path


def find_pyspark(paths: list[str]) -> str | None:
    """Return the folder that contains an unpacked PySpark, if its archive is in `paths`; otherwise None."""
    for path in map(Path, paths):
        # In pip's installation, the archive is in pyspark/python/lib, so PySpark is three folders above it.
        if path.name == "pyspark.zip" and len(path.parents) > 3 and (path.parents[2] / "__init__.py").is_file():
            return str(path.parents[3])
    return None


def main() -> None:
    if folder := find_pyspark(sys.path):
        sys.path.insert(0, folder)
        import pyspark  # noqa: F401 - Python then finds its modules in this folder

        archives = Path(folder, "pyspark")
        sys.path[:] = [path for path in sys.path[1:] if archives not in Path(path).parents]
    from pyspark import daemon

    from whorl.duplicates import prefix_filter, sketching  # noqa: F401 - workers import these
    from whorl.fingerprint.compiled.kernel import DEFAULT_SCHEME, kernel_if_ready, return_kernel

    if fast := kernel_if_ready(DEFAULT_SCHEME):
        return_kernel(fast)
    daemon.manager()


if __name__ == "__main__":
    main()
