"""Responses that are JSON but not Solr's: another shape or another version."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result

from tests import solr_runtime
from tests.engine.solr.test_client import Faulty, http
from tests.sampling import sample
from whorl import Document, Store, open_store
from whorl.cli.main import main
from whorl.engine.check_findings import is_tested
from whorl.engine.solr.check_collection import TESTED_VERSIONS
from whorl.engine.solr.client import SolrClient, response_int
from whorl.engine.solr.engine import SolrEngine
from whorl.engine.solr.field_definitions import SKETCH_FIELDS
from whorl.engine.solr.inspect_collection import SolrVersion
from whorl.errors import SchemaError

TEXT = " ".join(f"word{number}" for number in range(60))
#: Malformed responses by path.
SHAPES: dict[str, list[object]] = {
    "/select": [
        {"response": []},
        {"response": 7},
        {"response": None},
        {"response": {"numFound": "many", "docs": []}},
        {"response": {"numFound": 2, "docs": 7}},
        {"response": {"numFound": 2, "docs": [1, 2]}},
        {"response": {"numFound": 2, "docs": {}}},
        {"response": {"numFound": 1, "docs": [{}]}},
        {"response": {"numFound": 1, "docs": [{"id": "a", "score": "high", "whorl_sketch": 7, "whorl_scheme": []}]}},
        {"response": {"numFound": 1, "docs": [{"id": "a"}]}, "facets": [], "nextCursorMark": 7},
    ],
    "/schema": [
        {"schema": []},
        {"schema": {}},
        {"schema": {"fieldTypes": [1]}},
        {"schema": {"fieldTypes": [{"name": "a"}], "copyFields": [{}]}},
    ],
    "/schema/fields": [
        {"fields": {}},
        {"fields": [{}]},
        {"fields": [{"name": 7}]},
        {"fields": [{"name": "MINHASH"}]},
        {"fields": [{"name": "MINHASH", "type": "nowhere"}]},
        {"fields": [{"name": "MINHASH", "type": {}}]},
    ],
    "/schema/dynamicfields": [{"dynamicFields": 7}, {"dynamicFields": [[]]}],
    "/config": [
        {"config": []},
        {"config": {"requestHandler": []}},
        {"config": {"requestHandler": {"/x": 7}}},
        {"config": {"searchComponent": {"x": []}}},
    ],
    "/admin/system": [{"lucene": 7}, {"lucene": {"solr-spec-version": 9}}, {"lucene": {}}],
    "/admin/luke": [{"fields": []}, {"fields": 7}],
    "/analysis/document": [{"analysis": []}, {"analysis": {"0": 7}}],
    "/tvrh": [
        {"response": {"numFound": 1, "docs": [{"id": "a"}]}, "termVectors": []},
        {"response": {"numFound": 1, "docs": [{"id": "a"}]}, "termVectors": {"a": {"uniqueKey": "a", "MINHASH": 7}}},
    ],
    "/update": [{"ok": True}],
}


@pytest.fixture(scope="module")
def url(solr_standalone_url: str) -> Iterator[str]:
    base_url = solr_standalone_url.rpartition("/")[0]
    name = f"whorl_shapes_{uuid.uuid4().hex[:8]}"
    made = solr_runtime.keep_vectors(solr_runtime.make_collection(base_url, name))
    with open_store(made) as store:
        store.index([Document("a", TEXT), Document("b", f"{TEXT} and more")])
    yield made
    solr_runtime.drop(base_url, name)


def faulty(url: str, path: str, body: object) -> Faulty:
    """Return a server before a collection that responds to one path itself."""
    name = url.rpartition("/")[2]
    upstream = f"http://{urlsplit(url).netloc}"
    return Faulty(http("200 OK", json.dumps(body)), upstream=upstream, when=rf"{name}{path}(\?|$)")


def run(address: str, url: str, *command: str) -> Result:
    there = f"http://{address}/solr/{url.rpartition('/')[2]}"
    result = CliRunner().invoke(main, [word.replace("URL", there) for word in command])
    assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exception)
    return result


def test_limits_in_the_defaults_of_a_handler(solr_standalone_url: str) -> None:
    """
    Each request replaces a handler's defaults that would cut its response, or hide the cut.
    """
    base_url, name = solr_standalone_url.rpartition("/")[0], f"whorl_limits_{uuid.uuid4().hex[:8]}"
    client = SolrClient(solr_runtime.make_collection(base_url, name))
    try:
        limits = {"timeAllowed": 1, "shards.tolerant": True, "minExactCount": 1, "omitHeader": True}
        handler = {"name": "/limited", "class": "solr.SearchHandler", "defaults": limits}
        client.change("config", {"add-requesthandler": {**handler, "invariants": {"echoParams": "all"}}})
        selected = client.select({"query": "id:none", "limit": 0}, "limited")
        used = selected.answer["responseHeader"]["params"]
        expected = {
            "timeAllowed": "-1",
            "shards.tolerant": "false",
            "minExactCount": "2147483647",
            "omitHeader": "false",
        }
        assert {key: used[key] for key in expected} == expected
    finally:
        client.close()
        solr_runtime.drop(base_url, name)


def test_a_partial_response_is_an_error(url: str) -> None:
    """
    A response that Solr has cut at a limit is not taken for a complete one.
    """
    header = {"status": 0, "partialResults": True, "partialResultsDetails": "Limits exceeded!"}
    body = {"responseHeader": header, "response": {"numFound": 1, "start": 0, "docs": [{"id": "a", "score": 1.0}]}}
    with faulty(url, "/select", body).serving() as address:
        for command in ("search word1 --store URL", "delete a --store URL", "duplicates --store URL"):
            result = run(address, url, *command.split())
            assert result.exit_code == 1
            assert "answered with a part of the results only (Limits exceeded!)" in result.output
    with open_store(url) as store:
        assert store.search("word1").total == 2


@pytest.mark.parametrize("number", [10**400, -(1 << 70), 1e30, "many", None])
def test_numbers_that_no_solr_writes(number: object) -> None:
    """
    A number with hundreds of digits is refused.
    """
    with pytest.raises((ValueError, TypeError)):
        response_int(number)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("number", "path", "body"),
    [(number, path, body) for path, answers in SHAPES.items() for number, body in enumerate(answers)],
)
def test_another_shape_is_no_traceback(
    url: str, number: int, path: str, body: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    For any malformed part of a response, a command either ends with one message or does without that part.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(TEXT)
    with faulty(url, path, body).serving() as address:
        commands = (
            "search FINGERPRINT:a_50_90 --store URL",
            "search word1 --store URL",
            "similar a --store URL",
            "similar a --exact --store URL",
            "index a.txt --store URL",
            "duplicates --store URL",
            "solr check URL",
            "solr check URL --sample 5",
            "solr init URL --dry-run",
            "solr backfill URL --dry-run",
        )
        for command in sample(commands, 3, number):
            result = run(address, url, *command.split())
            if result.exit_code:
                assert "Traceback" not in result.output


@pytest.mark.parametrize(("version", "level"), [("6.6.6", "error"), ("7.7.3", "error"), ("10.0.0", "warning")])
def test_other_versions(url: str, version: str, level: str) -> None:
    """
    Commands refuse a version that cannot work, and check names a version that is not tested.
    """
    body = {"lucene": {"solr-spec-version": version, "lucene-spec-version": version}}
    with faulty(url, "/admin/system", body).serving() as address:
        result = run(address, url, "solr", "check", "URL", "--json")
        findings = {load["code"]: load for load in json.loads(result.stdout)}
        code = {"error": "old-version", "warning": "untried-version"}[level]
        assert findings[code]["level"] == level
        assert version in findings[code]["message"]
        assert bool(result.exit_code) == (level == "error")
        for command in ("search FINGERPRINT:a --store URL", "solr init URL --dry-run", "solr backfill URL --dry-run"):
            result = run(address, url, *command.split())
            assert bool(result.exit_code) == (level == "error")
            assert level != "error" or "min_hash" in result.output


def test_versions_that_are_tried() -> None:
    """
    Tested versions are recognised; a version in an unknown format is accepted and reported.
    """
    tried = ["8.11.0", "8.11.4", "9.0.0", "9.9.0", "9.10.1"]
    assert all(is_tested(version, TESTED_VERSIONS) for version in tried)
    assert not any(
        is_tested(version, TESTED_VERSIONS) for version in ["8.10.1", "8.1.0", "10.0.0", "11.0.0", "nightly", ""]
    )
    for version in [*tried, "8.0.0", "10.0.0", "nightly"]:
        SolrVersion(version, "").require()
    with pytest.raises(SchemaError, match=r"Solr 7\.7\.3"):
        SolrVersion("7.7.3", "").require()


def test_changes_of_a_collection_are_noticed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A running engine notices removed and added fields after a while, without a request each time.
    """
    client = SolrClient(url)
    with Store(SolrEngine(client)) as store:
        engine = store.engine
        assert isinstance(engine, SolrEngine)
        clock = [1000.0]
        monkeypatch.setattr("whorl.engine.server_engine.time.monotonic", lambda: clock[0])
        engine._collection.forget()
        assert engine.collection.schema.has_sketches
        definition = client.get("schema/fields/whorl_sketch")["field"]
        client.change("schema", {"delete-field": {"name": "whorl_sketch"}})
        try:
            assert engine.collection.schema.has_sketches
            clock[0] += 120
            assert not engine.collection.schema.has_sketches
            assert engine.sketch_scheme is None
        finally:
            client.change("schema", {"add-field": definition})
        clock[0] += 120
        assert engine.collection.schema.has_sketches
        assert SKETCH_FIELDS.keys() <= engine.collection.schema.fields.keys()
