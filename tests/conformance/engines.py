"""The engines that the conformance suite runs on, as parameters of a fixture."""

from __future__ import annotations

import pytest

ENGINES = [
    "embedded",
    pytest.param("standalone", marks=pytest.mark.solr),
    pytest.param("cloud", marks=pytest.mark.cloud),
    pytest.param("opensearch", marks=pytest.mark.opensearch),
]
