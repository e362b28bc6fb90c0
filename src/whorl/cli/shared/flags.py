"""Generates command-line flags from `whorl.operations`, and defines flags that several commands share."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial, wraps
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from whorl.cli.shared.single_value_options import SingleValueCommand
from whorl.errors import ParameterError, without_login
from whorl.operations import Boilerplate, OptionField, changed_options, options_of

_Boilerplate = TypeVar("_Boilerplate", bound=Boilerplate)

#: Key of the command line's arguments in click's context.
WORDS = "whorl.words"


STORE = click.option(
    "--store",
    metavar="STORE",
    help="A Solr URL (http://host:8983/solr/NAME), one of an index (opensearch+http://host:9200/NAME), or a folder. "
    "Default: WHORL_STORE, or a folder of your own.",
)
SOURCE_FILE = click.option(
    "--source",
    "source_file",
    metavar="FILE",
    help="A file, or - for standard input, which the query calls FINGERPRINT:source; it need not be in the store.",
)
EXPLAIN = click.option("--explain", "explained", is_flag=True, help="Print the plan and the request as well.")
HTML = click.option(
    "--html", metavar="FILE", help="Write a report to read, print and send: a single file that loads nothing."
)


def store_place(name: str | None) -> str:
    """Return the name of a store (None: the configured store) for messages, without a password."""
    from whorl.settings.settings import Settings

    return without_login(name or Settings.load().store)


def store_flag(name: str | None) -> str:
    """Return ` --store NAME` for a command in a message; "" for the configured store."""
    return "" if name is None else f" --store {shlex.quote(without_login(name))}"


class PassagesCommand(SingleValueCommand):
    """Click command that reads `--passages` without a number as `--passages=20`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--passages" not in args:
            return super().parse_args(ctx, args)
        # Imported here, because this module loads numpy.
        from whorl.fingerprint.winnowing import PassageScheme

        following = [*args, ""][1:]
        words = [
            f"{word}={PassageScheme().run_words}" if word == "--passages" and not after.isdecimal() else word
            for word, after in zip(args, following, strict=True)
        ]
        return super().parse_args(ctx, words)


def operation_options(operation: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds an operation's options to a command, as its argument `options`."""
    declared = options_of(operation, "cli")

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def call(**values: Any) -> None:
            options = operation(**{option.name: values.pop(option.name) for option in declared})
            command(options=options, **values)

        decorated: Callable[..., None] = call
        for option in reversed(declared):
            decorated = _click_option(option)(decorated)
        return decorated

    return decorate


def operation_option(operation: type[Any], name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds one option of an operation to another command."""
    (declared,) = (option for option in options_of(operation, "cli") if option.name == name)
    return _click_option(declared)


def _click_option(declared: OptionField) -> Callable[[Callable[..., None]], Callable[..., None]]:
    flags = [declared.flag] if declared.short is None else [declared.short, declared.flag]
    how: dict[str, Any] = {"help": declared.cli_help or declared.help, "metavar": declared.metavar}
    if declared.type is bool:
        how |= {"is_flag": True, "default": declared.default}
    elif declared.choices:
        how["type"] = click.Choice(declared.choices)
    elif declared.type is int:
        how["type"] = click.IntRange(declared.bounds.ge, declared.bounds.le)
    if declared.is_list:
        how |= {"multiple": True, "callback": partial(_require_length, declared.bounds.max_length)}
    elif declared.type is not bool and declared.default is not None:
        # Percentages stay text, so that they are parsed exactly.
        default = str(declared.default) if declared.is_percent else declared.default
        how |= {"default": default, "show_default": True}
    return click.option(*flags, declared.name, **how)


def _require_length(
    most: int | None, context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    if most is not None and len(values) > most:
        raise click.BadParameter(f"at most {most} can be given", context, parameter)
    return values


def require_default(options: Any, names: Collection[str], reason: str) -> None:
    """Raise ParameterError with the flag and `reason` if the user has set one of the named options."""
    context = click.get_current_context(silent=True)
    changed = {option.name for option in changed_options(options)}
    for option in options_of(type(options)):
        # The option has no effect here, so it is refused even with its default value.
        is_given = context is not None and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        if option.name in names and (is_given or option.name in changed):
            flag, value = option.flag.partition("/")[0], getattr(options, option.name)
            raise ParameterError(f"{flag} {value} {reason}" if option.choices else f"{flag} {reason}")


def with_boilerplate_texts(options: _Boilerplate, others: Collection[str | None]) -> _Boilerplate:
    """Return the options with the texts of the boilerplate files; raise ParameterError if a file is unreadable.

    Only one of these files and `others` may be `-`.
    """
    if not options.boilerplate:
        return options
    from whorl.ingest.files import source_text

    if "-" in options.boilerplate and [*options.boilerplate, *others].count("-") > 1:
        raise ParameterError("- is standard input, which is read once; name a file beside it")
    return replace(options, boilerplate=tuple(map(source_text, options.boilerplate)))
