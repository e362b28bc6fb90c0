"""Declares all settings, and reads them from `WHORL_*` variables and `whorl.toml`.

`Settings` declares each setting once, with its name in the file, value type, default and meaning; docs/settings.md
lists them. The name of the variable is derived from the name in the file. Variables override the file; an empty
variable counts as unset.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import platformdirs

from whorl.engine.configured_fields import FieldNames
from whorl.errors import ParameterError, suggestion, without_login
from whorl.ingest.extraction import FileLimits
from whorl.model import PropertyLimits
from whorl.operations import MAX_ROWS
from whorl.query import ast
from whorl.query.ast import DEFAULT_CLAUSES, DEFAULT_LENGTH, MAX_CLAUSES, MAX_LENGTH, QueryLimits

if TYPE_CHECKING:
    from whorl.engine.server_engine import ServerAccess

#: Smallest permitted value of `max_rows`: by default, a request may return 100 rows.
_LEAST_MAX_ROWS = 100
#: Prefix of all environment variables, and the variable with the path of the settings file.
PREFIX, CONFIG = "WHORL_", "WHORL_CONFIG"
#: Hosts that other machines cannot reach.
LOOPBACK = ("127.0.0.1", "::1", "localhost")
#: Settings that let others use the service, choose the programs that start, or decide which servers are trusted;
#: accepted only in a file that the user has named (see `_require_harmless`).
_EXPOSING = ("is_open", "api_keys", "user", "password", "allowed_hosts", "allowed_origins")
_PROGRAMS = ("solr_cache", "opensearch_cache")
_TRUST = ("solr_ca", "solr_verify", "opensearch_ca", "opensearch_verify")
#: Settings whose values are credentials for servers.
_CREDENTIALS = ("solr_auth", "opensearch_auth", "opensearch_api_key")
#: Variables of whorl's own tests and benchmarks, which are not checked.
_TEST_VARIABLES = re.compile(r"WHORL_((TEST|REQUIRE)_[A-Z_]+|CLIENTS_CACHE|SCREENSHOTS)")
#: prometheus_client's variable for the folder with the metrics of all worker processes, and with their shared state.
_SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
#: Endings of variables that Kubernetes adds to every container for a service called whorl or whorl-….
_KUBERNETES_VARIABLES = re.compile(
    r"_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$"
)
#: Values of Kubernetes' variables that end in _PORT; a mistyped setting with this ending has another value.
_LINK = re.compile(r"(tcp|udp|sctp)://")


_WHOLE = re.compile(r"[0-9]+(_[0-9]+)*")
_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_DAY_SECONDS = 86_400
#: A host and a port; an IPv6 address is in brackets.
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:/\s]+)):([0-9]{1,5})")


class ValueType(NamedTuple):
    """Type of a setting's value.

    `read` raises ValueError for an invalid value. `allowed` describes the valid values, after "must be" in messages.
    """

    allowed: str
    read: Callable[[object], Any]


def text(allowed: str) -> ValueType:
    return ValueType(allowed, _text)


def _text(given: object) -> str:
    if not isinstance(given, str) or not given:
        raise ValueError
    return given


def texts(content: str) -> ValueType:
    """Return the type for a list of texts: comma-separated in a variable; a list or a single text in the file."""

    def read(given: object) -> tuple[str, ...]:
        listed = given.split(",") if isinstance(given, str) else given
        if not isinstance(listed, Sequence):
            raise ValueError
        return tuple(_text(item.strip() if isinstance(item, str) else item) for item in listed)

    return ValueType(f"{content}, or several: with commas between them in a variable, a list in the file", read)


def integer(least: int, most: int) -> ValueType:
    def read(given: object) -> int:
        if isinstance(given, str) and _WHOLE.fullmatch(given):
            # Remove leading zeros, which would count towards the limit of 20 digits.
            given = int(given.lstrip("0_")[:20].rstrip("_") or "0")
        if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
            raise ValueError
        return given

    return ValueType(f"a whole number, {least:,} to {most:,}", read)


def _seconds(given: object) -> float:
    seconds = float(given) if isinstance(given, str) else given
    # Refuse a bool, which is an int in Python.
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < _DAY_SECONDS:
        raise ValueError
    return float(seconds)


def _flag(given: object) -> bool:
    flag = _FLAGS.get(given.lower()) if isinstance(given, str) else given
    if not isinstance(flag, bool):
        raise ValueError
    return flag


def _file(given: object) -> Path:
    path = Path(_text(given))
    # Do not use Path.is_file, which raises an error if a name is too long.
    if not isfile(path):
        raise ValueError
    return path


def _login(given: object) -> tuple[str, str]:
    user, separator, password = _text(given).partition(":")
    if not separator or not user:
        raise ValueError
    return user, password


def _address(given: object) -> tuple[str, int]:
    address = _ADDRESS.fullmatch(_text(given))
    if address is None or int(address[3]) > 65_535:
        raise ValueError
    return address[1] or address[2], int(address[3])


def _names(given: object) -> dict[str, str]:
    if not isinstance(given, dict):
        raise ValueError
    return {name: _text(value) for name, value in given.items()}


def _field_names(given: object) -> FieldNames:
    names = _names(given)
    if not names.keys() <= {*_FIELD_NAMES}:
        raise ValueError
    return FieldNames(**names)


_FIELD_NAMES = tuple(name.name for name in fields(FieldNames))
SECONDS = ValueType("seconds, above 0 and below a day", _seconds)
FLAG = ValueType("true or false", _flag)
FOLDER = ValueType("a folder", lambda given: Path(_text(given)))
FILE = ValueType("a file that can be read", _file)
LOGIN = ValueType("user:password", _login)
ADDRESS = ValueType("host:port, an IPv6 address in brackets", _address)
FIELDS = ValueType(f"a table from {', '.join(_FIELD_NAMES)} to the collection's own names", _field_names)
NAMES = ValueType('a table from names in queries to fields of the store ("cm:title" = "title")', _names)


class Setting(NamedTuple):
    """Declaration of one setting.

    Args:
        section: Heading in the documentation.
        shown: Default value in the documentation.
        key: Name in whorl.toml; "" for the name of the field.
    """

    section: str
    type: ValueType
    meaning: str
    shown: str
    key: str = ""
    is_secret: bool = False

    @property
    def variable(self) -> str | None:
        """Name of the environment variable; None for a setting that is a table."""
        return None if self.type in (FIELDS, NAMES) else f"{PREFIX}{self.key.upper()}"

    def read(self, given: object, source: str) -> Any:
        """Return the checked value, or raise ParameterError; the message does not show a secret value."""
        try:
            return self.type.read(given)
        except ValueError:
            shown = "" if self.is_secret else f", got {given!r:.200}"
            raise ParameterError(f"{source} must be {self.type.allowed}{shown}") from None


STORE, SOLR, OPENSEARCH, FILES = "The store", "Solr", "OpenSearch", "Files"
SERVICE, REQUEST, TOGETHER = "The HTTP service", "Limits of one request", "Limits of all requests together"


def setting(section: str, value_type: ValueType, default: object, meaning: str, **more: Any) -> Any:
    """Return a dataclass field of `Settings` that declares a setting; see `Setting`.

    A default that depends on the environment is a function, described by `shown`.
    """
    about = Setting(section, value_type, meaning, **{"shown": _format_default(default), **more})
    if callable(default):
        return field(default_factory=default, metadata={"setting": about})
    return field(default=default, metadata={"setting": about})


def _format_default(default: object) -> str:
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


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of whorl."""

    store: str = setting(
        STORE, text("the URL of a Solr collection or of an index, or a folder"),
        lambda: str(platformdirs.user_data_path("whorl") / "store"), "the store to use if none is given",
        shown="a folder of your own",
    )  # fmt: skip
    fields: FieldNames = setting(
        STORE, FIELDS, FieldNames(), "what a collection calls its fields ([more](solr.md))", shown="whorl's own names"
    )
    names: Mapping[str, str] = setting(
        STORE, NAMES, dict, "maps field names used in queries to field names in the store ([more](afts.md))", shown=""
    )

    passages: bool = setting(
        STORE, FLAG, False, "whether stores on disk find every passage of 20 words, as with `whorl index --passages` "
        "([more](sources.md))",
    )  # fmt: skip

    max_properties: int = setting(
        STORE, integer(1, 100_000), PropertyLimits().per_document,
        "properties of a document in a store on disk; a document with more is refused",
    )  # fmt: skip
    max_property_names: int = setting(
        STORE, integer(1, 1_000_000), PropertyLimits().names,
        "different names of properties in a store on disk; a document that brings more is refused. Names that no "
        "document has any more do not count",
    )  # fmt: skip

    timeout_seconds: float = setting(
        SOLR, SECONDS, 60.0, "how long Solr or a cluster may be silent within one answer", key="timeout"
    )
    connect_timeout_seconds: float = setting(
        SOLR, SECONDS, 5.0, "how long it may take to connect to Solr or a cluster", key="connect_timeout"
    )
    solr_auth: tuple[str, str] | None = setting(
        SOLR, LOGIN, None, "for Solr's basic authentication, if the URL has no user", is_secret=True
    )
    solr_ca: Path | None = setting(
        SOLR, FILE, None, "certificates (PEM) of the authorities to trust for Solr, instead of the usual ones"
    )
    solr_verify: bool = setting(
        SOLR, FLAG, True,
        "whether Solr's certificate is checked; if not, anybody between whorl and Solr can read and change everything",
    )  # fmt: skip
    engine_retries: int = setting(
        SOLR, integer(0, 10), 2,
        "how often a request is repeated if the server refused or lost it, or answered with 429, 502, 503 or 504; "
        "requests that took too long are not repeated",
    )  # fmt: skip
    engine_connections: int = setting(
        SOLR, integer(1, 1_000), 64, "how many connections to Solr or a cluster are kept open"
    )
    solr_cache: Path = setting(
        SOLR, FOLDER, lambda: platformdirs.user_cache_path("whorl") / "solr", "where the jars of a local Solr are kept",
        shown="in your cache folder",
    )  # fmt: skip

    opensearch_auth: tuple[str, str] | None = setting(
        OPENSEARCH, LOGIN, None, "for the cluster's basic authentication, if the URL has no user", is_secret=True
    )
    opensearch_api_key: str | None = setting(
        OPENSEARCH, text("an API key"), None, "sent as `Authorization: ApiKey KEY` instead of a user and a password",
        is_secret=True,
    )  # fmt: skip
    opensearch_ca: Path | None = setting(
        OPENSEARCH, FILE, None,
        "certificates (PEM) of the authorities to trust for the cluster, instead of the usual ones",
    )  # fmt: skip
    opensearch_verify: bool = setting(
        OPENSEARCH, FLAG, True,
        "whether the cluster's certificate is checked; if not, anybody in between can read and change everything",
    )  # fmt: skip
    opensearch_cache: Path = setting(
        OPENSEARCH, FOLDER, lambda: platformdirs.user_cache_path("whorl") / "opensearch",
        "where the jars of a local OpenSearch or Elasticsearch are kept", shown="in your cache folder",
    )  # fmt: skip

    max_file_bytes: int = setting(
        FILES, integer(1_000_000, 1_000_000_000), FileLimits().file_bytes,
        "bytes in a file, except JSON lines; a larger file is reported and not read",
    )  # fmt: skip
    max_file_text: int = setting(
        FILES, integer(1, 1_000_000_000), FileLimits().text_characters,
        "characters of text in a file that is not plain text; a file with more is not read",
    )  # fmt: skip
    file_timeout_seconds: float = setting(
        FILES, SECONDS, FileLimits().seconds, "how long reading a file that is not plain text may take",
        key="file_timeout",
    )  # fmt: skip
    file_memory_bytes: int = setting(
        FILES, integer(200_000_000, 64_000_000_000), FileLimits().memory_bytes,
        "memory of a process that reads such files; an archive such as DOCX must not unpack to more ([more](files.md))",
    )  # fmt: skip

    listen: tuple[str, int] = setting(
        SERVICE, ADDRESS, ("127.0.0.1", 8000), "where `whorl serve` listens; port 0 means any free port"
    )
    workers: int = setting(
        SERVICE, integer(1, 64), 1,
        "processes that answer requests; more than one use several cores ([more](operations.md))",
    )  # fmt: skip
    api_keys: tuple[str, ...] = setting(
        SERVICE, texts("a key"), (), "accepted as `Authorization: Bearer KEY`; give two at once to replace one",
        key="api_key", is_secret=True,
    )  # fmt: skip
    user: str | None = setting(
        SERVICE, text("a name without a colon, together with a password"), None,
        "the user for basic authentication and for tickets ([Alfresco's clients](alfresco.md))",
    )  # fmt: skip
    password: str | None = setting(
        SERVICE, text("a password, together with a user"), None, "that user's password", is_secret=True
    )
    is_open: bool = setting(
        SERVICE, FLAG, False, "accept requests from other machines without a key or password", key="open"
    )
    is_read_only: bool = setting(
        SERVICE, FLAG, False, "refuse to store or delete documents, also on the page", key="read_only"
    )
    allowed_hosts: tuple[str, ...] = setting(
        SERVICE, texts("a host name"), (),
        "host names that an open service answers to, besides localhost, its addresses and the host it listens on; "
        "pages of these hosts may use any service; `*` for any name",
    )  # fmt: skip
    allowed_origins: tuple[str, ...] = setting(
        SERVICE, texts("an origin such as https://app.example.org"), (),
        "origins whose pages may use the service from a browser (CORS)",
    )  # fmt: skip
    shutdown_timeout_seconds: float = setting(
        SERVICE, SECONDS, 30.0, "how long the service may take to finish accepted requests after a signal to stop",
        key="shutdown_timeout",
    )  # fmt: skip

    max_search_bytes: int = setting(
        REQUEST, integer(1, 1_000_000_000), 4_000_000,
        "bytes in any other body, such as a search with its source; more is 413",
    )  # fmt: skip
    max_text_bytes: int = setting(
        REQUEST, integer(1, 1_000_000_000), 64_000_000,
        "bytes in a body that brings a text or a file: to compare, to find similar documents or sources for, to "
        "verify, or to read; more is 413",
    )  # fmt: skip
    max_line_bytes: int = setting(
        REQUEST, integer(1, 1_000_000_000), 64_000_000,
        "bytes in one document that is sent to be stored; only a longer one is refused, and there may be any number",
    )  # fmt: skip
    max_query_length: int = setting(
        REQUEST, integer(1, MAX_LENGTH), DEFAULT_LENGTH, "characters of a query; more is 400"
    )
    max_query_depth: int = setting(REQUEST, integer(1, ast.MAX_DEPTH), ast.MAX_DEPTH, "levels of a query; more is 400")
    max_query_clauses: int = setting(
        REQUEST, integer(1, MAX_CLAUSES), DEFAULT_CLAUSES, "words, phrases and fingerprints of a query; more is 400"
    )
    max_rows: int = setting(REQUEST, integer(_LEAST_MAX_ROWS, MAX_ROWS), MAX_ROWS, "hits on a page; more is 400")
    request_timeout_seconds: float = setting(
        REQUEST, SECONDS, 60.0,
        "how long a request may wait and run once its body has arrived; longer is 503. The body may take as long "
        "again, then 408. For documents being sent, this only limits the wait for each part", key="request_timeout",
    )  # fmt: skip
    body_timeout_seconds: float = setting(
        REQUEST, SECONDS, 30.0,
        "how long a client may be silent in the middle of a body, and how far the body may fall behind 1,000 bytes a "
        "second; then 408", key="body_timeout",
    )  # fmt: skip

    max_concurrent: int = setting(
        TOGETHER, integer(1, 1_000), 32, "requests that are worked on at the same time; others wait"
    )
    max_uploads: int = setting(
        TOGETHER, integer(1, 1_000), 8,
        "requests whose documents are stored at the same time; others wait, but not for those still being sent",
    )  # fmt: skip
    max_waiting: int = setting(TOGETHER, integer(0, 100_000), 256, "requests that wait; more get 503")
    max_per_client: int = setting(
        TOGETHER, integer(1, 100_000), 128,
        "requests at the same time from one key or user, or from one address if the service is open; more get 429",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if (self.user is None) != (self.password is None) or ":" in (self.user or ""):
            raise ParameterError(
                "WHORL_USER and WHORL_PASSWORD (in whorl.toml: user and password) go together, and a name has no colon"
            )

    @property
    def login(self) -> tuple[str, str] | None:
        return None if self.user is None or self.password is None else (self.user, self.password)

    @property
    def query_limits(self) -> QueryLimits:
        return QueryLimits(self.max_query_length, self.max_query_depth, self.max_query_clauses)

    @property
    def file_limits(self) -> FileLimits:
        return FileLimits(self.max_file_bytes, self.file_timeout_seconds, self.file_memory_bytes, self.max_file_text)

    @property
    def property_limits(self) -> PropertyLimits:
        return PropertyLimits(self.max_properties, self.max_property_names)

    @property
    def solr_access(self) -> ServerAccess:
        return self._access(self.solr_auth, self.solr_ca, verify=self.solr_verify)

    @property
    def opensearch_access(self) -> ServerAccess:
        access = self._access(self.opensearch_auth, self.opensearch_ca, verify=self.opensearch_verify)
        return replace(access, api_key=self.opensearch_api_key)

    def _access(self, auth: tuple[str, str] | None, ca: Path | None, *, verify: bool) -> ServerAccess:
        # Imported here, because stores on disk need no HTTP client.
        from whorl.engine.server_engine import ServerAccess

        return ServerAccess(
            timeout_seconds=self.timeout_seconds,
            connect_seconds=self.connect_timeout_seconds,
            auth=auth,
            ca=None if ca is None else str(ca),
            verify=verify,
            retries=self.engine_retries,
            connections=self.engine_connections,
        )

    def __str__(self) -> str:
        return f"Settings(store={without_login(self.store)!r}, …)"

    __repr__ = __str__

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the settings; raise ParameterError for an unknown setting or an invalid value."""
        _require_known(environ)
        path, config = _config(environ.get(CONFIG))
        from_environment, from_file = {}, {}
        for name, about in _settings_by_attribute().items():
            if about.variable and environ.get(about.variable):
                from_environment[name] = about.read(environ[about.variable], about.variable)
            elif about.key in config:
                from_file[name] = about.read(config[about.key], f"{path}: {about.key}")
        if not environ.get(CONFIG):
            _require_harmless(path, from_file, from_environment)
        return cls(**from_file, **from_environment)


def use_settings_file(path: str) -> None:
    """Use a settings file from now on, also in child processes."""
    os.environ[CONFIG] = path


def use_in_workers(settings: Settings, shared_folder: Path) -> None:
    """Set the variables of worker processes: a shared folder, and settings that options of `whorl serve` can change."""
    host, port = settings.listen
    os.environ |= {
        _SHARED_FOLDER: str(shared_folder),
        "WHORL_STORE": settings.store,
        "WHORL_LISTEN": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        "WHORL_WORKERS": str(settings.workers),
    }


def shared_folder() -> Path:
    return Path(os.environ[_SHARED_FOLDER])


def write_file(store: str, names: FieldNames, *, dry_run: bool = False) -> str:
    """Write a store's name and field names to `whorl.toml` for later commands; return a line for the user, or "".

    An existing file is never changed. Credentials, and servers that need credentials, are not written: whorl may find
    the file in the working directory, and a file found there must not decide where credentials go
    (`_require_harmless`).
    """
    current, path = Settings.load(), Path(os.environ.get(CONFIG) or "whorl.toml")
    variables = [_settings_by_attribute()[name].variable for name in _CREDENTIALS]
    secrets = [variable for variable in variables if variable and os.environ.get(variable)]
    if without_login(store) != store:
        secrets.append("the password of the address")
    is_named = current.store == store
    hint = ""
    if secrets and not is_named:
        hint = f"; name the server with --store or {PREFIX}STORE: a file must not say who gets {' and '.join(secrets)}"
    lines = [] if is_named or secrets else [f"store = {_quote(store)}", ""]
    if names != current.fields:
        defaults = asdict(FieldNames())
        own = {name: value for name, value in asdict(names).items() if value != defaults[name]}
        lines += ["[fields]", *(f"{name} = {_quote(value)}" for name, value in own.items())]
    if not lines:
        return hint.removeprefix("; ")
    content = "\n".join(lines).rstrip() + "\n"
    needs = f"later commands need this in it:\n{content.rstrip()}{hint}"
    if path.exists():
        return f"{path} stays as it is; {needs}"
    if not dry_run:
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(content)
        except OSError as error:
            return f"{path} cannot be written ({error.strerror}); {needs}"
    return f"{'would write' if dry_run else 'wrote'} {path.absolute()}, which later commands in its folder read{hint}"


def _quote(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def all_settings() -> tuple[Setting, ...]:
    return tuple(_settings_by_attribute().values())


def _settings_by_attribute() -> dict[str, Setting]:
    declared = {attribute.name: attribute.metadata["setting"] for attribute in fields(Settings)}
    return {name: about._replace(key=about.key or name) for name, about in declared.items()}


def _require_known(environ: Mapping[str, str]) -> None:
    """Raise ParameterError for a variable with whorl's prefix that is not a setting."""
    known = {CONFIG, *(about.variable for about in all_settings() if about.variable)}
    for name in environ:
        if name.startswith(PREFIX) and not (
            name in known
            or _TEST_VARIABLES.fullmatch(name)
            or _KUBERNETES_VARIABLES.search(name)
            or (name.endswith("_PORT") and _LINK.match(environ[name]))
            or not environ[name]
        ):
            raise ParameterError(
                f"there is no setting {name}{suggestion(name, known)}; docs/settings.md lists what there is"
            )


def _config(named: str | None) -> tuple[Path, dict[str, Any]]:
    """Return the path and the content of the settings file; without a file, the content is empty."""
    path = Path(named or "whorl.toml")
    if not named and not path.exists():
        return path, {}
    import tomllib

    try:
        config = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        source = CONFIG if named else "the configuration"
        raise ParameterError(f"{source}: {path} cannot be read: {error}") from error
    known = {about.key for about in all_settings()}
    for key in config:
        if key not in known:
            raise ParameterError(
                f"{path}: there is no setting {key!r}{suggestion(key, known)}; known are {', '.join(sorted(known))}"
            )
    return path, config


def _require_harmless(path: Path, from_file: Mapping[str, Any], from_environment: Mapping[str, Any]) -> None:
    """Refuse dangerous settings in a `whorl.toml` in the working directory, because the folder may be untrusted.

    Raises:
        ParameterError: A setting exposes the service, names the jars to run, or decides where credentials of the
            environment are sent.
    """
    about = _settings_by_attribute()
    refused = {name: "lets others use the service" for name in _EXPOSING if from_file.get(name)}
    if "listen" in from_file and from_file["listen"][0] not in LOOPBACK:
        refused["listen"] = "lets others use the service"
    refused |= {name: "chooses the programs that whorl starts" for name in _PROGRAMS if name in from_file}
    refused |= {name: "decides which servers are trusted" for name in _TRUST if name in from_file}
    secrets = [about[name].variable for name in _CREDENTIALS if name in from_environment]
    if secrets and "://" in from_file.get("store", ""):
        refused["store"] = f"names a server, which would receive {' and '.join(map(str, secrets))}"
    for name, reason in refused.items():
        raise ParameterError(
            f"{path.absolute()}: {about[name].key} {reason}, so the file has to be named: "
            f"whorl --config {path}, or {CONFIG}={path}"
        )
