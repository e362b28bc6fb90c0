"""Tests of clauses on fields: every engine has the ids, scores and order of a plain evaluation of the tree."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.conformance.answers import collected, expected
from tests.conformance.clauses import generated
from tests.sampling import combine, sample
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import FieldError, UnsupportedQueryError

QUERIES = sample(generated(640), 8)


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES)
def test_hits_and_scores_equal_the_plain_evaluation(store: Store, query: str) -> None:
    """
    A random query gives the ids, scores and order of a loop over all documents.
    """
    page = store.search(query, rows=200)
    scores = [(hit.id, hit.score) for hit in page.hits]
    assert page.total == len(expected(query))
    assert [name for name, _ in scores] == [name for name, _ in expected(query)]
    assert [score for _, score in scores] == pytest.approx([score for _, score in expected(query)], rel=1e-5, abs=0)


@pytest.mark.slow
def test_most_queries_find_some_documents_but_not_all() -> None:
    """
    Most queries find some documents but not all, so that the tests above are meaningful.
    """
    sizes, whole = [len(expected(query)) for query in QUERIES], len(collected())
    assert sum(0 < size < whole for size in sizes) > 0.75 * len(QUERIES)


@pytest.mark.slow
def test_a_pattern_with_a_huge_automaton(store: Store, collection: list[Document]) -> None:
    """
    A pattern with a huge automaton is evaluated, or the server's refusal becomes an error that names the query.
    """
    pattern = f"*a{'?' * 30}b"
    longest = max(collection, key=lambda document: len(document.text)).id
    for ask in (lambda: store.search(pattern).total, lambda: store.similar(longest, filter=pattern).total):
        if isinstance(store.engine, EmbeddedEngine):
            assert ask() == 0
            continue
        with pytest.raises(UnsupportedQueryError, match=r"(?s)\*a\?{30}b: this pattern .*fewer \?"):
            ask()


def test_special_values_of_sites(store: Store) -> None:
    """
    Alfresco's special values of SITE stand for any site, for none, and for everything; `=` looks for the value itself.
    """
    sites = {"one": "swsdp", "two": ["a b", "_ALL_SITES_"], "none": [], "repository": "_REPOSITORY_"}
    store.index([Document(name, "", properties={"SITE": value, "kind": "sited"}) for name, value in sites.items()])
    try:
        for clause, found in (
            ("SITE:_ALL_SITES_", {"one", "two"}),
            ("-SITE:'_ALL_SITES_'", {"none", "repository"}),
            ('SITE:"_REPOSITORY_"', {"none", "repository"}),
            ("SITE:(_REPOSITORY_ OR swsdp)", {"one", "none", "repository"}),
            ("SITE:_EVERYTHING_", {*sites}),
            ("ISNODE:T", {*sites}),
            ("=SITE:_REPOSITORY_", {"repository"}),
            ("=SITE:_ALL_SITES_", {"two"}),
        ):
            page = store.search(f"({clause}) AND =kind:sited")
            assert {hit.id for hit in page.hits} == found, clause
            assert len({hit.score for hit in page.hits}) == 1
    finally:
        store.delete([*sites])


@pytest.mark.parametrize("name", ["nmae", "cm:nmae", "{http://www.alfresco.org/model/content/1.0}nmae", "cm_nmae"])
def test_an_unknown_field_is_an_error(store: Store, name: str) -> None:
    """
    An unknown field, with any prefix, is an error with its position and the nearest name, on every engine.
    """
    with pytest.raises(FieldError) as raised:
        store.search(f"lorem1 OR {name}:x")
    assert "no field" in raised.value.message
    assert (raised.value.span.start, raised.value.span.end) == (10, 12 + len(name))
    assert raised.value.hint == "Did you mean name?"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("pages:ten", "field .*pages' holds whole numbers: 'ten' is not a number"),
        ("pages:1.5", "'1.5' is not a whole number"),
        ("price:[a TO 5]", "field .*price' holds whole numbers and numbers: 'a' is not a number"),
        ("created:[yesterday TO NOW]", "'yesterday' is not a date"),
        ('created:"2021-02-30"', "'2021-02-30' is not a date: day is out of range for month"),
        ('created:"NOW/WEEK"', "'WEEK' is not a unit of time"),
        ("final:maybe", "'maybe' is neither true nor false"),
        ("final:[a TO b]", "a range needs values that have an order"),
        ("content:[a TO b]", "field 'content' holds words: a range needs whole values"),
        ("created:*2020", "wildcards need text"),
        ("pages:ten~0.5", "this needs words"),
        ('PATH:"/app:company_home"', "PATH needs an Alfresco repository behind it"),
        ("ISNULL:cm:nothing", "the store has no field 'cm:nothing'"),
        ('"lorem0 * lorem1"', "must be part of a word"),
    ],
)
def test_an_invalid_value_is_an_error(store: Store, query: str, message: str) -> None:
    """
    An invalid value is an error that shows it, never a query without hits.
    """
    with pytest.raises(FieldError, match=message) as raised:
        store.search(query)
    assert query[raised.value.span.start : raised.value.span.end] == query


@pytest.mark.parametrize("year", [2019, 2020, 2021])
def test_the_beginning_of_a_date(store: Store, year: int) -> None:
    """
    The year with an asterisk finds the dates of the year, also in a field without texts.
    """
    wanted = store.search(f"created:[{year} TO {year}]", rows=1000)
    assert store.search(f"created:{year}*", rows=1000).hits == wanted.hits


@pytest.mark.parametrize("query", ["|lorem0 -ipsum0", "|lorem0 AND -ipsum0", "|lorem0 AND NOT ipsum0"])
def test_an_exclusion_makes_no_other_clause_required(store: Store, collection: list[Document], query: str) -> None:
    """
    Every document without the excluded word is found, and the optional word adds a point, as in Alfresco.
    """
    words = {document.id: document.text.lower().split() for document in collection}
    wanted = {name: 1.0 + ("lorem0" in members) for name, members in words.items() if "ipsum0" not in members}
    assert {hit.id: hit.score for hit in store.search(query, rows=200).hits} == wanted


def test_a_range_of_numbers_warns_about_texts(store: Store) -> None:
    """
    If a field has texts and numbers, a range of numbers warns that it leaves out the texts.
    """
    (warning,) = store.search("mixed:[6 TO 9]").warnings
    assert (
        warning
        == "field 'mixed' holds whole numbers and numbers and dates, and text as well, which the range leaves out"
    )


def test_now_has_one_value_within_a_query(store: Store) -> None:
    """
    NOW has one value within a query, and ranges around it find a document of this moment.
    """
    document = Document("now", "", properties={"created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")})
    store.index([document])
    try:
        assert [hit.id for hit in store.search("created:[TODAY-1DAY TO NOW]").hits] == ["now"]
        assert [hit.id for hit in store.search("created:[NOW-1HOUR TO NOW+1MINUTE]").hits] == ["now"]
        assert store.search("created:[NOW+1MINUTE TO MAX]").total == 0
    finally:
        store.delete(["now"])


@pytest.mark.parametrize(
    ("word", "form"),
    combine(
        ['a"b', "a\\", "{!lucene}*:*", "a* OR *:*", "x TO *]", "AND", "_query_:x", "*)", "\\u002a", "a/b"],
        ['=code:"{}"', '=code:"{}*"', 'code:["{}" TO "{}"]', '"zzz {}"~3', 'name:"{}"~4'],
    ),
)
def test_no_text_is_syntax(store: Store, word: str, form: str) -> None:
    """
    A quoted text with any characters is taken literally, finds nothing, and causes no failure of an engine.
    """
    typed = word.replace("\\", "\\\\").replace('"', '\\"').replace("*", "\\*")
    assert store.search(form.replace("{}", typed)).total == 0


@pytest.mark.parametrize("query", ['"-"', 'name:"-"', 'content:"-"'])
def test_a_query_without_words(store: Store, query: str) -> None:
    """
    A query of punctuation matches nothing, with the same warning on every engine.
    """
    page = store.search(query)
    assert (page.total, page.warnings) == (0, ("there is no word in '-', so it matches nothing",))
