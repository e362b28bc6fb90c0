"""Classes of query plans: the nodes of a plan at each stage, and functions that walk or change a plan.

Planning has three pure stages, in `planner`. `make_plan` needs only the query. `resolve` adds the types of fields from
the engine's list of fields. `bind` adds minimum counts and bands, which depend on the signatures of the sources.

Scores are counts. A FINGERPRINT adds the number of matching tokens or bands, and any other clause adds 1. Boosts
multiply these numbers. In a query with a FINGERPRINT, any other clause scores 0 unless it is boosted, so that the score
is the number of shared tokens. Scores do not depend on statistics of a collection, so all engines give the same scores.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from typing import Generic, TypeAlias, TypeVar

from whorl.errors import Span
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.fingerprint.words.tokenizer import apostrophe_spellings
from whorl.query import ast
from whorl.query.ast import Pattern


class Kind(Enum):
    """Type of a field: text split into words, or whole values of one type."""

    TEXT = "words"
    KEYWORD = "text"
    INTEGER = "whole numbers"
    FLOAT = "numbers"
    DATE = "dates"
    BOOLEAN = "true or false"


#: A whole value of a field. A date is a number of milliseconds since 1970.
Value: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Words:
    """Documents with the words of `text` next to each other, in a field or in the default text fields.

    `slop` is the maximum total number of moves by one position; swapping two words takes two. If `any_apostrophe`,
    `text` has folded words with one blank between them, and their apostrophes match apostrophes of all kinds.
    """

    text: str
    field: str | None = None
    weight: float = 1.0
    slop: int = 0
    any_apostrophe: bool = False

    def apostrophe_variants(self) -> list[Words]:
        """Return a clause for each kind of apostrophe, for a search on a server.

        A phrase with several kinds of apostrophes matches none of the clauses. Patterns for each word would match such
        a phrase, but even the query for a short text would then have more clauses than a server allows.
        """
        return [replace(self, text=text, any_apostrophe=False) for text in apostrophe_spellings(self.text)]


@dataclass(frozen=True, slots=True)
class InOrder:
    """Documents with words or patterns in this order, and at most `slop` other words between them."""

    words: tuple[Pattern, ...]
    slop: int = 0
    field: str | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class FuzzyWord:
    """Documents with a word at most `edits` (1 or 2) edits away from `word`; a swap of two letters is one edit."""

    word: str
    edits: int
    field: str | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Equal:
    """Documents with exactly this whole (not tokenized) value in a field."""

    field: str
    kind: Kind
    value: Value
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class WildcardValue:
    """Documents that have, in a field, a whole text value that matches a pattern."""

    field: str
    pattern: Pattern
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Between:
    """Documents with a whole value in a range. An open range has no bound (None). Texts are ordered by code point."""

    field: str
    kind: Kind
    low: Value | None
    high: Value | None
    includes_low: bool = True
    includes_high: bool = True
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Exists:
    """Documents with any value in a field; `kind` is the field's type."""

    field: str
    kind: Kind
    weight: float = 1.0


#: Clauses that search for words of a text.
WordClause: TypeAlias = Words | InOrder | FuzzyWord
#: A clause that adds its weight to the score of each document that it matches: any clause except a FINGERPRINT.
Test: TypeAlias = WordClause | Equal | WildcardValue | Between | Exists


@dataclass(frozen=True, slots=True)
class MatchAll:
    """Every document, with the score `weight`."""

    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Nothing:
    """No documents; `reason` is an explanation for the user."""

    reason: str


@dataclass(frozen=True, slots=True)
class FieldClause:
    """A clause whose field `resolve` has not looked up yet; the field's type decides the meaning."""

    clause: ast.Term | ast.Phrase | ast.Wildcard | ast.Fuzzy | ast.Range | ast.Proximity
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class FingerprintClause:
    """A FINGERPRINT before `bind` adds its source's tokens; overlap and probability are fractions in (0, 1].

    `whole_reference` is the reference with trailing numbers that may belong to the id; None after `with_ids` has
    decided whether they do.
    """

    reference: str
    overlap: Fraction | None = None
    probability: Fraction | None = None
    weight: float = 1.0
    whole_reference: str | None = None
    span: Span = field(default=Span(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SharedTokens:
    """Documents with at least `min_should_match` of `tokens`; scored by the number of matching tokens times `weight`.

    Tokens are integers from `Signature.integers`, and may repeat; the engine encodes them for its index.
    """

    reference: str
    tokens: tuple[int, ...]
    min_should_match: int = 1
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class SharedBands:
    """Documents with all tokens of at least one band, scored by the number of matching bands times `weight`."""

    reference: str
    bands: tuple[tuple[int, ...], ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class SketchTokens:
    """Documents with at least `min_should_match` tokens of a sketch, and a number of distinct shingles in a range.

    The score is the number of matching tokens. `largest_size` is None if there is no limit. `is_whole` is True if
    `numbers` has every hash of the source exactly once.
    """

    reference: str
    scheme: SketchScheme
    numbers: tuple[int, ...]
    min_should_match: int
    smallest_size: int
    largest_size: int | None
    is_whole: bool = False

    @property
    def scores_shared(self) -> bool:
        """Whether the score counts all shared hashes, because all matching documents are indexed with every hash."""
        return self.is_whole and self.largest_size is not None and self.scheme.lookup_level(self.largest_size) == 0


@dataclass(frozen=True, slots=True)
class PassageHashes:
    """Documents with a passage hash of a text (`fingerprint.winnowing`), scored by the number of such hashes."""

    reference: str
    scheme: PassageScheme
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DocumentsByScore:
    """Documents found by a calibrated search, as pairs of a score and the ids with that score."""

    reference: str
    groups: tuple[tuple[float, tuple[str, ...]], ...]


#: Leaves of a plan after planning, after resolving fields, and after binding sources.
PlannedLeaf: TypeAlias = MatchAll | FieldClause | FingerprintClause
ResolvedLeaf: TypeAlias = MatchAll | Nothing | Test | FingerprintClause
BoundLeaf: TypeAlias = (
    MatchAll | Nothing | Test | SharedTokens | SharedBands | SketchTokens | PassageHashes | DocumentsByScore
)

Leaf = TypeVar("Leaf", bound=PlannedLeaf | ResolvedLeaf | BoundLeaf, covariant=True)
Other = TypeVar("Other", bound=PlannedLeaf | ResolvedLeaf | BoundLeaf)


@dataclass(frozen=True, slots=True)
class Bool(Generic[Leaf]):
    """A combination of clauses: all of `must`, none of `must_not`, and at least `min_should_match` of `should`.

    The score is the sum of the scores of the matching clauses.
    """

    must: tuple[Leaf | Bool[Leaf], ...] = ()
    should: tuple[Leaf | Bool[Leaf], ...] = ()
    must_not: tuple[Leaf | Bool[Leaf], ...] = ()
    min_should_match: int = 0


Plan: TypeAlias = PlannedLeaf | Bool[PlannedLeaf]
ResolvedPlan: TypeAlias = ResolvedLeaf | Bool[ResolvedLeaf]
BoundNode: TypeAlias = BoundLeaf | Bool[BoundLeaf]


@dataclass(frozen=True, slots=True)
class BoundPlan:
    root: BoundNode
    warnings: tuple[str, ...] = ()


def match_any(members: tuple[Leaf | Bool[Leaf], ...], weight: float) -> Bool[Leaf | MatchAll]:
    """Return a plan that scores `weight` once if any of the tests matches. The tests must have weight 0."""
    return Bool(must=(MatchAll(weight),), should=members, min_should_match=1)


def leaves(plan: Leaf | Bool[Leaf]) -> Iterator[Leaf]:
    if isinstance(plan, Bool):
        for child in (*plan.must, *plan.should, *plan.must_not):
            yield from leaves(child)
    else:
        yield plan


def map_leaves(plan: Leaf | Bool[Leaf], change: Callable[[Leaf], Other | Bool[Other]]) -> Other | Bool[Other]:
    if not isinstance(plan, Bool):
        return change(plan)
    must, should, must_not = (
        tuple(map_leaves(child, change) for child in children) for children in (plan.must, plan.should, plan.must_not)
    )
    return Bool(must, should, must_not, plan.min_should_match)


def possible_ids(plan: Leaf | Bool[Leaf]) -> set[str]:
    """Return the references whose trailing numbers may be an overlap or a part of the document's id."""
    clauses = (leaf for leaf in leaves(plan) if isinstance(leaf, FingerprintClause))
    return {clause.whole_reference for clause in clauses if clause.whole_reference is not None}


def with_ids(plan: ResolvedPlan, existing: Collection[str]) -> ResolvedPlan:
    """Read trailing numbers as part of an id if `existing` has the id with them, or else as overlap and probability."""

    def read(leaf: ResolvedLeaf) -> ResolvedLeaf:
        if not isinstance(leaf, FingerprintClause) or leaf.whole_reference is None:
            return leaf
        if leaf.whole_reference in existing:
            return FingerprintClause(leaf.whole_reference, weight=leaf.weight, span=leaf.span)
        return replace(leaf, whole_reference=None)

    return map_leaves(plan, read)


def references(plan: Leaf | Bool[Leaf]) -> dict[str, bool]:
    """Return the ids of the documents that FINGERPRINT clauses name.

    An id maps to True if one of its clauses has a probability, because the order of its tokens then matters.
    """
    clauses = [leaf for leaf in leaves(plan) if isinstance(leaf, FingerprintClause)]
    in_order = {clause.reference for clause in clauses if clause.probability is not None}
    return {clause.reference: clause.reference in in_order for clause in clauses}


#: Name of each type of clause in the log; the log calls clauses of other types "clauses".
_LOGGED: Mapping[type, str] = {
    MatchAll: "all",
    Nothing: "nothing",
    **dict.fromkeys((SharedTokens, SketchTokens, PassageHashes), "tokens"),
    SharedBands: "bands",
    DocumentsByScore: "similar",
}


def clause_kinds(plan: BoundNode) -> str:
    """Return the kinds of clauses in a plan, for example `clauses+tokens`, for the log."""
    return "+".join(sorted({_LOGGED.get(type(leaf), "clauses") for leaf in leaves(plan)}))
