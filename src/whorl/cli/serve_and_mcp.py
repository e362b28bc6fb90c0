"""Commands `whorl serve` and `whorl mcp`: serve a store over HTTP or to assistants."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import click

from whorl.cli.shared.flags import STORE
from whorl.cli.shared.single_value_options import SingleValueCommand
from whorl.errors import ParameterError
from whorl.settings.settings import Settings
from whorl.store import open_store


@click.command(cls=SingleValueCommand)
@STORE
@click.option("--host", help="Address to listen on. Default: that of WHORL_LISTEN, or 127.0.0.1.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="0 for a free one. Default: that of WHORL_LISTEN, or 8000."
)
@click.option(
    "--open", "is_open", is_flag=True, help="Let anybody in without a key or password, even if others can reach HOST."
)
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Processes that answer requests. Default: WHORL_WORKERS, or 1."
)
def serve(store: str | None, host: str | None, port: int | None, is_open: bool, workers: int | None) -> None:
    """Serve HTTP: a page, whorl's routes under /api/v1 (see /openapi.json), and Alfresco's search under /alfresco.

    Listens on this machine only, unless --host says otherwise; before changing that, set WHORL_USER and WHORL_PASSWORD
    or WHORL_API_KEY. A missing folder becomes a new, empty store, unless the service is read-only. The log has one line
    per request, in JSON unless it goes to a terminal. On SIGTERM, accepted requests are finished first. See
    docs/operations.md.
    """
    try:
        with _importing():
            from whorl.service.app import access_of
            from whorl.service.run import limit_arenas
            from whorl.service.run import serve as serve_store
    except ModuleNotFoundError as error:
        raise ParameterError("the HTTP service needs more packages: pip install 'whorl[serve]'") from error

    settings = Settings.load()
    listen = settings.listen[0] if host is None else host, settings.listen[1] if port is None else port
    settings = replace(settings, store=store or settings.store, listen=listen, workers=workers or settings.workers)
    credentials, _ = access_of(settings)
    if not (is_open or settings.is_open):
        credentials.require_credentials_for(listen[0])
    limit_arenas()
    with open_store(settings=settings, create=not settings.is_read_only) as opened:
        serve_store(opened, settings)


@click.command(cls=SingleValueCommand)
@STORE
@click.option("--write", "writes", is_flag=True, help="Also let the assistant store and delete documents.")
def mcp(store: str | None, writes: bool) -> None:
    """Let assistants use a store through the Model Context Protocol, on standard input and output.

    An assistant's program starts this command, for instance from its list of servers:

        {"mcpServers": {"whorl": {"command": "whorl", "args": ["mcp", "--store", "/path/to/store"]}}}

    The assistant can ask for similar documents, sources of a text, comparisons, searches and clusters. Nothing is
    changed without --write.
    """
    try:
        with _importing():
            from whorl.mcp import server_of
    except ModuleNotFoundError as error:
        raise ParameterError("for assistants install: pip install 'whorl[mcp]'") from error

    has_client = True
    with open_store(store, create=writes) as opened:
        try:
            server_of(opened, writes=writes).run()
        except* BrokenPipeError:
            has_client = False
    if not has_client:
        raise BrokenPipeError


@contextmanager
def _importing() -> Iterator[None]:
    """Import modules without garbage collection; later collections skip what they have created, too."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
