"""Reads members of Solr's JSON responses, and checks their types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from whorl.errors import EngineResponseError, WhorlError

#: A JSON object sent to Solr.
Json = dict[str, Any]


class SolrResponse(Json):
    """JSON object of a response; a missing member or a wrong type raises an error with the collection's URL."""

    def __init__(self, url: str, parts: Json) -> None:
        super().__init__(parts)
        self.url = url

    def __missing__(self, key: str) -> NoReturn:
        raise malformed(self.url, f"no {key!r} in {', '.join(map(repr, self)) or 'an empty object'}")

    def object(self, key: str, *, is_optional: bool = False) -> SolrResponse:
        """Return a member that is an object; an empty object if an optional member is missing."""
        return SolrResponse(self.url, {} if is_optional and key not in self else self._typed(key, dict, "object"))

    def objects(self, key: str, *, is_optional: bool = False) -> list[SolrResponse]:
        """Return a member that is a list of objects; an empty list if an optional member is missing."""
        parts = [] if is_optional and key not in self else self._typed(key, list, "list")
        if not all(isinstance(part, dict) for part in parts):
            raise malformed(self.url, f"{key!r} is no list of objects")
        return [SolrResponse(self.url, part) for part in parts]

    def text(self, key: str) -> str:
        return str(self._typed(key, str, "text"))

    def number(self, key: str) -> float:
        return float(self._typed(key, (int, float), "number"))

    def count(self, key: str) -> int:
        return int(self._typed(key, int, "whole number"))

    def _typed(self, key: str, kind: type | tuple[type, ...], called: str) -> Any:
        value = self[key]
        # Python parses integers of any length; Solr writes 64 bits at most.
        if not isinstance(value, kind) or (isinstance(value, int) and value.bit_length() > 63):
            raise malformed(self.url, f"{key!r} is no {called}: {value!r:.80}")
        return value


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """Response of a search handler.

    Args:
        answer: The whole response: facets, term vectors, the next cursor mark.
    """

    total: int
    documents: list[SolrResponse]
    answer: SolrResponse

    @classmethod
    def read(cls, answer: SolrResponse) -> SearchResponse:
        response = answer.object("response")
        return cls(response.count("numFound"), response.objects("docs"), answer)


def malformed(url: str, what: str) -> EngineResponseError:
    """Return the error for a response that cannot come from Solr."""
    message = f"{url} answers, but not as a Solr does ({what}); is this a Solr's address?"
    return EngineResponseError(message, status=200, detail=what)


@contextmanager
def guard_response(url: str) -> Iterator[None]:
    """Turn the errors of malformed nested responses (schema, configuration) into EngineResponseError.

    Their hundreds of members are checked only where they are used.
    """
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, WhorlError):
            raise
        raise malformed(url, f"a part of it has another shape: {error}") from error


def term_vectors(answer: SolrResponse, field: str) -> dict[str, dict[str, int]]:
    """Return each document's tokens of a field with their frequencies, by unique key, from a term vector response.

    Raises:
        EngineResponseError: The response has another shape; the request must have json.nl=map.
    """
    with guard_response(answer.url):
        return {
            str(document["uniqueKey"]): {
                token: int(statistics.get("tf", 1)) for token, statistics in document.get(field, {}).items()
            }
            for document in answer.object("termVectors", is_optional=True).values()
            if isinstance(document, dict) and "uniqueKey" in document
        }


def first_text(value: object) -> str:
    return next(iter(texts(value)), "")


def whole_text(value: object) -> str:
    """Return a field's values as one text, joined by line feeds."""
    return "\n".join(texts(value))


def texts(value: object) -> list[str]:
    """Return a field's values as texts; Solr returns the value of a single-valued field without a list."""
    values = value if isinstance(value, list) else [value]
    return [str(part) for part in values if part is not None]
