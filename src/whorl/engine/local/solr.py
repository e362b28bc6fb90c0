"""Starts a real Solr without Docker, as one local process.

Jetty starts Solr from XML files (`jetty/8/*.xml`, `jetty/9/*.xml`), without an installation or a compiler. Every socket
is bound to the loopback address.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from whorl.engine.local.jars import Server, fetch_jars, find_server
from whorl.engine.local.server_process import RunningServer, find_java, java_command, start, tail
from whorl.engine.server_engine import ServerAccess
from whorl.engine.solr.client import SolrClient
from whorl.errors import EngineResponseError, EngineUnavailableError, ParameterError

_HOST = "127.0.0.1"
JETTY = Path(__file__).parent / "jetty"
#: Versions of Solr that can be started, the newest first. The jars were tested on Java 17 and 25 only.
SOLR = tuple(Server("Solr", version, JETTY / version[0] / "jars.lock", 17, "solr") for version in ("9.9.0", "8.11.4"))
_READY = "whorl: ready at "
_LOG_NAME = "solr.log"
_CORE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def configset_directory() -> Path:
    """Return the folder with whorl's `conf/`, in the installed package or in the source tree."""
    installed = Path(__file__).parent / "configset"
    source_tree = Path(__file__).parents[4] / "solr" / "configset"
    for directory in (installed, source_tree):
        if (directory / "conf").is_dir():
            return directory
    raise EngineUnavailableError(f"whorl's Solr configset is missing: neither {installed} nor {source_tree} exists")


def start_standalone(
    home: Path,
    cores: Mapping[str, Path],
    *,
    version: str = "9",
    port: int = 0,
    heap: str = "768m",
    cache: Path | None = None,
    deadline_seconds: float = 120.0,
) -> RunningServer:
    """Start a standalone Solr (not SolrCloud) on a home folder; existing cores and documents stay.

    Args:
        home: Solr's home folder, created if missing.
        cores: Cores to create if missing, each from a configset folder, which contains `conf/`.
        version: A version in `SOLR`, or its first numbers: 9 or 9.9.
        port: Port to listen on; 0 for a free port.
        heap: The JVM's maximum heap, as for `-Xmx`.
        cache: Folder of the downloaded jars, see `fetch_jars`.
        deadline_seconds: Maximum time to start, without the download.

    Raises:
        ParameterError: The version is unknown, or a core's name is invalid.
        EngineUnavailableError: Java is missing, the jars cannot be downloaded, the port is taken, or Solr does not
            start; the message shows the end of its log.
    """
    server = find_server(SOLR, version)
    home = home.absolute()
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "solr.xml").exists():
        shutil.copy(JETTY / "solr.xml", home)
    for name, configset in cores.items():
        create_core(home, name, configset)
    properties = {"directory": str(home), "port": str(_free_to_bind(port))}
    running = start_jetty(server, "standalone.xml", home, properties, heap, cache, deadline_seconds)
    with stop_on_error(running):
        failures = admin(running.url, "cores", action="STATUS")["initFailures"]
        if failures:
            raise EngineUnavailableError(f"Solr cannot open its cores: {failures}\n{tail(running.log)}")
    return running


def create_core(home: Path, name: str, configset: Path) -> None:
    """Create a core in the home folder of a standalone Solr, if it is missing. Solr opens the core when it starts."""
    if not _CORE_NAME.fullmatch(name):
        raise ParameterError(f"a core's name is made of letters, digits, '_', '-' and '.', got {name!r}")
    # Solr rewrites the schema when a field is added, so copy the configset.
    core = home / name
    if not (core / "core.properties").exists():
        shutil.copytree(configset / "conf", core / "conf", dirs_exist_ok=True)
        (core / "core.properties").write_text(f"name={name}\n", encoding="utf-8")


def admin(url: str, handler: str, **params: str) -> dict[str, Any]:
    """Call one of Solr's administration handlers, for example `/admin/cores`, and return its response."""
    with contextlib.closing(SolrClient(f"{url}/admin", ServerAccess(timeout_seconds=180.0, retries=0))) as client:
        return client.get(handler, **params)


def _free_to_bind(port: int) -> int:
    with socket.socket() as probe:
        if os.name == "posix":
            # Accept the port even if connections of a stopped Solr are still closing.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except (OSError, OverflowError) as error:
            raise EngineUnavailableError(
                f"Solr cannot listen on port {port} of {_HOST} ({error}); choose another port, or 0 for a free one."
            ) from error
    return port


def start_jetty(
    server: Server,
    program: str,
    directory: Path,
    properties: Mapping[str, str],
    heap: str,
    cache: Path | None,
    deadline_seconds: float,
) -> RunningServer:
    """Start Solr with one of Jetty's XML files, and wait until it responds.

    Args:
        program: Name of the XML file, which is in the folder of the server's lock file.
        directory: Folder for the logs.
        properties: Properties that the XML file reads, without their prefix `whorl.`.
        heap, cache, deadline_seconds: As in `start_standalone`.
    """
    options = (
        "-Djava.awt.headless=true",
        f"-Dlog4j2.configurationFile={(JETTY / 'log4j2.xml').as_uri()}",
        f"-Dsolr.log.dir={directory}",
    )
    command = [
        # The JVM expands `jar/*`, so the command line is short enough for any system.
        *java_command(find_java(server), heap, str(fetch_jars(server, cache)[0].parent / "*"), *options),
        "org.eclipse.jetty.xml.XmlConfiguration",
        *(f"whorl.{name}={value}" for name, value in properties.items()),
        str(server.lock_file.with_name(program)),
    ]
    return start(server.name, command, directory / _LOG_NAME, _address, deadline_seconds)


def _address(log: str) -> str | None:
    """Return the URL that the start program prints to the log when Solr is ready, or None if it is not ready."""
    for line in log.splitlines():
        if line.startswith(_READY):
            url = line.removeprefix(_READY).strip()
            with contextlib.suppress(EngineUnavailableError, EngineResponseError):
                admin(url, "info/system")
                return url
    return None


@contextlib.contextmanager
def stop_on_error(running: RunningServer) -> Iterator[None]:
    try:
        yield
    except EngineResponseError as error:
        running.stop()
        # Show the end of the log, because Solr writes the cause only to its log.
        raise EngineUnavailableError(f"{error}\n{tail(running.log)}") from error
    except BaseException:
        running.stop()
        raise
