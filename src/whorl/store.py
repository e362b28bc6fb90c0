"""Defines `Store`, which indexes, finds, compares and deletes documents, and `open_store`.

`open_store` chooses the engine from the name of the store. `whorl.duplicates` uses the same engines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from whorl.engine.protocol import Engine, gap_warnings, require_current_index
from whorl.errors import (
    EngineError,
    EngineResponseError,
    EngineUnavailableError,
    ParameterError,
    StoreError,
    list_references,
    require_bool,
    require_reference,
    shorten_repr,
)
from whorl.fingerprint.minhash.signature_and_tokens import Signature
from whorl.fingerprint.statistics.metric import SIMILAR_METRICS, Metric, metric_named
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import Document, DocumentCount, Indexed, Page, Stored
from whorl.operations import (
    MAX_ROWS,
    CompareOperation,
    ExplainOperation,
    IgnorableBoilerplate,
    SearchOperation,
    SimilarOperation,
    operation_of,
)
from whorl.query import ast
from whorl.query.ast import QueryLimits
from whorl.query.plan.nodes import Bool, BoundPlan, references
from whorl.query.plan.planner import QueryDefaults
from whorl.query.unparse import quote, unparse
from whorl.request_context import require_time, trace
from whorl.search.document_references import References
from whorl.search.prepared_search import PreparedQuery, QueryOptions, QueryReader, SearchOptions
from whorl.search.similar.fetch_query_sources import SOURCE, QuerySources, require_source
from whorl.search.similar.options import SimilarOptions, make_criteria
from whorl.settings.settings import Settings

# Modules that only some operations need are imported when used, so that other operations start faster.
if TYPE_CHECKING:
    from whorl.engine.embedded.engine import Reduction
    from whorl.engine.opensearch.client import IndexClient
    from whorl.fingerprint.compare_texts import Comparison
    from whorl.ingest.store_documents import IndexOptions
    from whorl.operations import DeleteOperation, SourcesOperation, VerifyOperation
    from whorl.search.attribution.find_sources import SourcesOptions
    from whorl.search.attribution.results import Attribution
    from whorl.search.boilerplate import CompareOptions
    from whorl.search.prepared_similar import PreparedSimilar
    from whorl.search.quotations.results import GivenQuotation, Verification, VerifyOptions
    from whorl.search.similar.results import Explanation, Similar

_HOST_AND_PORT = re.compile(r"[\w.-]+:\d+/")
#: Matches an http(s) URL that may belong to OpenSearch or Elasticsearch, because it has only a name after the host. In
#: the URL of a Solr collection, a path precedes the name.
_MAYBE_INDEX = re.compile(r"(?i:https?)://[^/]+/(?!solr/?$)[^/?#]+/?")

_DELETED_AT_ONCE = 1_000
#: Maximum number of attempts to count the documents to delete while other processes write.
_COUNTS = 3
#: Maximum number of documents with the same shingles as a given text that a search returns.
_MOST_COPIES = 100


class Store:
    """Documents in an engine: add them, find documents that share content, delete them.

    Use `open_store` to get a store. It is a context manager that closes its engine. Methods take the options of their
    operation as an object, as keywords, or both; then keywords replace options of the object.

    Args:
        names: Maps field names used in queries to field names in the store.
        max_rows: Maximum number of hits on a page.
    """

    def __init__(
        self,
        engine: Engine,
        names: Mapping[str, str] | None = None,
        *,
        limits: QueryLimits = QueryLimits(),  # noqa: B008 - frozen
        max_rows: int = MAX_ROWS,
    ) -> None:
        if isinstance(engine, str | PathLike):
            raise ParameterError(
                f"Store takes an engine, got {shorten_repr(engine)}; open_store opens a URL or a folder"
            )
        self.engine = engine
        self.names = names or {}
        self._limits, self.max_rows = limits, max_rows
        #: Finds documents by ids and names. A front end on the user's machine calls `read_files`, so that paths and
        #: files also name documents.
        self.references = References(engine, self._bound, self._with_same_shingles)

    def read_files(
        self, folder: Path, read: Callable[[str], str | None], advice: str = "'whorl list' shows its documents"
    ) -> None:
        """Let users refer to documents by files, and by paths relative to a folder.

        Args:
            folder: The user's current folder.
            read: Returns the text of a local file, or None if the file is missing.
            advice: Advice for the error message if a reference is unknown and resembles no known name.
        """
        self.references = References(self.engine, self._bound, self._with_same_shingles, folder, read, advice)

    def _bound(self, query: str) -> BoundPlan:
        return self._reader().bound_filter(query)

    def _with_same_shingles(self, text: str) -> Iterable[str]:
        noted = trace()
        before = noted.plan, noted.query_length, noted.hits
        page = self.similar(source=text, metric="jaccard", threshold=100, rows=_MOST_COPIES)
        # The user did not request this search, so keep it out of the request's trace.
        noted.plan, noted.query_length, noted.hits = before
        return [hit.hit.id for hit in page.found]

    def index(self, documents: Iterable[Document], **options: Unpack[IndexOptions]) -> Indexed:
        """Store documents, replacing documents with the same id and skipping unchanged documents.

        Args:
            documents: Any number of documents; this method reads an iterator in batches.

        Returns:
            Numbers of stored and of skipped documents. The documents are searchable when this method returns.
        """
        from whorl.ingest.store_documents import index_documents

        return index_documents(self.engine, documents, **options)

    def prepare(
        self,
        query: str,
        options: ExplainOperation | None = None,
        *,
        source: str | Mapping[str, str] | None = None,
        defaults: QueryDefaults | None = None,
        **keywords: Unpack[QueryOptions],
    ) -> PreparedQuery:
        """Parse a query once. With the result, search, explain the search, or measure how hits overlap the source.

        Args:
            query: A query in the language that docs/afts.md describes.
            options: `rows` and `start` are ignored; pass them to `PreparedQuery.search`.
            source: A text that the query refers to as `FINGERPRINT:source`; or a dict of texts, keyed by the names in
                the query. The texts need not be in the store. A name hides a document with the same id.
            defaults: Defaults for reading the query and the filter; they replace the defaults of the option `afts`.

        Raises:
            QueryError: The query cannot be run; the message shows the position.
            ParameterError: An option has an unknown value, or requires the plan "calibrated"; or common text is to be
                ignored, but this store cannot detect it.
        """
        options = operation_of(ExplainOperation, options, keywords)
        if not isinstance(defaults, QueryDefaults | None):
            raise ParameterError(f"defaults must be QueryDefaults, got {shorten_repr(defaults)}")
        metric, is_calibrated = metric_named(options.metric, SIMILAR_METRICS), options.plan == "calibrated"
        if not is_calibrated:
            given = {**vars(options), "metric": metric is not Metric.JACCARD}
            for name in ("metric", *(option.name for option in fields(IgnorableBoilerplate))):
                if given[name]:
                    raise ParameterError(
                        f"{name} means nothing for tokens and bands; choose the plan calibrated, or leave it out"
                    )
        detector = None
        if options.ignore_common:
            from whorl.search.boilerplate import boilerplate_detector

            detector = boilerplate_detector(self.engine, options.common_above, options.boilerplate, ignore_common=True)
        sources = QuerySources(self.engine, source, self.references)
        reader = self._reader(defaults or QueryDefaults(strict=options.afts == "strict"), sources.texts)
        return PreparedQuery(reader, sources, query, options.filter or (), metric if is_calibrated else None, detector)

    def search(
        self,
        query: str,
        options: SearchOperation | None = None,
        *,
        source: str | Mapping[str, str] | None = None,
        defaults: QueryDefaults | None = None,
        with_shared: bool = False,
        **keywords: Unpack[SearchOptions],
    ) -> Page:
        """Return one page of the documents that a query matches.

        Args:
            query: A query in the language that docs/afts.md describes.
            source: Texts that the query refers to, as in `prepare`.
            defaults: Defaults for reading the query, as in `prepare`.
            with_shared: Count the tokens that each hit shares with the source, if the query has exactly one source.

        Raises:
            QueryError: The query cannot be run; the message shows the position.
            ParameterError: A sort field does not exist, or an option is invalid as in `prepare`.
        """
        options = operation_of(SearchOperation, options, keywords)
        return self.prepare(query, options, source=source, defaults=defaults).search(
            start=options.start,
            rows=options.rows,
            sort=options.sort,
            with_shared=with_shared,
            collapse=options.collapse,
        )

    def explain(
        self,
        query: str,
        options: ExplainOperation | None = None,
        *,
        source: str | Mapping[str, str] | None = None,
        defaults: QueryDefaults | None = None,
        **keywords: Unpack[QueryOptions],
    ) -> Explanation:
        """Explain how `search` would run with the same arguments, without searching."""
        options = operation_of(ExplainOperation, options, keywords)
        prepared = self.prepare(query, options, source=source, defaults=defaults)
        return prepared.explain(start=options.start, rows=options.rows)

    def prepare_similar(
        self,
        reference: str = SOURCE,
        options: SimilarOperation | None = None,
        *,
        source: str | None = None,
        **keywords: Unpack[SimilarOptions],
    ) -> PreparedSimilar:
        """Prepare a calibrated search once. The result can run the search or explain it.

        Args:
            reference: A document of the store, which is not among its own hits; or a name for the text in `source`.
            options: `rows` and `start` are ignored; pass them to `PreparedSimilar.search`.
            source: A text that need not be in the store.

        Raises:
            UnknownDocumentError: The store has no such document.
            ParameterError: A number is out of its range; or common text cannot be detected in this store.
            QueryError: The filter cannot be run.
        """
        return self._prepare_similar(reference, operation_of(SimilarOperation, options, keywords), source)

    def _prepare_similar(
        self, reference: str, options: SimilarOperation, source: str | None, *, caches_sketches: bool = False
    ) -> PreparedSimilar:
        from whorl.search.boilerplate import boilerplate_detector
        from whorl.search.prepared_similar import PreparedSimilar

        criteria = make_criteria(options.metric, options.threshold, options.recall)
        texts = None if source is None else {reference: source}
        require_reference(reference)
        self._require_named(reference, source)
        sources = QuerySources(self.engine, texts, self.references, caches_sketches=caches_sketches)
        common = boilerplate_detector(
            self.engine, options.common_above, options.boilerplate, ignore_common=options.ignore_common
        )
        reader, ignores = self._reader(), options.ignore_common
        return PreparedSimilar(reader, sources, reference, criteria, options.filter, common, ignore_common=ignores)

    def similar(
        self,
        reference: str = SOURCE,
        options: SimilarOperation | None = None,
        *,
        source: str | None = None,
        **keywords: Unpack[SimilarOptions],
    ) -> Similar:
        """Return one page of the documents that share content with a source, verified and measured.

        Arguments and errors are those of `prepare_similar`.
        """
        options = operation_of(SimilarOperation, options, keywords)
        prepared = self._prepare_similar(reference, options, source, caches_sketches=True)
        return prepared.search(start=options.start, rows=options.rows, exact=options.exact)

    def sources(
        self,
        reference: str = SOURCE,
        options: SourcesOperation | None = None,
        *,
        source: str | None = None,
        **keywords: Unpack[SourcesOptions],
    ) -> Attribution:
        """Return the sources of a text: a few documents that together cover most of it, with the shared passages.

        The search for candidates may miss sources; the result states its recall. All other numbers are exact counts on
        whole texts.

        Args:
            reference: A document of the store, which is never a source of itself; or a name for the text in `source`.
            options: `rows` and `start` are ignored; all sources are returned.
            source: A text that need not be in the store.

        Raises:
            UnknownDocumentError: The store has no such document.
            ParameterError: A number is out of its range, or the document has no text.
            QueryError: The query of `exclude` cannot be run.
        """
        from whorl.operations import SourcesOperation
        from whorl.search.attribution.find_sources import find_sources

        options = operation_of(SourcesOperation, options, keywords)
        excluded = None if options.exclude is None else self._excluded(options.exclude)
        self._require_named(reference, source)
        text, own_id = self._text_and_id(reference, source)
        gaps = gap_warnings(self.engine, "sketches")
        attribution = find_sources(self.engine, text, options, own_id=own_id, excluded=excluded)
        if not gaps:
            return attribution
        promise = replace(attribution.promise, words=None, certain_words=None)
        warnings = (*attribution.warnings, *gaps)
        return replace(attribution, promise=promise, is_complete=False, warnings=warnings)

    def _excluded(self, query: str) -> BoundPlan:
        """Return the plan for the documents to exclude.

        If the query matches no document, add a warning, because it may contain a misspelt name or only an id.
        """
        plan = self._bound(query)
        if self.engine.search(plan, start=0, rows=0).total:
            return plan
        ids = self.references.ids([query])
        remedy = f"; to exclude the document of this id, write id:{quote(ids[query])}" if ids else ""
        warning = f"no document matches the query to exclude, {shorten_repr(query)}{remedy}"
        return replace(plan, warnings=(*plan.warnings, warning))

    def verify(
        self,
        reference: str = SOURCE,
        options: VerifyOperation | None = None,
        *,
        source: str | None = None,
        markup: str | None = None,
        quotations: Sequence[Mapping[str, str | None] | GivenQuotation] | None = None,
        **keywords: Unpack[VerifyOptions],
    ) -> Verification:
        """Return a verdict on each quotation of a text: whether a document contains it word for word, and where.

        Args:
            reference: A document of the store; with `source`, the id of a document with this text. This document does
                not count as a source of the quotations.
            options: `rows` and `start` are ignored; all quotations are returned.
            source: A text that need not be in the store, or quotations in JSON.
            markup: `source` as HTML or Markdown, to find its quotations by their markup; by default `source` itself.
            quotations: Quotations to check instead of a text; `min_words` does not apply to them. Each has a `quote`,
                and optionally a `source`, the document that it should come from.

        Raises:
            UnknownDocumentError: The store has no such document.
            ParameterError: A number is out of its range, a quotation has no word, or the document has no text.
            QueryError: The query of `exclude` cannot be run.
        """
        from whorl.operations import VerifyOperation
        from whorl.search.quotations.extract_quotations import quotations_in_json, read_given_quotations
        from whorl.search.quotations.verify_quotations import verification_of, verify_quotations

        options = operation_of(VerifyOperation, options, keywords)
        excluded = None if options.exclude is None else self._excluded(options.exclude)
        if quotations is not None:
            if source is not None or reference != SOURCE:
                raise ParameterError("give quotations, or a text that has some")
            given = read_given_quotations(quotations)
            return verify_quotations(self.engine, self.references, "", given, excluded=excluded)
        self._require_named(reference, source, "the id of a document, a text as source, or quotations")
        text, own_id = self._text_and_id(reference, source)
        if source is not None and (listed := quotations_in_json(source)) is not None:
            return self.verify(SOURCE, options, quotations=listed)
        if own_id is None and reference != SOURCE:
            own_id = reference
        return verification_of(self.engine, self.references, text, own_id, options, markup=markup, excluded=excluded)

    def _require_named(
        self, reference: str, source: str | None, one: str = "the id of a document, or a text as source"
    ) -> None:
        """Raise ParameterError if neither a text nor a document is given. The message is "give", followed by `one`.

        The default reference `SOURCE` is a document only if the store has a document with this id.
        """
        if source is None and reference == SOURCE and not self.references.ids([SOURCE]):
            raise ParameterError(f"give {one}")

    def _text_and_id(self, reference: str, source: str | None) -> tuple[str, str | None]:
        """Return a source's text and the id of its document. The id is None if the text is given in `source`."""
        if source is not None:
            require_source(reference, source)
            return source, None
        return self.texts([reference])[reference], self.references.ids([reference]).get(reference)

    def _reader(
        self,
        defaults: QueryDefaults = QueryDefaults(),  # noqa: B008 - frozen
        texts: Collection[str] = (),
    ) -> QueryReader:
        defaults = replace(defaults, limits=self._limits)
        return QueryReader(self.engine, self.names, defaults, self.max_rows, texts, self.references)

    def delete(self, ids: Collection[str]) -> int:
        """Delete documents by their ids or other references; return the number of deleted documents."""
        chosen = self.references.keys(ids)
        return self.engine.delete(set(chosen.values()))

    def delete_matching(self, query: str, *, everything: bool = False) -> int:
        """Delete the documents that a query matches; return their number.

        A document stays if another client changes it during the deletion so that it no longer matches.

        Args:
            query: A query in the query language; its FINGERPRINTs name documents of the store.
            everything: Allow a query that matches all documents.

        Raises:
            QueryError: The query cannot be run; the message shows the position.
            UnknownDocumentError: A FINGERPRINT names no document.
            ParameterError: The query matches all documents, and `everything` is False; or `everything` is not a bool.
        """
        require_bool("everything", everything)
        self._require_documents(query)
        matches, documents = self._count_in_current_index(query)
        if matches and not everything and matches >= documents:
            raise ParameterError(
                f"the query matches all {matches:,} documents; to delete them all, add 'everything' (--everything)"
            )
        plan = self._bound(query)
        return sum(self.engine.delete(ids, matching=plan) for ids in self._matching(plan))

    def _require_documents(self, query: str) -> None:
        """Raise UnknownDocumentError if a FINGERPRINT of a query names no document.

        Otherwise, `NOT FINGERPRINT:…` with a misspelt name would match too many documents.
        """
        names = references(self._reader().filter(query)[0])
        known = self.references.ids(names)
        for name in names:
            if name not in known:
                raise self.references.unknown_document_error(name)

    def _count_in_current_index(self, query: str) -> tuple[int, int]:
        """Return the number of documents that a query matches, and the number of all documents.

        Another process may write at the same time. If the index then lacks documents, count again, and finally raise
        StoreError.
        """
        for _ in range(_COUNTS):
            require_current_index(self.engine, "the documents to delete")
            before, matches = self.engine.count(), self.count(query)
            if matches.is_exact:
                # Another process may add or delete documents between the counts. Return the smaller total, so that the
                # caller certainly recognizes a query that matches all documents.
                return matches, min(before, self.engine.count())
        raise StoreError("another process is writing, so the documents to delete cannot be counted; try again")

    def _matching(self, plan: BoundPlan) -> Iterator[list[str]]:
        """Yield the ids that a filter's plan matches, ascending, in batches, each once even if the store changes."""
        following = plan
        # Hits of a filter have equal scores, so they are ordered by id, and each search continues after the last id.
        while hits := self.engine.search(following, start=0, rows=_DELETED_AT_ONCE).hits:
            yield [hit.id for hit in hits]
            require_time()
            following = BoundPlan(Bool(must=(plan.root, self._bound(query_for_ids_after(hits[-1].id)).root)))

    def delete_chosen(self, ids: Collection[str] | None, options: DeleteOperation) -> DocumentCount:
        """Delete documents by their ids or by a query; return their number. With `options.dry_run`, only count them.

        Unlike in `delete`, `ids` must be ids, not names or paths: a remote client may delete an id that no longer
        exists, and a document that has this id as its name must stay.

        Raises:
            ParameterError: Both ids and a query are given, or neither; or `delete_matching` refuses the query.
        """
        if (ids is None) == (options.query is None):
            raise ParameterError("name documents by their ids, or by a query")
        if options.query is None:
            wanted = list_references(ids or ())
            deletes = self.engine.delete
            return DocumentCount(len(self.engine.documents(wanted)) if options.dry_run else deletes(set(wanted)))
        if options.dry_run:
            self._require_documents(options.query)
            return self.count(options.query)
        return DocumentCount(self.delete_matching(options.query, everything=options.everything))

    def signature(self, reference: str) -> Signature | None:
        """Return the signature of the document that a reference names; None if it has no signature."""
        require_reference(reference)
        wanted = {reference: True}
        return QuerySources(self.engine, references=self.references).signatures(wanted).get(reference)

    def text(self, reference: str) -> str | None:
        """Return the stored text of the document that a reference names; None if there is no such document or text."""
        require_reference(reference)
        return QuerySources(self.engine, references=self.references).fetch_stored_texts([reference]).get(reference)

    def texts(self, references: Iterable[str]) -> Mapping[str, str]:
        """Return the stored texts of documents. The keys are the references.

        Raises:
            UnknownDocumentError: The store has no document of that name.
            ParameterError: A document has no stored text.
        """
        return QuerySources(self.engine, references=self.references).fetch_whole_texts(references)

    def compare(
        self,
        a: str,
        b: str,
        options: CompareOperation | None = None,
        *,
        source: str | Mapping[str, str] | None = None,
        **keywords: Unpack[CompareOptions],
    ) -> Comparison:
        """Compare two documents exactly: count all of their shingles, under the store's scheme.

        Args:
            a, b: References to documents, or names of texts in `source`.
            options: `rows`, `start` and `scheme` are ignored: the result has all passages, under the store's scheme.
            source: A text outside the store, with the name `source`; or a dict of texts, keyed by name.

        Raises:
            UnknownDocumentError: The store has no document of that name.
            ParameterError: A document has no stored text.
        """
        from whorl.search.boilerplate import compare_two_texts, detector_for_comparison

        options = operation_of(CompareOperation, options, keywords)
        texts, scheme = QuerySources(self.engine, source, self.references).fetch_whole_texts([a, b]), self.engine.scheme
        common = detector_for_comparison(self.engine, options.common_above, options.boilerplate)
        return compare_two_texts(texts[a], texts[b], scheme, common)

    def documents(self, ids: Collection[str]) -> Mapping[str, Stored]:
        """Return the stored fields of documents, except their texts, keyed by id; omit unknown ids."""
        return self.engine.documents(list_references(ids))

    def document(self, reference: str) -> Stored:
        """Return the stored fields of a document except its text.

        Raises:
            UnknownDocumentError: The store has no such document.
        """
        document_id = self.references.keys([reference]).get(reference, reference)
        stored = self.engine.documents([document_id]).get(document_id)
        if stored is None:
            raise self.references.unknown_document_error(reference)
        return stored

    def count(self, query: str | None = None) -> DocumentCount:
        """Return the number of documents in the store, or the number of documents that a query matches.

        If this process is adding documents, refresh the index first. If the index still lacks documents, because
        another process is writing or because writing the index failed, the result is a lower bound with a warning.

        Raises:
            QueryError: The query cannot be run; the message shows the position.
        """
        if query is None:
            return DocumentCount(self.engine.count())
        lag = self.engine.index_lag()
        if lag and lag.is_pending and not lag.is_elsewhere:
            self.engine.refresh()
            lag = self.engine.index_lag()
        plan = self._bound(query)
        # Count outdated hits before the search. If the index is updated in between, the result is too small, but never
        # too large.
        outdated = self.engine.count_outdated(plan) if lag else 0
        total = self.engine.search(plan, start=0, rows=0).total
        return DocumentCount(max(0, total - outdated), (f"{lag}; this answer leaves them out",) if lag else ())

    def close(self) -> None:
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def query_for_ids_after(document_id: str) -> str:
    """Return the query for all documents whose ids sort after a given id. The store may lack a document with this id.

    >>> query_for_ids_after("lease")
    'id:<lease TO *]'
    """
    return unparse(ast.Range(ast.Bound(document_id, is_inclusive=False), None, "id"))


def open_store(
    store: str | Path | None = None,
    settings: Settings | None = None,
    *,
    create: bool = True,
    passages: bool | int = False,
    without_minhash: bool = False,
    short_minhash: bool = False,
    no_text: bool = False,
) -> Store:
    """Open a store by name.

    Args:
        store: The path of a folder, which is created if it does not exist. Or the http(s) URL of a Solr core or
            collection. Or the URL of an OpenSearch or Elasticsearch index, with the prefix `opensearch+` or
            `elasticsearch+`. If a URL without a prefix has only a name after the host, whorl asks the server whether it
            is OpenSearch or Elasticsearch. None means the configured store: WHORL_STORE, whorl.toml, or a folder in the
            user's data directory.
        settings: Field names, time limits and credentials; None reads them from the environment.
        create: Create a missing folder, instead of raising an error.
        passages: Let the store find shared passages from now on. A number from 8 to 20 is the length, in words, of the
            shortest passage that the store finds for certain. True means the length that the store was created with, or
            20 in a new store. All documents of a folder without passages are indexed again. A missing OpenSearch index
            is created with passages. An existing index or collection must already have the field for passages.
        without_minhash: Remove the MINHASH tokens from a folder, and store no new tokens. This saves a fifth of the
            space if you never use FINGERPRINT.
        short_minhash: Cut the MINHASH tokens of a folder to their upper bits, permanently. A FINGERPRINT then has the
            same hits, but must also read their texts. This saves a quarter of the space if documents are paragraphs.
        no_text: Keep only the hashes of passages in a new folder, and no texts. Then `sources` works, but no operation
            that reads or compares texts.

    Raises:
        ParameterError: The URL does not name a core, collection or index; or `without_minhash`, `short_minhash` or
            `no_text` is given for a server; or `short_minhash` together with one of the others; or an option has the
            wrong type.
        SchemaError: The collection or index has no field for passages.
        SchemeMismatchError: The store was created for passages of another length.
        StoreError: The folder is not usable, or does not exist.
    """
    if not isinstance(settings, Settings | None):
        raise ParameterError(f"settings must be Settings, got {shorten_repr(settings)}")
    settings = settings or Settings.load()
    # The option `no_text` includes the other reductions, so it comes first.
    reductions: dict[Reduction, bool] = {
        "no_text": no_text,
        "without_minhash": without_minhash,
        "short_minhash": short_minhash,
    }
    for flag, is_given in (("create", create), *reductions.items()):
        require_bool(flag, is_given)
    if not isinstance(store, str | PathLike | None):
        raise ParameterError(f"a store is a URL or a folder, as text or as a Path, got {store!r:.80}")
    name = str(store) if store is not None else settings.store
    if not name or _HOST_AND_PORT.match(name):
        raise ParameterError(
            f"a store is a Solr URL (http://localhost:8983/solr/NAME), that of an index "
            f"(opensearch+http://localhost:9200/NAME) or a folder, got {name!r}"
        )
    reduction = _choose_reduction(name, [option for option, is_wanted in reductions.items() if is_wanted])
    scheme = None if isinstance(passages, bool) else PassageScheme.for_runs(passages)
    if _is_cluster_url(name, settings):
        name = f"opensearch+{name}"
    engine: Engine
    if name.startswith(("opensearch+", "elasticsearch+")):
        client = index_client(name, settings)
        from whorl.engine.opensearch.engine import OpenSearchEngine

        engine = OpenSearchEngine(client, settings.fields)
        if passages:
            engine.require_passages(scheme)
    elif "://" in name:
        from whorl.engine.solr.client import SolrClient
        from whorl.engine.solr.engine import SolrEngine

        engine = SolrEngine(SolrClient(name, settings.solr_access), settings.fields)
        if passages:
            engine.require_passages(scheme)
    else:
        from whorl.engine.embedded.engine import EmbeddedEngine

        try:
            folder = Path(name).expanduser()
        except RuntimeError as error:
            raise StoreError(f"{name} cannot be used as a store: {error}") from error
        engine = EmbeddedEngine(
            folder,
            create=create,
            passages=scheme or bool(passages) or (create and settings.passages),
            reduction=reduction,
            property_limits=settings.property_limits,
        )
    return Store(engine, settings.names, limits=settings.query_limits, max_rows=settings.max_rows)


def _choose_reduction(name: str, wanted: Sequence[Reduction]) -> Reduction | None:
    """Return the first of the wanted reductions; raise ParameterError if the store cannot have all of them."""
    if wanted and "://" in name:
        commands = (f"'whorl {server} init --without-minhash'" for server in ("solr", "opensearch"))
        init = f"; set up a collection or an index with {' or '.join(commands)}"
        remedy = init if wanted[0] == "without_minhash" else ""
        raise ParameterError(f"{wanted[0]} is for a folder, and {name} is not one{remedy}")
    if "short_minhash" in wanted and len(wanted) > 1:
        other = "without_minhash" if "without_minhash" in wanted else "no_text"
        raise ParameterError(f"short_minhash needs tokens and texts, and {other} removes them; give one of them")
    return wanted[0] if wanted else None


def _is_cluster_url(name: str, settings: Settings) -> bool:
    """Check whether a plain URL belongs to OpenSearch or Elasticsearch; True if no server answers there."""
    if not _MAYBE_INDEX.fullmatch(name):
        return False
    try:
        with closing(index_client(f"opensearch+{name}", replace(settings, engine_retries=0))) as client:
            return "cluster_name" in client.about()
    except EngineUnavailableError:
        return True
    except EngineResponseError as error:
        # A user with rights to the index alone may not ask what the server is.
        return error.status in (401, 403)
    except (EngineError, ParameterError):
        return False


def index_client(url: str, settings: Settings) -> IndexClient:
    """Return a client for an index of OpenSearch or Elasticsearch.

    Raises:
        ParameterError: The URL does not name an index, or the client's package is not installed.
    """
    try:
        from whorl.engine.opensearch.client import IndexClient
    except ImportError as error:
        raise ParameterError(
            f"for {url.partition(':')[0]} install: pip install 'whorl[opensearch]' ({error})"
        ) from error
    return IndexClient(url, settings.opensearch_access)
