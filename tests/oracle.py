"""Reference evaluation of bound plans on plain sets of tokens and lists of words, one document at a time.

Every engine has to agree with it, so it uses none of their code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import cast

from tests.plain_clauses import PlainStore
from whorl.fingerprint.fingerprint_texts import sign
from whorl.fingerprint.minhash.signature_and_tokens import Signature, TokenEncoding
from whorl.fingerprint.shingling import Scheme, well_formed
from whorl.fingerprint.words.tokenizer import tokens
from whorl.model import Document
from whorl.query.plan.nodes import (
    Bool,
    BoundNode,
    BoundPlan,
    FieldClause,
    MatchAll,
    Nothing,
    Plan,
    ResolvedPlan,
    SharedBands,
    SharedTokens,
    Words,
)
from whorl.query.plan.planner import bind

DEFAULT_FIELDS = ("name", "content")
ALIASES = {"text": "content", "TEXT": "content"}


def bind_unresolved(plan: Plan, signatures: Mapping[str, Signature]) -> BoundPlan:
    """Bind a plan with unresolved clauses: the oracle evaluates them on plain documents."""
    return bind(cast(ResolvedPlan, plan), signatures)


class Oracle:
    """The expected answers of a store that holds these documents."""

    def __init__(self, documents: Iterable[Document], scheme: Scheme) -> None:
        self.scheme = scheme
        documents = list(documents)
        self.store = PlainStore(documents, datetime.now(UTC))
        self.documents = [_Facts(document, scheme) for document in documents]

    def hits(self, plan: BoundPlan) -> list[tuple[str, float]]:
        """All matching ids with their scores, sorted by descending score, then by id."""
        scores = [(document.id, self.score(plan.root, document)) for document in self.documents]
        scored = [(document_id, score) for document_id, score in scores if score is not None]
        return sorted(scored, key=lambda hit: (-hit[1], hit[0]))

    def score(self, plan: BoundNode, document: _Facts) -> float | None:
        """The score of a document, None if it does not match."""
        match plan:
            case MatchAll():
                return plan.weight
            case Nothing():
                return None
            case FieldClause(clause=clause):
                return plan.weight if self.store.matches(clause, document.document) else None
            case Words():
                return plan.weight if self.has_words(plan, document) else None
            case SharedTokens():
                shared = sum(token in document.tokens for token in plan.tokens)
                return shared * plan.weight if shared >= max(plan.min_should_match, 1) else None
            case SharedBands():
                shared = sum(all(token in document.tokens for token in band) for band in plan.bands)
                return shared * plan.weight if shared else None
            case Bool():
                return self.score_of_bool(plan, document)
            case _:
                raise TypeError(f"the oracle is not asked for {plan}")

    def score_of_bool(self, plan: Bool, document: _Facts) -> float | None:
        must = [self.score(child, document) for child in plan.must]
        should = [self.score(child, document) for child in plan.should]
        matching = [score for score in should if score is not None]
        # Lucene requires one of the optional clauses if nothing else has to match.
        needed = plan.min_should_match if plan.must else max(plan.min_should_match, 1)
        if None in must or len(matching) < needed:
            return None
        if any(self.score(child, document) is not None for child in plan.must_not):
            return None
        return sum(score for score in must + matching if score is not None)

    def has_words(self, plan: Words, document: _Facts) -> bool:
        if plan.field == "id":
            return plan.text == document.id
        wanted = _words(plan.text, self.scheme.profile)
        fields = DEFAULT_FIELDS if plan.field is None else (ALIASES.get(plan.field, plan.field),)
        return any(_contains(words, wanted) for field in fields for words in document.words.get(field, ()))


@cache
def _words(text: str, profile: str) -> list[str]:
    return tokens(well_formed(text), profile)


class _Facts:
    def __init__(self, document: Document, scheme: Scheme) -> None:
        self.id, self.document = document.id, document
        # Lucene's UTF-8 damages some tokens, so their numbers differ; a plan may hold either number.
        self.tokens = {
            token
            for encoding in (None, TokenEncoding.UNITS_4)
            for token in sign(document.text, scheme, encoding).integers
        }
        texts: Mapping[str, Sequence[str]] = {
            "name": [document.name.replace("_", " ").replace(".", " ")],
            "content": [document.text],
            **document.values(),
        }
        self.words = {field: [_words(text, scheme.profile) for text in values] for field, values in texts.items()}


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    starts = range(len(words) - len(wanted) + 1)
    return bool(wanted) and any(list(words[at : at + len(wanted)]) == list(wanted) for at in starts)
