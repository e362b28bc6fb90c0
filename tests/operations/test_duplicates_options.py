"""Options of `duplicates` that depend on each other."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.operations import DuplicatesOperation


@pytest.mark.parametrize(
    ("options", "is_complete"),
    [
        ({}, False),
        ({"reference_only": True, "state": "state"}, False),
        ({"complete": True}, True),
        ({"keep": "first"}, True),
        ({"write_ids": True}, True),
        ({"filtered": "folder"}, True),
        ({"annotated": "folder"}, True),
    ],
)
def test_options_that_need_complete_clusters(options: dict[str, Any], is_complete: bool) -> None:
    """
    Retention policies, cluster labels and rewritten files need complete clusters.
    """
    assert DuplicatesOperation(**options).is_complete is is_complete
