"""Commands `whorl search` and `whorl explain`: run or explain a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.cli.render.terminal import console, explanation, print_notes
from whorl.cli.shared.flags import EXPLAIN, SOURCE_FILE, STORE, operation_options, with_boilerplate_texts
from whorl.cli.shared.open_store_and_documents import open_existing_store, read_named_files
from whorl.cli.shared.single_value_options import SingleValueCommand
from whorl.operations import ExplainOperation, SearchOperation
from whorl.output.formatting import as_json as json_text
from whorl.output.formatting import plural

# Imported when needed, so that help and errors are shown sooner.
if TYPE_CHECKING:
    from whorl.search.prepared_search import PreparedQuery
    from whorl.search.similar.results import Explanation
    from whorl.store import Store


@click.command(cls=SingleValueCommand)
@click.argument("query")
@STORE
@SOURCE_FILE
@operation_options(SearchOperation)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: query, total, warnings, hits.")
@EXPLAIN
def search(
    query: str, store: str | None, source_file: str | None, options: SearchOperation, as_json: bool, explained: bool
) -> None:
    """Search a store with a query.

    \b
    FINGERPRINT:a.txt          shares any token with a.txt
    FINGERPRINT:a.txt_70       shares at least 70 % of its tokens
    FINGERPRINT:a.txt_70_90    finds nine in ten documents with 70 % of its tokens
    FINGERPRINT:"my_a.txt"_70  an id that holds "_"
    FINGERPRINT:source_70      a text that is not in the store: --source FILE
    … AND name:lease AND NOT draft
    -- "-draft"                put a query that begins with "-" after "--"
    """  # noqa: D301 - click wants the control character
    with open_existing_store(store) as opened:
        prepared = _prepare(opened, query, source_file, options)
        show_page(query, prepared, options, as_json=as_json, explained=explained)


@click.command(cls=SingleValueCommand)
@click.argument("query")
@STORE
@SOURCE_FILE
@operation_options(ExplainOperation)
def explain(query: str, store: str | None, source_file: str | None, options: ExplainOperation) -> None:
    """Print what a query would do, in words and numbers, and the exact request, without searching."""
    with open_existing_store(store) as opened:
        explained = _prepare(opened, query, source_file, options).explain(start=options.start, rows=options.rows)
    print_notes(explained.warnings)
    click.echo(_explanation_text(explained))


def _explanation_text(explained: Explanation) -> str:
    from whorl.output.search import plan_lines

    lines = list(explained.plan)
    for source, plan in explained.fingerprints:
        lines += [f"FINGERPRINT of {source!r}:", *(f"  {line}" for line in plan_lines(plan))]
    return explanation(lines, explained.request)


def _prepare(opened: Store, query: str, source_file: str | None, options: ExplainOperation) -> PreparedQuery:
    texts = {}
    if source_file is not None:
        from whorl.ingest.files import source_text
        from whorl.search.similar.fetch_query_sources import SOURCE

        texts = {SOURCE: source_text(source_file)}
    options = with_boilerplate_texts(options, [source_file])
    prepared = opened.prepare(query, options, source=texts)
    files = read_named_files(opened, (name for name in prepared.references if name not in texts))
    return opened.prepare(query, options, source={**texts, **files}) if files else prepared


def show_page(query: str, prepared: PreparedQuery, options: SearchOperation, *, as_json: bool, explained: bool) -> None:
    if explained:
        click.echo(_explanation_text(prepared.explain(start=options.start, rows=options.rows)), err=as_json)
    page = prepared.search(
        start=options.start, rows=options.rows, sort=options.sort, with_shared=True, collapse=options.collapse
    )
    if as_json:
        from whorl.output.json_conversion import values

        click.echo(json_text({"query": query, **values(page)}))
        return
    print_notes(page.warnings)
    if page.hits:
        from whorl.cli.render.result_tables import page_table

        console().print(page_table(page))
    until = options.start + len(page.hits)
    shown = f", {options.start + 1:,} to {until:,} shown" if page.hits else ", none shown"
    shown = "" if len(page.hits) == page.total else shown
    total = plural(page.total, "document")
    if page.matches is not None:
        total += f" and {plural(page.matches - page.total, 'near-copy', 'near-copies')}"
    bound = "" if page.is_total_exact else "about " if page.outdated else "at least "
    click.echo(f"{bound}{total}{shown}")
