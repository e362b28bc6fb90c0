"""From a text to everything that a store keeps of it, hashed once: its bucket minima and its sample."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.hashing import JoinedWords, numbered
from whorl.fingerprint.minhash import minima_of
from whorl.fingerprint.sample import Sample, SampleScheme, sample_of
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.shingling import murmur_pieces, pieces, sorted_distinct


def minima_and_sample(
    read: Iterable[JoinedWords], scheme: Scheme, sample_scheme: SampleScheme
) -> tuple[npt.NDArray[np.uint64], Sample]:
    """Return the high halves of a text's bucket minima, and its sample.

    Args:
        read: The words of the text, as `shingling.pieces` gives them.
        scheme: What the minima depend on, and the words and shingles of the sample.
        sample_scheme: What the sample depends on besides.

    Returns:
        uint64 array as `minhash.minima` returns it, and the sample.
    """
    murmur = list(murmur_pieces(read, scheme.shingle_size))
    highs = [numbered(piece, 0)[0] for piece in murmur]
    return minima_of(murmur, scheme)[:, 0], sample_of(np.concatenate([np.empty(0, np.uint64), *highs]), sample_scheme)


def text_hashes(text: str, scheme: Scheme, sample_scheme: SampleScheme) -> npt.NDArray[np.uint64]:
    """Return all distinct hashes of a text, in the bits of a sample: sorted uint64 array of shape (size,)."""
    shift = np.uint64(64 - sample_scheme.sketch_bits)
    murmur = murmur_pieces(pieces(text, scheme.profile), scheme.shingle_size)
    # Piece by piece, since a long text repeats itself.
    return sorted_distinct([sorted_distinct([numbered(piece, 0)[0] >> shift]) for piece in murmur])


def text_sample(text: str, scheme: Scheme, sample_scheme: SampleScheme) -> Sample:
    """Return the sample of a text."""
    return minima_and_sample(pieces(text, scheme.profile), scheme, sample_scheme)[1]
