"""Fast JSON lines of pairs and clusters in columns, equal to the output of `wire.duplicates`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import IO

import numpy as np
import numpy.typing as npt

from whorl.duplicates.result import ClusterColumns, PairColumns
from whorl.output.numbers import fraction
from whorl.output.text import without_controls


def _quoted(text: str) -> str:
    return without_controls(json.encoder.encode_basestring(text))


def write_pair_lines(several: Iterable[PairColumns], out: IO[str]) -> int:
    """Write a line for each pair, as `write_pairs` does, and return the number of pairs."""
    count = 0
    for some in several:
        ids, shares = list(map(_quoted, some.ids)), map(_fraction_texts, some.shares())
        out.write(
            "".join(
                [
                    f'{{"a": {ids[a]}, "b": {ids[b]}, "jaccard": {jaccard}, "a_in_b": {a_in_b}, "b_in_a": {b_in_a}, '
                    '"exact": true}\n'
                    for a, b, jaccard, a_in_b, b_in_a in zip(some.a.tolist(), some.b.tolist(), *shares, strict=True)
                ]
            )
        )
        count += some.a.size
    return count


def write_cluster_lines(several: Iterable[ClusterColumns], out: IO[str]) -> tuple[int, int]:
    """Write a line for each cluster, as `write_clusters` does; return the numbers of clusters and documents."""
    count = documents = 0
    for some in several:
        ids, members = list(map(_quoted, some.pairs.ids)), _members(some.pairs)
        ends = [0, *np.cumsum(some.counts).tolist()]
        firsts = some.pairs.b[ends[:-1]].tolist()
        for first, (begin, end) in zip(firsts, pairwise(ends), strict=True):
            told = ", ".join(members[begin:end])
            out.write(f'{{"cluster": {ids[first]}, "documents": {end - begin}, "members": [{told}]}}\n')
        count += some.counts.size
        documents += len(members)
    return count, documents


def _members(pairs: PairColumns) -> list[str]:
    """Return the JSON of each pair's second document, as a member of a cluster whose principal is the first."""
    ids, names, sizes = list(map(_quoted, pairs.ids)), list(map(_quoted, pairs.names)), pairs.sizes.tolist()
    return [
        f'{{"id": {ids[b]}, "name": {names[b]}, "shingles": {sizes[b]}, "is_principal": {"true" if a == b else "false"}'
        f', "jaccard": {jaccard}, "a_in_b": {a_in_b}, "b_in_a": {b_in_a}, "exact": true}}'
        for a, b, jaccard, a_in_b, b_in_a in zip(
            pairs.a.tolist(), pairs.b.tolist(), *map(_fraction_texts, pairs.shares()), strict=True
        )
    ]


def _fraction_texts(shares: npt.NDArray[np.float64]) -> list[str]:
    """Return shares as JSON numbers; equal shares are converted once, because most are equal."""
    several = shares.tolist()
    texts = {share: repr(fraction(share)) for share in set(several)}
    return [texts[share] for share in several]
