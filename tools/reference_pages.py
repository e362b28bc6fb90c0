"""Generates reference pages: every command's help, every option, every public name, every route."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import click

import whorl
from whorl.cli import simhash_cpp_commands
from whorl.cli.main import main
from whorl.operations import FRONT_ENDS, all_operations, options_of

_WIDTH = 100
_FRONT_ENDS = {"cli": "on the command line", "http": "over HTTP", "mcp": "in MCP", "python": "in Python"}


def commands() -> Iterator[str]:
    """Yield Markdown with the help of every command, under its name."""
    context = click.Context(main, info_name="whorl", terminal_width=_WIDTH, **main.context_settings)
    yield from _below(context)
    for name, command in (
        ("simhash-find-all", simhash_cpp_commands.find_all),
        ("simhash-find-clusters", simhash_cpp_commands.find_clusters),
    ):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            command(["--help"])
        yield _help(name, output.getvalue())


def _below(context: click.Context) -> Iterator[str]:
    command = context.command
    if not isinstance(command, click.Group):
        yield _help(context.command_path, command.get_help(context))
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from _below(click.Context(below, parent=context, info_name=name, terminal_width=_WIDTH))


def _help(name: str, text: str) -> str:
    return f"## {name}\n\n```text\n{text.rstrip()}\n```\n"


def options() -> Iterator[str]:
    """Yield Markdown with each operation's options: their names in every front end, or the reason why it lacks them."""
    for operation in all_operations():
        name = operation.__name__.removesuffix("Operation").lower()
        yield f"## {name}\n\n| command line | HTTP | MCP | Python | default | |\n|---|---|---|---|---|---|"
        reasons: dict[str, list[str]] = {}
        for option in options_of(operation):
            cells = [
                ""
                if front_end in option.absent
                else f"`{option.flag if front_end == 'cli' else option.name_in(front_end)}`"
                for front_end in FRONT_ENDS
            ]
            default = "" if option.default in (None, (), False) else f"`{option.default}`"
            yield f"| {' | '.join(cells)} | {default} | {option.cli_help or option.help} |"
            for front_end, reason in option.absent.items():
                reasons.setdefault(f"{_FRONT_ENDS[front_end]}: {reason}", []).append(f"`{option.name}`")
        yield ""
        yield from (f"- {', '.join(names)}, not {reason}." for reason, names in reasons.items())
        yield ""


def python() -> Iterator[str]:
    """Yield Markdown whose directives document every public name, by kind."""
    public = {name: getattr(whorl, name) for name in whorl.__all__}
    errors = {name for name, value in public.items() if isinstance(value, type) and issubclass(value, Exception)}
    classes = {name for name, value in public.items() if isinstance(value, type)} - errors
    for title, names, directive in (
        ("Functions", public.keys() - classes - errors, "autofunction:: whorl.{}\n"),
        ("Classes", classes, "autoclass:: whorl.{}\n   :members:\n   :undoc-members:\n"),
        ("Errors", errors, "autoexception:: whorl.{}\n   :show-inheritance:\n"),
    ):
        blocks = [f".. {directive.format(name)}" for name in sorted(names, key=str.casefold)]
        yield "\n".join([f"## {title}\n\n```{{eval-rst}}", *blocks, "```\n"])


def routes() -> Iterator[str]:
    """Yield Markdown that describes every route of the service and its parameters."""
    from whorl.service.app import create_app

    with tempfile.TemporaryDirectory() as folder, whorl.open_store(folder) as store:
        described = create_app(store).openapi()
    schemas = described["components"]["schemas"]
    for path, methods in described["paths"].items():
        for method, about in methods.items():
            rows = [
                (parameter["name"], parameter["schema"], parameter["in"] == "path" or parameter.get("required", False))
                for parameter in about.get("parameters", [])
            ]
            for content in about.get("requestBody", {}).get("content", {}).values():
                body = _resolved(content["schema"], schemas)
                rows += (
                    [(name, schema, name in body.get("required", [])) for name, schema in body["properties"].items()]
                    if "properties" in body
                    else []
                )
            yield f"## {method.upper()} {path}\n\n{about.get('description', '')}\n"
            if rows:
                yield "| parameter | type | default |\n|---|---|---|"
                yield "\n".join(
                    f"| `{name}` | {_type(schema, schemas)} | {_default(schema, is_required=must)} |"
                    for name, schema, must in rows
                )
                yield ""


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    resolved: Mapping[str, Any] = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return resolved


def _type(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """Return a JSON schema in words for a table cell."""
    schema = _resolved(schema, schemas)
    if choices := schema.get("anyOf"):
        return " or ".join(_type(choice, schemas) for choice in choices)
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'], schemas)}"
    if "properties" in schema:
        return "object with " + ", ".join(f"`{name}`" for name in schema["properties"])
    kind = str(schema.get("type", "anything"))
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    if low is None or high is None:
        return kind
    above = "above " if "exclusiveMinimum" in schema else ""
    return f"{kind}, {above}{int(low):,} to {int(high):,}"


def _default(schema: Mapping[str, Any], *, is_required: bool) -> str:
    if is_required:
        return "required"
    default = schema.get("default")
    if default in (None, "", []):
        return ""
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


#: Page that replaces a line `% generated: NAME`.
PAGES = {"commands": commands, "options": options, "python": python, "routes": routes}
