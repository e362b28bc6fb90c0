"""Compares the speed of signatures: whorl, Python's MinHash libraries, and Lucene.

    python benchmarks/fingerprint.py [CORPUS.jsonl] [--megabytes 4] [--rounds 5] [--only compare,where,threads,...]

It computes signatures of 512 values over 5-word shingles from text, on one core. In every round each contender
processes all texts, and its fastest round counts. Processor time is measured, so other work on the machine hardly
matters. The other libraries take shingles, so they get ``text.lower().split()``, the simplest words; only whorl and
Lucene use Lucene's words. Every round compares whorl's numbers with Lucene's.

Sections: compare (the table), where (nanoseconds per word of each step), threads (two against one), memory (a text of 1
GB), cold (the first signature of a process). ``benchmarks/corpus.py`` makes the corpus;
``benchmarks/requirements-fingerprint.txt`` lists the other libraries.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import mmh3
import numpy as np
import numpy.typing as npt

from whorl.errors import WhorlError
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.compiled import unicode_tables as kernel_tables
from whorl.fingerprint.compiled.kernel import Kernel
from whorl.fingerprint.fingerprint_texts import signatures_of
from whorl.fingerprint.minhash.signature_and_tokens import text_minima
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.words import tokenizer as plain_text
from whorl.fingerprint.words.tokenizer import tokens

HERE = Path(__file__).resolve().parent
SECTIONS = ("compare", "where", "threads", "memory", "cold")
#: Scripts that need a dictionary; they have a table of their own.
DICTIONARY_SCRIPTS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
#: The ICU version of the Solr whose jars are used.
SCHEME = Scheme("icu74")
_KERNEL = "from whorl.fingerprint.compiled.kernel import Kernel"

Contender = Callable[[Sequence[str]], object]


def shingles(text: str) -> list[str]:
    """Return 5-word shingles of the simplest words: lower case, split at white space."""
    words = text.lower().split()
    return [" ".join(words[i : i + 5]) for i in range(len(words) - 4)]


def whorl_kernel() -> Contender:
    forget()
    return Kernel(SCHEME).bucket_minima


def whorl_plain() -> Contender:
    forget()
    return lambda texts: [text_minima(text, SCHEME) for text in texts]


def forget() -> None:
    """Empty whorl's cache of words, because texts are new in practice."""
    kernel._slow_words.cache_clear()
    plain_text.segmenter_of.cache_clear()
    tokens("a few words, \u65e5\u672c\u8a9e", SCHEME.profile)


def datasketch_sha1() -> Contender:
    """Datasketch with its default hash."""
    from datasketch import MinHash

    return lambda texts: [_datasketch(MinHash(num_perm=512), text) for text in texts]


def datasketch_xxhash() -> Contender:
    from datasketch import MinHash
    from xxhash import xxh32_intdigest

    return lambda texts: [_datasketch(MinHash(num_perm=512, hashfunc=xxh32_intdigest), text) for text in texts]


def _datasketch(sketch: Any, text: str) -> object:
    sketch.update_batch([shingle.encode() for shingle in shingles(text)])
    return sketch.digest()


def rensa() -> Contender:
    from rensa import RMinHash

    def one(text: str) -> object:
        sketch = RMinHash(num_perm=512, seed=42)
        sketch.update(shingles(text))
        return sketch.digest()

    return lambda texts: [one(text) for text in texts]


def fast_sketch() -> Contender:
    """FastSketchLSH on one thread."""
    from FastSketchLSH import FastSimilaritySketch

    sketch = FastSimilaritySketch(512, 42)
    return lambda texts: [sketch.batch([shingles(text)], num_threads=1) for text in texts]


def gaoya() -> Contender:
    """Gaoya with its own words and shingles; it makes signatures only for its index."""
    from gaoya.minhash import MinHashStringIndex

    def run(texts: Sequence[str]) -> object:
        index = MinHashStringIndex(32, 0.8, 32, 16, None, "word", True, (5, 5))
        for number, text in enumerate(texts):
            index.insert_document(number, text)
        return index

    return run


#: Name of each contender, function that returns it, and package whose version is printed.
CONTENDERS: list[tuple[str, Callable[[], Contender], str]] = [
    ("whorl, numba", whorl_kernel, "numba"),
    ("whorl, plain", whorl_plain, "whorl"),
    ("FastSketchLSH", fast_sketch, "FastSketchLSH"),
    ("rensa RMinHash", rensa, "rensa"),
    ("gaoya", gaoya, "gaoya"),
    ("datasketch, xxh32", datasketch_xxhash, "datasketch"),
    ("datasketch, sha1", datasketch_sha1, "datasketch"),
]


class Lucene:
    """Lucene in a Java process that runs a round on request."""

    def __init__(self, texts: Sequence[str], folder: Path) -> None:
        from whorl.engine.local.jars import fetch_jars
        from whorl.engine.local.server_process import find_java
        from whorl.engine.local.solr import SOLR

        file = folder / "texts"
        with file.open("wb") as out:
            out.write(struct.pack(">i", len(texts)))
            for text in texts:
                raw = text.encode("utf-8", "replace")
                out.write(struct.pack(">i", len(raw)) + raw)
        jars = os.pathsep.join(str(jar) for jar in fetch_jars(SOLR[0]))
        command = [
            str(find_java(SOLR[0])),
            "-XX:+UseSerialGC",
            "-Xmx2g",
            "-cp",
            jars,
            str(HERE / "FingerprintBench.java"),
        ]
        self._process = subprocess.Popen(
            [*command, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def round(self) -> tuple[float, int]:
        """Return the seconds of a round and the checksum of its tokens."""
        requests, responses = _pipe(self._process.stdin), _pipe(self._process.stdout)
        requests.write("\n")
        requests.flush()
        nanoseconds, checksum = responses.readline().split()
        return int(nanoseconds) / 1e9, int(checksum)

    def close(self) -> None:
        _pipe(self._process.stdin).close()
        self._process.wait()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def checksum(texts: Sequence[str]) -> int:
    """Compute the checksum of FingerprintBench.java from whorl's numbers."""
    together = 0
    for row in signatures_of(texts, SCHEME, workers=1):
        for high in row.tolist():
            together = (together * 31 + high) & 0xFFFFFFFFFFFFFFFF
    return together


def compare(texts: Sequence[str], rounds: int) -> None:
    """Print the table: every contender on the same texts, in turns."""
    running: dict[str, Callable[[], Contender]] = {}
    notes: dict[str, str] = {}
    absent: list[str] = []
    for name, make, package in CONTENDERS:
        try:
            make()
            running[name] = make
            notes[name] = f"{package} {version(package)}"
        except (ImportError, PackageNotFoundError) as problem:
            absent.append(f"{name}: {problem}")
    best = dict.fromkeys(running, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        lucene, same = None, ""
        try:
            lucene = Lucene(texts, Path(folder))
            best["Lucene"], notes["Lucene"] = float("inf"), "one thread of a warm JVM, garbage collection not counted"
            for _ in range(3):
                lucene.round()
        except (WhorlError, OSError) as problem:
            absent.append(f"Lucene: {problem}")
        for _ in range(rounds):
            for name, make in running.items():
                best[name] = min(best[name], cpu_seconds(partial(make(), texts)))
            if lucene:
                seconds, theirs = lucene.round()
                best["Lucene"] = min(best["Lucene"], seconds)
                same = "the same signatures" if theirs == checksum(texts) else "OTHER SIGNATURES"
        if lucene:
            lucene.close()
    words = sum(len(tokens(text, SCHEME.profile)) for text in texts)
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    print(f"{len(texts)} texts, {size / 1e6:.1f} MB, {words} words; the fastest of {rounds} rounds\n")
    print("| | ns per word | MB/s | times whorl's | |\n|---|---|---|---|---|")
    first = best["whorl, numba"] if "whorl, numba" in best else best["whorl, plain"]
    for name, seconds in sorted(best.items(), key=lambda item: item[1]):
        note = notes[name] + (f"; {same} as whorl" if name == "Lucene" else "")
        rate = f"{seconds / words * 1e9:.0f} | {size / seconds / 1e6:.1f}"
        print(f"| {name} | {rate} | {seconds / first:.1f} | {note} |")
    for line in absent:
        print(f"| absent: {line} | | | | |")
    others = [name for name in ("datasketch, sha1", "datasketch, xxh32", "Lucene") if name in best]
    ratios = ", ".join(f"{name} {best[name] / best['whorl, plain']:.2f}" for name in others)
    print(f"\nTimes that of whorl without numba: {ratios or 'nobody is here'}")


def where(texts: Sequence[str], rounds: int) -> None:
    """Print the cost of each step per word, and the speed of the hash alone."""
    one = Kernel(SCHEME)
    batches = [texts[i : i + 16] for i in range(0, len(texts), 16)]
    joined = [
        (window.raw, window.ends, window)
        for batch in batches
        for window in kernel._windows(batch, kernel.WINDOW)
        if window.finished
    ]
    segmented = [
        (words.copy(), starts.copy(), before)
        for batch in batches
        for _, words, starts, before in one._scan_windows(batch)
    ]
    count = sum(int(before[-1]) for _, _, before in segmented)
    units = sum(int(starts[-1]) for _, starts, _ in segmented)
    rows = max(len(before) for _, _, before in segmented)
    minima_, filled = np.empty((rows, 512, 2), np.uint64), np.empty((rows, 512), np.bool_)
    counts = np.zeros(rows, np.int64)

    def scan() -> None:
        for raw, bounds, _ in joined:
            before = np.empty((bounds.size, 2), np.int64)
            one._loops.words.scan(np.frombuffer(raw, np.uint16), bounds, True, one._tables, one._work, before)

    def renew() -> None:
        forget()
        one._slow_words = kernel._slow_words(SCHEME.profile)

    def spell() -> None:
        for raw, bounds, _ in joined:
            one._scan(raw, bounds, True)

    def reduce() -> None:
        for words, starts, before in segmented:
            minima_[:], filled[:] = np.iinfo(np.uint64).max, False
            one._loops.shingle_hashes.reduce(
                words, starts, before, *one._hashing, minima_, filled, counts, one._scratch
            )

    stream = bytes(1 << 26)
    per_byte = best_of(rounds, lambda: mmh3.mmh3_x64_128_digest(stream)) / len(stream)
    times = {
        "all": best_of(rounds, lambda: [one.bucket_minima(batch) for batch in batches], renew),
        "encode to UTF-16": best_of(rounds, lambda: [list(kernel._windows(batch, kernel.WINDOW)) for batch in batches]),
        "break and fold, in the loop": best_of(rounds, scan),
        "break and fold, with what the plain route is asked for": best_of(rounds, spell, renew),
        "hash and minimum": best_of(rounds, reduce),
    }
    print(f"{count} words of {units / count - 1:.1f} units; slow segments: {one_in(joined, one, count)}\n")
    print("| step | ns per word |\n|---|---|")
    for name, seconds in times.items():
        print(f"| {name} | {seconds / count * 1e9:.1f} |")
    hashed = 2 * (5 * units / count - 1)
    print(f"| the hash's own speed on one long stream: {1e-9 / per_byte:.1f} GB/s, {hashed:.0f} bytes a shingle "
          f"| {hashed * per_byte * 1e9:.1f} |")  # fmt: skip


def one_in(joined: Sequence[tuple[bytes, npt.NDArray[np.int64], Any]], one: Kernel, words: int) -> str:
    """Describe the share of words that take the slow route."""
    slow = 0
    for raw, bounds, _ in joined:
        before = np.empty((bounds.size, 2), np.int64)
        slow += one._loops.words.scan(np.frombuffer(raw, np.uint16), bounds, True, one._tables, one._work, before)[2]
    return f"one for {words // slow} words" if slow else "none"


def threads(texts: Sequence[str], rounds: int) -> None:
    """Print the speed of two threads relative to one, by wall time, and the machine's own limit for two threads."""
    repeated = [*texts] * max(1, 50_000_000 // sum(map(len, texts)))
    stream = bytes(1 << 26)

    def sign(workers: int) -> None:
        for _ in signatures_of(repeated, SCHEME, workers=workers):
            pass

    def digest(workers: int) -> None:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda _: sha256(stream), range(4)))

    best = {(work, workers): float("inf") for work in (sign, digest) for workers in (1, 2)}
    for _ in range(4 * rounds):
        for work, workers in best:
            start = time.perf_counter()
            work(workers)
            best[work, workers] = min(best[work, workers], time.perf_counter() - start)
    size = sum(len(text.encode("utf-8", "replace")) for text in repeated) / 1e6
    one, two = (f"{size / best[sign, workers]:.0f} MB/s" for workers in (1, 2))
    print(f"1 thread {one}, 2 threads {two}: {best[sign, 1] / best[sign, 2]:.2f} times as much; "
          f"two threads of hashlib.sha256 meanwhile: {best[digest, 1] / best[digest, 2]:.2f}")  # fmt: skip
    print(f"{min_locked(texts, rounds):.0%} of one thread's time is spent holding the interpreter's lock")


def min_locked(texts: Sequence[str], rounds: int) -> float:
    """Return the smallest share of a thread's time outside of compiled loops; then it holds the interpreter's lock."""
    one = Kernel(SCHEME)
    inside = [0]

    def timed(loop: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.thread_time_ns()
            try:
                return loop(*arguments)
            finally:
                inside[0] += time.thread_time_ns() - start

        return call

    names = {"words": ("scan", "insert_slow_words"), "cjk_words": ("divide",), "shingle_hashes": ("reduce", "rotate")}
    timed_loops = {
        module: SimpleNamespace(**{name: timed(getattr(getattr(one._loops, module), name)) for name in own})
        for module, own in names.items()
    }
    one._loops = one._loops._replace(**timed_loops)
    shares = []
    for _ in range(rounds):
        inside[0], start = 0, time.thread_time_ns()
        one.bucket_minima(texts)
        shares.append(1 - inside[0] / (time.thread_time_ns() - start))
    return min(shares)


def memory() -> None:
    """Print the memory for a text of 1 GB, without the text, on each route."""
    program = """
import resource, time
{work}
text = "words that say nothing, again and again, " * (1_000_000_000 // 41)
work("a few words to begin with, compiled")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
work(text)
seconds = time.process_time() - start
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"a text of {{len(text) / 1e9:.2f}} GB: {{(after - before) / 1024:.0f}} MB beside it, {{seconds:.1f}} s")
"""
    plain = "\n".join(
        [
            "from whorl.fingerprint.minhash.signature_and_tokens import text_minima",
            "from whorl.fingerprint.shingling import Scheme",
            "work = lambda text: text_minima(text, Scheme())",
        ]
    )
    print("numba", run(program.format(work=f"{_KERNEL}\nwork = lambda text: Kernel().bucket_minima([text])")))
    print("plain", run(program.format(work=plain)))


def cold() -> None:
    """Print the time of a process's first signature, with and without compiled loops on disk."""
    program = """
import time
start, busy = time.perf_counter(), time.process_time()
{work}
print(f"{{time.perf_counter() - start:.2f}} s ({{time.process_time() - busy:.2f}} s of processor time)")
"""
    fast = program.format(work=f"{_KERNEL}\nKernel().bucket_minima(['a b c d e'])")
    plain = program.format(
        work="from whorl.fingerprint.fingerprint_texts import fingerprints\nfingerprints(['a b c d e'])"
    )
    with tempfile.TemporaryDirectory() as folder:
        first = run(fast, NUMBA_CACHE_DIR=folder)
        print(f"first use on a machine (compiles) {first}, in a later process {run(fast, NUMBA_CACHE_DIR=folder)}, "
              f"a small batch (plain) {run(plain)}")  # fmt: skip


def run(program: str, **environment: str) -> str:
    command = [sys.executable, "-c", program]
    environment = {**os.environ, **environment}
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of a call, all threads together."""
    start = time.process_time()
    work()
    return time.process_time() - start


def best_of(rounds: int, work: Callable[[], object], before: Callable[[], object] = int) -> float:
    """Return the processor time of the fastest of several calls, after a warm-up call.

    Args:
        rounds: Number of calls.
        work: Timed function.
        before: Called before each call, not timed.
    """
    work()
    seconds = []
    for _ in range(rounds):
        before()
        seconds.append(cpu_seconds(work))
    return min(seconds)


def sketch(texts: Sequence[str], megabytes: float) -> list[str]:
    """Return a sample of texts with about this many million characters."""
    step = max(1, round(sum(map(len, texts)) / (megabytes * 1e6)))
    return list(texts[::step])


def main() -> None:
    parser = argparse.ArgumentParser(description="Time whorl's fingerprint beside others.")
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE / "data" / "main.jsonl")
    parser.add_argument("--megabytes", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(SECTIONS))
    options = parser.parse_args()
    with options.corpus.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    divided = [text for text in texts if len(DICTIONARY_SCRIPTS.findall(text)) * 20 > len(text)]
    spaced = [text for text in texts if not DICTIONARY_SCRIPTS.search(text)]
    groups = {
        "ASCII": sketch([text for text in texts if text.isascii()], options.megabytes),
        "Scripts with spaces": sketch(spaced, options.megabytes),
        "Chinese, Japanese and other scripts without spaces": sketch(divided, options.megabytes / 4),
    }
    print(f"{options.corpus.name}; Python {sys.version.split()[0]}, numpy {np.__version__}, profile {SCHEME.profile}, "
          f"window of {kernel.WINDOW} characters, padding {kernel_tables.PADDING}")  # fmt: skip
    for section in options.only.split(","):
        print(f"\n## {section}")
        if section in ("compare", "where"):
            for title, chosen in groups.items():
                if chosen:
                    print(f"\n### {title}\n")
                    (compare if section == "compare" else where)(chosen, options.rounds)
        elif section == "threads":
            threads(groups["Scripts with spaces"], options.rounds)
        elif section in ("memory", "cold"):
            (memory if section == "memory" else cold)()
        else:
            parser.error(f"no section {section!r}; there are {', '.join(SECTIONS)}")


if __name__ == "__main__":
    main()
