"""Commands `whorl opensearch …`: start a local server; set up, check and backfill an index."""

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
def opensearch() -> None:
    """Look after an index of OpenSearch or Elasticsearch, or start a server to try out."""


@opensearch.command("up")
@click.option("--port", default=9201, show_default=True, type=click.IntRange(9201, 9299), help="Where it listens.")
@FOLDER
@click.option("--nodes", default=1, show_default=True, type=click.IntRange(1, 9), help="Nodes of an OpenSearch.")
@HEAP
@click.option("--elasticsearch", "is_elasticsearch", is_flag=True, help="Start an Elasticsearch instead.")
@click.option(
    "--version", default="", help="OpenSearch 3, 2.19 or 2.11; with --elasticsearch 9.5 or 8.19.  [default: the newest]"
)
def opensearch_up(port: int, folder: Path | None, nodes: int, heap: str, is_elasticsearch: bool, version: str) -> None:
    """Start a real OpenSearch or Elasticsearch on this machine, without Docker, and stop it on Ctrl-C.

    An index is created with its first document, and is kept in the folder for the next start. The first
    start of a version fetches its jars, 45 to 75 MB. Needs `pip install 'whorl[opensearch]'` and Java: 21+ for
    OpenSearch 3 and Elasticsearch 9, 17+ for the others. This Elasticsearch cannot sort by a field, because Maven
    Central lacks the module for scripts.
    """
    import platformdirs

    from whorl.engine.local.opensearch import ELASTICSEARCH, OPENSEARCH, start_cluster
    from whorl.engine.local.server import find_server
    from whorl.settings.settings import Settings

    servers = ELASTICSEARCH if is_elasticsearch else OPENSEARCH
    server = find_server(servers, version or servers[0].version)
    if is_elasticsearch and nodes > 1:
        raise click.UsageError(f"--nodes {nodes} is for OpenSearch; an Elasticsearch is started as one node.")
    name = server.key if server == servers[0] else f"{server.key}-{server.version}"
    home = folder or platformdirs.user_data_path("whorl") / name
    click.echo(f"Starting {server.name} {server.version} in {home} …")
    cache = Settings.load().opensearch_cache
    with start_cluster(home, server, nodes=nodes, port=port, heap=heap, cache=cache) as running:
        wait(running, server.name, f"{server.key}+{running.url}/whorl")


@opensearch.command("init", cls=PassagesCommand)
@click.argument("url")
@CONTENT
@NAME
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
@PASSAGES
def opensearch_init(url: str, content: str | None, name: str | None, dry_run: bool, passages: int | None) -> None:
    """Create an index, or add the fields that fingerprint search needs to an existing one.

    Existing fields are not changed. If a field with one of whorl's names has another mapping, the command says so and
    does nothing. Running it again adds nothing. The names are written to whorl.toml for later commands, unless there
    is one.
    """
    client, names = _open_index(url, content, name)
    from whorl.engine.opensearch.inspect_and_extend_index import initialise
    from whorl.settings.settings import write_file

    scheme = passage_scheme(passages)
    for line in [*initialise(client, names, dry_run=dry_run, content=content, passages=scheme)]:
        click.echo(line)
    if line := write_file(url, names, dry_run=dry_run):
        click.echo(line)


@opensearch.command("check")
@click.argument("url")
@CONTENT
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def opensearch_check(url: str, content: str | None, as_json: bool) -> None:
    """Check whether an index can be searched by fingerprint, and warn about every problem that can be detected.

    The exit code is 1 if fingerprint search cannot work.
    """
    client, names = _open_index(url, content)
    from whorl.engine.opensearch.check_index import check

    findings = check(client, names)
    show(findings, as_json=as_json)


@opensearch.command("backfill")
@click.argument("url")
@CONTENT
@click.option("--batch", default=100, show_default=True, type=click.IntRange(1, 10_000), help="Documents per batch.")
@click.option("--all", "again", is_flag=True, help="Also make fields again that documents already have.")
@click.option("--dry-run", is_flag=True, help="Only say how many documents would be checked.")
def opensearch_backfill(url: str, content: str | None, batch: int, again: bool, dry_run: bool) -> None:
    """Give the documents of an index the fields that fingerprint search needs, made from their sources.

    Nothing else in a document is changed. It can be stopped at any time; run it again to continue.
    """
    client, names = _open_index(url, content)
    from whorl.engine.opensearch.partial_updates import backfill, prepare
    from whorl.output.formatting import plural

    if dry_run:
        click.echo(f"{plural(prepare(client, names, again=again), 'document')} would be checked")
        return
    done = watch(
        lambda note: backfill(client, names, batch=batch, again=again, progress=note),
        url=url,
        doing="making fingerprints",
        given="a fingerprint",
    )
    if done.textless:
        click.echo(f"{plural(done.textless, 'document')} left alone: no text in {names.content!r}.", err=True)
    show_refused(done.refused, "a fingerprint")
    if done.refused or (done.textless and not done.sent):
        sys.exit(1)


def _open_index(url: str, content: str | None, name: str | None = None) -> tuple[Any, Any]:
    # Import the client first: if its package is not installed, the client raises an error with a remedy.
    from whorl.settings.settings import Settings
    from whorl.store import index_client

    settings = Settings.load()
    return index_client(url, settings), choose_fields(settings.fields, content, name)
