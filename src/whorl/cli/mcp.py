"""Command `whorl mcp`: serves a store to assistants."""

from __future__ import annotations

import click

from whorl.cli.options import STORE
from whorl.errors import ParameterError
from whorl.store import open_store


@click.command()
@STORE
@click.option("--write", "writes", is_flag=True, help="Also let the assistant store and delete documents.")
def mcp(store: str | None, writes: bool) -> None:
    """Let assistants use a store through the Model Context Protocol, on standard input and output.

    An assistant's program starts it, for instance from its list of servers:

        {"mcpServers": {"whorl": {"command": "whorl", "args": ["mcp", "--store", "/path/to/store"]}}}

    It can ask for similar documents, sources of a text, comparisons, searches and clusters. Nothing is changed without
    --write.
    """
    try:
        from whorl.mcp import server_of
    except ModuleNotFoundError as error:
        raise ParameterError("for assistants install: pip install 'whorl[mcp]'") from error

    with open_store(store, create=writes) as opened:
        server_of(opened, writes=writes).run()
