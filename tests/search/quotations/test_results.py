"""Names of verdicts and kinds of differences."""

from __future__ import annotations

import pytest

from whorl.errors import ParameterError
from whorl.search.quotations.results import Difference, Verdict, parse_verdicts


def test_verdicts_named() -> None:
    """
    Verdicts are listed with commas; an unknown one is named.
    """
    assert parse_verdicts("absent, exact") == {Verdict.ABSENT, Verdict.EXACT}
    with pytest.raises(ParameterError, match="separated by commas, got 'wrong'"):
        parse_verdicts("absent,wrong")


@pytest.mark.parametrize(
    ("quote", "document", "kind"), [("a", "b", "changed"), ("a", "", "added"), ("", "b", "dropped")]
)
def test_kinds(quote: str, document: str, kind: str) -> None:
    """
    A difference without words on one side is an addition or an omission.
    """
    assert Difference(quote, document, (0, len(quote)), (0, len(document))).kind == kind
