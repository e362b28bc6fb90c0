"""Connections to a node are reused while it keeps them open, and replaced otherwise."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import traceback
from collections.abc import Iterator

import pytest

from whorl.engine.opensearch.client import IndexClient
from whorl.engine.server_engine import ServerAccess, guard_response, guard_responses
from whorl.errors import EngineError, EngineResponseError, ParameterError

ANSWER = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 8\r\n\r\n{"a": 1}'


class Node:
    """Node that answers a number of requests on each connection and then closes it. The last response may be
    incomplete.

    Args:
        requests: Requests per connection.
        last: Response to the last request.
    """

    def __init__(self, requests: int, last: bytes = ANSWER) -> None:
        self._answers = [ANSWER] * (requests - 1) + [last]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"opensearch+http://127.0.0.1:{self._listener.getsockname()[1]}/docs"
        self.connections, self.closed = 0, threading.Semaphore(0)

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = self._listener.accept()[0]
                self.connections += 1
                with connection:
                    for answer in self._answers:
                        connection.recv(65_536)
                        connection.sendall(answer)
                self.closed.release()

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextlib.contextmanager
def connected_client(node: Node) -> Iterator[IndexClient]:
    thread = threading.Thread(target=node.run)
    thread.start()
    try:
        with contextlib.closing(IndexClient(node.url, ServerAccess(retries=0, timeout_seconds=10))) as client:
            yield client
    finally:
        node.stop()
        thread.join()


@pytest.mark.process
def test_a_connection_serves_several_requests() -> None:
    """
    A connection closed by the node is not used again, so no request must be sent twice.
    """
    node = Node(2)
    with connected_client(node) as client:
        for _ in range(2):
            assert [client.about(), client.about()] == [{"a": 1}] * 2
            node.closed.acquire()
    assert node.connections == 2


@pytest.mark.process
@pytest.mark.parametrize("answer", [ANSWER[:-3], b"HTTP/1.1 200 OK\r\ncontent", b"hello\r\n\r\n", b""])
def test_a_part_of_an_answer(answer: bytes) -> None:
    """
    A partial response raises an error, whatever is missing, and its connection is not used again.
    """
    node = Node(1, answer)
    with connected_client(node) as client:
        for _ in range(2):
            with pytest.raises(EngineError, match=r"no cluster answers|no JSON object"):
                client.about()
    assert node.connections == 2


@guard_responses
class Reader:
    """Class whose methods raise the errors passed to them."""

    _client = IndexClient("opensearch+http://c/index")

    @property
    def first(self) -> int:
        return dict[str, int]()["first"]

    def ask(self, error: Exception) -> None:
        raise error

    def items(self, error: Exception) -> Iterator[int]:
        yield 1
        raise error


@guard_response
def ask(client: Reader, error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    "error",
    [
        KeyError("hits"),
        TypeError("no list"),
        AttributeError("get"),
        IndexError(),
        ValueError("7x"),
        StopIteration(),
        RecursionError(),
    ],
)
def test_another_shape(error: Exception) -> None:
    """
    In a method, a property, a generator and a function, a malformed response becomes an error with the URL.
    """
    for fails in (lambda: Reader().ask(error), lambda: list(Reader().items(error)), lambda: ask(Reader(), error)):
        with pytest.raises(EngineResponseError, match="http://c/index answers, but not as a cluster does"):
            fails()
    with pytest.raises(EngineResponseError, match=r"as a cluster does \(no 'first'\)"):
        _ = Reader().first


def test_an_error_of_whorl_can_be_found(caplog: pytest.LogCaptureFixture) -> None:
    """
    The error may come from whorl: the message names its place, and the log has the stack.
    """
    with caplog.at_level(logging.INFO, "whorl.engine"), pytest.raises(EngineResponseError) as raised:
        Reader().ask(KeyError("hits"))
    assert "report this as an error of whorl" in str(raised.value)
    assert "(engine/server_engine.py, line " in str(raised.value)
    (record,) = caplog.records
    assert record.exc_info is not None
    assert traceback.extract_tb(record.exc_info[2])[-1].name == "ask"


@pytest.mark.parametrize("error", [ParameterError("ours"), RuntimeError("other"), MemoryError()])
def test_other_errors_stay_unchanged(error: Exception) -> None:
    """
    whorl's own errors stay unchanged, and so do errors that no response can cause.
    """
    for fails in (lambda: Reader().ask(error), lambda: list(Reader().items(error)), lambda: ask(Reader(), error)):
        with pytest.raises(type(error)) as raised:
            fails()
        assert raised.value is error
