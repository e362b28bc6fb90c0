"""Tests of `whorl serve` and `whorl mcp`: errors before they listen, and real processes."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import requests
from mcp.client.stdio import StdioServerParameters

from tests.cli.running import DEADLINE_SECONDS, FIRST, WHORL, whorl
from tests.service.served import serving
from tests.test_mcp import call_tool
from whorl import Document, open_store
from whorl.errors import ParameterError

pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_other_clients_need_a_key(folder: Path, host: str) -> None:
    """
    Without a key, listening for other machines is an error that names the remedies, and opens no port.
    """
    refused = whorl("serve", "--store", "store", "--host", host)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"anyone who reaches {host} could search and delete; set WHORL_USER and WHORL_PASSWORD" in refused.stderr
    assert "--open" in refused.stderr
    assert not (folder / "store").exists()


def test_a_missing_store_of_a_read_only_service(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A service that may not write does not create a store.
    """
    monkeypatch.setenv("WHORL_READ_ONLY", "true")
    refused = whorl("serve", "--store", "store")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "there is no store at store" in refused.stderr
    assert not (folder / "store").exists()


@pytest.mark.parametrize("port", ["65536", "-1", "http"])
def test_a_port_that_is_none(port: str) -> None:
    """
    An invalid port is a usage error, before anything is opened.
    """
    refused = whorl("serve", "--store", "store", "--port", port)
    assert refused.exit_code == 2
    assert "--port" in refused.stderr


def test_packages_that_are_not_installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If packages are missing, the message is the command that installs them.
    """
    monkeypatch.setitem(sys.modules, "whorl.service.app", None)
    refused = whorl("serve", "--store", "store")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "pip install 'whorl[serve]'" in refused.stderr
    assert not (folder / "store").exists()


class _Importing(ModuleType):
    """A module that creates its only function on import, and notes then and in a call whether garbage is collected."""

    def __init__(self, name: str, function: str) -> None:
        super().__init__(name)
        self._function, self.notes = function, dict[str, bool]()

    def __getattr__(self, name: str) -> object:
        if name != self._function:
            raise AttributeError(name)
        made = [name]
        self.notes["on import"] = gc.isenabled()

        def called(*_: object, **__: object) -> None:
            self.notes["in the call"] = gc.isenabled()
            self.notes["of the import"] = any(known is made for known in gc.get_objects())
            raise ParameterError("the end")

        return called


@pytest.mark.parametrize(
    ("command", "module", "function"),
    [("serve", "whorl.service.app", "access_of"), ("mcp", "whorl.mcp", "server_of")],
)
def test_imported_modules_are_no_garbage(
    monkeypatch: pytest.MonkeyPatch, command: str, module: str, function: str
) -> None:
    """
    Garbage collection pauses while packages are imported. Afterwards it runs, but skips what the import has created.
    """
    open_store("store").close()
    imported = _Importing(module, function)
    monkeypatch.setitem(sys.modules, module, imported)
    assert whorl(command, "--store", "store").stderr == "whorl: the end\n"
    assert imported.notes == {"on import": False, "in the call": True, "of the import": False}


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve(tmp_path: Path, number: int) -> None:
    """
    `whorl serve` answers over HTTP with the key of its environment; a signal stops it cleanly, and the store is intact.
    """
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", FIRST)])
    with serving(tmp_path / "store", api_key="key") as served:
        url = served.url
        assert requests.get(f"{url}/healthz", timeout=240).json() == {"status": "ok"}
        assert requests.get(f"{url}/api/v1/search?q=*", timeout=240).status_code == 401
        bearer = {"Authorization": "Bearer key"}
        answer = requests.get(f"{url}/api/v1/search", params={"q": "FINGERPRINT:a"}, headers=bearer, timeout=240)
        assert [hit["id"] for hit in answer.json()["hits"]] == ["a"]
        # A URL longer than any server's limit is refused, or its connection closed; the next request is answered.
        with contextlib.suppress(requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
            long = requests.get(f"{url}/api/v1/search", params={"q": "x" * 200_000}, headers=bearer, timeout=240)
            assert long.status_code in (400, 414, 431)
        assert requests.get(f"{url}/readyz", timeout=240).json()["documents"] == 1
        served.process.send_signal(number)
        assert served.process.wait(DEADLINE_SECONDS) == 0
    with open_store(tmp_path / "store", create=False) as store:
        assert store.count() == 1


@pytest.mark.process
def test_an_open_service_stays_on_this_machine(tmp_path: Path) -> None:
    """
    Listening for other machines needs credentials, or an option that allows access without them; a taken port is one
    message.
    """
    open_store(tmp_path / "store").close()
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [str(WHORL), "serve", "--store", str(tmp_path / "store"), "--port", str(port)]
        environment = {name: value for name, value in os.environ.items() if name != "WHORL_API_KEY"}
        tries: list[tuple[list[str], dict[str, str]]] = [
            ([], {}),
            (["--open"], {}),
            ([], {"WHORL_USER": "ann", "WHORL_PASSWORD": "pw"}),
        ]
        tries.append((["--open", "--workers", "2"], {}))
        refused, opened, asking, workers = (
            subprocess.run(
                [*command, "--host", "0.0.0.0", *more],
                env={**environment, **added},
                capture_output=True,
                text=True,
                check=False,
                timeout=240,
            )
            for more, added in tries
        )
    assert refused.returncode == 2
    assert "anyone who reaches 0.0.0.0 could search and delete; set WHORL_USER" in refused.stderr
    for done in (opened, asking, workers):
        assert done.returncode == 3
        assert f"bind on address ('0.0.0.0', {port}): address already in use" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.process
@pytest.mark.slow
def test_it_speaks_on_standard_streams(tmp_path: Path) -> None:
    """
    The answer of a tool is on standard output, and nothing else.
    """
    folder = str(tmp_path / "store")
    with open_store(folder) as store:
        store.index([Document("a", "five words and one more", name="note")])
    started = StdioServerParameters(command=str(WHORL), args=["mcp", "--store", folder], env=dict(os.environ))
    assert call_tool(started, "document", id="a")["name"] == "note"


def test_no_folder_is_made(tmp_path: Path) -> None:
    """
    A missing store is an error, since an assistant would otherwise see an empty store for a mistyped name.
    """
    result = whorl("mcp", "--store", str(tmp_path / "stroe"))
    assert result.exit_code == 1
    assert "stroe" in result.stderr
    assert not (tmp_path / "stroe").exists()
