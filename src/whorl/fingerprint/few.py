"""Fingerprints of a few texts, such as a query's source, by the compiled loops if they are loaded.

`batch` does the same for many texts, but its setup takes as long as one text.
"""

from __future__ import annotations

from collections.abc import Mapping

from whorl.fingerprint.batch import Parts, hashed, text_sketch
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.compiled.first_use import give_back, kernel_if_ready
from whorl.fingerprint.minhash.codec import Spelling
from whorl.fingerprint.minhash.signature import Signature, sign, signature_of
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme, sketch_of_distinct


def signature(text: str, scheme: Scheme, spelling: Spelling | None = None) -> Signature:
    """Return the signature of a text, as `sign` does."""
    fast = _kernel(scheme)
    if fast is None:
        return sign(text, scheme, spelling)
    (minima,), (shingles,) = fast.many([text])
    give_back(fast)
    return signature_of(minima if shingles else minima[:0], scheme, spelling)


def signatures_by_id(
    texts: Mapping[str, str], scheme: Scheme, spelling: Spelling | None = None
) -> dict[str, Signature]:
    """Return the signatures of documents by their ids, in this process.

    Args:
        texts: By the documents' ids.
        scheme: As in `signature_of`.
        spelling: As in `signature_of`.
    """
    if len(texts) == 1 and kernel.is_loaded():
        return {each: signature(text, scheme, spelling) for each, text in texts.items()}
    made = hashed(texts.values(), scheme, Parts.MINIMA, workers=1)
    return {each: signature_of(own.minima, scheme, spelling) for each, own in zip(texts, made, strict=True)}


def sketch(text: str, scheme: Scheme, sketch_scheme: SketchScheme) -> Sketch:
    """Return the sketch of a text, as `text_sketch` does."""
    fast = _kernel(scheme)
    if fast is None:
        return text_sketch(text, scheme, sketch_scheme)
    hashes, _ = fast.distinct_hashes([text])
    give_back(fast)
    return sketch_of_distinct(hashes, sketch_scheme)


def _kernel(scheme: Scheme) -> kernel.Kernel | None:
    """Return a kernel if the compiled loops are loaded already."""
    return kernel_if_ready(scheme) if kernel.is_loaded() else None
