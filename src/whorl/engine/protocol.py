"""Declares the methods that every search engine must have (`Engine`), and the types of their arguments and results."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.errors import DocumentError, StoreError
from whorl.fingerprint.minhash.signature_and_tokens import Signature
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import Overlaps, Sketch, SketchScheme, compare
from whorl.fingerprint.winnowing import PassagePlaces, PassageScheme
from whorl.model import Document, Hit, Order, Page, Stored
from whorl.query.plan.fields_and_values import Fields
from whorl.query.plan.nodes import Bool, BoundNode, BoundPlan, DocumentsByScore, Kind, Value

#: Number of documents per batch of a scan; their sketches take a few megabytes.
SCAN_BATCH_SIZE = 1000
#: Data that a search needs, so that `Engine.gaps` can warn about documents without them: "words" (words and property
#: values), "phrases" (the unaltered words of texts), "tokens" (MinHash tokens) or "sketches".
LookUp: TypeAlias = Literal["words", "phrases", "tokens", "sketches"]
#: Part of each MINHASH token that the index has: the whole token, only its upper bits, or nothing.
MinHashPart: TypeAlias = Literal["whole", "short", "none"]


@dataclass(frozen=True, slots=True)
class MatchCount:
    """Facet that counts the hits that also match the query `node`."""

    node: BoundNode


@dataclass(frozen=True, slots=True)
class ValueFacet:
    """Facet that counts the hits with each distinct value of a field.

    Args:
        kind: Type of the field's values; any type but `Kind.TEXT`.
        field: Name of the field in the engine.
        limit: Maximum number of values, at least 1.
        min_count: Minimum number of documents with a value, at least 1; other values are left out.
        is_by_value: Sort by ascending value, texts by code point. By default, sort by descending count, then by value.
        prefix: Count only values with this prefix; requires `Kind.KEYWORD`.
        subfacets: Facets to count in the documents with each value.
    """

    kind: Kind
    field: str
    limit: int
    min_count: int = 1
    is_by_value: bool = False
    prefix: str = ""
    subfacets: tuple[Facet, ...] = ()


@dataclass(frozen=True, slots=True)
class StatisticsFacet:
    """Facet with the statistics of a numeric field; some engines count equal values of a document only once."""

    kind: Kind
    field: str


Facet: TypeAlias = MatchCount | ValueFacet | StatisticsFacet


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value, the number of documents with it, and the results of the sub-facets in these documents."""

    value: Value
    count: int
    subfacets: tuple[FacetResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of a set of numbers; all are 0 for an empty set. `squares` is the sum of the squares."""

    count: int = 0
    smallest: float = 0.0
    largest: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def read(cls, *numbers: Any) -> Statistics:
        """Build the statistics from a server's numbers, in the order of the attributes; None counts as 0."""
        count, *others = (0 if number is None else number for number in numbers)
        return cls(int(count), *map(float, others))

    def merge(self, other: Statistics) -> Statistics:
        if not (self.count and other.count):
            return self if self.count else other
        return Statistics(
            self.count + other.count,
            min(self.smallest, other.smallest),
            max(self.largest, other.largest),
            self.total + other.total,
            self.squares + other.squares,
        )

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation of a sample; 0 for fewer than two numbers, NaN or infinite if the sums exceed a float.

        Source: Solr's StatsComponent, sqrt((n * sum of squares - sum²) / (n * (n - 1))).
        """
        if self.count < 2:
            return 0.0
        spread = self.count * self.squares - self.total * self.total
        return math.sqrt(max(spread, 0.0) / (self.count * (self.count - 1)))


#: Result of a facet: the count of a query, the counts of values, or statistics.
FacetResult: TypeAlias = int | tuple[ValueCount, ...] | Statistics


class Candidates(ABC):
    """A page of documents that match a plan and may share text with a source; methods take positions on this page."""

    total: int
    warnings: tuple[str, ...]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def compare(self, source: Sketch, left_out: Collection[str]) -> tuple[list[int], Overlaps]:
        """Compare a source with all candidates that have a sketch, except `left_out`; return positions and overlaps."""

    @abstractmethod
    def ids(self, positions: Sequence[int]) -> list[str]:
        """Return the ids of candidates, or "" for a document that was just deleted."""

    @abstractmethod
    def fetch_hits(self, positions: Sequence[int]) -> dict[int, Hit]:
        """Return the candidates at these positions, keyed by position, without documents that were just deleted."""


@dataclass(frozen=True, slots=True)
class CandidatePage(Candidates):
    """Candidates that are already in memory, in the order of `Page`.

    Args:
        hits: Each candidate with its sketch, or with None if the sketch was just removed.
        versions: Versions of the candidates, keyed by id; empty if the engine has not read them.
        sizes: Number of distinct shingles of each candidate (0 without a sketch), or () if `hits` has sketches. Sizes
            are enough if each score is the number of hashes that the candidate shares with the source
            (`SketchTokens.scores_shared`).
    """

    total: int
    hits: tuple[tuple[Hit, Sketch | None], ...]
    warnings: tuple[str, ...] = ()
    versions: Mapping[str, int] = field(default_factory=dict)
    sizes: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.hits)

    def compare(self, source: Sketch, left_out: Collection[str]) -> tuple[list[int], Overlaps]:
        positions = [
            position
            for position, (hit, sketch) in enumerate(self.hits)
            if (self.sizes[position] if self.sizes else sketch) and hit.id not in left_out
        ]
        if not self.sizes:
            sketches = (self.hits[position][1] for position in positions)
            return positions, compare(source, [sketch for sketch in sketches if sketch is not None])
        sizes = np.array([self.sizes[position] for position in positions], np.int64)
        shared = np.array([self.hits[position][0].score for position in positions]).astype(np.int64)
        return positions, Overlaps.of_complete(source.size, sizes, shared)

    def ids(self, positions: Sequence[int]) -> list[str]:
        return [self.hits[position][0].id for position in positions]

    def fetch_hits(self, positions: Sequence[int]) -> dict[int, Hit]:
        return {position: self.hits[position][0] for position in positions}


class CachedSketch(NamedTuple):
    """Sketch of a document, kept from the last search with this document as the source."""

    document_id: str
    version: int
    sketch: Sketch


class Costs(NamedTuple):
    """Costs in microseconds: to look up a token in the whole index, and to read and compare a candidate."""

    look_up: float
    candidate: float


class ScanBatch(NamedTuple):
    """One batch of a scan: id, name and sketch (or None) of each document; `scan(cursor)` continues after the batch."""

    documents: tuple[tuple[str, str, Sketch | None], ...]
    cursor: str


class ClusterLabel(NamedTuple):
    """Cluster label of a document; `cluster` is the id of the cluster's first document."""

    cluster: str
    is_principal: bool


@dataclass(frozen=True, slots=True, eq=False)
class PassageMatches:
    """Pairs of a document and a passage hash that it contains.

    Args:
        document_indices: Index in `ids` of each pair's document; int64 array of shape (pairs,).
        hash_indices: Index of each pair's passage hash in the request; int64 array of shape (pairs,).
    """

    ids: tuple[str, ...]
    document_indices: npt.NDArray[np.int64]
    hash_indices: npt.NDArray[np.int64]


class ClusterLabels(Protocol):
    """Cluster labels of a store's documents, in the fields CLUSTER and IS_PRINCIPAL of `whorl.model`."""

    def prepare(self) -> None:
        """Prepare the store for labels and for collapsing hits by label; raise SchemaError if it cannot have labels."""

    def read_all(self) -> Iterator[Mapping[str, ClusterLabel]]:
        """Yield all labels in batches, keyed by document id."""

    def labels_of(self, ids: Collection[str]) -> Mapping[str, ClusterLabel]:
        """Return the labels of documents, keyed by id; omit documents without a label."""

    def counts(self, plan: BoundPlan) -> Mapping[str, int]:
        """Return the number of matching documents in each cluster; omit clusters without a match."""

    def write(self, changes: Mapping[str, ClusterLabel | None]) -> None:
        """Set the labels of documents durably, and change nothing else; None removes a label.

        If another client changes a document at the same time, its label stays unchanged.
        """


@dataclass(frozen=True, slots=True)
class IndexLag:
    """Changes of documents that searches miss, because they are stored, but not in the index yet.

    Args:
        changes: Number of stored or deleted documents; a document that was stored twice counts twice.
        is_pending: Whether a writer is at work and will add the changes. If not, an attempt to write the index failed.
        is_elsewhere: Whether that writer belongs to another process or engine, so that `refresh` would wait for it.
    """

    changes: int
    is_pending: bool
    is_elsewhere: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        changes = f"{self.changes:,} stored or deleted {'document is' if self.changes == 1 else 'documents are'}"
        if self.is_pending:
            return f"{changes} not in the index yet, because a writer is at work"
        problem = f"{changes} missing from the index, which could not be written"
        return f"{problem}: free some room on the disk, and it is brought up to date by itself"


class Engine(Protocol):
    """Search engine of a store.

    All methods may raise EngineError, StoreError and StoppedError. Methods that run or explain a plan also raise
    UnsupportedQueryError if the plan needs too many look-ups. Users identify documents by references. `resolve`
    turns references into ids, and most other methods take ids.
    """

    @property
    def scheme(self) -> Scheme:
        """Scheme of the MinHash tokens in this store: word-break profile, shingle size, and MinHash parameters."""

    @property
    def minhash(self) -> MinHashPart:
        """Part of the MINHASH tokens that FINGERPRINT queries can look up."""
        return "whole"

    @property
    def runs_in_process(self) -> bool:
        """Whether searches run in this process, not on a server."""
        return False

    @property
    def is_read_only(self) -> bool:
        """Whether the store is a folder that this process may not write to; False for a server."""
        return False

    def index(self, documents: Iterable[Document], *, replace: bool = True) -> None:
        """Store or replace documents durably; raise DocumentError if the store cannot hold one of them.

        If `replace` is False, also raise DocumentError if the store already has a document with the same id and a
        different text. No other client can store such a document between this check and the write.
        """

    def refresh(self) -> None:
        """Make all documents stored so far searchable."""

    def delete(self, ids: Collection[str], *, matching: BoundPlan | None = None) -> int:
        """Delete documents immediately; return the number of deleted documents.

        With `matching`, delete only documents that this plan matches. A document stays if another client changes it
        between this check and the deletion.
        """

    def digests(self, ids: Collection[str], *, of_texts: bool = False) -> Mapping[str, str]:
        """Return the digests of stored documents, keyed by id. A server returns only the first letters of a digest.

        By default, digests are those of the latest versions. If `of_texts`, they belong to the versions that `texts`
        returns, which may be outdated.
        """

    def resolve(self, references: Collection[str]) -> Mapping[str, str]:
        """Map references (`reference_meanings`) to the ids of their documents; omit unknown references."""

    @property
    def keeps_texts(self) -> bool:
        """Whether the texts of the documents can be read."""
        return True

    def signatures(self, needs_order: Mapping[str, bool]) -> Mapping[str, Signature]:
        """Return the MinHash signatures of documents, keyed by id; empty for a text shorter than a shingle.

        `needs_order` maps each id to True if the order of the document's tokens matters.
        """

    def texts(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the non-empty stored texts, keyed by id; raise SchemaError if this store keeps no texts."""

    @property
    def sketch_scheme(self) -> SketchScheme | None:
        """Scheme of the sketches; None if the documents of this store have no sketches."""

    @property
    def passage_scheme(self) -> PassageScheme | None:
        """Scheme of the passage hashes (winnowing); None if some documents have no passage hashes."""

    def passage_counts(self, numbers: Sequence[int]) -> Sequence[int]:
        """For each passage hash, count the documents that have it, perhaps including a few deleted documents."""

    def find_documents_with_passages(
        self, counts: Mapping[int, int], *, most: int, among: Collection[str] = (), left_out: BoundNode | None = None
    ) -> PassageMatches:
        """Return the documents with any of the passage hashes.

        Args:
            counts: Passage hashes, each with the number of documents that have it (from `passage_counts`).
            most: Look up a hash in all documents only if at most this many documents have it. Look up more frequent
                hashes only in the documents that rarer hashes have found, and in `among`.
            among: Ids of other documents in which to look up the frequent hashes.
            left_out: Query for documents to leave out.
        """

    def passage_places(self, ids: Collection[str]) -> Mapping[str, PassagePlaces]:
        """Return the passage hashes of documents with their places, keyed by id; omit documents without places.

        Only stores without texts have places.
        """
        return {}

    def find_documents_with_phrases(self, phrases: Collection[tuple[str, ...]]) -> Collection[str] | None:
        """Return the ids of documents with any of the phrases; None if phrases are not indexed.

        A phrase is a tuple of normalized words with folded apostrophes, which match apostrophes of all kinds.
        """
        return None

    def find_known_phrases(self, phrases: Collection[tuple[str, ...]]) -> Collection[tuple[str, ...]] | None:
        """Return the phrases that occur, or once occurred, in any document; None if the engine cannot look them up."""
        return None

    @property
    def costs(self) -> Costs | None:
        """Costs for planning calibrated searches; None if look-ups are too cheap to need planning."""
        return None

    def largest_size(self) -> int | None:
        """Return the number of distinct shingles of the largest document, cached for a few seconds; None if unknown."""

    def sketches(self, ids: Collection[str]) -> Mapping[str, Sketch]:
        """Return the sketches of documents, keyed by id; omit documents without a sketch."""

    def sizes(self, ids: Collection[str]) -> Mapping[str, int]:
        """Return the number of distinct shingles of each document, keyed by id; omit documents without a sketch."""

    def resolve_signatures(self, needs_order: Mapping[str, bool]) -> Mapping[str, tuple[str, Signature | None]]:
        """Map each reference to its document's id and signature; see `resolve` and `signatures`."""

    def resolve_sketches(self, references: Collection[str]) -> Mapping[str, tuple[str, Sketch | None]]:
        """Map each reference to its document's id and sketch; the sketch may be None."""

    def find_cached_sketch(self, reference: str) -> CachedSketch | None:
        """Return the cached sketch of a source, or None. After the search, check with `is_current` that it is valid."""
        return None

    def is_current(self, cached_sketch: CachedSketch, candidates: Candidates) -> bool:
        """Check whether the document still had the cached sketch when the candidates were read."""
        return False

    def scan(self, cursor: str = "") -> Iterator[ScanBatch]:
        """Yield all documents with their sketches in batches, ordered by id; start after the batch with this cursor."""

    def has_lazy_candidates(self, plan: BoundPlan) -> bool:
        """Check whether `candidates` reads no sketches for this plan, so that even a long page is fast."""
        return False

    def candidates(self, plan: BoundPlan, *, start: int, rows: int, in_order: bool = True) -> Candidates:
        """Run a plan, and return one page of the hits. If `in_order`, sort equal scores by id, which takes time."""

    def sign(self, text: str) -> Signature:
        """Return the signature that a text would have in this store."""

    def fields(self, *, latest: bool = False) -> Fields:
        """Return the fields of the searchable documents. A cached result may be 30 seconds old, or 1 if `latest`."""

    def documents(self, ids: Collection[str]) -> Mapping[str, Stored]:
        """Return the stored names and properties of documents, keyed by id; omit missing documents."""

    def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the stored names of documents, keyed by id ("" for no name); omit missing documents."""

    def search(self, plan: BoundPlan, *, start: int, rows: int, order: Sequence[Order] = ()) -> Page:
        """Run a bound plan; by default, sort hits by descending score, then by id."""

    def facets(self, plan: BoundPlan, facets: Sequence[Facet]) -> tuple[FacetResult, ...]:
        """Return the facets of a plan's hits; raise ParameterError for an unsupported name or prefix."""

    def explain(self, plan: BoundPlan, *, start: int, rows: int) -> Mapping[str, object]:
        """Return the request that `search` would run, as JSON values."""

    @property
    def labels(self) -> ClusterLabels: ...

    def count(self) -> int: ...

    def file_base(self, choose: Callable[[], Path] | None = None) -> Path | None:
        """Return the base folder, or None. Ids of indexed files are paths relative to this folder.

        If the store has no base folder and can save one, save and return the folder that `choose` returns.
        """

    def size(self) -> int | None:
        """Return the size of the store in bytes, or None if its server does not report it."""

    def index_lag(self) -> IndexLag | None:
        """Return the stored changes that are missing from the index; None if it has all changes, as on a server."""
        return None

    def count_outdated(self, plan: BoundPlan) -> int:
        """Return the number of a plan's hits that were replaced or deleted after the index was written."""
        return 0

    def gaps(self, by: LookUp) -> tuple[str, ...]:
        """Return warnings about documents that a search misses, each with a remedy.

        `by` is the kind of data that the search needs. In a store without sketches, "sketches" gives the same warnings
        as "tokens". The counts in the warnings may come from a cache.
        """
        return ()

    def verify(self) -> bool:
        """Compare all files with their checksums; raise StoreError for a difference. Return False for a server."""
        return False

    def close(self) -> None: ...


def gap_warnings(engine: Engine, by: LookUp) -> tuple[str, ...]:
    """Return warnings about documents that a search misses, because the index lacks them, their tokens or sketches.

    Call this function before the search, because it also makes the engine try to update its index.
    """
    lag = engine.index_lag()
    return (*([f"{lag}; this answer leaves them out"] if lag else []), *engine.gaps(by))


def require_current_index(engine: Engine, operation: str) -> None:
    """Make all stored documents searchable; raise StoreError if the operation would give wrong results without them."""
    lag = engine.index_lag()
    if lag and lag.is_pending:
        engine.refresh()
    elif lag:
        raise StoreError(f"{lag}; {operation} would be wrong without them")


def plan_among(plan: BoundPlan, ids: Collection[str]) -> BoundPlan:
    return BoundPlan(Bool(must=(plan.root, DocumentsByScore("ids", ((0.0, tuple(ids)),)))))


def read_changed_texts(engine: Engine, documents: Iterable[Document]) -> dict[str, str]:
    """Return the stored texts, keyed by id, of documents that differ from `documents` in any field.

    In a store without texts, the values are "".
    """
    digests = engine.digests({document.id for document in documents})
    changed = {document.id for document in documents if not document.has_digest(digests.get(document.id))}
    stored = dict.fromkeys(engine.names(changed), "")
    return stored | dict(engine.texts(stored)) if stored and engine.keeps_texts else stored


def replacement_error(document_id: str) -> DocumentError:
    """Return the error for a new document if a stored document has the same id but a different text."""
    return DocumentError(f"{document_id}: there is already a document of this name, with a different text")


def concurrent_change_error(names: str) -> DocumentError:
    """Return the error for documents that another client is storing, perhaps with different texts."""
    return DocumentError(f"{names:.200}: another client has just stored a document of this name; try again")


#: Meaning of a reference: "key" is an id, "dbid" is the property DBID, and "noderef" is the property LID.
Role: TypeAlias = Literal["key", "dbid", "noderef"]

#: Prefix of Alfresco's references to nodes of its main store.
NODEREF_PREFIX = "workspace://SpacesStore/"

_NUMBER = re.compile(r"[0-9]+")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def reference_meanings(reference: str) -> tuple[tuple[Role, str], ...]:
    """Return the possible meanings of a reference, the preferred one first: callers try them in this order.

    As in Alfresco, a number is first read as a DBID and then as an id, because users paste both. Source:
    Solr4QueryParser.createFingerPrintQuery.

    >>> reference_meanings("1234")
    (('dbid', '1234'), ('key', '1234'))
    >>> reference_meanings("report.txt")
    (('key', 'report.txt'),)
    """
    if _NUMBER.fullmatch(reference):
        return ("dbid", reference), ("key", reference)
    if _UUID.fullmatch(reference):
        noderef = NODEREF_PREFIX + reference
        return ("noderef", noderef), ("key", reference), ("key", noderef)
    uuid = reference.removeprefix(NODEREF_PREFIX)
    if uuid != reference and _UUID.fullmatch(uuid):
        return ("noderef", reference), ("key", reference), ("key", uuid)
    return (("key", reference),)
