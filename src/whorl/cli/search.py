"""Commands `whorl search` and `whorl explain`: run or explain a query."""

from __future__ import annotations

import click

from whorl.cli.options import AFTS, EXPLAIN, PLAN, ROWS, SOURCE, START, STORE
from whorl.cli.render.console import console, explanation, page_table
from whorl.ingest.files import source_text
from whorl.output.format import as_json as json_text
from whorl.output.format import counted, printable
from whorl.output.search import page_values, plan_lines
from whorl.query.plan.conventions import Conventions
from whorl.search.prepared import Explanation, PreparedQuery
from whorl.store import Store, open_store


@click.command()
@click.argument("query")
@STORE
@SOURCE
@PLAN
@AFTS
@click.option(
    "--collapse", is_flag=True, help="Show only the best hit of each cluster that 'whorl duplicates --write-ids' wrote."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: query, total, warnings, hits.")
@ROWS
@START
@EXPLAIN
def search(
    query: str,
    store: str | None,
    source_file: str | None,
    plan: str,
    afts: str,
    collapse: bool,
    as_json: bool,
    rows: int,
    start: int,
    explained: bool,
) -> None:
    """Search a store with a query.

    \b
    FINGERPRINT:a.txt          shares any token with a.txt
    FINGERPRINT:a.txt_70       shares at least 70 % of its tokens
    FINGERPRINT:a.txt_70_90    bands that find an overlap of 70 % nine times in ten
    FINGERPRINT:"my_a.txt"_70  an id that holds "_"
    FINGERPRINT:source_70      a text that is not in the store: --source FILE
    … AND type:pdf AND NOT draft
    -- "-draft"                a query that begins with "-" stands after "--"
    """  # noqa: D301 - click wants the control character
    with open_store(store, create=False) as opened:
        prepared = _prepared(opened, query, source_file, plan, afts)
        show_page(query, prepared, start=start, rows=rows, as_json=as_json, explained=explained, collapsed=collapse)


@click.command()
@click.argument("query")
@STORE
@SOURCE
@PLAN
@AFTS
@ROWS
@START
def explain(
    query: str, store: str | None, source_file: str | None, plan: str, afts: str, rows: int, start: int
) -> None:
    """Print what a query would do, in words and numbers, and the exact request, without searching."""
    with open_store(store, create=False) as opened:
        told = _prepared(opened, query, source_file, plan, afts).explain(start=start, rows=rows)
    for warning in told.warnings:
        click.echo(f"note: {printable(warning)}", err=True)
    click.echo(_told(told))


def _told(explained: Explanation) -> str:
    """Return a query's plan and request in words, with the plan of each calibrated FINGERPRINT."""
    lines = list(explained.plan)
    for source, plan in explained.fingerprints:
        lines += [f"FINGERPRINT of {source!r}:", *(f"  {line}" for line in plan_lines(plan))]
    return explanation(lines, explained.request)


def _prepared(opened: Store, query: str, source_file: str | None, plan: str, afts: str) -> PreparedQuery:
    return opened.prepare(
        query,
        source=None if source_file is None else source_text(source_file),
        calibrated=plan == "calibrated",
        conventions=Conventions(is_strict=afts == "strict"),
    )


def show_page(
    query: str,
    prepared: PreparedQuery,
    *,
    start: int,
    rows: int,
    as_json: bool,
    explained: bool,
    collapsed: bool = False,
) -> None:
    """Print a page of a query's hits, optionally after its plan."""
    if explained:
        told = prepared.explain(start=start, rows=rows)
        click.echo(_told(told), err=as_json)
    page = prepared.search(start=start, rows=rows, with_shared=True, collapsed=collapsed)
    if as_json:
        click.echo(json_text(page_values(query, page)))
        return
    for warning in page.warnings:
        click.echo(f"note: {printable(warning)}", err=True)
    if page.hits:
        console().print(page_table(page))
    until = start + len(page.hits)
    shown = (
        "" if until - start == page.total else f", {start + 1:,} to {until:,} shown" if page.hits else ", none shown"
    )
    found = counted(page.total, "document")
    if page.matches is not None:
        found += f" and {counted(page.matches - page.total, 'near-copy', 'near-copies')}"
    click.echo(f"{'' if page.is_total_exact else 'at least '}{found}{shown}")
