"""Tests of log lines: JSON with events and fields, without text from outside."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from typing import Any

import pytest

from whorl.service.middleware.logs_and_metrics import JsonLinesFormatter, TerminalFormatter, describe_error


def line(event: str, error: BaseException | None = None, **more: Any) -> dict[str, Any]:
    """Return the single line that is written for a record."""
    exc_info = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord("whorl.service", logging.WARNING, __file__, 1, event, (), exc_info)
    record.created = 86_400.0625
    vars(record).update(more)
    written = JsonLinesFormatter().format(record)
    assert "\n" not in written
    assert written.isascii()
    fields: dict[str, Any] = json.loads(written)
    return fields


def test_a_record_is_one_line() -> None:
    """
    A record is one line with its time in UTC to the millisecond, level, event and fields.
    """
    assert line("two\nlines", fields={"status": 200, "id": "é", "reason": "\ud800"}) == {
        "time": "1970-01-02T00:00:00.062+00:00",
        "level": "warning",
        "event": "two\nlines",
        "status": 200,
        "id": "é",
        "reason": "\ud800",
    }


def fails(secret: str) -> None:
    raise KeyError(secret)


def test_an_error_is_its_class_and_its_places() -> None:
    """
    An error is logged by its class and its places in the code, innermost last, without its message or that of its
    cause.
    """
    try:
        try:
            fails("a secret text")
        except KeyError as error:
            raise ValueError("a secret text") from error
    except ValueError as error:
        logged = line("defect", error)
        (cause,) = [error.__cause__]
        assert cause is not None
        outer, inner = describe_error(cause)["at"]
    assert logged["error"] == "ValueError"
    assert [place.rpartition(" ")[2] for place in logged["at"]] == ["test_an_error_is_its_class_and_its_places"]
    assert outer.endswith(" test_an_error_is_its_class_and_its_places")
    assert inner.endswith(" fails")
    assert "secret" not in json.dumps(logged)


def test_an_event_without_an_error_has_none() -> None:
    """
    A record without an active error has no error, also with exc_info outside an `except`.
    """
    record = logging.LogRecord("whorl.service", logging.INFO, __file__, 1, "x", (), sys.exc_info())
    assert json.loads(JsonLinesFormatter().format(record)).keys() == {"time", "level", "event"}


def test_a_line_for_people() -> None:
    """
    On a terminal a request is one short line without its id; other events show their fields, a warning its level.
    """
    fields = {"id": "x", "method": "GET", "route": "/api/v1/search", "status": 200, "seconds": 0.0412, "hits": 12}
    record = logging.LogRecord("whorl.service", logging.INFO, __file__, 1, "request", (), None)
    record.fields = fields
    line = TerminalFormatter().format(record)
    assert re.fullmatch(r"\d\d:\d\d:\d\d GET /api/v1/search 200 41 ms hits=12", line)
    assert fields["id"] == "x"
    record = logging.LogRecord("whorl.service", logging.WARNING, __file__, 1, "not ready", (), None)
    record.fields = {"reason": "a\x1b[31m"}
    assert TerminalFormatter().format(record).endswith(" warning: not ready reason=a\ufffd[31m")


def test_a_defect_for_people() -> None:
    """
    The calls that an exception passed follow on lines of their own, without its message.
    """
    try:
        fails("a secret text")
    except KeyError as error:
        exc_info = (type(error), error, error.__traceback__)
    first, *calls = (
        TerminalFormatter()
        .format(logging.LogRecord("whorl.service", logging.ERROR, __file__, 1, "defect", (), exc_info))
        .splitlines()
    )
    assert first.endswith(" error: defect error=KeyError")
    assert [call.rpartition(" ")[2] for call in calls] == ["test_a_defect_for_people", "fails"]


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="the limit on file descriptors is that of Unix")
def test_repeated_errors_are_one_line() -> None:
    """
    Without free file descriptors, asyncio logs an error for each of 100 connections that may wait; one is written.
    """
    program = """
import asyncio, logging.config, os, resource, socket
from whorl.service.middleware.logs_and_metrics import configuration
logging.config.dictConfig(configuration())
listener = socket.create_server(("127.0.0.1", 0), backlog=100)
clients = [socket.create_connection(listener.getsockname()) for _ in range(20)]
async def serve():
    server = await asyncio.start_server(lambda *_: None, sock=listener, backlog=100)
    resource.setrlimit(resource.RLIMIT_NOFILE, (os.dup(0), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    for _ in range(10):
        await asyncio.sleep(0)
    logging.getLogger("asyncio").error("another")
asyncio.run(serve())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    events = [json.loads(line)["event"].partition("\n")[0] for line in done.stderr.splitlines()]
    assert events == ["socket.accept() out of system resource", "another"]
