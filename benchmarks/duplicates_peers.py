"""Finds all near-duplicates of a file with one other library; `duplicates.py` runs it.

    python benchmarks/duplicates_peers.py NAME CORPUS.jsonl PERCENT OUT

Each is used as its documentation says for this task, on 5-word shingles of ``text.lower().split()`` joined by a blank
(gaoya and text-dedup make their own), and with the bands that its documentation has for the threshold. OUT gets a line
`first TAB second` for each pair, documents known by their line numbers from 0, or a line `document` for each duplicate,
from libraries that report only these. Printed is the version. Imports nothing of whorl: some libraries need an
environment of their own. Ends with 3 where a library is not installed.
"""

from __future__ import annotations

import json
import struct
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

PERMUTATIONS = 128
SHINGLE = 5
#: Documents given to a library at once, where it takes several.
_AT_ONCE = 64

#: Pairs of documents, or documents that have a duplicate.
Answer = Iterator[tuple[int, ...]]


def texts(corpus: Path) -> Iterator[str]:
    """Yield the texts of a file of JSON lines."""
    with corpus.open("rb") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def shingles(text: str) -> list[str]:
    """Return 5-word shingles of the cheapest words: lower case, between white space."""
    words = text.lower().split()
    return [" ".join(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)]


def bands_for(threshold: float) -> int:
    """Return the fewest bands of 128 values, a power of two, that are likelier than not to meet at the threshold.

    The steepest point of the curve, (1 / bands) ** (1 / rows), is then just below the threshold. For 80 % these are the
    16 that the documentation of rensa and of FastSketchLSH has.

    >>> [bands_for(threshold) for threshold in (0.5, 0.8, 0.9)]
    [32, 16, 8]
    """
    bands = 1
    while (1 / bands) ** (bands / PERMUTATIONS) > threshold:
        bands *= 2
    return bands


def in_portions(everything: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield lists of a few."""
    portion = []
    for one in everything:
        portion.append(one)
        if len(portion) == _AT_ONCE:
            yield portion
            portion = []
    if portion:
        yield portion


def datasketch(corpus: Path, threshold: float) -> Answer:
    """MinHashLSH with the bands that it chooses; each document is asked for before it is inserted."""
    for number, _, found, _ in _datasketch(corpus, threshold):
        for other in found:
            yield other, number


def datasketch_verified(corpus: Path, threshold: float) -> Answer:
    """The same, limited to pairs whose estimate from the sketches reaches the threshold."""
    for number, sketch, found, known in _datasketch(corpus, threshold):
        for other in found:
            if sketch.jaccard(known[other]) >= threshold:
                yield other, number


def _datasketch(corpus: Path, threshold: float) -> Iterator[tuple[int, Any, list[int], dict[int, Any]]]:
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
    known: dict[int, Any] = {}
    for number, text in enumerate(texts(corpus)):
        if own := shingles(text):
            sketch = MinHash(num_perm=PERMUTATIONS)
            sketch.update_batch([shingle.encode() for shingle in own])
            yield number, sketch, index.query(sketch), known
            index.insert(number, sketch)
            known[number] = sketch


def rensa(corpus: Path, threshold: float) -> Answer:
    """RMinHashLSH, limited to pairs whose estimate from the sketches reaches the threshold."""
    from rensa import RMinHash, RMinHashLSH

    numbers, sketches = [], []
    for portion in in_portions(_numbered(corpus)):
        numbers += [number for number, _ in portion]
        sketches += RMinHash.from_token_sets([own for _, own in portion], num_perm=PERMUTATIONS, seed=42)
    index = RMinHashLSH(threshold=threshold, num_perm=PERMUTATIONS, num_bands=bands_for(threshold))
    index.insert_many(sketches)
    for at, found in enumerate(index.query_all(sketches)):
        for other in found:
            if other < at and sketches[at].jaccard(sketches[other]) >= threshold:
                yield numbers[other], numbers[at]


def rensa_deduplicator(corpus: Path, threshold: float) -> Answer:
    """RMinHashDeduplicator: pairs of each document with the kept ones."""
    from rensa import RMinHash, RMinHashDeduplicator

    return _deduplicated(
        corpus,
        RMinHash.from_token_sets,
        RMinHashDeduplicator(
            threshold=threshold, num_perm=PERMUTATIONS, use_lsh=True, num_bands=bands_for(threshold), seed=42
        ),
    )


def rensa_cminhash(corpus: Path, threshold: float) -> Answer:
    """CMinHashDeduplicator: the same with C-MinHash."""
    from rensa import CMinHash, CMinHashDeduplicator

    return _deduplicated(
        corpus, CMinHash.from_token_sets, CMinHashDeduplicator(threshold=threshold, num_perm=PERMUTATIONS, seed=42)
    )


def _deduplicated(corpus: Path, made: Callable[..., list[Any]], deduplicator: Any) -> Answer:
    numbers, sketches = [], []
    for portion in in_portions(_numbered(corpus)):
        own = made([each for _, each in portion], num_perm=PERMUTATIONS, seed=42)
        deduplicator.add_pairs([(str(number), sketch) for (number, _), sketch in zip(portion, own, strict=True)])
        numbers += [number for number, _ in portion]
        sketches += own
    for number, found in zip(numbers, deduplicator.get_duplicate_sets(sketches), strict=True):
        for other in map(int, found):
            if other != number:
                yield min(other, number), max(other, number)


def rensa_rho(corpus: Path, threshold: float) -> Answer:
    """The rho pipeline that rensa is fastest with: a sketch of some places, and which documents have a duplicate."""
    from rensa import RMinHash, RMinHashLSH

    numbers, hashes = [], []
    for portion in in_portions(_numbered(corpus)):
        numbers += [number for number, _ in portion]
        hashes += RMinHash.hash_token_sets([own for _, own in portion])
    matrix = RMinHash.digest_matrix_from_token_hash_sets_rho(hashes, num_perm=PERMUTATIONS, seed=42)
    index = RMinHashLSH(threshold=threshold, num_perm=PERMUTATIONS, num_bands=bands_for(threshold))
    for number, is_duplicate in zip(numbers, index.query_duplicate_flags_matrix_one_shot(matrix), strict=True):
        if is_duplicate:
            yield (number,)


def gaoya(corpus: Path, threshold: float) -> Answer:
    """MinHashStringIndex with its own words; it takes a document's text once to ask, and once to insert it."""
    from gaoya.minhash import MinHashStringIndex

    # Its defaults, and below them what its first example has for 50 %.
    bands, rows = (20, 5) if threshold >= 0.75 else (42, 3)
    index = MinHashStringIndex(
        32, threshold, bands, rows, analyzer="word", lowercase=True, ngram_range=(SHINGLE, SHINGLE)
    )
    for number, text in enumerate(texts(corpus)):
        for other in index.query(text):
            yield other, number
        index.insert_document(number, text)


def fast_sketch(corpus: Path, threshold: float) -> Answer:
    """FastSketchLSH: all that its LSH finds, on one thread."""
    import numpy as np
    from FastSketchLSH import LSH, FastSimilaritySketch

    sketch = FastSimilaritySketch(size=PERMUTATIONS, seed=42)
    numbers, rows = [], []
    for portion in in_portions(_numbered(corpus)):
        numbers += [number for number, _ in portion]
        rows.append(sketch.batch([own for _, own in portion], num_threads=1))
    index = LSH(num_perm=PERMUTATIONS, num_bands=bands_for(threshold), num_threads=1)
    matrix = np.concatenate(rows)
    index.insert(matrix)
    found, ends = index.query(matrix, format="csr")
    for at in range(len(numbers)):
        for other in found[int(ends[at]) : int(ends[at + 1])].tolist():
            if other < at:
                yield numbers[other], numbers[at]


def daft(corpus: Path, threshold: float) -> Answer:
    """Its MinHashes, and documents that have a whole band of them in common, grouped by it: all pairs of a group."""
    import daft as library
    from daft import functions

    bands = bands_for(threshold)
    read = library.read_json(str(corpus)).with_column("number", functions.monotonically_increasing_id())
    words = functions.normalize(library.col("text"), lowercase=True, white_space=True)
    hashes = functions.minhash(words, num_hashes=PERMUTATIONS, ngram_size=SHINGLE, seed=42)
    sketches = read.select("number", functions.chunk(hashes, PERMUTATIONS // bands).alias("band"))
    each = sketches.with_column("place", library.lit(list(range(bands)))).explode("band", "place")
    groups = each.groupby("place", "band").agg(library.col("number").list_agg())
    found = {pair for group in groups.to_pydict()["number"] for pair in combinations(sorted(group), 2)}
    yield from sorted(found)


def text_dedup(corpus: Path, threshold: float) -> Answer:
    """What the command text_dedup.minhash does with its defaults: embed_func, a table for each band, UnionFind.

    It makes clusters and knows no pairs; told here are those of documents that share a bucket, which is kinder to it
    than all pairs of a cluster.
    """
    import numpy as np
    from text_dedup.minhash import NON_ALPHA, RNG, SIGNATURE_COLUMN, embed_func
    from text_dedup.utils import UnionFind, optimal_param, sha1_hash

    permutations, prime = 250, np.uint64((1 << 61) - 1)
    bands, rows = optimal_param(threshold, permutations, false_positive_weight=0.5, false_negative_weight=0.5)
    settings = {
        "num_perm": permutations,
        "ngram_size": SHINGLE,
        "min_length": SHINGLE,
        "hashranges": [(band * rows, (band + 1) * rows) for band in range(bands)],
        "permutations": (
            RNG.randint(1, prime, size=(permutations,), dtype=np.uint64),
            RNG.randint(0, prime, size=(permutations,), dtype=np.uint64),
        ),
        "hash_func": lambda token: sha1_hash(token, d=32),
        "dtype": np.uint64,
        "max_hash": np.uint32((1 << 32) - 1),
        "modulo_prime": prime,
    }
    tables: list[dict[bytes, set[int]]] = [defaultdict(set) for _ in range(bands)]
    for number, text in enumerate(texts(corpus)):
        if len(NON_ALPHA.split(text.lower())) < SHINGLE:
            continue
        for table, value in zip(tables, embed_func(text, number, **settings)[SIGNATURE_COLUMN], strict=True):
            table[value].add(number)
    clusters = UnionFind()
    pairs: set[tuple[int, int]] = set()
    for table in tables:
        for bucket in table.values():
            first = min(bucket)
            if len(bucket) > 1:
                for each in bucket:
                    clusters.union(each, first)
                pairs.update(combinations(sorted(bucket), 2))
    yield from pairs


def datatrove(corpus: Path, threshold: float) -> Answer:
    """Its four steps of MinHash, one worker each, up to the clusters: which documents are in one.

    Its words are spaCy's, without punctuation and marks; numbers become 0.
    """
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader

    bands = bands_for(threshold)
    config = MinhashConfig(n_grams=SHINGLE, num_buckets=bands, hashes_per_bucket=PERMUTATIONS // bands)
    with tempfile.TemporaryDirectory() as folder:
        signatures, buckets, clusters = (f"{folder}/{name}" for name in ("signatures", "buckets", "clusters"))
        reader = JsonlReader(str(corpus.parent), glob_pattern=corpus.name)
        for number, (steps, tasks) in enumerate(
            (
                ([reader, MinhashDedupSignature(signatures, config)], 1),
                ([MinhashDedupBuckets(signatures, buckets, config=config)], bands),
                ([MinhashDedupCluster(buckets, clusters, config=config, save_cluster_id=True)], 1),
            )
        ):
            LocalPipelineExecutor(steps, tasks=tasks, workers=1, logging_dir=f"{folder}/log{number}").run()
        found = b"".join(path.read_bytes() for path in Path(clusters).glob("*.clusters"))
    for document, _ in struct.iter_unpack("<II", found):
        yield (document,)


def _numbered(corpus: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the shingles of documents that have any."""
    for number, text in enumerate(texts(corpus)):
        if own := shingles(text):
            yield number, own


#: The function to call, and the package whose version is printed.
PEERS: dict[str, tuple[Callable[[Path, float], Answer], str]] = {
    "datasketch": (datasketch, "datasketch"),
    "datasketch verified": (datasketch_verified, "datasketch"),
    "rensa RMinHashLSH": (rensa, "rensa"),
    "rensa RMinHashDeduplicator": (rensa_deduplicator, "rensa"),
    "rensa CMinHashDeduplicator": (rensa_cminhash, "rensa"),
    "rensa rho": (rensa_rho, "rensa"),
    "gaoya": (gaoya, "gaoya"),
    "FastSketchLSH": (fast_sketch, "FastSketchLSH"),
    "daft": (daft, "daft"),
    "text-dedup": (text_dedup, "text-dedup"),
    "datatrove": (datatrove, "datatrove"),
}


def main() -> None:
    """Run one of them."""
    name, corpus, percent, out = sys.argv[1:]
    run, package = PEERS[name]
    try:
        with Path(out).open("w", encoding="ascii") as lines:
            for each in run(Path(corpus), int(percent) / 100):
                lines.write("\t".join(map(str, each)) + "\n")
        print(f"{package} {version(package)}")
    except ImportError as problem:
        print(problem)
        sys.exit(3)


if __name__ == "__main__":
    main()
