"""Formats log lines as JSON or for a terminal, without texts, ids and error messages.

A query may quote a text, an id may be a name, and an error message may repeat either. So a line holds only kinds,
counts, times, statuses, and stack traces without messages. The request id is the only value that a client can choose.
"""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

from whorl.output.formatting import printable

#: Logger of the service; `fields` of a record become members of its line.
LOGGER = "whorl.service"


class JsonLinesFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": time, "level": record.levelname.lower(), **_members(record)})


class TerminalFormatter(logging.Formatter):
    """Formats a line for a terminal: local time, event, and the most useful members of the JSON line."""

    def format(self, record: logging.LogRecord) -> str:
        members = _members(record)
        event, calls = members.pop("event"), members.pop("at", [])
        if event == "request":
            event = f"{members.pop('method')} {members.pop('route')} {members.pop('status')}"
            event += f" {1000 * members.pop('seconds'):.0f} ms"
            # Leave out ids: they connect the logs of several services, but a terminal shows one service.
            members.pop("id", None)
        shown = [event, *(f"{name}={value}" for name, value in members.items())]
        if record.levelno >= logging.WARNING:
            shown.insert(0, f"{record.levelname.lower()}:")
        line = f"{datetime.fromtimestamp(record.created):%H:%M:%S} {' '.join(shown)}"
        return "\n  ".join(map(printable, [line, *calls]))


def _members(record: logging.LogRecord) -> dict[str, Any]:
    """Return the event of a record and its fields, and for an exception its class and stack without its message."""
    members: dict[str, Any] = {"event": record.getMessage(), **getattr(record, "fields", {})}
    if record.exc_info and record.exc_info[1] is not None:
        members |= described(record.exc_info[1])
    return members


def described(error: BaseException) -> dict[str, Any]:
    """Return an error's class and stack, innermost call last, without the message, which may quote a document."""
    frames = traceback.extract_tb(error.__traceback__)
    return {"error": type(error).__name__, "at": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]}


def configuration(*, is_terminal: bool = False) -> dict[str, Any]:
    """Return the argument for `logging.config.dictConfig`: log to standard error, for a terminal or as JSON."""
    formatter = TerminalFormatter if is_terminal else JsonLinesFormatter
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": formatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            LOGGER: {"level": "INFO"},
            # Log start and shutdown. On a terminal, `run` prints the address instead of the start.
            "uvicorn.error": {"level": "WARNING" if is_terminal else "INFO"},
            # pysolr logs requests and Solr's messages about them, which may hold texts.
            "pysolr": {"level": "CRITICAL"},
        },
    }
