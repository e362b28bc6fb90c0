"""The engine over an index of OpenSearch or Elasticsearch; `request` spells the queries.

Everything that is searched is made here and lies in fields of our own (`fields`), so nothing depends on the cluster's
analysers, versions or plug-ins, and nothing here asks which of the two servers it is.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.fields import (
    DIGEST,
    FIELDS,
    HANDLE,
    ID,
    SCHEME,
    SIZE,
    SKETCH,
    Json,
    handle,
    indexed_fields,
    scheme_name,
)
from whorl.engine.opensearch.request import sorted_by, translate
from whorl.engine.protocol import SCANNED_AT_ONCE, Candidates, Scanned
from whorl.engine.references import candidates as meanings
from whorl.engine.shared import Remembered, SharedCommit
from whorl.errors import DocumentError, EngineResponseError, EngineUnavailableError, SchemeMismatchError, StoreError
from whorl.fingerprint.batch import Hashed, Parts, hashed
from whorl.fingerprint.minhash.signature import Signature, sign
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.codec import decode
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme
from whorl.fingerprint.words.shingles import joined_words
from whorl.model import Document, Hit, Order, Page, PropertyValue, Stored
from whorl.planning.build import BoundPlan
from whorl.planning.clauses import Kind
from whorl.planning.fields import Fields

#: A cluster takes no longer id.
MOST_ID_BYTES = 512
_AT_ONCE = 200
_FIELDS_SECONDS = _LARGEST_SECONDS = 30.0
#: Names of fields that are told apart, at most.
_MOST_FIELDS = 10_000
_ROLES = {"dbid": "DBID", "noderef": "LID"}
_EVERYTHING: Json = {"exists": {"field": ID}}


class OpenSearchEngine:
    """An index behind the Engine protocol.

    Args:
        client: Where it is.
        scheme: What its tokens are made under.
    """

    def __init__(self, client: IndexClient, scheme: Scheme = Scheme()) -> None:  # noqa: B008 - frozen
        self._client, self._scheme, self._sketch_scheme = client, scheme, SketchScheme()
        self._commit = SharedCommit(client.refresh)
        self._fields = Remembered(lambda _: self._read_fields(), _FIELDS_SECONDS)
        self._largest = Remembered(lambda _: self._largest_now(), _LARGEST_SECONDS)

    @property
    def scheme(self) -> Scheme:
        return self._scheme

    @property
    def sketch_scheme(self) -> SketchScheme:
        return self._sketch_scheme

    # Writing.

    def index(self, documents: Iterable[Document]) -> None:
        # Of one id twice, the last stands.
        batch = list({document.id: document for document in documents}.values())
        for document in batch:
            if len(document.id.encode()) > MOST_ID_BYTES:
                raise DocumentError(f"a cluster takes ids of {MOST_ID_BYTES} bytes at most, got {document.id!r:.80}")
        if not batch:
            return
        actions: list[Json] = []
        read = hashed((document.text for document in batch), self._scheme, Parts.ALL, workers=1)
        for document, found in zip(batch, read, strict=True):
            actions += [{"index": {"_id": document.id}}, self._body(document, found)]
        refused = [each for each in self._client.bulk(actions) if each.get("error")]
        for each in refused:
            status, error = each["status"], each["error"]
            told = f"{each['_id']!r}: {error.get('reason', error)}" if isinstance(error, dict) else str(error)
            if status == 429 or status >= 500:
                raise EngineUnavailableError(f"{self._client.url} cannot take documents now: {told}", is_passing=True)
            raise DocumentError(f"the cluster refuses {told}")

    def refresh(self) -> None:
        self._commit()
        self._fields.forget()
        self._largest.forget()

    def delete(self, ids: Collection[str]) -> int:
        there = self._client.documents(list(ids), [])
        if there:
            self._client.bulk([{"delete": {"_id": each}} for each in there])
            self.refresh()
        return len(there)

    def _body(self, document: Document, found: Hashed) -> Json:
        texts = [(name, value) for name, values in document.values().items() for value in values]
        values = [(name, self._words(text)) for name, text in (("name", document.name), *texts) if text]
        if document.text:
            values.append(("content", found.words.words()))
        sketch = found.sketch(self._sketch_scheme)
        own = indexed_fields(document, self._scheme, found.minima[:, 0], sketch, values)
        properties = {name: list(values) for name, values in document.contents().items()}
        return {"name": document.name, "content": document.text, "properties": properties, **own}

    def _words(self, text: str) -> list[str]:
        return joined_words(text, self._scheme.profile).words()

    # Reading.

    def digests(self, ids: Collection[str]) -> Mapping[str, str]:
        found = self._client.documents(list(ids), [DIGEST])
        return {each: hit["_source"][DIGEST] for each, hit in found.items() if DIGEST in hit["_source"]}

    def resolve(self, references: Collection[str]) -> Mapping[str, str]:
        found: dict[str, str] = {}
        distinct = list(dict.fromkeys(references))
        for at in range(0, len(distinct), _AT_ONCE):
            looked_up = {each: meanings(each) for each in distinct[at : at + _AT_ONCE]}
            ids = {value for meant in looked_up.values() for role, value in meant if role == "key"}
            handles = {
                handle(_ROLES[role], value) for meant in looked_up.values() for role, value in meant if role in _ROLES
            }
            wanted = {"bool": {"should": [{"terms": {ID: sorted(ids)}}, {"terms": {HANDLE: sorted(handles)}}]}}
            body = {
                "query": wanted,
                "size": 4 * len(looked_up) + 1,
                "_source": [ID, *(f"properties.{each}" for each in _ROLES.values())],
            }
            documents = self._client.hits({**body, "sort": [{ID: "asc"}]})
            named: dict[str, str] = {}
            for hit in documents:
                own = hit["_source"][ID]
                for name in _ROLES.values():
                    for value in hit["_source"].get("properties", {}).get(name, ()):
                        named.setdefault(handle(name, str(value)), own)
            known = {hit["_source"][ID] for hit in documents}
            for reference, meant in looked_up.items():
                for role, value in meant:
                    document_id = (
                        (value if value in known else None) if role == "key" else named.get(handle(_ROLES[role], value))
                    )
                    if document_id is not None:
                        found[reference] = document_id
                        break
        return found

    def signatures(self, wanted: Mapping[str, bool]) -> Mapping[str, Signature]:
        found = self._client.documents(list(wanted), ["content"])
        return {each: self.sign(hit["_source"].get("content", "")) for each, hit in found.items()}

    def texts(self, ids: Collection[str]) -> Mapping[str, str]:
        found = self._client.documents(list(ids), ["content"])
        return {each: text for each, hit in found.items() if (text := hit["_source"].get("content"))}

    def largest_size(self) -> int | None:
        return self._largest()

    def sketches(self, ids: Collection[str]) -> Mapping[str, Sketch]:
        found = self._client.documents(list(ids), [SCHEME], [SKETCH])
        read = {each: self._sketch(hit) for each, hit in found.items()}
        return {each: sketch for each, sketch in read.items() if sketch is not None}

    def scan(self, mark: str = "") -> Iterator[Scanned]:
        wanted = {"query": _EVERYTHING, "size": SCANNED_AT_ONCE, "sort": [{ID: "asc"}]}
        fetched = {"_source": [ID, "name", SCHEME], "stored_fields": [SKETCH]}
        while hits := self._client.hits({**wanted, **fetched, **({"search_after": [mark]} if mark else {})}):
            mark = hits[-1]["_source"][ID]
            yield Scanned(
                tuple((each["_source"][ID], each["_source"].get("name", ""), self._sketch(each)) for each in hits), mark
            )

    def candidates(self, plan: BoundPlan, *, start: int, rows: int) -> Candidates:
        translation = translate(plan, self._scheme)
        fetched = {"_source": [ID, "name", SCHEME], "stored_fields": [SKETCH]}
        body = {"query": translation.query, "sort": sorted_by(()), "track_scores": True, **fetched}
        total, hits = self._client.page(body, start, rows)
        return Candidates(total, tuple((self._hit(each), self._sketch(each)) for each in hits), translation.warnings)

    def sign(self, text: str) -> Signature:
        return sign(text, self._scheme)

    def fields(self) -> Fields:
        return self._fields()

    def documents(self, ids: Collection[str]) -> Mapping[str, Stored]:
        found = self._client.documents(list(ids), ["name", "properties"])
        return {each: _stored(each, hit["_source"]) for each, hit in found.items()}

    def search(self, plan: BoundPlan, *, start: int, rows: int, order: Sequence[Order] = ()) -> Page:
        translation = translate(plan, self._scheme)
        body = {"query": translation.query, "sort": sorted_by(order), "track_scores": True, "_source": [ID, "name"]}
        total, hits = self._client.page(body, start, rows)
        return Page(total, tuple(map(self._hit, hits)), translation.warnings)

    def explain(self, plan: BoundPlan, *, start: int, rows: int) -> Mapping[str, object]:
        body = {"query": translate(plan, self._scheme).query, "sort": sorted_by(()), "from": start, "size": rows}
        return {"method": "POST", "url": f"{self._client.url}/_search", "json": body}

    def count(self) -> int:
        return self._client.count(_EVERYTHING)

    def close(self) -> None:
        self._client.close()

    def _hit(self, hit: Json) -> Hit:
        source = hit["_source"]
        return Hit(source[ID], source.get("name", ""), float(hit["_score"]))

    def _sketch(self, hit: Json) -> Sketch | None:
        """Return the sketch of a document; None where it has none, another scheme's or a damaged one."""
        stored = hit.get("fields", {}).get(SKETCH)
        if not stored or hit["_source"].get(SCHEME) != scheme_name(self._scheme, self._sketch_scheme):
            return None
        try:
            return decode(base64.b64decode(stored[0], validate=True), self._sketch_scheme)
        except (binascii.Error, StoreError, SchemeMismatchError):
            return None

    def _largest_now(self) -> int | None:
        own = {"term": {SCHEME: {"value": scheme_name(self._scheme, self._sketch_scheme)}}}
        hits = self._client.hits({"query": own, "size": 1, "sort": [{SIZE: "desc"}], "_source": [SIZE]})
        return int(hits[0]["_source"][SIZE]) if hits else None

    def _read_fields(self) -> Fields:
        wanted = {"size": 0, "aggs": {"fields": {"terms": {"field": FIELDS, "size": _MOST_FIELDS}}}}
        found = self._client.search(wanted)
        try:
            buckets = found["aggregations"]["fields"]["buckets"]
            pairs = sorted(each["key"].rpartition("\x1f")[::2] for each in buckets)
        except (KeyError, TypeError) as error:
            raise EngineResponseError(f"{self._client.url} tells no fields: {error}") from error
        known: dict[str, dict[Kind, str]] = {"id": {Kind.KEYWORD: "id"}, "content": {Kind.TEXT: "content"}}
        for name, kind in [("name", "KEYWORD"), *pairs]:
            places = known.setdefault(name, {})
            if kind == "KEYWORD":
                places[Kind.TEXT] = name
            places[Kind[kind]] = name
        return Fields(known, profile=self._scheme.profile)


def _stored(document_id: str, source: Json) -> Stored:
    properties: dict[str, tuple[PropertyValue, ...]] = {
        name: tuple(values if isinstance(values, list) else [values])
        for name, values in source.get("properties", {}).items()
    }
    return Stored(document_id, source.get("name", ""), properties)
