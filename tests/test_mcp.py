"""The MCP tools, called by the SDK's own client."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client

from tests.sampling import sample
from whorl import Document, Store, open_store
from whorl.ingest.files import documents_in
from whorl.mcp import server_of
from whorl.request_context import require_time

ROOT = Path(__file__).parents[1]
LEASE, RENEWAL, MINUTES = "lease-2023.txt", "lease_2024.txt", "minutes.txt"
#: A long id of a document that a test stores.
LONG_ID = "long/" + "id" * 400
LETTER = (ROOT / "examples" / "letter.txt").read_text("utf-8")
READS = {"similar", "sources", "verify", "compare", "search", "duplicates", "document", "explain"}
WRITES = {"store_document", "delete_documents"}


def contracts() -> list[Document]:
    """Return the example contracts, whose ids are their file names."""
    with contextlib.chdir(ROOT / "examples" / "contracts"):
        return [
            document
            for path in sorted(Path().iterdir())
            for document in documents_in(path, lambda problem: pytest.fail(str(problem)))
        ]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT / "examples" / "contracts")
    with open_store(tmp_path / "store") as opened:
        opened.index(contracts())
        yield opened


def call_tool(server: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; return its answer, or its error message under "error"."""

    async def call() -> Any:
        async with Client(server) as client:
            return await client.call_tool(tool, arguments)

    result = asyncio.run(call())
    if result.is_error:
        return {"error": result.content[0].text}
    # Clients without structured answers read the same content as text, within the same limit.
    assert json.loads(result.content[0].text) == result.structured_content
    assert len(result.content[0].text) <= arguments.get("max_characters", 20_000)
    answer: dict[str, Any] = result.structured_content
    return answer


def test_references(store: Store) -> None:
    """
    Tools take a document by its id, by its id as a path, or by its name. A text of the store is not similar to itself,
    but it comes from the document that has it.
    """
    server = server_of(store)
    store.index([Document("x1", "seven silver spoons shine softly since sunday", "Spoons")])
    assert call_tool(server, "document", id="Spoons")["id"] == call_tool(server, "document", id="./x1")["id"] == "x1"
    by_id = call_tool(server, "similar", id=LEASE, threshold=20)
    assert call_tool(server, "similar", id=f"./{LEASE}", threshold=20)["hits"] == by_id["hits"] != []
    text = Path(LEASE).read_text("utf-8")
    by_text = call_tool(server, "similar", text=text, threshold=20)
    assert (by_text["hits"], by_text["warnings"]) == (by_id["hits"], [f"the text is in the store as {LEASE!r}"])
    sources = call_tool(server, "sources", text=text)
    assert [source["id"] for source in sources["sources"]] == [LEASE]
    assert call_tool(server, "compare", a_id="Spoons", b_id="x1")["jaccard"] == 1


def test_similar_documents(store: Store) -> None:
    """
    `similar` takes a document or a text, and returns the shares of verified hits.
    """
    server = server_of(store)
    body = call_tool(server, "similar", id=MINUTES, metric="a_in_b", threshold=10)
    assert [(hit["id"], hit["a_in_b"]) for hit in body["hits"]] == [(LEASE, 0.278481), (RENEWAL, 0.278481)]
    body = call_tool(server, "similar", text=LETTER, metric="a_in_b", threshold=0.1, filter="name:recipe.txt")
    assert [hit["id"] for hit in body["hits"]] == ["recipe.txt"]


def test_sources_and_passages(store: Store) -> None:
    """
    `sources` and `compare` give the results of the commands on the examples.
    """
    server = server_of(store)
    body = call_tool(server, "sources", text=LETTER)
    assert [source["id"] for source in body["sources"]] == [LEASE, "recipe.txt", RENEWAL]
    assert body["covered_words"] == 90
    compared = call_tool(server, "compare", a_id=MINUTES, b_id=LEASE)
    assert compared["shared_shingles"] == 22
    (passage,) = compared["passages"]
    assert passage["a"]["text"].startswith("The landlord keeps")
    assert call_tool(server, "compare", a_text=LETTER, b_text=LETTER)["jaccard"] == 1
    texts = {"a_text": "rent on the first day of May", "b_text": "no rent on the third day of May"}
    compared = call_tool(server, "compare", **texts, differences=True, start=1, rows=1)
    assert (compared["total_differences"], compared["total"]) == (2, 0)
    assert [found["a"]["text"] for found in compared["differences"]] == ["first"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("sources", {"id": MINUTES}),
        ("similar", {"text": LETTER}),
        ("compare", {"a_id": MINUTES, "b_id": LEASE}),
        ("verify", {"text": 'It says: "The landlord keeps the structure".'}),
        ("search", {"query": "rent"}),
        ("duplicates", {}),
    ],
)
def test_a_store_without_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any]
) -> None:
    """
    In a store without texts, the sources of a text are found; tools that need texts of documents say that it has none.
    """
    monkeypatch.chdir(ROOT / "examples" / "contracts")
    with open_store(tmp_path / "store", no_text=True) as store:
        store.index(
            document
            for path in sorted(Path().iterdir())
            for document in documents_in(path, lambda problem: pytest.fail(str(problem)))
        )
        server = server_of(store)
        sources = call_tool(server, "sources", text=LETTER)["sources"]
        assert LEASE in [source["id"] for source in sources]
        assert [hit["id"] for hit in call_tool(server, "search", query=f"name:{LEASE}")["hits"]] == [LEASE]
        assert "text" not in call_tool(server, "document", id=LEASE)
        assert "keeps no texts" in call_tool(server, tool, **arguments)["error"]


def test_quotations(store: Store) -> None:
    """
    `verify` takes a text or quotations with their sources, and pages through the verdicts. A text stands for a
    quotation without a source, and a single quotation for a list.
    """
    server = server_of(store)
    body = call_tool(server, "verify", text=LETTER, all=True, rows=2)
    assert body["total"] > 2
    assert len(body["quotations"]) == 2
    given = [{"quote": "the landlord keeps the structure", "source": "recipe.txt"}, {"quote": "the moon is green"}]
    body = call_tool(server, "verify", quotations=given)
    assert [quotation["verdict"] for quotation in body["quotations"]] == ["misattributed", "absent"]
    assert call_tool(server, "verify", text=json.dumps(given))["quotations"] == body["quotations"]
    quote = "the landlord keeps the structure"
    for short in (quote, [quote], {"quote": quote}):
        body = call_tool(server, "verify", quotations=short)
        assert [(each["quote"], each["verdict"]) for each in body["quotations"]] == [(quote, "exact")]
    # Assistants send null for arguments without a value.
    assert call_tool(server, "verify", text=LETTER, quotations=None) == call_tool(server, "verify", text=LETTER)
    assert "at most 1000" in call_tool(server, "verify", quotations=[quote] * 1001)["error"]


def test_words_clusters_and_documents(store: Store) -> None:
    """
    `search` takes a query, `clusters` covers the whole store, and `document` returns as much text as requested.
    """
    server = server_of(store)
    body = call_tool(server, "search", query=f'FINGERPRINT:"{LEASE}" AND NOT rent')
    assert [(hit["id"], hit["shared_tokens"]) for hit in body["hits"]] == [(MINUTES, 58)]
    body = call_tool(server, "duplicates", threshold=70)
    assert (body["documents"], body["total"]) == (4, 1)
    assert [member["id"] for member in body["clusters"][0]["members"]] == [LEASE, RENEWAL]
    for tool, more in (("duplicates", {}), ("similar", {"id": LEASE})):
        (warning,) = call_tool(server, tool, threshold=1, **more)["warnings"]
        assert warning.startswith("threshold 1 means 100 %")
    assert "text" not in call_tool(server, "document", id=LEASE, characters=0)
    text = Path(LEASE).read_text("utf-8")
    assert call_tool(server, "document", id=LEASE)["text"] == text
    assert call_tool(server, "document", id=LEASE, start=6)["text"] == text[6:]
    assert call_tool(server, "document", id=LEASE, characters=5)["text"] == "LEASE"


def test_later_pages_of_duplicates_use_the_result_again(store: Store) -> None:
    """
    Later pages are those of the first one's search, also after a new document; a first page searches again.
    """
    server, lease = server_of(store), Path(LEASE).read_text("utf-8")
    store.index([Document("a", "one " * 20), Document("b", "one " * 20)])
    pages = [call_tool(server, "duplicates", start=at, rows=1) for at in (0, 1)]
    store.index([Document("c", lease), Document("d", lease)])
    assert call_tool(server, "duplicates", start=1, rows=1)["clusters"] == pages[1]["clusters"] != []
    first = call_tool(server, "duplicates", rows=1)
    assert {member["id"] for member in first["clusters"][0]["members"]} == {LEASE, RENEWAL, "c", "d"}
    store.delete(["a"])
    assert call_tool(server, "duplicates", start=1, rows=1)["clusters"] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("similar", {}, "name one of the two: an id or a text"),
        ("similar", {"id": "a", "text": "b"}, "name one of the two"),
        ("similar", {"id": "nobody"}, "nobody"),
        ("similar", {"id": MINUTES, "metric": "cosine"}, "a_in_b"),
        ("similar", {"id": MINUTES, "threshold": 140}, "less than or equal to 100"),
        ("search", {"query": "FINGERPRINT:a_140"}, "the overlap must be above 0"),
        ("similar", {"id": MINUTES, "threshold": True}, "threshold: this is a number, not true or false"),
        ("similar", {"id": MINUTES, "rows": True}, "rows: this is a number, not true or false"),
        ("document", {"id": MINUTES, "start": True}, "start: this is a number, not true or false"),
        ("document", {"id": "nobody"}, "nobody"),
        ("compare", {"a_id": "nobody", "b_text": "x"}, "nobody"),
    ],
)
def test_error_messages(store: Store, tool: str, arguments: dict[str, Any], message: str) -> None:
    """
    Error messages tell an assistant how to correct the call.
    """
    assert message in call_tool(server_of(store), tool, **arguments)["error"]


def test_one_text_for_a_list(store: Store) -> None:
    """
    An option that is a list takes a single text as its only item.
    """
    server = server_of(store)
    for name, item in (("without", "quotations"), ("boilerplate", LETTER)):
        assert call_tool(server, "sources", text=LETTER, **{name: item}) == call_tool(
            server, "sources", text=LETTER, **{name: [item]}
        )


def test_properties_of_a_stored_document(store: Store) -> None:
    """
    Properties may be lists, or null for none; an error names the document and the property.
    """
    server = server_of(store, writes=True)
    properties = {"tags": ["rent", 3], "none": None, "final": True}
    assert call_tool(server, "store_document", id="note", text="a b c", properties=properties)["stored"] == 1
    assert store.document("note").properties == {"tags": ("rent", 3), "final": (True,)}
    error = call_tool(server, "store_document", id="note", text="a b c", properties={"tags": {"a": 1}})["error"]
    assert "property 'tags' of document 'note' must be text, numbers, true, false or a list of those" in error
    assert "\n" not in error


def test_the_end_of_a_long_text(store: Store) -> None:
    """
    Pages reach the end of a text of more than a million characters.
    """
    store.index([Document("long", "word " * 202_000)])
    server = server_of(store)
    page = call_tool(server, "document", id="long", start=990_000, characters=15_000)
    assert (page["next_start"], page["characters"]) == (1_005_000, 1_010_000)
    last = call_tool(server, "document", id="long", start=page["next_start"], characters=15_000)
    assert len(last["text"]) == 5_000
    assert "next_start" not in last


def test_writing_tools_must_be_enabled(store: Store) -> None:
    """
    The tools that write are missing by default; if enabled, they are annotated as writing.
    """

    async def tools(server: Any) -> dict[str, Any]:
        async with Client(server) as client:
            listed = (await client.list_tools()).tools
        assert all(tool.description for tool in listed)
        return {tool.name: tool.annotations and tool.annotations.read_only_hint for tool in listed}

    assert asyncio.run(tools(server_of(store))) == dict.fromkeys(READS, True)
    writing = server_of(store, writes=True)
    assert asyncio.run(tools(writing)) == {**dict.fromkeys(READS, True), **dict.fromkeys(WRITES, False)}
    text = "five words and one more"
    assert call_tool(writing, "store_document", id="note", text=text, properties={"type": "txt"})["stored"] == 1
    assert call_tool(writing, "search", query="type:txt")["total"] == 1
    assert call_tool(writing, "delete_documents", ids=["note"]) == {"matched": 1, "deleted": 1}
    assert "Unknown tool" in call_tool(server_of(store), "delete_documents", ids=[LEASE])["error"]
    assert store.count() == 4


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("similar", {"id": MINUTES, "treshold": 50}, "similar has no argument 'treshold'; did you mean 'threshold'?"),
        ("search", {"query": "lease", "xyz": 1}, "search has no argument 'xyz'. It has query, text, sort, "),
        ("document", {"id": MINUTES, "context": {}}, "document has no argument 'context'"),
    ],
)
def test_unknown_arguments_are_refused(store: Store, tool: str, arguments: dict[str, Any], message: str) -> None:
    """
    A mistyped argument is an error, not a call with the default.
    """
    assert message in call_tool(server_of(store), tool, **arguments)["error"]


def test_schemas_are_json_schema(store: Store) -> None:
    """
    Every tool accepts its declared defaults; bounds have the keywords of JSON Schema, and descriptions no indentation.
    """

    async def tools() -> list[Any]:
        async with Client(server_of(store, writes=True)) as client:
            return (await client.list_tools()).tools

    for tool in asyncio.run(tools()):
        assert "\n  " not in tool.description
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        for schema in tool.input_schema["properties"].values():
            assert not {"ge", "gt", "le", "lt"} & schema.keys()
            if "default" in schema:
                definitions = {"$defs": tool.input_schema.get("$defs", {})}
                jsonschema.validate(schema["default"], {**schema, **definitions})


@pytest.mark.parametrize("limit", [2_500, 100_000])
@pytest.mark.parametrize("step", [3, 12])
def test_pages_of_differences(store: Store, step: int, limit: int) -> None:
    """
    `next_start` leads to all passages and all differences, also if there are more of one, or if an answer is cut.
    """
    words = [f"word{number}" for number in range(240)]
    changed = [f"other{at}" if at % step == 0 else word for at, word in enumerate(words)]
    server = server_of(store)
    start: int | None = 0
    passages, differences = set[int](), set[int]()
    while start is not None:
        texts = {"a_text": " ".join(words), "b_text": " ".join(changed), "differences": True}
        answer = call_tool(server, "compare", **texts, start=start, max_characters=limit)
        passages |= {passage["a"]["start"] for passage in answer["passages"]}
        differences |= {difference["a"]["start"] for difference in answer["differences"]}
        start = answer.get("next_start")
    assert (len(passages), len(differences)) == (answer["total"], answer["total_differences"])
    assert differences == {len(" ".join([*words[:at], ""])) for at in range(0, 240, step)}


@pytest.mark.parametrize("text", ["[1, 2, 3]", "null", '{"a": "b"}', "12"])
def test_text_that_is_json(store: Store, text: str) -> None:
    """
    A text that happens to be JSON is compared as text.
    """
    answer = call_tool(server_of(store), "compare", a_text=text, b_text=text)
    assert answer["a"]["words"] == answer["b"]["words"] == len(text.split())


def test_answers_stay_within_their_limit(store: Store) -> None:
    """
    Each answer fits, says how much was left out, and its first items are those of the whole answer.
    """
    server = server_of(store)
    text = "\n".join(f"{LETTER} paragraph {number} of many" for number in range(160))
    store.index(Document(f"copy-{number}", f"{text} {number}", f"Copy {number}") for number in range(12))
    for tool, items, arguments in (
        ("compare", "passages", {"a_text": text, "b_id": LEASE}),
        ("sources", "sources", {"text": text}),
        ("similar", "hits", {"text": text, "rows": 100}),
        ("duplicates", "clusters", {"threshold": 50}),
        ("search", "hits", {"query": "lease OR paragraph", "rows": 100}),
        ("document", "text", {"id": "copy-1", "characters": 1_000_000}),
    ):
        whole = call_tool(server, tool, max_characters=1_000_000, **arguments)
        for limit in (2_000, 20_000, 100_000):
            answer = call_tool(server, tool, max_characters=limit, **arguments)
            assert len(json.dumps(answer, ensure_ascii=False)) <= limit, (tool, limit)
            assert len(json.dumps(whole)) <= limit or answer["left_out"], (tool, limit)
            if items == "text":
                assert whole[items].startswith(answer[items])
            else:
                assert [item.get("id") for item in answer[items]] == [
                    item.get("id") for item in whole[items][: len(answer[items])]
                ]
            assert next(iter(answer)) == "untrusted_content"


def strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each string in an answer with the keys that lead to it."""
    if isinstance(value, str):
        yield path, value
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from strings(inner, f"{path}.{key}")
    for inner in value if isinstance(value, list) else ():
        yield from strings(inner, path)


@pytest.fixture(scope="module")
def large_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with a long id, a long name, and many and wide properties, shared by tests that do not change it."""
    notes = {f"note{number}": f"{number} " * 100 for number in range(40)}
    tags: dict[str, list[str | int]] = {f"tag{number}": ["a", "b", "c", "d", number] for number in range(300)}
    with open_store(tmp_path_factory.mktemp("large") / "store") as opened:
        opened.index(
            [
                *contracts(),
                Document(LONG_ID, LETTER + " and more", "N" * 3_000, {"note": "x " * 900}),
                Document("many", "word " * 900, "Many", notes),
                Document("wide", "some words", "Wide", tags),
            ]
        )
        yield opened


@pytest.fixture(scope="module")
def large_server(large_store: Store) -> Any:
    return server_of(large_store)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("sources", {"id": MINUTES}),
        ("sources", {"id": LONG_ID}),
        ("similar", {"id": LONG_ID, "threshold": 1}),
        ("compare", {"a_id": LONG_ID, "b_id": LEASE}),
        ("verify", {"text": 'It says: "The landlord keeps the structure of the house". And "the moon is green"?'}),
        ("search", {"query": "rent OR landlord"}),
        ("duplicates", {"threshold": 50}),
        ("document", {"id": LONG_ID, "characters": 1_000_000}),
        ("document", {"id": "many", "characters": 1_000_000}),
        ("document", {"id": "wide"}),
    ],
)
@pytest.mark.parametrize("limit", [1_000, 1_300, 2_000])
def test_small_answers_have_whole_ids(large_server: Any, tool: str, arguments: dict[str, Any], limit: int) -> None:
    """
    Ids, levels and key words in a short answer are whole or missing. The answer says that its content is untrusted, and
    how much was left out.
    """
    whole = call_tool(large_server, tool, max_characters=1_000_000, **arguments)
    answer = call_tool(large_server, tool, max_characters=limit, **arguments)
    assert len(json.dumps(answer, ensure_ascii=False)) <= limit
    assert next(iter(answer)) == "untrusted_content"
    assert answer["untrusted_content"] == whole["untrusted_content"]
    assert (answer == whole) != ("left_out" in answer)
    known = set(strings(whole))
    for path, string in strings(answer):
        if not path.startswith(".properties.") and path.rpartition(".")[2] not in {"text", "quote", "query", "note"}:
            assert (path, string) in known


def test_the_level_of_a_text_fits_in_the_smallest_answer(store: Store) -> None:
    """
    An answer of 1,000 characters has the sources of a text and its level; only their passages are missing.
    """
    answer = call_tool(server_of(store), "sources", id=MINUTES, max_characters=1_000)
    assert answer["level"] == "medium"
    assert [source["id"] for source in answer["sources"]] == [LEASE]


def test_an_answer_without_room_for_an_item(store: Store) -> None:
    """
    If not even one item fits, the answer says so.
    """
    store.index([Document(LONG_ID, LETTER, "N" * 900)])
    answer = call_tool(server_of(store), "similar", text=LETTER + " and more", rows=1, max_characters=1_000)
    assert (answer["hits"], answer["left_out"]["hits"]) == ([], 1)
    assert answer["note"] == "max_characters is too small for one item of the list"


def test_pages_reach_every_item_once(store: Store) -> None:
    """
    Following next_start reaches every source, passage and character once.
    """
    server = server_of(store)
    text = " ".join(f"part {number} of {number * 7} parts is about lemma {number * 13}" for number in range(400))
    store.index([Document("long", text)])

    def pages(tool: str, items: str, **arguments: Any) -> list[Any]:
        collected: list[Any] = []
        start: int | None = 0
        while start is not None:
            answer = call_tool(server, tool, start=start, **arguments)
            collected += answer[items]
            start = answer.get("next_start")
        return collected

    assert "".join(pages("document", "text", id="long", characters=1_000_000, max_characters=3_000)) == text
    ids = [source["id"] for source in pages("sources", "sources", text=LETTER, rows=1)]
    assert ids == [LEASE, "recipe.txt", RENEWAL]


def test_progress_of_long_work(store: Store) -> None:
    """
    sources reports its steps to a client that asks for them.
    """
    steps: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append(f"{message}: {progress:g} of {total}")

    async def call() -> Any:
        async with Client(server_of(store)) as client:
            return await client.call_tool("sources", {"text": LETTER}, progress_callback=note)

    assert not asyncio.run(call()).is_error
    assert [step for step in steps if step.startswith("comparing: ")]


def test_work_ends_with_its_request(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A call that the assistant gave up stops at its next check.
    """
    started, stopped = threading.Event(), threading.Event()

    def endless(*args: object, **options: object) -> None:
        started.set()
        try:
            while True:
                require_time()
        finally:
            stopped.set()

    monkeypatch.setattr(store, "sources", endless)

    async def call() -> None:
        async with Client(server_of(store)) as client:
            call = asyncio.create_task(client.call_tool("sources", {"text": LETTER}))
            await asyncio.to_thread(started.wait, 240)
            call.cancel()
            assert await asyncio.to_thread(stopped.wait, 240)

    asyncio.run(call())


@pytest.mark.process
@pytest.mark.parametrize(
    ("text", "id_"), sample([('"\\ud800"', 7), ('"\\udc00 x"', "seven"), ("nonsense", None), ('"a"', "\ud800")], 2)
)
def test_every_line_is_answered(tmp_path: Path, text: str, id_: int | str | None) -> None:
    """
    Half a surrogate pair in an argument, and a line that is not JSON, get an error; the next request is answered.
    """
    initialize = {
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    lines = [
        json.dumps(initialize),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        f'{{"jsonrpc": "2.0", "id": {json.dumps(id_)}, "method": "tools/call", '
        f'"params": {{"name": "similar", "arguments": {{"text": {text}}}}}}}',
        json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/list"}),
    ]
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", LETTER)])
    process = subprocess.Popen(
        [Path(sys.executable).with_name("whorl"), "mcp", "--store", str(tmp_path / "store")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.stdin.close()
    by_id = {answer.get("id"): answer for answer in answers}
    # An id that cannot be written is answered as null.
    id_ = None if id_ == "\ud800" else id_
    assert by_id.keys() == {0, id_, 9}
    assert by_id[id_]["error"]["code"] == -32700
    assert "tools" in by_id[9]["result"]
    assert process.returncode == 0


@pytest.mark.process
def test_a_client_that_ends(tmp_path: Path) -> None:
    """
    If the client ends before an answer, the server ends, too, without a traceback.
    """
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", LETTER)])
    process = subprocess.Popen(
        [Path(sys.executable).with_name("whorl"), "mcp", "--store", str(tmp_path / "store")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "ping"}) + "\n")
        process.stdin.close()
        assert "Traceback" not in process.stderr.read()
    assert process.returncode == 0


def test_a_document_with_too_many_properties(store: Store) -> None:
    """
    The error names the document and the limit.
    """
    properties = {f"n{number}": number for number in range(1001)}
    answer = call_tool(server_of(store, writes=True), "store_document", id="many", text="x", properties=properties)
    assert "'many' has 1,001 properties" in answer["error"]
    assert "takes 1,000 of one document (setting max_properties)" in answer["error"]


def test_errors_stay_short(store: Store) -> None:
    """
    Errors shorten long ids, names and values.
    """
    long = "x" * 100_000
    server = server_of(store, writes=True)
    for tool, arguments, message in (
        ("document", {"id": long}, "the store has no document"),
        ("similar", {"id": MINUTES, long: 1}, "similar has no argument"),
        ("search", {"query": f"{long[:60_000]}:word"}, "no field"),
        ("search", {"query": f"created:[{long[:60_000]} TO NOW]"}, ""),
        ("similar", {"id": MINUTES, "metric": long}, "metric: Input should be 'containment'"),
        ("store_document", {"id": "a", "text": "b", "properties": {long: {}}}, "must be text, numbers"),
        ("store_document", {"id": "a", "text": "b", "properties": {f"\n{long}": 1}}, "control characters"),
        (long, {}, "Unknown tool"),
    ):
        error = call_tool(server, tool, **arguments)["error"]
        assert message in error
        assert len(error) < 1_000
