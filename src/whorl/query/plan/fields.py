"""Finds the fields that a query names, with their types.

A name in a query is looked up without changes, then under its default alias, then without its namespace. So
`cm:title`, `cm_title` and `{http://www.alfresco.org/model/content/1.0}title` also find the field `title`. Finally, a
name without a namespace is looked up in Alfresco's content namespace, so `title` may also find `cm:title`. An alias in
`whorl.toml` replaces all other meanings of a name.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from whorl.errors import nearest
from whorl.fingerprint.words.tokenizer import DEFAULT_PROFILE
from whorl.query.plan.nodes import Kind

#: The types of a field's values, each with the engine's own field name for it.
Places: TypeAlias = Mapping[Kind, str]
_Value = TypeVar("_Value")

#: Aliases of the query language, used unless the settings define others.
DEFAULT_NAMES: Mapping[str, str] = {
    "TEXT": "content",
    "text": "content",
    "d:content": "content",
    "ID": "id",
    "EXACTTYPE": "TYPE",
    "EXACTASPECT": "ASPECT",
}
#: Names that select all properties of a data type, such as `d:text`.
DATA_TYPES: Mapping[str, tuple[Kind, ...]] = {
    "d:any": tuple(Kind),
    "d:text": (Kind.TEXT, Kind.KEYWORD),
    "d:mltext": (Kind.TEXT, Kind.KEYWORD),
    "d:int": (Kind.INTEGER,),
    "d:long": (Kind.INTEGER,),
    "d:float": (Kind.FLOAT,),
    "d:double": (Kind.FLOAT,),
    "d:date": (Kind.DATE,),
    "d:datetime": (Kind.DATE,),
    "d:boolean": (Kind.BOOLEAN,),
    "ALL": (Kind.TEXT,),
}
#: Names that Alfresco looks up in its repository. In whorl they are ordinary fields, if the store has them.
REPOSITORY_FIELDS = frozenset(
    {
        *("PATH", "NPATH", "PNAME", "APATH", "ANAME", "PARENT", "PRIMARYPARENT", "ANCESTOR", "QNAME"),
        *("PRIMARYASSOCQNAME", "PRIMARYASSOCTYPEQNAME", "ASSOCTYPEQNAME", "ISROOT", "ISNODE", "ISCONTAINER"),
        *("TYPE", "EXACTTYPE", "ASPECT", "EXACTASPECT", "CLASS", "SITE", "TAG", "OWNER", "READER", "AUTHORITY"),
        *("DENIED", "TENANT", "TX", "TXID", "INTXID", "ACLID", "ACLTXID", "INACLTXID", "FTSSTATUS"),
        *("DBID", "LID"),
    }
)
#: Fields that exist in every Alfresco, perhaps without values: from the repository and from its content model.
ALWAYS_IN_ALFRESCO = REPOSITORY_FIELDS | {
    f"{prefix}{name}"
    for name in ("name", "title", "description", "creator", "created", "modifier", "modified")
    for prefix in ("", "cm:")
}

_IN_BRACES = re.compile(r"\{[^}]*\}(.+)", re.DOTALL)
_MODELS = "http://www.alfresco.org/model/"
#: Namespaces of Alfresco's models by prefix; in a field name, an underscore may follow the prefix instead of a colon.
_NAMESPACES: Mapping[str, str] = {
    "ia": f"{_MODELS}calendar",
    **{
        prefix: f"{_MODELS}{model}/1.0"
        for prefix, model in (
            *(("cm", "content"), ("sys", "system"), ("app", "application"), ("usr", "user"), ("act", "action")),
            *(("st", "site"), ("exif", "exif"), ("audio", "audio"), ("imap", "imap"), ("dl", "datalist")),
            *(("fm", "forum"), ("rn", "rendition"), ("qshare", "qshare")),
        )
    },
}
#: Fields whose values are qualified names: `cm:content`, or with the namespace in full.
QUALIFIED_NAME_FIELDS = frozenset(
    {*("TYPE", "EXACTTYPE", "ASPECT", "EXACTASPECT", "CLASS"), *("QNAME", "ASSOCTYPEQNAME", "PRIMARYASSOCTYPEQNAME")}
)
_SEPARATORS = str.maketrans("_.", "  ")
#: Escaped characters in Alfresco's names, such as _x0020_ for a blank, which XML names do not allow.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def spelled_otherwise(name: str) -> str | None:
    """Convert a qualified name between its form with a prefix and its form with the full namespace.

    >>> spelled_otherwise("cm:content")
    '{http://www.alfresco.org/model/content/1.0}content'
    >>> spelled_otherwise("{http://www.alfresco.org/model/content/1.0}content")
    'cm:content'
    """
    prefix, _, local = name.partition(":")
    if local and prefix in _NAMESPACES:
        return f"{{{_NAMESPACES[prefix]}}}{local}"
    namespace, closed, local = name.removeprefix("{").partition("}")
    prefix = next((known for known, full in _NAMESPACES.items() if full == namespace), "")
    return f"{prefix}:{local}" if closed and prefix else None


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields of a store, each with its types, by name.

    Args:
        patterns: Types of Solr's dynamic fields by pattern (`*_i`), for engines that do not list the fields of
            documents; any field that fits a pattern may exist.
        called: Aliases of fields in a collection, e.g. for `content`.
        split: Engine fields whose words are split at `_` and `.` too, by `split_name`.
    """

    known: Mapping[str, Places]
    patterns: Mapping[str, Kind] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    profile: str = DEFAULT_PROFILE
    split: Collection[str] = ()

    def find(self, name: str) -> Places | None:
        """Return the types and engine fields of a field by its name in the store, or None."""
        for alias in (name, self.called.get(name, name)):
            if alias in self.known:
                return self.known[alias]
            fitting = [pattern for pattern in self.patterns if fnmatch.fnmatchcase(alias, pattern)]
            if fitting:
                # Solr uses the longest pattern that fits.
                return {self.patterns[max(fitting, key=len)]: alias}
        return None

    def named(self, typed: str, names: Mapping[str, str]) -> Places | None:
        """Return the types and engine fields of a name in a query, or None; `names` are the settings' aliases."""
        return next(filter(None, map(self.find, _meanings(typed, names))), None)

    def nearest(self, typed: str) -> list[str]:
        known = (*self.known, *self.called)
        return next(filter(None, (nearest(meaning, known) for meaning in (typed, *_local(typed)))), [])

    def of_kinds(self, kinds: tuple[Kind, ...]) -> Iterator[Places]:
        for places in self.known.values():
            if not set(kinds).isdisjoint(places):
                yield places


def split_name(name: str) -> str:
    """Replace `_` and `.`, which separate the words of file names, by blanks.

    >>> split_name("lease_2024.txt")
    'lease 2024 txt'
    """
    return name.translate(_SEPARATORS)


def value_named(typed: str, names: Mapping[str, str], values: Mapping[str, _Value]) -> _Value | None:
    return next((values[name] for name in _meanings(typed, names) if name in values), None)


def _meanings(typed: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the possible names of a field in the store, the likeliest first."""
    if typed in names:
        # An alias from the settings excludes all other meanings.
        yield names[typed]
        return
    yield typed
    if typed in DEFAULT_NAMES:
        yield DEFAULT_NAMES[typed]
    prefix, _, local = typed.partition("_")
    qualified = f"{prefix}:{local}" if prefix in _NAMESPACES and local else spelled_otherwise(typed)
    for name in (*((qualified,) if qualified else ()), *_local(typed)):
        yield names.get(name, name)
    if ":" not in typed:
        yield f"cm:{typed}"


def _local(typed: str) -> Iterator[str]:
    prefix, _, after = typed.partition("_")
    if in_braces := _IN_BRACES.fullmatch(typed):
        local = in_braces[1]
    elif ":" in typed:
        local = typed.partition(":")[2]
    elif prefix in _NAMESPACES and after:
        local = after
    else:
        return
    yield local
    yield _ESCAPED.sub(lambda match: chr(int(match[1], 16)), local)
