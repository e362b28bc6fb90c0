"""The command line: a group of commands, each in a module of its own that is imported when it is asked for."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from importlib import import_module
from typing import Any

import click

from whorl.errors import ParameterError, QueryError, WhorlError

#: The commands, each with the module that it stands in.
_MODULES = {
    name: "search" if name == "explain" else name
    for name in (
        *("compare", "delete", "demo", "duplicates", "explain", "fingerprint", "index", "search", "serve"),
        *("simhash", "similar", "solr"),
    )
}


class _Group(click.Group):
    """Turns every error raised on purpose into one message and an exit code: 2 for what was typed, 1 for the rest."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        command: click.Command = getattr(import_module(f"whorl.cli.{_MODULES[cmd_name]}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A bar or an id that the terminal's encoding lacks becomes a question mark, not the end.
            sys.stdout.reconfigure(errors="replace")
        try:
            return super().invoke(ctx)
        except WhorlError as error:
            from whorl.wire.text import printable

            click.echo("\n".join(map(printable, f"whorl: {error}".split("\n"))), err=True)
            ctx.exit(2 if isinstance(error, QueryError | ParameterError) else 1)
        except OSError as error:
            # Nobody takes the output: what is still in the buffer goes nowhere, or Python complains at its end.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):
                # The reader (head, less) has seen enough.
                ctx.exit(0)
            click.echo(f"whorl: {error}", err=True)
            ctx.exit(1)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="whorl")
def main() -> None:
    """Find the documents that share content with a document.

    Put documents in with `whorl index`, then ask for those that share content with one of them:

        whorl search 'FINGERPRINT:notes/a.md_50'
    """
