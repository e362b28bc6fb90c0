"""Fuzz test of the parser: hundreds of thousands of valid, nearly valid and invalid queries in every reading.

    python tests/query/fuzz_queries.py [RESULTS]          or: make fuzz

Each query is parsed by whorl's grammar and by Alfresco's strict grammar. The result must be a tree, or an error of the
package with a span within the text; a tree that is unparsed and parsed again must stay the same. Times are processor
time, so that they are valid on a busy machine, too. Any other outcome ends the run.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from tests.accidents import write_record
from tests.query import test_ast_builder, test_messages, test_parser
from tests.query.strategies import ALPHABET, PIECES, SIGNS, answer, near_queries, nodes
from whorl.errors import ParameterError, QueryError
from whorl.query.ast import DEFAULT_LENGTH, Node, Operator
from whorl.query.parser import build_grammars, parse
from whorl.query.unparse import unparse

#: Number of inputs of each kind.
COUNTS = {
    "trees of hypothesis, written": 3_000,
    "texts of hypothesis": 8_000,
    "pieces of the language": 320_000,
    "golden queries, mutated": 320_000,
    "random characters": 100_000,
    "as long as can be": 100,
}
#: Limits for a short query and for one of 65,536 characters, in milliseconds of processor time.
MOST, MOST_LONG = 100.0, 2_000.0

_RIGHT = [query for query, _ in test_parser.GOLDEN + test_ast_builder.GOLDEN]
_SEEDS = _RIGHT + [row[0] for row in test_messages.SYNTAX + test_messages.CONSTRUCTS]


class Tally:
    """Counts of inputs and trees, and the slowest query, by kind."""

    def __init__(self) -> None:
        self.inputs: Counter[str] = Counter()
        self.trees: Counter[str] = Counter()
        self.slowest: dict[str, tuple[float, int]] = {}

    def take(self, kind: str, query: str, reading: random.Random) -> None:
        """Read one query in both readings."""
        self.inputs[kind] += 1
        operator, inside = reading.choice(list(Operator)), reading.choice(list(Operator))
        for strict in (False, True):
            # A collection of the many objects that hypothesis keeps would distort the time.
            gc.disable()
            start = time.thread_time()
            got = answer(query, strict=strict, operator=operator, inside=inside)
            spent = 1000 * (time.thread_time() - start)
            gc.enable()
            self.slowest[kind] = max(self.slowest.get(kind, (0.0, 0)), (spent, len(query)))
            if not isinstance(got, QueryError):
                self.trees[f"{kind}, {'strict' if strict else 'whorl'}"] += 1
                _check_written(got, strict=strict)


def _check_written(tree: Node, *, strict: bool) -> None:
    try:
        text = unparse(tree)
    except ParameterError:
        assert strict, "only Alfresco's reading has numbers that are not written"
        return
    if len(text) <= DEFAULT_LENGTH:
        assert parse(text) == tree, text


def pieces(chance: random.Random) -> str:
    """Return up to ten random pieces of the language, joined."""
    between = chance.choice(["", " ", " "])
    return between.join(chance.choice(PIECES + SIGNS) for _ in range(chance.randint(1, 10)))


def mutated(chance: random.Random) -> str:
    """Return a golden query after one to four random changes."""
    query = chance.choice(_SEEDS)
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.randint(0, len(query)) for _ in range(2))
        other = chance.choice(_SEEDS)
        query = chance.choice(
            [
                query[:at] + query[to:],
                query[:at] + chance.choice(ALPHABET) + query[at:],
                query[:to] + query[at:],
                query[:at] + other + query[to:],
                query[:at] + query[at:to].swapcase() + query[to:],
            ]
        )[:400]
    return query


def characters(chance: random.Random) -> str:
    """Return random bytes decoded as UTF-8 or Latin-1, or random characters of all of Unicode."""
    raw = chance.randbytes(chance.randint(1, 60))
    match chance.randrange(3):
        case 0:
            return raw.decode("utf-8", "surrogateescape")
        case 1:
            return raw.decode("latin-1")
        case _:
            return "".join(chr(chance.randrange(0x110000)) for _ in range(chance.randint(1, 20)))


def long(chance: random.Random) -> str:
    """Return one to three pieces, repeated up to the maximum length of a query."""
    piece = "".join(chance.choice([*PIECES, *SIGNS, *ALPHABET]) for _ in range(chance.randint(1, 3)))
    return (chance.choice(["", *PIECES]) + piece * DEFAULT_LENGTH)[:DEFAULT_LENGTH]


def run(seed: int = 20_26) -> Tally:
    """Run all inputs."""
    tally, chance = Tally(), random.Random(seed)
    build_grammars()

    def of_hypothesis(kind: str) -> settings:
        return settings(
            max_examples=COUNTS[kind],
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )

    @of_hypothesis("trees of hypothesis, written")
    @given(nodes)
    def written(node: Node) -> None:
        tally.take("trees of hypothesis, written", unparse(node), chance)

    @of_hypothesis("texts of hypothesis")
    @given(near_queries)
    def near(query: str) -> None:
        tally.take("texts of hypothesis", query, chance)

    written()
    near()
    for kind, make in [
        ("pieces of the language", pieces),
        ("golden queries, mutated", mutated),
        ("random characters", characters),
        ("as long as can be", long),
    ]:
        for _ in range(COUNTS[kind]):
            tally.take(kind, make(chance), chance)
    return tally


def report(tally: Tally) -> Iterator[str]:
    """Yield the lines of the report."""
    total = sum(tally.inputs.values())
    yield f"{total:,} inputs, each read in both ways: a tree or an error of the package, every tree written and read"
    yield ""
    for kind, count in tally.inputs.items():
        ours, theirs = tally.trees[f"{kind}, whorl"], tally.trees[f"{kind}, strict"]
        spent, length = tally.slowest[kind]
        slowest = f"slowest {spent:7.2f} ms ({length:,} characters)"
        yield f"{kind:28} {count:7,} inputs  {ours:6,} trees  {theirs:6,} strict  {slowest}"


def main(place: Path) -> None:
    """Run, write the report, and fail if a query took too long."""
    tally = run()
    write_record(place, report(tally))
    for kind, (spent, _) in tally.slowest.items():
        assert spent <= (MOST_LONG if kind == "as long as can be" else MOST), f"{kind}: {spent:.1f} ms"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "benchmarks/results/fuzz.txt"))
