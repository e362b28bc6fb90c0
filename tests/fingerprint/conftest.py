"""What the tests of fingerprints share."""

from __future__ import annotations

import pytest

from whorl.fingerprint.compiled import first_use


@pytest.fixture(autouse=True)
def _no_idle_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin each test without kernels, and keep none: some are made with other numbers, or must not be had."""
    monkeypatch.setattr(first_use, "_idle", {})
