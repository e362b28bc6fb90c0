"""The hash lookup3 of many strings at once."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.simhash.lookup3 import lookup3

#: The file names the original programs and how they were run.
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "simhash.json").read_text(encoding="utf-8"))


def test_lookup3_prints_what_its_author_published() -> None:
    """
    The hashes are those published by the author of lookup3, and those of simhash-cpp.
    """
    for string, primary, secondary, expected in VECTORS["lookup3_published"]:
        assert f"{lookup3([string.encode()], primary, secondary)[0]:016x}" == expected
    for string, primary, secondary, expected in VECTORS["lookup3"]:
        assert lookup3([string.encode()], primary, secondary).tolist() == [expected]


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_many_are_each_what_it_is_alone(strings: list[bytes]) -> None:
    """
    Hashes of many strings equal those of single strings, whatever the lengths.
    """
    assert lookup3(strings).tolist() == [lookup3([each])[0] for each in strings]
