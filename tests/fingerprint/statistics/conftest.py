"""The laws are tested as numpy computes them and as the compiled loops do."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.statistics import estimate, hypergeometric


@pytest.fixture(scope="module", params=["plain", "compiled"], autouse=True)
def _route(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let all tests of a module compute the one way and then the other."""
    if request.param == "plain":
        with (
            patch.object(hypergeometric, "loops_at_hand", return_value=None),
            patch.object(estimate, "loops_at_hand", return_value=None),
        ):
            yield
        return
    if not kernel.is_available():
        pytest.skip("numba is not installed")
    kernel.Kernel()
    assert kernel.loops_at_hand() is not None
    yield
