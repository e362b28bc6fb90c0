"""Saves the documents and pairs of a run on Spark in a folder, so that the next run compares only new documents.

The state is a folder on any file system that Spark reaches. After the second run it holds:

    run-2.json              parameters of the run, and the name of its folder
    run-2-5f0c…/documents   blocks as Parquet: ids, names, digests of the texts, and sketches
    run-2-5f0c…/pairs       pairs of documents, given by the keys of their sketches

Each run writes into a folder with a unique name. When the folder is complete, the run renames a small JSON file, and so
becomes the last run. The state is always complete, even if a run is killed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.run import FILES_SCHEME, description_of_options
from whorl.duplicates.sketch_store import FOREIGN_FOLDER, require_same_search
from whorl.duplicates.spark.arrow_blocks import BLOCKS
from whorl.duplicates.spark.clusters import components
from whorl.duplicates.spark.compare_sketches import PAIRS
from whorl.duplicates.spark.sketch_documents import LoadedDocuments, RunNumber
from whorl.errors import StoreError

_FORMAT = 1
_DONE = re.compile(r"run-(\d+)\.json")
#: Names of the files that completed or killed runs leave in the folder.
_STATE_FILES = re.compile(r"run-(\d+)(-[0-9a-f]{32}(\.json)?|\.json)")
_DOCUMENTS, _PAIRS = "documents", "pairs"


class SearchState:
    """Folder with the state of the last run; created if it does not exist.

    Raises:
        StoreError: The folder contains other files, or cannot be used.
        ParameterError: A run with other parameters wrote the state, so its sketches are not comparable.
    """

    def __init__(self, session: SparkSession, path: str, options: DuplicatesOptions) -> None:
        self._path, self._folder = path, _Folder(session, path)
        self._description: dict[str, Any] = {
            "format": _FORMAT,
            "origin": description_of_options(
                DuplicatesOptions(scheme=options.scheme, keep=options.keep, within=options.within)
            ),
            "sketches": FILES_SCHEME.name,
            "question": f"{'links' if options.spanning_only else 'pairs'} of {options.pairs}",
        }
        names = self._folder.names()
        last = max((int(match[1]) for match in map(_DONE.fullmatch, names) if match), default=0)
        if not last and not all(map(_STATE_FILES.fullmatch, names)):
            raise StoreError(FOREIGN_FOLDER.format(path))
        before = self._read(last) if last else self._description
        answers = before["question"] == self._description["question"]
        self.run = RunNumber(last + 1, last + 1 if answers else 1, is_saved=True)
        #: Blocks of earlier documents; None in the first run.
        self.blocks: DataFrame | None = None
        #: Pairs of earlier documents, in the columns of `compare_sketches.PAIRS`; None to find all pairs again.
        self.pairs: DataFrame | None = None
        if last:
            folder = before["folder"]
            self.blocks = self._folder.parquet(BLOCKS, folder, _DOCUMENTS)
            self.pairs = self._folder.parquet(PAIRS, folder, _PAIRS) if answers else None

    def _read(self, number: int) -> dict[str, Any]:
        try:
            description: dict[str, Any] = json.loads(self._folder.read(f"run-{number}.json"))
            is_own_format = description["format"] == _FORMAT
        except (ValueError, LookupError, TypeError) as error:
            raise StoreError(FOREIGN_FOLDER.format(self._path)) from error
        texts = (description.get(key) for key in ("origin", "sketches", "question", "folder"))
        if is_own_format and not all(isinstance(text, str) for text in texts):
            raise StoreError(FOREIGN_FOLDER.format(self._path))
        require_same_search(self._path, description, self._description)
        return description

    def save(self, blocks: DataFrame, pairs: DataFrame) -> None:
        """Write the state for the next run; raise StoreError if another run has written its state first."""
        number = self.run.number
        own = f"run-{number}-{uuid4().hex}"
        blocks.write.parquet(self._folder.path(own, _DOCUMENTS))
        pairs.write.parquet(self._folder.path(own, _PAIRS))
        self._folder.write(f"{own}.json", json.dumps({**self._description, "folder": own}).encode())
        if not self._folder.rename(f"{own}.json", f"run-{number}.json"):
            raise StoreError(f"another run has written to {self._path} meanwhile; run this one again")
        for name in self._folder.names():
            match = _STATE_FILES.fullmatch(name)
            # Another run with the same number may still be writing its files. It will fail at the renaming above, so
            # delete only the files of earlier runs here.
            if match and int(match[1]) < number:
                self._folder.delete(name)


def drop_removed(
    documents: LoadedDocuments, pairs: DataFrame, *, spanning_only: bool
) -> tuple[LoadedDocuments, DataFrame]:
    """Drop the stored pairs of removed documents.

    If the stored pairs are only spanning pairs, a cluster that has lost a member may no longer be connected, so its
    documents become new again.
    """
    if documents.removed is None:
        return documents, pairs
    cache, removed = documents.cache, documents.removed
    left = pairs
    for side in ("a", "b"):
        left = left.join(removed.select(f.col("key").alias(side)), side, "left_anti")
    if spanning_only:
        roots = components(pairs, cache)
        broken = roots.join(removed, "key", "left_semi").select("root").distinct()
        documents = documents.mark_as_new(roots.join(broken, "root", "left_semi"))
    return documents, cache.materialise(left.select(*pairs.columns))


class _Folder:
    """A folder in a Hadoop file system, used through Spark's Java API; its errors become StoreError."""

    def __init__(self, session: SparkSession, path: str) -> None:
        context = session.sparkContext
        self._session, self._path, self._paths = session, path, context._jvm.org.apache.hadoop.fs.Path  # type: ignore[union-attr]
        with self._convert_errors():
            root = self._paths(path)
            self._files = root.getFileSystem(context._jsc.hadoopConfiguration())
            self._root = self._files.makeQualified(root)
            self._files.mkdirs(self._root)

    def path(self, *names: str) -> str:
        return "/".join([self._root.toString(), *names])

    def names(self) -> list[str]:
        with self._convert_errors():
            names = [str(status.getPath().getName()) for status in self._files.listStatus(self._root)]
        return [name for name in names if not name.startswith(".")]

    def parquet(self, schema: str, *names: str) -> DataFrame:
        with self._convert_errors():
            # With a schema, Spark does not read a file to find the columns.
            return self._session.read.schema(schema).parquet(self.path(*names))

    def read(self, name: str) -> bytes:
        with self._convert_errors(), closing(self._files.open(self._paths(self._root, name))) as stream:
            return bytes(stream.readAllBytes())

    def write(self, name: str, content: bytes) -> None:
        with self._convert_errors(), closing(self._files.create(self._paths(self._root, name), False)) as stream:
            stream.write(bytearray(content))

    def rename(self, name: str, to: str) -> bool:
        """Rename a file; return False if the new name exists."""
        with self._convert_errors():
            target = self._paths(self._root, to)
            # On some file systems, renaming replaces an existing file, so check for the new name first.
            return not self._files.exists(target) and bool(self._files.rename(self._paths(self._root, name), target))

    def delete(self, name: str) -> None:
        with self._convert_errors():
            self._files.delete(self._paths(self._root, name), True)

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        from py4j.protocol import Py4JJavaError

        try:
            yield
        except (Py4JJavaError, PySparkException) as error:
            cause = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error
            raise StoreError(f"the folder {self._path} cannot be used: {cause}") from error
