"""Compares the cost of a SimHash code: whorl's schemes and other libraries, each in its own environment.

All of the libraries are called `simhash` and overwrite one another. So each is installed into a folder of its own,
which later runs use, and runs in its own process, which computes the codes of the same texts repeatedly.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import IO, Self

from whorl.fingerprint.words.tokenizer import tokens

#: Total number of characters of the timed texts of each kind.
CHARACTERS = 2_000_000

#: Program of every process: for each input line it computes all codes, and prints seconds and a digest.
_ROUNDS = """
import gc, hashlib, json, sys, time
{setup}
texts = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
for _ in sys.stdin:
    gc.collect()
    begin = time.process_time()
    codes = codes_of(texts)
    seconds = time.process_time() - begin
    digest = hashlib.sha256(" ".join(str(int(code)) for code in codes).encode()).hexdigest()
    print(seconds, digest, flush=True)
"""
_WHORL = """
from whorl.hamming.simhash import simhashes
def codes_of(texts):
    return simhashes(texts, "{scheme}")
"""
_PYBIND = """
import re, simhash
def codes_of(texts):
    return [
        simhash.compute([
            simhash.unsigned_hash(" ".join(phrase).encode())
            for phrase in simhash.shingle(re.split(r"\\W+", text), 4)
        ])
        for text in texts
    ]
"""
_1E0NG = """
from simhash import Simhash
def codes_of(texts):
    return [Simhash(text).value for text in texts]
"""


@dataclass(frozen=True, slots=True)
class Contender:
    """A library, or a scheme of whorl.

    Args:
        name: Its name in the table.
        scheme: whorl's scheme with the same codes.
        setup: Python code that defines `codes_of`.
        packages: Packages to install; none for whorl.
    """

    name: str
    scheme: str
    setup: str
    packages: tuple[str, ...] = ()


CONTENDERS = (
    *(
        Contender(f"whorl, {scheme}", scheme, _WHORL.format(scheme=scheme))
        for scheme in ("simhash1-icu74", "simhash-py-0.4", "simhash-py-0.1", "simhash-cpp-0.1", "simhash-1e0ng-2")
    ),
    Contender("simhash-pybind 0.0.3", "simhash-py-0.4", _PYBIND, ("simhash-pybind==0.0.3",)),
    # With numpy 2 it raises an OverflowError for a feature that occurs more than 255 times.
    Contender("simhash 2.1.2 (1e0ng)", "simhash-1e0ng-2", _1E0NG, ("simhash==2.1.2", "numpy<2")),
)


class Running:
    """A process that runs a round on request."""

    def __init__(self, python: Path, setup: str, texts: Path) -> None:
        command = [str(python), "-c", _ROUNDS.format(setup=setup), str(texts)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _pipe(self._process.stdin).close()
        self._process.wait()

    def round(self) -> tuple[float, str]:
        """Return the processor time of all codes in seconds, and their digest.

        Raises:
            ValueError: The process has ended.
        """
        requests, responses = _pipe(self._process.stdin), _pipe(self._process.stdout)
        requests.write("\n")
        requests.flush()
        seconds, digest = responses.readline().split()
        return float(seconds), digest


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def python_for(contender: Contender, folder: Path) -> Path:
    """Return an interpreter with a contender's packages; install missing ones.

    Raises:
        CalledProcessError: The packages cannot be installed.
    """
    if not contender.packages:
        return Path(sys.executable)
    home = folder / ".peers" / contender.packages[0]
    python = home / "bin" / "python"
    if not (home / "installed").exists():
        venv.create(home, clear=True, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *contender.packages]
        subprocess.run(install, check=True)
        (home / "installed").touch()
    return python


def compare(folder: Path, rounds: int) -> str:
    """Return the tables: every contender on the same texts, in turns, with its fastest round."""
    pythons: dict[Contender, Path] = {}
    lines = []
    for contender in CONTENDERS:
        try:
            pythons[contender] = python_for(contender, folder)
        except (subprocess.CalledProcessError, OSError) as problem:
            lines.append(f"absent: {contender.name}: {problem}")
    for kind, is_wanted in KINDS.items():
        lines += table(kind, some_texts(folder / "main.jsonl", is_wanted), pythons, rounds)
    return "\n".join(lines)


KINDS: dict[str, Callable[[str], bool]] = {"ASCII": str.isascii, "other texts": lambda text: not text.isascii()}


def some_texts(file: Path, is_wanted: Callable[[str], bool]) -> list[str]:
    """Return the first texts of a kind, up to `CHARACTERS`."""
    texts: list[str] = []
    size = 0
    with file.open(encoding="utf-8") as lines:
        for text in (json.loads(line)["text"] for line in lines):
            if is_wanted(text) and size < CHARACTERS:
                texts.append(text)
                size += len(text)
    return texts


def table(kind: str, texts: Sequence[str], pythons: dict[Contender, Path], rounds: int) -> list[str]:
    words = sum(len(tokens(text)) for text in texts)
    best = dict.fromkeys(pythons, float("inf"))
    digests: dict[Contender, str] = {}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "texts.jsonl"
        file.write_text("".join(f"{json.dumps(text)}\n" for text in texts), encoding="utf-8")
        running = {contender: Running(python, contender.setup, file) for contender, python in pythons.items()}
        for _ in range(rounds):
            for contender, process in running.items():
                seconds, digests[contender] = process.round()
                best[contender] = min(best[contender], seconds)
        for process in running.values():
            with process:
                pass
    ours = {contender.scheme: digests[contender] for contender in pythons if not contender.packages}
    lines = [f"{kind}: {len(texts):,} texts, {words:,} words; nanoseconds a word, the fastest of {rounds} rounds"]
    for contender, seconds in best.items():
        same = "the codes are whorl's" if digests[contender] == ours[contender.scheme] else "OTHER CODES"
        note = f"  {same}: {contender.scheme}" if contender.packages else ""
        lines.append(f"  {contender.name:26} {seconds / words * 1e9:6,.0f}{note}")
    return [*lines, ""]
