"""Options derived from operations, options shared by several commands, and safe writing of output files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import IO, Any, TypeVar

import click
from click.core import ParameterSource

from whorl.errors import ParameterError
from whorl.operations import OptionField, options_of
from whorl.search.boilerplate import DEFAULT_ABOVE

_Operation = TypeVar("_Operation")

STORE = click.option(
    "--store",
    metavar="STORE",
    help="A Solr URL (http://host:8983/solr/NAME), one of an index (opensearch+http://host:9200/NAME), or a folder. "
    "Default: WHORL_STORE, or a folder of your own.",
)
SOURCE = click.option(
    "--source",
    "source_file",
    metavar="FILE",
    help="A file, or - for standard input, which the query calls FINGERPRINT:source; it need not be in the store.",
)
TEXT_COLUMN = click.option(
    "--text-column", metavar="COLUMN", help="The column, or key, with the texts in rows.  [default: text]"
)
ID_COLUMN = click.option(
    "--id-column",
    metavar="COLUMN",
    help="The column with the ids; '' for none. Rows without an id get one from file and row.  [default: id, if any]",
)
FOLLOW_LINKS = click.option(
    "--follow-links",
    is_flag=True,
    help="Follow symbolic links that lead out of the named folder, or out of the fixed part of a pattern.",
)
EXPLAIN = click.option("--explain", "explained", is_flag=True, help="Print the plan and the request as well.")

COMMON_ABOVE = click.option(
    "--common-above",
    metavar="LINE",
    help="Text in more documents of the store than this is common: a number (50) or a share (1%). Shows shares "
    "without it too.",
)
BOILERPLATE = click.option(
    "--boilerplate",
    "boilerplate_files",
    metavar="FILE",
    multiple=True,
    help="Text in this file is common; can be given several times.",
)


IGNORE_COMMON = click.option(
    "--ignore-common",
    is_flag=True,
    help="Count only what is not common, by default with --common-above 1%.",
)


def line_or_usual(above: str | None, boilerplate: Sequence[str], *, is_ignored: bool) -> str | None:
    """Return the limit above which text is common; the default if common text is ignored and no limit is given."""
    return DEFAULT_ABOVE if is_ignored and above is None and not boilerplate else above


def operation_options(operation: type[_Operation]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds an operation's options to a command, which gets them as its argument `options`."""
    declared = options_of(operation, "cli")

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def call(**values: Any) -> None:
            options = operation(**{each.name: values.pop(each.name) for each in declared})
            command(options=options, **values)

        decorated: Callable[..., None] = call
        for each in reversed(declared):
            decorated = _click_option(each)(decorated)
        return decorated

    return decorate


def _click_option(declared: OptionField) -> Callable[[Callable[..., None]], Callable[..., None]]:
    option = declared.option
    flag = f"--{declared.name_in('cli').replace('_', '-')}"
    how: dict[str, Any] = {"help": option.cli_help or option.help, "metavar": option.metavar}
    if declared.type is bool:
        how["is_flag"] = True
    elif declared.choices:
        how["type"] = click.Choice(declared.choices)
    elif declared.type is int:
        how["type"] = click.IntRange(*declared.limits)
    if declared.is_list:
        how |= {"multiple": True, "callback": partial(_require_length, declared.max_length)}
    elif declared.type is not bool and declared.default is not None:
        # Percentages stay text, so that they are read exactly.
        default = str(declared.default) if declared.is_percent else declared.default
        how |= {"default": default, "show_default": True}
    return click.option(flag, declared.name, **how)


def _require_length(
    most: int | None, context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    if most is not None and len(values) > most:
        raise click.BadParameter(f"at most {most} can be given", context, parameter)
    return values


def given_options(operation: type[Any]) -> list[str]:
    """Return the options of an operation that the user gave, as typed; of flags and texts only the names."""
    context = click.get_current_context()
    return [
        f"--{each.name_in('cli').replace('_', '-')}" + (f" {context.params[each.name]}" if each.choices else "")
        for each in options_of(operation, "cli")
        if context.get_parameter_source(each.name) is not ParameterSource.DEFAULT
    ]


def boilerplate_texts(names: Sequence[str], beside: Collection[str | None]) -> list[str]:
    """Return the boilerplate texts in files.

    Args:
        names: Files, or `-` for standard input.
        beside: Other inputs of the command.

    Raises:
        ParameterError: A file cannot be read or is not text, or standard input is named twice.
    """
    from whorl.ingest.files import source_text

    if "-" in names and [*names, *beside].count("-") > 1:
        raise ParameterError("- is standard input, which is read once; name a file beside it")
    return [source_text(name) for name in names]


def require_writable(target: Path, read: Collection[str] = ()) -> None:
    """Check that a file can be written, before hours of work.

    Args:
        target: The file.
        read: Input files, which the target must not replace.

    Raises:
        ParameterError: The file cannot be written, is a folder, or is one of the inputs.
    """
    if not target.name or target.is_dir():
        raise ParameterError(f"{target} is a folder; name a file to write to")
    if target.is_file() and any(_is_one(target, each) for each in read):
        raise ParameterError(f"{target} is what is read; name another file to write to")
    if target.exists() and not target.is_file():
        # Opening a pipe would block until it has a reader.
        return
    partial = _partial(target)
    try:
        partial.touch()
        partial.unlink()
    except OSError as error:
        raise ParameterError(f"{target} cannot be written: {error.strerror or error}") from error


@contextmanager
def written_file(output: Path | None, *, is_binary: bool = False) -> Iterator[IO[Any]]:
    """Open the output, standard output if None; a file replaces its target once it is complete.

    Args:
        output: The file.
        is_binary: Whether to write bytes, not text.

    Raises:
        ParameterError: The file cannot be written.
    """
    if output is None:
        yield sys.stdout
        # Flush here, so that an error is raised here and not at exit.
        sys.stdout.flush()
        return
    # A device or a pipe is written directly, and never replaced.
    is_file = output.is_file() or not output.exists()
    partial = _partial(output) if is_file else output
    try:
        with partial.open("wb") if is_binary else partial.open("w", encoding="utf-8", newline="\n") as out:
            yield out
        if is_file:
            # Links stay links.
            partial.replace(os.path.realpath(output))
    except OSError as error:
        raise ParameterError(f"{output} cannot be written: {error.strerror or error}") from error
    finally:
        if is_file:
            with suppress(OSError):
                partial.unlink()


def _is_one(target: Path, other: str) -> bool:
    try:
        return os.path.samefile(target, other)
    except (OSError, ValueError):
        return False


def _partial(target: Path) -> Path:
    # Several processes may write the same file at the same time; the last one wins.
    place = Path(os.path.realpath(target))
    return place.with_name(f"{place.name}.{os.getpid()}.part")
