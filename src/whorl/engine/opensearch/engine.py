"""Engine for an OpenSearch or Elasticsearch index.

Searches use only fields that whorl fills (`document_fields`), so they do not depend on the server's version, analysers
and plug-ins. FINGERPRINT also works on an index without these fields that has a MinHash field (`foreign_minhash`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from whorl.arrays_and_batches import batches
from whorl.engine.configured_fields import FieldNames
from whorl.engine.index_terms import engine_fields_by_name
from whorl.engine.opensearch.backfill_and_labels import (
    CONFLICT,
    OpenSearchLabels,
    missing_fields_query,
    require_unchanged,
)
from whorl.engine.opensearch.client import MOST_ID_BYTES, RESULT_WINDOW, TOO_MANY_BUCKETS, IndexClient, address
from whorl.engine.opensearch.create_index import (
    ensure_index,
    field_definition,
    file_base,
    searchable_text,
    splits_names,
    without_minhash_field,
    without_passage_field,
)
from whorl.engine.opensearch.document_fields import (
    DIGEST,
    FIELDS,
    HAS_OWN_FIELDS,
    ID,
    OWN_SCHEME,
    OWN_SCHEMES,
    OWN_SKETCH_SCHEME,
    PASSAGES,
    REFERENCES,
    SCHEME,
    SIZE,
    SKETCH,
    WITHOUT_TOKENS,
    WORDS,
    Json,
    name_in,
    own_fields,
    passage_scheme,
    properties_in,
    reference_term,
    source,
    text_in,
    without_text,
)
from whorl.engine.opensearch.foreign_minhash import ForeignSignatures, TokenField, read_index_tokens, read_texts
from whorl.engine.opensearch.request_body import (
    facet_aggregations,
    id_field,
    match_all,
    read_facets,
    sort_keys,
    translate,
)
from whorl.engine.protocol import (
    SCAN_BATCH_SIZE,
    CandidatePage,
    Costs,
    Facet,
    FacetResult,
    LookUp,
    MinHashPart,
    ScanBatch,
    concurrent_change_error,
    plan_among,
    reference_meanings,
    replacement_error,
)
from whorl.engine.server_engine import (
    ServerEngine,
    StoredSketch,
    TermMatches,
    TtlCache,
    decode_sketches,
    explain_refusals,
    finds_only_short,
    guard_responses,
)
from whorl.errors import DocumentError, EngineError, EngineResponseError, ParameterError, SchemaError
from whorl.fingerprint.fingerprint_texts import sign, signatures_by_id
from whorl.fingerprint.minhash.signature_and_tokens import Signature
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import Document, Hit, Order, Page, Stored
from whorl.query.plan.fields_and_values import Fields
from whorl.query.plan.nodes import BoundPlan, Kind, SharedBands, SharedTokens, leaves

#: Maximum number of references or documents in a request.
_AT_ONCE = 200
#: Time in seconds for which the description of the cluster's own tokens is cached.
_TOKENS_SECONDS = 300.0
_MOST_FIELDS = 10_000


@guard_responses
class OpenSearchEngine(ServerEngine):
    #: Costs in microseconds to look up a token and to compare a candidate, for Lucene with ten segments (one tier of
    #: TieredMergePolicy). Only their ratio matters.
    costs = Costs(look_up=110.0, candidate=150.0)

    def __init__(self, client: IndexClient, names: FieldNames = FieldNames()) -> None:  # noqa: B008 - frozen
        super().__init__(client.refresh)
        self._client, self._names = client, names
        self._largest = self._until_refresh(self._largest_now)
        self._gaps = self._until_refresh(self._gaps_now)
        self._without_tokens = self._until_refresh(self._without_tokens_now)
        self._tokens = TtlCache(lambda _: read_index_tokens(client, names), _TOKENS_SECONDS)

    @property
    def _foreign(self) -> ForeignSignatures | None:
        """Reader of the MinHash tokens that the cluster makes; None if searches use whorl's fields."""
        return self._tokens().foreign

    @property
    def minhash(self) -> MinHashPart:
        return "whole" if self._foreign or self._tokens().has_own else "none"

    @property
    def scheme(self) -> Scheme:
        return self._foreign.scheme if self._foreign else OWN_SCHEME

    @property
    def sketch_scheme(self) -> SketchScheme | None:
        return None if self._foreign else OWN_SKETCH_SCHEME

    def index(self, documents: Iterable[Document], *, replace: bool = True) -> None:
        # If documents share an id, store the last document.
        batch = list({document.id: document for document in documents}.values())
        for document in batch:
            if len(document.id.encode()) > MOST_ID_BYTES:
                raise DocumentError(f"a cluster takes ids of {MOST_ID_BYTES} bytes at most, got {document.id!r:.80}")
        if not batch:
            return
        # If the index is missing, the cluster would create it with default mappings, so check the fields at every call.
        features = ensure_index(self._client, self._names)
        fields = own_fields(batch, self._names, features)
        actions = self._replacements(batch) if replace else self._safe_actions(batch)
        rows = zip(actions, batch, fields, strict=True)
        changes = [(action, {**source(document, self._names), **own}) for action, document, own in rows]
        refused = self._client.bulk(changes)
        # If the response to a write was lost, the retry conflicts with the first attempt. So accept documents with the
        # right digest.
        stored = self.digests([document_id for document_id, status, _ in refused if status == CONFLICT])
        written = {document.id for document in batch if document.has_digest(stored.get(document.id))}
        for document_id, status, reason in refused:
            if status != CONFLICT:
                raise DocumentError(f"the cluster refuses {document_id!r}: {reason}")
            if document_id not in written:
                raise concurrent_change_error(document_id)

    def _replacements(self, documents: Sequence[Document]) -> Iterator[Json]:
        """For each document, yield a bulk action that stores it.

        A new version is stored on the same shard as the earlier version.
        """
        ids = [document.id for document in documents]
        hits = self._client.documents(ids, False) if self._client.is_routed else {}
        yield from ({"index": address(hits.get(document_id, {"_id": document_id}))} for document_id in ids)

    def _safe_actions(self, documents: Sequence[Document]) -> Iterator[Json]:
        """For each document, yield a bulk action that stores it, but cannot replace a different text.

        The action creates a new document, or replaces a document with the same text unless another client has changed
        it since. Raise DocumentError if the index already has a different text under an id.
        """
        hits = self._client.documents([document.id for document in documents], [self._names.content])
        for document in documents:
            hit = hits.get(document.id)
            if hit is None:
                yield {"create": {"_id": document.id}}
            elif text_in(hit.get("_source", {}), self._names) == document.text:
                yield {"index": require_unchanged(hit)}
            else:
                raise replacement_error(document.id)

    def delete(self, ids: Collection[str], *, matching: BoundPlan | None = None) -> int:
        if matching is None:
            actions = [address(hit) for hit in self._client.documents(list(ids), False).values()]
        else:
            query = self._translate_plan(plan_among(matching, ids))
            body = {"query": query, "size": len(ids), "_source": False, "seq_no_primary_term": True}
            with explain_refusals(matching):
                actions = [require_unchanged(hit) for hit in self._client.hits(body)]
        refused = self._client.bulk([({"delete": action}, None) for action in actions])
        for document_id, status, reason in refused:
            if matching is None or status != CONFLICT:
                raise EngineResponseError(f"{self._client.url} does not delete {document_id!r}: {reason}")
        if actions:
            self.refresh()
        # If the response to a deletion was lost, the retry conflicts with the first attempt. So count only refused
        # documents that still exist.
        return len(actions) - len(self._client.documents([document_id for document_id, *_ in refused], False))

    def digests(self, ids: Collection[str], *, of_texts: bool = False) -> Mapping[str, str]:
        hits = self._documents_if_index(ids, False, [DIGEST])
        return {document_id: digest for document_id, hit in hits.items() for digest in _stored_values(hit, DIGEST)[:1]}

    def _documents_if_index(self, ids: Collection[str], source: object, stored: Sequence[str] = ()) -> dict[str, Json]:
        """Return documents, keyed by id; return {} if `index` has not created the index yet."""
        try:
            return self._client.documents(list(ids), source, stored)
        except EngineResponseError as error:
            if error.status == 404:
                return {}
            raise

    def resolve(self, references: Collection[str]) -> Mapping[str, str]:
        return {reference: hit["_id"] for reference, hit in self._find(references, {"_source": False})}

    def _find(self, references: Collection[str], options: Json) -> Iterator[tuple[str, Json]]:
        """Yield each reference that names a document, with the document.

        `options` are members of the request's body that choose the fields to return.
        """
        return self._match_references(references, lambda values: self._fetch_named(values, options))

    def _fetch_named(self, values: Mapping[str, list[str]], options: Json) -> list[Json]:
        if self._foreign:
            return [*self._client.documents(values["_id"], options["_source"]).values()]
        clauses = [{"terms": {field: sorted({*wanted})}} for field, wanted in values.items()]
        body = {
            "query": {"bool": {"should": clauses}},
            # Several documents may have the same DBID, so allow two documents per value.
            "size": 2 * sum(map(len, values.values())),
            "sort": [{ID: "asc"}],
            "docvalue_fields": [ID, REFERENCES],
            **options,
        }
        return self._client.hits(body)

    def _meanings(self, reference: str) -> list[tuple[str, str]]:
        if self._foreign:
            # An index without whorl's fields has no DBIDs, so a reference can only be an id.
            return [("_id", value) for role, value in reference_meanings(reference) if role == "key"]
        names = {"dbid": self._names.dbid, "noderef": self._names.noderef}
        return [
            (ID, value) if role == "key" else (REFERENCES, reference_term(names[role], value))
            for role, value in reference_meanings(reference)
        ]

    def _values_of(self, document: Json, field: str) -> list[str]:
        return [document["_id"]] if field == "_id" else _stored_values(document, field)

    def signatures(self, needs_order: Mapping[str, bool]) -> Mapping[str, Signature]:
        if self._foreign:
            return self._foreign.signatures(needs_order)
        return signatures_by_id(self._texts(needs_order), OWN_SCHEME)

    def _texts(self, ids: Collection[str]) -> dict[str, str]:
        return read_texts(self._client, self._names, ids)

    def _searchable_texts(self, ids: Collection[str]) -> dict[str, str]:
        """Return the texts of the searchable versions of documents, keyed by id."""
        # A look-up by id would miss documents with a custom routing, so use a search.
        texts = dict[str, str]()
        for batch in batches(ids, _AT_ONCE):
            body = {"query": {"ids": {"values": batch}}, "size": len(batch), "_source": [self._names.content]}
            texts |= {hit["_id"]: text_in(hit.get("_source", {}), self._names) for hit in self._client.hits(body)}
        return texts

    def resolve_signatures(self, needs_order: Mapping[str, bool]) -> Mapping[str, tuple[str, Signature | None]]:
        if self._foreign:
            # Look up all possible meanings of all references in one request. If two references share a meaning, and one
            # of them needs the order, the request must ask for the order. In a dict, the last value of a key counts, so
            # insert the references that need the order last.
            keys = {reference: [key for _, key in self._meanings(reference)] for reference in needs_order}
            last = sorted(needs_order, key=needs_order.__getitem__)
            signatures = self._foreign.signatures({key: needs_order[name] for name in last for key in keys[name]})
            ids = {reference: [key for key in keys[reference] if key in signatures] for reference in needs_order}
            return {reference: (key, signatures[key]) for reference, existing in ids.items() for key in existing[:1]}
        hits = dict(self._find(needs_order, {"_source": [self._names.content]}))
        # Two references may name the same document, so key the texts by id.
        texts = {hit["_id"]: text_in(hit.get("_source", {}), self._names) for hit in hits.values()}
        made = signatures_by_id(texts, OWN_SCHEME)
        return {reference: (hit["_id"], made[hit["_id"]]) for reference, hit in hits.items()}

    def resolve_sketches(self, references: Collection[str]) -> Mapping[str, tuple[str, Sketch | None]]:
        # Read the text too: references are few, and a short document has no stored sketch.
        options = {"_source": [self._names.content], "stored_fields": [SCHEME, SKETCH]}
        hits = dict(self._find(references, options))
        ids = (hit["_id"] for hit in hits.values())
        return dict(zip(hits, zip(ids, self._sketches([*hits.values()]), strict=True), strict=True))

    def texts(self, ids: Collection[str]) -> Mapping[str, str]:
        return {document_id: text for document_id, text in self._texts(ids).items() if text}

    def _passages_now(self) -> tuple[PassageScheme | None, bool]:
        scheme = passage_scheme(field_definition(self._client.mapping(PASSAGES) or {}, PASSAGES))
        if scheme is None:
            return None, False
        read = {"term": {PASSAGES: {"value": scheme.name}}}
        return scheme, not self._client.count({"bool": {"filter": [match_all()], "must_not": [read]}})

    def _without_passages(self) -> SchemaError:
        return without_passage_field(self._client)

    def _count_terms(self, terms: Sequence[str]) -> list[int]:
        return self._client.counts([{"term": {PASSAGES: term}} for term in terms])

    def _match_terms(self, plan: BoundPlan, terms: Sequence[str], rows: int) -> TermMatches:
        # A hit lists the names of its matching clauses, so give each hash a named clause.
        named = [{"term": {PASSAGES: {"value": term, "_name": str(position)}}} for position, term in enumerate(terms)]
        query = {"bool": {"filter": [self._translate_plan(plan)], "should": named}}
        for hit in self._client.hits({"query": query, "size": rows, "_source": False}):
            yield hit["_id"], sorted(map(int, hit["matched_queries"]))

    def require_passages(self, wanted: PassageScheme | None = None) -> None:
        """Raise an error unless new documents get passage hashes, of the scheme `wanted` if it is given.

        Create the index if it is missing.
        """
        ensure_index(self._client, self._names, passages=wanted or True)

    def largest_size(self) -> int | None:
        return self._largest()

    def sketches(self, ids: Collection[str]) -> Mapping[str, Sketch]:
        hits = self._client.documents(list(ids), False, [SCHEME, SKETCH])
        sketches = zip(hits, self._sketches([*hits.values()], self._texts), strict=True)
        return {document_id: sketch for document_id, sketch in sketches if sketch is not None}

    def sizes(self, ids: Collection[str]) -> Mapping[str, int]:
        sizes = dict[str, int]()
        for batch in batches(ids, _AT_ONCE):
            query = {"bool": {"filter": [{"terms": {ID: batch}}, HAS_OWN_FIELDS]}}
            body = {"query": query, "size": len(batch), "_source": False, "docvalue_fields": [SIZE]}
            sizes |= {hit["_id"]: int(size) for hit in self._client.hits(body) for size in _stored_values(hit, SIZE)}
        return sizes

    def scan(self, cursor: str = "") -> Iterator[ScanBatch]:
        tokens = self._token_field
        by_id = {"query": match_all(tokens), "sort": [{id_field(tokens): "asc"}]}
        wanted = {**by_id, "size": SCAN_BATCH_SIZE, **self._with_sketches()}
        while hits := self._client.hits({**wanted, **({"search_after": [cursor]} if cursor else {})}):
            cursor = hits[-1]["_id"]
            documents = zip(hits, self._sketches(hits), strict=True)
            yield ScanBatch(
                tuple((hit["_id"], name_in(hit["_source"], self._names), sketch) for hit, sketch in documents), cursor
            )

    def candidates(self, plan: BoundPlan, *, start: int, rows: int, in_order: bool = True) -> CandidatePage:
        body = {**self._hits_of(plan), **self._with_sketches()}
        if finds_only_short(plan, OWN_SCHEME):
            body["_source"] = [self._names.name, self._names.content]
        if not in_order:
            body["sort"] = [{"_score": "desc"}]
        with explain_refusals(plan):
            total, hits = self._client.page(body, start, rows)
        sketched = zip(map(self._hit, hits), self._sketches(hits), strict=True)
        return CandidatePage(total, tuple(sketched), plan.warnings)

    def _with_sketches(self) -> Json:
        return {"_source": [self._names.name], "stored_fields": [SCHEME, SKETCH]}

    def sign(self, text: str) -> Signature:
        return self._foreign.sign(text) if self._foreign else sign(text, OWN_SCHEME)

    def documents(self, ids: Collection[str]) -> Mapping[str, Stored]:
        hits = self._client.documents(list(ids), without_text(self._names)).items()
        names, sources = self._names, ((key, hit.get("_source", {})) for key, hit in hits)
        return {key: Stored(key, name_in(source, names), properties_in(source, names)) for key, source in sources}

    def names(self, ids: Collection[str]) -> Mapping[str, str]:
        hits = self._documents_if_index(ids, [self._names.name])
        return {document_id: name_in(hit.get("_source", {}), self._names) for document_id, hit in hits.items()}

    def search(self, plan: BoundPlan, *, start: int, rows: int, order: Sequence[Order] = ()) -> Page:
        body, tokens = self._hits_of(plan, order), self._token_field
        is_unsorted = tokens is not None and not tokens.is_sorted
        if is_unsorted and start + rows > RESULT_WINDOW:
            problem = f"{self._client.url} sorts no hits by _id, so that pages end at {RESULT_WINDOW:,} hits"
            raise SchemaError(f"{problem}; 'whorl opensearch check' says more")
        with explain_refusals(plan):
            total, hits = self._client.page(body, start, rows)
        page = [self._hit(hit) for hit in hits]
        if is_unsorted:
            page.sort(key=lambda hit: (-hit.score, hit.id))
        return Page(total, tuple(page), plan.warnings)

    def facets(self, plan: BoundPlan, facets: Sequence[Facet]) -> tuple[FacetResult, ...]:
        query = self._translate_plan(plan)
        aggregations = facet_aggregations(facets, lambda node: self._translate_plan(BoundPlan(node)))
        try:
            with explain_refusals(plan):
                response = self._client.search({"size": 0, "query": query, "aggs": aggregations})
        except EngineResponseError as error:
            if TOO_MANY_BUCKETS not in error.detail:
                raise
            message = f"the values of nested facets are too many for the cluster; ask for fewer values: {error.detail}"
            raise ParameterError(message) from error
        return read_facets(facets, response["aggregations"] if facets else {})

    def explain(self, plan: BoundPlan, *, start: int, rows: int) -> Mapping[str, object]:
        body = {**self._hits_of(plan), "from": start, "size": rows, "track_total_hits": True}
        return {"method": "POST", "url": f"{self._client.url}/_search", "json": body}

    @property
    def _token_field(self) -> TokenField | None:
        return self._foreign.field if self._foreign else None

    def _translate_plan(self, plan: BoundPlan) -> Json:
        """Return the query of a plan; raise SchemaError if it needs MinHash tokens that the index lacks."""
        needs_tokens = any(isinstance(leaf, SharedTokens | SharedBands) for leaf in leaves(plan.root))
        # Another client may have just added the field, so read the mapping again before refusing the query.
        if needs_tokens and self.minhash == "none" and not self._tokens.not_older_than(0.0).has_own:
            raise without_minhash_field(self._client)
        return translate(plan, self.scheme, self._token_field)

    def _hits_of(self, plan: BoundPlan, order: Sequence[Order] = ()) -> Json:
        shown = {"track_scores": True, "_source": [self._names.name]}
        return {"query": self._translate_plan(plan), "sort": sort_keys(order, self._token_field), **shown}

    @property
    def labels(self) -> OpenSearchLabels:
        return OpenSearchLabels(self._client, self._names, lambda plan: self._translate_plan(plan))

    def count(self) -> int:
        return self._client.count(match_all(self._token_field))

    def file_base(self, choose: Callable[[], Path] | None = None) -> Path | None:
        return file_base(self._client, self._names, choose)

    def size(self) -> int | None:
        with suppress(EngineError, KeyError, TypeError):
            return int(self._client.statistics("store")["_all"]["primaries"]["store"]["size_in_bytes"])
        return None

    def gaps(self, by: LookUp) -> tuple[str, ...]:
        if by == "phrases":
            return ()
        total, unfound, without_sketch = self._gaps()
        has_tokens = total and by == "tokens" and self._tokens().has_own
        lacking = without_sketch if by == "sketches" else unfound
        lack = "have no sketch and cannot be found so" if lacking > unfound else "lack whorl's fields and are not found"
        counts = [(lacking, lack)]
        if has_tokens:
            counts.append((self._without_tokens(), "have no MINHASH tokens and are not found"))
        makes = f"'whorl opensearch backfill {self._client.store_url}' makes them"
        return tuple(f"{count:,} of {total:,} documents {lack}; {makes}" for count, lack in counts if count)

    def _without_tokens_now(self) -> int:
        """Count the documents that have whorl's fields, but no MinHash tokens, because the field was added later."""
        return self._client.count({"bool": {"filter": [match_all(), WITHOUT_TOKENS]}})

    def _gaps_now(self) -> tuple[int, int, int]:
        """Count all documents, the documents that no search finds, and the documents that no sketch search finds.

        The last two counts leave out documents without a text, if the text field is indexed.
        """
        if self._foreign:
            return 0, 0, 0
        text = None
        try:
            if (mapping := self._client.mapping()) is None:
                return 0, 0, 0
            if not field_definition(mapping, ID):
                raise self._client.without_fields()
            text = searchable_text(mapping, self._names)
        except EngineResponseError as error:
            # The user may have only the right to search, so go on without the mapping.
            if error.status != 403:
                raise
        lacking = missing_fields_query(text=text)
        unfound = {"bool": {"filter": [lacking], "must_not": [match_all()]}}
        return self._client.total(), self._client.count(unfound), self._client.count(lacking)

    def close(self) -> None:
        self._client.close()

    def _hit(self, hit: Json) -> Hit:
        return Hit(str(hit["_id"]), name_in(hit.get("_source", {}), self._names), float(hit["_score"]))

    def _sketches(
        self, hits: Sequence[Json], fetch: Callable[[Collection[str]], Mapping[str, str]] | None = None
    ) -> list[Sketch | None]:
        """Return the sketch of each hit, or None if it is missing, damaged or of another scheme.

        `fetch` returns texts of short documents, keyed by id. The default fetches the texts of the searchable versions.
        """

        def read(hit: Json) -> StoredSketch:
            has_store_schemes = _stored_values(hit, SCHEME) == [OWN_SCHEMES]
            encoded = next(iter(_stored_values(hit, SKETCH)), None)
            return StoredSketch(hit["_id"], has_store_schemes, encoded, text_in(hit.get("_source", {}), self._names))

        schemes = OWN_SCHEME, OWN_SKETCH_SCHEME
        return decode_sketches([*map(read, hits)], fetch or self._searchable_texts, schemes)

    def _largest_now(self) -> int | None:
        if self._foreign:
            return None
        largest = {"query": HAS_OWN_FIELDS, "size": 1, "sort": [{SIZE: "desc"}], "_source": False}
        hits = self._client.hits(largest)
        return int(hits[0]["sort"][0]) if hits else None

    def _read_fields(self) -> Fields:
        if self._foreign:
            return self._foreign.fields
        terms = {"terms": {"field": FIELDS, "size": _MOST_FIELDS}}
        buckets = self._client.search({"size": 0, "aggs": {"fields": terms}})["aggregations"]["fields"]["buckets"]
        pairs = sorted(bucket["key"].rpartition("\x1f")[::2] for bucket in buckets)
        known = engine_fields_by_name((name, Kind[kind]) for name, kind in pairs)
        # Queries may also use the user's names for the fields "name" and "content".
        known = {self._names.name: known["name"], self._names.content: known["content"], **known}
        split = {"name"} if splits_names(self._client.mapping(WORDS) or {}) else ()
        return Fields(known, profile=OWN_SCHEME.profile, split_fields=split)


def _stored_values(hit: Json, field: str) -> list[str]:
    return list(hit.get("fields", {}).get(field, ()))
