"""Tests of documents over HTTP: stored as they arrive, read and deleted; texts of files within limits."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.made_files import SENTENCES, pdf
from tests.service.contracts import post_json
from tests.service.limited import PATIENCE_SECONDS, sent
from whorl import Document, Store, open_store
from whorl.service import bulk_upload
from whorl.service.app import create_app
from whorl.service.middleware import limits
from whorl.settings.settings import Settings

LINES = {"Content-Type": "application/x-ndjson"}
TEXT = "seven silver spoons shine softly since sunday said sarah smith"


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("solr", marks=pytest.mark.solr),
        pytest.param("opensearch", marks=pytest.mark.opensearch),
    ]
)
def empty(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """An empty store for one test, on every engine."""
    if request.param == "solr":
        store: Store = request.getfixturevalue("solr_contracts")
        there = {hit.id for hit in store.search("*", rows=1000).hits}
        yield store
        store.delete([hit.id for hit in store.search("*", rows=10_000).hits if hit.id not in there])
    elif request.param == "opensearch":
        with open_store(request.getfixturevalue("other_url")) as opened:
            yield opened
    else:
        with open_store(tmp_path_factory.mktemp("documents") / "store") as opened:
            yield opened


@pytest.fixture
def service(empty: Store) -> Iterator[TestClient]:
    with TestClient(create_app(empty), raise_server_exceptions=False) as made:
        yield made


def test_lines_are_stored(service: TestClient) -> None:
    """
    Documents counted as stored are in the store, with their properties; sent again, they are unchanged.
    """
    documents = [
        {"id": f"n{number}", "text": f"{TEXT} {number}", "name": "N", "pages": number} for number in range(600)
    ]
    answer = service.post("/api/v1/documents", content=sent(documents), headers=LINES)
    assert answer.status_code == 200
    assert answer.json() == {
        "lines": 600,
        "stored": 600,
        "unchanged": 0,
        "repeated": 0,
        "refused": 0,
        "errors": [],
    }
    body = service.get("/api/v1/search", params={"q": "FINGERPRINT:n7 AND pages:[0 TO 999]", "rows": 0}).json()
    assert body["total"] == 600
    assert service.get("/api/v1/documents/n7").json() == {"id": "n7", "name": "N", "properties": {"pages": [7]}}
    again = service.post("/api/v1/documents", content=sent([*documents[:5], {"id": "new", "text": "x"}]), headers=LINES)
    assert (again.json()["stored"], again.json()["unchanged"]) == (1, 5)


def test_repeated_ids_are_counted(service: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The last line with an id counts, also in another part of the upload, and the earlier ones are counted.
    """
    monkeypatch.setattr(bulk_upload, "PART_LINES", 2)
    lines = [{"id": document_id, "text": TEXT, "number": number} for number, document_id in enumerate("abaca")]
    answer = service.post("/api/v1/documents", content=sent(lines), headers=LINES).json()
    assert (answer["lines"], answer["stored"], answer["repeated"]) == (5, 3, 2)
    assert service.get("/api/v1/documents/a").json()["properties"] == {"number": [4]}


def test_no_text_is_replaced(service: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With replace=false, a line is refused if its id has another text, stored or in an earlier line; a line with the same
    text is stored with its new properties.
    """
    monkeypatch.setattr(bulk_upload, "PART_LINES", 3)
    lines: list[dict[str, Any]] = [
        *({"id": document_id, "text": TEXT} for document_id in "ab"),
        {"id": "a", "text": "another"},
        {"id": "b", "text": ""},
        {"id": "b", "text": TEXT, "pages": 3},
        {"id": "empty", "text": ""},
        {"id": "empty", "text": TEXT},
        {"id": "a", "text": TEXT},
    ]
    answer = service.post("/api/v1/documents?replace=false", content=sent(lines), headers=LINES).json()
    assert [error["line"] for error in answer["errors"]] == [3, 4, 7]
    assert answer["errors"][0]["message"].startswith("a: there is already a document of this name")
    assert answer["refused"] == 3
    stored = service.get("/api/v1/documents/b?text=true").json()
    assert (stored["text"], stored["properties"]) == (TEXT, {"pages": [3]})
    assert service.get("/api/v1/documents/empty?text=true").json()["text"] == ""


def test_no_document_is_replaced_in_a_store_without_texts(tmp_path: Path) -> None:
    """
    A store without texts takes an unchanged document again, and refuses another of its id.
    """
    with open_store(tmp_path / "store", no_text=True) as store, TestClient(create_app(store)) as service:
        sends = [
            service.post("/api/v1/documents?replace=false", content=sent([line]), headers=LINES).json()
            for line in ({"id": "a", "text": TEXT}, {"id": "a", "text": TEXT}, {"id": "a", "text": "another"})
        ]
    assert [(answer["stored"], answer["unchanged"], answer["refused"]) for answer in sends] == [
        *((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ]


def test_wrong_lines_are_reported(service: TestClient) -> None:
    """
    Invalid lines are reported by number, and the others are stored.
    """
    body = b"\n".join(
        [
            b'{"id": "m1", "text": "a"}',
            b"",
            b"{",
            b'{"id": "m2"}',
            b'{"id": "m3", "text": "b", "whorl_bad": 1}',
            b'{"id": "", "text": "b"}',
            b"\xff",
            b'{"id": "m4", "text": "d"}',
        ]
    )
    answer = service.post("/api/v1/documents", content=body, headers=LINES)
    content = answer.json()
    assert (answer.status_code, content["lines"], content["stored"], content["refused"]) == (200, 8, 2, 5)
    assert [error["line"] for error in content["errors"]] == [3, 4, 5, 6, 7]
    assert "not JSON" in content["errors"][0]["message"]
    assert service.get("/api/v1/documents/m4").status_code == 200


def test_a_request_without_any_document(service: TestClient) -> None:
    """
    A request with only invalid lines is a 400, and an empty one a 200.
    """
    answer = service.post("/api/v1/documents", content=b"no\nno\n", headers=LINES)
    assert (answer.status_code, answer.json()["refused"]) == (400, 2)
    answer = service.post("/api/v1/documents", content=b"\n \n", headers=LINES)
    assert (answer.status_code, answer.json()["stored"]) == (200, 0)
    assert service.post("/api/v1/documents", json={"id": "a", "text": "b"}).status_code == 415


def test_documents_of_any_name(service: TestClient) -> None:
    """
    Documents whose ids have slashes, spaces and other scripts are read and deleted by their address.
    """
    for number, name in enumerate(["a/b c/d.txt", "日本 ü", "a?b#c", "{!x}", "...", "4711"]):
        text = f"{TEXT} {number}"
        stored = service.post("/api/v1/documents", content=sent([{"id": name, "text": text}]), headers=LINES)
        assert stored.status_code == 200
        address = "/api/v1/documents/" + "".join(f"%{byte:02X}" for byte in name.encode())
        assert service.get(address).json() == {"id": name, "name": "", "properties": {}}
        assert service.get(address, params={"text": "true"}).json()["text"] == text
        assert service.delete(address).json() == {"deleted": 1}
        for method in ("GET", "DELETE"):
            gone = service.request(method, address)
            assert gone.status_code == gone.json()["error"]["statusCode"] == 404


@pytest.mark.parametrize("name", [".", ".."])
def test_ids_that_no_address_can_name(service: TestClient, name: str) -> None:
    """
    The ids `.` and `..` are refused, because browsers and libraries remove them from an address, however they are
    encoded.
    """
    lines = sent([{"id": name, "text": TEXT}, {"id": f"{name}/a", "text": TEXT}])
    body = service.post("/api/v1/documents", content=lines, headers=LINES).json()
    assert (body["stored"], body["refused"]) == (1, 1)
    reason = f"no address of this service ends in {name!r}, so a document of this id could not be read or deleted"
    assert body["errors"] == [{"line": 1, "message": f"{reason}; choose another id"}]


@pytest.mark.parametrize(
    ("named", "ids"),
    [
        ("", ["lease", "minutes", "recipe", "renewal"]),
        ("ease", ["lease"]),
        ("LEASE", ["lease"]),
        ("ren .txt", ["renewal"]),
        ("nut", ["minutes"]),
        ("reci", ["recipe"]),
        ("lease renewal", []),
        ('"', []),
        ("FINGERPRINT:lease OR", []),
    ],
)
def test_documents_are_listed(contracts: Store, named: str, ids: list[str]) -> None:
    """
    The list has documents whose name or id contains each word of the filter, taken literally, with sizes and
    properties.
    """
    with TestClient(create_app(contracts), raise_server_exceptions=False) as service:
        body = service.get("/api/v1/documents", params={"named": named}).json()
        assert [document["id"] for document in body["documents"]] == ids
        assert body["total"] == len(ids)
        if "lease" in ids:
            lease = body["documents"][0]
            assert (lease["name"], lease["shingles"]) == ("lease.txt", 187)
            assert [str(creator) for creator in lease["properties"]["cm:creator"]] == ["mjackson"]


def test_some_of_the_list(embedded_service: TestClient) -> None:
    """
    A page of the list has the total number of documents.
    """
    body = embedded_service.get("/api/v1/documents", params={"start": 1, "rows": 2}).json()
    assert (body["total"], [document["id"] for document in body["documents"]]) == (4, ["minutes", "recipe"])
    assert body["next"] == "recipe"
    assert embedded_service.get("/api/v1/documents", params={"rows": -1}).status_code == 400


def test_repeats_are_reported(tmp_path: Path) -> None:
    """
    Repeats are checked without storing, or while storing, also against earlier documents of the same request.
    """
    text = " ".join(f"w{at}" for at in range(40))
    with open_store(tmp_path / "store") as store, TestClient(create_app(store)) as service:

        def post(documents: list[dict[str, Any]], **options: Any) -> Any:
            answer = service.post("/api/v1/documents", params=options, content=sent(documents), headers=LINES)
            return answer.status_code, answer.json()

        store.index([Document("old", text, "Old")])
        new = [{"id": "a", "text": f"{text} more"}, {"id": "b", "text": f"{text} more"}, {"id": "c", "text": "else"}]
        status, body = post([*new, {"id": ""}], check=80)
        assert (status, body["stored"], body["checked"], body["refused"], store.count()) == (200, 0, 3, 1, 1)
        assert body["repeating"] == 2
        repeats = [(repeat["line"], repeat["id"], [hit["id"] for hit in repeat["hits"]]) for repeat in body["repeats"]]
        assert repeats == [
            (1, "a", ["old"]), (2, "b", ["old"]),
        ]  # fmt: skip
        assert body["repeats"][0]["hits"][0].items() >= {"name": "Old", "a_in_b": 0.972972, "b_in_a": 1.0}.items()
        status, body = post(new, warn=80)
        assert (status, body["stored"], body["checked"]) == (200, 3, 3)
        assert [(repeat["id"], {hit["id"] for hit in repeat["hits"]}) for repeat in body["repeats"]] == [
            ("a", {"old"}), ("b", {"a", "old"}),
        ]  # fmt: skip
        status, body = post(new, warn=80, metric="within")
        assert (body["unchanged"], body["checked"], body["repeats"]) == (3, 0, [])
        assert "repeats" not in post(new)[1]
        assert post(new, warn=80, check=80)[0] == 400
        assert post(new, check=800)[0] == 400
        assert post(new, check=1)[1]["warnings"][0].startswith("threshold 1 means 100 %")
        assert "warnings" not in post(new, warn=100)[1]


def test_a_service_that_changes_nothing(embedded_contracts: Store) -> None:
    """
    A read-only service refuses storing and deleting, and the description of the store says so.
    """
    with TestClient(create_app(embedded_contracts, settings=Settings(is_read_only=True))) as service:
        assert (
            service.post("/api/v1/documents", content=sent([{"id": "x", "text": "y"}]), headers=LINES).status_code
            == 403
        )
        refused = service.delete("/api/v1/documents/lease")
        assert (refused.status_code, "WHORL_READ_ONLY" in refused.json()["error"]["message"]) == (403, True)
        assert service.post("/api/v1/delete", json={"ids": ["lease"]}).status_code == 403
        assert service.post("/api/v1/duplicates", json={"write_ids": True}).status_code == 403
        checked = service.post("/api/v1/documents?check=80", content=sent([{"id": "x", "text": "y"}]), headers=LINES)
        assert (checked.status_code, checked.json()["checked"]) == (200, 1)
        assert service.get("/api/v1/documents/lease").status_code == 200
        assert service.get("/api/v1/store").json()["is_read_only"] is True


def test_a_list_is_read_to_its_end(contracts: Store) -> None:
    """
    Pages after the last id list each document once, also with a filter by name; `after` need not be an existing id.
    """
    with TestClient(create_app(contracts), raise_server_exceptions=False) as service:

        def listed(**options: Any) -> tuple[list[str], Any]:
            body = service.get("/api/v1/documents", params=options).json()
            return [document["id"] for document in body["documents"]], body

        for named, ids in (
            ("", ["lease", "minutes", "recipe", "renewal"]), ("r", ["recipe", "renewal"]), ("min", ["minutes"]),
        ):  # fmt: skip
            ids_read, body = listed(named=named, rows=1)
            while body["next"] is not None:
                assert body["total"] == len(ids)
                further, body = listed(named=named, rows=1, after=body["next"])
                ids_read += further
            assert ids_read == ids
        assert listed(named="l e a s e l e a")[1]["warnings"] == []
        ids_read, body = listed(named="l e a s e l e a x")
        assert (ids_read, body["warnings"]) == (["lease"], ["the list is filtered by the first 8 words only"])
        assert listed(after="m")[0] == ["minutes", "recipe", "renewal"]
        assert listed(after="m" * 1000)[0] == ["recipe", "renewal"]
        assert listed(after="m", start=1, rows=1)[0] == ["recipe"]
        assert listed(after="z")[1] == {
            "total": 4,
            "total_is_exact": True,
            "warnings": [],
            "next": None,
            "documents": [],
        }


def test_deleting_many_documents(contracts: Store) -> None:
    """
    Documents are deleted by ids or by a query, after a dry run that counts them; deleting all needs a confirmation.
    """
    before = contracts.count()
    contracts.index([Document(f"old-{at}", f"old words {at}", properties={"stage": "old"}) for at in range(5)])
    with TestClient(create_app(contracts), raise_server_exceptions=False) as service:

        def deleted(**options: Any) -> tuple[int, Any]:
            answer = service.post("/api/v1/delete", json=options)
            return answer.status_code, answer.json()

        assert deleted(query="stage:old AND NOT old-0", dry_run=True) == (200, {"matched": 5, "deleted": 0})
        assert deleted(ids=["old-0", "gone"], dry_run=True) == (200, {"matched": 1, "deleted": 0})
        assert contracts.count() == before + 5
        assert deleted(ids=["old-0", "gone"]) == (200, {"matched": 1, "deleted": 1})
        assert deleted(query="stage:old") == (200, {"matched": 4, "deleted": 4})
        assert deleted(query="id:old*") == (200, {"matched": 0, "deleted": 0})
        status, response = deleted(query="*")
        assert (status, "matches all" in response["error"]["message"]) == (400, True)
        assert contracts.count() == before
        for wrong in ({}, {"ids": ["a"], "query": "b"}, {"query": "("}, {"query": "", "everything": True}):
            assert deleted(**wrong)[0] == 400


def test_a_dry_run_beside_a_writer_warns(tmp_path: Path) -> None:
    """
    While another process writes, more documents may match than a dry run counts.
    """
    with open_store(tmp_path / "store") as store, open_store(tmp_path / "store") as other:
        store.engine.index([Document("a", "the tenant")])
        with TestClient(create_app(other)) as service:
            answer = service.post("/api/v1/delete", json={"query": "tenant", "dry_run": True}).json()
        (warning,) = answer.pop("warnings")
        assert "this answer leaves them out" in warning
        assert answer == {"matched": 0, "deleted": 0}


def test_deletes_take_ids_only(contracts: Store) -> None:
    """
    A client that deletes an id deletes no other document: not one of this name, DBID, or nearly this id.
    """
    before = contracts.count()
    contracts.index([Document("r1", "a b c", "unique-name.txt"), Document("r2", "d e f", properties={"DBID": 777})])
    with TestClient(create_app(contracts), raise_server_exceptions=False) as service:
        for wrong in ("unique-name.txt", "r2%2F", "r2/", "777", "R1"):
            assert service.delete(f"/api/v1/documents/{wrong}").status_code == 404, wrong
        for is_dry in (True, False):
            answer = service.post("/api/v1/delete", json={"ids": ["unique-name.txt", "777"], "dry_run": is_dry})
            assert answer.json() == {"matched": 0, "deleted": 0}
        assert contracts.count() == before + 2
        assert service.delete("/api/v1/documents/r1").json() == {"deleted": 1}
        assert service.post("/api/v1/delete", json={"ids": ["r2", "r2"]}).json() == {"matched": 1, "deleted": 1}
    assert contracts.count() == before


@pytest.mark.parametrize(
    ("method", "address", "body"),
    [
        ("DELETE", "/api/v1/documents/lease?dry_run=true", None),
        ("POST", "/api/v1/delete?dry_run=true", {"ids": ["lease"]}),
        ("POST", "/api/v1/similar?dry_run=true", {"id": "lease"}),
        ("GET", "/api/v1/documents?rows=5&dry_run=5", None),
        ("GET", "/api/v1/documents/lease?text=true&dry_run=1", None),
        ("GET", "/api/v1/search?q=lease&dry_run=1", None),
        ("GET", "/api/v1/store?dry_run=1", None),
    ],
)
def test_unknown_parameters_are_refused(contracts: Store, method: str, address: str, body: object) -> None:
    """
    A parameter that a route does not have is an error, and nothing happens.
    """
    before = contracts.documents(["lease"])
    with TestClient(create_app(contracts), raise_server_exceptions=False) as service:
        answer = service.request(method, address, json=body)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"].partition(";")[0] == "dry_run: there is no such part"
        assert contracts.documents(["lease"]) == before


@pytest.mark.process
def test_the_text_of_a_file(embedded_service: TestClient) -> None:
    """
    A file is read like on the command line: in its encoding, and the visible text of HTML.
    """

    def read(name: str, content: bytes) -> Any:
        return post_json(embedded_service, "text", name=name, content=base64.b64encode(content).decode())["text"]

    assert read("a.txt", "Grüße".encode("utf-16")) == "Grüße"
    assert read("a.html", b"<p>seen<script>unseen</script></p>").split() == ["seen"]
    assert read("a.txt", b"<p>all") == "<p>all"


@pytest.mark.process
def test_the_text_of_a_pdf(embedded_contracts: Store) -> None:
    """
    A PDF's text follows the page; an encrypted PDF, or one over the service's limits, is a 400 with the reason.
    """
    plain, secret = (base64.b64encode(pdf(SENTENCES[0], password=word)).decode() for word in ("", "x"))
    with TestClient(create_app(embedded_contracts), raise_server_exceptions=False) as service:
        assert post_json(service, "text", name="a.pdf", content=plain)["text"].split() == SENTENCES[0].split()
        answer = service.post("/api/v1/text", json={"name": "a.pdf", "content": secret})
        assert answer.status_code == 400
        assert "this PDF is encrypted" in answer.json()["error"]["message"]
    short = create_app(embedded_contracts, settings=Settings(max_file_text=20))
    with TestClient(short, raise_server_exceptions=False) as service:
        answer = service.post("/api/v1/text", json={"name": "a.pdf", "content": plain})
        assert answer.status_code == 400
        assert "longer than 20 characters" in answer.json()["error"]["message"]


@pytest.mark.process
def test_a_file_that_exceeds_the_time_limit(embedded_contracts: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A file that takes too long is a 503 that names the setting, since the file may be valid; this holds within the grace
    period.
    """
    monkeypatch.setattr(limits, "_GRACE_SECONDS", PATIENCE_SECONDS)
    endless = base64.b64encode(b"<div>" * 3_000_000).decode()
    with TestClient(create_app(embedded_contracts, settings=Settings(request_timeout_seconds=1.0))) as service:
        answer = service.post("/api/v1/text", json={"name": "a.html", "content": endless})
        assert answer.status_code == 503
        assert "Retry-After" in answer.headers
        assert "(setting request_timeout)" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("name", "content", "has_rows"),
    [
        ("rows.jsonl", b'{"id": "a", "text": "some words"}\n', True),
        ("rows", b'{"id": "a", "text": "some words"}\n{"id": "b", "text": "x"}\n', True),
        ("rows.json", b' [{"text": "some words"}]', True),
        ("rows.parquet", b"PAR1" + bytes(20), True),
        ("rows.jsonl.gz", gzip.compress(b'{"text": "a"}\n', mtime=0), True),
        ("table.csv", b"id,text\na,some words\n", False),
        ("settings.json", b'{"colour": "red"}', False),
        ("note.txt", b"{some words} in braces", False),
    ],
)
def test_a_file_of_many_documents(embedded_service: TestClient, name: str, content: bytes, has_rows: bool) -> None:
    """
    A file whose rows `whorl index` stores as documents is a 400 that names this command; any other file is one text.
    """
    encoded = base64.b64encode(content).decode()
    answer = embedded_service.post("/api/v1/text", json={"name": name, "content": encoded})
    assert answer.status_code == (400 if has_rows else 200)
    if has_rows:
        assert f"{name} holds documents as rows" in answer.json()["error"]["message"]
        assert "'whorl index'" in answer.json()["error"]["message"]
    else:
        assert answer.json()["text"] == content.decode()
    body = {"name": name, "content": encoded, "rows_as_text": True}
    whole = embedded_service.post("/api/v1/text", json=body)
    if name.endswith((".parquet", ".gz")):
        assert "is not text" in whole.json()["error"]["message"]
    else:
        assert whole.json()["text"] == content.decode()


@pytest.mark.parametrize(("content", "named"), [("=", "base64"), ("AAEC/w==", "not text")])
def test_a_file_that_is_no_text(embedded_service: TestClient, content: str, named: str) -> None:
    """
    A file that is not text is a 400 with the reason.
    """
    answer = embedded_service.post("/api/v1/text", json={"name": "a", "content": content})
    assert answer.status_code == 400
    assert named in answer.json()["error"]["message"]
