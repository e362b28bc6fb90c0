"""From a text to everything that a store keeps of it, hashed once: its bucket minima and its sketch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.hashing import JoinedWords, numbered
from whorl.fingerprint.minhash.minima import minima_of
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme, sketch_of
from whorl.fingerprint.words.shingles import murmur_pieces, pieces, sorted_distinct


def minima_and_sketch(
    read: Iterable[JoinedWords], scheme: Scheme, sketch_scheme: SketchScheme
) -> tuple[npt.NDArray[np.uint64], Sketch]:
    """Return the high halves of a text's bucket minima, and its sketch.

    Args:
        read: The words of the text, as `shingling.pieces` gives them.
        scheme: What the minima depend on, and the words and shingles of the sketch.
        sketch_scheme: What the sketch depends on besides.

    Returns:
        uint64 array as `minhash.minima` returns it, and the sketch.
    """
    murmur = list(murmur_pieces(read, scheme.shingle_size))
    highs = [numbered(piece, 0)[0] for piece in murmur]
    return minima_of(murmur, scheme)[:, 0], sketch_of(np.concatenate([np.empty(0, np.uint64), *highs]), sketch_scheme)


def text_hashes(text: str, scheme: Scheme, sketch_scheme: SketchScheme) -> npt.NDArray[np.uint64]:
    """Return all distinct hashes of a text, in the bits of a sketch: sorted uint64 array of shape (size,)."""
    shift = np.uint64(64 - sketch_scheme.sketch_bits)
    murmur = murmur_pieces(pieces(text, scheme.profile), scheme.shingle_size)
    # Piece by piece, since a long text repeats itself.
    return sorted_distinct([sorted_distinct([numbered(piece, 0)[0] >> shift]) for piece in murmur])


def text_sketch(text: str, scheme: Scheme, sketch_scheme: SketchScheme) -> Sketch:
    """Return the sketch of a text."""
    return minima_and_sketch(pieces(text, scheme.profile), scheme, sketch_scheme)[1]
