"""Expected results of queries over the collection by plain evaluation, computed once for all engines."""

from __future__ import annotations

from functools import cache

from tests.conformance.collection import documents
from tests.oracle import Oracle, bind_unresolved
from tests.plain import plain_signature
from whorl import Document, parse
from whorl.fingerprint.minhash.signature_and_tokens import Signature
from whorl.fingerprint.shingling import Scheme
from whorl.query.plan.nodes import references
from whorl.query.plan.planner import make_plan


@cache
def collected() -> dict[str, Document]:
    """Return the documents by their ids."""
    return {document.id: document for document in documents()}


@cache
def oracle() -> Oracle:
    """Return an evaluator that tests a plan on one document after another."""
    return Oracle(collected().values(), Scheme())


@cache
def expected(query: str) -> list[tuple[str, float]]:
    """Return the ids and scores of a loop over all documents, bound with signatures of the plain implementation."""
    plan = make_plan(parse(query))
    return oracle().hits(
        bind_unresolved(plan, {name: signature(name) for name in references(plan) if name in collected()})
    )


@cache
def signature(document_id: str) -> Signature:
    """Return a document's signature by the plain filter."""
    return plain_signature(collected()[document_id].text)
