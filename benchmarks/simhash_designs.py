"""The compared SimHash codes: those of whorl's schemes, and of designs that were tried."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.shingling import join, murmur
from whorl.fingerprint.words.tokenizer import tokens
from whorl.hamming.simhash import DEFAULT_SCHEME, SCHEMES, simhash
from whorl.hamming.votes import codes_from_votes, count_votes

#: Number of hash functions for each design, to reduce the effect of chance.
SALTS = 4
#: Features of each design. The key is the number of words in a feature. A feature that occurs n times has the weight
#: 4 * factor * n ** exponent; the values are (exponent, factor).
DESIGNS: dict[str, dict[int, tuple[float, float]]] = {
    "words": {1: (1, 1)},
    "words once": {1: (0, 1)},
    "words^0.5": {1: (0.5, 1)},
    "words^0.75": {1: (0.75, 1)},
    "pairs": {2: (1, 1)},
    "pairs once": {2: (0, 1)},
    "fours": {4: (1, 1)},
    "fours once": {4: (0, 1)},
    "words^0.75 and pairs": {1: (0.75, 1), 2: (1, 1)},
    "words^0.75 and pairs once": {1: (0.75, 1), 2: (0, 1)},
    "2 words^0.5 and pairs": {1: (0.5, 2), 2: (1, 1)},
    "words^0.75, pairs, threes": {1: (0.75, 1), 2: (1, 1), 3: (1, 1)},
}
_SCHEMES = [name for name in SCHEMES if name == DEFAULT_SCHEME or not name.startswith("simhash1-")]
#: Columns of an array of codes, by scheme.
COLUMNS = {name: slice(place, place + 1) for place, name in enumerate(_SCHEMES)} | {
    f"design: {name}": slice(place, place + SALTS)
    for name, place in zip(DESIGNS, range(len(_SCHEMES), 1_000, SALTS), strict=False)
}

Codes = npt.NDArray[np.uint64]


def codes_of(text: str) -> Codes:
    """Return the codes of a text by all designs, uint64 array of shape (columns,)."""
    return np.concatenate([np.array([simhash(text, name) for name in _SCHEMES], np.uint64), *_designed(text)])


def _designed(text: str) -> list[Codes]:
    words = tokens(text)
    sizes = sorted({size for design in DESIGNS.values() for size in design})
    features = {size: np.unique(murmur(join(words), size)[:, 0], return_counts=True) for size in sizes}
    digests = []
    for design in DESIGNS.values():
        hashes = np.concatenate([features[size][0] for size in design])
        weights = [np.rint(4 * factor * features[size][1] ** power) for size, (power, factor) in design.items()]
        salted = np.concatenate([_mixed(hashes + np.uint64(salt)) for salt in range(SALTS)])
        digests.append(
            codes_from_votes(count_votes(salted, [hashes.size] * SALTS, np.tile(np.concatenate(weights), SALTS)))
        )
    return digests


def _mixed(numbers: Codes) -> Codes:
    """Mix the bits of hashes by the last step of murmur3."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        numbers = (numbers ^ (numbers >> np.uint64(33))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(33))
