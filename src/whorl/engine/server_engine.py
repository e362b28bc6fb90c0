"""Defines `ServerEngine`, the base class of the Solr and OpenSearch engines, and their shared code.

The shared code manages connections, retries, caches, commits, look-ups of passages, sketches, and Lucene's limits
on queries. The HTTP client uses the connection pools of urllib3, and adds whorl's deadlines, error messages and
retries. Threads can share one client.
"""

from __future__ import annotations

import inspect
import io
import json
import logging
import math
import os
import random
import re
import ssl
import threading
import time
from abc import abstractmethod
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import wraps
from http.client import HTTPException
from itertools import chain
from pathlib import Path
from traceback import extract_tb
from types import GeneratorType
from typing import Any, Generic, NamedTuple, NoReturn, TypeAlias, TypeVar, cast
from urllib.parse import SplitResult, unquote, urlsplit

import numpy as np
import orjson
import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ProtocolError, ReadTimeoutError

from whorl.arrays_and_batches import batches, chunks
from whorl.engine.index_terms import state_doublings
from whorl.engine.protocol import Engine, PassageMatches
from whorl.errors import (
    EngineError,
    EngineResponseError,
    EngineUnavailableError,
    ParameterError,
    SchemaError,
    Span,
    UnsupportedQueryError,
    WhorlError,
    without_login,
)
from whorl.fingerprint.fingerprint_texts import least_stored_size, text_sketches
from whorl.fingerprint.shingling import JoinedWords, Scheme
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme, decode_texts, encode, encode_tokens
from whorl.fingerprint.winnowing import PassageScheme, stored_passage_hashes
from whorl.query.ast import Pattern, as_typed
from whorl.query.plan.fields_and_values import Fields
from whorl.query.plan.nodes import (
    Bool,
    BoundLeaf,
    BoundNode,
    BoundPlan,
    DocumentsByScore,
    FuzzyWord,
    InOrder,
    PassageHashes,
    SharedBands,
    SharedTokens,
    SketchTokens,
    WildcardValue,
    leaves,
)
from whorl.request_context import require_time, seconds_left, trace

#: Number of bytes of a request body to send at once. The timeout applies to each block.
_BLOCK_BYTES = 1 << 16
#: If a request times out within this number of seconds of its deadline, report the deadline as the cause.
_SOON_SECONDS = 0.05
# urllib3 does not know the request's deadline, so `with_retries` retries instead.
_ONE_ATTEMPT = urllib3.Retry(total=False)


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """Connection options for a server.

    Args:
        timeout_seconds: Longest pause while a request is sent or its response is read.
        connect_seconds: Longest time to open a connection.
        auth: User and password; not needed if the URL contains them.
        api_key: Elasticsearch's API key, sent instead of user and password.
        ca: File or folder of CA certificates; None for the system's certificates.
        connections: Maximum number of idle connections.
    """

    timeout_seconds: float = 60.0
    connect_seconds: float = 5.0
    auth: tuple[str, str] | None = None
    api_key: str | None = None
    ca: str | None = None
    verify: bool = True
    retries: int = 3
    connections: int = 16

    def __post_init__(self) -> None:
        if self.api_key and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise ParameterError("an API key has no line breaks and only ASCII characters")

    @property
    def headers(self) -> dict[str, str]:
        headers = {"accept-encoding": "gzip"}
        if self.api_key:
            headers["authorization"] = f"ApiKey {self.api_key}"
        elif self.auth:
            headers["authorization"] = f"Basic {b64encode(':'.join(self.auth).encode()).decode()}"
        return headers


class _PlainConnection(HTTPConnection):
    """HTTP connection that has a separate timeout for connecting, and refuses ambiguous responses."""

    def __init__(self, *args: Any, connect_seconds: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connect_seconds = connect_seconds

    def connect(self) -> None:
        # Use the shorter timeout for connecting only. urllib3 would also use it for sending, but a server may take
        # longer to read a large body.
        timeout = self.timeout
        self.timeout = min(float(timeout or 0.0), self._connect_seconds)
        try:
            super().connect()
        except TimeoutError as error:
            # The TLS handshake timed out; urllib3 would report a read timeout.
            raise ConnectTimeoutError(self, str(error)) from error
        finally:
            self.timeout = timeout
        self.sock.settimeout(timeout)

    def getresponse(self) -> urllib3.HTTPResponse:  # type: ignore[override]  # as in urllib3's own class
        response = super().getresponse()
        # Reject an interim response (1xx): the final response, which follows it, would be taken for the response to the
        # next request.
        if response.status < 200:
            raise ProtocolError(f"interim response {response.status}")
        # If a response has both headers, proxies disagree about which header counts (request smuggling; RFC 9112, 6.3).
        # So reject it.
        if "content-length" in response.headers and "transfer-encoding" in response.headers:
            raise ProtocolError("response with two lengths")
        return response


class _TlsConnection(_PlainConnection, HTTPSConnection):
    """`_PlainConnection` over TLS."""


class ServerConnections:
    """Persistent connections to one server, shared by threads.

    Args:
        url: URL of the server without credentials, for messages.
        default_ca: File or folder of CA certificates, if the options have no `ca`.
    """

    def __init__(self, url: str, name: str, ca_setting: str, access: ServerAccess, default_ca: str | None) -> None:
        self.url, self._name, self._ca_setting, self._access = url, name, ca_setting, access
        self._ca = access.ca or default_ca
        #: Process id and connection pool: a forked process makes its own pool.
        self._pool: tuple[int, urllib3.HTTPConnectionPool] | None = None

    def request(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> urllib3.BaseHTTPResponse:
        """Send a request and read the whole response; raise EngineUnavailableError if it does not arrive in time.

        `target` is the URL's path and query; the values of the headers are ASCII.
        """
        left = seconds_left()
        silence = self._access.timeout_seconds if left is None else min(left, self._access.timeout_seconds)
        content: bytes | io.BytesIO | None = body
        if body is not None and len(body) > _BLOCK_BYTES:
            # A socket's timeout applies to each send, so send a large body in blocks.
            content, headers = io.BytesIO(body), {**headers, "Content-Length": str(len(body))}
        try:
            if silence <= 0:
                raise TimeoutError("the request's deadline has passed")
            return self._connection_pool().urlopen(
                method, target, content, headers, retries=_ONE_ATTEMPT, redirect=False, timeout=silence
            )
        except (HTTPError, HTTPException, OSError, ValueError, OverflowError, MemoryError) as error:
            raise self._unavailable(error, target) from error

    def _connection_pool(self) -> urllib3.HTTPConnectionPool:
        # A forked process must not use its parent's connections: it would read the parent's responses.
        pool = self._pool
        if pool is None or pool[0] != os.getpid():
            pool = self._pool = os.getpid(), self._new_pool()
        return pool[1]

    def _new_pool(self) -> urllib3.HTTPConnectionPool:
        is_tls, access = self.url.startswith("https:"), self._access
        options: dict[str, Any] = {"maxsize": access.connections, "connect_seconds": access.connect_seconds}
        if is_tls:
            options["ssl_context"] = self._tls_context()
        pool = urllib3.connection_from_url(self.url, blocksize=_BLOCK_BYTES, **options)
        pool.ConnectionCls = _TlsConnection if is_tls else _PlainConnection
        return pool

    def _tls_context(self) -> ssl.SSLContext:
        is_folder = self._ca is not None and Path(self._ca).is_dir()
        context = (
            ssl.create_default_context(capath=self._ca) if is_folder else ssl.create_default_context(cafile=self._ca)
        )
        # Like all current clients, check the subject alternative name only (RFC 9110, 4.3.4).
        context.hostname_checks_common_name = False
        if not self._access.verify:
            # The user has switched verification off; the documentation explains the risk.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        return context

    def close(self) -> None:
        """Close the idle connections; a later request opens new connections."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool[1].close()

    def _unavailable(self, error: Exception, target: str) -> EngineUnavailableError:
        # urllib3 wraps the errors of sockets and TLS, so unwrap them.
        cause = error.args[-1] if error.args and isinstance(error.args[-1], Exception) else error
        is_connect_timeout = isinstance(error, ConnectTimeoutError) and not isinstance(error, NewConnectionError)
        server, path = f"{self._name} at {self.url}", target.partition("?")[0].rstrip("/").rpartition("/")[2]
        if is_connect_timeout or isinstance(error, ReadTimeoutError) or isinstance(cause, TimeoutError):
            left = seconds_left()
            if left is not None and left < _SOON_SECONDS:
                problem = f"{server} did not answer in the time that this request has"
                remedy = "try again, or allow requests more with WHORL_REQUEST_TIMEOUT"
            elif is_connect_timeout:
                problem = f"no connection to {server} within {self._access.connect_seconds:g} s"
                remedy = "is the address right? Else allow it more time with WHORL_CONNECT_TIMEOUT"
            else:
                silent = "did not answer" if isinstance(error, ReadTimeoutError) else "stopped reading the request"
                problem = f"{server} {silent} within {self._access.timeout_seconds:g} s"
                remedy = "try again, or allow it more time with WHORL_TIMEOUT"
            return EngineUnavailableError(f"{problem} ({path}); {remedy}")
        # If the server has closed the connection, the certificate is not the problem.
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
            reason = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else cause.reason
            question = f"does {self._ca_setting} name the authority that vouches for it?"
            problem = f"{self.url} cannot be trusted ({reason or 'no TLS'})"
            return EngineUnavailableError(f"{problem}; does it speak TLS, and {question}")
        problem = f"no {self._name.removeprefix('the ')} answers at {self.url}"
        # An invalid host name raises ValueError. A retry would not help.
        is_temporary = not isinstance(error, ValueError)
        return EngineUnavailableError(f"{problem}; is it running, and is the address right?", is_temporary=is_temporary)


def split_address(
    url: str, access: ServerAccess, is_valid: Callable[[SplitResult], object], error: str
) -> tuple[SplitResult, ServerAccess]:
    """Split an address, and move its user and password into the connection options.

    Return the parts of the address without the login, and the new options. Raise ParameterError with the message
    `error` if the address has no host, or if `is_valid` rejects it.
    """
    # Python raises ValueError for unclosed brackets, and for a port that is not a number.
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.hostname and parts.port != 0 and not parts.query and is_valid(parts):
            if parts.username is not None:
                access = replace(access, auth=(unquote(parts.username), unquote(parts.password or "")))
            return parts._replace(netloc=parts.netloc.rpartition("@")[2]), access
    raise ParameterError(error)


def redirect_message(url: str, status: int, location: str) -> str:
    target = without_login(location)
    return f"{url} answers {status}, a redirect to {target}; give the address that answers without redirecting"


def json_bytes(body: object) -> bytes:
    """Encode JSON in UTF-8, which halves the size of tokens, or in ASCII if orjson refuses the body."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body, default=lambda fragment: orjson.loads(fragment.contents)).encode()


_log = logging.getLogger("whorl.engine")
_PACKAGE = os.path.join(Path(__file__).parents[1], "")
_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])
#: Errors that Python raises for a missing member, a wrong type, an unreadable value, or too deeply nested JSON.
_SHAPE_ERRORS = (AttributeError, LookupError, TypeError, ValueError, OverflowError, StopIteration, RecursionError)
# In a generator, Python turns StopIteration into RuntimeError.
_GUARDED_ERRORS = (*_SHAPE_ERRORS, RuntimeError)


def guard_responses(cls: _Class) -> _Class:
    """Apply `guard_response` to all public methods and properties of a class.

    The class is a client, or its objects have a client in `_client`.
    """
    for name, member in inspect.getmembers_static(cls):
        if name.startswith("_"):
            continue
        if isinstance(member, property) and member.fget is not None:
            setattr(cls, name, property(guard_response(member.fget), doc=member.__doc__))
        elif inspect.isfunction(member):
            setattr(cls, name, guard_response(member))
    return cls


def guard_response(function: _Function) -> _Function:
    """Decorate a method or function so that it may use responses without checking their structure.

    If Python raises an error such as KeyError because a response is malformed, the decorated function raises
    EngineResponseError instead. The first argument is a client, or an object with a client in `_client`.
    """

    # Do not use a context manager here: it would add a microsecond to each of the dozens of guarded calls in a search.
    @wraps(function)
    def guarded(self: Any, *args: Any, **arguments: Any) -> Any:
        try:
            result = function(self, *args, **arguments)
        except _GUARDED_ERRORS as error:
            _raise_malformed(self, error)
        return iterate_guarded(self, result) if isinstance(result, GeneratorType) else result

    def iterate_guarded(self: Any, results: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from results
        except _GUARDED_ERRORS as error:
            _raise_malformed(self, error)

    return guarded  # type: ignore[return-value]  # for callers, it is the same function


def _raise_malformed(owner: Any, error: Exception) -> NoReturn:
    """Raise EngineResponseError if a malformed response may have caused the error; otherwise, raise the error again.

    A defect of whorl may have caused it, too, so the message names the line of code, and the log shows the stack.
    """
    is_shape_error = isinstance(error, _SHAPE_ERRORS) or isinstance(error.__cause__, StopIteration)
    if isinstance(error, WhorlError) or not is_shape_error:
        raise error
    reason = f"no {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
    # Python prints warnings to the terminal if no log is configured, so log this as information.
    _log.info("unreadable answer", exc_info=error)
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename.startswith(_PACKAGE)]
    place = f"{frames[-1].filename.removeprefix(_PACKAGE)}, line {frames[-1].lineno}" if frames else "whorl"
    raise getattr(owner, "_client", owner).malformed_response(
        reason, f" If it is, whorl does not understand the answer ({place}); report this as an error of whorl"
    ) from error


#: Approximate pause before the first retry. Each retry doubles the pause, up to `_LONGEST_PAUSE_SECONDS`.
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0

_Result = TypeVar("_Result")


def with_retries(send: Callable[[], _Result], retries: int) -> _Result:
    """Send a request, retry after temporary failures, and record each attempt in the request's trace.

    Retries are harmless: queries change nothing, and storing or deleting a document twice has the same result as once.
    No attempt begins after the request's deadline.

    `send` sends the request once; it raises EngineUnavailableError with `is_temporary` after a temporary failure.
    """
    noted = trace()
    repetition = 0
    while True:
        repetition += 1
        began = time.monotonic()
        noted.engine_requests += 1
        try:
            return send()
        except EngineUnavailableError as error:
            pause, left = retry_pause(repetition), seconds_left()
            if not error.is_temporary or repetition > retries or (left is not None and left <= pause):
                raise
        finally:
            noted.engine_seconds += time.monotonic() - began
        noted.engine_retries += 1
        time.sleep(pause)


def retry_pause(repetition: int) -> float:
    """Return the pause before a retry in seconds; the first retry has the number 1.

    Half of the pause is random, so that clients do not all retry at once. Source: Brooker, "Exponential Backoff and
    Jitter", AWS Architecture Blog, 2015 ("equal jitter").
    """
    longest = min(_FIRST_PAUSE_SECONDS * 2.0 ** (repetition - 1), _LONGEST_PAUSE_SECONDS)
    return longest * random.uniform(0.5, 1.0)


_Value = TypeVar("_Value")


class TtlCache(Generic[_Value]):
    """Cache of one value for `seconds`; `fetch` gets the previous value, or None at first.

    One thread fetches a new value while the others wait.
    """

    def __init__(self, fetch: Callable[[_Value | None], _Value], seconds: float) -> None:
        # `fetch` may need another cached value of the same collection, so the lock is reentrant.
        self._fetch, self._seconds, self._lock = fetch, seconds, threading.RLock()
        self._fresh_until = -math.inf
        self._value: _Value | None = None
        self._forgetting, self._times_forgotten = threading.Lock(), 0

    def __call__(self) -> _Value:
        # A search reads the value a dozen times, so do not take the lock if the value is fresh. Set the expiry time
        # only after the new value: otherwise another thread could use the old value as if it were fresh.
        if time.monotonic() > self._fresh_until:
            with self._lock:
                if time.monotonic() > self._fresh_until:
                    times_forgotten = self._times_forgotten
                    self._value = self._fetch(self._value)
                    with self._forgetting:
                        # If `forget` was called during the fetch, the new value may be outdated already, so do not mark
                        # it as fresh.
                        if times_forgotten == self._times_forgotten:
                            self._fresh_until = time.monotonic() + self._seconds
        return cast(_Value, self._value)

    def not_older_than(self, seconds: float) -> _Value:
        if time.monotonic() > self._fresh_until - self._seconds + seconds:
            self.forget()
        return self()

    def forget(self) -> None:
        """Make the next call fetch the value again."""
        with self._forgetting:
            self._times_forgotten += 1
            self._fresh_until = -math.inf


_Key = TypeVar("_Key")


class LimitedCache(Generic[_Key, _Value]):
    """Cache of at most `most` values, the most recently stored ones; threads can share it."""

    def __init__(self, most: int) -> None:
        self._most, self._lock, self._values = most, threading.Lock(), dict[_Key, _Value]()

    def get(self, key: _Key) -> _Value | None:
        return self._values.get(key)

    def put(self, key: _Key, value: _Value) -> None:
        with self._lock:
            self._values.pop(key, None)
            self._values[key] = value
            if len(self._values) > self._most:
                del self._values[next(iter(self._values))]


class SharedCommit:
    """Group commit: one commit serves all threads that wait for a commit.

    A running commit may miss the documents of a thread, so the thread waits for a commit that begins after its call.
    """

    def __init__(self, commit: Callable[[], None]) -> None:
        self._commit = commit
        self._turn = threading.Lock()
        self._begun = self._ended = 0
        #: Number of the last commit that succeeded, and the error of the last commit that failed.
        self._succeeded, self._error = 0, EngineError("no commit has failed")

    def __call__(self) -> None:
        """Wait for a commit that begins after this call; raise the last EngineError if none has succeeded."""
        # Reading `_begun` needs no lock. If another thread begins a commit now, it either is counted in `_begun`
        # already, or begins after this call.
        wanted = self._begun + 1
        with self._turn:
            if self._ended < wanted:
                self._begun += 1
                try:
                    self._commit()
                    self._succeeded = self._begun
                except EngineError as error:
                    self._error = error
                # Another exception, such as KeyboardInterrupt, skips this line, so that the next thread commits again.
                self._ended = self._begun
            if self._succeeded < wanted:
                raise self._error


#: Limits of a request that looks up passage hashes: number of hashes, of documents in its response, and of ids.
_HASHES_AT_ONCE, _DOCUMENTS_AT_ONCE, _IDS_AT_ONCE = 400, 10_000, 1_000
#: Cache time in seconds for values that change when other clients index documents.
_CACHE_SECONDS = 30.0
#: Maximum age of the result of `fields(latest=True)`, in seconds. Every query with a misspelt field name calls this
#: method.
_LATEST_SECONDS = 1.0
#: Maximum number of passage hashes to count in one request.
_COUNTED_AT_ONCE = 500
#: Maximum number of references to resolve in one request. A reference becomes up to three clauses.
_REFERENCES_AT_ONCE = 200
#: Pairs of a document's id and the positions of its passage hashes in the request.
TermMatches: TypeAlias = Iterator[tuple[str, list[int]]]


class ServerEngine(Engine):
    """Base class of the engines for servers: commits, cached values, references, and look-ups of passages."""

    def __init__(self, commit: Callable[[], None]) -> None:
        self._commit = SharedCommit(commit)
        self._refreshed_caches: list[TtlCache[Any]] = []
        self._fields = self._until_refresh(self._read_fields)
        self._passages = self._until_refresh(self._passages_now)

    def _until_refresh(self, fetch: Callable[[], _Value], seconds: float = _CACHE_SECONDS) -> TtlCache[_Value]:
        """Return a cache of a value that changes when other clients index documents; `refresh` also clears it."""
        cache = TtlCache(lambda _: fetch(), seconds)
        self._refreshed_caches.append(cache)
        return cache

    @abstractmethod
    def _read_fields(self) -> Fields:
        """Read the fields of the searchable documents."""

    @abstractmethod
    def _passages_now(self) -> tuple[PassageScheme | None, bool]:
        """Return the scheme of the passage field, and whether all documents with a text have passage hashes."""

    @abstractmethod
    def _without_passages(self) -> SchemaError:
        """Return the error for a server without a passage field."""

    @abstractmethod
    def _count_terms(self, terms: Sequence[str]) -> list[int]:
        """Count the documents with each term of the passage field, in one request."""

    @abstractmethod
    def _match_terms(self, plan: BoundPlan, terms: Sequence[str], rows: int) -> TermMatches:
        """Run a plan; for each hit, yield its id and the indices of the `terms` that it has."""

    @abstractmethod
    def _meanings(self, reference: str) -> list[tuple[str, str]]:
        """Return the possible meanings of a reference as pairs of a field and a value, the preferred one first."""

    @abstractmethod
    def _values_of(self, document: dict[str, Any], field: str) -> Sequence[str]:
        """Return the values of a document in one of the fields of `_meanings`."""

    def _match_references(
        self, references: Collection[str], fetch: Callable[[Mapping[str, list[str]]], Iterable[dict[str, Any]]]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each reference that names a document, with the document.

        `fetch` takes lists of values, keyed by field, and returns the documents that have any of the values.
        """
        for batch in batches(dict.fromkeys(references), _REFERENCES_AT_ONCE):
            meanings = {reference: self._meanings(reference) for reference in batch}
            values: dict[str, list[str]] = {}
            for field, value in chain.from_iterable(meanings.values()):
                values.setdefault(field, []).append(value)
            named: dict[tuple[str, str], dict[str, Any]] = {}
            # A number may be an id or a DBID, so search all fields in one request.
            for document in fetch(values) if values else ():
                for field in values:
                    for value in self._values_of(document, field):
                        named.setdefault((field, value), document)
            for reference in batch:
                if matches := [named[meaning] for meaning in meanings[reference] if meaning in named]:
                    yield reference, matches[0]

    def refresh(self) -> None:
        self._commit()
        for cache in self._refreshed_caches:
            cache.forget()

    def fields(self, *, latest: bool = False) -> Fields:
        return self._fields.not_older_than(_LATEST_SECONDS) if latest else self._fields()

    @property
    def passage_scheme(self) -> PassageScheme | None:
        """Scheme of the passage hashes; None if some documents with a text have no passage hashes."""
        scheme, is_complete = self._passages()
        return scheme if is_complete else None

    @property
    def _scheme_of_passages(self) -> PassageScheme:
        """Scheme of the passage field, even if some documents have no passage hashes yet."""
        scheme, _ = self._passages()
        if scheme is None:
            raise self._without_passages()
        return scheme

    def passage_counts(self, numbers: Sequence[int]) -> Sequence[int]:
        terms = passage_hash_terms(numbers, self._scheme_of_passages)
        return [count for batch in batches(terms, _COUNTED_AT_ONCE) for count in self._count_terms(batch)]

    def find_documents_with_passages(
        self, counts: Mapping[int, int], *, most: int, among: Collection[str] = (), left_out: BoundNode | None = None
    ) -> PassageMatches:
        scheme = self._scheme_of_passages
        positions = {number: position for position, number in enumerate(counts)}
        held: dict[str, list[int]] = {document_id: [] for document_id in among}

        def look_up(numbers: Sequence[int], ids: Sequence[str] | None, rows: int) -> None:
            """Find the documents (only among `ids`, if given) with any of these hashes, and add them to `held`."""
            require_time()
            must: list[BoundNode] = [PassageHashes("the text", scheme, tuple(numbers))]
            if ids is not None:
                must.append(DocumentsByScore("candidates", ((1.0, tuple(ids)),)))
            plan = BoundPlan(Bool(must=tuple(must), must_not=() if left_out is None else (left_out,)))
            for document_id, hits in self._match_terms(plan, passage_hash_terms(numbers, scheme), rows):
                held.setdefault(document_id, []).extend(positions[numbers[hit]] for hit in hits)

        rare = [(number, count) for number, count in counts.items() if 0 < count <= most]
        for group in chunks(rare, lambda pair: pair[1], _DOCUMENTS_AT_ONCE, _HASHES_AT_ONCE):
            look_up([number for number, _ in group], None, sum(count for _, count in group))
        frequent = [number for number, count in counts.items() if count > most]
        for numbers in batches(frequent, _HASHES_AT_ONCE):
            for ids in batches(list(held), _IDS_AT_ONCE):
                look_up(numbers, ids, len(ids))
        held = {document_id: numbers for document_id, numbers in held.items() if numbers}
        owners = np.repeat(np.arange(len(held)), [len(numbers) for numbers in held.values()])
        return PassageMatches(tuple(held), owners.astype(np.int64), np.array([*chain(*held.values())], np.int64))


@contextmanager
def explain_refusals(plan: BoundPlan) -> Iterator[None]:
    """If Lucene refuses the patterns or fuzzy words of a plan, raise UnsupportedQueryError with the likeliest cause."""
    try:
        yield
    except EngineResponseError as error:
        detail = error.detail.lower()
        if "determiniz" in detail and (patterns := list(_patterns(plan))):
            typed = as_typed(max(patterns, key=state_doublings))
            reason = "this pattern comes to more states than the search server takes"
            hint = "Ask with fewer ? behind letters behind a *, or begin the pattern with letters."
        elif "maxclausecount" in detail and (expanding := list(_expanding_clauses(plan))):
            typed = min(expanding, key=len)
            limit = re.search("set to ([0-9]+)", detail)
            number = f"{int(limit[1]) if limit else MAX_CLAUSES:,}"
            reason = f"more than {number} words fit, the search server's limit for a phrase or for similar words"
            hint = "Write more letters of it, leave the phrase, ask for fewer changes to a word, or raise the limit."
        else:
            raise
        message = f"{typed:.80}: {reason}"
        raise UnsupportedQueryError(message, query=typed, span=Span(0, len(typed)), hint=hint) from error


def _expanding_clauses(plan: BoundPlan) -> Iterator[str]:
    """Yield the parts of a plan that become one clause per matching word: patterns in phrases, and fuzzy words."""
    for leaf in leaves(plan.root):
        match leaf:
            case InOrder(words=patterns) if len(patterns) > 1:
                yield from (as_typed(pattern) for pattern in patterns if pattern[1:] or not isinstance(pattern[0], str))
            case FuzzyWord(word=word, edits=edits):
                yield f"{word}~{edits}"


def _patterns(plan: BoundPlan) -> Iterator[Pattern]:
    for leaf in leaves(plan.root):
        match leaf:
            case WildcardValue(pattern=pattern):
                yield pattern
            case InOrder(words=patterns):
                yield from patterns


#: Lucene's limit on the leaf clauses of one query (IndexSearcher.maxClauseCount), which most installations keep.
MAX_CLAUSES = 1024


def count_tokens(node: BoundLeaf) -> int:
    """Return the number of tokens, hashes or groups of ids that a clause looks up; 0 for words or values."""
    match node:
        case SharedTokens(tokens=tokens):
            return len(tokens)
        case SketchTokens(numbers=numbers) | PassageHashes(numbers=numbers):
            return len(numbers)
        case SharedBands(bands=bands):
            return sum(map(len, bands))
        case DocumentsByScore(groups=groups):
            return len(groups)
        case _:
            return 0


def fingerprints_to_move(
    root: BoundNode,
    count: Callable[[BoundLeaf], int],
    *,
    movable: tuple[type, ...],
    moved_clauses: int,
    server: str,
    expanding: tuple[type, ...] = (),
) -> frozenset[int]:
    """Choose the FINGERPRINT clauses to move into functions, so that a query keeps Lucene's limit on clauses.

    A moved clause becomes a function that adds to the score: `query($part0,0)` in Solr, a function of `function_score`
    in OpenSearch. Lucene does not count its tokens as clauses. The largest clauses move first, until the remaining
    clauses are within the limit.

    Return `id(node)` of each node to move; raise ParameterError if too many clauses are left even after all moves.

    Args:
        count: Returns the maximum number of leaf clauses of a node.
        movable: Types of nodes that may move.
        moved_clauses: Number of leaf clauses that a moved node still has.
        server: Name of the server in the error message.
        expanding: Types of nodes that may become more clauses than `count` returns. If the query has such a node, all
            movable nodes move.
    """
    nodes = list(leaves(root))
    total, moved = sum(map(count, nodes)), set[int]()
    enough = 0 if any(isinstance(node, expanding) for node in nodes) else MAX_CLAUSES
    for node in sorted((node for node in nodes if isinstance(node, movable)), key=count, reverse=True):
        if total <= enough or count(node) <= moved_clauses:
            break
        total += moved_clauses - count(node)
        moved.add(id(node))
    if total > MAX_CLAUSES:
        problem = f"the query comes to {total:,} clauses, and {server} takes {MAX_CLAUSES:,} at once"
        raise ParameterError(f"{problem}; ask in several queries")
    return frozenset(moved)


#: Longest text, in characters, whose sketch is computed instead of stored. A text with few shingles can still be long,
#: because of a long word or repeated lines.
_SHORT_TEXT_CHARACTERS = 10_000


def encode_sketch(sketch: Sketch, scheme: Scheme, stored_text: str | None) -> str | None:
    """Return a sketch in base64; None for a short document whose text the server returns unchanged.

    `stored_text` is the document's text, or None if the server may return another text.
    """
    has_sketch = stores_sketch(sketch.size, scheme, stored_text)
    return b64encode(encode(sketch)).decode("ascii") if has_sketch else None


def stores_sketch(size: int, scheme: Scheme, stored_text: str | None) -> bool:
    """Check whether `encode_sketch` returns the sketch of a text with `size` distinct shingles."""
    is_short = stored_text is not None and len(stored_text) <= _SHORT_TEXT_CHARACTERS
    return not (is_short and size < least_stored_size(scheme))


def finds_only_short(plan: BoundPlan, scheme: Scheme) -> bool:
    """Check whether a plan finds only short documents; most short documents have no stored sketch."""
    sizes = [leaf.largest_size for leaf in leaves(plan.root) if isinstance(leaf, SketchTokens)]
    return bool(sizes) and all(size is not None and size < least_stored_size(scheme) for size in sizes)


class StoredSketch(NamedTuple):
    """Fields of a document in a server's response that `decode_sketches` needs.

    Args:
        has_store_schemes: Whether the sketch was made under the schemes of the store; if not, whorl cannot use it.
        encoded: Encoded sketch; None for a short document, whose sketch is computed from its text.
        text: Text of the document; None or "" if it has not been read.
    """

    document_id: str
    has_store_schemes: bool
    encoded: str | None
    text: str | None = None


def decode_sketches(
    stored: Sequence[StoredSketch],
    fetch_texts: Callable[[list[str]], Mapping[str, str]],
    schemes: tuple[Scheme, SketchScheme],
) -> list[Sketch | None]:
    """Decode or compute the sketch of each document; None for a missing or malformed sketch, or a missing text.

    `fetch_texts` returns the texts of existing documents, keyed by id. It is called for short documents without `text`.
    `schemes` are the schemes of the store.
    """
    sketches = decode_texts([row.encoded if row.has_store_schemes else None for row in stored], schemes[1])
    short = {position: row for position, row in enumerate(stored) if row.has_store_schemes and row.encoded is None}
    unread = [row.document_id for row in short.values() if not row.text]
    fetched = fetch_texts(unread) if unread else {}
    texts = {position: row.text or fetched.get(row.document_id) for position, row in short.items()}
    # Copies of a text have equal sketches, so sketch each text only once.
    distinct = [text for text in dict.fromkeys(texts.values()) if text is not None]
    made = dict(zip(distinct, text_sketches(distinct, *schemes), strict=True)) if distinct else {}
    for position, text in texts.items():
        sketches[position] = None if text is None else made[text]
    return sketches


def passage_terms(text: str, words: JoinedWords, scheme: Scheme, passage_scheme: PassageScheme) -> list[str]:
    """Return a document's terms in the passage field: the scheme's name, and its passage hashes.

    The name shows that the hashes were computed, even if the document has none.
    """
    numbers = stored_passage_hashes(text, words, scheme, passage_scheme)
    return [passage_scheme.name, *encode_tokens(numbers, passage_scheme.bits)]


def passage_hash_terms(numbers: Sequence[int], scheme: PassageScheme) -> list[str]:
    return list(encode_tokens(np.array(numbers, np.uint64), scheme.bits))
