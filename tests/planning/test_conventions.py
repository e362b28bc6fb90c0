"""What can be read and not be run: refused with its place before any engine is asked."""

from __future__ import annotations

import pytest

from whorl.errors import UnsupportedQueryError
from whorl.planning.options import Conventions


@pytest.mark.parametrize(
    ("query", "place", "message"),
    [
        ("b a*~0.5", "a*~0.5", "a number behind a word with wildcards is not supported"),
        ('b OR "a*"~2', '"a*"~2', "a number behind a word with wildcards is not supported"),
        ("b AND %name", "%name", "a template has a meaning only as the text of a template"),
        ("NOT %(a, b)", "%(a, b)", "a template has a meaning only as the text of a template"),
    ],
)
def test_what_alfresco_reads_and_nothing_runs(query: str, place: str, message: str) -> None:
    strict = Conventions(is_strict=True)
    strict.read(query)
    for ask in (strict.plan, strict.filter):
        with pytest.raises(UnsupportedQueryError) as caught:
            ask(query)
        assert caught.value.message == message
        assert query[caught.value.span.start : caught.value.span.end] == place
