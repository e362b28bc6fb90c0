"""Facets of Alfresco's API: answers of a store, and the steps of ranges as Solr's FacetRangeProcessor makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.service.alfresco.test_routes import ANY, search
from whorl.errors import ParameterError
from whorl.model import Document
from whorl.service.alfresco.facets import MOST_STEPS, steps
from whorl.service.alfresco.request import FacetRange
from whorl.service.app import create_app
from whorl.store import open_store


def labels(**options: Any) -> list[str]:
    return [step.label for step in steps(FacetRange(**{"field": "f", "start": 0, "end": 10, "gap": 4, **options}))]


def test_numbers() -> None:
    """
    The last step exceeds the end, unless the end is hard; numbers of any size keep their digits.
    """
    assert labels() == ["[0 - 4)", "[4 - 8)", "[8 - 12)"]
    assert labels(hardend=True) == ["[0 - 4)", "[4 - 8)", "[8 - 10)"]
    assert labels(start="0.1", end="0.4", gap="0.1") == ["[0.1 - 0.2)", "[0.2 - 0.3)", "[0.3 - 0.4)"]


def test_ends() -> None:
    """
    `include` decides on the inclusive bounds of each step, and of the first and the last step.
    """
    assert labels(include="upper") == ["(0 - 4]", "(4 - 8]", "(8 - 12]"]
    assert labels(include=["edge"]) == ["[0 - 4)", "(4 - 8)", "(8 - 12]"]
    assert labels(include=["all"]) == ["[0 - 4]", "[4 - 8]", "[8 - 12]"]


def test_around() -> None:
    """
    Before and after count the values outside the steps. They include the first and last bound if no step does, or if
    `outer` is set.
    """
    *_, before, after, between = steps(FacetRange(field="f", start="0", end="8", gap="4", other=["all"]))
    assert before.high is not None
    assert after.low is not None
    assert (before.low, before.high.is_inclusive, after.low.is_inclusive, after.high) == (None, False, True, None)
    assert between.low is not None
    assert between.high is not None
    assert (between.low.is_inclusive, between.high.is_inclusive) == (True, False)
    facet = FacetRange(field="f", start="0", end="8", gap="4", other=["before"], include=["lower", "outer"])
    outer = steps(facet)[-1]
    assert outer.high is not None
    assert outer.high.is_inclusive
    assert labels(other=["none", "before"]) == labels()


def test_dates() -> None:
    """
    Date steps follow the calendar; a gap without a sign means plus.
    """
    years = labels(start="2019-01-31", end="2019-03-01", gap="+1MONTH")
    assert years == [
        "[2019-01-31T00:00:00.000Z - 2019-02-28T00:00:00.000Z)",
        "[2019-02-28T00:00:00.000Z - 2019-03-28T00:00:00.000Z)",
    ]
    assert labels(start="2019", end="2021", gap="1YEAR") == [
        "[2019-01-01T00:00:00.000Z - 2020-01-01T00:00:00.000Z)",
        "[2020-01-01T00:00:00.000Z - 2021-01-01T00:00:00.000Z)",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gap": -1}, "above 0"), ({"end": 0}, "not after"), ({"end": MOST_STEPS * 4 + 5}, "1,000 steps"),
        ({"start": "x"}, "not a number"), ({"gap": "+1DAY", "end": "x"}, "not a date"), ({"gap": "x"}, "not a date"),
        ({"start": "9999", "end": "9999-12", "gap": "+1YEAR"}, "years 1 to 9999"),
    ],
)  # fmt: skip
def test_unreadable_ranges_are_refused(options: dict[str, Any], said: str) -> None:
    """
    An invalid value, or a missing end, is an error that names it.
    """
    with pytest.raises(ParameterError, match=said):
        labels(**options)


#: The request of Alfresco's search page (ADF): its defaults, with the fields that these documents have.
PAGE: dict[str, Any] = {
    "paging": {"maxItems": 25, "skipCount": 0},
    "include": ["path", "allowableOperations", "properties"],
    "fields": ["id", "name", "nodeType", "isFile", "isFolder", "search"],
    "filterQueries": [{"query": "+TYPE:'cm:folder' OR +TYPE:'cm:content'"}, {"query": "-TYPE:'cm:thumbnail'"}],
    "facetQueries": [
        {"query": "cm:created:2017", "label": "created this year", "group": "Facet queries"},
        {"query": "cm:content.size:[0 TO 10240]", "label": "small", "group": "Facet queries"},
    ],
    "facetFields": {
        "facets": [
            {"field": "content.mimetype", "mincount": 1, "label": "Mimetype"},
            {"field": "creator", "mincount": 1, "label": "Creator", "limit": 20, "offset": 0, "prefix": ""},
            {"field": "SITE", "mincount": 1, "label": "Site"},
        ]
    },
    "facetIntervals": {
        "intervals": [
            {
                "label": "TheCreated",
                "field": "cm:created",
                "sets": [
                    {"label": "lastYear", "start": "2017", "end": "2018", "endInclusive": False},
                    {"label": "currentYear", "start": "NOW/YEAR", "end": "NOW/YEAR+1YEAR"},
                    {"label": "earlier", "start": "*", "end": "2018", "endInclusive": False},
                ],
            }
        ]
    },
    "sort": [{"type": "SCORE", "field": "score", "ascending": False}],
    "highlight": {
        "prefix": "<b>",
        "postfix": "</b>",
        "mergeContiguous": True,
        "fields": [{"field": "cm:title"}, {"field": "description", "prefix": "(", "postfix": ")"}],
    },
    "facetFormat": "V2",
}


def metrics(bucket: dict[str, Any]) -> dict[str, Any]:
    return {metric["type"]: metric["value"][metric["type"]] for metric in bucket["metrics"]}


def counts(facet: dict[str, Any]) -> list[tuple[str | None, int]]:
    return [(bucket.get("label"), int(metrics(bucket)["count"])) for bucket in facet["buckets"]]


def test_a_whole_request_of_a_search_page(service: TestClient) -> None:
    """
    The unchanged request returns hits by score, facets of all kinds, marked words, and warnings of missing fields.
    """
    listed = search(service, '(cm:name:"leas*" OR cm:title:"leas*" OR TEXT:"leas*")', **PAGE)
    (entry,) = [item["entry"] for item in listed["entries"] if item["entry"]["name"] == "lease.txt"]
    assert entry.keys() == {
        *("id", "name", "nodeType", "isFile", "isFolder", "search", "path", "allowableOperations", "properties")
    }
    assert entry["search"]["highlight"] == [{"field": "cm:title", "snippets": ["The <b>lease</b>"]}]
    queries, mimetype, creator, site, created = listed["context"]["facets"]
    assert (queries["type"], queries["label"]) == ("query", "Facet queries")
    assert counts(queries) == [("created this year", 1), ("small", 1)]
    assert (mimetype["type"], mimetype["label"], counts(mimetype)) == ("field", "Mimetype", [("text/plain", 1)])
    assert (creator["label"], counts(creator)) == ("Creator", [("mjackson", 1)])
    assert (site["label"], site["buckets"]) == ("Site", [])
    assert (created["type"], created["label"]) == ("interval", "TheCreated")
    assert counts(created) == [("lastYear", 1), ("currentYear", 0), ("earlier", 1)]
    assert created["buckets"][0]["bucketInfo"] == {
        "start": "2017",
        "end": "2018",
        "startInclusive": True,
        "endInclusive": False,
    }
    assert [warning.partition("'")[2].partition("'")[0] for warning in listed["context"]["warnings"]] == [
        "SITE",
        "description",
    ]


def test_buckets_choose_their_documents(service: TestClient) -> None:
    """
    A bucket's query, sent back as a filter, finds as many documents as the bucket counted.
    """
    facets = [{"field": name} for name in ("pages", "tags", "cm:created", "creator", "TYPE")]
    ranges = [{"field": "pages", "start": 0, "end": 4, "gap": 2, "other": "all"}]
    ranges.append({"field": "cm:created", "start": "2017", "end": "2021", "gap": "+1YEAR"})
    returned = search(service, "*", facetFields={"facets": facets}, ranges=ranges, facetFormat="V2")["context"][
        "facets"
    ]
    assert len(returned) == len(facets) + len(ranges)
    for facet in returned:
        assert facet["buckets"]
        for bucket in facet["buckets"]:
            page = search(service, "*", filterQueries=[{"query": bucket["filterQuery"]}])
            assert page["pagination"]["totalItems"] == int(metrics(bucket)["count"])


def test_fields_in_the_first_format(service: TestClient) -> None:
    """
    The first format has plain counts, for Alfresco's older clients; hits without a value come last, without a label.
    """
    facets = [{"field": "tags", "sort": "INDEX"}, {"field": "pages", "missing": True, "limit": 1, "offset": 1}]
    context = search(service, ANY, facetFields={"facets": facets}, paging={"maxItems": 1})["context"]
    assert context == {
        "facetsFields": [
            {
                "label": "tags",
                "buckets": [
                    {"label": "house", "display": "house", "filterQuery": '=tags:"house"', "count": 1},
                    {"label": "rent", "display": "rent", "filterQuery": '=tags:"rent"', "count": 1},
                ],
            },
            {
                "label": "pages",
                "buckets": [
                    {"label": "3", "display": "3", "filterQuery": "pages:[3 TO 3]", "count": 1},
                    {"filterQuery": 'ISNULL:"pages"', "count": 1},
                ],
            },
        ]
    }


def test_ranges(service: TestClient) -> None:
    """
    A range facet returns its steps, and the counts before and after them.
    """
    ranges = [{"field": "pages", "start": "0", "end": "2", "gap": "1", "other": ["after"], "label": "size"}]
    (facet,) = search(service, ANY, ranges=ranges)["context"]["facets"]
    assert (facet["type"], facet["label"]) == ("range", "size")
    assert counts(facet) == [("[0 - 1)", 0), ("[1 - 2)", 1), ("after", 1)]
    assert facet["buckets"][2]["bucketInfo"] == {"start": "2", "startInclusive": True}


def test_stats_and_pivots(service: TestClient) -> None:
    """
    Statistics cover all hits, or the hits of each value; pivots are counts within counts.
    """
    stats = [{"field": "pages", "label": "sizes", "stddev": False}]
    (facet,) = search(service, ANY, stats=stats)["context"]["facets"]
    assert (facet["type"], facet["label"]) == ("stats", "sizes")
    (bucket,) = facet["buckets"]
    assert metrics(bucket) == {
        "min": 1, "max": 3, "sum": 4, "countValues": 2, "missing": 1, "mean": 2, "sumOfSquares": 10,
    }  # fmt: skip
    fields = {"facets": [{"field": "creator", "label": "who"}, {"field": "tags"}]}
    pivots = [{"key": "who", "pivots": [{"key": "tags", "pivots": [{"key": "sizes"}]}]}]
    facets = search(service, ANY, stats=stats, facetFields=fields, pivots=pivots)["context"]["facets"]
    (pivot,) = facets
    assert (pivot["type"], pivot["label"], counts(pivot)) == ("pivot", "who", [("mjackson", 1)])
    (inner,) = pivot["buckets"][0]["facets"]
    assert (inner["label"], counts(inner)) == ("tags", [("house", 1), ("rent", 1)])
    assert metrics(inner["buckets"][1])["max"] == 3


def test_pivots_within_equal_numbers(tmp_path: Path) -> None:
    """
    Within a number that is an integer in some documents and a float in others, the documents of both are counted.
    """
    weights: list[tuple[int | float, str]] = [(7, "a"), (7.0, "a"), (7.0, "b"), (8, "a")]
    fields = {"facets": [{"field": "weight"}, {"field": "kind", "mincount": 2, "missing": True}]}
    with open_store(tmp_path / "store") as store, TestClient(create_app(store)) as service:
        store.index(
            Document(str(number), "one two", properties={"weight": weight, "kind": kind, "size": number})
            for number, (weight, kind) in enumerate(weights)
        )
        request = {"facetFields": fields, "stats": [{"field": "size", "label": "sizes"}]}
        kinds, sizes = ([{"key": "weight", "pivots": [{"key": key}]}] for key in ("kind", "sizes"))
        (by_kind, _), (by_size,) = (
            search(service, "one", **request, pivots=pivots)["context"]["facets"] for pivots in (kinds, sizes)
        )
    assert counts(by_kind) == [("7", 3), ("8", 1)]
    assert counts(by_kind["buckets"][0]["facets"][0]) == [("a", 2), (None, 0)]
    sizes_of_7 = metrics(by_size["buckets"][0])
    assert [sizes_of_7[name] for name in ("countValues", "min", "max", "sum", "missing")] == [3, 0, 2, 3, 0]


def test_a_facet_names_the_spelling_that_it_counts(tmp_path: Path) -> None:
    """
    A facet counts one spelling of a name, and a warning names the others.
    """
    with open_store(tmp_path / "store") as store, TestClient(create_app(store)) as service:
        store.index(
            Document(name, "one two", properties={name: "house"}) for name in ("subject", "cm:subject", "cm_subject")
        )
        context = search(service, "cm:subject:house", facetFields={"facets": [{"field": "subject"}]})["context"]
    (facet,) = context["facetsFields"]
    assert [(bucket["label"], bucket["count"]) for bucket in facet["buckets"]] == [("house", 1)]
    assert context["warnings"] == [
        "values that documents have as 'cm:subject' or 'cm_subject' are not counted by 'subject'"
    ]


def test_the_most_frequent_number_of_two_types(tmp_path: Path) -> None:
    """
    Neither the integer 7 nor the float 7.0 is the most frequent value of its type, but both together are.
    """
    weights: list[int | float] = [1, 1, 1, 1, 7, 7, 7, 2.5, 2.5, 2.5, 2.5, 7.0, 7.0, 7.0]
    with open_store(tmp_path / "store") as store, TestClient(create_app(store)) as service:
        store.index(
            Document(str(number), "one two", properties={"weight": weight}) for number, weight in enumerate(weights)
        )
        fields = {"facets": [{"field": "weight", "limit": 1}]}
        [facet] = search(service, "one", facetFields=fields)["context"]["facetsFields"]
    assert [(bucket["label"], bucket["count"]) for bucket in facet["buckets"]] == [("7", 6)]


def test_a_late_page_of_numbers_of_two_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A page may begin beyond the number of values that are requested to merge integers and floats.
    """
    monkeypatch.setattr("whorl.service.alfresco.facets.MOST_VALUES", 2)
    with open_store(tmp_path / "store") as store, TestClient(create_app(store)) as service:
        store.index(Document(str(number), "one two", properties={"weight": number}) for number in range(5))
        store.index([Document("half", "one two", properties={"weight": 0.5})])
        fields = {"facets": [{"field": "weight", "offset": 3, "limit": 2}]}
        [facet] = search(service, "one", facetFields=fields)["context"]["facetsFields"]
    assert len(facet["buckets"]) == 2


def test_filters_by_their_tags(service: TestClient) -> None:
    """
    A facet excludes the filters whose tags it names, and no others.
    """
    filters = [{"query": "pages:3", "tags": ["size"]}, {"query": "cm:created:[2000 TO NOW]", "tags": ["date"]}]
    facets = [
        {"field": "pages", "label": "filtered"},
        {"field": "pages", "label": "open", "excludeFilters": ["size"], "sort": "INDEX"},
    ]
    page = search(service, ANY, filterQueries=filters, facetFields={"facets": facets}, facetFormat="V2")
    assert page["pagination"]["totalItems"] == 1
    filtered, without = page["context"]["facets"]
    assert counts(filtered) == [("3", 1)]
    assert counts(without) == [("1", 1), ("3", 1)]


@pytest.mark.parametrize(
    ("query", "fields", "expected"),
    [
        ("landlord", [], "<em>landlord</em>"),
        ('TEXT:"Mill Lane"', [{"field": "cm:content"}], "<em>Mill</em> <em>Lane</em>"),
        ("leese~0.7", [{"field": "cm:content"}], "<em>LEASE</em>"),
    ],
)
def test_highlights(service: TestClient, query: str, fields: list[Any], expected: str) -> None:
    """
    Without a field, name and text are highlighted; a fragment has about a hundred characters.
    """
    listed = search(service, query, highlight={"fields": fields})
    marked = next(entry["entry"]["search"] for entry in listed["entries"] if entry["entry"]["name"] == "lease.txt")
    snippets = [text for entry in marked["highlight"] for text in entry["snippets"]]
    assert any(expected in text for text in snippets)
    assert all(len(text.replace("<em>", "").replace("</em>", "")) <= 120 for text in snippets)


def test_no_marks_in_similar_documents(service: TestClient) -> None:
    """
    A FINGERPRINT alone highlights no words.
    """
    listed = search(service, ANY, highlight={"fields": [{"field": "cm:content"}]})
    assert all("highlight" not in entry["entry"]["search"] for entry in listed["entries"])


def test_spelling(service: TestClient) -> None:
    """
    Suggestions are for the user's words or for a given text; if all words are known, the answer has none.
    """
    options = {"query": {"query": "landlrd", "userQuery": "the landlrd"}, "spellcheck": {}}
    response = service.post("/alfresco/api/-default-/public/search/versions/1/search", json=options).json()["list"]
    assert response["context"]["spellCheck"] == {"type": "didYouMean", "suggestions": ["the landlord"]}
    assert search(service, "x", spellcheck={"query": "tennant"})["context"]["spellCheck"]["suggestions"] == ["tenant"]
    assert search(service, "x", spellcheck={"query": "tenant"})["context"] == {}
