"""Solr's answers: JSON objects whose parts are read with the types that they must have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from whorl.errors import EngineResponseError, WhorlError

#: A JSON object as it goes to Solr.
Json = dict[str, Any]


class Answer(Json):
    """A JSON object in an answer; a part that is missing or of another type is an error that names the address.

    Args:
        url: Of the collection.
        parts: The object.
    """

    def __init__(self, url: str, parts: Json) -> None:
        super().__init__(parts)
        self.url = url

    def __missing__(self, key: str) -> NoReturn:
        raise strange(self.url, f"no {key!r} in {', '.join(map(repr, self)) or 'an empty object'}")

    def object(self, key: str, *, is_optional: bool = False) -> Answer:
        """Return a part that is an object; an empty one where an optional part is missing."""
        return Answer(self.url, {} if is_optional and key not in self else self._typed(key, dict, "object"))

    def objects(self, key: str, *, is_optional: bool = False) -> list[Answer]:
        """Return a part that is a list of objects; an empty one where an optional part is missing."""
        parts = [] if is_optional and key not in self else self._typed(key, list, "list")
        if not all(isinstance(each, dict) for each in parts):
            raise strange(self.url, f"{key!r} is no list of objects")
        return [Answer(self.url, each) for each in parts]

    def text(self, key: str) -> str:
        """Return a part that is a text."""
        return str(self._typed(key, str, "text"))

    def number(self, key: str) -> float:
        """Return a part that is a number."""
        return float(self._typed(key, (int, float), "number"))

    def count(self, key: str) -> int:
        """Return a part that is a whole number."""
        return int(self._typed(key, int, "whole number"))

    def _typed(self, key: str, kind: type | tuple[type, ...], called: str) -> Any:
        value = self[key]
        # Python reads numbers of any length, and no Solr writes one of more than 64 bits.
        if not isinstance(value, kind) or (isinstance(value, int) and value.bit_length() > 63):
            raise strange(self.url, f"{key!r} is no {called}: {value!r:.80}")
        return value


@dataclass(frozen=True, slots=True)
class Selected:
    """What a search handler answers.

    Args:
        total: Documents that match in all.
        documents: Those on the page; a field that a document lacks is an error, unless it is asked for by `get`.
        answer: All of it: facets, term vectors, the cursor's next mark.
    """

    total: int
    documents: list[Answer]
    answer: Answer

    @classmethod
    def read(cls, answer: Answer) -> Selected:
        """Read an answer of a search handler."""
        response = answer.object("response")
        return cls(response.count("numFound"), response.objects("docs"), answer)


def strange(url: str, what: str) -> EngineResponseError:
    """Return the error for an answer that no Solr gives."""
    message = f"{url} answers, but not as a Solr does ({what}); is this a Solr's address?"
    return EngineResponseError(message, status=200, detail=what)


@contextmanager
def reading(url: str) -> Iterator[None]:
    """Turn what goes wrong while deep answers are read, those of the schema and the configuration, into that error.

    They have hundreds of parts; that one of them has another shape is seen where it is used.
    """
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, WhorlError):
            raise
        raise strange(url, f"a part of it has another shape: {error}") from error


def vectors(answer: Answer, field: str) -> dict[str, dict[str, int]]:
    """Return each document's tokens of a field with their frequencies, by unique key, from a term vector answer.

    Raises:
        EngineResponseError: The answer has another shape; it is to be asked for with json.nl=map.
    """
    with reading(answer.url):
        return {
            str(each["uniqueKey"]): {token: int(about.get("tf", 1)) for token, about in each.get(field, {}).items()}
            for each in answer.object("termVectors", is_optional=True).values()
            if isinstance(each, dict) and "uniqueKey" in each
        }


def first_text(value: object) -> str:
    """Return a field's value, the first of several, as text."""
    return next(iter(texts(value)), "")


def whole_text(value: object) -> str:
    """Return a field's values as one text: several are read one after the other, each on lines of its own."""
    return "\n".join(texts(value))


def texts(value: object) -> list[str]:
    """Return the values of a field as texts; Solr writes one that cannot be several without brackets."""
    values = value if isinstance(value, list) else [value]
    return [str(each) for each in values if each is not None]
