"""Command `whorl demo`: indexes real text found on this machine and runs three queries.

It uses texts present on any machine with Python: licences, readmes and metadata of the installed distributions,
docstrings of the standard library's modules, and on Debian the common licences and copyright files. Many of them are
copies and versions of each other, which the queries find.
"""

from __future__ import annotations

import ast
import shutil
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import click
import platformdirs

from whorl.cli.render.console import console, page_table
from whorl.errors import DocumentError
from whorl.ingest.extraction.formats import decode
from whorl.model import Document
from whorl.output.format import counted
from whorl.store import Store, open_store

_LICENCE_WORDS = ("license", "licence", "copying", "notice", "readme", "metadata", "authors")
#: Maximum number of texts of one kind; more would make the demo slower, not better.
_MOST_OF_A_KIND = 600


@click.command()
@click.option(
    "--store", "folder", type=click.Path(path_type=Path, file_okay=False), help="Folder to keep the demo's store in."
)
def demo(folder: Path | None) -> None:
    """Index real text found on this machine and ask three FINGERPRINT queries about it."""
    out = console()
    where = folder or platformdirs.user_cache_path("whorl") / "demo"
    if folder is None:
        # Texts indexed by an earlier demo may have been removed from this machine.
        shutil.rmtree(where, ignore_errors=True)
    with open_store(where) as store:
        out.print(f"Reading licences, readmes and documentation on this machine into {where} …", markup=False)
        done = store.index(found_texts())
        if not store.count():
            raise DocumentError("found no text on this machine to ask about; index your own with: whorl index PATH…")
        out.print(f"{done.stored:,} documents stored, {done.unchanged:,} were there already.\n", markup=False)
        for title, query in questions(store):
            page = store.search(query, rows=6, with_shared=True)
            out.print(f"{title}\n  whorl search --store {where} '{query}'", markup=False, soft_wrap=True)
            out.print(page_table(page))
            out.print(f"{counted(page.total, 'document')}\n", markup=False)
    out.print("Next, with your own documents:", markup=False)
    for command in (
        "whorl index ~/Documents",
        "whorl search 'FINGERPRINT:\"ID OF A DOCUMENT\"_50'",
        f"whorl search --store {where} --explain '{query}'",
    ):
        out.print(f"  {command}", markup=False, soft_wrap=True)


def found_texts() -> Iterator[Document]:
    """Yield the texts of this machine, with ids that name their origin."""
    yield from _distribution_texts()
    yield from _module_texts()
    yield from _files("licence", sorted(Path("/usr/share/common-licenses").glob("*")))
    copyrights = sorted(Path("/usr/share/doc").glob("*/copyright"))[:_MOST_OF_A_KIND]
    yield from _files("copyright", copyrights)


def questions(store: Store) -> list[tuple[str, str]]:
    """Choose three queries about the documents with the most near-duplicates of their kind."""
    by_relatives = sorted(
        ((store.search(f"FINGERPRINT:{_quoted(each)}_30", rows=0).total, each) for each in _candidates(store)),
        key=lambda counted: (-counted[0], counted[1]),
    )
    first = by_relatives[0][1]
    second = next((each for _, each in by_relatives[1:] if each.split("/")[0] != first.split("/")[0]), first)
    return [
        (
            f"Which documents share at least 70 % of the tokens of {first}?",
            f"FINGERPRINT:{_quoted(first)}_70",
        ),
        (
            f"Which would be found with 90 % probability at an overlap of 50 % with {second}?",
            f"FINGERPRINT:{_quoted(second)}_50_90",
        ),
        (
            f"Which share anything with {second}, but are not of the same kind?",
            f"FINGERPRINT:{_quoted(second)} AND NOT kind:{second.split('/')[0]}",
        ),
    ]


def _candidates(store: Store) -> list[str]:
    """Return a few documents of each kind that are likely to have near-duplicates; without any, other documents."""
    chosen: list[str] = []
    for query in (
        "kind:licence",
        "kind:copyright",
        "kind:distribution AND name:license",
        "kind:distribution",
    ):
        chosen += [hit.id for hit in store.search(query, rows=12).hits]
    return chosen or [hit.id for hit in store.search("*", rows=12).hits]


def _quoted(reference: str) -> str:
    # Numbers after the quotes cannot be mistaken for a part of the id.
    escaped = reference.replace("\\", "\\\\").replace('"', '\\"').replace("_", "\\_")
    return f'"{escaped}"'


def _distribution_texts() -> Iterator[Document]:
    for distribution in distributions():
        name = distribution.metadata["Name"] or "unnamed"
        files = [file for file in distribution.files or () if _is_about(file.name)]
        for file in files[:10]:
            yield from _files("distribution", [Path(str(file.locate()))], id_prefix=f"{name}/")


def _is_about(file_name: str) -> bool:
    return file_name.lower().startswith(_LICENCE_WORDS) and not file_name.endswith((".py", ".pyc", ".json"))


def _module_texts() -> Iterator[Document]:
    """Yield the docstrings of the standard library's modules, one document for each module."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    for file in sorted(folder.glob("*.py"))[:_MOST_OF_A_KIND]:
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        parts = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented)]
        text = "\n\n".join(part for part in parts if part)
        if text:
            yield Document(f"module/{file.stem}", text, name=f"{file.stem} module", properties={"kind": "module"})


def _files(kind: str, paths: list[Path], *, id_prefix: str = "") -> Iterator[Document]:
    for path in paths:
        try:
            text = decode(path.read_bytes())
            shown = f"{path.parent.name}/{path.name}" if path.name == "copyright" else f"{id_prefix}{path.name}"
            yield Document(f"{kind}/{shown}", text, name=shown, properties={"kind": kind})
        except (OSError, DocumentError):
            # A dangling link or a binary file: the demo skips unreadable files.
            continue
