"""Kills writers of an embedded store of any size, and Solr itself, and counts lost documents.

    python benchmarks/million.py --faults          # which calls this

An embedded store that `million.py` has filled is copied. Then, twenty times: another process indexes more documents and
reports each stored batch, and gets SIGKILL after a random time. A third process opens the store, and the time until its
first search is answered is measured. Every reported document must be stored with its digest, and a sample must be found
by its tokens.

A copy of the Solr that `million.py` has filled gets SIGKILL while `whorl index` sends more documents to it. Another
Solr gets it while `whorl solr backfill` adds sketches. Each is restarted on its folder; every reported document must be
stored; and the same command, run again, completes the work.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from statistics import median

from corpus_texts import texts
from duplicates_processes import WHORL, say
from million_stores import NAME, started
from whorl import Document, Store, open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.backfill_and_labels import prepare
from whorl.engine.solr.client import SolrClient
from writers import Writer, lost, lost_by_now, write

KILLS, LONGEST_SECONDS, SEED = 20, 6.0, 3
#: Number of documents to search for by their tokens after each kill.
_LOOKED_FOR = 20
#: Number of additional documents sent to a Solr, and minimum number that it has before it is killed.
_SENT, _LEAST = 40_000, 5_000
#: Time for a Solr to replay its log, in seconds; documents missing afterwards are lost.
_PATIENCE_SECONDS = 300.0

Figure = tuple[str, float, str]


def more(documents: Path, mark: str) -> Iterator[Document]:
    """Yield new documents: the same texts with other ids."""
    for document_id, text in texts(documents):
        yield Document(f"{mark}{document_id}", text)


def _writer(store: str, documents: Path, mark: str, count: int) -> Writer:
    """Start a process that indexes documents whose ids begin with a mark."""
    return Writer(__file__, store, str(documents), mark, str(count))


def faults(engine: str, documents: Path, count: int) -> list[Figure]:
    """Return the results of the kills."""
    sizes = _embedded(documents, count) if engine == "embedded" else _solr_index(documents, count)
    return [(f"faults: {what}", value, unit) for what, value, unit in sizes]


def _embedded(documents: Path, count: int) -> list[Figure]:
    folder = documents.with_name("faults")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(documents.with_name("embedded"), folder)
    chance, opened, safe, gone, unfound, there = random.Random(SEED), list[float](), 0, 0, 0, count
    for number in range(KILLS):
        mark = f"again{number}:"
        writer = _writer(str(folder), documents, mark, 10 * count)
        writer.has_begun.wait()
        time.sleep(chance.uniform(0, LONGEST_SECONDS))
        writer.process.kill()
        writer.ended()
        begun = time.perf_counter()
        with open_store(folder, create=False) as store:
            _find(store, "the", 1)
            opened.append(time.perf_counter() - begun)
            sent = list(islice(more(documents, mark), writer.safe))
            gone += lost(store, sent)
            unfound += sum(
                document.id not in _own(store, document.id)
                for document in chance.sample(sent, min(_LOOKED_FOR, len(sent)))
            )
            # A batch may be stored although its report was lost.
            there = store.count()
        safe += writer.safe
        say(f"kill {number + 1}: {writer.safe:,} documents safe, opened in {opened[-1]:.2f} s, {there:,} there")
    shutil.rmtree(folder)
    return [
        ("kills", KILLS, "kills"),
        ("acknowledged before a kill", safe, "documents"),
        ("lost", gone, "documents"),
        ("not found by their tokens", unfound, "documents"),
        ("opened and searched, median", median(opened), "s"),
        ("opened and searched, longest", max(opened), "s"),
    ]


def _find(store: Store, query: str, rows: int) -> list[str]:
    return [hit.id for hit in store.search(query, rows=rows).hits]


def _own(store: Store, document_id: str) -> list[str]:
    """Return the documents that have all tokens of a document."""
    quoted = re.sub(r'[\\"_]', r"\\\g<0>", document_id)
    return _find(store, f'FINGERPRINT:"{quoted}"_100', 10_000)


def _solr_index(documents: Path, count: int) -> list[Figure]:
    folder = documents.with_name("faults-solr")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(documents.with_name("solr"), folder)
    mark = "again:"
    with started("solr", folder) as running:
        writer = _writer(f"{running.url}/{NAME}", documents, mark, _SENT)
        while writer.safe < _LEAST and writer.process.poll() is None:
            time.sleep(0.1)
        running.process.kill()
        status = writer.ended()
    say(f"killed while indexing: {writer.safe:,} documents safe")
    begun = time.perf_counter()
    with started("solr", folder) as running:
        back = time.perf_counter() - begun
        with open_store(f"{running.url}/{NAME}") as store:
            sent = list(islice(more(documents, mark), writer.safe))
            # Solr answers before it has replayed all of its log.
            while (gone := lost_by_now(store, sent)) and time.perf_counter() - begun < _PATIENCE_SECONDS:
                time.sleep(1)
            there = time.perf_counter() - begun
            again = _writer(f"{running.url}/{NAME}", documents, mark, _SENT)
            if again.ended():
                raise SystemExit("indexing again failed")
            missing = count + _SENT - store.count()
    shutil.rmtree(folder)
    return [
        ("Solr killed while indexing: the writer ended with", status, "status"),
        ("Solr killed while indexing: acknowledged", writer.safe, "documents"),
        ("Solr killed while indexing: lost", gone, "documents"),
        ("Solr killed while indexing: back", back, "s"),
        ("Solr killed while indexing: its log read again", there, "s"),
        ("Solr killed while indexing: missing after a second run", missing, "documents"),
    ]


def backfill_killed(engine: str, documents: Path) -> list[Figure]:
    """Kill a Solr during a backfill, and return the result; the sketches stay incomplete.

    Args:
        engine: Engine of the folder, one of `million_stores.ENGINES`.
        documents: File of all documents; the folder is next to it.
    """
    folder = documents.with_name(engine)
    with started(engine, folder) as running:
        url = f"{running.url}/{NAME}"
        count = left(url)
        command = [*WHORL, "solr", "backfill", url]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and left(url) > count - _LEAST:
            time.sleep(1)
        running.process.kill()
        status = process.wait()
    begun = time.perf_counter()
    with started(engine, folder) as running:
        back = time.perf_counter() - begun
        return [
            ("the command ended with", status, "status"),
            ("back", back, "s"),
            ("without a sketch when it was back", left(f"{running.url}/{NAME}"), "documents"),
        ]


def left(url: str) -> int:
    """Return the number of documents without a sketch, as far as Solr knows."""
    with closing(SolrClient(url)) as client:
        return prepare(client, FieldNames())[1]


def main(arguments: Sequence[str]) -> None:
    """Index documents, and print the number of safe documents after each batch."""
    store, documents, mark, count = arguments
    write(store, islice(more(Path(documents), mark), int(count)))


if __name__ == "__main__":
    main(sys.argv[1:])
