"""Writes files of the packages installed on this machine as documents with large families of near-copies.

    python benchmarks/installed.py [OUT.jsonl] [--megabytes 130]

The files are source code, headers, man pages, licences and change logs: of Debian's packages, and of the packages of
this Python. Versions of a library, generated headers and pages of one command's options differ in a few lines, so many
documents have hundreds of near-copies, and many more pairs are just below the threshold. Compressed files are
decompressed, and nothing is removed from a text. The id of a document is its path.

Other machines have other packages and give other figures; the script prints the size of the collection. If the folders
have more text than wanted, it takes whole folders in an order that depends only on their names.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import sysconfig
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from corpus import DEFAULT_DIRECTORY, Document, document_line, replacing

FOLDERS = tuple(
    map(
        Path,
        (
            "/usr/include", "/usr/lib/python3", "/usr/share/doc", "/usr/share/man", "/usr/share/perl",
            sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"),
        ),
    )
)  # fmt: skip
#: Number of characters of the shortest and of the longest document.
SHORTEST, LONGEST = 1_000, 20_000


def text_of(path: Path) -> str | None:
    """Return the text of a file, or None if it is not text or has an unwanted length."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error):
        return None
    return text if SHORTEST <= len(text) <= LONGEST and "\0" not in text else None


def documents(folders: Sequence[Path], most: int) -> Iterator[Document]:
    """Yield the documents below some folders, up to about `most` bytes."""
    parents = {parent for folder in folders if folder.is_dir() for parent in (folder, *folder.rglob("*/"))}
    taken = 0
    for parent in sorted(parents, key=lambda parent: hashlib.blake2b(bytes(parent)).digest()):
        if taken >= most:
            return
        for path in sorted(parent.iterdir()):
            if path.is_file() and not path.is_symlink() and (text := text_of(path)) is not None:
                taken += len(text.encode())
                yield Document(str(path), path.name, text)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, default=DEFAULT_DIRECTORY / "installed.jsonl")
    parser.add_argument("--megabytes", type=int, default=130, help="approximate size of all texts")
    options = parser.parse_args(arguments)
    count = 0
    with replacing(options.out) as out:
        for count, document in enumerate(documents(FOLDERS, options.megabytes * 1_000_000), 1):  # noqa: B007
            out.write(document_line(document))
    print(f"{options.out}: {count:,} documents, {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
