"""Stores the cluster labels of near-duplicates in two fields of a Solr collection, by atomic updates.

In an atomic update, Solr rebuilds the whole document from stored fields and docValues. The tokens of the sketch and of
the passages are in neither. So the update includes these tokens, computed again from the stored sketch and text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from whorl.engine.cluster_labels import READ_AT_ONCE, ServerLabels, cluster_labels
from whorl.engine.passage_look_up import passage_terms
from whorl.engine.protocol import ClusterLabel
from whorl.engine.server_engine import explain_refusals
from whorl.engine.solr.backfill import require_safe, send_updates, update
from whorl.engine.solr.client import Json, SolrClient, SolrResponse, whole_text
from whorl.engine.solr.document_fields_and_coverage import read_sketches, searched_sketch_fields, text_reader
from whorl.engine.solr.field_definitions import PASSAGES, SCHEME, SKETCH, definitions
from whorl.engine.solr.inspect_collection import Collection as SolrCollection
from whorl.engine.solr.request_body import contents_request, escape_field_names, exists
from whorl.errors import SchemaError
from whorl.fingerprint.fingerprint_texts import Parts, hash_texts
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.model import CLUSTER, IS_PRINCIPAL
from whorl.query.plan.nodes import BoundPlan


class SolrLabels(ServerLabels):
    """Reads and writes the cluster labels of documents in a collection.

    `request` returns the body of a request that only counts a plan's hits (0 rows).
    """

    def __init__(
        self, client: SolrClient, collection: Callable[[], SolrCollection], request: Callable[[BoundPlan], Json]
    ) -> None:
        super().__init__(client.url)
        self._client, self._collection, self._request = client, collection, request

    def prepare(self) -> None:
        """Raise SchemaError if the label fields are missing, or if an atomic update would lose data."""
        collection, url = self._collection(), self._client.url
        for name in (CLUSTER, IS_PRINCIPAL):
            existing, kind = collection.schema.fields.get(name), definitions("field")[name]["type"]
            if existing is None:
                raise SchemaError(f"{url} has no field {name!r} for clusters; 'whorl solr init {url}' adds it")
            if existing.get("type") != kind or not existing.get("docValues") or existing.get("multiValued"):
                raise SchemaError(f"{url} has a field {name!r} of another kind, by which nothing collapses")
        if collection.passage_scheme and collection.content is None:
            raise SchemaError(
                f"a change of documents in part would lose what {url} has in {PASSAGES!r}, which is made from texts "
                "that are not stored"
            )
        require_safe(self._client, collection)

    def read_all(self) -> Iterator[Mapping[str, ClusterLabel]]:
        collection = self._collection()
        if CLUSTER not in collection.schema.fields:
            return
        key = collection.names.key
        fields = escape_field_names([key, CLUSTER, IS_PRINCIPAL])
        for documents, _ in self._client.pages(exists(CLUSTER), key, fields, READ_AT_ONCE):
            yield _read_labels(documents, key)

    def counts(self, plan: BoundPlan) -> Mapping[str, int]:
        if CLUSTER not in self._collection().schema.fields:
            return {}
        facet = {"clusters": {"type": "terms", "field": CLUSTER, "limit": -1}}
        with explain_refusals(plan):
            answer = self._client.select({**self._request(plan), "facet": facet}).answer
        # An empty collection has no facets.
        clusters = answer.object("facets", is_optional=True).object("clusters", is_optional=True)
        return {str(bucket["val"]): bucket.count("count") for bucket in clusters.objects("buckets", is_optional=True)}

    def _read(self, ids: Sequence[str]) -> Mapping[str, ClusterLabel]:
        key = self._collection().names.key
        return _read_labels(self._client.select(contents_request(key, ids, [CLUSTER, IS_PRINCIPAL])).documents, key)

    def _change(self, ids: Sequence[str], changes: Mapping[str, ClusterLabel | None]) -> list[tuple[str, str]]:
        collection = self._collection()
        key = collection.names.key
        fields = [SKETCH, SCHEME, "_version_"]
        if collection.passage_scheme:
            fields.append(str(collection.content))
        documents = self._client.select(contents_request(key, ids, fields)).documents
        updates = [
            update(collection, document, {**_label_fields(changes[str(document[key])]), **unreadable})
            for document, unreadable in zip(documents, self._unreadable_fields(documents, collection), strict=True)
            if str(document[key]) in changes
        ]
        return send_updates(self._client, updates, key)

    def _unreadable_fields(self, documents: list[SolrResponse], collection: SolrCollection) -> Iterator[Json]:
        """For each document, compute the fields that Solr cannot read and would lose in an atomic update."""
        if scheme := collection.passage_scheme:
            texts = [whole_text(document.get(collection.content or "")) for document in documents]
            words = (hashes.words for hashes in hash_texts(texts, collection.scheme, Parts.WORDS, workers=1))
            passages = [
                passage_terms(text, joined, collection.scheme, scheme)
                for text, joined in zip(texts, words, strict=True)
            ]

        read_texts = text_reader(self._client, collection, documents)
        for at, sketch in enumerate(read_sketches(documents, collection.scheme, SketchScheme(), read_texts)):
            # Leave out the encoded sketch, because Solr stores and keeps it.
            fields = {} if sketch is None else searched_sketch_fields(sketch, collection.scheme)
            yield {**fields, PASSAGES: passages[at]} if scheme else fields


def _read_labels(documents: list[SolrResponse], key: str) -> dict[str, ClusterLabel]:
    return cluster_labels({str(document[key]): document for document in documents})


def _label_fields(label: ClusterLabel | None) -> Json:
    return {CLUSTER: label and label.cluster, IS_PRINCIPAL: label and label.is_principal}
