"""The command line: settings, a store, one command. Whatever takes time to import is imported by its command."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from whorl.cli.duplicates import duplicates
from whorl.cli.simhash import simhash
from whorl.cli.solr import solr
from whorl.errors import DocumentError, ParameterError, QueryError, WhorlError

_STORE = click.option(
    "--store",
    metavar="STORE",
    help="A Solr URL (http://host:8983/solr/NAME) or a folder. Default: WHORL_STORE, or a folder of your own.",
)


class _Group(click.Group):
    """Turns every error raised on purpose into one message and an exit code: 2 for what was typed, 1 for the rest."""

    def invoke(self, ctx: click.Context) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A bar or an id that the terminal's encoding lacks becomes a question mark, not the end.
            sys.stdout.reconfigure(errors="replace")
        try:
            return super().invoke(ctx)
        except WhorlError as error:
            from whorl.wire.text import printable

            click.echo("\n".join(map(printable, f"whorl: {error}".split("\n"))), err=True)
            ctx.exit(2 if isinstance(error, QueryError | ParameterError) else 1)
        except OSError as error:
            # Nobody takes the output: what is still in the buffer goes nowhere, or Python complains at its end.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):
                # The reader (head, less) has seen enough.
                ctx.exit(0)
            click.echo(f"whorl: {error}", err=True)
            ctx.exit(1)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="whorl")
def main() -> None:
    """Find the documents that share content with a document.

    Put documents in with `whorl index`, then ask for those that share content with one of them:

        whorl search 'FINGERPRINT:notes/a.md_50'
    """


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", type=click.Path(path_type=Path))
@_STORE
@click.option("--batch", default=256, show_default=True, type=click.IntRange(1, 10_000), help="Documents at once.")
@click.option("--all", "again", is_flag=True, help="Also what is there unchanged, as after a change of the schema.")
def index(paths: tuple[Path, ...], store: str | None, batch: int, again: bool) -> None:
    """Put files and folders into a store.

    Reads text, Markdown, HTML, e-mail (.eml), JSON lines (.jsonl, .ndjson: one {"id", "text", …} a line, further keys
    become fields) and, with whorl[files], PDF, DOCX, PPTX and XLSX. A file's id is its path as given. What is there
    unchanged is left alone, so an interrupted run is completed by running it again; a document of the same id is
    replaced.
    """
    from whorl.cli.render.console import problem_lines
    from whorl.ingest.files import Problem, documents_in, files_under
    from whorl.model import Document, Indexed
    from whorl.store import open_store

    problems: list[Problem] = []
    with open_store(store) as opened:
        done = Indexed()

        def note(so_far: Indexed) -> None:
            nonlocal done
            done = so_far

        def refused(document: Document, error: DocumentError) -> None:
            problems.append(Problem(document.id, str(error)))

        files = list(files_under(paths, problems.append))
        try:
            with _progress(len(files)) as advance:
                documents = (document for file in advance(files) for document in documents_in(file, problems.append))
                opened.index(documents, batch=batch, again=again, progress=note, on_refused=refused)
        except (WhorlError, KeyboardInterrupt):
            click.echo(f"stopped: {_told(done)}. Run the same command again to complete it.")
            raise
        else:
            click.echo(f"{_told(done)}.")
        finally:
            for line in problem_lines(problems, "could not be stored"):
                click.echo(line, err=True)
    is_empty = problems and not (done.stored or done.unchanged)
    if is_empty or not all(map(os.path.exists, paths)):
        sys.exit(1)


def _told(done: Any) -> str:
    from whorl.wire.text import counted

    unchanged = f", {done.unchanged:,} unchanged and left alone" if done.unchanged else ""
    return f"{counted(done.stored, 'document')} stored{unchanged}"


class _progress:  # noqa: N801 - reads as the context manager it is
    """A progress bar on a terminal, nothing elsewhere."""

    def __init__(self, total: int) -> None:
        from whorl.cli.render.console import progress_bar

        self._bar = progress_bar("indexing", "files")
        self._task = self._bar.add_task("indexing", total=total)

    def __enter__(self) -> Callable[[list[Path]], Iterator[Path]]:
        self._bar.start()
        return self._advance

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def _advance(self, files: list[Path]) -> Iterator[Path]:
        for file in files:
            yield file
            self._bar.advance(self._task)


_SOURCE = click.option(
    "--source",
    "source_file",
    metavar="FILE",
    help="A file, or - for standard input, that the query calls FINGERPRINT:source; it need not be in the store.",
)


_PLAN = click.option(
    "--plan",
    type=click.Choice(["stock", "calibrated"]),
    default="stock",
    show_default=True,
    help="What FINGERPRINT means: the tokens and bands of Alfresco and Solr, or what 'whorl similar' finds.",
)


_AFTS = click.option(
    "--afts",
    type=click.Choice(["lenient", "strict"]),
    default="lenient",
    show_default=True,
    help="How the query is read: as its author means it, or as Alfresco does, to the letter.",
)


@main.command()
@click.argument("query")
@_STORE
@_SOURCE
@_PLAN
@_AFTS
@click.option("--json", "as_json", is_flag=True, help="Print JSON: query, total, warnings, hits.")
@click.option("--rows", default=10, show_default=True, type=click.IntRange(0, 10_000), help="Hits to show.")
@click.option("--start", default=0, show_default=True, type=click.IntRange(0, 1_000_000), help="Hits to leave out.")
@click.option("--explain", "explained", is_flag=True, help="Print the plan and the request as well.")
def search(
    query: str,
    store: str | None,
    source_file: str | None,
    plan: str,
    afts: str,
    as_json: bool,
    rows: int,
    start: int,
    explained: bool,
) -> None:
    """Ask a store.

    \b
    FINGERPRINT:a.txt          shares any token with a.txt
    FINGERPRINT:a.txt_70       shares at least 70 % of its tokens
    FINGERPRINT:a.txt_70_90    bands that find an overlap of 70 % nine times in ten
    FINGERPRINT:"my_a.txt"_70  an id that holds "_"
    FINGERPRINT:source_70      a text that is not in the store: --source FILE
    … AND type:pdf AND NOT draft
    -- "-draft"                a query that begins with "-" stands after "--"
    """  # noqa: D301 - click wants the control character
    asked = _asked(source_file, plan, afts, start=start, rows=rows)
    _search(query, store, asked, as_json=as_json, explained=explained)


def _asked(source_file: str | None, plan: str, afts: str, **page: int) -> dict[str, Any]:
    """Return what `Store.search` and `Store.explain` are asked beside the query."""
    from whorl.ingest.files import source_text
    from whorl.planning.options import Conventions

    return {
        "source": None if source_file is None else source_text(source_file),
        "calibrated": plan == "calibrated",
        "conventions": Conventions(is_strict=afts == "strict"),
        **page,
    }


def _search(query: str, store: str | None, asked: dict[str, Any], *, as_json: bool, explained: bool) -> None:
    from whorl.cli.render.console import console, explanation, page_json, page_table
    from whorl.planning.build import describe
    from whorl.store import open_store
    from whorl.wire.text import counted, printable

    with open_store(store, create=False) as opened:
        if explained:
            plan, request = opened.explain(query, **asked)
            click.echo(explanation(describe(plan.root), request), err=as_json)
        page = opened.search(query, with_shared=True, **asked)
    if as_json:
        click.echo(page_json(query, page))
        return
    for warning in page.warnings:
        click.echo(f"note: {printable(warning)}", err=True)
    if page.hits:
        console().print(page_table(page))
    start, until = asked["start"], asked["start"] + len(page.hits)
    shown = (
        "" if until - start == page.total else f", {start + 1:,} to {until:,} shown" if page.hits else ", none shown"
    )
    click.echo(f"{counted(page.total, 'document')}{shown}")


@main.command()
@click.argument("document", required=False, metavar="ID")
@_STORE
@click.option("--text", metavar="TEXT", help="The source itself; - reads it from standard input.")
@click.option("--file", metavar="FILE", help="A file that is the source; it need not be in the store.")
@click.option(
    "--metric",
    type=click.Choice(["jaccard", "a_in_b", "b_in_a", "similarity", "contains", "within"]),
    default="jaccard",
    show_default=True,
    help="What the threshold is a share of: both texts together (jaccard or similarity), the source (a_in_b or "
    "contains), or the document found (b_in_a or within).",
)
@click.option("--threshold", default="20", show_default=True, metavar="PERCENT", help="The least share.")
@click.option("--recall", default="95", show_default=True, metavar="PERCENT", help="How many are to be found.")
@click.option("--exact", is_flag=True, help="Compare the texts of the hits shown whole, instead of sketches.")
@click.option("--filter", "only", metavar="QUERY", help="Only documents that this query matches.")
@click.option(
    "--plan",
    type=click.Choice(["calibrated", "stock"]),
    default="calibrated",
    show_default=True,
    help="stock is FINGERPRINT:ID_threshold_recall, as Alfresco and Solr have it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; shares are fractions with their intervals.")
@click.option("--rows", default=10, show_default=True, type=click.IntRange(0, 10_000), help="Hits to show.")
@click.option("--start", default=0, show_default=True, type=click.IntRange(0, 1_000_000), help="Hits to leave out.")
@click.option("--explain", "explained", is_flag=True, help="Print the plan and the request as well.")
def similar(
    document: str | None,
    store: str | None,
    text: str | None,
    file: str | None,
    metric: str,
    threshold: str,
    recall: str,
    exact: bool,
    only: str | None,
    plan: str,
    as_json: bool,
    rows: int,
    start: int,
    explained: bool,
) -> None:
    """Find the documents that share content with document ID, or with a text that is not in the store.

    Every hit is verified and shown with three percentages: the shingles that both have, of all that either has
    (jaccard), of those of the source (A in B), and of its own (B in A); estimates have the ends of their 95 % intervals
    beside them.
    """
    from whorl.cli.render.console import console, explanation
    from whorl.cli.render.similar import similar_table
    from whorl.ingest.files import source_text
    from whorl.store import SOURCE, fingerprint_query, open_store
    from whorl.wire.plan import plan_lines, promise
    from whorl.wire.similar import similar_values
    from whorl.wire.text import as_json as json_text
    from whorl.wire.text import counted, printable

    given = [each is not None for each in (document, text, file)]
    if sum(given) != 1:
        raise ParameterError("name one source: an ID, --text or --file")
    name = SOURCE if document is None else document
    read = "-" if text == "-" else file
    source = text if read is None else source_text(read)
    if plan == "stock":
        query = fingerprint_query(name, threshold, recall, only)
        asked = {"source": source, "start": start, "rows": rows}
        _search(query, store, asked, as_json=as_json, explained=explained)
        return
    with open_store(store, create=False) as opened:
        if explained:
            words, request = opened.explain_similar(
                name, source=source, metric=metric, threshold=threshold, recall=recall, only=only
            )
            click.echo(explanation(plan_lines(words), request), err=as_json)
        page = opened.similar(
            name,
            source=source,
            metric=metric,
            threshold=threshold,
            recall=recall,
            only=only,
            exact=exact,
            start=start,
            rows=rows,
        )
    if as_json:
        click.echo(json_text(similar_values(page)))
        return
    for warning in page.warnings:
        click.echo(f"note: {printable(warning)}", err=True)
    if page.found:
        console().print(similar_table(page))
    about = "" if page.is_total_exact else "about "
    shown = "" if len(page.found) == page.total else f", {counted(len(page.found), 'hit')} shown"
    click.echo(f"{about}{counted(page.total, 'document')}{shown}; {promise(page.plan)}")


@main.command()
@click.argument("query")
@_STORE
@_SOURCE
@_PLAN
@_AFTS
@click.option("--rows", default=10, show_default=True, type=click.IntRange(0, 10_000))
@click.option("--start", default=0, show_default=True, type=click.IntRange(0, 1_000_000))
def explain(
    query: str, store: str | None, source_file: str | None, plan: str, afts: str, rows: int, start: int
) -> None:
    """Print what a query would do, in words and numbers, and the exact request; nothing is searched."""
    from whorl.cli.render.console import explanation
    from whorl.planning.build import describe
    from whorl.store import open_store
    from whorl.wire.text import printable

    asked = _asked(source_file, plan, afts, start=start, rows=rows)
    with open_store(store, create=False) as opened:
        bound, request = opened.explain(query, **asked)
    for warning in bound.warnings:
        click.echo(f"note: {printable(warning)}", err=True)
    click.echo(explanation(describe(bound.root), request))


@main.command()
@click.argument("file")
@click.option("--scheme", "scheme_name", metavar="NAME", help="What the fingerprint depends on: icu70, icu74 or icu77.")
@click.option(
    "--codec",
    type=click.Choice(["u64", "lucene", "alfresco"]),
    default="u64",
    show_default=True,
    help="Numbers; terms as a Lucene index holds them; hexadecimal as Alfresco stores it.",
)
@click.option("--format", "form", type=click.Choice(["json", "text", "npy"]), default="json", show_default=True)
def fingerprint(file: str, scheme_name: str | None, codec: str, form: str) -> None:
    """Print the fingerprint of FILE, or of standard input (-): the 512 tokens that Solr makes of the same text.

    JSON is {"scheme", "size", "tokens": […]}: size counts the distinct shingles, and the tokens stand in the order of
    their buckets, empty ones filled by rotation. npy is an array of 64-bit integers for numpy.load.
    """
    from whorl.fingerprint.export import as_json, as_npy, as_text
    from whorl.fingerprint.scheme import Scheme
    from whorl.ingest.files import source_text

    scheme = Scheme.named(scheme_name) if scheme_name else Scheme()
    text = source_text(file)
    if form == "npy":
        click.echo(as_npy(text, scheme, codec), nl=False)
    else:
        click.echo((as_json if form == "json" else as_text)(text, scheme, codec))


@main.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@_STORE
@click.option("--scheme", "scheme_name", metavar="NAME", help="What words and shingles are. Default: the store's.")
@click.option("--passages", "most", default=5, show_default=True, type=click.IntRange(0), help="Passages to show.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: counts, shares, and all passages with their texts.")
def compare(a: str, b: str, store: str | None, scheme_name: str | None, most: int, as_json: bool) -> None:
    """Count exactly what two texts share, and show the passages.

    A and B are files, ids of documents in the store, or one of them - for standard input. What is the path of a file
    is that file; the store is asked for the rest.

    \b
    jaccard  shingles (words in a row) that both have, of all that either has
    A in B   … of those of A: all of it, when A is an excerpt
    B in A   … of those of B

    A passage is as long as both texts go on alike, whatever the case and what stands between the words. [start:end]
    counts characters from 0, of a file as whorl reads it: a page without its tags.
    """  # noqa: D301 - click wants the control character
    from whorl.cli.render.comparison import read, summary_lines
    from whorl.cli.render.console import console
    from whorl.fingerprint.passages import compare as compare_texts
    from whorl.fingerprint.scheme import Scheme
    from whorl.wire.comparison import comparison_values, warnings
    from whorl.wire.text import as_json as json_text

    read_a, read_b, scheme = read(a, b, store, Scheme.named(scheme_name) if scheme_name else None)
    found = compare_texts(read_a.text, read_b.text, scheme)
    if as_json:
        click.echo(json_text(comparison_values(read_a, read_b, found)))
        return
    for warning in warnings(found):
        click.echo(f"note: {warning}", err=True)
    printer = console()
    for line in summary_lines(read_a, read_b, found, most=most, printer=printer):
        printer.print(line, soft_wrap=True)


@main.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@_STORE
def delete(ids: tuple[str, ...], store: str | None) -> None:
    """Take documents out of a store."""
    from whorl.store import open_store

    with open_store(store, create=False) as opened:
        gone = opened.delete(ids)
    click.echo(f"{gone:,} of {len(ids):,} documents deleted")


@main.command()
@click.option("--store", type=click.Path(path_type=Path, file_okay=False), help="Folder to keep the demo's store in.")
def demo(store: Path | None) -> None:
    """Index real text found on this machine and ask three FINGERPRINT queries about it."""
    from whorl.cli.demo import run

    run(store)


@main.command()
@_STORE
@click.option("--host", help="Address to listen on. Default: that of WHORL_LISTEN, or 127.0.0.1.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="0 for a free one. Default: that of WHORL_LISTEN, or 8000."
)
@click.option("--open", "is_open", is_flag=True, help="Ask nobody who they are, although others can reach HOST.")
def serve(store: str | None, host: str | None, port: int | None, is_open: bool) -> None:
    """Answer over HTTP: whorl's own routes under /api (see /openapi.json), and Alfresco's search under /alfresco.

    Listens on this machine alone unless told otherwise; set WHORL_USER and WHORL_PASSWORD or WHORL_API_KEY before that.
    Its log is JSON, one line a request; on SIGTERM it finishes what it has accepted. docs/operations.md says more.
    """
    try:
        from whorl.service.app import create_app
        from whorl.service.credentials import Credentials
        from whorl.service.middleware.hosts import ANY, Hosts
        from whorl.service.run import run
    except ModuleNotFoundError as error:
        raise ParameterError("the HTTP service needs more packages: pip install 'whorl[serve]'") from error
    from whorl.settings.settings import Settings
    from whorl.store import open_store

    settings = Settings.load()
    credentials = Credentials(settings.api_keys, settings.login)
    host = settings.listen[0] if host is None else host
    port = settings.listen[1] if port is None else port
    if not (is_open or settings.is_open):
        credentials.require_for(host)
    hosts = Hosts(host, settings.allowed_hosts if credentials.is_open else (ANY, *settings.allowed_hosts))
    with open_store(store, settings, create=False) as opened:
        run(create_app(opened, credentials, settings, hosts), settings, host, port)


main.add_command(duplicates)
main.add_command(simhash)
main.add_command(solr)
