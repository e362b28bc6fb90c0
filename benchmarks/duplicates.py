"""Compares `whorl duplicates` with Python's MinHash libraries on real text, in one run.

    python benchmarks/duplicates.py [CORPUS.jsonl] [--thresholds 80] [--rounds 3] [--documents N] [--only NAME,...]
    python benchmarks/duplicates.py [CORPUS.jsonl] --words 60 [--documents N] [--clusters]
    python benchmarks/duplicates.py [CORPUS.jsonl] --pieces 60000
    python benchmarks/duplicates.py benchmarks/data/descriptions.jsonl --thresholds 50,80,90 --rounds 1
    python benchmarks/duplicates.py [CORPUS.jsonl] --profile

Each contender reads the file and writes its result, in its own process on one processor and one thread. The whole
process is measured, from its start to its end. Contenders take turns, in reverse order in every other round. The
fastest round counts, separately for wall time and processor time, and the highest memory. `times whorl's CPU` compares
processor time; documents and megabytes a second are wall time. `duplicates_peers.py` shows how each library is used.

The true pairs are counted on all shingles of all documents (`duplicates_truth.py`), separately for each definition of a
word: whorl uses Lucene's words; datasketch, rensa and FastSketchLSH get lower-cased text split at white space; gaoya
and text-dedup make their own. So a library is not judged by another's words, but the numbers of pairs differ. Recall
and precision are given for pairs, and for documents that have a duplicate, since some contenders drop documents and
report no pairs: rensa's deduplicators compare each document only with the ones they keep, its rho pipeline and
datatrove mark documents, and text-dedup joins all documents of a bucket.

--words cuts short texts out of the corpus (`duplicates_texts.short_texts`): words between blanks. A tenth are edited
copies, and similar passages of real text stay. --pieces uses the documents of `duplicates_scaling.py`, 3,000 bytes
each.

--clusters asks for clusters instead of pairs: whorl without --pairs, and the libraries join their pairs by union-find.
The documents of all clusters are compared with the true ones.

--profile prints the time of each part of whorl. `requirements-duplicates.txt` names the libraries. text-dedup and
datatrove need their own environments, FOLDER/venv-text-dedup and so on (`make bench-duplicates` makes them). Missing
libraries are reported. Results: results/duplicates.csv, duplicates-short.csv with --words, duplicates-pieces.csv with
--pieces, and duplicates-NAME.csv for another corpus (not with --documents), with -clusters at the end of the name with
--clusters. Thresholds are measured and recorded one
after the other; rows of other thresholds and contenders stay. `descriptions.py` and `installed.py` make such corpora.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from duplicates_processes import WHORL, WHORL_WITHOUT_NUMBA, Taken, best, required, run, say

if TYPE_CHECKING:
    from duplicates_truth import Numbers

HERE = Path(__file__).resolve().parent
FIELDS = (
    "threshold", "contender", "version", "wall s", "CPU s", "times whorl's CPU", "documents/s", "MB/s", "peak MB",
    "pairs", "right pairs", "recall", "precision", "documents", "right documents", "document recall",
    "document precision",
)  # fmt: skip
ABSENT = 3
SHORT_TEXTS = 100_000
#: Largest number of documents that a contender compares with all kept ones; more would take hours.
MOST_OF_ALL = 20_000
#: Number of documents that is enough to run all compiled loops, and code that compiles the loops of hashing.
WARM_UP, COMPILED = 5_000, "from whorl.fingerprint.compiled.kernel import Kernel; Kernel()"


@dataclass(frozen=True, slots=True)
class Contender:
    """A compared program.

    Args:
        definition: Its shingles; see `duplicates_truth`.
        command: The program and its arguments for an input, a threshold in percent, and an output file.
    """

    name: str
    definition: str
    command: Callable[[Path, int, Path], list[str]]


@dataclass(slots=True)
class Run:
    """Measurements of a contender over all rounds."""

    taken: list[Taken] = field(default_factory=list)
    absent: str = ""


def contenders(home: Path, *, clusters: bool = False) -> list[Contender]:
    """Return all contenders, which write pairs or clusters; `home` is the folder of the environments."""
    pairs, joined = ([], ["clusters"]) if clusters else (["--pairs"], [])

    def whorl(program: list[str]) -> Callable[[Path, int, Path], list[str]]:
        return lambda corpus, percent, out: [
            *program, "duplicates", str(corpus), *pairs, "--workers", "1", "--threshold", str(percent),
            "--format", "json", "-o", str(out),
        ]  # fmt: skip

    def peer(name: str, definition: str = "whitespace", environment: str = "") -> Contender:
        python = home / f"venv-{environment}" / "bin" / "python" if environment else Path(sys.executable)
        script = str(HERE / "duplicates_peers.py")
        return Contender(
            name,
            definition,
            lambda corpus, percent, out: [str(python), script, name, str(corpus), str(percent), str(out), *joined],
        )

    return [
        Contender("whorl", "whorl", whorl(WHORL)),
        Contender("whorl without numba", "whorl", whorl(WHORL_WITHOUT_NUMBA)),
        peer("rensa RMinHashLSH"),
        peer("rensa RMinHashDeduplicator"),
        peer("rensa CMinHashDeduplicator"),
        peer("rensa rho"),
        peer("FastSketchLSH"),
        peer("gaoya", "punctuation"),
        peer("datasketch"),
        peer("datasketch verified"),
        peer("daft"),
        peer("text-dedup", "nonword", "text-dedup"),
        # The closest definition: gaoya also leaves out marks.
        peer("datatrove", "punctuation", "datatrove"),
    ]


def measure(
    several: list[Contender], corpus: Path, percent: int, rounds: int, folder: Path, answers: Path
) -> dict[str, Run]:
    """Run the contenders in turns."""
    runs = {contender.name: Run() for contender in several}
    for turn in range(rounds):
        for contender in several if turn % 2 == 0 else several[::-1]:
            one = runs[contender.name]
            if one.absent:
                continue
            try:
                taken = run(
                    contender.command(corpus, percent, answers / contender.name),
                    folder,
                    one_core=True,
                    environment={"HF_HUB_OFFLINE": "1"},
                )
            except OSError as problem:
                one.absent = str(problem)
            else:
                if taken.status == ABSENT:
                    one.absent = taken.output.strip()
                else:
                    one.taken.append(required(taken))
            outcome = f"absent: {one.absent}" if one.absent else f"{one.taken[-1].wall:.1f} s"
            say(f"{percent} %, round {turn + 1}, {contender.name}: {outcome}")
    return runs


def answer(contender: Contender, path: Path, places: dict[str, int]) -> tuple[Numbers | None, Numbers]:
    """Return the pairs that a contender wrote, or None if it reports none, and the documents with duplicates."""
    import numpy as np

    from duplicates_truth import codes, documents_of

    with path.open(encoding="utf-8") as lines:
        if contender.definition == "whorl":
            found = list(map(json.loads, lines))
            if found and "members" in found[0]:
                ids = (member["id"] for cluster in found for member in cluster["members"])
                return None, np.unique(np.array([places[document_id] for document_id in ids], np.int64))
            place_pairs = [(places[pair["a"]], places[pair["b"]]) for pair in found]
        else:
            split = [tuple(map(int, line.split("\t"))) for line in lines]
            if any(len(word) == 1 for word in split):
                return None, np.unique(np.array(split, np.int64))
            place_pairs = [(a, b) for a, b in split]
    table = np.array(place_pairs, np.int64).reshape(-1, 2)
    pairs = codes(table[:, 0], table[:, 1])
    return pairs, documents_of(pairs)


def rows_of(
    home: Path, names: list[str], runs: dict[str, Run], percent: int, corpus: Path, cache: Path, at: Path
) -> list[dict[str, str]]:
    """Return a row of the table for each installed contender.

    Args:
        home: Folder of the environments.
        cache: Folder with cached truths.
        at: Folder with the contenders' output.
    """
    from duplicates_truth import documents_of, judged, truth_of

    several = [contender for contender in contenders(home) if contender.name in names and runs[contender.name].taken]
    truths = {
        definition: truth_of(corpus, definition, cache, say)
        for definition in sorted({one.definition for one in several})
    }
    with corpus.open(encoding="utf-8") as lines:
        places = {json.loads(line)["id"]: number for number, line in enumerate(lines)}
    megabytes = corpus.stat().st_size / 1e6
    rows = []
    for contender in several:
        one = best(runs[contender.name].taken)
        ratio = f"{one.cpu / best(own).cpu:.2f}" if (own := runs.get("whorl", Run()).taken) else ""
        pairs, documents = answer(contender, at / contender.name, places)
        right = truths[contender.definition].above("jaccard", percent)
        by_pair = judged(pairs, right) if pairs is not None else None
        by_document = judged(documents, documents_of(right))
        figures = (
            percent, contender.name, one.output.strip() or version_of(contender), f"{one.wall:.2f}", f"{one.cpu:.2f}",
            ratio, f"{len(places) / one.wall:.0f}", f"{megabytes / one.wall:.1f}", f"{one.megabytes:.0f}",
            by_pair.found if by_pair else "", right.size, f"{by_pair.recall:.4f}" if by_pair else "",
            f"{by_pair.precision:.4f}" if by_pair else "", by_document.found, by_document.right,
            f"{by_document.recall:.4f}", f"{by_document.precision:.4f}",
        )  # fmt: skip
        rows.append({name: str(value) for name, value in zip(FIELDS, figures, strict=True)})
    return rows


def version_of(contender: Contender) -> str:
    """Return the versions of whorl's environment."""
    own = f"whorl {version('whorl')}"
    return own if "without" in contender.name else f"{own}, numba {version('numba')}"


def show(rows: list[dict[str, str]]) -> None:
    """Print a Markdown table."""
    print(f"\n| {' | '.join(FIELDS[1:])} |\n|{'---|' * (len(FIELDS) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row[name] for name in FIELDS[1:])} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE / "data" / "main.jsonl")
    parser.add_argument("--thresholds", default="80", help="percentages of at least 50, with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--documents", type=int, help="take so many, from all over; records nothing")
    parser.add_argument(
        "--words",
        type=int,
        help="compare texts of so many words, cut out of the corpus; 100,000 of them, or --documents",
    )
    parser.add_argument(
        "--pieces", type=int, metavar="N", help="compare N documents of 3,000 bytes, made of the corpus"
    )
    parser.add_argument("--clusters", action="store_true", help="ask for clusters instead of pairs")
    parser.add_argument("--only", help="names of contenders, with commas; rows of others stay")
    parser.add_argument("--profile", action="store_true", help="print where the seconds of whorl go, and nothing else")
    parser.add_argument("--folder", type=Path, default=HERE / "data", help="for truths, environments and what is made")
    parser.add_argument("--out", type=Path, help="where to record  [results/]")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    arguments.corpus = arguments.corpus.resolve()
    several = contenders(arguments.folder, clusters=arguments.clusters)
    if arguments.only:
        names = arguments.only.split(",")
        if unknown := set(names) - {contender.name for contender in several}:
            parser.error(
                f"no contender {', '.join(unknown)}; there are {', '.join(contender.name for contender in several)}"
            )
        several = [contender for contender in several if contender.name in names]
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="duplicates-") as made:
        folder = Path(made)
        if arguments.words:
            corpus = made_of(
                arguments.corpus, arguments.words, arguments.documents or SHORT_TEXTS, folder / "short.jsonl"
            )
        elif arguments.pieces:
            corpus = pieces_of(arguments.corpus, arguments.pieces, folder / "pieces.jsonl")
        else:
            corpus = part_of(arguments.corpus, arguments.documents, folder / "part.jsonl")
        with corpus.open("rb") as lines:
            if sum(1 for _ in lines) > MOST_OF_ALL:
                several = [contender for contender in several if contender.name != "rensa CMinHashDeduplicator"]
        if arguments.profile:
            for more in ([], ["--without-numba"]):
                print(" ".join(["whorl duplicates", *more]))
                command = [sys.executable, str(HERE / "duplicates_profile.py"), str(corpus), *more]
                print(required(run(command, folder, one_core=True)).output, flush=True)
            return
        # The first run compiles for all others; numba keeps the result.
        subprocess.run([sys.executable, "-c", COMPILED], check=True)
        warm_up = part_of(corpus, WARM_UP, folder / "warm-up.jsonl")
        required(run([*WHORL, "duplicates", str(warm_up), "-o", str(folder / "none")], folder, one_core=True))
        for percent in map(int, arguments.thresholds.split(",")):
            answers = folder / str(percent)
            answers.mkdir()
            runs = measure(several, corpus, percent, arguments.rounds, folder, answers)
            # Run it in its own process, since it may use much memory: see `run`.
            with ProcessPoolExecutor(1, get_context("spawn")) as apart:
                cache = arguments.folder / "duplicates-truth"
                names = [contender.name for contender in several]
                rows = apart.submit(rows_of, arguments.folder, names, runs, percent, corpus, cache, answers).result()
            print(f"\n## {percent} %, {corpus.stat().st_size / 1e6:.1f} MB, the best of {arguments.rounds} rounds")
            show(rows)
            for name, one in runs.items():
                if one.absent:
                    print(f"absent: {name}: {one.absent}")
            sys.stdout.flush()
            if not arguments.documents:
                out = arguments.out
                if out is None:
                    named = "" if arguments.corpus.stem == "main" else arguments.corpus.stem
                    which = "short" if arguments.words else "pieces" if arguments.pieces else named
                    parts = ["duplicates", which, "clusters" if arguments.clusters else ""]
                    out = HERE / "results" / f"{'-'.join(filter(None, parts))}.csv"
                write(out, rows)
    print(f"\nPython {sys.version.split()[0]}")


def part_of(corpus: Path, most: int | None, target: Path) -> Path:
    """Return a file with some documents of another, written by another process so that this one stays small."""
    if most is None:
        return corpus
    program = "import sys; from pathlib import Path; from duplicates_truth import lines_of; "
    program += "print(lines_of(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))"
    command = [sys.executable, "-c", program, str(corpus), str(most), str(target)]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE).stdout.strip())


def made_of(corpus: Path, words: int, count: int, target: Path) -> Path:
    """Return a file of short texts, written by another process."""
    program = "import sys; from pathlib import Path; from duplicates_texts import short_texts, write; "
    program += "write(short_texts(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])), Path(sys.argv[4]))"
    command = [sys.executable, "-c", program, str(corpus), str(words), str(count), str(target)]
    subprocess.run(command, check=True, cwd=HERE)
    return target


def pieces_of(corpus: Path, count: int, target: Path) -> Path:
    """Return a file of documents of 3,000 bytes, written by another process."""
    program = "import sys; from pathlib import Path; from duplicates_texts import Texts, pieces, write; "
    program += (
        "texts = Texts(pieces(Path(sys.argv[1]))); write(map(texts.text, range(int(sys.argv[2]))), Path(sys.argv[3]))"
    )
    subprocess.run([sys.executable, "-c", program, str(corpus), str(count), str(target)], check=True, cwd=HERE)
    return target


def write(path: Path, rows: list[dict[str, str]]) -> None:
    """Record rows; other thresholds and contenders keep theirs."""
    pairs: dict[tuple[int, str], dict[str, str]] = {}
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            pairs = {_place(row): row for row in csv.DictReader(file)}
    pairs |= {_place(row): row for row in rows}
    for (threshold, _), row in pairs.items():
        if (own := pairs.get((threshold, "whorl"))) is not None:
            row["times whorl's CPU"] = f"{float(row['CPU s']) / float(own['CPU s']):.2f}"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(row for _, row in sorted(pairs.items(), key=lambda one: one[0][0]))


def _place(row: dict[str, str]) -> tuple[int, str]:
    return int(row["threshold"]), row["contender"]


if __name__ == "__main__":
    main()
