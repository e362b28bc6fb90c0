"""Every error that whorl raises, one tree; nothing of Lark, requests, tantivy or SQLite passes our boundary.

    WhorlError
    ├── QueryError                 carries message, query, span and hint, and draws the caret
    │   ├── QuerySyntaxError       the text is not in the language
    │   ├── UnsupportedQueryError  readable, but more than can be run (too large, too deep, too many clauses)
    │   └── FieldError             a question that the type of a field cannot answer
    │       └── UnknownFieldError  the store has no such field
    ├── ParameterError             an argument is outside its documented range (also a ValueError)
    │   ├── UnknownDocumentError   the store has no document of that name
    │   ├── CodeRangeError         a number is no 64-bit code (also an OverflowError)
    │   └── CodeTypeError          something is no number at all (also a TypeError)
    ├── DocumentError              a document cannot be stored as it is (also a ValueError)
    ├── SchemeMismatchError        signatures or stores made under different schemes meet
    ├── StoreError                 a store on disk cannot be opened, read or written
    ├── StoppedError               the time for a request is up, or nobody waits for it any more
    └── EngineError                the search engine behind the store failed
        ├── EngineUnavailableError no answer: refused, timed out, gone
        ├── EngineResponseError    an answer that is not one: an HTTP error, HTML, broken JSON
        └── SchemaError            the collection lacks what a fingerprint search needs
            └── NoSketchesError    its documents have no sketches

A message says what was given, what is allowed and what to do.
"""

from __future__ import annotations

import copyreg
import re
from dataclasses import dataclass

#: What may be a user and a password, also where characters in them break the address.
_LOGIN = re.compile("//.*@", re.DOTALL)


def without_login(address: str) -> str:
    """Return an address as messages show it, without user and password.

    >>> without_login("https://reader:secret@host/solr/texts")
    'https://host/solr/texts'
    """
    return _LOGIN.sub("//", address)


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open character range [start, end) in a query text."""

    start: int
    end: int


class WhorlError(Exception):
    """Base of all errors raised on purpose by this package."""

    def __reduce__(self) -> tuple[object, ...]:
        # Without __init__, whose arguments may not be those of Exception: a pool of processes gives errors back.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class QueryError(WhorlError):
    """A query cannot be run; keeps its parts so that a service can send them as JSON.

    Args:
        message: What is wrong, naming the value.
        query: The whole query text.
        span: Where in the text; an empty span at the end means "here something is missing".
        hint: What would work instead, or "".
    """

    def __init__(self, message: str, *, query: str, span: Span, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.query, self.span, self.hint = message, query, span, hint

    def __str__(self) -> str:
        # A long or multi-line query is shown as a window on one line, so that the caret stays under its place.
        begin = max(0, self.span.start - 60)
        end = min(len(self.query), max(self.span.end, self.span.start) + 40, begin + 140)
        shown = "".join(char if char.isprintable() else "·" for char in self.query[begin:end])
        lead, tail = "…" if begin else "", "…" if end < len(self.query) else ""
        width = max(1, min(self.span.end, end) - self.span.start)
        marker = " " * (len(lead) + self.span.start - begin) + "^" * width
        lines = [self.message, f"  {lead}{shown}{tail}", f"  {marker}"]
        return "\n".join([*lines, self.hint] if self.hint else lines)


class QuerySyntaxError(QueryError):
    """The query text is not in the language."""


class UnsupportedQueryError(QueryError):
    """The query can be read but is larger, deeper or richer than what can be run."""


class FieldError(QueryError):
    """A clause asks of a field what its type cannot tell."""


class UnknownFieldError(FieldError):
    """A clause names a field that the store does not have."""


class ParameterError(WhorlError, ValueError):
    """A value is outside its documented range."""


class UnknownDocumentError(ParameterError):
    """The store has no document of that name.

    Args:
        reference: What was to name one.
    """

    def __init__(self, reference: str) -> None:
        super().__init__(f"the store has no document {reference!r}")
        self.reference = reference


class CodeRangeError(ParameterError, OverflowError):
    """A number is not one from 0 to 2**64 - 1."""


class CodeTypeError(ParameterError, TypeError):
    """What was to be a code, or what one is made of, is of another type."""


class DocumentError(WhorlError, ValueError):
    """A document cannot be stored as it is."""


class SchemeMismatchError(WhorlError):
    """Signatures made under different schemes cannot be compared."""


class StoreError(WhorlError):
    """A store on disk cannot be opened, read or written."""


class StoppedError(WhorlError):
    """Work ended before it was done: its time is up, or nobody waits for it any more."""


class EngineError(WhorlError):
    """The search engine behind a store failed."""


class EngineUnavailableError(EngineError):
    """The engine gives no answer.

    Args:
        message: What was asked, and what would help.
        is_passing: Whether the same may succeed in a moment: the engine refused, or a connection was lost. One that was
            too slow would only get more to do.
    """

    def __init__(self, message: str, *, is_passing: bool = False) -> None:
        super().__init__(message)
        self.is_passing = is_passing


class EngineResponseError(EngineError):
    """The engine answers with an error.

    Args:
        message: What was asked and what came back.
        status: HTTP status, or 0 where there is none.
        detail: The engine's own words.
    """

    def __init__(self, message: str, *, status: int = 0, detail: str = "") -> None:
        super().__init__(message)
        self.status, self.detail = status, detail


class SchemaError(EngineError):
    """The collection lacks what a fingerprint search needs."""


class NoSketchesError(SchemaError):
    """The documents of a store have no sketches, and nothing else could answer."""

    def __init__(self) -> None:
        super().__init__(
            "the documents of this store have no sketches, from which duplicates are found; 'whorl solr check URL' "
            "says how they get them"
        )
