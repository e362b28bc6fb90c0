"""Settings, from the environment and a `whorl.toml`: the only reader of either.

    WHORL_STORE      the store used where none is named: a Solr URL or a folder
    WHORL_SOLR_AUTH  user:password for Solr, where the URL holds none
    WHORL_TIMEOUT    seconds that one answer of Solr may take (default 60)
    WHORL_API_KEY    what `whorl serve` takes as a bearer token
    WHORL_USER       whom it takes by basic authentication and gives tickets to, as Alfresco does
    WHORL_PASSWORD   with which password; without a user and a key, the service is open on this machine alone
    WHORL_CONFIG     the file to read instead of ./whorl.toml
    WHORL_SOLR_CACHE where the jars of a local Solr are kept

`whorl.toml` may hold `store`, `timeout`, `user`, `password`, a table `[fields]` that names a collection's fields:
`minhash`, `content`, `name`, `dbid`, `noderef`, and a table `[names]` from the names of fields in queries to those in
the store. The environment wins over the file.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import platformdirs

from whorl.errors import ParameterError
from whorl.solr.schema import FieldNames


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be configured; see the module for the names.

    Args:
        store: A Solr URL or a folder.
        timeout_seconds: Above 0.
        solr_auth: User and password; never shown.
        fields: What a collection calls its fields.
        names: What fields that queries name are called in the store.
        solr_cache: Folder for the jars of a local Solr.
        api_key: Of the HTTP service; never shown.
        user: Name and password of whom the HTTP service knows; never shown.
    """

    store: str
    timeout_seconds: float
    solr_auth: tuple[str, str] | None
    fields: FieldNames
    solr_cache: Path
    api_key: str | None = None
    user: tuple[str, str] | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        shown = "set" if self.solr_auth else "not set"
        store = re.sub("//.*@", "//", self.store, flags=re.DOTALL)
        return f"Settings(store={store!r}, timeout_seconds={self.timeout_seconds}, solr_auth={shown})"

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the settings.

        Raises:
            ParameterError: A value that cannot be used, with its name.
        """
        path, config = _config(environ.get("WHORL_CONFIG"))
        timeout = environ.get("WHORL_TIMEOUT")
        return cls(
            store=environ.get("WHORL_STORE") or _store(config.get("store"), path) or str(_default_store()),
            timeout_seconds=(
                _seconds(timeout, "WHORL_TIMEOUT")
                if timeout
                else _seconds(config.get("timeout", 60), f"{path}: timeout")
            ),
            solr_auth=_auth(environ.get("WHORL_SOLR_AUTH")),
            fields=_field_names(config.get("fields", {}), path),
            solr_cache=Path(environ.get("WHORL_SOLR_CACHE") or platformdirs.user_cache_path("whorl") / "solr"),
            api_key=environ.get("WHORL_API_KEY") or None,
            user=_user(environ, config, path),
            names=_names(config.get("names", {}), path),
        )


def _default_store() -> Path:
    return platformdirs.user_data_path("whorl") / "store"


def _config(named: str | None) -> tuple[Path, dict[str, Any]]:
    path = Path(named or "whorl.toml")
    if not named and not path.is_file():
        return path, {}
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        source = "WHORL_CONFIG" if named else "the configuration"
        raise ParameterError(f"{source}: {path} cannot be read: {error}") from error
    unknown = set(config) - {"store", "timeout", "user", "password", "fields", "names"}
    if unknown:
        raise ParameterError(
            f"{path} has unknown entries {sorted(unknown)}; known are store, timeout, user, password, [fields] and "
            "[names]"
        )
    return path, config


def _store(told: object, path: Path) -> str:
    if told is not None and not isinstance(told, str):
        raise ParameterError(f"{path}: store must be a Solr URL or a folder, got {told!r}")
    return told or ""


def _field_names(told: object, path: Path) -> FieldNames:
    known = [each.name for each in fields(FieldNames)]
    if not isinstance(told, dict) or not all(
        name in known and isinstance(told[name], str) and told[name] for name in told
    ):
        raise ParameterError(f"{path}: [fields] maps {', '.join(known)} to the collection's own names, got {told!r}")
    return FieldNames(**told)


def _names(told: object, path: Path) -> Mapping[str, str]:
    if not isinstance(told, dict) or not all(isinstance(name, str) and name for name in told.values()):
        raise ParameterError(
            f'{path}: [names] maps names in queries to fields of the store ("cm:title" = "title"), got {told!r}'
        )
    return told


def _seconds(told: object, name: str) -> float:
    try:
        # TOML's true is no number of seconds.
        seconds = 0.0 if isinstance(told, bool) else float(told)  # type: ignore[arg-type]  # float says what is one
    except (TypeError, ValueError, OverflowError):
        seconds = 0.0
    if not 0 < seconds < 86_400:
        raise ParameterError(f"{name} must be seconds, above 0 and below a day, got {told!r}")
    return seconds


def _user(environ: Mapping[str, str], config: Mapping[str, Any], path: Path) -> tuple[str, str] | None:
    user, password = (
        environ.get(variable) or config.get(entry)
        for variable, entry in (("WHORL_USER", "user"), ("WHORL_PASSWORD", "password"))
    )
    if user is None and password is None:
        return None
    if not (isinstance(user, str) and isinstance(password, str) and user and password) or ":" in user:
        raise ParameterError(
            f"WHORL_USER and WHORL_PASSWORD (in {path}: user and password) go together, and a name has no colon"
        )
    return user, password


def _auth(told: str | None) -> tuple[str, str] | None:
    if not told:
        return None
    user, separator, password = told.partition(":")
    if not separator or not user:
        raise ParameterError("WHORL_SOLR_AUTH must be user:password")
    return user, password
