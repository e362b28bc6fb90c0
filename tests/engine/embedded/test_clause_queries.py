"""Clauses that tantivy has no query for: ranges of texts, fuzzy words, words near each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tantivy import Query

from tests import plain_clauses
from tests.engine.embedded.store_process import SCHEME
from tests.engine.embedded.stores import opened
from whorl.engine.embedded import tantivy_query
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.embedded.prepare_documents import SCHEMA
from whorl.engine.embedded.tantivy_query import (
    MOST_LOOK_UPS,
    IndexReader,
    Values,
    is_ordered_span,
    is_sloppy_phrase,
    positions,
)
from whorl.engine.index_terms import compile_pattern, value_prefix, value_term, word_term
from whorl.errors import StoppedError, UnsupportedQueryError
from whorl.model import Document
from whorl.query.ast import Pattern, WildcardCharacter, as_typed
from whorl.query.plan.nodes import (
    Between,
    Bool,
    BoundPlan,
    Equal,
    Exists,
    FuzzyWord,
    InOrder,
    Kind,
    Test,
    WildcardValue,
    Words,
)
from whorl.request_context import deadline, new_request

ANY, ONE = WildcardCharacter.ANY, WildcardCharacter.ONE


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory):
    with EmbeddedEngine(tmp_path_factory.mktemp("clauses") / "store", scheme=SCHEME) as opened:
        yield opened


def ids(engine: EmbeddedEngine, test: Test) -> list[str]:
    return [hit.id for hit in engine.search(BoundPlan(test), start=0, rows=100).hits]


@pytest.fixture
def filled(engine: EmbeddedEngine):
    """
    Function that stores documents; the end of the test deletes them.
    """
    stored: list[str] = []

    def fill(*documents: Document) -> EmbeddedEngine:
        stored.extend(document.id for document in documents)
        engine.index(documents)
        engine.refresh()
        return engine

    yield fill
    engine.delete(stored)


def test_edits_stay_in_the_word(filled) -> None:
    """
    A fuzzy word is compared with words of its own field only, even if field names differ in one letter.
    """
    engine = filled(
        Document("kind", "", properties={"kind": "roam"}),
        Document("kinds", "", properties={"kinds": "roam"}),
        Document("kin", "", properties={"kin": "roam", "kinship": "oam"}),
        Document("far", "", properties={"kind": "rooms"}),
    )
    assert ids(engine, FuzzyWord("roam", 1, "kind")) == ["kind"]
    assert ids(engine, FuzzyWord("roams", 2, "kind")) == ["far", "kind"]
    assert ids(engine, FuzzyWord("shiproam", 2, "kin")) == []
    assert ids(engine, FuzzyWord("rmoa", 2, "kinds")) == ["kinds"]


def test_edits_are_as_many_as_asked_for(filled) -> None:
    """
    A swap of two neighbouring characters is one edit, and no character is edited twice.
    """
    words = ["abcd", "abdc", "bacd", "abc", "abcde", "xbcd", "dcba", "cabd"]
    engine = filled(*(Document(word, word) for word in words))
    for target, edits in product(words, (1, 2)):
        expected = [word for word in sorted(words) if plain_clauses.distance(word, target) <= edits]
        assert ids(engine, FuzzyWord(target, edits, "content")) == expected


PATTERNS: list[Pattern] = [
    (ANY, "z"),
    ("a", *[ONE] * 60),
    tuple(["a", ANY] * 40),
    ("b" * 300, ANY),
    ("é", ANY, "😀"),
    (ONE,),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_of_any_size(filled, pattern: Pattern) -> None:
    """
    A pattern with more states than tantivy accepts is compared with the values, and finds the same documents.
    """
    values = ["a" + "x" * 60, "az" * 50, "b" * 301, "éé😀", "😀", "z\nz", ""]
    engine = filled(*(Document(f"{at}", "", properties={"v": value}) for at, value in enumerate(values)))
    fitting = [at for at, value in enumerate(values) if compile_pattern(pattern).fullmatch(value)]
    assert fitting
    assert ids(engine, WildcardValue("v", pattern)) == [str(at) for at in fitting]


def test_long_values(filled) -> None:
    """
    A value that is too long for an index term is found by its whole text and by its prefix.
    """
    long = "y" * 70_000
    engine = filled(Document("a", "", properties={"v": long + "a"}), Document("b", "", properties={"v": long + "b"}))
    assert ids(engine, Equal("v", Kind.KEYWORD, long + "a")) == ["a"]
    assert ids(engine, WildcardValue("v", ("yyy", ANY))) == ["a", "b"]
    assert ids(engine, Between("v", Kind.KEYWORD, "x", "z")) == ["a", "b"]


def test_values_and_presence(filled) -> None:
    """
    Equal values of different types are different. An empty text is a value of a property, but not a content.
    """
    engine = filled(
        Document("number", "", properties={"v": 1}),
        Document("float", "", properties={"v": [1.0, -0.0]}),
        Document("true", "text", properties={"v": True}),
        Document("text", "---", properties={"v": "1"}),
        Document("empty", "", properties={"v": ""}),
        Document("date", "", properties={"v": "1970-01-01"}),
    )
    assert ids(engine, Equal("v", Kind.INTEGER, 1)) == ["number"]
    assert ids(engine, Equal("v", Kind.FLOAT, 1.0)) == ["float"]
    assert ids(engine, Between("v", Kind.FLOAT, 0.0, 0.5)) == ["float"]
    assert ids(engine, Equal("v", Kind.BOOLEAN, True)) == ["true"]
    assert ids(engine, Equal("v", Kind.KEYWORD, "1")) == ["text"]
    assert ids(engine, Between("v", Kind.DATE, 0, 0)) == ["date"]
    assert ids(engine, Exists("v", Kind.KEYWORD)) == ["empty", "text"]
    assert ids(engine, Exists("content", Kind.TEXT)) == ["text", "true"]
    assert set(engine.fields().known["v"]) == set(Kind)


def test_ids(filled) -> None:
    """
    Ids are values, too.
    """
    engine = filled(Document("i1", ""), Document("i2", ""), Document("j", ""))
    assert ids(engine, Equal("id", Kind.KEYWORD, "i2")) == ["i2"]
    assert ids(engine, WildcardValue("id", ("i", ONE))) == ["i1", "i2"]
    assert ids(engine, Between("id", Kind.KEYWORD, "i2", None)) == ["i2", "j"]
    assert ids(engine, Exists("id", Kind.KEYWORD)) == ["i1", "i2", "j"]


def test_rows_across_values(filled) -> None:
    """
    Two values of a field are 100 positions apart, as in Solr.
    """
    engine = filled(Document("a", "", properties={"v": ["x one", "two y"]}))
    for slop, expected in ((99, []), (100, ["a"])):
        assert ids(engine, InOrder((("one",), ("two",)), slop, "v")) == expected
        assert ids(engine, Words("one two", "v", slop=slop)) == expected
    assert ids(engine, InOrder((("tw", ANY), ("y",)), 0, "v")) == ["a"]


def test_explain_runs_nothing(engine) -> None:
    """
    `explain` describes every clause as JSON values, also clauses that need stored fields.
    """
    tests: list[Test] = [
        Words("a b", "name", slop=2),
        InOrder((("a",), ("b", ANY)), 1),
        FuzzyWord("roam", 2),
        Equal("v", Kind.INTEGER, 7),
        WildcardValue("v", ("a", ANY)),
        Between("v", Kind.DATE, None, 5, True, False),
        Exists("v", Kind.DATE),
    ]
    described = [engine.explain(BoundPlan(test), start=0, rows=1)["query"] for test in tests]
    assert described == [
        {"words": ["a", "b"], "fields": ["name"], "weight": 1.0, "slop": 2},
        {"in_order": ["a", "b*"], "slop": 1, "fields": ["name", "content"], "weight": 1.0},
        {"near": "roam", "edits": 2, "fields": ["name", "content"], "weight": 1.0},
        {"value": 7, "field": "v", "weight": 1.0},
        {"like": "a*", "field": "v", "weight": 1.0},
        {"low": None, "high": 5, "includes_low": True, "includes_high": False, "field": "v", "weight": 1.0},
        {"present": "v", "weight": 1.0},
    ]


def many(test: Test, count: int) -> BoundPlan:
    return BoundPlan(Bool(should=(test,) * count, min_should_match=1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "test",
    [
        WildcardValue("v", (ANY, "a", ANY)),
        InOrder((("b", ANY), ("c",)), 3),
        FuzzyWord("roam", 2, "content"),
        Between("v", Kind.KEYWORD, "a", "b"),
        Between("v", Kind.INTEGER, 1, 2),
    ],
)
def test_look_ups_of_a_query_are_bounded(filled, test: Test) -> None:
    """
    A query may have the documented number of patterns, fuzzy words and ranges. One more is an error that names it, for
    search and `explain`.
    """
    engine = filled(Document("a", "bar c roams", properties={"v": ["a", 1]}))
    fields = 2 if test.field is None else 1
    most = min(MOST_LOOK_UPS // fields, 60)
    assert engine.search(many(test, most), start=0, rows=9).total == 1
    for ask in (engine.search, engine.explain):
        with pytest.raises(UnsupportedQueryError, match=r"(?s)fuzzy words and ranges.*Ask with fewer") as e:
            ask(many(test, MOST_LOOK_UPS + 1), start=0, rows=9)
        named = as_typed(test.pattern) if isinstance(test, WildcardValue) else e.value.query
        assert named in e.value.message


@pytest.mark.parametrize(
    ("pattern", "count"), [((ANY, "a"), MOST_LOOK_UPS + 1), ((ANY, "a", *[ONE] * 6, "b"), 40), ((ANY, "a" * 250), 40)]
)
def test_clauses_are_counted_before_any_look_up(
    filled, pattern: Pattern, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A query with too many patterns is refused before tantivy builds their automata; each one takes milliseconds.
    """
    engine = filled(Document("a", "bar", properties={"v": "xa123456b"}))
    assert engine.search(many(WildcardValue("v", pattern), 2), start=0, rows=9).total == (ONE in pattern)

    def built(*_: object) -> None:
        raise AssertionError("an automaton was built")

    monkeypatch.setattr(tantivy_query, "Query", SimpleNamespace(**{**vars(Query), "regex_query": built}))
    for ask in (engine.search, engine.explain):
        with pytest.raises(UnsupportedQueryError):
            ask(many(WildcardValue("v", pattern), count), start=0, rows=9)


@pytest.mark.slow
def test_long_patterns_are_bounded(filled) -> None:
    """
    A few patterns that would take much memory together are too many.
    """
    engine = filled(Document("a", "bar", properties={"v": "a" * 300}))
    pattern = (ANY, "a" * 250, ANY)
    assert engine.search(many(WildcardValue("v", pattern), 20), start=0, rows=9).total == 1
    with pytest.raises(UnsupportedQueryError, match="too long together"):
        engine.search(many(WildcardValue("v", pattern), 40), start=0, rows=9)
    # A single pattern that would take as much memory is refused too.
    with pytest.raises(UnsupportedQueryError, match="too long together"):
        ids(engine, WildcardValue("v", (ANY, "a") * 3500))


@pytest.mark.slow
def test_terms_that_are_read_are_bounded(filled, monkeypatch) -> None:
    """
    Patterns beyond tantivy's automata are compared with terms; the terms that one query reads are limited.
    """
    engine = filled(*(Document(f"{n}", "", properties={"v": f"a{n}" + "x" * 70}) for n in range(8)))
    monkeypatch.setattr(tantivy_query, "MOST_TERMS", 16)
    pattern = WildcardValue("v", ("a", *[ONE] * 71))
    assert engine.search(many(pattern, 2), start=0, rows=9).total == 8
    with pytest.raises(UnsupportedQueryError, match="more than 16 words or values would have to be compared"):
        engine.search(many(pattern, 3), start=0, rows=9)
    # Few values have the pattern's prefix, so the limit is not reached.
    few = WildcardValue("v", ("a1", *[ONE] * 70))
    assert engine.search(many(few, 16), start=0, rows=9).total == 1


def test_long_ends_of_ranges(filled) -> None:
    """
    A range with long texts as bounds compares the values themselves.
    """
    long = "m" * 600
    values = ["a", long, long + "a", "z"]
    engine = filled(*(Document(f"{at}", "", properties={"v": value}) for at, value in enumerate(values)))
    assert ids(engine, Between("v", Kind.KEYWORD, long, long + "b")) == ["1", "2"]
    assert ids(engine, Between("v", Kind.KEYWORD, long, None, includes_low=False)) == ["2", "3"]


SLOW: list[Test] = [
    WildcardValue("v", (ANY, "a", ANY)),
    WildcardValue("v", ("a", *[ONE] * 70)),
    Words("one two", slop=5),
]


@pytest.mark.parametrize("test", SLOW)
def test_work_ends_with_its_request(filled, test: Test) -> None:
    """
    A search stops when its request is cancelled or its deadline has passed.
    """
    engine = filled(Document("a", "two one", properties={"v": "a" + "x" * 70}))
    plan = many(test, 5)
    assert engine.search(plan, start=0, rows=9).total == 1
    with new_request() as request:
        request.cancel()
        with pytest.raises(StoppedError):
            engine.search(plan, start=0, rows=9)
    with deadline(0.0), pytest.raises(StoppedError):
        engine.search(plan, start=0, rows=9)


EVERYTHING = Query.exists_query("id")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexReader]:
    """
    A reader of three documents, the last one in the small part of the index (recent changes).
    """
    path: Path = tmp_path_factory.mktemp("contents") / "store"
    with opened(path) as engine:
        engine.index(
            [
                Document("a", "one two", "first", {"k": ["x", "y z"]}),
                Document("b", "two three", properties={"k": "y", "kind": "w"}),
            ]
        )
        engine.refresh()
        engine.index([Document("c", "one", properties={"k": "v"})])
        engine.refresh()
        yield IndexReader(engine._index, engine._records, engine.scheme.profile)


def test_names(reader: IndexReader) -> None:
    """
    The fields that every document has, and the properties of single documents.
    """
    assert reader.field_names() == {"name", "content", "k", "kind"}


def test_terms_of_a_field(reader: IndexReader) -> None:
    """
    The terms of both parts of the index that begin with a prefix, in order; a longer list than the limit shows that
    there are too many.
    """
    beginning = value_prefix("k", Kind.KEYWORD)
    whole = [value_term("k", Kind.KEYWORD, value) for value in ("v", "x", "y", "y z")]
    assert reader.terms("values", beginning, 4) == whole
    assert reader.terms("values", beginning + "y", 4) == whole[2:]
    assert len(reader.terms("values", beginning, 2)) > 2
    assert reader.terms("content", word_term("content", "t"), 9) == [
        word_term("content", "three"),
        word_term("content", "two"),
    ]


def test_documents_are_looked_at(reader: IndexReader) -> None:
    """
    A predicate gets the words of each value of a field, for each document that the query finds, or no values.
    """
    received: list[list[list[str]]] = []

    def is_match(values: Values) -> bool:
        received.append([list(words) for words in values])
        return ["y", "z"] in list(values)

    assert reader.filter_hits(EVERYTHING, ["k"], is_match) == ["a"]
    assert sorted(received) == [[["v"]], [["x"], ["y", "z"]], [["y"]]]
    only = Query.term_query(SCHEMA, "id", "b", "basic")
    assert reader.filter_hits(only, ["k"], is_match) == []
    assert reader.filter_hits(EVERYTHING, ["name", "content"], lambda values: ["first"] in list(values)) == ["a"]
    assert reader.filter_hits(EVERYTHING, ["kind"], lambda values: not values) == ["a", "c"]


def test_filtering_stops_with_the_request(reader: IndexReader) -> None:
    """
    Filtering of hits stops when its request is cancelled.
    """
    with deadline(0.0), pytest.raises(StoppedError):
        reader.filter_hits(EVERYTHING, ["k"], lambda values: pytest.fail("looked at"))


def test_no_time_for_all(reader: IndexReader, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A query that needs more than the remaining time does not start, because tantivy cannot be stopped.
    """
    reader.plan_trial_run(EVERYTHING)
    with deadline(60.0):
        reader.run_trials()
    monkeypatch.setattr(reader, "_trial_seconds", 3600.0)
    with deadline(60.0), pytest.raises(StoppedError, match="too short for the patterns"):
        reader.run_trials()


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=8), max_size=2),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4),
    st.sampled_from([0, 1, 2, 4, 99, 101, 110]),
)
def test_rows_of_words(values: list[list[str]], wanted: list[str], slop: int) -> None:
    """
    Ordered spans and sloppy phrases match a search over all positions, also across the gap between values.
    """
    placed = plain_clauses.places(tuple(map(tuple, values)))
    patterns = [re.compile(word) for word in wanted]
    assert is_ordered_span(values, patterns, slop) == plain_clauses.stand(placed, wanted, slop)
    assert is_sloppy_phrase(values, wanted, slop) == plain_clauses.stand_within(placed, wanted, slop)


@pytest.mark.parametrize("count", [12, pytest.param(2000, marks=pytest.mark.slow)])
def test_phrases_of_one_word(count: int) -> None:
    """
    A phrase that repeats a word more often than the text is rejected fast, however long it is.
    """
    wanted = ["a"] * count
    assert not is_sloppy_phrase([["a"] * (count - 1)], wanted, 4000)
    assert is_sloppy_phrase([["a"] * count], wanted, 4000)


def test_places_of_values() -> None:
    """
    Words have consecutive positions, with a gap of 100 between values, also after a value without words.
    """
    assert positions([["a", "b"], [], ["c"]]) == [(0, "a"), (1, "b"), (2 + 2 * 100, "c")]


@pytest.mark.parametrize(
    ("text", "slop", "is_found"),
    [("a b", 0, True), ("b a", 1, False), ("b a", 2, True), ("a x b", 0, False), ("a x b", 1, True), ("a", 9, False)],
)
def test_moved_words(text: str, slop: int, is_found: bool) -> None:
    """
    Two swapped words are two moves, a word between them is one; a missing word never matches.
    """
    assert is_sloppy_phrase([text.split()], ["a", "b"], slop) == is_found


def test_long_work_on_words_ends() -> None:
    """
    Phrase matching stops when its request is cancelled.
    """
    with deadline(0.0), pytest.raises(StoppedError):
        is_sloppy_phrase([["a", "b"]], ["a", "b"], 0)
