"""The Engine protocol for an index of OpenSearch or Elasticsearch; `request` builds the queries.

Everything searchable is made by whorl and kept in its own fields (`fields`), so nothing depends on the cluster's
analysers, versions or plug-ins, and the engine does not need to know which of the two servers it is. In an index
without these fields but with a MinHash field, whorl uses the tokens of that field (`tokens`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from whorl.arrays import batches
from whorl.engine.caching import SharedCommit, TtlCache
from whorl.engine.lucene import explain_refusals, holders_plan, look_up_holders, passage_hash_terms
from whorl.engine.opensearch.client import MOST_ID_BYTES, RESULT_WINDOW, IndexClient
from whorl.engine.opensearch.documents import (
    DIGEST,
    FIELDS,
    HANDLE,
    ID,
    PASSAGES,
    SCHEME,
    SIZE,
    SKETCH,
    WORDS,
    Json,
    handle,
    name_in,
    own_fields,
    properties_in,
    source,
    stored_name,
    text_in,
    without_text,
)
from whorl.engine.opensearch.facets import facet_aggregations, read_facets
from whorl.engine.opensearch.foreign_minhash import ForeignTokens, TokenField, foreign_tokens
from whorl.engine.opensearch.labels import OpenSearchLabels
from whorl.engine.opensearch.request import Translation, everything, id_field, sorted_by, translate
from whorl.engine.opensearch.setup import described, require_fields, splits_names
from whorl.engine.opensearch.transport import guard_responses
from whorl.engine.protocol import (
    SCAN_BATCH_SIZE,
    CandidatePage,
    Costs,
    Facet,
    FacetResult,
    PassageHolders,
    ScanBatch,
    reference_meanings,
)
from whorl.engine.setup import FieldNames
from whorl.errors import DocumentError, EngineError, EngineResponseError, SchemaError
from whorl.fingerprint.batch import Parts, hashed, signature, signatures_by_id
from whorl.fingerprint.minhash.signature import Signature
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.codec import decode_texts
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import Document, Hit, Order, Page, Stored
from whorl.query.plan.fields import Fields
from whorl.query.plan.nodes import BoundNode, BoundPlan, Kind

_AT_ONCE = 200
_FIELDS_SECONDS = _LARGEST_SECONDS = 30.0
#: Maximum age of `fields(latest=True)`, which every query with a misspelt field name calls.
_LATEST_SECONDS = 1.0
#: Cache lifetime of the check for whorl's fields, and of the description of the index's own tokens.
_TOKENS_SECONDS = 300.0
#: Lucene's costs with ten segments, TieredMergePolicy's segments per tier; only their ratio matters.
_COSTS = Costs(look_up=110.0, candidate=150.0)
#: Maximum number of distinct field names.
_MOST_FIELDS = 10_000
#: Passage hashes counted in one request.
_COUNTED_AT_ONCE = 500
_PASSAGE_SCHEME = PassageScheme()


@guard_responses
class OpenSearchEngine:
    """Engine for an index.

    Args:
        client: Client of the index.
        names: The index's names for the parts of a document.
        scheme: The scheme of its tokens.
    """

    def __init__(
        self,
        client: IndexClient,
        names: FieldNames = FieldNames(),  # noqa: B008 - frozen
        scheme: Scheme = Scheme(),  # noqa: B008 - frozen
    ) -> None:
        self._client, self._names, self._scheme, self._sketch_scheme = client, names, scheme, SketchScheme()
        self._commit = SharedCommit(client.refresh)
        self._fields = TtlCache(lambda _: self._read_fields(), _FIELDS_SECONDS)
        self._largest = TtlCache(lambda _: self._largest_now(), _LARGEST_SECONDS)
        self._passages = TtlCache(lambda _: self._passages_now(), _FIELDS_SECONDS)
        self._remembered_tokens = TtlCache(lambda _: foreign_tokens(client, names), _TOKENS_SECONDS)

    @property
    def _foreign(self) -> ForeignTokens | None:
        """Reader of the index's own MinHash tokens; None if documents are found by whorl's fields."""
        return self._remembered_tokens()

    @property
    def scheme(self) -> Scheme:
        return self._foreign.scheme if self._foreign else self._scheme

    @property
    def sketch_scheme(self) -> SketchScheme | None:
        return None if self._foreign else self._sketch_scheme

    # Writing.

    def index(self, documents: Iterable[Document]) -> None:
        # The last document with an id wins.
        batch = list({document.id: document for document in documents}.values())
        for document in batch:
            if len(document.id.encode()) > MOST_ID_BYTES:
                raise DocumentError(f"a cluster takes ids of {MOST_ID_BYTES} bytes at most, got {document.id!r:.80}")
        if not batch:
            return
        # Checked every time: a cluster creates a missing index by itself, with default mappings.
        features = require_fields(self._client, self._names)
        changes: list[tuple[Json, Json]] = []
        read = hashed((document.text for document in batch), self._scheme, Parts.ALL, workers=1)
        for document, found in zip(batch, read, strict=True):
            own = own_fields(document, found, self._scheme, self._sketch_scheme, self._names, features)
            changes.append(({"index": {"_id": document.id}}, {**source(document, self._names), **own}))
        for document_id, _, reason in self._client.bulk(changes):
            raise DocumentError(f"the cluster refuses {document_id!r}: {reason}")

    def refresh(self) -> None:
        self._commit()
        self._fields.forget()
        self._largest.forget()
        self._passages.forget()

    def delete(self, ids: Collection[str]) -> int:
        there = self._client.documents(list(ids), False)
        if there:
            for document_id, _, reason in self._client.bulk([({"delete": {"_id": each}}, None) for each in there]):
                raise EngineResponseError(f"{self._client.url} does not delete {document_id!r}: {reason}")
            self.refresh()
        return len(there)

    # Reading.

    def digests(self, ids: Collection[str], *, of_texts: bool = False) -> Mapping[str, str]:
        try:
            found = self._client.documents(list(ids), False, [DIGEST])
        except EngineResponseError as error:
            if error.status == 404:
                # The first documents create the index.
                return {}
            raise
        return {each: stored[0] for each, hit in found.items() if (stored := _stored(hit, DIGEST))}

    def resolve(self, references: Collection[str]) -> Mapping[str, str]:
        return {reference: hit["_id"] for reference, hit in self._named(references, {"_source": False})}

    def _named(self, references: Collection[str], parts: Json) -> Iterator[tuple[str, Json]]:
        """Yield each reference that names a document, with the document.

        Args:
            references: Any number of references.
            parts: The parts of a document to return.
        """
        distinct = list(dict.fromkeys(references))
        if self._foreign:
            keys = {each: _keys(each) for each in distinct}
            there = self._client.documents([key for some in keys.values() for key in some], parts["_source"])
            for reference, some in keys.items():
                if found := next((there[key] for key in some if key in there), None):
                    yield reference, found
            return
        for at in range(0, len(distinct), _AT_ONCE):
            looked_up = {each: self._meanings(each) for each in distinct[at : at + _AT_ONCE]}
            asked = [one for meant in looked_up.values() for one in meant]
            places = {place: sorted({value for where, value in asked if where == place}) for place in (ID, HANDLE)}
            body = {
                "query": {"bool": {"should": [{"terms": {place: values}} for place, values in places.items()]}},
                "size": 4 * len(looked_up) + 1,
                "sort": [{ID: "asc"}],
                "docvalue_fields": [ID, HANDLE],
                **parts,
            }
            named: dict[tuple[str, str], Json] = {}
            for hit in self._client.hits(body):
                for place in places:
                    for value in _stored(hit, place):
                        named.setdefault((place, value), hit)
            for reference, meant in looked_up.items():
                if found := next((named[one] for one in meant if one in named), None):
                    yield reference, found

    def _meanings(self, reference: str) -> list[tuple[str, str]]:
        """Return the fields and values to look up for a reference."""
        names = {"dbid": self._names.dbid, "noderef": self._names.noderef}
        return [
            (ID, value) if role == "key" else (HANDLE, handle(names[role], value))
            for role, value in reference_meanings(reference)
        ]

    def signatures(self, wanted: Mapping[str, bool]) -> Mapping[str, Signature]:
        if self._foreign:
            return self._foreign.signatures(wanted)
        found = self._client.documents(list(wanted), [self._names.content])
        texts = {each: text_in(hit.get("_source", {}), self._names) for each, hit in found.items()}
        return signatures_by_id(texts, self._scheme)

    def signed(self, wanted: Mapping[str, bool]) -> Mapping[str, tuple[str, Signature | None]]:
        if self._foreign:
            # One request for all ids that the references may name.
            keys = dict[str, bool]()
            for key, order_matters in [(key, matters) for each, matters in wanted.items() for key in _keys(each)]:
                keys[key] = order_matters or keys.get(key, False)
            made = self._foreign.signatures(keys)
            named = {each: next((key for key in _keys(each) if key in made), None) for each in wanted}
            return {each: (key, made[key]) for each, key in named.items() if key is not None}
        found = dict(self._named(wanted, {"_source": [self._names.content]}))
        # Two references may name the same document.
        texts = {hit["_id"]: text_in(hit.get("_source", {}), self._names) for hit in found.values()}
        signatures = signatures_by_id(texts, self._scheme)
        return {reference: (hit["_id"], signatures[hit["_id"]]) for reference, hit in found.items()}

    def sketched(self, references: Collection[str]) -> Mapping[str, tuple[str, Sketch | None]]:
        found = dict(self._named(references, {"_source": False, "stored_fields": [SCHEME, SKETCH]}))
        ids = (hit["_id"] for hit in found.values())
        return dict(zip(found, zip(ids, self._sketches([*found.values()]), strict=True), strict=True))

    def texts(self, ids: Collection[str]) -> Mapping[str, str]:
        found = self._client.documents(list(ids), [self._names.content])
        return {each: text for each, hit in found.items() if (text := text_in(hit.get("_source", {}), self._names))}

    @property
    def passage_scheme(self) -> PassageScheme | None:
        """The scheme of the passages; None unless all searchable documents have them."""
        return self._passages()

    def _passages_now(self) -> PassageScheme | None:
        there = self._client.mapping(PASSAGES)
        if there is None or not described(there, PASSAGES):
            return None
        read = {"term": {PASSAGES: {"value": _PASSAGE_SCHEME.name}}}
        unread = self._client.count({"bool": {"filter": [everything()], "must_not": [read]}})
        return None if unread else _PASSAGE_SCHEME

    def passage_counts(self, numbers: Sequence[int]) -> Sequence[int]:
        """Return the number of documents for each passage hash."""
        counts: list[int] = []
        terms = passage_hash_terms(tuple(numbers), _PASSAGE_SCHEME)
        for at in range(0, len(terms), _COUNTED_AT_ONCE):
            asked = {
                f"n{place}": {"term": {PASSAGES: term}} for place, term in enumerate(terms[at:][:_COUNTED_AT_ONCE])
            }
            found = self._client.search({"size": 0, "aggs": {"numbers": {"filters": {"filters": asked}}}})
            buckets = found["aggregations"]["numbers"]["buckets"]
            counts += [int(buckets[name]["doc_count"]) for name in asked]
        return counts

    def passage_holders(
        self, counts: Mapping[int, int], *, most: int, among: Collection[str] = (), left_out: BoundNode | None = None
    ) -> PassageHolders:
        """Return the documents that have any of the passage hashes."""

        def ask(numbers: Sequence[int], ids: Sequence[str] | None, rows: int) -> Iterator[tuple[str, list[int]]]:
            found = self._translated(holders_plan(numbers, _PASSAGE_SCHEME, ids, left_out)).query
            # Each clause has a name, and each hit lists the clauses that it matches.
            named = [
                {"term": {PASSAGES: {"value": term, "_name": str(place)}}}
                for place, term in enumerate(passage_hash_terms(tuple(numbers), _PASSAGE_SCHEME))
            ]
            body = {"query": {"bool": {"filter": [found], "should": named}}, "size": rows, "_source": False}
            for hit in self._client.hits(body):
                yield hit["_id"], sorted(map(int, hit["matched_queries"]))

        return look_up_holders(counts, most, among, ask)

    def require_passages(self) -> None:
        """Raise SchemaError unless new documents will be found by their passages."""
        require_fields(self._client, self._names, passages=True)

    @property
    def costs(self) -> Costs:
        return _COSTS

    def largest_size(self) -> int | None:
        return self._largest()

    def sketches(self, ids: Collection[str]) -> Mapping[str, Sketch]:
        found = self._client.documents(list(ids), False, [SCHEME, SKETCH])
        read = zip(found, self._sketches([*found.values()]), strict=True)
        return {document_id: sketch for document_id, sketch in read if sketch is not None}

    def sizes(self, ids: Collection[str]) -> Mapping[str, int]:
        found = dict[str, int]()
        for some in batches(ids, _AT_ONCE):
            chosen = {"bool": {"filter": [{"terms": {ID: some}}, self._with_own_sketch()]}}
            body = {"query": chosen, "size": len(some), "_source": False, "docvalue_fields": [SIZE]}
            found |= {each["_id"]: int(size) for each in self._client.hits(body) for size in _stored(each, SIZE)}
        return found

    def scan(self, mark: str = "") -> Iterator[ScanBatch]:
        tokens = self._token_field
        by_id = {"query": everything(tokens), "sort": [{id_field(tokens): "asc"}]}
        wanted = {**by_id, "size": SCAN_BATCH_SIZE, **self._with_sketches()}
        while hits := self._client.hits({**wanted, **({"search_after": [mark]} if mark else {})}):
            mark = hits[-1]["_id"]
            named = ((each["_id"], name_in(each["_source"], self._names)) for each in hits)
            yield ScanBatch(tuple((*each, own) for each, own in zip(named, self._sketches(hits), strict=True)), mark)

    def candidates(self, plan: BoundPlan, *, start: int, rows: int, in_order: bool = True) -> CandidatePage:
        translation = self._translated(plan)
        body = {**self._hits_of(translation), **self._with_sketches()}
        if not in_order:
            body["sort"] = [{"_score": "desc"}]
        with explain_refusals(plan):
            total, hits = self._client.page(body, start, rows)
        found = zip(map(self._hit, hits), self._sketches(hits), strict=True)
        return CandidatePage(total, tuple(found), translation.warnings)

    def _with_sketches(self) -> Json:
        return {"_source": [self._names.name], "stored_fields": [SCHEME, SKETCH]}

    def sign(self, text: str) -> Signature:
        return self._foreign.sign(text) if self._foreign else signature(text, self._scheme)

    def fields(self, *, latest: bool = False) -> Fields:
        return self._fields.not_older_than(_LATEST_SECONDS) if latest else self._fields()

    def documents(self, ids: Collection[str]) -> Mapping[str, Stored]:
        found = {
            each: hit.get("_source", {})
            for each, hit in self._client.documents(list(ids), without_text(self._names)).items()
        }
        return {
            each: Stored(each, name_in(source, self._names), properties_in(source, self._names))
            for each, source in found.items()
        }

    def search(self, plan: BoundPlan, *, start: int, rows: int, order: Sequence[Order] = ()) -> Page:
        translation = self._translated(plan)
        body, tokens = self._hits_of(translation, order), self._token_field
        is_unsorted = tokens is not None and not tokens.is_sorted
        if is_unsorted and start + rows > RESULT_WINDOW:
            raise SchemaError(
                f"{self._client.url} sorts no hits by _id, so that pages end at {RESULT_WINDOW:,} hits; "
                "'whorl opensearch check' says more"
            )
        with explain_refusals(plan):
            total, hits = self._client.page(body, start, rows)
        found = [self._hit(hit) for hit in hits]
        if is_unsorted:
            found.sort(key=lambda hit: (-hit.score, hit.id))
        return Page(total, tuple(found), translation.warnings)

    def facets(self, plan: BoundPlan, asked: Sequence[Facet]) -> tuple[FacetResult, ...]:
        query = self._translated(plan).query
        aggregations = facet_aggregations(asked, lambda node: self._translated(BoundPlan(node)).query)
        with explain_refusals(plan):
            found = self._client.search({"size": 0, "query": query, "aggs": aggregations})
        return read_facets(asked, found)

    def explain(self, plan: BoundPlan, *, start: int, rows: int) -> Mapping[str, object]:
        wanted = {"from": start, "size": rows, "track_total_hits": True}
        body = {**self._hits_of(self._translated(plan)), **wanted}
        return {"method": "POST", "url": f"{self._client.url}/_search", "json": body}

    @property
    def _token_field(self) -> TokenField | None:
        return self._foreign.field if self._foreign else None

    def _translated(self, plan: BoundPlan) -> Translation:
        return translate(plan, self.scheme, self._token_field)

    def _hits_of(self, translation: Translation, order: Sequence[Order] = ()) -> Json:
        shown = {"track_scores": True, "_source": [self._names.name]}
        return {"query": translation.query, "sort": sorted_by(order, self._token_field), **shown}

    @property
    def labels(self) -> OpenSearchLabels:
        return OpenSearchLabels(self._client, self._names, lambda plan: self._translated(plan).query)

    def count(self) -> int:
        return self._client.count(everything(self._token_field))

    def file_base(self, choose: Callable[[], Path] | None = None) -> Path | None:
        """Return None: on a server, files keep their paths as ids."""
        return None

    def size(self) -> int | None:
        with suppress(EngineError, KeyError, TypeError):
            return int(self._client.statistics("store")["_all"]["primaries"]["store"]["size_in_bytes"])
        return None

    def index_lag(self) -> int:
        return 0

    def verify(self) -> bool:
        return False

    def close(self) -> None:
        self._client.close()

    @property
    def _stored_name(self) -> str:
        return stored_name(self._scheme, self._sketch_scheme)

    def _with_own_sketch(self) -> Json:
        return {"term": {SCHEME: {"value": self._stored_name}}}

    def _hit(self, hit: Json) -> Hit:
        return Hit(str(hit["_id"]), name_in(hit.get("_source", {}), self._names), float(hit["_score"]))

    def _sketches(self, hits: Sequence[Json]) -> list[Sketch | None]:
        """Return the sketches of documents; None for a missing or damaged one, or one of another scheme."""
        own = [self._stored_name]
        kept = [_stored(hit, SKETCH) if _stored(hit, SCHEME) == own else () for hit in hits]
        return decode_texts([stored[0] if stored else None for stored in kept], self._sketch_scheme)

    def _largest_now(self) -> int | None:
        if self._foreign:
            return None
        largest = {"query": self._with_own_sketch(), "size": 1, "sort": [{SIZE: "desc"}], "_source": False}
        hits = self._client.hits(largest)
        return int(hits[0]["sort"][0]) if hits else None

    def _read_fields(self) -> Fields:
        if self._foreign:
            return self._foreign.fields
        wanted = {"size": 0, "aggs": {"fields": {"terms": {"field": FIELDS, "size": _MOST_FIELDS}}}}
        found = self._client.search(wanted)
        buckets = found["aggregations"]["fields"]["buckets"]
        pairs = sorted(each["key"].rpartition("\x1f")[::2] for each in buckets)
        known: dict[str, dict[Kind, str]] = {"id": {Kind.KEYWORD: "id"}, "content": {Kind.TEXT: "content"}}
        for name, kind in [("name", "KEYWORD"), *pairs]:
            places = known.setdefault(name, {})
            if kind == "KEYWORD":
                places[Kind.TEXT] = name
            places[Kind[kind]] = name
        # Add the index's own names for these fields.
        known = {self._names.name: known["name"], self._names.content: known["content"], **known}
        split = {"name"} if splits_names(self._client.mapping(WORDS) or {}) else ()
        return Fields(known, profile=self._scheme.profile, split=split)


def _keys(reference: str) -> list[str]:
    """Return the ids that a reference may mean; DBIDs exist in whorl's fields only."""
    return [value for role, value in reference_meanings(reference) if role == "key"]


def _stored(hit: Json, field: str) -> list[str]:
    """Return the values of a field returned with a hit."""
    return list(hit.get("fields", {}).get(field, ()))
