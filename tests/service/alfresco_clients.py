"""Environments with real clients of Alfresco's REST API, each installed once from its registry.

The user's cache folder keeps the environments between runs, named by a digest of their requirements.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import platformdirs

REQUIRED = "WHORL_REQUIRE_CLIENTS"
#: Folder of the environments; the default is in the user's cache folder.
CACHE = "WHORL_CLIENTS_CACHE"
#: Requirements with all their dependencies, so that an environment is the same on every machine.
JS_API = ("@alfresco/js-api@10.0.0", "eventemitter3@5.0.1", "tslib@2.8.1")
ALFRESCO_REST_CLIENT = (
    "alfresco-rest-client==1.0.4",
    "certifi==2026.10.18",
    "charset-normalizer==3.5.2",
    "idna==3.20",
    "requests==2.34.2",
    "urllib3==2.8.0",
)
PYTHON_ALFRESCO_API = (
    "python-alfresco-api==1.2.2",
    "aiohappyeyeballs==2.7.1",
    "aiohttp==3.14.5",
    "aiosignal==1.4.0",
    "annotated-types==0.8.0",
    "anyio==4.16.0",
    "attrs==26.1.0",
    "certifi==2026.10.18",
    "charset-normalizer==3.5.2",
    "docopt-ng==0.9.0",
    "frozenlist==1.8.0",
    "h11==0.16.0",
    "httpcore==1.0.9",
    "httpx==0.28.1",
    "idna==3.20",
    "multidict==7.2.1",
    "oauthlib==4.0.1",
    "propcache==0.5.4",
    "pydantic==2.14.3",
    "pydantic_core==2.50.4",
    "python-dateutil==4.0.0",
    "PyYAML==6.0.3",
    "requests==2.34.2",
    "requests-oauthlib==2.0.0",
    "stomp.py==9.0.0",
    "typing_extensions==4.16.0",
    "typing-inspection==0.4.5",
    "tzdata==2026.6",
    "ujson==6.1.0",
    "urllib3==2.8.0",
    "websocket-client==1.9.2",
    "yarl==1.25.1",
)
_OLDEST_NODE = 20
_INSTALLING_SECONDS = 600.0


class NoClientError(Exception):
    """A client is not available here; the message gives the reason in one line."""


def node_environment(name: str = "js-api", pins: Sequence[str] = JS_API) -> tuple[str, Path]:
    """Return Node, and a folder whose `node_modules` hold packages of npm.

    Args:
        name: Name of the folder.
        pins: The packages with their versions, including all dependencies.

    Raises:
        NoClientError: Node is missing, or the registry does not answer.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise NoClientError(f"{name} needs Node and npm, and they are not here")
    version = _run([node, "--version"]).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < _OLDEST_NODE:
        raise NoClientError(f"{name} needs Node {_OLDEST_NODE}, and this is {version}")

    def install(folder: Path) -> None:
        (folder / "package.json").write_text('{"private": true}')
        _run([npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--save-exact", *pins], folder)

    return node, _environment(name, pins, install)


def python_environment(name: str, pins: Sequence[str]) -> Path:
    """Return the Python interpreter of an environment that holds only these packages.

    Raises:
        NoClientError: The registry does not answer.
    """

    def install(folder: Path) -> None:
        # The folder is renamed afterwards: scripts of a virtual environment contain absolute paths, but its python
        # still works.
        _run([sys.executable, "-m", "venv", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        _run([*pip, "--no-deps", "--only-binary", ":all:", *pins])

    return _environment(name, (*pins, sys.version), install) / "bin" / "python"


def _environment(name: str, pins: Sequence[str], install: Callable[[Path], None]) -> Path:
    """Return the folder of an environment; create it if it is missing, and never return an incomplete one."""
    cache = Path(os.environ.get(CACHE) or platformdirs.user_cache_path("whorl") / "clients")
    digest = hashlib.blake2b("\n".join(pins).encode(), digest_size=6).hexdigest()
    folder = cache / f"{name}-{digest}"
    if folder.is_dir():
        return folder
    making = cache / f"{name}-{digest}.{os.getpid()}"
    making.mkdir(parents=True)
    try:
        install(making)
        try:
            making.rename(folder)
        except OSError:
            # Another test run created it first.
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return folder


def _run(command: Sequence[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=True, timeout=_INSTALLING_SECONDS
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout or "").strip().splitlines()[-1:] or ["no output"]
        raise NoClientError(f"{Path(command[0]).name} could not install the client: {last[0]:.200}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoClientError(f"{Path(command[0]).name} could not be run: {error}") from error
