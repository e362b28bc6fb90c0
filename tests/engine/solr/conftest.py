"""Fixtures: a collection for these tests in either kind of Solr, and a factory for collections from a schema."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from solr_cloud import create_collection, delete_collection
from tests import solr_runtime
from tests.engine.solr.bare import Collections
from tests.engine.solr.indexed import (
    DOCUMENTS,
    SCHEME_NOW,
)
from whorl import Store, open_store
from whorl.engine.solr.client import SolrClient
from whorl.fingerprint.fingerprint_texts import text_sketch
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import Sketch


@pytest.fixture(scope="module")
def sketches() -> dict[str, Sketch]:
    return {document.id: text_sketch(document.text, Scheme(), SCHEME_NOW) for document in DOCUMENTS}


@pytest.fixture(
    params=[pytest.param("standalone", marks=pytest.mark.solr), pytest.param("cloud", marks=pytest.mark.cloud)],
    scope="module",
)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A filled collection for one test module, in either kind of Solr."""
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


SCHEMA = """<schema name="others" version="1.6"><uniqueKey>id</uniqueKey>
<field name="id" type="string" indexed="true" stored="true" required="true"/>
<field name="content" type="plain" indexed="true" stored="{stored}"/>
<fieldType name="string" class="solr.StrField" docValues="false"/>
<fieldType name="plong" class="solr.LongPointField" docValues="true"/>
<fieldType name="plain" class="solr.TextField">
<analyzer><tokenizer class="solr.StandardTokenizerFactory"/></analyzer></fieldType>
<field name="_version_" type="plong" indexed="false" stored="false" docValues="true"/>{more}</schema>"""
CONFIG = """<config><luceneMatchVersion>8.11.0</luceneMatchVersion>
<schemaFactory class="ManagedIndexSchemaFactory"/>
<updateHandler class="solr.DirectUpdateHandler2"><updateLog/></updateHandler>
<requestHandler name="/select" class="solr.SearchHandler"/></config>"""


@pytest.fixture
def others(solr_cloud_url: str, tmp_path: Path) -> Iterator[Any]:
    """Factory for collections of two shards with the given additions to a schema."""
    base_url, names = solr_cloud_url.rpartition("/")[0], list[str]()

    def make(more: str = "", *, stored: str = "true") -> SolrClient:
        names.append(f"whorl_others_{uuid.uuid4().hex[:8]}")
        conf = tmp_path / names[-1] / "conf"
        conf.mkdir(parents=True)
        (conf / "managed-schema").write_text(SCHEMA.format(more=more, stored=stored))
        (conf / "solrconfig.xml").write_text(CONFIG)
        create_collection(base_url, names[-1], conf.parent, shards=2)
        return SolrClient(f"{base_url}/{names[-1]}")

    yield make
    for name in names:
        delete_collection(base_url, name)


@pytest.fixture(scope="module")
def collections(solr_cloud_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collections]:
    made = Collections(solr_cloud_url.rpartition("/")[0], tmp_path_factory.mktemp("bare"))
    yield made
    for name in made.names:
        delete_collection(made.base_url, name)
