"""What fields a store has, of which types, and which of them a name in a query means.

A name is looked for as it is typed, then under what it is called in `whorl.toml` or by default, then without its
namespace: `cm:title`, `cm_title` and `{http://www.alfresco.org/model/content/1.0}title` are `title`. A name without
one is last looked for in Alfresco's own, so that `title` may be `cm:title`, too.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from whorl.fingerprint.words.tokenizer import DEFAULT_PROFILE
from whorl.planning.clauses import Kind

#: How a field keeps its values, one or more ways, each with the engine's own name for the place.
Places: TypeAlias = Mapping[Kind, str]
_Value = TypeVar("_Value")

#: What names of the query language mean where the settings do not say otherwise.
DEFAULT_NAMES: Mapping[str, str] = {
    "TEXT": "content",
    "text": "content",
    "d:content": "content",
    "ID": "id",
    "EXACTTYPE": "TYPE",
    "EXACTASPECT": "ASPECT",
}
#: All properties of a type, as `d:text` names them.
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
#: What Alfresco answers from the repository; here it takes a field of that name.
OF_THE_REPOSITORY = frozenset(
    {
        *("PATH", "NPATH", "PNAME", "APATH", "ANAME", "PARENT", "PRIMARYPARENT", "ANCESTOR", "QNAME"),
        *("PRIMARYASSOCQNAME", "PRIMARYASSOCTYPEQNAME", "ASSOCTYPEQNAME", "ISROOT", "ISNODE", "ISCONTAINER"),
        *("TYPE", "EXACTTYPE", "ASPECT", "EXACTASPECT", "CLASS", "SITE", "TAG", "OWNER", "READER", "AUTHORITY"),
        *("DENIED", "TENANT", "TX", "TXID", "INTXID", "ACLID", "ACLTXID", "INACLTXID", "FTSSTATUS"),
        *("DBID", "LID"),
    }
)
#: What every Alfresco has a field for, though perhaps no value: the same, and properties of its content model.
ALWAYS_IN_ALFRESCO = OF_THE_REPOSITORY | {
    f"{prefix}{name}"
    for name in ("name", "title", "description", "creator", "created", "modifier", "modified")
    for prefix in ("", "cm:")
}

_IN_BRACES = re.compile(r"\{[^}]*\}(.+)", re.DOTALL)
_MODELS = "http://www.alfresco.org/model/"
#: Namespaces of Alfresco's models by their prefixes, which a name may also join to the rest by an underscore.
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
#: Fields whose values are such names: `cm:content`, or with the namespace in full.
OF_QUALIFIED_NAMES = frozenset(
    {*("TYPE", "EXACTTYPE", "ASPECT", "EXACTASPECT", "CLASS"), *("QNAME", "ASSOCTYPEQNAME", "PRIMARYASSOCTYPEQNAME")}
)
#: Characters in names of Alfresco that XML does not take: _x0020_.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def spelled_otherwise(name: str) -> str | None:
    """Return a qualified name with its namespace in full where it has a prefix, and the other way round.

    >>> spelled_otherwise("cm:content")
    '{http://www.alfresco.org/model/content/1.0}content'
    >>> spelled_otherwise("{http://www.alfresco.org/model/content/1.0}content")
    'cm:content'
    """
    prefix, _, local = name.partition(":")
    if local and prefix in _NAMESPACES:
        return f"{{{_NAMESPACES[prefix]}}}{local}"
    namespace, closed, local = name.removeprefix("{").partition("}")
    prefix = next((each for each, full in _NAMESPACES.items() if full == namespace), "")
    return f"{prefix}:{local}" if closed and prefix else None


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a store.

    Args:
        known: By name.
        patterns: Fields that are there as soon as they are named: Solr's dynamic ones, by their pattern (`*_i`).
        called: Other names of some: what a collection calls `content`.
        profile: How words are split, see `whorl.fingerprint.words.tokenizer`.
    """

    known: Mapping[str, Places]
    patterns: Mapping[str, Kind] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    profile: str = DEFAULT_PROFILE

    def find(self, name: str) -> Places | None:
        """Return the places of a field by its name in the store, or None."""
        for each in (name, self.called.get(name, name)):
            if each in self.known:
                return self.known[each]
            fitting = [pattern for pattern in self.patterns if fnmatch.fnmatchcase(each, pattern)]
            if fitting:
                # Solr takes the longest pattern that fits.
                return {self.patterns[max(fitting, key=len)]: each}
        return None

    def named(self, typed: str, names: Mapping[str, str]) -> Places | None:
        """Return the places of the field that a name in a query means, or None.

        Args:
            typed: As it stands in the query.
            names: What the settings say it is called.
        """
        return next(filter(None, map(self.find, _meanings(typed, names))), None)

    def nearest(self, typed: str) -> list[str]:
        """Return the names of fields that are written much like one that is not there, at most three."""
        by_folded = {name.casefold(): name for name in (*self.known, *self.called)}
        for meaning in (typed, *_local(typed)):
            if close := difflib.get_close_matches(meaning.casefold(), by_folded, n=3):
                return [by_folded[each] for each in close]
        return []

    def of_kinds(self, kinds: tuple[Kind, ...]) -> Iterator[Places]:
        """Yield the places of all fields that keep values in one of some ways."""
        for places in self.known.values():
            if not set(kinds).isdisjoint(places):
                yield places


def value_named(typed: str, names: Mapping[str, str], values: Mapping[str, _Value]) -> _Value | None:
    """Return the value of the property that a name in a query means, or None.

    Args:
        typed: As it stands in a query.
        names: What the settings say it is called.
        values: By the names of the store.
    """
    return next((values[name] for name in _meanings(typed, names) if name in values), None)


def _meanings(typed: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield what a field may be called in the store, the likeliest first."""
    if typed in names:
        # What the user has said is not second-guessed.
        yield names[typed]
        return
    yield typed
    if typed in DEFAULT_NAMES:
        yield DEFAULT_NAMES[typed]
    for local in _local(typed):
        yield names.get(local, local)
    if ":" not in typed:
        yield f"cm:{typed}"


def _local(typed: str) -> Iterator[str]:
    """Yield a property's name without its namespace, if it has one."""
    prefix, _, rest = typed.partition("_")
    if in_braces := _IN_BRACES.fullmatch(typed):
        local = in_braces[1]
    elif ":" in typed:
        local = typed.partition(":")[2]
    elif prefix in _NAMESPACES and rest:
        local = rest
    else:
        return
    yield local
    yield _ESCAPED.sub(lambda found: chr(int(found[1], 16)), local)
