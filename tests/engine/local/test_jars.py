"""Downloads of a server's jars, complete or not at all."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from whorl.engine import server_engine
from whorl.engine.local import jars
from whorl.engine.local.jars import Jar, Server, fetch_jars, find_server, read_lock
from whorl.engine.local.opensearch import ELASTICSEARCH, OPENSEARCH
from whorl.engine.local.solr import SOLR
from whorl.errors import EngineUnavailableError, ParameterError


@pytest.mark.parametrize(
    ("server", "group", "least"),
    [
        *((server, "org.apache.solr", 101) for server in SOLR),
        *((server, "org.opensearch", 85) for server in OPENSEARCH),
        *((server, "org.elasticsearch", 48) for server in ELASTICSEARCH),
    ],
)
def test_the_lock_names_every_jar_with_its_content(server, group, least):
    """
    Each line has a version and a SHA-256, no jar is listed twice, and the server's own jars have the promised version.
    """
    locked = read_lock(server.lock_file.read_text(encoding="utf-8"))
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in locked)
    assert len(locked) == len({jar.filename for jar in locked}) >= least
    assert {jar.version for jar in locked if jar.group == group} == {server.version}


@pytest.mark.parametrize(
    ("wanted", "version"),
    [("9.9.0", "9.9.0"), ("9.9", "9.9.0"), ("9", "9.9.0"), ("8.11.4", "8.11.4"), ("8", "8.11.4")],
)
def test_a_version_may_be_shortened(wanted, version):
    """
    The first numbers of a version name the newest server that has them.
    """
    servers = [Server("Solr", number, Path("no.lock"), 17, "solr") for number in ("9.9.0", "9.1.0", "8.11.4")]
    assert find_server(servers, wanted).version == version


@pytest.mark.parametrize("wanted", ["", ".", "9.", "8.1", "10", "9.9.0.1", "nightly"])
def test_an_unknown_version_is_an_error(wanted):
    """
    The message names the version and the known ones; 8.1 does not abbreviate 8.11.
    """
    servers = [Server("Solr", number, Path("no.lock"), 17, "solr") for number in ("9.9.0", "8.11.4")]
    with pytest.raises(ParameterError, match=re.escape(f"Solr {wanted!r} cannot be started here, only one of 9.9.0")):
        find_server(servers, wanted)


def test_a_classifier_is_part_of_the_file_name():
    """
    group:artifact:version:classifier is artifact-version-classifier.jar.
    """
    (jar,) = read_lock("# a comment\n\norg.apache.zookeeper:zookeeper:3.9.3:tests abc\n")
    assert jar.filename == "zookeeper-3.9.3-tests.jar"
    assert jar.coordinates == "org.apache.zookeeper:zookeeper:3.9.3:tests"


class Registry:
    """Fake download: writes the jar's content, counts calls, and runs a hook."""

    def __init__(self, content: bytes, during=lambda: None):
        self.content, self.during, self.calls = content, during, 0

    def __call__(self, _: Server, wanted: list[Jar], repository: Path) -> list[Path]:
        self.calls += 1
        repository.mkdir()
        self.during()
        paths = [repository / jar.filename for jar in wanted]
        for path in paths:
            path.write_bytes(self.content)
        return paths


@pytest.fixture
def one_jar(tmp_path):
    lock = tmp_path / "one.lock"
    lock.write_text(f"org.example:one:1.0 {hashlib.sha256(b'jar').hexdigest()}\n")
    return Server("Solr", "1.0", lock, 17, "solr")


def test_jars_are_downloaded_once(one_jar, monkeypatch, tmp_path):
    """
    The second call uses the jars that the first one kept.
    """
    registry = Registry(b"jar")
    monkeypatch.setattr(jars, "_resolve", registry)
    first, second = fetch_jars(one_jar, tmp_path / "cache"), fetch_jars(one_jar, tmp_path / "cache")
    assert first == second
    assert [path.name for path in first] == ["one-1.0.jar"]
    assert registry.calls == 1


def test_a_jar_with_other_content_is_refused(one_jar, monkeypatch, tmp_path):
    """
    A jar whose content does not match the lock file is not kept, and the error names it.
    """
    monkeypatch.setattr(jars, "_resolve", Registry(b"something else"))
    with pytest.raises(EngineUnavailableError, match=r"one-1\.0\.jar is not the one that was tried"):
        fetch_jars(one_jar, tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["solr.lock"]


def test_the_next_download_removes_a_killed_one(one_jar, monkeypatch, tmp_path):
    """
    The partial folder of a killed download is neither used nor kept.
    """
    half = tmp_path / "cache" / ".solr-partial-killed" / "jars"
    half.mkdir(parents=True)
    (half / "one-1.0.jar").write_bytes(b"ja")
    monkeypatch.setattr(jars, "_resolve", Registry(b"jar"))
    (jar,) = fetch_jars(one_jar, tmp_path / "cache")
    assert jar.read_bytes() == b"jar"
    assert not half.exists()


@pytest.mark.slow
def test_of_two_at_once_one_downloads(one_jar, monkeypatch, tmp_path):
    """
    The second process waits and uses the downloaded jars.
    """
    second_waits = threading.Event()
    registry = Registry(b"jar", during=lambda: second_waits.wait(0.5))
    monkeypatch.setattr(jars, "_resolve", registry)
    results: list[list[Path]] = []
    threads = [
        threading.Thread(target=lambda: results.append(fetch_jars(one_jar, tmp_path / "cache"))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert registry.calls == 1
    assert results[0] == results[1] != []


class FlakyRepository:
    """Stands in for jgo's `maven` module: its downloads fail a number of times."""

    def __init__(self, failures: int):
        self.failures = failures

    def MavenContext(self, repo_cache: Path, timeout: int) -> FlakyRepository:
        self.path = repo_cache / "one-1.0.jar"
        return self

    def create_dependency(self, coordinates: str) -> SimpleNamespace:
        return SimpleNamespace(artifact=self)

    def resolve(self) -> Path:
        self.failures -= 1
        if self.failures >= 0:
            raise ConnectionError("Temporary failure in name resolution")
        self.path.parent.mkdir()
        self.path.write_bytes(b"jar")
        return self.path


def test_a_failed_download_is_tried_again(one_jar, monkeypatch, tmp_path):
    """
    A network that fails now and then does not abort the download; a network that is down is an error.
    """
    monkeypatch.setattr(server_engine, "_FIRST_PAUSE_SECONDS", 0)
    monkeypatch.setitem(sys.modules, "jgo.maven", FlakyRepository(2))
    (jar,) = fetch_jars(one_jar, tmp_path / "cache")
    assert jar.read_bytes() == b"jar"
    monkeypatch.setitem(sys.modules, "jgo.maven", FlakyRepository(100))
    with pytest.raises(EngineUnavailableError, match=r"Solr's jars cannot be downloaded: Temporary failure"):
        fetch_jars(one_jar, tmp_path / "other")


def test_without_jgo_and_mvn_the_error_says_what_to_install(one_jar, monkeypatch, tmp_path):
    """
    The error says that no program for downloads is installed, and what to install.
    """
    monkeypatch.setitem(sys.modules, "jgo.maven", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EngineUnavailableError, match=r"needs jgo .*pip install 'whorl\[solr\]'"):
        fetch_jars(one_jar, tmp_path / "cache")


def test_a_cache_that_cannot_be_written_is_named(one_jar, tmp_path):
    """
    If a file is in the place of the cache folder, the error has its path, without a traceback.
    """
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(EngineUnavailableError, match=r"cannot be kept in .*cache"):
        fetch_jars(one_jar, tmp_path / "cache")


def test_a_lock_that_cannot_be_opened_is_an_error(one_jar, tmp_path):
    """
    If a folder is in the place of the lock file, the error has its path, without a traceback.
    """
    (tmp_path / "cache" / "solr.lock").mkdir(parents=True)
    with pytest.raises(EngineUnavailableError, match=r"cannot be kept in .*cache: unable to open database file"):
        fetch_jars(one_jar, tmp_path / "cache")
