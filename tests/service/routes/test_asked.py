"""What several requests ask in the same words."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from whorl.service.routes.asked import Commonness, OneText
from whorl.service.routes.compare import CompareRequest
from whorl.service.routes.similar import SimilarRequest
from whorl.service.routes.sources import SourcesRequest


@pytest.mark.parametrize("asked", [OneText, SimilarRequest, SourcesRequest])
@pytest.mark.parametrize("given", [{}, {"id": "a", "text": "b"}, {"id": None, "text": None}])
def test_one_text_is_meant(asked: type[OneText], given: dict[str, Any]) -> None:
    """
    Not none and not two; an empty text is one.
    """
    with pytest.raises(ValidationError, match="name one: id or text"):
        asked.model_validate(given)
    assert asked.model_validate({"text": ""}).text == ""


@pytest.mark.parametrize("asked", [SimilarRequest, SourcesRequest, CompareRequest])
def test_what_nobody_knows(asked: type[Commonness]) -> None:
    """
    A name that is spelled wrongly is told, not passed over; of common texts there are not too many.
    """
    given = {"a": {"id": "a"}, "b": {"text": "b"}} if asked is CompareRequest else {"id": "a"}
    assert asked.model_validate({**given, "boilerplate": ["x"] * 100}).common_above is None
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        asked.model_validate({**given, "common_abov": "50"})
    with pytest.raises(ValidationError, match="at most 100 items"):
        asked.model_validate({**given, "boilerplate": ["x"] * 101})
