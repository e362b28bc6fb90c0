"""Runs the Dockerfile's instructions without Docker, in a temporary folder, up to its health check.

An environment of the same Python version, and a folder that replaces `/`, stand for the image's system. Run as root, it
creates the image's user there (`useradd --prefix`), and the service runs as that user if other users may run this
Python; otherwise it runs as the caller.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PATIENCE_SECONDS = 120.0
_Environment = dict[str, str]


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield a Dockerfile's instructions, each with its arguments."""
    joined = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    for line in filter(None, map(str.strip, joined.splitlines())):
        name, _, arguments = line.partition(" ")
        yield name, arguments.strip()


class Image:
    """The image in a folder.

    Args:
        place: Folder that stands for `/`.
    """

    def __init__(self, place: Path) -> None:
        self.place, self.work, self.user = place, place, ""
        self.environment: _Environment = {"LANG": "C.UTF-8"}
        self.health_check: list[str] = []
        self.command: list[str] = []
        for folder in ("etc", "home", "tmp", "usr/local"):
            (place / folder).mkdir(parents=True)
        for name in ("passwd", "group", "shadow", "gshadow"):
            (place / "etc" / name).touch()

    def do(self, name: str, arguments: str) -> None:
        """Execute one instruction.

        Raises:
            ValueError: The instruction is not supported.
        """
        match name:
            case "FROM":
                subprocess.run([_python(arguments), "-m", "venv", self.place / "usr/local"], check=True)
                self.environment["PATH"] = f"{self.place}/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
            case "WORKDIR":
                self.work = self._path(arguments)
                self.work.mkdir(parents=True, exist_ok=True)
            case "COPY":
                *sources, target = arguments.split()
                for source in sources:
                    self._copy(source, self.work / target)
            case "RUN":
                subprocess.run(
                    ["bash", "-euc", self._mapped(arguments)], cwd=self.work, env=self.environment, check=True
                )
            case "USER":
                self.user = arguments
            case "ENV":
                variable, _, value = arguments.partition("=")
                self.environment[variable] = value
            case "HEALTHCHECK":
                self.health_check = json.loads(arguments.partition("CMD ")[2])
            case "ENTRYPOINT" | "CMD":
                self.command += json.loads(arguments)
            case "EXPOSE":
                pass
            case _:
                raise ValueError(f"nothing is known of {name}")

    def run(self, command: list[str], more: Mapping[str, str], **options: object) -> subprocess.Popen[bytes]:
        """Start a command as the image's user, in its folder, with its environment and additional variables."""
        identity = {"user": int(self.user), "group": int(self.user), "extra_groups": []} if self.has_user() else {}
        environment = {**self.environment, "HOME": str(self.work), **more}
        return subprocess.Popen(command, cwd=self.work, env=environment, **identity, **options)  # type: ignore[call-overload, no-any-return]

    def has_user(self) -> bool:
        """Check that the image's user can be another one than the caller."""
        return _is_root() and _is_for_all(self.place / "usr/local/bin/python")

    def _path(self, path: str) -> Path:
        return self.place / path.lstrip("/")

    def _mapped(self, command: str) -> str:
        """Return a command with the image's folders in place of the system's."""
        made = command.replace(" /build", f" {self._path('/build')}")
        if not _is_root():
            return re.sub(r"&& useradd [^&]*", "", made)
        return made.replace("useradd ", f"useradd --prefix {self.place} ")

    def _copy(self, source: str, target: Path) -> None:
        ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
        if f"!{source}" not in ignored:
            raise ValueError(f"{source} is not sent to the engine: .dockerignore leaves it out")
        left_out = [pattern.removeprefix("**/") for pattern in ignored if pattern.startswith("**/")]
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, ignore=lambda _, names: {
                name for name in names for pattern in left_out if fnmatch.fnmatch(name, pattern)
            })  # fmt: skip
        else:
            shutil.copy(ROOT / source, target)


def _is_root() -> bool:
    return os.geteuid() == 0


def _python(image: str) -> str:
    """Return the Python of the base image, or else the running one."""
    match = re.fullmatch(r"python:(\d+\.\d+)-slim", image)
    if match is None:
        raise ValueError(f"this is no plain image of Python: {image}")
    return shutil.which(f"python{match[1]}") or sys.executable


def _is_for_all(program: Path) -> bool:
    """Check that every user may run a program; a program in a home directory may be private."""
    return all(path.stat().st_mode & 0o001 for path in (program.resolve(), *program.resolve().parents))


def replay(place: Path) -> None:
    """Build and start the image: it must refuse to run open without a key, be healthy with one, and end on SIGTERM."""
    image = Image(place)
    for name, arguments in instructions((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        print(f"{name} {arguments:.100}", flush=True)
        image.do(name, arguments)
    if _is_root():
        users = (place / "etc/passwd").read_text(encoding="utf-8")
        assert f":{image.user}:" in users, f"user {image.user} was not made: {users!r}"
        assert (place / "home/whorl").stat().st_uid == int(image.user)
    assert not (place / "build").exists(), "what the image was built of is still there"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    variables = {"WHORL_LISTEN": f"0.0.0.0:{port}", "WHORL_STORE": "store"}
    refused = image.run(image.command, variables, stderr=subprocess.PIPE)
    _, error = refused.communicate(timeout=_PATIENCE_SECONDS)
    assert refused.returncode, "it starts open to everybody"
    assert b"WHORL_API_KEY" in error, error
    service = image.run(image.command, {**variables, "WHORL_API_KEY": "key"})
    try:
        until = time.monotonic() + _PATIENCE_SECONDS
        while image.run(image.health_check, variables, stderr=subprocess.DEVNULL).wait():
            assert service.poll() is None, "the service has ended"
            assert time.monotonic() < until, "the health check fails"
            time.sleep(1)
        print("healthy", "" if image.has_user() else "(not as the image's user: others may not run this Python)")
    finally:
        service.terminate()
    assert service.wait(_PATIENCE_SECONDS) in (0, -signal.SIGTERM), "it does not end well"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        # Other users read the folder, too.
        Path(folder).chmod(0o755)
        replay(Path(folder))
