"""Collections made from schemas given as text: bare ones, and one with every configuration mistake."""

from __future__ import annotations

import uuid
from pathlib import Path

import requests

from solr_cloud import create_collection
from whorl.engine.check_findings import Severity
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.check_collection import check
from whorl.engine.solr.client import SolrClient

SCHEMA = """<schema name="bare" version="1.6"><uniqueKey>id</uniqueKey>
<field name="id" type="string" indexed="true" stored="true" required="true"/>
<field name="_version_" type="plong" indexed="false" stored="false" docValues="true"/>
<field name="content" type="plain" indexed="true" stored="{stored}"/>
<fieldType name="string" class="solr.StrField" docValues="true"/>
<fieldType name="plong" class="solr.LongPointField" docValues="true"/>
<fieldType name="plain" class="solr.TextField">
<analyzer><tokenizer class="solr.StandardTokenizerFactory"/></analyzer></fieldType>
{more}</schema>"""
#: Lucene version and file names that Solr 8.11 accepts too.
CONFIG = """<config><luceneMatchVersion>8.11.0</luceneMatchVersion>
<schemaFactory class="{factory}"/>
<updateHandler class="solr.DirectUpdateHandler2"><updateLog/></updateHandler>
<requestHandler name="/select" class="solr.SearchHandler"/></config>"""
#: A field with all mistakes that the documentation of this filter warns about.
TRAPS = """<field name="MINHASH" type="trap" indexed="true" stored="true" termVectors="true"/>
<copyField source="body" dest="MINHASH"/><field name="body" type="plain" stored="true"/>
<fieldType name="trap" class="solr.TextField"><analyzer><tokenizer class="solr.StandardTokenizerFactory"/>
<filter class="solr.ShingleFilterFactory" minShingleSize="5" maxShingleSize="5" outputUnigrams="false"/>
<filter class="solr.MinHashFilterFactory" bucketCount="256"/></analyzer></fieldType>"""


def write_configset(folder: Path, more: str = "", *, stored: str = "true", mutable: bool = True) -> Path:
    """Make a folder whose `conf/` contains a configuration and a schema with a field `content`; return the folder."""
    conf = folder / "conf"
    conf.mkdir(parents=True)
    factory = "ManagedIndexSchemaFactory" if mutable else "ClassicIndexSchemaFactory"
    (conf / ("managed-schema" if mutable else "schema.xml")).write_text(SCHEMA.format(more=more, stored=stored))
    (conf / "solrconfig.xml").write_text(CONFIG.format(factory=factory))
    return folder


class Collections:
    """Collections made from schemas given as text, with a list of names for their removal."""

    def __init__(self, base_url: str, folder: Path) -> None:
        self.base_url, self.folder, self.names = base_url, folder, list[str]()

    def make(self, more: str = "", *, stored: str = "true", mutable: bool = True) -> str:
        name = f"whorl_bare_{uuid.uuid4().hex[:8]}"
        configset = write_configset(self.folder / name, more, stored=stored, mutable=mutable)
        create_collection(self.base_url, name, configset)
        self.names.append(name)
        return f"{self.base_url}/{name}"


def codes(url: str) -> dict[str, Severity]:
    return {finding.code: finding.level for finding in check(SolrClient(url), FieldNames())}


def schema_of(url: str) -> dict[str, object]:
    schema: dict[str, object] = requests.get(f"{url}/schema", timeout=240).json()["schema"]
    return schema
