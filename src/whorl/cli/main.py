"""Entry point of `whorl`: loads each subcommand only when it is called, and prints errors."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, NoReturn

import click
from click.exceptions import Exit

from whorl.cli.shared.single_value_options import SingleValueGroup
from whorl.errors import ParameterError, QueryError, WhorlError

#: Pause before Ctrl-C is sent again, in seconds.
_CALLBACK_SECONDS = 0.01
#: Each command with the first sentence of its help text.
_COMMANDS: Mapping[str, str] = {
    "compare": "Count exactly what two texts share, and show the passages, or the differences.",
    "delete": "Delete documents from a store, by their ids, paths or names, or by a query.",
    "demo": "Index real text found on this machine, and show the sources of a letter and similar documents.",
    "duplicates": "Find all near-duplicates in a store, or among the documents in PATHs, without a store.",
    "explain": "Print what a query would do, in words and numbers, and the exact request, without searching.",
    "fingerprint": "Print the fingerprint of FILE, or of standard input (-): the 512 tokens that Solr makes from the "
    "same text.",
    "index": "Put files and folders into a store.",
    "list": "List the documents of a store, in the order of their ids.",
    "mcp": "Let assistants use a store through the Model Context Protocol, on standard input and output.",
    "opensearch": "Look after an index of OpenSearch or Elasticsearch, or start a server to try out.",
    "search": "Search a store with a query.",
    "serve": "Serve HTTP: a page, whorl's routes under /api/v1 (see /openapi.json), and Alfresco's search under "
    "/alfresco.",
    "simhash": "Print the SimHash code of each document: 64 bits; near-duplicates differ in only a few.",
    "similar": "Find the documents that share content with a document, or with a text that is not in the store.",
    "solr": "Look after a Solr collection, or start a Solr to try out.",
    "sources": "Find the documents that a text comes from: a small set that covers as much of it as possible.",
    "status": "Print the state of a store: where it is, its engine, documents and size, and what is missing.",
    "upgrade": "Bring a store of an earlier version up to date.",
    "verify": "Check whether the quotations in a text are in the store, word for word, and where.",
}
_MODULES = {
    **dict.fromkeys(("fingerprint", "simhash"), "fingerprint_and_simhash"),
    **dict.fromkeys(("search", "explain"), "search_and_explain"),
    **dict.fromkeys(("serve", "mcp"), "serve_and_mcp"),
    **dict.fromkeys(("solr", "opensearch"), "solr_and_opensearch"),
    **dict.fromkeys(("status", "list", "delete", "upgrade"), "status_list_delete_upgrade"),
}
#: Function names of commands whose own name is a keyword or builtin function of Python.
_FUNCTIONS = {"list": "list_documents"}
_LONG_RUNNING = {"mcp", "serve"}
_STANDARD_OUTPUT = 1


class _Group(SingleValueGroup):
    """Imports commands when they run, and turns whorl's errors into one message and an exit code.

    The exit code is 2 for invalid input, else 1. `commands` holds only names and help texts, for the list of commands.
    """

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands:
            return None
        if cmd_name not in _LONG_RUNNING:
            # Commands create many objects and few reference cycles, so collect garbage rarely.
            gc.set_threshold(100_000, 50, 50)
        module = import_module(f"whorl.cli.{_MODULES.get(cmd_name, cmd_name)}")
        # Imported modules need no garbage collection.
        gc.freeze()
        command: click.Command = getattr(module, _FUNCTIONS.get(cmd_name, cmd_name))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands as click does, but without importing them."""
        limit = formatter.width - 6 - max(map(len, self.commands))
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit)) for name, command in self.commands.items()])

    def main(self, *args: Any, **extra: Any) -> Any:
        if sys.stdout is None:
            # The caller has closed standard output. Occupy its descriptor, so that the next opened file does not get
            # it; open for reading only, so that writes still fail.
            os.dup2(os.open(os.devnull, os.O_RDONLY), _STANDARD_OUTPUT)
            sys.stdout = open(_STANDARD_OUTPUT, "w", closefd=False)  # noqa: SIM115 - as long as the process
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A character that the terminal's encoding lacks, for example in an id, becomes a question mark.
            sys.stdout.reconfigure(errors="replace")
        # numpy's BLAS would take 0.07 s to start a thread on each core, but whorl multiplies no large matrices.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # Skip garbage collection at exit.
        atexit.register(gc.freeze)
        if sys.unraisablehook is sys.__unraisablehook__:
            sys.unraisablehook = _pass_on_interrupts
        return super().main(*args, **extra)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        # Click prints the help here, so printing can fail.
        with _report_errors():
            words = [*args[1]]
            context = super().make_context(*args, **extra)
            context.meta["whorl.words"] = words
            return context

    def invoke(self, ctx: click.Context) -> Any:
        with _report_errors():
            return super().invoke(ctx)


def _pass_on_interrupts(unraisable: sys.UnraisableHookArgs) -> None:
    """Send Ctrl-C again if it has interrupted a callback of the compiler; report other errors as usual.

    An exception in such a callback of LLVM is printed and ignored, so the command would continue.
    """
    module = getattr(unraisable.object, "__module__", None) or ""
    if issubclass(unraisable.exc_type, KeyboardInterrupt) and module.partition(".")[0] in ("llvmlite", "numba"):
        # Imported here, because few commands need these modules.
        import signal
        import threading

        # Wait until the callback has ended, which the signal would otherwise interrupt again.
        again = threading.Timer(_CALLBACK_SECONDS, signal.raise_signal, (signal.SIGINT,))
        if os.name == "posix":
            # `raise_signal` would not wake a main thread that waits.
            again.function, again.args = os.kill, (os.getpid(), signal.SIGINT)
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(unraisable)


@contextmanager
def _report_errors() -> Iterator[None]:
    try:
        yield
    except WhorlError as error:
        _print_error(error)
    except MemoryError as error:
        click.echo(f"whorl: {error or 'there is too little memory for this'}", err=True)
        raise Exit(1) from None
    except OSError as error:
        # Standard output may be closed. Discard its buffer, or Python reports an error at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            if isinstance(error.__context__, WhorlError):
                # Printing failed while a command's error was handled, so report the command's error.
                _print_error(error.__context__)
            # The reader (head, less) has closed the output because it needs no more, so this is not an error.
            raise Exit(0) from None
        click.echo(f"whorl: {'standard output is closed' if error.errno == errno.EBADF else error}", err=True)
        raise Exit(1) from None


def _print_error(error: WhorlError) -> NoReturn:
    from whorl.ingest.redact_addresses import redact_message
    from whorl.output.formatting import printable

    # A query error marks a position in the query. Redacting would move this position, so print the error unchanged.
    message = str(error) if isinstance(error, QueryError) else redact_message(str(error))
    code = 2 if isinstance(error, QueryError | ParameterError) else 1
    try:
        click.echo("\n".join(map(printable, f"whorl: {message}".split("\n"))), err=True)
    finally:
        raise Exit(code) from None


@click.group(
    cls=_Group,
    commands={name: click.Command(name, help=text) for name, text in _COMMANDS.items()},
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)
@click.version_option(package_name="whorl", prog_name="whorl")
@click.option("--config", metavar="FILE", type=click.Path(), help="Read settings from FILE instead of ./whorl.toml.")
def main(config: str | None) -> None:
    """Find the documents that share content with a document.

    Put documents in with `whorl index`, then ask for the documents that share content with one of them:

        whorl search 'FINGERPRINT:notes/a.md_50'
    """
    if config:
        from whorl.settings.settings import use_settings_file

        use_settings_file(config)
