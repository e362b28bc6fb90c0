"""Checksum verification of tantivy's segment files; tantivy offers it to Rust programs only.

Each file of a segment ends with a footer: JSON with the CRC32 of everything before it, the length of that JSON, and a
magic number. `meta.json`, which names the segments, has no footer; the number of documents in the index is checked
instead.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from whorl.engine.embedded.folder import IndexBrokenError

META = "meta.json"
_ENDINGS = ("store", "idx", "pos", "term", "fast", "fieldnorm")
_MAGIC = (1337).to_bytes(4, "little")
_END_BYTES = 8


class SegmentFiles:
    """Verifier of the segment files in one tantivy folder; reads each file once, since files never change."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._meta: tuple[int, ...] | None = None
        self._sound: set[tuple[object, ...]] = set()

    def is_current(self) -> bool:
        """Check whether the folder has the same segments as at the last verification."""
        return self._meta == _state(self._folder / META)

    def require_sound(self) -> None:
        """Verify all files that are not verified yet.

        Raises:
            IndexBrokenError: A file is damaged.
            OSError: A file cannot be read.
        """
        while not self.is_current():
            meta = _state(self._folder / META)
            try:
                sound: set[tuple[object, ...]] = set()
                for path in segment_files(self._folder):
                    key = (path.name, *_state(path))
                    if key not in self._sound:
                        require_sound(path)
                    sound.add(key)
            except FileNotFoundError:
                # A merge deleted the file a moment ago; then meta.json names other segments now.
                if meta == _state(self._folder / META):
                    raise
            else:
                self._sound, self._meta = sound, meta


def segment_files(folder: Path) -> Iterator[Path]:
    """Yield the files of all segments in a tantivy folder."""
    for segment in json.loads((folder / META).read_bytes())["segments"]:
        name = segment["segment_id"].replace("-", "")
        yield from (path for ending in _ENDINGS if (path := folder / f"{name}.{ending}").exists())
        if deletes := segment.get("deletes"):
            yield folder / f"{name}.{deletes['opstamp']}.del"


def require_sound(path: Path) -> None:
    """Verify the checksum of a segment file.

    Raises:
        IndexBrokenError: The file is damaged.
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < _END_BYTES:
            raise IndexBrokenError(f"{path} was cut short")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw, memoryview(raw) as view:
            end = size - _END_BYTES - int.from_bytes(view[-8:-4], "little")
            try:
                if view[-4:] != _MAGIC or end < 0:
                    raise ValueError("it has no footer")
                if zlib.crc32(view[:end]) != json.loads(bytes(view[end:-_END_BYTES]))["crc"]:
                    raise ValueError("its check sum is another one")
            except (ValueError, KeyError, TypeError) as error:
                raise IndexBrokenError(f"{path} is damaged ({error})") from error


def _state(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
