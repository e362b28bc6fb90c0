"""From a syntax tree to what an engine has to do, in numbers: `make_plan`, `resolve.resolve`, then `bind`.

A plan is made from the query alone. What a clause means depends on the type of its field, which `resolve` puts in
once the engine has said what fields it has; a source document may have few tokens or none, so the numbers that depend
on them are put in by `bind`, once the engine has fetched the sources' signatures. All three steps are pure.

Scores are counts: a FINGERPRINT adds the tokens (or bands) that match, any other clause adds 1, times its boosts.
Beside a FINGERPRINT the other clauses choose and do not count, unless they are boosted, so that the score stays the
number of shared tokens. All engines give the same scores because nothing in them depends on a collection's
statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from whorl.errors import ParameterError, Span
from whorl.fingerprint.minhash.banding import band_rows, min_should_match, wrapped_bands
from whorl.fingerprint.minhash.signature import Signature
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.planning.clauses import Between, Equal, InOrder, Like, Near, Present, Test, Words, told
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
        numbers: The tokens as `whorl.fingerprint.sketch.sketch.lookup_numbers` gives them, each once.
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
class Chosen:
    """Documents that a calibrated search has found already, by score: pairs of a score and the ids that have it."""

    reference: str
    groups: tuple[tuple[float, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Bool:
    """All of `must`, none of `must_not`, at least `min_should_match` of `should`; scores the sum of what matches."""

    must: tuple[PlanNode, ...] = ()
    should: tuple[PlanNode, ...] = ()
    must_not: tuple[PlanNode, ...] = ()
    min_should_match: int = 0


PlanNode: TypeAlias = (
    MatchAll
    | Nothing
    | FieldClause
    | Test
    | FingerprintClause
    | SharedTokens
    | SharedBands
    | SketchTokens
    | Chosen
    | Bool
)


@dataclass(frozen=True, slots=True)
class BoundPlan:
    """A plan that an engine can run, and what the user should be told beside the hits."""

    root: PlanNode
    warnings: tuple[str, ...] = ()


def make_plan(node: ast.Node) -> PlanNode:
    """Return the plan of a syntax tree; its FINGERPRINTs are still unbound."""
    counts_words = not any(isinstance(part, ast.Fingerprint) for part in ast.walk(node))
    return _plan(node, boost=None, counts_words=counts_words)


def _plan(node: ast.Node, boost: float | None, *, counts_words: bool) -> PlanNode:
    def below(child: ast.Node) -> PlanNode:
        return _plan(child, boost, counts_words=counts_words)

    word_weight = boost if boost is not None else float(counts_words)
    match node:
        case ast.Term() | ast.Phrase() | ast.Wildcard() | ast.Fuzzy() | ast.Range() | ast.Proximity():
            return FieldClause(node, word_weight)
        case ast.Everything():
            return MatchAll(word_weight)
        case ast.Fingerprint():
            return FingerprintClause(
                node.reference,
                None if node.overlap is None else Fraction(node.overlap),
                None if node.probability is None else Fraction(node.probability),
                1.0 if boost is None else boost,
                node.span,
            )
        case ast.Boost(child=child, factor=factor):
            product = float(factor) * (1.0 if boost is None else boost)
            if not SMALLEST_BOOST <= product <= LARGEST_BOOST:
                raise ParameterError(
                    f"boosts within each other come to {product:g}; they can be {SMALLEST_BOOST:g} to {LARGEST_BOOST:g}"
                )
            return _plan(child, product, counts_words=counts_words)
        case ast.Or(children=members):
            return Bool(should=tuple(below(member) for member in members), min_should_match=1)
        case ast.And(children=members):
            wanted = tuple(below(member) for member in members if not isinstance(member, ast.Not))
            unwanted = tuple(below(member.child) for member in members if isinstance(member, ast.Not))
            return _bool(wanted, (), unwanted)
        case ast.Not(child=child):
            return _bool((), (), (below(child),))
        case ast.Clauses(clauses=clauses):
            by_occur = {
                occur: tuple(below(clause.child) for clause in clauses if clause.occur is occur) for occur in ast.Occur
            }
            return _bool(by_occur[ast.Occur.MUST], by_occur[ast.Occur.SHOULD], by_occur[ast.Occur.MUST_NOT])


def _bool(must: tuple[PlanNode, ...], should: tuple[PlanNode, ...], must_not: tuple[PlanNode, ...]) -> Bool:
    if not must and not should:
        # Only exclusions: they are taken from all documents, not from none.
        must = (MatchAll(),)
    return Bool(must, should, must_not, min_should_match=0 if must else 1)


def either(members: tuple[PlanNode, ...], weight: float) -> PlanNode:
    """Return the plan that scores `weight` once where any of some tests matches; their own weights are 0."""
    return Bool(must=(MatchAll(weight),), should=members, min_should_match=1)


def nodes(plan: PlanNode) -> Iterator[PlanNode]:
    """Yield a plan's node and everything below it, parents first."""
    yield plan
    if isinstance(plan, Bool):
        for child in (*plan.must, *plan.should, *plan.must_not):
            yield from nodes(child)


def kinds(plan: PlanNode) -> str:
    """Say in a few words what kinds of questions a plan asks, and nothing of what they ask for: `clauses+tokens`."""
    return "+".join(sorted({_kind(node) for node in nodes(plan) if not isinstance(node, Bool)}))


def _kind(node: PlanNode) -> str:
    match node:
        case MatchAll():
            return "all"
        case Nothing():
            return "nothing"
        case SharedTokens() | SketchTokens():
            return "tokens"
        case SharedBands():
            return "bands"
        case Chosen():
            return "similar"
        case FingerprintClause():
            return "fingerprint"
        case _:
            return "clauses"


def references(plan: PlanNode) -> dict[str, bool]:
    """Return the documents whose signatures `bind` wants, each with whether their tokens' order matters."""
    wanted: dict[str, bool] = {}
    for node in nodes(plan):
        if isinstance(node, FingerprintClause):
            wanted[node.reference] = wanted.get(node.reference, False) or node.probability is not None
    return wanted


def make_filter(node: ast.Node) -> PlanNode:
    """Return the plan of a syntax tree that only chooses: its words score nothing."""
    return _plan(node, boost=None, counts_words=False)


def replaced(plan: PlanNode, found: Callable[[FingerprintClause], PlanNode]) -> PlanNode:
    """Return a plan with each FINGERPRINT that is not bound replaced by what `found` returns for it."""
    return mapped(plan, lambda node: found(node) if isinstance(node, FingerprintClause) else node)


def mapped(plan: PlanNode, changed: Callable[[PlanNode], PlanNode]) -> PlanNode:
    """Return a plan with each node that has none below it replaced by what `changed` returns for it."""
    if not isinstance(plan, Bool):
        return changed(plan)
    must, should, must_not = (
        tuple(mapped(child, changed) for child in children) for children in (plan.must, plan.should, plan.must_not)
    )
    return replace(plan, must=must, should=should, must_not=must_not)


def bind(plan: PlanNode, signatures: Mapping[str, Signature]) -> BoundPlan:
    """Put the sources' tokens and the numbers that follow from them into a plan.

    Args:
        plan: What `make_plan` returned.
        signatures: By reference; a reference that is absent names no document of the store.

    Source: Solr4QueryParser.createFingerPrintQuery: one part asks for any shared token, two parts set a minimum,
    three parts make bands and set none.
    """
    warnings: list[str] = []
    root = _bind(plan, signatures, warnings)
    return BoundPlan(root, tuple(dict.fromkeys(warnings)))


def _bind(plan: PlanNode, signatures: Mapping[str, Signature], warnings: list[str]) -> PlanNode:
    def below(children: tuple[PlanNode, ...]) -> tuple[PlanNode, ...]:
        return tuple(_bind(child, signatures, warnings) for child in children)

    if isinstance(plan, Bool):
        return replace(plan, must=below(plan.must), should=below(plan.should), must_not=below(plan.must_not))
    if not isinstance(plan, FingerprintClause):
        return plan
    signature = signatures.get(plan.reference)
    if signature is None or not len(signature):
        reason = no_source(plan.reference) if signature is None else no_tokens(plan.reference, signature)
        warnings.append(reason)
        return Nothing(reason)
    if not signature.is_exact:
        unknown = "how often some tokens of {0!r} repeat: scores may be a few off"
        if plan.probability is not None:
            unknown = "the order of some tokens of {0!r}: its bands differ from Solr's own"
        warnings.append(f"the index does not tell {unknown.format(plan.reference)}")
    if plan.overlap is None:
        return SharedTokens(plan.reference, signature.integers, 1, plan.weight)
    if plan.probability is None:
        minimum = min_should_match(len(signature), plan.overlap)
        return SharedTokens(plan.reference, signature.integers, minimum, plan.weight)
    rows = band_rows(len(signature), plan.overlap, plan.probability)
    return SharedBands(plan.reference, wrapped_bands(signature.integers, rows), plan.weight)


def no_source(reference: str) -> str:
    """Say that a reference names no document."""
    return f"no document {reference!r} in this store, so nothing can share content with it"


def no_tokens(reference: str, signature: Signature) -> str:
    """Say that a document has no fingerprint."""
    return (
        f"document {reference!r} has no fingerprint: its text has fewer than {signature.scheme.shingle_size} words, "
        "or it was indexed before this store made fingerprints"
    )


def describe(plan: PlanNode) -> list[str]:
    """Say in words and numbers what a plan does, one line a clause, indented as it nests."""
    match plan:
        case Bool(must=must, should=should, must_not=must_not):
            groups = (
                ("all of", must),
                ("at least one of" if not must else "adding", should),
                ("none of", must_not),
            )
            lines = []
            for title, members in groups:
                if members:
                    lines.append(f"{title}:")
                    lines += [f"  {line}" for member in members for line in describe(member)]
            return lines
        case MatchAll():
            return [f"every document{_weighed(plan.weight)}"]
        case Words() | InOrder() | Near() | Equal() | Like() | Between() | Present():
            return [f"{told(plan)}{_weighed(plan.weight)}"]
        case FieldClause(clause=clause):
            return [f"{clause!r}"]
        case SharedTokens(tokens=tokens, min_should_match=minimum):
            return [
                f"FINGERPRINT of {plan.reference!r}: at least {minimum} of its {len(tokens)} tokens "
                f"({len(set(tokens))} distinct), one point each{_weighed(plan.weight, 1.0)}"
            ]
        case SharedBands(bands=bands):
            return [
                f"FINGERPRINT of {plan.reference!r}: at least one of {len(bands)} bands of {len(bands[0])} tokens, "
                f"one point a band{_weighed(plan.weight, 1.0)}"
            ]
        case SketchTokens(numbers=numbers, min_should_match=minimum):
            most = "" if plan.largest_size is None else f" to {plan.largest_size:,}"
            return [
                f"sketch of {plan.reference!r}: at least {minimum} of {len(numbers)} tokens, in documents of "
                f"{plan.smallest_size:,}{most or ' and more'} shingles"
            ]
        case Chosen(groups=groups):
            count = sum(len(ids) for _, ids in groups)
            return [
                f"FINGERPRINT of {plan.reference!r}: the {count:,} documents found and verified, by their percentage"
            ]
        case Nothing(reason=reason):
            return [f"nothing: {reason}"]
        case FingerprintClause():
            return [f"FINGERPRINT of {plan.reference!r}"]


def _weighed(weight: float, usual: float = 0.0) -> str:
    if weight == usual:
        return ""
    return f", times {weight:g}" if usual else f", {weight:g} points"
