"""Duplicates on a real Spark: the same candidates, pairs and clusters as those found in one process."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import astuple
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests.duplicates.spark.spark_runtime import MASTER, SETTINGS
from tests.families import family_documents
from tests.plain import sketch_of
from whorl.duplicates import ask_pairs, duplicates_among
from whorl.duplicates.archive import sketch_key
from whorl.duplicates.candidates import Crowd, find_candidates
from whorl.duplicates.sketches import Sketches
from whorl.duplicates.verify import verified
from whorl.errors import ParameterError
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.model import Document
from whorl.wire.numbers import fraction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).parents[3]
#: Sketches of few hashes, so that a few hundred documents stand at many levels.
SMALL = SketchScheme(k=256, floor_level=1, cap=512)

# PySpark's own: sockets to the JVM that it leaves to the garbage collector, and what it says of other libraries.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::UserWarning:pyspark"),
]


# Candidates: the same search, of made-up shingles.


def numbers(chance: random.Random, count: int) -> set[int]:
    return {chance.getrandbits(64) for _ in range(count)}


def alike_sets(chance: random.Random) -> list[set[int]]:
    """Return sets of many sizes in families, a page frame that many share, and a crowd that is nearly all alike."""
    sets = []
    frame = numbers(chance, 60)
    for _ in range(40):
        own = numbers(chance, round(2_500 ** (0.5 + 0.5 * chance.random())))
        for _ in range(chance.randrange(1, 5)):
            kept = set(chance.sample(sorted(own), round(len(own) * chance.choice([1, 0.95, 0.9, 0.8, 0.5]))))
            # Some of them of the same sizes as others.
            sets.append(kept | (frame if chance.random() < 0.4 else numbers(chance, chance.choice([0, 0, 1, 60]))))
    page = numbers(chance, 400)
    sets += [set(chance.sample(sorted(page), 380)) | numbers(chance, chance.choice([1, 3, 90])) for _ in range(60)]
    return [each for each in sets if each]


@pytest.mark.parametrize(
    ("metric", "percent", "crowds", "most", "partitions"),
    [
        ("jaccard", 80, False, 20_000, 1),
        ("jaccard", 80, False, 15, 7),
        ("jaccard", 50, True, 15, 3),
        ("containment", 70, True, 40, 5),
    ],
)
def test_candidates_are_those_of_one_process(
    spark: SparkSession, metric: str, percent: int, crowds: bool, most: int, partitions: int
) -> None:
    """
    Candidate by candidate, and crowd by crowd, also where hashes make too many pairs and are put off round by round;
    and what is verified of them, counted or estimated from sketches, number by number.
    """
    from whorl.duplicates.spark.candidates import join_candidates
    from whorl.duplicates.spark.frames import packed
    from whorl.duplicates.spark.verify import verified_pairs

    sets = alike_sets(random.Random(2))
    made = {
        sketch_key(sketch): sketch for each in sets for sketch in [sketch_of(np.array(list(each), np.uint64), SMALL)]
    }
    # In the order of their keys, as `find_pairs` compares them.
    keys = sorted(made)
    asked = ask_pairs(metric, percent, 90)
    pairs: set[tuple[int, int]] = set()
    groups: Counter[frozenset[int]] = Counter()
    sketches = Sketches.of([made[key] for key in keys], SMALL)
    for some in find_candidates(sketches, asked, crowds=crowds, most=most):
        if isinstance(some, Crowd):
            groups[frozenset(keys[place] for place in some.places.tolist())] += 1
        else:
            pairs |= {
                (min(keys[a], keys[b]), max(keys[a], keys[b]))
                for a, b in zip(some.smaller.tolist(), some.larger.tolist(), strict=True)
            }
    # Something was put off, or set aside, just where it was to be.
    unlimited = sum(some.smaller.size for some in find_candidates(sketches, asked) if not isinstance(some, Crowd))
    assert (len(pairs) < unlimited) == (most < 20_000)
    assert bool(groups) == crowds

    packed_sketches = [(key, sketch.size, bytearray(packed(sketch.hashes, SMALL))) for key, sketch in made.items()]
    frame = spark.createDataFrame(packed_sketches, "key long, size long, hashes binary").repartition(partitions)
    found = join_candidates(frame, SMALL, asked, crowds=crowds, most=most)
    rows = [tuple(row) for row in found.pairs.collect()]
    assert len(rows) == len(set(rows))
    assert set(rows) == pairs
    told: defaultdict[tuple[int, ...], set[int]] = defaultdict(set)
    for row in found.crowds.collect() if found.crowds is not None else []:
        told[row["round"], row["level"], row["token"]].add(row["key"])
    assert Counter(map(frozenset, told.values())) == groups

    a, b = (np.searchsorted(keys, side) for side in np.array(sorted(pairs)).T)
    expected = verified(sketches, a, b, asked)
    assert 0 < np.count_nonzero(expected.is_exact) < len(expected) < len(pairs)
    numbers_of = (expected.sizes_a, expected.sizes_b, expected.shared, expected.low, expected.high)
    ids = np.array(keys)
    assert {tuple(row) for row in verified_pairs(found.pairs, frame, SMALL, asked).collect()} == set(
        zip(*(column.tolist() for column in (ids[expected.a], ids[expected.b], *numbers_of)), strict=True)
    )


# The whole search, of texts.


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Texts in families, some equal, some too short."""
    made = family_documents(45, seed=3, longest=1_200)
    equal = [each for each in made if len(each.text.split()) > 50][:5]
    made += [Document(f"equal/{number}/{each.id}", each.text) for each in equal for number in range(2)]
    made += [Document(f"short/{number}", "too short") for number in range(3)]
    # The order of the ids is what Spark has for an order.
    return sorted(made, key=lambda each: each.id)


def framed(spark: SparkSession, documents: list[Document], partitions: int) -> DataFrame:
    from whorl.duplicates.spark.documents import documents_of

    rows = [(each.id, each.text, each.name) for each in documents]
    random.Random(partitions).shuffle(rows)
    frame = spark.createDataFrame(rows, "id string, text string, name string")
    return documents_of(frame.repartition(partitions))


def clusters_of(rows: list[Any]) -> dict[str, dict[str, tuple[object, ...]]]:
    found: dict[str, dict[str, tuple[object, ...]]] = defaultdict(dict)
    for row in rows:
        assert row.id not in found[row.cluster]
        found[row.cluster][row.id] = (row.shingles, row.jaccard, row.a_in_b, row.b_in_a, row.exact)
    assert all(row.documents == len(found[row.cluster]) for row in rows)
    return dict(found)


@pytest.mark.parametrize(
    ("metric", "percent", "partitions"),
    [("jaccard", 50, 7), ("jaccard", 80, 1), ("jaccard", 90, 7), ("containment", 80, 7)],
)
def test_pairs_and_clusters_are_those_of_one_process(
    spark: SparkSession, documents: list[Document], metric: str, percent: int, partitions: int
) -> None:
    """
    The same pairs with the same shares, digit by digit, and the same clusters and complete clusters.
    """
    from whorl.duplicates.spark.search import SparkDuplicates

    asked = ask_pairs(metric, percent, 95)
    with duplicates_among(documents, asked) as local:
        pairs = {
            (each.a.id, each.b.id): (
                *(fraction(share) for share in astuple(each.shares)),
                each.is_exact,
                each.a.name,
                each.b.name,
            )
            for each in local.pairs()
        }
        clusters, complete = (
            {
                group.members[0].id: {
                    match.b.id: (match.b.size, *map(fraction, astuple(match.shares)), match.is_exact)
                    for match in group.matches
                }
                for group in local.clusters(complete=is_complete)
            }
            for is_complete in (False, True)
        )
    found = SparkDuplicates(framed(spark, documents, partitions), asked)
    rows = found.pairs().collect()
    assert len(rows) == len(pairs) > 20
    assert {(row[0], row[1]): tuple(row[2:]) for row in rows} == pairs
    assert found.counts() == (len(documents), sum(len(each.text.split()) < 5 for each in documents))
    assert clusters_of(found.clusters().collect()) == clusters
    if partitions == 7:
        assert clusters_of(found.clusters(complete=True).collect()) == complete


def test_a_crowd_makes_one_cluster_by_few_pairs(spark: SparkSession) -> None:
    """
    Where only clusters are wanted, 90 pages that are all alike are linked by far fewer than their 4,005 pairs; pages
    that have a part in common with them, but are not alike, stay out.
    """
    from whorl.duplicates.spark.search import SparkDuplicates

    chance = random.Random(6)
    page = [f"p{at}" for at in range(100)]
    made = [Document(f"page/{at:03}", " ".join([*page, f"x{at}"])) for at in range(90)]
    made += [
        Document(f"other/{at}", " ".join([*page[:20], *(f"o{chance.randrange(10**6)}" for _ in range(80))]))
        for at in range(20)
    ]
    found = SparkDuplicates(framed(spark, made, 3), ask_pairs("jaccard", 80, 95), links_suffice=True, most=50)
    assert 89 <= found.pairs().count() < 90 * 20
    clusters = clusters_of(found.clusters().collect())
    assert {first: set(members) for first, members in clusters.items()} == {
        "page/000": {f"page/{at:03}" for at in range(90)}
    }


# Connected components.


def united(links: list[tuple[int, int]]) -> dict[int, int]:
    """Return the smallest node that each hangs together with: sets, merged one link at a time."""
    groups: dict[int, set[int]] = {}
    for a, b in links:
        joined = groups.get(a, {a}) | groups.get(b, {b})
        groups |= dict.fromkeys(joined, joined)
    return {node: min(group) for node, group in groups.items()}


def test_components_are_those_of_plain_sets(spark: SparkSession) -> None:
    """
    A chain of 400 nodes in no order, stars, trees, cliques and random links, of negative numbers too.
    """
    from whorl.duplicates.spark.components import components

    chance = random.Random(9)
    chain = [chance.getrandbits(64) - (1 << 63) for _ in range(400)]
    links = list(pairwise(chain))
    links += [(1000, 1000 + at) for at in range(60)] + [(2000 + at // 2, 2000 + at) for at in range(1, 100)]
    links += [(3000 + a, 3000 + b) for a in range(12) for b in range(12)]
    links += [(4000 + chance.randrange(200), 4000 + chance.randrange(200)) for _ in range(90)]
    # A link of a node with itself alone makes no group.
    links = [(a, b) for a, b in links if a != b]
    frame = spark.createDataFrame(links, "a long, b long").repartition(5)
    rows = components(frame).collect()
    assert len(rows) == len({row.key for row in rows})
    assert {row.key: row.root for row in rows} == united(links)


def test_no_links(spark: SparkSession) -> None:
    """
    Without links, or with such of a node to itself, nothing hangs together.
    """
    from whorl.duplicates.spark.components import components

    assert components(spark.createDataFrame([(1, 1)], "a long, b long")).isEmpty()


# Reading and writing.


def test_every_kind_of_file_gives_the_same_documents(spark: SparkSession, tmp_path: Path) -> None:
    """
    Parquet, JSON lines and text files of the same documents give the same sketches, and so does the local reader.
    """
    from whorl.duplicates.gathering import FILES_SCHEME
    from whorl.duplicates.spark.documents import Columns, gathered, read
    from whorl.fingerprint.batch import hashed

    texts = {
        "plain.txt": "The quick brown fox jumps over the lazy dog, again and again.",
        "umlaut.txt": "Größe, Öl und Übermut: fünf Wörter und noch ein paar \U0001f600 mehr.",
        "folder/short.txt": "too short",
        "folder/page.html": "<p>one two three <b>four</b> five six</p><script>no</script>",
    }
    for name, text in texts.items():
        file = tmp_path / "files" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    wide = "fünf Wörter und mehr in einer anderen Kodierung"
    (tmp_path / "files" / "wide.txt").write_text(wide, encoding="utf-16")
    read_as = {**texts, "folder/page.html": "one two three four five six", "wide.txt": wide}
    root = (tmp_path / "files").as_posix()
    rows = [(f"{root}/{name}", text, name.split("/")[-1]) for name, text in read_as.items()]
    spark.createDataFrame(rows, "key string, body string, title string").write.parquet(str(tmp_path / "some.parquet"))
    lines = [json.dumps({"id": each, "text": text, "name": name, "more": [1]}) for each, text, name in rows]
    (tmp_path / "some.jsonl").write_text("\n\n".join(lines), encoding="utf-8")

    def told(path: Path, columns: Columns = Columns()) -> set[Any]:  # noqa: B008 - frozen
        from whorl.fingerprint.compiled.kernel import DEFAULT_SCHEME

        given = gathered(read(spark, [str(path)], None, columns), DEFAULT_SCHEME, FILES_SCHEME)
        assert given.unfit.isEmpty()
        return {tuple(row) for row in given.members.collect()}

    expected = {
        (document_id, name, sketch.size, sketch_key(sketch))
        for (document_id, _, name), each in zip(rows, hashed([text for _, text, _ in rows]), strict=True)
        for sketch in [each.sketch(FILES_SCHEME)]
    }
    assert told(tmp_path / "files") == expected
    assert told(tmp_path / "some.jsonl") == expected
    assert told(tmp_path / "some.parquet", Columns("key", "body", "title")) == expected


def test_the_command_tells_what_it_could_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """
    Lines that are no documents and ids that come twice are told, the rest is compared; CSV is quoted as usual.
    """
    from whorl.duplicates.spark.job import main

    text = "one two three four five six seven eight nine ten"
    lines = [
        {"id": 'a "quoted", id', "text": text},
        {"id": "b", "text": f"{text} eleven"},
        {"id": "c", "text": text},
        {"id": "c", "text": "too short"},
        {"id": "d"},
        {"id": 5, "text": "a document of a number for an id"},
        {"id": "bad\tid", "text": text},
    ]
    file = tmp_path / "lines.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)) + '\n{"id": "broken\n', encoding="utf-8")
    done = CliRunner().invoke(main, [str(file), "--pairs", "--format", "csv", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "4 documents, 3 pairs written" in done.output
    assert "1 ids came more than once" in done.output
    assert "3 could not be read" in done.output
    assert "control characters" in done.output
    written = {line for each in (tmp_path / "out").glob("*.csv") for line in each.read_text("utf-8").splitlines()}
    assert written == {
        "a,b,jaccard,a_in_b,b_in_a,exact,a_name,b_name",
        '"a ""quoted"", id",b,0.857142,1.0,0.857142,true,"",""',
        '"a ""quoted"", id",c,1.0,1.0,1.0,true,"",""',
        'b,c,0.857142,0.857142,1.0,true,"",""',
    }


def test_the_usual_command_runs_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """
    `whorl duplicates --engine spark` writes the pairs that it prints without Spark.
    """
    from whorl.cli.main import main

    file = tmp_path / "lines.jsonl"
    documents = family_documents(12, seed=2, longest=200)
    file.write_text("".join(json.dumps({"id": each.id, "text": each.text}) + "\n" for each in documents))
    asked = ["duplicates", str(file), "--pairs", "--threshold", "60", "--format", "json"]
    local = CliRunner().invoke(main, asked)
    done = CliRunner().invoke(main, [*asked, "--engine", "spark", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    lines = [line for part in (tmp_path / "out").glob("*.json") for line in part.read_text("utf-8").splitlines()]
    assert len(lines) > 10
    assert {_unordered(line) for line in lines} == {_unordered(line) for line in local.stdout.splitlines()}


def _unordered(line: str) -> tuple[object, ...]:
    """Return a pair of a JSON line, whichever of its documents came first."""
    told = json.loads(line)
    sides = sorted([(told["a"], told["a_in_b"]), (told["b"], told["b_in_a"])])
    return (*sides, told["jaccard"], told["exact"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.jsonl", "-o", "out"], "nowhere.jsonl"),
        (["there.jsonl", "-o", "there.jsonl"], "there already"),
        (["there.jsonl", "-o", "out", "--pairs", "--complete"], "--complete"),
        (["there.jsonl", "-o", "out", "--threshold", "0"], "threshold"),
        (["there.parquet", "-o", "out", "--text-column", "body"], "no column body; those there are: id, text"),
    ],
)
def test_mistakes_are_named(spark: SparkSession, tmp_path: Path, arguments: list[str], told: str) -> None:
    """
    One line says what is wrong, and nothing is written.
    """
    from whorl.duplicates.spark.job import main

    (tmp_path / "there.jsonl").write_text('{"id": "a", "text": "b"}\n', encoding="utf-8")
    spark.createDataFrame([("a", "b")], "id string, text string").write.parquet(str(tmp_path / "there.parquet"))
    paths = [str(tmp_path / each) if each.startswith(("nowhere", "there", "out")) else each for each in arguments]
    done = CliRunner().invoke(main, paths)
    assert done.exit_code != 0
    assert told in done.output
    assert "Traceback" not in done.output
    assert not (tmp_path / "out").exists()


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The extra is named.
    """
    from whorl.duplicates.spark.job import run

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ParameterError, match=r"pip install 'whorl\[spark\]'"):
        run(["x"], ask_pairs("jaccard", 80, 95), output="y")


@pytest.mark.process
def test_without_java(tmp_path: Path) -> None:
    """
    Java is named, in one line after what PySpark says itself.
    """
    pytest.importorskip("pyspark")
    command = [sys.executable, "-m", "whorl.duplicates.spark.job", "x.jsonl", "-o", str(tmp_path / "out")]
    environment = {"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("Error: Spark did not start; it needs Java 17 or 21")
    assert "Traceback" not in done.stdout


def test_spark_submit(spark: SparkSession, tmp_path: Path) -> None:
    """
    The example under spark-submit writes the clusters that one process finds.
    """
    made = family_documents(8, seed=4, longest=300)
    file = tmp_path / "some.jsonl"
    lines = [json.dumps({"id": each.id, "text": each.text, "name": each.name}) for each in made]
    file.write_text("\n".join(lines), encoding="utf-8")
    command = [str(Path(sys.executable).parent / "spark-submit"), "--master", MASTER]
    for name, value in {**SETTINGS, "spark.pyspark.python": sys.executable}.items():
        command += ["--conf", f"{name}={value}"]
    command += [
        str(ROOT / "examples" / "spark_duplicates.py"),
        str(file),
        "--threshold",
        "50",
        "-o",
        str(tmp_path / "out"),
    ]
    # As where the environment is active: the script that Spark brings looks for its Python in the PATH.
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for each in (tmp_path / "out").glob("*.json") for line in each.open(encoding="utf-8")]
    found: dict[str, set[str]] = defaultdict(set)
    for row in told:
        found[row["cluster"]].add(row["id"])
    with duplicates_among(sorted(made, key=lambda each: each.id), ask_pairs("jaccard", 50, 95)) as local:
        assert dict(found) == {group.members[0].id: {each.id for each in group.members} for group in local.clusters()}
    assert f"{len(made)} documents, {len(told)} documents in clusters written" in done.stdout
