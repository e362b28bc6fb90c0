"""Holds the field names that a user has configured for Solr or OpenSearch (`FieldNames`), and suggests better ones.

If the configured text field has no texts, or the name field does not exist, this module guesses the right field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from whorl.arrays_and_batches import batches
from whorl.errors import SchemaError, format_names

#: Usual names of the display-name field, the most common first.
_USUAL_NAMES = ("title", "name", "filename", "cm:name")


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Field names that the user has configured for a Solr collection or an OpenSearch index; some may not exist there.

    Args:
        minhash: Field of the MinHash tokens; in an OpenSearch index, used only if the cluster fills it.
        content: Field of the documents' texts. In an OpenSearch index, `a.b` is the member b of the object a.
        dbid, noderef: Fields of Alfresco's node numbers and node references.
    """

    minhash: str = "MINHASH"
    content: str = "content"
    name: str = "name"
    dbid: str = "DBID"
    noderef: str = "LID"


class TextField(NamedTuple):
    """A field whose texts the server returns: its name, and the number of documents that have a text in it."""

    name: str
    documents: int

    def __str__(self) -> str:
        return f"{self.name} ({self.documents:,} document{'' if self.documents == 1 else 's'})"


#: Maximum number of fields for which one request counts the documents.
_COUNTED_AT_ONCE = 100
#: Number of texts to read per field, to estimate the amount of text.
SAMPLE_SIZE = 10
#: Maximum number of fields to sample; the fields with the most documents come first.
_FIELDS_SAMPLED = 20


def rank_text_fields(
    candidates: Iterable[str],
    names: FieldNames,
    count: Callable[[Sequence[str]], Sequence[int]],
    sample: Callable[[str], list[str]],
) -> list[TextField]:
    """Return the text fields that have values, except the name field, sorted by amount of text (most text first).

    This order puts whole texts before titles. `count` returns the number of documents with a value in each given
    field. `sample` returns the texts of a few documents in a field; it is called only if several fields have values.
    """
    possible = (name for name in candidates if name != names.name or name == names.content)
    counted = (pair for batch in batches(possible, _COUNTED_AT_ONCE) for pair in zip(batch, count(batch), strict=True))
    fields = [TextField(name, documents) for name, documents in counted if documents]
    frequent = sorted(fields, key=lambda field: (-field.documents, field.name))
    if len(fields) < 2:
        return frequent
    measured, others = frequent[:_FIELDS_SAMPLED], frequent[_FIELDS_SAMPLED:]
    lengths = {field: [len(text) for text in sample(field.name)] for field in measured}
    amounts = {field: field.documents * sum(lengths[field]) / max(1, len(lengths[field])) for field in measured}
    return [*sorted(measured, key=lambda field: (-amounts[field], field.name)), *others]


def describe_fields(texts: Sequence[TextField]) -> str:
    return format_names([*map(str, texts)], 10)


def guess_text_field(texts: Sequence[TextField], names: FieldNames) -> str | None:
    """Return the field with the most text, except the name field; None if the configured field has texts."""
    if any(field.name == names.content for field in texts):
        return None
    return next((field.name for field in texts if field.name != names.name), None)


def guess_name_field(names: FieldNames, exists: Callable[[str], object]) -> str | None:
    """Return the first field in `_USUAL_NAMES` that exists, except the text field; None if the name field exists."""
    if exists(names.name):
        return None
    return next((field for field in _USUAL_NAMES if field != names.content and exists(field)), None)


def init_command(command: str, texts: Sequence[TextField], names: FieldNames, likely: str | None = None) -> str:
    """Return the `init` command with an option for each likely field that differs from the configured field.

    `texts` lists the fields with texts, starting with the field with the most text. `likely` is the result of
    `guess_name_field`.
    """
    # Choose the likely name field as the text field only if no other field has texts.
    content = guess_text_field(texts, replace(names, name=likely or names.name)) or guess_text_field(texts, names)
    options = {"--content": content, "--name": None if likely == content else likely}
    return " ".join([command, *(f"{option} {field}" for option, field in options.items() if field)])


def require_named_text(
    url: str, command: str, texts: Sequence[TextField], names: FieldNames, likely: str | None = None
) -> None:
    """Raise SchemaError if the configured text field has no texts, but another field has; suggest an `init` command."""
    if guess_text_field(texts, names) is not None:
        raise SchemaError(
            f"no document of {url} has a text in {names.content!r}; stored texts are in {describe_fields(texts)}. "
            f"Say which: {init_command(command, texts, names, likely)}, or --content {names.content} to have a field "
            "for texts that come later"
        )
