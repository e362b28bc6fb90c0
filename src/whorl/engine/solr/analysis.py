"""What a collection's own analysis makes of a text, asked by `/analysis/field`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import EngineError, EngineResponseError
from whorl.fingerprint.minhash.codec import Spelling
from whorl.fingerprint.minhash.signature import sign
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.tokenizer import PROFILES

if TYPE_CHECKING:
    from whorl.engine.solr.client import SolrClient

#: Tells the profiles apart (a colon between letters, a letter that is new in Unicode 15 and one that is new in 16), and
#: from chains that break or fold in other ways, leave out markup, common words or long ones, or cut endings off.
_PROBE = (
    "one:two \U00011f04\U00011f05 three \U00010d4e\U00010d4f, (Don't) 3.14 x_y Straße ﬁne 中文 – naïve; "
    "The houses of John's churches are running <b>out</b> of R&amp;D, wi-fi; l'été et des eaux, der Hund und die "
    f"Häuser, los niños que, и не только, 日本語の文章です {'long' * 80} 1,000 e-mail@example.org/a_b?c=d end."
)


def analysed(client: SolrClient, field: str, text: str) -> tuple[str, ...]:
    """Return the tokens that indexing a text would put into a field, in order, as the index holds them.

    Raises:
        EngineError: The collection does not answer, or lets nobody ask.
    """
    answer = client.post_text("analysis/field", text, **{"analysis.fieldname": field, "analysis.fieldvalue": ""})
    try:
        # Pairs of a stage's class and its tokens, one list for both.
        stages = answer["analysis"]["field_names"][field]["index"]
        # BytesRef.toString: bytes in hexadecimal, of one digit where one is enough.
        written = [token["raw_bytes"].strip("[]").split() for token in stages[-1]]
        return tuple(bytes(int(byte, 16) for byte in term).decode() for term in written)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        told = f"{client.url}/analysis/field answers in an unknown shape"
        raise EngineResponseError(told, status=200, detail=repr(error)) from error


def seen_profile(client: SolrClient, field: str, scheme: Scheme, spelling: Spelling, *, rotates: bool) -> str | None:
    """Return the word-break profile under which whorl makes the very tokens that a field's analysis makes.

    Args:
        client: Where the collection is.
        field: The indexed tokens.
        scheme: Of the field, its profile the one that is expected.
        spelling: Of its tokens.
        rotates: Whether the field's analysis fills empty buckets.

    Returns:
        One of `PROFILES`; None if the analysis is of another kind, or cannot be asked.
    """
    # With more words than a shingle holds: a text without tokens shows nothing.
    text = " ".join([_PROBE] * (1 + scheme.shingle_size // 20))
    try:
        indexed = analysed(client, field, text)
    except EngineError:
        return None
    # Few buckets keep too little of the text to tell all profiles apart; what is expected then goes first.
    profiles = sorted(PROFILES, key=lambda profile: profile != scheme.profile)
    schemes = (replace(scheme, profile=profile, rotation=rotates) for profile in profiles)
    return next((each.profile for each in schemes if indexed and sign(text, each, spelling).tokens == indexed), None)
