"""A sample of the damaged requests and files that `make fuzz` makes by the hundred thousand."""

from __future__ import annotations

import pytest

from tests.ingest import fuzz_files
from tests.service import fuzz_requests
from whorl.service.app import create_app

pytestmark = [pytest.mark.slow, pytest.mark.process]


def test_damaged_requests() -> None:
    """
    Each damaged request gets an answer, and none a 5xx.
    """
    tally = fuzz_requests.run(350, seed=1)
    assert sum(sum(counts.values()) for counts in tally.statuses.values()) > 320
    assert tally.statuses["as it is"][200] > 30


def test_every_route_is_fuzzed(tmp_path_factory: pytest.TempPathFactory) -> None:
    """
    The undamaged requests cover all routes that the service describes.
    """
    with fuzz_requests.filled(tmp_path_factory.mktemp("described") / "store") as store:
        paths = create_app(store).openapi()["paths"]
    described = {(method.upper(), path.partition("{")[0]) for path, methods in paths.items() for method in methods}
    sent = {(request.method, request.path) for request in fuzz_requests.RIGHT}
    assert [
        operation
        for operation in described
        if not any(operation[0] == a and b.startswith(operation[1]) for a, b in sent)
    ] == []


def test_damaged_files() -> None:
    """
    Each damaged file yields documents or a problem.
    """
    tally = fuzz_files.run(300, seed=1)
    assert sum(tally.files.values()) == 300
    assert 50 < sum(tally.read.values()) < 300
