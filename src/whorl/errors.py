"""Defines all errors that whorl raises, checks arguments, and formats parts of error messages.

whorl converts errors of Lark, requests, urllib3, tantivy and SQLite to these classes.

    WhorlError
    ├── QueryError                 carries message, query, span and hint, and draws the caret
    │   ├── QuerySyntaxError       the query has a syntax error
    │   ├── UnsupportedQueryError  valid, but not supported (too large, too deep, too many clauses)
    │   └── FieldError             a clause that the type of a field does not support
    │       └── UnknownFieldError  the store has no such field
    ├── ParameterError             an argument is outside its documented range (also a ValueError)
    │   ├── UnknownDocumentError   the store has no document of that name
    │   ├── CodeRangeError         a number is not a 64-bit code (also an OverflowError)
    │   └── CodeTypeError          a code is not an integer (also a TypeError)
    ├── DocumentError              a document cannot be read or stored (also a ValueError)
    ├── SchemeMismatchError        signatures or stores with different schemes cannot be combined
    ├── StoreError                 a store on disk cannot be opened, read or written
    ├── StoppedError               the time for a request is up, or it was cancelled
    └── EngineError                the search engine of the store failed
        ├── EngineUnavailableError the server refused, timed out or is gone
        ├── EngineResponseError    the server sent an HTTP error, HTML or broken JSON
        └── SchemaError            the store lacks texts, fields or settings that an operation needs
            └── NoSketchesError    its documents have no sketches

A message states the given value, the permitted values and a remedy.
"""

from __future__ import annotations

import copyreg
import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import index
from typing import SupportsIndex

#: Matches the user and the password in an address, even if they have characters that an address must not contain.
_LOGIN = re.compile("//.*@", re.DOTALL)


def without_login(address: str) -> str:
    """Return an address without user and password.

    >>> without_login("https://reader:secret@host/solr/texts")
    'https://host/solr/texts'
    """
    return _LOGIN.sub("//", address)


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return up to `count` known names that are most similar to an unknown name, ignoring case.

    >>> nearest("Tilte", ["title", "name"])
    ['title']
    """
    by_folded = {word.casefold(): word for word in known}
    return [by_folded[close] for close in difflib.get_close_matches(name.casefold(), by_folded, n=count)]


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: a question with the most similar known name, or "".

    >>> suggestion("tilte", ["title", "name"])
    "; did you mean 'title'?"
    """
    return "".join(f"; did you mean {close!r}?" for close in nearest(name, known, 1))


def format_names(names: Sequence[str], most: int) -> str:
    """Return the first `most` names as text, followed by the number of the remaining names.

    >>> format_names(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def shorten_repr(value: object, most: int = 80) -> str:
    """Return the repr of a value for messages; shorten a long one in the middle, because ids often differ at the end.

    >>> shorten_repr("a long identifier", 12)
    "'a lon…fier'"
    """
    shown = repr(value)
    return shown if len(shown) <= most else f"{shown[: most // 2]}…{shown[len(shown) - (most - most // 2 - 1) :]}"


def invalid_byte(error: UnicodeDecodeError) -> str:
    r"""Return a part of an error message: the position of a byte that is not UTF-8, and a remedy.

    >>> try:
    ...     b"caf\xe9".decode()
    ... except UnicodeDecodeError as error:
    ...     print(invalid_byte(error))
    byte 0xe9 at position 3; encode it as UTF-8
    """
    return f"byte 0x{error.object[error.start]:02x} at position {error.start}; encode it as UTF-8"


def require_text(name: str, value: object, remedy: str = "") -> None:
    """Raise ParameterError if an argument is not text.

    >>> require_text("query", None)
    Traceback (most recent call last):
        ...
    whorl.errors.ParameterError: query must be text, got None
    """
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be text, got {shorten_repr(value)}{remedy and f'; {remedy}'}")


def require_texts(name: str, value: object) -> None:
    """Raise ParameterError if an argument is not a list of texts.

    >>> require_texts("boilerplate", "one text")
    Traceback (most recent call last):
        ...
    whorl.errors.ParameterError: boilerplate must be a list of texts, got 'one text'
    """
    if isinstance(value, str) or not isinstance(value, Collection) or not all(isinstance(item, str) for item in value):
        raise ParameterError(f"{name} must be a list of texts, got {value!r:.80}")


def require_int(name: str, value: object) -> int:
    """Return an integer of Python or another library as an int; raise ParameterError for a boolean or another type.

    >>> require_int("batch", 7.5)
    Traceback (most recent call last):
        ...
    whorl.errors.ParameterError: batch must be a whole number, got 7.5
    """
    if type(value) is int:
        return value
    # Not all integers are `numbers.Integral`, for example an array of numpy with one integer and no dimension.
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        with suppress(TypeError):
            return int(index(value))
    raise ParameterError(f"{name} must be a whole number, got {shorten_repr(value)}")


def texts_only(texts: Iterable[str]) -> Iterator[str]:
    """Return an iterator over texts that raises ParameterError at an item of another type.

    Raise ParameterError at once for a single text, a dict or a table, because their items are characters, keys or names
    of columns.

    >>> list(texts_only(["one", None]))
    Traceback (most recent call last):
        ...
    whorl.errors.ParameterError: item 1 of texts must be text, got None; write '' for a missing text
    """
    if isinstance(texts, str):
        raise ParameterError("this is one text, not several; give a list of it")
    if not isinstance(texts, Iterable) or isinstance(texts, Mapping) or hasattr(texts, "columns"):
        raise ParameterError(f"texts must be a list of texts or a column of a table, got {type(texts).__name__}")
    return _check_items(texts)


def _check_items(texts: Iterable[str]) -> Iterator[str]:
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            require_text(f"item {position:,} of texts", text, "write '' for a missing text")
        yield text


def list_references(references: Iterable[str]) -> list[str]:
    """Return one or several references as a list without repetitions; raise ParameterError unless all are texts."""
    is_one = isinstance(references, str) or not isinstance(references, Iterable)
    named: list[str] = [references] if is_one else list(references)  # type: ignore[list-item]
    for reference in named:
        require_reference(reference)
    return list(dict.fromkeys(named))


def require_reference(reference: object) -> None:
    require_text("a reference to a document", reference, "write the document's id, or str(path)")


def require_bool(name: str, value: object) -> None:
    """Raise ParameterError if an argument is not True or False.

    >>> require_bool("everything", "no")
    Traceback (most recent call last):
        ...
    whorl.errors.ParameterError: everything must be True or False, got 'no'
    """
    if not isinstance(value, bool):
        raise ParameterError(f"{name} must be True or False, got {shorten_repr(value)}")


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open character range [start, end) in a query text."""

    start: int
    end: int


class WhorlError(Exception):
    """Base class of all errors of this package."""

    def __reduce__(self) -> tuple[object, ...]:
        # Process pools pickle errors. An `__init__` may have other parameters than Exception's, so unpickle without it.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class QueryError(WhorlError):
    """A query cannot run. The parts of the message are attributes, for JSON responses.

    Args:
        message: Description of the error, with the invalid value.
        span: Position in the text; an empty span at the end means that something is missing there.
        hint: A valid alternative, or "".
    """

    def __init__(self, message: str, *, query: str, span: Span, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.query, self.span, self.hint = message, query, span, hint

    def __str__(self) -> str:
        # Show only the query around the error, on one line, so that the caret stands below the error.
        begin = max(0, self.span.start - 60)
        end = min(len(self.query), max(self.span.end, self.span.start) + 40, begin + 140)
        shown = "".join(char if char.isprintable() else "·" for char in self.query[begin:end])
        lead, tail = "…" if begin else "", "…" if end < len(self.query) else ""
        width = max(1, min(self.span.end, end) - self.span.start)
        marker = " " * (len(lead) + self.span.start - begin) + "^" * width
        lines = [self.message, f"  {lead}{shown}{tail}", f"  {marker}"]
        return "\n".join([*lines, self.hint] if self.hint else lines)


class QuerySyntaxError(QueryError):
    """The query has a syntax error."""


class UnsupportedQueryError(QueryError):
    """The query is valid, but not supported: it is too large, too deep or has too many clauses."""


class FieldError(QueryError):
    """A clause is not supported by its field's type."""


class UnknownFieldError(FieldError):
    """A clause names a field that the store does not have."""


class ParameterError(WhorlError, ValueError):
    """An argument or option has a value that is not permitted."""


class UnknownDocumentError(ParameterError):
    """The store has no document of that name.

    Args:
        reference: The name used for the document.
        hint: End of the message, with a remedy.
        suggested: Id of the document that the user probably meant.
    """

    def __init__(self, reference: str, hint: str = "", suggested: str | None = None) -> None:
        question = "" if suggested is None else f"; did you mean {shorten_repr(suggested)}?"
        super().__init__(f"the store has no document {shorten_repr(reference)}{hint}{question}")
        self.reference, self.suggested = reference, suggested


class CodeRangeError(ParameterError, OverflowError):
    """A number is not in the range 0 to 2**64 - 1."""


class CodeTypeError(ParameterError, TypeError):
    """A 64-bit code is not an integer, or a hash has the wrong type."""


class DocumentError(WhorlError, ValueError):
    """A document cannot be read, or cannot be stored."""


class SchemeMismatchError(WhorlError):
    """Signatures made under different schemes cannot be compared."""


class StoreError(WhorlError):
    """A store on disk cannot be opened, read or written."""


class StoppedError(WhorlError):
    """The work passed its deadline, or was cancelled."""


class EngineError(WhorlError):
    """The search engine of a store failed."""


class EngineUnavailableError(EngineError):
    """The engine does not answer.

    Args:
        message: The request, and a remedy.
        is_temporary: Whether a retry may succeed soon, because the engine refused the request or the connection broke.
            False after a timeout, because a retry would only add load.
    """

    def __init__(self, message: str, *, is_temporary: bool = False) -> None:
        super().__init__(message)
        self.is_temporary = is_temporary


class EngineResponseError(EngineError):
    """The engine answers with an error.

    Args:
        message: The request and the response.
        status: HTTP status; 0 for an error without a status.
        detail: The engine's own message.
    """

    def __init__(self, message: str, *, status: int = 0, detail: str = "") -> None:
        super().__init__(message)
        self.status, self.detail = status, detail


class SchemaError(EngineError):
    """The store lacks texts, fields or settings that an operation needs."""


class NoSketchesError(SchemaError):
    """The documents of a store have no sketches, which the operation needs."""

    def __init__(self, *, keeps_texts: bool = True) -> None:
        remedy = "'whorl solr check URL' says how they get them"
        if not keeps_texts:
            remedy = "the store keeps no texts (--no-text), so index into another one, or compare the files themselves"
        super().__init__(f"the documents of this store have no sketches, from which duplicates are found; {remedy}")
