"""Prepared queries: which engine calls they make, and how often; filters, pages, counts and explanations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from whorl import Store, open_store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.protocol import Candidates, MatchCount
from whorl.errors import FieldError, ParameterError
from whorl.fingerprint.minhash.signature_and_tokens import Signature
from whorl.fingerprint.sketch.frac_minhash import Sketch
from whorl.model import Document, Order
from whorl.operations import QueryPlan
from whorl.query.plan.fields_and_values import Fields
from whorl.query.plan.nodes import BoundPlan, MatchAll
from whorl.search.prepared_search import Filter, PreparedQuery, bound_filter, engine_facets
from whorl.search.similar import find_similar

#: Short enough for a complete sketch, so that all numbers are exact.
WORDS = 60
COPIES = 12


def copies() -> Iterator[Document]:
    """Yield a text and its copies; the k-th copy has its first k words replaced, so both share 56 - k of 56 + k
    shingles.
    """
    words = [f"w{at}" for at in range(WORDS)]
    yield Document("whole", " ".join(words), "", {"kind": "whole"})
    for number in range(1, COPIES + 1):
        other = [f"x{number}x{at}" for at in range(number)]
        yield Document(f"copy {number:02}", " ".join(other + words[number:]), "", {"kind": "copy", "number": number})
    yield Document("other", " ".join(f"y{at}" for at in range(WORDS)), "", {"kind": "other"})


def counted(prepared: PreparedQuery, chosen: Filter) -> tuple[int, tuple[str, ...]]:
    """Return the number of matches that pass a further filter, and the warnings."""
    bound = bound_filter(prepared, chosen)
    (count,) = engine_facets(prepared, [MatchCount(bound.root)])
    assert isinstance(count, int)
    return count, bound.warnings


class Watched(EmbeddedEngine):
    """An engine that records its calls."""

    requests: list[str]

    def fields(self, *, latest: bool = False) -> Fields:
        self.requests.append("fields")
        return super().fields(latest=latest)

    def resolve(self, references: Collection[str]) -> Mapping[str, str]:
        self.requests.append(f"resolve {' '.join(sorted(references))}")
        return super().resolve(references)

    def signatures(self, needs_order: Mapping[str, bool]) -> Mapping[str, Signature]:
        self.requests.append(f"signatures of {' '.join(sorted(needs_order))}")
        return super().signatures(needs_order)

    def resolve_signatures(self, needs_order: Mapping[str, bool]) -> Mapping[str, tuple[str, Signature | None]]:
        self.requests.append(f"resolve {' '.join(sorted(needs_order))}")
        signatures = super().resolve_signatures(needs_order)
        self.requests.append(
            f"signatures of {' '.join(sorted({document_id for document_id, _ in signatures.values()}))}"
        )
        return signatures

    def resolve_sketches(self, references: Collection[str]) -> Mapping[str, tuple[str, Sketch | None]]:
        self.requests.append(f"resolve {' '.join(sorted(references))}")
        return super().resolve_sketches(references)

    def texts(self, ids: Collection[str]) -> Mapping[str, str]:
        self.requests.append(f"texts of {' '.join(sorted(ids))}")
        return super().texts(ids)

    def candidates(self, plan: BoundPlan, *, start: int, rows: int, in_order: bool = True) -> Candidates:
        self.requests.append("candidates")
        page = super().candidates(plan, start=start, rows=rows, in_order=in_order)
        object.__setattr__(page, "warnings", ("somebody writes",))
        return page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("prepared") / "store"
    with EmbeddedEngine(made) as engine:
        engine.index(copies())
        engine.refresh()
    return made


@pytest.fixture
def engine(folder: Path) -> Iterator[Watched]:
    with Watched(folder) as opened:
        opened.requests = []
        yield opened


@pytest.fixture
def store(engine: Watched) -> Store:
    return Store(engine)


def test_one_filter_is_a_filter(store: Store) -> None:
    """
    A string is one filter, not one per letter.
    """
    for given in ("y17", ["y17"], [["y17"]]):
        assert [hit.id for hit in store.search("*", filter=given).hits] == ["other"]


def test_filters_do_not_hide_what_is_shared(store: Store) -> None:
    """
    Shared tokens are counted with the source of the query, even if its filters name other sources.
    """
    page = store.search("FINGERPRINT:whole", filter=["FINGERPRINT:'copy 01'"], with_shared=True)
    alone = store.search("FINGERPRINT:whole", with_shared=True)
    assert page.source_tokens == alone.source_tokens == 512
    assert [(hit.id, hit.shared_tokens) for hit in page.hits] == [(hit.id, hit.shared_tokens) for hit in alone.hits]


def test_not_every_candidate_of_a_fingerprint(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A page says that its total is a lower bound, and passes on the warnings of the search for candidates.
    """
    whole = store.search("FINGERPRINT:whole_20", plan="calibrated")
    assert (whole.is_total_exact, whole.total) == (True, COPIES + 1)
    assert whole.warnings == ("somebody writes",)
    monkeypatch.setattr(find_similar, "MOST_VERIFIED", 4)
    monkeypatch.setattr(find_similar, "CANDIDATES_AT_ONCE", 2)
    page = store.search("FINGERPRINT:whole_20 AND kind:copy", plan="calibrated")
    assert not page.is_total_exact
    assert page.total < COPIES
    assert any("4 of them were verified" in warning for warning in page.warnings)


def test_explaining_searches_nothing(store: Store, engine: Watched) -> None:
    """
    Explaining a calibrated FINGERPRINT shows its plan and its candidate request without a candidate search; a search
    and a count of the same prepared query search candidates once.
    """
    prepared = store.prepare("FINGERPRINT:whole_20 AND kind:copy", plan="calibrated")
    explained = prepared.explain()
    assert engine.requests == ["fields", "resolve whole"]
    [(source, plan)] = explained.fingerprints
    assert (source, plan.source_size) == ("whole", WORDS - 4)
    requests: Any = explained.request["candidates"]
    assert [request["source"] for request in requests] == ["whole"]
    assert "engine" in requests[0]["request"]
    assert prepared.search(rows=3).total == COPIES
    assert counted(prepared, "*") == (COPIES, ())
    assert engine.requests == ["fields", "resolve whole", "candidates"]


def test_every_fingerprint_is_explained(store: Store) -> None:
    """
    Two FINGERPRINTs with the same source are explained separately, each with its own threshold and request.
    """
    explained = store.explain("FINGERPRINT:whole_80 OR FINGERPRINT:whole_20 AND kind:copy", plan="calibrated")
    assert [(source, float(plan.threshold)) for source, plan in explained.fingerprints] == [
        ("whole", 0.8),
        ("whole", 0.2),
    ]
    requests: Any = explained.request["candidates"]
    assert len(requests) == 2
    assert requests[0] != requests[1]


def test_an_unused_source(store: Store) -> None:
    """
    A text given with the query but not used in it causes a warning, calibrated or not.
    """
    for plan in get_args(QueryPlan):
        prepared = store.prepare("FINGERPRINT:whole_20", source="some words", plan=plan)
        for warnings in (prepared.search().warnings, prepared.explain().warnings):
            assert "the query does not use the source 'source': write FINGERPRINT:source" in warnings


def test_sources_are_fetched_once(store: Store, engine: Watched) -> None:
    """
    Two FINGERPRINTs of one source, a search, a count and an explanation fetch the source once.
    """
    prepared = store.prepare("FINGERPRINT:whole_20 OR FINGERPRINT:whole_90_50")
    assert prepared.search().total == COPIES + 1
    assert counted(prepared, "FINGERPRINT:whole")[0] == COPIES + 1
    prepared.explain()
    assert engine.requests == ["resolve whole", "signatures of whole"]


def test_fields_are_asked_for_where_a_clause_has_one(store: Store, engine: Watched) -> None:
    """
    A query of a FINGERPRINT alone does not read the collection's fields.
    """
    store.prepare("FINGERPRINT:whole OR *")
    assert "fields" not in engine.requests
    store.prepare("kind:copy", filter=["number:[1 TO 3]"])
    assert engine.requests == ["fields", "fields"]


def test_counts_are_of_what_the_query_finds(store: Store) -> None:
    """
    Counts accept a further filter, or a list of alternatives, and have its warnings.
    """
    prepared = store.prepare("kind:copy", filter=["number:[3 TO 9]"])
    assert prepared.search(rows=0).total == 7
    assert counted(prepared, "number:4") == (1, ())
    assert counted(prepared, ["number:4", "number:[8 TO *]"]) == (3, ())
    whole = MatchCount(MatchAll())
    assert engine_facets(prepared, [whole]) == (7,)
    assert engine_facets(prepared, [whole], without=[0]) == (COPIES,)
    assert engine_facets(prepared, []) == ()
    total, warnings = counted(prepared, "number:4 OR FINGERPRINT:gone")
    assert (total, warnings) == (1, ("the store has no document 'gone'",))
    assert prepared.search().warnings == ()


def test_hits_are_measured_against_one_source(store: Store) -> None:
    """
    Hits are not measured for several sources or none; the source of a filter does not count.
    """
    assert store.prepare("FINGERPRINT:whole OR FINGERPRINT:other").measure_hits(["copy 01"]) == {}
    assert store.prepare("kind:copy").measure_hits(["copy 01"]) == {}
    prepared = store.prepare("FINGERPRINT:whole AND kind:copy", filter=["FINGERPRINT:other", "*"])
    assert prepared.references == ("whole",)
    estimate = prepared.measure_hits(["copy 01", "gone"])["copy 01"].estimate
    assert estimate is not None
    assert (estimate.shares.jaccard, estimate.is_exact) == (55 / 57, True)


@pytest.mark.parametrize(
    ("start", "rows", "message"),
    [
        (-1, 10, "start must be 0 to 1,000,000, got -1"),
        (1_000_001, 10, "start must be 0 to 1,000,000, got 1000001"),
        (0, -1, "rows must be 0 to 10,000, got -1"),
        (0, 10_001, "rows must be 0 to 10,000, got 10001"),
    ],
)
def test_pages_that_cannot_be(store: Store, start: int, rows: int, message: str) -> None:
    """
    A page outside the limits is refused before any search.
    """
    with pytest.raises(ParameterError, match=message):
        store.search("*", start=start, rows=rows)
    assert store.search("*", start=1_000_000).hits == ()


def test_orders_by_the_values_of_a_field(store: Store) -> None:
    """
    Fields for sorting may have the names that queries use; a field of words or an unknown field is refused.
    """
    by_number = [Order("cm:number", is_ascending=True), Order(None)]
    assert [hit.id for hit in store.search("kind:copy", sort=by_number, rows=2).hits] == ["copy 01", "copy 02"]
    with pytest.raises(ParameterError, match=r"no field 'nmuber' to sort by; did you mean number\?"):
        store.search("*", sort=[Order("nmuber")])
    with pytest.raises(ParameterError, match="field 'content' holds words, which have no order"):
        store.search("*", sort=[Order("content")])


def test_a_sort_by_values_of_several_types(tmp_path: Path) -> None:
    """
    Numbers and dates go before texts, which are not compared with them; a warning says so.
    """
    values: dict[str, int | float | str] = {"five": 5, "half": 0.5, "word": "abc"}
    with open_store(tmp_path / "store") as store:
        store.index([Document("none", "text")])
        store.index(Document(name, "text", properties={"n": value}) for name, value in values.items())
        page = store.search("*", sort="n asc")
        assert [hit.id for hit in page.hits] == ["half", "five", "none", "word"]
        assert page.warnings == ("sort: 'n' also has text; documents that have only that come last",)
        store.delete(["word"])
        store.index([Document("other", "text", properties={"m": "b"})])
        assert store.search("*", sort="m").warnings == ()


@pytest.mark.parametrize("text", ["size descending", "size desc name", "size,", "", "size desc desc"])
def test_malformed_sort(store: Store, text: str) -> None:
    """
    The error for a malformed sort has an example, and the malformed part.
    """
    with pytest.raises(ParameterError, match="with asc, desc or nothing, such as 'cm:modified desc, name', got '"):
        store.search("*", sort=text)


@pytest.mark.parametrize("text", ["cm:number desc, name", "@cm:number DESC", "number Desc", " number  desc "])
def test_spellings_of_a_sort(store: Store, text: str) -> None:
    """
    A sort text names its field as a query does, and its direction in any case.
    """
    assert store.search("kind:copy", sort=text, rows=1).hits[0].id == f"copy {COPIES:02}"


def test_a_field_with_blanks(tmp_path: Path) -> None:
    """
    A sort and a query name a field with blanks and commas, such as a column of a table, as the hint spells it.
    """
    with open_store(tmp_path / "store") as store:
        store.index(Document(name, "text", properties={"Place, of print": name}) for name in ("place a", "place b"))
        with pytest.raises(FieldError, match=r"Did you mean Place\\,\\ of\\ print\?"):
            store.search("Place_of_print:a")
        with pytest.raises(ParameterError, match=r"did you mean Place\\,\\ of\\ print\?"):
            store.search("*", sort="Place_of_print")
        for name in (r"Place\,\ of\ print", "Place_x002c__x0020_of_x0020_print"):
            hits = store.search(f"{name}:place", sort=f"{name} desc, name").hits
            assert [hit.id for hit in hits] == ["place b", "place a"]


def test_calibrated_hits_score_their_percentage(store: Store) -> None:
    """
    The score is the whole percentage times the boost, 100 for the source; the default threshold is 20 percent.
    """
    page = store.search("FINGERPRINT:whole^2", plan="calibrated", rows=3)
    assert [(hit.id, hit.score) for hit in page.hits] == [("whole", 200.0), ("copy 01", 192.0), ("copy 02", 186.0)]
    assert page.total == COPIES + 1
    of_source = store.search("FINGERPRINT:whole_80", plan="calibrated", metric="contains").total
    assert of_source == 1 + sum(5 * (56 - number) >= 4 * 56 for number in range(1, COPIES + 1))


@pytest.mark.parametrize(
    ("query", "total"), [("whole_0.01", COPIES + 1), ("whole_0.009_0.95", COPIES + 1), ("whole_1", 1)]
)
def test_one_percent_of_a_calibrated_fingerprint_is_one_percent(store: Store, query: str, total: int) -> None:
    """
    A threshold given as a fraction is not converted twice.
    """
    assert store.search(f"FINGERPRINT:{query}", plan="calibrated").total == total


def test_a_similar_search_is_made_ready_once(store: Store, engine: Watched) -> None:
    """
    Preparing parses the filter, fetches the source and plans; each page then only searches candidates.
    """
    prepared = store.prepare_similar("whole", threshold=20, filter="kind:copy")
    ready = ["fields", "resolve whole"]
    assert engine.requests == ready
    assert prepared.plan.source_size == WORDS - 4
    assert "engine" in prepared.request()
    assert engine.requests == ready
    assert [prepared.search(start=start, rows=1).total for start in (0, 1)] == [COPIES, COPIES]
    assert engine.requests == [*ready, "candidates", "candidates"]
    with pytest.raises(ParameterError, match="rows must be 0 to"):
        prepared.search(rows=-1)
    assert len(engine.requests) == 4


@pytest.mark.slow
def test_no_hit_is_shown_below_the_threshold(tmp_path: Path) -> None:
    """
    A hit's share is at least the threshold: the exact count that found it is reported, since an estimate from sketches
    may lie below.
    """
    source = [f"s{at}" for at in range(6_000)]

    def documents() -> Iterator[Document]:
        yield Document("source", " ".join(source))
        for number in range(30):
            # The documents have about 5.2 to 5.5 % of the union in common.
            yield Document(
                f"d{number}", " ".join([*source[: 600 + number], *(f"d{number}x{at}" for at in range(5_400))])
            )

    with open_store(tmp_path / "store") as store:
        store.index(documents())
        prepared = store.prepare("FINGERPRINT:source_5_99", plan="calibrated")
        ids = [hit.id for hit in prepared.search(rows=100).hits]
        assert len(ids) > 25
        shares = [
            measured.estimate.shares.jaccard for measured in prepared.measure_hits(ids).values() if measured.estimate
        ]
        assert len(shares) == len(ids)
        assert min(shares) >= 0.05
