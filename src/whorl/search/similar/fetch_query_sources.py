"""Fetches the signatures, sketches and texts of the sources that a query names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from whorl.engine.protocol import CachedSketch, Engine
from whorl.errors import ParameterError, UnknownDocumentError, list_references, require_text, shorten_repr
from whorl.fingerprint import fingerprint_texts
from whorl.fingerprint.minhash.signature_and_tokens import Signature
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme
from whorl.query.plan.planner import no_fingerprint_message
from whorl.search.document_references import References

#: Name that a query uses for a text given with the query.
SOURCE = "source"


class QuerySource(NamedTuple):
    """The source of a search: a document of the store (`document_id`), or a text given with the query."""

    name: str
    document_id: str | None = None
    text: str | None = None

    def no_fingerprint_message(self, scheme: Scheme) -> str:
        return no_fingerprint_message(self.name, scheme, is_text=self.text is not None)


class QuerySources:
    """Fetches the sources of a query; caches their ids, signatures and sketches.

    Args:
        texts: Texts given with the query, by name, or one text, with the name `SOURCE`. Such a name means the text, not
            a document.
        references: Resolves paths and names of documents; None to allow only references that the engine resolves, such
            as ids.
        caches_sketches: Whether a search may begin with a cached sketch, which may be out of date; the caller must then
            handle ChangedSourceError.
    """

    def __init__(
        self,
        engine: Engine,
        texts: str | Mapping[str, str] | None = None,
        references: References | None = None,
        *,
        caches_sketches: bool = False,
    ) -> None:
        self.caches_sketches = caches_sketches
        self.engine, self.texts = engine, texts if isinstance(texts, Mapping) else {SOURCE: texts} if texts else {}
        for name, text in self.texts.items():
            require_source(name, text)
        self._references = references
        self._ids: dict[str, str | None] = {}
        self._signatures: dict[str, Signature | None] = {}
        self._in_order: set[str] = set()
        self._sketches: dict[str, Sketch | None] = {}

    def fetch_whole_texts(self, references: Iterable[str]) -> Mapping[str, str]:
        """Return the text of each source by reference: a text given with the query, or a stored text.

        Raises:
            UnknownDocumentError: A reference names neither a text nor a document.
            ParameterError: A reference names a document without a text.
        """
        wanted = dict.fromkeys(list_references(references))
        texts = {**self.fetch_stored_texts(wanted.keys() - self.texts.keys()), **self.texts}
        for name in wanted:
            if name not in texts:
                self.source(name)
                raise ParameterError(
                    f"document {shorten_repr(name)} has no stored text: it is empty, or was stored without its text"
                )
        return {name: texts[name] for name in wanted}

    def fetch_stored_texts(self, references: Collection[str]) -> Mapping[str, str]:
        """Return the stored texts by reference; leave out references without a document or text."""
        if not references:
            return {}
        ids = {name: known for name, known in self._resolve_references(references).items() if known is not None}
        # Call the engine even without ids: a store without texts then raises its error.
        texts = self.engine.texts(list(ids.values()))
        return {reference: texts[document_id] for reference, document_id in ids.items() if document_id in texts}

    def source(self, reference: str, *, with_sketch: bool = False) -> QuerySource:
        """Return the given text that a reference names, or else the document; `with_sketch` also fetches its sketch.

        Raises:
            UnknownDocumentError: The reference names neither.
        """
        if reference in self.texts:
            return QuerySource(reference, text=self.texts[reference])
        if with_sketch and reference not in self._ids:
            sketched = self.engine.resolve_sketches([reference])
            if reference in sketched:
                self._ids[reference], self._sketches[reference] = sketched[reference]
            else:
                self._ids[reference] = self._other_ids([reference]).get(reference)
        document_id = self._resolve_references([reference])[reference]
        if document_id is None:
            raise self.unknown_document_error(reference)
        return QuerySource(reference, document_id)

    def find_cached_sketch(self, reference: str) -> CachedSketch | None:
        is_cached = self.caches_sketches and reference not in self.texts
        return self.engine.find_cached_sketch(reference) if is_cached else None

    def unknown_document_error(self, reference: str) -> UnknownDocumentError:
        make_error = self._references.unknown_document_error if self._references else UnknownDocumentError
        return make_error(reference)

    def signatures(self, wanted: Mapping[str, bool]) -> Mapping[str, Signature]:
        """Return the signatures of sources by reference; leave out sources without a signature.

        `wanted` maps each reference to True if the order of the source's tokens matters.
        """
        for name in wanted.keys() & self.texts.keys() - self._signatures.keys():
            self._signatures[name] = self.engine.sign(self.texts[name])
        missing = {
            name: order_matters
            for name, order_matters in wanted.items()
            if name not in self.texts and name not in (self._in_order if order_matters else self._signatures)
        }
        unknown = {name: order_matters for name, order_matters in missing.items() if name not in self._ids}
        signed = self.engine.resolve_signatures(unknown) if unknown else {}
        others = self._other_ids([name for name in unknown if name not in signed])
        for name in unknown:
            self._ids[name], self._signatures[name] = signed.get(name, (others.get(name), None))
        # For the remaining names, fetch the signatures by the ids of the documents. Several names can mean the same
        # document; the order of its tokens matters if it matters for one of these names.
        ids = {name: known for name in missing if name not in signed and (known := self._ids[name]) is not None}
        order_matters = {known: any(missing[name] for name in ids if ids[name] == known) for known in ids.values()}
        fetched = self.engine.signatures(order_matters) if order_matters else {}
        self._signatures |= {name: fetched.get(known) for name, known in ids.items()}
        self._in_order.update(name for name in missing if missing[name])
        return {name: signature for name in wanted if (signature := self._signatures.get(name)) is not None}

    def sketch(self, source: QuerySource, scheme: SketchScheme) -> Sketch | None:
        if source.name not in self._sketches:
            if source.document_id is None:
                sketch: Sketch | None = fingerprint_texts.text_sketch(source.text or "", self.engine.scheme, scheme)
            else:
                sketch = self.engine.sketches([source.document_id]).get(source.document_id)
            self._sketches[source.name] = sketch
        return self._sketches[source.name]

    def signature(self, source: QuerySource) -> Signature:
        signature = self.signatures({source.name: False}).get(source.name)
        if signature is None:
            raise ParameterError(source.no_fingerprint_message(self.engine.scheme))
        return signature

    def _resolve_references(self, references: Collection[str]) -> Mapping[str, str | None]:
        unknown = [name for name in references if name not in self._ids]
        if unknown:
            ids = self.engine.resolve(unknown)
            others = self._other_ids([name for name in unknown if name not in ids])
            self._ids |= {name: ids.get(name, others.get(name)) for name in unknown}
        return {name: self._ids[name] for name in references}

    def _other_ids(self, references: Collection[str]) -> Mapping[str, str]:
        return self._references.other_ids(references) if references and self._references is not None else {}


def require_source(name: str, text: object) -> None:
    require_text(f"the source {name!r}", text, "of a file, write Path(name).read_text()")


def text_of(engine: Engine, source: QuerySource) -> str | None:
    if source.document_id is None:
        return source.text
    return engine.texts([source.document_id]).get(source.document_id)
