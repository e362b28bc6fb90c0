"""The fields in which a document of an index carries what whorl searches: names, mapping, and how terms are spelled.

Words, tokens and values are made here and put into fields of our own beside the document: so every clause means on a
cluster what it means in the other engines, whatever its analysers and plug-ins are. In an index of ours they are not
kept in the source a second time; sketch, scheme and digest are read as stored fields.

    whorl_id      the id, to sort by and to look for
    whorl_words   words in the order of the text, each behind the name of its field; positions, so phrases can be asked
    whorl_values  whole values behind the names of their fields and types, spelled in the order of the values
    whorl_fields  which fields there are, of which types
    whorl_handles the properties that a document can be named by, beside its id
    whorl_minhash the distinct MinHash tokens
    whorl_sample  the look-up tokens of the sketch, whorl_sketch the sketch, whorl_size its distinct shingles,
    whorl_scheme  what tokens and sketch depend on
    whorl_passages the numbers by which passages are found with certainty, behind their scheme; an index has it or not
    whorl_cluster the cluster that it is in, else its own id, and whorl_is_principal whether it stands for the cluster
    whorl_digest  what the document looked like when it was indexed, so that it is not indexed twice
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
#: What all of them are called, as an index leaves them out of its source and an answer out of what it returns.
OWN = "whorl_*"
#: Where a document of ours has its properties.
PROPERTIES = "properties"

_WHOLE: Json = {"type": "keyword"}
#: Each token that a document has scores 1, so that many of them can be asked for in one query of words.
_TOKENS: Json = {"type": "keyword", "doc_values": False, "similarity": "boolean"}
#: The one analyser of every server that leaves our terms as they are.
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
#: What an index has beside that which finds passages.
OF_PASSAGES: Mapping[str, Json] = {PASSAGES: _TOKENS}
#: What its documents say of their clusters. A document in none has its own id: the cluster's own `collapse` would else
#: take all of these for one.
OF_CLUSTERS: Mapping[str, Json] = {CLUSTER: _WHOLE, IS_PRINCIPAL: {"type": "boolean"}}


@dataclass(frozen=True, slots=True)
class SourceNames:
    """What an index calls the parts of a document in its source.

    Args:
        content: The text; a dot leads into an object.
        name: What people know the document by.
        dbid: Alfresco's number of a node.
        noderef: Alfresco's node reference.
        minhash: The cluster's own MinHash tokens, asked where our fields are not there and it has several such fields.
    """

    content: str = "content"
    name: str = "name"
    dbid: str = "DBID"
    noderef: str = "LID"
    minhash: str = "MINHASH"


def mapping(names: SourceNames, *, passages: bool = False) -> dict[str, Json]:
    """Return the fields of an index of ours, or those that one of others needs beside its own.

    Args:
        names: What it calls the parts of a document.
        passages: Whether it finds passages.
    """
    # Whatever can be asked is in our own fields, so no name or value of a property can break the mapping.
    source = {
        names.name: {"type": "keyword", "index": False, "doc_values": False},
        names.content: {"type": "text", "index": False},
        PROPERTIES: {"type": "object", "enabled": False},
    }
    return {**MAPPING, **OF_CLUSTERS, **(OF_PASSAGES if passages else {}), **source}


def index_body(
    names: SourceNames, shards: int | None = None, replicas: int | None = None, *, passages: bool = False
) -> Json:
    """Return the settings and the mapping of a new index; the cluster's own numbers where none are given."""
    numbers = {"number_of_shards": shards, "number_of_replicas": replicas}
    settings = {name: number for name, number in numbers.items() if number is not None}
    source = {"excludes": [OWN]}
    return {
        "settings": settings,
        "mappings": {"dynamic": False, "_source": source, "properties": mapping(names, passages=passages)},
    }


@lru_cache
def stored_name(scheme: Scheme, sketch_scheme: SketchScheme) -> str:
    """Return what `whorl_scheme` holds: all that tokens and sketch depend on."""
    return f"{scheme.name} {sketch_scheme.name}"


def spelled_minhash(numbers: npt.NDArray[np.uint64]) -> list[str]:
    """Return MinHash tokens as terms: 11 letters of base64 each, the highest bits first."""
    padded = np.zeros((len(numbers), 9), dtype=np.uint8)
    padded[:, :8] = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    letters = base64.b64encode(padded.tobytes()).decode("ascii")
    # Nine bytes are twelve letters, the last of which stands for the ninth byte.
    return [letters[at : at + 11] for at in range(0, len(letters), 12)]


#: Between the words of a field.
BETWEEN_WORDS = " "
_AFTER_FIELD, _AFTER_BEGINNING, _SPACE, _BLANK = "\x01", "\x02", "\x03", "\x04"
#: The analyser cuts after so many units of UTF-16; a longer word is its beginning and a digest of all.
_LONGEST_TERM, _LONGEST_FIELD, _BEGINNING = 255, 80, 40
#: What it takes for white space (Java's Character.isWhitespace). Names of fields may have any of it, words the blank
#: alone: a narrow one that does not break (U+202F) parts no words and is a blank once it is folded.
_WHITE_SPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
    "\u2028\u2029\u205f\u3000"
)
_SPELLED_SPACE = str.maketrans({char: f"{_SPACE}{chr(ord('a') + at)}" for at, char in enumerate(_WHITE_SPACE)})


def word_term(field: str, word: str) -> str:
    """Return the one term for a word in a field."""
    beginning = f"{_short(field.translate(_SPELLED_SPACE), _LONGEST_FIELD)}{_AFTER_FIELD}"
    return beginning + _short(in_word(word), _LONGEST_TERM - _units(beginning))


def in_word(text: str) -> str:
    """Return a word, or a part of one, as it stands in terms."""
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
    """Return the term of documents that a property names so."""
    return f"{name}\x1f{value}"
