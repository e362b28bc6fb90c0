"""Opening stores by name: which store a name opens, and which names are refused without side effects."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from whorl import open_store
from whorl.errors import EngineUnavailableError, ParameterError, StoreError, UnsupportedQueryError
from whorl.model import Document
from whorl.settings.settings import Settings


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
def test_what_is_no_store_is_not_made_a_folder(store: str, folder: Path) -> None:
    """
    A mistyped URL is refused with an example, and no folder of that name is created.
    """
    with pytest.raises(ParameterError, match="http://localhost:8983/solr/NAME"):
        open_store(store, Settings.load({}))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mark", "/#?@")
def test_a_password_with_a_mark_in_it_is_not_shown(mark: str) -> None:
    """
    A password with an unquoted special character makes the URL unreadable; the message says how to quote it and does
    not repeat it.
    """
    with pytest.raises(ParameterError) as caught:
        open_store(f"http://admin:s3{mark}cret@@localhost:8983/solr/whorl/@", Settings.load({}))
    assert "cret" not in str(caught.value)
    assert "%2F" in str(caught.value)


def test_urls_are_known_in_capitals() -> None:
    """
    The scheme of a URL is case-insensitive.
    """
    with open_store("HTTP://user:s3cret@localhost:8983/solr/whorl/", Settings.load({})) as store:
        assert store.engine._client.url == "http://localhost:8983/solr/whorl"  # type: ignore[attr-defined]


def test_an_index_by_its_url() -> None:
    """
    opensearch+ and elasticsearch+ URLs open an index; the settings provide login, retries and timeout.
    """
    settings = Settings.load({"WHORL_OPENSEARCH_AUTH": "ann:pass", "WHORL_SOLR_RETRIES": "7", "WHORL_TIMEOUT": "9"})
    for scheme in ("opensearch", "elasticsearch"):
        with open_store(f"{scheme}+https://user:s3cret@localhost:9200/docs", settings) as store:
            client = store.engine._client  # type: ignore[attr-defined]
            assert (client.url, client.shown) == (
                "https://localhost:9200/docs",
                f"{scheme}+https://localhost:9200/docs",
            )
            assert (client._access.auth, client._access.retries, client._access.timeout_seconds) == (
                ("ann", "pass"),
                7,
                9.0,
            )
    with pytest.raises(ParameterError, match=r"looks like opensearch\+http://localhost:9200/INDEX"):
        open_store("opensearch+http://localhost:9200", settings)


def test_a_plain_url_is_asked(other_url: str) -> None:
    """
    The server that answers at a plain URL decides its kind; if none answers, the form does: Solr's URLs have a path
    before the name.
    """
    plain = other_url.removeprefix("opensearch+")
    with open_store(plain, Settings.load({})) as store:
        store.index([Document("a", "one two three four five")])
        assert [hit.id for hit in store.search("FINGERPRINT:a").hits] == ["a"]
        assert store.engine._client.shown == other_url  # type: ignore[attr-defined]
    with (
        open_store("http://127.0.0.1:1/docs", Settings.load({"WHORL_SOLR_RETRIES": "0"})) as store,
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


def test_a_folder_of_nobody() -> None:
    """
    ~name of an unknown user is a StoreError.
    """
    with pytest.raises(StoreError, match="~no-such-user/store cannot be used as a store"):
        open_store("~no-such-user/store", Settings.load({}))


def test_asking_does_not_make_a_store(folder: Path) -> None:
    """
    With create=False a missing folder is not created, and the message says how to make a store.
    """
    with pytest.raises(StoreError, match="there is no store at typo; make one by indexing: whorl index --store typo"):
        open_store("typo", Settings.load({}), create=False)
    assert list(folder.iterdir()) == []


def test_a_store_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_what_the_settings_say_arrives(folder: Path) -> None:
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
