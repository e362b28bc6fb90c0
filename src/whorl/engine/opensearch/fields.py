"""Fields of an index that whorl searches: names, mapping, and the encoding of terms.

whorl makes words, tokens and values itself and stores them in its own fields of the document, so every clause has the
same meaning on a cluster as in the other engines, whatever analysers and plug-ins the cluster has. In an index made by
whorl, the source does not contain these fields; sketch, scheme and digest are read as stored fields.

    whorl_id      the id, to sort by and to look up
    whorl_words   words in the order of the text, prefixed with the name of their field; has positions, for phrases
    whorl_values  whole values, prefixed with field and type, in an encoding that sorts like the values
    whorl_fields  names of the document's fields, each with its type
    whorl_handles the properties that can name the document, in addition to its id
    whorl_minhash the distinct MinHash tokens
    whorl_sample  the look-up tokens of the sketch, whorl_sketch the sketch, whorl_size its number of distinct shingles
    whorl_scheme  the schemes that tokens and sketch depend on
    whorl_passages the passage hashes, preceded by their scheme; optional
    whorl_cluster the id of its cluster, or its own id, and whorl_is_principal whether it represents the cluster
    whorl_digest  the digest of the indexed document, so that unchanged documents are not indexed again
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.model import CLUSTER, IS_PRINCIPAL

Json: TypeAlias = dict[str, Any]

ID, WORDS, VALUES, FIELDS, HANDLE = "whorl_id", "whorl_words", "whorl_values", "whorl_fields", "whorl_handles"
MINHASH, SAMPLE, SKETCH, SIZE = "whorl_minhash", "whorl_sample", "whorl_sketch", "whorl_size"
SCHEME, DIGEST, PASSAGES = "whorl_scheme", "whorl_digest", "whorl_passages"
#: Pattern for all of these names, to exclude them from the source and from responses.
OWN = "whorl_*"
#: Field of the source with the document's properties.
PROPERTIES = "properties"

_WHOLE: Json = {"type": "keyword"}
#: The boolean similarity scores 1 per matching token, so one query of words can look up many tokens.
_TOKENS: Json = {"type": "keyword", "doc_values": False, "similarity": "boolean"}
#: The only analyser of every server that keeps whorl's terms unchanged.
WHITESPACE = "whitespace"
MAPPING: Mapping[str, Json] = {
    ID: _WHOLE,
    WORDS: {"type": "text", "analyzer": WHITESPACE, "norms": False, "position_increment_gap": 100},
    VALUES: _WHOLE,
    FIELDS: _WHOLE,
    HANDLE: _WHOLE,
    MINHASH: _TOKENS,
    SAMPLE: _TOKENS,
    SKETCH: {"type": "binary", "store": True},
    SIZE: {"type": "long"},
    SCHEME: {"type": "keyword", "store": True},
    DIGEST: {"type": "keyword", "index": False, "doc_values": False, "store": True},
}
#: Additional fields for passages.
OF_PASSAGES: Mapping[str, Json] = {PASSAGES: _TOKENS}
#: Fields of cluster labels. A document in no cluster has its own id as cluster: the cluster's `collapse` would
#: otherwise merge all documents without a value.
OF_CLUSTERS: Mapping[str, Json] = {CLUSTER: _WHOLE, IS_PRINCIPAL: {"type": "boolean"}}


#: Mark in the mapping of an index whose names are split at `_` and `.`; older indexes keep them whole.
SPLIT_NAMES: Json = {"whorl_names": "split"}


@dataclass(frozen=True, slots=True)
class SourceNames:
    """An index's names for the parts of a document in its source.

    Args:
        content: The text; a dot leads into an object.
        name: The documents' display name.
        dbid: Alfresco's number of a node.
        noderef: Alfresco's node reference.
        minhash: The field with the cluster's own MinHash tokens, used in an index with several such fields and none of
            whorl's.
    """

    content: str = "content"
    name: str = "name"
    dbid: str = "DBID"
    noderef: str = "LID"
    minhash: str = "MINHASH"


def mapping(names: SourceNames, *, passages: bool = False) -> dict[str, Json]:
    """Return the fields that whorl needs in a new or existing index.

    Args:
        names: The index's names for the parts of a document.
        passages: Whether to include the field of passages.
    """
    # All searchable data is in whorl's own fields, so no name or value of a property can break the mapping.
    source = {
        names.name: {"type": "keyword", "index": False, "doc_values": False},
        names.content: {"type": "text", "index": False},
        PROPERTIES: {"type": "object", "enabled": False},
    }
    return {**MAPPING, **OF_CLUSTERS, **(OF_PASSAGES if passages else {}), **source}


def index_body(
    names: SourceNames, shards: int | None = None, replicas: int | None = None, *, passages: bool = False
) -> Json:
    """Return the settings and the mapping of a new index; None leaves a number to the cluster's default."""
    numbers = {"number_of_shards": shards, "number_of_replicas": replicas}
    settings = {name: number for name, number in numbers.items() if number is not None}
    source = {"excludes": [OWN]}
    return {
        "settings": settings,
        "mappings": {
            "dynamic": False,
            "_meta": SPLIT_NAMES,
            "_source": source,
            "properties": mapping(names, passages=passages),
        },
    }


@lru_cache
def stored_name(scheme: Scheme, sketch_scheme: SketchScheme) -> str:
    """Return the value of `whorl_scheme`, the schemes that tokens and sketch depend on."""
    return f"{scheme.name} {sketch_scheme.name}"


def spelled_minhash(numbers: npt.NDArray[np.uint64]) -> list[str]:
    """Return MinHash tokens as terms: 11 letters of base64 each, the highest bits first."""
    padded = np.zeros((len(numbers), 9), dtype=np.uint8)
    padded[:, :8] = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    letters = base64.b64encode(padded.tobytes()).decode("ascii")
    # Nine bytes are twelve letters; the last letter encodes bits of the ninth byte only.
    return [letters[at : at + 11] for at in range(0, len(letters), 12)]


#: Separator of a field's words.
BETWEEN_WORDS = " "
_AFTER_FIELD, _AFTER_BEGINNING, _SPACE, _BLANK = "\x01", "\x02", "\x03", "\x04"
#: The analyser cuts terms at this number of UTF-16 units; whorl shortens longer words to a prefix and a digest.
_LONGEST_TERM, _LONGEST_FIELD, _BEGINNING = 255, 80, 40
#: White space for the analyser (Java's Character.isWhitespace). Names of fields may contain any of it, words only the
#: blank: a narrow no-break space (U+202F) does not separate words and is folded to a blank.
_WHITE_SPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
    "\u2028\u2029\u205f\u3000"
)
_SPELLED_SPACE = str.maketrans({char: f"{_SPACE}{chr(ord('a') + at)}" for at, char in enumerate(_WHITE_SPACE)})


def word_term(field: str, word: str) -> str:
    """Return the term for a word in a field."""
    beginning = f"{_short(field.translate(_SPELLED_SPACE), _LONGEST_FIELD)}{_AFTER_FIELD}"
    return beginning + _short(in_word(word), _LONGEST_TERM - _units(beginning))


def in_word(text: str) -> str:
    """Return a word, or a part of one, in the encoding used in terms."""
    return text.replace(BETWEEN_WORDS, _BLANK)


def _short(text: str, longest: int) -> str:
    if len(text) * 2 <= longest or _units(text) <= longest:
        return text
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return f"{text[: min(_BEGINNING, (longest - 33) // 2)]}{_AFTER_BEGINNING}{digest}"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def field_term(name: str, kind: str) -> str:
    """Return the term of documents that have values of a type in a field."""
    return f"{name}\x1f{kind}"


def handle(name: str, value: str) -> str:
    """Return the term of documents with this value in a naming property."""
    return f"{name}\x1f{value}"
