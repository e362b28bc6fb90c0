"""Tests of the sketches that servers store."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from whorl.engine.stored_sketches_and_passages import decode_sketches, encode_sketch
from whorl.fingerprint.fingerprint_texts import least_stored_size, text_sketch
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme


def test_sketches_of_stored_and_of_short_documents() -> None:
    """
    Each text is read once, for a document without a stored sketch; a missing text gives no sketch.
    """
    schemes = Scheme(), SketchScheme()
    texts = [" ".join(f"w{number}" for number in range(words)) for words in (300, 20, 30)]
    long, short, other = (text_sketch(text, *schemes) for text in texts)
    encoded = encode_sketch(long, schemes[0], texts[0])
    batches = []

    def read_texts(positions: Sequence[int]) -> list[str | None]:
        batches.append(list(positions))
        return [{1: texts[1], 3: texts[2], 4: texts[1]}.get(position) for position in positions]

    stored = [encoded, None, "damaged", None, None, None, None]
    read = decode_sketches([at < 6 for at in range(7)], stored, read_texts, schemes)
    assert read == [long, short, None, other, short, None, None]
    assert batches == [[1, 3, 4, 5]]
    assert decode_sketches([True, False], [encoded, encoded], read_texts, schemes) == [long, None]
    assert len(batches) == 1


@pytest.mark.parametrize(("characters", "is_stored"), [(10_000, False), (10_001, True)])
def test_a_long_text_of_few_shingles_has_a_stored_sketch(characters: int, is_stored: bool) -> None:
    """
    A text of one long word has a stored sketch, so that no search reads the text; without the text, any document has.
    """
    text, scheme = "x" * characters, Scheme()
    sketch = text_sketch(text, scheme, SketchScheme())
    has_loops = least_stored_size(scheme) > 0
    assert (encode_sketch(sketch, scheme, text) is None) == (has_loops and not is_stored)
    assert encode_sketch(sketch, scheme, None) is not None
