"""HTTP to one Solr core or collection: every request leaves here, every failure becomes an error of ours.

Queries are JSON bodies sent by POST. Tokens hold control characters, commas and blanks, which URLs, XML and
separated lists would damage.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import pysolr
import requests
from requests.adapters import HTTPAdapter

from whorl.errors import EngineError, EngineResponseError, EngineUnavailableError, ParameterError

#: A JSON object as it comes from or goes to Solr.
Json = dict[str, Any]

_TITLE = re.compile(r"<title>(.*?)</title>", re.IGNORECASE | re.DOTALL)

# pysolr logs what it also raises; without a handler of its own the message would go to standard error as well.
logging.getLogger("pysolr").addHandler(logging.NullHandler())


class SolrClient:
    """A core or collection under its base URL, `http://host:8983/solr/name`.

    Args:
        url: Base URL; `user:password@` before the host becomes basic authentication and is never shown.
        timeout_seconds: How long one answer may take; connecting may take five seconds of it.
        auth: User and password, where the URL holds none.

    Raises:
        ParameterError: The URL is not one of a core or collection.
    """

    def __init__(self, url: str, *, timeout_seconds: float = 60.0, auth: tuple[str, str] | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or len(parts.path.strip("/").split("/")) < 2:
            raise ParameterError(
                f"{_without_password(url)!r} is not the address of a Solr core or collection; "
                "it looks like http://localhost:8983/solr/NAME"
            )
        if parts.username is not None:
            auth = (unquote(parts.username), unquote(parts.password or ""))
        self.url = _without_password(url).rstrip("/")
        self._timeout = (min(5.0, timeout_seconds), timeout_seconds)
        self._session = requests.Session()
        self._session.auth = auth
        # Solr and its user sit on a trusted path that the user named; a proxy from the environment is not part of it.
        self._session.trust_env = False
        self._session.mount("http", HTTPAdapter(pool_maxsize=16))
        self._pysolr = pysolr.Solr(self.url, timeout=self._timeout, session=self._session, auth=auth)

    def get(self, path: str, **params: str | int) -> Json:
        """Fetch `path` under the collection's URL."""
        return self._send("GET", f"{self.url}/{path}", params=params)

    def post(self, path: str, body: object, **params: str | int) -> Json:
        """Send `body` as JSON to `path` under the collection's URL."""
        return self._send("POST", f"{self.url}/{path}", json=body, params=params)

    def add(self, documents: Sequence[Mapping[str, object]]) -> None:
        """Send documents; Solr has written them to its log when this returns, a commit makes them searchable."""
        with self._translated("indexing"):
            self._pysolr.add(documents, commit=False)

    def commit(self) -> None:
        """Make everything sent so far searchable."""
        with self._translated("commit"):
            self._pysolr.commit()

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def _send(self, method: str, url: str, **arguments: Any) -> Json:
        with self._translated(url.removeprefix(self.url)):
            response = self._session.request(method, url, timeout=self._timeout, **arguments)
        detail = _detail(response)
        if response.status_code != 200:
            raise _response_error(self.url, response.status_code, detail)
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise EngineResponseError(
                f"{self.url} answered, but not as a Solr does (no JSON object): is this a Solr's address? "
                f"It said: {detail}",
                status=response.status_code,
                detail=detail,
            )
        return answer

    @contextmanager
    def _translated(self, doing: str) -> Iterator[None]:
        """Turn the libraries' errors into ours."""
        try:
            yield
        except requests.Timeout as error:
            raise EngineUnavailableError(
                f"Solr at {self.url} did not answer within {self._timeout[1]:g} s ({doing}); "
                "try again, or allow it more time with WHORL_TIMEOUT"
            ) from error
        except requests.RequestException as error:
            raise _unreachable(self.url) from error
        except pysolr.SolrError as error:
            raise _from_pysolr(self.url, error) from error


def _unreachable(url: str) -> EngineUnavailableError:
    return EngineUnavailableError(f"no Solr answers at {url}; is it running, and is the address right?")


def _from_pysolr(url: str, error: Exception) -> EngineError:
    """Tell pysolr's one exception apart by what it was raised from: it chains the transport's error."""
    if isinstance(error.__context__, requests.Timeout):
        return EngineUnavailableError(f"Solr at {url} did not answer in time; try again, or raise WHORL_TIMEOUT")
    if isinstance(error.__context__, requests.RequestException):
        return _unreachable(url)
    return EngineResponseError(f"Solr at {url} refused the documents: {error}", detail=str(error))


def _response_error(url: str, status: int, detail: str) -> EngineError:
    if status == 404:
        return EngineResponseError(
            f"{url} answers 404, so there is no such core or collection, or it lacks a request handler ({detail})",
            status=status,
            detail=detail,
        )
    if status in (401, 403):
        return EngineResponseError(
            f"{url} answers {status}: set WHORL_SOLR_AUTH=user:password, or check the user's rights",
            status=status,
            detail=detail,
        )
    if "maxClauseCount" in detail:
        return EngineResponseError(
            f"the query has more clauses than {url} allows ({detail}); ask for fewer terms at once, or raise "
            "maxBooleanClauses in solr.xml",
            status=status,
            detail=detail,
        )
    if status == 503:
        return EngineUnavailableError(f"Solr at {url} is there but cannot answer now (503): {detail}")
    return EngineResponseError(f"Solr at {url} answers {status}: {detail}", status=status, detail=detail)


def _detail(response: requests.Response) -> str:
    """Return the server's own words, short and on one line."""
    if response.status_code == 200 and "json" in response.headers.get("Content-Type", ""):
        return ""
    try:
        error = response.json()["error"]
        words = str(error.get("msg") or error.get("trace", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        # A proxy's or Jetty's page: its title says what there is to say.
        title = _TITLE.search(response.text)
        words = title[1] if title else response.text
    return " ".join(words.split())[:300]


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
