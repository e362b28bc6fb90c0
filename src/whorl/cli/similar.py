"""Command `whorl similar`: finds the documents that share content with a document or a text."""

from __future__ import annotations

from decimal import Decimal

import click

from whorl.cli.options import (
    BOILERPLATE,
    COMMON_ABOVE,
    EXPLAIN,
    IGNORE_COMMON,
    ROWS,
    START,
    STORE,
    boilerplate_texts,
    line_or_usual,
)
from whorl.cli.render.console import console, explanation
from whorl.cli.render.similar import similar_table
from whorl.cli.search import show_page
from whorl.errors import ParameterError
from whorl.fingerprint.statistics.metric import Metric, notes_on
from whorl.ingest.files import source_text
from whorl.output.format import as_json as json_text
from whorl.output.format import counted, printable
from whorl.output.search import plan_lines, promise, similar_values
from whorl.query.ast import Fingerprint
from whorl.query.literals import EXACT, write_fingerprint
from whorl.search.similar.options import ask
from whorl.search.similar.sources import SOURCE
from whorl.store import open_store


@click.command()
@click.argument("document", required=False, metavar="ID")
@STORE
@click.option("--text", metavar="TEXT", help="The source itself; - reads it from standard input.")
@click.option("--file", metavar="FILE", help="A file that is the source; it need not be in the store.")
@click.option(
    "--metric",
    type=click.Choice(["jaccard", "a_in_b", "b_in_a", "similarity", "contains", "within"]),
    show_default="jaccard",
    help="What the threshold is a share of: both texts together (jaccard or similarity), the source (a_in_b or "
    "contains), or the document found (b_in_a or within).",
)
@click.option(
    "--threshold",
    default="20",
    show_default=True,
    metavar="PERCENT",
    help="The smallest share of a hit; a number up to 1 is a fraction.",
)
@click.option(
    "--recall",
    default="95",
    show_default=True,
    metavar="PERCENT",
    help="How many of the documents just at the threshold to find.",
)
@COMMON_ABOVE
@BOILERPLATE
@IGNORE_COMMON
@click.option("--exact", is_flag=True, help="Compare the whole texts of the hits shown, not their sketches.")
@click.option("--filter", "only", metavar="QUERY", help="Only documents that this query matches.")
@click.option(
    "--plan",
    type=click.Choice(["calibrated", "stock"]),
    default="calibrated",
    show_default=True,
    help="stock is FINGERPRINT:ID_threshold_recall, as in Alfresco and Solr.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; shares are fractions with their intervals.")
@ROWS
@START
@EXPLAIN
def similar(
    document: str | None,
    store: str | None,
    text: str | None,
    file: str | None,
    metric: str | None,
    threshold: str,
    recall: str,
    common_above: str | None,
    boilerplate_files: tuple[str, ...],
    ignore_common: bool,
    exact: bool,
    only: str | None,
    plan: str,
    as_json: bool,
    rows: int,
    start: int,
    explained: bool,
) -> None:
    """Find the documents that share content with document ID, or with a text that is not in the store.

    Every hit is verified and shown with three percentages: the shared shingles as a share of those in either text
    (jaccard), in the source (A in B), and in the hit (B in A). Estimates come with their 95 % intervals. With
    --common-above or --boilerplate, the shares without common text are in brackets; with --ignore-common only these
    count.
    """
    if sum(each is not None for each in (document, text, file)) != 1:
        raise ParameterError("name one source: an ID, --text or --file")
    calibrated = {
        f"--metric {metric}": metric, "--exact": exact, "--common-above": common_above,
        "--boilerplate": boilerplate_files, "--ignore-common": ignore_common,
    }  # fmt: skip
    if plan == "stock" and (option := next((name for name, given in calibrated.items() if given), None)):
        raise ParameterError(f"{option} means nothing with --plan stock, which counts tokens; leave one of the two out")
    name = SOURCE if document is None else document
    read = "-" if text == "-" else file
    boilerplate = boilerplate_texts(boilerplate_files, [read])
    source = text if read is None else source_text(read)
    with open_store(store, create=False) as opened:
        if plan == "stock":
            query = _stock_query(name, threshold, recall)
            for note in notes_on(threshold=threshold, recall=recall):
                click.echo(f"note: {note}", err=True)
            stock = opened.prepare(query, source=source, filters=[] if only is None else [only])
            show_page(query, stock, start=start, rows=rows, as_json=as_json, explained=explained)
            return
        prepared = opened.prepare_similar(
            name,
            source=source,
            metric=metric or "jaccard",
            threshold=threshold,
            recall=recall,
            only=only,
            common_above=line_or_usual(common_above, boilerplate_files, is_ignored=ignore_common),
            boilerplate=boilerplate,
            ignore_common=ignore_common,
        )
        if explained:
            click.echo(explanation(plan_lines(prepared.plan), prepared.request()), err=as_json)
        page = prepared.search(start=start, rows=rows, exact=exact)
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


def _stock_query(reference: str, threshold: str, recall: str) -> str:
    """Return the FINGERPRINT query in Alfresco's syntax for a document.

    Raises:
        ParameterError: A number is no percentage above 0, or has too many digits.
    """
    asked = ask(Metric.JACCARD, threshold, recall)
    overlap, probability = (
        EXACT.divide(Decimal(share.numerator), Decimal(share.denominator)) for share in (asked.threshold, asked.recall)
    )
    return write_fingerprint(Fingerprint(reference, overlap, probability))
