"""A store of documents and the questions one asks it: the surface that Python users and the command line share."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from whorl.context import trace
from whorl.engine.protocol import Engine
from whorl.errors import DocumentError, ParameterError, StoreError
from whorl.fingerprint.minhash.signature import Signature
from whorl.fingerprint.passages import Comparison, compare
from whorl.fingerprint.statistics.metric import Metric, Percent, metric_named
from whorl.model import Document, Indexed, Order, Page, Stored
from whorl.planning.bind import bind
from whorl.planning.build import BoundPlan, MatchAll, references
from whorl.planning.options import Conventions
from whorl.prepared import Explanation, Filter, PreparedQuery, QueryReader
from whorl.query.limits import QueryLimits
from whorl.settings.settings import MAX_ROWS, Settings
from whorl.similar.hits import AT_ONCE, Similar, SimilarPlan
from whorl.similar.question import DEFAULT_RECALL, DEFAULT_THRESHOLD, METRICS, Question, ask
from whorl.similar.search import SimilarSearch, find_similar, look_ups, search_for
from whorl.similar.sources import Sources

#: Documents sent to an engine at once: enough to spread the cost of a commit, small enough to lose little time.
DEFAULT_BATCH = 256
#: Characters of text in a batch, about: one request then takes seconds, not minutes.
BATCH_CHARACTERS = 4_000_000
#: What a query calls a text that is given beside it.
SOURCE = "source"
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

    def prepare(
        self,
        query: str,
        *,
        source: str | Mapping[str, str] | None = None,
        calibrated: bool = False,
        metric: Metric | str = Metric.JACCARD,
        conventions: Conventions = Conventions(),  # noqa: B008 - frozen
        filters: Iterable[Filter] = (),
    ) -> PreparedQuery:
        """Read a query once, to search with it, to count, to measure what hits share with its source, or to explain it.

        Args:
            query: In the query language, see docs/afts.md.
            source: A text that need not be in the store, which the query calls `FINGERPRINT:source`; or several by
                the names that the query has for them. Such a name hides a document of the same id.
            calibrated: What FINGERPRINT means: the tokens and bands that Alfresco and Solr count, or the documents
                that `similar` finds, by their percentage; an overlap that is not given is then 20, a probability 95.
            metric: What the overlap of a calibrated FINGERPRINT is a share of, as in `similar`.
            conventions: What the query and the filters leave unsaid.
            filters: Queries that choose and score nothing; of several in one, any is to match.

        Raises:
            QueryError: The query cannot be run; the message shows the place.
            ParameterError: There is no such metric.
        """
        chosen = metric_named(metric, METRICS)
        sources = Sources(self.engine, _given(source))
        return PreparedQuery(self._reader(conventions), sources, query, filters, chosen if calibrated else None)

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
        filters: Iterable[Filter] = (),
        order: Sequence[Order] = (),
    ) -> Page:
        """Return one page of the documents that a query matches.

        Args:
            query: In the query language, see docs/afts.md.
            start: Hits to leave out before the page, 0 to 1,000,000.
            rows: Hits on the page, 0 to 10,000.
            with_shared: Also count the tokens that each hit shares with the source, if the query has just one.
            source: As in `prepare`.
            calibrated: Likewise.
            metric: Likewise.
            conventions: Likewise.
            filters: Likewise.
            order: What the hits are sorted by, instead of their scores.

        Raises:
            QueryError: The query cannot be run; the message shows the place.
            ParameterError: There is no such field to sort by.
        """
        prepared = self.prepare(
            query, source=source, calibrated=calibrated, metric=metric, conventions=conventions, filters=filters
        )
        return prepared.search(start=start, rows=rows, order=order, with_shared=with_shared)

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
    ) -> Explanation:
        """Return what `search` does with the same arguments; nothing is searched."""
        prepared = self.prepare(query, source=source, calibrated=calibrated, metric=metric, conventions=conventions)
        return prepared.explain(start=start, rows=rows)

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
            metric: What the threshold is a share of: "jaccard" (of both together), "a_in_b" (how much of the source is
                in the hit) or "b_in_a" (how much of the hit is in the source).
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
        self._reader().require_page(start, rows)
        search, filtered = self._similar(reference, source, ask(metric, threshold, recall), only)
        page = find_similar(search, filtered, start=start, rows=rows, exact=exact)
        trace().answered(f"similar by {page.plan.metric.value}", len(only or ""), page.total)
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
    ) -> tuple[SimilarPlan, Mapping[str, object]]:
        """Return the plan of `similar` with the same arguments, and the request that looks for candidates."""
        search, filtered = self._similar(reference, source, ask(metric, threshold, recall), only)
        return search.plan, self.engine.explain(look_ups(search, filtered.root), start=0, rows=AT_ONCE)

    def _similar(
        self, reference: str, text: str | None, question: Question, only: str | None
    ) -> tuple[SimilarSearch, BoundPlan]:
        sources = Sources(self.engine, {} if text is None else {reference: text})
        if only is None:
            return search_for(sources, reference, question), BoundPlan(MatchAll())
        plan, warnings = self._reader().filter(only)
        bound = bind(plan, Sources(self.engine, {}).signatures(references(plan)))
        return search_for(sources, reference, question), replace(bound, warnings=(*bound.warnings, *warnings))

    def _reader(self, conventions: Conventions = Conventions()) -> QueryReader:  # noqa: B008 - frozen
        return QueryReader(self.engine, self.names, replace(conventions, limits=self._limits), self._max_rows)

    def delete(self, ids: Collection[str]) -> int:
        """Forget documents; return how many of the ids there were."""
        return self.engine.delete([ids] if isinstance(ids, str) else ids)

    def signature(self, reference: str) -> Signature | None:
        """Return the signature of the document that a reference names, or None when there is none."""
        return Sources(self.engine, {}).signatures({reference: True}).get(reference)

    def text(self, reference: str) -> str | None:
        """Return the stored text of the document that a reference names, or None when there is none."""
        return self._texts([reference]).get(reference)

    def texts(self, references: Iterable[str]) -> Mapping[str, str]:
        """Return the stored texts of the documents that references name, each by its reference.

        Raises:
            UnknownDocumentError: The store has no document of that name.
            ParameterError: It has one, without a text.
        """
        wanted = list(dict.fromkeys(references))
        texts = self._texts(wanted)
        for name in wanted:
            if name not in texts:
                Sources(self.engine, {}).source(name)
                raise ParameterError(f"document {name!r} has no stored text")
        return texts

    def _texts(self, references: Collection[str]) -> Mapping[str, str]:
        ids = self.engine.resolve(references) if references else {}
        found = self.engine.texts(list(ids.values())) if ids else {}
        return {reference: found[document_id] for reference, document_id in ids.items() if document_id in found}

    def compare(self, a: str, b: str, *, source: str | Mapping[str, str] | None = None) -> Comparison:
        """Compare two documents exactly, by all of their shingles under the store's scheme.

        Args:
            a: A reference to a document, or the name of a text given beside.
            b: Likewise.
            source: A text that need not be in the store, called `source`, or several by name, as in `search`.

        Raises:
            UnknownDocumentError: The store has no document of that name.
            ParameterError: It has one, without a text.
        """
        given = _given(source)
        texts = {**self.texts([name for name in (a, b) if name not in given]), **given}
        return compare(texts[a], texts[b], self.engine.scheme)

    def documents(self, ids: Collection[str]) -> Mapping[str, Stored]:
        """Return what is stored of documents beside their texts, by id, of those that there are."""
        return self.engine.documents(ids)

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
