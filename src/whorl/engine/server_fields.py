"""Names of the user's fields on a Solr or OpenSearch server; checks which field holds the texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whorl.errors import SchemaError


@dataclass(frozen=True, slots=True)
class FieldNames:
    """The user's names for the fields of a collection or index; missing fields are not used.

    Args:
        minhash: MinHash tokens; in an index, only a field that the cluster itself fills.
        content: The text that the tokens are made from; in an index, a dot leads into an object.
        name: The documents' display name.
        dbid: Alfresco's number of a node.
        noderef: Alfresco's node reference.
    """

    minhash: str = "MINHASH"
    content: str = "content"
    name: str = "name"
    dbid: str = "DBID"
    noderef: str = "LID"


@dataclass(frozen=True, slots=True)
class TextField:
    """A field with readable texts, and the number of documents that have one."""

    name: str
    documents: int

    def __str__(self) -> str:
        return f"{self.name} ({self.documents:,} document{'' if self.documents == 1 else 's'})"


def listing(texts: Sequence[TextField]) -> str:
    """Return the first ten fields with their counts, as part of a sentence."""
    return ", ".join(map(str, texts[:10])) + (f" and {len(texts) - 10} more" if len(texts) > 10 else "")


def text_elsewhere(texts: Sequence[TextField], names: FieldNames) -> str | None:
    """Return the field with the texts of most documents; None if any document uses the configured field."""
    if any(field.name == names.content for field in texts):
        return None
    return next((field.name for field in texts if field.name != names.name), None)


def init_command(command: str, texts: Sequence[TextField], names: FieldNames) -> str:
    """Complete a command such as `whorl solr init URL` with `--content` if the texts are in another field."""
    content = text_elsewhere(texts, names)
    return command if content is None else f"{command} --content {content}"


def require_named_text(url: str, command: str, texts: Sequence[TextField], names: FieldNames) -> None:
    """Raise SchemaError, with the completed `init` command, if all texts are in other fields than configured."""
    if text_elsewhere(texts, names) is not None:
        raise SchemaError(
            f"no document of {url} has a text in {names.content!r}; stored texts are in {listing(texts)}. Say which: "
            f"{init_command(command, texts, names)}, or --content {names.content} to have a field for texts that come "
            "later"
        )
