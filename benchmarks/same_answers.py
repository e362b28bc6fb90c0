"""Proves that all engines give the same answers about real documents: ids, scores, totals, order.

    python benchmarks/same_answers.py [CORPUS.jsonl] [--documents N] [--queries 1000] [--solr URL] [--opensearch URL]
                                      [--folder DIR] [--out FILE]

The documents of the corpus go into a folder, a Solr and an OpenSearch index (started here unless a URL is given). Then
generated queries run on all three: FINGERPRINTs of any document with any numbers; words, phrases and patterns of its
text and name; ranges; alone, and combined by operators in twos and threes; the first page and a later one; and
`similar` by the metrics at 50 and 80 %. Prints the differences; the exit status is 1 if there are any. Queries that an
engine refuses for too many clauses are counted separately.

With `--folder` the engines and the results stay there, and an interrupted run continues.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import date
from itertools import islice, product
from pathlib import Path
from typing import Any, TypeAlias

from corpus_texts import texts
from engine_solr import own_solr
from whorl import Document, ParameterError, Store, open_store
from whorl.engine.local.opensearch import start_cluster
from whorl.engine.opensearch.client import IndexClient
from whorl.fingerprint.statistics.metric import SIMILAR_METRICS
from whorl.fingerprint.words.tokenizer import tokens

HERE = Path(__file__).resolve().parent
ROWS = 20
#: Number of digits of compared scores: the servers add up scores as floats of 32 bits.
DIGITS = 4
#: Number of sources for `similar`.
SOURCES = 40
_SHOWN = 10
_OPERATORS = {"and", "or", "not", "to"}


def query(chance: random.Random, documents: Sequence[Document], depth: int = 1) -> str:
    """Return a query about some of the documents."""
    if depth and chance.random() < 0.6:
        parts = [query(chance, documents, depth - 1) for _ in range(chance.randint(2, 3))]
        joint = chance.choice([" AND ", " OR ", " AND NOT ", " "])
        return f"({joint.join(parts)})"
    document = chance.choice(documents)
    plain = [word for word in tokens(document.text[:5000]) if word.isalnum() and word.isascii()]
    words = [word for word in plain if word not in _OPERATORS] or ["a"]
    at = chance.randrange(len(words))
    overlap, probability = chance.choice([5, 20, 33, 50, 80, 100]), chance.choice([50, 90, 99])
    return chance.choice(
        [
            f'FINGERPRINT:"{document.id}"_{overlap}',
            f'FINGERPRINT:"{document.id}"_{overlap}_{probability}',
            words[at],
            f'"{" ".join(words[at : at + 3])}"',
            f"content:{words[at][:3]}*",
            f"{words[at]}~0.8",
            f'id:"{document.id}"',
            f"number:[{at} TO {at + 500}]",
            f"{words[at]} * {words[-1]}",
        ]
    )


def page_of(store: Store, text: str, start: int) -> tuple[int, list[tuple[str, float]]]:
    """Return the total of a query, and a page with scores rounded to 32 bits."""
    page = store.search(text, rows=ROWS, start=start)
    return page.total, [(hit.id, float(f"{hit.score:.{DIGITS}g}")) for hit in page.hits]


def similar_to(store: Store, name: str, metric: str, threshold: int) -> list[tuple[str, float]]:
    hits = store.similar(name, metric=metric, threshold=threshold, rows=200).found
    return [(similar.hit.id, round(similar.hit.score, DIGITS)) for similar in hits]


Question: TypeAlias = tuple[str, Callable[[Store], tuple[int, object]]]


def questions(documents: Sequence[Document], count: int) -> Iterator[Question]:
    """Yield the queries for all stores, equal in every run: a name, and a function that returns answer and total."""
    chance = random.Random(15)
    for _ in range(count):
        text, start = query(chance, documents), chance.choice([0, 0, 40])

        def searched(store: Store, text: str = text, start: int = start) -> tuple[int, object]:
            total, hits = page_of(store, text, start)
            return total, hits

        yield f"{text} from {start}", searched
    for document in chance.sample(list(documents), min(SOURCES, len(documents))):
        for metric, threshold in product(SIMILAR_METRICS, (50, 80)):

            def near(
                store: Store, name: str = document.id, metric: str = metric.value, threshold: int = threshold
            ) -> tuple[int, object]:
                hits = similar_to(store, name, metric, threshold)
                return len(hits), hits

            yield f"similar to {document.id} by {metric.value} at {threshold}", near


def compare(stores: Mapping[str, Store], asked_questions: Sequence[Question], log: Path) -> list[dict[str, Any]]:
    """Run all queries that the log lacks on all stores; return the whole log, a line for each query."""
    answers = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    if answers:
        print(f"{len(answers):,} questions were asked before", flush=True)
    began = time.perf_counter()
    with log.open("a", encoding="utf-8") as file:
        for number, (name, ask) in enumerate(asked_questions[len(answers) :], start=len(answers) + 1):
            results, refused = dict[str, tuple[int, object]](), dict[str, str]()
            for engine, store in stores.items():
                try:
                    results[engine] = ask(store)
                except ParameterError as error:
                    if "clauses" not in str(error):
                        raise
                    refused[engine] = str(error)
            first = next(iter(results.values()))
            totals = {engine: total for engine, (total, _) in results.items()}
            differs = any(result != first for result in results.values())
            answers.append({"name": name, "totals": totals, "differs": differs, "refused": refused})
            file.write(json.dumps(answers[-1]) + "\n")
            file.flush()
            if number % 100 == 0:
                differing = sum(answer["differs"] for answer in answers)
                seconds = time.perf_counter() - began
                print(f"{number:,} of {len(asked_questions):,}, {differing:,} differ, {seconds:,.0f} s", flush=True)
    return answers


def report(answers: Sequence[Mapping[str, Any]], engines: Sequence[str], documents: int) -> list[str]:
    """Return the summary in lines."""
    lines = [f"{documents:,} documents on {', '.join(engines)}"]
    kinds = {True: "similar searches", False: "queries"}
    for is_similar, name in sorted(kinds.items()):
        chosen = [answer for answer in answers if answer["name"].startswith("similar to ") is is_similar]
        hits = sum(answer["totals"][engines[0]] for answer in chosen)
        lines.append(f"{len(chosen):,} {name}, {hits:,} hits: {sum(answer['differs'] for answer in chosen):,} differ")
    differing = [answer for answer in answers if answer["differs"]]
    counts = {engine: sum(engine in answer["refused"] for answer in answers) for engine in engines}
    lines += [
        f"{count:,} of these have too many clauses for {engine}, which said so; the others agree"
        for engine, count in counts.items()
        if count
    ]
    return [*lines, *(f"differs: {difference['name']}: {difference['totals']}" for difference in differing[:_SHOWN])]


def main() -> None:
    """Fill the engines and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE / "data" / "main.jsonl")
    parser.add_argument("--documents", type=int, default=1_000_000, help="the first ones of the corpus")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--solr", help="URL of an empty collection of whorl's configset; else one is started")
    parser.add_argument("--opensearch", help="URL of a cluster, http://host:9200; else one is started")
    parser.add_argument("--folder", type=Path, help="where everything stays, to go on from; else in a temporary one")
    parser.add_argument("--out", type=Path, help="where the result is written, too")
    arguments = parser.parse_args()
    documents = [
        Document(name, text, properties={"number": number})
        for number, (name, text) in enumerate(islice(texts(arguments.corpus), arguments.documents))
    ]
    with ExitStack() as stack:
        folder = arguments.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        cluster = arguments.opensearch or stack.enter_context(start_cluster(folder / "opensearch", heap="1g")).url
        names = {
            "embedded": str(folder / "store"),
            "Solr": arguments.solr or stack.enter_context(own_solr(folder / "solr")).url,
            "OpenSearch": f"opensearch+{cluster}/whorl_same_answers",
        }
        if not arguments.folder:
            with closing(IndexClient(names["OpenSearch"])) as client:
                client.raw.indices.delete(index=client.index, params={"ignore_unavailable": "true"})
        stores = {name: stack.enter_context(open_store(url)) for name, url in names.items()}
        for name, store in stores.items():
            began = time.perf_counter()
            # Existing documents are not sent again.
            done = store.index(documents, progress=lambda done: print(f"{done.stored:,} stored", end="\r", flush=True))
            seconds = time.perf_counter() - began
            print(f"{name}: {done.stored:,} stored, {done.unchanged:,} there before, {seconds:,.0f} s", flush=True)
        log = folder / "asked.jsonl"
        answers = compare(stores, list(questions(documents, arguments.queries)), log)
        log.unlink()
        lines = report(answers, list(stores), len(documents))
    print("\n".join(lines))
    if arguments.out:
        arguments.out.write_text("\n".join([f"# make prove-engines, {date.today()}", *lines, ""]), encoding="utf-8")
    sys.exit(1 if any(answer["differs"] for answer in answers) else 0)


if __name__ == "__main__":
    main()
