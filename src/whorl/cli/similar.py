"""Command `whorl similar`: finds the documents that share content with a document or a text."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import click

from whorl.cli.render.result_tables import similar_table
from whorl.cli.render.terminal import console, explanation, print_notes
from whorl.cli.shared.flags import EXPLAIN, WORDS, operation_options, require_default, with_boilerplate_texts
from whorl.cli.shared.open_store_and_documents import (
    SearchScope,
    add_search_options,
    open_store_or_files,
    resolve_reference,
)
from whorl.cli.shared.single_value_options import SingleValueCommand
from whorl.errors import ParameterError
from whorl.fingerprint.statistics.metric import Metric, notes_on
from whorl.operations import SearchOperation, SimilarOperation
from whorl.output.formatting import as_json as json_text
from whorl.output.formatting import percent, plural, title_of

if TYPE_CHECKING:
    from whorl.search.similar.results import SimilarHit

#: Threshold of the search for the nearest document if there is no hit: a tenth of a percent.
_LOWEST = "0.001"
#: Smallest threshold that a suggested command gives in percent. Smaller ones are fractions, because `--threshold 1`
#: means 100 %.
_LEAST_PERCENTAGE = 0.02
#: The options that have an effect with `--plan stock`.
_STOCK = {"plan", "threshold", "recall", "filter", "rows", "start"}


@click.command(cls=SingleValueCommand)
@click.argument("document", required=False, metavar="[SOURCE]")
@add_search_options
@click.option("--text", metavar="TEXT", help="The source itself; - reads it from standard input.")
@click.option("--file", metavar="FILE", help="A file that is the source, whatever the store has at its path.")
@operation_options(SimilarOperation)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; shares are fractions with their intervals.")
@EXPLAIN
def similar(
    document: str | None,
    scope: SearchScope,
    text: str | None,
    file: str | None,
    options: SimilarOperation,
    as_json: bool,
    explained: bool,
) -> None:
    """Find the documents that share content with a document, or with a text that is not in the store.

    SOURCE is a document of the store, by its id, path or name, or else a file. A text that is in the store is not among
    its own hits. With --in FOLDER, the documents are files, and no store is needed.

    Every hit is verified and shown with three percentages: the shared shingles as a share of those in either text
    (jaccard), in the source (A in B), and in the hit (B in A). Estimates come with their 95 % intervals. With
    --common-above or --boilerplate, the shares without common text are in brackets; with --ignore-common, the hits are
    chosen by these shares.
    """
    if sum(source is not None for source in (document, text, file)) != 1:
        raise ParameterError("name one source: a document or file, --text or --file")
    if options.plan == "stock":
        reason = "means nothing with --plan stock, which counts tokens; leave one of the two out"
        require_default(options, vars(options).keys() - _STOCK, reason)
    read = "-" if text == "-" else file
    options = with_boilerplate_texts(options, [read, document])
    if read is not None and document is None:
        from whorl.ingest.files import source_text

        text = source_text(read)
    with open_store_or_files(scope) as (opened, lost):
        from whorl.output.search import format_condition, page_promise, plan_lines
        from whorl.search.similar.fetch_query_sources import SOURCE

        if document is not None:
            meant = resolve_reference(opened, document, is_file_expected=bool(scope.folders))
        else:
            meant = opened.references.resolve_text(text or "", "the text" if file is None else file)
            print_notes([meant.note])
        name, source = meant.id or SOURCE, meant.text
        if options.plan == "stock":
            query = _stock_query(name, options)
            print_notes(notes_on(threshold=options.threshold, recall=options.recall))
            from whorl.cli.search_and_explain import show_page

            page_options = SearchOperation(filter=options.filter, start=options.start, rows=options.rows)
            stock = opened.prepare(query, page_options, source=source)
            show_page(query, stock, page_options, as_json=as_json, explained=explained)
            return
        prepared = opened.prepare_similar(name, options, source=source)
        if explained:
            click.echo(explanation(plan_lines(prepared.plan), prepared.request()), err=as_json)
        page = prepared.search(start=options.start, rows=options.rows, exact=options.exact)
        if lost is not None:
            warning = f"{plural(lost, 'document')} could not be read, and so cannot be found"
            page = replace(page, is_complete=False, warnings=(warning, *page.warnings))
        miss = None
        if not (page.total or as_json):
            lowest = replace(options, threshold=_LOWEST, start=0, rows=1)
            miss = next(iter(opened.similar(name, lowest, source=source).found), None)
    if as_json:
        from whorl.output.json_conversion import values

        # For a file outside the store, the note is not a warning.
        click.echo(json_text(values(page if meant.id is None else meant.add_note(page))))
        return
    print_notes(page.warnings)
    if page.found:
        printer = console()
        printer.print(similar_table(page, printer.width))
    about = "" if page.is_total_exact else "about "
    shown = "" if len(page.found) == page.total else f", {plural(len(page.found), 'hit')} shown"
    click.echo(f"{about}{plural(page.total, 'document')} {format_condition(page.plan)}{shown}; {page_promise(page)}")
    if miss is not None:
        click.echo(_describe_nearest(miss, page.plan.metric))


def _describe_nearest(miss: SimilarHit, metric: Metric) -> str:
    share = miss.estimate.shares.measured_by(metric)
    threshold = f"{math.floor(100 * share)}" if share >= _LEAST_PERCENTAGE else f"{math.floor(1000 * share) / 1000:g}"
    again = shlex.join([*_command(), "--threshold", threshold])
    shown = percent(share, is_exact=miss.estimate.is_exact)
    return f"nearest: {title_of(miss.hit.id, miss.hit.name)} with {shown}; to see it: {again}"


def _command() -> list[str]:
    """Return the words of the user's command line without `--threshold` and its value."""
    words = iter(click.get_current_context().find_root().meta.get(WORDS, ()))
    others = []
    for word in words:
        if word == "--threshold":
            next(words, None)
        elif not word.startswith("--threshold="):
            others.append(word)
    return ["whorl", *others]


def _stock_query(reference: str, options: SimilarOperation) -> str:
    """Return the FINGERPRINT query for a document in Alfresco's syntax; raise ParameterError if a number is invalid."""
    from whorl.query.ast import Fingerprint
    from whorl.query.literals import EXACT
    from whorl.query.unparse import write_fingerprint
    from whorl.search.similar.options import make_criteria

    criteria = make_criteria(Metric.JACCARD, options.threshold, options.recall)
    overlap, probability = (
        EXACT.divide(Decimal(share.numerator), Decimal(share.denominator))
        for share in (criteria.threshold, criteria.recall)
    )
    return write_fingerprint(Fingerprint(reference, overlap, probability))
