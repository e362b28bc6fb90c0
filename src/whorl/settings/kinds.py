"""Value types of settings: each reads a value from a variable or a file, and describes the permitted values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Protocol

from whorl.engine.solr.schema import FieldNames

_WHOLE = re.compile(r"[0-9]+(_[0-9]+)*")
_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_DAY_SECONDS = 86_400
#: Host and port; an IPv6 address is in brackets.
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:/\s]+)):([0-9]{1,5})")


class Kind(Protocol):
    """Type of a setting's value."""

    @property
    def allowed(self) -> str:
        """Permitted values, for error messages and the documentation: "must be …"."""

    def read(self, given: object) -> object:
        """Return the value.

        Args:
            given: Text from a variable, or any TOML value from the file.

        Raises:
            ValueError: The value is not permitted; `allowed` describes the permitted ones.
        """


@dataclass(frozen=True, slots=True)
class Text:
    """A text."""

    allowed: str

    def read(self, given: object) -> str:
        if not isinstance(given, str) or not given:
            raise ValueError
        return given


@dataclass(frozen=True, slots=True)
class Texts:
    """Several texts: separated by commas in a variable, a list or a single text in the file."""

    what: str

    @property
    def allowed(self) -> str:
        return f"{self.what}, or several: with commas between them in a variable, a list in the file"

    def read(self, given: object) -> tuple[str, ...]:
        listed = given.split(",") if isinstance(given, str) else given
        if not isinstance(listed, Sequence) or not all(isinstance(each, str) for each in listed):
            raise ValueError
        found = tuple(str(each).strip() for each in listed)
        if not all(found):
            raise ValueError
        return found


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number in a range."""

    least: int
    most: int

    @property
    def allowed(self) -> str:
        return f"a whole number, {self.least:,} to {self.most:,}"

    def read(self, given: object) -> int:
        if isinstance(given, str) and _WHOLE.fullmatch(given):
            # Leading zeros must not use up the limit of 20 digits.
            given = int(given.lstrip("0_")[:20].rstrip("_") or "0")
        if not isinstance(given, int) or isinstance(given, bool) or not self.least <= given <= self.most:
            raise ValueError
        return given


@dataclass(frozen=True, slots=True)
class Seconds:
    """A duration in seconds, above 0."""

    @property
    def allowed(self) -> str:
        return "seconds, above 0 and below a day"

    def read(self, given: object) -> float:
        # TOML's true is not a number of seconds.
        if not isinstance(given, str | int | float) or isinstance(given, bool):
            raise ValueError
        try:
            seconds = float(given)
        except OverflowError as error:
            raise ValueError from error
        if not 0 < seconds < _DAY_SECONDS:
            raise ValueError
        return seconds


@dataclass(frozen=True, slots=True)
class Flag:
    """A truth value."""

    @property
    def allowed(self) -> str:
        return "true or false"

    def read(self, given: object) -> bool:
        flag = _FLAGS.get(given.lower()) if isinstance(given, str) else given
        if not isinstance(flag, bool):
            raise ValueError
        return flag


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, which need not exist."""

    @property
    def allowed(self) -> str:
        return "a folder"

    def read(self, given: object) -> Path:
        return Path(Text(self.allowed).read(given))


@dataclass(frozen=True, slots=True)
class File:
    """An existing file."""

    @property
    def allowed(self) -> str:
        return "a file that can be read"

    def read(self, given: object) -> Path:
        path = Path(Text(self.allowed).read(given))
        if not path.is_file():
            raise ValueError
        return path


@dataclass(frozen=True, slots=True)
class Login:
    """A user and a password."""

    @property
    def allowed(self) -> str:
        return "user:password"

    def read(self, given: object) -> tuple[str, str]:
        user, separator, password = Text(self.allowed).read(given).partition(":")
        if not separator or not user:
            raise ValueError
        return user, password


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port to listen on."""

    @property
    def allowed(self) -> str:
        return "host:port, an IPv6 address in brackets"

    def read(self, given: object) -> tuple[str, int]:
        found = _ADDRESS.fullmatch(given) if isinstance(given, str) else None
        if found is None or int(found[3]) > 65_535:
            raise ValueError
        return found[1] or found[2], int(found[3])


@dataclass(frozen=True, slots=True)
class Fields:
    """A table with a collection's names for whorl's fields."""

    @property
    def allowed(self) -> str:
        known = ", ".join(each.name for each in fields(FieldNames))
        return f"a table from {known} to the collection's own names"

    def read(self, given: object) -> FieldNames:
        known = {each.name for each in fields(FieldNames)}
        if not isinstance(given, dict) or not given.keys() <= known:
            raise ValueError
        return FieldNames(**_names(given))


@dataclass(frozen=True, slots=True)
class Names:
    """A table from names in queries to fields of the store."""

    @property
    def allowed(self) -> str:
        return 'a table from names in queries to fields of the store ("cm:title" = "title")'

    def read(self, given: object) -> Mapping[str, str]:
        if not isinstance(given, dict):
            raise ValueError
        return _names(given)


def _names(given: Mapping[str, object]) -> dict[str, str]:
    names = {name: value for name, value in given.items() if isinstance(value, str) and value}
    if len(names) < len(given):
        raise ValueError
    return names
