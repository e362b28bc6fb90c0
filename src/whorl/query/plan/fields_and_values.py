"""Finds the fields that a query names, reads typed values, and builds the conditions for a value or a range.

A name is looked up unchanged, under its default alias, and without its namespace: `cm:title`, `cm_title` and
`{http://www.alfresco.org/model/content/1.0}title` also find the field `title`. A name without a namespace is also
looked up in Alfresco's content namespace: `title` may find `cm:title`.

If documents spell the name of a property in several ways, a query searches all these fields. An alias in `whorl.toml`
replaces all other meanings of a name.

A date is an interval in milliseconds since 1970, UTC: `2021-05` is a month and `2021-05-03` a day. Date math gives one
moment, the same as Solr's DateMathParser.
"""

from __future__ import annotations

import calendar
import fnmatch
import hashlib
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import NamedTuple, TypeAlias, TypeVar

from whorl.errors import Span, nearest
from whorl.fingerprint.shingling import well_formed
from whorl.fingerprint.words.tokenizer import DEFAULT_PROFILE
from whorl.query import ast
from whorl.query.ast import Bound, Pattern, WildcardCharacter, join_pieces
from whorl.query.literals import IN_NAME
from whorl.query.plan.nodes import Between, Equal, Kind, Test, Value

#: The engine's fields that hold the values of one field of the store, keyed by the type of the values.
FieldsByKind: TypeAlias = Mapping[Kind, str]
_Value = TypeVar("_Value")

#: Default aliases of field names; aliases in the settings take precedence.
DEFAULT_NAMES: Mapping[str, str] = {
    "TEXT": "content",
    "text": "content",
    "d:content": "content",
    "ID": "id",
    "EXACTTYPE": "TYPE",
    "EXACTASPECT": "ASPECT",
}
#: Names that search all properties of one data type, such as `d:text`.
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
#: Names that Alfresco looks up in its repository. whorl treats them as ordinary fields of the store.
REPOSITORY_FIELDS = frozenset(
    {
        *("PATH", "NPATH", "PNAME", "APATH", "ANAME", "PARENT", "PRIMARYPARENT", "ANCESTOR", "QNAME"),
        *("PRIMARYASSOCQNAME", "PRIMARYASSOCTYPEQNAME", "ASSOCTYPEQNAME", "ISROOT", "ISNODE", "ISCONTAINER"),
        *("TYPE", "EXACTTYPE", "ASPECT", "EXACTASPECT", "CLASS", "SITE", "TAG", "OWNER", "READER", "AUTHORITY"),
        *("DENIED", "TENANT", "TX", "TXID", "INTXID", "ACLID", "ACLTXID", "INACLTXID", "FTSSTATUS"),
        *("DBID", "LID"),
    }
)
#: Fields of the repository and the content model. They exist in every Alfresco, but may have no values.
ALWAYS_IN_ALFRESCO = REPOSITORY_FIELDS | {
    f"{prefix}{name}"
    for name in ("name", "title", "description", "creator", "created", "modifier", "modified")
    for prefix in ("", "cm:")
}


def _outside_sites(span: Span) -> ast.Node:
    return ast.Or((ast.Term("_REPOSITORY_", "SITE", ast.Form.EXACT, span), ast.Term("SITE", "ISNULL", span=span)))


#: Alfresco's special values of a field, and queries for them. An exact search (`=`) looks for the value itself.
_SPECIAL_VALUES: Mapping[tuple[str, str], Callable[[Span], ast.Node]] = {
    ("ISNODE", "T"): lambda _: ast.Everything(),
    ("SITE", "_EVERYTHING_"): lambda _: ast.Everything(),
    ("SITE", "_REPOSITORY_"): _outside_sites,
    ("SITE", "_ALL_SITES_"): lambda span: ast.Not(_outside_sites(span)),
}

_IN_BRACES = re.compile(r"\{[^}]*\}(.+)", re.DOTALL)
_MODELS = "http://www.alfresco.org/model/"
#: Namespaces of Alfresco's models, keyed by prefix. In a field name, an underscore may replace the colon.
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
_PREFIXED = re.compile(f"({'|'.join(_NAMESPACES)})[:_](.+)", re.DOTALL)
#: Fields whose values are qualified names, with a prefix (`cm:content`) or with the full namespace.
QUALIFIED_NAME_FIELDS = frozenset(
    {*("TYPE", "EXACTTYPE", "ASPECT", "EXACTASPECT", "CLASS"), *("QNAME", "ASSOCTYPEQNAME", "PRIMARYASSOCTYPEQNAME")}
)
_SEPARATORS = str.maketrans("_.", "  ")


def special_value(clause: ast.Node) -> ast.Node | None:
    """Return the query that a special value of Alfresco stands for; None for any other clause."""
    match clause:
        case ast.Term(text, str(name), ast.Form.DEFAULT) | ast.Phrase(text, str(name), ast.Form.DEFAULT):
            make = _SPECIAL_VALUES.get((name, text))
            return None if make is None else make(clause.span)
    return None


def convert_qualified_name(name: str) -> str | None:
    """Convert a qualified name between its form with a prefix and its form with the full namespace.

    >>> convert_qualified_name("cm:content")
    '{http://www.alfresco.org/model/content/1.0}content'
    >>> convert_qualified_name("{http://www.alfresco.org/model/content/1.0}content")
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
    """The fields of a store, with the types of their values.

    Args:
        known: The engine's fields, keyed by type, for each field of the store.
        patterns: Types of Solr's dynamic fields, keyed by pattern, such as `*_i`, for engines that do not list the
            fields of documents.
        collection_names: Names of the collection's fields, keyed by whorl's names for them, such as `content`.
        split_fields: The engine's fields whose words are also split at `_` and `.`, as `split_name` does.
    """

    known: Mapping[str, FieldsByKind]
    patterns: Mapping[str, Kind] = field(default_factory=dict)
    collection_names: Mapping[str, str] = field(default_factory=dict)
    profile: str = DEFAULT_PROFILE
    split_fields: Collection[str] = ()

    def find(self, name: str) -> FieldsByKind | None:
        """Return the engine's fields, keyed by type, for the store's field `name`; None if it has no such field."""
        if by_kind := self._listed(name):
            return by_kind
        for alias in (name, self.collection_names.get(name, name)):
            fitting = [pattern for pattern in self.patterns if fnmatch.fnmatchcase(alias, pattern)]
            if fitting:
                # If several patterns fit, choose the longest, as Solr does.
                return {self.patterns[max(fitting, key=len)]: alias}
        return None

    @property
    def content_field(self) -> str:
        """The engine's field for the words of the documents' texts."""
        name = self.collection_names.get("content", "content")
        return self.known.get(name, {}).get(Kind.TEXT, name)

    def resolve_name(self, typed: str, names: Mapping[str, str]) -> FieldsByKind | None:
        """Return the engine's fields, keyed by type, for the name `typed` in a query; None if no field has this name.

        `names` maps the aliases in the settings to names of fields.
        """
        return next(filter(None, map(self.find, _possible_names(typed, names))), None)

    def resolve_names(self, typed: str, names: Mapping[str, str]) -> dict[str, FieldsByKind]:
        """Return the fields that the name `typed` in a query can mean, keyed by their names in the store.

        The likeliest field comes first. Several fields match if documents spell the name of a property in several ways,
        such as `cm:title` and `title`.
        """
        likeliest = next(filter(self.find, _possible_names(typed, names)), None)
        if likeliest is None:
            return {}
        spellings = [] if typed in names else [names.get(name, name) for name in _spellings(typed)]
        others = {name: by_kind for name in spellings if (by_kind := self._listed(name))}
        return {likeliest: self.find(likeliest) or {}} | others

    def _listed(self, name: str) -> FieldsByKind | None:
        """Return the result of `find`, but ignore the patterns of dynamic fields."""
        return self.known.get(name) or self.known.get(self.collection_names.get(name, name))

    def nearest(self, typed: str) -> list[str]:
        known = (*self.known, *self.collection_names)
        return next(filter(None, (nearest(meaning, known) for meaning in (typed, *_local_name(typed)))), [])

    def find_by_kinds(self, kinds: tuple[Kind, ...]) -> Iterator[FieldsByKind]:
        for by_kind in self.known.values():
            if not set(kinds).isdisjoint(by_kind):
                yield by_kind


def split_name(name: str) -> str:
    """Replace `_` and `.`, which separate the words of file names, by blanks.

    >>> split_name("lease_2024.txt")
    'lease 2024 txt'
    """
    return name.translate(_SEPARATORS)


def expand_path(pattern: Pattern) -> list[Pattern]:
    """Return patterns for a path; each `//` in the path stands for any number of steps.

    >>> expand_path(("/app:company_home//cm:leases",))
    [('/app:company_home/cm:leases',), ('/app:company_home/', <WildcardCharacter.ANY: '*'>, '/cm:leases')]
    """
    patterns: list[Pattern] = [()]
    for piece in pattern:
        first, *others = piece.split("//") if isinstance(piece, str) else [piece]
        patterns = [(*path, first) for path in patterns]
        for other in others:
            patterns = [
                (*path, *steps, other) for path in patterns for steps in (("/",), ("/", WildcardCharacter.ANY, "/"))
            ]
    return [join_pieces(filter(None, path)) for path in patterns]


def value_named(typed: str, names: Mapping[str, str], values: Mapping[str, _Value]) -> _Value | None:
    return next((values[name] for name in _possible_names(typed, names) if name in values), None)


def _possible_names(typed: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the possible names of a field in the store, the likeliest first."""
    if typed in names:
        # An alias from the settings replaces all other meanings of the name.
        yield names[typed]
        return
    yield typed
    if typed in DEFAULT_NAMES:
        yield DEFAULT_NAMES[typed]
    prefix, _, local = typed.partition("_")
    qualified = f"{prefix}:{local}" if prefix in _NAMESPACES and local else convert_qualified_name(typed)
    for name in (*((qualified,) if qualified else ()), *_local_name(typed)):
        yield names.get(name, name)
    if ":" not in typed:
        yield f"cm:{typed}"
    for name in _spellings(typed):
        yield names.get(name, name)


def _spellings(typed: str) -> tuple[str, ...]:
    """Return all spellings of the name of a property; a name without a namespace belongs to the content model.

    Return () for the id, and for a name in a namespace that is not Alfresco's.

    >>> _spellings("cm_title")
    ('cm:title', 'cm_title', '{http://www.alfresco.org/model/content/1.0}title', 'title')
    """
    name = convert_qualified_name(typed) or typed if typed.startswith("{") else typed
    prefix, local = match.groups() if (match := _PREFIXED.fullmatch(name)) else ("cm", name)
    if local.startswith("{") or ":" in local or local in ("id", "ID"):
        return ()
    bare = (local,) if prefix == "cm" else ()
    return f"{prefix}:{local}", f"{prefix}_{local}", f"{{{_NAMESPACES[prefix]}}}{local}", *bare


def _local_name(typed: str) -> Iterator[str]:
    """Yield a field's name without its namespace, first as typed, then unescaped; nothing if it has no namespace."""
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
    yield IN_NAME.sub(lambda match: chr(int(match[1], 16)), local)


#: Maximum length, in characters, of a whole value that is indexed in full; a longer value is cut.
LONGEST_WHOLE = 1000
#: Number of characters of a cut value that are indexed, before a digest of the whole value.
_BEGINNING = 200
#: Noncharacters that replace the hexadecimal digits of a digest.
_NONCHARACTERS = "".join(map(chr, range(0xFDD0, 0xFDE0)))
_DIGEST_LETTERS = str.maketrans("0123456789abcdef", _NONCHARACTERS)
#: Maximum length of a range's bound, in characters: below `_BEGINNING`, so that comparisons with cut values are
#: correct.
LONGEST_BOUND = 100
#: Smallest and largest integer of 64 signed bits: the range of indexed integers.
SMALLEST_INTEGER, LARGEST_INTEGER = -(1 << 63), (1 << 63) - 1
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")


class UnreadableError(ValueError):
    """The text is not a value of the wanted type; the message gives the reason."""


def infer_kind(value: Value) -> tuple[Kind, Value]:
    """Return the type of a document's value, and the value to store. A text that is a date is stored as a date.

    >>> infer_kind("2021-05-03"), infer_kind("May"), infer_kind(True)
    ((<Kind.DATE: 'dates'>, 1620000000000), (<Kind.KEYWORD: 'text'>, 'May'), (<Kind.BOOLEAN: 'true or false'>, True))
    """
    match value:
        case bool():
            return Kind.BOOLEAN, value
        case int():
            return Kind.INTEGER, value
        case float():
            # Convert -0.0 to 0.0: they are equal, but differ in an index.
            return Kind.FLOAT, value + 0.0
        case _:
            moment = date_of(value)
            return (Kind.KEYWORD, value) if moment is None else (Kind.DATE, moment)


def encode_keyword(text: str) -> str:
    """Return the indexed form of a whole (not tokenized) text; a long text is cut, and a digest is appended."""
    if len(text) <= LONGEST_WHOLE:
        return text
    return f"{text[:_BEGINNING]}…{encode_digest(text)}"


def encode_digest(text: str) -> str:
    """Return a digest of a text for an index term, written with noncharacters, which patterns do not contain.

    So the literal characters of a pattern never match the digest of a cut text.
    """
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest().translate(_DIGEST_LETTERS)


def without_digest(indexed: str) -> str:
    """Return the readable part of the indexed form of a whole text."""
    return indexed.rstrip(_NONCHARACTERS)


def value_of(kind: Kind, field: str, text: str, now: datetime) -> Test:
    """Return a test for the value in `text`, with weight 0; raise UnreadableError if it is not a value of `kind`."""
    match kind:
        case Kind.DATE:
            moments = read_date(text, now)
            return Between(field, kind, moments.first, moments.last, weight=0.0)
        case Kind.INTEGER:
            number = _read_number(text)
            if number != number.to_integral_value():
                raise UnreadableError(f"{text!r:.80} is not a whole number")
            if not SMALLEST_INTEGER <= number <= LARGEST_INTEGER:
                raise UnreadableError(f"{text!r:.80} is above 2^63 - 1 or below -2^63")
            return Equal(field, kind, int(number), 0.0)
        case Kind.FLOAT:
            return Equal(field, kind, _read_float(text), 0.0)
        case Kind.BOOLEAN:
            if text.strip().lower() not in ("true", "false"):
                raise UnreadableError(f"{text!r:.80} is neither true nor false")
            return Equal(field, kind, text.strip().lower() == "true", 0.0)
        case _:
            return Equal(field, Kind.KEYWORD, well_formed(text), 0.0)


def range_of(
    kind: Kind, field: str, low: Bound | None, high: Bound | None, now: datetime, *, is_whole: bool = False
) -> Test:
    """Return a test for the values of a range, with weight 0.

    If `is_whole`, the index cuts no value of the field, so the bounds of a text range may have any length. Raise
    UnreadableError if a bound is not a value of this type, or the type has no order.
    """
    for end in (low, high):
        if kind is Kind.KEYWORD and not is_whole and end is not None and len(end.text) > LONGEST_BOUND:
            raise UnreadableError(f"an end of a range has at most {LONGEST_BOUND} characters, got {len(end.text)}")
    (lowest, includes_low), (highest, includes_high) = (
        (None, True) if end is None else _read_bound(kind, end, now, is_low=is_low)
        for end, is_low in ((low, True), (high, False))
    )
    return Between(field, kind, lowest, highest, includes_low, includes_high, 0.0)


def _read_bound(kind: Kind, end: Bound, now: datetime, *, is_low: bool) -> tuple[Value | None, bool]:
    """Return the value of a range's bound (None if it excludes no value), and whether the range includes it."""
    match kind:
        case Kind.DATE:
            # A bound such as 2021-05 is an interval. The range includes or excludes the interval as a whole, so its
            # first or its last moment is the bound.
            moments = read_date(end.text, now)
            return (moments.first if is_low == end.is_inclusive else moments.last), end.is_inclusive
        case Kind.INTEGER:
            return _read_integer_bound(end, is_low=is_low)
        case Kind.FLOAT:
            return _read_float(end.text), end.is_inclusive
        case Kind.KEYWORD:
            return well_formed(end.text), end.is_inclusive
        case _:
            raise UnreadableError("a range needs values that have an order")


def _read_number(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text.strip()):
        raise UnreadableError(f"{text!r:.80} is not a number")
    return Decimal(text.strip())


def _read_float(text: str) -> float:
    number = float(_read_number(text))
    if math.isinf(number):
        raise UnreadableError(f"{text!r:.80} is too large")
    return number + 0.0


def _read_integer_bound(end: Bound, *, is_low: bool) -> tuple[int | None, bool]:
    number = _read_number(end.text)
    rounded = int(number.to_integral_value(ROUND_CEILING if is_low else ROUND_FLOOR))
    if not SMALLEST_INTEGER <= rounded <= LARGEST_INTEGER:
        is_above = rounded > LARGEST_INTEGER
        # A bound outside the range of indexed integers excludes either all of these integers or none of them.
        return (LARGEST_INTEGER if is_above else SMALLEST_INTEGER, False) if is_above == is_low else (None, True)
    return rounded, end.is_inclusive or rounded != number


_DATE = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)"
    # pandas and SQL write a blank instead of the T, and PostgreSQL and DuckDB write whole hours as +02.
    r"(?:(?:T| (?=\d\d:))(?P<hour>\d\d)(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,9}))?)?)?"
    r"(?P<zone>Z|[+-]\d\d(?::?\d\d)?(?!\s*[A-Z\d]))?)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_MATHS = re.compile(r"/\s*(?P<rounded>[A-Z]+)|(?P<count>[+-]\s*\d{1,9})\s*(?P<unit>[A-Z]+)", re.ASCII | re.IGNORECASE)
#: Names that can replace the date in date math.
_NAMES = re.compile("NOW|TODAY", re.IGNORECASE)

_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "MILLI")
_ALIASES = {"DATE": "DAY", "MILLISECOND": "MILLI"}
_MILLISECONDS = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000, "MILLI": 1}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class DateSpan(NamedTuple):
    """The interval of a date: its first and its last millisecond, as milliseconds since 1970."""

    first: int
    last: int


def read_date(text: str, now: datetime) -> DateSpan:
    """Return the interval of a date in a query: a date, a part of a date, NOW or TODAY, with or without date math.

    Args:
        text: `2021`, `2021-05-03`, `2021-05-03T10:30Z`, `NOW/DAY-1MONTH`, `2021-05-03+6MONTHS`; UTC by default.
        now: Value of NOW, with a time zone.

    Raises:
        UnreadableError: The text is not a date, or its date is outside the years 1 to 9999.

    >>> format_date(read_date("2021-05", datetime(2024, 1, 31, 12, tzinfo=UTC)).last)
    '2021-05-31T23:59:59.999Z'
    >>> format_date(read_date("NOW/DAY+1MONTH", datetime(2024, 1, 31, 12, tzinfo=UTC)).first)
    '2024-02-29T00:00:00.000Z'
    """
    text = text.strip()
    named = _NAMES.match(text)
    if named:
        unit = "DAY" if named[0].upper() == "TODAY" else "MILLI"
        moments, end = _span(_round_date(now.astimezone(UTC), unit), unit), named.end()
    else:
        match = _DATE.match(text)
        if not match:
            raise UnreadableError(f"{text!r:.80} is not a date; write 2021-05-03, 2021-05-03T10:30:00Z or NOW-1MONTH")
        # The date is the longest match, so in 2021-05-03-1DAY, the rest is date math.
        moments, end = _read_date_match(match), match.end()
    if end == len(text):
        return moments
    moment = _EPOCH + timedelta(milliseconds=moments.first)
    try:
        while end < len(text):
            step = _MATHS.match(text, end)
            if not step:
                raise UnreadableError(
                    f"{text[end:]!r:.80} is not date maths; write +6MONTHS, -1DAY or /DAY after {text[:end]!r:.80}, "
                    "with units YEAR, MONTH, DAY, HOUR, MINUTE, SECOND"
                )
            if step["rounded"]:
                moment = _round_date(moment, _read_unit(step["rounded"]))
            else:
                moment = _add_units(moment, int(step["count"].replace(" ", "")), _read_unit(step["unit"]))
            end = step.end()
    except UnreadableError:
        raise
    except (OverflowError, ValueError) as error:
        raise UnreadableError(f"{text!r:.80} lies outside the years 1 to 9999") from error
    return _span(moment, "MILLI")


def date_of(text: str) -> int | None:
    """Return a document's date in milliseconds since 1970; None if the text is not a date with year, month and day.

    >>> date_of("1970-01-02"), date_of("1970-01-01T01:00:00+01:00"), date_of("1970"), date_of("next week")
    (86400000, 0, None, None)
    """
    match = _DATE.fullmatch(text)
    if not match or not match["day"]:
        return None
    try:
        return _read_date_match(match).first
    except UnreadableError:
        return None


def format_date(milliseconds: int) -> str:
    """Return a time, in milliseconds since 1970, as a date in Solr's format.

    >>> format_date(1)
    '1970-01-01T00:00:00.001Z'
    """
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def _read_date_match(match: re.Match[str]) -> DateSpan:
    last = next(name for name in ("fraction", "second", "minute", "hour", "day", "month", "year") if match[name])
    year, month, day, hour, minute, second = (
        int(match[name] or least)
        for name, least in (("year", 1), ("month", 1), ("day", 1), ("hour", 0), ("minute", 0), ("second", 0))
    )
    microsecond = int((match["fraction"] or "0")[:3].ljust(3, "0")) * 1000
    zone = (match["zone"] or "Z").upper()
    try:
        moment = datetime(year, month, day, hour, minute, second, microsecond, tzinfo=UTC)
        if zone != "Z":
            offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:][-2:] or 0))
            moment = moment - offset if zone[0] == "+" else moment + offset
    except (ValueError, OverflowError) as error:
        raise UnreadableError(f"{match[0]!r:.80} is not a date: {error}") from error
    return _span(moment, "MILLI" if last == "fraction" else last.upper())


def _span(moment: datetime, unit: str) -> DateSpan:
    first = (moment - _EPOCH) // timedelta(milliseconds=1)
    match unit:
        case "YEAR":
            length = (365 + calendar.isleap(moment.year)) * _MILLISECONDS["DAY"]
        case "MONTH":
            length = calendar.monthrange(moment.year, moment.month)[1] * _MILLISECONDS["DAY"]
        case _:
            length = _MILLISECONDS[unit]
    return DateSpan(first, first + length - 1)


def _read_unit(typed: str) -> str:
    unit = typed.upper().removesuffix("S")
    unit = _ALIASES.get(unit, unit)
    if unit not in _UNITS:
        raise UnreadableError(
            f"{typed!r:.80} is not a unit of time; there are YEAR, MONTH, DAY, HOUR, MINUTE, SECOND and MILLI"
        )
    return unit


def _round_date(moment: datetime, unit: str) -> datetime:
    if unit == "MILLI":
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    parts = (moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second)
    count = _UNITS.index(unit) + 1
    year, month, day, hour, minute, second = (*parts[:count], *(1, 1, 1, 0, 0, 0)[count:])
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def _add_units(moment: datetime, count: int, unit: str) -> datetime:
    if unit in _MILLISECONDS:
        return moment + timedelta(milliseconds=count * _MILLISECONDS[unit])
    months = moment.year * 12 + moment.month - 1 + count * (12 if unit == "YEAR" else 1)
    year, month = months // 12, months % 12 + 1
    # As in Java, one month after 31 January is the last day of February.
    day = min(moment.day, calendar.monthrange(year, month)[1])
    return moment.replace(year=year, month=month, day=day)
