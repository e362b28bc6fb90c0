"""A store of documents and the questions one asks it: the surface that Python users and the command line share."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from whorl.context import trace
from whorl.engine.protocol import Engine
from whorl.errors import DocumentError, ParameterError, SchemaError, StoreError, UnknownDocumentError
from whorl.fingerprint.batch import text_sketch
from whorl.fingerprint.minhash.signature import Signature, shared_tokens
from whorl.fingerprint.passages import Comparison, compare
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.statistics.metric import Metric, Percent
from whorl.model import Document, Indexed, Order, Page, Stored
from whorl.planning.build import (
    Bool,
    BoundPlan,
    FieldClause,
    FingerprintClause,
    MatchAll,
    Nothing,
    PlanNode,
    bind,
    kinds,
    make_filter,
    nodes,
    references,
    replaced,
)
from whorl.planning.clauses import Kind
from whorl.planning.options import Conventions
from whorl.planning.resolve import resolve
from whorl.query.limits import QueryLimits
from whorl.query.parser import parse
from whorl.settings.settings import MAX_ROWS, Settings
from whorl.similar.by_minhash import TokenSource, find_by_tokens, look_ups_by_tokens, plan_by_tokens
from whorl.similar.by_sketch import (
    AT_ONCE,
    DEFAULT_RECALL,
    DEFAULT_THRESHOLD,
    Question,
    Similar,
    Source,
    ask,
    calibrate,
    choose,
    find_similar,
    look_ups,
)
from whorl.similar.calibration import SketchPlan
from whorl.similar.measure import Measured, measure
from whorl.similar.minhash_plan import MinHashPlan

#: Documents sent to an engine at once: enough to spread the cost of a commit, small enough to lose little time.
DEFAULT_BATCH = 256
#: Characters of text in a batch, about: one request then takes seconds, not minutes.
BATCH_CHARACTERS = 4_000_000
#: What a query calls a text that is given beside it.
SOURCE = "source"
#: The types of values that a field is sorted by, the first that it has; some numbers are whole, some are not.
_SORTED_BY = ((Kind.DATE,), (Kind.FLOAT, Kind.INTEGER), (Kind.KEYWORD,), (Kind.BOOLEAN,))
#: The deepest hit that can be asked for; engines sort everything before it.
MAX_DEPTH = 1_000_000
_HOST_AND_PORT = re.compile(r"[\w.-]+:\d+/")


class Store:
    """Documents behind an engine: put them in, ask for those that share content, take them out.

    Use `open_store` to get one. A store is a context manager that closes its engine.

    Args:
        engine: What holds the documents.
        names: Maps field names used in queries to field names in the store.
        limits: How large a query may be.
        max_rows: Hits on a page, at most.
    """

    def __init__(
        self,
        engine: Engine,
        names: Mapping[str, str] | None = None,
        *,
        limits: QueryLimits = QueryLimits(),  # noqa: B008 - frozen
        max_rows: int = MAX_ROWS,
    ) -> None:
        self.engine = engine
        self.names = names or {}
        self._limits, self._max_rows = limits, max_rows

    def index(
        self,
        documents: Iterable[Document],
        *,
        batch: int = DEFAULT_BATCH,
        again: bool = False,
        progress: Callable[[Indexed], None] | None = None,
        on_refused: Callable[[Document, DocumentError], None] | None = None,
    ) -> Indexed:
        """Store documents, replacing those of the same id and leaving alone those that are there unchanged.

        Args:
            documents: Any number, read as they are needed.
            batch: Documents stored at once, at least 1, fewer where they are long; each batch is safe before the next
                is read.
            again: Whether to store unchanged ones, too.
            progress: Called after every batch with what is safe by then.
            on_refused: Called with a document that the engine cannot store, and why; without it such a document ends
                the run.

        Returns:
            What was done; everything in it is searchable.
        """
        if batch < 1:
            raise ParameterError(f"batch must be at least 1, got {batch}")
        done = Indexed()
        remaining = iter(documents)
        try:
            # The last of several documents with one id in a batch is the one that counts.
            while group := _group(remaining, batch):
                there = {} if again else self.engine.digests(group)
                fresh = [document for document in group.values() if there.get(document.id) != document.digest]
                stored = self._index(fresh, on_refused)
                done = Indexed(done.stored + stored, done.unchanged + len(group) - len(fresh))
                if progress:
                    progress(done)
        finally:
            # Also when reading stopped half-way: what was acknowledged can be found.
            if done.stored:
                self.engine.refresh()
        return done

    def _index(self, documents: list[Document], on_refused: Callable[[Document, DocumentError], None] | None) -> int:
        """Store documents and return how many; where one is refused, the others are stored one by one."""
        try:
            self.engine.index(documents)
            trace().stored += len(documents)
        except DocumentError as error:
            if on_refused is None:
                raise
            if len(documents) > 1:
                return sum(self._index([document], on_refused) for document in documents)
            on_refused(documents[0], error)
            return 0
        return len(documents)

    def search(
        self,
        query: str,
        *,
        start: int = 0,
        rows: int = 10,
        with_shared: bool = False,
        source: str | Mapping[str, str] | None = None,
        calibrated: bool = False,
        metric: Metric | str = Metric.JACCARD,
        conventions: Conventions = Conventions(),  # noqa: B008 - frozen
        filters: Iterable[str | Sequence[str]] = (),
        order: Sequence[Order] = (),
    ) -> Page:
        """Return one page of the documents that a query matches.

        Args:
            query: In the query language, see docs/afts.md.
            source: A text that need not be in the store, which the query calls `FINGERPRINT:source`; or several by
                the names that the query has for them. Such a name hides a document of the same id.
            start: Hits to leave out before the page, 0 to 1,000,000.
            rows: Hits on the page, 0 to 10,000.
            with_shared: Also count the tokens that each hit shares with the source, if the query has just one.
            calibrated: What FINGERPRINT means: the tokens and bands that Alfresco and Solr count, or the documents
                that `similar` finds, by their percentage; an overlap that is not given is then 20, a probability 95.
            metric: What the overlap of a calibrated FINGERPRINT is a share of, as in `similar`.
            conventions: What the query and the filters leave unsaid.
            filters: Queries that choose and score nothing; of several in one, any is to match.
            order: What the hits are sorted by, instead of their scores.

        Raises:
            QueryError: The query cannot be run; the message shows the place.
            ParameterError: There is no such field to sort by.
        """
        self._require_page(start, rows)
        keys = [self._sortable(key) for key in order]
        if calibrated:
            plan = self._calibrated(query, source, metric, conventions, filters)
            sources: Mapping[str, Signature] = {}
        else:
            sources, plan = self._bound(query, source, conventions, filters)
        page = self.engine.search(plan, start=start, rows=rows, order=keys)
        trace().answered(kinds(plan.root), len(query), page.total)
        if with_shared and len(sources) == 1 and page.hits:
            return self._with_shared(page, next(iter(sources.values())))
        return page

    def similar(
        self,
        reference: str = SOURCE,
        *,
        source: str | None = None,
        metric: Metric | str = Metric.JACCARD,
        threshold: Percent = DEFAULT_THRESHOLD * 100,
        recall: Percent = DEFAULT_RECALL * 100,
        only: str | None = None,
        exact: bool = False,
        start: int = 0,
        rows: int = 10,
    ) -> Similar:
        """Return one page of the documents that share content with a source: found as asked, verified and measured.

        Args:
            reference: A document of the store; it is not among its own hits. Or the name of the text given beside.
            source: A text that need not be in the store.
            metric: What the threshold is a share of: "jaccard", "a_in_b" (how much of the source is in the hit) or
                "b_in_a" (how much of the hit is in the source); also "similarity", "contains" and "within".
            threshold: In percent, above 0, at most 100.
            recall: How many of a hundred documents just at the threshold are to be found, above 0, at most 100.
            only: A query in the query language: others than these are no hits.
            exact: Whether the texts of the hits on the page are compared whole; else their numbers are estimates from
                sketches, with intervals.
            start: Hits to leave out before the page, 0 to 1,000,000.
            rows: Hits on the page, 0 to 10,000.

        Raises:
            UnknownDocumentError: The store has no such document.
            ParameterError: A number is out of its range.
            QueryError: The query of `only` cannot be run.
        """
        self._require_page(start, rows)
        question = ask(metric, threshold, recall, is_exact=exact)
        filtered = self._filter(only)
        if self.engine.sketch_scheme is None:
            known = self._tokens(reference, source)
            page = find_by_tokens(self.engine, known, question, filtered, start=start, rows=rows)
        else:
            found = self._source(reference, source)
            page = find_similar(self.engine, found, question, filtered, start=start, rows=rows)
        trace().answered(f"similar by {question.metric.value}", len(only or ""), page.total)
        return page

    def explain_similar(
        self,
        reference: str = SOURCE,
        *,
        source: str | None = None,
        metric: Metric | str = Metric.JACCARD,
        threshold: Percent = DEFAULT_THRESHOLD * 100,
        recall: Percent = DEFAULT_RECALL * 100,
        only: str | None = None,
    ) -> tuple[SketchPlan | MinHashPlan, Mapping[str, object]]:
        """Return the plan of `similar` with the same arguments, and the request that looks for candidates."""
        question, filtered = ask(metric, threshold, recall), self._filter(only).root
        plan: SketchPlan | MinHashPlan
        if self.engine.sketch_scheme is None:
            known = self._tokens(reference, source)
            plan = plan_by_tokens(known, question)
            wanted = look_ups_by_tokens(known, plan, filtered)
        else:
            found = self._source(reference, source)
            plan = calibrate(self.engine, found.sketch, question)
            wanted = look_ups(found.name, found.sketch, plan, filtered)
        return plan, self.engine.explain(BoundPlan(wanted), start=0, rows=AT_ONCE)

    def _filter(self, only: str | None) -> BoundPlan:
        if only is None:
            return BoundPlan(MatchAll())
        plan, told = self._resolved(make_filter(parse(only, limits=self._limits)), only)
        bound = bind(plan, self._signatures(references(plan)))
        return replace(bound, warnings=(*bound.warnings, *told))

    def _source(self, reference: str, text: str | None) -> Source:
        scheme = self.engine.sketch_scheme
        if scheme is None:
            raise SchemaError(
                "the documents of this store have no sketches for a calibrated plan; 'whorl solr init URL' and then "
                "'whorl solr backfill URL' add them"
            )
        if text is not None:
            return Source(reference, text_sketch(text, self.engine.scheme, scheme), text=text)
        document_id = self._identified(reference)
        sketch = self.engine.sketches([document_id]).get(document_id)
        if sketch is None:
            raise ParameterError(f"document {reference!r} has no sketch; 'whorl solr backfill' or indexing it adds one")
        return Source(reference, sketch, document_id=document_id)

    def _tokens(self, reference: str, text: str | None) -> TokenSource:
        if text is not None:
            size = text_sketch(text, self.engine.scheme, SketchScheme()).size
            return TokenSource(reference, self.engine.sign(text), size=size)
        document_id = self._identified(reference)
        signature = self.engine.signatures({document_id: False}).get(document_id)
        if signature is None:
            raise ParameterError(f"document {reference!r} has no fingerprint")
        return TokenSource(reference, signature, document_id=document_id)

    def _identified(self, reference: str) -> str:
        document_id = self.engine.resolve([reference]).get(reference)
        if document_id is None:
            raise UnknownDocumentError(reference)
        return document_id

    def explain(
        self,
        query: str,
        *,
        start: int = 0,
        rows: int = 10,
        source: str | Mapping[str, str] | None = None,
        calibrated: bool = False,
        metric: Metric | str = Metric.JACCARD,
        conventions: Conventions = Conventions(),  # noqa: B008 - frozen
    ) -> tuple[BoundPlan, Mapping[str, object]]:
        """Return the plan of a query, bound to its sources as in `search`, and the request that runs it."""
        if calibrated:
            plan = self._calibrated(query, source, metric, conventions)
        else:
            plan = self._bound(query, source, conventions)[1]
        return plan, self.engine.explain(plan, start=start, rows=rows)

    def delete(self, ids: Collection[str]) -> int:
        """Forget documents; return how many of the ids there were."""
        return self.engine.delete([ids] if isinstance(ids, str) else ids)

    def signature(self, reference: str) -> Signature | None:
        """Return the signature of the document that a reference names, or None when there is none."""
        return self._signatures({reference: True}).get(reference)

    def _signatures(self, wanted: Mapping[str, bool]) -> Mapping[str, Signature]:
        """Return the signatures of the documents that references name, by reference."""
        ids = self.engine.resolve(wanted) if wanted else {}
        by_id: dict[str, bool] = {}
        for reference, document_id in ids.items():
            by_id[document_id] = by_id.get(document_id, False) or wanted[reference]
        found = self.engine.signatures(by_id) if by_id else {}
        return {reference: found[document_id] for reference, document_id in ids.items() if document_id in found}

    def text(self, reference: str) -> str | None:
        """Return the stored text of the document that a reference names, or None when there is none."""
        return self._texts([reference]).get(reference)

    def _texts(self, references: Collection[str]) -> Mapping[str, str]:
        ids = self.engine.resolve(references) if references else {}
        found = self.engine.texts([*ids.values()]) if ids else {}
        return {reference: found[document_id] for reference, document_id in ids.items() if document_id in found}

    def texts(self, references: Iterable[str]) -> Mapping[str, str]:
        """Return the stored texts of the documents that references name, each by its reference.

        Raises:
            UnknownDocumentError: The store has no document of that name; a ParameterError: it has one without a text.
        """
        wanted = list(dict.fromkeys(references))
        texts = self._texts(wanted)
        missing = [name for name in wanted if name not in texts]
        if missing:
            self._identified(missing[0])
            raise ParameterError(f"document {missing[0]!r} has no stored text")
        return texts

    def compare(self, a: str, b: str, *, source: str | Mapping[str, str] | None = None) -> Comparison:
        """Compare two documents exactly, by all of their shingles under the store's scheme.

        Args:
            a: A reference to a document, or the name of a text given beside.
            b: Likewise.
            source: A text that need not be in the store, called `source`, or several by name, as in `search`.

        Raises:
            UnknownDocumentError: The store has no document of that name; a ParameterError: it has one without a text.
        """
        given = _given(source)
        texts = {**self.texts([name for name in (a, b) if name not in given]), **given}
        return compare(texts[a], texts[b], self.engine.scheme)

    def documents(self, ids: Collection[str]) -> Mapping[str, Stored]:
        """Return what is stored of documents beside their texts, by id, of those that there are."""
        return self.engine.documents(ids)

    def sources(self, query: str, conventions: Conventions = Conventions()) -> tuple[str, ...]:  # noqa: B008 - frozen
        """Return the documents that the FINGERPRINTs of a query name, each once."""
        return tuple(references(self._limited(conventions).plan(query)))

    def measured(self, reference: str, ids: Collection[str], *, source: str | None = None) -> Mapping[str, Measured]:
        """Return what documents share with a text, or with the one that a reference names, of those with a fingerprint.

        Args:
            reference: A document of the store, if no text is given.
            ids: Of documents; what is told of each stands under its id.
            source: A text that need not be in the store.
        """
        return measure(self.engine, reference, ids, source)

    def count(self) -> int:
        """Return how many documents the store holds."""
        return self.engine.count()

    def close(self) -> None:
        """Release what the store holds open."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _bound(
        self,
        query: str,
        source: str | Mapping[str, str] | None = None,
        conventions: Conventions = Conventions(),  # noqa: B008 - frozen
        filters: Iterable[str | Sequence[str]] = (),
    ) -> tuple[Mapping[str, Signature], BoundPlan]:
        plan, told = self._planned(query, conventions, filters)
        texts = _given(source)
        wanted = references(plan)
        stored = {reference: order for reference, order in wanted.items() if reference not in texts}
        sources = {
            **self._signatures(stored),
            **{name: self.engine.sign(text) for name, text in texts.items() if name in wanted},
        }
        bound = bind(plan, sources)
        unused = [
            f"the query does not use the source {name!r}: write FINGERPRINT:{name}"
            for name in texts
            if name not in wanted
        ]
        return sources, replace(bound, warnings=(*bound.warnings, *told, *unused))

    def _resolved(self, plan: PlanNode, query: str) -> tuple[PlanNode, tuple[str, ...]]:
        """Put the types of the engine's fields into a plan; all of a query's dates see the same moment as now."""
        if not any(isinstance(node, FieldClause) for node in nodes(plan)):
            # Fingerprints alone ask no field, and the engine need not say what it has.
            return plan, ()
        return resolve(plan, self.engine.fields(), query, datetime.now(UTC), self.names)

    def _planned(
        self, query: str, conventions: Conventions, filters: Iterable[str | Sequence[str]]
    ) -> tuple[PlanNode, tuple[str, ...]]:
        """Return the plan of a query among what its filters choose, and what the user should know about both."""
        conventions = self._limited(conventions)
        plan, told = self._resolved(conventions.plan(query), query)
        chosen: list[PlanNode] = []
        for each in filters:
            alternatives = [each] if isinstance(each, str) else each
            resolved = [self._resolved(conventions.filter(text), text) for text in alternatives]
            told += tuple(word for _, words in resolved for word in words)
            chosen.append(Bool(should=tuple(node for node, _ in resolved), min_should_match=1))
        return (Bool(must=(plan, *chosen)) if chosen else plan), told

    def _limited(self, conventions: Conventions) -> Conventions:
        return replace(conventions, limits=self._limits)

    def _require_page(self, start: int, rows: int) -> None:
        if not 0 <= start <= MAX_DEPTH:
            raise ParameterError(f"start must be 0 to {MAX_DEPTH:,}, got {start}")
        if not 0 <= rows <= self._max_rows:
            raise ParameterError(f"rows must be 0 to {self._max_rows:,}, got {rows}")

    def _sortable(self, key: Order) -> Order:
        """Return a key by what the engine calls its field, and by the type of its values."""
        if key.field is None:
            return key
        places = self.engine.fields().named(key.field, self.names)
        if places is None:
            raise ParameterError(f"the store has no field {key.field!r} to sort by")
        # Whoever has given some documents dates or numbers wants these in order.
        kinds = next((some for some in _SORTED_BY if not places.keys().isdisjoint(some)), None)
        if kinds is None:
            raise ParameterError(f"field {key.field!r} holds words, which have no order; sort by one with whole values")
        return replace(key, places=tuple((kind, places[kind]) for kind in kinds if kind in places))

    def _calibrated(
        self,
        query: str,
        source: str | Mapping[str, str] | None,
        metric: Metric | str,
        conventions: Conventions = Conventions(),  # noqa: B008 - frozen
        filters: Iterable[str | Sequence[str]] = (),
    ) -> BoundPlan:
        """Return the plan of a query with each FINGERPRINT in it replaced by the documents that it finds."""
        texts = _given(source)
        warnings: list[str] = []

        def found(node: FingerprintClause) -> PlanNode:
            try:
                start = self._source(node.reference, texts.get(node.reference))
            except ParameterError as error:
                warnings.append(str(error))
                return Nothing(str(error))
            chosen, plan = choose(self.engine, start, _question(node, metric), node.reference, node.weight)
            if not plan.promised:
                warnings.append(f"FINGERPRINT:{node.reference} is best effort: see 'whorl similar --explain'")
            return chosen

        plan, told = self._planned(query, conventions, filters)
        return BoundPlan(replaced(plan, found), tuple(dict.fromkeys([*warnings, *told])))

    def calibrated_plans(
        self, query: str, *, source: str | Mapping[str, str] | None = None, metric: Metric | str = Metric.JACCARD
    ) -> Mapping[str, SketchPlan]:
        """Return the plans by which the FINGERPRINTs of a calibrated `search` find documents, by their sources.

        Sources that the store does not have are left out. Of several FINGERPRINTs with one source, the last is told.
        """
        texts, plans = _given(source), dict[str, SketchPlan]()
        for node in nodes(Conventions().plan(query)):
            if isinstance(node, FingerprintClause):
                with contextlib.suppress(ParameterError):
                    found = self._source(node.reference, texts.get(node.reference))
                    plans[node.reference] = calibrate(self.engine, found.sketch, _question(node, metric))
        return plans

    def _with_shared(self, page: Page, source: Signature) -> Page:
        signatures = self.engine.signatures({hit.id: False for hit in page.hits})
        return replace(
            page,
            asked=len(source),
            hits=tuple(
                replace(hit, shared=shared_tokens(source, signatures[hit.id])) if hit.id in signatures else hit
                for hit in page.hits
            ),
        )


def fingerprint_query(reference: str, threshold: str, recall: str, only: str | None = None) -> str:
    """Return the FINGERPRINT query that asks Alfresco's question about a document, among those of a filter."""
    quoted = reference.replace("\\", "\\\\").replace('"', '\\"')
    query = f'FINGERPRINT:"{quoted}"_{threshold}_{recall}'
    return query if only is None else f"{query} AND ({only})"


def _question(node: FingerprintClause, metric: Metric | str) -> Question:
    return ask(metric, (node.overlap or DEFAULT_THRESHOLD) * 100, (node.probability or DEFAULT_RECALL) * 100)


def _given(source: str | Mapping[str, str] | None) -> Mapping[str, str]:
    """Return the texts given beside a query, by the names that it has for them."""
    return {SOURCE: source} if isinstance(source, str) else source or {}


def _group(documents: Iterator[Document], most: int) -> dict[str, Document]:
    """Take the next documents, by id: at most so many, and no more once they are long enough together."""
    group: dict[str, Document] = {}
    characters = 0
    for document in islice(documents, most):
        group[document.id] = document
        characters += len(document.text)
        if characters >= BATCH_CHARACTERS:
            break
    return group


def open_store(store: str | Path | None = None, settings: Settings | None = None, *, create: bool = True) -> Store:
    """Open a store by name.

    Args:
        store: An http(s) URL of a Solr core or collection, or the path of a folder, which is made when it is not
            there. None means the configured one: WHORL_STORE, whorl.toml, or a folder in the user's data directory.
        settings: Field names, time limits and credentials; read from the environment where None.
        create: Whether to make a folder that is not there; without it, that is an error.

    Raises:
        ParameterError: The URL is not one of a core or collection.
        StoreError: The folder cannot be used, or is not there.
    """
    settings = settings or Settings.load()
    name = str(store) if store is not None else settings.store
    if not name or _HOST_AND_PORT.match(name):
        raise ParameterError(f"a store is a Solr URL (http://localhost:8983/solr/NAME) or a folder, got {name!r}")
    if "://" in name:
        from whorl.engine.solr.client import SolrClient
        from whorl.engine.solr.engine import SolrEngine

        client = SolrClient(
            name, timeout_seconds=settings.timeout_seconds, auth=settings.solr_auth, link=settings.solr_link
        )
        return _over(SolrEngine(client, settings.fields), settings)
    from whorl.engine.embedded.engine import EmbeddedEngine

    try:
        folder = Path(name).expanduser()
    except RuntimeError as error:
        raise StoreError(f"{name} cannot be used as a store: {error}") from error
    return _over(EmbeddedEngine(folder, create=create), settings)


def _over(engine: Engine, settings: Settings) -> Store:
    return Store(engine, settings.names, limits=settings.query_limits, max_rows=settings.max_rows)
