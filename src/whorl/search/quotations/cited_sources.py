"""Reads the sources that a text cites for a quotation, and finds the documents that they mean.

A source can name one document (`lease.txt, p. 3`) or several (`lease.txt; minutes.txt`). First the whole source is
looked up as a name, then each part between commas and semicolons, then the words of a part that look like names of
files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from operator import and_, eq
from typing import TYPE_CHECKING
from urllib.parse import unquote

from whorl.errors import format_names, shorten_repr
from whorl.ingest.extraction.file_formats import FORMATS
from whorl.ingest.rows.row_format import SUFFIXES
from whorl.search.document_references import MOST_SAME_NAMED, NAMES_SHOWN

if TYPE_CHECKING:
    from whorl.search.document_references import References

#: A link in Markdown: its label, its target with or without angle brackets, and an optional title.
LINK = re.compile(
    r"\[(\[[^\[\]\n]{1,300}\]|[^\[\]\n]{1,300})\]"
    r"\((?:<([^<>\n]{1,500})>|([^()<>\s][^()\s]{0,499}))(?:[ \t]{1,9}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?\)"
)
ADDRESS = re.compile(
    r"<((?:https?|ftp|file|s3|gs|hf)://[^\s<>]{1,500})>|((?:https?|ftp|file|s3|gs|hf)://[^\s<>\"“”]{1,500})"
)
_DECORATION = ' \t*_`<>()[]"“”.,;:'
#: Suffixes of file names in sources, without the dot: suffixes of formats that whorl reads, and of other usual formats.
_SUFFIXES = (
    *(suffix[1:] for form in FORMATS for suffix in form.suffixes),
    *(suffix[1:] for suffixes in SUFFIXES.values() for suffix in suffixes),
    *("json", "log", "md", "rst", "tex", "txt"),
    *("doc", "epub", "msg", "ppt", "rtf", "xls"),
)
#: The path of a file. Its folders have no blanks, because text with blanks before a slash is usually prose.
_FILE_NAME = re.compile(rf"(?:[^\s,;]*[/\\])?[^/\\]+\.(?:{'|'.join(_SUFFIXES)})", re.IGNORECASE)
#: A position after the name of a file, such as `:12`, `#L3`, `#page=2`, ` at 9` or ` § 4`.
_POSITION = re.compile(
    r"(?<=\w)(?:[:#][\w=,–-]{1,20}|[ \t](?:at|pp?\.?|¶¶?|§§?|para\.?|cl\.?|clause)[ \t]?\d[\w.,–-]{0,20})\Z"
)
#: Marks between the parts of a source.
_SEPARATOR = re.compile("[,;，；、]")
#: Text around the names in a part: `see`, the colon of `Source:`, brackets and dashes.
_AROUND_NAME = re.compile(r"^(?:see|cf\.?|siehe|vgl\.?|voir|véase|vedi)\s+|:\s+|：|\s[-–—]\s|[()（）]", re.IGNORECASE)
#: A mark that is in names and ids: `a/b`, `x.txt`, `a:3`, a UUID.
_MARK_IN_NAME = re.compile("[/.:#_-]")
#: Maximum number of parts of a source to look up.
_MOST_PARTS = 10
#: If all file names in a part of a source are unknown, a note names the part, unless it has more words than this.
_MOST_WORDS = 4


@dataclass(frozen=True, slots=True)
class NamedSource:
    """A source that a text names for a quotation.

    Args:
        text: The source as it is written in the text.
        names: Names that the whole source may have in a store, the likeliest first.
        parts: Parts between commas and semicolons, each followed by its words that look like names of files.
        is_certain: Whether the text certainly names a document; brackets after a quotation often hold something else.
    """

    text: str
    names: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...] = ()
    is_certain: bool = True


def read_source(text: str, *, is_certain: bool = True, reads_words: bool = True) -> NamedSource:
    """Return a named source with the names that it and its parts may have in a store.

    If `reads_words` is false, a document in the middle of a sentence is not a source.
    """
    names = [name for label, *targets in LINK.findall(text) for name in _names_in_link(label, "".join(targets))]
    names += [text, text.strip(), unquote(text.strip()), _without_decoration(text)]
    pieces = [*filter(None, map(_without_decoration, _SEPARATOR.split(text)))][:_MOST_PARTS]
    if not all(map(str.isdecimal, pieces)):
        # Numbers next to names are years or pages, not ids.
        pieces = [piece for piece in pieces if not piece.isdecimal()]
    parts = [(piece, *(_names_in_piece(piece) if reads_words else (piece,))) for piece in pieces]
    return NamedSource(text.strip(), tuple(dict.fromkeys(filter(None, names))), tuple(parts), is_certain)


def _names_in_piece(piece: str) -> Iterator[str]:
    """Yield the texts between labels, brackets and dashes in a piece, and their words that look like names or ids."""
    for name in filter(None, map(_without_decoration, _AROUND_NAME.split(piece))):
        if name != piece:
            yield name
        yield from filter(_MARK_IN_NAME.search, map(_without_decoration, name.split()))


def read_link(label: str, target: str) -> NamedSource:
    """Return the source that a link names by its target or its label."""
    names = filter(None, _names_in_link(label.strip(), target.strip()))
    return NamedSource(f"[{label.strip()}]({target.strip()})", tuple(dict.fromkeys(names)))


def _names_in_link(label: str, target: str) -> Iterator[str]:
    """Yield the possible names of a link's document: its target, also without escapes and fragment, and its label."""
    for address in (target, target.partition("#")[0]):
        yield from (address, unquote(address))
    yield from (label, _without_decoration(label))


class CitedDocuments:
    """Finds the documents of a store that sources of quotations name."""

    def __init__(self, references: References, sources: Iterable[NamedSource]) -> None:
        names = {name for source in sources for name in (*source.names, *chain.from_iterable(source.parts))}
        names |= {_POSITION.sub("", name) for name in names}
        self._ids = references.ids_of_all(sorted(names))
        unknown = [name for name in sorted(names - self._ids.keys()) if _FILE_NAME.fullmatch(name)]
        found = references.ids_of_files(unknown)
        #: For unknown paths, the ids of documents with the same file name and the most similar folders, ignoring case.
        self._similar = {path: _in_most_similar_folders(path, ids) for path, ids in found.items()}
        #: Ids of all documents that the sources may name.
        self.ids = {*chain.from_iterable((*self._ids.values(), *self._similar.values()))}

    def find(self, source: NamedSource) -> tuple[list[str], list[str]]:
        """Return the ids of the documents that a source names, and notes about its unknown and inexact names."""
        notes: dict[str, None] = {}
        whole = next(filter(None, (self._find(name, notes) for name in source.names)), [])
        if whole:
            return whole, [*notes]
        ids: dict[str, None] = {}
        for part, *words in source.parts:
            found = self._find(part, notes)
            in_words = {} if found else {word: self._find(word, notes) for word in words}
            ids.update((key, None) for keys in (found, *in_words.values()) for key in keys)
            missing = [word for word, keys in in_words.items() if not keys and " " not in word and _is_file(word)]
            if missing and any(in_words.values()):
                notes.update((_unknown_note(word), None) for word in missing)
            elif missing and len(part.split()) <= _MOST_WORDS:
                notes[_unknown_note(part)] = None
        if not ids and source.is_certain:
            return [], [_unknown_note(source.text)]
        return [*ids], [*notes]

    def _find(self, name: str, notes: dict[str, None]) -> list[str]:
        """Return the ids of the documents with this name; add a note if the name is inexact or ambiguous."""
        for key in (name, _POSITION.sub("", name)):
            if ids := self._ids.get(key) or self._similar.get(key):
                if len(ids) > 1:
                    notes[_several_note(key, ids)] = None
                elif key not in self._ids:
                    notes[f"took {key!r:.200} for {ids[0]!r:.200}"] = None
                return ids
        return []


def _in_most_similar_folders(path: str, ids: Sequence[str]) -> list[str]:
    """Return the ids that share the most folders with a path, counted backwards from the last folder."""
    # Leave out the name after the last slash: an id can have other characters there, such as the number of a row.
    folders, *others = (name.casefold().replace("\\", "/").split("/")[-2::-1] for name in (path, *ids))
    shared = [sum(accumulate(map(eq, folders, other), and_)) for other in others]
    most = max(shared)
    return [document_id for document_id, count in zip(ids, shared, strict=True) if count == most]


def _is_file(name: str) -> bool:
    return _FILE_NAME.fullmatch(_POSITION.sub("", name)) is not None


def has_file_name(text: str) -> bool:
    """Check whether a text, a part of it between commas and semicolons, or one of its words is the name of a file."""
    pieces = [text, *_SEPARATOR.split(text)]
    return any(_is_file(_without_decoration(piece)) for piece in (*pieces, *text.split()))


def _without_decoration(name: str) -> str:
    return name.strip(_DECORATION)


def _unknown_note(name: str) -> str:
    return f"the store has no document {name!r:.200}"


def _several_note(name: str, ids: Sequence[str]) -> str:
    most = "at least " if len(ids) == MOST_SAME_NAMED else ""
    shown = format_names([*map(shorten_repr, ids)], NAMES_SHOWN)
    return f"took {name!r:.200} for any of {most}{len(ids):,} documents: {shown}"
