"""Settings, from `WHORL_*` variables and a `whorl.toml`: the only reader of either, and the one list of what there is.

Each setting stands once in `Settings`: `setting` gives its name in the file, of which the variable's name is made, what
it may be, what it is where nothing is said, and what it means. docs/settings.md shows this list. The environment wins
over the file; an empty variable is as if it were not there.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import platformdirs

from whorl.engine.solr.schema import FieldNames
from whorl.engine.solr.transport import Link
from whorl.errors import ParameterError, without_login
from whorl.ingest.extraction.reader import Limits
from whorl.query import ast
from whorl.query.limits import DEFAULT_CLAUSES, DEFAULT_LENGTH, MAX_CLAUSES, MAX_LENGTH, QueryLimits
from whorl.settings.kinds import Address, Fields, File, Flag, Folder, Kind, Login, Names, Seconds, Text, Texts, Whole

#: Hits on a page that no setting raises, and before it: engines sort all of these.
MAX_ROWS, MAX_START = 10_000, 1_000_000
#: Who asks for no number of rows gets up to so many.
_LEAST_MAX_ROWS = 100
#: What every variable's name begins with, and the one that is not in the file because it names it.
PREFIX, CONFIG = "WHORL_", "WHORL_CONFIG"
#: The variables of whorl's own tests and benchmarks, which are set beside those of the settings.
_OF_THE_TESTS = re.compile(r"WHORL_((TEST|REQUIRE)_[A-Z_]+|CLIENTS_CACHE|SCREENSHOTS)")
#: What Kubernetes puts into the environment of every container where there is a service called whorl or whorl-….
_OF_KUBERNETES = re.compile(r"_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$")
#: One of them has a name that people may give to a port of their own, and a value that they would not.
_LINK = re.compile(r"(tcp|udp|sctp)://")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Args:
        key: Its name in whorl.toml; a table there, if it is one.
        kind: What it may be.
        meaning: What it does, in words.
        default: What it is where nothing is said, in words; "" for nothing.
        is_secret: Whether its value is never shown.
        section: The heading that it stands under.
    """

    key: str
    kind: Kind
    meaning: str
    default: str
    is_secret: bool
    section: str

    @property
    def variable(self) -> str | None:
        """The name of its variable; None for a table."""
        return None if isinstance(self.kind, Fields | Names) else f"{PREFIX}{self.key.upper()}"

    def read(self, told: object, place: str) -> Any:
        """Return the value.

        Raises:
            ParameterError: It cannot be used; the message names the place and, of what is no secret, the value.
        """
        try:
            return self.kind.read(told)
        except ValueError:
            shown = "" if self.is_secret else f", got {told!r:.200}"
            raise ParameterError(f"{place} must be {self.kind.allowed}{shown}") from None


STORE, SOLR, OPENSEARCH, FILES, SERVICE, REQUEST, TOGETHER = (
    "The store",
    "Solr",
    "OpenSearch",
    "Files",
    "The HTTP service",
    "Limits of one request",
    "Limits of all requests together",
)


def setting(
    section: str,
    key: str,
    kind: Kind,
    default: object,
    meaning: str,
    *,
    told: str | None = None,
    is_secret: bool = False,
    made: Callable[[], object] | None = None,
) -> Any:
    """Return a field of `Settings` that is a setting.

    Args:
        section: The heading that it stands under.
        key: Its name in whorl.toml.
        kind: What it may be.
        default: What it is where nothing is said.
        meaning: What it does, in words.
        told: The default in words, where its own are none.
        is_secret: Whether its value is never shown.
        made: Makes the default, where it is not known before.
    """
    about = Setting(key, kind, meaning, _told(default) if told is None else told, is_secret, section)
    metadata = {"setting": about}
    if made is not None:
        return field(default_factory=made, repr=not is_secret, metadata=metadata)
    return field(default=default, repr=not is_secret, metadata=metadata)


def _told(default: object) -> str:
    match default:
        case None | ():
            return ""
        case bool():
            return str(default).lower()
        case int():
            return f"{default:,}"
        case float():
            return f"{default:g}"
        case (host, port):
            return f"{host}:{port}"
        case _:
            return str(default)


def _default_store() -> str:
    return str(platformdirs.user_data_path("whorl") / "store")


def _default_cache() -> Path:
    return platformdirs.user_cache_path("whorl") / "solr"


def _default_opensearch_cache() -> Path:
    return platformdirs.user_cache_path("whorl") / "opensearch"


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be configured."""

    store: str = setting(
        STORE, "store", Text("the URL of a Solr collection or of an index, or a folder"), "",
        "the store to use if none is given", told="a folder of your own", made=_default_store,
    )  # fmt: skip
    fields: FieldNames = setting(
        STORE, "fields", Fields(), FieldNames(), "what a collection calls its fields ([more](solr.md))",
        told="whorl's own names",
    )  # fmt: skip
    names: Mapping[str, str] = setting(
        STORE, "names", Names(), {}, "maps field names used in queries to field names in the store ([more](afts.md))",
        told="", made=dict,
    )  # fmt: skip

    passages: bool = setting(
        STORE, "passages", Flag(), False,
        "whether stores on disk find every passage of 20 words, as with `whorl index --passages` "
        "([more](sources.md))",
    )  # fmt: skip

    timeout_seconds: float = setting(
        SOLR, "timeout", Seconds(), 60.0, "how long Solr or a cluster may be silent within one answer"
    )
    connect_timeout_seconds: float = setting(
        SOLR, "connect_timeout", Seconds(), 5.0, "how long it may take to connect to Solr or a cluster"
    )
    solr_auth: tuple[str, str] | None = setting(
        SOLR, "solr_auth", Login(), None, "for Solr's basic authentication, if the URL has no user",
        is_secret=True,
    )  # fmt: skip
    solr_ca: Path | None = setting(
        SOLR, "solr_ca", File(), None,
        "certificates (PEM) of the authorities to trust for Solr, instead of the usual ones",
    )  # fmt: skip
    solr_verify: bool = setting(
        SOLR, "solr_verify", Flag(), True,
        "whether Solr's certificate is checked; if not, anybody between whorl and Solr can read and change everything",
    )  # fmt: skip
    solr_retries: int = setting(
        SOLR, "solr_retries", Whole(0, 10), 2,
        "how often a request is repeated if the server refused or lost it, or answered with 429, 502, 503 or 504; "
        "requests that took too long are not repeated",
    )  # fmt: skip
    solr_connections: int = setting(
        SOLR, "solr_connections", Whole(1, 1_000), 64, "how many connections to Solr or a cluster are kept open"
    )
    solr_cache: Path = setting(
        SOLR, "solr_cache", Folder(), None, "where the jars of a local Solr are kept",
        told="in your cache folder", made=_default_cache,
    )  # fmt: skip

    opensearch_auth: tuple[str, str] | None = setting(
        OPENSEARCH, "opensearch_auth", Login(), None,
        "for the cluster's basic authentication, if the URL has no user", is_secret=True,
    )  # fmt: skip
    opensearch_api_key: str | None = setting(
        OPENSEARCH, "opensearch_api_key", Text("an API key"), None,
        "sent as `Authorization: ApiKey KEY` instead of a user and a password", is_secret=True,
    )  # fmt: skip
    opensearch_ca: Path | None = setting(
        OPENSEARCH, "opensearch_ca", File(), None,
        "certificates (PEM) of the authorities to trust for the cluster, instead of the usual ones",
    )  # fmt: skip
    opensearch_verify: bool = setting(
        OPENSEARCH, "opensearch_verify", Flag(), True,
        "whether the cluster's certificate is checked; if not, anybody in between can read and change everything",
    )  # fmt: skip
    opensearch_cache: Path = setting(
        OPENSEARCH, "opensearch_cache", Folder(), None, "where the jars of a local OpenSearch are kept",
        told="in your cache folder", made=_default_opensearch_cache,
    )  # fmt: skip

    max_file_bytes: int = setting(
        FILES, "max_file_bytes", Whole(1_000_000, 1_000_000_000), Limits().file_bytes,
        "bytes in a file, except JSON lines; a larger file is reported and not read",
    )  # fmt: skip
    max_file_text: int = setting(
        FILES, "max_file_text", Whole(1, 1_000_000_000), Limits().text_characters,
        "characters of text in a file that is not plain text; a file with more is not read",
    )  # fmt: skip
    file_timeout_seconds: float = setting(
        FILES, "file_timeout", Seconds(), Limits().seconds, "how long reading a file that is not plain text may take"
    )
    file_memory_bytes: int = setting(
        FILES, "file_memory_bytes", Whole(200_000_000, 64_000_000_000), Limits().memory_bytes,
        "memory of a process that reads such files; a DOCX, PPTX or XLSX must not unpack to more ([more](files.md))",
    )  # fmt: skip

    listen: tuple[str, int] = setting(
        SERVICE, "listen", Address(), ("127.0.0.1", 8000), "where `whorl serve` listens; port 0 means any free port"
    )
    api_keys: tuple[str, ...] = setting(
        SERVICE, "api_key", Texts("a key"), (),
        "accepted as `Authorization: Bearer KEY`; give two at once to replace one",
        is_secret=True,
    )  # fmt: skip
    user: str | None = setting(
        SERVICE, "user", Text("a name without a colon, together with a password"), None,
        "the user for basic authentication and for tickets ([Alfresco's clients](alfresco.md))",
    )  # fmt: skip
    password: str | None = setting(
        SERVICE, "password", Text("a password, together with a user"), None, "that user's password", is_secret=True
    )
    is_open: bool = setting(
        SERVICE, "open", Flag(), False, "accept requests from other machines without a key or password"
    )
    is_read_only: bool = setting(
        SERVICE, "read_only", Flag(), False, "refuse to store or delete documents, also on the page"
    )
    allowed_hosts: tuple[str, ...] = setting(
        SERVICE, "allowed_hosts", Texts("a host name"), (),
        "host names that an open service answers to, besides localhost, its addresses and the host it listens on; "
        "pages of these hosts may use any service; `*` for any name",
    )  # fmt: skip
    allowed_origins: tuple[str, ...] = setting(
        SERVICE, "allowed_origins", Texts("an origin such as https://app.example.org"), (),
        "origins whose pages may use the service from a browser (CORS)",
    )  # fmt: skip
    shutdown_timeout_seconds: float = setting(
        SERVICE, "shutdown_timeout", Seconds(), 30.0,
        "how long the service may take to finish accepted requests when it is told to stop",
    )  # fmt: skip

    max_search_bytes: int = setting(
        REQUEST, "max_search_bytes", Whole(1, 1_000_000_000), 1_000_000, "bytes in an Alfresco search; more is 413"
    )
    max_text_bytes: int = setting(
        REQUEST, "max_text_bytes", Whole(1, 1_000_000_000), 64_000_000,
        "bytes in any other body, such as a text to find similar documents for; more is 413",
    )  # fmt: skip
    max_line_bytes: int = setting(
        REQUEST, "max_line_bytes", Whole(1, 1_000_000_000), 64_000_000,
        "bytes in one document that is sent to be stored; only a longer one is refused, and there may be any number",
    )  # fmt: skip
    max_query_length: int = setting(
        REQUEST, "max_query_length", Whole(1, MAX_LENGTH), DEFAULT_LENGTH, "characters of a query; more is 400"
    )
    max_query_depth: int = setting(
        REQUEST, "max_query_depth", Whole(1, ast.MAX_DEPTH), ast.MAX_DEPTH, "levels of a query; more is 400"
    )
    max_query_clauses: int = setting(
        REQUEST, "max_query_clauses", Whole(1, MAX_CLAUSES), DEFAULT_CLAUSES,
        "words, phrases and fingerprints of a query; more is 400",
    )  # fmt: skip
    max_rows: int = setting(
        REQUEST, "max_rows", Whole(_LEAST_MAX_ROWS, MAX_ROWS), MAX_ROWS, "hits on a page; more is 400"
    )
    request_timeout_seconds: float = setting(
        REQUEST, "request_timeout", Seconds(), 60.0,
        "how long a request may wait and run once its body has arrived; longer is 503. The body may take as long "
        "again, then 408. For documents being sent, this only limits the wait for each part",
    )  # fmt: skip
    body_timeout_seconds: float = setting(
        REQUEST,
        "body_timeout",
        Seconds(),
        30.0,
        "how long a client may be silent in the middle of a body, and how far the body may fall behind 1,000 bytes a "
        "second; then 408",
    )

    max_concurrent: int = setting(
        TOGETHER, "max_concurrent", Whole(1, 1_000), 32, "requests that are worked on at the same time; others wait"
    )
    max_uploads: int = setting(
        TOGETHER,
        "max_uploads",
        Whole(1, 1_000),
        8,
        "requests whose documents are stored at the same time; others wait, but not for those still being sent",
    )
    max_waiting: int = setting(TOGETHER, "max_waiting", Whole(0, 100_000), 256, "requests that wait; more get 503")
    max_per_client: int = setting(
        TOGETHER, "max_per_client", Whole(1, 100_000), 128,
        "requests at the same time from one key or user, or from one address if the service is open; more get 429",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if (self.user is None) != (self.password is None) or ":" in (self.user or ""):
            raise ParameterError(
                "WHORL_USER and WHORL_PASSWORD (in whorl.toml: user and password) go together, and a name has no colon"
            )

    @property
    def login(self) -> tuple[str, str] | None:
        """User and password of the service."""
        return None if self.user is None or self.password is None else (self.user, self.password)

    @property
    def query_limits(self) -> QueryLimits:
        """How large a query may be."""
        return QueryLimits(self.max_query_length, self.max_query_depth, self.max_query_clauses)

    @property
    def file_limits(self) -> Limits:
        """What reading a file may take."""
        return Limits(self.max_file_bytes, self.file_timeout_seconds, self.file_memory_bytes, self.max_file_text)

    @property
    def solr_link(self) -> Link:
        """How Solr is spoken to."""
        ca = True if self.solr_ca is None else str(self.solr_ca)
        return Link(
            connect_seconds=self.connect_timeout_seconds,
            verify=ca if self.solr_verify else False,
            retries=self.solr_retries,
            connections=self.solr_connections,
        )

    def __str__(self) -> str:
        return f"Settings(store={without_login(self.store)!r}, …)"

    __repr__ = __str__

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the settings.

        Raises:
            ParameterError: A name that there is not, with the one that was perhaps meant; or a value that cannot be
                used, with its name.
        """
        _require_known(environ)
        path, config = _config(environ.get(CONFIG))
        values: dict[str, Any] = {}
        for name, about in _by_attribute().items():
            if about.variable and environ.get(about.variable):
                values[name] = about.read(environ[about.variable], about.variable)
            elif about.key in config:
                values[name] = about.read(config[about.key], f"{path}: {about.key}")
        return cls(**values)


def all_settings() -> tuple[Setting, ...]:
    """Return what there is, in the order of the documentation."""
    return tuple(_by_attribute().values())


def _by_attribute() -> dict[str, Setting]:
    return {each.name: each.metadata["setting"] for each in fields(Settings)}


def _require_known(environ: Mapping[str, str]) -> None:
    known = {CONFIG, *(each.variable for each in all_settings() if each.variable)}
    for name in environ:
        if name.startswith(PREFIX) and not (
            name in known
            or _OF_THE_TESTS.fullmatch(name)
            or _OF_KUBERNETES.search(name)
            or (name.endswith("_PORT") and _LINK.match(environ[name]))
            or not environ[name]
        ):
            raise ParameterError(
                f"there is no setting {name}{_meant(name, known)}; docs/settings.md lists what there is"
            )


def _config(named: str | None) -> tuple[Path, dict[str, Any]]:
    path = Path(named or "whorl.toml")
    if not named and not path.is_file():
        return path, {}
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        source = CONFIG if named else "the configuration"
        raise ParameterError(f"{source}: {path} cannot be read: {error}") from error
    known = {each.key for each in all_settings()}
    for key in config:
        if key not in known:
            raise ParameterError(
                f"{path}: there is no setting {key!r}{_meant(key, known)}; known are {', '.join(sorted(known))}"
            )
    return path, config


def _meant(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
