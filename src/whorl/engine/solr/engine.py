"""Engine for Solr: a standalone core or a SolrCloud collection.

The same requests work for both: whorl resolves references with queries, and Solr merges the hits, stored fields and
term vectors of the shards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, count, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from whorl.arrays_and_batches import batches, chunks, map_in_threads
from whorl.engine.configured_fields import FieldNames
from whorl.engine.protocol import (
    CachedSketch,
    CandidatePage,
    Candidates,
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
    LimitedCache,
    ServerEngine,
    TermMatches,
    TtlCache,
    explain_refusals,
    finds_only_short,
    guard_responses,
    retry_pause,
)
from whorl.engine.solr.add_missing_fields import file_base
from whorl.engine.solr.backfill_and_labels import SolrLabels
from whorl.engine.solr.client import (
    DESCRIPTION_SECONDS,
    FIRST_CURSOR_MARK,
    Json,
    SearchResponse,
    SolrClient,
    escape_field_names,
    first_text,
    response_int,
    texts,
    whole_text,
)
from whorl.engine.solr.document_fields import (
    as_typed,
    count_coverage,
    fields_of,
    fields_of_types,
    find_partial_properties,
    find_used_names,
    fingerprint_fields,
    original_values,
    read_sketches,
    token_warnings,
    whole_values,
)
from whorl.engine.solr.field_definitions import DIGEST, PASSAGES, SCHEME, SIZE, SKETCH, VERSION
from whorl.engine.solr.inspect_collection import (
    STEMS,
    SolrCollection,
    TokenSource,
    drops_all_words,
    inspect,
    select_tokens,
)
from whorl.engine.solr.request_body import (
    EVERYTHING,
    FUZZY_EXPANSIONS,
    documents_request,
    exists,
    facets_request,
    fit_integers,
    lacks_passages,
    read_facets,
    realtime_get_request,
    search_request,
    without_sketch,
    without_tokens,
)
from whorl.errors import (
    DocumentError,
    EngineError,
    EngineResponseError,
    EngineUnavailableError,
    SchemaError,
    suggestion,
)
from whorl.fingerprint.fingerprint_texts import sign, signatures_by_id
from whorl.fingerprint.minhash.signature_and_tokens import (
    Signature,
    combine_values,
    from_distinct,
    read_tokens,
)
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import DIGEST_LETTERS, Document, Hit, Order, Page, Stored
from whorl.query.plan.fields_and_values import Fields
from whorl.query.plan.nodes import (
    Bool,
    BoundLeaf,
    BoundNode,
    BoundPlan,
    FuzzyWord,
    InOrder,
    Nothing,
    SharedBands,
    SharedTokens,
    SketchTokens,
    WordClause,
    Words,
    map_leaves,
)
from whorl.request_context import seconds_left

#: Number of documents per batch of a scan. It is large, because Solr visits all documents of the collection for each
#: batch.
SCAN_BATCH_SIZE = 5_000
_FETCHED_AT_ONCE = 200
#: Value of `_version_` for a new document: Solr refuses the document if its id already exists.
_MISSING_VERSION = -1
#: Cache time in seconds for a count that reads all MinHash tokens of the index.
_TOKENS_SECONDS = 300.0
#: Number of passage hashes that one computed field can report, one per significant bit of a 32-bit float.
_BITS = 24
#: Microseconds to look up a token in one segment, and to read and compare a candidate, measured by
#: benchmarks/similar_costs.py. Only the ratio matters.
_LOOK_UP, _CANDIDATE = 11.0, 150.0
#: Assumed number of segments if Solr does not report it: one tier of TieredMergePolicy.
_SEGMENTS = 10
#: Maximum number of sketches to cache for `find_cached_sketch` (up to 128 KB each).
_CACHED_SKETCHES = 64
#: Maximum length in characters of a clause that is analysed for stop words, and maximum number of cached results.
_LONGEST_STOP_WORDS, _STOP_WORDS = 40, 1000
#: A request for at most this number of candidates also returns the version of each candidate.
_VERSIONED_ROWS = 100
#: Number of update requests that run at the same time.
CONNECTIONS = 2
#: Longest time to wait until Solr has replayed its update log after a restart.
_REPLAY_SECONDS = 60.0
#: An update request ends after `BATCH_SIZE` documents, or when its texts have `BATCH_CHARACTERS` characters.
BATCH_SIZE, BATCH_CHARACTERS = 64, 500_000

_Batch = TypeVar("_Batch")
_Result = TypeVar("_Result")


@guard_responses
class SolrEngine(ServerEngine):
    def __init__(self, client: SolrClient, fields: FieldNames = FieldNames()) -> None:  # noqa: B008 - frozen
        super().__init__(self._commit_changes)
        self._client = client
        #: Id of the document that was stored or deleted last.
        self._last_changed: str | None = None
        self._recent = LimitedCache[tuple[str, str], CachedSketch](_CACHED_SKETCHES)
        #: Checks whether all words of a text are stop words in a field.
        self._drops_all_words = lru_cache(_STOP_WORDS)(partial(drops_all_words, client))
        self._configured = fields
        self._collection = TtlCache(lambda known: inspect(client, fields, known), DESCRIPTION_SECONDS)
        self._coverage = self._until_refresh(
            lambda: count_coverage(client, self.collection.sketch_schemes, self.collection.searchable_text)
        )
        self._token_warnings = self._until_refresh(self._token_warnings_now)
        self._without_tokens = self._until_refresh(self._without_tokens_now, _TOKENS_SECONDS)
        self._largest = TtlCache(lambda _: self._largest_now(), DESCRIPTION_SECONDS)
        self._costs = TtlCache(lambda _: Costs(_LOOK_UP * self._segments_now(), _CANDIDATE), DESCRIPTION_SECONDS)

    @property
    def collection(self) -> SolrCollection:
        """The collection's description, at most a minute old."""
        return self._collection()

    @property
    def scheme(self) -> Scheme:
        return self.collection.scheme

    def index(self, documents: Iterable[Document], *, replace: bool = True) -> None:
        # If documents share an id, store the last document. Check all documents against the schema before
        # fingerprinting any.
        distinct = {document.id: document for document in documents}
        prepared = [(document.text, self._solr_document(document)) for document in distinct.values()]
        if not prepared:
            return
        self._client.require_updatable()
        if not replace:
            for (_, fields), version in zip(prepared, self._required_versions(distinct), strict=True):
                fields.update(version)
        collection = self.collection
        # Solr itself makes the tokens of a text field, but not of a string field.
        with_tokens = collection.has_minhash and not collection.schema.is_text(collection.names.minhash)
        texts, are_returned = [text for text, _ in prepared], collection.returns_texts_as_sent
        fingerprints = fingerprint_fields(texts, collection, with_tokens=with_tokens, are_returned=are_returned)
        complete = ((len(text), fields | more) for (text, fields), more in zip(prepared, fingerprints, strict=True))
        portions = chunks(complete, itemgetter(0), BATCH_CHARACTERS, BATCH_SIZE)
        try:
            send_parallel(portions, lambda portion: self._client.add([fields for _, fields in portion]))
            self._last_changed = next(reversed(distinct))
        except EngineResponseError as error:
            if error.status == 400:
                raise DocumentError(f"Solr refuses it: {error.detail}") from error
            if error.status != 409:
                raise
            # If the response to a write was lost, the retry conflicts with the first attempt, and Solr ends a request
            # at the first conflict. So send all documents again that are not stored yet.
            stored = self.digests(distinct)
            others = [document for document in distinct.values() if not document.has_digest(stored.get(document.id))]
            if len(others) == len(distinct):
                raise concurrent_change_error(", ".join(distinct)) from error
            self.index(others, replace=replace)

    def _required_versions(self, documents: Mapping[str, Document]) -> Iterator[Json]:
        """For each document, yield the field `_version_`, so that Solr refuses to replace a different text.

        With this field, Solr creates a document only if its id is still unused, and replaces a document with the same
        text only if it has not changed since. If the schema lacks the field, Solr does not check this. Raise
        DocumentError if the collection already has a different text under an id.
        """
        content = self.collection.content
        stored = self._documents(documents, [*filter(None, [content]), VERSION], latest=True)
        for document in documents.values():
            row = stored.get(document.id)
            if row and (content is None or whole_text(row.get(content)) != document.text):
                raise replacement_error(document.id)
            version = row.get(VERSION) if row else _MISSING_VERSION
            yield {VERSION: version} if version and VERSION in self.collection.schema.fields else {}

    def delete(self, ids: Collection[str], *, matching: BoundPlan | None = None) -> int:
        if matching is not None:
            return self._delete_matching(plan_among(matching, ids), len(ids))
        stored = [*self._documents(ids, [])]
        if stored:
            self._client.require_updatable()
            self._client.post("update", {"delete": stored})
            self._last_changed = stored[-1]
            self._commit()
        return len(stored)

    def _delete_matching(self, plan: BoundPlan, rows: int) -> int:
        """Delete the documents that a plan matches, except documents that another client changes at the same time.

        Without the field `_version_` or an update log, Solr does not notice such changes.
        """
        key = self.collection.names.key
        request = {**self._search_request(plan, start=0, rows=rows), "fields": escape_field_names([key, VERSION])}
        found = self._select(plan, request).documents
        remaining, changed = {str(row[key]): row.get(VERSION) for row in found}, 0
        if not found:
            return 0
        self._client.require_updatable()
        while remaining:
            try:
                self._client.delete(remaining)
                break
            except EngineResponseError as error:
                # At the first document with another version, Solr responds with 409 and ignores the rest of the
                # request. So repeat the request without the changed documents.
                if error.status != 409:
                    raise
                latest = self._documents(list(remaining), [VERSION], latest=True)
                unchanged = {
                    key: version for key, version in remaining.items() if latest.get(key, {}).get(VERSION) == version
                }
                if len(unchanged) == len(remaining):
                    raise
                changed += len(latest) - len(unchanged)
                remaining = unchanged
        self._last_changed = next(iter(remaining), self._last_changed)
        self._commit()
        return len(found) - changed

    def _commit_changes(self) -> None:
        """Commit all changes; if Solr still replays its update log after a restart, wait and commit again.

        Until it has replayed its log, Solr answers commits with success, but ignores them (`doLocalCommit` in Solr's
        DistributedUpdateProcessor). Only its own automatic commits then make the last change searchable. A change that
        is searchable is also safe if Solr is killed: commits do not overlap, so all earlier commits have ended.
        In a SolrCloud, a core accepts requests only after it has replayed its log.
        """
        changed, until = self._last_changed, time.monotonic() + min(_REPLAY_SECONDS, seconds_left() or _REPLAY_SECONDS)
        self._client.commit()
        if changed is None or self._client.is_cloud:
            return
        for repetition in count(1):
            if self._is_searchable(changed):
                return
            pause = retry_pause(repetition)
            if time.monotonic() + pause > until:
                problem = (
                    f"{self._client.url} ignores commits; after a restart, Solr does so until it has replayed its log"
                )
                raise EngineUnavailableError(f"{problem}. Repeat the request later")
            time.sleep(pause)
            self._client.commit()

    def _is_searchable(self, document_id: str) -> bool:
        """Check whether searches show the latest change of a document: its latest version, or its deletion."""
        return self._documents([document_id], [VERSION]) == self._documents([document_id], [VERSION], latest=True)

    def digests(self, ids: Collection[str], *, of_texts: bool = False) -> Mapping[str, str]:
        if DIGEST not in self.collection.schema.fields:
            return {}
        documents = self._documents(ids, [DIGEST], latest=not of_texts)
        return {document_id: row[DIGEST] for document_id, row in documents.items() if DIGEST in row}

    @property
    def labels(self) -> SolrLabels:
        return SolrLabels(self._client, self._collection, partial(self._search_request, start=0, rows=0))

    def count(self) -> int:
        return self._client.count(EVERYTHING)

    def file_base(self, choose: Callable[[], Path] | None = None) -> Path | None:
        return file_base(self._client, choose)

    def size(self) -> int | None:
        with suppress(EngineError, KeyError, TypeError, AttributeError):
            reports = [core.get("admin/segments")["segments"].values() for core in self._client.cores()]
            return sum(int(segment["sizeInBytes"]) for segments in reports for segment in segments)
        return None

    def gaps(self, by: LookUp) -> tuple[str, ...]:
        if by == "words":
            return ()
        if by == "phrases":
            return self._phrase_warnings()
        if by == "sketches" and self.sketch_scheme is not None:
            return self._coverage().warnings(self._client.url, can_be_filled=bool(self.collection.content))
        return self._token_warnings() if self.collection.has_minhash else ()

    def _phrase_warnings(self) -> tuple[str, ...]:
        """Return a warning if searches for words or phrases may miss texts that contain them."""
        collection, more = self.collection, f"'whorl solr check {self._client.url}' says more"
        if collection.content is None:
            return ()
        if collection.words is None:
            return (f"the words of {collection.content!r} are not indexed, so look-ups of words miss them; {more}",)
        if altered := collection.schema.altered_words(collection.words):
            return (f"{collection.words!r} is indexed through {altered}, so look-ups of phrases miss texts; {more}",)
        return ()

    def _token_warnings_now(self) -> tuple[str, ...]:
        # The warnings compare several counts, which must be from the same time, so do not use an older cached coverage.
        covered = self._coverage.not_older_than(0.0) if self.collection.schema.has_sketches else None
        return token_warnings(self._client, self.collection, covered, self._without_tokens)

    def _without_tokens_now(self) -> int:
        lacking = without_sketch(self.collection.sketch_schemes, self.collection.searchable_text)
        both = [without_tokens(self.collection.names.minhash), lacking]
        return self._client.count({"bool": {"filter": both, "must_not": [exists(SCHEME)]}})

    def close(self) -> None:
        self._client.close()

    def documents(self, ids: Collection[str]) -> Mapping[str, Stored]:
        names, fields = self.collection.names, self.fields().known
        wanted = sorted(fields.keys() - {names.key, names.name, *names.text, self._configured.content})
        stored = {}
        whole = {typed for field in wanted for typed in fields_of_types(fields[field])}
        for document_id, name, document in self._fetch_fields(ids, sorted({*wanted, *whole})):
            existing = [field for field in wanted if field in document]
            properties = {field: original_values(field, fields[field], document) for field in existing}
            stored[document_id] = Stored(document_id, name, properties)
        return stored

    def names(self, ids: Collection[str]) -> Mapping[str, str]:
        return {document_id: name for document_id, name, _ in self._fetch_fields(ids, [])}

    def _fetch_fields(self, ids: Collection[str], fields: Sequence[str]) -> Iterator[tuple[str, str, Json]]:
        name = self.collection.names.name
        for document_id, document in self._documents(ids, [*filter(None, [name]), *fields]).items():
            yield document_id, first_text(document.get(name or "")), document

    def search(self, plan: BoundPlan, *, start: int, rows: int, order: Sequence[Order] = ()) -> Page:
        prepared = self._prepare_plan(plan)
        request = search_request(prepared, self.collection.names, start=start, rows=rows, order=order)
        selected = self._select(plan, request)
        return Page(selected.total, tuple(self._hits(selected.documents)), prepared.warnings)

    def _select(self, plan: BoundPlan, request: Json) -> SearchResponse:
        with explain_refusals(plan):
            return self._client.select(request)

    @property
    def minhash(self) -> MinHashPart:
        return "whole" if self.collection.has_minhash else "none"

    @property
    def sketch_scheme(self) -> SketchScheme | None:
        """Scheme of the sketches; None if only MinHash tokens are searchable."""
        if not self.collection.schema.has_sketches:
            return None
        is_searched = not self.collection.has_minhash or self.collection.sketch_schemes in self._coverage().searchable
        return SketchScheme() if is_searched else None

    def resolve(self, references: Collection[str]) -> Mapping[str, str]:
        key = self.collection.names.key
        named = self._match_references(references, partial(self._fetch_documents, fields=()))
        return {reference: str(document[key]) for reference, document in named}

    def resolve_sketches(self, references: Collection[str]) -> Mapping[str, tuple[str, Sketch | None]]:
        collection, key = self.collection, self.collection.names.key
        # Read the text too: references are few, and a short document has no stored sketch.
        wanted = [*filter(None, (SKETCH, SCHEME, VERSION, collection.content))]
        named = dict(self._match_references(references, partial(self._fetch_documents, fields=wanted)))
        sketched = {}
        for (reference, document), sketch in zip(named.items(), self._sketches([*named.values()]), strict=True):
            sketched[reference] = str(document[key]), sketch
            version = document.get(VERSION)
            # An id always names the same document; a DBID or node reference may name another document later. So cache
            # the sketch only if the first meaning of the reference is an id.
            if sketch and sketch.size and isinstance(version, int) and reference_meanings(reference)[0][0] == "key":
                cached = CachedSketch(str(document[key]), version, sketch)
                self._recent.put((collection.sketch_schemes, reference), cached)
        return sketched

    def find_cached_sketch(self, reference: str) -> CachedSketch | None:
        return self._recent.get((self.collection.sketch_schemes, reference))

    def is_current(self, cached_sketch: CachedSketch, candidates: Candidates) -> bool:
        known = candidates.versions if isinstance(candidates, CandidatePage) else {}
        document_id, version = cached_sketch.document_id, cached_sketch.version
        if document_id in known:
            return known[document_id] == version
        # The source is not on the page, because of a filter or many copies. So fetch its version.
        return self._documents([document_id], [VERSION]).get(document_id, {}).get(VERSION) == version

    def resolve_signatures(self, needs_order: Mapping[str, bool]) -> Mapping[str, tuple[str, Signature]]:
        key, fetch = self.collection.names.key, partial(self._fetch_tokens, with_text=any(needs_order.values()))
        found = self._match_references(needs_order, fetch)
        named = {reference: (str(document[key]), document) for reference, document in found}
        # Two references may name one document: the order of its tokens matters if it matters for either.
        by_need = sorted(named, key=needs_order.__getitem__)
        order_matters = {named[reference][0]: needs_order[reference] for reference in by_need}
        signatures = self._signatures_by_id(dict(named.values()), order_matters)
        return {reference: (document_id, signatures[document_id]) for reference, (document_id, _) in named.items()}

    def _fetch_documents(self, values: Mapping[str, list[str]], fields: Iterable[str]) -> list[Json]:
        """Return the documents that have any of `values`, keyed by field, with their ids and the requested fields."""
        wanted = dict.fromkeys([self.collection.names.key, *values, *fields])
        return self._client.select(documents_request(values, [*wanted])).documents

    def _values_of(self, document: Json, field: str) -> list[str]:
        return texts(document.get(field))[:1]

    def _without_passages(self) -> SchemaError:
        url = self._client.url
        return SchemaError(f"{url} has no field for passages; 'whorl solr init {url} --passages' adds it")

    def _count_terms(self, terms: Sequence[str]) -> list[int]:
        # Do not cache these queries, because they would displace useful entries of the filter cache.
        return self._client.counts([f"{{!term f={PASSAGES} cache=false v={term}}}" for term in terms])

    def _match_terms(self, plan: BoundPlan, terms: Sequence[str], rows: int) -> TermMatches:
        key, body = self.collection.names.key, self._search_request(plan, start=0, rows=rows)
        # Request one computed field for each `_BITS` terms: a bit mask of the terms that the document has.
        body["fields"] = escape_field_names([key])
        for at, batch in enumerate(batches(terms, _BITS)):
            powers = [f"product({1 << bit},termfreq({PASSAGES},'{term}'))" for bit, term in enumerate(batch)]
            body["fields"].append(f"held{at}:sum({','.join([*powers, '0'])})")
        for document in self._client.select(body).documents:
            held = [int(document[f"held{at}"]) for at in range(len(body["fields"]) - 1)]
            yield str(document[key]), [at for at in range(len(terms)) if held[at // _BITS] >> at % _BITS & 1]

    def require_passages(self, wanted: PassageScheme | None = None) -> None:
        """Raise an error unless new documents get passage hashes, of the scheme `wanted` if it is given."""
        self._scheme_of_passages.require(wanted, self._client.url)

    @property
    def costs(self) -> Costs:
        return self._costs()

    def largest_size(self) -> int | None:
        return self._largest() if self.collection.schema.has_sketches else None

    def sketches(self, ids: Collection[str]) -> Mapping[str, Sketch]:
        documents = self._documents(ids, [SKETCH, SCHEME])
        sketches = zip(documents, self._sketches([*documents.values()]), strict=True)
        return {document_id: sketch for document_id, sketch in sketches if sketch is not None}

    def sizes(self, ids: Collection[str]) -> Mapping[str, int]:
        scheme, rows = self.collection.sketch_schemes, self._documents(ids, [SIZE, SCHEME])
        own = {document_id: row for document_id, row in rows.items() if first_text(row.get(SCHEME)) == scheme}
        return {document_id: response_int(row[SIZE]) for document_id, row in own.items()}

    def scan(self, cursor: str = "") -> Iterator[ScanBatch]:
        names = self.collection.names
        fields = [*filter(None, (names.key, names.name, SKETCH, SCHEME))]
        pages = self._client.pages(EVERYTHING, names.key, fields, SCAN_BATCH_SIZE, cursor or FIRST_CURSOR_MARK)
        for documents, following in pages:
            sketched = zip(documents, self._sketches(documents), strict=True)
            rows = ((str(row[names.key]), first_text(row.get(names.name or "")), sketch) for row, sketch in sketched)
            yield ScanBatch(tuple(rows), following)

    def has_lazy_candidates(self, plan: BoundPlan) -> bool:
        return isinstance(plan.root, SketchTokens) and plan.root.scores_shared

    def candidates(self, plan: BoundPlan, *, start: int, rows: int, in_order: bool = True) -> CandidatePage:
        prepared, names, covered = self._prepare_plan(plan), self.collection.names, self._coverage()
        request = search_request(prepared, names, start=start, rows=rows, only_scheme=covered.only_scheme)
        is_counted = self.has_lazy_candidates(plan)
        # If the scores are the numbers of shared hashes, a comparison needs only the sizes, neither sketches nor texts.
        request["fields"] += [SIZE if is_counted else SKETCH, SCHEME, *([VERSION] if rows <= _VERSIONED_ROWS else [])]
        if not is_counted and self.collection.content and finds_only_short(plan, self.collection.scheme):
            request["fields"] += escape_field_names([self.collection.content])
        if not in_order:
            # Do not sort equal scores by id, because this would take a fifth of the time of a short search.
            request["sort"] = "score desc"
        selected, scheme = self._select(plan, request), self.collection.sketch_schemes
        documents = selected.documents
        counted = documents if is_counted else []
        sizes = (response_int(row[SIZE]) if first_text(row.get(SCHEME)) == scheme else 0 for row in counted)
        sketches = [None] * len(documents) if is_counted else self._sketches(documents)
        hits = tuple(zip(self._hits(documents), sketches, strict=True))
        versions = {str(row[names.key]): row[VERSION] for row in documents if isinstance(row.get(VERSION), int)}
        return CandidatePage(selected.total, hits, prepared.warnings, versions, tuple(sizes))

    def facets(self, plan: BoundPlan, facets: Sequence[Facet]) -> tuple[FacetResult, ...]:
        request = facets_request(self._prepare_plan(plan), facets, self.collection.names, self._prepare_plan)
        return read_facets(facets, self._select(plan, request).facets)

    def explain(self, plan: BoundPlan, *, start: int, rows: int) -> Mapping[str, object]:
        body = self._search_request(plan, start=start, rows=rows)
        return {"method": "POST", "url": f"{self._client.url}/select", "json": body}

    def _search_request(self, plan: BoundPlan, *, start: int, rows: int) -> Json:
        return search_request(self._prepare_plan(plan), self.collection.names, start=start, rows=rows)

    def signatures(self, needs_order: Mapping[str, bool]) -> Mapping[str, Signature]:
        signatures: dict[str, Signature] = {}
        key = self.collection.names.key
        for ids in batches(needs_order, _FETCHED_AT_ONCE):
            documents = self._fetch_tokens({key: ids}, with_text=any(needs_order[document_id] for document_id in ids))
            # Leave out documents with other ids: if the key is a number, Solr returns document 7 for the id "007".
            by_id = {str(document[key]): document for document in documents if str(document[key]) in needs_order}
            signatures |= self._signatures_by_id(by_id, needs_order)
        return signatures

    def _signatures_by_id(self, documents: Mapping[str, Json], needs_order: Mapping[str, bool]) -> dict[str, Signature]:
        """Return the signatures of documents that `_fetch_tokens` has returned; all mappings are keyed by id."""
        if self._token_source is not TokenSource.TEXT:
            return {key: self._signature(document, needs_order[key]) for key, document in documents.items()}
        collection = self.collection
        texts = {key: whole_text(document.get(str(collection.content))) for key, document in documents.items()}
        return signatures_by_id(texts, collection.scheme, collection.names.token_encoding)

    @property
    def keeps_texts(self) -> bool:
        return self.collection.content is not None

    def texts(self, ids: Collection[str]) -> Mapping[str, str]:
        collection = self.collection
        if collection.content is None:
            problem = f"{self._client.url} gives no texts back: {self._configured.content!r} is not a stored field"
            raise SchemaError(f"{problem}; where the texts are in another, name that in whorl.toml: [fields] content")
        documents = self._documents(ids, [collection.content]).items()
        texts = {document_id: whole_text(row.get(collection.content)) for document_id, row in documents}
        return {document_id: text for document_id, text in texts.items() if text}

    def sign(self, text: str) -> Signature:
        return sign(text, self.collection.scheme, self.collection.names.token_encoding)

    def _hits(self, documents: Sequence[Json]) -> list[Hit]:
        key, name = self.collection.names.key, self.collection.names.name or ""
        return [Hit(str(row[key]), first_text(row.get(name)), float(row["score"])) for row in documents]

    def _sketches(self, documents: Sequence[Json]) -> Sequence[Sketch | None]:
        return read_sketches(self._client, self.collection, documents)

    def _passages_now(self) -> tuple[PassageScheme | None, bool]:
        scheme = self.collection.schema.passage_scheme
        if scheme is None:
            return None, False
        return scheme, not self._client.count(lacks_passages(scheme, self.collection.searchable_text))

    def _read_fields(self) -> Fields:
        schema = self.collection.schema
        used = find_used_names(self._client, schema)
        return fields_of(self.collection, self._configured, used, find_partial_properties(self._client, schema, used))

    def _largest_now(self) -> int | None:
        query = {"term": {"f": SCHEME, "query": self.collection.sketch_schemes}}
        largest = {"query": query, "limit": 1, "fields": [SIZE], "sort": f"{SIZE} desc"}
        documents = self._client.select(largest).documents
        return response_int(documents[0][SIZE]) if documents else None

    def _segments_now(self) -> int:
        """Return the number of segments in one shard; other shards add no time, because shards work in parallel."""
        try:
            return int(self._client.get("admin/luke", show="index")["index"]["segmentCount"])
        except EngineResponseError:
            # Solr may refuse this request if the user has only read access, so assume the usual number.
            return _SEGMENTS

    def _fetch_tokens(self, values: Mapping[str, list[str]], *, with_text: bool) -> list[Json]:
        """Return the documents that have any of `values`, keyed by field, with their tokens (see `select_tokens`).

        Also return the text if the tokens come from the text, or if they come from term vectors and `with_text` is
        true.
        """
        source, content = self._token_source, self.collection.content
        needs_text = source is TokenSource.TEXT or (with_text and source is TokenSource.TERM_VECTORS)
        fields = [*values, *([content] if content and needs_text else [])]
        return select_tokens(self._client, self.collection, documents_request(values, []), fields)

    @property
    def _token_source(self) -> TokenSource:
        if not self.collection.sources:
            problem = f"{self._client.url} gives no tokens back: {self.collection.names.minhash!r} has no term vectors"
            others = "is not a stored string field, and no text is stored to make them from"
            raise SchemaError(f"{problem}, {others}; 'whorl solr check' says more")
        return self.collection.sources[0]

    def _signature(self, document: Json, order_matters: bool) -> Signature:
        """Compute a document's signature from its tokens, or from its text if the tokens are not enough."""
        collection, source = self.collection, self._token_source
        scheme, encoding, names = collection.scheme, collection.names.token_encoding, collection.names
        has_repeats = source is TokenSource.TERM_VECTORS
        stored = [] if has_repeats else texts(document.get(names.minhash))
        if source is TokenSource.STORED and len(stored) == scheme.bucket_count:
            # Alfresco writes all tokens, so the stored list is complete and in order, with repetitions.
            return Signature(scheme, read_tokens(stored, encoding), encoding)
        repeats: Mapping[str, int] = document[names.minhash] if has_repeats else dict.fromkeys(stored, 1)
        if collection.schema.is_multivalued(names.minhash) and collection.schema.is_text(names.minhash):
            repeats, is_whole = combine_values(repeats, scheme)
            has_repeats = has_repeats and is_whole
        if order_matters and (made := self._signature_of_text(document, repeats)):
            return made
        recovered = from_distinct(repeats, scheme, encoding, has_repeats=has_repeats, order_matters=order_matters)
        return recovered if recovered.is_exact else self._signature_of_text(document, repeats) or recovered

    def _signature_of_text(self, document: Json, indexed: Mapping[str, int]) -> Signature | None:
        """Return the signature of the stored text, or None if its tokens differ from the indexed tokens."""
        collection = self.collection
        if collection.content is None:
            return None
        text = document.get(collection.content)
        if text is None:
            document_id = str(document[collection.names.key])
            text = self._documents([document_id], [collection.content]).get(document_id, {}).get(collection.content)
        made = sign(whole_text(text), collection.scheme, collection.names.token_encoding)
        return made if set(made.tokens) == indexed.keys() else None

    def _meanings(self, reference: str) -> list[tuple[str, str]]:
        by_role = {"key": self.collection.names.key, "dbid": self.collection.dbid, "noderef": self.collection.noderef}
        fields = ((by_role[role], value) for role, value in reference_meanings(reference))
        return [(field, value) for field, value in fields if field and _can_hold(field, value, self.collection)]

    def _documents(self, ids: Collection[str], fields: Iterable[str], *, latest: bool = False) -> dict[str, Json]:
        """Return documents, keyed by id; with `latest`, their latest versions, which may not be searchable yet."""
        key, documents = self.collection.names.key, dict[str, Json]()
        wanted = [*dict.fromkeys([key, *fields])]
        for batch in batches(ids, _FETCHED_AT_ONCE):
            body = realtime_get_request(batch, wanted) if latest else documents_request({key: batch}, wanted)
            selected = self._client.select(body, "get" if latest else "select")
            documents |= {str(document[key]): document for document in selected.documents}
        return documents

    def _solr_document(self, document: Document) -> dict[str, Any]:
        """Return the fields to send for a document, except fingerprints; raise an error if the schema lacks a field."""
        collection = self.collection
        names, text_field = collection.names, self._configured.content
        if collection.schema.describe(text_field) is None:
            raise self._client.missing_field(f"{text_field!r} for the text", ", or name another in whorl.toml")
        # pysolr does not send an empty text, so Solr stores no text for a document without one.
        fields: dict[str, Any] = {names.key: document.id, text_field: document.text}
        if names.name and document.name:
            fields[names.name] = document.name
        if DIGEST in collection.schema.fields:
            fields[DIGEST] = document.digest[:DIGEST_LETTERS]
        for name, values in document.values().items():
            if collection.schema.describe(name) is None:
                problem = f"the collection has no field {name!r:.80} (document {document.id!r})"
                hint = suggestion(name, collection.schema.fields)
                raise DocumentError(f"{problem}{hint}; add the field, or a dynamic one, to its schema")
            typed = [as_typed(name, value, collection) for value in values]
            # pysolr does not send an empty text, but it sends a list that contains an empty text. Send this list only
            # to a text field, because a field of numbers or dates could not read an empty text.
            is_empty_text = typed == [""] and collection.schema.is_text(name)
            fields[name] = typed[0] if len(typed) == 1 and not is_empty_text else typed
        called = {"name": names.name or "name"}
        wholes = [(called.get(name, name), kind, value) for name, kind, value in document.whole_values()]
        return fields | whole_values(wholes, collection)

    def _prepare_plan(self, plan: BoundPlan) -> BoundPlan:
        """Replace clauses that cannot match anything in this collection by `Nothing`, and add warnings."""
        warnings = list(plan.warnings)
        root: BoundNode = map_leaves(plan.root, lambda node: self._check_leaf(node, warnings))
        root = self._without_stop_words(root, warnings)
        return BoundPlan(root, tuple(dict.fromkeys(warnings)))

    def _without_stop_words(self, node: BoundNode, warnings: list[str]) -> BoundNode:
        """Remove required clauses that have only stop words, as Solr's own parsers do."""
        if not isinstance(node, Bool):
            self._is_stop_word(node, warnings)
            return node
        must = [self._without_stop_words(child, warnings) for child in node.must]
        should = tuple(self._without_stop_words(child, warnings) for child in node.should)
        must_not = tuple(self._without_stop_words(child, warnings) for child in node.must_not)
        kept = [child for child in must if not self._is_stop_word(child, warnings)]
        if not kept and not should:
            # Without any clause, Solr would find no documents or all documents, so keep the stop words.
            kept = must
        least = max(1, node.min_should_match) if should and must and not kept else node.min_should_match
        return replace(node, must=tuple(kept), should=should, must_not=must_not, min_should_match=least)

    def _is_stop_word(self, node: BoundNode, warnings: list[str]) -> bool:
        """Check whether a clause has only stop words in one of its fields, and add a warning if it has."""
        if isinstance(node, Bool):
            is_group = node.should and not node.must and not node.must_not
            return bool(is_group) and all(self._is_stop_word(child, warnings) for child in node.should)
        if not isinstance(node, Words) or len(node.text) > _LONGEST_STOP_WORDS:
            return False
        for field in self._searched_fields(node):
            if not self.collection.schema.has_stop_words(field):
                continue
            if self._drops_all_words(field, node.text):
                warnings.append(f"{node.text!r} has only stop words of the field {field!r}, which are not looked for")
                return True
        return False

    def _searched_fields(self, node: WordClause) -> tuple[str, ...]:
        return self.collection.names.text if node.field is None else (node.field,)

    def _check_leaf(self, node: BoundLeaf, warnings: list[str]) -> BoundLeaf:
        if isinstance(node, SharedTokens | SharedBands) and not self.collection.has_minhash:
            field = f"{self.collection.names.minhash!r}, which FINGERPRINT asks"
            raise self._client.missing_field(field, ", and 'whorl similar' needs none")
        if isinstance(node, FuzzyWord) and not self.collection.names.has_fuzzy_parser:
            found = f"the {FUZZY_EXPANSIONS} words of each shard that are most similar to {node.word!r}"
            limit = f"Solr {self.collection.version.solr} finds {found}, and leaves out others"
            warnings.append(f"{limit}; Solr 9.9 and newer finds all")
        if isinstance(node, WordClause) and _has_pattern(node):
            stemmed = filter(self.collection.schema.has_stems, self._searched_fields(node))
            warnings += [f"{STEMS.format(field)}, so they may miss words" for field in stemmed]
        if not isinstance(node, WordClause) or node.field is not None:
            return fit_integers(node, self.collection.schema.largest_integer)
        if self.collection.names.text:
            warnings += [] if self.collection.words else self._phrase_warnings()
            return node
        warnings.append("the collection has no field to look for words without a field name in; write field:word")
        return Nothing(warnings[-1])


def send_parallel(portions: Iterable[_Batch], send: Callable[[_Batch], _Result]) -> list[_Result]:
    """Call `send` for each portion in parallel threads, and return the results in order.

    If the input has only one portion, the caller's thread sends it. If requests fail, wait for all running requests,
    and raise the error of the first failed portion.
    """
    remaining = iter(portions)
    first = list(islice(remaining, 2))
    if len(first) < 2:
        return list(map(send, first))
    # While the caller prepares the next portion, one request waits in addition to the running requests, so that no
    # connection is idle.
    return list(map_in_threads(send, chain(first, remaining), CONNECTIONS, CONNECTIONS + 2, "whorl-solr"))


def _has_pattern(clause: WordClause) -> bool:
    """Check whether a clause has a wildcard or a fuzzy word, so that it may match many words."""
    if isinstance(clause, InOrder):
        return not all(isinstance(word, str) for word in clause.words)
    return isinstance(clause, FuzzyWord)


def _can_hold(field: str, value: str, collection: SolrCollection) -> bool:
    """Check whether a field can hold a value. Solr refuses to search an integer field for any other value."""
    if collection.schema.describe(field) is None:
        return False
    largest = collection.schema.largest_integer(field)
    return largest is None or (value.isascii() and value.isdigit() and int(value) <= largest)
