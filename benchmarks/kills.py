"""Kills `whorl index`, the service, Solr and OpenSearch at random moments, and counts lost documents.

Each time, documents are sent in batches until a process gets SIGKILL and is started again. Every acknowledged document
must then be stored unchanged, and be found by its own tokens. Three of five documents have equal texts. At the end, a
store that was killed a hundred times is compared with a new store of the same documents.

    make prove-kills
    .venv/bin/python benchmarks/kills.py --index 5 --service 2 --solr 1 --opensearch 1     # a short one
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from statistics import median

import requests

from duplicates_processes import say
from load_servers import DEADLINE_SECONDS, KEY, Server, Service, served
from load_texts import VARIANTS, text
from whorl import Document, Store, open_store
from writers import Writer, lost, lost_by_now, write

SEED = 17
#: Longest time from the first acknowledgement to the kill, in seconds.
_LONGEST_SECONDS = 1.5
#: Number of documents per batch, and number of clients that send batches to the service at the same time.
_BATCH, _CLIENTS = 20, 3
#: First of the variants that have the same text.
_EQUAL = VARIANTS - 3
#: Number of acknowledged documents to search for by their tokens after each kill.
_LOOKED_FOR = 5
#: Maximum time for Solr to replay its log, in seconds. Solr answers requests before it has replayed the whole log.
_PATIENCE_SECONDS = 60.0


@dataclass(slots=True)
class Outcome:
    """Results of the kills of one kind.

    Args:
        what: The killed program.
        kills: Number of kills.
        acknowledged: Documents that were acknowledged before a kill.
        lost: Acknowledged documents that were missing or changed afterwards.
        not_found: Acknowledged documents that a search for their tokens did not find.
        back: Seconds from each start until all documents were back.
    """

    what: str
    kills: int
    acknowledged: int
    lost: int
    not_found: int
    back: list[float]


def documents(mark: str) -> Iterator[Document]:
    """Yield documents without end; the same mark always gives the same documents."""
    base = zlib.crc32(mark.encode())
    for number in count():
        family, variant = divmod(number, VARIANTS)
        yield Document(f"{mark}-{number}", text(base + family, min(variant, _EQUAL)))


def main() -> None:
    """Kill, check, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=int, default=120, help="kills of `whorl index` with an embedded store")
    parser.add_argument("--service", type=int, default=40, help="kills of the service over an embedded store")
    parser.add_argument("--solr", type=int, default=40, help="kills of the Solr under the service")
    parser.add_argument("--opensearch", type=int, default=20, help="kills of the OpenSearch under the service")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "kills.txt")
    parser.add_argument("--writer", nargs=2, metavar=("STORE", "MARK"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.writer:
        store, mark = arguments.writer
        write(store, documents(mark), _BATCH)
        return
    chance = random.Random(SEED)
    results = [
        killed_writers(arguments.index, chance),
        killed_uploads("embedded", arguments.service, chance),
        killed_uploads("solr", arguments.solr, chance),
        killed_uploads("opensearch", arguments.opensearch, chance),
    ]
    lines = list(report(results))
    arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(*lines, sep="\n")
    if any(result.lost or result.not_found for result in results):
        sys.exit(1)


def killed_writers(kills: int, chance: random.Random) -> Outcome:
    """Repeatedly kill a process that indexes documents into an embedded store, always into the same store."""
    outcome, all_safe = Outcome("whorl index, embedded", kills, 0, 0, 0, []), dict[str, Document]()
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store")
        for number in range(kills):
            mark = f"i{number}"
            writer = Writer(__file__, "--writer", store, mark)
            writer.has_begun.wait(DEADLINE_SECONDS)
            time.sleep(chance.uniform(0, _LONGEST_SECONDS))
            writer.process.kill()
            writer.ended()
            sent = {document.id: document for document in islice(documents(mark), writer.safe)}
            all_safe |= sent
            begun = time.perf_counter()
            with open_store(store, create=False) as opened:
                opened.count()
                outcome.back.append(time.perf_counter() - begun)
                # Check all acknowledged documents, not only those of this round, but read only the texts of this round.
                texts = opened.texts([*sent])
                changed = sum(texts.get(document.id) != document.text for document in sent.values())
                outcome.lost += max(lost(opened, [*all_safe.values()]), changed)
                outcome.not_found += not_found(opened, sent, chance)
            outcome.acknowledged += writer.safe
            say(f"{outcome.what}: kill {number + 1} of {kills}, {writer.safe} safe, {outcome.lost} lost")
    return outcome


def killed_uploads(engine: str, kills: int, chance: random.Random) -> Outcome:
    """Kill the service of an embedded store, or the server under it, while clients upload."""
    what = {
        "embedded": "the service, embedded",
        "solr": "Solr under the service",
        "opensearch": "OpenSearch under the service",
    }[engine]
    outcome, all_safe = Outcome(what, kills, 0, 0, 0, []), dict[str, Document]()
    with tempfile.TemporaryDirectory() as folder, served(engine, Path(folder)) as (name, service, server):
        service.start()
        for number in range(kills):
            sent = _uploaded_until_killed(service, server, f"{engine[0]}{number}", chance.uniform(0, _LONGEST_SECONDS))
            all_safe |= sent
            begun = time.perf_counter()
            server.start()
            if engine == "embedded":
                outcome.back.append(time.perf_counter() - begun)
                # Only one process may write a store, so stop the service before reading it here.
                service.kill()
            with open_store(name, create=False) as opened:
                while (
                    gone := lost_by_now(opened, [*all_safe.values()])
                ) and time.perf_counter() - begun < _PATIENCE_SECONDS:
                    time.sleep(0.5)
                if engine != "embedded":
                    outcome.back.append(time.perf_counter() - begun)
                outcome.lost += gone
                outcome.not_found += not_found(opened, sent, chance)
            if engine == "embedded":
                service.start()
            outcome.acknowledged += len(sent)
            say(f"{outcome.what}: kill {number + 1} of {kills}, {len(sent)} safe, {outcome.lost} lost")
    return outcome


def _uploaded_until_killed(service: Service, server: Server, mark: str, seconds: float) -> dict[str, Document]:
    """Upload from several clients, kill the server after some time, and return the acknowledged documents."""
    safe, has_begun, is_over = dict[str, Document](), threading.Event(), threading.Event()

    def send(client: int) -> None:
        remaining = documents(f"{mark}c{client}")
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/x-ndjson"}
        while not is_over.is_set():
            batch = list(islice(remaining, _BATCH))
            body = "\n".join(json.dumps({"id": document.id, "text": document.text}) for document in batch)
            try:
                answer = requests.post(
                    f"{service.address}/api/v1/documents", data=body, headers=headers, timeout=DEADLINE_SECONDS
                )
            except requests.RequestException:
                # The killed service did not acknowledge this batch.
                return
            if answer.status_code == 200 and answer.json()["stored"] == len(batch):
                safe.update({document.id: document for document in batch})
                has_begun.set()

    clients = [threading.Thread(target=send, args=(number,)) for number in range(_CLIENTS)]
    for client in clients:
        client.start()
    has_begun.wait(DEADLINE_SECONDS)
    time.sleep(seconds)
    server.kill()
    is_over.set()
    for client in clients:
        client.join()
    return safe


def not_found(store: Store, sent: dict[str, Document], chance: random.Random) -> int:
    """Return the number of documents that a search for all their tokens does not find."""
    looked_for = chance.sample(sorted(sent), min(_LOOKED_FOR, len(sent)))
    return sum(
        document not in [hit.id for hit in store.search(f'FINGERPRINT:"{document}"_100', rows=100).hits]
        for document in looked_for
    )


def report(outcomes: list[Outcome]) -> Iterator[str]:
    """Yield the lines of the report."""
    yield f"{sum(outcome.kills for outcome in outcomes)} times SIGKILL at a random moment while documents were sent"
    yield ""
    yield f"{'killed':29}{'kills':>6}{'acknowledged':>14}{'lost':>6}{'not found':>11}   back (s): median, longest"
    for outcome in outcomes:
        back = f"{median(outcome.back):.2f} {max(outcome.back):.2f}" if outcome.back else ""
        counts = f"{outcome.kills:6}{outcome.acknowledged:14,}{outcome.lost:6}{outcome.not_found:11}"
        yield f"{outcome.what:29}{counts}   {back}"


if __name__ == "__main__":
    main()
