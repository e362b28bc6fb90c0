"""Packs whorl and its dependencies into an archive for Spark's executors.

    python -m whorl.duplicates.spark.pack_environment environment.tar.gz

The archive contains installed packages, so the machines of the cluster must have the same platform and Python.
"""

from __future__ import annotations

import re
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import click

import whorl
from whorl.errors import ParameterError

#: Packages of the spark extra, and packages that every Spark installation has.
_EXTRA, _ALREADY_INSTALLED = ("pandas", "pyarrow"), frozenset({"pyspark", "py4j"})
#: Names of folders, and suffixes of files, that the program does not need.
_FOLDERS = frozenset({"__pycache__", "bin", "include", "src", "test", "tests"})
_SUFFIXES = frozenset({".a", ".c", ".h", ".hpp", ".js", ".map", ".md", ".pxd", ".pyc", ".pyi", ".pyx"})
#: Unused parts of pyarrow: clients of remote services, the Gandiva compiler, and the ORC file format.
_UNUSED = re.compile(r"pyarrow/(lib(arrow_|parquet_)?)?_?(flight|gandiva|s3|s3fs|azurefs|gcsfs|orc)\b")


def find_files() -> Iterator[tuple[Path, str]]:
    package = Path(whorl.__file__).parent
    for file in sorted(package.rglob("*")):
        if file.is_file() and file.suffix not in _SUFFIXES and "__pycache__" not in file.parts:
            yield file, (package.name / file.relative_to(package)).as_posix()
    for one in _required_distributions():
        for path in one.files or ():
            unused = path.parts[0] == ".." or _FOLDERS & set(path.parts[:-1]) or path.suffix in _SUFFIXES
            where = Path(str(one.locate_file(path)))
            if not unused and not _UNUSED.match(path.as_posix()) and where.is_file():
                yield where, path.as_posix()


def pack(target: Path) -> int:
    with tarfile.open(target, "w:gz", compresslevel=6) as archive:
        for file, name in find_files():
            # A symbolic link would be broken on the executors, so add the file that it points to.
            archive.add(file.resolve(), name, recursive=False)
    return target.stat().st_size


def _required_distributions() -> list[Distribution]:
    distributions: dict[str, Distribution] = {}
    wanted = ["whorl", *_EXTRA]
    while wanted:
        name = wanted.pop()
        if name in distributions or name in _ALREADY_INSTALLED:
            continue
        try:
            distributions[name] = distribution(name)
        except PackageNotFoundError:
            # A dependency for another system or Python version is not installed, so skip it.
            if name in _EXTRA:
                raise ParameterError(f"{name} is missing: pip install 'whorl[spark]'") from None
            continue
        required = [requirement for requirement in distributions[name].requires or () if "extra ==" not in requirement]
        names = (re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0] for requirement in required)
        wanted += [re.sub("[-_.]+", "-", name).lower() for name in names]
    del distributions["whorl"]
    return [distributions[name] for name in sorted(distributions)]


@click.command()
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.tar.gz")
def main(target: Path) -> None:
    """Pack whorl and its dependencies into FILE.tar.gz, for spark-submit --archives FILE.tar.gz#environment."""
    try:
        size = pack(target)
    except (ParameterError, OSError) as error:
        raise click.ClickException(str(error)) from error
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    click.echo(f"{target}: {size / 1e6:,.0f} MB, for Python {python} on {sys.platform}")


if __name__ == "__main__":
    main()
