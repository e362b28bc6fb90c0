"""Reads the tokens of a text as a collection's own analysis makes them."""

from __future__ import annotations

import requests

from whorl.fingerprint.shingling import well_formed


def analysed(url: str, field: str, text: str) -> tuple[str, ...]:
    """Return the tokens that indexing a text would put into a field of the collection at a URL.

    The answer shows each token of each stage: some thousand times the text.
    """
    answer = requests.post(
        f"{url}/analysis/field",
        params={"analysis.fieldname": field, "analysis.fieldvalue": "", "indent": "false"},
        # A lone surrogate would be U+FFFD for Solr's decoder as well.
        data=well_formed(text).encode(),
        headers={"Content-Type": "text/plain; charset=utf-8"},
        timeout=60,
    ).json()
    # Pairs of a stage's class and its tokens, one list for both; bytes in hexadecimal, of one digit where that will do.
    stages = answer["analysis"]["field_names"][field]["index"]
    written = [token["raw_bytes"].strip("[]").split() for token in stages[-1]]
    return tuple(bytes(int(byte, 16) for byte in term).decode() for term in written)
