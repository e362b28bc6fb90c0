"""Fixtures of all fingerprint tests."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from unittest.mock import patch

import pytest

from whorl.fingerprint.compiled import kernel


@pytest.fixture(autouse=True)
def _no_idle_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin and end each test without cached kernels: some tests make kernels with other parameters, or must not have
    any.
    """
    monkeypatch.setattr(kernel, "_idle", {})


@pytest.fixture(scope="module", params=["plain", "compiled"])
def each_route(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run all tests of a module without the compiled loops, and then with the compiled loops."""
    if request.param == "plain":
        with patch.object(kernel, "_compiled", Event()):
            yield
    elif kernel.is_available():
        kernel.Kernel()
        yield
    else:
        pytest.skip("numba is not installed")
