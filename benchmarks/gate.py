"""Measures a gate for outgoing texts: `POST /api/v1/sources` at a fixed number of requests a second.

    python benchmarks/gate.py [--documents 100000] [--rate 50] [--seconds 60] [--workers 2] [--kindred] [--csv FILE]

Documents are texts of this machine in pieces of about 2,000 characters. A mail has 10,000 characters of pieces that are
not in the store, with the words of each line shuffled; with `--kindred` they stay in their order, and half of a mail
consists of texts of documents. One mail in ten also has three passages of 20 to 200 words of documents. Requests are
sent at a fixed rate, whether earlier ones are answered or not, and a request's time counts from the moment it was due,
which shows whether the service keeps up. Answers must cover the words of the passages, except a few at their ends.
whorl splits the passages into words, so a bar or a bracket between blanks does not count.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import aiohttp

from line_report import Line, report
from load_servers import KEY, Service
from sources import pieces
from whorl import Document, Store, open_store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.compare_texts import words_of
from whorl.fingerprint.compiled.kernel import SEARCHES_WORTH_LOADING, Kernel
from whorl.fingerprint.winnowing import PassageScheme
from whorl.search.attribution.find_sources import LOOPS_GAIN

MAIL, HELD_OUT = 10_000, 2_000
#: Number of words of the shortest passage, and number of words that an answer may miss at the ends of a passage.
_LEAST, _SPARED = 20, 12


class Mail(NamedTuple):
    """A text, and the words that come from documents."""

    text: str
    copied: tuple[str, ...]


class Answer(NamedTuple):
    """The answer to a mail: seconds after its due time, the status, and the covered words."""

    seconds: float
    status: int
    covered: int


def shuffled(chance: random.Random, text: str) -> str:
    """Return a text with the words of each line in another order."""
    return "\n".join(" ".join(chance.sample(words, len(words))) for words in map(str.split, text.splitlines()))


def mails(chance: random.Random, others: list[str], documents: list[str]) -> Iterator[Mail]:
    """Yield mails without end."""
    while True:
        parts, copied = list[str](), list[str]()
        while sum(map(len, parts)) < MAIL:
            parts.append(chance.choice(others))
        text = "\n\n".join(parts)[:MAIL]
        if chance.random() < 0.1:
            for _ in range(3):
                words = chance.choice(documents).split()
                length = min(len(words), chance.randint(_LEAST, 200))
                start = chance.randrange(len(words) - length + 1)
                copied.append(" ".join(words[start : start + length]))
            text = "\n\n".join([text[: MAIL // 2], *copied, text[MAIL // 2 :]])
        yield Mail(text, tuple(copied))


def required_words(passages: Iterable[str]) -> int:
    """Return the minimum number of words that an answer to a mail with these passages must cover."""
    counts = [len(words_of(passage).words) for passage in passages]
    return sum(count - _SPARED for count in counts if count >= _LEAST)


async def _post(client: aiohttp.ClientSession, mail: Mail, due: float) -> Answer:
    body = {"text": mail.text, "texts": "none", "min_words": _LEAST, "timeout": 10}
    async with client.post("/api/v1/sources", json=body) as response:
        content = await response.json()
        covered = content["covered_words"] if response.status == 200 else 0
        return Answer(time.monotonic() - due, response.status, covered)


async def load(url: str, queue: list[Mail], rate: float) -> list[Answer]:
    """Send a mail every 1 / `rate` seconds, and return the answers."""
    headers = {"Authorization": f"Bearer {KEY}"}
    async with aiohttp.ClientSession(url, headers=headers, connector=aiohttp.TCPConnector(limit=0)) as client:
        begun, tasks = time.monotonic() + 0.1, []
        for number, mail in enumerate(queue):
            due = begun + number / rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            tasks.append(asyncio.create_task(_post(client, mail, due)))
        return await asyncio.gather(*tasks)


def in_process(store: Path, texts: list[str]) -> Iterator[float]:
    """Yield the CPU milliseconds that the library takes for each text, after a warm-up."""
    # Every process loads the compiled loops first, as it would after some time.
    Kernel()
    with open_store(store, create=False) as opened:
        for number, text in enumerate([*texts[:20], *texts]):
            began = time.process_time()
            opened.sources("source", source=text, min_words=_LEAST)
            if number >= 20:
                yield 1000 * (time.process_time() - began)


def measured(options: argparse.Namespace) -> Iterator[Line]:
    """Make a store, serve it, and send mails."""
    chance = random.Random(29)
    pieces_read = list(islice(pieces(), options.documents + HELD_OUT))
    chance.shuffle(pieces_read)
    others, documents = pieces_read[:HELD_OUT], pieces_read[HELD_OUT:]
    yield "documents", len(documents), ""
    if not options.kindred:
        others = [shuffled(chance, text) for text in others]
    queue = list(islice(mails(chance, others, documents), int(options.rate * options.seconds)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with Store(EmbeddedEngine(path, passages=PassageScheme())) as store:
            store.index(Document(f"piece {number}", text) for number, text in enumerate(documents))
        costs = sorted(in_process(path, [mail.text for mail in queue[:200]]))
        yield "in process", statistics.median(costs), "ms CPU a mail, median"
        yield "in process", statistics.mean(costs), "ms CPU a mail, mean"
        yield "in process", costs[int(0.99 * len(costs))], "ms CPU a mail, 99th of 100"
        yield "workers", options.workers, ""
        service = Service(str(path), Path(folder), options.workers)
        try:
            service.start()
            # Send twice as many requests as the workers need to load the loops, because the system distributes
            # connections at random.
            warm_up = 2 * options.workers * SEARCHES_WORTH_LOADING // LOOPS_GAIN
            asyncio.run(load(service.address, queue[:warm_up], options.rate / 2))
            before = service.cpu_seconds
            answers = asyncio.run(load(service.address, queue, options.rate))
            used = service.cpu_seconds - before
        finally:
            service.stop()
    times = [answer.seconds * 1000 for answer in answers]
    yield "requests", len(answers), f"{options.rate:g} a second"
    yield "answers other than 200", sum(answer.status != 200 for answer in answers), ""
    copies = [
        (mail, answer) for mail, answer in zip(queue, answers, strict=True) if mail.copied and answer.status == 200
    ]
    yield "answered mails with passages", len(copies), ""
    missed = sum(answer.covered < required_words(mail.copied) for mail, answer in copies)
    yield "mails whose passages are not covered", missed, ""
    yield "an answer", statistics.median(times), "ms, median"
    yield "an answer", statistics.quantiles(times, n=100)[98], "ms, 99th of 100"
    yield "an answer", max(times), "ms, slowest"
    yield "the service", used / len(answers) * 1000, "ms CPU a request"


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=2, help="worker processes of the service")
    parser.add_argument("--kindred", action="store_true")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    report(measured(options), options.csv, width=40)


if __name__ == "__main__":
    main()
