"""The engines that the conformance suite runs on, as parameters of a fixture, and the number of random queries."""

from __future__ import annotations

import os

import pytest

#: Number of random queries on clauses; `make prove-servers` runs more of them than `make test`.
QUERY_COUNT = int(os.environ.get("CONFORMANCE_QUERIES", "400"))
ENGINES = [
    "embedded",
    pytest.param("standalone", marks=pytest.mark.solr),
    pytest.param("cloud", marks=pytest.mark.cloud),
    pytest.param("opensearch", marks=pytest.mark.opensearch),
]
