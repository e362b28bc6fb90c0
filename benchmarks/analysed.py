"""Reads the tokens of a text as a collection's own analysis makes them."""

from __future__ import annotations

import requests

from whorl.fingerprint.shingling import well_formed


def analysed(url: str, field: str, text: str) -> tuple[str, ...]:
    """Return the tokens that a collection's analysis makes for a field.

    The response lists the tokens after each stage, so it is a thousand times as long as the text.
    """
    answer = requests.post(
        f"{url}/analysis/field",
        params={"analysis.fieldname": field, "analysis.fieldvalue": "", "indent": "false"},
        # Solr's decoder reads a lone surrogate as U+FFFD.
        data=well_formed(text).encode(),
        headers={"Content-Type": "text/plain; charset=utf-8"},
        timeout=60,
    ).json()
    # The list alternates between a stage's class and its tokens. Bytes are hexadecimal without leading zeros.
    stages = answer["analysis"]["field_names"][field]["index"]
    written = [token["raw_bytes"].strip("[]").split() for token in stages[-1]]
    return tuple(bytes(int(byte, 16) for byte in term).decode() for term in written)
