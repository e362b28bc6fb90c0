"""Writes the descriptions of Debian's packages as 60,000 short documents.

    python benchmarks/descriptions.py [OUT.jsonl] [--data FOLDER] [--mirror URI]

Libraries come in several packages with nearly the same description, so a third of the documents have a near-duplicate.
A document is the title and the long description in English, as `apt-cache show` prints them, without the leading blanks
and the dots of empty lines. Its id is the package. Text that packages share word for word stays. The packages are those
of bookworm, main, contrib and non-free.

The script reads only apt's lists, 7 MB; see `corpus.py`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from corpus import (
    DEBIAN_KEYRING,
    DEBIAN_RELEASE,
    DEFAULT_DIRECTORY,
    CorpusError,
    Document,
    document_line,
    machine_mirror,
    replacing,
)

_SETTINGS = """\
Dir::State::lists "{folder}/lists";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "-";
#clear Acquire::Languages;
Acquire::Languages {{ "en"; }};
APT::Update::Error-Mode "any";
APT::Sandbox::User "root";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


def downloaded(folder: Path, mirror: str) -> list[Path]:
    """Return the lists of descriptions; download missing ones."""
    if not (paths := sorted(folder.glob("lists/*Translation-en*"))):
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        options = f"signed-by={DEBIAN_KEYRING} target=Packages,Translations"
        source = f"deb [{options}] {mirror} {DEBIAN_RELEASE} main contrib non-free\n"
        (folder / "sources.list").write_text(source, encoding="utf-8")
        (folder / "apt.conf").write_text(_SETTINGS.format(folder=folder), encoding="utf-8")
        run(["apt-get", f"--config-file={folder}/apt.conf", "update"])
        paths = sorted(folder.glob("lists/*Translation-en*"))
    return paths


def run(command: list[str]) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout
    except FileNotFoundError:
        raise CorpusError(f"{command[0]} is not on the PATH: this needs Debian or a system made from it") from None
    except subprocess.CalledProcessError as error:
        raise CorpusError(f"`{' '.join(command)}` failed:\n{error.stderr.strip()}") from None


def descriptions(content: str) -> Iterator[Document]:
    r"""Yield the documents in a list.

    >>> list(descriptions("Package: a\nDescription-md5: 0\nDescription-en: One\n Two\n .\n Three\n\n"))
    [Document(id='a', name='One', text='One\nTwo\n\nThree')]
    """
    for paragraph in content.split("\n\n"):
        name, _, described = paragraph.partition("\nDescription-en: ")
        if described and (package := name.partition("\n")[0]).startswith("Package: "):
            title, *lines = described.rstrip("\n").split("\n")
            body = ["" if line == " ." else line.removeprefix(" ") for line in lines]
            yield Document(package.removeprefix("Package: "), title, "\n".join([title, *body]))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, default=DEFAULT_DIRECTORY / "descriptions.jsonl")
    parser.add_argument("--data", type=Path, default=DEFAULT_DIRECTORY, help="where downloads are kept")
    parser.add_argument("--mirror", metavar="URI", help="Debian mirror, if not that of this machine's apt sources")
    options = parser.parse_args(arguments)
    try:
        lists = downloaded((options.data / ".cache" / "descriptions").resolve(), options.mirror or machine_mirror())
        contents = [run(["/usr/lib/apt/apt-helper", "cat-file", str(path)]) for path in lists]
    except CorpusError as error:
        sys.exit(f"descriptions: {error}")
    documents = {document.id: document for content in contents for document in descriptions(content)}
    with replacing(options.out) as out:
        for _, document in sorted(documents.items()):
            out.write(document_line(document))
    print(f"{options.out}: {len(documents):,} documents, {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
