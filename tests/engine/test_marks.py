"""Marks among the properties of a document."""

from __future__ import annotations

from whorl.engine.marks import mark_in, marked
from whorl.engine.protocol import Mark
from whorl.model import Document


def test_a_mark_is_two_properties() -> None:
    """
    It is read back as it was put there, and leaves the others alone; what somebody else calls so is none.
    """
    document = Document("a", "text", "name", {"year": 2020})
    principal = marked(document, Mark("b", is_principal=True))
    assert mark_in(principal.properties) == Mark("b", is_principal=True)
    assert (principal.text, principal.name, principal.contents()["year"]) == ("text", "name", (2020,))
    assert mark_in(marked(principal, Mark("c", is_principal=False)).properties) == Mark("c", is_principal=False)
    assert marked(principal, None) == document
    assert mark_in({"whorl_cluster": "b"}) is None
    assert mark_in({"whorl_cluster": ("b", "c"), "whorl_is_principal": ["true"]}) is None


def test_a_document_is_unchanged_by_its_mark() -> None:
    """
    Its digest is that of what was brought: it is not indexed again, and does not lose the mark.
    """
    document = Document("a", "text", properties={"year": 2020})
    assert marked(document, Mark("b", is_principal=False)).digest == document.digest
    assert Document("a", "text", properties={"year": 2021}).digest != document.digest
