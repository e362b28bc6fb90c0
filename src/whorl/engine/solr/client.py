"""HTTP to one Solr core or collection: every request leaves here, every failure becomes an error of ours.

Queries are JSON bodies sent by POST. Tokens hold control characters, commas and blanks, which URLs, XML and
separated lists would damage.
"""

from __future__ import annotations

import itertools
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, NoReturn, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

import pysolr
import requests

from whorl.context import seconds_left, trace
from whorl.engine.solr.answer import Json
from whorl.engine.solr.transport import Link, distrust, session
from whorl.errors import EngineError, EngineResponseError, EngineUnavailableError, ParameterError
from whorl.fingerprint.hashing import well_formed

_TITLE = re.compile(r"<title>(.*?)</title>", re.IGNORECASE | re.DOTALL)
#: What may be a user and a password, also where characters in them break the address.
_CREDENTIALS = re.compile("//.*@", re.DOTALL)
_Answered = TypeVar("_Answered")
#: What is left of a request's time when it was that which ended an answer.
_SOON_SECONDS = 0.05

# pysolr logs what it also raises; without a handler of its own the message would go to standard error as well.
logging.getLogger("pysolr").addHandler(logging.NullHandler())


class SolrClient:
    """A core or collection under its base URL, `http://host:8983/solr/name`.

    Args:
        url: Base URL; `user:password@` before the host becomes basic authentication and is never shown.
        timeout_seconds: How long Solr may be silent within one answer; less, where whoever waits has less time left.
        auth: User and password, where the URL holds none.
        link: Time to connect, trust, repetitions and connections.

    Raises:
        ParameterError: The URL is not one of a core or collection.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_seconds: float = 60.0,
        auth: tuple[str, str] | None = None,
        link: Link = Link(),  # noqa: B008 - frozen
    ) -> None:
        parts = _address(url)
        if parts.username is not None:
            auth = (unquote(parts.username), unquote(parts.password or ""))
        self.url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")
        self._timeout_seconds, self._auth, self._link = timeout_seconds, auth, link
        self._session = session(link, timeout_seconds, auth)
        # Or Solr replaces ${…} in ids, words and tokens by the request's own parameters.
        self._session.params = {"expandMacros": "false"}
        # One place that judges every answer, pysolr's too, before anything else sees it.
        self._session.hooks["response"].append(self._judge)
        self._pysolr = pysolr.Solr(self.url, session=self._session, auth=auth)

    def get(self, path: str, **params: str | int) -> Json:
        """Fetch `path` under the collection's URL."""
        return self._send("GET", path, params=params)

    def post(self, path: str, body: object, **params: str | int) -> Json:
        """Send `body` as JSON to `path` under the collection's URL: a question, or documents and ids."""
        return self._send("POST", path, json=body, params=params)

    def change(self, path: str, command: object) -> Json:
        """Send a command to the schema or the configuration; never a second time, since what is there is refused."""
        return self._once("POST", path, json=command)

    def post_text(self, path: str, text: str, **params: str | int) -> Json:
        """Send plain text to `path` under the collection's URL."""
        # A lone surrogate would be U+FFFD for Solr's decoder as well.
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        return self._send("POST", path, data=well_formed(text).encode(), headers=headers, params=params)

    def add(self, documents: Sequence[Mapping[str, object]]) -> None:
        """Send documents; Solr has written them to its log when this returns, a commit makes them searchable."""
        self._object(self._repeated(lambda: self._pysolr.add(documents, commit=False), "indexing"))

    def commit(self) -> None:
        """Make everything sent so far searchable."""
        # Not pysolr's, which sends XML and so gets XML back.
        self.post("update", {"commit": {}})

    def cores(self, *, directly: bool = True) -> Iterator[SolrClient]:
        """Yield a client for one core of each shard; for this one itself in a standalone Solr.

        Args:
            directly: Whether they are asked at the addresses that the nodes call themselves by, which need not be known
                everywhere. Else this address is asked, whose node passes requests on.
        """
        base, name = self.url.rsplit("/", 1)
        with closing(self._at(f"{base}/admin")) as admin:
            try:
                found = admin.get("collections", action="CLUSTERSTATUS", collection=unquote(name))
            except EngineResponseError as error:
                if error.status != 400:
                    raise
                # No SolrCloud: the name is that of a core.
                yield self
                return
        for collection in found["cluster"]["collections"].values():
            for shard in collection["shards"].values():
                replicas = sorted(shard["replicas"].values(), key=lambda each: each.get("leader") != "true")
                if shard.get("state") == "active" and replicas:
                    at = replicas[0]["base_url"] if directly else base
                    with closing(self._at(f"{at}/{replicas[0]['core']}")) as core:
                        yield core

    def _at(self, url: str) -> SolrClient:
        return SolrClient(url, timeout_seconds=self._timeout_seconds, auth=self._auth, link=self._link)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def _send(self, method: str, path: str, **arguments: Any) -> Json:
        return self._repeated(lambda: self._once(method, path, **arguments), path)

    def _once(self, method: str, path: str, **arguments: Any) -> Json:
        with self._translated(path):
            response = self._session.request(method, f"{self.url}/{path}", **arguments)
        return self._object(response.content)

    def _repeated(self, send: Callable[[], _Answered], doing: str) -> _Answered:
        """Send a request again that may succeed in a moment.

        All of them can be: questions change nothing, and documents and ids replace what an earlier attempt has left.
        """
        noted = trace()
        for repetition in itertools.count(1):
            began = time.monotonic()
            noted.solr_requests += 1
            try:
                with self._translated(doing):
                    return send()
            except EngineUnavailableError as error:
                pause, left = self._link.pause_before(repetition), seconds_left()
                if not error.is_passing or pause is None or (left is not None and left <= pause):
                    raise
            finally:
                noted.solr_seconds += time.monotonic() - began
            noted.solr_retries += 1
            time.sleep(pause)
        raise AssertionError("counting ends")

    def _judge(self, response: requests.Response, **_: object) -> None:
        if response.status_code != 200:
            raise _response_error(self.url, response)

    def _object(self, body: str | bytes) -> Json:
        """Return the JSON object that a body holds; whatever is looked up in it and missing is an error of ours."""
        try:
            told = json.loads(body)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            text = body if isinstance(body, str) else body.decode(errors="replace")
            self._strange(f"no JSON object: {_words(text) or 'nothing'}")
        return _Answer(self._strange, told)

    def _strange(self, what: str) -> NoReturn:
        raise EngineResponseError(
            f"{self.url} answers, but not as a Solr does ({what}); is this a Solr's address?", status=200, detail=what
        )

    @contextmanager
    def _translated(self, doing: str) -> Iterator[None]:
        """Turn the libraries' errors into ours."""
        try:
            yield
        except requests.RequestException as error:
            raise self._unavailable(error, doing) from error
        except pysolr.SolrError as error:
            # pysolr chains the transport's error; answers have been judged before it sees them.
            raise self._unavailable(error.__context__, doing) from error
        except ValueError as error:
            # Of urllib3, which requests lets through: a host name that cannot be one.
            raise self._unavailable(error, doing) from error

    def _unavailable(self, error: BaseException | None, doing: str) -> EngineUnavailableError:
        # Python's own: a body that could not be sent in time.
        if isinstance(error, requests.Timeout) or "TimeoutError" in repr(error):
            left = seconds_left()
            if left is not None and left < _SOON_SECONDS:
                return EngineUnavailableError(
                    f"Solr at {self.url} did not answer in the time that this request has ({doing}); try again, or "
                    "allow requests more with WHORL_REQUEST_TIMEOUT"
                )
            return EngineUnavailableError(
                f"Solr at {self.url} did not answer within {self._timeout_seconds:g} s ({doing}); "
                "try again, or allow it more time with WHORL_TIMEOUT"
            )
        reason = distrust(error)
        if reason is not None:
            return EngineUnavailableError(
                f"{self.url} cannot be trusted ({reason}); does it speak TLS, and does WHORL_SOLR_CA name "
                "the authority that vouches for it?"
            )
        is_passing = not isinstance(error, requests.exceptions.InvalidURL | UnicodeError)
        message = f"no Solr answers at {self.url}; is it running, and is the address right?"
        return EngineUnavailableError(message, is_passing=is_passing)


class _Answer(Json):
    """An object in Solr's answer; what is missing in it is told, instead of a KeyError."""

    def __init__(self, strange: Callable[[str], NoReturn], told: Json) -> None:
        super().__init__(told)
        self._strange = strange

    def __getitem__(self, key: str) -> Any:
        # Only what is looked up is wrapped: term vectors hold thousands of objects.
        value = super().__getitem__(key)
        if isinstance(value, list):
            return [_Answer(self._strange, each) if isinstance(each, dict) else each for each in value]
        return _Answer(self._strange, value) if isinstance(value, dict) else value

    def __missing__(self, key: str) -> NoReturn:
        self._strange(f"no {key!r} in {', '.join(map(repr, self)) or 'an empty object'}")


def _address(url: str) -> SplitResult:
    """Return the parts of a collection's URL, or raise ParameterError with a message that shows no password."""
    shown = _CREDENTIALS.sub("//", url)
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        # Brackets that do not close, a port that is no number.
        parts, is_address = SplitResult("", "", "", "", ""), False
    path = parts.path.strip("/").split("/")
    if not is_address or len(path) < 2 or parts.query or parts.fragment or "@" in parts.path:
        raise ParameterError(
            f"{shown!r} is not the address of a Solr core or collection; it looks like http://localhost:8983/solr/NAME"
            + ("; in a password, write / # ? @ as %2F %23 %3F %40, or use WHORL_SOLR_AUTH" if shown != url else "")
        )
    return parts


def _response_error(url: str, response: requests.Response) -> EngineError:
    status = response.status_code
    detail = _detail(response)
    if response.is_redirect:
        to = _CREDENTIALS.sub("//", response.headers["Location"])
        return EngineResponseError(
            f"{url} answers {status}, to be asked at {to} instead; name the address that answers itself",
            status=status,
            detail=to,
        )
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
    if status in (429, 502, 503, 504):
        # The first and the last but one from Solr, the others from a proxy that has lost it.
        return EngineUnavailableError(f"Solr at {url} cannot answer now ({status}): {detail}", is_passing=True)
    return EngineResponseError(f"Solr at {url} answers {status}: {detail}", status=status, detail=detail)


def _detail(response: requests.Response) -> str:
    """Return the server's own words, short and on one line."""
    try:
        error = response.json()["error"]
        return _short(str(error.get("msg") or error.get("trace", "")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return _words(response.text)


def _words(page: str) -> str:
    """Return what a proxy's or Jetty's page says: its title says what there is to say."""
    title = _TITLE.search(page)
    return _short(title[1] if title else page)


def _short(words: str) -> str:
    return " ".join(words.split())[:300]
