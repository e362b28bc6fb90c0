"""Setup of collections made and filled by others: `check`, `init` and `backfill`."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from solr_cloud import create_collection, delete_collection
from tests.cli.running import run_page
from tests.engine.solr.bare import Collections, codes, schema_of
from tests.plain import plain_minima, plain_tokens
from whorl import Document, Store, open_store
from whorl.cli.main import main
from whorl.engine.check_findings import Severity
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.add_missing_fields import _config_steps, initialise
from whorl.engine.solr.backfill_and_labels import backfill
from whorl.engine.solr.check_collection import check
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import SolrEngine
from whorl.errors import SchemaError
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.words.tokenizer import tokens

SCHEMA = """<schema name="others" version="1.6"><uniqueKey>id</uniqueKey>
<field name="id" type="string" indexed="true" stored="true" required="true"/>
<field name="_version_" type="plong" indexed="false" stored="false" docValues="true"/>
<fieldType name="string" class="solr.StrField" docValues="true"/>
<fieldType name="plong" class="solr.LongPointField" docValues="true"/>
<fieldType name="text_general" class="solr.TextField" positionIncrementGap="100" multiValued="{several}">
<analyzer><tokenizer class="solr.StandardTokenizerFactory"/><filter class="solr.LowerCaseFilterFactory"/></analyzer>
</fieldType>
{more}</schema>"""
#: The defaults of /select are those of Solr's own `_default`.
CONFIG = """<config><luceneMatchVersion>{version}</luceneMatchVersion>
<schemaFactory class="ManagedIndexSchemaFactory"><bool name="mutable">true</bool>
<str name="managedSchemaResourceName">managed-schema.xml</str></schemaFactory>
<updateHandler class="solr.DirectUpdateHandler2"><updateLog/></updateHandler>
<requestHandler name="/select" class="solr.SearchHandler"><lst name="defaults">
<str name="echoParams">explicit</str><str name="indent">true</str><int name="rows">10</int></lst></requestHandler>
</config>"""
WORDS = [f"word{number}" for number in range(700)]
TEXTS = {
    "a": " ".join(WORDS),
    "b": " ".join([*WORDS[:600], *(f"other{number}" for number in range(100))]),
    "c": "nothing of that is in here, but some other words that nobody else has",
    "few": "three words only",
}

Run = Callable[..., str]


@pytest.fixture
def make(solr_cloud_url: str, tmp_path: Path) -> Iterator[Callable[..., SolrClient]]:
    base_url = solr_cloud_url.rpartition("/")[0]
    made: list[str] = []

    def make(more: str, documents: list[dict[str, Any]], *, several: str = "false", config: str = CONFIG) -> SolrClient:
        name = f"whorl_others_{uuid.uuid4().hex[:8]}"
        conf = tmp_path / name / "conf"
        conf.mkdir(parents=True)
        (conf / "managed-schema.xml").write_text(SCHEMA.format(more=more, several=several))
        (conf / "solrconfig.xml").write_text(config.format(version="8.11.0"))
        create_collection(base_url, name, conf.parent)
        made.append(name)
        client = SolrClient(f"{base_url}/{name}")
        client.post("update", documents, commit="true")
        return client

    yield make
    for name in made:
        delete_collection(base_url, name)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runner of a command in a folder for a whorl.toml, which returns the command's output."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, fails: bool = False) -> str:
        result = CliRunner().invoke(main, arguments)
        assert (result.exit_code != 0) == fails, result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result.output

    return run


def findings(run: Run, client: SolrClient, *, fails: bool = False) -> dict[str, dict[str, str]]:
    output = json.loads(run("solr", "check", client.url, "--json", fails=fails))
    return {finding["code"]: finding for finding in output}


def similar(run: Run, client: SolrClient, reference: str) -> list[str]:
    page = json.loads(run("similar", reference, "--store", client.url, "--threshold", "30", "--json"))
    return [document["id"] for document in page["hits"]]


def search(client: SolrClient, query: str) -> list[str]:
    with open_store(client.url) as store:
        return [hit.id for hit in store.search(query).hits]


def hexadecimal(text: str) -> list[str]:
    """Return the tokens of a text as Alfresco writes them: each 16 bits in hexadecimal, without leading zeros."""
    numbers = [high << 64 | low for high, low in plain_minima(tokens(text), 512)]
    return ["".join(f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16)) for number in numbers]


ALFRESCO = """<field name="MINHASH" type="string" indexed="true" stored="true" docValues="false" multiValued="true"/>
<field name="DBID" type="plong" indexed="true" stored="true"/>"""


def test_tokens_without_a_text(make: Callable[..., SolrClient], run: Run) -> None:
    """
    Without texts, no command advises or makes sketches, and search uses Alfresco's tokens.
    """
    client = make(ALFRESCO, [{"id": name, "MINHASH": hexadecimal(text)} for name, text in TEXTS.items()])
    assert similar(run, client, "a") == ["b"]
    findings_by_code = findings(run, client)
    assert "no stored text" in findings_by_code["no-sketches"]["message"]
    assert not any(
        "backfill" in finding["remedy"] or "init" in finding["remedy"] for finding in findings_by_code.values()
    )
    assert "backfill" not in run("solr", "init", client.url)
    message = run("solr", "backfill", client.url, fails=True)
    assert "no document has a text in 'content'" in message
    assert not any("backfill" in finding["remedy"] for finding in findings(run, client).values())
    assert similar(run, client, "a") == ["b"]
    for command in (["similar", "a"], ["duplicates"]):
        said = run(*command, "--store", client.url, fails=command == ["duplicates"])
        assert "no sketches" in said
        assert "backfill" not in said


def empty_sketches(client: SolrClient) -> list[dict[str, Any]]:
    """Return updates that set empty sketches."""
    name = f"{Scheme().name}+{SketchScheme().name}"
    there = client.select({"query": "*:*", "limit": 100, "fields": ["id"]}).documents
    fields = {"whorl_size": {"set": 0}, "whorl_sketch": {"set": ""}, "whorl_scheme": {"set": name}}
    return [{"id": entry["id"], **fields} for entry in there]


def test_empty_sketches_with_tokens(make: Callable[..., SolrClient], run: Run) -> None:
    """
    Empty sketches do not prevent search by tokens; `check` reports them, and --repair removes them.
    """
    client = make(ALFRESCO, [{"id": name, "MINHASH": hexadecimal(text)} for name, text in TEXTS.items()])
    run("solr", "init", client.url)
    client.post("update", empty_sketches(client), commit="true")
    assert similar(run, client, "a") == ["b"]
    reported = findings(run, client)["empty-sketches"]
    assert (reported["level"], reported["message"].split()[0]) == ("warning", "3")
    assert reported["remedy"].endswith("--repair")
    assert "4 documents without a text" in run("solr", "backfill", client.url, "--repair")
    assert "empty-sketches" not in findings(run, client)
    assert client.count({"lucene": {"query": "whorl_scheme:[* TO *]"}}) == 0
    assert similar(run, client, "a") == ["b"]


def test_without_minhash(make: Callable[..., SolrClient], run: Run) -> None:
    """
    With --without-minhash, init adds nothing that only FINGERPRINT needs, and sketches find the same documents;
    FINGERPRINT names the missing field, which another run adds.
    """
    client = make("", [{"id": name} for name in TEXTS])
    said = run("solr", "init", client.url, "--without-minhash")
    assert "MINHASH" not in said
    assert "text_min_hash" not in said
    assert "nothing to add" in run("solr", "init", client.url, "--without-minhash")
    with open_store(client.url) as store:
        assert store.similar(source="there are no documents yet in this collection").total == 0
        store.index([Document(name, text) for name, text in TEXTS.items()])
    assert similar(run, client, "a") == ["b"]
    assert search(client, next(iter(TEXTS["a"].split())))
    reported = findings(run, client)
    assert reported["no-minhash"]["level"] == "note"
    assert reported["sketches"]["message"].startswith(f"{len(TEXTS)} of {len(TEXTS)}")
    assert run("solr", "backfill", client.url) == "0 documents given a sketch.\n"
    assert "MINHASH: none, so" in run("status", "--store", client.url)
    message = run("search", "FINGERPRINT:a_50", "--store", client.url, fails=True)
    assert "no field 'MINHASH'" in message
    assert f"whorl solr init {client.url}" in message
    assert "added MINHASH" in run("solr", "init", client.url)
    assert "MINHASH: whole" in run("status", "--store", client.url, fails=True)


BODY = '<field name="body" type="text_general" indexed="true" stored="true"/>'


def test_a_text_of_another_name(make: Callable[..., SolrClient], run: Run, tmp_path: Path) -> None:
    """
    `check` names the command for texts in another field, and after it the other commands need no file written by hand.
    """
    client = make(BODY, [{"id": name, "body": text} for name, text in TEXTS.items()])
    reported = findings(run, client, fails=True)
    assert "body (4 documents)" in reported["text-fields"]["message"]
    command = reported["no-text"]["remedy"].removeprefix("whorl ")
    assert command == reported["no-fingerprints"]["remedy"].removeprefix("whorl ")
    assert command == f"solr init {client.url} --content body"
    for more in ([], ["--dry-run"]):
        assert "--content body" in run("solr", "init", client.url, *more, fails=True)
    assert "MINHASH" not in {field["name"] for field in client.get("schema/fields")["fields"]}
    *_, next_command, file = run(*command.split()).splitlines()
    assert next_command.endswith(f": whorl solr backfill {client.url}")
    assert file == f"wrote {tmp_path / 'whorl.toml'}, which later commands in its folder read"
    assert run("solr", "backfill", client.url) == (
        "4 documents given a sketch.\nAsk for the near-copies of a document: whorl similar a\n"
    )
    assert [line.split()[0] for line in run("similar", "a").splitlines() if "█" in line] == ["b"]
    assert similar(run, client, "a") == ["b"]
    # Solr has written the documents again, and so filled the copy.
    with_fingerprint = run("search", "FINGERPRINT:a_30", "--store", client.url)
    assert "b" in with_fingerprint
    assert not {"no-text", "empty-sketches", "other-copy-field"} & findings(run, client).keys()


def test_names_in_another_field(make: Callable[..., SolrClient], run: Run) -> None:
    """
    `check` names the field of titles, and after its command hits have their titles.
    """
    title = '<field name="title" type="text_general" indexed="true" stored="true"/>'
    client = make(BODY + title, [{"id": name, "body": text, "title": f"Page {name}"} for name, text in TEXTS.items()])
    reported = findings(run, client, fails=True)
    command = f"solr init {client.url} --content body --name title"
    assert {reported[code]["remedy"] for code in ("no-name", "no-text", "no-fingerprints")} == {f"whorl {command}"}
    run(*command.split())
    run("solr", "backfill", client.url)
    assert [hit["name"] for hit in json.loads(run("similar", "a", "--json"))["hits"]] == ["Page b"]
    assert "no-name" not in findings(run, client)


@pytest.mark.usefixtures("run")
def test_the_commands_of_the_page(make: Callable[..., SolrClient]) -> None:
    """
    The commands under "An existing collection" in docs/solr.md work literally, without a file written by hand.
    """
    url = make(BODY, [{"id": name, "body": text} for name, text in TEXTS.items()]).url
    check, _, backfill, similar = run_page("solr.md", "## An existing collection", url)
    assert f"→ whorl solr init {url} --content body\n" in check
    assert backfill.endswith("Ask for the near-copies of a document: whorl similar a\n")
    assert [line.split()[0] for line in similar.splitlines() if "█" in line] == ["b"]


def test_a_run_with_the_wrong_field_is_repaired(make: Callable[..., SolrClient], run: Run, tmp_path: Path) -> None:
    """
    --repair corrects an empty text field, its copyField and empty sketches, once the right field is named.
    """
    client = make(BODY, [{"id": name, "body": text} for name, text in TEXTS.items()])
    run("solr", "init", client.url, "--content", "content")
    assert "[fields]" not in (tmp_path / "whorl.toml").read_text()
    client.post("update", empty_sketches(client), commit="true")
    (tmp_path / "whorl.toml").write_text('[fields]\ncontent = "body"\n')
    reported = findings(run, client)
    assert {"other-copy-field", "short-texts"} <= reported.keys()
    assert "--repair" in run("solr", "init", client.url)
    run("solr", "init", client.url, "--repair")
    schema = client.get("schema")["schema"]
    assert {"source": "body", "dest": "MINHASH"} in schema["copyFields"]
    assert "content" not in {field["name"] for field in schema["fields"]}
    assert "4 documents would be checked" in run("solr", "backfill", client.url, "--repair", "--dry-run")
    assert run("solr", "backfill", client.url, "--repair").startswith("3 documents given a sketch.\n")
    assert similar(run, client, "a") == ["b"]
    assert not {"other-copy-field", "no-text", "empty-sketches"} & findings(run, client).keys()
    assert "nothing to add: all is there" in run("solr", "init", client.url, "--repair").splitlines()


SEVERAL = '<field name="content" type="text_general"/><field name="name" type="text_general"/>'


def test_documents_of_several_values(make: Callable[..., SolrClient], run: Run) -> None:
    """
    Documents with several values, as in Solr's own `_default`, are accepted after init, and have one fingerprint and
    one sketch of all values.
    """
    client = make(SEVERAL, [{"id": "a", "content": [" ".join(WORDS[:300]), " ".join(WORDS[300:])]}], several="true")
    assert "several-values" in findings(run, client, fails=True)
    assert "several values" in run("solr", "init", client.url, "--dry-run")
    run("solr", "init", client.url)
    client.post("update", [{"id": "b", "content": [" ".join(WORDS[:350]), " ".join(WORDS[350:])]}], commit="true")
    client.post("update", [{"id": "c", "content": " ".join(WORDS)}], commit="true")
    assert run("solr", "backfill", client.url).startswith("3 documents given a sketch.\n")
    reported = findings(run, client)
    assert reported["several-values"]["level"] == "note"
    assert similar(run, client, "a") == ["b", "c"]
    with open_store(client.url) as store:
        sketches = store.engine.sketches(["a", "b", "c"])
        assert sketches["a"] == sketches["b"] == sketches["c"]
        signatures = store.engine.signatures({"a": False, "c": False})
        # The four shingles across the border between the values are not in Solr's tokens.
        one, whole = (set(signatures[name].tokens) for name in "ac")
        assert len(one & whole) >= 0.97 * len(one | whole)
        assert search(client, "FINGERPRINT:a_100")[0] == "a"


def test_a_fingerprint_of_one_value_is_widened(make: Callable[..., SolrClient], run: Run) -> None:
    """
    Solr refuses multi-valued texts if the token field is single-valued; --repair makes it multi-valued.
    """
    client = make(SEVERAL, [], several="true")
    run("solr", "init", client.url)
    one = {"name": "MINHASH", "type": "text_min_hash", "stored": False, "termVectors": True, "multiValued": False}
    client.change("schema", {"replace-field": one})
    reported = findings(run, client)
    assert reported["one-value"]["level"] == "warning"
    assert "--repair" in run("solr", "init", client.url)
    run("solr", "init", client.url, "--repair")
    client.post("update", [{"id": "a", "content": ["one two three four five", "six seven"]}], commit="true")
    assert "one-value" not in findings(run, client)


NAME = "text@s____@{http://www.alfresco.org/model/content/1.0}name"
CONTENT = "content@s____@{http://www.alfresco.org/model/content/1.0}content"
OF_ALFRESCO = """<dynamicField name="text@s____@*" type="text_general" indexed="true" stored="true"/>
<dynamicField name="content@s____@*" type="text_general" indexed="true" stored="true"/>
<field name="TYPE" type="string" indexed="true" stored="true"/><field name="LID" type="string" indexed="true"/>"""


def test_fields_that_are_called_as_alfresco_calls_them(
    make: Callable[..., SolrClient], run: Run, tmp_path: Path
) -> None:
    """
    Field names with braces, at signs and colons, as in Alfresco, work in all commands, and their values are returned.
    """
    content = "{http://www.alfresco.org/model/content/1.0}content"
    documents: list[dict[str, Any]] = [
        {
            "id": f"_DEFAULT_!{number}",
            NAME: f"{name}.txt",
            CONTENT: text,
            "LID": f"workspace://SpacesStore/00000000-0000-0000-0000-00000000000{number}",
            "TYPE": "cm:folder" if name == "few" else content,
            "MINHASH": hexadecimal(text),
        }
        for number, (name, text) in enumerate(TEXTS.items())
    ]
    client = make(ALFRESCO + OF_ALFRESCO, documents)
    (tmp_path / "whorl.toml").write_text(f'store = "{client.url}"\n[fields]\nname = "{NAME}"\ncontent = "{CONTENT}"\n')
    a, b = documents[0]["LID"], documents[1]["LID"]
    run("solr", "check", client.url)
    run("solr", "init", client.url)
    run("solr", "backfill", client.url)
    assert similar(run, client, a) == ["_DEFAULT_!1"]
    assert "b.txt" in run("search", f"FINGERPRINT:{a}_30")
    assert "b.txt" in run("search", "name:b.txt")
    assert "a.txt" in run("search", "word699")
    run("compare", a, b)

    def search_ids(query: str) -> set[str]:
        return {hit["id"][-1] for hit in json.loads(run("search", query, "--json"))["hits"]}

    for named in ("cm:content", content):
        assert search_ids(f'TYPE:"{named}"') == {"0", "1", "2"}
        assert search_ids(f'FINGERPRINT:{a}_30 AND -TYPE:"{named}"') == set()
    for named in ("cm:folder", "{http://www.alfresco.org/model/content/1.0}folder"):
        assert search_ids(f'TYPE:"{named}"') == {"3"}
    assert search_ids(f"FINGERPRINT:{a}_30") == {"0", "1"}
    assert search_ids(f'FINGERPRINT:{a}_30 AND -ID:"{a}"') == {"1"}
    assert search_ids(f'ID:"{a}"') == {"0"}
    assert search_ids('ID:"_DEFAULT_!1"') == {"1"}


# Bare collections.


def test_init_makes_a_bare_collection_searchable(collections: Collections) -> None:
    """
    After init, a collection responds like one made from the configset; a second init adds nothing.
    """
    url = collections.make()
    assert codes(url) == {"no-fingerprints": Severity.ERROR}
    planned = list(initialise(SolrClient(url), FieldNames(), dry_run=True))
    assert any("MINHASH" in line for line in planned)
    before = schema_of(url)
    assert list(initialise(SolrClient(url), FieldNames(), dry_run=True)) == planned
    assert schema_of(url) == before

    assert any("added MINHASH" in line for line in initialise(SolrClient(url), FieldNames(), dry_run=False))
    assert next(field for field in before["fields"] if field["name"] == "content") in schema_of(url)["fields"]  # type: ignore[attr-defined,operator]
    assert any(line.startswith("nothing to add") for line in initialise(SolrClient(url), FieldNames(), dry_run=False))
    assert Severity.ERROR not in codes(url).values()

    text = " ".join(f"word{number}" for number in range(300))
    with open_store(url) as store:
        store.index([Document("a", text), Document("b", f"{text} and more of it")])
        page = store.search("FINGERPRINT:a_50")
        assert [hit.id for hit in page.hits] == ["a", "b"]
        signature = store.signature("a")
    assert signature is not None
    assert signature.tokens == plain_tokens(text)


def test_documents_without_a_fingerprint_are_counted(collections: Collections) -> None:
    """
    Between init and backfill, searches by fingerprint count the documents without one and name the backfill, also if
    other documents have fingerprints or had them; searches by words find all documents.
    """
    url = collections.make()
    client = SolrClient(url)
    client.post("update", [{"id": name, "content": TEXTS[name]} for name in ("a", "b")], commit="true")
    list(initialise(client, FieldNames()))
    said = "2 of {} documents have no fingerprint in 'MINHASH' and cannot be found so"
    for documents in (2, 3, 2):
        with open_store(url) as store:
            page = store.search("FINGERPRINT:a")
            assert (page.total, page.is_total_exact) == (0, False)
            assert page.warnings == (f"{said.format(documents)}; 'whorl solr backfill {url}' makes them",)
            assert store.search("c OR a", filter="FINGERPRINT:b").warnings == page.warnings
            assert (store.search("word3").total, store.search("word3").warnings) == (2, ())
            if documents == 2 and store.engine.sketch_scheme is None:
                assert not store.similar("a").promised
                assert page.warnings[0] in store.similar("a").warnings
            # First add a document with tokens, then delete it, so that the index has a deleted document.
            store.index([Document("new", TEXTS["c"])]) if documents == 2 else store.delete(["new"])
    status = CliRunner().invoke(main, ["status", "--store", url])
    assert status.exit_code == 1
    assert f"index: {said.format(3)}" in status.output
    assert backfill(client, FieldNames()).sent == 2
    with open_store(url) as store:
        page = store.search("FINGERPRINT:a")
        assert (page.total, page.is_total_exact, page.warnings) == (2, True, ())


def test_a_token_field_that_was_added_after_the_sketches(collections: Collections) -> None:
    """
    A search by tokens that no document has is not silently empty; one by sketches finds the documents.
    """
    url = collections.make()
    list(initialise(SolrClient(url), FieldNames(), without_minhash=True))
    with open_store(url) as store:
        store.index([Document(name, TEXTS[name]) for name in ("a", "b")])
    list(initialise(SolrClient(url), FieldNames()))
    with open_store(url) as store:
        page = store.search("FINGERPRINT:a")
        assert page.warnings == (
            f"2 of 2 documents have no fingerprint in 'MINHASH' and cannot be found so; 'whorl solr check {url}' says "
            "how they get it",
        )
        assert (store.similar("a").total, store.similar("a").warnings) == (1, ())
    found = {finding.code: finding.remedy for finding in check(SolrClient(url), FieldNames())}
    assert found["without-fingerprint"] == "index those again (whorl index --all)"


def test_init_uses_the_users_names(collections: Collections) -> None:
    """
    Fields with the user's names are created, filled and searched.
    """
    url = collections.make()
    names = FieldNames(minhash="tokens", content="body", name="title", dbid="nr", noderef="ref")
    initialise(SolrClient(url), names, dry_run=False)
    assert initialise(SolrClient(url), names, dry_run=False) == ["nothing to add: all is there"]
    assert Severity.ERROR not in {finding.level for finding in check(SolrClient(url), names)}
    with Store(SolrEngine(SolrClient(url), names)) as store:
        text = "one two three four five six seven"
        store.index([Document("a", text, properties={"nr": 12}), Document("b", f"{text} eight")])
        assert [hit.id for hit in store.search("FINGERPRINT:12_20").hits] == ["a", "b"]
        # Quotations are looked up in the user's field, although the collection also has an empty field `content`.
        quotes = ["four five six seven eight", "two three four six seven five", "字 three four five six seven eight"]
        verified = store.verify(quotations=[{"quote": quote} for quote in quotes]).quotations
        assert [quotation.verdict.value for quotation in verified] == ["exact", "absent", "absent"]


def test_init_leaves_what_a_dynamic_field_holds(collections: Collections) -> None:
    """
    Init adds no field for a name that matches a dynamic field, and no second copyField to a filled field.
    """
    dynamic = """<dynamicField name="*" type="plain" stored="true" multiValued="true"/>
    <field name="MINHASH" type="text_min_hash" indexed="true" stored="false" termVectors="true"/>
    <copyField source="body" dest="MINHASH"/>
    <fieldType name="text_min_hash" class="solr.TextField"><analyzer><tokenizer class="solr.StandardTokenizerFactory"/>
    <filter class="solr.ShingleFilterFactory" minShingleSize="5" maxShingleSize="5" outputUnigrams="false"/>
    <filter class="solr.MinHashFilterFactory" bucketCount="512"/></analyzer></fieldType>"""
    url = collections.make(dynamic)
    lines = "\n".join(initialise(SolrClient(url), FieldNames(), dry_run=True))
    assert '"name": "name"' not in lines
    assert "add-copy-field" not in lines


@pytest.mark.parametrize(("name", "added"), [("/tv", []), ("tv", ["/tvrh"])])
def test_only_a_handler_with_a_path_returns_term_vectors(name: str, added: list[str]) -> None:
    """
    A handler of term vectors without a path cannot be called, so another one is added, with the same component.
    """
    config = {
        "searchComponent": {"vectors": {"class": "solr.TermVectorComponent"}},
        "requestHandler": {name: {"last-components": ["vectors"]}},
    }
    steps = list(_config_steps(config))
    assert [body["name"] for _, _, body in steps] == added
    assert all(body["last-components"] == ["vectors"] for _, _, body in steps)


def test_init_on_a_schema_that_cannot_change(collections: Collections) -> None:
    """
    The error says that Solr may not change this schema.
    """
    url = collections.make(mutable=False)
    with pytest.raises(Exception, match="ManagedIndexSchemaFactory"):
        list(initialise(SolrClient(url), FieldNames(), dry_run=False))


def test_a_schema_that_may_not_be_changed(make: Callable[..., SolrClient]) -> None:
    """
    The error for a fixed schema says what to use instead.
    """
    client = make("", [], config=CONFIG.replace('"mutable">true', '"mutable">false'))
    with pytest.raises(SchemaError, match=r"refused to change its schema: .*not editable.*set <schemaFactory class="):
        initialise(client, FieldNames())
