"""For any damaged response, an operation returns an answer or raises one of whorl's errors, and no other."""

from __future__ import annotations

import traceback
import uuid
from collections.abc import Iterator

import pytest

from tests import opensearch_runtime, solr_runtime
from tests.engine.mutations import damaged_answers, record
from tests.sampling import FULL

#: Number of damaged responses of each server; `make mutations` damages more.
COUNT = 5_000 if FULL else 200


@pytest.fixture(
    params=[pytest.param("solr", marks=pytest.mark.solr), pytest.param("opensearch", marks=pytest.mark.opensearch)]
)
def own_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A collection or an index that the test may change."""
    if request.param == "opensearch":
        with opensearch_runtime.own_index(request.getfixturevalue("opensearch_url")) as url:
            yield url
        return
    base_url = request.getfixturevalue("solr_standalone_url").rpartition("/")[0]
    name = f"whorl_mutations_{uuid.uuid4().hex[:8]}"
    yield solr_runtime.make_collection(base_url, name)
    solr_runtime.drop(base_url, name)


def test_damaged_answers(own_url: str) -> None:
    """
    Each operation gets one damaged response, and none fails with a foreign error.
    """
    recording = record(own_url)
    assert len(recording.answers) > 20
    mismatches = {
        f"{name}: {type(error).__name__} at {traceback.extract_tb(error.__traceback__)[-1]}"
        for name, error in damaged_answers(recording, own_url, COUNT)
    }
    assert mismatches == set()
