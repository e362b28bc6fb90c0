"""Cluster labels among the properties of documents."""

from __future__ import annotations

from whorl.engine.cluster_labels import cluster_label, with_cluster_label
from whorl.engine.protocol import ClusterLabel
from whorl.model import Document


def test_a_label_is_two_properties() -> None:
    """
    A label is stored as two properties and read back unchanged. Other properties stay; incomplete labels are ignored.
    """
    document = Document("a", "text", "name", {"year": 2020})
    principal = with_cluster_label(document, ClusterLabel("b", is_principal=True))
    assert cluster_label(principal.properties) == ClusterLabel("b", is_principal=True)
    assert (principal.text, principal.name, principal.contents()["year"]) == ("text", "name", (2020,))
    assert cluster_label(
        with_cluster_label(principal, ClusterLabel("c", is_principal=False)).properties
    ) == ClusterLabel("c", is_principal=False)
    assert with_cluster_label(principal, None) == document
    assert cluster_label({"whorl_cluster": "b"}) is None
    assert cluster_label({"whorl_cluster": ("b", "c"), "whorl_is_principal": ["true"]}) is None


def test_a_document_is_unchanged_by_its_label() -> None:
    """
    The digest ignores the label, so the document is not indexed again and keeps it.
    """
    document = Document("a", "text", properties={"year": 2020})
    assert with_cluster_label(document, ClusterLabel("b", is_principal=False)).digest == document.digest
    assert Document("a", "text", properties={"year": 2021}).digest != document.digest
