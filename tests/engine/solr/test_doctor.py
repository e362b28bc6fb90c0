"""`whorl solr init` and `check` on real collections: bare ones, whorl's own, and ones with every trap."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.plain import plain_tokens
from whorl import Document, Store, open_store
from whorl.engine.solr import fields
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.doctor import Finding, Level, check
from whorl.engine.solr.engine import SolrEngine
from whorl.engine.solr.local.launcher import create_collection, delete_collection
from whorl.engine.solr.schema import FieldNames
from whorl.engine.solr.setup import initialise

SCHEMA = """<schema name="bare" version="1.6"><uniqueKey>id</uniqueKey>
<field name="id" type="string" indexed="true" stored="true" required="true"/>
<field name="_version_" type="plong" indexed="false" stored="false" docValues="true"/>
<field name="content" type="plain" indexed="true" stored="{stored}"/>
<fieldType name="string" class="solr.StrField" docValues="true"/>
<fieldType name="plong" class="solr.LongPointField" docValues="true"/>
<fieldType name="plain" class="solr.TextField">
<analyzer><tokenizer class="solr.StandardTokenizerFactory"/></analyzer></fieldType>
{more}</schema>"""
CONFIG = """<config><luceneMatchVersion>9.0</luceneMatchVersion>
<schemaFactory class="{factory}"/>
<updateHandler class="solr.DirectUpdateHandler2"><updateLog/></updateHandler>
<requestHandler name="/select" class="solr.SearchHandler"/></config>"""
#: A field with everything that the notes on this filter warn of.
TRAPS = """<field name="MINHASH" type="trap" indexed="true" stored="true" termVectors="true"/>
<copyField source="body" dest="MINHASH"/><field name="body" type="plain" stored="true"/>
<fieldType name="trap" class="solr.TextField"><analyzer><tokenizer class="solr.StandardTokenizerFactory"/>
<filter class="solr.ShingleFilterFactory" minShingleSize="5" maxShingleSize="5" outputUnigrams="false"/>
<filter class="solr.MinHashFilterFactory" bucketCount="256"/></analyzer></fieldType>"""


class Collections:
    """Makes collections from schemas given as text, and removes them."""

    def __init__(self, base_url: str, folder: Path) -> None:
        self.base_url, self.folder, self.names = base_url, folder, list[str]()

    def make(self, more: str = "", *, stored: str = "true", mutable: bool = True) -> str:
        name = f"whorl_bare_{len(self.names)}"
        conf = self.folder / name / "conf"
        conf.mkdir(parents=True)
        factory = "ManagedIndexSchemaFactory" if mutable else "ClassicIndexSchemaFactory"
        (conf / ("managed-schema.xml" if mutable else "schema.xml")).write_text(SCHEMA.format(more=more, stored=stored))
        (conf / "solrconfig.xml").write_text(CONFIG.format(factory=factory))
        create_collection(self.base_url, name, conf.parent)
        self.names.append(name)
        return f"{self.base_url}/{name}"


@pytest.fixture(scope="module")
def collections(solr_cloud_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collections]:
    made = Collections(solr_cloud_url.rpartition("/")[0], tmp_path_factory.mktemp("bare"))
    yield made
    for name in made.names:
        delete_collection(made.base_url, name)


def codes(url: str) -> dict[str, Level]:
    return {finding.code: finding.level for finding in check(SolrClient(url), FieldNames())}


def schema_of(url: str) -> dict[str, object]:
    schema: dict[str, object] = requests.get(f"{url}/schema", timeout=60).json()["schema"]
    return schema


def test_init_makes_a_bare_collection_searchable(collections: Collections) -> None:
    """
    After init a collection answers as one made from the configset; a second init adds nothing.
    """
    url = collections.make()
    assert codes(url) == {"no-fingerprints": Level.ERROR}
    planned = list(initialise(SolrClient(url), FieldNames(), dry_run=True))
    assert any("MINHASH" in line for line in planned)
    before = schema_of(url)
    assert list(initialise(SolrClient(url), FieldNames(), dry_run=True)) == planned
    assert schema_of(url) == before

    assert any("added MINHASH" in line for line in initialise(SolrClient(url), FieldNames(), dry_run=False))
    assert next(each for each in before["fields"] if each["name"] == "content") in schema_of(url)["fields"]  # type: ignore[attr-defined,operator]
    assert any(line.startswith("nothing to add") for line in initialise(SolrClient(url), FieldNames(), dry_run=False))
    assert Level.ERROR not in codes(url).values()

    text = " ".join(f"word{number}" for number in range(300))
    with open_store(url) as store:
        store.index([Document("a", text), Document("b", f"{text} and more of it")])
        page = store.search("FINGERPRINT:a_50")
        assert [hit.id for hit in page.hits] == ["a", "b"]
        signature = store.signature("a")
    assert signature is not None
    assert signature.tokens == plain_tokens(text)


def test_init_agrees_with_the_configset(solr_cloud_url: str) -> None:
    """
    A collection made from the configset lacks nothing, and its definitions are the ones that init would add.
    """
    lines = list(initialise(SolrClient(solr_cloud_url), FieldNames(), dry_run=True))
    assert lines == ["nothing to add: all is there"]
    schema = schema_of(solr_cloud_url)
    types = {each["name"]: each for each in schema["fieldTypes"]}  # type: ignore[attr-defined]
    for definition in fields.TYPES:
        assert types[definition["name"]] == definition


def test_init_uses_the_users_names(collections: Collections) -> None:
    """
    With names of one's own, these are the fields that are made, copied and searched.
    """
    url = collections.make()
    names = FieldNames(minhash="tokens", content="body", name="title", dbid="nr", noderef="ref")
    initialise(SolrClient(url), names, dry_run=False)
    assert initialise(SolrClient(url), names, dry_run=False) == ["nothing to add: all is there"]
    assert Level.ERROR not in {finding.level for finding in check(SolrClient(url), names)}
    with Store(SolrEngine(SolrClient(url), names)) as store:
        text = "one two three four five six seven"
        store.index([Document("a", text, properties={"nr": 12}), Document("b", f"{text} eight")])
        assert [hit.id for hit in store.search("FINGERPRINT:12_20").hits] == ["a", "b"]


def test_init_leaves_what_a_dynamic_field_holds(collections: Collections) -> None:
    """
    A name that a dynamic field covers gets no field of its own, and a field that is filled no second copy.
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


def test_init_on_a_schema_that_cannot_change(collections: Collections) -> None:
    """
    The error says that Solr may not change this schema.
    """
    url = collections.make(mutable=False)
    with pytest.raises(Exception, match="solr/configset"):
        list(initialise(SolrClient(url), FieldNames(), dry_run=False))


def test_doctor_finds_whorls_own_collection_well(solr_standalone_url: str) -> None:
    """
    Nothing to warn of, and the token source is named.
    """
    findings = check(SolrClient(solr_standalone_url), FieldNames())
    assert {finding.level for finding in findings} <= {Level.OK, Level.NOTE}
    assert any(finding.code == "token-source" and "term vectors" in finding.message for finding in findings)


def test_doctor_sees_every_trap(collections: Collections) -> None:
    """
    Norms, positions, rotation, no truncation, stored text, no handler, another source, another analysis: each is told.
    """
    found = codes(collections.make(TRAPS))
    expected = {
        "norms", "positions", "rotation", "no-truncation", "stored-text", "no-vector-handler", "other-copy-field",
        "tokenizer", "no-folding", "query-analyzer", "text-only", "other-words",
    }  # fmt: skip
    assert {code for code, level in found.items() if level is Level.WARNING} == expected
    assert found["buckets"] is Level.NOTE
    assert found["no-dbid"] is Level.NOTE
    assert found["no-noderef"] is Level.NOTE


def test_doctor_on_a_scheme_that_whorl_lacks(collections: Collections) -> None:
    """
    More buckets than a scheme can have are an error of the collection's, told as every other.
    """
    url = collections.make(TRAPS.replace('bucketCount="256"', 'bucketCount="70000"'))
    (finding,) = check(SolrClient(url), FieldNames())
    assert finding.level is Level.ERROR
    assert "bucket count is 1 to 65536, got 70000" in finding.message


def test_doctor_without_any_source(collections: Collections) -> None:
    """
    No vectors, nothing stored: an error that says what to change.
    """
    plain = """<field name="MINHASH" type="plain" indexed="true" stored="false"/>"""
    found = {
        finding.code: finding for finding in check(SolrClient(collections.make(plain, stored="false")), FieldNames())
    }
    assert found["no-token-source"].level is Level.ERROR
    assert found["wrong-analyzer"].level is Level.ERROR
    assert "termVectors" in found["no-token-source"].remedy


def test_doctor_sees_uncommitted_documents(solr_standalone_url: str) -> None:
    """
    Documents that no search finds yet are counted.
    """
    client = SolrClient(solr_standalone_url)
    store = Store(SolrEngine(client))
    store.engine.index([Document("pending", "one two three four five six")])
    try:
        found = [finding for finding in check(client, FieldNames()) if finding.code == "uncommitted"]
        assert "1 documents are not committed" in found[0].message
    finally:
        store.engine.refresh()
        store.delete(["pending"])
    assert "uncommitted" not in codes(solr_standalone_url)


def test_doctor_counts_documents_without_fingerprint(solr_standalone_url: str) -> None:
    """
    Those of four words are counted.
    """

    def counted() -> int:
        findings = check(SolrClient(solr_standalone_url), FieldNames())
        return sum(int(each.message.split()[0]) for each in findings if each.code == "without-fingerprint")

    before = counted()
    with open_store(solr_standalone_url) as store:
        store.index([Document("few", "one two three four"), Document("enough", "one two three four five")])
        try:
            assert counted() == before + 1
        finally:
            store.delete(["few", "enough"])


def test_findings_as_json() -> None:
    """
    Programs get the parts by name.
    """
    finding = Finding(Level.WARNING, "norms", "it keeps norms", "omit them")
    assert finding.as_json() == {
        "level": "warning",
        "code": "norms",
        "message": "it keeps norms",
        "remedy": "omit them",
    }
    assert str(finding).splitlines()[1].strip() == "→ omit them"
