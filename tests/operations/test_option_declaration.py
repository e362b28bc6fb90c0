"""Every front end has the options that operations declare, with the same defaults and bounds."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, fields
from inspect import signature
from pathlib import Path
from typing import Any

import click
import pytest
from mcp import Client
from starlette.testclient import TestClient

from tests.cli.running import whorl
from whorl import (
    CommonOptions,
    CompareOptions,
    Document,
    Duplicates,
    DuplicatesOptions,
    IndexOptions,
    PairOptions,
    QueryOptions,
    SearchOptions,
    SimilarOptions,
    SourcesOptions,
    Store,
    VerifyOptions,
    duplicates_among,
    open_store,
    simhash,
)
from whorl.cli.compare import compare
from whorl.cli.duplicates import duplicates
from whorl.cli.fingerprint_and_simhash import simhash as simhash_command
from whorl.cli.index import index
from whorl.cli.search_and_explain import explain, search
from whorl.cli.similar import similar
from whorl.cli.sources import sources
from whorl.cli.status_list_delete_upgrade import delete
from whorl.cli.verify import verify
from whorl.duplicates import passages_among
from whorl.errors import ParameterError
from whorl.mcp import server_of
from whorl.operations import (
    FRONT_ENDS,
    CompareOperation,
    DeleteOperation,
    DuplicatesOperation,
    ExplainOperation,
    FrontEnd,
    IndexOperation,
    OptionField,
    SearchOperation,
    SimhashOperation,
    SimilarOperation,
    SourcesOperation,
    VerifyOperation,
    all_operations,
    options_of,
)
from whorl.search.attribution.excluded_parts import Exclusion
from whorl.service.app import create_app

SIZES = {"a": 1, "b": 5, "c": 3}


@dataclass(frozen=True)
class Calls:
    """Command, path, tool and Python arguments of an operation; None for a front end that lacks it."""

    command: click.Command
    path: str | None
    tool: str | None
    python: set[str]


CALLS: dict[type[Any], Calls] = {
    SimilarOperation: Calls(similar, "similar", "similar", {*SimilarOptions.__annotations__}),
    SearchOperation: Calls(search, "search", "search", {*SearchOptions.__annotations__}),
    ExplainOperation: Calls(explain, "explain", "explain", {*QueryOptions.__annotations__}),
    SourcesOperation: Calls(sources, "sources", "sources", {*SourcesOptions.__annotations__}),
    VerifyOperation: Calls(verify, "verify", "verify", {*VerifyOptions.__annotations__}),
    CompareOperation: Calls(compare, "compare", "compare", {*CompareOptions.__annotations__}),
    DuplicatesOperation: Calls(
        duplicates,
        "duplicates",
        "duplicates",
        {
            *(field.name for cls in (DuplicatesOptions, PairOptions) for field in fields(cls)),
            *CommonOptions.__annotations__,
            *signature(duplicates_among).parameters,
            *signature(passages_among).parameters,
            *signature(Duplicates.clusters).parameters,
        },
    ),
    IndexOperation: Calls(
        index, "documents", "store_document", {*IndexOptions.__annotations__, *signature(open_store).parameters}
    ),
    DeleteOperation: Calls(delete, "delete", "delete_documents", {*signature(Store.delete_matching).parameters}),
    SimhashOperation: Calls(simhash_command, None, None, {*signature(simhash).parameters}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("operations") / "store")


@pytest.fixture(scope="module")
def store(folder: str):
    with open_store(folder) as opened:
        yield opened


def numbers(schema: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the bounds in a JSON schema."""
    return schema.get("minimum"), schema.get("exclusiveMinimum"), schema.get("maximum")


def declared_numbers(option: OptionField) -> tuple[Any, Any, Any]:
    return option.bounds.ge, option.bounds.gt, option.bounds.le


@pytest.mark.parametrize("operation", all_operations())
def test_each_option_is_in_every_front_end(described: Described, operation: type[Any]) -> None:
    """
    An option is missing in a front end only for a declared reason, and absent where it is declared to be absent.
    """
    calls = CALLS[operation]
    names = {"cli": {parameter.name for parameter in calls.command.params}, "python": calls.python}
    names |= {front_end: {*schema} for front_end, schema in schemas(described, calls).items()}
    for front_end in (front_end for front_end in FRONT_ENDS if front_end in names):
        # On the command line, click uses the field's name as the parameter's name.
        declared = {
            (option.name if front_end == "cli" else option.name_in(front_end)): front_end in option.absent
            for option in options_of(operation)
        }
        assert {name for name, is_absent in declared.items() if not is_absent} - names[front_end] == set()
        if front_end in ("http", "mcp"):
            absent = {name for name, is_absent in declared.items() if is_absent}
            assert absent & names[front_end] == set()
    assert all(reason for option in options_of(operation) for reason in option.absent.values())


def test_every_operation_has_its_front_ends() -> None:
    """
    If an operation has no route or no tool, each of its options has a reason for it.
    """
    assert CALLS.keys() == set(all_operations())
    for operation, calls in CALLS.items():
        for front_end, call in (("http", calls.path), ("mcp", calls.tool)):
            assert call or all(front_end in option.absent for option in options_of(operation))


@pytest.mark.parametrize("operation", all_operations())
def test_defaults_and_bounds_are_equal(described: Described, operation: type[Any]) -> None:
    """
    The command line, HTTP and MCP use the declared defaults and bounds, and describe each option.
    """
    calls = CALLS[operation]
    flags = {parameter.name: parameter for parameter in calls.command.params}
    for option in options_of(operation, "cli"):
        flag = flags[option.name]
        assert isinstance(flag, click.Option)
        assert flag.help
        if isinstance(flag.type, click.IntRange):
            assert (flag.type.min, flag.type.max) == (option.bounds.ge, option.bounds.le)
        if not option.is_list and not option.is_optional:
            assert str(flag.default) == str(option.default)
    for front_end, properties in schemas(described, calls).items():
        for option in options_of(operation, front_end):
            schema = properties[option.name_in(front_end)]
            assert schema["description"] == option.help
            # An optional number is described as "a number or null".
            schema = {**schema, **schema.get("anyOf", [{}])[0]}
            assert numbers(schema) == declared_numbers(option)
            assert schema.get("maxItems") == option.bounds.max_length
            assert schema.get("default") in (list(option.default) if option.is_list else option.default, "")


def test_declared_choices_equal_those_of_the_code() -> None:
    """
    The declared choices for parts of a text to leave out equal the parts that the search knows.
    """
    (without,) = (option for option in options_of(SourcesOperation) if option.name == "without")
    assert set(without.choices) == {part.value for part in Exclusion}


@dataclass(frozen=True)
class Described:
    """OpenAPI description of the service, and the schemas of the MCP tools by name."""

    http: dict[str, Any]
    tools: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def described(store: Store) -> Described:
    """Descriptions of the service and of the MCP server, made once because that takes seconds."""

    async def tools() -> dict[str, dict[str, Any]]:
        async with Client(server_of(store, writes=True)) as client:
            return {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}

    return Described(create_app(store).openapi(), asyncio.run(tools()))


def schemas(described: Described, calls: Calls) -> dict[FrontEnd, dict[str, Any]]:
    """Return the schemas of the options in HTTP bodies, HTTP addresses and MCP tools, if the operation has them."""
    found: dict[FrontEnd, dict[str, Any]] = {}
    if calls.path is not None:
        found["http"] = parameters_of(described.http, f"/api/v1/{calls.path}")
    if calls.tool is not None:
        found["mcp"] = described.tools[calls.tool]["properties"]
    return found


def parameters_of(described: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the schemas of a route's parameters and of the properties of its body, by name."""
    route = described["paths"][path]["post"]
    parameters = {
        parameter["name"]: {"description": parameter.get("description"), **parameter["schema"]}
        for parameter in route.get("parameters", [])
    }
    body = route.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None:
        parameters |= described["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]["properties"]
    return parameters


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
    The command line and HTTP give the same sorted and filtered hits; an invalid sort key and options of the other plan
    are errors.
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


@pytest.mark.parametrize("option", [{"metric": "within"}, {"common_above": "3"}, {"ignore_common": True}])
def test_options_of_the_other_plan(store: Store, folder: str, option: dict[str, Any]) -> None:
    """
    Every front end refuses options that tokens and bands lack, with the same message.
    """
    (name,) = option
    message = f"{name} means nothing for tokens and bands; choose the plan calibrated, or leave it out"
    with pytest.raises(ParameterError, match=message):
        store.search("word", **option)
    response = TestClient(create_app(store)).post("/api/v1/search", json={"query": "word", **option})
    assert response.status_code == 400
    assert message in response.text
    assert message in call_tool(store, "search", {"query": "word", **option})
    flag = f"--{name.replace('_', '-')}"
    values = [] if option[name] is True else [option[name]]
    refused = whorl("search", "word", "--store", folder, flag, *values)
    assert (refused.exit_code, refused.stderr) == (2, f"whorl: {message}\n")


def test_an_explanation_has_no_order(store: Store, folder: str) -> None:
    """
    No front end accepts a sort order, or one hit per cluster, for `explain`.
    """
    assert whorl("explain", "word", "--store", folder, "--sort", "name").exit_code == 2
    client = TestClient(create_app(store))
    assert client.post("/api/v1/explain", json={"query": "word", "sort": "name"}).status_code == 400
    assert client.get("/api/v1/explain?q=word&collapse=true").status_code == 400


def call_tool(store: Store, name: str, arguments: dict[str, Any]) -> str:
    """Return the text of a tool's answer."""

    async def called() -> str:
        async with Client(server_of(store)) as client:
            return str((await client.call_tool(name, arguments)).content)

    return asyncio.run(called())


def test_defaults_of_the_page() -> None:
    """
    The page's forms begin with the declared defaults.
    """
    page = Path(__file__).parents[2] / "src" / "whorl" / "service" / "page"
    html = (page / "index.html").read_text(encoding="utf-8")
    inputs = dict(re.findall(r'<input id="([\w-]+)" type="(?:range|number)"[^>]* value="(\d+)"', html))
    declared = {
        "sources-words": SourcesOperation.min_words,
        "recall": SimilarOperation.recall,
        "cluster-threshold": DuplicatesOperation.threshold,
        "cluster-recall": DuplicatesOperation.recall,
    }
    assert {name: int(inputs[name]) for name in declared} == declared
    choices = dict(re.findall(r'<select id="([\w-]+)">\s*<option value="(\w*)"', html))
    assert choices["cluster-metric"] == PairOptions().metric.value
    document = (page / "document.js").read_text(encoding="utf-8")
    assert f"const LEAST = {SimilarOperation.threshold}," in document
