"""From a syntax tree to a plan of what an engine has to do: the plan's types by stage, and `make_plan`.

A plan is made from the query alone. What a clause means depends on the type of its field, which `resolve.resolve` puts
in once the engine has said what fields it has; a source document may have few tokens or none, so the numbers that
depend on them are put in by `bind.bind`, once the engine has fetched the sources' signatures. All three steps are pure.

Scores are counts: a FINGERPRINT adds the tokens (or bands) that match, any other clause adds 1, times its boosts.
Beside a FINGERPRINT the other clauses choose and do not count, unless they are boosted, so that the score stays the
number of shared tokens. All engines give the same scores because nothing in them depends on a collection's
statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic, TypeAlias, TypeVar

from whorl.errors import ParameterError, Span
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.winnow import PassageScheme
from whorl.planning.clauses import Test
from whorl.query import ast

#: Beyond these, 32-bit scores lose what a boost was meant to say.
SMALLEST_BOOST, LARGEST_BOOST = 1e-6, 1e9


@dataclass(frozen=True, slots=True)
class MatchAll:
    """Every document, each with the score `weight`."""

    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Nothing:
    """No document; `reason` says why in words for the user."""

    reason: str


@dataclass(frozen=True, slots=True)
class FieldClause:
    """A clause that `resolve` has not seen yet: what it means depends on the type of its field."""

    clause: ast.Term | ast.Phrase | ast.Wildcard | ast.Fuzzy | ast.Range | ast.Proximity
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class FingerprintClause:
    """A FINGERPRINT whose source's tokens are not known yet; overlap and probability are fractions in (0, 1]."""

    reference: str
    overlap: Fraction | None = None
    probability: Fraction | None = None
    weight: float = 1.0
    span: Span = field(default=Span(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SharedTokens:
    """At least `min_should_match` of `tokens`, repeats counted; scores the number that match, times `weight`.

    Tokens are integers as `Signature.integers` gives them, which the engine spells as its index does.
    """

    reference: str
    tokens: tuple[int, ...]
    min_should_match: int = 1
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class SharedBands:
    """At least one whole band; scores the number of bands that match, times `weight`."""

    reference: str
    bands: tuple[tuple[int, ...], ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class SketchTokens:
    """At least `min_should_match` of the tokens of a sketch, in documents of some sizes; scores the number that match.

    Args:
        reference: The document that the sketch is of.
        scheme: Of the sketch.
        numbers: The tokens, hashes in the bits of the scheme, each once.
        min_should_match: At least 1.
        smallest_size: Distinct shingles of the smallest document.
        largest_size: Those of the largest, None for no limit.
    """

    reference: str
    scheme: SketchScheme
    numbers: tuple[int, ...]
    min_should_match: int
    smallest_size: int
    largest_size: int | None


@dataclass(frozen=True, slots=True)
class PassageNumbers:
    """At least one of the numbers by which passages of a text are found; scores how many of them a document has.

    Args:
        reference: What the text is called.
        scheme: Of the numbers.
        numbers: As `fingerprint.winnow.winnowed` returns them, each once.
    """

    reference: str
    scheme: PassageScheme
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Documents that a calibrated search has found already, by score: pairs of a score and the ids that have it."""

    reference: str
    groups: tuple[tuple[float, tuple[str, ...]], ...]


#: What each stage leaves to the next: a query is planned, its fields are resolved, its sources are bound.
PlannedLeaf: TypeAlias = MatchAll | FieldClause | FingerprintClause
ResolvedLeaf: TypeAlias = MatchAll | Nothing | Test | FingerprintClause
BoundLeaf: TypeAlias = MatchAll | Nothing | Test | SharedTokens | SharedBands | SketchTokens | PassageNumbers | Chosen

Leaf = TypeVar("Leaf", bound=PlannedLeaf | ResolvedLeaf | BoundLeaf, covariant=True)
Other = TypeVar("Other", bound=PlannedLeaf | ResolvedLeaf | BoundLeaf)


@dataclass(frozen=True, slots=True)
class Bool(Generic[Leaf]):
    """All of `must`, none of `must_not`, at least `min_should_match` of `should`; scores the sum of what matches."""

    must: tuple[Leaf | Bool[Leaf], ...] = ()
    should: tuple[Leaf | Bool[Leaf], ...] = ()
    must_not: tuple[Leaf | Bool[Leaf], ...] = ()
    min_should_match: int = 0


Plan: TypeAlias = PlannedLeaf | Bool[PlannedLeaf]
ResolvedPlan: TypeAlias = ResolvedLeaf | Bool[ResolvedLeaf]
BoundNode: TypeAlias = BoundLeaf | Bool[BoundLeaf]


@dataclass(frozen=True, slots=True)
class BoundPlan:
    """A plan that an engine can run, and what the user should be told beside the hits."""

    root: BoundNode
    warnings: tuple[str, ...] = ()


def make_plan(node: ast.Node, placed: Callable[[FieldClause], Plan] = lambda clause: clause) -> Plan:
    """Return the plan of a syntax tree.

    Args:
        node: What was read.
        placed: What to put in the place of each clause: the same in the fields that it means.
    """
    counts_words = not any(isinstance(part, ast.Fingerprint) for part in ast.walk(node))
    return _Planner(placed, float(counts_words), 1.0).plan(node)


def make_filter(node: ast.Node, placed: Callable[[FieldClause], Plan] = lambda clause: clause) -> Plan:
    """Return the plan of a syntax tree that only chooses: nothing in it scores."""
    return _Planner(placed, 0.0, 0.0).plan(node)


@dataclass(frozen=True, slots=True)
class _Planner:
    """Turns trees into plans.

    Args:
        placed: See `make_plan`.
        word_weight: What a clause without a boost scores.
        scale: What scores are multiplied with: 0 in a filter.
    """

    placed: Callable[[FieldClause], Plan]
    word_weight: float
    scale: float

    def plan(self, node: ast.Node, boost: float | None = None) -> Plan:
        def below(child: ast.Node) -> Plan:
            return self.plan(child, boost)

        word_weight = self.word_weight if boost is None else boost * self.scale
        match node:
            case ast.Template(fields=fields):
                raise ParameterError(f"%({' '.join(fields)}) asks for nothing outside a template")
            case ast.Term() | ast.Phrase() | ast.Wildcard() | ast.Fuzzy() | ast.Range() | ast.Proximity():
                return self.placed(FieldClause(node, word_weight))
            case ast.Everything():
                return MatchAll(word_weight)
            case ast.Fingerprint():
                overlap, probability = (
                    None if each is None else Fraction(each) for each in (node.overlap, node.probability)
                )
                weight = self.scale * (1.0 if boost is None else boost)
                return FingerprintClause(node.reference, overlap, probability, weight, node.span)
            case ast.Boost(child=child, factor=factor):
                product = float(factor) * (1.0 if boost is None else boost)
                if not SMALLEST_BOOST <= product <= LARGEST_BOOST:
                    raise ParameterError(
                        f"boosts within each other come to {product:g}; they can be {SMALLEST_BOOST:g} to "
                        f"{LARGEST_BOOST:g}"
                    )
                return self.plan(child, product)
            case ast.Or(children=members):
                return Bool(should=tuple(below(member) for member in members), min_should_match=1)
            case ast.And(children=members):
                wanted = tuple(below(member) for member in members if not isinstance(member, ast.Not))
                unwanted = tuple(below(member.child) for member in members if isinstance(member, ast.Not))
                return _bool(wanted, (), unwanted)
            case ast.Not(child=child):
                return _bool((), (), (below(child),))
            case ast.Clauses(clauses=clauses):
                must, should, must_not = (
                    tuple(below(clause.child) for clause in clauses if clause.occur is occur)
                    for occur in (ast.Occur.MUST, ast.Occur.SHOULD, ast.Occur.MUST_NOT)
                )
                return _bool(must, should, must_not)


def _bool(must: tuple[Plan, ...], should: tuple[Plan, ...], must_not: tuple[Plan, ...]) -> Bool[PlannedLeaf]:
    if not must and not should:
        # Only exclusions: they are taken from all documents, not from none.
        must = (MatchAll(),)
    return Bool(must, should, must_not, min_should_match=0 if must else 1)


def either(members: tuple[Leaf, ...], weight: float) -> Bool[Leaf | MatchAll]:
    """Return the plan that scores `weight` once where any of some tests matches; their own weights are 0."""
    return Bool(must=(MatchAll(weight),), should=members, min_should_match=1)


def leaves(plan: Leaf | Bool[Leaf]) -> Iterator[Leaf]:
    """Yield the parts of a plan that have none below them, in the order of the query."""
    if isinstance(plan, Bool):
        for child in (*plan.must, *plan.should, *plan.must_not):
            yield from leaves(child)
    else:
        yield plan


def mapped(plan: Leaf | Bool[Leaf], changed: Callable[[Leaf], Other | Bool[Other]]) -> Other | Bool[Other]:
    """Return a plan with each leaf replaced by what `changed` returns for it."""
    if not isinstance(plan, Bool):
        return changed(plan)
    must, should, must_not = (
        tuple(mapped(child, changed) for child in children) for children in (plan.must, plan.should, plan.must_not)
    )
    return Bool(must, should, must_not, plan.min_should_match)


def references(plan: Leaf | Bool[Leaf]) -> dict[str, bool]:
    """Return the documents whose signatures `bind` wants, each with whether their tokens' order matters."""
    wanted: dict[str, bool] = {}
    for leaf in leaves(plan):
        if isinstance(leaf, FingerprintClause):
            wanted[leaf.reference] = wanted.get(leaf.reference, False) or leaf.probability is not None
    return wanted


def kinds(plan: BoundNode) -> str:
    """Say in a few words what kinds of questions a plan asks, and nothing of what they ask for: `clauses+tokens`."""
    return "+".join(sorted({_kind(leaf) for leaf in leaves(plan)}))


def _kind(leaf: BoundLeaf) -> str:
    match leaf:
        case MatchAll():
            return "all"
        case Nothing():
            return "nothing"
        case SharedTokens() | SketchTokens() | PassageNumbers():
            return "tokens"
        case SharedBands():
            return "bands"
        case Chosen():
            return "similar"
        case _:
            return "clauses"
