"""Sketches of random sources of any size, the same in every run."""

from __future__ import annotations

from functools import cache

import numpy as np

from tests.plain import sketch_of
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme

SCHEME = SketchScheme()


@cache
def source_of(size: int, scheme: SketchScheme = SCHEME) -> Sketch:
    return sketch_of(np.random.default_rng(size).integers(0, 1 << 64, size, dtype=np.uint64), scheme)
