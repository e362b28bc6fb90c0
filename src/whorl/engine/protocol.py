"""The seam between whorl and whatever holds the documents: the Engine protocol and the values that cross it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from whorl.engine.facets import Counted, Facet
from whorl.fingerprint.minhash.signature import Signature
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme
from whorl.fingerprint.winnow import PassageScheme
from whorl.model import Document, Hit, Order, Page, Stored
from whorl.planning.build import BoundPlan
from whorl.planning.fields import Fields

#: Documents in a portion of a scan: their sketches take some megabytes.
SCANNED_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Candidates:
    """Documents that a plan finds, to be verified.

    Args:
        total: How many there are in all.
        found: Some of them, in the order of `Page`: hits, and their sketches, None for a document that lost its own
            meanwhile.
        warnings: What the user should know beside them.
    """

    total: int
    found: tuple[tuple[Hit, Sketch | None], ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Costs:
    """What a calibrated search costs an engine, in microseconds.

    Args:
        look_up: A token looked up in the whole index.
        candidate: A candidate, from its record to the judgement on its sketch.
    """

    look_up: float
    candidate: float


@dataclass(frozen=True, slots=True)
class Scanned:
    """One portion of all documents of a store.

    Args:
        documents: Ids, names and sketches, None for a document without one.
        mark: What `scan` takes to go on behind them.
    """

    documents: tuple[tuple[str, str, Sketch | None], ...]
    mark: str


@dataclass(frozen=True, slots=True)
class Mark:
    """What a document says of the cluster that it is in.

    Args:
        cluster: The cluster's id: that of its first document.
        is_principal: Whether the document stands for it.
    """

    cluster: str
    is_principal: bool


class Marks(Protocol):
    """What the documents of a store say of their clusters: the fields CLUSTER and IS_PRINCIPAL of `whorl.model`."""

    def prepare(self) -> None:
        """See to it that marks can be written, and that the engine's own queries can collapse every document.

        Raises:
            SchemaError: They cannot; the message says why and what would work.
            StoreError: The store may not be written to.
        """
        ...

    def everything(self) -> Iterator[Mapping[str, Mark]]:
        """Yield all marks there are by the ids of their documents, a portion at a time."""
        ...

    def of(self, ids: Collection[str]) -> Mapping[str, Mark]:
        """Return the marks of documents, by id, of those that have one."""
        ...

    def counts(self, plan: BoundPlan) -> Mapping[str, int]:
        """Return how many documents of each cluster match a plan, of those that have any; exact wherever they lie."""
        ...

    def write(self, changes: Mapping[str, Mark | None]) -> None:
        """Give documents marks, or take them away (None); they are safe when this returns.

        Nothing else of a document changes. Those that are gone, or that somebody changes meanwhile, are left alone.
        """
        ...


class Engine(Protocol):
    """What whorl needs of a search engine.

    Every method raises EngineError, StoreError or StoppedError, and nothing else; but what runs or explains a plan also
    UnsupportedQueryError, where that looks up more than the engine can at once.

    What a user calls a document is a reference, which `resolve` turns into an id; every other method takes ids.
    """

    @property
    def scheme(self) -> Scheme:
        """The scheme of the tokens in this store."""
        ...

    def index(self, documents: Iterable[Document]) -> None:
        """Store documents, replacing those of the same id; they are safe when this returns.

        Raises:
            DocumentError: At least one of them cannot be stored here.
        """
        ...

    def refresh(self) -> None:
        """Make everything stored so far searchable."""
        ...

    def delete(self, ids: Collection[str]) -> int:
        """Delete documents, at once; return how many there were."""
        ...

    def digests(self, ids: Collection[str], *, of_texts: bool = False) -> Mapping[str, str]:
        """Return the digests that documents were stored with, searchable or not yet, for those that have one.

        Args:
            ids: Of the documents.
            of_texts: Whether those of the texts that `texts` returns are wanted, where these may be older.
        """
        ...

    def resolve(self, references: Collection[str]) -> Mapping[str, str]:
        """Return the ids of the documents that references name, by reference, of those that name one.

        A reference is an id, a DBID or a reference to a node, see `whorl.engine.references`.
        """
        ...

    def signatures(self, wanted: Mapping[str, bool]) -> Mapping[str, Signature]:
        """Return the signatures of documents, by id; a text that is too short has no tokens.

        Args:
            wanted: Ids, each with whether the order of its tokens matters to the caller.
        """
        ...

    def texts(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the stored texts of documents, by id, of those that have one; an empty text is none.

        Raises:
            SchemaError: No document of this store has its text in it.
        """
        ...

    @property
    def sketch_scheme(self) -> SketchScheme | None:
        """The scheme of the sketches beside the tokens, None where the documents of this store have none."""
        ...

    @property
    def passage_scheme(self) -> PassageScheme | None:
        """By what passages are found with certainty, None where the store has not been told to keep it."""
        ...

    def passage_counts(self, numbers: Sequence[int]) -> Sequence[int]:
        """Return how many documents have each of some numbers of passages; a few that were deleted may be counted."""
        ...

    @property
    def costs(self) -> Costs | None:
        """By what calibrated searches are planned; None where look-ups are so cheap that precision alone counts."""
        ...

    def largest_size(self) -> int | None:
        """Return the distinct shingles of the largest document, None where that is not known or there is none.

        It may be some seconds old.
        """
        ...

    def sketches(self, ids: Collection[str]) -> Mapping[str, Sketch]:
        """Return the sketches of documents, by id, of those that have one."""
        ...

    def sizes(self, ids: Collection[str]) -> Mapping[str, int]:
        """Return how many distinct shingles documents have, by id, of those that have a sketch."""
        ...

    def signed(self, wanted: Mapping[str, bool]) -> Mapping[str, tuple[str, Signature | None]]:
        """Return what `resolve` and `signatures` do, at once: ids, and signatures or None, by reference.

        Args:
            wanted: References, each with whether the order of its tokens matters to the caller.
        """
        ...

    def sketched(self, references: Collection[str]) -> Mapping[str, tuple[str, Sketch | None]]:
        """Return what `resolve` and `sketches` do, at once: ids, and sketches or None, by reference."""
        ...

    def scan(self, mark: str = "") -> Iterator[Scanned]:
        """Yield all documents with their sketches, in the order of their ids, a portion at a time.

        Args:
            mark: Of the last portion that was taken, to go on behind it; "" to begin.
        """
        ...

    def candidates(self, plan: BoundPlan, *, start: int, rows: int, in_order: bool = True) -> Candidates:
        """Run a bound plan as `search` does, and return its hits with their sketches.

        Args:
            plan: The plan.
            start: Hits before the page.
            rows: Hits on it.
            in_order: Whether equal scores come by their ids, so that pages fit together; to order them takes time.
        """
        ...

    def sign(self, text: str) -> Signature:
        """Return the signature that a text would have in this store, its tokens as the store tells them apart."""
        ...

    def fields(self) -> Fields:
        """Return the fields that documents have here; some seconds old at most, and never older than `refresh`."""
        ...

    def documents(self, ids: Collection[str]) -> Mapping[str, Stored]:
        """Return what is stored of the documents of these ids, by id, of those that there are."""
        ...

    def search(self, plan: BoundPlan, *, start: int, rows: int, order: Sequence[Order] = ()) -> Page:
        """Run a bound plan; without an order, the best score comes first, and equal ones by their ids."""
        ...

    def facets(self, plan: BoundPlan, asked: Sequence[Facet]) -> tuple[Counted, ...]:
        """Return what is counted among the documents that a plan matches, an answer for each question.

        Raises:
            ParameterError: The engine cannot name a field, or the beginning of its values, in such a question.
        """
        ...

    def explain(self, plan: BoundPlan, *, start: int, rows: int) -> Mapping[str, object]:
        """Return the request that `search` would run, as JSON values."""
        ...

    @property
    def marks(self) -> Marks:
        """What its documents say of their clusters."""
        ...

    def count(self) -> int:
        """Return how many documents the store holds."""
        ...

    def close(self) -> None:
        """Release what the engine holds open."""
        ...
