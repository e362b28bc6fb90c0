"""Statistics against Python's own library, references, and warnings about documents that searches miss."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator

import pytest
import requests
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests import opensearch_runtime
from tests.cli.running import own_collection
from whorl import Document, open_store
from whorl.cli.main import main
from whorl.engine.protocol import IndexLag, Statistics, reference_meanings

NUMBERS = st.lists(st.integers(-1000, 1000).map(float), max_size=8)


def of(numbers: list[float]) -> Statistics:
    if not numbers:
        return Statistics()
    return Statistics(
        len(numbers), min(numbers), max(numbers), sum(numbers), sum(number * number for number in numbers)
    )


@given(NUMBERS, NUMBERS)
def test_parts_together(one: list[float], other: list[float]) -> None:
    """
    Merged statistics of two parts equal those of all numbers; the deviation is that of a sample.
    """
    both = one + other
    merged = of(one).merge(of(other))
    assert merged == of(both)
    assert math.isclose(merged.mean, statistics.fmean(both) if both else 0.0, abs_tol=1e-9)
    assert math.isclose(merged.deviation, statistics.stdev(both) if len(both) > 1 else 0.0, abs_tol=1e-6)


def test_squares_beyond_a_float_have_no_deviation() -> None:
    """
    The deviation of numbers whose squares exceed a float is NaN, not an error.
    """
    merged = of([1e200, 1.0])
    assert merged.total == 1e200
    assert math.isnan(merged.deviation)


UUID = "3f2a91c0-0d6e-4b7c-9e55-0123456789ab"
STORE = "workspace://SpacesStore/"
NODEREF = STORE + UUID


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("1234", [("dbid", "1234"), ("key", "1234")]),
        ("007", [("dbid", "007"), ("key", "007")]),
        (UUID, [("noderef", NODEREF), ("key", UUID), ("key", NODEREF)]),
        ("A" + UUID[1:], [("noderef", f"{STORE}A{UUID[1:]}"), ("key", f"A{UUID[1:]}"), ("key", f"{STORE}A{UUID[1:]}")]),
        (NODEREF, [("noderef", NODEREF), ("key", NODEREF), ("key", UUID)]),
        ("workspace://SpacesStore/report", [("key", "workspace://SpacesStore/report")]),
        ("workspace://SpacesStore/12", [("key", "workspace://SpacesStore/12")]),
        ("archive://SpacesStore/" + UUID, [("key", "archive://SpacesStore/" + UUID)]),
        ("report 7.txt", [("key", "report 7.txt")]),
        ("१२", [("key", "१२")]),
        ("12\n", [("key", "12\n")]),
        ("", [("key", "")]),
    ],
)
def test_reference_meanings(reference, expected):
    """
    A number means a DBID before an id, a UUID a node reference before an id; everything else is an id.
    """
    assert reference_meanings(reference) == tuple(expected)


def test_the_message_about_a_lag_has_its_number() -> None:
    """
    The message has the number of missing documents, in singular or plural, and a remedy.
    """
    one, several = str(IndexLag(1, is_pending=False)), str(IndexLag(1536, is_pending=False))
    assert one.startswith("1 stored or deleted document is missing from the index, which")
    assert several.startswith("1,536 stored or deleted documents are missing from the index, which")
    assert "free some room on the disk" in several
    assert str(IndexLag(2, is_pending=True)).startswith("2 stored or deleted documents are not in the index yet")


TEXT = " ".join(f"word{number}" for number in range(400))
NEAR = [Document("A1", f"{TEXT} one"), Document("A2", f"{TEXT} two")]
Change = Callable[[str], object]


def _solr_change(url: str) -> None:
    body = [{"id": "A2", "color": {"set": "blue"}}]
    requests.post(f"{url}/update?commit=true", json=body, timeout=60).raise_for_status()


def _opensearch_change(url: str) -> None:
    address = f"{url.removeprefix('opensearch+')}/_update/A2?refresh=true"
    requests.post(address, json={"doc": {"color": "blue"}}, timeout=60).raise_for_status()


@pytest.fixture(
    params=[
        pytest.param("solr_standalone_url", marks=pytest.mark.solr),
        pytest.param("solr_cloud_url", marks=pytest.mark.cloud),
        pytest.param("opensearch_url", marks=pytest.mark.opensearch),
    ],
)
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, Change]]:
    """URL of a store on a server, the server's command, and a function that updates the document A2 partially."""
    url = request.getfixturevalue(request.param)
    if request.param == "opensearch_url":
        with opensearch_runtime.own_index(url) as made:
            yield made, "opensearch", _opensearch_change
    else:
        with own_collection(url) as made:
            yield made, "solr", _solr_change


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, [*arguments])
    return result.exit_code, result.output


def test_a_document_that_another_client_has_changed(server: tuple[str, str, Change]) -> None:
    """
    A document without look-up tokens is counted in all answers. Until a backfill, no recall is promised and the gate
    fails.
    """
    url, command, change = server
    with open_store(url) as store:
        store.index(NEAR)
        similar = store.similar("A1")
        assert ([hit.hit.id for hit in similar.found], similar.promised, similar.warnings) == (["A2"], True, ())
        assert store.sources("A1").is_complete
    assert run("sources", "--store", url, "-", "--fail-on", "medium")[0] == 0
    change(url)
    said = "1 of 2 documents have no sketch and cannot be found so"
    if command == "opensearch":
        said = "1 of 2 documents lack whorl's fields and are not found"
    with open_store(url) as store:
        similar = store.similar("A1")
        assert (similar.total, similar.promised) == (0, False)
        attribution = store.sources("A1")
        assert (attribution.promise.words, attribution.promise.certain_words) == (None, None)
        verification = store.verify(quotations=[{"quote": " ".join([*TEXT.split()[-8:], "two"])}])
        warned = [similar.warnings, attribution.warnings]
        if command == "opensearch":
            warned.append(verification.warnings)
        else:
            # Solr itself indexes the words, and quotations are found by words.
            assert [quotation.verdict.value for quotation in verification.quotations] == ["exact"]
            assert verification.warnings == ()
        for warnings in warned:
            assert [warning for warning in warnings if said in warning and f"whorl {command} backfill" in warning]
    status, output = run("similar", "--store", url, "A1")
    assert status == 0
    assert said in output
    assert "best effort" in output
    status, output = run("status", "--store", url)
    assert status == 1
    assert said in output
    assert "complete" not in output
    status, output = run("sources", "--store", url, "A1", "--fail-on", "medium")
    assert status == 1
    assert said in output
    assert run(command, "backfill", url)[0] == 0
    with open_store(url) as store:
        similar = store.similar("A1")
        assert ([hit.hit.id for hit in similar.found], similar.promised, similar.warnings) == (["A2"], True, ())
    assert "index: complete" in run("status", "--store", url)[1]
