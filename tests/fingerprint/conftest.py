"""What the tests of fingerprints share."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from unittest.mock import patch

import pytest

from whorl.fingerprint.compiled import first_use, kernel


@pytest.fixture(autouse=True)
def _no_idle_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin each test without kernels, and keep none: some are made with other numbers, or must not be had."""
    monkeypatch.setattr(first_use, "_idle", {})


@pytest.fixture(scope="module", params=["plain", "compiled"])
def each_route(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let all tests of a module have numpy's own way, and then the compiled loops at hand."""
    if request.param == "plain":
        with patch.object(kernel, "_compiled", Event()):
            yield
    elif kernel.is_available():
        kernel.Kernel()
        yield
    else:
        pytest.skip("numba is not installed")
