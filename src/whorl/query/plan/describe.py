"""Describes plans in words, for `explain`."""

from __future__ import annotations

from whorl.query.ast import as_typed
from whorl.query.plan import nodes
from whorl.query.plan.fields_and_values import format_date


def describe(
    plan: nodes.BoundLeaf | nodes.ResolvedLeaf | nodes.Bool[nodes.BoundLeaf | nodes.ResolvedLeaf],
) -> list[str]:
    if not isinstance(plan, nodes.Bool):
        return [_describe_leaf(plan)]
    groups = (
        ("all of", plan.must),
        ("at least one of" if not plan.must else "adding", plan.should),
        ("none of", plan.must_not),
    )
    lines = []
    for title, members in groups:
        if members:
            lines.append(f"{title}:")
            lines += [f"  {line}" for member in members for line in describe(member)]
    return lines


def _describe_leaf(leaf: nodes.BoundLeaf | nodes.ResolvedLeaf) -> str:
    match leaf:
        case nodes.MatchAll():
            return f"every document{_describe_weight(leaf.weight)}"
        case nodes.SharedTokens(tokens=tokens, min_should_match=minimum):
            return (
                f"FINGERPRINT of {leaf.reference!r}: at least {minimum} of its {len(tokens)} tokens "
                f"({len(set(tokens))} distinct), one point each{_describe_weight(leaf.weight, 1.0)}"
            )
        case nodes.SharedBands(bands=bands):
            return (
                f"FINGERPRINT of {leaf.reference!r}: at least one of {len(bands)} bands of {len(bands[0])} tokens, "
                f"one point a band{_describe_weight(leaf.weight, 1.0)}"
            )
        case nodes.SketchTokens(numbers=numbers, min_should_match=minimum):
            most = "" if leaf.largest_size is None else f" to {leaf.largest_size:,}"
            return (
                f"sketch of {leaf.reference!r}: at least {minimum} of {len(numbers)} tokens, in documents of "
                f"{leaf.smallest_size:,}{most or ' and more'} shingles"
            )
        case nodes.PassageHashes(numbers=numbers):
            return f"passages of {leaf.reference!r}: at least one of {len(numbers)} numbers, one point each"
        case nodes.DocumentsByScore(groups=groups):
            count = sum(len(ids) for _, ids in groups)
            return f"FINGERPRINT of {leaf.reference!r}: the {count:,} documents found and verified, by their percentage"
        case nodes.FingerprintClause():
            return f"FINGERPRINT of {leaf.reference!r}: the documents found and verified, by their percentage"
        case nodes.Nothing(reason=reason):
            return f"nothing: {reason}"
        case _:
            return f"{describe_test(leaf)}{_describe_weight(leaf.weight)}"


def _describe_weight(weight: float, usual: float = 0.0) -> str:
    if weight == usual:
        return ""
    return f", times {weight:g}" if usual else f", {weight:g} points"


def describe_test(test: nodes.Test) -> str:
    where = "the text fields" if test.field is None else f"field {test.field!r}"
    match test:
        case nodes.Words(text=text, slop=slop):
            return f"{text!r}{f' give or take {slop} moves' if slop else ''} in {where}"
        case nodes.InOrder(words=words, slop=slop):
            row = " ".join(map(as_typed, words))
            return f"{row!r}{f' with at most {slop} words among them' if slop else ''} in {where}"
        case nodes.FuzzyWord(word=word, edits=edits):
            return f"words {edits} edit{'s' * (edits > 1)} from {word!r} in {where}"
        case nodes.Equal(kind=kind, value=value):
            return f"the value {_describe_value(value, kind)} in {where}"
        case nodes.WildcardValue(pattern=pattern):
            return f"values like {as_typed(pattern)!r} in {where}"
        case nodes.Between(kind=kind, low=low, high=high):
            ends = (
                f"{'from' if test.includes_low else 'above'} {_describe_value(low, kind)}" if low is not None else "",
                f"{'to' if test.includes_high else 'below'} {_describe_value(high, kind)}" if high is not None else "",
            )
            return f"values {' '.join(filter(None, ends))} in {where}"
        case nodes.Exists():
            return f"any value in {where}"


def _describe_value(value: nodes.Value, kind: nodes.Kind) -> str:
    return format_date(int(value)) if kind is nodes.Kind.DATE else repr(value)
