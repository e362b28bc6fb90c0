"""Exact distributions of sketch overlaps, number by number."""

from __future__ import annotations

from math import lgamma, log, log1p

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.sketch.frac_minhash import Overlaps
from whorl.fingerprint.statistics.hypergeometric import upper_tail


def hypergeometric(population: int, good: int, drawn: int) -> npt.NDArray[np.float64]:
    """Return the probabilities of 0 .. drawn good ones."""
    tails = upper_tail(population, good, drawn, np.arange(drawn + 2))
    return tails[:-1] - tails[1:]


def binomial(trials: int, chance: float) -> npt.NDArray[np.float64]:
    """Return the probabilities of 0 .. trials successes."""
    counts = np.arange(trials + 1)
    if chance == 1:
        return np.asarray(counts == trials, np.float64)
    ways = [lgamma(trials + 1) - lgamma(count + 1) - lgamma(trials - count + 1) for count in counts.tolist()]
    logarithms = np.array(ways) + counts * log(chance) + counts[::-1] * log1p(-chance)
    probabilities: npt.NDArray[np.float64] = np.exp(logarithms)
    return probabilities


def outcomes(a: int, b: int, overlap: int, level: int) -> tuple[Overlaps, npt.NDArray[np.float64]]:
    """Return all possible overlaps of two sketches at a level, and their probabilities."""
    rate = 0.5**level
    shared, ours, theirs = np.indices((overlap + 1, a - overlap + 1, b - overlap + 1)).reshape(3, -1)
    chances = binomial(overlap, rate)[shared] * binomial(a - overlap, rate)[ours] * binomial(b - overlap, rate)[theirs]
    whole = np.full(shared.shape, level), shared + ours, shared + theirs, shared
    return Overlaps(a, np.full(shared.shape, b), *whole), chances
