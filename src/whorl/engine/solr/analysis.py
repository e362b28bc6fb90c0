"""Detection of a collection's word-break profile from Solr's `/analysis/document` handler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from whorl.engine.findings import PROBE
from whorl.engine.solr.answer import Answer, reading
from whorl.errors import EngineError
from whorl.fingerprint.words.tokenizer import PROFILES, tokens

if TYPE_CHECKING:
    from whorl.engine.solr.client import SolrClient

#: Java class name of the analysis stage that makes shingles.
_SHINGLES = "ShingleFilter"


def seen_profile(client: SolrClient, key: str, field: str, shingle_size: int, expected: str) -> str | None:
    """Return the word-break profile under which whorl splits text into the same words as a field's analysis.

    The probe is sent as texts shorter than a shingle: Solr returns every token of every stage, and a text with at least
    one shingle would return hundreds of MinHash tokens.

    Args:
        client: Client of the collection.
        key: The unique key.
        field: The field of indexed tokens.
        shingle_size: Words in a shingle.
        expected: The profile to try first.

    Returns:
        One of `PROFILES`; None if no profile gives the same words, or the handler cannot be called.
    """
    texts = list(_short_texts(shingle_size))
    documents = "".join(
        f'<doc><field name="{escape(key)}">{number}</field><field name="{escape(field)}">{escape(text)}</field></doc>'
        for number, text in enumerate(texts)
    )
    try:
        answer = client.post_xml("analysis/document", f"<docs>{documents}</docs>")
        with reading(client.url):
            words = [_words(answer, str(number), field, text) for number, text in enumerate(texts)]
    except EngineError:
        return None
    profiles = sorted(PROFILES, key=lambda profile: profile != expected)
    return next((each for each in profiles if words == [list(tokens(text, each)) for text in texts]), None)


def _short_texts(shingle_size: int) -> Iterator[str]:
    """Cut the probe into texts shorter than a shingle, except where a single piece is already longer."""
    text = ""
    for piece in PROBE.split():
        longer = f"{text} {piece}".strip()
        if text and max(len(list(tokens(longer, profile))) for profile in PROFILES) >= min(shingle_size, 5):
            yield text
            longer = piece
        text = longer
    yield text


def _words(answer: Answer, document: str, field: str, text: str) -> list[str]:
    """Return the output of the last stage before the shingles."""
    # The list alternates between a stage's class and its tokens.
    stages: Sequence[object] = answer["analysis"][document][field]["index"][text]
    shingles = [at for at, stage in enumerate(stages) if isinstance(stage, str) and stage.endswith(_SHINGLES)]
    found = stages[shingles[0] - 1]
    if not isinstance(found, list):
        raise TypeError(f"a stage has no tokens: {found!r:.80}")
    return [str(token["text"]) for token in found]
