"""The store facade: errors and results that do not depend on the engine."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whorl.duplicates.deduplicate_in_memory import deduplicate
from whorl.duplicates.options import DuplicatesOptions
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import SolrEngine
from whorl.errors import (
    DocumentError,
    EngineUnavailableError,
    ParameterError,
    SchemaError,
    StoreError,
    UnknownDocumentError,
    UnsupportedQueryError,
)
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import Document
from whorl.operations import DeleteOperation, SearchOperation, operation_of
from whorl.settings.settings import Settings
from whorl.store import Store, open_store

ONE, OTHER = "one two three four five six seven", "one two three four five six eight"
QUERIES: Any = ["id:a", "id:b"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store") as opened:
        opened.index([Document("a", ONE), Document("b", OTHER), Document("empty", "")])
        yield opened


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.similar("gone"),
        lambda store: store.prepare_similar("gone"),
        lambda store: store.compare("a", "gone"),
        lambda store: store.texts(["a", "gone"]),
        lambda store: store.sources("gone"),
    ],
    ids=["similar", "prepare_similar", "compare", "texts", "sources"],
)
def test_an_unknown_document_is_one_error(store: Store, ask: Callable[[Store], object]) -> None:
    """
    Every method raises the same error for an unknown document; a document without a text is known.
    """
    with pytest.raises(UnknownDocumentError, match="the store has no document 'gone'"):
        ask(store)
    with pytest.raises(ValueError, match="document 'empty' has no stored text"):
        store.texts(["empty"])


@pytest.mark.parametrize("name", ["https://localhost:9200/docs", Path("folder")])
def test_a_name_instead_of_an_engine(name: Any) -> None:
    """
    The error of `Store` for the name of a store says what opens it.
    """
    with pytest.raises(ParameterError, match=r"Store takes an engine, got .*; open_store opens a URL or a folder"):
        Store(name)


@pytest.mark.parametrize("ask", ["similar", "prepare_similar", "sources", "verify"])
def test_neither_a_text_nor_a_document(store: Store, ask: str) -> None:
    """
    The error says what to give; a document with the id of the text in `source` is found.
    """
    with pytest.raises(ParameterError, match=r"give the id of a document, .*a text as source") as error:
        getattr(store, ask)()
    assert not isinstance(error.value, UnknownDocumentError)
    store.index([Document("source", ONE)])
    getattr(store, ask)()
    getattr(store, ask)("source")


@pytest.mark.parametrize("ask", ["index", "prepare", "search", "explain", "similar", "sources"])
def test_a_misspelt_argument_is_an_error(store: Store, ask: str) -> None:
    """
    A misspelt argument is a TypeError, never ignored.
    """
    first: Any = [] if ask == "index" else "a"
    with pytest.raises(TypeError, match="treshold"):
        getattr(store, ask)(first, treshold=5)
    with pytest.raises(TypeError, match="treshold"):
        store.verify(quotations=[{"quote": ONE}], treshold=5)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda store: store.search(None), "a query must be text, got None; '\\*' finds all documents"),
        (lambda store: store.count(5), "a query must be text, got 5"),
        (lambda store: store.search("*", filter=[5]), "a filter must be text, got 5"),
        (lambda store: store.similar("a", filter=5), "a query must be text, got 5"),
        *(
            (ask, r"a query must be text, got \['id:a', 'id:b'\]; join several with AND")
            for ask in (
                lambda store: store.count(QUERIES),
                lambda store: store.similar("a", filter=QUERIES),
                lambda store: store.prepare_similar("a", filter=QUERIES),
                lambda store: store.delete_matching(QUERIES),
                lambda store: store.delete_chosen(None, DeleteOperation(query=QUERIES)),
                lambda store: store.delete_chosen(None, DeleteOperation(query=QUERIES, dry_run=True)),
            )
        ),
        (lambda store: store.search("*", rows="5"), "rows must be a whole number, got '5'"),
        (lambda store: store.search("*", rows=True), "rows must be a whole number, got True"),
        (lambda store: store.search("*", rows=np.array([1])), r"rows must be a whole number, got array\(\[1\]\)"),
        (lambda store: store.index([], batch=7.5), r"batch must be a whole number, got 7\.5"),
        (lambda store: store.index([], batch=math.nan), "batch must be a whole number, got nan"),
        (lambda store: store.search("*", 5), "options must be a SearchOperation, or keywords such as rows=10, got 5"),
        (lambda store: store.search("*", sort=["name"]), "sort must be a text such as .*, or Orders, got 'name'"),
        (lambda store: store.similar("a", exact="no"), "exact must be True or False, got 'no'"),
        (lambda store: store.similar("a", common_above=50), "common_above must be text, such as '1%', got 50"),
        (lambda store: store.similar("a", boilerplate="text"), "boilerplate must be a list of texts, got 'text'"),
        (lambda store: store.search("x", source=Path("x")), r"the source 'source' must be text, got .*read_text\(\)"),
        (lambda store: store.similar(source=Path("x")), "the source 'source' must be text, got"),
        (lambda store: store.sources(source=5), "the source 'source' must be text, got 5"),
        (lambda store: store.verify(source=b"x"), "the source 'source' must be text, got b'x'"),
        (lambda store: store.compare("a", "x", source={"x": 5}), "the source 'x' must be text, got 5"),
        *(
            (
                lambda store, value=value: store.delete_matching("*", everything=value),
                f"everything must be True or False, got {re.escape(repr(value))}",
            )
            for value in ("no", [1], 1, None)
        ),
        (lambda store: store.search("*", defaults=5), "defaults must be QueryDefaults, got 5"),
        *(
            (ask, r"a reference to a document must be text, got \['a'\]; write the document's id")
            for ask in (
                lambda store: store.text(["a"]),
                lambda store: store.signature(["a"]),
                lambda store: store.similar(["a"]),
                lambda store: store.sources(["a"]),
                lambda store: store.verify(["a"]),
                lambda store: store.compare(["a"], "b"),
                lambda store: store.document(["a"]),
            )
        ),
        *(
            (ask, r"a reference to a document must be text, got PosixPath\('a'\); write the document's id, or str")
            for ask in (
                lambda store: store.similar(Path("a")),
                lambda store: store.sources(Path("a")),
                lambda store: store.verify(Path("a")),
                lambda store: store.compare("a", Path("a")),
                lambda store: store.texts([Path("a")]),
                lambda store: store.text(Path("a")),
                lambda store: store.signature(Path("a")),
                lambda store: store.document(Path("a")),
                lambda store: store.documents([Path("a")]),
                lambda store: store.delete([Path("a")]),
            )
        ),
    ],
)
def test_arguments_of_other_types(store: Store, ask: Callable[[Any], object], message: str) -> None:
    """
    An argument of another type is whorl's own error, with the value and a correct argument.
    """
    with pytest.raises(ParameterError, match=message):
        ask(store)
    assert store.count() == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"settings": {"store": "a"}}, "settings must be Settings, got {'store': 'a'}"),
        ({"create": "no"}, "create must be True or False, got 'no'"),
        ({"no_text": "false"}, "no_text must be True or False, got 'false'"),
        ({"without_minhash": 1}, "without_minhash must be True or False, got 1"),
        ({"short_minhash": None}, "short_minhash must be True or False, got None"),
        ({"passages": 12.0}, "passages must be a whole number, got 12.0"),
        ({"passages": "12"}, "passages must be a whole number, got '12'"),
        ({"passages": None}, "passages must be a whole number, got None"),
        ({"passages": 7}, "8 to 20 words for certain, got 7"),
    ],
)
def test_options_of_a_store_of_other_types(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    """
    An option of another type is an error, and no folder is created.
    """
    with pytest.raises(ParameterError, match=re.escape(message)):
        open_store(tmp_path / "store", **options)
    assert not (tmp_path / "store").exists()


def test_integers_of_numpy(store: Store, tmp_path: Path) -> None:
    """
    Options take numpy's integers as numbers of Python, so that they fit into JSON.
    """
    numbers: list[Any] = [*np.array([1, 2, 3, 12])]
    one, two, three, twelve = numbers
    assert [hit.id for hit in store.search("*", rows=one, start=one).hits] == ["b"]
    assert [hit.id for hit in store.search("*", rows=np.array(1), start=np.array(1)).hits] == ["b"]  # type: ignore[arg-type]
    options, search = operation_of(SearchOperation, None, {"rows": one}), DuplicatesOptions(workers=two)
    assert json.dumps([options.rows, Scheme(shingle_size=three).shingle_size, search.workers]) == "[1, 3, 2]"
    assert deduplicate([ONE, OTHER], shingle=three, threshold=50).clusters == [[0, 1]]
    assert store.index([Document("c", ONE)], batch=one).stored == 1
    with open_store(tmp_path / "passages", passages=twelve) as other:
        assert other.engine.passage_scheme == PassageScheme.for_runs(12)


def test_one_id_as_a_text(store: Store) -> None:
    """
    A text instead of several ids is one id.
    """
    assert store.documents("empty").keys() == store.texts("a").keys() ^ {"a", "empty"}


@pytest.mark.parametrize("item", ["a text", {"id": "a", "text": "a text"}, None])
def test_items_that_are_no_documents(store: Store, item: Any) -> None:
    """
    The error for an item of another type shows it and a correct call. Nothing of its batch is stored.
    """
    with pytest.raises(DocumentError, match=r"got .* instead of a Document; write Document\(id=…, text=…\)"):
        store.index([Document("new", "a text"), item])
    assert store.text("new") is None


def test_common_text_is_looked_up_only_to_ignore_it(store: Store) -> None:
    """
    Scores do not depend on common text unless it is ignored, so a store without passages accepts `common_above`.
    """
    assert store.search("one", plan="calibrated", common_above="1%") == store.search("one", plan="calibrated")
    with pytest.raises(ParameterError, match="this store does not have the passages"):
        store.search("one", plan="calibrated", common_above="1%", ignore_common=True)


def test_two_documents_compared(store: Store) -> None:
    """
    References and given texts are compared under the store's scheme; an unknown one is named.
    """
    store.index([Document("node", OTHER, properties={"DBID": 4242})])
    comparison = store.compare("a", "4242")
    # Both texts have three shingles; the first two are equal.
    assert (comparison.shared_shingles, comparison.shares.jaccard, comparison.scheme) == (2, 2 / 4, store.engine.scheme)
    assert store.compare("a", "source", source=OTHER) == comparison
    assert store.compare("mine", "yours", source={"mine": ONE, "yours": OTHER}) == comparison
    assert (store.text("a"), store.text("nosuch"), store.text("empty")) == (ONE, None, None)
    with pytest.raises(UnknownDocumentError, match="no document 'nosuch'"):
        store.compare("a", "nosuch")


def test_sources_of_a_document_and_of_a_text(store: Store) -> None:
    """
    A document is not its own source, whatever reference names it; a query excludes others, and its warnings are
    reported.
    """
    store.index([Document("node", OTHER, properties={"DBID": 4242})])
    assert [source.id for source in store.sources("4242", min_words=5).sources] == ["b"]
    assert [source.id for source in store.sources(source=OTHER, exclude="ID:b", min_words=5).sources] == ["node"]
    left = store.sources(source=OTHER, exclude="FINGERPRINT:nosuch OR FINGERPRINT:b_100", min_words=5)
    assert [source.id for source in left.sources] == ["a"]
    assert left.warnings == ("the store has no document 'nosuch'",)
    with pytest.raises(ValueError, match="document 'empty' has no stored text"):
        store.sources("empty")


def test_a_collection_without_texts(solr_standalone_url: str) -> None:
    """
    The error names the missing field and how to configure another one.
    """
    engine = SolrEngine(SolrClient(solr_standalone_url), FieldNames(content="MINHASH"))
    with (
        Store(engine) as opened,
        pytest.raises(SchemaError, match=r"'MINHASH' is not a stored field.*whorl\.toml"),
    ):
        opened.text("1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "store",
    [
        "",
        "localhost:8983/solr/whorl",
        "zk://localhost:8983/solr/whorl",
        "http://localhost:8983",
        "http://localhost:8983/solr",
        "http://localhost:8983/solr/",
        "http://localhost:8983/solr/#/whorl/core-overview",
        "http://localhost:8983/solr/whorl/select?q=*:*",
        "http://:8983/solr/whorl",
        "http://[::1/solr/whorl",
        "http://localhost:many/solr/whorl",
        "http://localhost:99999/solr/whorl",
    ],
)
def test_a_mistyped_url_makes_no_folder(store: str, folder: Path) -> None:
    """
    A mistyped URL is refused with an example, and no folder of that name is created.
    """
    with pytest.raises(ParameterError, match="http://localhost:8983/solr/NAME"):
        open_store(store, Settings.load({}))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mark", "/#?@")
def test_an_unquoted_password_is_not_shown(mark: str) -> None:
    """
    A password with an unquoted special character makes the URL unreadable; the message says how to quote it and does
    not repeat it.
    """
    with pytest.raises(ParameterError) as caught:
        open_store(f"http://admin:s3{mark}cret@@localhost:8983/solr/whorl/@", Settings.load({}))
    assert "cret" not in str(caught.value)
    assert "%2F" in str(caught.value)


def test_the_scheme_of_a_url_is_case_insensitive() -> None:
    """
    The scheme of a URL is case-insensitive.
    """
    with open_store("HTTP://user:s3cret@localhost:8983/solr/whorl/", Settings.load({})) as store:
        assert store.engine._client.url == "http://localhost:8983/solr/whorl"  # type: ignore[attr-defined]


def test_an_index_by_its_url() -> None:
    """
    opensearch+ and elasticsearch+ URLs open an index; the settings provide retries and timeout, the URL the login.
    """
    settings = Settings.load({"WHORL_OPENSEARCH_AUTH": "ann:pass", "WHORL_ENGINE_RETRIES": "7", "WHORL_TIMEOUT": "9"})
    for scheme in ("opensearch", "elasticsearch"):
        with open_store(f"{scheme}+https://user:s3cret@localhost:9200/docs", settings) as store:
            client = store.engine._client  # type: ignore[attr-defined]
            assert (client.url, client.store_url) == (
                "https://localhost:9200/docs",
                f"{scheme}+https://localhost:9200/docs",
            )
            assert (client._access.auth, client._access.retries, client._access.timeout_seconds) == (
                ("user", "s3cret"),
                7,
                9.0,
            )
    with pytest.raises(ParameterError, match=r"looks like opensearch\+http://localhost:9200/INDEX"):
        open_store("opensearch+http://localhost:9200", settings)


def test_the_server_at_a_plain_url_decides_its_kind(other_url: str) -> None:
    """
    The server that answers at a plain URL decides its kind; if none answers, the form does: Solr's URLs have a path
    before the name.
    """
    plain = other_url.removeprefix("opensearch+")
    with open_store(plain, Settings.load({})) as store:
        store.index([Document("a", "one two three four five")])
        assert [hit.id for hit in store.search("FINGERPRINT:a").hits] == ["a"]
        assert store.engine._client.store_url == other_url  # type: ignore[attr-defined]
    with (
        open_store("http://127.0.0.1:1/docs", Settings.load({"WHORL_ENGINE_RETRIES": "0"})) as store,
        pytest.raises(EngineUnavailableError, match=r"no cluster answers at http://127\.0\.0\.1:1/docs"),
    ):
        store.count()


def test_without_the_client_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The error names the extra to install.
    """
    monkeypatch.setitem(sys.modules, "opensearchpy", None)
    monkeypatch.delitem(sys.modules, "whorl.engine.opensearch.client", raising=False)
    with pytest.raises(ParameterError, match=r"pip install 'whorl\[opensearch\]'"):
        open_store("opensearch+http://localhost:9200/docs", Settings.load({}))


def test_home_of_an_unknown_user() -> None:
    """
    ~name of an unknown user is a StoreError.
    """
    with pytest.raises(StoreError, match="~no-such-user/store cannot be used as a store"):
        open_store("~no-such-user/store", Settings.load({}))


def test_create_false_does_not_make_a_store(folder: Path) -> None:
    """
    With create=False a missing folder is not created, and the message says how to make a store.
    """
    with pytest.raises(StoreError, match="there is no store at typo; make one by indexing: whorl index --store typo"):
        open_store("typo", Settings.load({}), create=False)
    assert list(folder.iterdir()) == []


def test_names_of_the_same_folder_open_one_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A path, a string, the settings' store and a ~ name open the same folder; without a name the settings decide.
    """
    monkeypatch.setenv("HOME", str(folder))
    settings = Settings.load({"WHORL_STORE": "kept"})
    with open_store(None, settings) as store:
        store.index([Document("a", "one two three four five")])
    for name in ("kept", Path("kept"), folder / "kept", "~/kept"):
        with open_store(name, Settings.load({}), create=False) as store:
            assert store.count() == 1


def test_settings_reach_the_store(folder: Path) -> None:
    """
    Field names and the limits of clauses and rows from the settings reach the store.
    """
    (folder / "whorl.toml").write_text('[names]\nSITE = "kind"\n', encoding="utf-8")
    settings = Settings.load({"WHORL_MAX_ROWS": "100", "WHORL_MAX_QUERY_CLAUSES": "1"})
    with open_store("here", settings) as store:
        store.index([Document("a", "one", "", {"kind": "x"})])
        assert [hit.id for hit in store.search("SITE:x", rows=100).hits] == ["a"]
        with pytest.raises(ParameterError, match="rows must be 0 to 100, got 101"):
            store.search("one", rows=101)
        with pytest.raises(UnsupportedQueryError, match="at most 1 words"):
            store.search("one two")
