"""The command line: a group of commands, each in a module of its own that is imported when it is asked for."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import click
from click.exceptions import Exit

from whorl.errors import ParameterError, QueryError, WhorlError

#: The commands, each with what the list of commands says of it: the first sentence of its own help.
_COMMANDS: Mapping[str, str] = {
    "compare": "Count exactly what two texts share, and show the passages.",
    "delete": "Delete documents from a store, by their ids or by a query.",
    "demo": "Index real text found on this machine and ask three FINGERPRINT queries about it.",
    "duplicates": "Find all near-duplicates in a store, or among the documents in PATHs, without a store.",
    "explain": "Print what a query would do, in words and numbers, and the exact request, without searching.",
    "fingerprint": "Print the fingerprint of FILE, or of standard input (-): the 512 tokens that Solr makes of the "
    "same text.",
    "index": "Put files and folders into a store.",
    "mcp": "Let assistants use a store through the Model Context Protocol, on standard input and output.",
    "opensearch": "Look after an index of OpenSearch or Elasticsearch, or start an OpenSearch to try out.",
    "search": "Search a store with a query.",
    "serve": "Serve HTTP: a page, whorl's routes under /api/v1 (see /openapi.json), and Alfresco's search under "
    "/alfresco.",
    "simhash": "Print the SimHash code of each document: 64 bits, and those of near-duplicates differ in few.",
    "similar": "Find the documents that share content with document ID, or with a text that is not in the store.",
    "solr": "Look after a Solr collection, or start a Solr to try out.",
    "sources": "Find the documents that a text comes from: a small set that covers as much of it as possible.",
    "upgrade": "Bring a store of an earlier version up to date.",
}
#: The modules of commands that do not stand in one of their own name.
_MODULES = {"explain": "search"}
#: Its number.
_STANDARD_OUTPUT = 1


class _Group(click.Group):
    """Imports a command when it is called; makes of every error raised on purpose one message and an exit code.

    The exit code is 2 for what was typed, 1 for the rest. `commands` holds names and help alone, for the list of
    commands and for what a mistyped name may have meant.
    """

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands:
            return None
        module = import_module(f"whorl.cli.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands as click does, but import none of them for it."""
        limit = formatter.width - 6 - max(map(len, self.commands))
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(limit)) for name, each in self.commands.items()])

    def main(self, *args: Any, **extra: Any) -> Any:
        if sys.stdout is None:
            # Closed by whoever started this. What is written fails then, and no other file gets its number.
            os.dup2(os.open(os.devnull, os.O_RDONLY), _STANDARD_OUTPUT)
            sys.stdout = open(_STANDARD_OUTPUT, "w", closefd=False)  # noqa: SIM115 - as long as the process
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A bar or an id that the terminal's encoding lacks becomes a question mark, not the end.
            sys.stdout.reconfigure(errors="replace")
        return super().main(*args, **extra)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        # Here --help is written.
        with _told():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _told():
            return super().invoke(ctx)


@contextmanager
def _told() -> Iterator[None]:
    """Tell errors, and exit."""
    try:
        yield
    except WhorlError as error:
        from whorl.wire.text import printable

        click.echo("\n".join(map(printable, f"whorl: {error}".split("\n"))), err=True)
        raise Exit(2 if isinstance(error, QueryError | ParameterError) else 1) from None
    except OSError as error:
        # Nobody takes the output: what is still in the buffer goes nowhere, or Python complains at its end.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            # The reader (head, less) has seen enough.
            raise Exit(0) from None
        click.echo(f"whorl: {'standard output is closed' if error.errno == errno.EBADF else error}", err=True)
        raise Exit(1) from None


@click.group(
    cls=_Group,
    commands={name: click.Command(name, help=text) for name, text in _COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="whorl")
def main() -> None:
    """Find the documents that share content with a document.

    Put documents in with `whorl index`, then ask for those that share content with one of them:

        whorl search 'FINGERPRINT:notes/a.md_50'
    """
