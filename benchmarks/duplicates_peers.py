"""Finds all near-duplicates of a file with one other library; `duplicates.py` runs it.

    python benchmarks/duplicates_peers.py NAME CORPUS.jsonl PERCENT OUT [clusters]

Each library is used as its documentation recommends for this task, on 5-word shingles of ``text.lower().split()``
joined by a blank (gaoya and text-dedup make their own), and with the bands that its documentation gives for the
threshold. OUT gets a line `first TAB second` for each pair, with documents as line numbers from 0, or a line `document`
for each duplicate, from libraries that report only these. With `clusters`, pairs are joined by union-find, and OUT gets
a line `document` for each document of a cluster. Prints the library's version. Does not import whorl, because some
libraries need their own environment. Exits with 3 if a library is not installed.
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
#: Number of documents to pass to a library at a time, if it takes several.
_AT_ONCE = 64

#: Pairs of documents, or documents with a duplicate.
Answer = Iterator[tuple[int, ...]]


def texts(corpus: Path) -> Iterator[str]:
    with corpus.open("rb") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def shingles(text: str) -> list[str]:
    """Return 5-word shingles of the simplest words: lower case, split at white space."""
    words = text.lower().split()
    return [" ".join(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)]


def bands_for(threshold: float) -> int:
    """Return the smallest number of bands of 128 values, a power of two, whose curve is steepest below the threshold.

    A pair just at the threshold then shares a band in more than half of the cases. The steepest point is
    (1 / bands) ** (1 / rows). For 80 %, the result is 16, as in the documentation of rensa and FastSketchLSH.

    >>> [bands_for(threshold) for threshold in (0.5, 0.8, 0.9)]
    [32, 16, 8]
    """
    bands = 1
    while (1 / bands) ** (bands / PERMUTATIONS) > threshold:
        bands *= 2
    return bands


def in_portions(everything: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the items in lists of limited length."""
    portion = []
    for one in everything:
        portion.append(one)
        if len(portion) == _AT_ONCE:
            yield portion
            portion = []
    if portion:
        yield portion


def datasketch(corpus: Path, threshold: float) -> Answer:
    """MinHashLSH with the bands that it chooses; each document is looked up before it is inserted."""
    for number, _, partners, _ in _datasketch(corpus, threshold):
        for other in partners:
            yield other, number


def datasketch_verified(corpus: Path, threshold: float) -> Answer:
    """MinHashLSH, limited to pairs whose estimated similarity reaches the threshold."""
    for number, sketch, partners, known in _datasketch(corpus, threshold):
        for other in partners:
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
    """RMinHashLSH, limited to pairs whose estimated similarity reaches the threshold."""
    from rensa import RMinHash, RMinHashLSH

    numbers, sketches = [], []
    for portion in in_portions(_numbered(corpus)):
        numbers += [number for number, _ in portion]
        sketches += RMinHash.from_token_sets([own for _, own in portion], num_perm=PERMUTATIONS, seed=42)
    index = RMinHashLSH(threshold=threshold, num_perm=PERMUTATIONS, num_bands=bands_for(threshold))
    index.insert_many(sketches)
    for at, partners in enumerate(index.query_all(sketches)):
        for other in partners:
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
    """CMinHashDeduplicator: pairs of each document with the kept ones."""
    from rensa import CMinHash, CMinHashDeduplicator

    return _deduplicated(
        corpus, CMinHash.from_token_sets, CMinHashDeduplicator(threshold=threshold, num_perm=PERMUTATIONS, seed=42)
    )


def _deduplicated(corpus: Path, made: Callable[..., list[Any]], deduplicator: Any) -> Answer:
    numbers, sketches = [], []
    for portion in in_portions(_numbered(corpus)):
        own = made([sketch for _, sketch in portion], num_perm=PERMUTATIONS, seed=42)
        deduplicator.add_pairs([(str(number), sketch) for (number, _), sketch in zip(portion, own, strict=True)])
        numbers += [number for number, _ in portion]
        sketches += own
    for number, partners in zip(numbers, deduplicator.get_duplicate_sets(sketches), strict=True):
        for other in map(int, partners):
            if other != number:
                yield min(other, number), max(other, number)


def rensa_rho(corpus: Path, threshold: float) -> Answer:
    """The rho pipeline, rensa's fastest way: a sketch of some positions, which reports documents with a duplicate."""
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
    """MinHashStringIndex with its own words; it takes a document's text twice, to search and to insert."""
    from gaoya.minhash import MinHashStringIndex

    # The defaults, and for lower thresholds the values of its first example, which is for 50 %.
    bands, rows = (20, 5) if threshold >= 0.75 else (42, 3)
    index = MinHashStringIndex(
        32, threshold, bands, rows, analyzer="word", lowercase=True, ngram_range=(SHINGLE, SHINGLE)
    )
    for number, text in enumerate(texts(corpus)):
        for other in index.query(text):
            yield other, number
        index.insert_document(number, text)


def fast_sketch(corpus: Path, threshold: float) -> Answer:
    """All pairs that FastSketchLSH finds, on one thread."""
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
    neighbours, ends = index.query(matrix, format="csr")
    for at in range(len(numbers)):
        for other in neighbours[int(ends[at]) : int(ends[at + 1])].tolist():
            if other < at:
                yield numbers[other], numbers[at]


def daft(corpus: Path, threshold: float) -> Answer:
    """daft: its MinHashes, grouped by whole bands; all pairs of a group."""
    import daft as library
    from daft import functions

    bands = bands_for(threshold)
    read = library.read_json(str(corpus)).with_column("number", functions.monotonically_increasing_id())
    words = functions.normalize(library.col("text"), lowercase=True, white_space=True)
    hashes = functions.minhash(words, num_hashes=PERMUTATIONS, ngram_size=SHINGLE, seed=42)
    sketches = read.select("number", functions.chunk(hashes, PERMUTATIONS // bands).alias("band"))
    bands_of_documents = sketches.with_column("place", library.lit(list(range(bands)))).explode("band", "place")
    groups = bands_of_documents.groupby("place", "band").agg(library.col("number").list_agg())
    pairs = {pair for group in groups.to_pydict()["number"] for pair in combinations(sorted(group), 2)}
    yield from sorted(pairs)


def text_dedup(corpus: Path, threshold: float) -> Answer:
    """The defaults of the command text_dedup.minhash: embed_func, a table for each band, UnionFind.

    It makes clusters instead of pairs. Reported are pairs of documents in one bucket, which favours it compared with
    all pairs of a cluster.
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
                for number in bucket:
                    clusters.union(number, first)
                pairs.update(combinations(sorted(bucket), 2))
    yield from pairs


def datatrove(corpus: Path, threshold: float) -> Answer:
    """The four MinHash steps with one worker each; the result is the documents that are in a cluster.

    The words are spaCy's, without punctuation and marks; numbers become 0.
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
        content = b"".join(path.read_bytes() for path in Path(clusters).glob("*.clusters"))
    for document, _ in struct.iter_unpack("<II", content):
        yield (document,)


def clusters_of(found: Answer) -> Answer:
    """Join pairs by union-find, and return the documents of all clusters; single documents stay."""
    parents: dict[int, int] = {}

    def root(document: int) -> int:
        while (parent := parents.setdefault(document, document)) != document:
            parents[document] = document = parents[parent]
        return document

    for documents in found:
        parents[root(documents[-1])] = root(documents[0])
    members = defaultdict(list)
    for document in parents:
        members[root(document)].append(document)
    for cluster in members.values():
        yield from ((document,) for document in cluster)


def _numbered(corpus: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and shingles of each document that has any."""
    for number, text in enumerate(texts(corpus)):
        if own := shingles(text):
            yield number, own


#: Function of each library, and the package whose version is printed.
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
    name, corpus, percent, out, *clusters = sys.argv[1:]
    run, package = PEERS[name]
    try:
        with Path(out).open("w", encoding="ascii") as lines:
            found = run(Path(corpus), int(percent) / 100)
            for pair in clusters_of(found) if clusters else found:
                lines.write("\t".join(map(str, pair)) + "\n")
        print(f"{package} {version(package)}")
    except ImportError as problem:
        print(problem)
        sys.exit(3)


if __name__ == "__main__":
    main()
