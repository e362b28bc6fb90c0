"""Command `whorl demo`: indexes texts found on this machine, shows near-copies, and finds the sources of a letter.

Every machine with Python has these texts: licences, readmes and metadata of the installed distributions, docstrings of
the standard library's modules, and on Debian the common licences and copyright files. Many are copies and versions of
each other.
"""

from __future__ import annotations

import ast
import shlex
import shutil
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

import click
import platformdirs
from rich.console import Console

from whorl.cli.render.comparison import shorten
from whorl.cli.render.result_tables import page_table, similar_table, sources_table, totals_line
from whorl.cli.render.terminal import console
from whorl.cli.shared.single_value_options import SingleValueCommand
from whorl.errors import DocumentError
from whorl.ingest.extraction.detect_encoding import decode
from whorl.model import Document
from whorl.output.formatting import plural, printable
from whorl.output.search import format_condition
from whorl.query.unparse import quote
from whorl.store import Store, open_store

_LICENCE_WORDS = ("license", "licence", "copying", "notice", "readme", "metadata", "authors")
_WORDS_QUOTED = 60
_LETTER = "Dear colleague, this is what I found in our files:", "Please tell me whether we may use it. Kind regards"
#: Maximum number of texts of one kind; more would only slow down the demo.
_MOST_OF_A_KIND = 600


@click.command(cls=SingleValueCommand)
@click.option(
    "--store", "folder", type=click.Path(path_type=Path, file_okay=False), help="Folder to keep the demo's store in."
)
def demo(folder: Path | None) -> None:
    """Index real text found on this machine, and show the sources of a letter and similar documents."""
    out = console()
    where = folder or platformdirs.user_cache_path("whorl") / "demo"
    if folder is None:
        # Begin with an empty store: texts of an earlier demo may no longer be on this machine.
        shutil.rmtree(where, ignore_errors=True)
    with open_store(where) as store:
        out.print(f"Reading licences, readmes and documentation on this machine into {where} …")
        done = store.index(find_texts())
        if not store.count():
            raise DocumentError("found no text on this machine to ask about; index your own with: whorl index PATH…")
        out.print(f"{done.stored:,} documents stored, {done.unchanged:,} were there already.\n")
        first, second = choose_documents(store)
        _show_sources(out, store, where, [first, second])
        _show_similar(out, store, where, first)
        _show_fingerprint(out, store, where, second)
    out.print("Next, the same in a browser, and with your own documents:")
    for command in (
        *(() if find_spec("uvicorn") else ("pip install 'whorl[serve]'",)),
        f"{_command('serve', where)}    # then open http://127.0.0.1:8000",
        "whorl index ~/Documents",
    ):
        out.print(f"  {command}", soft_wrap=True)


def _command(name: str, store: Path, *words: str) -> str:
    return shlex.join(["whorl", name, "--store", str(store), *words])


def _show_sources(out: Console, store: Store, where: Path, ids: list[str]) -> None:
    letter = where.with_name(f"{where.name}-letter.txt")
    quoted = [" ".join(text.split()[:_WORDS_QUOTED]) for text in store.texts(ids).values()]
    letter.write_text("\n\n".join([_LETTER[0], *quoted, _LETTER[1]]) + "\n", encoding="utf-8")
    out.print(f"Where does {letter} come from?\n  {_command('sources', where, str(letter))}", soft_wrap=True)
    text = letter.read_text(encoding="utf-8")
    attribution = store.sources(source=text)
    out.print(totals_line(attribution), soft_wrap=True)
    out.print(sources_table(attribution, attribution.sources[:5], out.width))
    for source in attribution.sources[:2]:
        passage = source.passages[0]
        out.print(f"  {plural(passage.words, 'word')} of {printable(source.id)}:", soft_wrap=True)
        out.print(f"    {shorten(text, *passage.a)}")
    out.print()


def _show_similar(out: Console, store: Store, where: Path, document_id: str) -> None:
    page = store.similar(document_id, rows=6)
    out.print(
        f"Which documents share text with {document_id}?\n  {_command('similar', where, document_id)}",
        soft_wrap=True,
    )
    out.print(similar_table(page, out.width))
    out.print(f"{plural(page.total, 'document')} {format_condition(page.plan)}\n", soft_wrap=True)


def _show_fingerprint(out: Console, store: Store, where: Path, document_id: str) -> None:
    query = make_query(document_id)
    page = store.search(query, rows=6, with_shared=True)
    out.print(
        f"Which share anything with {document_id}, but are not of the same kind?\n  {_command('search', where, query)}",
        soft_wrap=True,
    )
    out.print(page_table(page))
    out.print(f"{plural(page.total, 'document')}\n")


def find_texts() -> Iterator[Document]:
    yield from _distribution_texts()
    yield from _module_texts()
    yield from _files("licence", sorted(Path("/usr/share/common-licenses").glob("*")))
    copyrights = sorted(Path("/usr/share/doc").glob("*/copyright"))[:_MOST_OF_A_KIND]
    yield from _files("copyright", copyrights)


def choose_documents(store: Store) -> tuple[str, str]:
    """Return the ids of the two documents of different kinds (if possible) with the most near-duplicates."""
    relatives = {
        document_id: store.search(f"FINGERPRINT:{quote(document_id)}_30", rows=0).total
        for document_id in _example_ids(store)
    }
    first, *others = sorted(relatives, key=lambda document_id: (-relatives[document_id], document_id))
    return first, next((other for other in others if other.split("/")[0] != first.split("/")[0]), first)


def make_query(document_id: str) -> str:
    return f"FINGERPRINT:{quote(document_id)} AND NOT kind:{document_id.split('/')[0]}"


def _example_ids(store: Store) -> list[str]:
    """Return the ids of a few documents for an example.

    Choose licences, copyright notices and distribution notices, because they often have near-duplicates. If the store
    has no such documents, choose any.
    """
    chosen: list[str] = []
    for query in ("kind:licence", "kind:copyright", "kind:distribution AND name:license", "kind:distribution"):
        chosen += [hit.id for hit in store.search(query, rows=12).hits]
    return chosen or [hit.id for hit in store.search("*", rows=12).hits]


def _distribution_texts() -> Iterator[Document]:
    for distribution in distributions():
        name = distribution.metadata["Name"] or "unnamed"
        paths = [Path(str(file.locate())) for file in distribution.files or () if _is_about(file.name)]
        yield from _files("distribution", paths[:10], id_prefix=f"{name}/")


def _is_about(file_name: str) -> bool:
    return file_name.lower().startswith(_LICENCE_WORDS) and not file_name.endswith((".py", ".pyc", ".json"))


def _module_texts() -> Iterator[Document]:
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
            # Skip dangling links and binary files, for example.
            continue
