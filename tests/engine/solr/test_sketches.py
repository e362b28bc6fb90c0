"""The sketches in a Solr collection: made when a document is indexed, looked up, and added to what was there before."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests import solr_runtime
from whorl import Document, Store, open_store
from whorl.cli.main import main
from whorl.engine.solr.atomic_updates import require_safe
from whorl.engine.solr.backfill import Backfilled, backfill, prepare
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.doctor import Level, check
from whorl.engine.solr.engine import SolrEngine
from whorl.engine.solr.fields import NEEDED, SAMPLE, SCHEME, SKETCH
from whorl.engine.solr.local.launcher import create_collection, delete_collection
from whorl.engine.solr.request import MAX_CLAUSES, Names, search_request
from whorl.engine.solr.schema import FieldNames, inspect
from whorl.engine.solr.setup import initialise
from whorl.engine.solr.sketches import sketch_fields
from whorl.errors import SchemaError
from whorl.fingerprint.batch import text_sketch
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme, lookup_numbers, lookup_tokens
from whorl.fingerprint.statistics.metric import Metric
from whorl.planning.build import Bool, BoundPlan, Chosen, SketchTokens
from whorl.planning.clauses import Words

SCHEME_NOW = SketchScheme()
#: What an id may hold, and what a list of them must not be confused by.
STRANGE = ["a,b", " lead", "trail ", "ünï", "x:y", "$x", "${y}", 'q"uo\\te', "[* TO *]", "-minus", "(", "a\u2028b"]
OWN = [*NEEDED, "_version_"]


def documents() -> list[Document]:
    """A long text, passages of it among other words, texts too short and empty ones, under ids of every kind."""
    chance = random.Random(11)
    words = [f"word{number}" for number in range(20_000)]
    long = chance.choices(words, k=30_000)
    made = [Document("big", " ".join(long), name="the big one", properties={"kind": "long"})]
    for number in range(60):
        length = (0, 3, 5, 40, 400, 4000)[number % 6]
        start = chance.randrange(len(long) - length)
        text = " ".join(long[start : start + length] + chance.choices(words, k=length // 5))
        name = STRANGE[number] if number < len(STRANGE) else f"d{number}"
        made.append(Document(name, text, name=f"name {number}", properties={"kind": ["b", "a", "b"], "number": number}))
    return made


DOCUMENTS = documents()
WITH_TEXT = sum(bool(document.text) for document in DOCUMENTS)


@pytest.fixture(scope="module")
def sketches() -> dict[str, Sketch]:
    return {document.id: text_sketch(document.text, Scheme(), SCHEME_NOW) for document in DOCUMENTS}


@pytest.fixture(
    params=[pytest.param("standalone", marks=pytest.mark.solr), pytest.param("cloud", marks=pytest.mark.cloud)],
    scope="module",
)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A collection of its own, filled, in either kind of Solr."""
    base_url = request.getfixturevalue(f"solr_{request.param}_url").rpartition("/")[0]
    name = f"whorl_samples_{uuid.uuid4().hex[:8]}"
    made = solr_runtime.make_collection(base_url, name)
    with open_store(made) as store:
        store.index(DOCUMENTS)
    yield made
    solr_runtime.drop(base_url, name)


@pytest.fixture
def client(url: str) -> SolrClient:
    return SolrClient(url)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as opened:
        yield opened


def stored(client: SolrClient) -> list[dict[str, Any]]:
    """Return all documents with everything that Solr gives back of them, the versions left out."""
    body = {"query": "*:*", "limit": 1000, "sort": "id asc", "fields": ["*", *NEEDED]}
    found = client.post("select", body)["response"]["docs"]
    return [{name: value for name, value in document.items() if name != "_version_"} for document in found]


def only_of_texts(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return documents without the sketches of those that have no text."""
    return [
        each if "content" in each else {name: value for name, value in each.items() if name not in NEEDED}
        for each in documents
    ]


def indexed_tokens(client: SolrClient, document_id: str) -> set[str]:
    body = {
        "query": {"term": {"f": "id", "query": document_id}},
        "limit": 0,
        "facet": {"tokens": {"type": "terms", "field": SAMPLE, "limit": -1}},
    }
    return {bucket["val"] for bucket in client.post("select", body)["facets"].get("tokens", {"buckets": []})["buckets"]}


def versions(client: SolrClient) -> dict[str, int]:
    found = client.post("select", {"query": "*:*", "limit": 1000, "fields": ["id", "_version_"]})["response"]["docs"]
    return {each["id"]: each["_version_"] for each in found}


def without_sketches(client: SolrClient) -> None:
    """Leave the documents as they would be had they been indexed before there were sketches."""
    bare = [{name: value for name, value in each.items() if name not in OWN} for each in stored(client)]
    client.post("update", bare, commit="true")


def answers(store: Store) -> list[object]:
    """What searches find by the other fields: words, properties, names and tokens."""
    queries = ["word7", "kind:a", 'name:"name 7"', "number:7", "FINGERPRINT:big_20", "FINGERPRINT:d40_10_50", "*:*"]
    return [store.search(query, rows=100) for query in queries]


def test_indexing_fills_the_fields(client: SolrClient, sketches: Mapping[str, Sketch]) -> None:
    """
    Every document has the sketch of its text: whole, as tokens, and its size; a short one has an empty sketch.
    """
    for document in stored(client):
        expected = sketch_fields(sketches[document["id"]], Scheme())
        tokens = expected.pop(SAMPLE)
        assert {name: document[name] for name in expected} == expected
        if document["id"] in ("big", "d40", "a,b", "ünï"):
            assert indexed_tokens(client, document["id"]) == set(tokens) == set(lookup_tokens(sketches[document["id"]]))


def test_sketches_by_id(store: Store, sketches: Mapping[str, Sketch]) -> None:
    """
    The engine gives back the sketches that were stored.
    """
    assert store.engine.sketch_scheme == SCHEME_NOW
    found = store.engine.sketches([*sketches, "nowhere"])
    assert found == sketches
    assert store.engine.resolve(["big", "nowhere"]) == {"big": "big"}
    assert store.engine.largest_size() == sketches["big"].size


def matching(plan: SketchTokens, sketches: Mapping[str, Sketch]) -> list[tuple[str, float]]:
    """Evaluate a plan by counting."""
    wanted, found = set(plan.numbers), []
    for name, sketch in sketches.items():
        shared = len(wanted.intersection(lookup_numbers(sketch).tolist()))
        is_sized = plan.smallest_size <= sketch.size and (plan.largest_size is None or sketch.size <= plan.largest_size)
        if is_sized and shared >= plan.min_should_match:
            found.append((name, float(shared)))
    return sorted(found, key=lambda hit: (-hit[1], hit[0]))


@pytest.mark.parametrize("sizes", [(0, None), (1, 0), (300, 4000), (401, 401)], ids=str)
@pytest.mark.parametrize(
    ("asked", "minimum"),
    [(1, 1), (2, 1), (2, 2), (64, 1), (64, 5), (64, 64), (64, 65), (1022, 3), (1023, 3), (1025, 3), (None, 1),
     (None, 7), (None, 300)],
)  # fmt: skip
def test_candidates(
    store: Store, sketches: Mapping[str, Sketch], asked: int | None, minimum: int, sizes: tuple[int, int | None]
) -> None:
    """
    Solr finds what counting finds, with the same scores in the same order, however many tokens are asked.
    """
    numbers = tuple(lookup_numbers(sketches["big"])[:asked].tolist())
    plan = SketchTokens("big", SCHEME_NOW, numbers, minimum, *sizes)
    found = store.engine.candidates(BoundPlan(plan), start=0, rows=1000)
    assert [(hit.id, hit.score) for hit, _ in found.found] == matching(plan, sketches)
    assert found.total == len(found.found)
    assert all(sketch == sketches[hit.id] for hit, sketch in found.found)
    assert not found.warnings


def test_candidates_under_a_filter(store: Store, sketches: Mapping[str, Sketch]) -> None:
    """
    Branches beside each other and a filter over them, as a calibrated search asks; pages are parts of one order.
    """
    numbers = tuple(lookup_numbers(sketches["big"])[:600].tolist())
    branches = [
        SketchTokens("big", SCHEME_NOW, numbers, 2, 0, 500),
        SketchTokens("big", SCHEME_NOW, numbers, 9, 501, None),
    ]
    plan = BoundPlan(Bool(must=(Bool(should=tuple(branches), min_should_match=1), Words("a", "kind", 0.0))))
    expected = [hit for branch in branches for hit in matching(branch, sketches) if hit[0] != "big"]
    expected.sort(key=lambda hit: (-hit[1], hit[0]))
    pages = [store.engine.candidates(plan, start=start, rows=5).found for start in range(0, len(expected), 5)]
    assert [(hit.id, hit.score) for page in pages for hit, _ in page] == expected


def test_a_sketch_of_another_scheme_is_not_compared(store: Store, sketches: Mapping[str, Sketch]) -> None:
    """
    A plan of another scheme finds nothing, whatever its numbers.
    """
    other = SketchScheme(k=2048)
    plan = SketchTokens("big", other, tuple(lookup_numbers(sketches["big"])[:64].tolist()), 1, 0, None)
    assert store.engine.candidates(BoundPlan(plan), start=0, rows=10).total == 0


@pytest.mark.parametrize(
    "groups",
    [
        ((87.5, tuple(STRANGE[:4])), (12.0, (*STRANGE[4:], "nowhere")), (0.25, ("big",))),
        tuple((1.0 + number / 4, (document.id,)) for number, document in enumerate(DOCUMENTS)),
        tuple((1.0 + number / 4, (f"no{number}" if number > 60 else DOCUMENTS[number].id,)) for number in range(2500)),
        (),
    ],
    ids=["strange ids", "a group each", "more groups than clauses", "none"],
)
def test_chosen(store: Store, groups: tuple[tuple[float, tuple[str, ...]], ...]) -> None:
    """
    The documents that were chosen are found, by their scores, and no others.
    """
    page = store.engine.search(BoundPlan(Chosen("big", groups)), start=0, rows=100)
    there = {document.id for document in DOCUMENTS}
    expected = [(name, score) for score, names in groups for name in names if name in there]
    assert [(hit.id, hit.score) for hit in page.hits] == sorted(expected, key=lambda hit: (-hit[1], hit[0]))


def test_the_request_stays_within_the_limit() -> None:
    """
    Up to Lucene's limit tokens are asked as they are, beyond it in functions of fewer each.
    """

    def parts(count: int) -> list[int]:
        plan = BoundPlan(SketchTokens("a", SCHEME_NOW, tuple(range(count)), 2, 1, None))
        named = search_request(plan, Names(), start=0, rows=1).get("queries", {})
        return [len(each["min_hash"]["query"].split(each["min_hash"]["sep"])) for each in named.values()]

    assert parts(MAX_CLAUSES - 2) == []
    assert parts(MAX_CLAUSES - 1) == [1000, 23]
    assert parts(16_000) == [1000] * 16


# Backfill.


def test_backfill_gives_what_indexing_gives(client: SolrClient, store: Store, sketches: Mapping[str, Sketch]) -> None:
    """
    Every field, of the sketch and besides, is what it was when whorl had indexed the documents; so is every answer.
    A document whose text is not known gets no sketch.
    """
    before, found = stored(client), answers(store)
    without_sketches(client)
    assert all(name not in document for document in stored(client) for name in NEEDED)
    with Store(SolrEngine(client)) as bare:
        assert bare.engine.sketch_scheme is None
        assert bare.engine.sketches(["big"]) == {}
    assert prepare(client, FieldNames())[1] == WITH_TEXT < len(DOCUMENTS)
    assert backfill(client, FieldNames(), batch=7) == Backfilled(total=WITH_TEXT, sent=WITH_TEXT)
    assert stored(client) == only_of_texts(before)
    assert answers(store) == found
    assert all(indexed_tokens(client, name) == set(lookup_tokens(sketches[name])) for name in ("big", "d40", "a,b"))
    once = versions(client)
    assert backfill(client, FieldNames()) == Backfilled(total=0)
    assert versions(client) == once


def test_backfill_goes_on_where_it_was_stopped(client: SolrClient, store: Store) -> None:
    """
    What was sent before a Ctrl-C is there, and is not touched again.
    """
    before = stored(client)
    without_sketches(client)

    def stop(done: Backfilled) -> None:
        if done.sent == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill(client, FieldNames(), batch=10, progress=stop)
    once = versions(client)
    there = {document["id"] for document in stored(client) if SCHEME in document}
    assert len(there) == 20
    with Store(SolrEngine(client)) as partly:
        assert partly.engine.sketch_scheme == SCHEME_NOW
        plan = BoundPlan(SketchTokens("big", SCHEME_NOW, (1,), 1, 0, None))
        warning = partly.engine.candidates(plan, start=0, rows=1).warnings[0]
    assert "whorl solr backfill" in warning
    assert warning.startswith(f"{WITH_TEXT - 20} of {len(DOCUMENTS)} documents")
    done = backfill(client, FieldNames(), batch=10)
    assert done == Backfilled(total=WITH_TEXT - 20, sent=WITH_TEXT - 20)
    assert {name: version for name, version in versions(client).items() if name in there} == {
        name: version for name, version in once.items() if name in there
    }
    assert stored(client) == only_of_texts(before)


class Meddling(SolrClient):
    """Changes one document and deletes another just before the first sketches are sent."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.is_done = False

    def post(self, path: str, body: object, **params: str | int) -> dict[str, Any]:
        if path == "update" and isinstance(body, list) and not self.is_done:
            self.is_done = True
            super().post("update", [{"id": "d40", "content": "changed in the meantime by somebody else"}])
            super().post("update", {"delete": ["d41"]})
        return super().post(path, body, **params)


def test_backfill_leaves_what_is_changed_meanwhile(url: str, client: SolrClient, store: Store) -> None:
    """
    The other's text stays, without a sketch of the old one; what is deleted stays so; a second run completes it.
    """
    without_sketches(client)
    try:
        done = backfill(Meddling(url), FieldNames())
        assert done.left == 1
        changed = next(document for document in stored(client) if document["id"] == "d40")
        assert changed["content"] == "changed in the meantime by somebody else"
        assert SKETCH not in changed
        assert all(document["id"] != "d41" for document in stored(client))
        assert backfill(client, FieldNames()) == Backfilled(total=1, sent=1)
    finally:
        store.index(DOCUMENTS, again=True)


def test_backfill_repairs_what_others_lost(client: SolrClient) -> None:
    """
    Another's atomic update loses the tokens; the doctor sees it, and a run puts them back. A scheme of old is replaced.
    """
    before = stored(client)
    changes = [{"id": "big", "name": {"set": "the big one"}}, {"id": "d40", SCHEME: {"set": "minhash0+sketch0"}}]
    client.post("update", changes, commit="true")
    assert indexed_tokens(client, "big") == set()
    found = {finding.code: finding for finding in check(client, FieldNames())}
    assert found["lost-sketches"].message.startswith("1 documents")
    assert "minhash0+sketch0" in found["other-sketch-scheme"].message
    assert f"whorl solr backfill {client.url}" in found["lost-sketches"].remedy
    assert backfill(client, FieldNames()).sent == 2
    assert indexed_tokens(client, "big")
    assert stored(client) == before
    codes = {finding.code: finding.level for finding in check(client, FieldNames())}
    assert codes["sketches"] is Level.OK
    assert not {"lost-sketches", "other-sketch-scheme", "without-sketch", "no-sketches"} & codes.keys()


def test_the_command(client: SolrClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A dry run changes nothing; a run says what it did; a second one finds nothing to do.
    """
    without_sketches(client)

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, ["solr", "backfill", client.url, *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    assert run("--dry-run") == f"{WITH_TEXT} documents would be given a sketch\n"
    assert all(SCHEME not in document for document in stored(client))
    assert {finding.code for finding in check(client, FieldNames())} >= {"without-sketch"}
    assert run("--batch", "9") == f"{WITH_TEXT} documents given a sketch.\n"
    assert run() == "0 documents given a sketch.\n"


# Collections of others.

SCHEMA = """<schema name="others" version="1.6"><uniqueKey>id</uniqueKey>
<field name="id" type="string" indexed="true" stored="true" required="true"/>
<field name="content" type="plain" indexed="true" stored="{stored}"/>
<fieldType name="string" class="solr.StrField" docValues="false"/>
<fieldType name="plong" class="solr.LongPointField" docValues="true"/>
<fieldType name="plain" class="solr.TextField">
<analyzer><tokenizer class="solr.StandardTokenizerFactory"/></analyzer></fieldType>
<field name="_version_" type="plong" indexed="false" stored="false" docValues="true"/>{more}</schema>"""
CONFIG = """<config><luceneMatchVersion>9.0</luceneMatchVersion>
<schemaFactory class="ManagedIndexSchemaFactory"/>
<updateHandler class="solr.DirectUpdateHandler2"><updateLog/></updateHandler>
<requestHandler name="/select" class="solr.SearchHandler"/></config>"""
TEXT = "one two three four five six seven"
PLAIN: dict[str, object] = {"id": "a", "content": TEXT}
BODY = '<field name="body" type="plain" stored="{0}"/><copyField source="body" dest="content"/>'
NOTE = '<field name="note" type="plain" stored="true"/>'
#: Fields of a schema, documents, and what of them an atomic update would lose; None where it is safe.
SCHEMAS: dict[str, tuple[str, list[dict[str, object]], str | None]] = {
    "nothing else": ("", [PLAIN], None),
    "indexed": (
        '<field name="secret" type="string" stored="false"/>', [{**PLAIN, "secret": "x"}], "'secret' is neither"),
    "not in use": ('<field name="secret" type="string" stored="false"/>', [PLAIN], None),
    "docValues": (
        '<field name="seen" type="plong" stored="false"/><field name="hidden" type="plong" stored="true"/>',
        [{**PLAIN, "seen": 1, "hidden": 2}], None),
    "docValues that are not given back": (
        '<field name="seen-1" type="plong" stored="false" useDocValuesAsStored="false"/>',
        [{**PLAIN, "seen-1": 1}], "'seen-1' is neither"),
    "dynamic": (
        '<dynamicField name="*_u" type="string" stored="false"/>',
        [*({**PLAIN, "id": str(number)} for number in range(20)), {**PLAIN, "x_u": "v"}],
        r"'x_u' is neither stored nor docValues \(1 document\)"),
    "dynamic, not in use": ('<dynamicField name="*_u" type="string" stored="false"/>', [PLAIN], None),
    "copied": (
        f'{NOTE}<field name="all" type="plain" stored="false" multiValued="true"/>'
        '<copyField source="note" dest="all"/><copyField source="content" dest="all"/>',
        [{**PLAIN, "note": "x"}], None),
    "copied, stored": (
        f'{NOTE}<field name="all" type="plain" stored="true" multiValued="true"/><copyField source="note" dest="all"/>',
        [{**PLAIN, "note": "x"}], None),
    "copied from what is not kept": (
        '<field name="gone" type="string" indexed="false" stored="false"/>'
        '<field name="all" type="plain" stored="true"/><copyField source="gone" dest="all"/>',
        [{**PLAIN, "gone": "x"}], "'all' is copied from 'gone'"),
    "filled beside its copies": (
        f'{NOTE}<field name="all" type="plain" stored="true" multiValued="true"/><copyField source="note" dest="all"/>',
        [{**PLAIN, "all": "mine"}], r"'all' holds values that were not copied from 'note' \(1 document\)"),
    "the text is copied": (BODY.format("true"), [{"id": "a", "body": TEXT}], None),
    "the text is copied from what is not kept": (
        BODY.format("false"), [{"id": "a", "body": TEXT}], "'body' is neither"),
    "nested": (
        '<field name="_root_" type="string" indexed="true" stored="false"/><field name="_nest_path_" type="nest"/>'
        '<fieldType name="nest" class="solr.NestPathField"/>',
        [{**PLAIN, "_childDocuments_": [{"id": "b", "content": TEXT}]}, {**PLAIN, "id": "c"}], "documents within"),
    "not nested": ('<field name="_root_" type="string" indexed="true" stored="false"/>', [PLAIN], None),
}  # fmt: skip


@pytest.fixture
def others(solr_cloud_url: str, tmp_path: Path) -> Iterator[Any]:
    """Makes collections of two shards from a schema."""
    base_url, names = solr_cloud_url.rpartition("/")[0], list[str]()

    def make(more: str = "", *, stored: str = "true") -> SolrClient:
        names.append(f"whorl_others_{uuid.uuid4().hex[:8]}")
        conf = tmp_path / names[-1] / "conf"
        conf.mkdir(parents=True)
        (conf / "managed-schema.xml").write_text(SCHEMA.format(more=more, stored=stored))
        (conf / "solrconfig.xml").write_text(CONFIG)
        create_collection(base_url, names[-1], conf.parent, shards=2)
        return SolrClient(f"{base_url}/{names[-1]}")

    yield make
    for name in names:
        delete_collection(base_url, name)


@pytest.mark.parametrize("case", SCHEMAS)
def test_backfill_loses_nothing_or_refuses(others: Any, case: str) -> None:
    """
    Where an atomic update would lose values that documents have, the field is named and nothing is done; else every
    stored value is as it was, and the sketches are there.
    """
    more, bare, lost = SCHEMAS[case]
    client = others(more)
    with pytest.raises(SchemaError, match="whorl solr init"):
        prepare(client, FieldNames())
    initialise(client, FieldNames(), dry_run=False)
    client.post("update", bare, commit="true")
    before = stored(client)
    if lost is not None:
        with pytest.raises(SchemaError, match=lost):
            backfill(client, FieldNames())
        assert stored(client) == before
        return
    found = client.post("select", {"query": {"field": {"f": "content", "query": "seven"}}})["response"]["numFound"]
    assert backfill(client, FieldNames()).sent == len(before) == found
    after = stored(client)
    assert all(SKETCH in document for document in after)
    assert [{name: value for name, value in each.items() if name not in NEEDED} for each in after] == before
    again = client.post("select", {"query": {"field": {"f": "content", "query": "seven"}}})["response"]["numFound"]
    assert again == found


def test_backfill_where_everything_is_copied(others: Any) -> None:
    """
    A copyField of * copies the sketch too, as it would have when the document was indexed; what it held stays.
    """
    client = others(
        '<field name="all" type="plain" stored="true" multiValued="true"/><copyField source="*" dest="all"/>'
    )
    initialise(client, FieldNames(), dry_run=False)
    client.post("update", [PLAIN], commit="true")
    assert backfill(client, FieldNames()).sent == 1
    assert {"a", TEXT} <= set(stored(client)[0]["all"])


def test_backfill_without_versions(client: SolrClient) -> None:
    """
    Without `_version_` no document can be changed in part, and the message says so.
    """
    collection = inspect(client, FieldNames())
    fields = {name: about for name, about in collection.schema.fields.items() if name != "_version_"}
    with pytest.raises(SchemaError, match="_version_"):
        require_safe(client, replace(collection, schema=replace(collection.schema, fields=fields)))


def test_backfill_without_stored_text(others: Any) -> None:
    """
    Without a stored text there is nothing to make sketches from; documents indexed before it was stored are left alone.
    """
    client = others(stored="false")
    initialise(client, FieldNames(), dry_run=False)
    client.post("update", [PLAIN, {"id": "b"}], commit="true")
    with pytest.raises(SchemaError, match="'content' is not a stored field"):
        prepare(client, FieldNames())
    definition = {"name": "content", "type": "plain", "indexed": True, "stored": True}
    client.post("schema", {"replace-field": definition})
    client.post("update", [{"id": "c", "content": TEXT}], commit="true")
    assert backfill(client, FieldNames()) == Backfilled(total=2, sent=1, unread=1)
    seven = {"query": {"field": {"f": "content", "query": "seven"}}, "limit": 9, "sort": "id asc"}
    assert [each["id"] for each in client.post("select", seven)["response"]["docs"]] == ["a", "c"]


def test_doctor_on_fields_that_are_not_as_needed(others: Any) -> None:
    """
    Missing fields are a note with what adds them; a field of another kind is named.
    """
    client = others('<field name="whorl_sample" type="string" stored="true" indexed="false"/>')
    initialise(client, FieldNames(content="content"), dry_run=False)
    found = {finding.code: finding for finding in check(client, FieldNames())}
    assert "'whorl_sample' is not indexed" in found["sketch-fields"].message
    assert SolrEngine(client).sketch_scheme is None


@pytest.mark.parametrize("metric", ["jaccard", "a_in_b", "b_in_a"])
def test_similar_without_sketches(client: SolrClient, metric: str) -> None:
    """
    A collection with MinHash tokens alone is searched by these: long documents whose exact share is well above the
    threshold are found, intervals hold the truth for all but few, and the page says how rough it is.
    """
    without_sketches(client)
    try:
        with open_store(client.url) as store:
            page = store.similar("big", metric=metric, threshold=10, recall=95, rows=100)
            own = next(document.text for document in DOCUMENTS if document.id == "big")
            exact = {document.id: share(own, document.text, metric) for document in DOCUMENTS if document.id != "big"}
            found = {hit.hit.id: hit.estimate for hit in page.found}
            assert "whorl solr check" in page.warnings[0]
            within = store.search("FINGERPRINT:big_10_95", calibrated=True, metric=metric, rows=100)
            assert {hit.id for hit in within.hits} == {*found, "big"}
            assert within.warnings[0] == page.warnings[0]
            long = {document.id for document in DOCUMENTS if document.text.count(" ") > 2_000}
            assert {name for name in long & exact.keys() if exact[name] >= 0.2} <= found.keys()
            assert found
            by = Metric(metric)
            held = [each.low.by(by) - 1e-9 <= exact[name] <= each.high.by(by) + 1e-9 for name, each in found.items()]
            assert sum(held) >= 0.8 * len(held)
    finally:
        backfill(client, FieldNames())


def share(a: str, b: str, metric: str) -> float:
    """Return the exact share of the shingles of two texts of lower-case words."""
    one, other = ({tuple(words[at : at + 5]) for at in range(len(words) - 4)} for words in (a.split(), b.split()))
    whole = {"jaccard": one | other, "a_in_b": one, "b_in_a": other}[metric]
    return len(one & other) / len(whole) if whole else 0.0
