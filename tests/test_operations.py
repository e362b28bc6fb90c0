"""Every front end has the options that operations declare, with the same defaults and bounds."""

from __future__ import annotations

import asyncio
import json
from inspect import signature
from pathlib import Path
from typing import Any

import click
import pytest
from annotated_types import Gt
from mcp import Client
from starlette.testclient import TestClient

from tests.cli.running import whorl
from whorl import Document, QueryOptions, SimilarOptions, Store, open_store
from whorl.cli.search import search
from whorl.cli.similar import similar
from whorl.mcp import server_of
from whorl.operations import FRONT_ENDS, OPERATIONS, OptionField, SearchOperation, SimilarOperation, options_of
from whorl.search.prepared import PreparedQuery
from whorl.service.app import create_app

SIZES = {"a": 1, "b": 5, "c": 3}
#: Command, path, tool, and function with TypedDict of each operation's options.
CALLS: dict[type[Any], tuple[click.Command, str, str, set[str]]] = {
    SimilarOperation: (
        similar,
        "/api/v1/similar",
        "similar",
        {*SimilarOptions.__annotations__, "exact", "start", "rows"},
    ),
    SearchOperation: (
        search,
        "/api/v1/search",
        "search",
        {*QueryOptions.__annotations__, *signature(PreparedQuery.search).parameters},
    ),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory):
    with open_store(tmp_path_factory.mktemp("operations") / "store") as opened:
        yield opened


def numbers(schema: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the bounds in a JSON schema."""
    return schema.get("minimum"), schema.get("exclusiveMinimum"), schema.get("maximum")


def declared_numbers(option: OptionField) -> tuple[Any, Any, Any]:
    above = next((each.gt for each in option.bounds if isinstance(each, Gt)), None)
    return option.limits[0], above, option.limits[1]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_option_is_in_every_front_end(store: Store, operation: type[Any]) -> None:
    """
    A front end lacks an option only for a declared reason.
    """
    command, path, tool, python = CALLS[operation]
    body = body_schema(store, path)["properties"]
    names = {"cli": {each.name for each in command.params}, "http": set(body), "python": python}
    names["mcp"] = set(tool_schema(store, tool)["properties"])
    for front_end in FRONT_ENDS:
        declared = options_of(operation, front_end)
        # click keeps the name of the field as the parameter's name.
        expected = {each.name if front_end == "cli" else each.name_in(front_end) for each in declared}
        assert expected - names[front_end] == set()
    for option in options_of(operation):
        assert all(option.option.absent.values())


@pytest.mark.parametrize("operation", OPERATIONS)
def test_defaults_and_bounds_are_equal(store: Store, operation: type[Any]) -> None:
    """
    The command line, HTTP and MCP use the declared defaults and bounds, and describe each option.
    """
    command, path, tool, _ = CALLS[operation]
    flags = {each.name: each for each in command.params}
    for option in options_of(operation, "cli"):
        flag = flags[option.name]
        assert isinstance(flag, click.Option)
        assert flag.help
        if isinstance(flag.type, click.IntRange):
            assert (flag.type.min, flag.type.max) == option.limits
        if not option.is_list and option.type is not bool and not option.is_optional:
            assert str(flag.default) == str(option.default)
    for front_end, schemas in (
        ("http", body_schema(store, path)["properties"]),
        ("mcp", tool_schema(store, tool)["properties"]),
    ):
        for option in options_of(operation, front_end):  # type: ignore[arg-type]
            schema = schemas[option.name_in(front_end)]  # type: ignore[arg-type]
            assert schema["description"] == option.option.help
            assert numbers(schema) == declared_numbers(option)
            assert schema.get("maxItems") == option.max_length
            assert schema.get("default") in (list(option.default) if option.is_list else option.default, "")


def body_schema(store: Store, path: str) -> dict[str, Any]:
    """Return the schema of a route's body."""
    described = create_app(store).openapi()
    reference = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    schema: dict[str, Any] = described["components"]["schemas"][reference.rpartition("/")[2]]
    return schema


def tool_schema(store: Store, name: str) -> dict[str, Any]:
    """Return the schema of a tool's arguments."""

    async def schemas() -> dict[str, dict[str, Any]]:
        async with Client(server_of(store, writes=True)) as client:
            return {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}

    return asyncio.run(schemas())[name]


def test_values_beyond_the_bounds(tmp_path: Path) -> None:
    """
    More boilerplate files than declared are an error of usage.
    """
    given = [word for _ in range(101) for word in ("--boilerplate", "x")]
    result = whorl("similar", "a", "--store", str(tmp_path), *given)
    assert result.exit_code == 2
    assert "at most 100 can be given" in result.stderr


def test_search_sorts_and_filters(tmp_path: Path) -> None:
    """
    The command line and HTTP sort and filter alike; an invalid sort key, and options of the other plan, are errors.
    """
    folder = tmp_path / "store"
    with open_store(folder) as opened:
        opened.index(Document(name, f"one word {name}", properties={"size": size}) for name, size in SIZES.items())
        client = TestClient(create_app(opened))
        body = {"query": "word", "sort": "size desc", "filter": "size:[2 TO 9]"}
        over_http = client.post("/api/v1/search", json=body)
        assert [hit["id"] for hit in over_http.json()["hits"]] == ["b", "c"]
        assert client.post("/api/v1/search", json={"query": "a", "sort": "size up"}).status_code == 400
    words = ("search", "word", "--store", str(folder), "--json")
    shown = whorl(*words, "--sort", "size desc", "--filter", "size:[2 TO 9]")
    assert [hit["id"] for hit in json.loads(shown.stdout)["hits"]] == ["b", "c"]
    refused = whorl(*words, "--metric", "within")
    assert (refused.exit_code, refused.stderr) == (2, "whorl: --metric within is for --plan calibrated; add it\n")
