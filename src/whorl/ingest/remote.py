"""Finds and reads remote files (`s3://`, `https://` …) with fsspec, and removes secrets from its errors."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import takewhile
from pathlib import PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from whorl.errors import ParameterError, WhorlError
from whorl.ingest.redact_addresses import redact_address, redact_message
from whorl.ingest.rows.row_format import ReadableStream

#: Characters that turn an address or a path into a pattern.
PATTERN = "*?["
_BUFFER = 1 << 18
#: Entries in fsspec's description of a file that change when the content of the file changes.
_VERSION = (
    *("size", "ETag", "etag", "md5Hash", "generation", "LastModified", "last_modified", "updated", "modified", "mtime"),
    "created",
)


class RemoteFile:
    """A file read with fsspec, from the address `word`; `size` is its size in bytes, 0 if unknown."""

    def __init__(self, system: Any, path: str, word: str, size: int = 0) -> None:
        self._system, self._path, self._word, self.size = system, path, word, size

    @property
    def name(self) -> str:
        """Last part of the path, which ends with the suffix: without the query and fragment of a web address."""
        path = self.title
        return PurePosixPath(urlsplit(path).path).name if self.address.startswith(("http://", "https://")) else path

    @property
    def title(self) -> str:
        """Last part of the address, without login and signature."""
        return PurePosixPath(self.as_posix().partition("::")[0]).name

    @cached_property
    def address(self) -> str:
        """The address with login and signature, because two files may differ only in these parts.

        fsspec leaves out the host of an FTP server and the archive of `zip://a.txt::b.zip`; they come from the address
        as given.
        """
        own, *outer = self._word.split("::")
        # Skip the prefix of a cache, such as `simplecache::`: a cache uses the path of the file that it caches.
        while "://" not in own and outer:
            own, *outer = outer
        own = own.rstrip("/")
        given = self._system._strip_protocol(own).rstrip("/")
        path = str(self._system.unstrip_protocol(self._path))
        if own != given and own.partition("://")[2].strip("/") != given.strip("/") and own.endswith(given):
            start = own.removesuffix(given)
            path = f"{start.rstrip('/')}/{self._path.lstrip('/')}"
        return "::".join([path, *outer])

    def as_posix(self) -> str:
        """Return the document's id: the address without login and signature."""
        return redact_address(self.address)

    __str__ = as_posix

    def version(self) -> Mapping[str, object]:
        """Return the file's size, entity tag and times, if they are known; {} if the file is missing."""
        with self._convert_errors():
            # Some file systems cache the list of files in a folder, so clear the cache to get the current version.
            self._system.invalidate_cache(self._system._parent(self._path))
            try:
                about = self._system.info(self._path)
            except FileNotFoundError:
                return {}
        # Remove the quotation marks that some file systems put around an entity tag in only some responses.
        return {name: str(about[name]).strip('"') for name in _VERSION if about.get(name) is not None}

    def open(self, mode: str) -> IO[bytes]:
        """Open the file; copy it first if it is not seekable."""
        with self._convert_errors():
            opened = self._system.open(self._path, mode)
            # Check the size, too: fsspec calls a web page seekable even if its server does not support ranges, but then
            # gives no size.
            if opened.seekable() and getattr(opened, "size", 0) is not None:
                return io.BufferedReader(_Stream(opened, self), _BUFFER)
            copied: IO[bytes] = tempfile.TemporaryFile(prefix="whorl-")  # noqa: SIM115 - the caller closes it
            with opened:
                shutil.copyfileobj(opened, copied)
            copied.seek(0)
            return copied

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        with convert_errors(self._word, self.address):
            yield


class _Stream(ReadableStream):
    """An opened remote file. All of its errors are OSErrors without secrets."""

    def __init__(self, opened: Any, file: RemoteFile) -> None:
        super().__init__()
        self._opened, self._file = opened, file

    def seekable(self) -> bool:
        return True

    def read_part(self, size: int) -> bytes:
        with self._file._convert_errors():
            return self._opened.read(size)  # type: ignore[no-any-return]

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with self._file._convert_errors():
            return int(self._opened.seek(offset, whence))

    def tell(self) -> int:
        return int(self._opened.tell())

    def close(self) -> None:
        # Nothing was written, so no data is lost by errors.
        with suppress(Exception):
            self._opened.close()
        super().close()


def remote_files(word: str) -> dict[PurePosixPath, RemoteFile]:
    """Return the files of an address, by their paths relative to the folder or to the fixed part of the pattern.

    Raises ParameterError if fsspec has no file system for the address, and OSError if the file system fails.
    """
    shown = redact_address(word)
    try:
        import fsspec
    except ImportError:
        raise ParameterError(f"{shown} is an address; reading it needs more: pip install 'whorl[data]'") from None
    try:
        with convert_errors(word):
            system, path = fsspec.url_to_fs(word)
    except OSError as error:
        raise ParameterError(f"{shown} cannot be reached: {error}") from None
    with convert_errors(word):
        base = "/".join(fixed_parts(path.split("/"), "*[" if "http" in system.protocol else PATTERN))
        if base != path:
            listed = system.glob(path, detail=True)
        else:
            # Check for a file first: for fsspec, a web page is also a folder of its links.
            is_file = system.isfile(path)
            listed = {path: system.info(path)} if is_file else system.find(path, detail=True)
            if not listed:
                _require_reachable(system, path)
        return {
            _path_inside(name, base): RemoteFile(system, name, word, about.get("size") or 0)
            for name, about in listed.items()
            if about.get("type", "file") == "file"
        }


def _require_reachable(system: Any, path: str) -> None:
    """Raise OSError if a host cannot be reached, because fsspec's `isfile` and `find` then raise no error."""
    try:
        system.info(path)
    except FileNotFoundError as error:
        if isinstance(error.__cause__, OSError):
            raise error.__cause__ from None


def fixed_parts(parts: Iterable[str], wildcards: str = PATTERN) -> list[str]:
    """Return the leading parts of a path that contain no wildcards."""
    return list(takewhile(lambda part: not any(wildcard in part for wildcard in wildcards), parts))


def _path_inside(path: str, base: str) -> PurePosixPath:
    below = path.removeprefix(base).lstrip("/") or path.rpartition("/")[2]
    return PurePosixPath(redact_address(below))


@contextmanager
def convert_errors(*addresses: str) -> Iterator[None]:
    """Turn any error of a file system into an OSError that does not contain the secrets of the addresses."""
    try:
        yield
    except WhorlError:
        raise
    except Exception as error:
        # File systems raise the errors of their libraries, and Python's errors if an address is incomplete, so catch
        # all errors.
        text = " ".join(str(error).split()) or type(error).__name__
        raise OSError(redact_message(text, *addresses)) from None
