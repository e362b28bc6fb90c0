"""Compares the embedded engine, the Solr engine, and Solr without whorl.

    python benchmarks/engines.py [--documents N] [--corpus FILE | --only spdx] [--solr URL] [--quick]

The same documents go into a real Solr and an embedded store, in turns, through `open_store(...).index`. Each of a
sample of documents is then the source of three queries, `FINGERPRINT:id`, `FINGERPRINT:id_50` and
`FINGERPRINT:id_50_90`. Each query runs several times with all of these methods, one after the other:

| way              | what is timed                                                                        |
|------------------|--------------------------------------------------------------------------------------|
| whorl on Solr    | `store.search(query, rows=10)`                                                       |
| bare requests    | whorl's bytes, sent by `requests`; the answers read, unused                          |
| bare connections | the same, over whorl's connections                                                   |
| bare and decoded | the same by `requests`, and `json.loads` of every answer                             |
| tokens by hand   | one `{!min_hash}` with the source's tokens; JSON encoded and decoded                 |
| text by hand     | one `{!min_hash}` with the source's whole text, which Solr fingerprints              |
| embedded         | `store.search(query, rows=10)` on the folder                                         |

Before that, the benchmark sends whorl's indexing requests to another core, one after the other. It measures the cost of
indexing without whorl.

Only ratios of times taken in turns are compared, so other load on the machine affects all methods. Solr's caches are
off at first, as if no two queries were the same; then they are on and answer repeated requests. The first round fills
whorl's cache of query trees. Ids, scores and totals of both engines are compared, and those of Solr's parser where they
must be equal. A difference ends the run.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from requests import PreparedRequest

import corpus
from engine_report import Row, circumstances, row_of_times, row_of_values, say, times_table, values_table, write_csv
from engine_requests import Answer, ByHand, answer_of, elsewhere, recorded
from engine_solr import MeasuredSolr, own_solr
from engine_timing import compared, interleaved
from whorl import Document, Page, Store, WhorlError, open_store, unparse
from whorl.ingest.store_documents import DEFAULT_BATCH
from whorl.query import ast

RESULTS = Path(__file__).resolve().parent / "results" / "engines.csv"
ROWS = 10
#: Number of documents that one engine indexes in a turn; each turn ends with a commit.
TURN = 2 * DEFAULT_BATCH
#: With another seed, the sources and so the figures differ.
SEED = 11
#: Largest cost of whorl relative to the bare requests.
TARGET = 1.15

SOLR, BARE, CONNECTIONS, DECODED, TOKENS, TEXT, EMBEDDED = (
    "whorl on Solr", "bare requests", "bare connections", "bare and decoded", "tokens by hand", "text by hand",
    "embedded",
)  # fmt: skip
#: Credentials in a URL; the results are public.
_CREDENTIALS = re.compile(r"//[^/\s]*@")

AGAINST_REQUESTS = ((SOLR, BARE), (SOLR, CONNECTIONS), (SOLR, DECODED))
AGAINST_ALL = (*AGAINST_REQUESTS, (SOLR, TOKENS), (SOLR, TEXT), (EMBEDDED, SOLR))


class BenchmarkError(Exception):
    """The measurement is impossible; the message has the reason."""


class DifferentAnswersError(BenchmarkError):
    """Two methods found different documents; the message shows both results."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form of query, with the arguments of Solr's own parser that find the same."""

    overlap: Decimal | None
    probability: Decimal | None
    min_hash: Mapping[str, str]

    def query(self, reference: str) -> str:
        return unparse(ast.Fingerprint(reference, self.overlap, self.probability))

    def __str__(self) -> str:
        return self.query("id")


FORMS = (
    Form(None, None, {}),
    Form(Decimal("0.5"), None, {"sim": "0.5", "tp": "1.0"}),
    Form(Decimal("0.5"), Decimal("0.9"), {"sim": "0.5", "tp": "0.9"}),
)


# Documents


def corpus_file(options: argparse.Namespace) -> Path:
    """Return the file of documents; build it if it is missing."""
    if options.corpus:
        return Path(options.corpus)
    name = options.only or "main"
    file = corpus.DEFAULT_DIRECTORY / f"{name}.jsonl"
    if not file.exists():
        parts = corpus.MAIN_PARTS if name == "main" else (name,)
        corpus.build(corpus.DEFAULT_DIRECTORY, [corpus.CORPORA[part] for part in parts])
    return file


def read_documents(file: Path, count: int) -> list[Document]:
    """Return the first documents of a corpus; main.jsonl is shuffled."""
    documents = []
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(islice(lines, count), start=1):
            try:
                documents.append(Document(**json.loads(line)))
            except (TypeError, ValueError) as error:
                raise BenchmarkError(
                    f"{file}, line {number}: not a JSON object with id, name and text ({error})"
                ) from error
    return documents


def sampled(documents: Sequence[Document], count: int) -> list[Document]:
    """Return a sample of all lengths: one document from each of `count` equal groups, sorted by length."""
    chance = random.Random(SEED)
    by_length = sorted(documents, key=lambda document: len(document.text))
    count = min(count, len(by_length))
    borders = [len(by_length) * number // count for number in range(count + 1)]
    return [chance.choice(by_length[start:end]) for start, end in pairwise(borders)]


# Indexing


def timed_index(
    stores: Mapping[str, Store], documents: Sequence[Document], repeat: Callable[[list[PreparedRequest]], None] | None
) -> dict[str, float]:
    """Index the same documents into stores, in turns; return documents a second by name.

    Args:
        stores: Stores by name.
        documents: Documents to index.
        repeat: Sends Solr's requests to another core one after the other; its time is measured, too.
    """
    names = [*stores, *([BARE] if repeat else [])]
    seconds = dict.fromkeys(names, 0.0)
    for at in range(0, len(documents), TURN):
        batch = documents[at : at + TURN]
        sent: list[PreparedRequest] = []
        for name in names:
            with recorded() as heard:
                begun = time.perf_counter()
                done = stores[name].index(batch) if name in stores else repeat and repeat(sent)
                seconds[name] += time.perf_counter() - begun
            sent += heard
            if done and done.stored != len(batch):
                raise BenchmarkError(f"{name} stored {done.stored} of {len(batch)} documents: are ids repeated?")
        say(f"{at + len(batch)} of {len(documents)} documents indexed")
    return {name: len(documents) / taken for name, taken in seconds.items()}


def folder_bytes(folder: Path) -> int:
    """Return the total size of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def index_rows(solr: MeasuredSolr, folder: Path, documents: Sequence[Document]) -> list[Row]:
    """Index into both engines; return their speeds and sizes."""
    # Close the store before its size is read, so that everything is on disk.
    with open_store(solr.url) as on_solr, open_store(folder) as in_folder, closing(ByHand(solr.other, ROWS)) as bare:

        def repeat(sent: list[PreparedRequest]) -> None:
            bare.replay(elsewhere(sent, solr.url, solr.other))

        speeds = timed_index({SOLR: on_solr, EMBEDDED: in_folder}, documents, repeat if solr.other else None)
    text = "the text", sum(len(document.text.encode()) for document in documents) / len(documents)
    embedded = "embedded", folder_bytes(folder) / len(documents)
    rows = [
        *(row_of_values("indexing", "documents/s", (SOLR, speeds[SOLR]), other) for other in [*speeds.items()][1:]),
        row_of_values("size", "bytes/document", embedded, text),
    ]
    size = solr.index_bytes()
    if size is not None:
        rows.append(row_of_values("size", "bytes/document", ("Solr", size / len(documents)), text))
    return rows


# Searching


class Searches:
    """All search methods, with one sample of sources.

    Args:
        url: URL of the core or collection.
        folder: Embedded store with the same documents.
        sources: The sample; documents without a fingerprint are left out.
        rounds: Timed calls of each method for each query.
    """

    def __init__(self, url: str, folder: Path, sources: Sequence[Document], rounds: int) -> None:
        self._stack = ExitStack()
        self._solr = self._stack.enter_context(open_store(url))
        self._embedded = self._stack.enter_context(open_store(folder))
        self._by_hand = ByHand(url, ROWS)
        self._stack.callback(self._by_hand.close)
        self._rounds = rounds
        self._chance = random.Random(SEED)
        signatures = ((source, self._solr.signature(source.id)) for source in sources)
        self.sources = [(source, signature.tokens) for source, signature in signatures if signature]
        self.sources = [(source, tokens) for source, tokens in self.sources if tokens]
        if len(self.sources) < 2:
            raise BenchmarkError("fewer than two of the sources have a fingerprint: measure on longer texts")

    def close(self) -> None:
        self._stack.close()

    def rows(self, caches: str, pairs: Sequence[tuple[str, str]]) -> list[Row]:
        """Time every query with the methods in the pairs, and compare each pair."""
        wanted = {way for pair in pairs for way in pair}
        by_pair: dict[tuple[str, str], list[Row]] = {pair: [] for pair in pairs}
        for form in FORMS:
            say(f"{form}, Solr's caches {caches}: warming up")
            questions = [
                {name: way for name, way in self._ways(form, source, tokens).items() if name in wanted}
                for source, tokens in self.sources
            ]
            for ways in questions:
                for way in ways.values():
                    way()
            timed = []
            for number, ways in enumerate(questions):
                if number % 25 == 0:
                    say(f"{form}, Solr's caches {caches}: query {number} of {len(questions)}")
                timed.append(interleaved(ways, self._rounds, self._chance))
            for pair in pairs:
                by_pair[pair].append(row_of_times(str(form), caches, *pair, compared(timed, *pair)))
        return [row for rows in by_pair.values() for row in rows]

    def _ways(self, form: Form, source: Document, tokens: Sequence[str]) -> dict[str, Callable[[], object]]:
        """Return the methods for one query, after checking that they find the same."""
        query, by_hand = form.query(source.id), self._by_hand
        with recorded() as requests_made:
            answer = _answer(self._solr.search(query, rows=ROWS))
        requests = list(requests_made)
        with_tokens = partial(by_hand.min_hash_tokens, tokens, form.min_hash)
        with_text = partial(by_hand.min_hash_text, source.text, form.min_hash)
        _require_same(query, answer, EMBEDDED, _answer(self._embedded.search(query, rows=ROWS)))
        _require_same(query, answer, DECODED, answer_of(by_hand.replay_and_decode(requests)))
        # Solr's parser never finds a short last band, so queries with bands are not compared.
        if form.probability is None:
            _require_same(query, answer, TOKENS, answer_of(with_tokens()))
            _require_same(query, answer, TEXT, answer_of(with_text()))
        return {
            SOLR: partial(self._solr.search, query, rows=ROWS),
            BARE: partial(by_hand.replay, requests),
            CONNECTIONS: partial(by_hand.replay_on_connections, requests),
            DECODED: partial(by_hand.replay_and_decode, requests),
            TOKENS: with_tokens,
            TEXT: with_text,
            EMBEDDED: partial(self._embedded.search, query, rows=ROWS),
        }


def _answer(page: Page) -> Answer:
    return page.total, [(hit.id, hit.score) for hit in page.hits]


def _require_same(query: str, answer: Answer, way: str, other: Answer) -> None:
    if answer != other:
        raise DifferentAnswersError(f"{query} finds on Solr through whorl\n  {answer}\nand by {way}\n  {other}")


# The run


def measure(options: argparse.Namespace) -> None:
    """Measure, print and record."""
    begun = time.perf_counter()
    common = circumstances(_CREDENTIALS.sub("//", shlex.join(["python", "benchmarks/engines.py", *options.given])))
    file = corpus_file(options)
    documents = read_documents(file, options.documents)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="whorl-engines-")))
        if options.solr:
            solr = MeasuredSolr(options.solr.rstrip("/"))
            stack.enter_context(_emptied(solr.url, documents))
        else:
            say("starting Solr")
            solr = stack.enter_context(own_solr(folder / "solr"))
        embedded = folder / "embedded"
        indexed = index_rows(solr, embedded, documents)
        if solr.own:
            solr.switch_caches(on=False)
        searches = Searches(solr.url, embedded, sampled(documents, options.sources), options.rounds)
        stack.callback(searches.close)
        searched = searches.rows("off" if solr.own else "as configured", AGAINST_ALL)
        remembered = []
        if solr.own:
            solr.switch_caches(on=True)
            remembered = searches.rows("on", AGAINST_REQUESTS)
        common |= {
            "solr": solr.version,
            "corpus": file.name,
            "documents": len(documents),
            "sources": len(searches.sources),
            "rounds": options.rounds,
            "rows": ROWS,
        }
    print(", ".join(f"{name}: {value}" for name, value in common.items()), end="\n\n")
    print(values_table(indexed), end="\n\n")
    print(f"Search, Solr's caches {searched[0].caches}:\n\n{times_table(searched)}\n")
    if remembered:
        print(f"Search, Solr's caches on, every request the repetition of another:\n\n{times_table(remembered)}\n")
    worst = max(row.ratio for row in searched if (row.first, row.second) == (SOLR, BARE))
    verdict = "met" if worst <= TARGET else "not met"
    print(f"whorl takes at most {worst:.2f} times as long as its requests alone; the target of {TARGET} is {verdict}.")
    if options.output:
        write_csv(options.output, [*indexed, *searched, *remembered], common)
    say(f"done in {time.perf_counter() - begun:.0f} s")


@contextmanager
def _emptied(url: str, documents: Sequence[Document]) -> Iterator[None]:
    """Require an empty core or collection, and empty it again at the end."""
    with open_store(url) as store:
        if store.count():
            raise BenchmarkError("this Solr holds documents: measure on an empty core or collection")
        try:
            yield
        finally:
            store.delete([document.id for document in documents])


def _at_least_two(text: str) -> int:
    number = int(text)
    if number < 2:
        raise argparse.ArgumentTypeError("must be at least 2")
    return number


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    quick = "--quick" in arguments
    parser = argparse.ArgumentParser(description="Measure whorl's engines beside each other and beside bare HTTP.")
    parser.add_argument("--documents", type=_at_least_two, default=200 if quick else 3000, metavar="N")
    parser.add_argument("--sources", type=_at_least_two, default=10 if quick else 100, metavar="N")
    parser.add_argument("--rounds", type=_at_least_two, default=3 if quick else 5, metavar="N")
    texts = parser.add_mutually_exclusive_group()
    texts.add_argument("--corpus", type=Path, metavar="FILE", help="lines of JSON with id, name and text")
    texts.add_argument(
        "--only", choices=list(corpus.CORPORA), default="spdx" if quick else None,
        help="one part of the corpus, where not all can be built (default: all of main.jsonl)",
    )  # fmt: skip
    parser.add_argument("--solr", metavar="URL", help="an empty core or collection made with `whorl solr init`")
    parser.add_argument(
        "--output", type=Path, default=None if quick else RESULTS, metavar="CSV",
        help="where to write the results (default: benchmarks/results/engines.csv, with --quick nowhere)",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="200 licences, 10 sources: a try, not a measurement")
    options = parser.parse_args(arguments)
    options.given = list(arguments)
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, or print in one line why it is impossible."""
    try:
        measure(parsed(sys.argv[1:] if arguments is None else arguments))
    except corpus.CorpusError as error:
        sys.exit(f"engines: {error}\nOr measure on less: --only spdx, or --corpus FILE")
    except (BenchmarkError, WhorlError, OSError) as error:
        sys.exit(f"engines: {error}")
    except KeyboardInterrupt:
        sys.exit("engines: stopped")


if __name__ == "__main__":
    main()
