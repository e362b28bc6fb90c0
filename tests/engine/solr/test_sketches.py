"""Sketches in a Solr collection: made at indexing, looked up, and added to existing documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.candidate_pages import candidate_page
from tests.engine.solr.indexed import (
    DOCUMENTS,
    SCHEME_NOW,
    STRANGE,
    indexed_tokens,
    stored,
    tokens_of,
    without_sketches,
)
from tests.families import shingles
from tests.sampling import combine
from whorl import Document, Store, open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.protocol import CandidatePage
from whorl.engine.server_engine import MAX_CLAUSES
from whorl.engine.solr import document_fields
from whorl.engine.solr.add_missing_fields import initialise
from whorl.engine.solr.backfill_and_labels import backfill
from whorl.engine.solr.check_collection import check
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.document_fields import read_sketches, sketch_fields
from whorl.engine.solr.engine import SolrEngine
from whorl.engine.solr.field_definitions import DIGEST, SAMPLE, SCHEME, SKETCH
from whorl.engine.solr.inspect_collection import inspect
from whorl.engine.solr.request_body import SolrFields, search_request
from whorl.fingerprint import fingerprint_texts
from whorl.fingerprint.fingerprint_texts import text_sketch
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme, compare, lookup_numbers
from whorl.fingerprint.statistics.metric import Metric
from whorl.query.plan.nodes import Bool, BoundPlan, DocumentsByScore, SketchTokens, Words

TEXT = "one two three four five six seven"


@pytest.mark.parametrize("large", [0, 10**9])
def test_a_batch_is_read_together(
    client: SolrClient, store: Store, sketches: Mapping[str, Sketch], monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    """
    All texts of a batch are fingerprinted in one call, with and without the compiled loops; the fields equal those of
    single texts.
    """
    monkeypatch.setattr(fingerprint_texts, "LARGE", large)
    monkeypatch.setattr(fingerprint_texts._TotalWork, "seen", 0)
    calls: list[int] = []

    def counted(texts: list[str], *arguments: Any, **more: Any) -> Iterator[fingerprint_texts.TextHashes]:
        calls.append(len(texts))
        return fingerprint_texts.hash_texts(texts, *arguments, **more)

    monkeypatch.setattr(document_fields, "hash_texts", counted)
    store.index(DOCUMENTS, again=True, batch=40)
    assert calls == [40, len(DOCUMENTS) - 40]
    for document in stored(client):
        expected = sketch_fields(sketches[document["id"]], Scheme(), document.get("content", ""))
        del expected[SAMPLE]
        assert {name: document.get(name) for name in expected} == expected


def test_indexing_fills_the_fields(client: SolrClient, sketches: Mapping[str, Sketch]) -> None:
    """
    Each document has the size of its text and the tokens of its sketch; only a long one has the sketch itself.
    """
    long = [document["id"] for document in stored(client) if SKETCH in document]
    smallest = fingerprint_texts.least_stored_size(Scheme())
    assert long == [document["id"] for document in stored(client) if sketches[document["id"]].size >= smallest]
    assert "big" in long
    for document in stored(client):
        expected = sketch_fields(sketches[document["id"]], Scheme(), document.get("content", ""))
        tokens = expected.pop(SAMPLE)
        assert {name: document.get(name) for name in expected} == expected
        if document["id"] in ("big", "d40", "a,b", "ünï"):
            assert indexed_tokens(client, document["id"]) == set(tokens) == tokens_of(sketches[document["id"]])


def test_sketches_by_id(store: Store, sketches: Mapping[str, Sketch]) -> None:
    """
    The engine returns the stored sketches.
    """
    assert store.engine.sketch_scheme == SCHEME_NOW
    decoded = store.engine.sketches([*sketches, "nowhere"])
    assert decoded == sketches
    assert store.engine.resolve(["big", "nowhere"]) == {"big": "big"}
    assert store.engine.largest_size() == sketches["big"].size


def matching(plan: SketchTokens, sketches: Mapping[str, Sketch]) -> list[tuple[str, float]]:
    """Evaluate a plan by counting."""
    wanted, hits = set(plan.numbers), []
    for name, sketch in sketches.items():
        shared = len(wanted.intersection(lookup_numbers(sketch).tolist()))
        is_sized = plan.smallest_size <= sketch.size and (plan.largest_size is None or sketch.size <= plan.largest_size)
        if is_sized and shared >= plan.min_should_match:
            hits.append((name, float(shared)))
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))


@pytest.mark.parametrize(
    ("numbers", "sizes"),
    combine(
        [(1, 1), (2, 1), (2, 2), (64, 1), (64, 5), (64, 64), (64, 65), (1022, 3), (1023, 3), (1025, 3), (None, 1),
         (None, 7), (None, 300)],
        [(0, None), (1, 0), (300, 4000), (401, 401)],
    ),
    ids=str,
)  # fmt: skip
def test_candidates(
    store: Store, sketches: Mapping[str, Sketch], numbers: tuple[int | None, int], sizes: tuple[int, int | None]
) -> None:
    """
    Solr returns the hits, scores and order of a plain count, for any number of tokens.
    """
    limit, minimum = numbers
    looked_up = tuple(lookup_numbers(sketches["big"])[:limit].tolist())
    plan = SketchTokens("big", SCHEME_NOW, looked_up, minimum, *sizes)
    candidates = candidate_page(store.engine, BoundPlan(plan), start=0, rows=1000)
    assert [(hit.id, hit.score) for hit, _ in candidates.hits] == matching(plan, sketches)
    assert candidates.total == len(candidates.hits)
    assert all(sketch == sketches[hit.id] for hit, sketch in candidates.hits)
    assert not candidates.warnings


def test_candidates_under_a_filter(store: Store, sketches: Mapping[str, Sketch]) -> None:
    """
    Alternatives under a filter, as in a calibrated search, return the expected hits; pages follow one order.
    """
    numbers = tuple(lookup_numbers(sketches["big"])[:600].tolist())
    branches = [
        SketchTokens("big", SCHEME_NOW, numbers, 2, 0, 500),
        SketchTokens("big", SCHEME_NOW, numbers, 9, 501, None),
    ]
    plan = BoundPlan(Bool(must=(Bool(should=tuple(branches), min_should_match=1), Words("a", "kind", 0.0))))
    expected = [hit for branch in branches for hit in matching(branch, sketches) if hit[0] != "big"]
    expected.sort(key=lambda hit: (-hit[1], hit[0]))
    pages = [candidate_page(store.engine, plan, start=start, rows=5).hits for start in range(0, len(expected), 5)]
    assert [(hit.id, hit.score) for page in pages for hit, _ in page] == expected


def test_candidates_in_any_order(store: Store, sketches: Mapping[str, Sketch]) -> None:
    """
    Unordered candidates have the same hits and scores, best first.
    """
    plan = BoundPlan(SketchTokens("big", SCHEME_NOW, tuple(lookup_numbers(sketches["big"])[:64].tolist()), 1, 0, None))
    ordered, others = (
        candidate_page(store.engine, plan, start=0, rows=1000, in_order=order) for order in (True, False)
    )
    scores = [hit.score for hit, _ in others.hits]
    assert scores == sorted(scores, reverse=True)
    assert {hit for hit, _ in others.hits} == {hit for hit, _ in ordered.hits}
    assert others.total == ordered.total == len(ordered.hits) > 1


@pytest.mark.parametrize("largest", [150, None])
def test_candidates_have_the_sketches_of_their_texts(
    store: Store, sketches: Mapping[str, Sketch], largest: int | None
) -> None:
    """
    Candidates have their sketches, whether the plan finds only short documents or any.
    """
    shortest = min((name for name in sketches if sketches[name].size), key=lambda name: sketches[name].size)
    numbers = tuple(lookup_numbers(sketches[shortest]).tolist())
    plan = BoundPlan(SketchTokens(shortest, SCHEME_NOW, numbers, 1, 0, largest))
    hits = candidate_page(store.engine, plan, start=0, rows=1000).hits
    assert {hit.id: sketch for hit, sketch in hits} == {hit.id: sketches[hit.id] for hit, _ in hits}
    assert shortest in {hit.id for hit, _ in hits}


def test_scores_compare_short_candidates(store: Store, sketches: Mapping[str, Sketch]) -> None:
    """
    If a plan has all hashes of a source and finds only short documents, sizes and scores are the overlaps of sketches.
    """
    shortest = min((name for name in sketches if sketches[name].size), key=lambda name: sketches[name].size)
    source = sketches[shortest]
    plan = SketchTokens(shortest, SCHEME_NOW, tuple(lookup_numbers(source).tolist()), 1, 0, 128, is_whole=True)
    page = candidate_page(store.engine, BoundPlan(plan), start=0, rows=1000)
    assert isinstance(page, CandidatePage)
    assert page.sizes
    positions, overlaps = page.compare(source, {shortest})
    ids = page.ids(positions)
    assert sorted([*ids, shortest]) == sorted(name for name, _ in matching(plan, sketches))
    expected = compare(source, [sketches[name] for name in ids])
    for column in ("sizes", "levels", "source_counts", "counts", "shared"):
        assert getattr(overlaps, column).tolist() == getattr(expected, column).tolist()


def test_sketches_of_another_scheme_among_ours(client: SolrClient, sketches: Mapping[str, Sketch]) -> None:
    """
    Documents with sketches of another scheme are no candidates, even with equal tokens. One added after the schemes
    were counted may be found, without a sketch.
    """
    plan = BoundPlan(SketchTokens("big", SCHEME_NOW, tuple(lookup_numbers(sketches["big"])[:64].tolist()), 1, 0, None))
    other = {"id": "other", **sketch_fields(sketches["big"], Scheme(), None), SCHEME: "another"}
    with Store(SolrEngine(client)) as before:
        ours = candidate_page(before.engine, plan, start=0, rows=1000)
        client.post("update", [other], commit="true")
        try:
            late = candidate_page(before.engine, plan, start=0, rows=1000)
            with Store(SolrEngine(client)) as after:
                candidates = candidate_page(after.engine, plan, start=0, rows=1000)
        finally:
            client.post("update", {"delete": ["other"]}, commit="true")
    assert candidates.hits == ours.hits
    assert candidates.total == ours.total
    assert [hit.id for hit, sketch in late.hits if sketch is None] == ["other"]
    assert [hit for hit in late.hits if hit[1] is not None] == [*ours.hits]


def test_a_sketch_of_another_scheme_is_not_compared(store: Store, sketches: Mapping[str, Sketch]) -> None:
    """
    A plan of another scheme finds nothing, even with equal numbers.
    """
    other = SketchScheme(k=2048)
    plan = SketchTokens("big", other, tuple(lookup_numbers(sketches["big"])[:64].tolist()), 1, 0, None)
    assert candidate_page(store.engine, BoundPlan(plan), start=0, rows=10).total == 0


@pytest.mark.parametrize(
    "groups",
    [
        ((87.5, tuple(STRANGE[:4])), (12.0, (*STRANGE[4:], "nowhere")), (0.25, ("big",))),
        tuple((1.0 + number / 4, (document.id,)) for number, document in enumerate(DOCUMENTS)),
        tuple((1.0 + number / 4, (f"no{number}" if number > 60 else DOCUMENTS[number].id,)) for number in range(2500)),
        (),
    ],
    ids=["strange ids", "a group each", "more groups than clauses", "none"],
)
def test_chosen(store: Store, groups: tuple[tuple[float, tuple[str, ...]], ...]) -> None:
    """
    Chosen documents are found with their scores, and no others.
    """
    page = store.engine.search(BoundPlan(DocumentsByScore("big", groups)), start=0, rows=100)
    there = {document.id for document in DOCUMENTS}
    expected = [(name, score) for score, names in groups for name in names if name in there]
    assert [(hit.id, hit.score) for hit in page.hits] == sorted(expected, key=lambda hit: (-hit[1], hit[0]))


def test_damaged_ones_are_none(client: SolrClient) -> None:
    """
    A damaged, foreign or missing sketch reads as None, and the sketches around it are read.
    """
    made = text_sketch(TEXT, Scheme(), SCHEME_NOW)
    sound = sketch_fields(made, Scheme(), None)
    damaged = [{**sound, SKETCH: "?"}, {**sound, SKETCH: "AAAA"}, {**sound, SCHEME: "another"}, {}]
    for part in (damaged, damaged[2:]):
        documents = [{"id": f"no{number}", **fields} for number, fields in enumerate([sound, *part, sound])]
        read = read_sketches(client, inspect(client, FieldNames()), documents)
        assert read == [made, *[None] * len(part), made]


def test_a_sketch_of_an_older_version(client: SolrClient, store: Store) -> None:
    """
    Older versions stored the sketch and the whole digest of each document; both are still read.
    """
    document = Document("older", TEXT)
    made = text_sketch(TEXT, Scheme(), SCHEME_NOW)
    fields = {**sketch_fields(made, Scheme(), None), DIGEST: document.digest}
    client.post("update", [{"id": "older", "content": TEXT, **fields}], commit="true")
    try:
        assert store.engine.sketches(["older"]) == {"older": made}
        assert document.has_digest(store.engine.digests(["older"])["older"])
    finally:
        store.engine.delete(["older"])


def test_texts_that_other_fields_are_copied_into(others: Any) -> None:
    """
    If Solr copies other fields into the field of the text, a short document has a stored sketch of its own text.
    """
    client = others(
        '<field name="name" type="string" indexed="true" stored="true"/><copyField source="name" dest="content"/>'
    )
    several = {"name": "content", "type": "plain", "indexed": True, "stored": True, "multiValued": True}
    client.post("schema", {"replace-field": several})
    initialise(client, FieldNames())
    with Store(SolrEngine(client)) as opened:
        opened.index(Document(number, TEXT, f"{number} has a name of several words") for number in ("a", "b"))
        made = text_sketch(TEXT, Scheme(), SCHEME_NOW)
        assert opened.engine.sketches(["a", "b"]) == {"a": made, "b": made}
        assert [candidate.hit.id for candidate in opened.similar("a", metric="jaccard", threshold=100).found] == ["b"]


def test_the_request_stays_within_the_limit() -> None:
    """
    Tokens are queried directly up to Lucene's limit, and beyond it in functions with fewer tokens each.
    """

    def parts(count: int) -> list[int]:
        plan = BoundPlan(SketchTokens("a", SCHEME_NOW, tuple(range(count)), 2, 1, None))
        named = search_request(plan, SolrFields(), start=0, rows=1).get("queries", {})
        return [len(query["min_hash"]["query"].split(query["min_hash"]["sep"])) for query in named.values()]

    assert parts(MAX_CLAUSES - 3) == []
    assert parts(MAX_CLAUSES - 1) == [1000, 23]
    assert parts(16_000) == [1000] * 16


def test_doctor_on_fields_that_are_not_as_needed(others: Any) -> None:
    """
    Missing fields are reported with the command that adds them; a field of another type is named.
    """
    client = others('<field name="whorl_sample" type="string" stored="true" indexed="false"/>')
    initialise(client, FieldNames(content="content"), dry_run=False)
    findings = {finding.code: finding for finding in check(client, FieldNames())}
    assert "'whorl_sample' is not indexed" in findings["sketch-fields"].message
    assert SolrEngine(client).sketch_scheme is None


def test_similar_without_sketches(client: SolrClient) -> None:
    """
    A collection with MinHash tokens only is searched by these: long documents well above the threshold are found,
    almost all intervals contain the exact share, and the page states its precision.
    """
    others = {document.id: shingles(document.text) for document in DOCUMENTS}
    own = others.pop("big")
    long = {document.id for document in DOCUMENTS if document.text.count(" ") > 2_000}
    without_sketches(client)
    try:
        with open_store(client.url) as store:
            for metric in ("jaccard", "a_in_b", "b_in_a"):
                page = store.similar("big", metric=metric, threshold=10, recall=95, rows=100)
                exact = {name: share(own, other, metric) for name, other in others.items()}
                estimates = {hit.hit.id: hit.estimate for hit in page.found}
                assert "whorl solr check" in page.warnings[0]
                within = store.search("FINGERPRINT:big_10_95", plan="calibrated", metric=metric, rows=100)
                assert {hit.id for hit in within.hits} == {*estimates, "big"}
                assert within.warnings[0] == page.warnings[0]
                assert {name for name in long & exact.keys() if exact[name] >= 0.2} <= estimates.keys()
                assert estimates
                by = Metric(metric)
                held = [
                    estimate.low.measured_by(by) - 1e-9 <= exact[name] <= estimate.high.measured_by(by) + 1e-9
                    for name, estimate in estimates.items()
                ]
                assert sum(held) >= 0.8 * len(held)
    finally:
        backfill(client, FieldNames())


def share(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]], metric: str) -> float:
    """Return the exact share of the shingles of two texts."""
    whole = {"jaccard": one | other, "a_in_b": one, "b_in_a": other}[metric]
    return len(one & other) / len(whole) if whole else 0.0
