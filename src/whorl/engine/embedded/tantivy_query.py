"""Translates a whole query plan into a tantivy query. Scores come from the plan, not from word frequencies (IDF)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from tantivy import Occur, Query

from whorl.engine.embedded.clause_queries import ClauseQueries, IndexReader
from whorl.engine.embedded.prepare_documents import SCHEMA
from whorl.engine.embedded.shared_tokens import Combine, has_only_tokens, regroup
from whorl.query.plan.nodes import (
    Bool,
    BoundLeaf,
    BoundNode,
    BoundPlan,
    DocumentIds,
    MatchAll,
    Nothing,
    PassageNumbers,
    SharedBands,
    SharedTokens,
    SketchTokens,
    Test,
    Words,
    leaves,
)

_Json: TypeAlias = Mapping[str, object]
#: For fewer documents, one term query per document is faster than one set query, which scans all documents.
_FEW_NUMBERS = 256


class TantivyQuery(NamedTuple):
    """A tantivy query for a whole plan, with a description and warnings.

    Args:
        is_ranked: Whether two hits can have different scores.
        description: The query as JSON values, with counts instead of tokens.
        warnings: The plan's warnings, then warnings about words that cannot match.
    """

    query: Query
    is_ranked: bool
    description: _Json
    warnings: tuple[str, ...]


class _TranslatedNode(NamedTuple):
    """A tantivy query for a node of a plan, with its description."""

    query: Query
    description: _Json
    #: Score of every match, or None if matches can have different scores.
    score: float | None


def translate(plan: BoundPlan, profile: str, reader: IndexReader | None) -> TantivyQuery:
    """Translate a bound plan into a query. If the reader is None, the query only describes the plan."""
    tests = [leaf for leaf in leaves(plan.root) if isinstance(leaf, Test)]
    if reader is not None and any(not isinstance(test, Words) or test.slop for test in tests):
        # Building an automaton takes some milliseconds, so check the limits before any look-up.
        _NodeTranslator(profile, None).translate_node(plan.root)
    translator = _NodeTranslator(profile, reader)
    part = translator.translate_node(plan.root)
    warnings = tuple(dict.fromkeys((*plan.warnings, *translator.warnings)))
    return TantivyQuery(part.query, part.score is None, part.description, warnings)


class _NodeTranslator:
    """Translates the nodes of a plan. If the reader is None, it only describes them."""

    def __init__(self, profile: str, reader: IndexReader | None) -> None:
        self.warnings: list[str] = []
        self.profile, self.reader = profile, reader
        self.clauses = ClauseQueries(profile, reader)

    def translate_node(self, plan: BoundNode) -> _TranslatedNode:
        match plan:
            case MatchAll(weight=weight):
                # Match by id, because the special document of each part of the index has no id.
                everything = Query.const_score_query(Query.exists_query("id"), weight)
                return _TranslatedNode(everything, {"everything": {"weight": weight}}, weight)
            case Nothing(reason=reason):
                return _nothing(reason)
            case _ if isinstance(plan, Test):
                query = self.clauses.query(plan)
                if isinstance(query, str):
                    self.warnings.append(query)
                    return _nothing(query)
                described = self.clauses.description(plan)
                # Give the queries of all fields together one constant score, so that a match in two fields counts once.
                return _TranslatedNode(Query.const_score_query(query, plan.weight), described, plan.weight)
            case SharedTokens(tokens=wanted, min_should_match=minimum, weight=weight):
                counts = {"tokens": len(wanted), "distinct": len(set(wanted)), "min_should_match": minimum}
                described = {"source": plan.reference, **counts, "weight": weight}
                return _TranslatedNode(self.match_tokens(plan), {"shared_tokens": described}, _unless_counting(weight))
            case SharedBands(bands=bands, weight=weight):
                counts = {"bands": len(bands), "rows": max(map(len, bands), default=0)}
                described = {"source": plan.reference, **counts, "weight": weight}
                return _TranslatedNode(self.match_tokens(plan), {"shared_bands": described}, _unless_counting(weight))
            case SketchTokens(numbers=numbers, min_should_match=minimum):
                described = {"source": plan.reference, "tokens": len(numbers), "min_should_match": minimum}
                sizes = {"smallest_size": plan.smallest_size, "largest_size": plan.largest_size}
                return _TranslatedNode(self.match_tokens(plan), {"sketch_tokens": {**described, **sizes}}, None)
            case PassageNumbers(numbers=numbers):
                described = {"source": plan.reference, "numbers": len(numbers)}
                return _TranslatedNode(self.match_tokens(plan), {"passage_numbers": described}, None)
            case DocumentIds(groups=groups):
                sets = [(Query.term_set_query(SCHEMA, "id", list(ids)), score) for score, ids in groups]
                chosen = [Query.const_score_query(query, score) for query, score in sets]
                described = {"source": plan.reference, "documents": sum(len(ids) for _, ids in groups)}
                return _TranslatedNode(_bool_query((), chosen, (), 1), {"chosen": described}, None)
            case Bool() if self.reader is not None and has_only_tokens(plan):
                translated = _NodeTranslator(self.profile, None).translate_bool(plan)
                return translated._replace(query=self.match_tokens(plan))
            case Bool():
                return self.translate_bool(plan if self.reader is None else _group_token_parts(plan))
            case _:
                raise TypeError(f"a plan is resolved and bound before it is run; {plan!r} is not")

    def match_tokens(self, plan: BoundNode) -> Query:
        """Find the documents that match a plan of fingerprint tokens; return a query for these documents and scores."""
        if self.reader is None:
            return Query.empty_query()
        matches = self.reader.match_tokens(plan)
        queries = []
        for score in np.unique(matches.scores).tolist():
            numbers = matches.numbers[matches.scores == score].tolist()
            queries += [Query.const_score_query(query, score) for query in _number_queries(numbers)]
        return _bool_query((), queries, (), 1)

    def translate_bool(self, plan: Bool[BoundLeaf]) -> _TranslatedNode:
        must, should, must_not = (
            [self.translate_node(child) for child in children] for children in (plan.must, plan.should, plan.must_not)
        )
        queries = [[part.query for part in parts] for parts in (must, should, must_not)]
        query = _bool_query(queries[0], queries[1], queries[2], plan.min_should_match)
        described: dict[str, object] = {
            occur: [part.description for part in parts]
            for occur, parts in (("must", must), ("should", should), ("must_not", must_not))
            if parts
        }
        needed = plan.min_should_match if must else max(plan.min_should_match, 1)
        if should:
            described["min_should_match"] = needed
        # The score is constant only if optional clauses add nothing.
        optional = should if needed < len(should) else []
        certain = must if optional else must + should
        is_constant = all(part.score is not None for part in certain) and all(part.score == 0 for part in optional)
        return _TranslatedNode(
            query, {"bool": described}, sum(part.score or 0.0 for part in certain) if is_constant else None
        )


def _group_token_parts(plan: Bool[BoundLeaf]) -> Bool[BoundLeaf]:
    """Combine the parts with only fingerprint tokens, because each part becomes a query that lists its documents."""

    def group(parts: tuple[BoundNode, ...], combine: Combine) -> tuple[BoundNode, ...]:
        token_parts = tuple(filter(has_only_tokens, parts))
        if len(token_parts) < 2:
            return parts
        return (*(part for part in parts if not has_only_tokens(part)), combine(token_parts))

    return regroup(plan, group)


def _nothing(reason: str) -> _TranslatedNode:
    return _TranslatedNode(Query.empty_query(), {"nothing": reason}, 0.0)


def _unless_counting(weight: float) -> float | None:
    """Return the common score of all matches: 0 for a weight of 0; otherwise None, because the scores differ."""
    return None if weight else 0.0


def _number_queries(numbers: list[int]) -> list[Query]:
    """Return the fastest queries that match documents by number: one for all documents, or one per document."""
    if len(numbers) > _FEW_NUMBERS:
        return [Query.term_set_query(SCHEMA, "number", numbers)]
    return [Query.term_query(SCHEMA, "number", number, "basic") for number in numbers]


def _bool_query(must: Sequence[Query], should: Sequence[Query], must_not: Sequence[Query], minimum: int) -> Query:
    """Return a query that matches like Lucene's BooleanQuery: if `must` is empty, one of `should` must match."""
    needed = minimum if must else max(minimum, 1)
    if needed > len(should):
        return Query.empty_query()
    occurs = ((Occur.Must, must), (Occur.Should, should), (Occur.MustNot, must_not))
    parts = [(occur, query) for occur, queries in occurs for query in queries]
    return Query.boolean_query(parts, minimum_number_should_match=needed if should else None)
