"""What a collection's own analysis makes of a text, asked by `/analysis/field`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import EngineError
from whorl.fingerprint.minhash import Spelling, sign
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.text import PROFILES

if TYPE_CHECKING:
    from whorl.solr.client import SolrClient

#: Tells the profiles apart (a colon between letters, a letter that is new in Unicode 15 and one that is new in 16), and
#: from chains that break or fold in other ways.
_PROBE = "one:two \U00011f04\U00011f05 three \U00010d4e\U00010d4f, (Don't) 3.14 x_y Straße ﬁne 中文 – naïve; end."


def analysed(client: SolrClient, field: str, text: str) -> tuple[str, ...]:
    """Return the tokens that indexing a text would put into a field, in order, as the index holds them.

    Raises:
        EngineError: The collection does not answer, or lets nobody ask.
    """
    answer = client.post_text("analysis/field", text, **{"analysis.fieldname": field, "analysis.fieldvalue": ""})
    # Pairs of a stage's class and its tokens, one list for both.
    stages = answer["analysis"]["field_names"][field]["index"]
    # BytesRef.toString: bytes in hexadecimal, of one digit where one is enough.
    written = (token["raw_bytes"].strip("[]").split() for token in stages[-1])
    return tuple(bytes(int(byte, 16) for byte in term).decode() for term in written)


def seen_profile(client: SolrClient, field: str, scheme: Scheme, spelling: Spelling, *, rotates: bool) -> str | None:
    """Return the word-break profile under which whorl makes the very tokens that a field's analysis makes.

    Args:
        client: Where the collection is.
        field: The indexed tokens.
        scheme: Of the field, but for its profile.
        spelling: Of its tokens.
        rotates: Whether the field's analysis fills empty buckets.

    Returns:
        One of `PROFILES`; None if the analysis is of another kind, or cannot be asked.
    """
    try:
        indexed = analysed(client, field, _PROBE)
    except EngineError:
        return None
    schemes = (replace(scheme, profile=profile, rotation=rotates) for profile in PROFILES)
    return next((each.profile for each in schemes if sign(_PROBE, each, spelling).tokens == indexed), None)
