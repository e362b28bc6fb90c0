"""Tests of Alfresco's routes on every engine: each part of a search and of its answer; user, version, node."""

from __future__ import annotations

import base64
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.service.contracts import NODE
from whorl import Document, Store, open_store, parse
from whorl.query.plan import planner
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.service.requests_and_responses import DISCOVERY, NODES, PEOPLE, SEARCH, TICKETS
from whorl.settings.settings import Settings

#: Queries for the lease, for its renewal (which contains seven eighths of it), and for the minutes (which quote one of
#: its clauses).
ANY = "FINGERPRINT:lease"
BASICS = {
    "id",
    "name",
    "nodeType",
    "isFolder",
    "isFile",
    "createdAt",
    "createdByUser",
    "modifiedAt",
    "modifiedByUser",
    "location",
    "search",
}


def search(service: TestClient, query: str, **parts: Any) -> dict[str, Any]:
    """Search, and return the value of `list`."""
    answer = service.post(SEARCH, json={"query": {"query": query}, **parts})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    assert list(body) == ["list"]
    listed: dict[str, Any] = body["list"]
    assert list(listed) == ["pagination", "context", "entries"]
    return listed


def entries(service: TestClient, query: str, **parts: Any) -> list[dict[str, Any]]:
    return [entry["entry"] for entry in search(service, query, **parts)["entries"]]


def names(service: TestClient, query: str, **parts: Any) -> list[str]:
    return [entry["name"] for entry in entries(service, query, **parts)]


def test_a_template_is_the_default_field(service: TestClient) -> None:
    """
    Alfresco Share names a template as the default field; words without a field are then searched as the template says.
    """
    keywords = {"templates": [{"name": "keywords", "template": "%(cm:name cm:title)"}]}
    by_default = names(service, "lease", **keywords, defaults={"defaultFieldName": "keywords"})
    assert by_default == names(service, "cm:name:lease OR cm:title:lease") != []
    keywords["templates"][0]["template"] = "%(cm:name) OR storm"
    assert names(service, "lease", **keywords, defaults={"defaultFieldName": "keywords"}) == names(
        service, "cm:name:lease OR storm"
    )


def test_an_entry_has_what_the_document_has(service: TestClient) -> None:
    """
    An entry has the node's identity, type, times, users and content; search.score is the number of shared tokens.
    """
    lease = entries(service, ANY)[0]
    assert lease.keys() == BASICS | {"parentId", "content"}
    assert {name: lease[name] for name in lease if name != "search"} == {
        "id": NODE,
        "name": "lease.txt",
        "nodeType": "cm:content",
        "isFolder": False,
        "isFile": True,
        "createdAt": "2017-04-10T10:52:30.868+0000",
        "createdByUser": {"id": "mjackson", "displayName": "mjackson"},
        "modifiedAt": "2018-01-02T00:00:00.000+0000",
        "modifiedByUser": {"id": "abeecher", "displayName": "abeecher"},
        "parentId": "11112222-cccc-4ddd-8eee-ffff00001111",
        "content": {"mimeType": "text/plain", "mimeTypeName": "text/plain", "sizeInBytes": 1234},
        "location": "nodes",
    }
    assert lease["search"]["score"] == 512


def test_an_entry_has_defaults_for_the_rest(service: TestClient) -> None:
    """
    A document with nothing but a text has the nine keys that generated clients require.
    """
    (recipe,) = entries(service, "FINGERPRINT:recipe")
    assert recipe.keys() == BASICS
    assert {name: recipe[name] for name in recipe if name != "search"} == {
        "id": "recipe",
        "name": "recipe",
        "nodeType": "cm:content",
        "isFolder": False,
        "isFile": True,
        "createdAt": "1970-01-01T00:00:00.000+0000",
        "createdByUser": {"id": "System", "displayName": "System"},
        "modifiedAt": "1970-01-01T00:00:00.000+0000",
        "modifiedByUser": {"id": "System", "displayName": "System"},
        "location": "nodes",
    }


def test_modification_time_defaults_to_creation_time(service: TestClient) -> None:
    """
    Without a modification time, an entry has the creation time; a folder is not a file.
    """
    renewal, minutes = entries(service, ANY)[1:]
    assert renewal["createdAt"] == renewal["modifiedAt"] == "2020-05-03T00:00:00.000+0000"
    assert (minutes["nodeType"], minutes["isFolder"], minutes["isFile"]) == ("cm:folder", True, False)


def test_a_node_is_a_source_by_each_of_its_names(service: TestClient) -> None:
    """
    A FINGERPRINT finds its source by its UUID (the entry's id), its DBID, and its node reference.
    """
    wanted = names(service, ANY)
    assert wanted == ["lease.txt", "renewal.txt", "minutes.txt"]
    for reference in (NODE, "1234", f'"workspace://SpacesStore/{NODE}"'):
        assert names(service, f"FINGERPRINT:{reference}") == wanted


def test_shared_tokens_and_shares_of_an_entry(service: TestClient, contracts: Store) -> None:
    """
    An entry has the shared tokens and the three shares, with intervals that contain the exact values of a comparison.
    """
    own, renewal, minutes = (entry["search"] for entry in entries(service, ANY))
    fingerprint = own["fingerprint"]
    assert fingerprint == {
        "source": "lease",
        "sharedTokens": 512,
        "tokens": 512,
        "jaccard": 1,
        "a_in_b": 1,
        "b_in_a": 1,
        "exact": True,
    }
    for entry, document in ((renewal, "renewal"), (minutes, "minutes")):
        fingerprint = entry["fingerprint"]
        exact = contracts.compare("lease", document)
        assert fingerprint["sharedTokens"] == entry["score"]
        for name in ("jaccard", "a_in_b", "b_in_a"):
            low, high = fingerprint.get("intervals", {}).get(name, [fingerprint[name], fingerprint[name] + 1e-6])
            assert low <= getattr(exact.shares, name) <= high
    assert minutes["fingerprint"]["b_in_a"] > 2 * minutes["fingerprint"]["a_in_b"]


@pytest.mark.parametrize("query", ["lease", "FINGERPRINT:lease OR FINGERPRINT:recipe"])
def test_shares_are_those_of_one_source(service: TestClient, query: str) -> None:
    """
    Without a FINGERPRINT, or with two sources, hits have a score but no shares.
    """
    hits = entries(service, query)
    assert hits
    for entry in hits:
        assert list(entry["search"]) == ["score"]


def test_paging(service: TestClient) -> None:
    """
    The pagination has five numbers. Clients may send numbers as text, and the default is a hundred hits.
    """
    first = search(service, ANY, paging={"maxItems": "2", "skipCount": "0"})
    assert first["pagination"] == {"count": 2, "hasMoreItems": True, "totalItems": 3, "skipCount": 0, "maxItems": 2}
    last = search(service, ANY, paging={"maxItems": 2, "skipCount": 2})
    assert last["pagination"] == {"count": 1, "hasMoreItems": False, "totalItems": 3, "skipCount": 2, "maxItems": 2}
    beyond = search(service, ANY, paging={"skipCount": 7})
    assert beyond["pagination"] == {"count": 0, "hasMoreItems": False, "totalItems": 3, "skipCount": 7, "maxItems": 100}
    assert [entry["entry"]["name"] for page in (first, last) for entry in page["entries"]] == names(service, ANY)


def test_include(service: TestClient) -> None:
    """
    `include` adds optional keys; properties leave out values with a key of their own, and keep their types.
    """
    arguments = ["properties", "aspectNames", "path", "allowableOperations", "isLink", "isLocked"]
    lease = entries(service, ANY, include=arguments)[0]
    assert lease.keys() == BASICS | {"parentId", "content", *arguments}
    assert lease["properties"] == {
        "DBID": "1234",
        "LID": f"workspace://SpacesStore/{NODE}",
        "cm:title": "The lease",
        "pages": 3,
        "tags": ["rent", "house"],
    }
    assert lease["aspectNames"] == ["cm:titled", "sys:referenceable"]
    assert (lease["isLink"], lease["isLocked"], lease["allowableOperations"]) == (False, False, [])
    assert lease["path"] == {"name": "", "isComplete": False, "elements": []}


def test_fields(service: TestClient) -> None:
    """
    An entry has only the keys of `fields` and `include`.
    """
    assert all(entry.keys() == {"id", "search"} for entry in entries(service, ANY, fields=["id", "search"]))
    lease = entries(service, ANY, fields=["name", "aspectNames"], include=["properties"])[0]
    assert list(lease) == ["name", "aspectNames", "properties"]


def test_the_request_is_returned(service: TestClient) -> None:
    """
    The answer repeats the request if the request asks for it.
    """
    parts = {"paging": {"maxItems": 1}, "include": ["path"], "includeRequest": True, "scope": {"locations": ["nodes"]}}
    assert search(service, ANY, **parts)["context"] == {"request": {"query": {"query": ANY}, **parts}}
    assert search(service, ANY, includeRequest=False)["context"] == {}


def test_sort(service: TestClient) -> None:
    """
    Hits are sorted by fields, by fields' Alfresco names, by score or by id; a single key needs no list.
    """

    def sorted_by(sort: Any) -> list[str]:
        return names(service, ANY, sort=sort)

    assert sorted_by([{"type": "FIELD", "field": "cm:name", "ascending": True}]) == [
        "lease.txt",
        "minutes.txt",
        "renewal.txt",
    ]
    assert sorted_by({"field": "pages", "ascending": "true"}) == ["renewal.txt", "lease.txt", "minutes.txt"]
    assert sorted_by([{"type": "FIELD", "field": "cm:created"}]) == ["renewal.txt", "lease.txt", "minutes.txt"]
    assert sorted_by([{"type": "SCORE", "ascending": True}]) == ["minutes.txt", "renewal.txt", "lease.txt"]
    assert sorted_by([{"type": "score"}]) == ["lease.txt", "renewal.txt", "minutes.txt"]
    assert sorted_by([{"type": "DOCUMENT"}]) == ["renewal.txt", "minutes.txt", "lease.txt"]


def test_filters(service: TestClient) -> None:
    """
    Every filter applies, and none changes the score; several queries in one filter are alternatives.
    """
    assert names(service, ANY, filterQueries=[{"query": "pages:[2 TO MAX]"}]) == ["lease.txt"]
    both = [{"queries": ["pages:3", "pages:1"], "tags": ["t"]}, {"query": "NOT cm:title:lease"}]
    (renewal,) = entries(service, ANY, filterQueries=both)
    assert renewal["name"] == "renewal.txt"
    assert renewal["search"]["score"] == entries(service, ANY)[1]["search"]["score"]
    assert entries(service, "pages:1", filterQueries=[{"query": f"{ANY}^5"}])[0]["search"]["score"] == 1


def test_facet_queries(service: TestClient) -> None:
    """
    A facet query counts its matches among all filtered hits, not only on the page.
    """
    facets = [{"query": "pages:[1 TO 1]", "label": "short"}, {"query": "cm:title:*"}]
    parts = {"facetQueries": facets, "paging": {"maxItems": 1}}
    counted = [
        {"label": "short", "filterQuery": "pages:[1 TO 1]", "count": 1},
        {"label": "cm:title:*", "filterQuery": "cm:title:*", "count": 1},
    ]
    assert search(service, ANY, **parts)["context"] == {"facetQueries": counted}
    filtered = search(service, ANY, **parts, filterQueries=[{"query": "cm:title:*"}])
    assert [query["count"] for query in filtered["context"]["facetQueries"]] == [0, 1]


def test_each_text_is_read_once(service: TestClient, contracts: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A request with two facet queries parses its three texts once each and fetches the source once; the hits' tokens are
    counted by the search.
    """
    read, requested, fetched = list[str](), list[list[str]](), list[list[str]]()
    engine = contracts.engine
    signed, signatures = engine.resolve_signatures, engine.signatures

    def parsing(text: str, **how: Any) -> Any:
        read.append(text)
        return parse(text, **how)

    def asking(wanted: Any) -> Any:
        requested.append(list(wanted))
        return signed(wanted)

    def fetching(wanted: Any) -> Any:
        fetched.append(sorted(wanted))
        return signatures(wanted)

    # A fresh cache, without the queries that other tests have parsed.
    monkeypatch.setattr(planner, "_cached_parse", lru_cache(parsing))
    monkeypatch.setattr(engine, "resolve_signatures", asking)
    monkeypatch.setattr(engine, "signatures", fetching)
    facets = [{"query": "pages:1"}, {"query": f"{ANY}_50 AND pages:3"}]
    assert len(search(service, ANY, facetQueries=facets)["entries"]) == 3
    assert sorted(read) == sorted([ANY, *(facet["query"] for facet in facets)])
    assert requested == [["lease"]]
    # An engine may reuse the first answer for the second call.
    assert [ids for ids in fetched if ids != ["lease"]] == []
    assert fetched.count(["lease"]) <= 1


def test_facet_queries_in_groups(service: TestClient) -> None:
    """
    Facet queries with a group, or in the second format, become buckets.
    """
    facets = [{"query": "pages:1", "label": "one", "group": "pages"}, {"query": "pages:3", "group": "pages"}]
    buckets = [
        {"label": "one", "filterQuery": "pages:1", "metrics": [{"type": "count", "value": {"count": "1"}}]},
        {"label": "pages:3", "filterQuery": "pages:3", "metrics": [{"type": "count", "value": {"count": "1"}}]},
    ]
    context = search(service, ANY, facetQueries=facets)["context"]
    assert context == {"facets": [{"type": "query", "label": "pages", "buckets": buckets}]}
    context = search(service, ANY, facetQueries=[{"query": "pages:3"}], facetFormat="V2")["context"]
    assert context == {"facets": [{"type": "query", "buckets": buckets[1:]}]}


def test_templates_and_defaults(service: TestClient) -> None:
    """
    Templates and defaults of the request complete the query.
    """
    template = [{"name": "ANYWHERE", "template": "%(cm:title cm:content)"}]
    assert names(service, "ANYWHERE:lease", templates=template) == names(service, "cm:title:lease OR cm:content:lease")
    either, both = names(service, "landlord flour"), names(service, "landlord AND flour")
    assert len(either) > len(both) == 0
    assert names(service, "landlord flour", defaults={"defaultFTSOperator": "AND"}) == both
    assert names(service, "landlord flour", defaults={"defaultFTSOperator": "or"}) == either
    assert names(service, "TEXT:(landlord flour)", defaults={"defaultFTSFieldOperator": "AND"}) == both
    assert names(service, "lease", defaults={"textAttributes": ["cm:title"]}) == ["lease.txt"]
    assert names(service, "lease", defaults={"defaultFieldName": "cm:title", "namespace": "cm"}) == ["lease.txt"]


def test_parts_that_ask_for_nothing(service: TestClient) -> None:
    """
    Null, empty and default parts are treated as missing; languages and enumerations ignore case.
    """
    nothing: dict[str, Any] = {
        **dict.fromkeys(("paging", "fields", "highlight", "spellcheck", "limits", "defaults")),
        **{name: [] for name in ("include", "sort", "templates", "filterQueries", "ranges", "stats", "pivots")},
        "facetFields": {"facets": []},
        "facetIntervals": {},
        "facetFormat": "V1",
        "scope": {"locations": "nodes"},
        "localization": {"timezone": "UTC", "locales": []},
    }
    answer = service.post(SEARCH, json={"query": {"query": ANY, "language": "AFTS", "userQuery": "x"}, **nothing})
    assert answer.json() == service.post(SEARCH, json={"query": {"query": ANY}}).json()


def test_warnings_are_reported(service: TestClient) -> None:
    """
    An unknown source finds nothing, and the context has a warning.
    """
    page = search(service, "FINGERPRINT:gone")
    assert page["pagination"]["totalItems"] == 0
    assert "'gone'" in page["context"]["warnings"][0]


#: The filters of Alfresco's own web and mobile applications.
ALWAYS = [
    "+TYPE:'cm:folder' OR +TYPE:'cm:content'",
    "-TYPE:'cm:thumbnail' AND -TYPE:'cm:failedThumbnail' AND -TYPE:'cm:rating'",
    "-cm:creator:System AND -QNAME:comment",
    "-TYPE:'st:site' AND -ASPECT:'st:siteContainer' AND -ASPECT:'sys:hidden'",
    "-TYPE:'dl:dataList' AND -TYPE:'dl:todoList' AND -TYPE:'dl:issue'",
    "-TYPE:'fm:topic' AND -TYPE:'fm:post'",
    "-TYPE:'lnk:link'",
    "-QNAME:comment\\-* AND -PNAME:'0/wiki'",
]


def test_fields_of_every_alfresco(service: TestClient) -> None:
    """
    A well-known Alfresco field that the store lacks matches nothing, with a warning; any other unknown field is an
    error.
    """
    listed = search(service, ANY, filterQueries=[{"query": query} for query in ALWAYS])
    assert {entry["entry"]["name"] for entry in listed["entries"]} == {"lease.txt", "minutes.txt"}
    warnings = [f"the store has no field {name}, so no document has a value there" for name in ("QNAME", "PNAME")]
    assert listed["context"]["warnings"] == warnings
    for query in ("QNAME:comment", 'EXISTS:"PNAME"', "SITE:[a TO b]", "TAG:le*", "NOT NOT QNAME:comment"):
        assert search(service, f"({query}) AND {ANY}")["entries"] == []
    for query in ('ISNULL:"PNAME"', "NOT TAG:x"):
        assert len(search(service, f"({query}) AND {ANY}")["entries"]) == 3
    sort = [{"type": "FIELD", "field": "cm:description"}, {"type": "DOCUMENT", "ascending": False}]
    found = search(service, ANY, sort=sort)
    ids = [entry["entry"]["id"] for entry in found["entries"]]
    assert ids == sorted(ids, reverse=True)
    assert found["context"]["warnings"] == ["the store has no field cm:description, so no document has a value there"]
    answer = service.post(SEARCH, json={"query": {"query": "cm:colour:red"}})
    assert (answer.status_code, "cm:colour" in answer.json()["error"]["briefSummary"]) == (400, True)


def test_warnings_of_facet_queries_are_reported(service: TestClient) -> None:
    """
    A facet query that cannot match adds its warning to the answer, once.
    """
    facets = [{"query": "FINGERPRINT:gone", "label": "a"}, {"query": "FINGERPRINT:gone_20", "label": "b"}]
    context = search(service, ANY, facetQueries=facets)["context"]
    assert [query["count"] for query in context["facetQueries"]] == [0, 0]
    assert context["warnings"] == ["the store has no document 'gone'"]


def test_names_of_whorl_toml(embedded_contracts: Store) -> None:
    """
    Entries read properties by the names in the settings.
    """
    from whorl.service.app import create_app

    renamed = Store(embedded_contracts.engine, {"cm:creator": "cm:modifier"})
    lease = entries(TestClient(create_app(renamed)), ANY)[0]
    assert lease["createdByUser"]["id"] == "abeecher"


def test_properties_without_a_place_stay_properties(service: TestClient, contracts: Store) -> None:
    """
    An invalid date, and a content type without a size, do not become parts of the entry, and stay among the properties.
    """
    # Use `cm:creator`, not `creator`: a store keeps the fields that it has had, and other tests query `creator`.
    odd = {"created": "last spring", "mimetype": "text/html", "cm:creator": "bob"}
    contracts.index([Document("odd", "one two three four five six seven", properties=odd)])
    try:
        (entry,) = entries(service, "FINGERPRINT:odd", include=["properties"])
        assert entry["properties"] == {"created": "last spring", "mimetype": "text/html"}
        assert entry["createdByUser"]["id"] == "bob"
        assert entry["createdAt"].startswith("1970")
        assert "content" not in entry
    finally:
        contracts.delete(["odd"])
        contracts.engine.refresh()


def test_no_hit_is_lost_if_another_is_deleted(embedded_contracts: Store) -> None:
    """
    A hit that is deleted during the search stays in the answer.
    """
    from whorl.service.app import create_app

    class Forgetful(Store):
        def documents(self, ids: Any) -> Any:
            return {}

    service = TestClient(create_app(Forgetful(embedded_contracts.engine)))
    assert names(service, ANY) == ["lease.txt", "renewal.txt", "minutes.txt"]


def test_text_beyond_ascii(service: TestClient, contracts: Store) -> None:
    """
    Ids, names and properties of any script are returned unchanged.
    """
    contracts.index([Document("日本/a b", "ein zwei drei vier fünf sechs", "Größe 😀", {"höhe": "straße"})])
    try:
        (entry,) = entries(service, 'FINGERPRINT:"日本/a b"', include=["properties"])
        assert (entry["id"], entry["name"], entry["properties"]) == ("日本/a b", "Größe 😀", {"höhe": "straße"})
    finally:
        contracts.delete(["日本/a b"])
        contracts.engine.refresh()


def test_a_node_of_a_hit(service: TestClient) -> None:
    """
    A node is found by the id of its entry, with the same basic keys, and by its DBID or its own id.
    """
    (hit,) = [entry for entry in entries(service, "FINGERPRINT:lease") if entry["name"] == "lease.txt"]
    node = service.get(f"{NODES}/{hit['id']}").json()["entry"]
    assert node["id"] == NODE
    assert {**hit, "search": None} == {**{name: node[name] for name in hit if name != "search"}, "search": None}
    assert node["aspectNames"] == ["cm:titled", "sys:referenceable"]
    assert node["properties"]["cm:title"] == "The lease"
    assert "path" not in node
    assert service.get(f"{NODES}/1234").json()["entry"] == service.get(f"{NODES}/lease").json()["entry"] == node


def test_a_node_whose_id_is_a_path(tmp_path: Path) -> None:
    """
    The id of a file has slashes, which clients send as %2F.
    """
    with open_store(tmp_path) as store:
        store.index([Document("letters/2024/offer.txt", "the offer of the year")])
        client = TestClient(create_app(store))
        for path in ("letters%2F2024%2Foffer.txt", "letters/2024/offer.txt"):
            assert client.get(f"{NODES}/{path}").json()["entry"]["id"] == "letters/2024/offer.txt"


def test_an_id_that_is_the_dbid_of_another(tmp_path: Path) -> None:
    """
    The id in a hit names this document, also if another document has it as its DBID.
    """
    with open_store(tmp_path) as store:
        store.index([Document("456", "one", properties={"DBID": 123}), Document("123", "two")])
        client = TestClient(create_app(store))
        assert [client.get(f"{NODES}/{name}").json()["entry"]["id"] for name in ("123", "456")] == ["123", "456"]


def test_include_and_fields_of_a_node(embedded_service: TestClient) -> None:
    """
    `include` takes a list or names separated by commas; `fields` leaves out all other keys.
    """
    options = {"include": "path,allowableOperations,permissions,isFavorite", "fields": "id,path"}
    node = embedded_service.get(f"{NODES}/lease", params=options).json()["entry"]
    assert node.keys() == {"id", "path"}
    node = embedded_service.get(f"{NODES}/lease?fields=id,isLocked").json()["entry"]
    assert node == {"id": NODE, "isLocked": False}
    node = embedded_service.get(f"{NODES}/lease?include=isLink&include=isFavorite").json()["entry"]
    assert (node["isLink"], node["isFavorite"]) == (False, False)


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        (f"{NODES}/gone", 404, "'gone'"),
        (f"{NODES}/-root-", 404, "'-root-'"),
        (f"{NODES}/lease?include=everything", 400, "include"),
        (f"{NODES}/lease?fields=id,nosuch", 400, "fields"),
        (f"{NODES}/lease?relativePath=a", 400, "relativePath"),
    ],
)
def test_no_such_node(embedded_service: TestClient, path: str, status: int, said: str) -> None:
    """
    An unknown node is a 404 in Alfresco's shape.
    """
    answer = embedded_service.get(path)
    assert answer.status_code == answer.json()["error"]["statusCode"] == status
    assert said in answer.json()["error"]["briefSummary"]


def test_the_current_user(embedded_contracts: Store) -> None:
    """
    A ticket or password gives its user, a key gives no name, and requests without credentials are refused.
    """
    service = TestClient(create_app(embedded_contracts, Credentials(("key",), ("änn", "secret"))))
    ticket = service.post(TICKETS, json={"userId": "änn", "password": "secret"}).json()["entry"]["id"]

    def basic(text: str, encoding: str = "utf-8") -> str:
        return "Basic " + base64.b64encode(text.encode(encoding)).decode()

    ways = {basic("änn:secret"): "änn", basic("änn:secret", "latin-1"): "änn", basic(f"ROLE_TICKET:{ticket}"): "änn",
            "Bearer key": "guest"}  # fmt: skip
    for authorization, name in ways.items():
        person = service.get(f"{PEOPLE}/-me-", headers={"Authorization": authorization}).json()["entry"]
        assert (person["id"], person["firstName"], person["enabled"]) == (name, name, True)
    for path in (f"{PEOPLE}/-me-", DISCOVERY, f"{NODES}/lease"):
        assert service.get(path).status_code == 401


def test_the_repository_description(embedded_service: TestClient) -> None:
    """
    The description names whorl and its version, and no feature of a repository.
    """
    repository = embedded_service.get(DISCOVERY).json()["entry"]["repository"]
    assert repository["version"]["display"] == f"whorl {version('whorl')}"
    assert not any(repository["status"].values())


def test_pages_of_allowed_origins(embedded_contracts: Store) -> None:
    """
    Preflights of allowed origins are answered, and their pages may read answers and errors; other origins may do
    neither.
    """
    ours, theirs = "https://app.example.org", "https://other.example"
    settings = Settings(allowed_origins=(ours,))
    service = TestClient(create_app(embedded_contracts, Credentials(("key",)), settings))
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    preflight = service.options(SEARCH, headers={"Origin": ours, **asks})
    assert preflight.status_code == 200
    assert preflight.headers["Access-Control-Allow-Origin"] == ours
    assert "authorization" in preflight.headers["Access-Control-Allow-Headers"]
    refused = service.options(SEARCH, headers={"Origin": theirs, **asks})
    assert "Access-Control-Allow-Origin" not in refused.headers
    body = {"query": {"query": "lease"}}
    key = {"Authorization": "Bearer key", "Sec-Fetch-Site": "cross-site"}
    for headers, status, allowed in (
        ({"Origin": ours, **key}, 200, ours),
        ({"Origin": ours, "Sec-Fetch-Site": "cross-site"}, 401, ours),
        ({"Origin": theirs, **key}, 403, None),
    ):
        answer = service.post(SEARCH, json=body, headers=headers)
        assert (answer.status_code, answer.headers.get("Access-Control-Allow-Origin")) == (status, allowed)
    assert "WHORL_ALLOWED_ORIGINS" in answer.text
    closed = TestClient(create_app(embedded_contracts))
    assert "Access-Control-Allow-Origin" not in closed.options(SEARCH, headers={"Origin": ours, **asks}).headers
