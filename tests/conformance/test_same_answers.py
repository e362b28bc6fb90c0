"""Conformance tests: every engine gives the ids, scores and order of a plain evaluation.

Scores are whole numbers except with a fractional boost, where 32-bit floats leave the last digits to each engine: then
1 part in 100,000 is allowed.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.answers import collected, expected
from tests.conformance.collection import NODE
from tests.conformance.queries import generated
from tests.plain import plain_tokens
from tests.sampling import sample
from whorl import Document, Page, Store
from whorl.errors import DocumentError
from whorl.operations import QueryPlan

QUERIES = sample(generated(384), 6)
MORE = [pytest.param(query, marks=pytest.mark.slow) for query in QUERIES[60:]]
SIZE = 200


def scores(page: Page) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in page.hits]


def same(actual: list[tuple[str, float]], wanted: list[tuple[str, float]]) -> bool:
    names, counts = [name for name, _ in actual], [score for _, score in actual]
    close = pytest.approx([score for _, score in wanted], rel=1e-5, abs=0)
    return names == [name for name, _ in wanted] and counts == close


@pytest.mark.parametrize("query", [*QUERIES[:60], *MORE])
def test_hits_and_scores_equal_the_plain_evaluation(store: Store, query: str) -> None:
    """
    A random query gives the ids, scores and order of a loop over all documents.
    """
    page = store.search(query, rows=SIZE)
    assert page.total == len(expected(query))
    assert same(scores(page), expected(query))


def test_signatures_equal_the_plain_filter(store: Store, collection: list[Document]) -> None:
    """
    Every engine returns the tokens of Lucene's filter, computed step by step.
    """
    signatures = store.engine.signatures({document.id: True for document in collection})
    wanted = {document.id: plain_tokens(document.text) for document in collection}
    assert {name: signature.tokens for name, signature in signatures.items()} == wanted
    assert all(signature.is_exact for signature in signatures.values())


@pytest.mark.parametrize("size", [1, 7])
def test_pages_contain_each_hit_once(store: Store, size: int) -> None:
    """
    Pages contain each hit once, in the order of one large page, also among equal scores.
    """
    query = "*:* FINGERPRINT:f3-0_10"
    whole = scores(store.search(query, rows=500))
    for start in [*sample(range(0, len(whole), size), 8 // size), len(whole)]:
        assert scores(store.search(query, start=start, rows=size)) == whole[start : start + size]


def test_a_document_is_its_own_best_match(store: Store) -> None:
    """
    The source is the first hit, with all its tokens.
    """
    page = store.search("FINGERPRINT:f4-0_20", with_shared=True)
    assert (page.hits[0].id, page.hits[0].score, page.hits[0].shared_tokens, page.source_tokens) == (
        "f4-0",
        512.0,
        512,
        512,
    )


@pytest.mark.parametrize("reference", ["4242", NODE, f"workspace://SpacesStore/{NODE}", '"a node"'])
def test_dbid_uuid_and_node_reference_name_the_document(store: Store, reference: str) -> None:
    """
    A DBID, a UUID, a node reference and the id name the same document.
    """
    wanted = scores(store.search('FINGERPRINT:"a node"_20'))
    assert ("a node", 512.0) in wanted
    assert scores(store.search(f"FINGERPRINT:{reference}_20")) == wanted


@pytest.mark.parametrize("query", ['big:"1e+20"', 'small:"1e-05"', "DBID:4242"])
def test_numbers_are_indexed_in_python_spelling(store: Store, query: str) -> None:
    """
    Every engine indexes a number in Python's spelling.
    """
    assert [hit.id for hit in store.search(query).hits] == ["a node"]


@pytest.mark.parametrize("boost", ["0.00001", "1000"])
def test_boosts_of_any_size(store: Store, boost: str) -> None:
    """
    A boost is the number of points, however small or large.
    """
    assert store.search(f"id:f0-0^{boost}").hits[0].score == pytest.approx(float(boost))


def test_texts(store: Store, collection: list[Document]) -> None:
    """
    Every engine returns stored texts character by character, and nothing for missing or empty ones.
    """
    wanted = {document.id: document.text for document in collection if document.text}
    assert len(wanted) == len(collection) - 1
    assert store.engine.texts([*wanted, "not-there", "\ud800", ""]) == wanted
    assert store.engine.texts([]) == {}


@pytest.mark.parametrize("reference", ["4242", NODE, f"workspace://SpacesStore/{NODE}", "a node"])
def test_texts_by_reference(store: Store, reference: str) -> None:
    """
    A text is found by every name that a query accepts; the id of a hit is only compared with ids.
    """
    text = collected()["a node"].text
    assert store.text(reference) == text
    assert store.engine.resolve([reference, "not-there"]) == {reference: "a node"}
    assert store.engine.texts([reference]) == ({reference: text} if reference == "a node" else {})


def test_unknown_source(store: Store) -> None:
    """
    An unknown source has no hits, and a warning with its id.
    """
    page = store.search("FINGERPRINT:not-there_20")
    assert page.total == 0
    assert ["not-there" in warning for warning in page.warnings] == [True]


def test_source_too_short(store: Store) -> None:
    """
    A document of four words has no fingerprint, and the warning says so.
    """
    page = store.search("FINGERPRINT:words-4")
    assert page.total == 0
    assert "fewer than 5 words" in page.warnings[0]


def test_unknown_source_in_a_larger_query(store: Store) -> None:
    """
    With an unknown source, the rest of the query still counts.
    """
    page = store.search("FINGERPRINT:not-there OR id:f0-0")
    assert [hit.id for hit in page.hits] == ["f0-0"]
    assert page.warnings


@pytest.mark.parametrize("families", [(6, 13), (6, 13, 5), (6, 13, 5, 12, 4, 11, 3, 10)], ids=len)
def test_many_fingerprints_at_once(store: Store, families: tuple[int, ...]) -> None:
    """
    Any number of fingerprints of 512 tokens stays within every clause limit, or is evaluated separately.
    """
    query = " OR ".join(f"FINGERPRINT:f{family}-0_80" for family in families)
    assert store.search(f"({query}) AND NOT nothing", rows=100).total >= len(families)
    scores = {hit.id: hit.score for hit in store.search(query, rows=100).hits}
    assert [scores[f"f{family}-0"] for family in families] == [512.0] * len(families)


def test_replacing_and_deleting(store: Store, collection: list[Document]) -> None:
    """
    Only the last text of an id is found, and a deleted one is not.
    """
    first, second = "replaced alpha beta gamma delta epsilon", "replaced zeta eta theta iota kappa lambda"
    before = store.count()
    store.index([Document("replaced", first)])
    store.index([Document("replaced", second)])
    assert store.count() == before + 1
    assert store.search('content:"alpha beta"').total == 0
    assert store.search('content:"zeta eta"').total == 1
    again = store.index([Document("replaced", second)])
    assert (again.stored, again.unchanged) == (0, 1)
    assert store.delete(["replaced", "never-there"]) == 1
    assert store.count() == before
    assert store.search("FINGERPRINT:replaced").warnings


def test_the_last_version_in_a_run_is_stored(store: Store) -> None:
    """
    The last version in a run is stored, even if it equals the version before the run.
    """
    first, second = (Document("again", f"{words} again and again to be told") for words in ("one two", "three four"))
    store.index([first])
    indexed = store.index([second, first, first], batch=1)
    assert (indexed.stored, indexed.unchanged, indexed.repeated) == (1, 0, 2)
    assert store.engine.texts(["again"]) == {"again": first.text}
    # A killed run leaves no record of the documents that it has sent.
    store.engine.index([second])
    assert store.index([first]).stored == 1
    assert store.engine.texts(["again"]) == {"again": first.text}
    assert store.delete(["again"]) == 1


def test_texts_that_must_not_be_replaced(store: Store) -> None:
    """
    With replace=False, a document with another text is refused, and the other documents are stored.
    """
    old, new, name = "an old text of five words", "a new text of five words", "renamed.txt"
    store.index([Document("kept", old), Document("same", old)])
    refused: list[str] = []
    indexed = store.index(
        [Document("kept", new), Document("same", old, name), Document("new", new)],
        replace=False,
        on_refused=lambda document, error: refused.append(str(error)),
    )
    assert (indexed.stored, refused) == (2, ["kept: there is already a document of this name, with a different text"])
    assert store.texts(["kept", "same", "new"]) == {"kept": old, "same": old, "new": new}
    assert store.engine.names(["same"]) == {"same": name}
    with pytest.raises(DocumentError, match="with a different text"):
        store.index([Document("kept", new)], replace=False)
    # The first text of an id is kept, whatever the size of the batches.
    twice = [Document("twice", old), Document("once", old), Document("twice", old, name), Document("twice", new)]
    refused.clear()
    indexed = store.index(twice, replace=False, on_refused=lambda document, error: refused.append(document.text))
    assert (indexed.stored, indexed.repeated, refused) == (2, 2, [new])
    assert store.texts(["once", "twice"]) == {"once": old, "twice": old}
    assert store.engine.names(["twice"]) == {"twice": name}
    assert store.delete(["kept", "same", "new", "once", "twice"]) == 5


@pytest.mark.parametrize("is_searchable", [False, True])
def test_documents_that_no_longer_match_are_not_deleted(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_searchable: bool
) -> None:
    """
    A deletion by a query leaves documents that are replaced after they matched, whether or not a search can see the
    replacements already.
    """
    ids, delete = [f"letter-{number}" for number in range(5)], store.engine.delete

    def letters(ids: list[str], stage: str) -> list[Document]:
        return [Document(name, f"a {stage} letter of five words", properties={"stage": stage}) for name in ids]

    def delete_later(ids: list[str], **options: Any) -> int:
        store.engine.index(letters(ids[1:3], "new"))
        if is_searchable:
            store.engine.refresh()
        return delete(ids, **options)

    store.index(letters(ids, "old"))
    monkeypatch.setattr(store.engine, "delete", delete_later)
    assert store.delete_matching("stage:old") == 3
    store.engine.refresh()
    assert sorted(hit.id for hit in store.search("id:letter*").hits) == ids[1:3]
    assert delete(ids) == 2


def test_explain_shows_the_numbers(store: Store) -> None:
    """
    The explained plan has the tokens and the minimum of the search.
    """
    explained = store.explain("FINGERPRINT:f4-0_70")
    assert "at least 359 of its 512 tokens" in explained.plan[0]
    assert explained.request


@pytest.mark.parametrize("name", ["f4-0", "f6-1", "words-5", "scripts"])
@pytest.mark.parametrize("numbers", ["", "_20", "_50_90"])
def test_a_text_as_the_source(store: Store, name: str, numbers: str) -> None:
    """
    A document's text, given with the query, finds the same documents as its id.
    """
    wanted = scores(store.search(f"FINGERPRINT:{name}{numbers}", rows=SIZE))
    text = collected()[name].text
    assert scores(store.search(f"FINGERPRINT:source{numbers}", rows=SIZE, source=text)) == wanted
    assert scores(store.search(f"FINGERPRINT:mine{numbers}", rows=SIZE, source={"mine": text})) == wanted


@pytest.mark.parametrize("plan", ["stock", "calibrated"])
def test_a_short_text_as_the_source(store: Store, plan: QueryPlan) -> None:
    """
    A text without a fingerprint gives one warning, which does not call it a document, with stock and with calibrated
    plans.
    """
    prepared = store.prepare("FINGERPRINT:mine_20", source={"mine": "four words are few"}, plan=plan)
    page = prepared.search()
    assert (page.total, page.warnings) == (0, ("the text 'mine' has no fingerprint: it has fewer than 5 words",))
    assert prepared.explain().warnings == page.warnings
